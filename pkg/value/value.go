package value

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the type of a [Value]. The zero Kind is the kind of a missing value.
type Kind uint8

// The kinds of values: JSON's six, and Missing.
const (
	KindMissing Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

var kindNames = [...]string{"nothing", "null", "a boolean", "a number", "text", "an array", "an object"}

// String returns the name of the kind with its article, for messages: "a number".
func (k Kind) String() string { return kindNames[k] }

// Value is an immutable JSON value, or [Missing]. Copying one copies a
// pointer; the zero Value is Missing.
type Value struct{ n *node }

// node is the target of a Value's pointer. It does not change after its constructor returned, so
// values share their parts.
type node struct {
	kind Kind
	// held says that the value is a reference, and partial that something inside is.
	held, partial bool
	number        uint32  // of the value in the item of its origin
	origin        *Origin // the item that has the value in full, nil for none
	text          string  // KindString: the text; KindNumber: the literal; KindBool: "true" or "false"
	// members holds an object's members sorted by key, or an array's elements
	// with empty keys: one slice for both keeps a node small.
	members []Member
	size    int
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

var (
	nullNode  = &node{kind: KindNull, text: "null", size: len("null")}
	trueNode  = &node{kind: KindBool, text: "true", size: len("true")}
	falseNode = &node{kind: KindBool, text: "false", size: len("false")}
	emptyNode = &node{kind: KindObject, size: len("{}")}
)

// Missing returns the value of a path that leads nowhere. It is not null.
func Missing() Value { return Value{} }

// Null returns JSON's null.
func Null() Value { return Value{nullNode} }

// Bool returns JSON's true or false.
func Bool(b bool) Value {
	if b {
		return Value{trueNode}
	}
	return Value{falseNode}
}

// String returns a text. Bytes that are not UTF-8 become U+FFFD.
func String(s string) Value {
	return textValue(validText(s))
}

func textValue(s string) Value { return Value{&node{kind: KindString, text: s, size: stringSize(s)}} }

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// Int returns a whole number.
func Int(i int64) Value {
	text := strconv.FormatInt(i, 10)
	return Value{&node{kind: KindNumber, text: text, size: len(text)}}
}

// Number returns the number that text writes in JSON's grammar. The text is kept. It returns false
// for other texts, for instance "0x1F", "1." or "Infinity".
func Number(text string) (v Value, ok bool) {
	const digits = "0123456789" // json.Valid alone would accept space around the number, and other values
	if text == "" || strings.IndexByte("-"+digits, text[0]) < 0 || strings.IndexByte(digits, text[len(text)-1]) < 0 || !json.Valid([]byte(text)) {
		return Value{}, false
	}
	return Value{&node{kind: KindNumber, text: text, size: len(text)}}, true
}

// Array returns the list of elements. A missing element becomes null. The slice is copied.
func Array(elements ...Value) Value {
	members := make([]Member, len(elements))
	for i, e := range elements {
		if e.IsMissing() {
			e = Null()
		}
		members[i].Value = e
	}
	return ArrayFrom(members)
}

// ArrayFrom returns the array with the values of elements, which have empty keys. It takes
// ownership of the slice; no value is missing.
func ArrayFrom(elements []Member) Value {
	n := &node{kind: KindArray, members: elements, size: len("[]") + max(len(elements)-1, 0)}
	for _, m := range elements {
		n.size += m.Value.Size()
		n.partial = n.partial || !m.Value.IsComplete()
	}
	return Value{n}
}

// Object returns the object with these members. Missing values are left out, and of equal keys the
// last one stays. Keys are texts as in [String]. The slice is copied.
func Object(members ...Member) Value {
	kept := make([]Member, 0, len(members))
	for _, m := range slices.Backward(members) { // the last of equal keys comes first and stays
		if !m.Value.IsMissing() {
			kept = append(kept, Member{validText(m.Key), m.Value})
		}
	}
	return sorted(kept)
}

// sorted returns the object with these members, in place. The first of equal keys stays.
func sorted(members []Member) Value {
	slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	return ObjectFrom(slices.CompactFunc(members, func(a, b Member) bool { return a.Key == b.Key }))
}

// ObjectFrom is [Object] without a copy: it takes ownership of members, which are sorted by key,
// without equal keys and without missing values.
func ObjectFrom(members []Member) Value {
	if len(members) == 0 {
		return Value{emptyNode}
	}
	n := &node{kind: KindObject, members: members, size: len("{}") + len(members) - 1}
	for _, m := range members {
		n.size += stringSize(m.Key) + len(":") + m.Value.Size()
		n.partial = n.partial || !m.Value.IsComplete()
	}
	return Value{n}
}

// Kind returns the type of v.
func (v Value) Kind() Kind {
	if v.n == nil {
		return KindMissing
	}
	return v.n.kind
}

// IsMissing reports whether v is missing. Null is not missing.
func (v Value) IsMissing() bool { return v.n == nil }

// IsTrue reports whether v is the boolean true.
func (v Value) IsTrue() bool { return v.n != nil && v.n.kind == KindBool && v.n.text == "true" }

// Text returns the content of a string, the literal of a number, "true", "false" or "null", and ""
// for other kinds.
func (v Value) Text() string {
	if v.n == nil {
		return ""
	}
	v.mustBeHere()
	return v.n.text
}

// Size returns the number of bytes of v as compact JSON, 0 for a missing value. It does not render
// v.
func (v Value) Size() int {
	if v.n == nil {
		return 0
	}
	return v.n.size
}

// MaxLevels is how deeply arrays and objects from outside may be nested: inputs of executions,
// results of functions, reported outputs. The mappings of a flow may add levels around them. The
// limit of its data ends that before the 10,000 levels that JSON readers accept.
const MaxLevels = 100

// TooDeep reports whether v has more than [MaxLevels] levels. A reference counts as one: its value
// was checked when it arrived.
func (v Value) TooDeep() bool { return v.Levels() > MaxLevels }

// Levels returns how deeply arrays and objects are nested in v, 0 for other kinds. A reference
// counts as one.
func (v Value) Levels() int {
	if k := v.Kind(); k != KindArray && k != KindObject {
		return 0
	}
	inside := 0
	for _, m := range v.n.members {
		inside = max(inside, m.Value.Levels())
	}
	return inside + 1
}

// Len returns the number of members of an object or of elements of an array.
func (v Value) Len() int { return len(v.Members()) }

// Members returns an object's members sorted by key, or an array's elements with empty keys. The
// caller must not change the slice.
func (v Value) Members() []Member {
	if v.n == nil {
		return nil
	}
	v.mustBeHere()
	return v.n.members
}

// Get returns the member of an object, or Missing.
func (v Value) Get(key string) Value {
	if v.Kind() != KindObject {
		return Value{}
	}
	i, found := slices.BinarySearchFunc(v.Members(), key, func(m Member, key string) int {
		return strings.Compare(m.Key, key)
	})
	if !found {
		return Value{}
	}
	return v.n.members[i].Value
}

// At returns the element of an array, counted from 0, or Missing.
func (v Value) At(i int) Value {
	if v.Kind() != KindArray || i < 0 || i >= v.Len() {
		return Value{}
	}
	return v.n.members[i].Value
}

// Int64 returns the whole number that v is. It returns false if v is not a whole number or does not
// fit into 64 bits. 1e1 and 10.0 are the whole number 10.
func (v Value) Int64() (i int64, ok bool) {
	if v.Kind() != KindNumber {
		return 0, false
	}
	return wholeNumber(v.Text())
}

// Merge returns the object with the members of both. Members of over win. A value of another kind
// counts as an empty object.
func Merge(under, over Value) Value {
	a, b := objectMembers(under), objectMembers(over)
	switch {
	case len(a) == 0 && len(b) == 0:
		return Value{emptyNode}
	case len(a) == 0:
		return over
	case len(b) == 0:
		return under
	}
	return sorted(slices.Concat(b, a))
}

func objectMembers(v Value) []Member {
	if v.Kind() != KindObject {
		return nil
	}
	return v.Members()
}

// Equal reports whether a and b are the same JSON value. Numbers are compared by amount (1 and 1.0
// are equal). A missing value equals only another missing value.
func Equal(a, b Value) bool {
	if a.n == b.n {
		return true
	}
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case KindNumber:
		return compareNumbers(a.Text(), b.Text()) == 0
	case KindArray, KindObject:
		return slices.EqualFunc(a.Members(), b.Members(), func(x, y Member) bool {
			return x.Key == y.Key && Equal(x.Value, y.Value)
		})
	case KindMissing, KindNull, KindBool, KindString:
	}
	return a.Text() == b.Text()
}

// Compare returns -1, 0 or 1 as a is below, equal to or above b. Two numbers and two texts (by code
// points) have an order; nothing else has, and ok is false.
func Compare(a, b Value) (order int, ok bool) {
	switch {
	case a.Kind() == KindNumber && b.Kind() == KindNumber:
		return compareNumbers(a.Text(), b.Text()), true
	case a.Kind() == KindString && b.Kind() == KindString:
		return strings.Compare(a.Text(), b.Text()), true
	}
	return 0, false
}
