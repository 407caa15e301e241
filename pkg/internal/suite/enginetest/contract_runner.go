package enginetest

import (
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

var (
	longOnceFlow = flowHead + taskText("Long", atMostOnce)
	// begunFor is how long a call that was begun may be under way.
	begunFor = 16 * time.Minute
)

// slow leads an execution to where the submission of Ask is queued, and gives
// the wake of the start and the task.
func (b *fixture) slow(flow string) (engine.Wake, engine.Task) {
	b.t.Helper()
	b.limits = map[string]time.Duration{"Ask": time.Hour}
	start := b.begin(flow)
	b.advance(start)
	task := b.takeTask()
	b.trace = nil
	return start, task
}

// answered leads an execution to where a task runner has kept the answer of
// Ask, and gives the wakes of the start and of the answer.
func (b *fixture) answered(flow string) (start, wake engine.Wake) {
	b.t.Helper()
	start, task := b.slow(flow)
	kept := b.wakes
	b.wakes = nil
	b.answer("Ask", `{"asked":true}`)
	b.rerun(task)
	wake = b.take()
	b.wakes, b.trace = kept, nil
	return start, wake
}

// slowCases are rule 5 where the task queue makes the submission.
var slowCases = []ruleCase{
	{"rule 5: a submission that may take over 10 s is queued after the commit", func(b *fixture) {
		b.limits = map[string]time.Duration{"Ask": 10*time.Second + 1}
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "queue Ask", "write 2")
		w, task := b.waiting(), b.takeTask()
		if w.Token().Phase != machine.TokenQueued || task.Await || task.AtMostOnce || task.Handle != w.Handle() || task.Call.Attempt != w.Attempt {
			b.t.Errorf("the task is %+v, and the execution waits for %+v", task, w)
		}
	}},
	{"rule 5: a submission is as long as its function and not as its token", func(b *fixture) {
		b.limits = map[string]time.Duration{"Ask": 10 * time.Second}
		b.answer("Ask", `{}`)
		b.advance(b.begin(flowHead + callbackText("timeoutSeconds: 3600")))
		b.wantTrace("read", "wake timer in 1h0m0s", "write 1", "call Ask", "write 2")
	}},
	{"rule 5: the runner keeps the answer, then one commit records TaskSubmitted at once", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.answer("Ask", `{"asked":true}`)
		b.rerun(task)
		b.wantTrace("look: open", "call Ask", "keep the answer: answered", "wake answer in 0s")
		b.advance(b.take())
		b.wantTrace("read", "look: answered", "write 3")
		if b.pauses > 0 {
			b.t.Errorf("%d pauses", b.pauses)
		}
		history, err := b.History(b.t.Context(), testID)
		if err != nil {
			b.t.Fatal(err)
		}
		if last := history[len(history)-1]; last.Output.JSON() != `{"asked":true}` {
			b.t.Errorf("the last event is %s with output %s", last.Type, last.Output)
		}
		b.wantHistory("Scheduled Started Submitted")
		b.advance(b.close(success))
		b.wantSucceeded()
	}},
	{"rule 5: the runner closes the token with a submission that failed", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: broken})
		b.rerun(task)
		b.wantTrace("look: open", "call Ask", "close by submit: closed by submit", "wake token in 0s")
		b.advance(b.take())
		b.wantHistory("Scheduled Started SubmitFailed ExecutionFailed")
	}},
	{"rule 5: a task that comes again finds the answer and calls nothing", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.answer("Ask", `{}`)
		b.sendFails = 1
		b.wantTaskFails(task)
		b.wantTrace("look: open", "call Ask", "keep the answer: answered", "wake answer in 0s: failed")
		b.rerun(task)
		b.wantTrace("look: answered", "wake answer in 0s")
	}},
	{"rule 5: an answer that was not kept is kept again without a call", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.answer("Ask", `{}`)
		b.updateFaults = []Fault{LoseWrite, LoseAnswer}
		b.rerun(task)
		b.wantTrace("look: open", "call Ask", "keep the answer: failed", "keep the answer: failed", "keep the answer: answered", "wake answer in 0s")
	}},
	{"rule 5: two runners at once, the first answer is recorded", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: token.Success(object(b.t, `{"by":"second"}`)), during: func() {
			b.answer("Ask", `{"by":"first"}`)
			b.rerun(task)
		}})
		b.rerun(task)
		b.advance(b.wakes[0])
		b.advance(b.wakes[1])
		history, err := b.History(b.t.Context(), testID)
		if last := history[len(history)-1]; err != nil || last.Output.JSON() != `{"by":"first"}` {
			b.t.Errorf("the last event is %s with output %s, error %v", last.Type, last.Output, err)
		}
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 5: of an answer that is too large the runner keeps that there is one", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.answer("Ask", `{"large":"`+strings.Repeat("x", 400<<10)+`"}`)
		b.rerun(task)
		if r, err := b.store.Record(b.t.Context(), task.Handle); err != nil || r.Reply == nil || !r.Reply.IsMissing() {
			b.t.Errorf("the record is %+v, error %v", r, err)
		}
		b.advance(b.take())
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 5: the wake of an answer that comes twice records once", func(b *fixture) {
		_, wake := b.answered(askFlow)
		b.advance(wake)
		b.advance(wake)
		b.wantTrace("read", "look: answered", "write 3", "read")
	}},
	{"rule 5: a token that closed before the answer's wake is applied after TaskSubmitted, in one commit", func(b *fixture) {
		_, wake := b.answered(askFlow)
		b.close(success)
		b.advance(wake)
		b.wantTrace("read", "look: closed by hand", "write 3")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 5: a token that closed before the answer needs none", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: success, during: func() { b.close(success) }})
		b.rerun(task)
		b.wantTrace("look: open", "call Ask", "keep the answer: closed by hand", "wake token in 0s")
		b.advance(b.take())
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
	}},
	{"rule 5: a refused commit records the answer again", func(b *fixture) {
		_, wake := b.answered(askFlow)
		b.log.FailAppends(Refuse)
		b.advance(wake)
		b.wantTrace("read", "look: answered", "write 3: refused", "read", "look: answered", "write 3")
	}},
	{"rule 7: young - put back, whatever the answer", func(b *fixture) {
		start, _ := b.answered(askFlow)
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read")
	}},
	{"rule 7: open with an answer, writer dead - recorded and not queued again", func(b *fixture) {
		start, _ := b.answered(askFlow)
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: answered", "write 3")
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 7: open, without an answer and not recorded as queued, writer dead - queued again", func(b *fixture) {
		b.limits = map[string]time.Duration{"Ask": time.Hour}
		b.queueFails = 1
		start := b.begin(askFlow)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1", "queue Ask: failed")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "queue Ask", "write 2")
	}},
	{"rule 5: a task that the queue can never carry fails its step", func(b *fixture) {
		b.limits = map[string]time.Duration{"Ask": time.Hour}
		b.tooLarge = true
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "queue Ask: too large", "close by submit: closed by submit", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorDataLimit)
		if _, state := b.latest(); state.Cause != "queue: 2 bytes and the limit is 1" {
			b.t.Errorf("the cause is %q", state.Cause)
		}
	}},
	{"rule 7: open, without an answer and recorded as queued - left to the task queue", func(b *fixture) {
		start, _ := b.slow(askFlow)
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open")
	}},
	{"rule 7: after a restart what was queued is queued again with the same key", func(b *fixture) {
		start, task := b.slow(askFlow)
		b.at(time.Second)
		b.Generation++
		b.advance(start)
		b.wantTrace("read", "look: open", "queue Ask")
		if again := b.takeTask(); again != task {
			b.t.Errorf("the task is %+v, before %+v", again, task)
		}
	}},
	{"rule 4: a lost commit of what was queued is made again without queueing", func(b *fixture) {
		b.limits = map[string]time.Duration{"Ask": time.Hour}
		b.log.FailAppends(NoFault, NoFault, LoseWrite)
		b.advance(b.begin(askFlow))
		b.wantTrace("read", "write 1", "queue Ask", "write 2: failed", "read items", "read", "look: open", "write 2")
		if w := b.waiting(); w.Token().Phase != machine.TokenQueued {
			b.t.Errorf("the execution waits for %+v", w)
		}
	}},
	{"rule 4: an answer that came before its task was recorded as queued is recorded alone", func(b *fixture) {
		b.limits = map[string]time.Duration{"Ask": time.Hour}
		start := b.begin(askFlow)
		b.log.BeforeAppend(func() {})
		b.log.BeforeAppend(func() {
			b.answer("Ask", `{}`)
			b.runTask()
			b.advanceBy(b.rival(), b.take())
		})
		b.advance(start)
		b.wantTrace("read", "write 1", "queue Ask", "look: open", "call Ask", "keep the answer: answered", "wake answer in 0s",
			"write 2: refused", "read", "look: answered")
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 7: after a restart a recorded answer is not asked for again", func(b *fixture) {
		start, wake := b.answered(askFlow)
		b.advance(wake)
		b.at(time.Second)
		b.Generation++
		b.trace = nil
		b.advance(start)
		b.wantTrace("read", "look: answered")
	}},
	{"rule 9: a stop while a submission is queued", func(b *fixture) {
		_, task := b.slow(askFlow)
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by stop", "write 4")
		b.rerun(task)
		b.wantTrace("look: closed by stop", "wake token in 0s")
	}},
	{"rule 9: the wake of an answer leaves an ending state to the stop", func(b *fixture) {
		_, wake := b.answered(askFlow)
		stop := b.stop()
		b.rivalStops(stop)
		b.advance(wake)
		b.wantTrace("read", "look: answered")
		b.at(time.Minute)
		b.advance(stop)
		b.wantHistory("Scheduled Started Failed ExecutionStopped")
	}},
	{"rule 9: a deadline while a submission is queued", func(b *fixture) {
		_, task := b.slow(flowHead + callbackText(deadline))
		b.at(time.Minute)
		b.advance(b.takeTimer())
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3")
		b.rerun(task)
		b.wantTrace("look: closed by deadline", "wake token in 0s")
	}},
	{"rule 11: the wake of a closer is not the answer's, and stays until the token is closed", func(b *fixture) {
		b.answered(askFlow)
		wake := b.tokenWake()
		b.advance(wake)
		b.wantTrace("read", "look: answered", "look: answered", "wake token in 1s")
		b.close(success)
		b.at(time.Second)
		b.advance(b.take())
		b.wantTrace("read", "look: closed by hand", "write 3")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
}

// longOnce leads an execution to a queued call that must not be made twice.
func (b *fixture) longOnce() engine.Task {
	b.t.Helper()
	b.limits = map[string]time.Duration{"Long": time.Hour}
	b.advance(b.begin(longOnceFlow))
	b.wantTrace("read", "write 1", "queue Long", "write 2")
	return b.takeTask()
}

// begun leads an execution to such a call whose runner dies.
func (b *fixture) begun() engine.Task {
	b.t.Helper()
	task := b.longOnce()
	b.script("Long", answer{err: errStopped})
	b.wantTaskFails(task)
	b.wantTrace("begin: begun", "call Long: stopped")
	return task
}

// wantRunnerLife begins the call of Long, whose function has the time limit, with a runner that
// dies. The next runner must leave the task until then, and end the attempt at that instant.
func (b *fixture) wantRunnerLife(flow string, limit, life time.Duration) {
	b.t.Helper()
	b.limits = map[string]time.Duration{"Long": limit}
	b.advance(b.begin(flow))
	task := b.takeTask()
	b.script("Long", answer{err: errStopped})
	b.wantTaskFails(task)
	b.at(life - 1)
	b.wantTaskPutBack(task, after(life))
	b.trace = nil
	b.at(life)
	b.rerun(task)
	b.wantTrace("begin: begun", "close by task: closed by task", "wake token in 0s")
}

// beginCases are long calls with atMostOnce: who begins one makes it.
var beginCases = []ruleCase{
	{"begin: it is begun, called, closed", func(b *fixture) {
		task := b.longOnce()
		b.answer("Long", `{}`)
		b.rerun(task)
		b.wantTrace("begin: begun", "call Long", "close by task: closed by task", "wake token in 0s")
		b.advance(b.take())
		b.wantSucceeded()
	}},
	{"begin: while its runner may live the task is put back until then", func(b *fixture) {
		task := b.begun()
		for _, at := range []time.Duration{0, begunFor - 1} {
			b.at(at)
			b.wantTaskPutBack(task, after(begunFor))
			b.wantTrace("begin: begun")
		}
	}},
	{"begin: a dead runner's call is not made again: FnF.TaskInterrupted", func(b *fixture) {
		task := b.begun()
		b.at(begunFor)
		b.rerun(task)
		b.wantTrace("begin: begun", "close by task: closed by task", "wake token in 0s")
		b.advance(b.take())
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskInterrupted)
	}},
	{"begin: a runner is dead a minute after its function's time limit", func(b *fixture) {
		b.wantRunnerLife(longOnceFlow, time.Minute, 2*time.Minute)
	}},
	{"begin: a runner is dead a minute after its flow's time limit", func(b *fixture) {
		b.wantRunnerLife(flowHead+taskText("Long", atMostOnce, "timeoutSeconds: 30"), time.Hour, 90*time.Second)
	}},
	{"begin: after a restart the runner is dead at once", func(b *fixture) {
		task := b.begun()
		b.at(time.Second)
		b.Generation++
		b.rerun(task)
		b.wantTrace("begin: begun", "close by task: closed by task", "wake token in 0s")
	}},
	{"begin: a runner of this process is not dead after its restart", func(b *fixture) {
		b.Generation++
		task := b.begun()
		b.wantTaskPutBack(task, after(begunFor))
	}},
	{"begin: after a restart the runner is dead at once, though its clock was ahead", func(b *fixture) {
		b.Generation++
		b.at(24 * time.Hour)
		task := b.begun()
		b.Generation++
		b.at(0)
		b.rerun(task)
		b.wantTrace("begin: begun", "close by task: closed by task", "wake token in 0s")
	}},
	{"begin: a runner whose clock is a little ahead is awaited as long as any, and no longer", func(b *fixture) {
		b.at(time.Minute)
		task := b.begun()
		b.at(0)
		b.wantTaskPutBack(task, after(begunFor))
		b.trace = nil
		b.at(time.Minute - begunFor)
		b.rerun(task)
		b.wantTrace("begin: begun", "close by task: closed by task", "wake token in 0s")
	}},
	{"begin: two runners at once, one calls", func(b *fixture) {
		task := b.longOnce()
		b.script("Long", answer{outcome: success, during: func() { b.wantTaskPutBack(task, after(begunFor)) }})
		b.rerun(task)
		b.wantTrace("begin: begun", "begin: begun", "call Long", "close by task: closed by task", "wake token in 0s")
	}},
	{"begin: one that lost its answer is asked for again, and the call is made", func(b *fixture) {
		task := b.longOnce()
		b.updateFaults = []Fault{LoseWrite, LoseAnswer}
		b.answer("Long", `{}`)
		b.rerun(task)
		b.wantTrace("begin: failed", "begin: failed", "begin: begun", "call Long", "close by task: closed by task", "wake token in 0s")
	}},
	{"begin: one that lost its answer to another who began", func(b *fixture) {
		task := b.longOnce()
		b.updateFaults = []Fault{LoseWrite}
		b.Sleep = b.onPause(func() {
			if _, err := b.store.Begin(b.t.Context(), task.Handle, token.BeginOp{By: "another", At: b.Now()}); err != nil {
				b.t.Error(err)
			}
		})
		b.wantTaskPutBack(task, after(begunFor))
		b.wantTrace("begin: failed", "begin: begun")
	}},
	{"begin: a task whose token is closed is not begun", func(b *fixture) {
		task := b.longOnce()
		b.close(success)
		b.rerun(task)
		b.wantTrace("begin: closed by hand", "wake token in 0s")
	}},
	{"begin: the outcome of a runner believed dead does not count, a success before that does", func(b *fixture) {
		task := b.longOnce()
		b.script("Long", answer{outcome: success, during: func() {
			b.at(begunFor)
			b.rerun(task)
		}})
		b.rerun(task)
		b.wantTrace("begin: begun", "begin: begun", "close by task: closed by task", "wake token in 0s",
			"call Long", "close by task: closed by task", "wake token in 0s")
		b.advance(b.wakes[0])
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskInterrupted)
	}},
	{"begin: a call that was answered and could not be recorded is given up", func(b *fixture) {
		task := b.longOnce()
		b.answer("Long", `{}`)
		b.updateFaults = slices.Concat([]Fault{NoFault}, slices.Repeat([]Fault{LoseWrite}, 10))
		b.wantTaskFails(task)
		b.wantTaskPutBack(task, after(begunFor))
	}},
	{"begin: a submission is begun too, and comes again with its answer", func(b *fixture) {
		_, task := b.slow(flowHead + callbackText(atMostOnce))
		b.answer("Ask", `{}`)
		b.rerun(task)
		b.wantTrace("begin: begun", "call Ask", "keep the answer: answered", "wake answer in 0s")
		b.rerun(task)
		b.wantTrace("begin: answered", "wake answer in 0s")
		b.advance(b.wakes[0])
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 7: a call that must not be made twice is queued again, for who makes it begins it", func(b *fixture) {
		b.limits = map[string]time.Duration{"Long": time.Hour}
		b.queueFails = 1
		start := b.begin(longOnceFlow)
		b.wantError(start, engine.CodeInternal)
		b.at(time.Minute)
		b.trace = nil
		b.advance(start)
		b.wantTrace("read", "look: open", "queue Long", "write 2")
	}},
}
