package value_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/value"
)

// item is one item of a log, at its place.
type item struct {
	place value.Origin
	data  []byte
	large bool
}

// write makes item seq of a log called "log".
func write(seq uint64, values ...value.Value) item {
	e := &value.Encoder{Origin: value.Origin{Log: "log", Seq: seq}}
	for _, v := range values {
		e.Value(v)
	}
	return item{e.Origin, e.Bytes(), e.WroteLarge()}
}

func (i item) read(t *testing.T, n int) ([]value.Value, *value.Decoder) {
	t.Helper()
	d := value.NewDecoderAt(i.place, i.data)
	values := make([]value.Value, n)
	for i := range values {
		values[i] = d.Value()
	}
	if d.Err() != nil || d.Rest() > 0 {
		t.Fatalf("item %d: error %v, %d bytes are left", i.place.Seq, d.Err(), d.Rest())
	}
	return values, d
}

// again writes the value in item 0, and what is read from there in item 1.
func again(t *testing.T, v value.Value) (full, held value.Value, size int, first *value.Decoder) {
	t.Helper()
	values, first := write(0, v).read(t, 1)
	next := write(1, values[0])
	if next.large {
		t.Error("the second item has something large in full")
	}
	second, _ := next.read(t, 1)
	return values[0], second[0], len(next.data), first
}

func long(n int) string { return strings.Repeat("x", n) }

func TestLargeValuesAreHeldByReference(t *testing.T) {
	t.Parallel()
	many := make([]value.Member, 100)
	for i := range many {
		many[i] = value.Member{Key: fmt.Sprintf("key-%03d", i), Value: value.String(fmt.Sprintf("value %d", i))}
	}
	tests := map[string]struct {
		value  value.Value
		most   int    // bytes of the second item
		inline string // what is still there of an object
	}{
		"a text":                      {value.String(long(5000)), 10, ""},
		"an array":                    {value.Array(value.String(long(5000)), value.Int(1)), 10, ""},
		"an object with one long one": {parse(t, `{"delay":60,"on":true,"payload":"`+long(5000)+`"}`), 60, `{"delay":60,"on":true}`},
		"nested": {
			parse(t, `{"a":{"b":{"c":"`+long(300)+`"}},"d":[1,2,{"e":"`+long(300)+`"}],"f":{"g":1}}`), 60, `{"f":{"g":1}}`,
		},
		"many small ones": {value.Object(many...), 10, ""},
		"small ones beside many others": {
			parse(t, `{"a":"`+long(200)+`","b":"`+long(201)+`","c":"`+long(202)+`","d":"`+long(203)+`"}`), 300, `{"a":"` + long(200) + `"}`,
		},
		"a key as long as a value": {parse(t, `{"`+long(300)+`":1}`), 10, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, held, size, first := again(t, tt.value)
			if !same(full, tt.value) || held.IsComplete() || held.Kind() != full.Kind() || held.Size() != full.Size() {
				t.Fatalf("%.80s becomes %s of %d bytes, complete=%t", full, held.Kind(), held.Size(), held.IsComplete())
			}
			if size > tt.most {
				t.Errorf("the second item has %d bytes, want %d at most", size, tt.most)
			}
			if got := inlineOf(held); got != tt.inline {
				t.Errorf("%.80s is still there, want %.80s", got, tt.inline)
			}
			if whole := completed(t, held, first); !same(whole, full) {
				t.Errorf("%.80s is completed to %.80s", full, whole)
			}
		})
	}
}

// inlineOf shows the members of an object that are here; nothing when it is
// held as a whole.
func inlineOf(v value.Value) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	members := slices.DeleteFunc(slices.Clone(v.Members()), func(m value.Member) bool { return !m.Value.IsComplete() })
	return value.Object(members...).JSON()
}

// completed is a value with what the item has of it.
func completed(t *testing.T, v value.Value, from *value.Decoder) value.Value {
	t.Helper()
	known := map[value.Ref]value.Value{}
	for range 10 {
		lookup := value.Lookup{Known: known}
		whole := lookup.Complete(v)
		if len(lookup.Load) == 0 {
			return whole
		}
		for _, ref := range lookup.Load {
			content, ok := from.Numbered(ref.Number)
			if !ok || ref.Seq != 0 {
				t.Fatalf("%v leads nowhere", ref)
			}
			known[ref] = content
		}
	}
	t.Fatal("something is missing for ever")
	return value.Value{}
}

// A new object of parts that stand elsewhere refers to them, as the input of a
// step without mappings does.
func TestNewObjectHasReferencesToItsMembers(t *testing.T) {
	t.Parallel()
	members := []value.Member{{Key: "delay", Value: value.Int(60)}}
	for i := range 60 {
		members = append(members, value.Member{Key: fmt.Sprintf("k%d", i), Value: value.String(long(80))})
	}
	full, held, size, first := again(t, value.Object(members...))
	if most := 1100; size > most || held.Get("delay").Text() != "60" {
		t.Errorf("the second item has %d bytes, want %d at most", size, most)
	}
	merged := value.Merge(held, value.Object(value.Member{Key: "status", Value: value.String("running")}))
	third := write(2, held, merged)
	if most := 1800; len(third.data) > most {
		t.Errorf("the third item has %d bytes, want %d at most", len(third.data), most)
	}
	values, _ := third.read(t, 2)
	if !same(completed(t, values[0], first), full) || completed(t, values[1], first).Len() != full.Len()+1 || values[1].Get("status").Text() != "running" {
		t.Error("something else comes back")
	}
}

// What is completed is still the value that stands in full elsewhere.
func TestCompletedValueIsWrittenAsReference(t *testing.T) {
	t.Parallel()
	_, held, size, first := again(t, parse(t, `{"a":"`+long(200)+`","b":"`+long(210)+`","c":"`+long(1000)+`"}`))
	if again := write(2, completed(t, held, first)); len(again.data) != size {
		t.Errorf("%d bytes, as it was held %d", len(again.data), size)
	}
}

// What was held stays held, and refers to where it stands in full.
func TestReferencesAreWrittenAgainAsReferences(t *testing.T) {
	t.Parallel()
	full, held, size, first := again(t, parse(t, `{"a":1,"b":"`+long(1000)+`"}`))
	for seq := uint64(2); seq < 5; seq++ {
		next := write(seq, held)
		if len(next.data) != size {
			t.Fatalf("item %d has %d bytes, item 1 has %d", seq, len(next.data), size)
		}
		values, _ := next.read(t, 1)
		held = values[0]
	}
	if !same(completed(t, held, first), full) {
		t.Errorf("%.80s became something else", full)
	}
}

// Parts of what was loaded refer to where they stand, and new values hold them.
func TestMembersAreReferencesToo(t *testing.T) {
	t.Parallel()
	full, _, _, first := again(t, parse(t, `{"a":{"b":"`+long(1000)+`"},"c":1}`))
	part := full.Get("a").Get("b")
	made := value.Object(value.Member{Key: "new", Value: part}, value.Member{Key: "n", Value: value.Int(7)})
	next := write(1, made, part)
	if len(next.data) > 40 {
		t.Errorf("%d bytes", len(next.data))
	}
	values, _ := next.read(t, 2)
	if !same(completed(t, values[0], first), made) || !same(completed(t, values[1], first), part) {
		t.Errorf("%s and %s", values[0].Kind(), values[1].Kind())
	}
}

func TestValuesOfAnotherLogAreWrittenInFull(t *testing.T) {
	t.Parallel()
	full, held, _, _ := again(t, value.String(long(1000)))
	e := &value.Encoder{Origin: value.Origin{Log: "another", Seq: 9}}
	if e.Value(full); len(e.Bytes()) < 1000 {
		t.Error("another log refers to this one")
	}
	if e := (&value.Encoder{}); true {
		if e.Value(full); len(e.Bytes()) < 1000 {
			t.Error("what is in no log refers to one")
		}
	}
	wantPanic(t, "a held value in another log", func() { e.Value(held) })
}

// An item of another log that is deleted at the same instant may be referred to: each log is named
// once an item.
func TestValuesOfLogsThatAreDeletedTogether(t *testing.T) {
	t.Parallel()
	values := []value.Value{parse(t, `{"a":1,"b":"`+long(1000)+`"}`), value.String(long(2000)), value.String("small"), value.String(long(3000))}
	item := func(place value.Origin, values ...value.Value) ([]value.Value, int) {
		e := &value.Encoder{Origin: place}
		for _, v := range values {
			e.Value(v)
		}
		d := value.NewDecoderAt(value.Origin{Log: place.Log, Seq: place.Seq}, e.Bytes())
		d.SetExpires(place.Expires)
		read := make([]value.Value, len(values))
		for i := range read {
			read[i] = d.Value()
		}
		if d.Err() != nil || d.Rest() > 0 {
			t.Fatalf("item of log %s: error %v, %d bytes are left", place.Log, d.Err(), d.Rest())
		}
		return read, len(e.Bytes())
	}
	parent, _ := item(value.Origin{Log: "parent-12345", Seq: 7, Expires: 5}, values[:2]...)
	lane, _ := item(value.Origin{Log: "lane-1234567", Seq: 3, Expires: 5}, values[2:]...)
	for range 2 { // what was read has the references again
		held, size := item(value.Origin{Log: "another-1234", Seq: 2, Expires: 5}, parent[0], lane[0], parent[1], lane[1])
		if most := 80; size > most || held[0].Get("a").Text() != "1" || held[1].Text() != "small" {
			t.Fatalf("the item has %d bytes, want %d at most, and its small values", size, most)
		}
		var lookup value.Lookup
		lookup.Open(held[2])
		lookup.Open(held[3])
		want := []value.Ref{{Log: "parent-12345", Seq: 7, Number: 2}, {Log: "lane-1234567", Seq: 3, Number: 1}}
		if !slices.Equal(lookup.Load, want) {
			t.Fatalf("to load %v, want %v", lookup.Load, want)
		}
		parent, lane = []value.Value{held[0], held[2]}, []value.Value{value.String("small"), held[3]}
	}
	if _, size := item(value.Origin{Log: "another-1234", Seq: 2, Expires: 6}, value.String(long(2000))); size < 2000 {
		t.Error("a log that is deleted later has a reference")
	}
}

func TestReadingAReferencePanics(t *testing.T) {
	t.Parallel()
	_, held, _, _ := again(t, value.Array(value.String(long(1000)), value.Int(2)))
	for name, ask := range map[string]func(){
		"JSON":             func() { _ = held.JSON() },
		"Members":          func() { _ = held.Members() },
		"At":               func() { _ = held.At(0) },
		"Len":              func() { _ = held.Len() },
		"Equal":            func() { _ = value.Equal(held, value.Array()) },
		"without a Lookup": func() { _ = (*value.Lookup)(nil).Complete(held) },
	} {
		wantPanic(t, name, ask)
	}
	if !value.Equal(held, held) {
		t.Error("it is not equal to itself")
	}
}

func wantPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", name)
		}
	}()
	f()
}

// FuzzDecodeHeld reads an item with references: damage is found or gives
// another value, and what was read can be written again.
func FuzzDecodeHeld(f *testing.F) {
	object := `{"a":1,"b":"` + long(1000) + `","c":{"d":[1,2,3]}}`
	v, err := value.ParseJSON([]byte(object))
	if err != nil {
		f.Fatal(err)
	}
	d := value.NewDecoderAt(value.Origin{Log: "log"}, write(0, v).data)
	f.Add(write(3, d.Value()).data)
	f.Add(write(3, v, value.Array(v, v)).data)
	f.Add([]byte{8, 6, 10, 1, 0, 0})
	f.Add([]byte{9, 6, 10, 0, 2, 'a', 'b', 7, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		place := value.Origin{Log: "log", Seq: 3, Expires: 1}
		d := value.NewDecoderAt(place, data)
		v := d.Value()
		if d.Err() != nil {
			return
		}
		e := &value.Encoder{Origin: place}
		e.Value(v)
		again := value.NewDecoderAt(place, e.Bytes())
		if w := again.Value(); again.Err() != nil || w.Kind() != v.Kind() || w.Size() != v.Size() || w.IsComplete() != v.IsComplete() {
			t.Errorf("%s of %d bytes becomes %s of %d bytes, error %v", v.Kind(), v.Size(), w.Kind(), w.Size(), again.Err())
		}
	})
}
