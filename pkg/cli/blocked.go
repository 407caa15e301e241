package cli

import (
	"log/slog"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// blockedExecutions are those that a process found when it took over a store, and cannot continue.
type blockedExecutions struct {
	flows []*blockedFlow
}

// blockedFlow are the executions of one definition.
type blockedFlow struct {
	flow      machine.FlowRef
	execution string // one of them
	count     int
	why       string
}

// add implements Blocked of [local.Config].
func (b *blockedExecutions) add(flow machine.FlowRef, execution string, missing []error) {
	for _, known := range b.flows {
		if known.flow == flow {
			known.count++
			return
		}
	}
	b.flows = append(b.flows, &blockedFlow{flow, execution, 1, view.WithoutRunners(missing)})
}

// log warns of the executions, a line a flow.
func (b *blockedExecutions) log(log *slog.Logger) {
	for _, f := range b.flows {
		log.Warn("executions cannot continue", "flow", f.flow.Name, "executions", f.count, "one", f.execution, "why", f.why)
	}
}
