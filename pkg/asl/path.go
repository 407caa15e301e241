package asl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// path is a JSONPath. It selects from the current value ("$"), the context object ("$$") or a
// variable ("$name").
type path struct {
	text     string
	root     pathRoot
	variable string // of rootVariable
	segments []segment
}

type pathRoot uint8

const (
	rootData pathRoot = iota
	rootContext
	rootVariable
	rootElement // "@" in a filter
)

// segment selects from each value that the segments before it selected.
type segment struct {
	text string // as messages show it
	// one returns the selected value, or missing, for a segment that selects at most one value.
	one func(v value.Value) value.Value
	// choose returns the selected values of another segment, which also selects from all values
	// inside if it is deep: "..".
	choose func(e *evaluation, v value.Value) []value.Value
	deep   bool
}

// single reports whether the segment selects at most one value.
func (s segment) single() bool { return s.one != nil && !s.deep }

// definite reports whether the path selects exactly one value, or fails.
func (p *path) definite() bool {
	return !slices.ContainsFunc(p.segments, func(s segment) bool { return !s.single() })
}

// eval returns the selected value: a list if the path is not definite. A definite path without a
// value is an error.
func (p *path) eval(e *evaluation) (value.Value, error) {
	root, err := e.root(p)
	if err != nil {
		return value.Value{}, err
	}
	if !p.definite() {
		selected := []value.Value{root}
		for _, s := range p.segments {
			var next []value.Value
			for _, v := range selected {
				next = append(next, e.choose(s, v)...)
			}
			selected = next
		}
		return value.Array(selected...), nil
	}
	for i, s := range p.segments {
		root = s.one(e.lookup.Open(root))
		switch {
		case len(e.lookup.Load) > 0:
			return value.Null(), nil
		case root.IsMissing():
			read := ""
			for _, before := range p.segments[:i+1] {
				read += before.text
			}
			return root, runtimeError("path %s leads to no value: there is no %s", p.text, read)
		}
	}
	return root, nil
}

// choose returns the values that a segment selects from v.
func (e *evaluation) choose(s segment, v value.Value) []value.Value {
	v = e.lookup.Open(v)
	var selected []value.Value
	if s.one == nil {
		selected = s.choose(e, v)
	} else if member := s.one(v); !member.IsMissing() {
		selected = append(selected, member)
	}
	if s.deep {
		for _, m := range v.Members() {
			selected = append(selected, e.choose(s, m.Value)...)
		}
	}
	return selected
}

func keySegment(keys ...string) segment {
	text := "['" + strings.Join(keys, "','") + "']"
	if len(keys) == 1 {
		return segment{text: text, one: func(v value.Value) value.Value { return v.Get(keys[0]) }}
	}
	return segment{text: text, choose: func(_ *evaluation, v value.Value) (selected []value.Value) {
		for _, key := range keys {
			if member := v.Get(key); !member.IsMissing() {
				selected = append(selected, member)
			}
		}
		return selected
	}}
}

func allSegment() segment {
	return segment{text: "[*]", choose: func(_ *evaluation, v value.Value) (selected []value.Value) {
		for _, m := range v.Members() {
			selected = append(selected, m.Value)
		}
		return selected
	}}
}

func indexSegment(indices ...int) segment {
	text := strings.ReplaceAll(fmt.Sprint(indices), " ", ",")
	element := func(v value.Value, index int) value.Value {
		if v.Kind() == value.KindArray && index < 0 {
			index += v.Len()
		}
		return v.At(index)
	}
	if len(indices) == 1 {
		return segment{text: text, one: func(v value.Value) value.Value { return element(v, indices[0]) }}
	}
	return segment{text: text, choose: func(_ *evaluation, v value.Value) (selected []value.Value) {
		for _, index := range indices {
			if found := element(v, index); !found.IsMissing() {
				selected = append(selected, found)
			}
		}
		return selected
	}}
}

// sliceSegment selects the elements from first to before last; nil means from the begin, or to the
// end.
func sliceSegment(first, last *int, step int) segment {
	return segment{text: "[:]", choose: func(_ *evaluation, v value.Value) (selected []value.Value) {
		if v.Kind() != value.KindArray {
			return nil
		}
		at := func(i *int, otherwise int) int {
			switch {
			case i == nil:
				return otherwise
			case *i < 0:
				return max(*i+v.Len(), 0)
			}
			return min(*i, v.Len())
		}
		for i := at(first, 0); i < at(last, v.Len()); i += step {
			selected = append(selected, v.At(i))
		}
		return selected
	}}
}

func filterSegment(test filter) segment {
	return segment{text: "[?()]", choose: func(e *evaluation, v value.Value) (selected []value.Value) {
		candidates := []value.Value{v}
		if v.Kind() == value.KindArray {
			candidates = nil
			for _, m := range v.Members() {
				candidates = append(candidates, m.Value)
			}
		}
		outer := e.element
		defer func() { e.element = outer }()
		for _, candidate := range candidates {
			if e.element = candidate; test(e) {
				selected = append(selected, candidate)
			}
		}
		return selected
	}}
}

// filter is the condition in "[?(...)]" on the element of the evaluation.
type filter func(e *evaluation) bool

// scanner reads paths and calls of intrinsic functions.
type scanner struct {
	text string
	at   int
	err  error // the first mistake
	// reads notes the roots that the text reads.
	reads reads
}

// reads are the values that expressions read beside the current value.
type reads struct {
	context   bool
	item      bool // the context object with its item of a Map
	variables []string
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format+", at character %d of %q", append(args, len([]rune(s.text[:min(s.at, len(s.text))]))+1, s.text)...)
	}
	s.at = len(s.text) // ends every loop
}

func (s *scanner) rest() string { return s.text[s.at:] }

// take skips a text if it is next.
func (s *scanner) take(text string) bool {
	if !strings.HasPrefix(s.rest(), text) {
		return false
	}
	s.at += len(text)
	return true
}

func (s *scanner) space() {
	s.at = len(s.text) - len(strings.TrimLeft(s.rest(), " \t\n\r"))
}

func (s *scanner) takeWhile(is func(c rune) bool) string {
	end := strings.IndexFunc(s.rest(), func(c rune) bool { return !is(c) })
	if end < 0 {
		end = len(s.rest())
	}
	s.at += end
	return s.text[s.at-end : s.at]
}

// expect skips a text, and fails if it is not next.
func (s *scanner) expect(text string) {
	if s.space(); !s.take(text) {
		s.fail("%q is missing", text)
	}
}

// parsePath reads a text that is a path as a whole.
func parsePath(text string) (*path, reads, error) {
	s := &scanner{text: text}
	p := s.path()
	if s.err == nil && s.at < len(text) {
		s.fail("found %q behind the path", s.rest())
	}
	return p, s.reads, s.err
}

// isNameRune reports whether a character belongs to a name without quotes.
func isNameRune(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c > '~'
}

func isKeyRune(c rune) bool { return isNameRune(c) || c == '-' || c == '@' || c == '/' || c == '$' }

// path reads a path up to the first character that does not belong to it.
func (s *scanner) path() *path {
	start, p := s.at, &path{}
	switch {
	case s.take("$$"):
		p.root = rootContext
		s.reads.context = true
	case s.take("$"):
		if p.variable = s.takeWhile(isNameRune); p.variable != "" {
			p.root = rootVariable
			s.reads.variables = append(s.reads.variables, p.variable)
		}
	case s.take("@"):
		p.root = rootElement
	default:
		s.fail("a path begins with %q", "$")
	}
	for s.err == nil {
		switch {
		case s.take(".."):
			p.segments = append(p.segments, s.deepSegment())
		case s.take("["), s.take(".["): // the dot is common in published machines
			p.segments = append(p.segments, s.bracket())
		case s.take("."):
			p.segments = append(p.segments, s.member())
		default:
			p.text = s.text[start:s.at]
			readsMember := len(p.segments) > 0 && p.segments[0].single()
			s.reads.item = s.reads.item || p.root == rootContext && (!readsMember || p.segments[0].text == "['Map']")
			return p
		}
	}
	return p
}

func (s *scanner) deepSegment() segment {
	var inner segment
	if s.take("[") {
		inner = s.bracket()
	} else {
		inner = s.member()
	}
	inner.text, inner.deep = ".."+inner.text, true
	return inner
}

func (s *scanner) member() segment {
	if s.take("*") {
		return allSegment()
	}
	key := s.takeWhile(isKeyRune)
	if key == "" {
		s.fail("a name is missing behind %q", ".")
	}
	if strings.HasPrefix(s.rest(), "(") {
		s.fail("functions of paths are not supported; use an intrinsic function like States.ArrayLength")
	}
	return keySegment(key)
}

// bracket reads the rest of a segment in brackets.
func (s *scanner) bracket() segment {
	s.space()
	var inside segment
	switch next := s.rest(); {
	case s.take("*"):
		inside = allSegment()
	case s.take("?"):
		s.expect("(")
		test := s.anyOf()
		s.expect(")")
		inside = filterSegment(test)
	case strings.HasPrefix(next, "'"), strings.HasPrefix(next, `"`):
		keys := []string{s.quoted()}
		for s.space(); s.take(","); s.space() {
			s.space()
			keys = append(keys, s.quoted())
		}
		inside = keySegment(keys...)
	default:
		inside = s.indices()
	}
	s.expect("]")
	return inside
}

// indices reads "0", "0,2", "1:3" and the like.
func (s *scanner) indices() segment {
	first := s.number()
	if s.space(); s.take(":") {
		last, step := s.number(), 1
		if s.take(":") {
			if n := s.number(); n != nil {
				step = *n
			}
		}
		if step < 1 {
			s.fail("the step of a slice is at least 1")
			step = 1
		}
		return sliceSegment(first, last, step)
	}
	if first == nil {
		s.fail(`allowed in brackets: an index, a slice, "*", a name in quotes or "?(...)"`)
		return indexSegment(0)
	}
	list := []int{*first}
	for s.space(); s.take(","); s.space() {
		n := s.number()
		if n == nil {
			s.fail("an index is missing")
			break
		}
		list = append(list, *n)
	}
	return indexSegment(list...)
}

// number reads a whole number, nil for none.
func (s *scanner) number() *int {
	s.space()
	text := s.takeWhile(func(c rune) bool { return c == '-' || c >= '0' && c <= '9' })
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		s.fail("number %s is not an index", text)
	}
	index := int(n)
	return &index
}

// quoted reads a text in quotes. A backslash stands for itself unless the quote or a backslash
// follows it.
func (s *scanner) quoted() string {
	if s.rest() == "" || s.rest()[0] != '\'' && s.rest()[0] != '"' {
		s.fail("a name in quotes is missing")
		return ""
	}
	quote := s.rest()[0]
	var text strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return text.String()
		case c == '\\' && s.at+1 < len(s.text) && (s.text[s.at+1] == quote || s.text[s.at+1] == '\\'):
			s.at++
			text.WriteByte(s.text[s.at])
		default:
			text.WriteByte(c)
		}
	}
	s.fail("a text has no closing quote")
	return ""
}
