package enginetest

import (
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// limitedHead begins a flow that may take half a minute.
const limitedHead = "version: v1\ntype: flow\ntimeoutSeconds: 30\nsteps:\n"

var limitedAsk = limitedHead + callbackText() + taskText("Next")

// limitCases are the time limit of an execution: it ends as by a stop, by the
// timer that the state has anyway.
var limitCases = []ruleCase{
	{"limit: a token without a deadline has the timer of the limit", func(b *fixture) {
		b.answer("Ask", `{}`)
		b.advance(b.begin(limitedAsk))
		b.wantTrace("read", "wake timer in 30s", "write 1", "call Ask", "write 2")
	}},
	{"limit: what ends before it has its own timer", func(b *fixture) {
		b.advance(b.begin(limitedHead + waitText("Pause", 10) + waitText("Again", 60)))
		b.wantTrace("read", "wake timer in 10s", "write 1")
		b.at(10 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "wake timer in 20s", "write 2")
		b.at(30 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "write 3")
		b.wantTimedOut("ExecutionTimedOut")
	}},
	{"rule 9: the limit while a token is out: ending is committed, then closed, then the end", func(b *fixture) {
		b.ask(limitedAsk)
		handle := b.waiting().Handle()
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "write 3", "close by stop: closed by stop", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
		b.wantTold(handle, token.ClosedByStop, machine.ErrorStopped)
	}},
	{"rule 9: the limit records a success that came first as a success", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		b.at(29 * time.Second)
		wake := b.close(success)
		b.at(30 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "write 3", "close by stop: closed by hand", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Succeeded ExecutionTimedOut")
		b.advance(wake)
		b.wantTrace("read")
	}},
	{"rule 9: a success whose wake comes after the limit is recorded, and the execution ends", func(b *fixture) {
		b.ask(limitedAsk)
		b.at(29 * time.Second)
		wake := b.close(success)
		b.at(31 * time.Second)
		b.trace = nil
		b.advance(wake)
		b.wantTimedOut("Scheduled Started Submitted Succeeded ExecutionTimedOut")
	}},
	{"rule 9: the limit and a hand in one instant, the token decides and both are told the same", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.TokenStore = closesFirst{b.TokenStore, func() { b.close(success) }}
		b.advance(timer)
		b.wantTrace("read", "write 3", "close by stop: closed by hand", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Succeeded ExecutionTimedOut")
	}},
	{"rule 9: the timer of a limit that was cut repeats the closing when its worker is dead", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(timer, engine.CodeInternal)
		b.wantTrace("read", "write 3", "close by stop: failed")
		b.wantPutBack(timer, after(90*time.Second))
		b.at(90 * time.Second)
		b.trace = nil
		b.advance(timer)
		b.wantTrace("read", "look: open", "close by stop: closed by stop", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
	}},
	{"rule 9: the timer of a limit that was cut after the closing commits the end", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.log.FailAppends(NoFault, LoseWrite)
		b.wantError(timer, engine.CodeInternal)
		b.trace = nil
		b.at(90 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "look: closed by stop", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
	}},
	{"rule 9: a limit whose first commit lost its answer goes on", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.log.FailAppends(LoseAnswer)
		b.advance(timer)
		b.wantTrace("read", "write 3: failed", "read items", "close by stop: closed by stop", "write 4")
	}},
	{"rule 9: a stop and then the limit: the stop's end stays", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		stop := b.stop()
		b.rivalStops(stop)
		b.at(30 * time.Second)
		b.advance(timer)
		b.wantTrace("read")
		b.at(time.Minute)
		b.advance(stop)
		b.wantTrace("read", "look: open", "close by stop: closed by stop", "write 4")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: the limit and then a stop: the limit's end stays", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.rivalStops(timer)
		stop := b.stop()
		b.advance(stop)
		b.wantTrace("read", "read the request to stop")
		b.at(90 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "look: open", "close by stop: closed by stop", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
	}},
	{"rule 9: the limit and a stop at once, one ends it", func(b *fixture) {
		b.ask(limitedAsk)
		timer := b.takeTimer()
		stop := b.stop()
		b.at(30 * time.Second)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), stop) })
		b.advance(timer)
		b.wantTrace("read", "write 3: refused", "read")
	}},
	{"rule 9: the limit goes before a deadline in the same instant", func(b *fixture) {
		b.ask(limitedHead + callbackText("timeoutSeconds: 30"))
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "write 3", "close by stop: closed by stop", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
	}},
	{"limit: in the pause before a retry it is one commit", func(b *fixture) {
		b.script("First", answer{outcome: broken})
		b.advance(b.begin(limitedHead + taskText("First", "retry: [{errors: [Broken], intervalSeconds: 60}]")))
		b.wantTrace("read", "call First", "wake timer in 30s", "write 1")
		b.at(30 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "write 2")
		b.wantTimedOut("Scheduled Started Failed ExecutionTimedOut")
	}},
	{"limit: between two polls it is one commit", func(b *fixture) {
		timer := b.polling(limitedHead + conditionText())
		b.at(31 * time.Second) // late
		b.advance(timer)
		b.wantTrace("read", "write 2")
		b.wantTimedOut("Scheduled Started ExecutionTimedOut")
	}},
	{"limit: a claimed call that is under way is not waited for, and its result is dropped", func(b *fixture) {
		start := b.begin(limitedHead + taskText("Once", atMostOnce))
		b.script("Once", answer{outcome: success, during: func() {
			timer := b.takeTimer()
			b.at(30 * time.Second)
			b.advanceBy(b.rival(), timer)
		}})
		b.advance(start)
		b.wantTrace("read", "wake timer in 30s", "write 1", "call Once", "write 2: refused", "read")
		b.wantTimedOut("Scheduled Started ExecutionTimedOut")
	}},
	{"limit: a call that returns after it does not go on", func(b *fixture) {
		b.script("First", answer{outcome: success, during: func() { b.at(31 * time.Second) }})
		b.advance(b.begin(limitedHead + taskText("First") + taskText("Next")))
		if _, state := b.latest(); state.Status != machine.StatusTimedOut {
			b.t.Errorf("the execution is %s", state.Status)
		}
	}},
	{"limit: a start that comes after it calls nothing", func(b *fixture) {
		start := b.begin(limitedHead + taskText("First"))
		b.at(31 * time.Second)
		b.advance(start)
		b.wantTrace("read", "write 1")
		b.wantTimedOut("ExecutionTimedOut")
	}},
	{"limit: where the flow has none there is no timer, and each wake looks", func(b *fixture) {
		b.Limits.Duration = time.Hour
		start := b.ask(askFlow)
		if len(b.wakes) > 0 {
			b.t.Errorf("wakes %+v", b.wakes)
		}
		b.at(time.Hour - 1)
		b.advance(start)
		b.wantTrace("read", "look: open")
		b.at(time.Hour)
		b.advance(engine.Wake{Execution: testID, Cause: "nothing", Due: epoch, Sent: epoch}) // which would be dropped
		b.wantTrace("read", "wake limit in 0s")
		b.advance(b.take())
		b.wantTrace("read", "write 3", "close by stop: closed by stop", "write 4")
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
	}},
	{"rule 6: an end by the limit survives its worker if the other delivery of the wake is deleted", func(b *fixture) {
		b.Limits.Duration = time.Hour
		start := b.ask(askFlow)
		nothing := engine.Wake{Execution: testID, Cause: "nothing", Due: epoch, Sent: epoch}
		for _, wake := range []engine.Wake{start, nothing} {
			b.at(time.Hour - 1)
			b.advance(wake) // the message is deleted
		}
		b.Ends = &told{b, 1}
		b.log.FailAppends(NoFault, LoseWrite)
		b.at(time.Hour)
		for _, wake := range []engine.Wake{start, nothing} { // the other deliveries, which do not come again
			_, _ = b.Advance(b.t.Context(), wake)
		}
		for range 4 {
			b.deliverAll()
			b.at(b.Now().Sub(epoch) + time.Minute)
		}
		if last := b.trace[len(b.trace)-1]; last != "told TimedOut" {
			b.t.Errorf("the end is not reported: %q", b.trace)
		}
		b.wantTimedOut("Scheduled Started Submitted Failed ExecutionTimedOut")
	}},
	{"rule 2: a wake that is dropped makes no call in the place of a late timer", func(b *fixture) {
		b.Limits.Duration = 20 * time.Second // and the flow says more
		b.advance(b.begin(limitedHead + waitText("Pause", 10) + taskText("Next")))
		b.wantTrace("read", "wake timer in 10s", "write 1")
		b.at(25 * time.Second)
		b.advance(engine.Wake{Execution: testID, Cause: "nothing", Due: epoch, Sent: epoch})
		b.wantTrace("read")
		b.answer("Next", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "call Next", "write 2")
	}},
	{"rule 8: a wake that is sent again looks at the limit when it comes again", func(b *fixture) {
		b.Limits.Duration = 20 * time.Second
		b.ask(askFlow)
		b.at(25 * time.Second)
		late := engine.Wake{Execution: testID, Cause: "later", Due: epoch, Sent: epoch, Seq: 3}
		b.advance(late)
		b.wantTrace("read", "wake timer in 1s")
		b.take()
		late.Sent = epoch.Add(-2 * time.Hour)
		b.advance(late)
		b.wantTrace("read", "wake limit in 0s")
		b.advance(b.take())
		b.wantTrace("read", "write 3", "close by stop: closed by stop", "write 4")
	}},
	{"rule 7: what is pending after the limit is not called any more", func(b *fixture) {
		b.answer("First", `{}`)
		b.script("Second", answer{err: errStopped})
		start := b.begin(limitedHead + taskText("First") + taskText("Second"))
		b.wantError(start, engine.CodeInternal)
		b.at(time.Minute)
		b.wakes, b.trace = nil, nil
		b.advance(start)
		b.wantTrace("read", "wake limit in 0s")
		b.advance(b.take())
		b.wantTrace("read", "write 2")
		b.wantTimedOut("Scheduled Started Succeeded Scheduled Started ExecutionTimedOut")
	}},
	{"rule 7: what is to be submitted after the limit is closed", func(b *fixture) {
		start := b.askedNot(limitedAsk)
		b.at(time.Minute)
		b.wakes = nil
		b.advance(start)
		b.wantTrace("read", "look: open", "wake limit in 0s")
		b.advance(b.take())
		b.wantTrace("read", "write 2", "close by stop: closed by stop", "write 3")
		b.wantTimedOut("Scheduled Started Failed ExecutionTimedOut")
	}},
	{"limit: it is fixed at the start how long an execution is kept", func(b *fixture) {
		b.Limits.Duration, b.Limits.Retention = time.Hour, 2*time.Hour
		b.begin(askFlow)
		if _, state := b.latest(); !state.Expires.Equal(after(3 * time.Hour)) {
			b.t.Errorf("it is kept until %s", state.Expires)
		}
	}},
	{"limit: what the flow says counts for how long an execution is kept", func(b *fixture) {
		b.Limits.Duration, b.Limits.Retention = time.Hour, 2*time.Hour
		b.begin(limitedAsk)
		if _, state := b.latest(); !state.Expires.Equal(after(2*time.Hour + 30*time.Second)) {
			b.t.Errorf("it is kept until %s", state.Expires)
		}
	}},
	{"limit: a flow that is not there cannot be started", func(b *fixture) {
		request := b.request(onlyText, "")
		request.Flow.Hash = "unknown"
		if _, err := b.Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodeNotFound {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace()
	}},
}

// wantTimedOut compares the history of an execution that ran out of time.
func (b *fixture) wantTimedOut(history string) {
	b.t.Helper()
	b.trace = nil
	b.wantEnd(machine.StatusTimedOut, machine.ErrorExecutionTimeout)
	b.wantHistory(history)
}

// deliverAll delivers the wakes that are under way. One that fails, or is put back, is under way
// again.
func (b *fixture) deliverAll() {
	wakes := b.wakes
	b.wakes = nil
	for _, wake := range wakes {
		if again, err := b.Advance(b.t.Context(), wake); err != nil || !again.RetryAt.IsZero() {
			b.wakes = append(b.wakes, wake)
		}
	}
}
