package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Verdict says what becomes of a wake that [Engine.Advance] was given, or of a
// task that [Engine.RunTask] was.
type Verdict struct {
	// PutBack is when it is to be delivered again, unchanged; zero when it is
	// done and to be deleted.
	PutBack time.Time
	// EarlyLooks is how many reads found a token open that its closer had not
	// closed yet (rule 11).
	EarlyLooks int
	// Absent is what mappings left out in what was committed, nil for nothing. It is
	// here after an error, too: what was committed before stays. It is for logs, so
	// a worker that dies tells nobody, nor does who goes on for it.
	Absent *Absences
}

// Absences are mappings of an execution whose source was missing, each once.
type Absences struct {
	Flow      machine.Flow
	Execution string // by name
	Mappings  []machine.UnmappedSource
}

var done = Verdict{}

// Advance applies a wake. After an error the wake is to be delivered again
// later: nothing is lost by that. An error with [CodeTooNew] is for a newer
// release to handle.
func (e *Engine) Advance(ctx context.Context, wake Wake) (Verdict, error) {
	return e.advance(ctx, wake, false)
}

// AdvanceEnd is [Engine.Advance] for an execution that cannot continue here. It applies a request
// to stop and the time limit, and carries out an end that was decided. It discards every other
// wake, so it calls no function; [Engine.Recover] sends what is needed again.
func (e *Engine) AdvanceEnd(ctx context.Context, wake Wake) (Verdict, error) {
	return e.advance(ctx, wake, true)
}

func (e *Engine) advance(ctx context.Context, wake Wake, endOnly bool) (Verdict, error) {
	receives := wake.Receives
	wake.Receives = 0 // of this message, not of one that is sent for it
	w := &worker{
		engine: e, wake: wake, endOnly: endOnly, results: map[machine.Attempt]result{}, held: held{log: e.Log, execution: wake.Execution},
	}
	verdict, err := w.run(ctx)
	if poisoned(receives, err) {
		verdict, err = done, w.abandon(ctx, err)
	}
	if err != nil {
		return Verdict{Absent: w.absent}, &Error{CodeOf(err), "advance execution " + wake.Execution.String(), err}
	}
	verdict.EarlyLooks, verdict.Absent = w.earlyLooks, w.absent
	return verdict, nil
}

// worker is one wake being applied, perhaps several times.
type worker struct {
	engine *Engine
	wake   Wake
	now    time.Time // of the try under way
	// endOnly limits the worker to what ends the execution; see [Engine.AdvanceEnd].
	endOnly bool
	// results are the outcomes of calls that no commit holds yet. They outlive
	// a lost race, so that no call is repeated for it (rule 4).
	results map[machine.Attempt]result
	// held finds large values of the execution.
	held held
	// nonces are those of all items whose put was tried: an item with one of
	// them is our own.
	nonces []string
	// earlyLooks are the looks at a token that was open still.
	earlyLooks int
	// again: the wake was sent again.
	again bool
	// absent is what mappings left out in what was committed.
	absent *Absences
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
	return code == CodeConflict || len(w.results) > 0 && code != CodeTooNew && code != CodeDefect
}

type result struct {
	call    machine.Call
	outcome token.Outcome
	queued  bool // all that is known of the call is that it is in the task queue
}

// draft is what is to be committed after item base.
type draft struct {
	base     Item
	liveTag  string // of the timer that base names
	env      machine.Env
	state    machine.State
	events   []machine.Event
	commands []machine.Command
	absent   []machine.UnmappedSource
	// changed: the state is another one than in base.
	changed bool
	// large: the last commit wrote a value that later items refer to.
	large bool
	// hasResult: a call's result or a token's outcome is in the draft, so
	// nothing that depends on it may be called before the commit (rule 2).
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
	state, err := decodeState(base)
	if err != nil {
		return Verdict{}, err
	}
	if w.ended(state) {
		return w.endAgain(ctx, base, state)
	}
	if entered, ok := machine.Unresolved(state, w.wake.Cause); ok && !w.keeps(state) {
		return w.unresolved(ctx, base, state, entered)
	}
	signal, err := w.signal(ctx, base, state)
	switch {
	case err != nil:
		return done, err
	case signal == nil:
		return done, w.dropped(ctx, base, state)
	}
	d, err := w.draft(ctx, base, state)
	if err != nil {
		return Verdict{}, err
	}
	if err := w.tell(ctx, d, signal); err != nil {
		return Verdict{}, err
	}
	return done, w.finish(ctx, d)
}

// keeps reports whether the worker may only end the execution, and its end is not decided.
func (w *worker) keeps(state machine.State) bool { return w.endOnly && state.Ending == nil }

// dropped ends an execution that has gone on for longer than it may, which no
// timer watches where the flow says nothing (rule 1). It is no timer otherwise:
// only that of the state makes calls. A wake that was sent again looks then.
func (w *worker) dropped(ctx context.Context, base Item, state machine.State) error {
	if w.again || !w.overtime(state, 0) {
		return nil
	}
	d, err := w.draft(ctx, base, state)
	if err != nil || !w.overtime(state, d.env.Flow.Timeout) {
		return err
	}
	if err := w.tell(ctx, d, machine.TimerDue{At: w.now}); err != nil {
		return err
	}
	return w.finish(ctx, d)
}

// overtime: the execution goes on for longer than the limit of its flow, 0 for
// none, says that it may.
func (w *worker) overtime(state machine.State, limit time.Duration) bool {
	return !state.Status.Final() && state.Ending == nil && !w.now.Before(w.engine.Limits.End(state, limit))
}

// notFound: the start's item is on its way while the wake is young (rule 12).
func (w *worker) notFound(ctx context.Context) error {
	if w.wake.Cause == machine.CauseStart && w.young(startPatience) {
		return w.sendAgain(ctx, w.now.Add(resendDelay))
	}
	return nil
}

// young: what the wake speaks of may still be on its way. One from the future is
// no younger for that: the clocks of two machines differ a little, and a forged
// wake must not stay for ever.
func (w *worker) young(patience time.Duration) bool { return w.now.Sub(w.wake.Sent).Abs() < patience }

func (w *worker) sendAgain(ctx context.Context, due time.Time) error {
	again := w.wake
	again.Due = due
	w.again = true
	return w.engine.Wakes.Send(ctx, again)
}

// signal is what the wake tells the state, nil for nothing (rules 1, 8, 11,
// 12).
func (w *worker) signal(ctx context.Context, base Item, state machine.State) (machine.Signal, error) {
	switch {
	case state.Status.Final(), w.keeps(state) && w.wake.Cause != machine.CauseStop:
		return nil, nil
	case w.wake.Cause == machine.CauseStart:
		if state.Status == machine.StatusStarting {
			return machine.Started{At: w.now}, nil
		}
		return nil, nil
	case w.wake.Cause == machine.CauseStop:
		return w.stopRequest(ctx, state)
	case state.Waiting == nil || state.Waiting.For != machine.WaitingForToken:
	case w.wake.Cause == state.Waiting.Handle():
		return w.tokenClosed(ctx, state.Waiting)
	case !state.Waiting.Submitted() && w.wake.Cause == machine.CauseAnswer(state.Waiting.Handle()):
		return w.answered(ctx, state)
	}
	return w.timerDue(ctx, base, state.Timer)
}

func (w *worker) timerDue(ctx context.Context, base Item, live machine.Timer) (machine.Signal, error) {
	switch {
	case w.wake.Cause == live.Tag && live.Due.After(w.now):
		return nil, w.sendAgain(ctx, live.Due) // what the wake says of its due is wrong
	case w.wake.Cause == live.Tag && live.Tag != "":
		return machine.TimerDue{At: w.now}, nil
	case w.wake.Seq == base.Seq+1 && w.young(commitPatience): // a log has no gaps, so any other is forged
		return nil, w.sendAgain(ctx, w.now.Add(resendDelay))
	}
	return nil, nil
}

// tokenClosed reads what the token holds. Its closer sends the wake first, so
// an open token is looked at twice, and again a little later while the wake is
// young (rule 11).
func (w *worker) tokenClosed(ctx context.Context, waiting *machine.Waiting) (machine.Signal, error) {
	record, err := w.engine.Outcomes.Record(ctx, waiting.Handle())
	if err == nil && record.Open() && w.young(closePatience) {
		w.earlyLooks++
		if err = w.engine.Pause(ctx, lookPause); err == nil {
			record, err = w.engine.Outcomes.Record(ctx, waiting.Handle())
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !record.Open():
		return w.closed(waiting.Attempt, record), nil
	case w.young(closePatience):
		w.earlyLooks++
		return nil, w.sendAgain(ctx, w.now.Add(resendDelay))
	}
	return nil, nil
}

func (w *worker) closed(attempt machine.Attempt, record token.Record) machine.Signal {
	return machine.TokenClosed{At: w.engine.Now(), Attempt: attempt, Outcome: *record.Outcome, By: record.ClosedBy, Answer: record.Reply}
}

// answered reads the answer that a task runner kept before it sent the wake, so
// that there is nothing to wait for (rule 5).
func (w *worker) answered(ctx context.Context, state machine.State) (machine.Signal, error) {
	record, err := w.engine.Outcomes.Record(ctx, state.Waiting.Handle())
	if err != nil {
		return nil, err
	}
	return w.told(state, record), nil
}

// told is what the record of the token tells a state that waits for it, nil for
// nothing.
func (w *worker) told(state machine.State, record token.Record) machine.Signal {
	switch waiting := state.Waiting; {
	case !record.Open():
		return w.closed(waiting.Attempt, record)
	case record.Reply != nil && !waiting.Submitted() && state.Ending == nil:
		return machine.Submitted{At: w.engine.Now(), Attempt: waiting.Attempt, Output: *record.Reply}
	}
	return nil
}

// stopRequest reads the request that the wake of a stop speaks of (rule 12).
func (w *worker) stopRequest(ctx context.Context, state machine.State) (machine.Signal, error) {
	record, err := w.engine.Outcomes.Record(ctx, stopHandle(w.wake.Execution, state.Expires))
	switch {
	case err != nil:
		return nil, err
	case !record.Open():
		request := record.Outcome.Output
		return machine.StopRequested{At: w.now, Error: request.Get("error").Text(), Cause: request.Get("cause").Text()}, nil
	case w.young(stopPatience):
		return nil, w.sendAgain(ctx, w.now.Add(resendDelay))
	}
	return nil, nil
}

// unresolved handles a wake that entered what has not ended (rule 7). While
// the worker that did may live, nothing is repeated; then what is pending is
// carried out. A worker that finds its own item, or has the result at hand, is
// that worker.
func (w *worker) unresolved(ctx context.Context, base Item, state machine.State, entered machine.Entry) (Verdict, error) {
	if err := w.completeWaiting(ctx, &state); err != nil {
		return Verdict{}, err
	}
	_, known := w.known(state.Waiting)
	own := w.wrote(base)
	past := machine.PastUnknown
	switch until, mayLive := w.engine.mayLive(entered, w.engine.WorkerLife); {
	case own && !known:
		past = machine.PastNone
	case entered.Generation != w.engine.Generation:
		past = machine.PastLost
	case mayLive && !known:
		return Verdict{PutBack: until}, nil
	}
	d, err := w.draft(ctx, base, state)
	if err != nil {
		return Verdict{}, err
	}
	signal, err := w.atHand(ctx, state)
	if err == nil && signal == nil && w.overtime(state, d.env.Flow.Timeout) { // nothing is called any more
		signal = machine.TimerDue{At: w.now}
	}
	switch {
	case err != nil:
		return Verdict{}, err
	case signal != nil:
		d.hasResult = true
		err = w.tell(ctx, d, signal)
	default:
		var next machine.Next
		next, err = w.withHeld(ctx, d, func(env machine.Env) (machine.Next, error) { return machine.Pending(env, state, w.now, past) })
		d.commands = next.Commands
	}
	if err != nil {
		return Verdict{}, err
	}
	return done, w.finish(ctx, d)
}

// wrote reports whether the item is this worker's own.
func (w *worker) wrote(item Item) bool { return slices.Contains(w.nonces, item.Nonce) }

// known is the result of the call that is waited for, if this worker made it.
func (w *worker) known(waiting *machine.Waiting) (known result, ok bool) {
	if waiting == nil {
		return known, false
	}
	known, ok = w.results[waiting.Attempt]
	return known, ok && value.Equal(known.call.StepInput, waiting.Input)
}

// atHand is what became of the attempt that is waited for, nil when nobody
// here knows: what the record of its token tells, or the result of the call
// that this worker made (rule 4).
func (w *worker) atHand(ctx context.Context, state machine.State) (machine.Signal, error) {
	waiting := state.Waiting
	if waiting == nil {
		return nil, nil
	}
	if waiting.For == machine.WaitingForToken {
		record, err := w.engine.Outcomes.Record(ctx, waiting.Handle())
		if err != nil {
			return nil, err
		}
		if signal := w.told(state, record); signal != nil {
			return signal, nil
		}
	}
	known, ok := w.known(waiting)
	switch {
	case !ok || state.Ending != nil:
		return nil, nil
	case known.queued:
		return machine.Queued{At: w.engine.Now(), Attempt: waiting.Attempt}, nil
	case waiting.For == machine.WaitingForToken:
		return w.submitted(ctx, waiting.Attempt, waiting.Handle(), known.outcome)
	}
	return machine.Returned{At: w.engine.Now(), Attempt: waiting.Attempt, Outcome: known.outcome}, nil
}

func (w *worker) draft(ctx context.Context, base Item, state machine.State) (*draft, error) {
	flow, err := w.engine.Flows.Flow(ctx, state.Flow)
	if errors.Is(err, ErrNotFound) {
		return nil, defect("read the definition", err)
	}
	if err != nil {
		return nil, err
	}
	limits, err := w.engine.Tasks.TimeLimits(ctx, flow)
	if err != nil {
		return nil, err
	}
	env := machine.Env{
		Flow: flow, Limits: w.engine.Limits, Keys: w.keys(ctx, state), CallbackBase: w.engine.CallbackBase, TimeLimits: limits, Cause: w.wake.Cause,
		Generation: w.engine.Generation,
	}
	return &draft{base: base, liveTag: state.Timer.Tag, env: env, state: state}, nil
}

// keys returns the token keys. It reads them again if they lack the key of the token that the state
// waits for.
func (w *worker) keys(ctx context.Context, state machine.State) token.Keys {
	keys := w.engine.Keys
	if state.Waiting == nil || state.Waiting.Handle() == "" || keys.HasKey(state.Waiting.Handle()) || w.engine.NewerKeys == nil {
		return keys
	}
	if newer, err := w.engine.NewerKeys(ctx); err == nil {
		return newer
	}
	return keys
}

// tell applies a signal to the draft.
func (w *worker) tell(ctx context.Context, d *draft, signal machine.Signal) error {
	if err := d.settle(); err != nil {
		return err
	}
	d.env.Tag = w.engine.Fresh()
	d.env.Before = d.events
	next, err := w.withHeld(ctx, d, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, d.state, signal) })
	if err != nil {
		return err
	}
	if _, closed := signal.(machine.TokenClosed); closed {
		d.hasResult = true
	}
	d.state = next.State
	if d.events == nil {
		d.events = next.Events // which nobody else has
	} else {
		d.events = append(d.events, next.Events...)
	}
	d.changed = d.changed || next.Changed
	d.commands = next.Commands
	d.absent = append(d.absent, next.Unmapped...)
	return nil
}

// finish carries out the commands and commits, until nothing is left to do.
// Timers follow from the state at the commit: one that a later signal of the
// same draft replaced is never sent.
func (w *worker) finish(ctx context.Context, d *draft) error {
	for len(d.commands) > 0 {
		command := d.commands[0]
		d.commands = d.commands[1:]
		if d.changed && d.comesAfterCommit(command) {
			if err := w.commit(ctx, d); err != nil {
				return err
			}
		}
		signal, err := w.carryOut(ctx, d, command)
		if err != nil {
			return err
		}
		if signal == nil {
			continue
		}
		if err := w.tell(ctx, d, signal); err != nil {
			return err
		}
	}
	if !d.changed {
		return nil
	}
	return w.commit(ctx, d)
}

// comesAfterCommit reports whether what the draft holds is committed before
// the command is carried out (rules 2, 5, 9).
func (d *draft) comesAfterCommit(command machine.Command) bool {
	switch c := command.(type) {
	case machine.CallTask:
		return c.Claimed || d.hasResult
	case machine.SubmitTask, machine.QueueTask:
		return true
	case machine.CloseToken:
		return c.AfterCommit
	}
	return false
}

// carryOut answers the signal that comes of the command, nil for none.
func (w *worker) carryOut(ctx context.Context, d *draft, command machine.Command) (machine.Signal, error) {
	switch c := command.(type) {
	case machine.CallTask:
		outcome, err := w.call(ctx, d, c.Call)
		d.hasResult = true
		return machine.Returned{At: w.engine.Now(), Attempt: c.Attempt, Outcome: outcome}, err
	case machine.SubmitTask:
		return w.submit(ctx, d, c)
	case machine.QueueTask:
		return w.queue(ctx, d, c)
	case machine.CloseToken:
		return w.close(ctx, c)
	}
	return nil, nil
}

// submit tells a function of a task. A submission that failed closes the token,
// and what that then holds is applied (rule 5).
func (w *worker) submit(ctx context.Context, d *draft, c machine.SubmitTask) (machine.Signal, error) {
	outcome, err := w.call(ctx, d, c.Call)
	if err != nil {
		return nil, err
	}
	return w.submitted(ctx, c.Attempt, c.Handle, outcome)
}

// submitted is what follows from the function's answer to a submission.
func (w *worker) submitted(ctx context.Context, attempt machine.Attempt, handle string, answer token.Outcome) (machine.Signal, error) {
	if !answer.Failed() {
		return machine.Submitted{At: w.engine.Now(), Attempt: attempt, Output: answer.Output}, nil
	}
	closing := token.CloseOp{Outcome: answer, By: token.ClosedBySubmit, At: w.engine.Now()}
	return w.close(ctx, machine.CloseToken{Attempt: attempt, Handle: handle, Closing: closing})
}

// queue puts a long call into the task queue, which this worker then knows. It
// is recorded: whoever meets the attempt later would queue it again. A task that
// the queue can never carry is a submission that failed (rule 5).
func (w *worker) queue(ctx context.Context, d *draft, c machine.QueueTask) (machine.Signal, error) {
	task := Task{Call: c.Call, Handle: c.Handle, Await: c.Await, AtMostOnce: c.AtMostOnce, TimeLimit: d.env.TimeLimits[c.Resource.Text]}
	task.MAC = w.engine.Keys.MAC(taskMAC, task.authenticated())
	err := w.engine.TaskQueue.Queue(ctx, task)
	switch {
	case CodeOf(err) == CodeInvalid:
		return w.submitted(ctx, c.Attempt, c.Handle, token.Failure(machine.ErrorDataLimit, err.Error()))
	case err != nil:
		return nil, err
	}
	w.results[c.Attempt] = result{call: c.Call, queued: true}
	return machine.Queued{At: w.engine.Now(), Attempt: c.Attempt}, nil
}

// close closes a token and answers what it then holds, or the heartbeat that
// kept it open (rule 9).
func (w *worker) close(ctx context.Context, c machine.CloseToken) (machine.Signal, error) {
	record, err := w.engine.Outcomes.Close(ctx, c.Handle, c.Closing)
	switch {
	case err != nil:
		return nil, err
	case record.Open():
		return machine.BeatSeen{At: w.engine.Now(), Attempt: c.Attempt, Beat: record.LastBeat}, nil
	}
	return w.closed(c.Attempt, record), nil
}

// call makes a call unless its result is at hand.
func (w *worker) call(ctx context.Context, d *draft, call machine.Call) (token.Outcome, error) {
	if known, ok := w.results[call.Attempt]; ok && value.Equal(known.call.Input, call.Input) {
		return known.outcome, nil
	}
	if w.engine.tooLate(ctx) {
		clear(w.results) // which are committed; see below
		return token.Outcome{}, errTooLate
	}
	w.engine.Observer.Calling(call, w.engine.Now())
	outcome, err := w.engine.Tasks.Call(ctx, call)
	var wait *WaitError
	if errors.As(err, &wait) {
		outcome, err = w.callLater(ctx, d, wait)
	}
	if err != nil {
		// Nobody knows whether it was made, so this worker makes it no second
		// time. Whatever is at hand was committed before (rule 2).
		clear(w.results)
		return token.Outcome{}, fmt.Errorf("call %s: %w", call.Step, err)
	}
	w.results[call.Attempt] = result{call: call, outcome: outcome}
	return outcome, nil
}

// callLater commits the draft and waits for the turn of the call. The log then
// has the timer of the execution, and says what the execution waits for.
func (w *worker) callLater(ctx context.Context, d *draft, wait *WaitError) (token.Outcome, error) {
	if d.changed {
		if err := w.commit(ctx, d); err != nil {
			wait.GiveUp()
			return token.Outcome{}, err
		}
	}
	return wait.Call(ctx)
}

// errTooLate leaves a call to the worker that gets the wake next.
var errTooLate = errors.New("this worker's time does not last for another call")

// tooLate reports whether a call that is begun now might be cut off, and then
// be made again by somebody who cannot know how far it got.
func (e *Engine) tooLate(ctx context.Context) bool {
	direct := cmp.Or(e.Limits.Direct, machine.DefaultDirect)
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) < direct+direct/10
}

// commit sends the timer that the state names, then puts the next item
// (rules 3, 4). The draft goes on from there.
func (w *worker) commit(ctx context.Context, d *draft) error {
	seq := d.base.Seq + 1
	item := Item{Execution: w.wake.Execution, Seq: seq, Nonce: w.engine.Fresh()}
	item.Body, d.large = machine.Encode(item.place(), d.state, d.events)
	if err := checkSize(item); err != nil {
		return defect("commit", err)
	}
	if timer := d.state.Timer; timer.Tag != "" && timer.Tag != d.liveTag {
		wake := Wake{Execution: w.wake.Execution, Cause: timer.Tag, Due: timer.Due, Sent: w.engine.Now(), Seq: seq}
		if err := w.engine.Wakes.Send(ctx, wake); err != nil {
			return err
		}
	}
	w.nonces = append(w.nonces, item.Nonce)
	if err := w.engine.put(ctx, item); err != nil {
		return err
	}
	clear(w.results)
	w.engine.Observer.Committed(item.Execution, d.state, d.events)
	w.noteAbsent(d)
	d.base, d.liveTag, d.events, d.absent, d.changed, d.hasResult = item, d.state.Timer.Tag, nil, nil, false, false
	return w.engine.tellEnd(ctx, item.Execution, d.state)
}

// noteAbsent notes what mappings left out in the draft, which was committed: one
// that lost a race is made again, and says it again.
func (w *worker) noteAbsent(d *draft) {
	for _, absent := range d.absent {
		if w.absent == nil {
			w.absent = &Absences{Flow: d.state.Flow, Execution: d.state.Execution}
		}
		if !slices.Contains(w.absent.Mappings, absent) {
			w.absent.Mappings = append(w.absent.Mappings, absent)
		}
	}
}
