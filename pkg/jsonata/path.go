package jsonata

import "math"

// A tuple is a result of a path that binds variables: the context of the next step, and the
// variables. Tuples share their slices.
type tuple struct {
	context item
	names   []string
	values  []item
}

func (t *tuple) frame(env *frame) *frame {
	return &frame{parent: env, names: t.names, values: t.values}
}

// with returns the tuple with one more variable.
func (t *tuple) with(name string, x item) *tuple {
	if name == "" {
		return t
	}
	bound := t.frame(nil)
	bound.bind(name, x)
	return &tuple{t.context, bound.names, bound.values}
}

// rows are the items or the tuples that a predicate, a grouping or an order-by passes. The tuples
// are not nil if the rows are tuples.
type rows struct {
	list
	tuples []*tuple
}

func rowsOf(x item) rows {
	if bound, ok := x.(*rows); ok {
		return *bound
	}
	return rows{list: itemsOf(x)}
}

func (r rows) len() int { return r.list.len() + len(r.tuples) }

// context returns the input and the variables for an expression of a row.
func (r rows) context(i int, env *frame) (item, *frame) {
	if r.tuples != nil {
		return r.tuples[i].context, r.tuples[i].frame(env)
	}
	return r.at(i), env
}

// none returns no rows of the same sort.
func (r rows) none() rows {
	if r.tuples != nil {
		return rows{tuples: []*tuple{}}
	}
	return rows{}
}

// take appends row i of others.
func (r *rows) take(others rows, i int) {
	if others.tuples != nil {
		r.tuples = append(r.tuples, others.tuples[i])
	} else {
		r.items = append(r.items, others.at(i))
	}
}

// result returns the rows as the result of a step.
func (r rows) result() item {
	if r.tuples != nil {
		return &r
	}
	return &array{items: r.items, sequence: true}
}

// path evaluates the steps of a path, each for all results of the previous one.
func (r *run) path(n *node, in item, env *frame) item {
	begin := 0
	for n.unbroken && !n.keep && kindOf(in) != arrayKind { // names lead through objects
		r.spend(1)
		in = member(in, n.list[begin].name)
		if begin++; in == nil || begin == len(n.list) {
			return in
		}
	}
	input := list{items: []item{in}}
	if l, ok := listOf(in); ok && n.list[begin].kind != variableNode {
		input = l
	}
	var x item
	var bound []*tuple
	for i, step := range n.list[begin:] {
		switch {
		case bound != nil || step.tuple:
			bound = r.tupleStep(step, input, bound, env)
			continue
		case i == 0 && step.cons:
			x = r.eval(step, in, env)
		default:
			x = r.step(step, input, env, begin+i == len(n.list)-1)
		}
		if input = itemsOf(x); x == nil || input.len() == 0 {
			break
		}
	}
	x = r.collected(n, x, bound)
	if n.grouped {
		return r.groupBy(n.group, x, env)
	}
	return x
}

// collected returns the result of a path: the tuples for a grouping or for the path around it, else
// the items.
func (r *run) collected(n *node, x item, bound []*tuple) item {
	if bound != nil {
		if n.tuple || n.grouped {
			return &rows{tuples: bound}
		}
		results := sequenceOf()
		for _, t := range bound {
			results.items = append(results.items, t.context)
		}
		x = results
	}
	if l, ok := listOf(x); ok && n.keep {
		r.spend(l.len())
		return &array{items: l.appendTo(nil), sequence: true, keep: true}
	}
	return x
}

// step evaluates a step for each item of the input, and flattens the results.
func (r *run) step(n *node, input list, env *frame, last bool) item {
	if n.kind == sortNode {
		x := r.order(n, rows{list: input}, env).result()
		return r.filters(n.stages, x, env)
	}
	results := sequenceOf()
	var only item
	count := 0
	for i := range input.len() {
		x := r.filters(n.stages, r.eval(n, input.at(i), env), env)
		if x == nil {
			continue
		}
		only, count = x, count+1
		results.add(r, x)
	}
	if last && count == 1 && kindOf(only) == arrayKind {
		if a, ok := only.(*array); !ok || !a.sequence {
			return only
		}
	}
	return results
}

func (r *run) filters(stages []stage, x item, env *frame) item {
	for _, s := range stages {
		if s.index == "" {
			x = r.filter(s.filter, x, env)
			continue
		}
		bound := rowsOf(x)
		for i, t := range bound.tuples {
			r.spend(1)
			bound.tuples[i] = t.with(s.index, float64(i))
		}
	}
	return x
}

// filter keeps the rows for which a predicate is true, or has the position as its number.
func (r *run) filter(n *node, x item, env *frame) item {
	if x == nil {
		return sequenceOf()
	}
	all := rowsOf(x)
	if n.kind == numberNode && len(n.preds) == 0 {
		position, _ := numberOf(n.value)
		at := fromEnd(position, all.len())
		if at < 0 || at >= float64(all.len()) {
			return sequenceOf()
		}
		kept := all.none()
		kept.take(all, int(at))
		if all.tuples == nil && kindOf(kept.items[0]) == arrayKind {
			return kept.items[0]
		}
		return kept.result()
	}
	kept := all.none()
	for i := range all.len() {
		in, rowEnv := all.context(i, env)
		verdict := r.eval(n, in, rowEnv)
		positions, areNumbers := r.positions(n, verdict)
		if !areNumbers {
			if r.truth(verdict) {
				kept.take(all, i)
			}
			continue
		}
		for p := range positions.len() {
			position, _ := numberOf(positions.at(p))
			if fromEnd(position, all.len()) == float64(i) {
				kept.take(all, i)
			}
		}
	}
	return kept.result()
}

// fromEnd returns the position of an index, which counts from the end if it is negative.
func fromEnd(position float64, length int) float64 {
	position = math.Floor(position)
	if position < 0 {
		position += float64(length)
	}
	return position
}

// positions returns the numbers that the result of a predicate consists of.
func (r *run) positions(n *node, verdict item) (list, bool) {
	all := itemsOf(verdict)
	if verdict == nil {
		return all, false
	}
	for i := range all.len() {
		r.spend(1)
		if _, ok := n.finite(all.at(i)); !ok {
			return all, false
		}
	}
	return all, true
}

// tupleStep evaluates a step for each tuple. The first step that binds a variable begins with the
// items of the input.
func (r *run) tupleStep(n *node, input list, bound []*tuple, env *frame) []*tuple {
	if bound == nil {
		r.spend(input.len())
		for i := range input.len() {
			bound = append(bound, &tuple{context: input.at(i)})
		}
	}
	results := &rows{tuples: []*tuple{}}
	if n.kind == sortNode {
		for i, t := range r.order(n, rows{tuples: bound}, env).tuples {
			results.tuples = append(results.tuples, t.with(n.index, float64(i)))
		}
	} else {
		for _, t := range bound {
			results.tuples = r.bindResults(n, t, r.eval(n, t.context, t.frame(env)), results.tuples)
		}
	}
	if filtered := rowsOf(r.filters(n.stages, results, env)).tuples; filtered != nil {
		return filtered
	}
	return []*tuple{}
}

// bindResults appends a tuple for each result of a step.
func (r *run) bindResults(n *node, t *tuple, x item, results []*tuple) []*tuple {
	if x == nil {
		return results
	}
	all := rowsOf(x)
	for i := range all.len() {
		r.spend(1 + len(t.names))
		next := &tuple{t.context, t.names, t.values}
		switch {
		case all.tuples != nil:
			next.context = all.tuples[i].context
			for j, name := range all.tuples[i].names {
				next = next.with(name, all.tuples[i].values[j])
			}
		case n.focus != "":
			next = next.with(n.focus, all.at(i))
		default:
			next.context = all.at(i)
		}
		next = next.with(n.index, float64(i))
		if n.ancestor != nil {
			next = next.with(n.ancestor.label, t.context)
		}
		results = append(results, next)
	}
	return results
}

// A sortRow holds the terms of a row that were needed so far.
type sortRow struct {
	at    int
	terms []item
}

// order sorts rows by the terms of an order-by.
func (r *run) order(n *node, all rows, env *frame) rows {
	term := func(x item, i int) item {
		row, _ := x.(*sortRow)
		if i == len(row.terms) {
			in, rowEnv := all.context(row.at, env)
			row.terms = append(row.terms, r.eval(n.terms[i].by, in, rowEnv))
		}
		return row.terms[i]
	}
	after := func(a, b item) bool {
		for i, t := range n.terms {
			if order := compareTerms(t, term(a, i), term(b, i)); order != 0 {
				return order > 0
			}
		}
		return false
	}
	r.spend(all.len())
	order := make([]item, all.len())
	for i := range order {
		order[i] = &sortRow{at: i}
	}
	sorted := all.none()
	for _, x := range r.mergeSort(order, after) {
		row, _ := x.(*sortRow)
		sorted.take(all, row.at)
	}
	return sorted
}

// compareTerms orders two results of a term. Nothing is last.
func compareTerms(t term, x, y item) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	kind, other := kindOf(x), kindOf(y)
	if kind != numeric && kind != text || other != numeric && other != text {
		t.by.fail("T2008", nil)
	}
	if kind != other {
		t.by.fail("T2007", nil)
	}
	if order := compare(x, y); !t.descending {
		return order
	}
	return -compare(x, y)
}

// mergeSort is a stable sort that asks only whether one item comes after another.
func (r *run) mergeSort(items []item, after func(a, b item) bool) []item {
	if len(items) < 2 {
		return items
	}
	r.spend(len(items))
	middle := len(items) / 2
	left, right := r.mergeSort(items[:middle:middle], after), r.mergeSort(items[middle:], after)
	merged := make([]item, 0, len(items))
	for len(left) > 0 && len(right) > 0 {
		if after(left[0], right[0]) {
			merged, right = append(merged, right[0]), right[1:]
		} else {
			merged, left = append(merged, left[0]), left[1:]
		}
	}
	return append(append(merged, left...), right...)
}
