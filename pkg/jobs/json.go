package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A path leads to a value in JSON: names of members with dots between them, and an index in brackets
// for an element, such as "detail.build-id" and "jobs[0].status". Names are compared exactly first and
// then without case, because events and responses spell the same members differently. The empty path
// leads nowhere.
type path string

// in returns the value at the path, nil if nothing is there.
func (p path) in(document any) any {
	if p == "" {
		return nil
	}
	for _, step := range strings.Split(string(p), ".") {
		name, indexes, _ := strings.Cut(step, "[")
		if name != "" {
			document = member(document, name)
		}
		for index := range strings.SplitSeq(indexes, "[") {
			if index != "" {
				document = element(document, strings.TrimSuffix(index, "]"))
			}
		}
	}
	return document
}

func member(value any, name string) any {
	object, _ := value.(map[string]any)
	if exact, ok := object[name]; ok {
		return exact
	}
	for _, key := range slices.Sorted(maps.Keys(object)) { // sorted, so that the result is the same each time
		if strings.EqualFold(key, name) {
			return object[key]
		}
	}
	return nil
}

func element(value any, index string) any {
	list, _ := value.([]any)
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

// text returns the text at the path, "" for anything else.
func (p path) text(document any) string {
	text, _ := p.in(document).(string)
	return text
}

// time returns the instant at the path, a text or milliseconds since 1970. It returns the zero instant
// for anything else.
func (p path) time(document any) time.Time {
	switch value := p.in(document).(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return at.UTC()
		}
	case json.Number:
		if ms, err := value.Int64(); err == nil {
			return time.UnixMilli(ms).UTC()
		}
	}
	return time.Time{}
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

// object returns the JSON object with these names and values, in this order.
func object(members ...any) json.RawMessage {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, part := range members {
		switch {
		case i%2 == 1:
			text.WriteByte(':')
		case i > 0:
			text.WriteByte(',')
		}
		text.Write(encode(part))
	}
	text.WriteByte('}')
	return text.Bytes()
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

func formOf(pattern string, most int) *form { return &form{lazily(pattern), most} }

// lazily compiles the pattern at the first call.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// MatchString reports whether the text has the form.
func (f *form) MatchString(text string) bool {
	return len(text) <= f.most && f.pattern().MatchString(text)
}

// part returns what the form has in parentheses, or else the whole text.
func (f *form) part(text string) string {
	if match := f.pattern().FindStringSubmatch(text); len(match) > 1 {
		return match[1]
	}
	return text
}
