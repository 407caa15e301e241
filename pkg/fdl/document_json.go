package fdl

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// jsonReader reads a definition in JSON as nodes of YAML. JSON is nearly YAML, but not where a text
// has an escaped surrogate pair.
type jsonReader struct {
	text    []byte
	decoder *json.Decoder
	// pos is the position of byte read, up to where lines were counted.
	pos  Position
	read int
}

// fromJSON reads text, which is valid JSON.
func fromJSON(text []byte) *yaml.Node {
	j := &jsonReader{text: text, decoder: json.NewDecoder(bytes.NewReader(text)), pos: Position{1, 1}}
	j.decoder.UseNumber()
	return j.node()
}

// node reads the next value. Null stands for the end of a list or an object, too.
func (j *jsonReader) node() *yaml.Node {
	begin := int(j.decoder.InputOffset())
	begin += len(j.text[begin:]) - len(bytes.TrimLeft(j.text[begin:], " \t\r\n,:"))
	token, _ := j.decoder.Token() // the text is valid JSON
	for j.read < begin {
		c, size := utf8.DecodeRune(j.text[j.read:])
		j.pos = j.pos.after(c)
		j.read += size
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: j.pos.Line, Column: j.pos.Column}
	switch t := token.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if t == '{' {
			n.Kind = yaml.MappingNode
		}
		for t == '{' || t == '[' {
			if !j.decoder.More() {
				_, _ = j.decoder.Token()
				break
			}
			n.Content = append(n.Content, j.node())
		}
	case string:
		n.Style, n.Value = yaml.DoubleQuotedStyle, t
	case nil:
		n.Tag = "!!null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	case json.Number:
		n.Value = t.String()
	}
	return n
}
