package enginetest

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// abandonCases are rule 13 for wakes that were dead-lettered.
var abandonCases = []ruleCase{
	{"rule 13: a dead stop of a lane ends it if the wake of its ending may be lost", func(b *fixture) {
		_, lanes := b.fork(inner("Inner", waitText("A", 3000), waitText("B", 3000)), waitText("C", 3000))
		b.advance(lanes[0])
		b.takeAll()
		b.advance(b.stop())
		stop := b.takeAll()[0]
		b.advance(stop) // the lane is ending, and the lanes in it are to be stopped
		b.wakes, b.trace = nil, nil
		b.abandon(stop, engine.AbandonedExecution)
		b.wantTrace("read of lane 0", "0 joined", "0 joined", "wake stop of lane 0.0 in 0s", "wake stop of lane 0.1 in 0s")
	}},
	{"rule 13: a dead start fails the execution, and calls nothing", func(b *fixture) {
		start := b.begin(onlyText)
		b.abandon(start, engine.AbandonedExecution)
		b.wantTrace("read", "write 1")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
		b.wantHistory("ExecutionFailed")
	}},
	{"rule 13: a dead timer that is due fails the execution", func(b *fixture) {
		timer := b.pause()
		b.at(10 * time.Second)
		b.abandon(timer, engine.AbandonedExecution)
		b.wantTrace("read", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a dead timer of an earlier wait is dropped", func(b *fixture) {
		timer := b.pause()
		b.at(2 * time.Hour)
		timer.Cause, timer.Seq = "another", 1
		b.abandon(timer, engine.AbandonedWake)
		b.wantTrace("read")
	}},
	{"rule 13: a dead wake of a token that is open is dropped", func(b *fixture) {
		b.ask(askFlow)
		wake := b.tokenWake()
		b.at(time.Hour)
		b.abandon(wake, engine.AbandonedWake)
		b.wantTrace("read", "look: open")
	}},
	{"rule 13: a dead wake of a closed token ends the execution, whose history has the outcome", func(b *fixture) {
		b.ask(askNextFlow)
		b.abandon(b.close(success), engine.AbandonedExecution)
		b.wantTrace("read", "look: closed by hand", "close by stop: closed by hand", "write 3")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionFailed")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a dead wake of what was entered fails it, and closes its token", func(b *fixture) {
		start := b.askedNot(askFlow)
		b.at(workerDeadAfter)
		b.abandon(start, engine.AbandonedExecution)
		b.wantTrace("read", "close by stop: closed by stop", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 7: a dead wake is kept while a worker that handles another delivery may live", func(b *fixture) {
		b.abandon(b.askedNot(askFlow), engine.AbandonedNot)
		b.wantTrace("read")
	}},
	{"rule 10: a token that a janitor closed continues what another worker continued meanwhile", func(b *fixture) {
		start := b.askedNot(askFlow)
		b.at(workerDeadAfter)
		b.log.FailAppends(Refuse)
		b.abandonFails(start)
		b.wantTrace("read", "close by stop: closed by stop", "write 2: refused", "wake token in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a dead wake is dropped that entered what a token continues", func(b *fixture) {
		b.abandon(b.ask(askFlow), engine.AbandonedWake)
		b.wantTrace("read")
	}},
	{"rule 13: a dead wake is dropped whose call is queued", func(b *fixture) {
		b.limits = map[string]time.Duration{"Long": time.Hour}
		start := b.begin(longFlow)
		b.advance(start)
		b.trace = nil
		b.abandon(start, engine.AbandonedWake)
		b.wantTrace("read")
	}},
	{"rule 13: a dead wake of a damaged item ends the execution", func(b *fixture) {
		timer := b.pause()
		b.appendBody(2, []byte{machine.Format, 0xff})
		b.abandon(timer, engine.AbandonedExecution)
		b.wantTrace("read", "read items", "write 3")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a dead wake of an execution of a newer release is kept", func(b *fixture) {
		b.appendBody(0, newerBody())
		b.abandon(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch}, engine.AbandonedNot)
		b.wantTrace("read")
	}},
	{"rule 13: a dead rearm of what waits for a callback is dropped", func(b *fixture) {
		b.ask(askNextFlow)
		b.at(time.Hour)
		for _, cause := range []string{machine.CauseRearm, machine.CauseRearmCalls} {
			b.abandonRearm(cause, engine.AbandonedWake)
			b.wantTrace("read")
		}
	}},
	{"rule 13: a dead rearm fails the execution only if its timer counts as lost", func(b *fixture) {
		b.pause()
		b.at(10*time.Second + engine.Lateness)
		b.abandonRearm(machine.CauseRearm, engine.AbandonedWake)
		b.wantTrace("read")
		b.at(11*time.Second + engine.Lateness)
		b.abandonRearm(machine.CauseRearm, engine.AbandonedExecution)
		b.wantTrace("read", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a dead rearm fails the execution whose time limit has passed, once its definition can be read", func(b *fixture) {
		b.Limits.Duration = 24 * time.Hour
		b.ask(askFlow)
		b.at(24 * time.Hour)
		b.abandonRearm(machine.CauseRearm, engine.AbandonedWake)
		b.at(25 * time.Hour)
		flows := b.Flows
		b.Flows = failingFlows{flows}
		b.abandonFails(rearmWake(machine.CauseRearm))
		b.Flows = flows
		b.trace = nil
		b.abandonRearm(machine.CauseRearm, engine.AbandonedExecution)
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a dead rearm of a lane that ended without a join joins it (rule 17)", func(b *fixture) {
		b.updateFaults = []Fault{LoseWrite}
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.wantError(lanes[0], engine.CodeInternal)
		b.trace = nil
		b.abandon(engine.Wake{Execution: lanes[0].Execution, Lane: lanes[0].Lane, Cause: machine.CauseRearm, Due: epoch, Sent: epoch}, engine.AbandonedWake)
		b.wantTrace("read of lane 0", "join lane 0: 1")
	}},
	{"rule 13: a dead rearm of a lane that continues later is dropped", func(b *fixture) {
		b.Limits.Duration = 24 * time.Hour
		_, lanes := b.fork(taskText("A"), waitText("Pause", 48*60*60))
		b.advance(lanes[1])
		b.trace = nil
		b.at(25 * time.Hour)
		lanes[1].Cause = machine.CauseRearm
		b.abandon(lanes[1], engine.AbandonedWake)
		b.wantTrace("read of lane 1")
	}},
	{"rule 13: a dead wake without an execution is dropped", func(b *fixture) {
		b.abandon(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch}, engine.AbandonedWake)
		b.wantTrace("read")
	}},
	{"rule 13: a janitor that dies before it reported the end does so with the next delivery", func(b *fixture) {
		start := b.begin(onlyText)
		b.Ends = &told{b, 1}
		b.abandonFails(start)
		b.wantTrace("read", "write 1", "told Failed: failed")
		b.abandon(start, engine.AbandonedNot) // its worker may live
		b.wantTrace("read")
		b.at(workerDeadAfter)
		b.abandon(start, engine.AbandonedWake)
		b.wantTrace("read", "told Failed")
	}},
	{"rule 13: the janitor does not end what another worker continued meanwhile", func(b *fixture) {
		start := b.begin(onlyText)
		b.log.FailAppends(Refuse)
		b.abandonFails(start)
		b.wantTrace("read", "write 1: refused")
	}},
	{"rule 21: a dead start of a lane is its end", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.abandon(lanes[0], engine.AbandonedExecution)
		b.wantTrace("read of lane 0", "read", "write 0 of lane 0", "join lane 0: 1", "wake lane-failed in 0s")
	}},
	{"rule 15: a dead wake of a fork is dropped if the last lane has begun", func(b *fixture) {
		start, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("B", `{}`)
		b.advance(lanes[1])
		b.trace = nil
		b.abandon(start, engine.AbandonedWake)
		b.wantTrace("read", "read of lane 1")
	}},
	{"rule 15: a dead wake of a fork whose last lane has not begun ends it", func(b *fixture) {
		start, _ := b.fork(taskText("A"), taskText("B"))
		b.at(workerDeadAfter)
		b.abandon(start, engine.AbandonedExecution)
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 21: a dead stop of a lane that has not begun is its end", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.advance(b.stop())
		stop := b.takeAll()[0]
		b.trace = nil
		b.abandon(stop, engine.AbandonedExecution)
		b.wantTrace("read of lane 0", "read", "read", "write 0 of lane 0", "join lane 0: 1")
		b.abandon(lanes[0], engine.AbandonedWake)
	}},
	{"rule 21: a dead wake of a join ends the log", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		early := engine.Wake{Execution: testID, Cause: machine.CauseJoined(b.waiting().Attempt.Number, "f0"), Due: epoch, Sent: epoch}
		b.trace = nil
		b.abandon(early, engine.AbandonedWake)
		b.wantTrace("read", "1 joined")
		b.advance(lanes[1])
		b.trace = nil
		b.abandon(b.take(), engine.AbandonedExecution)
		b.wantTrace("read", "2 joined", "2 joined", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 18: a dead wake of a failed lane ends the log, whose other lanes are stopped", func(b *fixture) {
		b.script("A", answer{outcome: token.Failure("No", "")})
		_, lanes := b.fork(taskText("A"), waitText("B", 3000))
		b.advance(lanes[1])
		b.advance(lanes[0])
		b.wakes, b.trace = nil, nil
		b.abandon(b.wakeOf(machine.CauseLaneFailed(b.waiting().Attempt.Number, "f0")), engine.AbandonedExecution)
		b.wantTrace("read", "1 joined", "1 joined", "write 2", "1 joined", "wake stop of lane 1 in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 21: a dead stop of a log that waits for lanes stops them first, and again after a crash", func(b *fixture) {
		b.fork(taskText("A"), taskText("B"))
		stop := b.stop()
		b.sendFails = 1
		b.abandonFails(stop)
		b.wantTrace("read", "read the request to stop", "0 joined", "write 2", "0 joined", "wake stop of lane 0 in 0s: failed")
		b.abandon(stop, engine.AbandonedExecution)
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
}

var errDead = errors.New("enginetest: the wake was dead-lettered")

// abandon gives the janitor a dead wake.
func (b *fixture) abandon(wake engine.Wake, want engine.Abandoned) {
	b.t.Helper()
	if got, err := b.janitor().Abandon(b.t.Context(), wake, errDead); err != nil || got != want {
		b.t.Errorf("abandoned %d, error %v; want %d", got, err, want)
	}
}

func rearmWake(cause string) engine.Wake {
	return engine.Wake{Execution: testID, Cause: cause, Due: epoch, Sent: epoch}
}

func (b *fixture) abandonRearm(cause string, want engine.Abandoned) {
	b.t.Helper()
	b.trace = nil
	b.abandon(rearmWake(cause), want)
}

// failingFlows cannot be read.
type failingFlows struct{ engine.Flows }

// Flow implements [engine.Flows].
func (failingFlows) Flow(context.Context, machine.FlowRef) (*flow.Flow, error) { return nil, ErrFault }

func (b *fixture) abandonFails(wake engine.Wake) {
	b.t.Helper()
	if _, err := b.janitor().Abandon(b.t.Context(), wake, errDead); err == nil {
		b.t.Error("no error")
	}
}
