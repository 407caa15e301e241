package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A path leads to a value in JSON: names of members with dots between them, such as
// "detail.build-id". A list stands for its first element, and a text that is JSON for its value.
// Names are compared without case, because events and responses spell the same members differently.
// The empty path leads nowhere.
//
// Two paths with a slash between them lead to a text of both, "detail.clusterId/detail.stepId" to
// "j-1/s-2", if both are there.
type path string

// in returns the value at the path, nil if nothing is there.
func (p path) in(document any) any {
	for name := range strings.SplitSeq(string(p), ".") {
		members, _ := opened(document).(map[string]any)
		found, ok := findMember(members, name)
		if !ok {
			return nil
		}
		document = members[found]
		if list, ok := document.([]any); ok && len(list) > 0 {
			document = list[0]
		}
	}
	return document
}

// findMember returns the name of the member with that name in any case, unless it is null.
func findMember[V any](members map[string]V, name string) (found string, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(members)) { // sorted, so that the result is the same each time
		if name != "" && strings.EqualFold(key, name) && !isNull(members[key]) {
			return key, true
		}
	}
	return "", false
}

func isNull(value any) bool {
	raw, isRaw := value.(json.RawMessage)
	return value == nil || isRaw && string(raw) == "null"
}

// text returns the text at the path, "" for anything else.
func (p path) text(document any) string {
	var texts []string
	for _, part := range p.parts() {
		text, _ := part.in(document).(string)
		if text == "" {
			return ""
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "/")
}

// parts returns the paths between the slashes.
func (p path) parts() (parts []path) {
	for part := range strings.SplitSeq(string(p), "/") {
		parts = append(parts, path(part))
	}
	return parts
}

// each returns the values at the path as texts: all elements of its lists.
func (p path) each(document any) []string {
	if p == "" {
		return nil
	}
	return textsAt(document, strings.Split(string(p), "."))
}

func textsAt(value any, names []string) (texts []string) {
	if elements, ok := value.([]any); ok {
		for _, element := range elements {
			texts = append(texts, textsAt(element, names)...)
		}
		return texts
	}
	if len(names) == 0 {
		if value == nil || value == "" {
			return nil
		}
		return []string{fmt.Sprint(value)}
	}
	members, _ := opened(value).(map[string]any)
	found, ok := findMember(members, names[0])
	if !ok {
		return nil
	}
	return textsAt(members[found], names[1:])
}

// opened returns the value of a text that is JSON, and any other value unchanged.
func opened(value any) any {
	if text, ok := value.(string); ok && strings.HasPrefix(text, "{") {
		value, _ = decode([]byte(text))
	}
	return value
}

// all returns the values at the path below each element of the list: nil for an element without it.
func (p path) all(document any, list path) []any {
	names := strings.Split(string(list), ".")
	last := len(names) - 1
	if last > 0 {
		document = path(strings.Join(names[:last], ".")).in(document)
	}
	members, _ := document.(map[string]any)
	found, _ := findMember(members, names[last])
	elements, ok := members[found].([]any)
	if !ok && members[found] != nil {
		elements = []any{members[found]}
	}
	values := make([]any, len(elements))
	for i, element := range elements {
		values[i] = p.in(element)
	}
	return values
}

// time returns the instant at the path, a text, or seconds or milliseconds since 1970. It returns
// the zero instant for anything else, and for an instant that JSON cannot have: jobs are stored as
// JSON.
func (p path) time(document any) (at time.Time) {
	switch value := p.in(document).(type) {
	case string:
		at, _ = time.Parse(time.RFC3339, value)
	case json.Number:
		// Seconds with a fraction in descriptions, milliseconds in events. The former are below
		// 10^11 until the year 5138, the latter above it since 1973.
		const fewest = 1e11
		if ms, err := value.Int64(); err == nil && ms >= fewest {
			at = time.UnixMilli(ms)
		} else if seconds, err := value.Float64(); err == nil && math.Abs(seconds) < fewest {
			at = time.UnixMilli(int64(math.Round(seconds * 1000)))
		}
	}
	const lastYear = 9999
	if at = at.UTC(); at.Year() < 0 || at.Year() > lastYear {
		return time.Time{}
	}
	return at
}

// decode reads one JSON value and keeps numbers as they are written.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows the JSON value")
	}
	return value, nil
}

// encode writes a value that was read from JSON. It does not escape < > &, because no web page has
// the text.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

func quote(text string) json.RawMessage { return encode(text) }

// form is a pattern and a maximum length. The pattern is compiled when it is first used, because
// most processes need few of them. The length is separate, because {1,255} compiles to that many
// states.
type form struct {
	text    string
	most    int       // in bytes
	compile sync.Once // and no sync.OnceValue, a closure that each start of the program would make for each form
	regexp  *regexp.Regexp
}

// maxARN is more than the length of any ARN of a job.
const maxARN = 512

func formOf(text string, most int) *form { return &form{text: text, most: most} }

func (f *form) pattern() *regexp.Regexp {
	f.compile.Do(func() { f.regexp = regexp.MustCompile(f.text) })
	return f.regexp
}

// MatchString reports whether the text has the form.
func (f *form) MatchString(text string) bool {
	return len(text) <= f.most && f.pattern().MatchString(text)
}

// part returns the match of the form's parentheses, or the whole match if the form has none.
func (f *form) part(text string) string {
	match := f.pattern().FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return match[len(match)-1]
}
