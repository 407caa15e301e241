package enginetest

import (
	"context"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

var (
	askFlow     = flowHead + callbackText()
	askNextFlow = flowHead + callbackText() + taskText("Next")
	deadline    = "timeoutSeconds: 60"
	heartbeat   = "heartbeatSeconds: 20"
	atMostOnce  = "atMostOnce: true"
	longFlow    = flowHead + taskText("Long")
	broken      = token.Failure("Broken", "it is broken")
)

// submitCases are rule 5, and of rule 2 what concerns tokens.
var submitCases = []ruleCase{
	{"rule 5: committed as waiting before it is submitted", func(b *fixture) {
		b.script("Ask", answer{outcome: success, during: func() {
			item, state := b.latest()
			w := state.Waiting
			if item.Seq != 1 || w.Token() == nil || w.Submitted() || w.By != machine.CauseStart || !w.Since.Equal(epoch) {
				b.t.Errorf("when Ask was called item %d waited for %+v", item.Seq, w)
			}
		}})
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "call Ask", "write 2")
	}},
	{"rule 5: one commit records TaskSubmitted with the answer", func(b *fixture) {
		b.ask(askFlow)
		history, err := b.History(b.t.Context(), testID)
		if err != nil {
			b.t.Fatal(err)
		}
		if last := history[len(history)-1]; last.Type != machine.TaskSubmitted || last.Output.JSON() != `{"asked":true}` {
			b.t.Errorf("the last event is %s with output %s", last.Type, last.Output)
		}
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 5: a callback execution is 4 writes of the log, 1 outcome and 2 wakes", func(b *fixture) {
		b.wantStart(b.request(askFlow, ""), engine.StartedNew)
		b.answer("Ask", `{}`)
		b.advance(b.take())
		b.wantTrace("wake start in 0s", "write 0", "read", "write 1", "call Ask", "write 2")
		b.at(time.Hour)
		b.advance(b.close(success)) // a wake and the outcome
		b.wantTrace("read", "look: closed by hand", "write 3")
		b.wantSucceeded()
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 5: no TaskSubmitted when the attempt is resolved", func(b *fixture) {
		start := b.begin(askFlow)
		b.script("Ask", answer{outcome: success, during: func() { b.advanceBy(b.rival(), b.close(success)) }})
		b.advance(start)
		b.wantTrace("read", "write 1", "call Ask", "write 2: refused", "read")
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
	}},
	{"rule 5: a token that closed meanwhile and is not applied yet is applied after TaskSubmitted", func(b *fixture) {
		start := b.begin(askFlow)
		var wake engine.Wake
		b.script("Ask", answer{outcome: success, during: func() { wake = b.close(success) }})
		b.advance(start)
		b.wantTrace("read", "write 1", "call Ask", "write 2")
		b.advance(wake)
		b.wantTrace("read", "look: closed by hand", "write 3")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 5: an answer to a submission that is too large is not kept, and the token stays open", func(b *fixture) {
		b.script("Ask", answer{outcome: token.Success(object(b.t, `{"large":"`+strings.Repeat("x", 400<<10)+`"}`))})
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "call Ask", "write 2")
		b.advance(b.close(success))
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 5: a failure with a long cause fits", func(b *fixture) {
		b.script("Ask", answer{outcome: token.Failure(strings.Repeat("e", 1000), strings.Repeat("c", 400<<10))})
		b.advance(b.begin(askFlow))
		if _, state := b.latest(); len(state.Error) != token.MaxError || len(state.Cause) != 4096 {
			b.t.Errorf("the error has %d bytes and the cause %d", len(state.Error), len(state.Cause))
		}
	}},
	{"rule 5: a submit failure closes the token", func(b *fixture) {
		b.script("Ask", answer{outcome: broken})
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "call Ask", "close by submit: closed by submit", "write 2")
		b.wantHistory("Scheduled Started SubmitFailed ExecutionFailed")
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"rule 5: after a submit failure what the token holds is applied", func(b *fixture) {
		start := b.begin(askFlow)
		b.script("Ask", answer{outcome: broken, during: func() { b.close(success) }})
		b.advance(start)
		b.wantTrace("read", "write 1", "call Ask", "close by submit: closed by hand", "write 2")
		b.wantSucceeded()
	}},
	{"rule 5: a submit failure whose closing was lost is closed again without a call", func(b *fixture) {
		b.script("Ask", answer{outcome: broken})
		b.updateFaults = []Fault{LoseWrite}
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "call Ask", "close by submit: failed", "read", "look: open", "close by submit: closed by submit", "write 2")
	}},
	{"rule 5: a submit failure whose closing lost its answer is applied", func(b *fixture) {
		b.script("Ask", answer{outcome: broken})
		b.updateFaults = []Fault{LoseAnswer}
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "call Ask", "close by submit: failed", "read", "look: closed by submit", "write 2")
	}},
	{"rule 5: a lost commit of TaskSubmitted is made again without a call", func(b *fixture) {
		b.lostSubmitted(askFlow)
	}},
	{"rule 5: a lost commit of TaskSubmitted is made again also with atMostOnce", func(b *fixture) {
		b.lostSubmitted(flowHead + callbackText(atMostOnce))
	}},
	{"rule 5: a heartbeat that moved the due between the commits leaves TaskSubmitted", func(b *fixture) {
		b.beatBetween(flowHead + callbackText(heartbeat))
	}},
	{"rule 5: a heartbeat that moved the due between the commits leaves TaskSubmitted also with atMostOnce", func(b *fixture) {
		b.beatBetween(flowHead + callbackText(heartbeat, atMostOnce))
	}},
	{"rule 5: a long call is queued after the commit", func(b *fixture) {
		b.limits = map[string]time.Duration{"Long": time.Hour}
		b.advance(b.begin(longFlow))
		b.wantTrace("read", "write 1", "queue Long", "write 2")
		if w := b.waiting(); len(b.tasks) != 1 || b.tasks[0].Handle != w.Handle() || b.tasks[0].Call.Attempt != w.Attempt {
			b.t.Errorf("the tasks are %+v, and the execution waits for %+v", b.tasks, w)
		}
	}},
	{"rule 5: a call is long when both its limits are over 10 s", func(b *fixture) {
		flow := flowHead + taskText("A") + taskText("B") + taskText("C", "timeoutSeconds: 10") +
			taskText("D", "timeoutSeconds: 11") + taskText("E", "timeoutSeconds: 11")
		b.limits = map[string]time.Duration{"B": 10 * time.Second, "C": time.Hour, "D": 10 * time.Second}
		for _, function := range []string{"A", "B", "C", "D"} {
			b.answer(function, `{}`)
		}
		b.advance(b.begin(flow))
		b.wantTrace("read", "call A", "write 1", "call B", "write 2", "call C", "write 3", "call D", "wake timer in 11s", "write 4", "queue E", "write 5")
	}},
	{"rule 5: a task that was not queued is queued again when its worker is dead", func(b *fixture) {
		b.limits = map[string]time.Duration{"Long": time.Hour}
		b.queueFails = 1
		start := b.begin(longFlow)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1", "queue Long: failed")
		b.wantPutBack(start, after(time.Minute))
		b.at(time.Minute)
		b.wantTrace("read")
		b.advance(start)
		b.wantTrace("read", "look: open", "queue Long", "write 2")
	}},
	{"rule 2: after a token's outcome a direct call is committed as pending first", func(b *fixture) {
		b.ask(askNextFlow)
		b.script("Next", answer{outcome: success, during: func() {
			if item, state := b.latest(); item.Seq != 3 || state.Waiting.For != machine.WaitingForCall {
				b.t.Errorf("when Next was called item %d waited for %+v", item.Seq, state.Waiting)
			}
		}})
		b.advance(b.close(success))
		b.wantTrace("read", "look: closed by hand", "write 3", "call Next", "write 4")
		b.wantSucceeded()
	}},
	{"rule 2: a direct call before a token task is committed with its waiting", func(b *fixture) {
		b.answer("First", `{}`)
		b.answer("Ask", `{}`)
		b.advance(b.begin(flowHead + taskText("First") + callbackText(deadline)))
		b.wantTrace("read", "call First", "wake timer in 1m0s", "write 1", "call Ask", "write 2")
	}},
	{"rule 4: the commit that opens a token lost its answer twice, and the task is submitted", func(b *fixture) {
		b.twiceLost(callbackText(), "read", "call First", "write 1: failed", "read items: failed", "read", "look: open", "call Ask", "write 2")
	}},
	{"rule 4: the same with atMostOnce", func(b *fixture) {
		b.twiceLost(callbackText(atMostOnce), "read", "call First", "write 1: failed", "read items: failed", "read", "look: open", "call Ask", "write 2")
	}},
}

// lostSubmitted has the commit after a submit fail once.
func (b *fixture) lostSubmitted(flow string) {
	b.t.Helper()
	b.answer("Ask", `{}`)
	b.log.FailAppends(NoFault, NoFault, LoseWrite)
	b.advance(b.begin(flow))
	b.wantTrace("read", "write 1", "call Ask", "write 2: failed", "read items", "read", "look: open", "write 2")
	b.wantHistory("Scheduled Started Submitted")
}

// beatBetween has another worker move the due of a token while its task is
// being submitted.
func (b *fixture) beatBetween(flow string) {
	b.t.Helper()
	start := b.begin(flow)
	b.script("Ask", answer{outcome: success, during: func() {
		timer := b.takeTimer()
		b.at(19 * time.Second)
		b.beat()
		b.at(20 * time.Second)
		b.advanceBy(b.rival(), timer)
	}})
	b.advance(start)
	b.wantTrace("read", "wake timer in 20s", "write 1", "call Ask", "write 2: refused", "read", "look: open", "write 3")
	if w := b.waiting(); !w.Submitted() || !w.Due.Equal(after(39*time.Second)) {
		b.t.Errorf("the execution waits for %+v", w)
	}
	b.takeTimer()
	b.wantHistory("Scheduled Started Submitted")
}

// twiceLost runs First, then a task whose opening commit lost its answer, and
// the look-up too.
func (b *fixture) twiceLost(task string, want ...string) {
	b.t.Helper()
	b.answer("First", `{}`)
	b.answer("Ask", `{}`)
	b.log.FailAppends(NoFault, LoseAnswer)
	b.beforeSecondWrite(func() { b.log.FailReads(1) })
	b.advance(b.begin(flowHead + taskText("First") + task))
	b.wantTrace(want...)
}

// claimCases are claimed calls.
var claimCases = []ruleCase{
	{"claim: it is committed with its timer, then called, then the result is committed", func(b *fixture) {
		b.script("Once", answer{outcome: success, during: func() {
			w := b.waiting()
			if w.For != machine.WaitingForClaim || !w.Due.Equal(after(45*time.Second)) || w.By != machine.CauseStart {
				b.t.Errorf("when Once was called the execution waited for %+v", w)
			}
		}})
		b.advance(b.begin(onceFlow))
		b.wantTrace("read", "wake timer in 45s", "write 1", "call Once", "write 2")
		b.wantSucceeded()
		b.at(45 * time.Second)
		b.advance(b.take())
		b.wantTrace("read")
	}},
	{"rule 4: a claimed call's lost commit is made again with the result at hand", func(b *fixture) {
		b.answer("Once", `{}`)
		b.log.FailAppends(NoFault, NoFault, LoseWrite)
		b.advance(b.begin(onceFlow))
		b.wantTrace("read", "wake timer in 45s", "write 1", "call Once", "write 2: failed", "read items", "read", "write 2")
		b.wantSucceeded()
	}},
	{"rule 4: the claim lost its answer twice, and the call is made", func(b *fixture) {
		b.answer("First", `{}`)
		b.answer("Once", `{}`)
		b.log.FailAppends(NoFault, LoseAnswer)
		b.beforeSecondWrite(func() { b.log.FailReads(1) })
		b.advance(b.begin(flowHead + taskText("First") + taskText("Once", atMostOnce)))
		b.wantTrace("read", "call First", "wake timer in 45s", "write 1: failed", "read items: failed", "read", "call Once", "write 2")
	}},
	{"rule 7: a claim is left to its timer", func(b *fixture) {
		start := b.claimed()
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 7: the timer of an atMostOnce claim fails it: FnF.TaskInterrupted", func(b *fixture) {
		b.claimed()
		b.at(45 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskInterrupted)
		b.wantHistory("Scheduled Started Failed ExecutionFailed")
	}},
	{"claim: a result that comes after its timer is dropped", func(b *fixture) {
		start := b.begin(onceFlow)
		b.script("Once", answer{outcome: success, during: func() {
			timer := b.takeTimer()
			b.at(45 * time.Second)
			b.advanceBy(b.rival(), timer)
		}})
		b.advance(start)
		b.wantTrace("read", "wake timer in 45s", "write 1", "call Once", "write 2: refused", "read")
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskInterrupted)
	}},
}

var onceFlow = flowHead + taskText("Once", atMostOnce)

// claimed leads an execution to a claimed call whose worker dies. Its timer is
// the only wake that is left.
func (b *fixture) claimed() engine.Wake {
	b.t.Helper()
	b.script("Once", answer{err: errStopped})
	start := b.begin(onceFlow)
	b.wantError(start, engine.CodeInternal)
	b.wantTrace("read", "wake timer in 45s", "write 1", "call Once: stopped")
	return start
}

// tokenPendingCases are rule 7 where a token is out.
var tokenPendingCases = []ruleCase{
	{"rule 7: young - put back, whatever the token holds", func(b *fixture) {
		start := b.askedNot(askFlow)
		b.close(success)
		for _, at := range []time.Duration{0, time.Minute - time.Nanosecond} {
			b.at(at)
			b.wantPutBack(start, after(time.Minute))
			b.wantTrace("read")
		}
	}},
	{"rule 7: open and not recorded as submitted, writer dead - submit again with the same key", func(b *fixture) {
		start := b.askedNot(askFlow)
		before := b.waiting()
		b.at(time.Minute)
		b.answer("Ask", `{}`)
		b.advance(start)
		b.wantTrace("read", "look: open", "call Ask", "write 2")
		if w := b.waiting(); !w.Submitted() || w.Handle() != before.Handle() || w.Attempt != before.Attempt {
			b.t.Errorf("the execution waits for %+v, before for %+v", w, before)
		}
	}},
	{"rule 7: closed and not recorded as submitted, writer dead - apply", func(b *fixture) {
		start := b.askedNot(askFlow)
		wake := b.close(success)
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: closed by hand", "write 2")
		b.wantSucceeded()
		b.advance(wake)
		b.wantTrace("read")
	}},
	{"rule 7: closed and submitted - apply, and a call is committed as pending first", func(b *fixture) {
		start := b.ask(askNextFlow)
		b.close(success)
		b.at(time.Minute)
		b.answer("Next", `{}`)
		b.advance(start)
		b.wantTrace("read", "look: closed by hand", "write 3", "call Next", "write 4")
	}},
	{"rule 7: open and submitted - nothing", func(b *fixture) {
		start := b.ask(askFlow)
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open")
	}},
	{"rule 7: atMostOnce is not submitted again: FnF.TaskInterrupted", func(b *fixture) {
		start := b.askedNot(flowHead + callbackText(atMostOnce))
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "close by task: closed by task", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskInterrupted)
	}},
	{"rule 7: an atMostOnce whose success comes before that succeeds", func(b *fixture) {
		start := b.askedNot(flowHead + callbackText(atMostOnce))
		b.at(time.Minute)
		b.TokenStore = closesFirst{b.TokenStore, func() { b.close(success) }}
		b.advance(start)
		b.wantTrace("read", "look: open", "close by task: closed by hand", "write 2")
		b.wantSucceeded()
	}},
	{"rule 7: after a restart the writer is dead at once", func(b *fixture) {
		start := b.askedNot(askFlow)
		b.at(time.Second)
		b.Generation++
		b.answer("Ask", `{}`)
		b.advance(start)
		b.wantTrace("read", "look: open", "call Ask", "write 2")
	}},
	{"rule 7: after a restart the writer is dead at once, though its clock was ahead", func(b *fixture) {
		b.Generation++
		b.at(24 * time.Hour)
		start := b.askedNot(askFlow)
		b.Generation++
		b.at(0)
		start.Due, start.Sent = b.Now(), b.Now()
		b.answer("Ask", `{}`)
		b.advance(start)
		b.wantTrace("read", "look: open", "call Ask", "write 2")
	}},
	{"rule 7: a writer of this process is not dead after its restart", func(b *fixture) {
		b.Generation++
		start := b.askedNot(askFlow)
		b.at(time.Second)
		b.wantPutBack(start, after(time.Minute))
	}},
	{"rule 7: a writer whose clock is a little ahead is awaited as long as any", func(b *fixture) {
		b.at(30 * time.Second)
		start := b.askedNot(askFlow)
		b.at(0)
		start.Due = b.Now()
		b.wantPutBack(start, after(time.Minute))
	}},
	{"rule 7: a writer whose clock is ahead by more than a worker lives is not awaited", func(b *fixture) {
		b.at(24 * time.Hour)
		start := b.askedNot(askFlow)
		b.at(0)
		start.Due = b.Now()
		b.answer("Ask", `{}`)
		b.advance(start)
		b.wantTrace("read", "look: open", "call Ask", "write 2")
	}},
	{"rule 7: two workers submit again, one TaskSubmitted counts", func(b *fixture) {
		start := b.askedNot(askFlow)
		b.at(time.Minute)
		b.answer("Ask", `{}`)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), start) })
		b.advance(start)
		b.wantTrace("read", "look: open", "call Ask", "write 2: refused", "read", "look: open")
		b.wantHistory("Scheduled Started Submitted")
	}},
}

// closesFirst does something before each closing.
type closesFirst struct {
	engine.TokenStore
	before func()
}

func (o closesFirst) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	o.before()
	return o.TokenStore.Close(ctx, handle, closing)
}
