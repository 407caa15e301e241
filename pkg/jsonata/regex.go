package jsonata

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// unicodeEscape is an escape of JavaScript that Go's syntax writes as \x{...}.
var unicodeEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`) })

// maxInstructions bounds the compiled regular expressions of an expression.
const maxInstructions = 100_000

// compile compiles a regular expression to a function, which returns the first match.
func (l *lexer) compile(pos int, pattern, flags string) *function {
	pattern = unicodeEscape().ReplaceAllString(pattern, `\x{$1}`)
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	invalid := func(err error) {
		if err != nil {
			fail(pos, "S0303", err.Error())
		}
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	invalid(err)
	program, err := syntax.Compile(parsed.Simplify())
	invalid(err)
	if l.instructions += len(program.Inst); l.instructions > maxInstructions {
		fail(pos, "U1001", "the regular expressions are too large")
	}
	f := &function{name: "regex", arity: 1, instructions: len(program.Inst)}
	f.regex, err = regexp.Compile(pattern)
	invalid(err)
	f.later, err = regexp.Compile(`^(?s:.)(?s:.*?)(` + parsed.String() + `)`)
	invalid(err)
	f.native = func(r *run, args []item) item {
		s, ok := textOf(args[0])
		if !ok {
			return nil
		}
		return r.matchItem(s, r.findAll(f, s))
	}
	return f
}

// matchItem returns the first match in the form of matchers, from which next leads to the others.
func (r *run) matchItem(s string, found []match) item {
	if len(found) == 0 {
		return nil
	}
	made := found[0].item(r, s)
	made.set("next", &function{name: "next", always: true, native: func(r *run, _ []item) item { return r.matchItem(s, found[1:]) }})
	return made
}

// A match is one result of a matcher, with its offsets in bytes.
type match struct {
	text       string
	start, end int
	inner      []item
}

func (m match) object(key string, x item) *object {
	return &object{keys: []string{"match", key}, values: []item{m.text, x}}
}

// item returns the match in the form of matchers.
func (m match) item(r *run, s string) *object {
	r.read(m.end)
	made := m.object("start", float64(utf16Length(s[:m.start])))
	made.set("end", float64(utf16Length(s[:m.end])))
	made.set("groups", m.groups())
	return made
}

func (m match) groups() item { return &array{items: m.inner} }

func utf16Length(s string) (n int) {
	for _, c := range s {
		n += utf16.RuneLen(c)
	}
	return n
}

// workOfStep is how many instructions of a regular expression, times characters, count as a step.
const workOfStep = 128

// findAll returns the matches of a regular expression, none of them empty.
func (r *run) findAll(f *function, s string) (found []match) {
	const short = 256 // a search in so few bytes counts as if it passed all of them
	if len(s) > short {
		return r.findEach(f, s)
	}
	work := 1 + f.instructions*len(s)/workOfStep
	r.spend(work)
	for _, at := range f.regex.FindAllStringSubmatchIndex(s, -1) {
		r.spend(work)
		found = append(found, r.newMatch(s, at))
	}
	return found
}

// findEach is findAll for long texts. It counts the characters that each search reads, because one
// that fails late may read all of them.
func (r *run) findEach(f *function, s string) (found []match) {
	at := f.regex.FindReaderSubmatchIndex(&countingReader{run: r, text: s, instructions: f.instructions})
	for at != nil {
		m := r.newMatch(s, at)
		found = append(found, m)
		_, size := utf8.DecodeLastRuneInString(s[:m.end])
		from := m.end - size
		at = f.later.FindReaderSubmatchIndex(&countingReader{run: r, text: s[from:], instructions: f.instructions})
		if at != nil {
			at = at[2:] // the group around the expression
		}
		for i := range at {
			if at[i] >= 0 {
				at[i] += from
			}
		}
	}
	return found
}

// newMatch returns the match with the offsets that package regexp returns.
func (r *run) newMatch(s string, at []int) match {
	r.spend(len(at) / 2)
	if at[0] == at[1] {
		r.fail("D1004", nil)
	}
	m := match{text: s[at[0]:at[1]], start: at[0], end: at[1]}
	for g := 2; g < len(at); g += 2 {
		var inner item
		if at[g] >= 0 {
			inner = s[at[g]:at[g+1]]
		}
		m.inner = append(m.inner, inner)
	}
	return m
}

// countingReader gives a text to a regular expression and counts the work.
type countingReader struct {
	run                    *run
	text                   string
	at, work, instructions int
}

// ReadRune returns the next character.
func (c *countingReader) ReadRune() (char rune, size int, err error) {
	if c.work += c.instructions; c.work >= workOfStep {
		c.run.spend(c.work / workOfStep)
		c.work %= workOfStep
	}
	if c.at == len(c.text) {
		return 0, 0, io.EOF
	}
	char, size = utf8.DecodeRuneInString(c.text[c.at:])
	c.at += size
	return char, size, nil
}

// matches calls visit with the matches of a matcher in a text until visit returns false. A matcher
// is a regular expression or a function in its place.
func (r *run) matches(matcher item, s string, visit func(match) bool) {
	f, ok := matcher.(*function)
	if !ok {
		r.fail("T1010", nil)
	}
	if f.regex != nil {
		for _, m := range r.findAll(f, s) {
			if !visit(m) {
				return
			}
		}
		return
	}
	for found := r.call(f, s); found != nil; {
		m, ok := r.matchOf(found, s)
		next, isFunc := member(found, "next").(*function)
		if !ok || !isFunc {
			r.fail("T1010", nil)
		}
		if !visit(m) {
			return
		}
		found = r.call(next)
	}
}

// matchOf reads the result of a function that stands for a regular expression.
func (r *run) matchOf(found item, s string) (m match, ok bool) {
	r.read(2 * len(s))
	start, startOK := numberOf(member(found, "start"))
	end, endOK := numberOf(member(found, "end"))
	groups, groupsOK := listOf(member(found, "groups"))
	m.text, ok = textOf(member(found, "match"))
	m.start, m.end = byteOffset(s, start), byteOffset(s, end)
	m.inner = groups.appendTo(nil)
	return m, ok && startOK && endOK && groupsOK && m.start <= m.end
}

// byteOffset returns the offset in bytes of a position in UTF-16, within the text.
func byteOffset(s string, position float64) int {
	units := 0.0
	for i, c := range s {
		if units >= position {
			return i
		}
		units += float64(utf16.RuneLen(c))
	}
	return len(s)
}

// expand writes a replacement: $0 is the match, $1 a group, $$ a dollar sign.
func (m match) expand(replacement string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(replacement, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		digits := 0
		for digits < len(rest) && isDigit(rest[digits]) && digits < len(strconv.Itoa(len(m.inner))) {
			digits++
		}
		group, _ := strconv.Atoi(rest[:digits])
		if digits > 1 && group > len(m.inner) {
			digits--
			group, _ = strconv.Atoi(rest[:digits])
		}
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			digits = 1
		case digits == 0:
			out.WriteByte('$')
		case group == 0:
			out.WriteString(m.text)
		case group <= len(m.inner):
			inner, _ := textOf(m.inner[group-1])
			out.WriteString(inner)
		}
		replacement = rest[digits:]
	}
}
