package enginetest

import (
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// orderCases are rules 1, 2, 3 and 6: what is done, and in which order.
var orderCases = []ruleCase{
	{"rule 1: a wake of a terminal execution writes nothing", func(b *fixture) {
		start := b.begin(onlyText)
		b.advance(start)
		b.wantTrace("read", "write 1")
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 1: a timer of a terminal execution writes nothing", func(b *fixture) {
		timer := b.pause()
		b.at(10 * time.Second)
		b.answer("Poll", succeeded)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 2")
		b.advance(timer)
		b.wantTrace("read")
		b.wantSucceeded()
	}},
	{"rule 1: an older wake writes nothing", func(b *fixture) {
		b.answer("Begin", `{}`)
		start := b.begin(pollFlow)
		b.advance(start)
		b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1")
		_, before := b.latest()
		b.advance(start)
		b.wantTrace("read")
		if _, after := b.latest(); after.Timer != before.Timer {
			b.t.Errorf("the live timer is %+v, want %+v", after.Timer, before.Timer)
		}
	}},
	{"rule 1: a forged wake writes nothing", func(b *fixture) {
		b.pause()
		for _, cause := range []string{"", "forged"} {
			b.advance(engine.Wake{Execution: testID, Cause: cause, Due: epoch, Sent: epoch})
			b.wantTrace("read")
		}
	}},
	{"rule 2: a poll turn is 1 read, 1 call, 1 wake and 1 write", func(b *fixture) {
		timer := b.pause()
		for turn := 1; turn <= 3; turn++ {
			b.at(time.Duration(turn) * 10 * time.Second)
			b.answer("Poll", running)
			b.advance(timer)
			b.wantTrace("read", "call Poll", "wake timer in 10s", "write "+string(rune('1'+turn)))
			timer = b.take()
		}
		b.at(40 * time.Second)
		b.answer("Poll", succeeded)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 5")
		b.wantSucceeded()
	}},
	{"rule 2: steps that need nothing from outside are 1 read and 1 write", func(b *fixture) {
		b.advance(b.begin("version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: A\n  - type: pass\n    name: B\n" + waitText("C", 0)))
		b.wantTrace("read", "write 1")
		b.wantSucceeded()
	}},
	{"rule 2: a call after a call's result is committed as pending first", func(b *fixture) {
		b.answer("First", `{"first":1}`)
		b.answer("Third", `{"third":3}`)
		b.script("Second", answer{outcome: token.Success(object(b.t, `{"second":2}`)), during: func() {
			item, state := b.latest()
			if item.Seq != 1 || state.Waiting == nil || state.Waiting.By != machine.CauseStart || !state.Waiting.Since.Equal(epoch) {
				b.t.Errorf("when Second was called item %d waited for %+v", item.Seq, state.Waiting)
			}
		}})
		b.advance(b.begin(taskFlow("First", "Second", "Third")))
		b.wantTrace("read", "call First", "write 1", "call Second", "write 2", "call Third", "write 3")
		_, state := b.latest()
		if got, want := state.Output.JSON(), `{"first":1,"second":2,"third":3}`; got != want {
			b.t.Errorf("output %s, want %s", got, want)
		}
	}},
	{"rule 2: a call that has to wait for its turn is committed as pending first", func(b *fixture) {
		b.script("First", answer{outcome: token.Success(object(b.t, `{}`)), waits: true, turn: func() error {
			if item, state := b.latest(); item.Seq != 1 || state.Waiting == nil || state.Waiting.For != machine.WaitingForCall {
				b.t.Errorf("while First waits, item %d waits for %+v", item.Seq, state.Waiting)
			}
			return nil
		}})
		b.advance(b.begin(taskFlow("First")))
		b.wantTrace("read", "wait to call First", "write 1", "call First", "write 2")
		b.wantSucceeded()
	}},
	{"rule 2: a call whose turn did not come because the execution was stopped is not made", func(b *fixture) {
		start := b.begin(taskFlow("First"))
		b.script("First", answer{waits: true, turn: func() error {
			stop := b.stop()
			b.advanceBy(b.rival(), stop)
			return engine.ErrConflict
		}})
		b.advance(start)
		b.wantTrace("read")
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 2: a call whose commit fails does not wait for its turn", func(b *fixture) {
		b.script("First", answer{waits: true})
		start := b.begin(taskFlow("First"))
		b.log.FailAppends(LoseWrite)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "wait to call First", "write 1: failed", "read items")
	}},
	{"rule 2: a call that failed is a result like others", func(b *fixture) {
		b.script("First", answer{outcome: token.Failure("Broken", "it is broken")})
		b.advance(b.begin(taskFlow("First", "Second")))
		b.wantTrace("read", "call First", "write 1")
		if _, state := b.latest(); state.Status != machine.StatusFailed || state.Error != "Broken" {
			b.t.Errorf("the execution is %s with error %q", state.Status, state.Error)
		}
	}},
	{"rule 3: each timer has a fresh tag, its due and the number of its item", func(b *fixture) {
		timer := b.pause()
		for turn := 1; turn <= 3; turn++ {
			item, state := b.latest()
			want := engine.Wake{Execution: testID, Cause: state.Timer.Tag, Due: state.Timer.Due, Sent: b.Now(), Seq: item.Seq}
			if !sameWake(timer, want) {
				b.t.Errorf("the timer is %+v, want %+v", timer, want)
			}
			b.at(time.Duration(turn) * 10 * time.Second)
			b.answer("Poll", running)
			b.advance(timer)
			timer = b.take()
		}
		b.wantDistinct("the tags", b.tags, 4)
	}},
	{"rule 3: a late timer applies", func(b *fixture) {
		timer := b.pause()
		b.at(time.Hour)
		b.answer("Poll", running)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		if _, state := b.latest(); !state.Timer.Due.Equal(epoch.Add(time.Hour + 10*time.Second)) {
			b.t.Errorf("the next timer is due at %s", state.Timer.Due)
		}
	}},
	{"rule 3: an instant that passed during a call needs no timer", func(b *fixture) {
		b.script("Slow", answer{outcome: success, during: func() { b.at(time.Minute) }})
		b.advance(b.begin(taskFlow("Slow") + "  - type: wait\n    name: Until\n    timestamp: 2026-01-31T10:00:30Z\n"))
		b.wantTrace("read", "call Slow", "write 1")
		b.wantSucceeded()
	}},
	{"rule 3: a state whose timer was not sent is not committed", func(b *fixture) {
		b.answer("Begin", `{}`)
		start := b.begin(pollFlow)
		b.sendFails = 1
		b.advance(start)
		b.wantTrace("read", "call Begin", "wake timer in 10s: failed", "read", "wake timer in 10s", "write 1")
	}},
	{"rule 3: what an item has no room for comes by a timer of its own, also after one that was due at the same instant", func(b *fixture) {
		flow := flowHead + waitText("Pause", 10)
		for _, name := range []string{"A", "B", "C", "D", "E"} {
			flow += "  - {type: pass, name: " + name + ", inputMappings: [], outputMappings: [{target: large, source: " + strings.Repeat(name, 20_000) + "}]}\n"
		}
		b.advance(b.begin(flow + "  - {type: pass, name: Last, outputMappings: [{target: large, source: none}]}\n"))
		b.wantTrace("read", "wake timer in 10s", "write 1")
		b.at(10 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "wake timer in 0s", "write 2")
		b.advance(b.take())
		b.wantTrace("read", "write 3")
		b.wantDistinct("the tags", b.tags, 2)
		b.wantSucceeded()
	}},
	{"rule 6: a read that fails leaves the message and everything else", func(b *fixture) {
		start := b.begin(onlyText)
		b.log.FailReads(1)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read: failed")
		b.advance(start)
		b.wantTrace("read", "write 1")
	}},
	{"rule 6: a call that was stopped leaves the message and is made again", func(b *fixture) {
		b.script("Begin", answer{err: errStopped})
		start := b.begin(pollFlow)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "call Begin: stopped")
		b.answer("Begin", `{}`)
		b.advance(start)
		b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1")
	}},
	{"rule 6: a write that fails leaves the message", func(b *fixture) {
		start := b.begin(onlyText)
		b.log.FailAppends(LoseWrite)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1: failed", "read items")
		b.advance(start)
		b.wantTrace("read", "write 1")
	}},
	{"rule 6: a flow that is not there leaves the message", func(b *fixture) {
		b.wantError(b.gone(), engine.CodeDefect)
		b.wantTrace("read")
	}},
}
