//go:build failpoints

package local

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// A build with the tag failpoints tells every gap between two effects of the
// engine to whoever listens at a socket, and goes on when that one says so. The
// kill test listens, and at the gap that it wants sends SIGKILL instead.
//
// An effect is a call of a port, or the end of a message. A gap is named by the
// effects around it: "call > commit wait". The gap is told before the second
// of them begins. Before a call the step follows, after a tab: what is built in
// leaves no other trace of being called.
const (
	// failpointsSocket is the environment's name of the socket; without it
	// nothing is told.
	failpointsSocket = "WAITLESS_FAILPOINTS"
	// failpointsClock is the environment's name of how far the real clock is put
	// ahead, so that nobody has to wait for a claim to lapse.
	failpointsClock = "WAITLESS_FAILPOINTS_CLOCK"
)

// gap tells of the gap between two effects and waits to be let through, each on
// a connection of its own, so that one may be kept waiting for another. Without
// its listener the process ends: there is nobody left to kill it.
func gap(before, after string) {
	path := os.Getenv(failpointsSocket)
	if path == "" {
		return
	}
	conn, err := net.Dial("unix", path) //nolint:gosec // the test names the socket, on this machine
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }() // nothing is left to be sent
	if _, err = fmt.Fprintf(conn, "%s > %s\n", before, after); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil {
		panic(err)
	}
}

// present is the instant of the real clock, which may have been put ahead.
func present() time.Time { return time.Now().Add(ahead()) }

var ahead = sync.OnceValue(func() time.Duration {
	text := os.Getenv(failpointsClock)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
})

// watched puts the failpoints around the ports.
func watched(p ports) ports {
	return ports{
		store: watchedStore{p.store}, wakes: watchedWakes{p.wakes}, tasks: watchedTasks{p.tasks}, taskQueue: watchedTaskQueue{p.taskQueue},
	}
}

// trail is what one Advance or RunTask did last, and to which state.
type trail struct {
	last  string
	wake  engine.Wake // that is applied
	task  bool        // it is a RunTask
	state machine.State
}

type trailKey struct{}

// trailOf is nil for what is done for somebody outside: start, stop, an answer.
func trailOf(ctx context.Context) *trail {
	t, _ := ctx.Value(trailKey{}).(*trail)
	return t
}

// next is the gap before an effect, which is then the last one.
func (t *trail) next(effect string) {
	gap(t.last, effect)
	t.last = effect
}

// nextCall is the gap before a call for the step.
func (t *trail) nextCall(step string) {
	name := t.callName()
	gap(t.last, name+"\t"+step)
	t.last = name
}

// Advance is that of the engine, with what becomes of the message as its last
// effect.
func (s *System) Advance(ctx context.Context, wake engine.Wake) (engine.Verdict, error) {
	t := &trail{last: "receive", wake: wake}
	verdict, err := s.Engine.Advance(context.WithValue(ctx, trailKey{}, t), wake)
	switch {
	case err != nil:
	case verdict.PutBack.IsZero():
		t.next("delete")
	default:
		t.next("put back")
	}
	return verdict, err
}

// RunTask is that of the engine, with the end of the message as its last
// effect.
func (s *System) RunTask(ctx context.Context, task engine.Task) (engine.Verdict, error) {
	t := &trail{last: "take task", task: true}
	verdict, err := s.Engine.RunTask(context.WithValue(ctx, trailKey{}, t), task)
	switch {
	case err != nil:
	case verdict.PutBack.IsZero():
		t.next("delete task")
	default:
		t.next("put back task")
	}
	return verdict, err
}

type watchedStore struct{ Store }

// Latest notes what the wake finds. What it entered itself and has not ended is
// for rule 7.
func (s watchedStore) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	item, err := s.Store.Latest(ctx, execution)
	if t := trailOf(ctx); t != nil && err == nil {
		t.state = stateOf(item)
		if _, pending := machine.Unresolved(t.state, t.wake.Cause); pending && t.last == "receive" {
			t.last = "find pending"
		}
	}
	return item, err
}

func (s watchedStore) Append(ctx context.Context, item engine.Item) error {
	state := stateOf(item)
	effect := "commit " + stateName(state)
	t := trailOf(ctx)
	if t == nil {
		t = &trail{last: "send start"}
		defer t.next("answer")
	}
	t.next(effect)
	t.state = state
	return s.Store.Append(ctx, item)
}

func (s watchedStore) Close(ctx context.Context, handle string, closing token.Closing) (token.Record, error) {
	effect, t := "close by "+string(closing.By), trailOf(ctx)
	if t == nil {
		t = &trail{last: "send wake"}
		if id, ok := token.HandleID(handle); ok && id.Number == 0 { // under which a request to stop is kept
			t.last, effect = "send stop", "keep stop"
		}
		defer t.next("answer")
	}
	t.next(effect)
	return s.Store.Close(ctx, handle, closing)
}

// Begin notes that a call is begun that must not be made twice.
func (s watchedStore) Begin(ctx context.Context, handle string, beginning token.Beginning) (token.Record, error) {
	if t := trailOf(ctx); t != nil {
		t.next("begin")
	}
	return s.Store.Begin(ctx, handle, beginning)
}

// Answer notes that the answer to a submission is kept.
func (s watchedStore) Answer(ctx context.Context, handle string, answering token.Answering) (token.Record, error) {
	if t := trailOf(ctx); t != nil {
		t.next("keep answer")
	}
	return s.Store.Answer(ctx, handle, answering)
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
	case s.Waiting.Submitted:
		return "submitted"
	case s.Waiting.Queued:
		return "queued"
	}
	return waitingNames[s.Waiting.For]
}

var waitingNames = map[machine.WaitingFor]string{
	machine.WaitingForInstant: "wait", machine.WaitingForCall: "call", machine.WaitingForClaim: "claim", machine.WaitingForToken: "token",
}

type watchedWakes struct{ engine.Wakes }

func (w watchedWakes) Send(ctx context.Context, wake engine.Wake) error {
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

type watchedTasks struct{ engine.Tasks }

func (w watchedTasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
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

type watchedTaskQueue struct{ engine.TaskQueue }

func (w watchedTaskQueue) Queue(ctx context.Context, task engine.Task) error {
	if t := trailOf(ctx); t != nil {
		t.next("queue")
	}
	return w.TaskQueue.Queue(ctx, task)
}
