package machine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

func (s *script) runLanes(t *testing.T, command string, at time.Time) string {
	t.Helper()
	switch command {
	case "lane":
		return s.begin(t, at)
	case "stopped-lane":
		return s.stoppedLane(at)
	case "joined":
		return s.apply(t, s.joined(at))
	case "lane-failed":
		return s.apply(t, machine.LaneFailed{At: at, Attempt: s.fork.Attempt, Failure: s.joined(at).Failure})
	case "reported":
		return s.apply(t, s.reported(at))
	case "history":
		return s.history(t, s.log.id, &machine.Numbering{})
	}
	return s.play(t)
}

// history lists the events of a log, and after a fork those of its lanes. It checks the numbers
// against those of the states.
func (s *script) history(t *testing.T, id machine.ID, n *machine.Numbering) string {
	t.Helper()
	log, ok := s.log.family.logs[string(id[:])]
	if !ok {
		return ""
	}
	var out strings.Builder
	for seq, item := range log.items {
		state, events, err := machine.Decode(log.place(seq), item)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			e.Input, e.Local, e.Output = log.complete(t, e.Input), log.complete(t, e.Local), log.complete(t, e.Output)
			h := n.Render(e, s.flow)
			fmt.Fprintf(&out, "%d<%d %s %s\n", h.EventID, h.ScheduleEventID, e.At.Sub(epoch), strings.Join(nonEmpty(h.Type, h.StepName, h.EventDetail), " "))
			for i := range e.Lanes {
				lane := n.Lane(i)
				out.WriteString(s.history(t, e.Lane(id, i).ID(), &lane))
			}
		}
		if after := state.Numbering(); len(events) > 0 && after != *n {
			t.Errorf("item %d of %s is numbered %+v, its state has %+v", seq, id, *n, after)
		}
	}
	return out.String()
}

// noteFork notes a fork that begins.
func (s *script) noteFork() {
	if w := s.state.Waiting; w.Fork() != nil && w.Attempt != s.fork.Attempt {
		s.fork, s.lanes, s.cursor = *w, map[int]*script{}, w.Fork().First*w.Fork().Lanes
	}
}

// in returns the script of the lane with that path, a new one if the lane has not begun.
func (s *script) in(t *testing.T, path string) *script {
	t.Helper()
	first, rest, more := strings.Cut(path, ".")
	index, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("path %q: %v", path, err)
	}
	lane := s.lanes[index]
	if lane == nil {
		lane = &script{flow: s.flow, format: s.format, limits: s.limits, timeLimits: s.timeLimits, callbacks: s.callbacks, parent: s}
		lane.state.Lane = &machine.Lane{Parent: s.state.ID(), Attempt: s.fork.Attempt.Number, Index: index, Count: s.fork.Fork().Lanes}
		lane.log.id = lane.state.ID()
		s.log.known()
		lane.log.join(s.log.family)
		s.lanes[index] = lane
	}
	if more {
		return lane.in(t, rest)
	}
	return lane
}

// begin starts a lane.
func (s *script) begin(t *testing.T, at time.Time) string {
	t.Helper()
	state, ok := machine.NewLane(s.parent.state, *s.state.Lane, at)
	if !ok {
		return "is not to begin\n"
	}
	s.state = state
	return s.apply(t, machine.Started{At: at})
}

func (s *script) stoppedLane(at time.Time) string {
	state, ok := machine.StoppedLane(s.parent.state, *s.state.Lane, machine.Entry{By: machine.CauseStop, Since: at})
	if !ok {
		return "is not to be stopped\n"
	}
	s.state, _, _ = s.log.put(state, nil)
	return "ok\n"
}

// joined is the signal that all lanes have ended, or the failure of those that have.
func (s *script) joined(at time.Time) machine.LanesJoined {
	sig := machine.LanesJoined{At: at, Attempt: s.fork.Attempt}
	if s.fork.Fork().First > 0 {
		sig.Left = max(0, s.fork.Fork().Items-s.cursor)
	}
	for i := range s.fork.Fork().Lanes {
		lane := s.lanes[i]
		if lane == nil {
			continue
		}
		if machine.NeedsOutputs(s.flow, sig.Attempt) && lane.state.Status == machine.StatusSucceeded {
			sig.Outputs = append(sig.Outputs, lane.state.Output)
			if lane.state.Share != nil {
				sig.Ranges = append(sig.Ranges, lane.state.Share.Ranges)
			}
		}
		if lane.state.Status == machine.StatusFailed && !sig.Failure.Failed() {
			sig.Failure = token.Outcome{Error: lane.state.Error, Cause: lane.state.Cause}
		}
	}
	return sig
}

// reported is the answer to the report of a lane's failed items.
func (s *script) reported(at time.Time) machine.FailuresReported {
	sig := machine.FailuresReported{At: at, Attempt: s.state.Waiting.Attempt}
	for _, lane := range s.parent.lanes {
		if lane.state.Tolerance != nil {
			sig.Failed += lane.state.Tolerance.Failed
		}
	}
	return sig
}

func (s *script) path() string {
	if s.parent == nil {
		return ""
	}
	if above := s.parent.path(); above != "" {
		return fmt.Sprintf("%s.%d", above, s.state.Lane.Index)
	}
	return strconv.Itoa(s.state.Lane.Index)
}

// player carries out all commands of an execution and its lanes.
type player struct {
	t   *testing.T
	now time.Time
	out strings.Builder
	// open are the logs, in the order in which they began.
	open  []*script
	calls []machinetest.Call
}

// play runs the execution to its end, or until only a request from outside can go on.
func (s *script) play(t *testing.T) string {
	t.Helper()
	p := &player{t: t, now: s.state.At, open: []*script{s}}
	for p.step() {
	}
	return p.out.String() + s.show(t)
}

// step carries out one command, or else lets the earliest timer come.
func (p *player) step() bool {
	p.t.Helper()
	for _, s := range p.open {
		if len(s.commands) > 0 {
			p.carryOut(s, s.commands[0])
			return true
		}
	}
	var next *script
	for _, s := range p.open {
		if due := s.state.Timer.Due; s.state.Timer.Tag != "" && (next == nil || due.Before(next.state.Timer.Due)) {
			next = s
		}
	}
	if next == nil {
		return false
	}
	p.now = next.state.Timer.Due
	p.apply(next, machine.TimerDue{At: p.now})
	return true
}

func (p *player) carryOut(s *script, command machine.Command) {
	p.t.Helper()
	s.commands = s.commands[1:]
	switch c := command.(type) {
	case machine.CallTask:
		p.apply(s, machine.Returned{At: p.now, Attempt: c.Attempt, Outcome: p.called(s, c.Call)})
	case machine.SubmitTask:
		outcome := p.called(s, c.Call)
		p.apply(s, machine.TokenClosed{At: p.now, Attempt: c.Attempt, Outcome: outcome, By: token.ClosedByCallback})
	case machine.QueueTask:
		p.apply(s, machine.TokenClosed{At: p.now, Attempt: c.Attempt, Outcome: p.called(s, c.Call), By: token.ClosedByTask})
	case machine.CloseToken:
		p.apply(s, machine.TokenClosed{At: p.now, Attempt: c.Attempt, Outcome: c.Closing.Outcome, By: c.Closing.By})
	case machine.StartLanes:
		for i := range c.Count {
			lane := s.in(p.t, strconv.Itoa(i))
			lane.begin(p.t, p.now)
			if len(lane.log.items) > 0 { // else one of the others has failed
				p.open = append(p.open, lane)
				p.ended(lane)
			}
		}
	case machine.WakeChild: // the flows here have no sub-flows
	case machine.ClaimItems:
		sig, fork := machine.ItemsClaimed{At: p.now, Attempt: c.Attempt}, s.parent
		if fork.cursor < c.Items && !fork.state.StopsLanes() {
			sig.Range = machine.Range{From: fork.cursor, To: min(fork.cursor+c.Size, c.Items)}
			fork.cursor, sig.Retires = fork.cursor+c.Size, c.Size == 0
		}
		p.apply(s, sig)
	case machine.ReportFailures:
		p.apply(s, s.reported(p.now))
	case machine.StopLanes:
		p.stopLanes(s, c)
	}
}

func (p *player) stopLanes(s *script, c machine.StopLanes) {
	p.t.Helper()
	for i := range c.Count {
		lane := s.in(p.t, strconv.Itoa(i))
		switch {
		case len(lane.log.items) == 0:
			lane.stoppedLane(p.now)
			p.ended(lane)
		case !lane.state.Status.Final():
			why, _ := machine.StoppedLane(s.state, *lane.state.Lane, machine.Entry{})
			p.apply(lane, machine.StopRequested{At: p.now, Error: why.Error, Cause: why.Cause})
		}
	}
}

// called notes a call and returns its outcome.
func (p *player) called(s *script, c machine.Call) token.Outcome {
	p.t.Helper()
	input := s.log.complete(p.t, c.Input)
	p.calls = append(p.calls, machinetest.Call{At: p.now, Text: c.Step + " " + input.JSON()})
	fmt.Fprintf(&p.out, "%s [%s] %s %s\n", p.now.Sub(epoch), s.path(), c.Step, input)
	return machinetest.Function(input, p.now.Sub(epoch))
}

func (p *player) apply(s *script, sig machine.Signal) {
	p.t.Helper()
	s.apply(p.t, sig)
	p.ended(s)
}

// ended lets a lane join that has ended.
func (p *player) ended(s *script) {
	p.t.Helper()
	if !s.state.Status.Final() || s.parent == nil || s.parent.lanes[s.state.Lane.Index] != s {
		return
	}
	fork := s.parent
	if i := slices.Index(p.open, s); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	joined := fork.joined(p.now)
	for i := range fork.fork.Fork().Lanes {
		if lane := fork.lanes[i]; lane == nil || len(lane.log.items) == 0 || !lane.state.Status.Final() {
			if joined.Failure.Failed() {
				p.apply(fork, machine.LaneFailed{At: p.now, Attempt: joined.Attempt, Failure: joined.Failure})
			}
			return
		}
	}
	p.apply(fork, joined)
}
