package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// calls makes the calls of a wake, and keeps their results until a commit holds them (rule 4).
type calls struct{ session }

// carryOut executes the command and returns the resulting signal, or nil.
func (d *draft) carryOut(ctx context.Context, command machine.Command) (machine.Signal, error) {
	caller, lanes := calls{d.session}, forks{d.session}
	switch c := command.(type) {
	case machine.CallTask:
		outcome, err := caller.make(ctx, c.Call, c.Claimed, d)
		if err != nil {
			return nil, err
		}
		d.addResult(d.Now(), outcome)
		return machine.Returned{At: d.Now(), Attempt: c.Attempt, Outcome: outcome}, nil
	case machine.SubmitTask: // a failed submission closes the token, and the engine applies the outcome that the token then holds (rule 5)
		if err := d.notifyWait(ctx, c.Call); err != nil {
			return nil, err
		}
		outcome, err := caller.make(ctx, c.Call, c.AtMostOnce, d)
		if err != nil {
			return nil, err
		}
		return caller.recordSubmission(ctx, c.Attempt, c.Handle, outcome)
	case machine.QueueTask:
		if err := d.notifyWait(ctx, c.Call); err != nil {
			return nil, err
		}
		return caller.queue(ctx, c, d.env)
	case machine.CloseToken:
		return caller.close(ctx, c)
	case machine.StartLanes:
		return nil, lanes.start(ctx, d.base.Execution, c)
	case machine.StopLanes:
		return nil, lanes.stop(ctx, d.base.Execution, d.state)
	case machine.ClaimItems:
		return lanes.claim(ctx, d.base, d.state, c)
	case machine.ReportFailures:
		lane, failed := *d.state.Lane, 0
		record, err := d.Joins.Report(ctx, ForkID{lane.Parent, lane.Attempt}, FailureReport{lane.Index, c.Failed, d.state.Expires})
		for _, items := range record.Failures {
			failed += items
		}
		return machine.FailuresReported{At: d.Now(), Attempt: c.Attempt, Failed: failed}, err
	case machine.WakeChild:
		return nil, d.sendWake(ctx, c.Child.ID(), machine.CauseParent)
	}
	return nil, nil
}

// recordSubmission returns the signal that records the function's reply to a submission. If the
// reply is a failure, it closes the token, and the signal has the outcome that the token then
// holds.
func (c calls) recordSubmission(ctx context.Context, attempt machine.Attempt, handle string, reply token.Outcome) (machine.Signal, error) {
	if !reply.Failed() {
		return machine.Submitted{At: c.Now(), Attempt: attempt, Output: reply.Output}, nil
	}
	closing := token.CloseOp{Outcome: reply, By: token.ClosedBySubmit, At: c.Now()}
	return c.close(ctx, machine.CloseToken{Attempt: attempt, Handle: handle, Closing: closing})
}

// queue adds a long call to the task queue and keeps that in memory. A commit records it: without
// the record, the next worker would queue the call again. A task that is too large for the queue is
// a failed submission (rule 5).
func (c calls) queue(ctx context.Context, q machine.QueueTask, env machine.Env) (machine.Signal, error) {
	task := Task{Call: q.Call, Handle: q.Handle, Await: q.Await, AtMostOnce: q.AtMostOnce, TimeLimit: env.TimeLimits[q.Resource.Text]}
	input, err := c.keepApart(ctx, q.Handle, q.Input)
	if err != nil {
		return nil, err
	}
	if !input.IsComplete() { // too large for a message
		var e value.Encoder
		e.Value(input)
		task.LargeInput, task.Call.Input = string(e.Bytes()), value.Missing()
	}
	// The draft's keys may be newer than the keys of this process, which may be gone when the task
	// runs.
	task.MAC = env.Keys.MAC(taskMAC, task.authenticated())
	err = c.TaskQueue.Queue(ctx, task)
	switch {
	case CodeOf(err) == CodeInvalid:
		return c.recordSubmission(ctx, q.Attempt, q.Handle, token.Failure(machine.ErrorDataLimit, err.Error()))
	case CodeOf(err) == CodeNotFound:
		return c.recordSubmission(ctx, q.Attempt, q.Handle, token.Failure(machine.ErrorInvalidArgument, err.Error()))
	case err != nil:
		return nil, err
	}
	c.results[q.Attempt] = &result{call: q.Call, queued: true}
	return machine.Queued{At: c.Now(), Attempt: q.Attempt}, nil
}

// close closes a token. It returns the outcome that the token then holds, or the heartbeat that
// kept it open (rule 9).
func (c calls) close(ctx context.Context, closing machine.CloseToken) (machine.Signal, error) {
	record, err := c.TokenStore.Close(ctx, closing.Handle, closing.Closing)
	switch {
	case err != nil:
		return nil, err
	case record.Open():
		return machine.BeatSeen{At: c.Now(), Attempt: closing.Attempt, Beat: record.LastBeat}, nil
	}
	return c.closedSignal(closing.Attempt, record), nil
}

// make makes a call of a draft unless its result is in memory. It commits the draft before the call
// waits for its turn: the log then has the execution's timer, and shows the wait. once says that
// the call must not be repeated.
func (c calls) make(ctx context.Context, call machine.Call, once bool, d *draft) (outcome token.Outcome, err error) {
	if r, ok := c.madeBefore(call); ok {
		return r.outcome, nil
	}
	if c.tooLate(ctx) {
		clear(c.results) // so that this worker does not try again; the draft has them, see commitResults
		return token.Outcome{}, errTooLate
	}
	c.Observer.Calling(call, c.Now())
	if call.Start != nil {
		outcome, err = starter{c.core}.start(ctx, call)
	} else {
		outcome, err = c.Caller.Call(ctx, call)
	}
	if slow, ok := errors.AsType[*SlowCallError](err); ok {
		if d.changed {
			if err := d.commit(ctx); err != nil {
				return token.Outcome{}, err // the other results stay in memory (rule 4)
			}
		}
		outcome, err = slow.Await(ctx)
	}
	if busy, ok := errors.AsType[*BusyError](err); ok && once {
		outcome, err = busy.Outcome, nil
	}
	if err != nil {
		// The call may have been made, so this worker does not repeat it: without a result in
		// memory it tries the wake again only after a conflict, from the latest item. The
		// other results are committed (rule 2), so none is lost.
		clear(c.results)
		return token.Outcome{}, fmt.Errorf("call %s: %w", call.Step, err)
	}
	c.results[call.Attempt] = &result{call: call, outcome: outcome}
	return outcome, nil
}

// errTooLate leaves a call to the next delivery of the wake.
var errTooLate = errors.New("this worker's time does not last for another call")

// tooLate reports whether the worker's deadline could interrupt a call that begins now. Another
// worker would then repeat the call.
func (c *core) tooLate(ctx context.Context) bool {
	direct := cmp.Or(c.Limits.Direct, machine.DefaultDirect)
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) < direct+direct/10
}
