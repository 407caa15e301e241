package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// manyLanes has 3 lanes of 90 lanes each, which wait and go on: more than a position follows.
const manyLanes = `version: v1
type: flow
steps:
  - type: foreach
    name: Outer
    iterationMapping: {collection: '$.three', item: one}
    inputMappings: [{target: three, source: [1, 2, 3]}]
    steps:
      - type: foreach
        name: Inner
        inputMappings: [{target: ninety, source: [NINETY]}]
        iterationMapping: {collection: $.ninety, item: two}
        steps:
          - type: wait
            name: Pause
            duration: $.two
          - type: pass
            name: Say
`

// Each event is read once while lanes run, and the position stays small.
func TestHistoryWhileManyLanesRun(t *testing.T) {
	t.Parallel()
	s := local.New(local.Config{Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))})
	start(t, s, strings.Replace(manyLanes, "NINETY", strings.Repeat("1, 5, ", 44)+"2, 3", 1), "many")
	ctx, cancel := context.WithTimeout(t.Context(), local.Patience)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	var read []machine.Event
	longest, id := 0, engine.NewID("flow", "many")
	for page := (engine.HistoryPage{}); !page.Ended; {
		var err error
		page, err = s.Client.HistoryAfter(ctx, id, page.Next, func(machine.Event) bool { return false })
		if err = errors.Join(err, ctx.Err()); err != nil {
			t.Fatal(err)
		}
		read = append(read, page.Events...)
		text := page.Next.String()
		longest = max(longest, len(text))
		if page.Next, err = engine.ParsePosition(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := local.Within(t, ran, "the end of the run"); err != nil {
		t.Fatal(err)
	}
	ids := func(events []machine.Event) (ids []int) {
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	all, err := s.Client.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got := ids(read)
	slices.Sort(got)
	if want := ids(all); len(want) < 3*90*8 || !slices.Equal(got, want) {
		t.Errorf("%d events were read, %d exist", len(got), len(want))
	}
	if longest > 2000 {
		t.Errorf("a position has %d bytes", longest)
	}
}
