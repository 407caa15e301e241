package expr

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// Source is where the value of a mapping comes from: a path or a constant.
type Source struct {
	path     Path // with a root, or else the source is a constant
	constant value.Value
}

// ParseSource reads the source of a mapping. A text that begins with $input,
// $local or $context is a path; everything else is a constant, also a text
// that begins with another "$". Errors are of type [*SyntaxError].
func ParseSource(v value.Value) (Source, error) {
	if v.Kind() != value.KindString || !beginsWithRoot(v.Text()) {
		return Source{constant: v}, nil
	}
	path, err := ParsePath(v.Text(), MappingRoots...)
	return Source{path: path}, err
}

func beginsWithRoot(text string) bool {
	return slices.ContainsFunc(MappingRoots, func(r Root) bool { return strings.HasPrefix(text, string(r)) })
}

// Path is the path of the source. Not ok: the source is a constant.
func (s Source) Path() (p Path, ok bool) { return s.path, s.path.root != "" }

// Eval is the value of the source, Missing when its path leads nowhere.
func (s Source) Eval(scope *Scope) value.Value {
	if p, ok := s.Path(); ok {
		return p.Eval(scope)
	}
	return s.constant
}

// Mapping gives the member Target of a new object the value of Source. Target
// is taken literally, also with dots in it.
type Mapping struct {
	Target string
	Source Source
}

// Mappings is a list of mappings, sorted by target without repetition; make
// one with [NewMappings]. A nil list is one that the flow does not have.
type Mappings []Mapping

// NewMappings sorts a copy of list. Of equal targets the last one stays.
func NewMappings(list ...Mapping) Mappings {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b Mapping) int { return strings.Compare(a.Target, b.Target) })
	kept := make(Mappings, 0, len(sorted))
	for i, m := range sorted {
		if i+1 == len(sorted) || sorted[i+1].Target != m.Target {
			kept = append(kept, m)
		}
	}
	return kept
}

// Eval is the object with all targets whose source is there.
func (ms Mappings) Eval(scope *Scope) value.Value {
	members := make([]value.Member, 0, len(ms))
	for _, m := range ms {
		if v := m.Source.Eval(scope); !v.IsMissing() {
			members = append(members, value.Member{Key: m.Target, Value: v})
		}
	}
	return value.ObjectFrom(members)
}

// Uses reports whether a source of the list begins with root, so that a caller
// can spare the making of values that nobody reads.
func (ms Mappings) Uses(root Root) bool {
	return slices.ContainsFunc(ms, func(m Mapping) bool { return m.Source.path.root == root })
}
