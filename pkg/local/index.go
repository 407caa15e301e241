package local

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

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
// empty ones mean all, and running means not ended. One that is damaged, or
// that only a newer release reads, is left out, as long as it is.
func (l *Listing) Add(latest engine.Item, flow string, status machine.Status) error {
	state, err := machine.DecodeState(machine.Place(latest.Execution, latest.Seq), latest.Body)
	switch {
	case errors.Is(err, machine.ErrDamaged), machine.NeedsNewerRelease(err):
		return nil
	case err != nil:
		return err
	}
	found := state.Status
	if !found.Final() {
		found = machine.StatusRunning
	}
	if (flow == "" || state.Flow.Name == flow) && (status == "" || found == status) {
		l.found = append(l.found, listed{latest.Execution, state})
	}
	return nil
}

// Page are the executions behind the page that gave the text after, the latest
// start first, at most limit of them. Next is what gives the page behind it.
func (l *Listing) Page(after string, limit int) (ids []engine.ID, next string, err error) {
	slices.SortFunc(l.found, func(a, b listed) int { return a.place().compare(b.place()) })
	begin := 0
	if after != "" {
		last, err := ParsePlace(after)
		if err != nil {
			return nil, "", err
		}
		begin, _ = slices.BinarySearchFunc(l.found, last, func(e listed, p Place) int { return cmp.Or(e.place().compare(p), -1) })
	}
	found := l.found[begin:]
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].place().String()
	}
	for _, e := range found {
		ids = append(ids, e.id)
	}
	return ids, next, nil
}

// Place is where an execution stands in a list, whatever comes and goes.
type Place struct {
	Started time.Time
	ID      engine.ID
}

func (e listed) place() Place { return Place{e.state.Started, e.id} }

func (p Place) compare(other Place) int {
	return cmp.Or(other.Started.Compare(p.Started), slices.Compare(p.ID[:], other.ID[:]))
}

// String is the text of a place in an answer.
func (p Place) String() string { return fmt.Sprintf("%d-%s", p.Started.UnixNano(), p.ID) }

// ParsePlace reads what [Place.String] wrote. Other text is an error with
// [engine.CodeInvalid].
func ParsePlace(text string) (Place, error) {
	var nanoseconds int64
	var id []byte
	if _, err := fmt.Sscanf(text, "%d-%x", &nanoseconds, &id); err != nil || len(id) != len(engine.ID{}) {
		err := fmt.Errorf("invalid page token %q: use next of the previous page", text)
		return Place{}, &engine.Error{Code: engine.CodeInvalid, Op: "list executions", Err: err}
	}
	return Place{time.Unix(0, nanoseconds), engine.ID(id)}, nil
}
