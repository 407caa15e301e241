package enginetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// arbiterCases are rule 9 where time is what ends an attempt.
var arbiterCases = []ruleCase{
	{"rule 7: a worker without time for a call leaves it to the next one", func(b *fixture) {
		start := b.begin(taskFlow("First"))
		if _, err := b.Advance(&timeLeft{b.t.Context(), machine.DefaultDirect}, start); err == nil {
			b.t.Error("a worker that has ten seconds makes a call that may take ten")
		}
		b.wantTrace("read")
		b.answer("First", `{}`)
		if _, err := b.Advance(&timeLeft{b.t.Context(), time.Hour}, start); err != nil {
			b.t.Error(err)
		}
		b.wantTrace("read", "call First", "write 1")
	}},
	{"rule 9: an attempt has one token, also after the keys were replaced", func(b *fixture) {
		b.ask(askFlow)
		flow, err := b.Flows.Flow(b.t.Context(), put(b.t, b.store, flowName, askFlow))
		if err != nil {
			b.t.Fatal(err)
		}
		_, state := b.latest()
		before, _ := machine.Token(b.Keys, flow, state)
		old := b.Keys.Current
		b.Keys = token.Keys{Current: token.Key{ID: old.ID + 1, Secret: []byte(strings.Repeat("n", token.SecretSize))}, Others: []token.Key{old}}
		if after, ok := machine.Token(b.Keys, flow, state); !ok || after != before {
			b.t.Error("the token is another one, with which nothing can be closed")
		}
		b.advance(b.close(success))
		b.wantTrace("read", "look: closed by hand", "write 3")
		b.wantEnd(machine.StatusSucceeded, "")
	}},
	{"rule 9: a deadline closes the token", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer := b.takeTimer()
		b.at(time.Minute)
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3")
		b.wantHistory("Scheduled Started Submitted TimedOut ExecutionFailed")
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskTimeout)
	}},
	{"rule 9: a deadline applies a success that came first", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline) + taskText("Next"))
		timer := b.takeTimer()
		b.at(59 * time.Second)
		wake := b.close(success)
		b.at(time.Minute)
		b.answer("Next", `{}`)
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by hand", "write 3", "call Next", "write 4")
		b.wantSucceeded()
		b.advance(wake)
		b.wantTrace("read")
	}},
	{"rule 9: a hand that comes after the deadline is told of it", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer, wake := b.takeTimer(), b.tokenWake()
		b.at(time.Minute)
		b.advance(timer)
		late := token.CloseOp{Outcome: success, By: token.ClosedByHand, At: b.Now()}
		if r, err := b.store.Close(b.t.Context(), wake.Cause, late); err != nil || r.ClosedBy != token.ClosedByDeadline {
			b.t.Errorf("the late closer was told %+v, error %v", r, err)
		}
	}},
	{"rule 9: a deadline whose commit was lost is applied again, and closed once", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer := b.takeTimer()
		b.at(time.Minute)
		b.log.FailAppends(LoseWrite)
		b.wantError(timer, engine.CodeInternal)
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3: failed", "read items")
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3")
	}},
	{"rule 9: a deadline whose commit is refused is applied again", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer := b.takeTimer()
		b.at(time.Minute)
		b.log.FailAppends(Refuse)
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3: refused", "read", "close by deadline: closed by deadline", "write 3")
	}},
	{"rule 9: a deadline and a hand in one instant, the token decides and both are told the same", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer := b.takeTimer()
		b.at(time.Minute)
		wake := b.close(success)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), wake) })
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by hand", "write 3: refused", "read")
		b.wantSucceeded()
	}},
	{"rule 9: a missed heartbeat closes the token", func(b *fixture) {
		b.ask(flowHead + callbackText(heartbeat, deadline))
		timer := b.takeTimer()
		b.at(20 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "close by heartbeat: closed by heartbeat", "write 3")
		b.wantHistory("Scheduled Started Submitted TimedOut ExecutionFailed")
	}},
	{"rule 9: a heartbeat newer than the limit refuses the closing and sets the timer anew", func(b *fixture) {
		b.ask(flowHead + callbackText(heartbeat))
		timer := b.takeTimer()
		b.at(15 * time.Second)
		b.beat()
		b.at(20 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "close by heartbeat: open", "wake timer in 15s", "write 3")
		timer = b.takeTimer()
		b.at(35 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "close by heartbeat: closed by heartbeat", "write 4")
		b.wantHistory("Scheduled Started Submitted TimedOut ExecutionFailed")
	}},
	{"rule 9: heartbeats do not move the deadline", func(b *fixture) {
		b.ask(flowHead + callbackText(heartbeat, deadline))
		for _, at := range []time.Duration{20 * time.Second, 40 * time.Second} {
			timer := b.takeTimer()
			b.at(at - time.Second)
			b.beat()
			b.at(at)
			b.advance(timer)
		}
		timer := b.takeTimer()
		if !timer.Due.Equal(after(59 * time.Second)) {
			b.t.Errorf("the timer is due at %s", timer.Due)
		}
		b.trace = nil
		b.beat()
		b.at(time.Minute) // late
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "write 5")
	}},
	{"rule 9: a heartbeat that came too late counts while the token is open", func(b *fixture) {
		b.ask(flowHead + callbackText(heartbeat))
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.beat()
		b.at(40 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "close by heartbeat: open", "wake timer in 10s", "write 3")
	}},
	{"rule 9: an old timer after a heartbeat is dropped", func(b *fixture) {
		b.ask(flowHead + callbackText(heartbeat))
		timer := b.takeTimer()
		b.at(20 * time.Second)
		b.beat()
		b.advance(timer)
		b.wantTrace("read", "close by heartbeat: open", "wake timer in 20s", "write 3")
		b.at(40 * time.Second)
		b.advance(timer)
		b.wantTrace("read")
	}},
	{"rule 9: the deadline of a long call closes its token", func(b *fixture) {
		b.advance(b.begin(flowHead + taskText("Long", "timeoutSeconds: 30")))
		b.wantTrace("read", "wake timer in 30s", "write 1", "queue Long", "write 2")
		timer := b.takeTimer()
		b.at(30 * time.Second)
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3")
	}},
}

// stopCases are rules 9 and 12 where a stop is what ends an execution.
var stopCases = []ruleCase{
	{"rule 12: the wake of a stop goes out before the request", func(b *fixture) {
		b.ask(askFlow)
		if err := b.Stop(b.t.Context(), testID, "Enough", "it is enough"); err != nil {
			b.t.Fatal(err)
		}
		b.wantTrace("read", "wake stop in 0s", "request a stop")
		if w, want := b.take(), (engine.Wake{Execution: testID, Cause: machine.CauseStop, Due: epoch, Sent: epoch}); !sameWake(w, want) {
			b.t.Errorf("the wake is %+v, want %+v", w, want)
		}
	}},
	{"rule 12: a stop's wake that finds nothing is sent again after 1 s until it is 30 s old", func(b *fixture) {
		b.ask(askFlow)
		stop := engine.Wake{Execution: testID, Cause: machine.CauseStop, Due: epoch, Sent: epoch}
		for _, at := range []time.Duration{0, time.Second, 30*time.Second - time.Nanosecond} {
			b.at(at)
			b.advance(stop)
			b.wantTrace("read", "no request to stop", "wake stop in 1s")
			want := stop
			want.Due = b.Now().Add(time.Second)
			if again := b.take(); !sameWake(again, want) {
				b.t.Errorf("it was sent again as %+v, want %+v", again, want)
			}
		}
		b.at(30 * time.Second)
		b.advance(stop)
		b.wantTrace("read", "no request to stop")
	}},
	{"rule 12: a stop whose wake was not sent requests nothing", func(b *fixture) {
		b.ask(askFlow)
		b.sendFails = 1
		if err := b.Stop(b.t.Context(), testID, "", ""); engine.CodeOf(err) != engine.CodeInternal {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace("read", "wake stop in 0s: failed")
	}},
	{"rule 12: the first stop's error and cause stay", func(b *fixture) {
		b.pause()
		stop := b.stop()
		if err := b.Stop(b.t.Context(), testID, "Later", "later"); err != nil {
			b.t.Fatal(err)
		}
		b.trace = nil
		b.advance(stop)
		b.wantEnd(machine.StatusStopped, "Enough")
		b.advance(b.take())
		b.wantTrace("read", "read the request to stop", "write 2", "read")
	}},
	{"rule 12: a stop with a long cause fits", func(b *fixture) {
		b.pause()
		if err := b.Stop(b.t.Context(), testID, strings.Repeat("e", 1000), strings.Repeat("c", 400<<10)); err != nil {
			b.t.Fatal(err)
		}
		b.advance(b.take())
		if _, state := b.latest(); len(state.Error) != token.MaxError || len(state.Cause) != 4096 {
			b.t.Errorf("the error has %d bytes and the cause %d", len(state.Error), len(state.Cause))
		}
	}},
	{"rule 12: a stop of what has ended or is not there is an error and no wake", func(b *fixture) {
		if err := b.Stop(b.t.Context(), testID, "", ""); engine.CodeOf(err) != engine.CodeNotFound {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace("read")
		b.advance(b.begin(onlyText))
		b.trace = nil
		if err := b.Stop(b.t.Context(), testID, "", ""); engine.CodeOf(err) != engine.CodeConflict {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace("read")
	}},
	{"rule 12: a stop before the begin, and the start's wake does nothing", func(b *fixture) {
		start := b.begin(askFlow)
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 1")
		b.wantHistory("ExecutionStopped")
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 12: a stop of a wait is one commit, and its timer does nothing", func(b *fixture) {
		timer := b.pause()
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 2")
		b.wantEnd(machine.StatusStopped, "Enough")
		b.at(10 * time.Second)
		b.advance(timer)
		b.wantTrace("read")
	}},
	{"rule 12: a stop during a direct call, whose result is dropped", func(b *fixture) {
		start := b.begin(taskFlow("First", "Second"))
		b.script("First", answer{outcome: success, during: func() {
			stop := b.stop()
			b.advanceBy(b.rival(), stop)
		}})
		b.advance(start)
		b.wantTrace("call First", "write 1: refused", "read")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: a stop while a token is out: ending is committed, then closed, then the end", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline) + taskText("Next"))
		timer := b.takeTimer()
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by stop", "write 4")
		b.wantHistory("Scheduled Started Submitted Failed ExecutionStopped")
		b.wantEnd(machine.StatusStopped, "Enough")
		b.at(time.Minute)
		b.advance(timer)
		b.wantTrace("read")
	}},
	{"rule 9: a stop records a success that came first as a success", func(b *fixture) {
		b.ask(askNextFlow)
		wake := b.close(success)
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by hand", "write 4")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionStopped")
		b.wantEnd(machine.StatusStopped, "Enough")
		b.advance(wake)
		b.wantTrace("read")
	}},
	{"rule 9: the wake of a stop that was cut repeats the closing when its worker is dead", func(b *fixture) {
		b.ask(askFlow)
		stop := b.stop()
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(stop, engine.CodeInternal)
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: failed")
		b.wantPutBack(stop, after(time.Minute))
		b.at(time.Minute)
		b.wantTrace("read")
		b.advance(stop)
		b.wantTrace("read", "look: open", "close by stop: closed by stop", "write 4")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: the wake of a stop that was cut after the closing commits the end", func(b *fixture) {
		b.ask(askFlow)
		stop := b.stop()
		b.log.FailAppends(NoFault, LoseWrite)
		b.wantError(stop, engine.CodeInternal)
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by stop", "write 4: failed", "read items")
		b.at(time.Minute)
		b.advance(stop)
		b.wantTrace("read", "look: closed by stop", "write 4")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: a token's wake that meets an ending state commits the end", func(b *fixture) {
		b.ask(askNextFlow)
		b.rivalStops(b.stop())
		b.advance(b.close(success))
		b.wantTrace("read", "look: closed by hand", "write 4")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionStopped")
	}},
	{"rule 9: the submitter that meets an ending state closes the token and commits the end", func(b *fixture) {
		start := b.begin(askFlow)
		b.script("Ask", answer{outcome: success, during: func() {
			b.rivalStops(b.stop())
		}})
		b.advance(start)
		b.wantTrace("call Ask", "write 2: refused", "read", "look: open", "close by stop: closed by stop", "write 3")
		b.wantHistory("Scheduled Started Failed ExecutionStopped")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: a dead submitter's wake that meets an ending state commits the end", func(b *fixture) {
		start := b.askedNot(askFlow)
		b.rivalStops(b.stop())
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "close by stop: closed by stop", "write 3")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: a deadline that meets an ending state leaves it to the stop", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer := b.takeTimer()
		stop := b.stop()
		b.rivalStops(stop)
		b.at(time.Minute)
		b.advance(timer)
		b.wantTrace("read")
		b.advance(stop)
		b.wantTrace("read", "look: open", "close by stop: closed by stop", "write 4")
	}},
	{"rule 9: two stops at once, one ends it", func(b *fixture) {
		b.ask(askFlow)
		stop := b.stop()
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), stop) })
		b.advance(stop)
		b.wantTrace("read", "read the request to stop", "write 3: refused", "read")
		b.wantHistory("Scheduled Started Submitted Failed ExecutionStopped")
	}},
	{"rule 9: a stop while a long call is queued", func(b *fixture) {
		b.limits = map[string]time.Duration{"Long": time.Hour}
		b.advance(b.begin(longFlow))
		b.trace = nil
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by stop", "write 4")
		b.runTask() // is not called for
		b.wantTrace("look: closed by stop", "wake token in 0s")
		b.advance(b.take())
		b.wantTrace("read")
	}},
	{"rule 12: a stop of a claimed call is one commit", func(b *fixture) {
		b.claimed()
		timer := b.takeTimer()
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 2")
		b.at(45 * time.Second)
		b.advance(timer)
		b.wantTrace("read")
	}},
}

// runTask runs the only task that is queued.
func (b *fixture) runTask() {
	b.t.Helper()
	b.wantTaskPutBack(b.takeTask(), time.Time{})
}

func (b *fixture) takeTask() engine.Task {
	b.t.Helper()
	if len(b.tasks) != 1 {
		b.t.Fatalf("%d tasks are queued, want 1", len(b.tasks))
	}
	task := b.tasks[0]
	b.tasks = nil
	return task
}

// long leads an execution to a queued call and gives its task.
func (b *fixture) long() engine.Task {
	b.t.Helper()
	b.limits = map[string]time.Duration{"Long": time.Hour}
	b.advance(b.begin(longFlow))
	b.wantTrace("read", "write 1", "queue Long", "write 2")
	return b.takeTask()
}

func (b *fixture) wantTaskFails(task engine.Task) {
	b.t.Helper()
	if _, err := b.RunTask(b.t.Context(), task); engine.CodeOf(err) != engine.CodeInternal {
		b.t.Fatalf("run the task: error %v", err)
	}
}

// wantTaskPutBack runs a task that is to be put back then, or is done when at
// is zero.
func (b *fixture) wantTaskPutBack(task engine.Task, at time.Time) {
	b.t.Helper()
	verdict, err := b.RunTask(b.t.Context(), task)
	if err != nil || !verdict.RetryAt.Equal(at) {
		b.t.Fatalf("run the task: put back %s, error %v; want %s", verdict.RetryAt, err, at)
	}
}

func (b *fixture) rerun(task engine.Task) {
	b.t.Helper()
	b.wantTaskPutBack(task, time.Time{})
}

// forgeries are a task made by hand for the token of the task, and the task with
// one thing changed each. A handle is no secret.
func (b *fixture) forgeries(task engine.Task) []engine.Task {
	resource, err := fdl.ParseResource("acs:fc:::services/s/functions/echo")
	if err != nil {
		b.t.Fatal(err)
	}
	forged := []engine.Task{{Handle: task.Handle, Await: true, Call: machine.Call{Resource: resource, Input: object(b.t, `{"forged":true}`)}}}
	for _, change := range []func(t *engine.Task){
		func(t *engine.Task) { t.Handle = testKeys.Handle(token.ID{Execution: testID, Number: 99}) },
		func(t *engine.Task) { t.Await = !t.Await },
		func(t *engine.Task) { t.AtMostOnce = !t.AtMostOnce },
		func(t *engine.Task) { t.Call.Resource = resource },
		func(t *engine.Task) { t.Call.Input = object(b.t, `{"forged":true}`) },
		func(t *engine.Task) { t.Call.Limit++ },
		func(t *engine.Task) { t.TimeLimit++ },
		func(t *engine.Task) { t.Call.Execution += "x" },
		func(t *engine.Task) { t.Call.Flow.Name += "x" },
		func(t *engine.Task) { t.Call.Flow.Hash += "x" },
		func(t *engine.Task) { t.Call.Step += "x" },
		func(t *engine.Task) { t.Call.Attempt.Number++ },
		func(t *engine.Task) { t.MAC = "" },
		func(t *engine.Task) { t.MAC = t.MAC[:len(t.MAC)-4] + "AAAA" },
	} {
		changed := task
		change(&changed)
		forged = append(forged, changed)
	}
	return forged
}

// queueCases are rule 10 from a queue: the calls of the task queue.
var queueCases = []ruleCase{
	{"rule 10: from a queue: call, update, wake", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{"long":1}`)
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by task", "wake token in 0s")
		b.advance(b.take())
		b.wantTrace("read", "look: closed by task", "write 3")
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
	}},
	{"rule 10: from a queue: the wake is sent also when the update was refused", func(b *fixture) {
		task := b.long()
		b.script("Long", answer{outcome: success, during: func() { b.close(broken) }})
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by hand", "wake token in 0s")
		b.advance(b.take())
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"rule 10: from a queue: a task that comes again after its end sends the wake again and calls nothing", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{}`)
		b.rerun(task)
		b.take()
		b.trace = nil
		b.rerun(task)
		b.wantTrace("look: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: a wake that was not sent leaves the task", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{}`)
		b.sendFails = 1
		b.wantTaskFails(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by task", "wake token in 0s: failed")
		b.rerun(task)
		b.wantTrace("look: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: an update that failed is made again without a call", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{}`)
		b.updateFaults = []Fault{LoseWrite, LoseAnswer}
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: failed", "close by task: failed", "close by task: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: an update that fails again and again leaves the task", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{}`)
		b.updateFaults = slices.Repeat([]Fault{LoseAnswer}, 10)
		b.wantTaskFails(task)
		b.trace = nil
		b.rerun(task)
		b.wantTrace("look: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: an outcome that no step may have is the failure that it will be", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{"large":"`+strings.Repeat("x", 400<<10)+`"}`)
		b.rerun(task)
		b.advance(b.take())
		b.wantEnd(machine.StatusFailed, machine.ErrorDataLimit)
	}},
	{"rule 10: from a queue: a call that was stopped leaves the task and is made again", func(b *fixture) {
		task := b.long()
		b.script("Long", answer{err: errStopped})
		b.wantTaskFails(task)
		b.answer("Long", `{}`)
		b.trace = nil
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: a forged task calls, reads and closes nothing", func(b *fixture) {
		task := b.long()
		for _, forged := range b.forgeries(task) {
			if _, err := b.RunTask(b.t.Context(), forged); !errors.Is(err, token.ErrForged) {
				b.t.Errorf("error %v of task %+v", err, forged)
			}
		}
		b.wantTrace()
		b.answer("Long", `{}`)
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: a task of a key that is not known here is run later", func(b *fixture) {
		task := b.long()
		old := b.Keys.Current
		later := token.Key{ID: old.ID + 1, Secret: []byte(strings.Repeat("n", token.SecretSize))}
		b.Keys = token.Keys{Current: later}
		if _, err := b.RunTask(b.t.Context(), task); !errors.Is(err, token.ErrUnknownKey) {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace()
		b.Keys = token.Keys{Current: later, Others: []token.Key{old}}
		b.answer("Long", `{}`)
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: a task of a newer key is checked with the keys read again", func(b *fixture) {
		task := b.long()
		old := b.Keys.Current
		later := token.Key{ID: old.ID + 1, Secret: []byte(strings.Repeat("n", token.SecretSize))}
		b.Keys = token.Keys{Current: later}
		b.NewerKeys = func(context.Context) (token.Keys, error) {
			return token.Keys{Current: later, Others: []token.Key{old}}, nil
		}
		b.answer("Long", `{}`)
		b.rerun(task)
		b.wantTrace("look: open", "call Long", "close by task: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: a worker that read the keys again signs the task with the newer key", func(b *fixture) {
		old := b.Keys
		later := token.Key{ID: old.Current.ID + 1, Secret: []byte(strings.Repeat("n", token.SecretSize))}
		newer := token.Keys{Current: later, Others: []token.Key{old.Current}}
		b.Keys = newer
		b.limits = map[string]time.Duration{"Next": time.Hour}
		b.ask(askNextFlow)
		b.Keys = old
		b.NewerKeys = func(context.Context) (token.Keys, error) { return newer, nil }
		b.advance(b.close(success))
		task := b.takeTask()
		b.Keys, b.NewerKeys = token.Keys{Current: later}, nil // the operator took the old key away
		b.answer("Next", `{}`)
		b.trace = nil
		b.rerun(task)
		b.wantTrace("look: open", "call Next", "close by task: closed by task", "wake token in 0s")
	}},
	{"rule 10: from a queue: two at once, the first outcome counts", func(b *fixture) {
		task := b.long()
		b.answer("Long", `{"by":"second"}`)
		b.script("Long", answer{outcome: broken})
		first := b.answers["Long"][0]
		first.during = func() {
			if _, err := b.RunTask(b.t.Context(), task); err != nil {
				b.t.Error(err)
			}
		}
		b.answers["Long"][0] = first
		b.rerun(task)
		b.wantTrace("look: open", "look: open", "call Long", "close by task: closed by task", "wake token in 0s",
			"call Long", "close by task: closed by task", "wake token in 0s")
		b.advance(b.wakes[0])
		b.advance(b.wakes[1])
		b.wantHistory("Scheduled Started Failed ExecutionFailed")
	}},
}

// tokenWakeCases are rule 11.
var tokenWakeCases = []ruleCase{
	{"rule 11: closed - applied", func(b *fixture) {
		b.ask(askFlow)
		b.advance(b.close(success))
		b.wantTrace("read", "look: closed by hand", "write 3")
	}},
	{"rule 11: closed - applied, however old the wake", func(b *fixture) {
		b.ask(askFlow)
		wake := b.close(success)
		b.at(24 * time.Hour)
		b.advance(wake)
		b.wantTrace("read", "look: closed by hand", "write 3")
	}},
	{"rule 11: open and young - looked at twice, then sent again after 1 s", func(b *fixture) {
		b.ask(askFlow)
		wake := b.tokenWake()
		for _, at := range []time.Duration{0, time.Second, 10*time.Second - time.Nanosecond} {
			b.at(at)
			b.pauses = 0
			b.advance(wake)
			b.wantTrace("read", "look: open", "look: open", "wake token in 1s")
			want := wake
			want.Due = b.Now().Add(time.Second)
			if again := b.take(); !sameWake(again, want) || b.pauses != 1 {
				b.t.Errorf("after %d pauses it was sent again as %+v, want %+v", b.pauses, again, want)
			}
		}
	}},
	{"rule 11: open and old - dropped", func(b *fixture) {
		b.ask(askFlow)
		wake := b.tokenWake()
		b.at(10 * time.Second)
		b.advance(wake)
		b.wantTrace("read", "look: open")
	}},
	{"rule 11: closed between the two looks - applied", func(b *fixture) {
		b.ask(askFlow)
		wake := b.tokenWake()
		b.Sleep = func(context.Context, time.Duration) error {
			b.close(success)
			return nil
		}
		b.advance(wake)
		b.wantTrace("read", "look: open", "look: closed by hand", "write 3")
	}},
	{"rule 11: the verdict counts the looks that came too early", func(b *fixture) {
		b.ask(askFlow)
		early, err := b.Advance(b.t.Context(), b.tokenWake())
		if err != nil || early.EarlyLooks != 2 {
			b.t.Errorf("%d looks at an open token, error %v; want 2", early.EarlyLooks, err)
		}
		inTime, err := b.Advance(b.t.Context(), b.close(success))
		if err != nil || inTime.EarlyLooks != 0 {
			b.t.Errorf("%d early looks at a closed token, error %v; want none", inTime.EarlyLooks, err)
		}
		b.trace = nil
	}},
	{"rule 11: a wake for a token that is not the attempt's is dropped", func(b *fixture) {
		b.ask(askFlow)
		wake := b.tokenWake()
		wake.Cause = testKeys.Handle(token.ID{Execution: testID, Number: 99, Expires: after(time.Hour)})
		b.advance(wake)
		b.wantTrace("read")
	}},
	{"rule 11: the same wake twice applies once", func(b *fixture) {
		b.ask(askFlow)
		wake := b.close(success)
		b.advance(wake)
		b.advance(wake)
		b.wantTrace("read", "look: closed by hand", "write 3", "read")
	}},
	{"rule 11: a commit that is refused applies the outcome again", func(b *fixture) {
		b.ask(askFlow)
		b.log.FailAppends(Refuse)
		b.advance(b.close(success))
		b.wantTrace("read", "look: closed by hand", "write 3: refused", "read", "look: closed by hand", "write 3")
	}},
	{"rule 11: a token's wake that comes while the task is being submitted applies", func(b *fixture) {
		start := b.begin(askNextFlow)
		b.script("Ask", answer{outcome: success, during: func() {
			b.answer("Next", `{}`)
			b.advance(b.close(success))
		}})
		b.advance(start)
		b.wantTrace("read", "write 1", "read", "look: closed by hand", "write 2", "call Next", "write 3", "call Ask", "write 2: refused", "read")
		b.wantHistory("Scheduled Started Succeeded Scheduled Started Succeeded ExecutionSucceeded")
	}},
}
