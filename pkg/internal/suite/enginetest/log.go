package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Log is the suite of [engine.Log]. Each case gets an empty log.
func Log(t *testing.T, open func(t *testing.T) engine.Log) {
	t.Helper()
	runCases(t, open, []testCase[engine.Log]{
		{"an execution without items is not found", logEmpty},
		{"an item comes back as it was put", logRoundTrip},
		{"an item comes back without its rest", logRest},
		{"a large item comes back as it was put", logLargeItem},
		{"the latest item is the one with the highest number", logLatest},
		{"items come in the order of their numbers, in pages", logPages},
		{"items of several logs come by their keys, in one call", logGet},
		{"a number in use is rejected with the nonce that is there", logConflict},
		{"the same put again is refused with its own nonce", logOwnConflict},
		{"executions have logs of their own", logExecutions},
		{"the log keeps copies", logCopies},
		{"of 64 puts at once one wins", logRace},
		{"readers beside a writer see a log without gaps", logReadersBesideWriter},
		{"a cancelled context is an error", logCancelled},
	})
}

var (
	someExecution  = engine.NewID("flow", "some")
	otherExecution = engine.NewID("flow", "other")
)

func logItem(execution engine.ID, seq uint64) engine.Item {
	return engine.Item{Execution: execution, Seq: seq, Nonce: fmt.Sprintf("nonce-%d", seq), Body: fmt.Appendf(nil, "\x00body\xff %d", seq)}
}

func fill(t *testing.T, log engine.Log, execution engine.ID, items int) {
	t.Helper()
	for seq := range items {
		if err := log.Append(t.Context(), logItem(execution, uint64(seq))); err != nil {
			t.Fatalf("append item %d: %v", seq, err)
		}
	}
}

func sameItem(a, b engine.Item) bool {
	return a.Execution == b.Execution && a.Seq == b.Seq && a.Nonce == b.Nonce && bytes.Equal(a.Body, b.Body)
}

func wantLatest(t *testing.T, log engine.Log, want engine.Item) {
	t.Helper()
	got, err := log.Latest(t.Context(), want.Execution)
	if err != nil || !sameItem(got, want) {
		t.Errorf("latest is item %d with nonce %q and %d bytes, error %v; want item %d with nonce %q and %d bytes",
			got.Seq, got.Nonce, len(got.Body), err, want.Seq, want.Nonce, len(want.Body))
	}
}

func wantItems(t *testing.T, log engine.Log, execution engine.ID, from uint64, limit, count int) {
	t.Helper()
	items, err := log.Items(t.Context(), execution, from, limit)
	if err != nil || len(items) != count {
		t.Fatalf("%d items from %d on, %d at most: got %d, error %v", count, from, limit, len(items), err)
	}
	for i, item := range items {
		if want := logItem(execution, from+uint64(i)); !sameItem(item, want) {
			t.Errorf("item %d is %d with nonce %q, want %d with %q", i, item.Seq, item.Nonce, want.Seq, want.Nonce)
		}
	}
}

func logEmpty(c on[engine.Log]) {
	t, log := c.t, c.it
	if _, err := log.Latest(t.Context(), someExecution); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("latest: error %v, want one that is engine.ErrNotFound", err)
	}
	wantItems(t, log, someExecution, 0, 10, 0)
}

func logRoundTrip(c on[engine.Log]) {
	t, log := c.t, c.it
	fill(t, log, someExecution, 1)
	wantLatest(t, log, logItem(someExecution, 0))
	wantItems(t, log, someExecution, 0, 1, 1)
}

func logLargeItem(c on[engine.Log]) {
	t, log := c.t, c.it
	item := logItem(someExecution, 0)
	item.Body = bytes.Repeat([]byte("0123456789abcde\x00"), 256<<10/16)
	if err := log.Append(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	wantLatest(t, log, item)
}

func logLatest(c on[engine.Log]) {
	t, log := c.t, c.it
	for seq := range uint64(12) {
		if err := log.Append(t.Context(), logItem(someExecution, seq)); err != nil {
			t.Fatal(err)
		}
		wantLatest(t, log, logItem(someExecution, seq))
	}
}

// logRest puts items whose state rests, and one that rests no longer.
func logRest(c on[engine.Log]) {
	t, log := c.t, c.it
	for seq, rest := range []machine.Rest{0, 1 << 60, 1<<60 + 1, 0} {
		item := logItem(someExecution, uint64(seq))
		item.Rest = rest
		if err := log.Append(t.Context(), item); err != nil {
			t.Fatal(err)
		}
		if latest, err := log.Latest(t.Context(), someExecution); err != nil || latest.Rest != 0 {
			t.Errorf("item %d: rest %d, error %v", seq, latest.Rest, err)
		}
		wantLatest(t, log, logItem(someExecution, uint64(seq)))
	}
	wantItems(t, log, someExecution, 0, 10, 4)
}

func logPages(c on[engine.Log]) {
	t, log := c.t, c.it
	const size = 260 // past one digit, two digits and one byte
	fill(t, log, someExecution, size)
	wantItems(t, log, someExecution, 0, 100, 100)
	wantItems(t, log, someExecution, 100, 100, 100)
	wantItems(t, log, someExecution, 200, 100, 60)
	wantItems(t, log, someExecution, 0, size, size)
	wantItems(t, log, someExecution, 255, 2, 2)
	wantItems(t, log, someExecution, size-1, 10, 1)
	wantItems(t, log, someExecution, size, 10, 0)
	wantItems(t, log, someExecution, 1<<40, 10, 0)
}

func logGet(c on[engine.Log]) {
	t, log := c.t, c.it
	const size = 150 // more than one request may ask for
	fill(t, log, someExecution, size)
	fill(t, log, otherExecution, 2)
	keys := []engine.ItemKey{{Execution: otherExecution, Seq: 1}, {Execution: otherExecution, Seq: 2}, {Execution: engine.NewID("flow", "none")}}
	for seq := range uint64(size) {
		keys = append(keys, engine.ItemKey{Execution: someExecution, Seq: seq})
	}
	items, err := log.Get(t.Context(), keys...)
	if err != nil || len(items) != size+1 {
		t.Errorf("%d items, error %v; want %d", len(items), err, size+1)
	}
	for key, item := range items {
		if !sameItem(item, logItem(key.Execution, key.Seq)) {
			t.Errorf("item %d of %s is %d with nonce %q", key.Seq, key.Execution, item.Seq, item.Nonce)
		}
	}
	if items, err := log.Get(t.Context()); err != nil || len(items) != 0 {
		t.Errorf("without keys: %d items, error %v", len(items), err)
	}
}

func wantConflict(t *testing.T, err error, nonce string) {
	t.Helper()
	var conflict *engine.ConflictError
	if !errors.As(err, &conflict) || conflict.Nonce != nonce {
		t.Errorf("append: error %v, want a conflict with %q", err, nonce)
	}
	if !errors.Is(err, engine.ErrConflict) || engine.CodeOf(err) != engine.CodeConflict {
		t.Errorf("append: the error has code %s, want %s", engine.CodeOf(err), engine.CodeConflict)
	}
}

func logConflict(c on[engine.Log]) {
	t, log := c.t, c.it
	fill(t, log, someExecution, 3)
	for seq := range uint64(3) {
		other := logItem(someExecution, seq)
		other.Nonce, other.Body = "another's", []byte("another's")
		wantConflict(t, log.Append(t.Context(), other), logItem(someExecution, seq).Nonce)
	}
	wantItems(t, log, someExecution, 0, 10, 3)
}

func logOwnConflict(c on[engine.Log]) {
	t, log := c.t, c.it
	fill(t, log, someExecution, 2)
	own := logItem(someExecution, 1)
	wantConflict(t, log.Append(t.Context(), own), own.Nonce)
	wantLatest(t, log, own)
}

func logExecutions(c on[engine.Log]) {
	t, log := c.t, c.it
	fill(t, log, someExecution, 3)
	fill(t, log, otherExecution, 1)
	wantLatest(t, log, logItem(someExecution, 2))
	wantLatest(t, log, logItem(otherExecution, 0))
	wantItems(t, log, otherExecution, 0, 10, 1)
}

func logCopies(c on[engine.Log]) {
	t, log := c.t, c.it
	item := logItem(someExecution, 0)
	if err := log.Append(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	clear(item.Body)
	latest, err := log.Latest(t.Context(), someExecution)
	if err != nil {
		t.Fatal(err)
	}
	clear(latest.Body)
	items, err := log.Items(t.Context(), someExecution, 0, 1)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, error %v", len(items), err)
	}
	clear(items[0].Body)
	got, err := log.Get(t.Context(), item.Key())
	if err != nil {
		t.Fatal(err)
	}
	clear(got[item.Key()].Body)
	wantLatest(t, log, logItem(someExecution, 0))
}

func logRace(c on[engine.Log]) {
	t, log := c.t, c.it
	fill(t, log, someExecution, 1)
	const racers = 64
	errs := make([]error, racers)
	together(racers, func(i int) {
		item := logItem(someExecution, 1)
		item.Nonce = fmt.Sprintf("racer-%d", i)
		errs[i] = log.Append(t.Context(), item)
	})
	latest, err := log.Latest(t.Context(), someExecution)
	if err != nil {
		t.Fatal(err)
	}
	winners := 0
	for i, err := range errs {
		if err == nil {
			winners++
			if want := fmt.Sprintf("racer-%d", i); latest.Nonce != want {
				t.Errorf("%s won, and the item is by %s", want, latest.Nonce)
			}
			continue
		}
		wantConflict(t, err, latest.Nonce)
	}
	if winners != 1 {
		t.Errorf("%d of %d puts won, want 1", winners, racers)
	}
}

func logReadersBesideWriter(c on[engine.Log]) {
	t, log := c.t, c.it
	const size, readers = 100, 4
	fill(t, log, someExecution, 1)
	together(1+readers, func(i int) {
		if i == 0 {
			for seq := range uint64(size - 1) {
				if err := log.Append(t.Context(), logItem(someExecution, seq+1)); err != nil {
					t.Error(err)
				}
			}
			return
		}
		for range size {
			latest, err := log.Latest(t.Context(), someExecution)
			if err != nil || !sameItem(latest, logItem(someExecution, latest.Seq)) {
				t.Errorf("latest is item %d with nonce %q, error %v", latest.Seq, latest.Nonce, err)
				return
			}
			items, err := log.Items(t.Context(), someExecution, 0, 2*size)
			if err != nil || uint64(len(items)) <= latest.Seq {
				t.Errorf("%d items although the latest was %d, error %v", len(items), latest.Seq, err)
				return
			}
		}
	})
	wantItems(t, log, someExecution, 0, 2*size, size)
}

func logCancelled(c on[engine.Log]) {
	t, log := c.t, c.it
	fill(t, log, someExecution, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Latest(ctx, someExecution); err == nil {
		t.Error("latest: no error")
	}
	if _, err := log.Items(ctx, someExecution, 0, 1); err == nil {
		t.Error("items: no error")
	}
	if _, err := log.Get(ctx, engine.ItemKey{Execution: someExecution}); err == nil {
		t.Error("get: no error")
	}
	if err := log.Append(ctx, logItem(someExecution, 1)); err == nil {
		t.Error("append: no error")
	}
}

// together runs f(0) to f(n-1), all at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}
