package local

import (
	"cmp"
	"errors"
	"slices"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Listing is a list of executions being made, for a store that lists them.
type Listing struct{ found []listed }

// listed has the id beside the state, since of an execution that was damaged
// the state may not tell the name.
type listed struct {
	id    engine.ID
	state machine.State
}

// Add takes the execution up if it is one of the flow and has the status;
// empty ones mean all. One that is damaged is left out, as long as it is.
func (l *Listing) Add(latest engine.Item, flow string, status machine.Status) error {
	state, err := machine.DecodeState(machine.Place(latest.Execution, latest.Seq), latest.Body)
	switch {
	case errors.Is(err, machine.ErrDamaged):
		return nil
	case err != nil:
		return err
	}
	if (flow == "" || state.Flow.Name == flow) && (status == "" || state.Status == status) {
		l.found = append(l.found, listed{latest.Execution, state})
	}
	return nil
}

// IDs are the executions, the latest start first.
func (l *Listing) IDs() []engine.ID {
	slices.SortFunc(l.found, func(one, other listed) int {
		a, b := one.state, other.state
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Flow.Name, b.Flow.Name), cmp.Compare(a.Execution, b.Execution))
	})
	ids := make([]engine.ID, len(l.found))
	for i, e := range l.found {
		ids[i] = e.id
	}
	return ids
}
