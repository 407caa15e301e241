package expr

import (
	"math"
	"slices"
)

// stands reports whether v stands in full in an earlier item of the log.
func (e *Encoder) stands(v Value) bool {
	if v.n == nil || v.n.origin == nil {
		return false
	}
	earlier := v.n.origin.Log == e.Place.Log && v.n.origin.Seq < e.Place.Seq
	if v.n.held && !earlier {
		v.mustBeHere()
	}
	return earlier
}

// inline are the members of an object that are written with a reference to it,
// because mappings and conditions mostly ask for small ones: the smallest,
// while together they have no more bytes than a value that is written in full
// anyway. The others are references. None: the reference stands alone.
func (e *Encoder) inline(v Value) map[string]bool {
	if v.n.held || v.n.kind != KindObject {
		return nil
	}
	bySize := slices.Clone(v.n.members)
	slices.SortStableFunc(bySize, func(a, b Member) int { return a.Value.Size() - b.Value.Size() })
	inline := make(map[string]bool, len(bySize))
	total, references := 0, 0
	for _, m := range bySize {
		size := stringSize(m.Key) + m.Value.Size()
		switch {
		case total+size <= heldAbove && m.Value.IsComplete():
			inline[m.Key] = true
			total += size
		case e.stands(m.Value):
			references += len(m.Key) + referenceSize
		default:
			return nil // what is too small to have a number, beside much else
		}
	}
	if references > heldAbove {
		return nil
	}
	return inline
}

// referenceSize is about what a reference takes.
const referenceSize = 8

// held writes a reference, and if any are inline the members of the object.
func (e *Encoder) held(v Value, inline map[string]bool) {
	e.out = append(e.out, tagHeld, byte(v.n.kind))
	e.Uint(uint64(v.n.size)) //nolint:gosec // never negative
	e.Uint(e.Place.Seq - v.n.origin.Seq)
	e.Uint(uint64(v.n.number))
	if len(inline) == 0 {
		e.Uint(0)
		return
	}
	e.Uint(uint64(len(v.n.members)))
	for _, m := range v.n.members {
		e.Text(m.Key)
		if inline[m.Key] {
			e.Value(m.Value)
			continue
		}
		e.reference(m.Value)
	}
}

// reference writes a reference alone, unless the value was written before.
func (e *Encoder) reference(v Value) {
	if number, again := e.seen[v.n]; again {
		e.out = append(e.out, tagReference)
		e.Uint(number)
		return
	}
	e.seen[v.n] = uint64(len(e.seen))
	e.held(v, nil)
}

// held reads what an encoder wrote of a value that stands in an earlier item.
func (d *Decoder) held() Value {
	kind, size, back, number := Kind(d.byte()), d.Uint(), d.Uint(), d.Uint()
	known := kind == KindNumber || kind == KindString || kind == KindArray || kind == KindObject
	if d.place == nil || !known || size > maxSize || back == 0 || back > d.place.Seq || number > math.MaxUint32 {
		d.damaged()
		return Value{}
	}
	n := &node{kind: kind, held: true, size: int(size), origin: d.earlier(d.place.Seq - back), number: uint32(number)}
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

// earlier is the origin of values of an earlier item, one for all of them.
func (d *Decoder) earlier(seq uint64) *Origin {
	if origin, ok := d.origins[seq]; ok {
		return origin
	}
	if d.origins == nil {
		d.origins = make(map[uint64]*Origin)
	}
	d.origins[seq] = &Origin{d.place.Log, seq}
	return d.origins[seq]
}

// Numbered is a value that was read, by its number in the item. Not ok: there
// is none, or it is not here in full.
func (d *Decoder) Numbered(number uint32) (v Value, ok bool) {
	if uint64(number) >= uint64(len(d.values)) {
		return Value{}, false
	}
	v = d.values[number]
	return v, v.n != nil && !v.n.held
}
