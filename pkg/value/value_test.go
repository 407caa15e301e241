package value_test

import (
	"math"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/value"
)

// parse is the value of a JSON text that is written in the test itself.
func parse(tb testing.TB, text string) value.Value {
	tb.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		tb.Fatalf("ParseJSON(%s): %v", text, err)
	}
	return v
}

// parseOrMissing is parse, where the empty text stands for the missing value.
func parseOrMissing(tb testing.TB, text string) value.Value {
	tb.Helper()
	if text == "" {
		return value.Missing()
	}
	return parse(tb, text)
}

func number(tb testing.TB, text string) value.Value {
	tb.Helper()
	v, ok := value.Number(text)
	if !ok {
		tb.Fatalf("Number(%q): not ok", text)
	}
	return v
}

func member(key string, v value.Value) value.Member { return value.Member{Key: key, Value: v} }

// checkSize says that Size is the length of the rendered value, at any depth.
func checkSize(t *testing.T, v value.Value) {
	t.Helper()
	want := len(v.JSON())
	if v.IsMissing() {
		want = 0
	}
	if v.Size() != want {
		t.Errorf("Size() = %d, want %d, the length of %s", v.Size(), want, v)
	}
	for _, m := range v.Members() {
		checkSize(t, m.Value)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		v    value.Value
		kind value.Kind
		text string
		len  int
		json string
	}{
		{"zero", value.Value{}, value.KindMissing, "", 0, `null`},
		{"missing", value.Missing(), value.KindMissing, "", 0, `null`},
		{"null", value.Null(), value.KindNull, "null", 0, `null`},
		{"true", value.Bool(true), value.KindBool, "true", 0, `true`},
		{"false", value.Bool(false), value.KindBool, "false", 0, `false`},
		{"int", value.Int(math.MinInt64), value.KindNumber, "-9223372036854775808", 0, `-9223372036854775808`},
		{"number", number(t, "-0.50E+3"), value.KindNumber, "-0.50E+3", 0, `-0.50E+3`},
		{"string", value.String("a"), value.KindString, "a", 0, `"a"`},
		{"empty string", value.String(""), value.KindString, "", 0, `""`},
		{"string with escapes", value.String("\"\\\n\x00\x7f"), value.KindString, "\"\\\n\x00\x7f", 0, `"\"\\\n\u0000` + "\x7f" + `"`},
		{"string of HTML", value.String("<b>&</b>"), value.KindString, "<b>&</b>", 0, `"<b>&</b>"`},
		{"string beyond ASCII", value.String("é水😀"), value.KindString, "é水😀", 0, `"é水😀"`},
		{"line separator", value.String("\u2028"), value.KindString, "\u2028", 0, `"\u2028"`},
		{"string of no UTF-8", value.String("a\xff\xfeb"), value.KindString, "a\uFFFD\uFFFDb", 0, `"a` + "\uFFFD\uFFFD" + `b"`},
		{"empty array", value.Array(), value.KindArray, "", 0, `[]`},
		{"array", value.Array(value.Int(1), value.Array(), value.String("x")), value.KindArray, "", 3, `[1,[],"x"]`},
		{"array with a missing element", value.Array(value.Missing(), value.Int(1)), value.KindArray, "", 2, `[null,1]`},
		{"empty object", value.Object(), value.KindObject, "", 0, `{}`},
		{"object, sorted by key", value.Object(member("b", value.Int(1)), member("a", value.Object())), value.KindObject, "", 2, `{"a":{},"b":1}`},
		{"object with repeated keys", value.Object(
			member("k", value.Int(1)), member("a", value.Int(2)), member("k", value.Int(3)), member("k", value.Int(4)),
		), value.KindObject, "", 2, `{"a":2,"k":4}`},
		{"object with missing members", value.Object(
			member("a", value.Missing()), member("k", value.Int(1)), member("k", value.Missing()),
		), value.KindObject, "", 1, `{"k":1}`},
		{"object of missing members only", value.Object(member("a", value.Missing())), value.KindObject, "", 0, `{}`},
		{"object with keys of no UTF-8", value.Object(
			member("\xff", value.Int(1)), member("\uFFFD", value.Int(2)),
		), value.KindObject, "", 1, `{"` + "\uFFFD" + `":2}`},
		{"object with keys to escape", value.Object(member("<\n>", value.Null())), value.KindObject, "", 1, `{"<\n>":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.v.Kind() != tt.kind || tt.v.IsMissing() != (tt.kind == value.KindMissing) {
				t.Errorf("Kind() = %s, IsMissing() = %t, want %s", tt.v.Kind(), tt.v.IsMissing(), tt.kind)
			}
			if tt.v.Text() != tt.text {
				t.Errorf("Text() = %q, want %q", tt.v.Text(), tt.text)
			}
			if tt.v.Len() != tt.len || len(tt.v.Members()) != tt.len {
				t.Errorf("Len() = %d, len(Members()) = %d, want %d", tt.v.Len(), len(tt.v.Members()), tt.len)
			}
			if tt.v.JSON() != tt.json || tt.v.String() != tt.json {
				t.Errorf("JSON() = %s, String() = %s, want %s", tt.v.JSON(), tt.v, tt.json)
			}
			if want := tt.name == "true"; tt.v.IsTrue() != want {
				t.Errorf("IsTrue() = %t, want %t", tt.v.IsTrue(), want)
			}
			checkSize(t, tt.v)
		})
	}
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	want := map[value.Kind]string{
		value.KindMissing: "nothing", value.KindNull: "null", value.KindBool: "a boolean", value.KindNumber: "a number",
		value.KindString: "text", value.KindArray: "an array", value.KindObject: "an object",
	}
	for kind, name := range want {
		if kind.String() != name {
			t.Errorf("Kind %d is named %q, want %q", kind, kind, name)
		}
	}
}

// What a caller does to a slice afterwards does not reach the value.
func TestConstructorsCopy(t *testing.T) {
	t.Parallel()
	elements := []value.Value{value.Int(1), value.Int(2)}
	members := []value.Member{member("b", value.Int(1)), member("a", value.Int(2))}
	array, object := value.Array(elements...), value.Object(members...)
	if members[0].Key != "b" {
		t.Error("Object sorted the slice of its caller")
	}
	elements[0], members[0].Value, members[1].Key = value.Null(), value.Null(), "z"
	if got := array.JSON() + object.JSON(); got != `[1,2]{"a":2,"b":1}` {
		t.Errorf("the values changed with their caller's slices: %s", got)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1F", "1_000", "Infinity", "NaN", " 1", "1 ", "1.e1", "--1", "1e1.5"} {
		if v, ok := value.Number(text); ok || !v.IsMissing() {
			t.Errorf("Number(%q) = %s, %t; want missing, not ok", text, v, ok)
		}
	}
}

func TestGetAndAt(t *testing.T) {
	t.Parallel()
	object, array := parse(t, `{"":0,"a":1,"b":null,"z":{}}`), parse(t, `["x",null]`)
	tests := []struct {
		name string
		got  value.Value
		want string // empty: missing
	}{
		{"first key", object.Get(""), `0`},
		{"key", object.Get("a"), `1`},
		{"null is there", object.Get("b"), `null`},
		{"last key", object.Get("z"), `{}`},
		{"no such key", object.Get("c"), ``},
		{"key of an array", array.Get(""), ``},
		{"key of a text", value.String("a").Get("a"), ``},
		{"key of nothing", value.Missing().Get("a"), ``},
		{"element", array.At(0), `"x"`},
		{"null element", array.At(1), `null`},
		{"beyond", array.At(2), ``},
		{"negative", array.At(-1), ``},
		{"element of an object", object.At(0), ``},
		{"element of nothing", value.Missing().At(0), ``},
	}
	for _, tt := range tests {
		if want := parseOrMissing(t, tt.want); !value.Equal(tt.got, want) {
			t.Errorf("%s: got %s (%s), want %s", tt.name, tt.got, tt.got.Kind(), tt.want)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, under, over, want string }{
		{"over wins", `{"a":1,"k":"under"}`, `{"k":"over","z":2}`, `{"a":1,"k":"over","z":2}`},
		{"is shallow", `{"k":{"a":1}}`, `{"k":{"b":2}}`, `{"k":{"b":2}}`},
		{"null wins too", `{"k":1}`, `{"k":null}`, `{"k":null}`},
		{"interleaved", `{"a":1,"c":3,"e":5}`, `{"b":2,"d":4}`, `{"a":1,"b":2,"c":3,"d":4,"e":5}`},
		{"empty over", `{"k":1}`, `{}`, `{"k":1}`},
		{"empty under", `{}`, `{"k":1}`, `{"k":1}`},
		{"both empty", `{}`, `{}`, `{}`},
		{"array over", `{"k":1}`, `[2]`, `{"k":1}`},
		{"text under", `"x"`, `{"k":1}`, `{"k":1}`},
		{"missing over", `{"k":1}`, ``, `{"k":1}`},
		{"both missing", ``, ``, `{}`},
		{"null and array", `null`, `[1]`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			under, over := parseOrMissing(t, tt.under), parseOrMissing(t, tt.over)
			got := value.Merge(under, over)
			if got.JSON() != tt.want {
				t.Errorf("Merge(%s, %s) = %s, want %s", tt.under, tt.over, got, tt.want)
			}
			checkSize(t, got)
			if !value.Equal(under, parseOrMissing(t, tt.under)) || !value.Equal(over, parseOrMissing(t, tt.over)) {
				t.Error("Merge changed what it was given")
			}
		})
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string // empty: missing
		want bool
	}{
		{``, ``, true},
		{``, `null`, false},
		{`null`, `null`, true},
		{`null`, `false`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`true`, `"true"`, false},
		{`1`, `1.0`, true},
		{`1`, `10e-1`, true},
		{`1`, `"1"`, false},
		{`0`, `-0.0`, true},
		{`9007199254740992`, `9007199254740993`, false},
		{`"a"`, `"\u0061"`, true},
		{`"a"`, `"A"`, false},
		{`[]`, `{}`, false},
		{`[1,[2]]`, `[1.0,[2e0]]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`{"a":1,"b":[{"c":2}]}`, `{"b":[{"c":2.0}],"a":1}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":{"b":1}}`, `{"a":{"b":2}}`, false},
	}
	for _, tt := range tests {
		a, b := parseOrMissing(t, tt.a), parseOrMissing(t, tt.b)
		if value.Equal(a, b) != tt.want || value.Equal(b, a) != tt.want {
			t.Errorf("Equal(%s, %s) = %t, swapped %t, want %t", tt.a, tt.b, value.Equal(a, b), value.Equal(b, a), tt.want)
		}
		if !value.Equal(a, a) {
			t.Errorf("%s does not equal itself", tt.a)
		}
	}
}

func TestInt64(t *testing.T) {
	t.Parallel()
	tests := []struct {
		literal string
		want    int64
		ok      bool
	}{
		{`0`, 0, true},
		{`-0.0`, 0, true},
		{`0e99999999999999999999`, 0, true},
		{`10`, 10, true},
		{`10.0`, 10, true},
		{`1e1`, 10, true},
		{`1.50E+1`, 15, true},
		{`100e-2`, 1, true},
		{`-7`, -7, true},
		{`9223372036854775807`, math.MaxInt64, true},
		{`9223372036854775807.000`, math.MaxInt64, true},
		{`922337203685477580.7e1`, math.MaxInt64, true},
		{`-9223372036854775808`, math.MinInt64, true},
		{`1000000000000000000`, 1e18, true},
		{`9223372036854775808`, 0, false},
		{`-9223372036854775809`, 0, false},
		{`1e19`, 0, false},
		{`0.5`, 0, false},
		{`10.5`, 0, false},
		{`1e-1`, 0, false},
		{`1e99999999999999999999`, 0, false},
		{`1e-99999999999999999999`, 0, false},
		{`"1"`, 0, false},
		{`true`, 0, false},
		{`[1]`, 0, false},
		{``, 0, false},
	}
	for _, tt := range tests {
		got, ok := parseOrMissing(t, tt.literal).Int64()
		if ok != tt.ok || (ok && got != tt.want) {
			t.Errorf("Int64 of %s = %d, %t; want %d, %t", tt.literal, got, ok, tt.want, tt.ok)
		}
	}
}

func TestTooDeep(t *testing.T) {
	t.Parallel()
	times := strings.Repeat
	for name, tt := range map[string]struct {
		literal string
		want    bool
		levels  int
	}{
		"nothing":          {``, false, 0},
		"a text":           {`"` + times("[", 200) + `"`, false, 0},
		"an empty object":  {`{}`, false, 1},
		"wide":             {"[" + times("[1],", 200) + "1]", false, 2},
		"100 arrays":       {times("[", 100) + times("]", 100), false, 100},
		"100 and a number": {times("[", 100) + "1" + times("]", 100), false, 100},
		"101 arrays":       {times("[", 101) + times("]", 101), true, 101},
		"101 of both":      {times(`[{"b":1,"a":`, 50) + "[]" + times("}]", 50), true, 101},
		"as deep as JSON":  {times("[", 10_000) + times("]", 10_000), true, 10000},
	} {
		v := parseOrMissing(t, tt.literal)
		if v.TooDeep() != tt.want || v.Levels() != tt.levels {
			t.Errorf("%s: too deep is %t, with %d levels", name, v.TooDeep(), v.Levels())
		}
	}
}
