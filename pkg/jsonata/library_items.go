package jsonata

import (
	"iter"
	"math"
	"slices"
)

// fold returns the function that joins the numbers of an array, which the signature has checked.
func fold(join func(a, b float64) float64, finish func(joined float64, count int) item) func(r *run, args []item) item {
	return func(r *run, args []item) item {
		l := itemsOf(args[0])
		r.spend(l.len())
		joined := 0.0
		for i := range l.len() {
			f, _ := numberOf(l.at(i))
			if i > 0 {
				f = join(joined, f)
			}
			joined = f
		}
		return finish(joined, l.len())
	}
}

func extremum(f float64, count int) item {
	if count == 0 {
		return nil
	}
	return f
}

func libCount(_ *run, args []item) item {
	if args[0] == nil {
		return 0.0
	}
	return float64(itemsOf(args[0]).len())
}

// entries returns the items of an array with their positions, or the members of an object.
func entries(x item) iter.Seq2[item, item] {
	return func(yield func(key, x item) bool) {
		l, _ := listOf(x)
		for i := range l.len() {
			if !yield(float64(i), l.at(i)) {
				return
			}
		}
		for key, inner := range membersOf(x) {
			if !yield(key, inner) {
				return
			}
		}
	}
}

// libEach serves $map and $each.
func libEach(r *run, args []item) item {
	results := sequenceOf()
	for key, x := range entries(args[0]) {
		if result := r.call(args[1], x, key, args[0]); result != nil {
			results.items = append(results.items, result)
		}
	}
	return results
}

func libFilter(r *run, args []item) item {
	results := sequenceOf()
	for key, x := range entries(args[0]) {
		if r.truth(r.call(args[1], x, key, args[0])) {
			results.items = append(results.items, x)
		}
	}
	return results
}

func libSingle(r *run, args []item) item {
	l := itemsOf(args[0])
	if args[1] != nil {
		l, _ = listOf(libFilter(r, args))
	}
	if l.len() > 1 {
		r.fail("D3138", nil)
	}
	if l.len() == 0 {
		r.fail("D3139", nil)
	}
	return l.at(0)
}

func libReduce(r *run, args []item) item {
	if f, ok := args[1].(*function); !ok || f.arity < 2 {
		r.fail("D3050", nil)
	}
	l, sum, i := itemsOf(args[0]), args[2], 0
	if sum == nil && l.len() > 0 {
		sum, i = l.at(0), 1
	}
	for ; i < l.len(); i++ {
		sum = r.call(args[1], sum, l.at(i), float64(i), args[0])
	}
	return sum
}

func libSift(r *run, args []item) item {
	made := &object{}
	for key, x := range membersOf(args[0]) {
		if r.truth(r.call(args[1], x, key, args[0])) {
			made.set(key, x)
		}
	}
	if len(made.keys) == 0 {
		return nil
	}
	return made
}

// reordered returns the function that changes the order of the items of an array.
func reordered(change func(r *run, items, args []item) []item) func(r *run, args []item) item {
	return func(r *run, args []item) item {
		l := itemsOf(args[0])
		if l.len() < 2 {
			return args[0]
		}
		r.spend(l.len())
		return &array{items: change(r, l.appendTo(nil), args)}
	}
}

func libSort(r *run, items, args []item) []item {
	after := func(a, b item) bool { return r.truth(r.call(args[1], a, b)) }
	if args[1] == nil {
		kind := kindOf(items[0])
		for _, x := range items {
			if k := kindOf(x); k != kind || k != numeric && k != text {
				r.fail("D3070", nil)
			}
		}
		after = func(a, b item) bool { r.spend(1); return compare(a, b) > 0 }
	}
	return r.mergeSort(items, after)
}

func libShuffle(r *run, items, _ []item) []item {
	for i := len(items) - 1; i > 0; i-- {
		j := int(r.random() * float64(i+1))
		items[i], items[j] = items[j], items[i]
	}
	return items
}

func libAppend(r *run, args []item) item {
	switch {
	case args[0] == nil:
		return args[1]
	case args[1] == nil:
		return args[0]
	}
	return r.joined(list{items: args[:2]})
}

func (r *run) random() float64 {
	if r.bindings.Random == nil {
		r.fail("D3150", "random numbers are not available here")
	}
	return min(max(r.bindings.Random(), 0), math.Nextafter(1, 0))
}

func libRandom(r *run, _ []item) item { return r.random() }

func libDistinct(r *run, args []item) item {
	l, isArray := listOf(args[0])
	if !isArray || l.len() < 2 {
		return args[0]
	}
	made := &array{}
	if from, ok := args[0].(*array); ok {
		made.sequence = from.sequence
	}
	seen, others := map[any]bool{}, []item{}
	for i := range l.len() {
		r.spend(1)
		x := l.at(i)
		var key item // of numbers and texts
		switch kindOf(x) {
		case numeric:
			key, _ = numberOf(x)
		case text:
			key, _ = textOf(x)
		}
		switch {
		case seen[key], key == nil && slices.ContainsFunc(others, func(other item) bool { return r.equal(other, x) }):
			continue
		case key == nil:
			others = append(others, x)
		default:
			seen[key] = true
		}
		made.items = append(made.items, x)
	}
	return made
}

func libZip(r *run, args []item) item {
	rows, length := &array{}, 0
	for i, arg := range args {
		if arg == nil {
			return rows
		}
		if n := itemsOf(arg).len(); i == 0 || n < length {
			length = n
		}
	}
	r.spend(length * len(args))
	for i := range length {
		row := &array{}
		for _, arg := range args {
			row.items = append(row.items, itemsOf(arg).at(i))
		}
		rows.items = append(rows.items, row)
	}
	return rows
}

func libKeys(r *run, args []item) item {
	keys, found := &object{}, sequenceOf()
	r.leaves(args[0], func(x item) {
		for key := range membersOf(x) {
			r.spend(1)
			keys.set(key, nil)
		}
	})
	for _, key := range keys.keys {
		found.items = append(found.items, key)
	}
	return found
}

func libLookup(r *run, args []item) item {
	key, _ := textOf(args[1])
	return r.lookup(args[0], key)
}

func libSpread(r *run, args []item) item {
	if kind := kindOf(args[0]); kind != arrayKind && kind != objKind {
		return args[0]
	}
	found := sequenceOf()
	r.leaves(args[0], func(x item) {
		if kindOf(x) != objKind {
			found.items = append(found.items, x)
		}
		for key, inner := range membersOf(x) {
			r.spend(1)
			found.items = append(found.items, &object{keys: []string{key}, values: []item{inner}})
		}
	})
	return found
}

func libMerge(r *run, args []item) item {
	l, made := itemsOf(args[0]), &object{}
	for i := range l.len() {
		for key, x := range membersOf(l.at(i)) {
			r.spend(1)
			made.set(key, x)
		}
	}
	return made
}

func libMillis(r *run, _ []item) item { return r.now() }

// now returns the instant of the evaluation in milliseconds.
func (r *run) now() float64 {
	if r.bindings.Now.IsZero() {
		r.fail("D3150", "the time is not available here")
	}
	return float64(r.bindings.Now.UnixMilli())
}
