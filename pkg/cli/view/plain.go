package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// plainView writes a line for what happens, for logs and pipes. Each line
// begins with the time since the start.
type plainView struct {
	out      io.Writer
	flow     *fdl.Flow
	progress *progress
}

func (*plainView) Calling(machine.Call, time.Time) {}

func (v *plainView) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	v.progress.committed(state, events)
	for i, e := range events {
		v.line(e.At.Sub(state.Started), v.text(e, events[i+1:]))
	}
	v.line(state.At.Sub(state.Started), v.pauseText(state))
}

// LongestLine is how many cells of a line are shown. The history has the values whole.
const LongestLine = 1000

func (v *plainView) line(after time.Duration, text string) {
	if text != "" {
		_, _ = fmt.Fprintf(v.out, "%8s  %s\n", elapsed(after), cut(token.MaskAll(Printable(text)), LongestLine)) // a view that cannot be written is not an error
	}
}

// pauseText returns the text for a pause that has no event. Only the first pause between polls has a text.
func (v *plainView) pauseText(state machine.State) string {
	w := state.Waiting
	switch {
	case w == nil:
	case w.For == machine.WaitingForRetry:
		return fmt.Sprintf("%s tries again at %s", v.flow.All[w.Attempt.Step].Name, instant(w.Due, state.At))
	case w.For == machine.WaitingForPoll && w.Polls == 1:
		return fmt.Sprintf("%s continues when its condition holds, and polls again at %s", v.flow.All[w.Attempt.Step].Name, instant(w.Due, state.At))
	}
	return ""
}

func (v *plainView) Say(text string) {
	_, _ = fmt.Fprintln(v.out, text) // a view that cannot be written is not an error
}

func (*plainView) Close(bool) {}

// text is what is said of an event, nothing of those that say nothing new.
func (v *plainView) text(e machine.Event, after []machine.Event) string {
	switch e.Type {
	case machine.ExecutionStarted:
		return v.progress.title + " started with " + e.Input.JSON()
	case machine.ExecutionSucceeded:
		return v.progress.title + " succeeded"
	case machine.ExecutionFailed:
		return fmt.Sprintf("%s failed: %s", v.progress.title, e.Error)
	case machine.StepStarted:
		return fmt.Sprintf("%s waits until %s", v.name(e), instant(e.Until, e.At))
	case machine.TaskSucceeded:
		return fmt.Sprintf("%s returned %s", v.name(e), e.Output)
	case machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		return v.failure(e)
	case machine.TaskSubmitted:
		return v.submittedText(e)
	case machine.ExecutionStopped:
		return v.progress.title + " " + StopText(e.Error, e.Cause)
	case machine.ExecutionTimedOut:
		return fmt.Sprintf("%s timed out: %s", v.progress.title, Because(e.Error, Printable(e.Cause)))
	case machine.StepFailed:
		return v.failedText(e)
	case machine.StepExited:
		return v.exitedText(e, after)
	case machine.StepEntered, machine.StepSucceeded, machine.TaskScheduled, machine.TaskStarted,
		machine.BranchEntered, machine.BranchExited, machine.IterationEntered, machine.IterationExited:
	}
	return ""
}

// shortly is a value, or only its size when parts of it are held elsewhere in
// the log, where "waitless history" finds them.
func shortly(v value.Value) string {
	if !v.IsComplete() {
		return fmt.Sprintf("%s of %d bytes", v.Kind(), v.Size())
	}
	return v.JSON()
}

func (v *plainView) name(e machine.Event) string { return v.flow.All[e.Step].Name }

// submittedText says what a step waits for now, of a job by which id.
func (v *plainView) submittedText(e machine.Event) string {
	if !WaitsForJob(v.flow, e.Step) {
		return v.name(e) + " waits for a callback"
	}
	if e.Output.IsComplete() && e.Output.Get("job_id").Kind() == value.KindString {
		return fmt.Sprintf("%s waits for its job %s", v.name(e), e.Output.Get("job_id").Text())
	}
	return v.name(e) + " waits for its job"
}

// failedText is silent about a task, whose TaskFailed said it.
func (v *plainView) failedText(e machine.Event) string {
	if _, isTask := v.flow.All[e.Step].Kind.(*fdl.Task); isTask {
		return ""
	}
	return v.failure(e)
}

func (v *plainView) failure(e machine.Event) string {
	return fmt.Sprintf("%s failed: %s", v.name(e), Because(e.Error, causeIn(v.flow, e)))
}

func (v *plainView) exitedText(e machine.Event, after []machine.Event) string {
	switch v.flow.All[e.Step].Kind.(type) {
	case *fdl.Pass:
		return fmt.Sprintf("%s output %s", v.name(e), shortly(e.Output))
	case *fdl.Choice:
		return v.name(e) + v.goesTo(e, after)
	case *fdl.Succeed:
		return v.name(e) + " done"
	case *fdl.Task, *fdl.Wait, *fdl.Parallel, *fdl.Foreach, *fdl.Fail:
	}
	return ""
}

// goesTo is where a choice leads.
func (v *plainView) goesTo(e machine.Event, after []machine.Event) string {
	if next := leadsTo(v.flow, e, after); next != "" {
		return " goes to " + next
	}
	return " ended"
}

// StopText says that an execution was stopped, and why.
func StopText(err, cause string) string {
	if err == "" && cause == "" {
		return "was stopped (no cause given)"
	}
	return "was stopped: " + Because(err, cause)
}

// causeIn is what to say of a step's failure: nothing for a choice, in which the
// step that failed has said it.
func causeIn(flow *fdl.Flow, e machine.Event) string {
	step := flow.All[e.Step]
	if _, isChoice := step.Kind.(*fdl.Choice); isChoice {
		return ""
	}
	return WithoutStep(e.Cause, step.Name)
}

// WithoutStep is the cause of a failure without the name of the step, for
// where it was said already.
func WithoutStep(cause, step string) string { return strings.TrimPrefix(cause, "step "+step+": ") }

// elapsed is a duration to a tenth of a second: "20.0s", "1m05.0s".
func elapsed(d time.Duration) string {
	tenths := max(d, 0).Round(100 * time.Millisecond)
	if tenths < time.Minute {
		return fmt.Sprintf("%.1fs", tenths.Seconds())
	}
	minutes := tenths.Truncate(time.Minute)
	text := fmt.Sprintf("%dm%04.1fs", int(minutes.Minutes())%60, (tenths - minutes).Seconds())
	if hours := int(minutes.Hours()); hours > 0 {
		text = fmt.Sprintf("%dh%02dm%02ds", hours, int(minutes.Minutes())%60, int((tenths - minutes).Seconds()))
	}
	return text
}

// EndText says how an execution ended that did not succeed.
func EndText(flow *fdl.Flow, state machine.State, events []machine.Event) string {
	why := "failed with "
	switch state.Status { //nolint:exhaustive // the others have failed
	case machine.StatusStopped:
		return StopText(state.Error, state.Cause)
	case machine.StatusTimedOut:
		why = "timed out with "
	}
	why += state.Error
	step := failedStep(flow, events)
	if step != "" {
		why += " in step " + step
	}
	return Because(why, WithoutStep(state.Cause, step))
}

// failedStep is the step in which the failure began that ended the execution,
// empty when none did. What failed before that was caught.
func failedStep(flow *fdl.Flow, events []machine.Event) (name string) {
	for _, e := range slices.Backward(events) {
		switch {
		case e.Type == machine.StepFailed:
			name = flow.All[e.Step].Name
		case name != "" || e.Type != machine.ExecutionFailed:
			return name
		}
	}
	return name
}
