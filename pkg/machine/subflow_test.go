package machine_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// An item of an execution that has not ended has its root. One that ended it has the number of the
// process instead.
func TestItemsHaveTheRoot(t *testing.T) {
	t.Parallel()
	root := machine.RootID(machine.NewID("flow", "root"))
	for _, tt := range []struct {
		status     machine.Status
		process    uint64
		generation int
		want       int
	}{
		{machine.StatusStarting, 0, 1, 1},
		{machine.StatusRunning, 0, 255, 255},
		{machine.StatusRunning, 0, 0, 0},
		{machine.StatusSucceeded, 7, 3, 0},
	} {
		parent := machine.Parent{Log: machine.NewID("flow", "parent"), Key: "0123456789abcdef0123456789abcdef", Depth: 2}
		before := machine.State{
			Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "one", Status: tt.status, Started: time.Unix(1, 0).UTC(), At: time.Unix(2, 0).UTC(),
			Input: value.Object(), By: machine.CauseStart, Generation: tt.process, Parent: &parent,
		}
		if tt.generation > 0 {
			parent.Root, parent.Generation = root, tt.generation
		}
		origin := machine.ItemOrigin(before.ID(), 0)
		item, _ := machine.Encode(origin, before, nil)
		after, err := machine.DecodeState(origin, item)
		if err != nil {
			t.Fatal(err)
		}
		got, generation := after.Root()
		if generation != tt.want || tt.want > 0 && got != root || after.Generation != tt.process || !after.Parent.IsSameStep(parent) {
			t.Errorf("%s, generation %d: root %s, generation %d, process %d, parent %+v", tt.status, tt.generation, got, generation, after.Generation, after.Parent)
		}
	}
}
