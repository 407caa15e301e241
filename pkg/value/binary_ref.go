package value

import (
	"math"
	"slices"
)

// stands reports whether an earlier item of the log, an item of another log that is deleted
// together with it, or a part has v in full.
func (e *Encoder) stands(v Value) bool {
	if v.n == nil {
		return false
	}
	_, ok := e.placeOf(v)
	if v.n.held && !ok {
		v.mustBeHere()
	}
	return ok
}

// place is the number of a value in the item or the part that has it in full.
type place struct {
	origin *Origin
	number uint32
}

// placeOf returns where v stands in full.
func (e *Encoder) placeOf(v Value) (place, bool) {
	if e.whole {
		return place{}, false
	}
	if origin := v.n.origin; origin != nil {
		isEarlier := origin.Log == e.Origin.Log && origin.Seq < e.Origin.Seq
		isBeside := origin.Log != e.Origin.Log && origin.Expires != 0 && origin.Expires == e.Origin.Expires
		if e.Measures || origin.isPart() || isEarlier || isBeside {
			return place{origin, v.n.number}, true
		}
	}
	if e.Apart == nil {
		return place{}, false
	}
	apart, ok := e.Apart.places[v.n]
	return apart, ok
}

// inline returns the keys of the members of a large object that are written in full. These are the
// members that no earlier item has, and the smallest members, up to heldAbove bytes together:
// mappings and conditions mostly read small members. The other members are references. Size is the
// encoded size of all members.
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

// referenceSize is the approximate size of a reference.
const referenceSize = 8

// maxBesidePart is how many bytes of the members of an object stay with the reference to its part.
const maxBesidePart = 1 << 10

// held writes a reference to v. It has the members of an object if they save enough against a
// reference to the whole, which costs a read when it is opened.
func (e *Encoder) held(v Value) {
	limit := v.n.size / 2
	if e.address(v) {
		limit = maxBesidePart
	}
	if !v.n.held && v.n.kind == KindObject {
		if inline, size := e.inline(v); size <= limit {
			e.members(v, inline)
			return
		}
	}
	e.Uint(0)
}

// address writes the kind, the size and the place of a value. It reports whether that is a part.
func (e *Encoder) address(v Value) (isPart bool) {
	place, _ := e.placeOf(v)
	origin := place.origin
	tag, isOwn := tagHeld, origin.Log == e.Origin.Log
	switch {
	case origin.isPart():
		tag, isOwn = tagApart, false
	case !isOwn:
		tag = tagBeside
	}
	e.out = append(e.out, tag, byte(v.n.kind))
	e.Uint(uint64(v.n.size)) //nolint:gosec // never negative
	switch {
	case isOwn:
		e.Uint(e.Origin.Seq - origin.Seq)
	default:
		if number := slices.Index(e.logs, origin.Log); number >= 0 {
			e.Uint(uint64(number))
		} else {
			e.Uint(uint64(len(e.logs)))
			e.Text(origin.Log)
			e.logs = append(e.logs, origin.Log)
		}
		e.Uint(origin.Seq)
	}
	e.Uint(uint64(place.number))
	return tag == tagApart
}

// held reads a reference to an earlier item, to an item of another log, or to a part.
func (d *Decoder) held(tag byte) Value {
	kind, size := Kind(d.byte()), d.Uint()
	place, ok := d.address(tag)
	number := d.Uint()
	known := kind == KindNumber || kind == KindString || kind == KindArray || kind == KindObject
	if !ok || !known || size > maxSize || number > math.MaxUint32 {
		return d.damaged()
	}
	origin, ok := d.origins[place] // the same for all its values
	if !ok {
		if d.origins == nil {
			d.origins = make(map[Origin]*Origin)
		}
		origin = &place
		d.origins[place] = origin
	}
	n := &node{kind: kind, held: true, size: int(size), origin: origin, number: uint32(number)}
	inline := d.members(KindObject)
	switch {
	case inline.IsMissing(), !remembered(Value{n}):
		return d.damaged()
	case inline.Len() == 0:
		return Value{n}
	case inline.n.kind != kind, inline.n.size != n.size:
		return d.damaged()
	}
	inline.n.origin, inline.n.number = n.origin, n.number
	return inline
}

// address reads the item or the part that a reference names.
func (d *Decoder) address(tag byte) (place Origin, ok bool) {
	switch {
	case tag == tagApart:
		place = Origin{d.log(), d.Uint(), partExpires}
		return place, place.Seq == 0
	case d.place == nil:
		return Origin{}, false
	case tag == tagBeside:
		place = Origin{d.log(), d.Uint(), d.expires}
		return place, place.Log != d.place.Log
	}
	back := d.Uint()
	place = *d.place
	place.Seq -= back
	return place, back > 0 && back <= d.place.Seq
}

// log reads the name of another log or of a part.
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

// Numbered returns a value that was read by its number in the item. It returns false if the item
// does not have it in full.
func (d *Decoder) Numbered(number uint32) (v Value, ok bool) {
	if uint64(number) >= uint64(len(d.values)) {
		return Value{}, false
	}
	v = d.values[number]
	return v, v.n != nil && !v.n.held
}
