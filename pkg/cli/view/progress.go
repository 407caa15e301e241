package view

import (
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// progress is the state of an execution's steps, from its events.
type progress struct {
	title   string
	flow    *fdl.Flow
	steps   []stepProgress // by the index of the step
	current int            // the step entered or called last
	status  machine.Status
	started time.Time
	ended   time.Time // zero while it runs
	// called is the step of a call that began after the last commit, and since when; NoStep without one.
	called int
	since  time.Time
}

// stepProgress is what is known of one step: of the last time it was entered.
type stepProgress struct {
	phase   phase
	attempt int // how often it was entered or tried again, 1 for the first time
	entered time.Time
	left    time.Time
	until   time.Time // of a pause: when it ends
	note    string    // of a step that ended: why it failed, or where it leads to
}

type phase uint8

const (
	phasePending phase = iota
	phaseRunning
	phaseWaiting
	phaseCallback // waits for a callback
	phaseJob      // waits for the end of its job
	phaseChild    // waits for the end of its sub-flow
	phaseRetry    // failed, and waits for its next attempt
	phasePoll     // waits for its next poll
	phaseDone
	phaseFailed
)

func newProgress(title string, flow *fdl.Flow) *progress {
	return &progress{title: title, flow: flow, steps: make([]stepProgress, len(flow.All)), status: machine.StatusStarting, called: machine.NoStep}
}

// calling notes a call, whose step may not be committed as entered yet.
func (p *progress) calling(call machine.Call, at time.Time) {
	p.called, p.since, p.current = call.Attempt.Step, at, call.Attempt.Step
}

// step returns a step as it is now, which the last commit may not show yet.
func (p *progress) step(i int, now time.Time) stepProgress {
	s := p.steps[i]
	switch {
	case s.phase == phaseWaiting && !s.until.After(now):
		s.phase, s.left = phaseDone, s.until
	case i != p.called:
	case s.phase == phaseRetry:
		s.phase, s.attempt = phaseRunning, s.attempt+1
	case s.phase == phasePoll:
		s.phase = phaseRunning
	case s.phase != phaseRunning:
		s = stepProgress{phase: phaseRunning, attempt: s.attempt + 1, entered: p.since}
	}
	return s
}

func (p *progress) committed(state machine.State, events []machine.Event) {
	p.status, p.started, p.called = state.Status, state.Started, machine.NoStep
	if state.Status.Final() {
		p.ended = state.At
	}
	for i, e := range events {
		if e.Step != machine.NoStep {
			p.event(e, events[i+1:])
		}
	}
	if w := state.Waiting; w != nil {
		s := &p.steps[w.Attempt.Step]
		switch w.For { //nolint:exhaustive // the others have an event
		case machine.WaitingForRetry:
			s.phase, s.until = phaseRetry, w.Due
		case machine.WaitingForPoll:
			s.phase, s.until = phasePoll, w.Due
		}
	}
}

func (p *progress) event(e machine.Event, after []machine.Event) {
	s := &p.steps[e.Step]
	switch e.Type { //nolint:exhaustive // the others change nothing
	case machine.StepEntered:
		p.current = e.Step
		*s = stepProgress{phase: phaseRunning, attempt: s.attempt + 1, entered: e.At}
	case machine.StepStarted:
		s.phase, s.until = phaseWaiting, e.Until
	case machine.TaskSubmitted:
		s.phase = phaseCallback
		switch {
		case waitsForChild(p.flow, e.Step):
			s.phase = phaseChild
		case WaitsForJob(p.flow, e.Step):
			s.phase = phaseJob
		}
	case machine.StepExited:
		s.phase, s.left = phaseDone, e.At
		if next := leadsTo(p.flow, e, after); next != "" {
			s.note = "goes to " + next
		}
	case machine.StepFailed:
		s.phase, s.left = phaseFailed, e.At
		s.note = Printable(token.MaskAll(Because(e.Error, causeIn(p.flow, e))))
	case machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		s.phase = phaseRetry // unless it fails now
	case machine.TaskScheduled:
		if s.phase == phaseRetry {
			s.phase, s.attempt = phaseRunning, s.attempt+1
		}
	}
}

// interrupted notes that the program stops before the execution ended.
func (p *progress) interrupted(at time.Time) { p.status, p.ended = "Interrupted", at }
