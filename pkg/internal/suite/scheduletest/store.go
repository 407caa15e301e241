// Package scheduletest has the conformance suite of stores of schedules.
package scheduletest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/schedule"
)

// Store is the suite of a [schedule.Store].
func Store(t *testing.T, open func(t *testing.T) schedule.Store) {
	t.Helper()
	for name, test := range map[string]func(onStore){
		"a store without schedules lists none":       func(s onStore) { s.wantListed("", "") },
		"schedules are listed by flow and name":      listed,
		"a text is replaced if it is the one before": replaced,
		"what was deleted is not there":              deleted,
		"of several first changes one is made":       raced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(onStore{t, open(t)})
		})
	}
}

// onStore is what a case is run on, and the test that it reports to.
type onStore struct {
	*testing.T

	store schedule.Store
}

func (s onStore) set(flow, name, text, before string, want error) {
	s.Helper()
	if err := s.store.SetSchedule(s.Context(), schedule.Entry{Flow: flow, Name: name, Text: text}, before); !errors.Is(err, want) {
		s.Errorf("set %s/%s to %q in the place of %q: %v; want %v", flow, name, text, before, err, want)
	}
}

// wantListed compares the list with entries in the form flow/name=text.
func (s onStore) wantListed(flow, name string, want ...string) {
	s.Helper()
	list, err := s.store.Schedules(s.Context(), flow, name)
	var got []string
	for _, entry := range list {
		got = append(got, entry.Flow+"/"+entry.Name+"="+entry.Text)
	}
	if err != nil || !slices.Equal(got, want) {
		s.Errorf("listed of %q, %q: %q, %v; want %q", flow, name, got, err, want)
	}
}

func listed(s onStore) {
	for _, path := range []string{"f-1/a", "f/b", "f/a-1", "f/a", "g/a"} {
		flow, name, _ := strings.Cut(path, "/")
		s.set(flow, name, path, "", nil)
	}
	s.wantListed("f", "", "f/a=f/a", "f/a-1=f/a-1", "f/b=f/b")
	s.wantListed("f", "a", "f/a=f/a")
	s.wantListed("f", "c")
	s.wantListed("", "", "f/a=f/a", "f/a-1=f/a-1", "f/b=f/b", "f-1/a=f-1/a", "g/a=g/a")
}

func replaced(s onStore) {
	const text = "text \xc3\xa9\x00"
	s.set("f", "a", text, "other", engine.ErrConflict)
	s.set("f", "a", text, "", nil)
	s.set("f", "a", "second", "", engine.ErrConflict)
	s.set("f", "a", "second", "text", engine.ErrConflict)
	s.wantListed("f", "a", "f/a="+text)
	s.set("f", "a", "second", text, nil)
	s.wantListed("f", "a", "f/a=second")
}

func deleted(s onStore) {
	s.set("f", "a", "", "text", engine.ErrConflict)
	s.set("f", "a", "text", "", nil)
	s.set("f", "b", "text", "", nil)
	s.set("f", "a", "", "text", nil)
	s.wantListed("f", "", "f/b=text")
	s.wantListed("f", "a")
	s.set("f", "a", "again", "text", engine.ErrConflict)
	s.set("f", "a", "again", "", nil)
	s.wantListed("f", "a", "f/a=again")
}

func raced(s onStore) {
	var mu sync.Mutex
	var made []string
	var all sync.WaitGroup
	for _, text := range []string{"1", "2", "3", "4"} {
		all.Go(func() {
			err := s.store.SetSchedule(context.WithoutCancel(s.Context()), schedule.Entry{Flow: "f", Name: "a", Text: text}, "")
			if mu.Lock(); err == nil {
				made = append(made, "f/a="+text)
			}
			mu.Unlock()
		})
	}
	all.Wait()
	if len(made) != 1 {
		s.Errorf("made %q; want one", made)
	}
	s.wantListed("f", "", made...)
}
