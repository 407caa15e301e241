package enginetest

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// historyCases are about reading the history in pages.
var historyCases = []ruleCase{
	{"history: each event is read once while lanes of lanes run", func(b *fixture) {
		b.forkedTwice()
		var read []machine.Event
		after := engine.Position{}
		for len(b.wakes) > 0 {
			read = append(read, b.readAfter(&after)...)
			wakes := b.takeAll()
			slices.SortStableFunc(wakes, func(a, b engine.Wake) int { return a.Due.Compare(b.Due) })
			b.mu.Lock()
			b.wakes = append(b.wakes, wakes[1:]...)
			if wakes[0].Due.After(b.now) {
				b.now = wakes[0].Due
			}
			b.mu.Unlock()
			b.advance(wakes[0])
		}
		read = append(read, b.readAfter(&after)...)
		inOrder := slices.IsSortedFunc(read, func(a, b machine.Event) int { return a.ID - b.ID })
		slices.SortFunc(read, func(a, b machine.Event) int { return a.ID - b.ID })
		if all := b.events(); inOrder || !slices.EqualFunc(read, all, sameEvent) {
			b.t.Errorf("events in order: %t; those that were read:\n%v\nall:\n%v", inOrder, read, all)
		}
	}},
	{"history: a page reads the item before it, and a page of each lane that it shows", func(b *fixture) {
		b.forkedTwice()
		b.drain()
		all := b.events()
		for _, one := range all {
			page, err := b.HistoryFrom(b.t.Context(), testID, one.ID, func(machine.Event) bool { return true })
			if err != nil || len(page.Events) != 1 || !sameEvent(page.Events[0], one) || !page.More {
				b.t.Fatalf("the page of event %d has %v, error %v", one.ID, page.Events, err)
			}
			want := []string{"read items"}
			if lane := b.lanes[one.Log]; lane != "" {
				want = append(want, "read items"+lane[:len(" of lane 0")])
				if len(lane) > len(" of lane 0") {
					want = append(want, "read items"+lane)
				}
			}
			if got := b.trace[len(b.trace)-len(want):]; !slices.Equal(got, want) || len(b.trace) > 5*len(want)+1 {
				b.t.Fatalf("event %d: the engine did %q", one.ID, b.trace) // the first reads find the place
			}
			b.trace = nil
		}
		page, err := b.HistoryFrom(b.t.Context(), testID, all[len(all)-1].ID+1, func(machine.Event) bool { return true })
		if err != nil || len(page.Events) != 0 || page.More || !page.Ended {
			b.t.Errorf("after the last event: %+v, error %v", page, err)
		}
		b.trace = nil
	}},
	{"history: a page has events also between the most lanes that were stopped before they began", func(b *fixture) {
		b.forkedWidely()
		b.advance(b.stop())
		b.drain()
		var read []machine.Event
		for page := (engine.HistoryPage{More: true}); page.More; {
			first := 1
			if len(read) > 0 {
				first = read[len(read)-1].ID + 1
			}
			var err error
			page, err = b.HistoryFrom(b.t.Context(), testID, first, func(machine.Event) bool { return true })
			if err != nil || len(page.Events) == 0 && page.More {
				b.t.Fatalf("from event %d on: %+v, error %v", first, page, err)
			}
			read = append(read, page.Events...)
		}
		if all := b.events(); !slices.EqualFunc(read, all, sameEvent) || all[len(all)-1].Type != machine.ExecutionStopped {
			b.t.Errorf("read:\n%v\nall:\n%v", read, all)
		}
	}},
}

// forkedWidely starts an execution with forks of all levels, each with all lanes, of which only the
// first has begun.
func (b *fixture) forkedWidely() {
	b.t.Helper()
	steps := waitText("Wait", 20)
	for _, name := range []string{"Innermost", "Middle", "Outermost"} {
		steps = "  - type: foreach\n    name: " + name + "\n    iterationMapping: {collection: $.list, item: one}\n    steps:\n" +
			strings.TrimSuffix("    "+strings.ReplaceAll(steps, "\n", "\n    "), "    ")
	}
	b.wantStart(b.request(flowHead+steps, `{"list":[`+strings.Repeat("1,", machine.MaxLanes-1)+`1]}`), engine.StartedNew)
	for range flow.MaxForks {
		wakes := b.takeAll()
		b.advance(wakes[0])
	}
	b.takeAll()
	b.trace = nil
}

// forkedTwice starts an execution that forks, in a branch also once more.
func (b *fixture) forkedTwice() {
	b.t.Helper()
	b.advance(b.begin(parallel(inner("Inner", taskText("A")+waitText("Long", 50), waitText("Short", 5)+taskText("B")),
		waitText("Wait", 20)+taskText("C")) + waitText("Last", 5)))
	for _, function := range []string{"A", "B", "C"} {
		b.answer(function, `{}`)
	}
	b.trace = nil
}

// readAfter reads all events after a position, in pages of two, and moves it behind them.
func (b *fixture) readAfter(after *engine.Position) (events []machine.Event) {
	b.t.Helper()
	for page := (engine.HistoryPage{Next: *after, More: true}); page.More; {
		begin, err := engine.ParsePosition(page.Next.String())
		if err != nil {
			b.t.Fatal(err)
		}
		count := 0
		page, err = b.HistoryAfter(b.t.Context(), testID, begin, func(machine.Event) bool { count++; return count == 2 })
		if err != nil {
			b.t.Fatal(err)
		}
		events, *after = append(events, page.Events...), page.Next
	}
	b.trace = nil
	return events
}

func (b *fixture) events() []machine.Event {
	b.t.Helper()
	events, err := b.History(b.t.Context(), testID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.trace = nil
	return events
}

func sameEvent(a, b machine.Event) bool {
	return a.ID == b.ID && a.By == b.By && a.Log == b.Log && a.Number == b.Number && a.Type == b.Type && slices.Equal(a.ForkIndexes, b.ForkIndexes)
}
