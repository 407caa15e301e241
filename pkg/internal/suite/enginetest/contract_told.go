package enginetest

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// endCases are about who is told of the end of an execution.
var endCases = []ruleCase{
	{"rule 7: the end is told after the terminal item, and once", func(b *fixture) {
		start := b.lastTask(0)
		b.advance(start)
		b.wantTrace("read", "call Only", "write 1", "told Succeeded")
	}},
	{"rule 7: an end that was not told is told again once the worker cannot live", func(b *fixture) {
		start := b.lastTask(1)
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "call Only", "write 1", "told Succeeded: failed")
		b.at(59 * time.Second)
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "told Succeeded")
	}},
	{"rule 7: an end that was not told by a wake whose message is deleted is told by the wake of the result", func(b *fixture) {
		b.wantError(b.lastTask(1), engine.CodeInternal)
		b.trace = nil
		closed := testKeys.Handle(token.ID{Execution: testID, Number: 2, Expires: after(time.Hour)})
		result := engine.Wake{Execution: testID, Cause: closed, Due: b.Now(), Sent: b.Now()}
		b.wantPutBack(result, after(time.Minute))
		b.at(time.Minute)
		b.trace = nil
		b.advance(result)
		b.wantTrace("read", "told Succeeded")
	}},
	{"rule 7: a wake that did not end the execution sends no notice", func(b *fixture) {
		b.advance(b.lastTask(0))
		b.trace = nil
		b.at(time.Hour)
		b.advance(engine.Wake{Execution: testID, Cause: "0123456789abcdef", Seq: 1, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read")
	}},
	{"rule 7: a report after the end does not have the end told again", func(b *fixture) {
		again := b.closedLast(token.ClosedByCallback, 0)
		for hours := range 3 { // the same outcome, or another one: the wake precedes the update
			b.at(time.Duration(hours+1) * time.Hour)
			again.Due, again.Sent = b.Now(), b.Now()
			b.advance(again)
			b.wantTrace("read", "look: closed by callback")
			b.trace = nil
		}
	}},
	{"rule 7: the wake that brought the result has an end told that was not, however late it comes", func(b *fixture) {
		wake := b.closedLast(token.ClosedByCallback, 1)
		b.at(time.Hour)
		b.advance(wake)
		b.wantTrace("read", "told Succeeded")
	}},
	{"rule 10: a wake that a queue's closer sends long after the end has an end told that was not", func(b *fixture) {
		wake := b.closedLast(token.ClosedByEvent, 1)
		b.at(time.Hour)
		wake.Due, wake.Sent = b.Now(), b.Now()
		b.advance(wake)
		b.wantTrace("read", "look: closed by event", "told Succeeded")
	}},
	{"rule 7: a failure by a defect is told too", func(b *fixture) {
		start := b.gone()
		b.Ends = &told{b, 0}
		start.Receives = 5
		b.advance(start)
		b.wantTrace("read", "read", "write 1", "told Failed")
	}},
}

// lastTask starts an execution of one task, whose end is told after so many
// failures, and gives its wake.
func (b *fixture) lastTask(failures int) engine.Wake {
	b.t.Helper()
	b.Ends = &told{b, failures}
	b.answer("Only", `{}`)
	return b.begin(taskFlow("Only"))
}

// closedLast closes the token of the last step, and gives the wake that ends the execution. The end
// is told after so many failures.
func (b *fixture) closedLast(by token.Closer, failures int) engine.Wake {
	b.t.Helper()
	b.Ends = &told{b, failures}
	b.ask(askFlow)
	wake := b.tokenWake()
	closing := token.CloseOp{Outcome: token.Success(object(b.t, "{}")), By: by, At: b.Now()}
	if _, err := b.store.Close(b.t.Context(), wake.Cause, closing); err != nil {
		b.t.Fatal(err)
	}
	if failures > 0 {
		b.wantError(wake, engine.CodeInternal)
	} else {
		b.advance(wake)
	}
	b.trace = nil
	return wake
}

// told notes the ends that it is told of.
type told struct {
	b     *fixture
	fails int
}

// Ended implements [engine.Ends].
func (t *told) Ended(_ context.Context, _ engine.ID, state machine.State) error {
	if t.fails > 0 {
		t.fails--
		t.b.note("told %s: failed", state.Status)
		return ErrFault
	}
	t.b.note("told %s", state.Status)
	return nil
}
