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

// carryOut executes the command and returns the resulting signal, or nil.
func (h *handler) carryOut(ctx context.Context, d *draft, command machine.Command) (machine.Signal, error) {
	switch c := command.(type) {
	case machine.CallTask:
		outcome, err := h.call(ctx, d, c.Call)
		if err != nil {
			return nil, err
		}
		d.addResult(h.Now(), outcome)
		return machine.Returned{At: h.Now(), Attempt: c.Attempt, Outcome: outcome}, nil
	case machine.SubmitTask:
		return h.submit(ctx, d, c)
	case machine.QueueTask:
		return h.queue(ctx, d, c)
	case machine.CloseToken:
		return h.close(ctx, c)
	case machine.StartLanes:
		return nil, h.startLanes(ctx, c)
	case machine.StopLanes:
		return h.stopLanes(ctx, d.state)
	case machine.WakeChild:
		return nil, h.sendWake(ctx, c.Child.ID(), machine.CauseParent)
	}
	return nil, nil
}

// submit calls the function of a token task. A failed submission closes the token, and the engine
// applies the outcome that the token then holds (rule 5).
func (h *handler) submit(ctx context.Context, d *draft, c machine.SubmitTask) (machine.Signal, error) {
	if err := h.notifyWait(ctx, d, c.Call); err != nil {
		return nil, err
	}
	outcome, err := h.call(ctx, d, c.Call)
	if err != nil {
		return nil, err
	}
	return h.recordSubmission(ctx, c.Attempt, c.Handle, outcome)
}

// recordSubmission returns the signal that records the function's reply to a submission. If the reply is
// a failure, it closes the token, and the signal has the outcome that the token then holds.
func (h *handler) recordSubmission(ctx context.Context, attempt machine.Attempt, handle string, reply token.Outcome) (machine.Signal, error) {
	if !reply.Failed() {
		return machine.Submitted{At: h.Now(), Attempt: attempt, Output: reply.Output}, nil
	}
	closing := token.CloseOp{Outcome: reply, By: token.ClosedBySubmit, At: h.Now()}
	return h.close(ctx, machine.CloseToken{Attempt: attempt, Handle: handle, Closing: closing})
}

// queue adds a long call to the task queue and keeps that in memory. A commit records it: without
// the record, the next worker would queue the call again. A task that is too large for the queue is
// a failed submission (rule 5).
func (h *handler) queue(ctx context.Context, d *draft, c machine.QueueTask) (machine.Signal, error) {
	if err := h.notifyWait(ctx, d, c.Call); err != nil {
		return nil, err
	}
	task := Task{Call: c.Call, Handle: c.Handle, Await: c.Await, AtMostOnce: c.AtMostOnce, TimeLimit: d.env.TimeLimits[c.Resource.Text]}
	task, err := h.withLargeInput(ctx, task)
	if err != nil {
		return nil, err
	}
	// The draft's keys may be newer than those of this process, which may be gone when the task runs.
	task.MAC = d.env.Keys.MAC(taskMAC, task.authenticated())
	err = h.TaskQueue.Queue(ctx, task)
	switch {
	case CodeOf(err) == CodeInvalid:
		return h.recordSubmission(ctx, c.Attempt, c.Handle, token.Failure(machine.ErrorDataLimit, err.Error()))
	case err != nil:
		return nil, err
	}
	h.results[c.Attempt] = &result{call: c.Call, queued: true}
	return machine.Queued{At: h.Now(), Attempt: c.Attempt}, nil
}

// close closes a token. It returns the outcome that the token then holds, or the heartbeat that kept
// it open (rule 9).
func (h *handler) close(ctx context.Context, c machine.CloseToken) (machine.Signal, error) {
	record, err := h.TokenStore.Close(ctx, c.Handle, c.Closing)
	switch {
	case err != nil:
		return nil, err
	case record.Open():
		return machine.BeatSeen{At: h.Now(), Attempt: c.Attempt, Beat: record.LastBeat}, nil
	}
	return h.closed(c.Attempt, record), nil
}

// call makes a call unless its result is in memory.
func (h *handler) call(ctx context.Context, d *draft, call machine.Call) (token.Outcome, error) {
	if r, ok := h.madeBefore(call); ok {
		return r.outcome, nil
	}
	if h.tooLate(ctx) {
		clear(h.results) // so that this worker does not try again; they are committed, see below
		return token.Outcome{}, errTooLate
	}
	h.Observer.Calling(call, h.Now())
	outcome, err := h.callOrStart(ctx, call)
	if wait, ok := errors.AsType[*WaitError](err); ok {
		if err := h.commitBeforeTurn(ctx, d); err != nil {
			return token.Outcome{}, err // nothing was called, so the results stay in memory (rule 4)
		}
		outcome, err = wait.Call(ctx)
	}
	if err != nil {
		// The call may have been made, so this worker does not repeat it: without a result in memory
		// it does not try the wake again. The other results are committed (rule 2), so none is lost.
		clear(h.results)
		return token.Outcome{}, fmt.Errorf("call %s: %w", call.Step, err)
	}
	h.results[call.Attempt] = &result{call: call, outcome: outcome}
	return outcome, nil
}

// madeBefore returns the result of the call if this handler made it, and no commit holds it yet.
func (h *handler) madeBefore(call machine.Call) (*result, bool) {
	r, ok := h.results[call.Attempt]
	return r, ok && r.call.Place == call.Place && value.Equal(r.call.Input, call.Input)
}

func (h *handler) callOrStart(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if call.Start != nil {
		return h.startChild(ctx, call)
	}
	return h.Caller.Call(ctx, call)
}

// commitBeforeTurn commits the draft before a call waits for its turn. The log then has the execution's
// timer, and shows what the execution waits for.
func (h *handler) commitBeforeTurn(ctx context.Context, d *draft) error {
	if !d.changed {
		return nil
	}
	return h.commit(ctx, d)
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
