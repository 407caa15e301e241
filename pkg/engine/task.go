package engine

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const (
	// runnerLife is longer than the life of any task runner. The longest call takes 15 minutes.
	runnerLife = 16 * time.Minute
	// recordTime is how long a runner may take besides the call itself.
	recordTime = time.Minute
)

// life returns how long the runner of the task may live after it began the call. The function, or
// the flow, may limit the call to less than the longest call.
func (t Task) life() time.Duration {
	life := runnerLife
	for _, limit := range []time.Duration{t.Call.Limit, t.TimeLimit} {
		if limit > 0 {
			life = min(life, limit+recordTime)
		}
	}
	return life
}

// RunTask executes a queued call and records its result: it closes the token, or, for a submission,
// stores the function's reply in the token's record (rule 5). It then sends the token's wake, even
// if another runner recorded a result first (rule 10). If RunTask returns an error, redeliver the
// task. From the fifth receive on, a defect closes the token (rule 13).
//
// A task without a valid MAC has no effect. The error is [token.ErrForged]: discard the task.
func (r *TaskRunner) RunTask(ctx context.Context, task Task) (Disposition, error) {
	disposition, err := r.runTask(ctx, task)
	if poisoned(task.Receives, err) {
		err = r.failTask(ctx, task, err)
	}
	if err != nil {
		id := NewID(task.Call.Flow.Name, task.Call.Execution)
		return Disposition{}, wrap("run a task of execution "+id.String(), err)
	}
	return disposition, nil
}

func (r *TaskRunner) runTask(ctx context.Context, task Task) (Disposition, error) {
	check := func(keys token.Keys) error { return keys.CheckMAC(taskMAC, task.authenticated(), task.MAC) }
	if err := r.withKeys(ctx, check); err != nil {
		return done, err
	}
	mark := r.core.NewNonce()
	task, record, err := r.look(ctx, task, mark)
	until, mayLive := r.core.mayLive(machine.Entry{By: record.BegunBy, Since: record.BegunAt, Generation: record.BegunIn}, task.life())
	switch {
	case err != nil:
		return done, err
	case !record.Open() || record.Reply != nil: // the wake may be all that is left
	case !task.AtMostOnce || record.BegunBy == mark:
		record, err = r.callAndRecord(ctx, task)
	case mayLive:
		return Disposition{RetryAt: until}, nil
	default:
		closing := token.CloseOp{Outcome: machine.Interrupted(task.Call.Step), By: token.ClosedByTask, At: r.core.Now()}
		record, err = r.core.TokenStore.Close(ctx, task.Handle, closing)
	}
	if err != nil {
		return done, err
	}
	cause := task.Handle
	if record.Open() {
		cause = machine.CauseReply(task.Handle)
	}
	return done, r.wake(ctx, task, cause)
}

func (r *TaskRunner) wake(ctx context.Context, task Task, cause string) error {
	now := r.core.Now()
	return r.core.Wakes.Send(ctx, Wake{Execution: task.Call.Log, Cause: cause, Due: now, Sent: now})
}

// failTask closes the token of a task that always meets the defect, and sends the token's wake. If the token's record is
// damaged, no runner can close it: the wake, which reads it, ends the execution.
func (r *TaskRunner) failTask(ctx context.Context, task Task, cause error) error {
	closing := token.CloseOp{Outcome: token.Failure(machine.ErrorInternal, cause.Error()), By: token.ClosedBySubmit, At: r.core.Now()}
	if task.Await {
		closing.By = token.ClosedByTask
	}
	closed := func() (token.Record, error) { return r.core.TokenStore.Close(ctx, task.Handle, closing) }
	if _, err := r.untilRecorded(ctx, closed); err != nil && !errors.Is(err, token.ErrDamaged) {
		return err
	}
	return r.wake(ctx, task, task.Handle)
}

// withKeys calls use with the keys, and again with newer ones if they lack a key.
func (r *TaskRunner) withKeys(ctx context.Context, use func(token.Keys) error) error {
	if r.core.NewerKeys == nil {
		return use(r.core.Keys)
	}
	return r.core.Keys.With(func() (token.Keys, error) { return r.core.NewerKeys(ctx) }, use)
}

// look returns the record of the task's token. It begins a call with atMostOnce there: the runner
// that then finds its own mark makes the call. It therefore repeats a beginning whose result was
// lost. It reads a large input first, so that no call begins without it, and returns the task with it.
func (r *TaskRunner) look(ctx context.Context, task Task, mark string) (Task, token.Record, error) {
	record, err := token.Record{}, error(nil)
	if !task.AtMostOnce || task.LargeInput != "" {
		record, err = r.core.TokenStore.Record(ctx, task.Handle)
	}
	if task.AtMostOnce && record.BegunBy == "" && err == nil {
		task, err = r.core.withInput(ctx, task)
	}
	if !task.AtMostOnce || err != nil {
		return task, record, err
	}
	beginning := token.BeginOp{By: mark, At: r.core.Now(), In: r.core.Generation}
	record, err = r.untilRecorded(ctx, func() (token.Record, error) { return r.core.TokenStore.Begin(ctx, task.Handle, beginning) })
	return task, record, err
}

// callAndRecord makes the call and records its result.
func (r *TaskRunner) callAndRecord(ctx context.Context, task Task) (token.Record, error) {
	task, err := r.core.withInput(ctx, task)
	if err != nil {
		return token.Record{}, err
	}
	r.core.Observer.Calling(task.Call, r.core.Now())
	outcome, err := r.core.Caller.Call(ctx, task.Call)
	if err != nil {
		return token.Record{}, err
	}
	kept := machine.Kept(r.core.Limits, task.Call, outcome)
	return r.untilRecorded(ctx, func() (token.Record, error) {
		switch {
		case task.Await:
			return r.closeAwaited(ctx, task, kept)
		case outcome.Failed():
			return r.core.TokenStore.Close(ctx, task.Handle, token.CloseOp{Outcome: kept, By: token.ClosedBySubmit, At: r.core.Now()})
		case kept.Failed(), kept.Output.Size() > machine.MaxReply: // too large: nothing but the history would have it
			return r.core.TokenStore.Reply(ctx, task.Handle, token.ReplyOp{Reply: value.Missing()})
		}
		return r.core.TokenStore.Reply(ctx, task.Handle, token.ReplyOp{Reply: kept.Output})
	})
}

// closeAwaited closes the token of an awaited call with its outcome.
func (r *TaskRunner) closeAwaited(ctx context.Context, task Task, outcome token.Outcome) (_ token.Record, err error) {
	if outcome.Output.Size() > machine.MaxData {
		outcome = machine.ObjectOutcome(task.Call.Step, outcome)
		if outcome.Output, err = r.core.keepApart(ctx, task.Handle, outcome.Output); err != nil {
			return token.Record{}, err
		}
	}
	return r.core.TokenStore.Close(ctx, task.Handle, token.CloseOp{Outcome: outcome, By: token.ClosedByTask, At: r.core.Now()})
}

// untilRecorded repeats a failed update: otherwise another runner would repeat the call, or must not.
func (r *TaskRunner) untilRecorded(ctx context.Context, update func() (token.Record, error)) (token.Record, error) {
	for try := 1; ; try++ {
		record, err := update()
		if err == nil || try == maxTries || r.core.Sleep(ctx, jitter(try)) != nil {
			return record, err
		}
	}
}
