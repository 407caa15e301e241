package value

import "math"

// Apart keeps values that are too large for the item in which they arise in parts of their own.
// Items, and whatever else is encoded, refer to a part like to an item of another log.
type Apart struct {
	// From is the size above which a value is kept apart. Size is the size of its encoding, which
	// may contain references.
	From int
	// Name returns the name of a new part, another one each time.
	Name func() string
	// Parts were made so far. Store them before the items that refer to them.
	Parts  []Part
	places map[*node]place
}

// Part has one value that is kept apart.
type Part struct {
	Name string
	Body []byte
}

// partExpires is the Expires of the origin that is a part. A part lives as long as the items that
// refer to it.
const partExpires = math.MinInt64

func (o *Origin) isPart() bool { return o.Expires == partExpires }

// putApart puts v into a part of its own if it is too large, and reports whether it did.
func (e *Encoder) putApart(v Value) bool {
	a := e.Apart
	if a == nil || a.Name == nil || v.Size() <= a.From {
		return false
	}
	part := &Encoder{Origin: Origin{Expires: e.Origin.Expires}, Measures: e.Measures, Apart: &Apart{places: a.places}}
	part.Int(e.Origin.Expires)
	part.Value(v)
	if len(part.out) <= a.From {
		return false
	}
	name := a.Name()
	a.Parts = append(a.Parts, Part{name, part.out})
	origin := &Origin{Log: name, Expires: partExpires}
	if a.places == nil {
		a.places = make(map[*node]place, len(part.seen))
	}
	for n, number := range part.seen { // so that later parts can refer to the values of this one
		if _, ok := a.places[n]; !ok {
			a.places[n] = place{origin, uint32(number)} //nolint:gosec // less than the bytes of a part
		}
	}
	e.large = true
	return true
}

// Detached returns a complete value that stands nowhere else. An item with it has all of it, in a
// log that may outlive the one from which v was read.
func Detached(v Value) Value {
	e := &Encoder{whole: true}
	e.Value(v)
	return NewDecoder(e.Bytes()).Value()
}

// DecodePart returns the values of a part by the numbers that references to them have.
func DecodePart(part Part) (numbered func(uint32) (Value, bool), err error) {
	d := NewDecoderAt(Origin{Log: part.Name, Expires: partExpires}, part.Body)
	d.expires = d.Int()
	if d.Value(); d.err != nil || len(d.in) > 0 {
		return nil, ErrDamaged
	}
	return d.Numbered, nil
}
