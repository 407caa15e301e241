package enginetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// LargeValues is the suite of [engine.LargeValues]. Each case gets an empty store.
func LargeValues(t *testing.T, open func(t *testing.T) engine.LargeValues) {
	t.Helper()
	runCases(t, open, []testCase[engine.LargeValues]{
		{"what was stored is loaded", largeStored},
		{"a name that was never stored is not found", largeUnknown},
		{"the largest value is stored", largeLargest},
		{"many are stored at once", largeAtOnce},
		{"the store keeps a copy", largeCopied},
		{"a cancelled context is an error", largeCancelled},
	})
}

// largeName is a name as the engine makes them.
func largeName(last string) string {
	return stopped.String() + "/" + strings.Repeat("0", 32-len(last)) + last
}

func wantLarge(t *testing.T, values engine.LargeValues, name string, want []byte) {
	t.Helper()
	if got, err := values.LoadValue(t.Context(), name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("value %s has %d bytes, error %v; want %d bytes", name, len(got), err, len(want))
	}
}

func storeLarge(t *testing.T, values engine.LargeValues, name string, data []byte) {
	t.Helper()
	if err := values.StoreValue(t.Context(), name, data, epoch.Add(24*time.Hour)); err != nil {
		t.Errorf("value %s: %v", name, err)
	}
}

func largeStored(c on[engine.LargeValues]) {
	values := map[string][]byte{largeName("1"): {0, 1, 255, 10, 13}, largeName("2"): []byte("two")}
	for name, data := range values {
		storeLarge(c.t, c.it, name, data)
	}
	for name, data := range values {
		wantLarge(c.t, c.it, name, data)
	}
}

func largeUnknown(c on[engine.LargeValues]) {
	storeLarge(c.t, c.it, largeName("1"), []byte("one"))
	for _, name := range []string{largeName("2"), other.String() + largeName("1")[len(other.String()):]} {
		if data, err := c.it.LoadValue(c.t.Context(), name); !errors.Is(err, engine.ErrNotFound) {
			c.t.Errorf("value %s has %d bytes, error %v", name, len(data), err)
		}
	}
}

func largeLargest(c on[engine.LargeValues]) {
	data := bytes.Repeat([]byte("0123456789abcdef"), machine.MaxLargeData>>3) // twice the limit: an encoded value is longer than its JSON
	storeLarge(c.t, c.it, largeName("1"), data)
	wantLarge(c.t, c.it, largeName("1"), data)
}

func largeAtOnce(c on[engine.LargeValues]) {
	var storing sync.WaitGroup
	for name := range strings.FieldsSeq("1 2 3 4 5 6 7 8 9") {
		storing.Go(func() { storeLarge(c.t, c.it, largeName(name), []byte(name)) })
	}
	storing.Wait()
	for name := range strings.FieldsSeq("1 2 3 4 5 6 7 8 9") {
		wantLarge(c.t, c.it, largeName(name), []byte(name))
	}
}

func largeCopied(c on[engine.LargeValues]) {
	data := []byte("before")
	storeLarge(c.t, c.it, largeName("1"), data)
	copy(data, "after!")
	wantLarge(c.t, c.it, largeName("1"), []byte("before"))
}

func largeCancelled(c on[engine.LargeValues]) {
	ctx, cancel := context.WithCancel(c.t.Context())
	storeLarge(c.t, c.it, largeName("1"), []byte("one"))
	cancel()
	if err := c.it.StoreValue(ctx, largeName("2"), []byte("two"), epoch.Add(time.Hour)); err == nil {
		c.t.Error("a value is stored with a cancelled context")
	}
	if _, err := c.it.LoadValue(ctx, largeName("1")); err == nil || errors.Is(err, engine.ErrNotFound) {
		c.t.Errorf("a value is read with a cancelled context, error %v", err)
	}
}
