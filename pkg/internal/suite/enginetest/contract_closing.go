package enginetest

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// The handlers of the forks in the cases. A caught fork goes on with the step After.
const (
	catches = "    catch:\n      - {errors: [FnF.ALL], goto: After}\n"
	retries = "    retry:\n      - {errors: [Broken], intervalSeconds: 0, maxAttempts: 2}\n"
	pauses  = "    retry:\n      - {errors: [Broken], intervalSeconds: 10, maxAttempts: 1}\n"
)

// closingCases are rules 30 and 31: forks that are caught or tried again.
var closingCases = []ruleCase{
	{"rule 30: a failed fork closes, stops its other lanes, and is caught when all have joined", func(b *fixture) {
		_, failed := b.failing(catches, waitText("Long", 1000), taskText("C"))
		b.advance(failed)
		b.wantTrace("read", "1 joined", "read items of lane 0", "write 2", "1 joined", "wake stop of lane 1 in 0s", "wake stop of lane 2 in 0s")
		stops := b.takeAll()
		b.advance(stops[0])
		b.wantTrace("read of lane 1", "read", "write 1 of lane 1", "join lane 1: 2")
		b.advance(stops[1])
		b.wantTrace("read of lane 2", "read", "write 0 of lane 2", "join lane 2: 3", "wake joined in 0s")
		b.answer("After", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "3 joined", "write 3", "call After", "write 4")
		b.wantSucceeded()
	}},
	{"rule 30: a fork is caught after its workers write format 1 again", func(b *fixture) {
		_, failed := b.failing(catches, taskText("C"))
		b.WriteFormat = 1
		b.advance(failed)
		b.answer("After", `{}`)
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 30: the wake that closed a fork repeats that at once", func(b *fixture) {
		_, failed := b.failing(catches, taskText("C"))
		b.sendFails = 1
		b.wantError(failed, engine.CodeInternal)
		b.wantTrace("read", "1 joined", "read items of lane 0", "write 2", "1 joined", "wake stop of lane 1 in 0s: failed")
		b.advance(failed)
		b.wantTrace("read", "1 joined", "wake stop of lane 1 in 0s")
		b.advance(b.wakeOf(machine.CauseLaneFailed(b.waiting().Attempt.Number, "f9")))
		b.wantTrace("read", "1 joined")
	}},
	{"rule 30: a fork that closes when all lanes have joined sends joined", func(b *fixture) {
		lanes, failed := b.failing(catches, taskText("C"))
		b.answer("C", `{}`)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), lanes[1]) })
		b.advance(failed)
		b.wantTrace("read", "1 joined", "read items of lane 0", "write 2", "2 joined", "wake joined in 0s")
	}},
	{"rules 16 and 20: no lane begins while its fork closes, and a stop comes first", func(b *fixture) {
		lanes, failed := b.failing(catches, taskText("C"))
		b.advance(failed)
		b.trace = nil
		b.advance(lanes[1])
		b.wantTrace("read of lane 1", "read")
		b.answer("After", `{}`)
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 20: a lane that waits for lanes and closes is stopped", func(b *fixture) {
		branch := inner("Inner", taskText("A"), waitText("Long", 1000)) + catches + taskText("After")
		_, lanes := b.fork(branch, waitText("Other", 1000))
		b.script("A", answer{outcome: token.Failure("Broken", "")})
		b.advance(lanes[0])
		inside := b.takeAll()
		b.advance(inside[1])
		b.takeAll()
		b.advance(inside[0])
		b.advance(b.take()) // the inner fork closes
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
		b.wantUncalled("After")
	}},
	{"rule 31: a fork that is tried again has other lanes and another record", func(b *fixture) {
		_, failed := b.failing(retries, waitText("Long", 10))
		b.advance(failed)
		stop := b.take()
		b.advance(stop)
		b.trace = nil
		joined := b.take()
		b.advance(joined)
		b.wantTrace("read", "2 joined", "write 3", "wake start of lane 0 in 0s", "wake start of lane 1 in 0s")
		again := b.takeAll()
		b.wantPutBack(joined, after(time.Minute)) // it began the second attempt
		b.trace = nil
		b.advance(stop) // the lane joins the first attempt again
		b.wantTrace("read of lane 1", "join lane 1: 2", "wake joined in 0s")
		b.at(time.Minute)
		b.advance(b.take())
		b.wantTrace("read")
		b.answer("A", `{}`)
		b.advance(again[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: 1")
		b.advance(again[1])
		b.at(time.Minute + 10*time.Second)
		b.advance(b.take())
		b.answer("After", `{}`)
		b.advance(b.take())
		b.wantSucceeded()
		b.wantDistinct("the keys", b.keys, 3)
	}},
	{"rule 31: a fork is tried again as often as its policy says, and then fails", func(b *fixture) {
		_, failed := b.failing(retries)
		b.advance(failed)
		b.script("A", answer{outcome: token.Failure("Broken", "")})
		b.script("A", answer{outcome: token.Failure("Broken", "")})
		b.drain()
		b.wantEnd(machine.StatusFailed, "Broken")
		b.wantDistinct("the keys", b.keys, 3)
	}},
	{"rule 31: the pause before a retry is a wait with a timer", func(b *fixture) {
		lanes, failed := b.failing(pauses)
		b.advance(failed)
		b.wantTrace("read", "1 joined", "read items of lane 0", "wake timer in 10s", "write 2")
		timer := b.take()
		b.advance(failed)
		stop := lanes[0]
		stop.Cause = machine.CauseStop
		b.advance(stop) // the lane joins again, which changes the record of its attempt alone
		b.wantTrace("read", "read of lane 0", "join lane 0: 1", "wake joined in 0s")
		b.advance(b.take())
		b.wantTrace("read")
		b.at(10 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "write 3", "wake start of lane 0 in 0s")
	}},
	{"rule 31: a fork is stopped in the pause", func(b *fixture) {
		_, failed := b.failing(pauses)
		b.advance(failed)
		b.advance(b.stop())
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 19: a stop reaches a fork that closes, and is repeated at once", func(b *fixture) {
		_, failed := b.failing(catches, waitText("Long", 1000))
		b.advance(failed)
		b.wakes = nil // the stop of the lane is lost
		stop := b.stop()
		b.sendFails, b.trace = 1, nil
		b.wantError(stop, engine.CodeInternal)
		b.wantTrace("read", "read the request to stop", "write 3", "1 joined", "wake stop of lane 1 in 0s: failed")
		b.advance(stop)
		b.wantTrace("read", "1 joined", "wake stop of lane 1 in 0s")
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
		b.wantUncalled("After")
	}},
	{"rule 21: a defect of a fork that closes makes it ending", func(b *fixture) {
		_, failed := b.failing(catches, waitText("Long", 1000))
		b.advance(failed)
		b.wakes, b.trace = nil, nil
		b.abandon(failed, engine.AbandonedExecution)
		b.wantTrace("read", "1 joined", "write 3", "1 joined", "wake stop of lane 1 in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 15: recovery stops the lanes of a fork that closes", func(b *fixture) {
		_, failed := b.failing(catches, waitText("Long", 1000))
		b.advance(failed)
		b.restart()
		b.answer("After", `{}`)
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 33: rearm stops the lanes of a fork that closes", func(b *fixture) {
		_, failed := b.failing(catches, waitText("Long", 1000))
		b.advance(failed)
		b.wakes, b.trace = nil, nil
		b.at(time.Hour)
		b.advance(rearmWake(machine.CauseRearm))
		b.wantTrace("read", "no request to stop", "1 joined", "wake stop of lane 1 in 0s")
		b.answer("After", `{}`)
		b.drain()
		b.wantSucceeded()
	}},
}

// failing begins a parallel with the handlers, whose first branch calls A and fails. It returns the
// wakes of its lanes, and the wake that the failed one sent to its log. Lanes that wait have begun.
func (b *fixture) failing(handlers string, others ...string) (lanes []engine.Wake, failed engine.Wake) {
	b.t.Helper()
	_, lanes = b.forkOf(parallel(append([]string{taskText("A")}, others...)...) + handlers + taskText("After"))
	for i, branch := range others {
		if branch != taskText("C") {
			b.advance(lanes[i+1])
		}
	}
	b.takeAll()
	b.script("A", answer{outcome: token.Failure("Broken", "it broke")})
	b.advance(lanes[0])
	failed = b.take()
	b.trace = nil
	return lanes, failed
}

// wantUncalled checks that a function was not called.
func (b *fixture) wantUncalled(function string) {
	b.t.Helper()
	if slices.Contains(b.trace, "call "+function) {
		b.t.Errorf("%s was called:\n%q", function, b.trace)
	}
}
