package engine

import (
	"context"
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

// RunTask makes a call of the task queue and closes its token with the answer,
// or keeps the answer with the token (rule 5). From a queue the wake comes after
// the update, and also when somebody else was first (rule 10). After an error
// the task is to be run again.
//
// A task without a valid MAC calls, reads and closes nothing. The error is
// [token.ErrForged]: discard the task.
func (e *Engine) RunTask(ctx context.Context, task Task) (Verdict, error) {
	verdict, err := e.runTask(ctx, task)
	if err != nil {
		id := NewID(task.Call.Flow.Name, task.Call.Execution)
		return Verdict{}, &Error{CodeOf(err), "run a task of execution " + id.String(), err}
	}
	return verdict, nil
}

func (e *Engine) runTask(ctx context.Context, task Task) (Verdict, error) {
	check := func(keys token.Keys) error { return keys.CheckMAC(taskMAC, task.authenticated(), task.MAC) }
	if err := e.withKeys(ctx, check); err != nil {
		return done, err
	}
	mark := e.Fresh()
	record, err := e.look(ctx, task, mark)
	until, mayLive := e.mayLive(machine.Entry{By: record.BegunBy, Since: record.BegunAt, Generation: record.BegunIn}, task.life())
	switch {
	case err != nil:
		return done, err
	case !record.Open() || record.Reply != nil: // the wake may be all that is left
	case !task.AtMostOnce || record.BegunBy == mark:
		record, err = e.callAndRecord(ctx, task)
	case mayLive:
		return Verdict{PutBack: until}, nil
	default:
		closing := token.CloseOp{Outcome: machine.Interrupted(task.Call.Step), By: token.ClosedByTask, At: e.Now()}
		record, err = e.Outcomes.Close(ctx, task.Handle, closing)
	}
	if err != nil {
		return done, err
	}
	cause, now := task.Handle, e.Now()
	if record.Open() {
		cause = machine.CauseAnswer(task.Handle)
	}
	id := NewID(task.Call.Flow.Name, task.Call.Execution)
	return done, e.Wakes.Send(ctx, Wake{Execution: id, Cause: cause, Due: now, Sent: now})
}

// withKeys calls use with the keys, and again with newer ones if they lack a key.
func (e *Engine) withKeys(ctx context.Context, use func(token.Keys) error) error {
	if e.NewerKeys == nil {
		return use(e.Keys)
	}
	return e.Keys.With(func() (token.Keys, error) { return e.NewerKeys(ctx) }, use)
}

// look reads the record of the task's token. A call that must not be made twice
// is begun there: it is made by whoever then finds the own mark, which is why a
// beginning whose answer was lost is asked for again.
func (e *Engine) look(ctx context.Context, task Task, mark string) (token.Record, error) {
	if !task.AtMostOnce {
		return e.Outcomes.Record(ctx, task.Handle)
	}
	beginning := token.BeginOp{By: mark, At: e.Now(), In: e.Generation}
	return e.untilRecorded(ctx, func() (token.Record, error) { return e.Outcomes.Begin(ctx, task.Handle, beginning) })
}

// callAndRecord makes the call and records what came of it.
func (e *Engine) callAndRecord(ctx context.Context, task Task) (token.Record, error) {
	e.Observer.Calling(task.Call, e.Now())
	outcome, err := e.Tasks.Call(ctx, task.Call)
	if err != nil {
		return token.Record{}, err
	}
	kept := machine.Kept(e.Limits, task.Call, outcome)
	return e.untilRecorded(ctx, func() (token.Record, error) {
		switch {
		case task.Await:
			return e.Outcomes.Close(ctx, task.Handle, token.CloseOp{Outcome: kept, By: token.ClosedByTask, At: e.Now()})
		case outcome.Failed():
			return e.Outcomes.Close(ctx, task.Handle, token.CloseOp{Outcome: kept, By: token.ClosedBySubmit, At: e.Now()})
		case kept.Failed(), kept.Output.Size() > machine.MaxAnswer: // too large: nothing but the history would have it
			return e.Outcomes.Answer(ctx, task.Handle, token.ReplyOp{Reply: value.Missing()})
		}
		return e.Outcomes.Answer(ctx, task.Handle, token.ReplyOp{Reply: kept.Output})
	})
}

// untilRecorded tries an update again that failed: another runner would have to
// make the call again, or must not.
func (e *Engine) untilRecorded(ctx context.Context, update func() (token.Record, error)) (token.Record, error) {
	for try := 1; ; try++ {
		record, err := update()
		if err == nil || try == maxTries || e.Pause(ctx, jitter(try)) != nil {
			return record, err
		}
	}
}
