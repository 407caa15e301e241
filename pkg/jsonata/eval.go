package jsonata

import (
	"cmp"
	"math"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// eval evaluates a node with its predicates and its grouping. A sequence with one item becomes the
// item.
func (r *run) eval(n *node, in item, env *frame) item {
	r.pos = n.pos
	r.spend(1)
	r.enter()
	x := n.eval(r, n, in, env)
	if len(n.preds) > 0 || n.grouped {
		x = r.suffixes(n, x, env)
	}
	r.leave()
	a, ok := x.(*array)
	if !ok || !a.sequence {
		return x
	}
	if n.keep && !a.keep {
		kept := *a
		kept.keep = true
		a = &kept
	}
	switch l := itemsOf(a); {
	case l.len() == 0:
		return nil
	case l.len() == 1 && !a.keep:
		return l.at(0)
	}
	return a
}

// suffixes applies the predicates and the grouping behind an operand that is not a path.
func (r *run) suffixes(n *node, x item, env *frame) item {
	for _, filter := range n.preds {
		x = r.filter(filter, x, env)
	}
	if n.grouped && n.kind != pathNode {
		x = r.groupBy(n.group, x, env)
	}
	return x
}

func (r *run) literal(n *node, _ item, _ *frame) item { return n.value }

func (r *run) field(n *node, in item, _ *frame) item { return r.lookup(in, n.name) }

// lookup returns the member of an object, or the members of the objects in an array.
func (r *run) lookup(in item, key string) item {
	l, ok := listOf(in)
	if !ok {
		return member(in, key)
	}
	r.enter()
	defer r.leave()
	found := sequenceOf()
	for i := range l.len() {
		r.spend(1)
		x := r.lookup(l.at(i), key)
		if inner, ok := listOf(x); ok {
			r.spend(inner.len())
			found.items = inner.appendTo(found.items)
		} else if x != nil {
			found.items = append(found.items, x)
		}
	}
	return found
}

func (r *run) wildcard(_ *node, in item, _ *frame) item {
	if a, ok := in.(*array); ok && a.outer {
		in = a.items[0]
	}
	found := sequenceOf()
	addAll := func(x item) {
		r.spend(1)
		if _, ok := listOf(x); ok {
			found.sequence = false // as $append returns it
			r.leaves(x, func(x item) { found.items = append(found.items, x) })
		} else {
			found.items = append(found.items, x)
		}
	}
	if l, ok := listOf(in); ok {
		for i := range l.len() {
			addAll(l.at(i))
		}
	}
	for _, x := range membersOf(in) {
		addAll(x)
	}
	return found
}

// leaves calls visit with x, or with the items of an array and of the arrays inside.
func (r *run) leaves(x item, visit func(x item)) {
	r.enter()
	defer r.leave()
	r.spend(1)
	l, ok := listOf(x)
	if !ok {
		visit(x)
	}
	for i := range l.len() {
		r.leaves(l.at(i), visit)
	}
}

func (r *run) descendants(_ *node, in item, _ *frame) item {
	found := sequenceOf()
	r.descend(in, found)
	return found
}

func (r *run) descend(x item, found *array) {
	r.enter()
	defer r.leave()
	r.spend(1)
	l, isArray := listOf(x)
	if !isArray && x != nil {
		found.items = append(found.items, x)
	}
	for i := range l.len() {
		r.descend(l.at(i), found)
	}
	for _, inner := range membersOf(x) {
		r.descend(inner, found)
	}
}

func (r *run) parent(n *node, _ item, env *frame) item {
	x, _ := env.lookup(n.ancestor.label)
	return x
}

// framesOfStep is how many frames a look-up passes in a step. Frames are few, unless $eval nests
// them.
const framesOfStep = 16

func (r *run) variable(n *node, in item, env *frame) item {
	if n.name == "" {
		if a, ok := in.(*array); ok && a.outer {
			return a.items[0]
		}
		return in
	}
	x, found, passed := env.resolve(n.name)
	r.spend(passed / framesOfStep)
	if found {
		return x
	}
	if n.builtin != nil {
		return n.builtin
	}
	return nil
}

func (r *run) bind(n *node, in item, env *frame) item {
	x := r.eval(n.rhs, in, env)
	env.bind(n.name, x)
	return x
}

func (r *run) block(n *node, in item, env *frame) (x item) {
	if n.binds {
		env = &frame{parent: env, owned: true}
	}
	for _, part := range n.list {
		x = r.eval(part, in, env)
	}
	return x
}

func (r *run) condition(n *node, in item, env *frame) item {
	switch {
	case r.truth(r.eval(n.lhs, in, env)):
		return r.eval(n.rhs, in, env)
	case n.third != nil:
		return r.eval(n.third, in, env)
	}
	return nil
}

// fallback evaluates ?: and ??.
func (r *run) fallback(n *node, in item, env *frame) item {
	x := r.eval(n.lhs, in, env)
	if n.name == "??" && x != nil || n.name == "?:" && r.truth(x) {
		return x
	}
	return r.eval(n.third, in, env)
}

func (r *run) array(n *node, in item, env *frame) item {
	if len(n.list) == 1 && n.list[0].name == ".." {
		if numbers, ok := r.eval(n.list[0], in, env).(*array); ok {
			return &array{items: numbers.items, first: numbers.first, count: numbers.count, cons: n.cons}
		}
	}
	made := &array{items: make([]item, 0, len(n.list)), cons: n.cons}
	for _, part := range n.list {
		x := r.eval(part, in, env)
		l, isArray := listOf(x)
		switch {
		case isArray && part.kind != arrayNode:
			r.spend(l.len())
			made.items = l.appendTo(made.items)
		case x != nil:
			made.items = append(made.items, x)
		}
	}
	return made
}

// between evaluates a range.
func (r *run) between(n *node, in item, env *frame) item {
	const most = 10_000_000
	from, to := r.eval(n.lhs, in, env), r.eval(n.rhs, in, env)
	first, firstOK := numberOf(from)
	last, lastOK := numberOf(to)
	switch {
	case from != nil && (!firstOK || first != math.Trunc(first)):
		n.fail("T2003", nil)
	case to != nil && (!lastOK || last != math.Trunc(last)):
		n.fail("T2004", nil)
	case from == nil || to == nil || first > last:
		return nil
	case last-first >= most:
		n.fail("D2014", nil)
	}
	return &array{first: first, count: int(last-first) + 1, sequence: true}
}

// finite returns the number that x is. Numbers out of range fail.
func (n *node) finite(x item) (float64, bool) {
	f, ok := numberOf(x)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		n.fail("D1001", f)
	}
	return f, ok
}

func (r *run) negate(n *node, in item, env *frame) item {
	x := r.eval(n.lhs, in, env)
	if x == nil {
		return nil
	}
	return -n.operand(x, "D1002")
}

// operand returns the number that an operand is. Other operands fail, but not a missing one.
func (n *node) operand(x item, code string) float64 {
	f, ok := n.finite(x)
	if x != nil && !ok {
		n.fail(code, n.name)
	}
	return f
}

func (r *run) arithmetic(n *node, in item, env *frame) item {
	left, right := r.eval(n.lhs, in, env), r.eval(n.rhs, in, env)
	a, b := n.operand(left, "T2001"), n.operand(right, "T2002")
	if left == nil || right == nil {
		return nil
	}
	switch n.name {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	}
	return math.Mod(a, b)
}

func (r *run) equality(n *node, in item, env *frame) item {
	left, right := r.eval(n.lhs, in, env), r.eval(n.rhs, in, env)
	return value.Bool(left != nil && right != nil && r.equal(left, right) == (n.name == "="))
}

func (r *run) comparison(n *node, in item, env *frame) item {
	left, right := r.eval(n.lhs, in, env), r.eval(n.rhs, in, env)
	ordered := func(x item) bool { return x == nil || kindOf(x) == numeric || kindOf(x) == text }
	if !ordered(left) || !ordered(right) {
		n.fail("T2010", n.name)
	}
	if left == nil || right == nil {
		return nil
	}
	if kindOf(left) != kindOf(right) {
		n.fail("T2009", n.name)
	}
	order := compare(left, right)
	return value.Bool(order < 0 && n.name[0] == '<' || order > 0 && n.name[0] == '>' || order == 0 && len(n.name) == len("<="))
}

// compare orders two numbers or two texts.
func compare(a, b item) int {
	if x, ok := numberOf(a); ok {
		y, _ := numberOf(b)
		return cmp.Compare(x, y)
	}
	x, _ := textOf(a)
	y, _ := textOf(b)
	return cmp.Compare(x, y)
}

func (r *run) logic(n *node, in item, env *frame) item {
	left := r.truth(r.eval(n.lhs, in, env))
	if left == (n.name == "or") {
		return value.Bool(left)
	}
	return value.Bool(r.truth(r.eval(n.rhs, in, env)))
}

func (r *run) inclusion(n *node, in item, env *frame) item {
	x, all := r.eval(n.lhs, in, env), itemsOf(r.eval(n.rhs, in, env))
	for i := range all.len() {
		r.spend(1)
		if y := all.at(i); x != nil && y != nil && r.equal(x, y) {
			return value.Bool(true)
		}
	}
	return value.Bool(false)
}

func (r *run) concat(n *node, in item, env *frame) item {
	left, right := r.eval(n.lhs, in, env), r.eval(n.rhs, in, env)
	r.pos = n.pos
	a, b := r.stringOf(left, ""), r.stringOf(right, "")
	r.write(len(a) + len(b))
	return a + b
}

// construct evaluates an object constructor.
func (r *run) construct(n *node, in item, env *frame) item {
	if _, ok := listOf(in); ok {
		return r.groupBy(n.pairs, in, env)
	}
	made := &object{keys: make([]string, 0, len(n.pairs)), values: make([]item, 0, len(n.pairs))}
	for _, p := range n.pairs {
		key, ok := r.key(p, in, env)
		if ok && made.find(key) >= 0 {
			p.key.fail("D1009", key)
		}
		if x := r.eval(p.value, in, env); ok && x != nil {
			made.set(key, x)
		}
	}
	return made
}

// key evaluates the key of a pair. Without a key, the pair is left out.
func (r *run) key(p pair, in item, env *frame) (string, bool) {
	x := r.eval(p.key, in, env)
	key, ok := textOf(x)
	if x != nil && !ok {
		p.key.fail("T1003", kindName(x))
	}
	return key, ok
}

func kindName(x item) string {
	return strings.Fields("null boolean number string array object function nothing")[strings.IndexByte("lbnsaofm", kindOf(x))]
}

// A bucket holds the rows with one key.
type bucket struct {
	pair pair
	rows rows
}

// groupBy evaluates the keys of all rows, and then the value of each key for its rows.
func (r *run) groupBy(pairs []pair, x item, env *frame) item {
	all := rowsOf(x)
	if all.len() == 0 {
		all = rowsOf(sequenceOf(nil))
	}
	made, buckets := &object{}, []*bucket{}
	for i := range all.len() {
		in, rowEnv := all.context(i, env)
		for _, p := range pairs {
			key, ok := r.key(p, in, rowEnv)
			if !ok {
				continue
			}
			at := made.find(key)
			if at < 0 {
				at = len(buckets)
				made.set(key, nil)
				buckets = append(buckets, &bucket{p, all.none()})
			} else if buckets[at].pair != p {
				p.key.fail("D1009", key)
			}
			buckets[at].rows.take(all, i)
		}
	}
	result := &object{}
	for i, b := range buckets {
		in, rowEnv := r.merged(b.rows, env)
		if x := r.eval(b.pair.value, in, rowEnv); x != nil {
			result.set(made.keys[i], x)
		}
	}
	return result
}

// merged returns the context of a group: its rows, or its only one.
func (r *run) merged(all rows, env *frame) (item, *frame) {
	if all.len() == 1 {
		return all.context(0, env)
	}
	if all.tuples == nil {
		return r.joined(all.list), env
	}
	names := all.tuples[0].names
	columns := make([]item, len(names))
	for c := range names {
		column := make([]item, 0, all.len())
		for _, t := range all.tuples {
			x, _ := t.frame(nil).lookup(names[c])
			column = append(column, x)
		}
		columns[c] = r.joined(list{items: column})
	}
	contexts := make([]item, 0, all.len())
	for _, t := range all.tuples {
		contexts = append(contexts, t.context)
	}
	return r.joined(list{items: contexts}), &frame{parent: env, names: names, values: columns}
}

// joined returns the array of all items, as $append joins them.
func (r *run) joined(l list) item {
	made := &array{}
	for i := range l.len() {
		if x := l.at(i); x != nil {
			part := itemsOf(x)
			r.spend(part.len())
			made.items = part.appendTo(made.items)
		}
	}
	return made
}
