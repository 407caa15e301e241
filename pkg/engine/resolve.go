package engine

import (
	"context"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// resolver finds the signal of a wake for the state of its log. It reads the result that the wake
// announces, and sends the wake again if the result is not there yet. It writes nothing (rule 1).
type resolver struct {
	session
	now time.Time // of the try under way
	// paused says that the flow is paused.
	paused bool
	// resent says that the wake was sent again.
	resent bool
	// earlyLooks counts the reads of a token that was still open.
	earlyLooks int
}

// signal returns the signal of the wake for the state, nil if the wake does not apply: then nothing
// is written (rule 1, load first).
func (r *resolver) signal(ctx context.Context, wake Wake, base Item, state machine.State) (machine.Signal, error) {
	switch {
	case state.Status.Final(), r.canOnlyEnd(state) && wake.Cause != machine.CauseStop && wake.Cause != machine.CauseParent:
		return nil, nil
	case wake.Cause == machine.CauseStart:
		switch {
		case state.Status != machine.StatusStarting:
			return nil, nil
		case state.Timer.Due.After(r.now): // a paced start
			return nil, r.resend(ctx, wake, state.Timer.Due)
		}
		return r.startSignal(ctx, state)
	case wake.Cause == machine.CauseParent:
		return r.parentLeftSignal(ctx, state)
	case wake.Cause == machine.CauseStop:
		return r.stopRequest(ctx, wake, state)
	case wake.isOfJoin(state.Waiting):
		return forks{r.session}.joinSignal(ctx, base.Execution, state, wake.Cause)
	case state.Waiting.Token() == nil: // no token: only the timer can be due
	case wake.Cause == state.Waiting.Handle():
		return r.tokenClosed(ctx, wake, state.Waiting)
	case !state.Waiting.Submitted() && wake.Cause == machine.CauseReply(state.Waiting.Handle()):
		return r.storedReply(ctx, state)
	}
	return r.timerDue(ctx, wake, base, state.Timer)
}

func (r *resolver) timerDue(ctx context.Context, wake Wake, base Item, live machine.Timer) (machine.Signal, error) {
	switch {
	case wake.Cause == live.Tag && live.Due.After(r.now):
		return nil, r.resend(ctx, wake, live.Due) // the wake names a wrong instant
	case wake.Cause == live.Tag && live.Tag != "":
		return machine.TimerDue{At: r.now}, nil
	case wake.Seq == base.Seq+1 && wake.young(r.now, commitPatience): // the log has no gaps: a wake for a later item is forged
		return nil, r.resend(ctx, wake, r.now.Add(resendDelay))
	}
	return nil, nil
}

// tokenClosed reads the token's record. The closer sends the wake before its update, so the handler
// reads an open token twice, and sends a young wake again (rule 11).
func (r *resolver) tokenClosed(ctx context.Context, wake Wake, waiting *machine.Waiting) (machine.Signal, error) {
	record, err := r.TokenStore.Record(ctx, waiting.Handle())
	if err == nil && record.Open() && wake.young(r.now, token.WakePatience) {
		r.earlyLooks++
		if err = r.Sleep(ctx, lookPause); err == nil {
			record, err = r.TokenStore.Record(ctx, waiting.Handle())
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !record.Open():
		return r.closedSignal(waiting.Attempt, record), nil
	case wake.young(r.now, token.WakePatience):
		r.earlyLooks++
		return nil, r.resend(ctx, wake, r.now.Add(resendDelay))
	}
	return nil, nil
}

func (c *core) closedSignal(attempt machine.Attempt, record token.Record) machine.Signal {
	return machine.TokenClosed{At: c.Now(), Attempt: attempt, Outcome: *record.Outcome, By: record.ClosedBy, Reply: record.Reply}
}

// storedReply reads the reply of a function. The task runner stored it before it sent the wake, so
// one read is enough (rule 5).
func (r *resolver) storedReply(ctx context.Context, state machine.State) (machine.Signal, error) {
	record, err := r.TokenStore.Record(ctx, state.Waiting.Handle())
	if err != nil {
		return nil, err
	}
	return r.signalOf(state, record), nil
}

// signalOf returns the signal for the record of the token that the state waits for, nil for none.
func (r *resolver) signalOf(state machine.State, record token.Record) machine.Signal {
	switch waiting := state.Waiting; {
	case !record.Open():
		return r.closedSignal(waiting.Attempt, record)
	case record.Reply != nil && !waiting.Submitted() && state.Ending == nil:
		return machine.Submitted{At: r.Now(), Attempt: waiting.Attempt, Output: *record.Reply}
	}
	return nil
}

// stopRequest reads the request that the wake of a stop announces (rule 12).
func (r *resolver) stopRequest(ctx context.Context, wake Wake, state machine.State) (machine.Signal, error) {
	if state.Lane != nil {
		return r.stopOfParent(ctx, wake, *state.Lane)
	}
	request, ok, err := r.Stops.StopRequest(ctx, wake.Execution)
	if err == nil && !ok {
		request, ok, err = r.requestOfRoot(ctx, state)
	}
	switch {
	case err != nil:
		return nil, err
	case ok:
		return machine.StopRequested{At: r.now, Error: request.Error, Cause: request.Cause}, nil
	case wake.young(r.now, stopPatience):
		return nil, r.resend(ctx, wake, r.now.Add(resendDelay))
	}
	return nil, nil
}

// stopOfParent returns the signal for the stop of a lane. The parent's ending state is the request
// (rule 20).
func (r *resolver) stopOfParent(ctx context.Context, wake Wake, lane machine.Lane) (machine.Signal, error) {
	parent, err := forks{r.session}.parentOf(ctx, lane)
	if err != nil {
		return nil, err
	}
	stopped, ok := machine.StoppedLane(parent, lane, r.entry(wake.Cause))
	if !ok {
		return nil, nil
	}
	return machine.StopRequested{At: r.now, Error: stopped.Error, Cause: stopped.Cause}, nil
}

// requestOfRoot returns the request to stop the descendants of the root from which an execution
// descends.
func (r *resolver) requestOfRoot(ctx context.Context, state machine.State) (request StopRequest, ok bool, err error) {
	root, generation := state.Root()
	if generation == 0 || r.Descendants == nil {
		return request, false, nil
	}
	record, err := r.Descendants.Root(ctx, root)
	if err != nil || record.Stop == nil {
		return request, false, err
	}
	return *record.Stop, true, nil
}

// startSignal returns the signal for the start of an execution. A submission that was slow may have
// started a sub-flow after its parent had ended (rule 26).
func (r *resolver) startSignal(ctx context.Context, state machine.State) (machine.Signal, error) {
	if signal, err := r.parentLeftSignal(ctx, state); signal != nil || err != nil {
		return signal, err
	}
	return machine.Started{At: r.Now()}, nil
}

// parentLeftSignal returns the signal that stops a sub-flow for which nothing waits any more: its
// token is closed (rule 26). It returns nil if the token is open, and for other executions.
func (r *resolver) parentLeftSignal(ctx context.Context, state machine.State) (machine.Signal, error) {
	if !state.EndsWithParent() {
		return nil, nil
	}
	record, err := r.TokenStore.Record(ctx, state.Parent.Handle)
	if err != nil || record.Open() {
		return nil, err
	}
	cause := "the step that started the execution no longer waits for it"
	if outcome := record.Outcome; outcome.Failed() {
		cause += ": " + strings.TrimPrefix(outcome.Error+": ", machine.ErrorStopped+": ") + outcome.Cause
	}
	return machine.StopRequested{At: r.Now(), Error: machine.ErrorStopped, Cause: cause}, nil
}

// resend sends the wake again, for a later instant.
func (r *resolver) resend(ctx context.Context, wake Wake, due time.Time) error {
	wake.Due = due
	r.resent = true
	return r.Wakes.Send(ctx, wake)
}

// canOnlyEnd reports whether the execution cannot continue, because its flow is paused or this
// process lacks a function, and has no decided end: it waits for a request to stop or its time
// limit.
func (r *resolver) canOnlyEnd(state machine.State) bool {
	return state.Ending == nil && (r.paused || r.CannotContinue != nil && r.CannotContinue(state))
}

// overtime reports whether the time limit of the execution has passed, or may have if its flow is
// nil. A lane is stopped by its parent (rule 23).
func (r *resolver) overtime(state machine.State, flow *flow.Flow) bool {
	return state.Lane == nil && !state.Status.Final() && state.Ending == nil && !r.now.Before(r.Limits.EndsAt(state, flow))
}
