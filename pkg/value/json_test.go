package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/value"
)

func TestParseJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"spaces", " \t\r\n[ 1 , { \"a\" : null } ] \n", `[1,{"a":null}]`},
		{"sorted keys", `{"b":1,"B":2,"":3,"a":4}`, `{"":3,"B":2,"a":4,"b":1}`},
		{"huge integer", `123456789012345678901234567890`, `123456789012345678901234567890`},
		{"huge exponent", `[1e400,-1E-400]`, `[1e400,-1E-400]`},
		{"minus zero", `-0.0`, `-0.0`},
		{"trailing zeros", `1.500`, `1.500`},
		{"escapes", `"\u0061\/\u00e9\ud83d\ude00\t"`, `"a/é😀\t"`},
		{"no HTML escapes", `{"<&>":"<&>"}`, `{"<&>":"<&>"}`},
		{"the character for what is unreadable", `"\ufffd` + "\uFFFD" + `"`, `"` + "\uFFFD\uFFFD" + `"`},
		{"an escaped backslash", `"\nabc\\u" `, `"\nabc\\u"`},
		{"a zero byte", `"\u0000"`, `"\u0000"`},
		{"literals", `[true,false,null]`, `[true,false,null]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := parse(t, tt.text)
			if v.JSON() != tt.want {
				t.Errorf("got %s, want %s", v, tt.want)
			}
			checkSize(t, v)
			if again := parse(t, v.JSON()); !value.Equal(again, v) || again.JSON() != v.JSON() {
				t.Errorf("%s reads back as %s", v, again)
			}
		})
	}
}

func TestParseJSONErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty", ``, `invalid JSON: the text is empty`},
		{"only space", " \n", `invalid JSON: the text is empty`},
		{"two values", `{} {}`, `invalid JSON: invalid character '{' after top-level value, at byte 4`},
		{"two values that are long", `[1]  "and more"`, `invalid JSON: invalid character '"' after top-level value, at byte 6`},
		{"a bracket too many", "{}\n ]", `invalid JSON: invalid character ']' after top-level value, at byte 5`},
		{"text right after the value", `{}x`, `invalid JSON: invalid character 'x' after top-level value, at byte 3`},
		{"number and letter", `1x`, `invalid JSON: invalid character 'x' after top-level value, at byte 2`},
		{"space that JSON does not know", "1\u00a0", `invalid JSON: invalid character 'Â' after top-level value, at byte 2`},
		{"ends in an object", `{"a":`, `invalid JSON: unexpected end of input, at byte 5`},
		{"ends in a text", `["a`, `invalid JSON: unexpected end of input, at byte 3`},
		{"single quotes", `{'a':1}`, `invalid JSON: invalid character '\'' looking for beginning of object key string, at byte 2`},
		{"trailing comma", `[1,]`, `invalid JSON: invalid character ']' looking for beginning of value, at byte 4`},
		{"leading zero", `[01]`, `invalid JSON: invalid character '1' after array element, at byte 3`},
		{"raw line break in a text", "\"a\nb\"", `invalid JSON: invalid character '\n' in string literal, at byte 3`},
		{"nested too deep", strings.Repeat("[", 10001),
			"invalid JSON: more than 10000 levels of arrays and objects and the limit is 100; write what is inside as a text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := value.ParseJSON([]byte(tt.text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if !v.IsMissing() {
				t.Errorf("value %s beside the error", v)
			}
		})
	}
}

// Readers differ on these, so that what is stored would not be what was sent.
func TestParseJSONRejectsAmbiguousTexts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"repeated keys":                {`{"a":1,"a":2}`, `ambiguous JSON: the key "a" is there twice in the object that ends, at byte 13`},
		"repeated keys inside":         {`[{"b":{"a":1,"a":1}}]`, `ambiguous JSON: the key "a" is there twice in the object that ends, at byte 19`},
		"a key written in two ways":    {`{"a":1,"\u0061":2}`, `ambiguous JSON: the key "a" is there twice in the object that ends, at byte 18`},
		"the first half of a pair":     {`"\ud83d"`, `ambiguous JSON: half of a surrogate pair, at byte 2`},
		"the second half of a pair":    {`"\ude00\ud83d"`, `ambiguous JSON: half of a surrogate pair, at byte 2`},
		"half of a pair before a text": {`["\ud83dx"]`, `ambiguous JSON: half of a surrogate pair, at byte 3`},
		"half of a pair after others":  {`"\n\ud83d\ude00\\ud83d\ud83d"`, `ambiguous JSON: half of a surrogate pair, at byte 23`},
		"half of a pair as a key":      {`{"\ud83d":1}`, `ambiguous JSON: half of a surrogate pair, at byte 3`},
		"bytes that are not UTF-8":     {"[\"a\xff\"]", `ambiguous JSON: bytes that are not UTF-8, at byte 4`},
		"surrogates in UTF-8":          {"\"\xed\xa0\x80\"", `ambiguous JSON: bytes that are not UTF-8, at byte 2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := value.ParseJSON([]byte(tt.text))
			if !errors.Is(err, value.ErrAmbiguous) || err.Error() != tt.want || !v.IsMissing() {
				t.Errorf("value %s, error %v; want %s", v, err, tt.want)
			}
		})
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	type document struct {
		Value   value.Value  `json:"value"`
		Pointer *value.Value `json:"pointer"`
		Absent  value.Value  `json:"absent,omitzero"`
		Missing value.Value  `json:"missing"`
	}
	text := `{"value":{"n":1e400,"t":"<&>"},"pointer":null,"missing":null}`
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.Value.Get("n").Text() != "1e400" || d.Pointer != nil || !d.Absent.IsMissing() || d.Missing.Kind() != value.KindNull {
		t.Errorf("read %+v from %s", d, text)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(document{Value: d.Value}); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != text {
		t.Errorf("wrote %s, want %s", got, text)
	}
	if err := json.Unmarshal([]byte(`{"value":[}`), &d); err == nil {
		t.Error("no error for a document that is no JSON")
	}
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	if got := string(parse(t, `{"a":[1]}`).AppendJSON([]byte("x="))); got != `x={"a":[1]}` {
		t.Errorf("got %s", got)
	}
}

// FuzzParseJSON takes encoding/json as the oracle of what JSON is. What parses
// renders, in the size that was foretold, and parses again to an equal value.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{
		`{"b":[1.0,-0e400,"\u2028<\"\\"],"a":null}`, `{"a":1,"a":2} `, `[1] ]`, "\"\xff\"", ``, `"\ud83d\ude00\ud83d"`, `{"a":01}`, `{"":{"":[[]]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.ParseJSON(data)
		if !errors.Is(err, value.ErrAmbiguous) && (err == nil) != json.Valid(data) {
			t.Fatalf("error %v, but encoding/json says valid: %t", err, json.Valid(data))
		}
		if err != nil {
			return
		}
		checkSize(t, v)
		var same string
		if json.Unmarshal(data, &same) == nil && v.Kind() == value.KindString && same != v.Text() {
			t.Errorf("encoding/json reads %q, ParseJSON %q", same, v.Text())
		}
		again := parse(t, v.JSON())
		if !value.Equal(v, again) || v.JSON() != again.JSON() {
			t.Errorf("%s reads back as %s", v, again)
		}
	})
}
