package value

import (
	"math"
	"slices"
)

// stands reports whether an earlier item of the log, or an item of another log that is deleted
// together with it, has v in full.
func (e *Encoder) stands(v Value) bool {
	if v.n == nil || v.n.origin == nil {
		return false
	}
	origin := v.n.origin
	earlier := e.Measures || origin.Log == e.Place.Log && origin.Seq < e.Place.Seq || origin.isBeside(e.Place)
	if v.n.held && !earlier {
		v.mustBeHere()
	}
	return earlier
}

// inline returns the keys of the members of a large object that are written in full: those that no
// earlier item has, and the smallest up to heldAbove bytes together, because mappings and
// conditions mostly read small members. The others are references. Size is what the members take.
func (e *Encoder) inline(v Value) (inline map[string]bool, size int) {
	bySize := slices.Clone(v.n.members)
	slices.SortStableFunc(bySize, func(a, b Member) int { return a.Value.Size() - b.Value.Size() })
	inline = make(map[string]bool, len(bySize))
	small := 0
	for _, m := range bySize {
		size += len(m.Key)
		if e.stands(m.Value) && m.Value.Size() > referenceSize && (small+stringSize(m.Key)+m.Value.Size() > heldAbove || m.Value.n.held) {
			size += referenceSize
			continue
		}
		inline[m.Key] = true
		small += stringSize(m.Key) + m.Value.Size()
		size += m.Value.Size()
	}
	return inline, size
}

// referenceSize is about what a reference takes.
const referenceSize = 8

// held writes a reference to v. It has the members of an object if they save enough against a
// reference to the whole, which costs a read when it is opened.
func (e *Encoder) held(v Value) {
	e.address(v)
	if !v.n.held && v.n.kind == KindObject {
		if inline, size := e.inline(v); size <= v.n.size/2 {
			e.members(v, inline)
			return
		}
	}
	e.Uint(0)
}

// address writes the kind, the size and the place of a value.
func (e *Encoder) address(v Value) {
	tag, seq := tagHeld, e.Place.Seq-v.n.origin.Seq
	isOwn := v.n.origin.Log == e.Place.Log
	if !isOwn {
		tag, seq = tagBeside, v.n.origin.Seq
	}
	e.out = append(e.out, tag, byte(v.n.kind))
	e.Uint(uint64(v.n.size)) //nolint:gosec // never negative
	if !isOwn {
		e.log(v.n.origin.Log)
	}
	e.Uint(seq)
	e.Uint(uint64(v.n.number))
}

// log writes the number of another log, and its name the first time.
func (e *Encoder) log(name string) {
	number := slices.Index(e.logs, name)
	if number >= 0 {
		e.Uint(uint64(number))
		return
	}
	e.Uint(uint64(len(e.logs)))
	e.Text(name)
	e.logs = append(e.logs, name)
}

// held reads a reference to an earlier item, or to an item of another log.
func (d *Decoder) held(tag byte) Value {
	kind, size := Kind(d.byte()), d.Uint()
	place, ok := d.address(tag)
	number := d.Uint()
	known := kind == KindNumber || kind == KindString || kind == KindArray || kind == KindObject
	if !ok || !known || size > maxSize || number > math.MaxUint32 {
		d.damaged()
		return Value{}
	}
	n := &node{kind: kind, held: true, size: int(size), origin: d.origin(place), number: uint32(number)}
	inline := d.members(KindObject)
	switch {
	case inline.IsMissing(), !remembered(Value{n}):
		d.damaged()
		return Value{}
	case inline.Len() == 0:
		return Value{n}
	case inline.n.kind != kind, inline.n.size != n.size:
		d.damaged()
		return Value{}
	}
	inline.n.origin, inline.n.number = n.origin, n.number
	return inline
}

// address reads the item that a reference names.
func (d *Decoder) address(tag byte) (place Origin, ok bool) {
	if d.place == nil {
		return Origin{}, false
	}
	place = *d.place
	if tag == tagBeside {
		place.Log = d.log()
		place.Seq = d.Uint()
		return place, place.Log != d.place.Log
	}
	back := d.Uint()
	place.Seq -= back
	return place, back > 0 && back <= d.place.Seq
}

// log reads the name of another log.
func (d *Decoder) log() string {
	number := d.Uint()
	if number > uint64(len(d.logs)) {
		d.damaged()
		return ""
	}
	if number == uint64(len(d.logs)) {
		d.logs = append(d.logs, d.Text())
	}
	return d.logs[number]
}

// origin returns the origin of an item, the same for all its values.
func (d *Decoder) origin(place Origin) *Origin {
	if origin, ok := d.origins[place]; ok {
		return origin
	}
	if d.origins == nil {
		d.origins = make(map[Origin]*Origin)
	}
	d.origins[place] = &place
	return &place
}

// Numbered returns a value that was read by its number in the item. It returns false if the item
// does not have it in full.
func (d *Decoder) Numbered(number uint32) (v Value, ok bool) {
	if uint64(number) >= uint64(len(d.values)) {
		return Value{}, false
	}
	v = d.values[number]
	return v, v.n != nil && !v.n.held
}
