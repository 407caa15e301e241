package expr

import (
	"encoding/binary"
	"errors"
)

// Encoder writes values, numbers and texts in a compact binary form. A value
// that is written again costs two or three bytes, which is what keeps the log
// of an execution small: its state and its events share most of their values.
// The zero Encoder is ready.
type Encoder struct {
	out  []byte
	seen map[*node]uint64
}

// worthRemembering is the size from which a value is written once only; a
// reference to a smaller one would save nothing.
const worthRemembering = 4

// tagReference follows the kinds: the value stands earlier, its number follows.
const tagReference = byte(KindObject) + 1

// Bytes is what was written.
func (e *Encoder) Bytes() []byte { return e.out }

// Uint writes a number from 0.
func (e *Encoder) Uint(u uint64) { e.out = binary.AppendUvarint(e.out, u) }

// Int writes a number.
func (e *Encoder) Int(i int64) { e.out = binary.AppendVarint(e.out, i) }

// Text writes a text.
func (e *Encoder) Text(s string) {
	e.Uint(uint64(len(s)))
	e.out = append(e.out, s...)
}

// Value writes a value, Missing included.
func (e *Encoder) Value(v Value) {
	if v.Size() >= worthRemembering {
		if number, again := e.seen[v.n]; again {
			e.out = append(e.out, tagReference)
			e.Uint(number)
			return
		}
		if e.seen == nil {
			e.seen = make(map[*node]uint64)
		}
		e.seen[v.n] = uint64(len(e.seen))
	}
	e.out = append(e.out, byte(v.Kind()))
	switch v.Kind() {
	case KindBool:
		e.bool(v.IsTrue())
	case KindNumber, KindString:
		e.Text(v.n.text)
	case KindArray, KindObject:
		e.members(v)
	case KindMissing, KindNull:
	}
}

func (e *Encoder) bool(b bool) {
	if b {
		e.Uint(1)
		return
	}
	e.Uint(0)
}

func (e *Encoder) members(v Value) {
	e.Uint(uint64(len(v.n.members)))
	for _, m := range v.n.members {
		if v.n.kind == KindObject {
			e.Text(m.Key)
		}
		e.Value(m.Value)
	}
}

// ErrDamaged says that bytes are not what an [Encoder] wrote.
var ErrDamaged = errors.New("encoded values are damaged")

// Decoder reads what an [Encoder] wrote, in the same order. After the first
// damage everything read is zero and Err tells.
type Decoder struct {
	in     []byte
	values []Value
	depth  int
	err    error
}

// maxDepth is the deepest nesting that encoding/json reads, so no value that
// came from JSON is deeper.
const maxDepth = 10_000

// NewDecoder reads from data, which must not change meanwhile.
func NewDecoder(data []byte) *Decoder { return &Decoder{in: data} }

// Err is [ErrDamaged] when something read was not there, else nil.
func (d *Decoder) Err() error { return d.err }

// Rest is the number of bytes not yet read.
func (d *Decoder) Rest() int { return len(d.in) }

func (d *Decoder) damaged() {
	d.err = ErrDamaged
	d.in = nil
}

// Uint reads a number from 0.
func (d *Decoder) Uint() uint64 {
	u, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.damaged()
		return 0
	}
	d.in = d.in[n:]
	return u
}

// Int reads a number.
func (d *Decoder) Int() int64 {
	i, n := binary.Varint(d.in)
	if n <= 0 {
		d.damaged()
		return 0
	}
	d.in = d.in[n:]
	return i
}

// Count reads a number of things that follow, each at least one byte long, so
// that a damaged count cannot make the reader allocate without end.
func (d *Decoder) Count() int {
	u := d.Uint()
	if u > uint64(len(d.in)) {
		d.damaged()
		return 0
	}
	return int(u) //nolint:gosec // not above the length of a slice
}

// Text reads a text.
func (d *Decoder) Text() string {
	size := d.Count()
	s := string(d.in[:size])
	d.in = d.in[size:]
	return s
}

func (d *Decoder) byte() byte {
	if len(d.in) == 0 {
		d.damaged()
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

// Value reads a value.
func (d *Decoder) Value() Value {
	tag := d.byte()
	if tag == tagReference {
		return d.reference()
	}
	// The place is taken before the members are read, as the encoder counts,
	// and given back when the value turns out too small to be remembered.
	place := len(d.values)
	d.values = append(d.values, Value{})
	v := d.content(Kind(tag))
	switch {
	case d.err != nil:
		return Value{}
	case v.Size() >= worthRemembering:
		d.values[place] = v
	default:
		d.forget(place)
	}
	return v
}

// forget gives back a place. Nothing came after it: what is inside of a value
// too small to be remembered is smaller still.
func (d *Decoder) forget(place int) { d.values = d.values[:place] }

func (d *Decoder) reference() Value {
	number := d.Uint()
	if number >= uint64(len(d.values)) {
		d.damaged()
		return Value{}
	}
	return d.values[number]
}

func (d *Decoder) content(kind Kind) Value {
	switch kind {
	case KindMissing:
		return Value{}
	case KindNull:
		return Null()
	case KindBool:
		return Bool(d.Uint() == 1)
	case KindNumber:
		v, ok := Number(d.Text())
		if !ok {
			d.damaged()
		}
		return v
	case KindString:
		return String(d.Text())
	case KindArray, KindObject:
		return d.members(kind)
	}
	d.damaged()
	return Value{}
}

func (d *Decoder) members(kind Kind) Value {
	if d.depth++; d.depth > maxDepth {
		d.damaged()
		return Value{}
	}
	defer func() { d.depth-- }()
	members := make([]Member, d.Count())
	for i := range members {
		if kind == KindObject {
			members[i].Key = d.Text()
		}
		members[i].Value = d.Value()
	}
	if kind == KindObject {
		return Object(members...)
	}
	return arrayOf(members)
}
