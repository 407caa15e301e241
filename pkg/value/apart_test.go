package value_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/value"
)

const apartFrom = 1000

// newApart names the parts "part 1", "part 2" and so on.
func newApart() *value.Apart {
	made := 0
	return &value.Apart{From: apartFrom, Name: func() string { made++; return fmt.Sprintf("part %d", made) }}
}

// withParts returns v with the content of the parts that it refers to.
func withParts(t *testing.T, v value.Value, parts []value.Part) value.Value {
	t.Helper()
	lookup := value.Lookup{Known: map[value.Ref]value.Value{}}
	for {
		whole := lookup.Complete(v)
		if len(lookup.Load) == 0 {
			return whole
		}
		for _, ref := range lookup.Load {
			for _, part := range parts {
				if part.Name != ref.Log {
					continue
				}
				numbered, err := value.DecodePart(part)
				if err != nil {
					t.Fatal(err)
				}
				lookup.Known[ref], _ = numbered(ref.Number)
			}
			if lookup.Known[ref].IsMissing() {
				t.Fatalf("no part has %+v", ref)
			}
		}
		lookup.Load = nil
	}
}

func numbers(count int) value.Value {
	list := make([]value.Value, count)
	for i := range list {
		list[i] = value.Int(int64(1000 + i))
	}
	return value.Array(list...)
}

func TestLargeValuesAreKeptApart(t *testing.T) {
	t.Parallel()
	list, text := numbers(1000), value.String(strings.Repeat("x", apartFrom+1))
	tests := map[string]struct {
		values []value.Value
		parts  int
		item   int // bytes at most
	}{
		"a small value":                     {[]value.Value{numbers(10)}, 0, 100},
		"a value at the limit":              {[]value.Value{value.String(strings.Repeat("x", apartFrom-4))}, 0, apartFrom},
		"a text":                            {[]value.Value{text}, 1, 30},
		"a list":                            {[]value.Value{list}, 1, 30},
		"an object and small members of it": {[]value.Value{value.Object(member("delay", value.Int(60)), member("list", list))}, 1, 60},
		"the same value twice":              {[]value.Value{list, list}, 1, 30},
		"the same value in two objects":     {[]value.Value{value.Object(member("a", list)), value.Object(member("b", list))}, 1, 80},
		"a value before what contains it":   {[]value.Value{text, value.Object(member("list", list), member("text", text))}, 2, 80},
		"many values that are small each":   {[]value.Value{value.Array(numbers(100), numbers(100), numbers(100))}, 1, 30},
		"an object with many large members": {[]value.Value{value.Object(member("a", numbers(400)), member("b", numbers(500)))}, 1, 60},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &value.Encoder{Origin: value.Origin{Log: "log", Seq: 3, Expires: 7}, Apart: newApart()}
			measure := &value.Encoder{Measures: true, Origin: e.Origin, Apart: newApart()}
			for _, v := range tt.values {
				e.Value(v)
				measure.Value(v)
			}
			if got := len(e.Apart.Parts); got != tt.parts || len(e.Bytes()) > tt.item || e.WroteLarge() != (got > 0 || tt.item >= 256) {
				t.Errorf("%d parts and %d bytes, large is %t; want %d and %d at most", got, len(e.Bytes()), e.WroteLarge(), tt.parts, tt.item)
			}
			if len(measure.Bytes()) != len(e.Bytes()) {
				t.Errorf("measured %d bytes, written %d", len(measure.Bytes()), len(e.Bytes()))
			}
			d := value.NewDecoderAt(e.Origin, e.Bytes())
			again := &value.Encoder{Origin: value.Origin{Log: "log", Seq: 4, Expires: 7}, Apart: newApart()}
			for _, v := range tt.values {
				read := d.Value()
				if got := withParts(t, read, e.Apart.Parts); read.Size() != v.Size() || !same(got, v) {
					t.Errorf("%.40s reads as %.40s", v, got)
				}
				again.Value(read)
			}
			if d.Err() != nil || len(again.Apart.Parts) > 0 || len(again.Bytes()) > tt.item+20 {
				t.Errorf("error %v; the next item has %d bytes and %d parts", d.Err(), len(again.Bytes()), len(again.Apart.Parts))
			}
		})
	}
}

// A token's record has no place of its own and is read without one.
func TestAPartIsReferredToFromAnywhere(t *testing.T) {
	t.Parallel()
	list := numbers(1000)
	e := &value.Encoder{Apart: newApart()}
	e.Value(value.Object(member("list", list)))
	read := value.NewDecoder(e.Bytes()).Value()
	item := &value.Encoder{Origin: value.Origin{Log: "log", Seq: 1, Expires: 7}}
	item.Value(read)
	read = value.NewDecoderAt(item.Origin, item.Bytes()).Value()
	if got := withParts(t, read.Get("list"), e.Apart.Parts); !same(got, list) {
		t.Errorf("it reads as %.40s", got)
	}
}

// Another execution may outlive the part.
func TestADetachedValueIsWrittenWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	e := &value.Encoder{Apart: newApart()}
	list := numbers(1000)
	e.Value(value.Object(member("list", list), member("same", list)))
	held := value.NewDecoder(e.Bytes()).Value()
	read := withParts(t, held, e.Apart.Parts)
	for _, v := range []value.Value{read, read.Get("list"), value.Object(member("in", read)), value.Missing(), value.Null()} {
		item := &value.Encoder{Origin: value.Origin{Log: "log", Seq: 1, Expires: 7}}
		item.Value(value.Detached(v))
		if got := value.NewDecoderAt(item.Origin, item.Bytes()).Value(); !got.IsComplete() || !same(got, v) {
			t.Errorf("%.40s reads as %.40s", v, got)
		}
	}
}

// What a part refers to in other logs is read from there.
func TestAPartRefersToOtherLogs(t *testing.T) {
	t.Parallel()
	origin := value.Origin{Log: "log", Seq: 1, Expires: 7}
	first := &value.Encoder{Origin: origin}
	first.Value(value.String(strings.Repeat("y", 500)))
	old := value.NewDecoderAt(origin, first.Bytes()).Value()
	e := &value.Encoder{Origin: value.Origin{Log: "log", Seq: 2, Expires: 7}, Apart: newApart()}
	e.Value(value.Array(old, numbers(1000)))
	numbered, err := value.DecodePart(e.Apart.Parts[0])
	if err != nil {
		t.Fatal(err)
	}
	list, _ := numbered(0)
	lookup := &value.Lookup{}
	lookup.Open(list.At(0))
	if want := (value.Ref{Log: "log", Seq: 1}); len(lookup.Load) != 1 || lookup.Load[0] != want {
		t.Errorf("it refers to %+v, want %+v", lookup.Load, want)
	}
}

func TestDamagedPart(t *testing.T) {
	t.Parallel()
	e := &value.Encoder{Apart: newApart()}
	e.Value(numbers(1000))
	part := e.Apart.Parts[0]
	for name, body := range map[string][]byte{"nothing": nil, "cut": part.Body[:500], "longer": append(part.Body, 1)} {
		if _, err := value.DecodePart(value.Part{Name: part.Name, Body: body}); !errors.Is(err, value.ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
