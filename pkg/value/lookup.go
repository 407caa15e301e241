package value

import "fmt"

// Origin is the log item that a value was read from.
type Origin struct {
	Log string // the name of the log
	Seq uint64
	// Expires is when the log is deleted, as the application counts time, 0 if it is not known. An
	// item may refer to another log if both are deleted at the same instant.
	Expires int64
}

// Ref is a reference to a value: the log and the number of the item that has it in full, and the
// number of the value in that item. In place of a log it may have the name of a [Part].
type Ref struct {
	Log    string
	Seq    uint64
	Number uint32
}

// heldAbove is the size above which a value is written in full once. Later items have a reference
// to it.
const heldAbove = 256

// IsComplete reports whether v and everything inside it have their content. A reference has only a
// kind and a size; reading its content is a defect and panics.
func (v Value) IsComplete() bool { return v.n == nil || !v.n.held && !v.n.partial }

func (v Value) mustBeHere() {
	if v.n.held {
		panic(fmt.Sprintf("value: the content of a value is held in log item %d and was not looked up", v.n.origin.Seq))
	}
}

// Lookup finds the content of references. A nil Lookup knows none.
type Lookup struct {
	// Known are the loaded values.
	Known map[Ref]Value
	// Load are the references to values that were asked for and are not known, each once. Load
	// these values and start over: the results are of no use.
	Load []Ref

	asked map[Ref]bool // the references in Load
}

// Open returns v with its content, in which values may be references. If the content is not known,
// Open adds v to Load and returns Missing.
func (l *Lookup) Open(v Value) Value {
	if v.n == nil || !v.n.held {
		return v
	}
	if l == nil {
		v.mustBeHere()
	}
	ref := Ref{v.n.origin.Log, v.n.origin.Seq, v.n.number}
	if content, ok := l.Known[ref]; ok {
		return content
	}
	if l.asked == nil {
		l.asked = map[Ref]bool{}
	}
	if !l.asked[ref] {
		l.asked[ref] = true
		l.Load = append(l.Load, ref)
	}
	return Value{}
}

// Complete returns v with the content of everything inside. It adds unknown content to Load.
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
	from := ArrayFrom
	if v.n.kind == KindObject {
		from = ObjectFrom
	}
	whole := from(members)
	if n := len(v.n.members); n > 0 && n == len(members) { // else something is missing
		whole.n.origin, whole.n.number = v.n.origin, v.n.number
	}
	return whole
}
