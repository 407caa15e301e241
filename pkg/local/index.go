package local

import (
	"cmp"
	"slices"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Listing is a list of executions being made, for a store that lists them.
type Listing struct{ found []machine.State }

// Add takes the execution up if it is one of the flow and has the status;
// empty ones mean all.
func (l *Listing) Add(latest engine.Item, flow string, status machine.Status) error {
	state, err := machine.DecodeState(machine.Place(latest.Execution, latest.Seq), latest.Body)
	if err != nil {
		return err
	}
	if (flow == "" || state.Flow.Name == flow) && (status == "" || state.Status == status) {
		l.found = append(l.found, state)
	}
	return nil
}

// IDs are the executions, the latest start first.
func (l *Listing) IDs() []engine.ID {
	slices.SortFunc(l.found, func(a, b machine.State) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Flow.Name, b.Flow.Name), cmp.Compare(a.Execution, b.Execution))
	})
	ids := make([]engine.ID, len(l.found))
	for i, state := range l.found {
		ids[i] = state.ID()
	}
	return ids
}
