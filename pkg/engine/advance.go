package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	w := &worker{engine: e, wake: wake, results: map[machine.Attempt]result{}}
	verdict, err := w.run(ctx)
	if err != nil {
		return Verdict{}, &Error{CodeOf(err), "advance execution " + wake.Execution.String(), err}
	}
	return verdict, nil
}

// worker is one wake being applied, perhaps several times.
type worker struct {
	engine *Engine
	wake   Wake
	now    time.Time // of the try under way
	// results are the outcomes of calls that no commit holds yet. They outlive
	// a lost race, so that no call is repeated for it (rule 4).
	results map[machine.Attempt]result
	// nonces are those of all items whose put was tried: an item with one of
	// them is our own.
	nonces []string
}

func (w *worker) run(ctx context.Context) (Verdict, error) {
	if w.wake.Due.After(w.engine.Now()) {
		return done, w.engine.Wakes.Send(ctx, w.wake) // rule 8, without a read
	}
	for try := 1; ; try++ {
		verdict, err := w.apply(ctx)
		if err == nil || try == maxTries || !w.triesAgain(err) {
			return verdict, err
		}
		if w.engine.Pause(ctx, jitter(try)) != nil {
			return verdict, err
		}
	}
}

// triesAgain reports whether the wake is applied once more after err: after a
// lost race (rule 4), and after whatever failed while results are at hand,
// which another worker would have to call for again. Other errors leave the
// wake to its next delivery.
func (w *worker) triesAgain(err error) bool {
	code := CodeOf(err)
	return code == CodeConflict || len(w.results) > 0 && code != CodeTooNew
}

type result struct {
	input   expr.Value
	outcome token.Outcome
}

// draft is what is to be committed after item base.
type draft struct {
	base    Item
	liveTag string // of the timer that base names
	env     machine.Env
	state   machine.State
	events  []machine.Event
	calls   []machine.CallTask
	// hasResult: a call's result is in the draft, so nothing that depends on
	// it may be called before the commit (rule 2).
	hasResult bool
}

// apply loads, applies and commits once.
func (w *worker) apply(ctx context.Context) (Verdict, error) {
	w.now = w.engine.Now()
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
	if w.wake.Cause == machine.CauseStart && w.age() < startPatience {
		return w.sendAgain(ctx, w.now.Add(resendDelay))
	}
	return nil
}

func (w *worker) age() time.Duration { return w.now.Sub(w.wake.Sent) }

func (w *worker) sendAgain(ctx context.Context, due time.Time) error {
	again := w.wake
	again.Due = due
	return w.engine.Wakes.Send(ctx, again)
}

// signal is what the wake tells the state, nil for nothing (rules 1, 8).
func (w *worker) signal(ctx context.Context, base Item, state machine.State) (machine.Signal, error) {
	switch live := state.Timer; {
	case w.wake.Cause == machine.CauseStart && state.Status == machine.StatusStarting:
		return machine.Started{At: w.now}, nil
	case w.wake.Cause == machine.CauseStart:
		return nil, nil
	case w.wake.Cause == live.Tag && live.Due.After(w.now):
		return nil, w.sendAgain(ctx, live.Due) // what the wake says of its due is wrong
	case w.wake.Cause == live.Tag && live.Tag != "":
		return machine.TimerDue{At: w.now}, nil
	case w.wake.Seq > base.Seq && w.age() < commitPatience:
		return nil, w.sendAgain(ctx, w.now.Add(resendDelay))
	}
	return nil, nil
}

// unresolved handles a wake that entered what has not ended (rule 7). While
// the worker that did may live, nothing is repeated; then the calls are made.
// A worker that finds its own item is that worker.
func (w *worker) unresolved(ctx context.Context, base Item, state machine.State, since time.Time) (Verdict, error) {
	ours := slices.Contains(w.nonces, base.Nonce)
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
	return &draft{base: base, liveTag: state.Timer.Tag, env: env, state: state}, nil
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
	if timer := d.state.Timer; timer.Tag != "" && timer.Tag != d.liveTag {
		wake := Wake{Execution: w.wake.Execution, Cause: timer.Tag, Due: timer.Due, Sent: w.engine.Now(), Seq: seq}
		if err := w.engine.Wakes.Send(ctx, wake); err != nil {
			return err
		}
	}
	item := Item{Execution: w.wake.Execution, Seq: seq, Nonce: w.engine.Fresh(), Body: machine.Encode(d.state, d.events)}
	w.nonces = append(w.nonces, item.Nonce)
	if err := w.engine.put(ctx, item); err != nil {
		return err
	}
	clear(w.results)
	w.engine.Observer.Committed(item.Execution, d.state, d.events)
	d.base, d.liveTag, d.events, d.hasResult = item, d.state.Timer.Tag, nil, false
	return nil
}
