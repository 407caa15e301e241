package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// plainView writes a line for each event, for logs and pipes. Each line begins with the time since
// the start.
type plainView struct {
	out   io.Writer
	title string
	flow  *flow.Flow

	mu    sync.Mutex
	ended map[string]endedIterations // by their foreach
	told  map[string]bool            // the causes that lines show whole
}

// endedIterations is how many iterations ended, and how many of them failed.
type endedIterations struct{ all, failed int }

// shownIterations is how many iterations of a foreach have lines of their own. Of the others only
// failures have.
const shownIterations = 10

func (*plainView) Calling(machine.Call, time.Time) {}

func (v *plainView) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	failures := []machine.EventType{machine.StepFailed, machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut}
	for i, e := range events {
		v.count(state, e)
		if slices.Contains(failures, e.Type) || !v.isHidden(e.Step, e.ForkIndexes) {
			v.line(e.At.Sub(state.Started), e.Step, e.ForkIndexes, v.text(e, events[i+1:]))
		}
	}
	w := state.Waiting
	switch {
	case w == nil || v.isHidden(w.Attempt.Step, state.ForkIndexes()):
	case w.For == machine.WaitingForRetry:
		v.line(state.At.Sub(state.Started), w.Attempt.Step, state.ForkIndexes(), "tries again at "+instant(w.Due, state.At))
	case w.For == machine.WaitingForPoll && w.Polls == 1: // later pauses say nothing new
		v.line(state.At.Sub(state.Started), w.Attempt.Step, state.ForkIndexes(),
			"continues when its condition holds, and polls again at "+instant(w.Due, state.At))
	}
}

// isHidden reports whether a step is in an iteration without lines of its own.
func (v *plainView) isHidden(step int, items []int) bool {
	return step != machine.NoStep &&
		slices.ContainsFunc(machine.Iterations(v.flow.All[step], items), func(index int) bool { return index >= shownIterations })
}

// count counts the iterations that ended, and says how many did: 10, 20, ... 100, 200, ... 1000,
// and all.
func (v *plainView) count(state machine.State, e machine.Event) {
	if e.Step == machine.NoStep {
		return
	}
	step := v.flow.All[e.Step]
	name := machine.StepIn(step.Name, machine.Iterations(step, e.ForkIndexes))
	_, isForeach := step.Kind.(*flow.Foreach)
	if v.ended == nil {
		v.ended = map[string]endedIterations{}
	}
	ended := v.ended[name]
	switch {
	case !isForeach || v.isHidden(e.Step, e.ForkIndexes):
		return
	case e.Type == machine.IterationExited:
		if ended.all++; e.Error != "" {
			ended.failed++
		}
		v.ended[name] = ended
	case e.Type == machine.StepEntered:
		v.ended[name] = endedIterations{}
		return
	case e.Type != machine.StepExited || ended.all <= shownIterations:
		return
	}
	unit := 1
	for ended.all/unit >= 10 { //nolint:mnd // digits
		unit *= 10
	}
	isLast := e.Type == machine.StepExited
	if isLast != (ended.all%unit == 0) && ended.all > 1 && (isLast || ended.all >= shownIterations) {
		text := fmt.Sprintf("%d iterations ended", ended.all)
		if ended.failed > 0 {
			text += fmt.Sprintf(", %d failed", ended.failed)
		}
		v.line(e.At.Sub(state.Started), e.Step, e.ForkIndexes, text)
	}
}

// LongestLine is how many cells of a line are shown. The history has the values whole.
const LongestLine = 1000

// line writes a text about a step, or about the execution.
func (v *plainView) line(after time.Duration, step int, items []int, text string) {
	if text == "" {
		return
	}
	name := v.title
	if step != machine.NoStep {
		step := v.flow.All[step]
		name = machine.StepIn(step.Name, machine.Iterations(step, items))
	}
	text = cut(token.MaskAll(Printable(name+" "+text)), LongestLine)
	_, _ = fmt.Fprintf(v.out, "%8s  %s\n", elapsed(after), text) // a view that cannot be written is not an error
}

func (v *plainView) Say(text string) {
	_, _ = fmt.Fprintln(v.out, text) // a view that cannot be written is not an error
}

// Told implements [Steps].
func (v *plainView) Told(cause string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.told[cause]
}

// tells notes that a line shows a cause, unless the line may be cut.
func (v *plainView) tells(cause string) {
	if v.told == nil {
		v.told = map[string]bool{}
	}
	if v.out != io.Discard && cells(cause) < LongestLine/2 {
		v.told[cause] = true
	}
}

func (*plainView) Close(bool) {}

// text returns the text of an event, "" for an event that says nothing new.
func (v *plainView) text(e machine.Event, after []machine.Event) string {
	switch e.Type { //nolint:exhaustive // the others say nothing new
	case machine.ExecutionStarted:
		return "started with " + shortly(e.Input)
	case machine.ExecutionSucceeded:
		return "succeeded"
	case machine.ExecutionFailed:
		return "failed: " + e.Error
	case machine.ExecutionTimedOut:
		v.tells(e.Cause)
		return "timed out: " + Because(e.Error, e.Cause)
	case machine.ExecutionStopped:
		return stopText(e.Error, e.Cause)
	case machine.StepStarted:
		if v.flow.All[e.Step].IsFork() {
			return "is tried again"
		}
		return "waits until " + instant(e.Until, e.At)
	case machine.StepExited:
		return v.exitedText(e, after)
	case machine.TaskSucceeded:
		return "returned " + shortly(e.Output)
	case machine.TaskSubmitted:
		return "waits for " + awaitedBy(v.flow, e)
	case machine.StepFailed:
		if isTask(v.flow, e.Step) { // the attempt reported it
			return ""
		}
		if v.flow.All[e.Step].IsFork() {
			cause := causeIn(v.flow, e)
			if _, inner, _ := strings.Cut(cause, ": "); v.told[cause] || strings.HasPrefix(cause, "step ") && v.told[inner] {
				cause = "" // a line shows it
			}
			return "failed: " + Because(e.Error, cause)
		}
		fallthrough
	case machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		cause := causeIn(v.flow, e)
		v.tells(cause)
		return "failed: " + Because(e.Error, cause)
	}
	return ""
}

func (v *plainView) exitedText(e machine.Event, after []machine.Event) string {
	switch v.flow.All[e.Step].Kind.(type) {
	case *flow.Pass:
		return "output " + shortly(e.Output)
	case *flow.Choice:
		if next := leadsTo(v.flow, e, after); next != "" {
			return "goes to " + next
		}
		return "ended"
	case *flow.Succeed:
		return "done"
	case *flow.Task, *flow.Wait, *flow.Parallel, *flow.Foreach, *flow.Fail:
	}
	return ""
}

// shortly returns a value, or only its size when parts of it are held elsewhere in
// the log, where "waitless history" finds them.
func shortly(v value.Value) string {
	if !v.IsComplete() {
		return fmt.Sprintf("%s of %d bytes", v.Kind(), v.Size())
	}
	return v.JSON()
}

// leadsTo returns the step that a choice leads to, from the events after its exit, or "" at the end
// of a series and for other steps.
func leadsTo(def *flow.Flow, exited machine.Event, after []machine.Event) string {
	_, isChoice := def.All[exited.Step].Kind.(*flow.Choice)
	if !isChoice || len(after) == 0 || after[0].Type != machine.StepEntered {
		return ""
	}
	return def.All[after[0].Step].Name
}

// isTask reports whether the step is a task.
func isTask(def *flow.Flow, step int) bool {
	_, is := def.All[step].Kind.(*flow.Task)
	return is
}

// awaitedBy returns the subject of a step's wait.
func awaitedBy(flow *flow.Flow, submitted machine.Event) string {
	isChild := waitsForChild(flow, submitted.Step)
	switch {
	case isChild && submitted.Output.IsComplete():
		return "sub-flow " + submitted.Output.Get("FlowName").Text() + "/" + submitted.Output.Get("Name").Text()
	case isChild:
		return "its sub-flow"
	case WaitsForJob(flow, submitted.Step):
		return strings.TrimSpace("its job " + jobID(submitted))
	}
	return "a callback"
}

// waitsForChild reports whether the step ends with its sub-flow.
func waitsForChild(def *flow.Flow, step int) bool {
	task, isTask := def.All[step].Kind.(*flow.Task)
	return isTask && task.Pattern == flow.PatternSync && task.Resource.Subflow
}

// WaitsForJob reports whether the step ends with its job.
func WaitsForJob(def *flow.Flow, step int) bool {
	task, isTask := def.All[step].Kind.(*flow.Task)
	return isTask && task.Pattern == flow.PatternSync && task.Resource.Kind != ""
}

// jobID returns the id of the job that a step began to wait for, if it is known.
func jobID(submitted machine.Event) string {
	if !submitted.Output.IsComplete() {
		return ""
	}
	return submitted.Output.Get("job_id").Text()
}

// causeIn returns the text of a step's failure: nothing for a choice, because the failed step in it
// has its own text.
func causeIn(def *flow.Flow, e machine.Event) string {
	step := def.All[e.Step]
	if _, isChoice := step.Kind.(*flow.Choice); isChoice {
		return ""
	}
	return withoutStep(e.Cause, step.Name)
}

// withoutStep returns the cause of a failure without the name of the step, for
// where it was said already.
func withoutStep(cause, step string) string { return strings.TrimPrefix(cause, "step "+step+": ") }

// stopText says that an execution was stopped, and why.
func stopText(err, cause string) string {
	if err == "" && cause == "" {
		return "was stopped (no cause given)"
	}
	return "was stopped: " + Because(err, cause)
}

// EndText says how an execution ended that did not succeed. It leaves out a cause that was told.
func EndText(state machine.State, told func(cause string) bool) string {
	why := "failed with "
	switch state.Status { //nolint:exhaustive // the others have failed
	case machine.StatusStopped:
		return stopText(state.Error, state.Cause)
	case machine.StatusTimedOut:
		why = "timed out with "
	}
	why += state.Error
	cause := withoutStep(state.Cause, state.FailedStep)
	if state.FailedStep != "" {
		why += " in step " + state.FailedStep
	}
	if told(cause) {
		return why
	}
	return Because(why, cause)
}
