package expr

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// Source is the source of a mapping: a path or a constant.
type Source struct {
	path     Path // without a root the source is a constant
	constant value.Value
}

// ParseSource reads the source of a mapping. A text that begins with $input, $local or $context is
// a path. Everything else is a constant, including other texts that begin with "$". Errors are of
// type [*SyntaxError].
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

// Path returns the path of the source, and false for a constant.
func (s Source) Path() (p Path, ok bool) { return s.path, s.path.root != "" }

// Eval returns the value of the source, Missing if its path leads nowhere.
func (s Source) Eval(scope *Scope) value.Value {
	if p, ok := s.Path(); ok {
		return p.Eval(scope)
	}
	return s.constant
}

// Mapping gives the member Target of a new object the value of Source. Target is literal: a dot in
// it has no meaning.
type Mapping struct {
	Target string
	Source Source
}

// Mappings is a list of mappings, sorted by target without equal targets, see [NewMappings]. It is
// nil if the flow has no list.
type Mappings []Mapping

// NewMappings returns the mappings of list. Of equal targets the last one stays.
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

// Eval returns the object with all targets whose source is not missing.
func (ms Mappings) Eval(scope *Scope) value.Value {
	members := make([]value.Member, 0, len(ms))
	for _, m := range ms {
		if v := m.Source.Eval(scope); !v.IsMissing() {
			members = append(members, value.Member{Key: m.Target, Value: v})
		}
	}
	return value.ObjectFrom(members)
}

// Uses reports whether a source of the list begins with root. If not, the caller need not build
// that value.
func (ms Mappings) Uses(root Root) bool {
	return slices.ContainsFunc(ms, func(m Mapping) bool { return m.Source.path.root == root })
}
