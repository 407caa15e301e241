package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A path leads to a value in JSON: names of members with dots between them, such as "detail.build-id". A
// list stands for its first element. Names are compared without case, because events and responses
// spell the same members differently. The empty path leads nowhere.
type path string

// in returns the value at the path, nil if nothing is there.
func (p path) in(document any) any {
	for name := range strings.SplitSeq(string(p), ".") {
		members, _ := document.(map[string]any)
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
	text, _ := p.in(document).(string)
	return text
}

// time returns the instant at the path, a text or milliseconds since 1970. It returns the zero instant
// for anything else, and for an instant that JSON cannot have: what is stored of a job is JSON.
func (p path) time(document any) (at time.Time) {
	switch value := p.in(document).(type) {
	case string:
		at, _ = time.Parse(time.RFC3339, value)
	case json.Number:
		if ms, err := value.Int64(); err == nil {
			at = time.UnixMilli(ms)
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

// encode writes what was read from JSON. It does not escape < > &, because no web page has the text.
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

// form is a pattern and a maximum length. The pattern is compiled when it is first used, because most
// processes need few of them. The length is separate, because {1,255} compiles to that many states.
type form struct {
	pattern func() *regexp.Regexp
	most    int // in bytes
}

// maxARN is more than the length of any ARN of a job.
const maxARN = 512

func formOf(pattern string, most int) *form {
	return &form{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) }), most}
}

// MatchString reports whether the text has the form.
func (f *form) MatchString(text string) bool {
	return len(text) <= f.most && f.pattern().MatchString(text)
}

// part returns what the form has in parentheses, or else all that matches it.
func (f *form) part(text string) string {
	match := f.pattern().FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return match[len(match)-1]
}
