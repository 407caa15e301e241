package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A path leads to a value in JSON: names of members with dots between them, and
// an index in brackets for an element: "detail.build-id", "jobs[0].status". Names
// are compared exactly first, and without case next: events and answers spell the
// same members in different ways. The empty path leads nowhere.
type path string

// in is the value at the path, nil where there is none.
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
	for _, key := range slices.Sorted(maps.Keys(object)) { // sorted: the same answer each time
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

// text is the text at the path, "" for anything else.
func (p path) text(document any) string {
	text, _ := p.in(document).(string)
	return text
}

// time is the instant at the path, as text or in milliseconds since 1970; the
// zero instant for anything else.
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

// decode reads one JSON value, with numbers as they are written.
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

// object is the JSON object with these members, in this order.
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

// encode writes what was JSON before. It leaves < > & as they are: the text is for no page.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
