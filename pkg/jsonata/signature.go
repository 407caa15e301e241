package jsonata

import "strings"

// signature is the declared types of the parameters of a function. The type of the result is not
// checked, as the language has it.
type signature struct{ params []param }

type param struct {
	kinds    string // the letters that match; m stands for an argument that is missing
	inner    byte   // the type of all items of an array, 0 for any
	array    bool   // other values are wrapped
	context  bool   // the context stands for a missing argument
	optional bool
	repeated bool
}

const anyKind = "asnblfom"

// parseSignature reads a signature up to the type of its result.
func parseSignature(pos int, text string) *signature {
	body := strings.TrimSuffix(strings.TrimPrefix(text, "<"), ">")
	sig := &signature{}
	for i := 0; i < len(body) && body[i] != ':'; i++ {
		last := &param{}
		if n := len(sig.params); n > 0 {
			last = &sig.params[n-1]
		}
		switch c := body[i]; c {
		case 's', 'n', 'b', 'l', 'o', 'f':
			sig.params = append(sig.params, param{kinds: string(c) + "m"})
		case 'a', 'x':
			sig.params = append(sig.params, param{kinds: anyKind, array: c == 'a'})
		case 'j':
			sig.params = append(sig.params, param{kinds: "asnblom"})
		case '(', '<':
			i = sig.parseBrackets(pos, body, i, last)
		case '-', '?', '+':
			if last.kinds == "" {
				fail(pos, "S0403", text)
			}
			last.context, last.optional, last.repeated = last.context || c == '-', last.optional || c != '+', last.repeated || c == '+'
		case ' ':
		default:
			fail(pos, "S0403", text)
		}
	}
	return sig
}

// parseBrackets reads a choice of types, or the type parameter of an array or a function. It
// returns the offset of the closing bracket.
func (s *signature) parseBrackets(pos int, body string, at int, last *param) int {
	end, choice := closing(body, at), body[at] == '('
	switch {
	case !choice && !last.array && last.kinds != "fm":
		fail(pos, "S0401", nil)
	case end < 0:
		fail(pos, "S0403", body)
	case choice && strings.Contains(body[at:end], "<"):
		fail(pos, "S0402", nil)
	case choice:
		s.params = append(s.params, param{kinds: body[at+1:end] + "m"})
	case last.array && end > at+1:
		last.inner = body[at+1]
	}
	return end
}

// closing returns the offset of the bracket that closes the bracket at an offset, or -1.
func closing(text string, at int) int {
	depth, closer := 0, byte('>')
	if text[at] == '(' {
		closer = ')'
	}
	for i := at; i < len(text); i++ {
		switch text[i] {
		case text[at]:
			depth++
		case closer:
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// bind returns the arguments in the order of the parameters. A context stands for a missing one.
func (s *signature) bind(r *run, args []item, context item) []item {
	if s.isPlain(args) {
		return args
	}
	var room [8]int
	counts := append(room[:0], make([]int, len(s.params))...)
	if best := 0; !s.match(args, 0, counts, &best) {
		r.fail("T0410", best+1)
	}
	bound := make([]item, 0, len(s.params))
	at := 0
	for i, p := range s.params {
		if counts[i] == 0 {
			if p.context && !strings.ContainsRune(p.kinds, rune(kindOf(context))) {
				r.fail("T0411", at+1)
			}
			if p.context {
				bound = append(bound, context)
			} else {
				bound = append(bound, nil)
			}
		}
		for range counts[i] {
			bound = append(bound, p.convert(r, args[at], at))
			at++
		}
	}
	return bound
}

// isPlain reports whether each parameter has its argument as it is, which is the common case.
func (s *signature) isPlain(args []item) bool {
	if len(args) != len(s.params) {
		return false
	}
	for i, p := range s.params {
		if kind := kindOf(args[i]); p.array && (kind != arrayKind || p.inner != 0) || kind == nothing || strings.IndexByte(p.kinds, kind) < 0 {
			return false
		}
	}
	return true
}

// match assigns arguments to the parameters from p on, the most that are possible to the first.
// Best becomes the number of arguments that match.
func (s *signature) match(args []item, p int, counts []int, best *int) bool {
	used := 0
	for _, n := range counts[:p] {
		used += n
	}
	*best = max(*best, used)
	if p == len(s.params) {
		return used == len(args)
	}
	this, most := s.params[p], 0
	for used+most < len(args) && (most == 0 || this.repeated) && strings.IndexByte(this.kinds, kindOf(args[used+most])) >= 0 {
		most++
	}
	for counts[p] = most; counts[p] > 0; counts[p]-- {
		if s.match(args, p+1, counts, best) {
			return true
		}
	}
	return this.optional && s.match(args, p+1, counts, best)
}

// convert checks the items of an array, or makes an argument one.
func (p *param) convert(r *run, x item, at int) item {
	if !p.array || x == nil {
		return x
	}
	l, isArray := listOf(x)
	if !isArray {
		if p.inner != 0 && p.inner != kindOf(x) {
			r.fail("T0412", at+1)
		}
		return &array{items: []item{x}}
	}
	if p.inner == 0 || l.count > 0 && p.inner == numeric {
		return x
	}
	r.spend(l.len())
	for i := range l.len() {
		if kindOf(l.at(i)) != p.inner {
			r.fail("T0412", at+1)
		}
	}
	return x
}
