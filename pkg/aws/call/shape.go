package call

import (
	"fmt"
	"strings"
	"sync"
)

// A shape is a type of an API. Its text is short, because there are many:
//
//	s string   i integer   l long   d double   b boolean   t instant   B blob   * anything
//	[s]        list of strings
//	<s>        map of strings; <Name Value s> names the members of its entries in the query protocol
//	{a!:s b:i} structure; ! marks a required member, ? one that gets a random value if it is missing
//
// A member of REST-JSON that is not in the body has its place behind its name: @uri, @query=NAME, @header=NAME, or @payload for
// the body itself.
type shape struct {
	kind       byte // the first character
	members    []member
	item       *shape
	key, value string // of entries
}

// member is a member of a structure.
type member struct {
	name, place, in string // in: the name in its place
	required, token bool
	shape           *shape
}

// find returns the member with the name in any case, the exact one first.
func (s *shape) find(name string) *member {
	var found *member
	for i := range s.members {
		if s.members[i].name == name {
			return &s.members[i]
		}
		if found == nil && strings.EqualFold(s.members[i].name, name) {
			found = &s.members[i]
		}
	}
	return found
}

// lies reports whether members have that place.
func (s *shape) lies(place string) bool {
	for _, m := range s.members {
		if m.place == place {
			return true
		}
	}
	return false
}

var shapes sync.Map // by their texts

// shapeOf reads the text of a shape. The texts are constants, and a wrong one panics.
func shapeOf(text string) *shape {
	if known, ok := shapes.Load(text); ok {
		return known.(*shape) //nolint:forcetypeassert // nothing else is in it
	}
	r := reader{strings.TrimSpace(text)}
	s := r.shape()
	if r.text != "" {
		panic("call: shape: " + r.text)
	}
	shapes.Store(text, s)
	return s
}

type reader struct{ text string }

func (r *reader) shape() *shape {
	s := &shape{kind: r.next()}
	switch s.kind {
	case '{':
		for r.space(); !r.skip('}'); r.space() {
			s.members = append(s.members, r.member())
		}
	case '[':
		s.item = r.shape()
		r.want(']')
	case '<':
		s.key, s.value = "key", "value"
		if before, rest, ok := strings.Cut(r.text, " "); ok && !strings.ContainsAny(before, "<>[]{}") {
			s.key = before
			s.value, r.text, _ = strings.Cut(rest, " ")
		}
		s.item = r.shape()
		r.want('>')
	default:
		if !strings.ContainsRune("sildbtB*", rune(s.kind)) {
			panic(fmt.Sprintf("call: shape: %q before %s", s.kind, r.text))
		}
	}
	return s
}

func (r *reader) member() (m member) {
	name, rest, _ := strings.Cut(r.text, ":")
	name, place, _ := strings.Cut(name, "@")
	m.place, m.in, _ = strings.Cut(place, "=")
	m.name = strings.TrimRight(name, "!?")
	m.required, m.token = strings.Contains(name, "!"), strings.Contains(name, "?")
	r.text = rest
	m.shape = r.shape()
	return m
}

func (r *reader) next() (c byte) {
	if r.text == "" {
		panic("call: a shape ends too early")
	}
	c, r.text = r.text[0], r.text[1:]
	return c
}

func (r *reader) space() { r.text = strings.TrimLeft(r.text, " \n\t") }

func (r *reader) skip(c byte) bool {
	rest, ok := strings.CutPrefix(r.text, string(c))
	r.text = rest
	return ok
}

func (r *reader) want(c byte) {
	if !r.skip(c) {
		panic(fmt.Sprintf("call: shape: no %q before %s", c, r.text))
	}
}
