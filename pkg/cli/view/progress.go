package view

import (
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// progress is what is known of an execution's steps, from its events.
type progress struct {
	title   string
	flow    *fdl.Flow
	depths  []int          // how deep the steps are nested, by their index
	steps   []stepProgress // by the index of the step
	current int            // the step entered last
	status  machine.Status
	started time.Time
	ended   time.Time // zero while it runs
}

// stepProgress is what is known of one step: of the last time it was entered.
type stepProgress struct {
	phase   phase
	attempt int // how often it was entered or tried again, 1 for the first time
	entered time.Time
	left    time.Time
	until   time.Time // of a pause: when it ends
	next    string    // phaseDone of a choice: the step that it leads to
	// phaseFailed: the name of the error and the explanation.
	err, cause string
	// early: a call of it is on the way that the log does not know of yet, so
	// the event that enters it, or tries it again, is still to come.
	early bool
}

type phase uint8

const (
	phasePending phase = iota
	phaseRunning
	phaseWaiting
	phaseCallback // waits for a callback
	phaseJob      // waits for the end of its job
	phaseRetry    // failed, and waits for its next attempt
	phasePoll     // waits for its next poll
	phaseDone
	phaseFailed
)

func newProgress(title string, flow *fdl.Flow) *progress {
	return &progress{title: title, flow: flow, depths: depths(flow), steps: make([]stepProgress, len(flow.All)), status: machine.StatusStarting}
}

// calling notes a call that begins before its step was committed as entered.
func (p *progress) calling(call machine.Call, at time.Time) {
	for i := range p.steps {
		if s := &p.steps[i]; s.phase == phaseWaiting && !s.until.After(at) {
			s.leave(phaseDone, s.until)
		}
	}
	switch s := &p.steps[call.Attempt.Step]; s.phase {
	case phaseRunning:
	case phasePoll: // of the attempt that is known
		s.phase = phaseRunning
	case phaseRetry:
		s.again()
		s.early = true
	case phasePending, phaseWaiting, phaseCallback, phaseJob, phaseDone, phaseFailed:
		s.enter(at)
		s.early = true
		p.current = call.Attempt.Step
	}
}

// again begins the next attempt of a step that did not leave off.
func (s *stepProgress) again() {
	s.phase = phaseRunning
	s.attempt++
}

func (s *stepProgress) enter(at time.Time) {
	*s = stepProgress{phase: phaseRunning, attempt: s.attempt + 1, entered: at}
}

func (s *stepProgress) leave(to phase, at time.Time) { s.phase, s.left = to, at }

func (p *progress) committed(state machine.State, events []machine.Event) {
	p.status, p.started = state.Status, state.Started
	if state.Status.Final() {
		p.ended = state.At
	}
	for i, e := range events {
		if e.Step == machine.NoStep {
			continue
		}
		s := &p.steps[e.Step]
		s.note(e)
		switch e.Type { //nolint:exhaustive // the others are about the one step, see note
		case machine.StepEntered:
			p.current = e.Step
		case machine.TaskSubmitted:
			if WaitsForJob(p.flow, e.Step) {
				s.phase = phaseJob
			}
		case machine.StepExited:
			s.next = leadsTo(p.flow, e, events[i+1:])
		case machine.StepFailed:
			s.cause = causeIn(p.flow, e)
		}
	}
	if w := state.Waiting; w != nil {
		p.steps[w.Attempt.Step].pauseFor(w)
	}
}

// pauseFor notes a pause that has no event.
func (s *stepProgress) pauseFor(w *machine.Waiting) {
	switch w.For {
	case machine.WaitingForRetry:
		s.phase, s.until = phaseRetry, w.Due
	case machine.WaitingForPoll:
		s.phase, s.until = phasePoll, w.Due
	case machine.WaitingForCall, machine.WaitingForInstant, machine.WaitingForClaim, machine.WaitingForToken, machine.WaitingForRoom,
		machine.WaitingForLanes:
	}
}

// WaitsForJob reports whether the step ends with its job.
func WaitsForJob(flow *fdl.Flow, step int) bool {
	task, isTask := flow.All[step].Kind.(*fdl.Task)
	return isTask && task.Pattern == fdl.PatternSync
}

// interrupted notes that the program stops before the execution ended.
func (p *progress) interrupted(at time.Time) { p.status, p.ended = "Interrupted", at }

// leadsTo is the step that a choice leads to, from the events after its exit;
// empty at the end of a series and for other steps.
func leadsTo(flow *fdl.Flow, exited machine.Event, after []machine.Event) string {
	_, isChoice := flow.All[exited.Step].Kind.(*fdl.Choice)
	if !isChoice || len(after) == 0 || after[0].Type != machine.StepEntered {
		return ""
	}
	return flow.All[after[0].Step].Name
}

func (s *stepProgress) note(e machine.Event) {
	switch e.Type {
	case machine.StepEntered:
		if s.early {
			s.early, s.entered = false, e.At
			return
		}
		s.enter(e.At)
	case machine.StepStarted:
		s.phase, s.until = phaseWaiting, e.Until
	case machine.TaskSubmitted:
		s.phase = phaseCallback
	case machine.StepExited:
		s.leave(phaseDone, e.At)
	case machine.StepFailed:
		s.leave(phaseFailed, e.At)
		s.err = e.Error
	case machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		s.phase = phaseRetry // unless it fails now
	case machine.TaskScheduled:
		switch {
		case s.early:
			s.early = false
		case s.phase == phaseRetry:
			s.again()
		}
	case machine.ExecutionStarted, machine.ExecutionSucceeded, machine.ExecutionFailed, machine.ExecutionStopped, machine.ExecutionTimedOut,
		machine.StepSucceeded, machine.TaskStarted, machine.TaskSucceeded,
		machine.BranchEntered, machine.BranchExited, machine.IterationEntered, machine.IterationExited:
	}
}
