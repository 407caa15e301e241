package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// The lanes of a foreach read the item of their parent at the same time. It is decoded once: a list
// of 10,000 numbers takes more than 1 MB.
func TestWorkersShareADecodedItem(t *testing.T) {
	t.Parallel()
	items := newDecodedItems()
	one := decodable(t, "one")
	opened := make([]decodedItem, 64)
	var all sync.WaitGroup
	for i := range opened {
		all.Go(func() { opened[i] = items.decode(one) })
	}
	all.Wait()
	first := opened[0].state.Input.Members()
	for _, other := range opened[1:] {
		if &other.state.Input.Members()[0] != &first[0] {
			t.Fatal("the item was decoded twice")
		}
	}
}

// The lanes of a foreach over a large collection read items of their own between two iterations.
func TestALargeValueStaysBesideSmallItems(t *testing.T) {
	t.Parallel()
	items, reads := newDecodedItems(), 0
	read := func() (func(uint32) (value.Value, bool), int, error) {
		reads++
		return func(uint32) (value.Value, bool) { return value.Value{}, true }, 1 << 20, nil
	}
	for i := range 100 {
		if _, err := items.part(partRef{}, read); err != nil {
			t.Fatal(err)
		}
		items.decode(decodable(t, strconv.Itoa(i)))
	}
	if reads != 1 {
		t.Errorf("the value was read %d times", reads)
	}
}

// The key of an item is that of another one after its execution has expired, and a damaged item has
// the key of the undamaged one.
func TestADecodedItemIsOfItsContent(t *testing.T) {
	t.Parallel()
	items := newDecodedItems()
	one, other := decodable(t, "one"), decodable(t, "other")
	items.decode(one)
	if got := items.decode(other).state.Input.Get("text").Text(); !strings.HasPrefix(got, "other") {
		t.Errorf("the input is %.10s", got)
	}
	damaged := one
	damaged.Body = append([]byte{}, one.Body...)
	damaged.Body[len(damaged.Body)/2]++
	if err := items.decode(damaged).err; CodeOf(err) != CodeDefect {
		t.Errorf("a damaged item: error %v", err)
	}
}

func decodable(t *testing.T, text string) Item {
	t.Helper()
	input := value.Object(value.Member{Key: "text", Value: value.String(text + strings.Repeat(".", 1000))})
	state := machine.State{Flow: machine.FlowRef{Name: "flow"}, Execution: "run", Status: machine.StatusRunning, Started: time.Unix(1, 0), Input: input}
	item := Item{Execution: NewID("flow", "run"), Seq: 1}
	item.Body, _ = machine.Encode(item.origin(), state, nil)
	return item
}

// countedValues counts the reads of large values, and fails the first one.
type countedValues struct {
	data  []byte
	reads atomic.Int32
}

func (*countedValues) StoreValue(context.Context, string, []byte, time.Time) error { return nil }

func (c *countedValues) LoadValue(context.Context, string) ([]byte, error) {
	if c.reads.Add(1) == 1 {
		return nil, errors.New("the disk is away")
	}
	return c.data, nil
}

// The lanes of a foreach read the part that has the collection. It is read and decoded once for all
// of them; a failed read is repeated.
func TestWorkersShareALargeValue(t *testing.T) {
	t.Parallel()
	ref := newPartRef(NewID("flow", "run"))
	e := &value.Encoder{Apart: &value.Apart{From: 100, Name: ref.String}}
	e.Value(value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat(".", 1000))}))
	refs := []value.Ref{{Log: ref.String()}}
	store := &countedValues{data: ref.seal(e.Apart.Parts[0].Body)}
	c := core{Config{LargeValues: store}, newDecodedItems()}
	read := func() (value.Value, error) {
		h := c.newValueLoader()
		err := h.load(t.Context(), refs)
		return h.loaded[refs[0]], err
	}
	if _, err := read(); err == nil {
		t.Fatal("the first read does not fail")
	}
	shared := make([]value.Value, 64)
	var all sync.WaitGroup
	for i := range shared {
		all.Go(func() { shared[i], _ = read() })
	}
	all.Wait()
	if n := store.reads.Load(); n != 2 {
		t.Errorf("it was read %d times, want 2", n)
	}
	for _, v := range shared {
		if v.Len() != 1 || &v.Members()[0] != &shared[0].Members()[0] {
			t.Fatal("the part was decoded twice")
		}
	}
}
