package expr

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// ParseSource reads the source of a mapping. A text that begins with $input, $local or $context is
// a path. Everything else is a constant, including other texts that begin with "$". Errors are of
// type [*SyntaxError].
func ParseSource(v value.Value) (Template, error) {
	begins := func(r Root) bool { return strings.HasPrefix(v.Text(), string(r)) }
	if v.Kind() != value.KindString || !slices.ContainsFunc(MappingRoots, begins) {
		return Template{constant: v}, nil
	}
	path, err := ParsePath(v.Text(), MappingRoots...)
	return Template{path: path}, err
}

// Mapping gives the member Target of a new object the value of Source. Target is literal: a dot in
// it has no meaning.
type Mapping struct {
	Target string
	Source Template
}

// Mappings is a list of mappings, sorted by target without equal targets, see [NewMappings]. It is
// nil if the flow has no list.
type Mappings []Mapping

// NewMappings returns the mappings of list. Their targets must differ.
func NewMappings(list ...Mapping) Mappings {
	sorted := append(Mappings{}, list...)
	slices.SortFunc(sorted, func(a, b Mapping) int { return strings.Compare(a.Target, b.Target) })
	return sorted
}

// Eval returns the object with each target that has a value.
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
