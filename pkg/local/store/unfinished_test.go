package store_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// commitSize is the number of changes in the last commit.
type commitSize struct {
	store.Database
	changes int
}

func (c *commitSize) Commit(begun func(), changes ...store.Entry) error {
	c.changes = len(changes)
	return c.Database.Commit(begun, changes...)
}

// An item changes the list of unfinished executions only if its rest is not that of the item
// before. The next process finds the rest of the last item.
func TestRestsOfUnfinishedExecutions(t *testing.T) {
	t.Parallel()
	const timer, waitsForToken machine.Rest = 1 << 60, 1<<60 + 1
	db, s := &commitSize{Database: store.NewDatabase()}, &store.Keyed{}
	if err := s.Use(db); err != nil {
		t.Fatal(err)
	}
	state := machine.State{Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Status: machine.StatusRunning}
	for seq, tt := range []struct {
		rest    machine.Rest
		changes int
	}{
		{0, 4}, // the item, and three entries of lists
		{0, 1},
		{timer, 2},
		{timer, 1},
		{waitsForToken, 2},
		{0, 2},
		{timer, 2},
	} {
		item := engine.Item{Execution: state.ID(), Seq: uint64(seq), Rest: tt.rest}
		item.Body, _ = machine.Encode(machine.ItemOrigin(item.Execution, item.Seq), state, nil)
		if err := s.Append(t.Context(), item); err != nil || db.changes != tt.changes {
			t.Errorf("item %d: %d changes, error %v; want %d", seq, db.changes, err, tt.changes)
		}
		next := &store.Keyed{}
		if err := next.Use(db); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*store.Keyed{s, next} {
			list, err := s.Unfinished(t.Context())
			if err != nil || len(list) != 1 || list[0] != (store.Unfinished{Execution: state.ID(), Rest: tt.rest}) {
				t.Errorf("item %d: listed %v, error %v; want rest %d", seq, list, err, tt.rest)
			}
		}
	}
}
