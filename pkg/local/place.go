package local

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Place is the position of an execution in a list, which does not change when others come and go.
type Place struct {
	Started time.Time
	ID      engine.ID
}

// compare orders places: the latest start first, then by id.
func (p Place) compare(other Place) int {
	return cmp.Or(other.Started.Compare(p.Started), slices.Compare(p.ID[:], other.ID[:]))
}

// String returns the page token of the page after the place.
func (p Place) String() string { return fmt.Sprintf("%d-%s", p.Started.UnixNano(), p.ID) }

// ParsePlace reads what [Place.String] wrote. Any other text is an error with [engine.CodeInvalid].
func ParsePlace(text string) (Place, error) {
	var nanoseconds int64
	var id []byte
	if _, err := fmt.Sscanf(text, "%d-%x", &nanoseconds, &id); err != nil || len(id) != len(engine.ID{}) {
		err := fmt.Errorf("invalid page token %q: use next of the previous page", text)
		return Place{}, &engine.Error{Code: engine.CodeInvalid, Op: "list executions", Err: err}
	}
	return Place{time.Unix(0, nanoseconds), engine.ID(id)}, nil
}
