package call

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	rand2 "math/rand/v2"
	"strconv"
	"strings"
	"time"

	smithyrand "github.com/aws/smithy-go/rand"
)

// ParamsError is an error for params that the operation does not accept. Nothing was sent.
type ParamsError struct{ Problem string }

// Error implements error.
func (e *ParamsError) Error() string { return "the params: " + e.Problem }

func wrong(format string, args ...any) error { return &ParamsError{fmt.Sprintf(format, args...)} }

// readParams returns the params with the names of the service. It rejects unknown members: if it
// ignored them, it could start another job than intended.
// It derives idempotency tokens from once; if once is empty, they are random.
func readParams(s *shape, params []byte, once string) (map[string]any, error) {
	members := map[string]any{}
	if len(params) == 0 {
		params = []byte("{}")
	}
	var whole json.RawMessage // reports wrong JSON, so that what follows reads only right JSON
	if err := json.NewDecoder(bytes.NewReader(params)).Decode(&whole); err != nil {
		return nil, wrong("%v", err)
	}
	r := paramsReader{decoder: json.NewDecoder(bytes.NewReader(whole)), random: rand.Reader}
	if once != "" {
		r.random = rand2.NewChaCha8(sha256.Sum256([]byte(once)))
	}
	r.decoder.UseNumber()
	value, err := r.value(s, "")
	found, ok := value.(map[string]any)
	switch {
	case ok:
		members = found
	case err == nil && value == nil:
		r.complete(s, "", members)
	case err == nil:
		err = wrong("want an object")
	}
	if err == nil && len(r.missing) > 0 {
		err = wrong("%s", strings.Join(r.missing, "; "))
	}
	return members, err
}

type paramsReader struct {
	decoder *json.Decoder
	missing []string
	random  io.Reader // for idempotency tokens
}

// value reads one value of the shape, nil for null.
func (r *paramsReader) value(s *shape, path string) (any, error) {
	if s.kind == '*' {
		var value any
		err := r.decoder.Decode(&value)
		return value, err
	}
	token, err := r.decoder.Token()
	if err != nil || token == nil {
		return nil, err
	}
	switch {
	case token == json.Delim('{') && (s.kind == '{' || s.kind == '('):
		return r.structure(s, path)
	case token == json.Delim('{') && s.kind == '<':
		return r.mapping(s, path)
	case token == json.Delim('[') && s.kind == '[':
		list := []any{}
		for r.decoder.More() {
			value, err := r.value(s.item, path+"["+strconv.Itoa(len(list))+"]")
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := r.decoder.Token()
		return list, err
	}
	value, ok := scalar(s.kind, token)
	if !ok {
		return nil, wrong("%sfound %s, want %s", strings.TrimPrefix(path+": ", ": "), nameOf(token), kinds[s.kind])
	}
	return value, nil
}

// kinds are what users call them.
var kinds = map[byte]string{
	'{': "an object", '(': "an object", '<': "an object", '[': "an array", 's': "a text", 'i': "an integer of 32 bits", 'l': "an integer of 64 bits",
	'd': "a number", 'b': "true or false",
	't': "an instant as a text of RFC 3339", 'h': "an instant as a text of RFC 3339", 'u': "an instant as a text of RFC 3339",
	'B': "a text in base64",
}

func nameOf(token any) string {
	switch token.(type) {
	case json.Delim:
		if token == json.Delim('[') {
			return "an array"
		}
		return "an object"
	case string:
		return "a text"
	case bool:
		return "a boolean"
	}
	return "a number"
}

func (r *paramsReader) structure(s *shape, path string) (any, error) {
	members := map[string]any{}
	for r.decoder.More() {
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		m := s.find(name)
		if m == nil && s.kind == '(' {
			m = &member{name: name, shape: anything}
		} else if m == nil {
			return nil, wrong("unknown field %q", name)
		}
		value, err := r.member(m, path)
		if err != nil {
			return nil, err
		}
		if value != nil {
			members[m.keyAt(path)] = value
		}
	}
	_, err := r.decoder.Token()
	r.complete(s, path, members)
	return members, err
}

// member reads the value of a member. A payload of bytes may be JSON instead of a text in base64.
func (r *paramsReader) member(m *member, path string) (any, error) {
	if m.place != placePayload || m.shape.kind != 'B' {
		return r.value(m.shape, join(path, m.name))
	}
	var payload json.RawMessage
	err := r.decoder.Decode(&payload)
	switch {
	case err != nil, string(payload) == "null":
		return nil, err
	case payload[0] != '"':
		return []byte(payload), nil
	}
	var text string
	_ = json.Unmarshal(payload, &text) // is one
	if blob, ok := scalar('B', text); ok {
		return blob, nil
	}
	return nil, wrong("%s: want %s, or JSON that is no text", m.name, kinds['B'])
}

// anything is the shape of members that pass as they are.
var anything = &shape{kind: '*'}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func (r *paramsReader) name() (string, error) {
	token, err := r.decoder.Token()
	name, _ := token.(string)
	return name, err
}

// complete notes missing members, and makes idempotency tokens. A token is made once for all
// attempts.
func (r *paramsReader) complete(s *shape, path string, members map[string]any) {
	for _, m := range s.members {
		_, ok := members[m.keyAt(path)]
		switch {
		case ok:
		case m.token:
			members[m.keyAt(path)], _ = smithyrand.NewUUID(r.random).GetUUID() // no reader of these fails
		case m.required:
			r.missing = append(r.missing, "missing required field "+join(path, m.name))
		}
	}
}

func (r *paramsReader) mapping(s *shape, path string) (any, error) {
	members := map[string]any{}
	for r.decoder.More() {
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		if members[name], err = r.value(s.item, join(path, name)); err != nil {
			return nil, err
		}
	}
	_, err := r.decoder.Token()
	return members, err
}

// scalar returns the token as a value of the kind: a string, bool, json.Number, time.Time or
// []byte.
func scalar(kind byte, token any) (any, bool) {
	switch value := token.(type) {
	case bool:
		return value, kind == 'b'
	case json.Number:
		return value, isNumber(kind, value)
	case string:
		switch kind {
		case 's':
			return value, true
		case 't', 'h', 'u':
			at, err := time.Parse(time.RFC3339, value)
			return at, err == nil
		case 'B':
			blob, err := base64.StdEncoding.DecodeString(value)
			return blob, err == nil
		}
	}
	return nil, false
}

func isNumber(kind byte, number json.Number) bool {
	n, err := number.Int64()
	switch kind {
	case 'i':
		return err == nil && n >= math.MinInt32 && n <= math.MaxInt32
	case 'l':
		return err == nil
	case 'd':
		_, err = number.Float64()
		return err == nil
	}
	return false
}
