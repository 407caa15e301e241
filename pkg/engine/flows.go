package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// ParseFlow checks a definition and names it by its content, for what
// implements [Flows].
func ParseFlow(name string, text []byte) (machine.FlowRef, *fdl.Flow, error) {
	parsed, problems := fdl.Parse(text)
	if parsed == nil {
		return machine.FlowRef{}, nil, &Error{Code: CodeInvalid, Op: "put flow " + name, Err: problemsError(name, problems.Errors())}
	}
	sum := sha256.Sum256(text)
	return machine.FlowRef{Name: name, Hash: hex.EncodeToString(sum[:])}, parsed, nil
}

func problemsError(name string, problems fdl.Problems) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Format(name)
	}
	return fmt.Errorf("the definition has %d problems:\n%s", len(problems), strings.Join(lines, "\n"))
}

// UnknownFlow is the error for a definition that was never put.
func UnknownFlow(flow machine.FlowRef) error {
	return &Error{Code: CodeNotFound, Op: "read flow " + flow.Name, Err: fmt.Errorf("no definition with hash %.12s", flow.Hash)}
}

// Newest returns the first of the definitions of a flow, for what implements [Flows].
func Newest(name string, sorted []Definition) (machine.FlowRef, error) {
	if len(sorted) == 0 {
		return machine.FlowRef{}, &Error{Code: CodeNotFound, Op: "read flow " + name, Err: ErrNotFound}
	}
	return sorted[0].Flow, nil
}

// BecomesNewest returns when a definition becomes the newest of the sorted list of its name, and its
// properties. ok is false if it is the newest already.
func BecomesNewest(flow machine.FlowRef, sorted []Definition, now time.Time) (at time.Time, properties string, ok bool) {
	i := slices.IndexFunc(sorted, func(d Definition) bool { return d.Flow == flow })
	switch {
	case i == 0:
		return at, "", false
	case i > 0:
		properties = sorted[i].Properties
	}
	if len(sorted) > 0 && !now.After(sorted[0].Created) {
		now = sorted[0].Created.Add(time.Nanosecond)
	}
	return now, properties, true
}

// SortDefinitions puts them in the order of their names, of one name the latest
// first.
func SortDefinitions(list []Definition) {
	slices.SortFunc(list, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Flow.Name, b.Flow.Name), b.Created.Compare(a.Created), cmp.Compare(a.Flow.Hash, b.Flow.Hash))
	})
}
