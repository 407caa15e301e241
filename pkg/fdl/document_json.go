package fdl

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/value"
)

// jsonReader reads a definition in JSON. JSON is nearly YAML, but not where a
// text has an escaped surrogate pair, so it gets a reader of its own.
type jsonReader struct {
	*reader
	text    []byte
	decoder *json.Decoder
	// pos is the position of byte read, up to where lines were counted.
	pos  Position
	read int
}

// readJSON reads text, which is valid JSON.
func (r *reader) readJSON(text []byte) *node {
	j := &jsonReader{reader: r, text: text, decoder: json.NewDecoder(bytes.NewReader(text)), pos: Position{1, 1}}
	j.decoder.UseNumber()
	return j.node()
}

// token is the next token and where it begins.
func (j *jsonReader) token() (json.Token, Position) {
	begin := int(j.decoder.InputOffset())
	begin += len(j.text[begin:]) - len(bytes.TrimLeft(j.text[begin:], " \t\r\n,:"))
	token, _ := j.decoder.Token() // the text is valid JSON
	return token, j.position(begin)
}

func (j *jsonReader) position(offset int) Position {
	for j.read < offset {
		c, size := utf8.DecodeRune(j.text[j.read:])
		j.pos = j.pos.after(c)
		j.read += size
	}
	return j.pos
}

func (j *jsonReader) node() *node {
	token, at := j.token()
	j.count(at)
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return j.mapping(at)
		}
		return j.sequence(at)
	case json.Number:
		number, _ := value.Number(t.String())
		return &node{pos: at, scalar: number}
	case string:
		return &node{pos: at, scalar: value.String(t), quote: '"'}
	case bool:
		return &node{pos: at, scalar: value.Bool(t)}
	}
	return &node{pos: at, scalar: value.Null()}
}

func (j *jsonReader) mapping(at Position) *node {
	n := &node{pos: at, kind: nodeMapping}
	defer j.enter(at)()
	seen := map[string]Position{}
	for j.decoder.More() {
		token, keyAt := j.token()
		key, _ := token.(string)
		value := j.node()
		if first, repeated := seen[key]; repeated {
			j.repeatedKey(key, keyAt, first)
			continue
		}
		seen[key] = keyAt
		n.entries = append(n.entries, entry{key, keyAt, value})
	}
	j.token()
	return n
}

func (j *jsonReader) sequence(at Position) *node {
	n := &node{pos: at, kind: nodeSequence}
	defer j.enter(at)()
	for j.decoder.More() {
		n.items = append(n.items, j.node())
	}
	j.token()
	return n
}
