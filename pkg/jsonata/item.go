package jsonata

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/waitless/waitless/pkg/value"
)

// An item is a value during an evaluation. It is one of:
//
//	nil              nothing, which the language calls undefined
//	value.Value      JSON of the input, of a binding or of a literal, never missing
//	float64, string  a number and a text that were computed
//	*array, *object  constructed, or results of a path
//	*function        a lambda, a function of the library, a regular expression
//
// Two more are internal: *rows are the results of a path with bound variables, and a *tailCall is a
// call that the caller of a lambda continues.
type item = any

// array is a constructed array or a sequence. Its items do not change after it left its
// constructor, apart from the update of a transform.
type array struct {
	items []item
	// first and count describe a range, which does not list its items.
	first float64
	count int
	// sequence says that a single item stands for itself, unless keep is set.
	sequence, keep bool
	cons           bool // an array constructor of a path step, which is not flattened
	outer          bool // the input is an array, and this its wrapper
}

func sequenceOf(items ...item) *array { return &array{items: items, sequence: true} }

// add appends x. It flattens an array by one level, unless a step constructed it.
func (a *array) add(r *run, x item) {
	l, ok := listOf(x)
	if made, isArray := x.(*array); !ok || isArray && made.cons {
		a.items = append(a.items, x)
		return
	}
	r.spend(l.len())
	a.items = l.appendTo(a.items)
}

// object is a constructed object, with its members in the order of their construction.
type object struct {
	keys   []string
	values []item
	index  map[string]int // only of large objects
}

const smallObject = 8

func (o *object) find(key string) int {
	if o.index == nil {
		return slices.Index(o.keys, key)
	}
	if i, ok := o.index[key]; ok {
		return i
	}
	return -1
}

func (o *object) set(key string, x item) {
	if i := o.find(key); i >= 0 {
		o.values[i] = x
		return
	}
	o.keys, o.values = append(o.keys, key), append(o.values, x)
	if o.index != nil {
		o.index[key] = len(o.keys) - 1
	} else if len(o.keys) > smallObject {
		o.reindex()
	}
}

func (o *object) reindex() {
	o.index = nil
	if len(o.keys) <= smallObject {
		return
	}
	o.index = make(map[string]int, len(o.keys))
	for i, key := range o.keys {
		o.index[key] = i
	}
}

func (o *object) remove(key string) {
	if i := o.find(key); i >= 0 {
		o.keys, o.values = slices.Delete(o.keys, i, i+1), slices.Delete(o.values, i, i+1)
		o.reindex()
	}
}

// A kind is the letter of a type in signatures of functions.
const (
	nothing   = 'm'
	null      = 'l'
	boolean   = 'b'
	numeric   = 'n'
	text      = 's'
	arrayKind = 'a'
	objKind   = 'o'
	funcKind  = 'f'
)

func kindOf(x item) byte {
	switch x := x.(type) {
	case float64:
		return numeric
	case string:
		return text
	case *array:
		return arrayKind
	case *object:
		return objKind
	case *function:
		return funcKind
	case value.Value:
		return "mlbnsao"[x.Kind()]
	}
	return nothing
}

func numberOf(x item) (float64, bool) {
	switch x := x.(type) {
	case float64:
		return x, true
	case value.Value:
		if x.Kind() == value.KindNumber {
			f, _ := strconv.ParseFloat(x.Text(), 64) // is a number, infinite if it is out of range
			return f, true
		}
	}
	return 0, false
}

func textOf(x item) (string, bool) {
	switch x := x.(type) {
	case string:
		return x, true
	case value.Value:
		if x.Kind() == value.KindString {
			return x.Text(), true
		}
	}
	return "", false
}

// member returns the member of an object, or nil.
func member(x item, key string) item {
	switch x := x.(type) {
	case *object:
		if i := x.find(key); i >= 0 {
			return x.values[i]
		}
	case value.Value:
		if v := x.Get(key); !v.IsMissing() {
			return v
		}
	}
	return nil
}

// membersOf returns the members of an object, none for other kinds.
func membersOf(x item) iter.Seq2[string, item] {
	return func(yield func(string, item) bool) {
		switch x := x.(type) {
		case *object:
			for i, key := range x.keys {
				if !yield(key, x.values[i]) {
					return
				}
			}
		case value.Value:
			if x.Kind() == value.KindObject {
				for _, m := range x.Members() {
					if !yield(m.Key, m.Value) {
						return
					}
				}
			}
		}
	}
}

func memberCount(x item) int {
	switch x := x.(type) {
	case *object:
		return len(x.keys)
	case value.Value:
		if x.Kind() == value.KindObject {
			return x.Len()
		}
	}
	return 0
}

// list gives access to the items of any array.
type list struct {
	items   []item
	members []value.Member
	first   float64
	count   int
}

func listOf(x item) (list, bool) {
	switch x := x.(type) {
	case *array:
		return list{items: x.items, first: x.first, count: x.count}, true
	case value.Value:
		if x.Kind() == value.KindArray {
			return list{members: x.Members()}, true
		}
	}
	return list{}, false
}

// itemsOf returns the items of an array, or x alone.
func itemsOf(x item) list {
	if l, ok := listOf(x); ok {
		return l
	}
	return list{items: []item{x}}
}

func (l list) len() int { return len(l.items) + len(l.members) + l.count }

func (l list) at(i int) item {
	switch {
	case l.items != nil:
		return l.items[i]
	case l.members != nil:
		return l.members[i].Value
	}
	return l.first + float64(i)
}

func (l list) appendTo(items []item) []item {
	items = slices.Grow(items, l.len())
	if l.items != nil {
		return append(items, l.items...)
	}
	for i := range l.len() {
		items = append(items, l.at(i))
	}
	return items
}

// truth returns the boolean of x; nothing is false.
func (r *run) truth(x item) bool {
	switch kindOf(x) {
	case boolean:
		v, _ := x.(value.Value)
		return v.IsTrue()
	case numeric:
		f, _ := numberOf(x)
		return f != 0
	case text:
		s, _ := textOf(x)
		return s != ""
	case objKind:
		return memberCount(x) > 0
	}
	l, _ := listOf(x)
	r.enter()
	defer r.leave()
	for i := range l.len() {
		if r.spend(1); r.truth(l.at(i)) {
			return true
		}
	}
	return false
}

// equal reports whether a and b are the same JSON.
func (r *run) equal(a, b item) bool {
	r.spend(1)
	kind := kindOf(a)
	if kind != kindOf(b) {
		return false
	}
	switch kind {
	case numeric:
		x, _ := numberOf(a)
		y, _ := numberOf(b)
		return x == y
	case text:
		x, _ := textOf(a)
		y, _ := textOf(b)
		r.read(min(len(x), len(y)))
		return x == y
	case arrayKind, objKind:
		return r.equalInside(a, b)
	}
	return a == b
}

// equalInside compares two arrays, or two objects.
func (r *run) equalInside(a, b item) bool {
	r.enter()
	defer r.leave()
	x, _ := listOf(a)
	y, _ := listOf(b)
	if x.len() != y.len() || memberCount(a) != memberCount(b) {
		return false
	}
	for i := range x.len() {
		if !r.equal(x.at(i), y.at(i)) {
			return false
		}
	}
	for key, inner := range membersOf(a) {
		if !r.equal(inner, member(b, key)) {
			return false
		}
	}
	return true
}

// export turns the result of an evaluation into JSON and counts its bytes.
func (r *run) export(x item) value.Value {
	r.enter()
	defer r.leave()
	r.spend(1)
	switch x := x.(type) {
	case value.Value:
		r.grow(x.Size())
		return x
	case float64:
		v, _ := value.Number(numberText(r.finite(x)))
		r.grow(v.Size())
		return v
	case string:
		r.grow(len(x))
		return value.String(x)
	case *array:
		l := itemsOf(x)
		if r.grow(l.len()); l.len() > r.stepsLeft { // fails before the allocation
			r.spend(l.len())
		}
		elements := make([]value.Value, l.len())
		for i := range elements {
			elements[i] = r.export(l.at(i))
		}
		return value.Array(elements...)
	case *object:
		members := make([]value.Member, 0, len(x.keys))
		for i, key := range x.keys {
			r.grow(len(key))
			members = append(members, value.Member{Key: key, Value: r.export(x.values[i])})
		}
		return value.Object(members...)
	}
	return value.Missing()
}

// numberText writes a number as JSON and JavaScript do.
func numberText(f float64) string {
	const exponentFrom, exponentBelow = 1e21, 1e-6
	if f == 0 {
		return "0"
	}
	if size := math.Abs(f); size < exponentFrom && size >= exponentBelow {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	b := strconv.AppendFloat(nil, f, 'e', -1, 64)
	if n := len(b); b[n-2] == '0' && !isDigit(b[n-3]) { // e+07 is e+7
		b = append(b[:n-2], b[n-1])
	}
	return string(b)
}
