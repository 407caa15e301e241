package value

import (
	"fmt"
	"slices"
)

// Origin is a log item that values were read from.
type Origin struct {
	// Log names the log; a value of another one is no value of this.
	Log string
	Seq uint64
}

// Ref is where a value stands in full: the number of the log item, and the
// number of the value in it.
type Ref struct {
	Seq    uint64
	Number uint32
}

// heldAbove is the size above which a value is written once, and from then on
// held by a reference to there.
const heldAbove = 256

// IsComplete reports whether v and all that is in it is here. Of a value that
// is held elsewhere only kind and size are known; to ask for its content is a
// bug, and panics.
func (v Value) IsComplete() bool { return v.n == nil || !v.n.held && !v.n.partial }

func (v Value) mustBeHere() {
	if v.n.held {
		panic(fmt.Sprintf("value: the content of a value is held in log item %d and was not looked up", v.n.origin.Seq))
	}
}

// ref is where v stands in full; v has an origin.
func (v Value) ref() Ref { return Ref{v.n.origin.Seq, v.n.number} }

// Lookup finds the content of values that are held elsewhere. A nil Lookup
// knows none.
type Lookup struct {
	// Known are values that were loaded, by where they stand.
	Known map[Ref]Value
	// Missing are those that were asked for and are not known, each once. Whatever
	// came of asking is worth nothing then.
	Missing []Ref
}

// Open is v with its content; parts of that may be held elsewhere. When the
// content is not known, v is noted and the answer is Missing.
func (l *Lookup) Open(v Value) Value {
	if v.n == nil || !v.n.held {
		return v
	}
	if l == nil {
		v.mustBeHere()
	}
	if content, ok := l.Known[v.ref()]; ok {
		return content
	}
	if !slices.Contains(l.Missing, v.ref()) {
		l.Missing = append(l.Missing, v.ref())
	}
	return Value{}
}

// Complete is v with all that is in it. When something is not known, it is
// noted and the answer is of no use.
func (l *Lookup) Complete(v Value) Value {
	if v.IsComplete() {
		return v
	}
	v = l.Open(v)
	if v.IsComplete() {
		return v
	}
	members := make([]Member, 0, len(v.n.members))
	for _, m := range v.n.members {
		if m.Value = l.Complete(m.Value); !m.Value.IsMissing() {
			members = append(members, m)
		}
	}
	whole := ArrayFrom
	if v.n.kind == KindObject {
		whole = ObjectFrom
	}
	return whole(members).standingWhere(v)
}

// standingWhere is v, which was just made, as the value that it completes.
func (v Value) standingWhere(held Value) Value {
	if n := len(held.n.members); n > 0 && n == len(v.n.members) { // else something is missing
		v.n.origin, v.n.number = held.n.origin, held.n.number
	}
	return v
}
