package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// progress is the state of an execution's steps, from its events.
type progress struct {
	title   string
	flow    *flow.Flow
	steps   []stepProgress // by the index of the step
	current int            // the step entered or called last
	status  machine.Status
	started time.Time
	ended   time.Time // zero while it runs
	// called has the calls that began after the last commit of their log.
	called map[engine.ID]startedCall
}

// startedCall is a call and its begin.
type startedCall struct {
	step  int
	since time.Time
}

// stepProgress is the known state of one step since it was entered last.
type stepProgress struct {
	phase   phase
	attempt int // how often it was entered or tried again, 1 for the first time
	entered time.Time
	left    time.Time
	until   time.Time // of a pause: when it ends
	note    string    // of a step that ended: why it failed, or where it leads to
	counts
}

// counts is the known state of a step in a foreach, or of a foreach.
type counts struct {
	in           map[engine.ID]bool // the logs with a last commit that left them in the step
	done, failed int                // how often the step was left
	asked        int                // how many callbacks or jobs it waits for
	retrying     map[engine.ID]bool // those of them that pause before another attempt
	iterations   int                // how many iterations of the foreach ended
	tolerated    int                // how many of those failed
	stopped      int                // how many had not ended at the end of the execution
	items        int                // of the foreach, 0 if that is not known
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

func newProgress(title string, flow *flow.Flow) *progress {
	return &progress{title: title, flow: flow, steps: make([]stepProgress, len(flow.All)), status: machine.StatusStarting, called: map[engine.ID]startedCall{}}
}

// calling notes a call. The entry of its step may not be committed yet.
func (p *progress) calling(call machine.Call, at time.Time) {
	p.called[call.Log] = startedCall{call.Attempt.Step, at}
	p.current = p.outermost(call.Attempt.Step)
}

// outermost returns the fork around a step that is not in another one, and other steps themselves.
func (p *progress) outermost(step int) int {
	if forks := machine.ForksAround(p.flow.All[step]); len(forks) > 0 {
		return forks[0].Index
	}
	return step
}

// inForeach reports whether a step is in a foreach, so that several of its attempts may run at
// once.
func (p *progress) inForeach(step int) bool {
	return slices.ContainsFunc(machine.ForksAround(p.flow.All[step]), func(fork *flow.Step) bool {
		_, is := fork.Kind.(*flow.Foreach)
		return is
	})
}

// step returns a step as it is now, which the last commit may not show yet.
func (p *progress) step(i int, now time.Time) stepProgress {
	s := p.steps[i]
	var call startedCall // the latest that began after the last commit of its log
	calls, logs, retrying := 0, len(s.in), len(s.retrying)
	for id, c := range p.called {
		if c.step != i {
			continue
		}
		calls++
		if !s.in[id] {
			logs++
		}
		if s.retrying[id] {
			retrying--
		}
		if c.since.After(call.since) {
			call = c
		}
	}
	switch {
	case p.inForeach(i):
		if p.status.Final() {
			s.stopped, s.asked, logs, retrying = logs, 0, 0, 0
		}
		s.show(logs, retrying)
	case s.phase == phaseWaiting && !s.until.After(now):
		s.phase, s.left = phaseDone, s.until
	case calls == 0:
	case s.phase == phaseRetry:
		s.phase, s.attempt = phaseRunning, s.attempt+1
	case s.phase == phasePoll:
		s.phase = phaseRunning
	case s.phase != phaseRunning:
		s = stepProgress{phase: phaseRunning, attempt: s.attempt + 1, entered: call.since, counts: s.counts}
	}
	return s
}

// show makes a step in a foreach say how many of its attempts run now, wait, and ended. So many
// logs are in the step.
func (s *stepProgress) show(logs, retrying int) {
	s.attempt, s.phase = 1, phasePending
	now := max(0, logs-retrying-s.asked)
	switch {
	case s.failed > 0, s.stopped > 0:
		s.phase = phaseFailed
	case now > 0:
		s.phase = phaseRunning
	case logs > 0:
		s.phase = phaseCallback
	case s.done > 0:
		s.phase = phaseDone
	default:
		return
	}
	var texts []string
	for _, of := range []struct {
		n    int
		what string
	}{
		{now, "now"}, {s.asked, "waiting for an outcome"}, {retrying, "to be tried again"}, {s.done, "done"}, {s.failed, "failed"}, {s.stopped, "stopped"},
		{s.iterations, "iterations ended"}, {s.tolerated, "iterations failed"},
	} {
		if of.n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	s.note = strings.Join(texts, ", ")
}

// count counts an event of a step in a foreach. Events of a history have the id of their own log,
// or if another process runs the execution, no id.
func (s *stepProgress) count(id engine.ID, e machine.Event) {
	if s.in == nil {
		s.in, s.retrying = map[engine.ID]bool{}, map[engine.ID]bool{}
	}
	switch {
	case e.Log != (engine.ID{}):
		id = e.Log
	case id == (engine.ID{}):
		id = engine.NewID(fmt.Sprint(e.ForkIndexes), "")
	}
	switch e.Type { //nolint:exhaustive // the others change nothing
	case machine.StepEntered:
		s.in[id] = true
	case machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		s.retrying[id] = true
	case machine.TaskScheduled:
		delete(s.retrying, id)
	case machine.StepExited:
		delete(s.in, id)
		s.done++
	case machine.StepFailed:
		delete(s.in, id)
		delete(s.retrying, id)
		s.failed++
	case machine.TaskSubmitted:
		s.asked++
	}
	if e.ClosedBy != "" && s.asked > 0 {
		s.asked--
	}
}

func (p *progress) committed(id engine.ID, state machine.State, events []machine.Event) {
	delete(p.called, id)
	if p.started = state.Started; state.Lane == nil {
		p.status = state.Status
	}
	if state.Status.Final() && state.Lane == nil {
		p.ended = state.At
	}
	for i, e := range events {
		if e.Step != machine.NoStep {
			p.event(id, e, events[i+1:])
		}
	}
	if fork := state.Waiting.Fork(); fork != nil {
		p.steps[state.Waiting.Attempt.Step].items = fork.Items
	}
	if w := state.Waiting; w != nil && !p.inForeach(w.Attempt.Step) {
		s := &p.steps[w.Attempt.Step]
		switch w.For { // the others have an event
		case machine.WaitingForRetry:
			s.phase, s.until = phaseRetry, w.Due
		case machine.WaitingForPoll:
			s.phase, s.until = phasePoll, w.Due
		}
	}
}

func (p *progress) event(id engine.ID, e machine.Event, after []machine.Event) {
	s := &p.steps[e.Step]
	if e.Type == machine.IterationExited {
		s.iterations++
	}
	if e.Type == machine.IterationExited && e.Error != "" {
		s.tolerated++
	}
	if p.inForeach(e.Step) {
		s.count(id, e)
		return
	}
	switch e.Type { //nolint:exhaustive // the others change nothing
	case machine.StepEntered:
		p.current = p.outermost(e.Step)
		*s = stepProgress{phase: phaseRunning, attempt: s.attempt + 1, entered: e.At}
	case machine.StepStarted:
		if s.phase, s.until = phaseWaiting, e.Until; p.flow.All[e.Step].IsFork() { // is tried again
			s.phase, s.attempt, s.iterations, s.tolerated = phaseRunning, s.attempt+1, 0, 0
		}
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
