// Package failpoints is for tests that kill workers. It decorates the roles of an engine and
// reports every gap between two effects to the listener at a socket. The engine continues when the
// listener replies. At the gap that the test wants, it sends SIGKILL instead.
//
// An effect is a call of a port, or the end of a message. A gap is named by the effects around it:
// "call > commit wait". It is reported before the second effect begins.
//
// Only test programs use this package. This package is not an API and may change between releases.
package failpoints

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Socket is the environment variable with the path of the socket. Without it nothing is reported.
const Socket = "WAITLESS_FAILPOINTS"

// gap reports a gap and waits for the reply, on a connection of its own. If there is no listener,
// the process panics.
//
// A line has the gap, the step of a call, the execution and the process, separated by tabs.
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

// Worker is an [engine.Worker] that reports its gaps. Recover and RecoverEnd have none.
type Worker struct {
	*engine.Worker
	config engine.Config
}

// NewWorker returns a worker. It fails as [engine.NewWorker] does.
func NewWorker(config engine.Config) (Worker, error) {
	worker, err := engine.NewWorker(config)
	return Worker{worker, config}, err
}

// WithKeys is [engine.Worker.WithKeys].
func (w Worker) WithKeys(keys token.Keys) Worker {
	w.config.Keys = keys
	return w
}

// Advance is [engine.Worker.Advance]. Its last effect is what becomes of the message.
func (w Worker) Advance(ctx context.Context, wake engine.Wake) (engine.Disposition, error) {
	t := &trail{last: "receive", wake: wake, execution: wake.Execution}
	c := w.config
	c.Log, c.TokenStore, c.Wakes = Log{c.Log, t}, TokenStore{c.TokenStore, t}, wakes{c.Wakes, t}
	c.Caller, c.TaskQueue, c.Joins = caller{c.Caller, t}, taskQueue{c.TaskQueue, t}, joins{c.Joins, t}
	worker, err := engine.NewWorker(c)
	if err != nil {
		return engine.Disposition{}, err
	}
	disposition, err := worker.Advance(ctx, wake)
	t.end(disposition, err, "")
	return disposition, err
}

// TaskRunner is an [engine.TaskRunner] that reports its gaps.
type TaskRunner struct{ config engine.Config }

// NewTaskRunner returns a task runner. It fails as [engine.NewTaskRunner] does.
func NewTaskRunner(config engine.Config) (TaskRunner, error) {
	_, err := engine.NewTaskRunner(config)
	return TaskRunner{config}, err
}

// RunTask is [engine.TaskRunner.RunTask]. Its last effect is what becomes of the message.
func (r TaskRunner) RunTask(ctx context.Context, task engine.Task) (engine.Disposition, error) {
	t := &trail{last: "take task", task: true}
	if id, ok := token.HandleID(task.Handle); ok {
		t.execution = id.Execution
	}
	c := r.config
	c.TokenStore, c.Wakes, c.Caller = TokenStore{c.TokenStore, t}, wakes{c.Wakes, t}, caller{c.Caller, t}
	runner, err := engine.NewTaskRunner(c)
	if err != nil {
		return engine.Disposition{}, err
	}
	disposition, err := runner.RunTask(ctx, task)
	t.end(disposition, err, " task")
	return disposition, err
}

// trail is the last effect of one wake or task, and the state that it found or committed. It is nil
// for a client or a closer, whose gaps are around one effect.
type trail struct {
	last      string
	wake      engine.Wake // that is applied
	task      bool        // a task is run
	state     machine.State
	execution engine.ID
}

// next reports the gap before an effect, which is then the last one.
func (t *trail) next(effect string) { t.nextCall(effect, "") }

// nextCall is next for the call of a step.
func (t *trail) nextCall(effect, step string) {
	gap(t.execution, t.last, effect, step)
	t.last = effect
}

// end reports what becomes of the message.
func (t *trail) end(disposition engine.Disposition, err error, what string) {
	switch {
	case err != nil:
	case disposition.RetryAt.IsZero():
		t.next("delete" + what)
	default:
		t.next("put back" + what)
	}
}

// Log is a log that reports the gaps before its commits. A start has no trail.
type Log struct {
	engine.Log
	trail *trail
}

// Latest notes the state that a wake finds. A lane also reads the log of its fork, and a step that
// of its sub-flow.
func (l Log) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	item, err := l.Log.Latest(ctx, execution)
	if t := l.trail; t != nil && err == nil && execution == t.execution {
		t.state = stateOf(item)
		if _, pending := machine.Unresolved(t.state, t.wake.Cause); pending && t.last == "receive" {
			t.last = "find pending"
		}
	}
	return item, err
}

// Append names the commit by the state.
func (l Log) Append(ctx context.Context, item engine.Item) error {
	state, t := stateOf(item), l.trail
	if t == nil {
		t = &trail{last: "send start", execution: item.Execution}
		defer t.next("answer")
	}
	if item.Execution == t.execution {
		t.next("commit " + stateName(state))
		t.state = state
	} else {
		t.next("commit sub-flow")
	}
	return l.Log.Append(ctx, item)
}

// Extend reports the gap before items are kept longer.
func (l Log) Extend(ctx context.Context, expires time.Time, keys ...engine.ItemKey) error {
	if l.trail != nil {
		l.trail.next("extend")
	}
	return l.Log.Extend(ctx, expires, keys...)
}

// TokenStore is a token store that reports the gaps before its updates. A closer and a stop
// have no trail.
type TokenStore struct {
	engine.TokenStore
	trail *trail
}

// Close names the closing by who closes.
func (s TokenStore) Close(ctx context.Context, handle string, op token.CloseOp) (token.Record, error) {
	return s.Closing(handle, op, func() (token.Record, error) { return s.TokenStore.Close(ctx, handle, op) })
}

// Closing reports the gaps around a closing of a token by closeIt.
func (s TokenStore) Closing(handle string, op token.CloseOp, closeIt func() (token.Record, error)) (token.Record, error) {
	t := s.trail
	if t == nil {
		t = &trail{last: "send wake"}
		if id, ok := token.HandleID(handle); ok {
			t.execution = id.Execution
		}
		defer t.next("answer")
	}
	t.next("close by " + string(op.By))
	return closeIt()
}

// Applied returns applied, which reports the gap before the wake of a token sees the outcome that
// is being stored.
func Applied(handle string, op token.CloseOp, applied func()) func() {
	return func() {
		id, _ := token.HandleID(handle)
		gap(id.Execution, "close by "+string(op.By), "see outcome", "")
		applied()
	}
}

// Stops reports the gaps around a request to stop.
type Stops struct{ engine.Stops }

// RequestStop reports the gaps before and after the request.
func (s Stops) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, expires time.Time) error {
	t := &trail{last: "send stop", execution: execution}
	t.next("keep stop")
	defer t.next("answer")
	return s.Stops.RequestStop(ctx, execution, request, expires)
}

// Begin reports the gap before a call with atMostOnce is begun.
func (s TokenStore) Begin(ctx context.Context, handle string, op token.BeginOp) (token.Record, error) {
	s.trail.next("begin")
	return s.TokenStore.Begin(ctx, handle, op)
}

// Reply reports the gap before the reply to a submission is stored.
func (s TokenStore) Reply(ctx context.Context, handle string, op token.ReplyOp) (token.Record, error) {
	s.trail.next("keep answer")
	return s.TokenStore.Reply(ctx, handle, op)
}

func stateOf(item engine.Item) machine.State {
	state, _, err := machine.Decode(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
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
	case s.Waiting.Token() != nil && s.Waiting.Token().Phase == machine.TokenQueued:
		return "queued"
	case s.Waiting.Token() != nil:
		return "token"
	case s.Waiting.Fork() != nil && s.Waiting.Fork().Closing != nil:
		return "closing"
	case s.Waiting.Fork() != nil:
		return "fork"
	}
	return waitingNames[s.Waiting.For]
}

var waitingNames = map[machine.WaitingFor]string{
	machine.WaitingForInstant: "wait", machine.WaitingForCall: "call", machine.WaitingForClaim: "claim",
	machine.WaitingForRetry: "retry", machine.WaitingForPoll: "poll", machine.WaitingForNextLogItem: "room",
	machine.WaitingForItems: "items", machine.WaitingForReport: "report",
}

type wakes struct {
	engine.Wakes
	trail *trail
}

func (w wakes) Send(ctx context.Context, wake engine.Wake) error {
	w.trail.next(w.trail.sendName(wake))
	return w.Wakes.Send(ctx, wake)
}

// sendName names the wake, and the log that it is for.
func (t *trail) sendName(wake engine.Wake) string {
	switch other := wake.Execution != t.execution; {
	case t.task:
		return "send wake"
	case other && wake.Lane != nil:
		return "send last lane"
	case other && machine.IsJoin(wake.Cause):
		return "send join"
	case other && wake.Cause == machine.CauseStart:
		return "send sub-flow"
	case other:
		return "send wake to other"
	case wake.Cause == t.wake.Cause:
		return "send again"
	}
	if _, ok := token.HandleID(wake.Cause); ok {
		return "send wake"
	}
	return "send timer"
}

// HoldBack reports the gaps before and after the wakes of a sub-flow are held back.
func (w wakes) HoldBack(execution engine.ID) (release func()) {
	w.trail.next("hold back")
	let := w.Wakes.HoldBack(execution)
	return func() {
		w.trail.next("release")
		let()
	}
}

func (w wakes) SendAll(ctx context.Context, all []engine.Wake) error {
	if len(all) > 0 {
		w.trail.next("send lanes")
	}
	return w.Wakes.SendAll(ctx, all)
}

type caller struct {
	engine.Caller
	trail *trail
}

func (c caller) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	c.trail.nextCall(c.trail.callName(), call.Step)
	return c.Caller.Call(ctx, call)
}

// callName returns the form of the call, by the state that was committed before.
func (t *trail) callName() string {
	switch w := t.state.Waiting; {
	case t.task:
		return "long call"
	case w.Token() != nil:
		return "submission"
	case w != nil && w.For == machine.WaitingForClaim:
		return "claimed call"
	}
	return "call"
}

type taskQueue struct {
	engine.TaskQueue
	trail *trail
}

func (q taskQueue) Queue(ctx context.Context, task engine.Task) error {
	q.trail.next("queue")
	return q.TaskQueue.Queue(ctx, task)
}

type joins struct {
	engine.Joins
	trail *trail
}

// Claim reports the gap before a lane claims items.
func (j joins) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	j.trail.next("claim")
	return j.Joins.Claim(ctx, fork, claim)
}

// Report reports the gap before a lane reports failed items.
func (j joins) Report(ctx context.Context, fork engine.ForkID, report engine.FailureReport) (engine.JoinRecord, error) {
	j.trail.next("report")
	return j.Joins.Report(ctx, fork, report)
}

// Join reports the gap before a lane joins.
func (j joins) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	j.trail.next("join")
	return j.Joins.Join(ctx, fork, end)
}
