package enginetest

import (
	"context"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// defectCases are rule 13: a wake whose execution cannot go on.
var defectCases = []ruleCase{
	{"rule 13: from the fifth receive on a definition that is gone fails the execution", func(b *fixture) {
		start := b.gone()
		for receives := range 5 {
			start.Receives = receives
			b.wantError(start, engine.CodeDefect)
			b.wantTrace("read")
		}
		start.Receives = 5
		b.advance(start)
		b.wantTrace("read", "read", "write 1")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
		b.wantHistory("ExecutionFailed")
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 13: a store that fails is no defect, however often", func(b *fixture) {
		start := b.begin(onlyText)
		start.Receives = 99
		b.log.FailReads(1)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read: failed")
	}},
	{"rule 13: what a newer release wrote is no defect, however often", func(b *fixture) {
		b.appendBody(0, newerBody())
		b.wantError(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch, Receives: 99}, engine.CodeTooNew)
		b.wantTrace("read")
	}},
	{"rule 13: a token's record of a newer release is no defect, however often", func(b *fixture) {
		b.ask(askFlow)
		wake := b.close(success)
		wake.Receives, b.recordsFail = 99, token.ErrNewer
		b.wantError(wake, engine.CodeTooNew)
		b.wantTrace("read", "look: failed")
		b.abandon(wake, engine.AbandonedNot)
		b.wantTrace("read", "look: failed")
		b.recordsFail = nil // the newer release
		b.advance(wake)
		b.wantTrace("read", "look: closed by hand", "write 3")
		b.wantSucceeded()
	}},
	{"rule 13: a token's record that is damaged fails the execution, by the token's wake", func(b *fixture) {
		b.ask(askFlow)
		wake := b.close(success)
		b.recordsFail = token.ErrDamaged
		wake.Receives = 4
		b.wantError(wake, engine.CodeDefect)
		b.wantTrace("read", "look: failed")
		wake.Receives = 5
		b.advance(wake)
		b.wantTrace("read", "look: failed", "read", "close by stop: failed", "write 3")
		b.wantHistory("Scheduled Started Submitted Failed ExecutionFailed")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a token's record that is damaged fails the execution, by its deadline", func(b *fixture) {
		start := b.begin(flowHead + callbackText("timeoutSeconds: 600"))
		b.answer("Ask", `{}`)
		b.advance(start)
		timer := b.take()
		b.recordsFail = token.ErrDamaged
		b.at(time.Hour)
		timer.Receives = 5
		b.advance(timer)
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a token's record that is damaged fails the execution, by rearm", func(b *fixture) {
		b.ask(askFlow)
		b.recordsFail = token.ErrDamaged
		b.at(time.Hour)
		b.rearm(engine.RearmRequest{}, "token")
		wake := b.take()
		b.wantError(wake, engine.CodeDefect)
		wake.Receives = 5
		b.advance(wake)
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a token's record that is damaged fails the execution, by the janitor", func(b *fixture) {
		b.ask(askFlow)
		wake := b.close(success)
		b.recordsFail = token.ErrDamaged
		b.abandon(wake, engine.AbandonedExecution)
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a process without token keys is no defect, however often", func(b *fixture) {
		b.Keys = token.Keys{}
		start := b.begin(askFlow)
		start.Receives = 99
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read")
		b.Keys = testKeys
		b.answer("Ask", `{}`)
		b.advance(start)
		b.wantTrace("read", "write 1", "call Ask", "write 2")
	}},
	{"rule 13: a damaged item fails the execution after the last one that can be read", func(b *fixture) {
		timer := b.pause()
		b.appendBody(2, []byte{machine.Format, 0xff})
		b.at(10 * time.Second)
		timer.Receives = 5
		b.advance(timer)
		b.wantTrace("read", "read", "read items", "write 3")
		_, state := b.latest()
		if state.Execution != executionName || state.Flow.Name != flowName || !state.Started.Equal(epoch) {
			b.t.Errorf("the state is %+v", state)
		}
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: an execution of which nothing can be read is failed", func(b *fixture) {
		b.appendBody(0, []byte{machine.Format, 0xff})
		b.advance(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch, Receives: 5})
		b.wantTrace("read", "read", "write 1")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a token that is out is closed first", func(b *fixture) {
		b.ask(askFlow)
		b.damageDefinition()
		stop := b.stop()
		stop.Receives = 5
		b.advance(stop)
		b.wantTrace("read", "read the request to stop", "read", "close by stop: closed by stop", "write 3")
		b.wantHistory("Scheduled Started Submitted Failed ExecutionFailed")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a success that came first is recorded", func(b *fixture) {
		b.ask(askFlow)
		b.damageDefinition()
		wake := b.close(success)
		wake.Receives = 5
		b.advance(wake)
		b.wantTrace("read", "look: closed by hand", "read", "close by stop: closed by hand", "write 3")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionFailed")
	}},
	{"rule 13: what a poll answered is not recorded as the attempt's outcome", func(b *fixture) {
		task := b.longPoll()
		b.answer("Poll", running)
		b.rerun(task)
		b.damageDefinition()
		wake := b.take()
		wake.Receives = 5
		b.trace = nil
		b.advance(wake)
		b.wantTrace("read", "look: closed by task", "read", "close by stop: closed by task", "write 3")
		b.wantHistory("Scheduled Started ExecutionFailed")
	}},
	{"rule 13: refused, it is failed again", func(b *fixture) {
		start := b.gone()
		start.Receives = 5
		b.log.FailAppends(Refuse)
		b.advance(start)
		b.wantTrace("read", "read", "write 1: refused", "read", "write 1")
	}},
	{"rule 13: an item that is too large is not put and fails the execution", func(b *fixture) {
		b.Limits.Data, b.Limits.Item = 1<<20, 1<<20 // the machine lets it pass
		large := token.Success(object(b.t, `{"large":"`+strings.Repeat("x", 400<<10)+`"}`))
		start := b.begin(taskFlow("First"))
		b.script("First", answer{outcome: large})
		b.script("First", answer{outcome: large})
		b.wantError(start, engine.CodeDefect)
		b.wantTrace("read", "call First")
		start.Receives = 5
		b.advance(start)
		b.wantTrace("read", "call First", "read", "write 1")
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 13: a start with an input that is too large has no effect", func(b *fixture) {
		request := b.request(onlyText, `{"large":"`+strings.Repeat("x", 400<<10)+`"}`)
		if _, err := b.Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodeInvalid {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace()
	}},
	{"rule 13: a wake that is sent again does not carry the receives along", func(b *fixture) {
		timer := b.pause()
		timer.Receives = 4
		b.advance(timer)
		if again := b.take(); again.Receives != 0 {
			b.t.Errorf("it was sent again with %d receives", again.Receives)
		}
	}},
}

// gone starts an execution whose definition was deleted.
func (b *fixture) gone() engine.Wake {
	b.t.Helper()
	start := b.begin(onlyText)
	b.Flows = otherFlows{b.Flows, machine.FlowRef{Name: flowName, Hash: "unknown"}}
	return start
}

// damageDefinition makes the definition one that cannot have led to the state.
func (b *fixture) damageDefinition() {
	b.t.Helper()
	b.Flows = otherFlows{b.Flows, put(b.t, b.store, flowName, onlyText)}
}

// otherFlows answers always with the same flow.
type otherFlows struct {
	engine.Flows
	flow machine.FlowRef
}

// Flow implements [engine.Flows].
func (f otherFlows) Flow(ctx context.Context, _ machine.FlowRef) (*flow.Flow, error) {
	return f.Flows.Flow(ctx, f.flow)
}
