package expr

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/waitless/waitless/pkg/value"
)

// Root is the beginning of a path.
type Root string

// The roots. RootSelf is the step's own input, for conditions, waits and service parameters. The
// others are for mappings.
const (
	RootSelf    Root = "$"
	RootInput   Root = "$input"
	RootLocal   Root = "$local"
	RootContext Root = "$context"
)

// MappingRoots are the roots that the source of a mapping may begin with.
var MappingRoots = []Root{RootInput, RootLocal, RootContext}

// Scope has the values of the roots. A root may be missing if no path begins with it.
type Scope struct {
	Self, Input, Local, Context value.Value
	// Lookup finds the content of references; it may be nil if there are none.
	Lookup *value.Lookup
}

// Path selects a value: a root, then keys (.key or ["key"]), elements ([0],
// counted from 0) or all elements ([*]). The zero Path is invalid.
type Path struct {
	root     Root
	segments []segment
}

type segment struct {
	kind  segmentKind
	key   string
	index int
}

type segmentKind uint8

const (
	segmentKey segmentKind = iota
	segmentIndex
	segmentAll
)

// ParsePath reads a path that begins with one of the roots. Errors are of type [*SyntaxError].
func ParsePath(text string, roots ...Root) (Path, error) {
	s := &scanner{what: "path", text: text}
	p := s.path(roots)
	if !s.done() {
		s.fail(s.pos, `found %s after %s; a path goes on with ".key", ["key"], [0] or [*]`, s.found(s.pos), shown(text[:s.pos]))
	}
	if s.err != nil {
		return Path{}, s.err
	}
	return p, nil
}

// path reads a path up to the first character that does not belong to it.
func (s *scanner) path(roots []Root) Path {
	start, found := s.pos, s.found(s.pos)
	p := Path{}
	if s.take("$") {
		p.root = Root("$" + s.takeWhile(isKeyRune))
		found = quote(string(p.root))
	}
	if !slices.Contains(roots, p.root) {
		list := string(roots[0])
		for _, r := range roots[1:] {
			list += " or " + string(r)
		}
		s.fail(start, "found %s where a path belongs; a path here begins with %s, like %s.key", found, list, roots[0])
	}
	for {
		switch {
		case s.take("."):
			key := s.takeWhile(isKeyRune)
			if key == "" {
				s.fail(s.pos, `found %s where a key belongs; a key has letters, digits, "_" and "-", others are written ["key"]`, s.found(s.pos))
			}
			p.segments = append(p.segments, segment{kind: segmentKey, key: key})
		case s.take("["):
			p.segments = append(p.segments, s.bracket())
		default:
			return p
		}
	}
}

func isKeyRune(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// bracket reads the rest of a text in brackets.
func (s *scanner) bracket() segment {
	var inside segment
	switch {
	case s.take("*"):
		inside.kind = segmentAll
	case s.next('"'):
		inside.key = s.quoted()
	default:
		start, found := s.pos, s.found(s.pos)
		text := s.takeWhile(func(r rune) bool { return r >= '0' && r <= '9' })
		if text != "" {
			found = quote(shown(text))
		}
		index, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			s.fail(start, `found %s in brackets; allowed: an index from 0 to %d, "*" or a key in double quotes`, found, math.MaxInt32)
		}
		inside = segment{kind: segmentIndex, index: int(index)}
	}
	if !s.take("]") {
		s.fail(s.pos, `found %s where "]" belongs`, s.found(s.pos))
	}
	return inside
}

// Root returns the root that p begins with.
func (p Path) Root() Root { return p.root }

// String returns the text from which [ParsePath] reads p.
func (p Path) String() string {
	b := []byte(p.root)
	for _, s := range p.segments {
		switch {
		case s.kind == segmentAll:
			b = append(b, "[*]"...)
		case s.kind == segmentIndex:
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
		case s.key != "" && strings.IndexFunc(s.key, func(r rune) bool { return !isKeyRune(r) }) < 0:
			b = append(append(b, '.'), s.key...)
		default:
			b = append(value.String(s.key).AppendJSON(append(b, '[')), ']')
		}
	}
	return string(b)
}

// Eval returns the selected value, or Missing. [*] applies the rest of the path to each element of
// an array and returns one flat list of the results. It selects nothing from other values.
func (p Path) Eval(scope *Scope) value.Value {
	var root value.Value
	switch p.root {
	case RootSelf:
		root = scope.Self
	case RootInput:
		root = scope.Input
	case RootLocal:
		root = scope.Local
	case RootContext:
		root = scope.Context
	}
	return selectFrom(root, p.segments, scope.Lookup)
}

func selectFrom(v value.Value, segments []segment, lookup *value.Lookup) value.Value {
	for i, s := range segments {
		v = lookup.Open(v)
		switch s.kind {
		case segmentKey:
			v = v.Get(s.key)
			continue
		case segmentIndex:
			v = v.At(s.index)
			continue
		case segmentAll:
		}
		if v.Kind() != value.KindArray {
			return value.Value{}
		}
		rest := segments[i+1:]
		flat := slices.ContainsFunc(rest, func(s segment) bool { return s.kind == segmentAll })
		var selected []value.Member
		for _, m := range v.Members() {
			one := selectFrom(m.Value, rest, lookup)
			switch {
			case one.IsMissing():
			case flat:
				selected = append(selected, one.Members()...)
			default:
				selected = append(selected, value.Member{Value: one})
			}
		}
		return value.ArrayFrom(selected)
	}
	return v
}
