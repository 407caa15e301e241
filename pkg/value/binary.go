package value

import (
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"
)

// Encoder writes values, numbers and texts in a compact binary form. The zero Encoder is ready.
//
// A repeated value takes two or three bytes. That keeps the log of an execution small, because its
// state and events share most of their values. With a place, a value over 256 bytes is written as a
// reference if an earlier item of the same log has it. A value of another log is also written as a
// reference if both logs are deleted at the same instant.
type Encoder struct {
	// Origin is the item being written, zero without references.
	Origin Origin
	// Measures says that only the size of the encoding counts. Every origin counts as an earlier
	// item.
	Measures bool
	// Apart keeps the largest values apart from the item, nil for none.
	Apart *Apart
	whole bool // nothing stands elsewhere
	out   []byte
	seen  map[*node]uint64
	logs  []string // the other logs in references
	large bool
}

// WroteLarge reports whether a value was written in full to which later items refer.
func (e *Encoder) WroteLarge() bool { return e.large }

// remembered reports whether a value is written only once. A reference to a smaller value would
// save nothing.
func remembered(v Value) bool {
	const least = 4
	return v.Kind() > KindBool && v.Size() >= least
}

// The tags after the kinds.
const (
	tagReference = byte(KindObject) + 1 // the value stands earlier in this item, its number follows
	tagHeld      = byte(KindObject) + 2 // the value stands in an earlier item
	tagBeside    = byte(KindObject) + 3 // the value stands in another log
	tagApart     = byte(KindObject) + 4 // the value stands in a part
)

// Reset discards the encoding and keeps the memory, up to a limit. Set Origin and Apart anew.
func (e *Encoder) Reset() {
	const most = 64 << 10
	out, seen := e.out[:0], e.seen
	if cap(out) > most {
		out, seen = nil, nil
	}
	clear(seen)
	*e = Encoder{out: out, seen: seen}
}

// Bytes returns the encoding.
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

// zeroSecond is the Unix second of the zero time, from which instants are counted.
const zeroSecond = -62135596800

// Time writes an instant, the zero time included. Its time zone is lost.
func (e *Encoder) Time(t time.Time) {
	e.Int(t.Unix() - zeroSecond)
	e.Uint(uint64(t.Nanosecond())) //nolint:gosec // never negative
}

// Value writes a value, Missing included.
func (e *Encoder) Value(v Value) {
	if remembered(v) && e.again(v) {
		return
	}
	if e.stands(v) && (v.n.held || v.n.size > heldAbove) || e.putApart(v) {
		e.held(v)
		return
	}
	e.large = e.large || v.Size() > heldAbove
	e.out = append(e.out, byte(v.Kind()))
	switch v.Kind() {
	case KindBool:
		e.Uint(map[bool]uint64{true: 1}[v.IsTrue()])
	case KindNumber, KindString:
		e.Text(v.n.text)
	case KindArray:
		e.members(v, nil)
	case KindObject:
		var inline map[string]bool
		if v.n.size > heldAbove && e.Origin.Seq > 0 {
			inline, _ = e.inline(v)
		}
		e.members(v, inline)
	case KindMissing, KindNull:
	}
}

// again writes the number of a value that was written before, and numbers others.
func (e *Encoder) again(v Value) bool {
	number, again := e.seen[v.n]
	if again {
		e.out = append(e.out, tagReference)
		e.Uint(number)
		return true
	}
	if e.seen == nil {
		const usual = 16 // in the item of a polling loop
		e.seen = make(map[*node]uint64, usual)
	}
	e.seen[v.n] = uint64(len(e.seen))
	return false
}

// members writes the members with those keys in full and the others as references, all in full if
// inline is nil.
func (e *Encoder) members(v Value, inline map[string]bool) {
	e.Uint(uint64(len(v.n.members)))
	for _, m := range v.n.members {
		if v.n.kind == KindObject {
			e.Text(m.Key)
		}
		if inline == nil || inline[m.Key] {
			e.Value(m.Value)
		} else if !e.again(m.Value) {
			e.address(m.Value)
			e.Uint(0)
		}
	}
}

// ErrDamaged reports that bytes are not the output of an [Encoder].
var ErrDamaged = errors.New("encoded values are damaged")

// Decoder reads the output of an [Encoder], in the same order. After the first damage all results
// are zero and Err is not nil.
type Decoder struct {
	in      []byte
	values  []Value
	depth   int
	err     error
	place   *Origin
	origins map[Origin]*Origin
	logs    []string // the other logs in references
	expires int64    // of the other logs
}

// The limits of a Decoder. encoding/json reads 10,000 levels, and each mapping of a flow adds one.
// Shared parts make a value far longer as JSON than it is here, so without a limit a few damaged
// bytes could exceed the memory.
const (
	maxDepth = 100_000
	maxSize  = 1 << 30
)

// NewDecoder reads from data, which must not change meanwhile.
func NewDecoder(data []byte) *Decoder { return &Decoder{in: data} }

// NewDecoderAt returns a decoder for data that was encoded with a place.
func NewDecoderAt(place Origin, data []byte) *Decoder {
	return &Decoder{in: data, place: &place, expires: place.Expires}
}

// SetExpires sets the Expires of the place, if there is a place. Values that are read later get it,
// too.
func (d *Decoder) SetExpires(expires int64) {
	d.expires = expires
	if d.place != nil {
		d.place.Expires = expires
	}
}

// Err returns [ErrDamaged] after damage, else nil.
func (d *Decoder) Err() error { return d.err }

// Rest returns the number of bytes not yet read.
func (d *Decoder) Rest() int { return len(d.in) }

// damaged records damage and returns the result of all that is read from now on.
func (d *Decoder) damaged() Value {
	d.err = ErrDamaged
	d.in = nil
	return Value{}
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

// Count reads the number of the elements that follow. Each has at least one byte, so a damaged
// count cannot make the reader allocate without end.
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

// Time reads an instant, in UTC.
func (d *Decoder) Time() time.Time {
	second, nanosecond := d.Int(), d.Uint()
	if nanosecond >= uint64(time.Second) {
		d.damaged()
		nanosecond = 0
	}
	if d.err != nil {
		return time.Time{}
	}
	return time.Unix(second+zeroSecond, int64(nanosecond)).UTC()
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
		number := d.Uint()
		// A value that is not complete yet contains the reference, which is damage.
		if number >= uint64(len(d.values)) || d.values[number].IsMissing() {
			return d.damaged()
		}
		return d.values[number]
	}
	// The encoder numbers a value before its members. A value that turns out too small to be
	// remembered gives its number back.
	place := len(d.values)
	d.values = append(d.values, Value{})
	v := d.content(tag)
	if v.Size() > maxSize {
		d.damaged()
	}
	switch {
	case d.err != nil:
		return Value{}
	case !remembered(v): // the number is the last one: members of a value that is too small are smaller still
		d.values = d.values[:place]
		return v
	}
	d.values[place] = v
	if d.place != nil && v.n.origin == nil {
		v.n.origin, v.n.number = d.place, uint32(place) //nolint:gosec // less than the bytes of an item
	}
	return v
}

func (d *Decoder) content(tag byte) Value {
	if tag >= tagHeld && tag <= tagApart {
		return d.held(tag)
	}
	switch kind := Kind(tag); kind {
	case KindMissing:
		return Value{}
	case KindNull:
		return Null()
	case KindBool:
		one := d.Uint()
		if one > 1 {
			d.damaged()
		}
		return Bool(one == 1)
	case KindNumber:
		v, ok := Number(d.Text())
		if !ok {
			d.damaged()
		}
		return v
	case KindString:
		return textValue(d.validText())
	case KindArray, KindObject:
		return d.members(kind)
	}
	return d.damaged()
}

// validText reads a text of a value, which is UTF-8.
func (d *Decoder) validText() string {
	text := d.Text()
	if !utf8.ValidString(text) {
		d.damaged()
	}
	return text
}

// members rejects members that no encoder writes: missing values and keys out of order.
func (d *Decoder) members(kind Kind) Value {
	if d.depth++; d.depth > maxDepth {
		return d.damaged()
	}
	defer func() { d.depth-- }()
	count := d.Count()
	// The count may be damaged, so the slice grows while members are read.
	const first = 16
	members := make([]Member, 0, min(count, first))
	for i := range count {
		var m Member
		if kind == KindObject {
			m.Key = d.validText()
		}
		m.Value = d.Value()
		if m.Value.IsMissing() || kind == KindObject && i > 0 && m.Key <= members[i-1].Key {
			return d.damaged()
		}
		members = append(members, m)
	}
	if kind == KindObject {
		return ObjectFrom(members)
	}
	return ArrayFrom(members)
}
