package call

import (
	"fmt"
	"strings"
	"sync"
)

// A shape is a type of an API. Its text is short, because there are many:
//
//	s string   i integer   l long   d double   b boolean   t instant   B blob   * anything
//	h and u    instants outside of a body: as in HTTP, and in seconds
//	[s]        list of strings; [Name s] names its items in XML and in the query protocol
//	[= s]      list of strings whose items are elements with the name of the member
//	<s>        map of strings; <Name Value s> names the members of its entries in the query protocol
//	{a!:s b:i} structure; ! marks a required member, ? a member with a random default
//	(a:t)      structure that may have other members, which are not converted
//
// A member of REST-JSON that is not in the body has its place behind its name: @uri or @uri=NAME,
// @query=NAME, @header=NAME, @headers=PREFIX, @status, or @payload for the body itself, with the
// name of its element in XML. A member with @body=NAME has another name in the body, and
// @attribute=NAME makes one an attribute of the element.
type shape struct {
	kind       byte // the first character
	members    []member
	item       *shape
	key, value string // the names of the key and value of an entry; value is also the name of an item
}

// The places of members.
const (
	placeBody    = "body"
	placeURI     = "uri"
	placeQuery   = "query"
	placeHeader  = "header"
	placeHeaders = "headers"
	placeStatus  = "status"
	placePayload = "payload"
	// An attribute has a name in the namespace of instances of schemas.
	placeAttribute = "attribute"
)

// member is a member of a structure.
type member struct {
	name, place, in string // in: the name in its place
	required, token bool
	shape           *shape
}

// key is the name of the member in the body.
func (m member) key() string {
	if m.place == placeBody {
		return m.in
	}
	return m.name
}

// keyAt returns the member's key among the members that were read. The input itself gets its names
// in the body last, because a member in another place may have the same name.
func (m member) keyAt(path string) string {
	if path == "" {
		return m.name
	}
	return m.key()
}

// find returns the member with the name, or with the name in its place, in any case. The exact one
// comes first.
func (s *shape) find(name string) *member {
	var found *member
	for i := range s.members {
		m := &s.members[i]
		if m.name == name {
			return m
		}
		isOther := (m.place == placeBody || m.place == placeURI) && strings.EqualFold(m.in, name)
		if found == nil && (isOther || strings.EqualFold(m.name, name)) {
			found = m
		}
	}
	return found
}

// payload returns the member that is the body itself, nil for none.
func (s *shape) payload() *member {
	for i := range s.members {
		if s.members[i].place == placePayload {
			return &s.members[i]
		}
	}
	return nil
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
	if r.text == "" {
		panic("call: a shape ends too early")
	}
	s := &shape{kind: r.text[0]}
	r.text = r.text[1:]
	switch s.kind {
	case '{', '(':
		end := map[byte]byte{'{': '}', '(': ')'}[s.kind]
		for r.space(); !r.skip(end); r.space() {
			name, rest, _ := strings.Cut(r.text, ":")
			name, place, _ := strings.Cut(name, "@")
			m := member{name: strings.TrimRight(name, "!?"), required: strings.Contains(name, "!"), token: strings.Contains(name, "?")}
			m.place, m.in, _ = strings.Cut(place, "=")
			r.text = rest
			m.shape = r.shape()
			s.members = append(s.members, m)
		}
	case '[':
		if name, rest, ok := r.named(); ok {
			s.value, r.text = name, rest
		}
		s.item = r.shape()
		r.want(']')
	case '<':
		s.key, s.value = "key", "value"
		if name, rest, ok := r.named(); ok {
			s.key = name
			s.value, r.text, _ = strings.Cut(rest, " ")
		}
		s.item = r.shape()
		r.want('>')
	default:
		if !strings.ContainsRune("sildbtBhu*", rune(s.kind)) {
			panic(fmt.Sprintf("call: shape: %q before %s", s.kind, r.text))
		}
	}
	return s
}

// named returns the name before a shape and the text after it.
func (r *reader) named() (name, rest string, ok bool) {
	name, rest, ok = strings.Cut(r.text, " ")
	return name, rest, ok && !strings.ContainsAny(name, "<>[](){}")
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
