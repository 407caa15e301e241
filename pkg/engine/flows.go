package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/machine"
)

// ParseFlow checks a definition and names it by its content. Checks add problems; a nil check finds
// nothing.
func ParseFlow(name string, text []byte, checks ...flow.Check) (machine.FlowRef, *flow.Flow, error) {
	parsed, problems := language.Parse(text, checks...)
	if parsed == nil {
		var lines strings.Builder
		for _, p := range problems.Errors() {
			lines.WriteString("\n" + p.Format(name))
		}
		err := fmt.Errorf("the definition has %s:%s", flow.Count(len(problems.Errors()), "problem"), &lines)
		return machine.FlowRef{}, nil, &Error{Code: CodeInvalid, Op: "put flow " + name, Err: err}
	}
	sum := sha256.Sum256(text)
	return machine.FlowRef{Name: name, Hash: hex.EncodeToString(sum[:])}, parsed, nil
}

// UnknownFlow is the error for a definition that was never put.
func UnknownFlow(flow machine.FlowRef) error {
	return &Error{Code: CodeNotFound, Op: "read flow " + flow.Name, Err: fmt.Errorf("no definition with hash %.12s", flow.Hash)}
}

// Newest returns the definition of a flow that has the hash of its newest one, for what implements
// [Flows]. The hash is empty if no definition is listed.
func Newest(name, hash string) (machine.FlowRef, error) {
	if hash == "" {
		return machine.FlowRef{}, &Error{Code: CodeNotFound, Op: "read flow " + name, Err: ErrNotFound}
	}
	return machine.FlowRef{Name: name, Hash: hash}, nil
}

// BecomesNewest returns when a definition becomes the newest of its name, given when the one before
// did.
func BecomesNewest(before, now time.Time) time.Time {
	if now.After(before) {
		return now
	}
	return before.Add(time.Nanosecond)
}

// StopAll stops the executions of a flow that have not ended, as the index shows them.
func StopAll(ctx context.Context, index Index, flow string, stop func(ID) error) error {
	const atOnce = 100
	running := Selection{Flow: flow, Statuses: []machine.Status{machine.StatusRunning}}
	for after, more := "", true; more; more = after != "" {
		ids, next, err := index.Executions(ctx, running, after, atOnce)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := stop(id); err != nil && CodeOf(err) != CodeConflict { // a conflict: it ended
				return err
			}
		}
		after = next
	}
	return nil
}

// DeleteAll takes the definitions of a flow, the latest first, off the list. The latest goes last:
// until then, starts use it.
func DeleteAll(ctx context.Context, catalog Catalog, definitions []Definition) error {
	for _, d := range slices.Backward(definitions) {
		if err := catalog.DeleteFlow(ctx, d.Flow); err != nil {
			return err
		}
	}
	return nil
}

// SortDefinitions puts them in the order of their names, of one name the latest
// first.
func SortDefinitions(list []Definition) {
	slices.SortFunc(list, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Flow.Name, b.Flow.Name), b.Created.Compare(a.Created), cmp.Compare(a.Flow.Hash, b.Flow.Hash))
	})
}
