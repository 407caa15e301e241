package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// conditionText is a task that polls Poll every ten seconds until its status is
// "success".
func conditionText(lines ...string) string {
	return taskText("Poll", append([]string{"pattern: waitForCondition", `condition: $.status == "success"`, "intervalSeconds: 10"}, lines...)...)
}

var conditionFlow = flowHead + conditionText()

// seriesOfPolls is a foreach that runs its items one after the other, each of which polls Poll
// every ten seconds.
const seriesOfPolls = flowHead + `  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    maxConcurrency: 1
    steps:
      - type: task
        name: Poll
        resourceArn: acs:fc:::services/test/functions/Poll
        pattern: waitForCondition
        condition: $.status == "success"
        intervalSeconds: 10
`

// pollCases are tasks that wait for a condition: each poll is a call of its own,
// and the history has one attempt however many there are.
var pollCases = []ruleCase{
	{"polls: a poll is 1 read, 1 call, 1 wake and 1 write", func(b *fixture) {
		timer := b.polling(conditionFlow)
		for poll := 2; poll <= 4; poll++ {
			b.at(time.Duration(poll-1) * 10 * time.Second)
			b.answer("Poll", running)
			b.advance(timer)
			b.wantTrace("read", "call Poll", "wake timer in 10s", fmt.Sprintf("write %d", poll))
			timer = b.take()
		}
		b.at(40 * time.Second)
		b.answer("Poll", succeeded)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 5")
		b.wantSucceeded()
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
		b.wantDistinct("the keys", b.keys, 5)
	}},
	{"polls: a first poll that meets the condition is the only one", func(b *fixture) {
		b.answer("Poll", succeeded)
		b.advance(b.begin(conditionFlow))
		b.wantTrace("read", "call Poll", "write 1")
		b.wantSucceeded()
	}},
	{"polls: the pauses grow", func(b *fixture) {
		timer := b.polling(flowHead + conditionText("backoffRate: 2"))
		for _, pause := range []time.Duration{20 * time.Second, 40 * time.Second} {
			b.at(timer.Due.Sub(epoch))
			b.answer("Poll", running)
			b.trace = nil
			b.advance(timer)
			if timer = b.take(); timer.Due.Sub(b.Now()) != pause {
				b.t.Errorf("the pause is %s, want %s", timer.Due.Sub(b.Now()), pause)
			}
		}
	}},
	{"polls: 1,000 of them add nothing to the history", func(b *fixture) {
		timer := b.polling(conditionFlow)
		_, begun := b.latest()
		for range 999 {
			b.at(timer.Due.Sub(epoch))
			b.answer("Poll", running)
			b.trace = nil
			b.advance(timer)
			timer = b.take()
		}
		if _, state := b.latest(); state.Events != begun.Events || state.Polls != 1000 {
			b.t.Errorf("%d polls, %d events, of which %d were there after the first", state.Polls, state.Events, begun.Events)
		}
		b.at(timer.Due.Sub(epoch))
		b.answer("Poll", succeeded)
		b.advance(timer)
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
	}},
	{"polls: an input of 5 KB is written once, and a small member of it costs no read", func(b *fixture) {
		b.answer("Poll", running)
		flow := flowHead + conditionText("inputMappings: [{target: delay, source: $input.delay}]")
		b.wantStart(b.request(flow, largeInput), engine.StartedNew)
		b.wantTrace("wake start in 0s", "write 0")
		b.advance(b.take())
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 1")
		for poll := 2; poll <= 4; poll++ {
			b.at(time.Duration(poll-1) * 10 * time.Second)
			b.answer("Poll", running)
			b.advance(b.take())
			b.wantTrace("read", "call Poll", "wake timer in 10s", fmt.Sprintf("write %d", poll))
		}
		b.wantInput("Poll", `{"delay":60}`)
		b.at(40 * time.Second)
		b.answer("Poll", succeeded)
		b.advance(b.take())
		b.wantTrace("read", "call Poll", "write 5")
		b.wantWrittenOnce(6)
	}},
	{"polls: an input of 5 KB that the function gets is written once, too", func(b *fixture) {
		b.answer("Poll", running)
		b.wantStart(b.request(conditionFlow, largeInput), engine.StartedNew)
		b.advance(b.take())
		for poll := 2; poll <= 4; poll++ {
			b.at(time.Duration(poll-1) * 10 * time.Second)
			b.answer("Poll", running)
			b.trace = nil
			b.advance(b.take())
			b.wantTrace("read", "read items", "call Poll", "wake timer in 10s", fmt.Sprintf("write %d", poll))
		}
		b.wantInput("Poll", largeInput)
		b.wantWrittenOnce(5)
	}},
	{"rule 4: refused, the poll is not made again", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.log.FailAppends(Refuse)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2: refused", "read", "wake timer in 10s", "write 2")
	}},
	{"rule 4: a poll whose commit lost its answer was committed", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.log.FailAppends(LoseAnswer)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2: failed", "read items")
	}},
	{"rule 4: two workers at one poll, one result counts and no other poll has the other", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.at(10 * time.Second)
		b.answer("Poll", succeeded)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), timer) }) // which is answered {}
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 2: refused", "read")
		if w := b.waiting(); w.For != machine.WaitingForPoll || w.Polls != 2 {
			b.t.Errorf("the execution waits for %+v", w)
		}
	}},
	{"rule 6: a poll whose worker dies is made again, as the same poll", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.at(10 * time.Second)
		b.script("Poll", answer{err: errStopped})
		b.wantError(timer, engine.CodeInternal)
		b.wantTrace("read", "call Poll: stopped")
		b.answer("Poll", running)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		if b.keys[1] != b.keys[2] {
			b.t.Error("the poll that was made again has another key")
		}
	}},
	{"rule 6: a poll whose result was lost with its worker is made again, as the same poll", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.log.FailAppends(slices.Repeat([]Fault{LoseWrite}, 10)...)
		b.wantError(timer, engine.CodeInternal)
		b.trace = nil
		b.answer("Poll", running)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		if b.keys[1] != b.keys[2] {
			b.t.Error("the poll that was made again has another key")
		}
	}},
	{"rule 8: the timer of a poll comes early, late and twice", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.at(4 * time.Second)
		b.advance(timer)
		b.wantTrace("wake timer in 6s")
		b.take()
		b.at(time.Hour)
		b.answer("Poll", running)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		b.advance(timer)
		b.wantTrace("read")
	}},
	{"rule 12: a stop between two polls is one commit, and the timer does nothing", func(b *fixture) {
		timer := b.polling(conditionFlow)
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 2")
		b.at(10 * time.Second)
		b.advance(timer)
		b.wantTrace("read")
	}},
	{"rule 2: a first poll after a call's result is committed as pending first", func(b *fixture) {
		b.answer("First", `{}`)
		b.answer("Poll", running)
		b.advance(b.begin(flowHead + taskText("First") + conditionText()))
		b.wantTrace("read", "call First", "write 1", "call Poll", "wake timer in 10s", "write 2")
	}},
	{"rule 7: a pending poll without a result is made, under the same key", func(b *fixture) {
		b.answer("First", `{}`)
		b.script("Poll", answer{err: errStopped})
		start := b.begin(flowHead + taskText("First") + conditionText())
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.at(time.Minute)
		b.answer("Poll", running)
		b.advance(start)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		if b.keys[1] != b.keys[2] {
			b.t.Error("the poll that was made again has another key")
		}
	}},
	{"polls: when all of them were made and none met the condition the attempt fails", func(b *fixture) {
		timer := b.polling(flowHead + conditionText("maxAttempts: 2"))
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 2")
		b.wantEnd(machine.StatusFailed, machine.ErrorConditionNotMet)
	}},
	{"polls: a poll that fails fails the attempt, and a retry begins with a first poll", func(b *fixture) {
		timer := b.polling(flowHead + conditionText("maxAttempts: 2", tryAgain))
		b.at(10 * time.Second)
		b.script("Poll", answer{outcome: broken})
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		for i, polled := range []string{running, succeeded} {
			b.at(time.Duration(i+2) * 10 * time.Second)
			b.answer("Poll", polled)
			b.advance(b.take())
		}
		b.wantHistory("Scheduled Started Failed Scheduled Started Succeeded ExecutionSucceeded")
		b.wantDistinct("the keys", b.keys, 4)
	}},
	{"rule 22: a poll whose result was lost is repeated with the same key after more polls of an earlier item", func(b *fixture) {
		b.wantStart(b.request(seriesOfPolls, `{"list":[1,2]}`), engine.StartedNew)
		start := b.take()
		b.answer("Poll", succeeded, succeeded)
		b.log.FailAppends(slices.Repeat([]Fault{LoseWrite}, 10)...)
		b.wantError(start, engine.CodeInternal)
		b.answer("Poll", running)
		b.advance(start)
		b.at(10 * time.Second)
		b.answer("Poll", succeeded, succeeded)
		b.advance(b.takeTimer())
		b.wantSucceeded()
		b.wantDistinct("the keys of three polls", b.keys[1:4], 3)
		if b.keys[2] != b.keys[0] || b.keys[4] != b.keys[1] {
			b.t.Errorf("the keys are %q", b.keys)
		}
	}},
	{"polls: the deadline of the attempt is kept in a pause", func(b *fixture) {
		timer := b.polling(flowHead + conditionText("timeoutSeconds: 15"))
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 5s", "write 2")
		b.at(15 * time.Second)
		b.advance(b.takeTimer())
		b.wantTrace("read", "write 3")
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskTimeout)
		b.wantHistory("Scheduled Started TimedOut ExecutionFailed")
	}},
	{"rule 5: a poll that may take over 10 s is queued after its commit, each with a token of its own", func(b *fixture) {
		first := b.longPoll()
		b.answer("Poll", running)
		b.rerun(first)
		b.wantTrace("look: open", "call Poll", "close by task: closed by task", "wake token in 0s")
		b.advance(b.take())
		b.wantTrace("read", "look: closed by task", "wake timer in 10s", "write 3")
		b.at(10 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "write 4", "queue Poll", "write 5")
		second := b.takeTask()
		if second.Handle == first.Handle || second.Call.Key() == first.Call.Key() {
			b.t.Error("the second poll has the token or the key of the first")
		}
		b.answer("Poll", succeeded)
		b.rerun(second)
		b.advance(b.take())
		b.wantSucceeded()
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
	}},
	{"rule 5: the reply to a redelivered poll does not count for the next poll", func(b *fixture) {
		first := b.longPoll()
		b.answer("Poll", running)
		b.rerun(first)
		b.advance(b.take())
		b.at(10 * time.Second)
		b.advance(b.take())
		second := b.takeTask()
		b.trace = nil
		b.rerun(first)
		b.wantTrace("look: closed by task", "wake token in 0s")
		b.advance(b.take())
		b.wantTrace("read")
		if w := b.waiting(); w.Handle() != second.Handle {
			b.t.Errorf("the execution waits for %+v", w)
		}
	}},
	{"rule 7: a long poll that was not queued is queued by the wake that entered it", func(b *fixture) {
		b.limits = map[string]time.Duration{"Poll": time.Hour}
		b.queueFails = 1
		start := b.begin(conditionFlow)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1", "queue Poll: failed")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "queue Poll", "write 2")
	}},
	{"rule 9: a stop closes the token of a long poll", func(b *fixture) {
		b.longPoll()
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by stop", "write 4")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 9: the deadline of the attempt closes the token of a long poll", func(b *fixture) {
		b.limits = map[string]time.Duration{"Poll": time.Hour}
		b.advance(b.begin(flowHead + conditionText("timeoutSeconds: 30")))
		b.wantTrace("read", "wake timer in 30s", "write 1", "queue Poll", "write 2")
		b.at(30 * time.Second)
		b.advance(b.takeTimer())
		b.wantTrace("read", "close by deadline: closed by deadline", "write 3")
		b.wantHistory("Scheduled Started TimedOut ExecutionFailed")
	}},
}

// polling leads an execution, which begins with a task that waits for a
// condition, to the pause after its first poll, and gives its timer.
func (b *fixture) polling(flow string) engine.Wake {
	b.t.Helper()
	b.answer("Poll", running)
	b.advance(b.begin(flow))
	b.wantTrace("read", "call Poll", "wake timer in 10s", "write 1")
	if w := b.waiting(); w.For != machine.WaitingForPoll || w.Polls != 1 {
		b.t.Fatalf("the execution waits for %+v", w)
	}
	return b.take()
}

// longPoll leads an execution to where its first poll is queued, and gives the
// task.
func (b *fixture) longPoll() engine.Task {
	b.t.Helper()
	b.limits = map[string]time.Duration{"Poll": time.Hour}
	b.advance(b.begin(conditionFlow))
	b.wantTrace("read", "write 1", "queue Poll", "write 2")
	return b.takeTask()
}
