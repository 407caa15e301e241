package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// laneCases are rules 14 to 23: forks, lanes, joins and stops.
var laneCases = []ruleCase{
	{"rule 15: a fork is committed, then each lane gets a wake, the last one alone", func(b *fixture) {
		b.advance(b.begin(parallel(taskText("A"), taskText("B"), taskText("C"))))
		b.wantTrace("read", "write 1", "wake start of lane 0 in 0s", "wake start of lane 1 in 0s", "wake start of lane 2 in 0s")
		if w := b.waiting(); w.Fork() == nil || w.Fork().Lanes != 3 {
			b.t.Errorf("the execution waits for %+v", w)
		}
	}},
	{"rule 15: a queue of batches gets all lanes but the last one together", func(b *fixture) {
		b.Wakes = batchedWakes{b, 0}
		b.advance(b.begin(parallel(taskText("A"), taskText("B"), taskText("C"))))
		b.wantTrace("read", "write 1", "batch of 2", "wake start of lane 0 in 0s", "wake start of lane 1 in 0s", "wake start of lane 2 in 0s")
	}},
	{"rule 15: a batch that is accepted in part leaves the last lane without a wake, so all are sent again", func(b *fixture) {
		b.Wakes = batchedWakes{b, 1}
		start := b.begin(parallel(taskText("A"), taskText("B"), taskText("C")))
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1", "batch of 2", "wake start of lane 0 in 0s")
		b.Wakes = batchedWakes{b, 0}
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "read", "batch of 2", "wake start of lane 0 in 0s", "wake start of lane 1 in 0s", "wake start of lane 2 in 0s")
	}},
	{"rule 15: while the worker of a fork may live nothing is sent again", func(b *fixture) {
		start, _ := b.fork(taskText("A"), taskText("B"))
		b.at(time.Minute - 1)
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read")
	}},
	{"rule 15: the last lane has a log, so all wakes were sent", func(b *fixture) {
		start, lanes := b.fork(taskText("A"), waitText("B", 1000))
		b.advance(lanes[1])
		b.trace = nil
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "read of lane 1")
	}},
	{"rule 15: the last lane has no log, so all wakes are sent again", func(b *fixture) {
		start := b.begin(parallel(taskText("A"), taskText("B")))
		b.sendFails = 1
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1", "wake start of lane 0 in 0s: failed")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "read", "wake start of lane 0 in 0s", "wake start of lane 1 in 0s")
	}},
	{"rule 16: a lane calls, and its first item is its end", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: 1")
		b.advance(lanes[1])
		b.wantTrace("read of lane 1", "read", "call B", "write 0 of lane 1", "join lane 1: 2", "wake joined in 0s")
		b.advance(b.take())
		b.wantTrace("read", "2 joined", "write 2")
		b.wantSucceeded()
		b.wantDistinct("the keys", b.keys, 2)
	}},
	{"rule 16: the parent is ending, so the lane does not start", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.advance(b.stop())
		b.trace = nil
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read")
	}},
	{"rule 16: the parent has no such fork, so the lane does not start", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		for name, forge := range map[string]func(*machine.Lane){
			"another attempt": func(l *machine.Lane) { l.Attempt++ },
			"another index":   func(l *machine.Lane) { l.Index = 2 },
			"another count":   func(l *machine.Lane) { l.Count = 3 },
			"no parent":       func(l *machine.Lane) { l.Parent = engine.NewID("no", "parent") },
		} {
			lane := *lanes[0].Lane
			forge(&lane)
			b.advance(engine.Wake{Execution: lane.ID(), Lane: &lane, Cause: machine.CauseStart, Due: b.Now(), Sent: b.Now()})
			if trace := b.trace; len(trace) != 2 || trace[1] != "read" {
				b.t.Errorf("%s: the engine did %q", name, trace)
			}
			b.trace = nil
		}
		b.advance(engine.Wake{Execution: engine.NewID("no", "log"), Lane: lanes[0].Lane, Cause: machine.CauseStart, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read")
	}},
	{"rule 16: a timer that comes before its lane's first item is sent again", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 1), taskText("B"))
		b.log.BeforeAppend(func() {
			timer := b.wakes[0]
			b.wakes = nil
			b.at(time.Second)
			b.advance(timer)
		})
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "wake timer of lane 0 in 1s", "read of lane 0", "wake timer of lane 0 in 1s", "write 0 of lane 0")
		b.at(2 * time.Second)
		b.advance(b.take())
		b.wantTrace("read of lane 0", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"rule 16: a token's wake of a lane without a log is discarded", func(b *fixture) {
		_, lanes := b.fork(callbackText(), taskText("B"))
		b.advance(engine.Wake{Execution: lanes[0].Execution, Cause: strings.Repeat("t", handleSize), Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read of lane 0")
	}},
	{"rule 16: two workers start a lane: one item, one more call at most", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{"by":1}`)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), lanes[0]) })
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0: refused", "read of lane 0", "join lane 0: 1")
	}},
	{"rule 16: refused because a rival came to the lane's next call, the result at hand does not count", func(b *fixture) {
		_, lanes := b.fork(taskText("A")+taskText("Second"), taskText("B"))
		b.answer("A", `{}`)
		b.log.BeforeAppend(func() { _, _ = b.rival("Second").Advance(b.t.Context(), lanes[0]) })
		b.wantPutBack(lanes[0], epoch.Add(time.Minute))
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0: refused", "read of lane 0")
	}},
	{"rule 16: lanes of an execution that may only end do not start, call nothing, and are stopped", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), callbackText()+taskText("B"), taskText("C"))
		b.answer("Ask", `{}`)
		b.advance(lanes[1])
		item, err := b.store.Latest(b.t.Context(), lanes[1].Execution)
		if err != nil {
			b.t.Fatal(err)
		}
		state, err := machine.DecodeState(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
		if err != nil {
			b.t.Fatal(err)
		}
		handle := state.Waiting.Handle()
		if _, err := b.store.Close(b.t.Context(), handle, token.CloseOp{Outcome: success, By: token.ClosedByHand, At: b.Now()}); err != nil {
			b.t.Fatal(err)
		}
		b.CannotContinue = func(state machine.State) bool { return state.Execution == executionName }
		b.trace = nil
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read")
		b.advance(engine.Wake{Execution: lanes[1].Execution, Cause: handle, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read of lane 1")
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 17: a worker that died before the join: its wake joins at once", func(b *fixture) {
		b.updateFaults = []Fault{LoseWrite, LoseAnswer}
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.wantError(lanes[0], engine.CodeInternal)
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: failed")
		b.wantError(lanes[0], engine.CodeInternal)
		b.wantTrace("read of lane 0", "join lane 0: failed")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "join lane 0: 1")
	}},
	{"rule 18: a worker that died before the join: only its own wake joins", func(b *fixture) {
		b.updateFaults = []Fault{LoseWrite}
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.wantError(lanes[0], engine.CodeInternal)
		b.trace = nil
		for seq := range uint64(2) { // a timer of the lane's first item, and another one
			b.advance(engine.Wake{Execution: lanes[0].Execution, Lane: lanes[0].Lane, Cause: "0123456789abcdef", Seq: seq, Due: b.Now(), Sent: b.Now()})
			b.wantTrace("read of lane 0")
		}
		b.advance(engine.Wake{Execution: lanes[0].Execution, Lane: lanes[0].Lane, Cause: machine.CauseJoined(3, "f0"), Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read of lane 0")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "join lane 0: 1")
	}},
	{"rule 17: a worker that died before the wake: its wake joins again and wakes", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.sendFails = 1
		b.wantError(lanes[1], engine.CodeInternal)
		b.trace = nil
		b.advance(lanes[1])
		b.wantTrace("read of lane 1", "join lane 1: 2", "wake joined in 0s")
	}},
	{"rule 18: the step gets the outputs of its lanes", func(b *fixture) {
		_, lanes := b.forkOf(parallel(taskText("A"), taskText("B")) + outputsText)
		b.answer("B", `{"b":2}`)
		b.advance(lanes[1])
		b.answer("A", `{"a":1}`)
		b.advance(lanes[0])
		b.trace = nil
		b.advance(b.take())
		b.wantTrace("read", "2 joined", "read items of lane 0 of lane 1", "write 2")
		b.wantOutput(`{"all":[{"a":1},{"b":2}]}`)
	}},
	{"rule 18: large outputs stay in the lanes' logs", func(b *fixture) {
		_, lanes := b.forkOf(parallel(taskText("A"), taskText("B")) + outputsText)
		large := fmt.Sprintf(`{"large":%q}`, strings.Repeat("x", 5000))
		b.answer("A", large)
		b.advance(lanes[0])
		b.answer("B", `{}`)
		b.advance(lanes[1])
		b.advance(b.take())
		if item, _ := b.latest(); len(item.Body) > 1000 {
			b.t.Errorf("the last item has %d bytes", len(item.Body))
		}
		b.wantOutput(`{"all":[` + large + `,{}]}`)
	}},
	{"rule 18: the large outputs of several lanes are one read of a later step", func(b *fixture) {
		_, lanes := b.forkOf(parallel(taskText("A"), taskText("B")) + "    outputMappings: [{target: all, source: $local}]\n" +
			waitText("Pause", 10) + taskText("After", "inputMappings: [{target: all, source: $local.all}]"))
		large := fmt.Sprintf(`{"large":%q}`, strings.Repeat("x", 5000))
		for i, name := range []string{"A", "B"} {
			b.answer(name, large)
			b.advance(lanes[i])
		}
		b.advance(b.take())
		b.trace = nil
		b.at(10 * time.Second)
		b.answer("After", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "read items of lane 0 of lane 1", "call After", "write 3")
		b.wantInput("After", `{"all":[`+large+`,`+large+`]}`)
	}},
	{"rule 18: a wake of another attempt, or before any end, is discarded", func(b *fixture) {
		b.fork(taskText("A"), taskText("B"))
		for _, cause := range []string{machine.CauseJoined(b.waiting().Attempt.Number, "f0"), machine.CauseLaneFailed(b.waiting().Attempt.Number, "f0")} {
			b.advance(b.wakeOf(cause))
			b.wantTrace("read", "0 joined")
		}
		b.advance(b.wakeOf(machine.CauseJoined(77, "f0")))
		b.wantTrace("read")
	}},
	{"rule 18: two wakes of the join: the second finds the next step", func(b *fixture) {
		_, lanes := b.forkOf(parallel(taskText("A"), taskText("B")) + taskText("After"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.trace = nil
		joined := b.take()
		b.answer("After", `{}`)
		b.advance(joined)
		b.wantTrace("read", "2 joined", "write 2", "call After", "write 3")
		b.advance(joined)
		b.wantTrace("read")
		b.wantSucceeded()
	}},
	{"rule 18: a failed lane wakes its parent, which stops the others and fails with its error", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), waitText("Long", 1000), taskText("C"))
		b.advance(lanes[1])
		b.trace = nil
		b.script("A", answer{outcome: token.Failure("Broken", "it broke")})
		b.wakes = nil
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: 1", "wake lane-failed in 0s")
		b.advance(b.take())
		b.wantTrace("read", "1 joined", "read items of lane 0", "write 2", "1 joined", "wake stop of lane 1 in 0s", "wake stop of lane 2 in 0s")
		stops := b.takeAll()
		b.advance(stops[0])
		b.wantTrace("read of lane 1", "read", "write 1 of lane 1", "join lane 1: 2")
		b.advance(stops[1])
		b.wantTrace("read of lane 2", "read", "write 0 of lane 2", "join lane 2: 3", "wake joined in 0s")
		b.advance(lanes[2])
		b.wantTrace("read of lane 2")
		b.advance(b.take())
		b.wantTrace("read", "3 joined", "write 3")
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"rule 18: the last lane fails: the step fails with the error of the first that failed", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.script("A", answer{outcome: token.Failure("First", "")})
		b.script("B", answer{outcome: token.Failure("Second", "")})
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.trace = nil
		wakes := b.takeAll()
		b.advance(wakes[1])
		b.wantTrace("read", "2 joined", "read items of lane 0", "write 2")
		b.wantEnd(machine.StatusFailed, "First")
		b.advance(wakes[0])
		b.wantTrace("read")
	}},
	{"rule 19: a stop is committed, then told to the lanes, and repeated at once", func(b *fixture) {
		b.fork(taskText("A"), taskText("B"))
		stop := b.stop()
		b.sendFails = 1
		b.wantError(stop, engine.CodeInternal)
		b.wantTrace("read", "read the request to stop", "write 2", "0 joined", "wake stop of lane 0 in 0s: failed")
		b.advance(stop)
		b.wantTrace("read", "0 joined", "wake stop of lane 0 in 0s", "wake stop of lane 1 in 0s")
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 19: a stop that finds all lanes joined commits the end", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		stop := b.stop()
		b.advance(stop)
		b.wantTrace("read", "read the request to stop", "write 2", "2 joined", "wake joined in 0s")
		b.advance(b.wakes[len(b.wakes)-1])
		b.wantTrace("read", "2 joined", "write 3")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 20: a lane that has ended joins again on its stop wake", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(lanes[0], engine.CodeInternal)
		b.advance(b.stop())
		stops := b.takeAll()
		b.trace = nil
		b.advance(stops[0])
		b.wantTrace("read of lane 0", "join lane 0: 1")
		b.advance(stops[1])
		b.wantTrace("read of lane 1", "read", "write 0 of lane 1", "join lane 1: 2", "wake joined in 0s")
		b.advance(b.take())
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 20: a lane that waits for a token is ending until the token is closed", func(b *fixture) {
		_, lanes := b.fork(callbackText(), taskText("B"))
		b.answer("Ask", `{}`)
		b.advance(lanes[0])
		b.wakes = nil
		b.advance(b.stop())
		stops := b.takeAll()
		b.trace = nil
		b.advance(stops[0])
		b.wantTrace("read of lane 0", "read", "write 2 of lane 0", "close by stop: closed by stop", "write 3 of lane 0", "join lane 0: 1")
		b.advance(stops[1])
		b.advance(b.take())
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 20: the parent is not ending, so a stop wake of a lane does nothing", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 10), taskText("B"))
		b.advance(lanes[0])
		b.trace = nil
		for _, wake := range lanes {
			wake.Cause = machine.CauseStop
			b.advance(wake)
		}
		b.wantTrace("read of lane 0", "read", "read of lane 1", "read")
	}},
	{"rule 21: a defect at a lane's start is its first item", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.Flows = lostFlows{b.Flows}
		b.wantError(lanes[0], engine.CodeDefect)
		lanes[0].Receives = 5
		b.trace = nil
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "read of lane 0", "read", "write 0 of lane 0", "join lane 0: 1", "wake lane-failed in 0s")
	}},
	{"rule 21: a defect of a log that waits for lanes stops them before it ends", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		flows := b.Flows
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.Flows = lostFlows{flows}
		stop := b.stop()
		stop.Receives = 5
		b.advance(stop)
		b.wantTrace("read", "read the request to stop", "read", "1 joined", "write 2", "1 joined", "wake stop of lane 1 in 0s")
		b.advance(b.take())
		b.wantTrace("read of lane 1", "read", "write 0 of lane 1", "join lane 1: 2", "wake joined in 0s")
		joined := b.take()
		joined.Receives = 5
		b.advance(joined)
		b.wantTrace("read", "2 joined", "read", "2 joined", "write 3")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 21: lanes have joined whose outputs are needed, and the definition is gone", func(b *fixture) {
		_, lanes := b.forkOf(strings.TrimSuffix(parallel(taskText("A"), taskText("B")), "\n") + "\n" + outputsText)
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.Flows = lostFlows{b.Flows}
		joined := b.take()
		b.trace = nil
		b.wantError(joined, engine.CodeDefect)
		b.wantTrace("read", "2 joined")
		joined.Receives = 5
		b.advance(joined)
		b.wantTrace("read", "2 joined", "read", "2 joined", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 23: only the execution checks its time limit", func(b *fixture) {
		_, lanes := b.forkOf("timeoutSeconds: 60\n" + parallel(waitText("A", 1000), taskText("B")))
		b.advance(lanes[0])
		timer := b.takeTimer()
		b.at(time.Minute)
		b.trace = nil
		b.advance(engine.Wake{Execution: lanes[0].Execution, Cause: "another", Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read of lane 0")
		b.advance(timer)
		b.wantTrace("read", "write 2", "0 joined", "wake stop of lane 0 in 0s", "wake stop of lane 1 in 0s")
		b.drain()
		b.wantEnd(machine.StatusTimedOut, machine.ErrorExecutionTimeout)
	}},
	{"rule 15: a restart starts lanes without a log, continues others, and joins those that ended", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), waitText("B", 50), taskText("C"), callbackText())
		b.answer("A", `{}`)
		b.answer("Ask", `{}`)
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(lanes[0], engine.CodeInternal)
		b.advance(lanes[1])
		b.advance(lanes[3])
		b.restart()
		b.wantTrace("no request to stop", "wake start in 0s", "0 joined",
			"read of lane 0", "join lane 0: 1",
			"read of lane 1", "no request to stop", "wake timer of lane 1 in 50s",
			"read of lane 2",
			"read of lane 3", "no request to stop", "wake start of lane 3 in 0s")
		b.answer("C", `{}`)
		b.advance(b.takeAll()[0])
		b.wantTrace("read", "read of lane 0", "read of lane 1", "read of lane 2", "read of lane 3", "wake start of lane 2 in 0s")
		b.drain()
		if state := b.waiting(); state.Fork() == nil {
			b.t.Errorf("the execution waits for %+v", state)
		}
	}},
	{"rule 15: a restart when all lanes have joined", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.restart()
		b.wantTrace("no request to stop", "wake start in 0s", "2 joined", "wake joined in 0s")
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 15: a restart while lanes are being stopped", func(b *fixture) {
		_, lanes := b.fork(callbackText(), inner("Inner", waitText("B", 50), taskText("C")))
		b.answer("Ask", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.advance(b.stop())
		b.restart()
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"the history has the events of each lane behind those of its fork, with ids that stay", func(b *fixture) {
		_, lanes := b.forkOf(parallel(inner("Inner", taskText("A"), waitText("Pause", 5)), taskText("B")) + taskText("C"))
		b.answer("B", `{}`)
		b.answer("A", `{}`)
		b.answer("C", `{}`)
		b.advance(lanes[1])
		b.wantIDs("1 ExecutionStarted, 2 Fork StepEntered, 1250000003 Fork BranchEntered, 1250000004 B StepEntered, 1250000005 B TaskScheduled, " +
			"1250000006 B TaskStarted, 1250000007 B TaskSucceeded, 1250000008 B StepExited, 1250000009 Fork BranchExited")
		b.wakes = append(b.wakes, lanes[0])
		b.drain()
		b.wantIDs("1 ExecutionStarted, 2 Fork StepEntered, " +
			"3 Fork BranchEntered, 4 Inner StepEntered, " +
			"5 Inner BranchEntered, 6 A StepEntered, 7 A TaskScheduled, 8 A TaskStarted, 9 A TaskSucceeded, 10 A StepExited, 11 Inner BranchExited, " +
			"5005 Inner BranchEntered, 5006 Pause StepEntered, 5007 Pause StepStarted, 5008 Pause StepSucceeded, 5009 Pause StepExited, 5010 Inner BranchExited, " +
			"10005 Inner StepExited, 10006 Fork BranchExited, " +
			"1250000003 Fork BranchEntered, 1250000004 B StepEntered, 1250000005 B TaskScheduled, 1250000006 B TaskStarted, 1250000007 B TaskSucceeded, " +
			"1250000008 B StepExited, 1250000009 Fork BranchExited, " +
			"2500000003 Fork StepExited, 2500000004 C StepEntered")
	}},
	{"the states that wait are those of lanes, also of lanes inside", func(b *fixture) {
		_, lanes := b.fork(inner("Inner", callbackText(), waitText("Pause", 50)), taskText("B"), waitText("Long", 500), taskText("NotBegun"))
		b.answer("B", `{}`)
		b.answer("Ask", `{}`)
		b.wakes = lanes[:3]
		for range 5 {
			wake := b.wakes[0]
			b.wakes = b.wakes[1:]
			b.advance(wake)
		}
		_, state := b.latest()
		waits, err := b.Waiting(b.t.Context(), state, 10)
		if err != nil || len(waits.States) != 3 {
			b.t.Fatalf("%d states wait, error %v", len(waits.States), err)
		}
		if waits.Items != 4 || waits.Done != 1 || waits.Running != 2 {
			b.t.Errorf("%d of %d branches ended and %d run, want 1 of 4 and 2", waits.Done, waits.Items, waits.Running)
		}
		for i, s := range waits.States {
			if isToken := s.Waiting.Token() != nil; isToken != (i == 0) || !isToken && s.Waiting.For != machine.WaitingForInstant {
				b.t.Errorf("state %d waits for %+v; want a token, then two instants", i, s.Waiting.For)
			}
		}
	}},
	{"forks inside of lanes", func(b *fixture) {
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.answer("C", `{}`)
		b.wakes = []engine.Wake{b.begin(parallel(inner("Left", taskText("A"), waitText("Pause", 5)), taskText("B"), inner("Right", waitText("P", 9), taskText("C"))))}
		b.drain()
		b.wantSucceeded()
		b.wantDistinct("the keys", b.keys, 3)
	}},
	{"rule 14: a foreach of format 1 runs its items in lanes, in turn", func(b *fixture) {
		b.WriteFormat = 1
		b.answer("A", `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`)
		flow := flowHead + foreachText + outputsText
		b.wantStart(b.request(flow, `{"list":[1,2,3,4,5]}`), engine.StartedNew)
		b.drain()
		b.wantOutput(`{"all":[{"n":1},{"n":4},{"n":2},{"n":5},{"n":3}]}`) // lane 0 first, which has the items 0, 2 and 4
		b.wantDistinct("the keys", b.keys, 5)
	}},
	{"rule 22: results of a lane share a commit, ten at most", func(b *fixture) {
		lanes := b.forkOver(26)
		for range 13 {
			b.answer("A", `{}`)
		}
		b.advance(lanes[0])
		b.wantTrace(slices.Concat(
			[]string{"read of lane 0", "read"}, slices.Repeat([]string{"call A"}, 10), []string{"write 0 of lane 0"},
			slices.Repeat([]string{"call A"}, 3), []string{"write 1 of lane 0", "join lane 0: 1"})...)
		b.wantDistinct("the keys", b.keys, 13)
	}},
	{"rule 22: results of a lane share a commit for five seconds", func(b *fixture) {
		lanes := b.forkOver(6)
		for i := range 3 {
			b.script("A", answer{outcome: token.Success(value.Object()), during: func() { b.at(time.Duration(i+1) * 6 * time.Second) }})
		}
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "call A", "write 0 of lane 0", "call A", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"rule 22: results of a lane share a commit up to 64 KB", func(b *fixture) {
		lanes := b.forkOver(12)
		for range 6 {
			b.answer("A", `{"x":"`+strings.Repeat("x", 15_000)+`"}`)
		}
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "call A", "call A", "call A", "call A", "write 0 of lane 0",
			"call A", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"rule 22: a call that fails does not lose the results before it", func(b *fixture) {
		lanes := b.forkOver(6)
		b.answer("A", `{}`, `{}`)
		b.script("A", answer{err: errStopped})
		b.wantError(lanes[0], engine.CodeInternal)
		b.wantTrace("read of lane 0", "read", "call A", "call A", "call A: stopped", "write 0 of lane 0")
	}},
	{"rule 22: a worker that dies loses its results, and the calls are repeated with the same keys", func(b *fixture) {
		lanes := b.forkOver(6)
		b.answer("A", `{}`, `{}`, `{}`)
		b.log.FailAppends(slices.Repeat([]Fault{LoseWrite}, 10)...)
		b.wantError(lanes[0], engine.CodeInternal)
		first := slices.Clone(b.keys)
		b.answer("A", `{}`, `{}`, `{}`)
		b.advance(lanes[0])
		if len(first) != 3 || !slices.Equal(b.keys[3:], first) {
			b.t.Errorf("the keys are %q", b.keys)
		}
	}},
	{"rule 22: the result of one item is not that of another whose call has the same number and input", func(b *fixture) {
		b.WriteFormat = 1
		b.wantStart(b.request(flowHead+unevenText, `{"list":[1,1,1,1,1,1,1,1]}`), engine.StartedNew)
		b.advance(b.take())
		lane := b.takeAll()[0]
		b.trace = nil
		b.script("A", answer{outcome: token.Failure("Broken", "")})
		b.answer("A", `{}`, `{}`, `{}`)
		rival, calls := b.rival(), 0
		rival.Caller = tasksFunc(func(machine.Call) (token.Outcome, error) {
			if calls++; calls == 4 { // its number is that of the second call above
				return token.Outcome{}, errStopped
			}
			return success, nil
		})
		b.log.BeforeAppend(func() { _, _ = rival.Advance(b.t.Context(), lane) })
		b.wantPutBack(lane, epoch.Add(time.Minute))
		b.wantTrace("read of lane 0", "read", "call A", "call A", "call A", "call A", "write 0 of lane 0: refused", "read of lane 0")
	}},
	{"rule 4: a commit that is lost before a call waits for its turn loses no result", func(b *fixture) {
		lanes := b.forkOver(6)
		b.answer("A", `{}`)
		b.script("A", answer{outcome: success, waits: true})
		b.script("A", answer{outcome: success, waits: true})
		b.answer("A", `{}`)
		b.log.FailAppends(Refuse)
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "wait to call A", "write 0 of lane 0: refused",
			"read of lane 0", "read", "wait to call A", "write 0 of lane 0", "call A", "call A", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"rule 4: a lost commit of shared results is made again and no call with it", func(b *fixture) {
		lanes := b.forkOver(26)
		for range 11 {
			b.answer("A", `{}`)
		}
		b.script("A", answer{outcome: success, during: func() { b.at(6 * time.Second) }})
		b.answer("A", `{}`)
		b.log.FailAppends(NoFault, Refuse)
		b.advance(lanes[0])
		b.wantTrace(slices.Concat(
			[]string{"read of lane 0", "read"}, slices.Repeat([]string{"call A"}, 10), []string{"write 0 of lane 0"},
			slices.Repeat([]string{"call A"}, 2), []string{"write 1 of lane 0: refused", "read of lane 0", "call A", "write 1 of lane 0", "join lane 0: 1"})...)
	}},
	{"rule 22: a worker without time for the next call leaves it to a timer", func(b *fixture) {
		lanes := b.forkOver(6)
		late := &timeLeft{b.t.Context(), time.Hour}
		b.script("A", answer{outcome: token.Success(value.Object()), during: func() { late.left = machine.DefaultDirect }})
		if _, err := b.Advance(late, lanes[0]); err != nil {
			b.t.Fatal(err)
		}
		b.wantTrace("read of lane 0", "read", "call A", "wake timer of lane 0 in 0s", "write 0 of lane 0")
		b.answer("A", `{}`, `{}`)
		b.advance(b.take())
		b.wantTrace("read of lane 0", "call A", "call A", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"a stop reaches the lanes of lanes", func(b *fixture) {
		_, lanes := b.fork(inner("Inner", taskText("A"), waitText("Pause", 5000)), waitText("Wait", 5000))
		b.advance(lanes[0])
		b.answer("A", `{}`)
		for _, wake := range b.takeAll() {
			b.advance(wake)
		}
		b.wakes = nil
		b.advance(lanes[1])
		b.wakes = append(b.wakes, b.stop())
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
}

// batchedWakes is a queue of batches. It accepts no more of a batch than so many wakes; 0 means
// all.
type batchedWakes struct {
	*fixture
	most int
}

func (w batchedWakes) SendAll(ctx context.Context, wakes []engine.Wake) error {
	w.note("batch of %d", len(wakes))
	for i, wake := range wakes {
		if w.most > 0 && i == w.most {
			return ErrFault
		}
		if err := w.Send(ctx, wake); err != nil {
			return err
		}
	}
	return nil
}

// lostFlows have lost all definitions.
type lostFlows struct{ engine.Flows }

func (lostFlows) Flow(_ context.Context, flow machine.FlowRef) (*flow.Flow, error) {
	return nil, engine.UnknownFlow(flow)
}

// parallel is a flow that begins with a parallel step of these branches.
func parallel(branches ...string) string {
	text := flowHead + "  - type: parallel\n    name: Fork\n    branches:\n"
	for _, branch := range branches {
		text += "      - steps:\n" + strings.TrimSuffix("        "+strings.ReplaceAll(branch, "\n", "\n        "), "        ")
	}
	return text
}

// inner is a parallel step inside of a branch.
func inner(name string, branches ...string) string {
	return strings.ReplaceAll(strings.TrimPrefix(parallel(branches...), flowHead), "Fork", name)
}

const foreachText = `  - type: foreach
    name: Each
    inputMappings: [{target: list, source: $input.list}]
    iterationMapping: {collection: $.list, item: one}
    maxConcurrency: 2
    steps:
      - type: task
        name: A
        resourceArn: acs:fc:::services/test/functions/A
`

// unevenText is a foreach in two lanes. An item that fails has as many events as three that
// succeed.
const unevenText = `  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    maxConcurrency: 2
    steps:
      - type: task
        name: A
        resourceArn: acs:fc:::services/test/functions/A
        catch:
          - errors: [FnF.ALL]
            steps:
              - {type: pass, name: P1}
              - {type: pass, name: P2}
              - {type: pass, name: P3}
              - {type: pass, name: P4}
              - {type: pass, name: P5}
              - {type: pass, name: P6}
              - {type: pass, name: P7}
`

const outputsText = `    outputMappings: [{target: all, source: $local}]
outputMappings: [{target: all, source: $local.all}]
`

// forkOver leads an execution to its foreach step with so many items, and returns the wakes of its
// two lanes.
func (b *fixture) forkOver(items int) []engine.Wake {
	b.t.Helper()
	b.WriteFormat = 1 // the lanes have fixed items
	b.wantStart(b.request(flowHead+foreachText, `{"list":[`+strings.Repeat("1,", items-1)+`1]}`), engine.StartedNew)
	b.advance(b.take())
	b.trace = nil
	return b.takeAll()
}

// timeLeft is a context of a worker that always has so much time left: it never ends, however slow
// the store is.
type timeLeft struct {
	context.Context
	left time.Duration
}

// Deadline implements [context.Context].
func (c *timeLeft) Deadline() (time.Time, bool) { return time.Now().Add(c.left), true }

// fork leads an execution to its parallel step with these branches. It returns the wakes of the
// start and of the lanes.
func (b *fixture) fork(branches ...string) (start engine.Wake, lanes []engine.Wake) {
	b.t.Helper()
	return b.forkOf(parallel(branches...))
}

func (b *fixture) forkOf(flow string) (start engine.Wake, lanes []engine.Wake) {
	b.t.Helper()
	start = b.begin(flow)
	b.advance(start)
	b.trace = nil
	return start, slices.DeleteFunc(b.takeAll(), func(w engine.Wake) bool {
		timer := w.Lane == nil
		if timer {
			b.wakes = append(b.wakes, w)
		}
		return timer
	})
}

// takeAll takes all wakes that were sent.
func (b *fixture) takeAll() []engine.Wake {
	b.mu.Lock()
	defer b.mu.Unlock()
	wakes := b.wakes
	b.wakes = nil
	return wakes
}

func (b *fixture) wakeOf(cause string) engine.Wake {
	return engine.Wake{Execution: testID, Cause: cause, Due: b.Now(), Sent: b.Now()}
}

// drain applies all wakes in the order of their instants, until none is left.
func (b *fixture) drain() {
	b.t.Helper()
	for range 1000 {
		wakes := b.takeAll()
		if len(wakes) == 0 {
			b.trace = nil
			return
		}
		slices.SortStableFunc(wakes, func(a, b engine.Wake) int { return a.Due.Compare(b.Due) })
		b.mu.Lock()
		b.wakes = append(b.wakes, wakes[1:]...)
		if wakes[0].Due.After(b.now) {
			b.now = wakes[0].Due
		}
		b.mu.Unlock()
		b.advance(wakes[0])
	}
	b.t.Fatal("the wakes do not end")
}

// wantIDs compares the history, but for what follows what is wanted.
func (b *fixture) wantIDs(want string) {
	b.t.Helper()
	events, err := b.History(b.t.Context(), testID)
	if err != nil {
		b.t.Fatal(err)
	}
	_, state := b.latest()
	flow, err := b.Flows.Flow(b.t.Context(), state.Flow)
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		name := e.Type.String()
		if e.Step >= 0 {
			name = flow.All[e.Step].Name + " " + name
		}
		got = append(got, fmt.Sprintf("%d %s", e.ID, name))
	}
	if shown := strings.Join(got, ", "); !strings.HasPrefix(shown, want) {
		b.t.Errorf("the history is\n%s\nwant\n%s", shown, want)
	}
	b.trace = nil
}

// wantOutput compares the output of an execution that succeeded.
func (b *fixture) wantOutput(want string) {
	b.t.Helper()
	b.wantSucceeded()
	state, err := b.Describe(b.t.Context(), testID)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := state.Output.JSON(); got != want {
		b.t.Errorf("the output is %.200s, want %.200s", got, want)
	}
}
