package value_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/value"
)

func encode(values ...value.Value) []byte {
	e := &value.Encoder{}
	for _, v := range values {
		e.Value(v)
	}
	return e.Bytes()
}

// decode reads n values that are the whole of data.
func decode(data []byte, n int) ([]value.Value, error) {
	d := value.NewDecoder(data)
	values := make([]value.Value, n)
	for i := range values {
		values[i] = d.Value()
	}
	if d.Err() == nil && d.Rest() > 0 {
		return nil, fmt.Errorf("%d bytes are left", d.Rest())
	}
	return values, d.Err()
}

// same compares more strictly than Equal: 1 and 1.0 are different texts.
func same(a, b value.Value) bool {
	return a.Kind() == b.Kind() && a.JSON() == b.JSON() && a.Size() == b.Size()
}

func TestBinaryRoundTrip(t *testing.T) {
	t.Parallel()
	values := []value.Value{
		value.Missing(), value.Null(), value.Bool(true), value.Bool(false),
		value.String(""), value.String("é\u2028\"\\\x00"), value.String("\xff"), value.String(strings.Repeat("x", 70_000)),
		number(t, "0"), number(t, "-0"), number(t, "1.0"), number(t, "1e400"), number(t, strings.Repeat("9", 3000)), value.Int(math.MinInt64),
		value.Object(), value.Array(), value.Array(value.Array(), value.Object(), value.Null()),
		parse(t, `{"":0,"a":{"a":{"a":[1,[2,[3,null,true,false,"x"]]]}},"ä":"ö","b":[]}`),
	}
	values = append(values, values...) // all of them again, from memory
	got, err := decode(encode(values...), len(values))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range values {
		if !same(got[i], want) {
			t.Errorf("value %d is %.80s after the round trip, was %.80s", i, got[i], want)
		}
	}
}

func TestBinaryRandomRoundTrip(t *testing.T) {
	t.Parallel()
	const seed = 20260131
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		g := &generator{r: r}
		values := make([]value.Value, 1+r.IntN(4))
		for i := range values {
			values[i] = g.value(4)
		}
		data := encode(values...)
		got, err := decode(data, len(values))
		if err != nil {
			t.Fatalf("seed %d: %v decodes with %v", seed, values, err)
		}
		for i := range values {
			if !same(got[i], values[i]) {
				t.Fatalf("seed %d: %s becomes %s", seed, values[i], got[i])
			}
		}
		if again := encode(got...); !bytes.Equal(again, data) {
			t.Fatalf("seed %d: %v encodes differently after it was decoded:\n%x\n%x", seed, values, data, again)
		}
		for size := range data {
			if _, err := decode(data[:size], len(values)); err == nil {
				t.Fatalf("seed %d: %d of %d bytes of %v decode", seed, size, len(data), values)
			}
		}
	}
}

// generator makes random values, some of them out of earlier ones.
type generator struct {
	r    *rand.Rand
	made []value.Value
}

func (g *generator) value(depth int) value.Value {
	if len(g.made) > 0 && g.r.IntN(4) == 0 {
		return g.made[g.r.IntN(len(g.made))]
	}
	v := g.fresh(depth)
	g.made = append(g.made, v)
	return v
}

func (g *generator) fresh(depth int) value.Value {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch g.r.IntN(kinds) {
	case 0:
		return value.Null()
	case 1:
		return value.Bool(g.r.IntN(2) == 0)
	case 2:
		return value.Int(g.r.Int64() >> g.r.IntN(64))
	case 3, 4:
		return value.String(strings.Repeat("é", g.r.IntN(4)) + strings.Repeat("x", g.r.IntN(8)))
	case 5:
		elements := make([]value.Value, g.r.IntN(4))
		for i := range elements {
			elements[i] = g.value(depth - 1)
		}
		return value.Array(elements...)
	}
	var members []value.Member
	for range g.r.IntN(4) {
		members = append(members, member(string(rune('a'+g.r.IntN(4))), g.value(depth-1)))
	}
	return value.Object(members...)
}

func TestBinaryWritesSharedValuesOnce(t *testing.T) {
	t.Parallel()
	text := value.String(strings.Repeat("x", 1000))
	object := value.Object(member("a", text), member("b", text))
	once, all := len(encode(text)), len(encode(text, object, text, object, value.Merge(object, value.Object(member("c", value.Null())))))
	if more := all - once; more > 30 {
		t.Errorf("a text and four values that share it need %d bytes more than the text alone", more)
	}
	null := encode(value.Null(), value.Null(), value.Bool(true), value.Bool(true))
	if len(null) != 6 {
		t.Errorf("two nulls and two booleans need %d bytes: %x; a reference is no shorter than they are", len(null), null)
	}
}

// Mappings nest what came as JSON deeper than JSON itself may.
func TestBinaryDeepNesting(t *testing.T) {
	t.Parallel()
	v := parse(t, strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000))
	for range 5000 {
		v = value.Object(member("x", v))
	}
	got, err := decode(encode(v), 1)
	if err != nil {
		t.Fatal(err)
	}
	if !same(got[0], v) {
		t.Error("a deep value changes on the round trip")
	}
}

const (
	tagBool, tagNumber, tagString, tagArray, tagObject, tagReference = 2, 3, 4, 5, 6, 7
)

func TestBinaryDamage(t *testing.T) {
	t.Parallel()
	tests := map[string][]byte{
		"nothing at all":               {},
		"unknown kind":                 {8},
		"boolean 2":                    {tagBool, 2},
		"number that is none":          {tagNumber, 2, '0', 'x'},
		"text that is no UTF-8":        {tagString, 2, 0xff, 'a'},
		"text longer than the rest":    {tagString, 200, 1, 'a'},
		"length without end":           {tagString, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"missing element":              {tagArray, 1, 0},
		"missing member":               {tagObject, 1, 1, 'a', 0},
		"keys in a wrong order":        {tagObject, 2, 1, 'b', 1, 1, 'a', 1},
		"repeated key":                 {tagObject, 2, 1, 'a', 1, 1, 'a', 1},
		"key that is no UTF-8":         {tagObject, 1, 1, 0xff, 1},
		"reference to nothing":         {tagReference, 0},
		"reference to what is outside": {tagArray, 1, tagReference, 0},
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := value.NewDecoder(data)
			if v := d.Value(); !errors.Is(d.Err(), value.ErrDamaged) || !v.IsMissing() {
				t.Errorf("% x reads as %s with error %v", data, v, d.Err())
			}
			if d.Uint() != 0 || d.Int() != 0 || d.Text() != "" || d.Count() != 0 || d.Rest() != 0 || !d.Value().IsMissing() {
				t.Error("what is read after the damage is not zero")
			}
		})
	}
}

// A few bytes must not make the reader allocate without end: neither lists that
// claim as many elements as there are bytes left, one in the other, nor values
// that hold an earlier one twice, again and again.
//
//nolint:paralleltest // it measures what the process allocates
func TestBinaryDamageIsCheap(t *testing.T) {
	var nested []byte
	for len(nested) < 200_000 {
		nested = binary.AppendUvarint(append(nested, tagArray), 100_000)
	}
	doubled := []byte{tagArray, 65, tagString, 4, 'l', 'o', 'n', 'g'}
	for i := range byte(64) {
		doubled = append(doubled, tagArray, 2, tagReference, i+1, tagReference, i+1)
	}
	for name, data := range map[string][]byte{"nested": nested, "doubled": doubled} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(data, 1)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, value.ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 200<<20 {
			t.Errorf("%s: %d bytes make the reader allocate %d bytes", name, len(data), allocated)
		}
	}
}

func TestBinaryNumbersAndTexts(t *testing.T) {
	t.Parallel()
	e := &value.Encoder{}
	e.Uint(math.MaxUint64)
	e.Int(math.MinInt64)
	e.Text("\xff is kept")
	e.Uint(3)
	d := value.NewDecoder(append(e.Bytes(), "abc"...))
	if u, i, s := d.Uint(), d.Int(), d.Text(); u != math.MaxUint64 || i != math.MinInt64 || s != "\xff is kept" {
		t.Errorf("read %d, %d, %q", u, i, s)
	}
	if n := d.Count(); n != 3 || d.Rest() != 3 || d.Err() != nil {
		t.Errorf("count %d, rest %d, error %v", n, d.Rest(), d.Err())
	}
}

func TestBinaryTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1677-09-21T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z",
		"2026-01-31T10:00:00.25+02:00", "9999-12-31T23:59:59.999999999Z",
	} {
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		e := &value.Encoder{}
		e.Time(want)
		d := value.NewDecoder(e.Bytes())
		if got := d.Time(); got != want.UTC() || d.Err() != nil || d.Rest() > 0 {
			t.Errorf("%s becomes %s, error %v", text, got, d.Err())
		}
	}
	for _, data := range [][]byte{{}, {0}, {0, 0x80, 0x94, 0xeb, 0xdc, 0x03}} {
		if d := value.NewDecoder(data); !d.Time().IsZero() || d.Err() == nil {
			t.Errorf("% x is no instant and reads as one", data)
		}
	}
}

// What decodes has the invariants of values: it encodes again, to bytes that
// decode to the same.
func FuzzBinaryDecode(f *testing.F) {
	f.Add(encode(value.Missing()))
	f.Add(encode(parse(f, `{"a":[1,null,true,"long text"],"b":{"c":"d"}}`)))
	shared := value.String("shared text")
	f.Add(encode(value.Array(shared, value.Object(member("k", shared)), shared)))
	f.Add([]byte{tagArray, 1, tagReference, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded, err := decode(data, 1)
		if err != nil || !decoded[0].IsComplete() { // a reference to a part has no JSON
			return
		}
		again, err := decode(encode(decoded...), 1)
		if err != nil {
			t.Fatalf("% x decodes, and not again: %v", data, err)
		}
		// A value of shared parts may be far longer as JSON than in this form.
		if again[0].Size() != decoded[0].Size() || decoded[0].Size() < 1<<20 && !same(again[0], decoded[0]) {
			t.Fatalf("% x decodes to something else the second time", data)
		}
	})
}
