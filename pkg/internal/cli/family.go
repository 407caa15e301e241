package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// family has the known sub-flows of the execution that a command shows.
type family struct {
	mu sync.Mutex
	// awaited are the sub-flows that steps of the execution wait for, by the steps.
	awaited map[string]machine.ExecutionRef
	// below are the executions that the execution waits for, directly or through another execution.
	below map[engine.ID]bool
	// started are the first sub-flows that no step waits for.
	started []machine.ExecutionRef
	// failed is the sub-flow with which a step failed last, with the error of the step.
	failed machine.ExecutionRef
	err    string
}

// mostStarted is how many sub-flows are remembered that no step waits for.
const mostStarted = 100

// see notes the sub-flows in events of the execution.
func (f *family) see(def *flow.Flow, events []machine.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if e.Step == machine.NoStep {
			continue
		}
		task, isTask := def.All[e.Step].Kind.(*flow.Task)
		if !isTask || !task.Resource.Subflow {
			continue
		}
		step := fmt.Sprint(e.Step, e.ForkIndexes)
		child := machine.ExecutionRef{Flow: e.Output.Get("FlowName").Text(), Execution: e.Output.Get("Name").Text()}
		switch {
		case e.Type == machine.TaskSubmitted && task.Pattern == flow.PatternSync:
			if f.awaited == nil {
				f.awaited = map[string]machine.ExecutionRef{}
			}
			f.awaited[step] = child
		case e.Type == machine.TaskSucceeded && task.Pattern == flow.PatternRequestResponse && len(f.started) < mostStarted:
			f.started = append(f.started, child)
		case e.Type == machine.StepFailed:
			f.failed, f.err = f.awaited[step], e.Error
			delete(f.awaited, step)
		case e.Type == machine.StepExited, e.Type == machine.TaskTimedOut, e.Type == machine.TaskSucceeded: // a later failure has another cause than the sub-flow
			delete(f.awaited, step)
		}
	}
}

// waits notes the sub-flow that a state of the family waits for, if any.
func (f *family) waits(state machine.State) {
	if state.Waiting.Child() == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.below == nil {
		f.below = map[engine.ID]bool{}
	}
	f.below[state.Waiting.Child().ID()] = true
}

// has reports whether the state belongs to an execution below the shown one. It forgets an ended
// execution.
func (f *family) has(state machine.State) bool {
	id := engine.NewID(state.Flow.Name, state.Execution)
	f.mu.Lock()
	defer f.mu.Unlock()
	has := f.below[id]
	if state.Status.Final() && state.Lane == nil {
		delete(f.below, id)
	}
	return has
}

// failedWith returns the failed sub-flow that ended the execution with an error, as FLOW/EXECUTION,
// or "".
func (f *family) failedWith(err string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed.Flow == "" || f.err != err {
		return ""
	}
	return nameOf(f.failed)
}

func nameOf(e machine.ExecutionRef) string { return e.Flow + "/" + e.Execution }

// startsFlow reports whether a task of a flow starts another flow and has the property.
func startsFlow(def *flow.Flow, has func(flow.Resource) bool) bool {
	for _, task := range def.Tasks() {
		if task.Resource.Subflow && has(task.Resource) {
			return true
		}
	}
	return false
}

// stopPatience is how long a run works on after its execution has ended, so that the awaited
// sub-flows can stop.
const stopPatience = 5 * time.Second

// endWith returns a function that ends the run with its execution: at once, or when the awaited
// sub-flows have stopped.
func (e *execution) endWith(serving context.Context, stop func()) func() {
	switch {
	case e.options.skipTime:
		return func() { e.over.Store(true) }
	case !startsFlow(e.file.flow, func(flow.Resource) bool { return true }):
		return stop
	}
	return sync.OnceFunc(func() {
		e.ending.Go(func() {
			ctx, cancel := context.WithTimeout(serving, stopPatience)
			defer cancel()
			e.left, e.leftErr = e.system.AwaitLeft(ctx)
			stop()
		})
	})
}

// mostLater is how many sub-flows may begin after the end of the execution in virtual time.
const mostLater = 1000

// errEndless ends a run if its sub-flows start one another without an end.
var errEndless = errors.New("too many sub-flows")

// noteUnended says which sub-flows the run leaves behind, and which answers of the script had no
// use.
func (e *execution) noteUnended(ctx context.Context) error {
	const next = "; start a worker, which continues it: waitless dev"
	for _, child := range e.left {
		e.command.out().Note("sub-flow %s is to stop, and has not stopped yet%s", nameOf(child), next+e.place.Flags())
	}
	if unused := e.system.UnusedAnswers(); len(unused) > 0 {
		e.command.out().Note("no step used these of %s: %s", e.file.scriptPath(), strings.Join(unused, "; "))
	}
	var open []string
	for _, child := range e.family.started {
		state, err := e.system.Client.Describe(ctx, child.ID())
		if err != nil && engine.CodeOf(err) != engine.CodeNotFound {
			return err
		}
		if err == nil && !state.Status.Final() {
			open = append(open, nameOf(child))
		}
	}
	const shown = 3
	switch {
	case len(open) == 0 || e.options.skipTime:
	case len(open) > shown:
		e.command.out().Note("%s and %d more sub-flows have not ended%s", strings.Join(open[:shown], ", "), len(open)-shown, next+e.place.Flags())
	default:
		e.command.out().Note("sub-flow %s has not ended%s", strings.Join(open, ", "), next+e.place.Flags())
	}
	return e.leftErr
}
