package enginetest

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

const (
	// tryAgain retries after 10 s and after 20 s.
	tryAgain = "retry: [{errors: [Broken], intervalSeconds: 10, maxAttempts: 2}]"
	// toldMapping has Ask told of its token.
	toldMapping = "inputMappings: [{target: token, source: $context.task.token}]"
)

var (
	retryFlow    = flowHead + taskText("First", tryAgain)
	retryAskFlow = flowHead + callbackText(toldMapping, tryAgain)
)

// retryCases are attempts that are tried again: the pause is a timer and nothing
// else, and the next attempt is another one.
var retryCases = []ruleCase{
	{"retry: a failed direct call is one commit, and its timer makes the next attempt", func(b *fixture) {
		timer := b.pausedRetry()
		b.at(10 * time.Second)
		b.script("First", answer{outcome: broken})
		b.advance(timer)
		b.wantTrace("read", "call First", "wake timer in 20s", "write 2")
		b.at(30 * time.Second)
		b.answer("First", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "call First", "write 3")
		b.wantHistory("Scheduled Started Failed Scheduled Started Failed Scheduled Started Succeeded ExecutionSucceeded")
		b.wantDistinct("the keys", b.keys, 3)
	}},
	{"retry: when the policy is used up the failure is the step's", func(b *fixture) {
		timer := b.pausedRetry()
		for _, at := range []time.Duration{10 * time.Second, 30 * time.Second} {
			b.at(at)
			b.script("First", answer{outcome: broken})
			b.advance(timer)
			timer = engine.Wake{}
			if at < 30*time.Second {
				timer = b.take()
			}
		}
		b.wantTrace("read", "call First", "wake timer in 20s", "write 2", "read", "call First", "write 3")
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"retry: each policy counts for itself, and a restart changes nothing", func(b *fixture) {
		const two = "retry: [{errors: [Broken], intervalSeconds: 10, maxAttempts: 1}, {errors: [FnF.ALL], intervalSeconds: 5, maxAttempts: 1}]"
		b.script("First", answer{outcome: broken})
		b.advance(b.begin(flowHead + taskText("First", two)))
		for i, failure := range []token.Outcome{token.Failure("Other", ""), broken} {
			b.restart()
			timer := b.takeTimer()
			b.at(timer.Due.Sub(epoch))
			b.script("First", answer{outcome: failure})
			b.trace = nil
			b.advance(timer)
			b.wantTrace([][]string{{"read", "call First", "wake timer in 5s", "write 2"}, {"read", "call First", "write 3"}}[i]...)
		}
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"retry: after a restart the timer is all that is sent", func(b *fixture) {
		b.pausedRetry()
		b.at(4 * time.Second)
		b.restart()
		b.wantTrace("no request to stop", "wake timer in 6s")
	}},
	{"rule 1: in the pause every other wake is dropped", func(b *fixture) {
		b.pausedRetry()
		b.at(time.Minute)
		b.advance(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch})
		b.wantTrace("read")
	}},
	{"rule 3: a pause whose timer was not sent is not committed, and the call is not made again", func(b *fixture) {
		b.script("First", answer{outcome: broken})
		start := b.begin(retryFlow)
		b.sendFails = 1
		b.advance(start)
		b.wantTrace("read", "call First", "wake timer in 10s: failed", "read", "wake timer in 10s", "write 1")
	}},
	{"rule 4: a pause whose commit lost its answer was committed", func(b *fixture) {
		b.script("First", answer{outcome: broken})
		b.log.FailAppends(NoFault, LoseAnswer)
		b.advance(b.begin(retryFlow))
		b.wantTrace("read", "call First", "wake timer in 10s", "write 1: failed", "read items")
	}},
	{"rule 4: refused, the next attempt is the same one with its result", func(b *fixture) {
		timer := b.pausedRetry()
		b.at(10 * time.Second)
		b.answer("First", `{}`)
		b.log.FailAppends(Refuse)
		b.advance(timer)
		b.wantTrace("read", "call First", "write 2: refused", "read", "write 2")
		b.wantSucceeded()
	}},
	{"rule 4: two workers at one retry, one result counts", func(b *fixture) {
		timer := b.pausedRetry()
		b.at(10 * time.Second)
		b.script("First", answer{outcome: broken})
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), timer) })
		b.advance(timer)
		b.wantTrace("read", "call First", "wake timer in 20s", "write 2: refused", "read")
		b.wantSucceeded()
	}},
	{"rule 6: a retry whose worker dies is made again, as the same attempt", func(b *fixture) {
		timer := b.pausedRetry()
		b.at(10 * time.Second)
		b.script("First", answer{err: errStopped})
		b.wantError(timer, engine.CodeInternal)
		b.wantTrace("read", "call First: stopped")
		b.answer("First", `{}`)
		b.advance(timer)
		b.wantTrace("read", "call First", "write 2")
		if b.keys[1] != b.keys[2] {
			b.t.Error("the call that was made again has another key")
		}
	}},
	{"rule 8: the timer of a retry comes early, late and twice", func(b *fixture) {
		timer := b.pausedRetry()
		b.at(4 * time.Second)
		b.advance(timer)
		b.wantTrace("wake timer in 6s")
		b.take()
		b.at(time.Hour)
		b.script("First", answer{outcome: broken})
		b.advance(timer)
		b.wantTrace("read", "call First", "wake timer in 20s", "write 2")
		b.advance(timer)
		b.wantTrace("read")
		if _, state := b.latest(); !state.Timer.Due.Equal(after(time.Hour + 20*time.Second)) {
			b.t.Errorf("the next timer is due at %s", state.Timer.Due)
		}
	}},
	{"rule 12: a stop in the pause is one commit, and its timer does nothing", func(b *fixture) {
		timer := b.pausedRetry()
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 2")
		b.wantEnd(machine.StatusStopped, "Enough")
		b.at(10 * time.Second)
		b.advance(timer)
		b.wantTrace("read")
	}},
	{"retry: a claimed call is claimed anew, and the claim of before does nothing", func(b *fixture) {
		b.script("Once", answer{outcome: broken})
		b.advance(b.begin(flowHead + taskText("Once", atMostOnce, tryAgain)))
		b.wantTrace("read", "wake timer in 45s", "write 1", "call Once", "wake timer in 10s", "write 2")
		timer := b.takeTimer()
		b.at(10 * time.Second)
		b.answer("Once", `{}`)
		b.advance(timer)
		b.wantTrace("read", "wake timer in 45s", "write 3", "call Once", "write 4")
		b.wantSucceeded()
		b.wantDistinct("the keys", b.keys, 2)
		b.at(45 * time.Second)
		for _, claim := range b.wakes {
			b.advance(engine.Wake{Execution: claim.Execution, Cause: claim.Cause, Due: epoch, Sent: epoch, Seq: claim.Seq})
			b.wantTrace("read")
		}
	}},
	{"retry: a claimed call with an unknown result is a failure to retry", func(b *fixture) {
		b.script("Once", answer{err: errStopped})
		b.wantError(b.begin(flowHead+taskText("Once", atMostOnce, "retry: [{errors: [FnF.TaskInterrupted], intervalSeconds: 10}]")), engine.CodeInternal)
		b.trace = nil
		b.at(45 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "wake timer in 10s", "write 2")
		b.at(55 * time.Second)
		b.answer("Once", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "wake timer in 45s", "write 3", "call Once", "write 4")
	}},
	{"retry: without a pause the next attempt is claimed with the failure of the one before", func(b *fixture) {
		b.script("Once", answer{err: errStopped})
		b.wantError(b.begin(flowHead+taskText("Once", atMostOnce, "retry: [{errors: [FnF.ALL], intervalSeconds: 0}]")), engine.CodeInternal)
		b.trace = nil
		lapsed := b.take()
		b.at(45 * time.Second)
		b.answer("Once", `{}`)
		b.advance(lapsed)
		b.wantTrace("read", "wake timer in 45s", "write 2", "call Once", "write 3")
		b.wantSucceeded()
	}},
	{"retry: another attempt has another token, and who closes the first one is told what came first", func(b *fixture) {
		first := b.retriedAsk()
		old := b.inputs["Ask"].Get("token").Text()
		b.at(10 * time.Second)
		b.answer("Ask", `{}`)
		b.advance(b.takeTimer())
		b.wantTrace("read", "write 4", "call Ask", "write 5")
		second := b.waiting()
		if second.Handle() == first || b.inputs["Ask"].Get("token").Text() == old {
			b.t.Error("the second attempt has the token of the first")
		}
		b.wantTold(first, token.ClosedByHand, "Broken")
		b.advance(engine.Wake{Execution: testID, Cause: first, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read")
		if w := b.waiting(); w.Attempt != second.Attempt || w.Handle() != second.Handle() {
			b.t.Errorf("the execution waits for %+v", w)
		}
		b.advance(b.close(success))
		b.wantHistory("Scheduled Started Submitted Failed Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"retry: who closes the token in the pause is told what came first", func(b *fixture) {
		first := b.retriedAsk()
		b.wantTold(first, token.ClosedByHand, "Broken")
		b.advance(engine.Wake{Execution: testID, Cause: first, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read")
	}},
	{"retry: a doubled wake of the first token leaves the second attempt alone", func(b *fixture) {
		first := b.retriedAsk()
		b.at(10 * time.Second)
		b.answer("Ask", `{}`)
		b.advance(b.takeTimer())
		b.at(2 * time.Minute) // every process that closed it has ended
		b.trace = nil
		b.advance(engine.Wake{Execution: testID, Cause: first, Due: epoch, Sent: epoch})
		b.wantTrace("read")
	}},
	{"retry: each attempt has its own deadline", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline, "retry: [{errors: [FnF.TaskTimeout], intervalSeconds: 10, maxAttempts: 1}]"))
		first := b.waiting().Handle()
		timer := b.takeTimer()
		b.at(time.Minute)
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "wake timer in 10s", "write 3")
		b.wantTold(first, token.ClosedByDeadline, machine.ErrorTaskTimeout)
		b.at(70 * time.Second)
		b.answer("Ask", `{}`)
		b.advance(b.takeTimer())
		b.wantTrace("read", "wake timer in 1m0s", "write 4", "call Ask", "write 5")
		b.at(130 * time.Second)
		b.advance(b.takeTimer())
		b.wantTrace("read", "close by deadline: closed by deadline", "write 6")
		b.wantHistory("Scheduled Started Submitted TimedOut Scheduled Started Submitted TimedOut ExecutionFailed")
	}},
	{"retry: a submission that failed is tried again with another token", func(b *fixture) {
		b.script("Ask", answer{outcome: broken})
		b.advance(b.begin(retryAskFlow))
		b.wantTrace("read", "write 1", "call Ask", "close by submit: closed by submit", "wake timer in 10s", "write 2")
		first := b.waiting()
		b.at(10 * time.Second)
		b.answer("Ask", `{}`)
		b.advance(b.takeTimer())
		b.wantTrace("read", "write 3", "call Ask", "write 4")
		if second := b.waiting(); !second.Submitted() || second.Attempt == first.Attempt {
			b.t.Errorf("the execution waits for %+v", second)
		}
		b.advance(b.close(success))
		b.wantHistory("Scheduled Started SubmitFailed Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 7: an attempt that a timer entered is submitted again by that timer", func(b *fixture) {
		b.retriedAsk()
		timer := b.takeTimer()
		b.at(10 * time.Second)
		b.script("Ask", answer{err: errStopped})
		b.wantError(timer, engine.CodeInternal)
		b.trace = nil
		b.wantPutBack(timer, after(70*time.Second))
		b.at(70 * time.Second)
		b.answer("Ask", `{}`)
		b.trace = nil
		b.advance(timer)
		b.wantTrace("read", "look: open", "call Ask", "write 5")
		if b.keys[1] != b.keys[2] {
			b.t.Error("the submission that was made again has another key")
		}
	}},
	{"retry: a long call is queued again as another task, and the first task does nothing", func(b *fixture) {
		b.limits = map[string]time.Duration{"Long": time.Hour}
		b.advance(b.begin(flowHead + taskText("Long", tryAgain)))
		first := b.takeTask()
		b.script("Long", answer{outcome: broken})
		b.rerun(first)
		b.advance(b.take())
		b.at(10 * time.Second)
		b.trace = nil
		b.advance(b.takeTimer())
		b.wantTrace("read", "write 4", "queue Long", "write 5")
		second := b.takeTask()
		if second.Handle == first.Handle || second.Call.Key() == first.Call.Key() {
			b.t.Error("the second task is the first one")
		}
		b.rerun(first)
		b.wantTrace("look: closed by task", "wake token in 0s")
		b.advance(b.take())
		b.wantTrace("read")
		b.answer("Long", `{}`)
		b.rerun(second)
		b.advance(b.take())
		b.wantSucceeded()
	}},
	{"rule 2: what catches an error is called after the failure was committed", func(b *fixture) {
		b.script("First", answer{outcome: broken})
		b.answer("Repair", `{}`)
		b.advance(b.begin(flowHead + taskText("First", "catch: [{errors: [Broken], goto: Repair}]") + taskText("Next") + taskText("Repair")))
		b.wantTrace("read", "call First", "write 1", "call Repair", "write 2")
		b.wantHistory("Scheduled Started Failed Scheduled Started Succeeded ExecutionSucceeded")
	}},
	{"retry: a catch comes after the retries", func(b *fixture) {
		b.script("First", answer{outcome: broken})
		b.advance(b.begin(flowHead + taskText("First", tryAgain, "catch: [{errors: [FnF.ALL], goto: Repair}]") + taskText("Repair")))
		b.wantTrace("read", "call First", "wake timer in 10s", "write 1")
		b.at(10 * time.Second)
		b.script("First", answer{outcome: broken})
		b.advance(b.take())
		b.wantTrace("read", "call First", "wake timer in 20s", "write 2")
		b.at(30 * time.Second)
		b.script("First", answer{outcome: broken})
		b.answer("Repair", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "call First", "write 3", "call Repair", "write 4")
		b.wantSucceeded()
	}},
}

// pausedRetry leads an execution of retryFlow to the pause after its first
// attempt and gives its timer.
func (b *fixture) pausedRetry() engine.Wake {
	b.t.Helper()
	b.script("First", answer{outcome: broken})
	b.advance(b.begin(retryFlow))
	b.wantTrace("read", "call First", "wake timer in 10s", "write 1")
	if w := b.waiting(); w.For != machine.WaitingForRetry || !w.Due.Equal(after(10*time.Second)) || !slices.Equal(w.Retried, []int{1}) {
		b.t.Fatalf("the execution waits for %+v", w)
	}
	return b.take()
}

// retriedAsk leads an execution of retryAskFlow to the pause after a client
// closed its token as failed, and gives the handle of that.
func (b *fixture) retriedAsk() string {
	b.t.Helper()
	b.ask(retryAskFlow)
	handle := b.waiting().Handle()
	b.advance(b.close(broken))
	b.wantTrace("read", "look: closed by hand", "wake timer in 10s", "write 3")
	return handle
}

// wantTold reports a success for a token that is closed.
func (b *fixture) wantTold(handle string, by token.Closer, name string) {
	b.t.Helper()
	record, err := b.store.Close(b.t.Context(), handle, token.CloseOp{Outcome: success, By: token.ClosedByHand, At: b.Now()})
	if err != nil || record.Open() || record.ClosedBy != by || record.Outcome.Error != name {
		b.t.Errorf("a late closer is told %+v, error %v; want %s by %s", record, err, name, by)
	}
}

// restart has another process take over: what was sent and not applied is sent
// again by it.
func (b *fixture) restart() {
	b.t.Helper()
	b.wakes = nil
	b.Generation++
	item, state := b.latest()
	b.trace = nil
	if err := b.Recover(b.t.Context(), item, state); err != nil {
		b.t.Fatal(err)
	}
}
