package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Verdict says what becomes of a wake that [Engine.Advance] was given.
type Verdict struct {
	// PutBack is when the wake is to be delivered again, unchanged; zero when
	// it is done and to be deleted.
	PutBack time.Time
}

var done = Verdict{}

// Advance applies a wake. After an error the wake is to be delivered again
// later: nothing is lost by that. An error with [CodeTooNew] is for a newer
// release to handle.
func (e *Engine) Advance(ctx context.Context, wake Wake) (Verdict, error) {
	now := e.Now()
	if wake.Due.After(now) {
		return done, e.Wakes.Send(ctx, wake) // rule 8, without a read
	}
	w := &worker{engine: e, wake: wake, now: now, results: map[machine.Attempt]result{}}
	var verdict Verdict
	var err error
	for try := range maxTries {
		if try > 0 {
			if pauseErr := e.Pause(ctx, jitter(try)); pauseErr != nil {
				break
			}
		}
		if verdict, err = w.apply(ctx); err == nil || CodeOf(err) == CodeTooNew {
			break
		}
	}
	if err != nil {
		return Verdict{}, &Error{CodeOf(err), "advance execution " + wake.Execution.String(), err}
	}
	return verdict, nil
}

// worker is one wake being applied, perhaps several times.
type worker struct {
	engine *Engine
	wake   Wake
	now    time.Time
	// results are the outcomes of the calls made so far. They outlive a lost
	// race, so that no call is repeated for it (rule 4).
	results map[machine.Attempt]result
}

type result struct {
	input   expr.Value
	outcome token.Outcome
}

// draft is what is to be committed after item base.
type draft struct {
	base      Item
	baseTimer machine.Timer
	env       machine.Env
	state     machine.State
	events    []machine.Event
	calls     []machine.CallTask
	// hasResult: a call's result is in the draft, so nothing that depends on
	// it may be called before the commit (rule 2).
	hasResult bool
}

// apply loads, applies and commits once.
func (w *worker) apply(ctx context.Context) (Verdict, error) {
	base, err := w.engine.Log.Latest(ctx, w.wake.Execution)
	if errors.Is(err, ErrNotFound) {
		return done, w.notFound(ctx)
	}
	if err != nil {
		return Verdict{}, err
	}
	state, _, err := decode(base)
	if err != nil {
		return Verdict{}, err
	}
	if since, ok := machine.Unresolved(state, w.wake.Cause); ok {
		return w.unresolved(ctx, base, state, since)
	}
	signal, err := w.signal(ctx, base, state)
	if err != nil || signal == nil {
		return done, err
	}
	d, err := w.draft(ctx, base, state)
	if err != nil {
		return Verdict{}, err
	}
	if err := w.tell(d, signal); err != nil || len(d.events) == 0 {
		return done, err
	}
	return done, w.finish(ctx, d)
}

// notFound: the start's item is on its way while the wake is young (rule 12).
func (w *worker) notFound(ctx context.Context) error {
	if w.wake.Cause == machine.CauseStart && w.now.Sub(w.wake.Sent) < startPatience {
		return w.sendAgain(ctx)
	}
	return nil
}

func (w *worker) sendAgain(ctx context.Context) error {
	again := w.wake
	again.Due = w.now.Add(resendDelay)
	return w.engine.Wakes.Send(ctx, again)
}

// signal is what the wake tells the state, nil for nothing (rules 1, 8).
func (w *worker) signal(ctx context.Context, base Item, state machine.State) (machine.Signal, error) {
	switch {
	case w.wake.Cause == machine.CauseStart:
		return machine.Started{At: w.now}, nil
	case w.wake.Cause == state.Timer.Tag:
		return machine.TimerDue{At: w.now}, nil
	case w.wake.Seq > base.Seq && w.now.Sub(w.wake.Sent) < commitPatience:
		return nil, w.sendAgain(ctx)
	}
	return nil, nil
}

// unresolved handles a wake that entered what has not ended (rule 7). While
// the worker that did may live, nothing is repeated; then the calls are made.
// A worker that has the result at hand is that worker.
func (w *worker) unresolved(ctx context.Context, base Item, state machine.State, since time.Time) (Verdict, error) {
	_, ours := w.results[state.Waiting.Attempt]
	if ends := since.Add(workerLife); !ours && w.now.Before(ends) {
		return Verdict{PutBack: ends}, nil
	}
	d, err := w.draft(ctx, base, state)
	if err != nil {
		return Verdict{}, err
	}
	commands, err := machine.Pending(d.env, state)
	if err != nil {
		return Verdict{}, err
	}
	d.take(commands)
	return done, w.finish(ctx, d)
}

func (w *worker) draft(ctx context.Context, base Item, state machine.State) (*draft, error) {
	flow, err := w.engine.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return nil, err
	}
	env := machine.Env{Flow: flow, Limits: w.engine.Limits, Cause: w.wake.Cause}
	return &draft{base: base, baseTimer: state.Timer, env: env, state: state}, nil
}

// tell applies a signal to the draft.
func (w *worker) tell(d *draft, signal machine.Signal) error {
	d.env.Tag = w.engine.Fresh()
	next, err := machine.Apply(d.env, d.state, signal)
	if err != nil {
		return err
	}
	d.state = next.State
	d.events = append(d.events, next.Events...)
	d.take(next.Commands)
	return nil
}

// take notes the calls to make. Timers follow from the state at the commit: a
// timer that a later signal of the same draft replaced is never sent.
func (d *draft) take(commands []machine.Command) {
	d.calls = nil
	for _, c := range commands {
		if call, ok := c.(machine.CallTask); ok {
			d.calls = append(d.calls, call)
		}
	}
}

// finish makes the calls and commits, until nothing is left to call.
func (w *worker) finish(ctx context.Context, d *draft) error {
	for len(d.calls) > 0 {
		if d.hasResult {
			if err := w.commit(ctx, d); err != nil {
				return err
			}
		}
		call := d.calls[0]
		outcome, err := w.call(ctx, call)
		if err != nil {
			return err
		}
		if err := w.tell(d, machine.Returned{At: w.engine.Now(), Attempt: call.Attempt, Outcome: outcome}); err != nil {
			return err
		}
		d.hasResult = true
	}
	return w.commit(ctx, d)
}

// call makes a call unless its result is at hand.
func (w *worker) call(ctx context.Context, call machine.CallTask) (token.Outcome, error) {
	if known, ok := w.results[call.Attempt]; ok && expr.Equal(known.input, call.Input) {
		return known.outcome, nil
	}
	w.engine.Observer.Calling(call, w.engine.Now())
	outcome, err := w.engine.Tasks.Call(ctx, call)
	if err != nil {
		return token.Outcome{}, fmt.Errorf("call %s: %w", call.Step, err)
	}
	w.results[call.Attempt] = result{call.Input, outcome}
	return outcome, nil
}

// commit sends the timer that the state names, then puts the next item
// (rules 3, 4). The draft goes on from there.
func (w *worker) commit(ctx context.Context, d *draft) error {
	seq := d.base.Seq + 1
	if timer := d.state.Timer; timer.Tag != "" && timer != d.baseTimer {
		wake := Wake{Execution: w.wake.Execution, Cause: timer.Tag, Due: timer.Due, Sent: w.engine.Now(), Seq: seq}
		if err := w.engine.Wakes.Send(ctx, wake); err != nil {
			return err
		}
	}
	item := Item{Execution: w.wake.Execution, Seq: seq, Nonce: w.engine.Fresh(), Body: machine.Encode(d.state, d.events)}
	if err := w.engine.put(ctx, item); err != nil {
		return err
	}
	w.engine.Observer.Committed(item.Execution, d.state, d.events)
	d.base, d.baseTimer, d.events, d.hasResult = item, d.state.Timer, nil, false
	return nil
}
