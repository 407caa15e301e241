package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// counted counts the entries that are read.
type counted struct {
	store.Database
	entries int
}

func (c *counted) Entries(of store.Range, err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for key, value := range c.Database.Entries(of, err) {
			c.entries++
			if !yield(key, value) {
				return
			}
		}
	}
}

// A page of the list reads its own entries and one more, and of a status those of each flow that
// may belong to it.
func TestPageOfTheListReadsItsOwnEntries(t *testing.T) {
	t.Parallel()
	db, s := &counted{Database: store.NewDatabase()}, &store.Keyed{}
	if err := s.Use(db); err != nil {
		t.Fatal(err)
	}
	const executions, every, limit = 5_000, 100, 10
	for n := range executions {
		flow, status := "common", machine.StatusSucceeded
		if n%every == 0 {
			flow, status = fmt.Sprintf("rare-%d", n/every%5), machine.StatusFailed
		}
		appendStarted(t, s, flow, fmt.Sprintf("run-%d", n), status, time.Duration(n+1)*time.Second)
		if n < limit {
			appendStarted(t, s, "waiting", fmt.Sprintf("run-%d", n), machine.StatusRunning, 0)
		}
	}
	for _, tt := range []struct {
		of               engine.Selection
		found, entries   int
		foundB, entriesB int // of the second page
	}{
		{selected(""), limit, limit + 1, limit, limit + 1},
		{selected("common"), limit, limit + 1, limit, limit + 1},
		{selected("rare-1"), limit, limit, 0, 0},
		{selected("rare-1", machine.StatusRunning), 0, 0, 0, 0},
		{selected("waiting", machine.StatusRunning), limit, 0, 0, 0},
		{selected("rare-1", machine.StatusSucceeded), 0, 0, 0, 0},
		{selected("none"), 0, 0, 0, 0},
		{selected("", machine.StatusSucceeded), limit, 1 + limit + 1, limit, 1 + limit + 1},
		// Of each of 5 flows the first entry, and those that may belong to the page.
		{selected("", machine.StatusFailed), limit, 5 + 36, limit, 5 + 32},
		{selected("rare-1", machine.StatusFailed), limit, limit, 0, 0},
		// These are in memory.
		{selected("", machine.StatusRunning), limit, 0, 0, 0},
		{selected("waiting", machine.StatusRunning, machine.StatusStarting), limit, 0, 0, 0},
		// Of each status the entries that may belong to the page.
		{selected("rare-1", machine.StatusFailed, machine.StatusTimedOut), limit, limit, 0, 0},
		{selected("common", machine.StatusSucceeded, machine.StatusFailed), limit, limit + 1, limit, limit + 1},
		{selected("", machine.StatusTimedOut, machine.StatusFailed, machine.StatusStopped), limit, 5 + 36, limit, 5 + 32},
		{selected("", machine.StatusRunning, machine.StatusSucceeded), limit, 1 + limit + 1, limit, 1 + limit + 1},
		// Of a range of time the entries in it.
		{started("", 1000, 1005), 5, 5, 0, 0},
		{started("common", 1000, 1000+limit), limit - 1, limit - 1, 0, 0},
		{started("", 1000, 4000), limit, limit + 1, limit, limit + 1},
		{started("", 4000, 1000), 0, 0, 0, 0},
		{started("common", 1000, 1005, machine.StatusSucceeded, machine.StatusFailed), 4, 4, 0, 0},
	} {
		db.entries = 0
		ids, next, err := s.Executions(t.Context(), tt.of, "", limit)
		if err != nil || len(ids) != tt.found || db.entries != tt.entries {
			t.Errorf("%+v: %d found with %d entries read, %v; want %d with %d", tt.of, len(ids), db.entries, err, tt.found, tt.entries)
		}
		if next == "" {
			continue
		}
		db.entries = 0
		ids, _, err = s.Executions(t.Context(), tt.of, next, limit)
		if err != nil || len(ids) != tt.foundB || db.entries != tt.entriesB {
			t.Errorf("%+v, second page: %d found with %d entries read, %v; want %d with %d",
				tt.of, len(ids), db.entries, err, tt.foundB, tt.entriesB)
		}
	}
}

func selected(flow string, statuses ...machine.Status) engine.Selection {
	return engine.Selection{Flow: flow, Statuses: statuses}
}

// started selects the executions that started in a range of seconds after the first one.
func started(flow string, since, before int64, statuses ...machine.Status) engine.Selection {
	return engine.Selection{Flow: flow, Statuses: statuses, Since: time.Unix(1+since, 0), Before: time.Unix(1+before, 0)}
}

// appendStarted adds an execution with this status that was started so long after the first.
func appendStarted(t *testing.T, s *store.Keyed, flow, name string, status machine.Status, after time.Duration) {
	t.Helper()
	appendFirst(t, s, machine.State{
		Flow: machine.FlowRef{Name: flow, Hash: "hash"}, Execution: name, Status: status, Started: time.Unix(1, 0).Add(after), At: time.Unix(0, 0),
	})
}

// appendEnded stores an execution that started so long after 1970 and ended at once.
func appendEnded(t *testing.T, s *store.Keyed, flow, name string, after time.Duration) {
	t.Helper()
	at := time.Unix(0, 0).Add(after)
	appendFirst(t, s, machine.State{
		Flow: machine.FlowRef{Name: flow, Hash: "hash"}, Execution: name, Status: machine.StatusSucceeded, Started: at, At: at,
	})
}

func appendFirst(t *testing.T, s *store.Keyed, state machine.State) {
	t.Helper()
	item := engine.Item{Execution: state.ID()}
	item.Body, _ = machine.Encode(machine.ItemOrigin(item.Execution, 0), state, nil)
	if err := s.Append(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

// A store whose list had no status is listed again when it is opened, and what ended there expires.
func TestExecutionsOfOlderStoresAreListed(t *testing.T) {
	t.Parallel()
	db, before := store.NewDatabase(), &store.Keyed{}
	if err := before.Use(db); err != nil {
		t.Fatal(err)
	}
	const each = 1_100 // more than a page
	for n := range each {
		at := time.Duration(n) * time.Second
		appendStarted(t, before, "flow", fmt.Sprintf("ended-%d", n), machine.StatusSucceeded, at)
		appendStarted(t, before, "flow", fmt.Sprintf("open-%d", n), machine.StatusRunning, at)
	}
	want := contents(t, before)
	var old []store.Entry
	var err error
	for key := range db.Entries(store.Range{Lower: []byte("a"), Upper: []byte("f")}, &err) {
		old = append(old, store.Entry{Key: key})
		if place, ok := bytes.CutPrefix(key, []byte("a\x00\x00")); ok {
			old = append(old, store.Entry{Key: slices.Concat([]byte("s"), place), Value: []byte{}})
		}
		if bytes.HasPrefix(key, []byte("a\x07Running")) {
			old = append(old, store.Entry{Key: slices.Concat([]byte("u"), key[len(key)-12:]), Value: []byte{}})
		}
	}
	if err = errors.Join(err, db.Commit(nil, old...)); err != nil {
		t.Fatal(err)
	}
	after := &store.Keyed{}
	if err := after.Use(db); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, after); !slices.Equal(got, want) || want[0] != 2*each || want[2] != each {
		t.Errorf("listed, of the flow, running, unfinished, ended: %d, want %d", got, want)
	}
}

// contents counts what is listed, listed of a flow, running, unfinished and ended.
func contents(t *testing.T, s *store.Keyed) []int {
	t.Helper()
	const most = 1 << 20
	all, _, err := s.Executions(t.Context(), engine.Selection{}, "", most)
	ofFlow, _, errFlow := s.Executions(t.Context(), engine.Selection{Flow: "flow"}, "", most)
	running, _, errRunning := s.Executions(t.Context(), engine.Selection{Statuses: []machine.Status{machine.StatusRunning}}, "", most)
	unfinished, errUnfinished := s.Unfinished(t.Context())
	ended, errEnded := s.EndedBefore(t.Context(), time.Now(), store.Ended{}, most)
	if err := errors.Join(err, errFlow, errRunning, errUnfinished, errEnded); err != nil {
		t.Fatal(err)
	}
	return []int{len(all), len(ofFlow), len(running), len(unfinished), len(ended)}
}

// The entry of an end stays valid for its own execution: a later one of that name is not removed
// with it.
func TestRemoveKeepsALaterExecutionOfTheName(t *testing.T) {
	t.Parallel()
	s, id := &store.Keyed{}, engine.NewID("flow", "run")
	ended := func() store.Ended {
		t.Helper()
		list, err := s.EndedBefore(t.Context(), time.Now(), store.Ended{}, 1)
		if err != nil || len(list) != 1 {
			t.Fatalf("ended are %v, error %v", list, err)
		}
		return list[0]
	}
	remove := func(end store.Ended) (left bool) {
		t.Helper()
		if err := s.Remove(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		_, err := s.Latest(t.Context(), id)
		return !errors.Is(err, engine.ErrNotFound)
	}
	appendStarted(t, s, "flow", "run", machine.StatusSucceeded, 0)
	first := ended()
	if remove(first) {
		t.Error("it is not removed")
	}
	appendEnded(t, s, "flow", "run", time.Minute)
	if second := ended(); !remove(first) || ended() != second {
		t.Error("a later execution is removed")
	}
}
