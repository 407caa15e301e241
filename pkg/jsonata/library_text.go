package jsonata

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/value"
)

func libString(r *run, args []item) item {
	line := ""
	if len(args) > 1 && r.truth(args[1]) {
		line = "\n"
	}
	return r.stringOf(args[0], line)
}

// stringOf returns the text of any value, as $string does. The line is "\n" for indented JSON.
func (r *run) stringOf(x item, line string) string {
	if s, ok := textOf(x); ok {
		return s
	}
	if x == nil || kindOf(x) == funcKind {
		return ""
	}
	if f, ok := numberOf(x); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		r.fail("D3001", nil)
	}
	return string(r.appendText(nil, x, line))
}

// finite returns a number that has JSON.
func (r *run) finite(x item) float64 {
	f, _ := numberOf(x)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		r.fail("D1001", f)
	}
	return f
}

// appendText writes JSON with numbers of 15 digits, in the order of the members. The line is a line
// feed with the indentation, or "".
func (r *run) appendText(out []byte, x item, line string) []byte {
	r.enter()
	defer r.leave()
	r.spend(1)
	if len(out) > r.sizeLimit {
		r.write(len(out))
	}
	before, inside := len(out), line
	if line != "" {
		inside += "  "
	}
	switch kindOf(x) {
	case numeric:
		const digits = 15                                                                         // of the texts of numbers
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(r.finite(x), 'e', digits-1, 64), 64) // is a number
		out = append(out, numberText(rounded)...)
	case arrayKind:
		l, _ := listOf(x)
		out = append(out, '[')
		for i := range l.len() {
			if i > 0 {
				out = append(out, ',')
			}
			out = r.appendText(append(out, inside...), l.at(i), inside)
		}
		if l.len() > 0 {
			out = append(out, line...)
		}
		return append(out, ']')
	case objKind:
		out = append(out, '{')
		colon := ": "[:min(1+len(line), 2)]
		for key, inner := range membersOf(x) {
			if len(out) > before+1 {
				out = append(out, ',')
			}
			out = value.String(key).AppendJSON(append(out, inside...))
			out = r.appendText(append(out, colon...), inner, inside)
		}
		if memberCount(x) > 0 {
			out = append(out, line...)
		}
		return append(out, '}')
	case funcKind, nothing:
		out = append(out, `""`...)
	default:
		v, _ := x.(value.Value)
		if s, ok := textOf(x); ok {
			v = value.String(s)
		}
		out = v.AppendJSON(out)
	}
	r.write(len(out) - before)
	return out
}

// whole returns a number as an int that positions and lengths can have.
func whole(x item) int {
	const most = math.MaxInt32
	f, _ := numberOf(x)
	return int(min(max(math.Floor(f), -most), most))
}

func libLength(r *run, args []item) item {
	s, _ := textOf(args[0])
	r.read(len(s))
	return float64(utf8.RuneCountInString(s))
}

func libSubstring(r *run, args []item) item {
	s, _ := textOf(args[0])
	r.read(len(s))
	characters := []rune(s)
	length := len(characters)
	start, end := whole(args[1]), length
	if start < 0 {
		start = max(start+length, 0)
	}
	if args[2] != nil {
		f, _ := numberOf(args[2])
		end = start + max(whole(math.Ceil(f)), 0)
	}
	return string(characters[min(start, length):max(min(start, length), min(end, length))])
}

// cutText returns the function of the text before or after a separator.
func cutText(after bool) func(r *run, args []item) item {
	return func(r *run, args []item) item {
		s, _ := textOf(args[0])
		separator, _ := textOf(args[1])
		r.read(len(s))
		before, rest, found := strings.Cut(s, separator)
		if found && after {
			return rest
		}
		return before
	}
}

func libPad(r *run, args []item) item {
	s, _ := textOf(args[0])
	with, _ := textOf(args[2])
	with = cmp.Or(with, " ")
	width, _ := numberOf(args[1])
	missing := whole(math.Abs(width)) - utf8.RuneCountInString(s)
	if missing <= 0 {
		return s
	}
	r.write(len(s) + missing*len(with))
	padding := string([]rune(strings.Repeat(with, missing))[:missing])
	if width < 0 {
		return padding + s
	}
	return s + padding
}

// limitOf returns the limit that an argument gives. It fails if it is negative.
func (r *run) limitOf(x item, code string) int {
	if x == nil {
		return math.MaxInt
	}
	if f, _ := numberOf(x); f < 0 {
		r.fail(code, nil)
	}
	return whole(x)
}

func libMatch(r *run, args []item) item {
	s, _ := textOf(args[0])
	limit, found := r.limitOf(args[2], "D3040"), sequenceOf()
	if limit == 0 {
		return found
	}
	r.matches(args[1], s, func(m match) bool {
		made := m.object("index", float64(utf16Length(s[:m.start])))
		made.set("groups", m.groups())
		found.items = append(found.items, made)
		r.spend(1)
		r.read(m.start)
		return len(found.items) < limit
	})
	return found
}

func libContains(r *run, args []item) item {
	s, _ := textOf(args[0])
	if args[1] == nil {
		return nil
	}
	if part, ok := textOf(args[1]); ok {
		r.read(len(s))
		return value.Bool(strings.Contains(s, part))
	}
	found := false
	r.matches(args[1], s, func(match) bool { found = true; return false })
	return value.Bool(found)
}

// occurrences calls visit with the matches of a text or of a matcher.
func (r *run) occurrences(pattern item, s string, visit func(match) bool) {
	part, ok := textOf(pattern)
	if !ok {
		r.matches(pattern, s, visit)
		return
	}
	r.read(len(s))
	for at := 0; ; {
		i := strings.Index(s[at:], part)
		if i < 0 || !visit(match{text: part, start: at + i, end: at + i + len(part)}) {
			return
		}
		r.spend(1)
		at += i + len(part)
	}
}

func libReplace(r *run, args []item) item {
	s, _ := textOf(args[0])
	pattern, isText := textOf(args[1])
	if isText && pattern == "" {
		r.fail("D3010", nil)
	}
	limit := r.limitOf(args[3], "D3011")
	replacement, fixed := textOf(args[2])
	var out strings.Builder
	at := 0
	r.occurrences(args[1], s, func(m match) bool {
		if limit == 0 || m.start < at {
			return false
		}
		limit--
		with := replacement
		switch {
		case !fixed:
			var ok bool
			if with, ok = textOf(r.call(args[2], m.item(r, s))); !ok {
				r.fail("D3012", nil)
			}
		case !isText:
			with = m.expand(replacement)
		}
		r.write(m.start - at + len(with))
		out.WriteString(s[at:m.start])
		out.WriteString(with)
		at = m.end
		return true
	})
	out.WriteString(s[at:])
	r.write(out.Len())
	return out.String()
}

func libSplit(r *run, args []item) item {
	s, _ := textOf(args[0])
	limit, made := r.limitOf(args[2], "D3020"), &array{}
	if part, ok := textOf(args[1]); ok && part == "" {
		r.read(len(s))
		for _, c := range s {
			if r.spend(1); len(made.items) < limit {
				made.items = append(made.items, string(c))
			}
		}
		return made
	}
	at := 0
	r.occurrences(args[1], s, func(m match) bool {
		if len(made.items) >= limit || m.start < at {
			return false
		}
		made.items = append(made.items, s[at:m.start])
		at = m.end
		return true
	})
	if len(made.items) < limit {
		made.items = append(made.items, s[at:])
	}
	return made
}

func libJoin(r *run, args []item) item {
	l := itemsOf(args[0])
	separator, _ := textOf(args[1])
	var out strings.Builder
	for i := range l.len() {
		if i > 0 {
			out.WriteString(separator)
		}
		s, _ := textOf(l.at(i))
		out.WriteString(s)
		r.write(len(separator) + len(s) + bytesOfStep)
		if out.Len() > r.sizeLimit {
			r.write(out.Len())
		}
	}
	return out.String()
}

// libBase64Encode takes each character as a byte, as the language says.
func libBase64Encode(r *run, args []item) item {
	s, _ := textOf(args[0])
	r.write(2 * len(s))
	data := make([]byte, 0, len(s))
	for _, c := range s {
		if c > math.MaxUint8 {
			r.fail("D3140", "$base64encode: the character "+string(c)+" is not a byte; apply $encodeUrlComponent first")
		}
		data = append(data, byte(c&math.MaxUint8))
	}
	return base64.StdEncoding.EncodeToString(data)
}

func libBase64Decode(r *run, args []item) item {
	s, _ := textOf(args[0])
	r.write(2 * len(s))
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		r.fail("D3140", "$base64decode: "+err.Error())
	}
	characters := make([]rune, len(data))
	for i, b := range data {
		characters[i] = rune(b)
	}
	return string(characters)
}

// Characters that stay as they are in URLs.
const (
	urlMarks    = "-_.!~*'()"
	urlReserved = ";,/?:@&=+$#"
)

func encodeURL(plain string) func(r *run, args []item) item {
	pairs := []string{"+", "%20"}
	for _, c := range plain {
		pairs = append(pairs, fmt.Sprintf("%%%02X", c), string(c))
	}
	restore := strings.NewReplacer(pairs...)
	return func(r *run, args []item) item {
		s, _ := textOf(args[0])
		r.write(3 * len(s))
		return restore.Replace(url.QueryEscape(s))
	}
}

// decodeURL decodes escapes, but keeps the escapes of some characters.
func decodeURL(name, kept string) func(r *run, args []item) item {
	var pairs []string
	for _, c := range kept {
		pairs = append(pairs, fmt.Sprintf("%%%02X", c), fmt.Sprintf("%%25%02X", c), fmt.Sprintf("%%%02x", c), fmt.Sprintf("%%25%02x", c))
	}
	protect := strings.NewReplacer(pairs...)
	return func(r *run, args []item) item {
		s, _ := textOf(args[0])
		r.write(len(s))
		decoded, err := url.PathUnescape(protect.Replace(s))
		if err != nil || !utf8.ValidString(decoded) {
			r.fail("D3140", "malformed URL passed to $"+name+"(): "+strconv.Quote(s))
		}
		return decoded
	}
}
