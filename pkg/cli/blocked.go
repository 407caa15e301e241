package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// withoutRunners says why executions of a flow cannot continue, from the errors of
// [local.System.Missing]; "" without any.
func withoutRunners(missing []error) string {
	if len(missing) == 0 {
		return ""
	}
	if err := errors.Join(missing...); machine.NeedsNewerRelease(err) {
		return err.Error()
	}
	var names, tasks []string
	for _, err := range missing {
		var unknown *local.UnknownFunctionError
		if errors.As(err, &unknown) {
			definition := definitionOf(unknown)
			name, _, _ := strings.Cut(definition, "=")
			names = append(names, name+didYouMean(name, unknown.Known))
			tasks = append(tasks, "--task "+definition)
		}
	}
	return fmt.Sprintf("no runner for %s; start waitless dev with %s", strings.Join(names, ", "), strings.Join(tasks, " "))
}

// blockedExecutions are those that a process found when it took over a store, and cannot continue.
type blockedExecutions struct {
	flows []*blockedFlow
}

// blockedFlow are the executions of one definition.
type blockedFlow struct {
	flow      machine.Flow
	execution string // one of them
	count     int
	why       string
}

// add implements Blocked of [local.Config].
func (b *blockedExecutions) add(flow machine.Flow, execution string, missing []error) {
	for _, known := range b.flows {
		if known.flow == flow {
			known.count++
			return
		}
	}
	b.flows = append(b.flows, &blockedFlow{flow, execution, 1, withoutRunners(missing)})
}

// log warns of the executions, a line a flow.
func (b *blockedExecutions) log(log *slog.Logger) {
	for _, f := range b.flows {
		log.Warn("executions cannot continue", "flow", f.flow.Name, "executions", f.count, "one", f.execution, "why", f.why)
	}
}
