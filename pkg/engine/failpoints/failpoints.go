// Package failpoints is for tests that kill workers: it stands around the ports
// of an engine and tells every gap between two effects to whoever listens at a
// socket, and the engine goes on when that one says so. The test listens, and at
// the gap that it wants sends SIGKILL instead.
//
// An effect is a call of a port, or the end of a message. A gap is named by the
// effects around it: "call > commit wait". The gap is told before the second
// of them begins.
//
// No program has it in it that is not built with the tag failpoints. It may
// change at any time.
package failpoints

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Socket is the environment's name of the socket; without it nothing is told.
const Socket = "WAITLESS_FAILPOINTS"

// gap tells of the gap between two effects and waits to be let through, each on
// a connection of its own, so that one may be kept waiting for another. Without
// its listener the process ends: there is nobody left to kill it.
//
// A line is the gap, the step that a call is for, the execution and the process,
// with tabs between: what is built in leaves no other trace of being called, and
// a process may work on many executions.
func gap(execution engine.ID, before, after, step string) {
	path := os.Getenv(Socket)
	if path == "" {
		return
	}
	conn, err := net.Dial("unix", path) //nolint:gosec,noctx // the test names the socket, on this machine
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }() // nothing is left to be sent
	if _, err = fmt.Fprintf(conn, "%s > %s\t%s\t%s\t%d\n", before, after, step, execution, os.Getpid()); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil {
		panic(err)
	}
}

// Around puts the failpoints around the ports of an engine.
func Around(c engine.Config) engine.Config {
	c.Log, c.Outcomes = Log{c.Log}, Outcomes{c.Outcomes}
	c.Wakes, c.Tasks, c.TaskQueue = wakes{c.Wakes}, tasks{c.Tasks}, taskQueue{c.TaskQueue}
	return c
}

// trail is what one Advance or RunTask did last, and to which state.
type trail struct {
	last  string
	wake  engine.Wake // that is applied
	task  bool        // it is a RunTask
	state machine.State
	// execution is whom it is for.
	execution engine.ID
}

type trailKey struct{}

// trailOf is nil for what is done for somebody outside: start, stop, an answer.
func trailOf(ctx context.Context) *trail {
	t, _ := ctx.Value(trailKey{}).(*trail)
	return t
}

// next is the gap before an effect, which is then the last one.
func (t *trail) next(effect string) {
	gap(t.execution, t.last, effect, "")
	t.last = effect
}

// nextCall is the gap before a call for the step.
func (t *trail) nextCall(step string) {
	name := t.callName()
	gap(t.execution, t.last, name, step)
	t.last = name
}

// Advance is that of an engine, with what becomes of the message as its last
// effect.
func Advance(ctx context.Context, e *engine.Engine, wake engine.Wake) (engine.Verdict, error) {
	t := &trail{last: "receive", wake: wake, execution: wake.Execution}
	verdict, err := e.Advance(context.WithValue(ctx, trailKey{}, t), wake)
	switch {
	case err != nil:
	case verdict.PutBack.IsZero():
		t.next("delete")
	default:
		t.next("put back")
	}
	return verdict, err
}

// RunTask is that of an engine, with the end of the message as its last effect.
func RunTask(ctx context.Context, e *engine.Engine, task engine.Task) (engine.Verdict, error) {
	t := &trail{last: "take task", task: true}
	if id, ok := token.HandleID(task.Handle); ok {
		t.execution = id.Execution
	}
	verdict, err := e.RunTask(context.WithValue(ctx, trailKey{}, t), task)
	switch {
	case err != nil:
	case verdict.PutBack.IsZero():
		t.next("delete task")
	default:
		t.next("put back task")
	}
	return verdict, err
}

// Log is a log with failpoints around it.
type Log struct{ engine.Log }

// Latest notes what the wake finds. What it entered itself and has not ended is
// for rule 7.
func (l Log) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	item, err := l.Log.Latest(ctx, execution)
	if t := trailOf(ctx); t != nil && err == nil {
		t.state = stateOf(item)
		if _, pending := machine.Unresolved(t.state, t.wake.Cause); pending && t.last == "receive" {
			t.last = "find pending"
		}
	}
	return item, err
}

// Append names the commit by the state.
func (l Log) Append(ctx context.Context, item engine.Item) error {
	state := stateOf(item)
	effect := "commit " + stateName(state)
	t := trailOf(ctx)
	if t == nil {
		t = &trail{last: "send start", execution: item.Execution}
		defer t.next("answer")
	}
	t.next(effect)
	t.state = state
	return l.Log.Append(ctx, item)
}

// Outcomes are outcomes with failpoints around them.
type Outcomes struct{ engine.Outcomes }

// Close names the closing by who closes.
func (o Outcomes) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	effect, t := "close by "+string(closing.By), trailOf(ctx)
	if t == nil {
		t = &trail{last: "send wake"}
		if id, ok := token.HandleID(handle); ok {
			t.execution = id.Execution
			if id.Number == 0 { // under which a request to stop is kept
				t.last, effect = "send stop", "keep stop"
			}
		}
		defer t.next("answer")
	}
	t.next(effect)
	return o.Outcomes.Close(ctx, handle, closing)
}

// Begin notes that a call is begun that must not be made twice.
func (o Outcomes) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	if t := trailOf(ctx); t != nil {
		t.next("begin")
	}
	return o.Outcomes.Begin(ctx, handle, beginning)
}

// Answer notes that the answer to a submission is kept.
func (o Outcomes) Answer(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	if t := trailOf(ctx); t != nil {
		t.next("keep answer")
	}
	return o.Outcomes.Answer(ctx, handle, answering)
}

func stateOf(item engine.Item) machine.State {
	state, _, err := machine.Decode(machine.Place(item.Execution, item.Seq), item.Body)
	if err != nil {
		panic(err)
	}
	return state
}

// stateName says which state is committed.
func stateName(s machine.State) string {
	switch {
	case s.Status.Final():
		return "end"
	case s.Ending != nil:
		return "ending"
	case s.Status == machine.StatusStarting:
		return "start"
	case s.Waiting == nil:
		return "nothing"
	case s.Waiting.Submitted():
		return "submitted"
	case s.Waiting.Token != nil && s.Waiting.Token.Phase == machine.TokenQueued:
		return "queued"
	}
	return waitingNames[s.Waiting.For]
}

var waitingNames = map[machine.WaitingFor]string{
	machine.WaitingForInstant: "wait", machine.WaitingForCall: "call", machine.WaitingForClaim: "claim", machine.WaitingForToken: "token",
	machine.WaitingForRetry: "retry", machine.WaitingForPoll: "poll", machine.WaitingForRoom: "room",
}

type wakes struct{ engine.Wakes }

func (w wakes) Send(ctx context.Context, wake engine.Wake) error {
	switch t := trailOf(ctx); {
	case t == nil: // nothing comes before it
	case t.task:
		t.next("send wake")
	case wake.Cause == t.wake.Cause:
		t.next("send again")
	default:
		t.next("send timer")
	}
	return w.Wakes.Send(ctx, wake)
}

type tasks struct{ engine.Tasks }

func (w tasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if t := trailOf(ctx); t != nil {
		t.nextCall(call.Step)
	}
	return w.Tasks.Call(ctx, call)
}

// callName says how the task is run whose function is called, by the state that
// was committed before.
func (t *trail) callName() string {
	switch w := t.state.Waiting; {
	case t.task:
		return "long call"
	case w != nil && w.For == machine.WaitingForToken:
		return "submission"
	case w != nil && w.For == machine.WaitingForClaim:
		return "claimed call"
	}
	return "call"
}

type taskQueue struct{ engine.TaskQueue }

func (w taskQueue) Queue(ctx context.Context, task engine.Task) error {
	if t := trailOf(ctx); t != nil {
		t.next("queue")
	}
	return w.TaskQueue.Queue(ctx, task)
}
