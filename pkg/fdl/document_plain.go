package fdl

import (
	"encoding/json"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// plainReader reads the part of YAML that nearly all flows are written in, JSON included, several
// times faster than the library: mappings and lists in both styles, scalars of one line, comments.
// It gives up at everything else and at every mistake, and the library reads the document instead.
// So what it reads has the meaning, and what is wrong has the message, that the library gives it
// (FuzzPlainReader).
//
// Once it gave up it is at the end of the text, and what it read has no meaning.
type plainReader struct {
	text   string
	at     int // bytes
	begin  int // of the line
	gaveUp bool
	nodes  int
	levels int
	spare  []node // nodes that are made many at once
	// place is the position of the byte at counted.
	place   Position
	counted int
}

// token is the text of a scalar. Quote is that of [node].
type token struct {
	text  string
	quote rune
	pos   Position
}

// readPlain returns the root of the document, nil if the library has to read it.
func readPlain(text string) *node {
	if strings.ContainsAny(text, "\t\uFEFF") {
		return nil
	}
	p := &plainReader{text: text, place: Position{1, 1}}
	p.gap()
	root := p.block(-1)
	if p.at < len(text) || p.gaveUp || root.kind == nodeScalar {
		return nil
	}
	return root
}

func (p *plainReader) giveUp() { p.at, p.gaveUp = len(p.text), true }

// next returns a byte from the place on, and a line break behind the text.
func (p *plainReader) next(offset int) byte {
	if p.at+offset < len(p.text) {
		return p.text[p.at+offset]
	}
	return '\n'
}

// isIndicator reports whether c is next and stands alone, as the "-" of a list and the ":" of a key.
func (p *plainReader) isIndicator(c byte) bool {
	return p.next(0) == c && (p.next(1) == ' ' || p.next(1) == '\n')
}

// take moves past c, and gives up if something else is next.
func (p *plainReader) take(c byte) {
	if p.next(0) != c || p.at >= len(p.text) {
		p.giveUp()
		return
	}
	p.at++
}

func (p *plainReader) column() int { return p.at - p.begin }

// gap moves to the next token and reports whether it begins a line, as the end of the text does.
func (p *plainReader) gap() (isNewLine bool) {
	for start := p.at; p.at < len(p.text); {
		switch c := p.text[p.at]; {
		case c == ' ':
			p.at++
		case c == '\n':
			p.at++
			p.begin, isNewLine = p.at, true
		case c == '#' && (p.at == p.begin || p.at > start):
			for p.next(0) != '\n' {
				p.at++
			}
		default:
			if rest := p.text[p.at:]; p.at == p.begin && (strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")) {
				p.giveUp() // the document begins or ends
			}
			return isNewLine
		}
	}
	return true
}

// position returns that of the place, which is behind those that were asked for before.
func (p *plainReader) position() Position {
	for _, c := range []byte(p.text[p.counted:p.at]) {
		switch {
		case c == '\n':
			p.place = Position{p.place.Line + 1, 1}
		case c&0xC0 != 0x80: // the first byte of a character
			p.place.Column++
		}
	}
	p.counted = p.at
	return p.place
}

func (p *plainReader) node(kind nodeKind, at Position) *node {
	const many = 256
	if p.nodes++; p.nodes > maxNodes {
		p.giveUp()
	}
	if len(p.spare) == 0 {
		p.spare = make([]node, many)
	}
	n := &p.spare[0]
	p.spare = p.spare[1:]
	n.kind, n.pos = kind, at
	return n
}

// enter counts a level of lists and mappings, and gives up below maxLevels.
func (p *plainReader) enter() (leave func()) {
	if p.levels++; p.levels > maxLevels {
		p.giveUp()
	}
	return func() { p.levels-- }
}

// block reads a value that begins a line or follows the "-" of a list. What is around it is indented
// by outer. Like all that reads such values, it moves to the next token, which begins a line.
func (p *plainReader) block(outer int) *node {
	column := p.column()
	switch c := p.next(0); {
	case p.gaveUp || column <= outer: // the value is empty
		p.giveUp()
		return &node{}
	case p.isIndicator('-'):
		return p.list(column)
	case c == '{' || c == '[':
		return p.lineOf(outer)
	}
	first := p.token(false)
	if p.isIndicator(':') {
		return p.mapping(column, first)
	}
	n := p.scalar(first)
	p.endLine()
	return n
}

// lineOf reads a value that ends its line.
func (p *plainReader) lineOf(outer int) *node {
	n := p.flow(outer, false)
	p.endLine()
	return n
}

func (p *plainReader) endLine() {
	if !p.gap() {
		p.giveUp()
	}
}

// list reads a list whose "-" stand in that column.
func (p *plainReader) list(column int) *node {
	defer p.enter()()
	n := p.node(nodeSequence, p.position())
	for p.column() == column && p.isIndicator('-') {
		p.at++
		p.gap()
		n.items = append(n.items, p.block(column))
	}
	p.dedent(column)
	return n
}

// dedent gives up if the token behind a list or a mapping is indented by more.
func (p *plainReader) dedent(column int) {
	if p.at < len(p.text) && p.column() > column {
		p.giveUp()
	}
}

// mapping reads a mapping in that column, whose first key was read.
func (p *plainReader) mapping(column int, key token) *node {
	defer p.enter()()
	n := p.node(nodeMapping, key.pos)
	for {
		if !p.isIndicator(':') {
			p.giveUp()
		}
		p.take(':')
		switch isNewLine := p.gap(); {
		case !isNewLine:
			p.add(n, key, p.lineOf(column))
		case p.isIndicator('-'): // the list of a key need not be indented
			p.add(n, key, p.block(column-1))
		default:
			p.add(n, key, p.block(column))
		}
		if p.at >= len(p.text) || p.column() != column {
			p.dedent(column)
			return n
		}
		key = p.token(false)
	}
}

// add adds an entry to a mapping.
func (p *plainReader) add(n *node, key token, v *node) {
	const usual, mostEntries, longestKey = 4, 64, 1000 // below what the library allows; few, because it looks at each
	if len(n.entries) == mostEntries || len(key.text) > longestKey || key.text == "<<" || n.get(key.text) != nil {
		p.giveUp()
	}
	if n.entries == nil {
		n.entries = make([]entry, 0, usual)
	}
	n.entries = append(n.entries, entry{key.text, key.pos, v})
}

// flow reads a value in brackets, which may have many lines, or a scalar.
func (p *plainReader) flow(outer int, isInside bool) *node {
	switch p.next(0) {
	case '{':
		return p.brackets(p.node(nodeMapping, p.position()), '}', outer)
	case '[':
		return p.brackets(p.node(nodeSequence, p.position()), ']', outer)
	}
	return p.scalar(p.token(isInside))
}

// brackets reads what stands in brackets. Its lines are indented by more than outer.
func (p *plainReader) brackets(n *node, end byte, outer int) *node {
	defer p.enter()()
	p.at++
	for p.gapInside(outer); p.next(0) != end && !p.gaveUp; p.gapInside(outer) {
		if n.kind == nodeMapping {
			p.member(n, outer)
		} else {
			n.items = append(n.items, p.flow(outer, true))
		}
		p.gapInside(outer)
		if p.next(0) != end {
			p.take(',')
		}
	}
	p.take(end)
	return n
}

func (p *plainReader) member(n *node, outer int) {
	key := p.token(true)
	if key.quote == 0 && !p.isIndicator(':') {
		p.giveUp()
	}
	p.take(':')
	p.gapInside(outer)
	p.add(n, key, p.flow(outer, true))
}

func (p *plainReader) gapInside(outer int) {
	if p.gap() && p.column() <= outer {
		p.giveUp()
	}
}

// token reads a scalar.
func (p *plainReader) token(isInside bool) token {
	t := token{pos: p.position()}
	switch c := p.next(0); c {
	case '"', '\'':
		t.quote = rune(c)
		t.text = p.quoted(c)
	default:
		t.text = p.unquoted(isInside)
	}
	return t
}

// quoted reads a text in quotes, with the escapes that JSON and YAML have in common.
func (p *plainReader) quoted(quote byte) string {
	start, escapes := p.at, false
	for p.at++; p.next(0) != quote || quote == '\'' && p.next(1) == quote; p.at++ {
		switch c := p.next(0); {
		case c == '\n', c == '\\' && p.next(1) == 'u' && p.next(2)|0x20 == 'd': // the letter may be half of a character
			p.giveUp()
			return ""
		case c == quote, c == '\\' && quote == '"':
			escapes = true
			p.at++
		}
	}
	p.at++
	inside := p.text[start+1 : p.at-1]
	switch {
	case !escapes:
		return inside
	case quote == '\'':
		return strings.ReplaceAll(inside, "''", "'")
	}
	var text string
	if json.Unmarshal([]byte(p.text[start:p.at]), &text) != nil {
		p.giveUp()
	}
	return text
}

// unquoted reads a text without quotes, which ends before a comment, a ":" and the end of the line,
// inside of brackets also before their punctuation.
func (p *plainReader) unquoted(isInside bool) string {
	const punctuation = ",[]{}"
	if c := p.next(0); !isPlainStart(c) && (c != '-' || !isPlainStart(p.next(1))) {
		p.giveUp()
		return ""
	}
	start, end := p.at, p.at
	for ; ; p.at++ {
		c := p.next(0)
		if c == '\n' || p.isIndicator(':') || c == '#' && p.at > end || isInside && strings.IndexByte(punctuation, c) >= 0 {
			break
		}
		if isInside && (c == '?' || c == ':' && strings.IndexByte(punctuation, p.next(1)) >= 0) {
			p.giveUp()
			return ""
		}
		if c != ' ' {
			end = p.at + 1
		}
	}
	p.at = end
	return p.text[start:end]
}

// isPlainStart reports whether a text without quotes may begin with c whatever follows.
func isPlainStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("$_./+~(", c) >= 0 || c >= 0x80
}

func (p *plainReader) scalar(t token) *node {
	n := p.node(nodeScalar, t.pos)
	n.quote = t.quote
	switch first := (t.text + " ")[0]; {
	case t.quote != 0:
	case strings.IndexByte("+-.0123456789", first) >= 0:
		number, ok := value.Number(t.text)
		if !ok { // maybe an instant or a number in another notation
			p.giveUp()
		}
		n.scalar = number
		return n
	case strings.IndexByte("tTfFnN~", first) >= 0:
		if n.scalar = literals[t.text]; !n.scalar.IsMissing() {
			return n
		}
	}
	n.scalar = value.String(t.text)
	return n
}

// literals are what a text without quotes may mean.
var literals = map[string]value.Value{
	"true": value.Bool(true), "True": value.Bool(true), "TRUE": value.Bool(true),
	"false": value.Bool(false), "False": value.Bool(false), "FALSE": value.Bool(false),
	"~": value.Null(), "null": value.Null(), "Null": value.Null(), "NULL": value.Null(),
}
