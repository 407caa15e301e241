package jsonata

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/value"
)

func libString(r *run, args []item) item {
	indent := ""
	if len(args) > 1 && r.truth(args[1]) {
		indent = "  "
	}
	return r.stringOf(args[0], indent)
}

// stringOf returns the text of any value, as $string does.
func (r *run) stringOf(x item, indent string) string {
	switch kindOf(x) {
	case text:
		s, _ := textOf(x)
		return s
	case nothing, funcKind:
		return ""
	case numeric:
		if f, _ := numberOf(x); math.IsInf(f, 0) || math.IsNaN(f) {
			r.fail("D3001", nil)
		}
	}
	w := writer{r: r, indent: indent}
	w.value(x, 1)
	return string(w.out)
}

// finite returns a number that has JSON.
func (r *run) finite(x item) float64 {
	f, _ := numberOf(x)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		r.fail("D1001", f)
	}
	return f
}

// writer renders JSON with numbers of 15 digits, in the order of the members.
type writer struct {
	r      *run
	out    []byte
	indent string
}

func (w *writer) value(x item, level int) {
	w.r.enter()
	defer w.r.leave()
	w.r.spend(1)
	before := len(w.out)
	switch kindOf(x) {
	case numeric:
		const digits = 15                                                                           // of the texts of numbers
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(w.r.finite(x), 'e', digits-1, 64), 64) // is a number
		w.out = append(w.out, numberText(rounded)...)
	case text:
		s, _ := textOf(x)
		w.out = value.String(s).AppendJSON(w.out)
	case arrayKind:
		l, _ := listOf(x)
		w.enclosed('[', ']', l.len(), level, func(yield func()) {
			for i := range l.len() {
				yield()
				w.value(l.at(i), level+1)
			}
		})
	case objKind:
		w.enclosed('{', '}', memberCount(x), level, func(yield func()) {
			for key, inner := range membersOf(x) {
				yield()
				w.out = append(value.String(key).AppendJSON(w.out), ':')
				if w.indent != "" {
					w.out = append(w.out, ' ')
				}
				w.value(inner, level+1)
			}
		})
	case funcKind, nothing:
		w.out = append(w.out, `""`...)
	default:
		v, _ := x.(value.Value)
		w.out = v.AppendJSON(w.out)
	}
	if kind := kindOf(x); kind != arrayKind && kind != objKind {
		w.r.write(len(w.out) - before)
	}
	if len(w.out) > w.r.sizeLimit {
		w.r.write(len(w.out))
	}
}

// enclosed writes the parts of an array or an object; they call next before each.
func (w *writer) enclosed(open, end byte, count, level int, parts func(next func())) {
	w.out = append(w.out, open)
	line := func(level int) {
		if w.indent != "" && count > 0 {
			w.out = append(append(w.out, '\n'), strings.Repeat(w.indent, level)...)
		}
	}
	first := true
	parts(func() {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		line(level)
	})
	line(level - 1)
	w.out = append(w.out, end)
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
	length := utf8.RuneCountInString(s)
	start, end := whole(args[1]), length
	if start < 0 {
		start = max(start+length, 0)
	}
	if args[2] != nil {
		f, _ := numberOf(args[2])
		end = start + max(whole(math.Ceil(f)), 0)
	}
	return runes(s, min(start, length), min(end, length))
}

// runes returns the characters from start to before end.
func runes(s string, start, end int) string {
	if start >= end {
		return ""
	}
	offset := func(s string, n int) int {
		for i := range s {
			if n == 0 {
				return i
			}
			n--
		}
		return len(s)
	}
	s = s[offset(s, start):]
	return s[:offset(s, end-start)]
}

func libSubstringBefore(r *run, args []item) item {
	s, _ := textOf(args[0])
	separator, _ := textOf(args[1])
	r.read(len(s))
	before, _, _ := strings.Cut(s, separator)
	return before
}

func libSubstringAfter(r *run, args []item) item {
	s, _ := textOf(args[0])
	separator, _ := textOf(args[1])
	r.read(len(s))
	if _, after, found := strings.Cut(s, separator); found {
		return after
	}
	return s
}

func libPad(r *run, args []item) item {
	s, _ := textOf(args[0])
	with, _ := textOf(args[2])
	if with == "" {
		with = " "
	}
	width, _ := numberOf(args[1])
	missing := whole(math.Abs(width)) - utf8.RuneCountInString(s)
	if missing <= 0 {
		return s
	}
	r.write(len(s) + missing*len(with))
	padding := runes(strings.Repeat(with, missing), 0, missing)
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
	return func(r *run, args []item) item {
		s, _ := textOf(args[0])
		r.write(3 * len(s))
		var out strings.Builder
		for i := range len(s) {
			c := s[i]
			if isDigit(c) || c|' ' >= 'a' && c|' ' <= 'z' || strings.IndexByte(plain, c) >= 0 {
				out.WriteByte(c)
			} else {
				const digits = "0123456789ABCDEF"
				out.Write([]byte{'%', digits[c>>4], digits[c&15]})
			}
		}
		return out.String()
	}
}

// decodeURL decodes escapes, but keeps the escapes of some characters.
func decodeURL(name, kept string) func(r *run, args []item) item {
	return func(r *run, args []item) item {
		s, _ := textOf(args[0])
		malformed := func() { r.fail("D3140", "malformed URL passed to $"+name+"(): "+strconv.Quote(s)) }
		r.write(len(s))
		var out strings.Builder
		for rest := s; ; {
			before, after, found := strings.Cut(rest, "%")
			out.WriteString(before)
			if !found {
				break
			}
			size := min(len(after), 2)
			c, err := strconv.ParseUint(after[:size], 16, 8)
			switch {
			case err != nil || size < 2:
				malformed()
			case c < utf8.RuneSelf && strings.IndexByte(kept, byte(c)) >= 0:
				out.WriteString("%" + after[:size])
			default:
				out.WriteByte(byte(c))
			}
			rest = after[size:]
		}
		if !utf8.ValidString(out.String()) {
			malformed()
		}
		return out.String()
	}
}
