package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// barWidth is the width of the whole time of an execution, in the units of a drawing.
const barWidth = 1000

// bar is the time of a step between its entry and its exit, as a row of the waterfall.
type bar struct {
	Step   string // with the iterations around it
	Depth  int    // how many forks are around it
	IsFork bool
	Status string // running, waiting, succeeded or failed
	Parts  []part
	// Offset is from the start of the execution, Took from the entry; Ran and Waited are its parts.
	Offset, Took, Ran, Waited string
	Open                      bool // it goes on
	Entered                   time.Time
	Attempts, Most            int    // that began, and that the step's one policy for retries allows
	Error                     string // of the last attempt, with its cause
	Link                      string // the address that shows the step

	last   time.Time // of the event that began the current part
	waits  bool      // the current part
	ran    time.Duration
	waited time.Duration
}

// part is a time in which a step ran or waited.
type part struct {
	X, Width int
	Waits    bool
	Open     bool // it ends now
}

// waterfall makes bars of events.
type waterfall struct {
	flow       *flow.Flow
	start, end time.Time
	bars       []*bar
	open       map[string]*bar // by the name of the step with its iterations
	link       func(step string, entered int) string
}

// barsOf returns a bar for each entry of a step, in the order of events: a fork, then its lanes one
// after the other. The bar of an open entry goes on until now.
func barsOf(
	flow *flow.Flow, events []machine.Event, start, now time.Time, hasEnded bool, link func(step string, entered int) string,
) (bars []bar) {
	w := waterfall{flow, start, now, nil, map[string]*bar{}, link}
	for _, e := range events {
		if e.At.After(w.end) { // the clock of the store may be ahead
			w.end = e.At
		}
	}
	for _, e := range events {
		if e.Step >= 0 {
			w.add(e)
		}
	}
	for _, b := range w.bars {
		if !b.last.IsZero() {
			if hasEnded {
				b.Status = "failed"
			}
			w.close(b, w.end)
			b.Open = !hasEnded
			b.Parts[len(b.Parts)-1].Open = b.Open
		}
		bars = append(bars, *b)
	}
	return bars
}

// add adds an event of a step.
func (w *waterfall) add(e machine.Event) {
	step := w.flow.All[e.Step]
	name := machine.StepIn(step.Name, machine.Iterations(step, e.ForkIndexes))
	if e.Type == machine.StepEntered {
		b := &bar{
			Step: name, Depth: len(machine.ForksAround(step)), IsFork: step.IsFork(), Status: "running", Entered: e.At, last: e.At,
			waits: step.IsFork(), Offset: "+" + coarse(between(w.start, e.At)), Link: w.link(name, e.ID),
		}
		if task, ok := step.Kind.(*flow.Task); ok && len(task.Retry) == 1 {
			b.Most = 1 + task.Retry[0].MaxAttempts
		}
		w.bars, w.open[name] = append(w.bars, b), b
		return
	}
	b := w.open[name]
	if b == nil || b.last.IsZero() {
		return
	}
	if e.Type == machine.TaskScheduled {
		b.Attempts++
	}
	if e.Error != "" || e.Type == machine.StepExited {
		b.Error = strings.Trim(e.Error+": "+e.Cause, ": ")
	}
	switch e.Type { //nolint:exhaustive // the others change nothing
	case machine.TaskScheduled, machine.TaskStarted, machine.TaskSucceeded, machine.StepSucceeded:
		w.enter(b, e.At, false)
	case machine.StepStarted, machine.TaskSubmitted, machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		w.enter(b, e.At, true) // for a timer, a callback, a job or the next attempt
	case machine.StepExited:
		b.Status = "succeeded"
		w.close(b, e.At)
	case machine.StepFailed:
		b.Status = "failed"
		w.close(b, e.At)
	}
}

// enter begins a part in which the step waits or runs.
func (w *waterfall) enter(b *bar, at time.Time, waits bool) {
	if b.waits == waits {
		return
	}
	w.endPart(b, at)
	b.waits = waits
	b.Status = "running"
	if waits {
		b.Status = "waiting"
	}
}

// endPart ends the current part.
func (w *waterfall) endPart(b *bar, at time.Time) {
	took := between(b.last, at)
	if b.waits {
		b.waited += took
	} else {
		b.ran += took
	}
	if from, to := w.place(b.last), w.place(at); to > from || took > 0 {
		b.Parts = append(b.Parts, part{from, max(to-from, 2), b.waits, false}) //nolint:mnd // a short time is seen, too
	}
	b.last = at
}

// close ends the bar.
func (w *waterfall) close(b *bar, at time.Time) {
	w.endPart(b, at)
	if len(b.Parts) == 0 {
		b.Parts = []part{{min(w.place(at), barWidth-2), 2, false, false}} //nolint:mnd // a short time is seen, too
	}
	if b.Status == "running" && b.waits {
		b.Status = "waiting"
	}
	b.Took, b.Ran, b.Waited, b.last = coarse(between(b.Entered, at)), coarse(b.ran), coarse(b.waited), time.Time{}
}

// place returns where an instant is on the axis.
func (w *waterfall) place(at time.Time) int {
	whole := max(between(w.start, w.end), time.Millisecond)
	return int(min(float64(between(w.start, at))/float64(whole), 1) * barWidth)
}

// Says describes the parts of the bar for people who do not see it.
func (b bar) Says() string {
	var said []string
	if b.ran > 0 {
		said = append(said, "ran "+b.Ran)
	}
	if b.waited > 0 {
		said = append(said, "waited "+b.Waited)
	}
	if len(said) == 0 {
		said = []string{"took no time"}
	}
	return fmt.Sprintf("%s: %s, from %s", b.Step, strings.Join(said, ", "), b.Offset)
}

// Tries says how often the step was tried and why the last attempt failed, "" if the first attempt
// has not failed.
func (b bar) Tries() string {
	tries := ""
	if b.Attempts > 1 {
		tries = fmt.Sprintf("attempt %d", b.Attempts)
	}
	if b.Attempts > 1 && b.Attempts <= b.Most {
		tries += fmt.Sprintf(" of %d", b.Most)
	}
	return strings.Trim(tries+": "+b.Error, ": ")
}
