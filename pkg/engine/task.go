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
	run := taskRun{&r.core, task}
	disposition, err := run.run(ctx)
	if at, ok := run.waitsForRoom(task.Receives, err); ok {
		return Disposition{RetryAt: at}, nil
	}
	if poisoned(task.Receives, err) {
		err = run.fail(ctx, err)
	}
	if err != nil {
		id := NewID(task.Call.Flow.Name, task.Call.Execution)
		return Disposition{}, wrap("run a task of execution "+id.String(), err)
	}
	return disposition, nil
}

// taskRun runs a task.
type taskRun struct {
	*core
	task Task
}

func (r *taskRun) run(ctx context.Context) (Disposition, error) {
	check := func(keys token.Keys) error { return keys.CheckMAC(taskMAC, r.task.authenticated(), r.task.MAC) }
	var newer func() (token.Keys, error)
	if r.NewerKeys != nil {
		newer = func() (token.Keys, error) { return r.NewerKeys(ctx) }
	}
	if err := r.Keys.With(newer, check); err != nil {
		return done, err
	}
	mark := r.NewNonce()
	record, err := r.look(ctx, mark)
	until, mayLive := r.mayLive(machine.Entry{By: record.BegunBy, Since: record.BegunAt, Generation: record.BegunIn}, r.task.life())
	switch {
	case err != nil:
		return done, err
	case !record.Open() || record.Reply != nil: // the wake may be all that is left
	case !r.task.AtMostOnce || record.BegunBy == mark:
		record, err = r.callAndRecord(ctx)
	case mayLive:
		return Disposition{RetryAt: until}, nil
	default:
		closing := token.CloseOp{Outcome: machine.Interrupted(r.task.Call.Step), By: token.ClosedByTask, At: r.Now()}
		record, err = r.TokenStore.Close(ctx, r.task.Handle, closing)
	}
	if err != nil {
		return done, err
	}
	cause := r.task.Handle
	if record.Open() {
		cause = machine.CauseReply(r.task.Handle)
	}
	return done, r.sendWake(ctx, r.task.Call.Log, cause)
}

// fail closes the token of a task that always meets the defect, and sends the token's wake. If the
// token's record is damaged, no runner can close it: the wake, which reads it, ends the execution.
func (r *taskRun) fail(ctx context.Context, cause error) error {
	closing := token.CloseOp{Outcome: token.Failure(machine.ErrorInternal, cause.Error()), By: token.ClosedBySubmit, At: r.Now()}
	if r.task.Await {
		closing.By = token.ClosedByTask
	}
	closed := func() (token.Record, error) { return r.TokenStore.Close(ctx, r.task.Handle, closing) }
	if _, err := r.untilRecorded(ctx, closed); err != nil && !errors.Is(err, token.ErrDamaged) {
		return err
	}
	return r.sendWake(ctx, r.task.Call.Log, r.task.Handle)
}

// look returns the record of the task's token. It begins a call with atMostOnce there: the runner
// that then finds its own mark makes the call. It therefore repeats a beginning if the result was
// lost. It reads a large input first, so that no call begins without it.
func (r *taskRun) look(ctx context.Context, mark string) (record token.Record, err error) {
	if !r.task.AtMostOnce || r.task.LargeInput != "" {
		record, err = r.TokenStore.Record(ctx, r.task.Handle)
	}
	if r.task.AtMostOnce && record.BegunBy == "" && err == nil {
		r.task, err = r.withInput(ctx, r.task)
	}
	if !r.task.AtMostOnce || err != nil {
		return record, err
	}
	beginning := token.BeginOp{By: mark, At: r.Now(), In: r.Generation}
	return r.untilRecorded(ctx, func() (token.Record, error) { return r.TokenStore.Begin(ctx, r.task.Handle, beginning) })
}

// callAndRecord makes the call and records its result.
func (r *taskRun) callAndRecord(ctx context.Context) (token.Record, error) {
	var err error
	if r.task, err = r.withInput(ctx, r.task); err != nil {
		return token.Record{}, err
	}
	r.Observer.Calling(r.task.Call, r.Now())
	outcome, err := r.Caller.Call(ctx, r.task.Call)
	if busy, ok := errors.AsType[*BusyError](err); ok && r.task.AtMostOnce {
		outcome, err = busy.Outcome, nil
	}
	if err != nil {
		return token.Record{}, err
	}
	kept := machine.Kept(r.Limits, r.task.Call, outcome)
	return r.untilRecorded(ctx, func() (token.Record, error) {
		switch {
		case r.task.Await:
			closing := token.CloseOp{Outcome: kept, By: token.ClosedByTask, At: r.Now()}
			if kept.Output.Size() > machine.MaxData {
				closing.Outcome = machine.ResultOf(r.task.Call.Values, r.task.Call.Step, kept)
				var err error
				if closing.Outcome.Output, err = r.keepApart(ctx, r.task.Handle, closing.Outcome.Output); err != nil {
					return token.Record{}, err
				}
			}
			return r.TokenStore.Close(ctx, r.task.Handle, closing)
		case outcome.Failed():
			return r.TokenStore.Close(ctx, r.task.Handle, token.CloseOp{Outcome: kept, By: token.ClosedBySubmit, At: r.Now()})
		case kept.Failed(), kept.Output.Size() > machine.MaxReply: // too large: nothing but the history would have it
			return r.TokenStore.Reply(ctx, r.task.Handle, token.ReplyOp{Reply: value.Missing()})
		}
		return r.TokenStore.Reply(ctx, r.task.Handle, token.ReplyOp{Reply: kept.Output})
	})
}

// untilRecorded repeats a failed update: otherwise another runner would repeat the call, or must
// not.
func (r *taskRun) untilRecorded(ctx context.Context, update func() (token.Record, error)) (token.Record, error) {
	for try := 1; ; try++ {
		record, err := update()
		if err == nil || try == maxTries || r.Sleep(ctx, jitter(try)) != nil {
			return record, err
		}
	}
}
