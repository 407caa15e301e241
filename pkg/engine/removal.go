package engine

import (
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Removal is the treatment of an execution after its retention.
type Removal uint8

const (
	// Keep means that something may still read the execution.
	Keep Removal = iota
	// ReportAgain means that the parent waits for the end of the execution. The wake that ended the
	// execution is to be sent again, which repeats the report (rule 25).
	ReportAgain
	// Remove means that nothing reads the execution any more.
	Remove
)

// RemovalOf decides whether an execution may be removed. parent is the latest state of the log that
// started it as a sub-flow, nil without one or if that log is gone, and awaited is the record of
// the token that the end of the sub-flow closes.
//   - An execution that has not ended stays.
//   - A sub-flow whose parent waits for its end stays until that token is closed.
//   - A sub-flow that its parent only started stays while the attempt may be repeated that started
//     it: that would start it a second time.
func RemovalOf(state machine.State, parent *machine.State, awaited token.Record) Removal {
	switch {
	case !state.Status.Final():
		return Keep
	case state.Parent == nil, parent == nil, parent.Status.Final():
		return Remove
	case state.Awaited() && awaited.Open():
		return ReportAgain
	case !state.Awaited() && parent.Waiting != nil && !parent.Waiting.Since.After(state.Started):
		return Keep
	}
	return Remove
}
