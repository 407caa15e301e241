package rest

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// tokenOf returns the token of the callback that an execution waits for, which may be closed already.
// Ok is false if it waits for no callback.
func (h handler) tokenOf(ctx context.Context, state machine.State) (t Token, ok bool, err error) {
	if state.Waiting == nil {
		return t, false, nil
	}
	flow, err := h.Engine.Flow(ctx, state.Flow)
	if err != nil {
		return t, false, err
	}
	text, ok := h.Engine.Token(flow, state)
	if !ok {
		return t, false, nil
	}
	step := flow.All[state.Waiting.Attempt.Step]
	t = Token{
		Token: text, Flow: state.Flow.Name, Execution: state.Execution, Step: step.Name,
		Since: instant(state.Waiting.Since), Deadline: instant(state.Waiting.Deadline),
	}
	if task, ok := step.Kind.(*fdl.Task); ok {
		t.HeartbeatSeconds = int(task.Heartbeat / time.Second)
	}
	return t, true, nil
}

// openToken returns the open token of an execution, with what its record holds.
func (h handler) openToken(ctx context.Context, state machine.State) (t Token, ok bool, err error) {
	t, ok, err = h.tokenOf(ctx, state)
	if !ok || err != nil {
		return t, false, err
	}
	record, err := h.Engine.TokenRecord(ctx, state.Waiting.Handle())
	return recordOf(t, record), record.Open(), err
}

// A finder returns the token that a request names.
type finder func(*http.Request) (Token, error)

// tokenInPath returns the token whose text is in the path.
func tokenInPath(r *http.Request) (Token, error) { return Token{Token: r.PathValue("token")}, nil }

// tokenOfExecution finds the token of the execution in the path, so that those who may report need
// not read it. With the parameter step it is that step's. A token that is closed and not waited for
// any more has no usable text, and says what closed it.
func (h handler) tokenOfExecution(r *http.Request) (Token, error) {
	flow, name := named(r)
	state, err := h.describe(r.Context(), flow, name)
	if err != nil {
		return Token{}, err
	}
	step := r.URL.Query().Get("step")
	t, ok, err := h.tokenOf(r.Context(), state)
	if err != nil || ok && (step == "" || step == t.Step) {
		return t, err
	}
	closed, found, err := h.closedToken(r.Context(), state, step)
	switch {
	case err != nil || found:
		return closed, err
	case ok:
		return Token{}, conflict("execution %s/%s waits for the callback of step %s, not of %q; name that step, or none", flow, name, t.Step, step)
	}
	return Token{}, h.noToken(r.Context(), state)
}

// closedToken returns the callback token that was closed last, as the history tells; of the step,
// unless that is empty.
func (h handler) closedToken(ctx context.Context, state machine.State, step string) (t Token, found bool, err error) {
	flow, err := h.Engine.Flow(ctx, state.Flow)
	if err != nil {
		return Token{}, false, err
	}
	history, err := h.Engine.History(ctx, state.ID())
	if err != nil {
		return Token{}, false, err
	}
	var end machine.Event
	for _, e := range slices.Backward(history) {
		switch {
		case end.Type == 0 && e.ClosedBy != "" && isCallback(flow.All[e.Step]) && (step == "" || step == flow.All[e.Step].Name):
			end = e
		case end.Type != 0 && e.Type == machine.TaskScheduled && e.Step == end.Step:
			return h.tokenThatEnded(state, flow.All[e.Step].Name, e, end), true, nil
		}
	}
	return Token{}, false, nil
}

func isCallback(step *fdl.Step) bool {
	task, ok := step.Kind.(*fdl.Task)
	return ok && task.Pattern == fdl.PatternWaitForCallback
}

func (h handler) tokenThatEnded(state machine.State, step string, scheduled, end machine.Event) Token {
	handle := token.Keys{}.Handle(token.ID{Execution: state.ID(), Number: uint32(scheduled.ID), Expires: state.Expires}) //nolint:gosec // small
	outcome := token.Outcome{Output: end.Output, Error: end.Error, Cause: end.Cause}
	t := Token{Token: token.Mask(handle), Flow: state.Flow.Name, Execution: state.Execution, Step: step, Since: instant(scheduled.At)}
	return recordOf(t, token.Record{Outcome: &outcome, ClosedBy: end.ClosedBy, ClosedAt: end.At})
}

// noToken returns an error that says what an execution does instead of waiting for a callback.
func (h handler) noToken(ctx context.Context, state machine.State) error {
	e, err := h.withWaiting(ctx, state)
	switch {
	case err != nil:
		return err
	case state.Status.Final():
		return conflict("execution %s/%s has no open token: it has ended with the status %s", e.Flow, e.Name, e.Status)
	case e.Waiting == nil:
		return conflict("execution %s/%s has no open token: it does not wait; try again in a moment", e.Flow, e.Name)
	}
	return conflict("execution %s/%s has no open token: step %s waits for something else (%s); list the open tokens",
		e.Flow, e.Name, e.Waiting.Step, e.Waiting.For)
}

func (h handler) showToken(r *http.Request) (int, any, error) {
	t, _ := tokenInPath(r)
	verified, err := h.Tokens.Verify(r.Context(), t.Token)
	if err != nil {
		return 0, nil, err
	}
	record, err := verified.Describe(r.Context())
	return http.StatusOK, recordOf(t, record), err
}

// report closes a token with the outcome that parse reads from the body; nil is for a heartbeat.
func (h handler) report(find finder, parse func(resume.Limits, []byte) (token.Outcome, error)) responder {
	return func(r *http.Request) (int, any, error) {
		outcome, err := h.readOutcome(r, parse)
		if err != nil {
			return 0, nil, err
		}
		t, err := find(r)
		if err != nil {
			return 0, nil, err
		}
		if t.ClosedBy != "" {
			return statusOfReport(parse != nil && holds(t, outcome)), t, nil
		}
		verified, err := h.Tokens.Verify(r.Context(), t.Token)
		if err != nil {
			return 0, nil, err
		}
		if parse == nil {
			record, err := verified.Heartbeat(r.Context())
			return statusOfReport(record.Open()), recordOf(h.withStep(r.Context(), t, verified.ID), record), err
		}
		met, record, err := verified.Close(r.Context(), outcome)
		return statusOfReport(met != resume.ClosedDifferent), recordOf(t, record), err
	}
}

func (h handler) readOutcome(r *http.Request, parse func(resume.Limits, []byte) (token.Outcome, error)) (token.Outcome, error) {
	if parse == nil {
		return token.Outcome{}, nil
	}
	body, err := readBody(r)
	if err != nil {
		return token.Outcome{}, err
	}
	return parse(h.Tokens.Limits(token.ID{}), body)
}

// holds reports whether the closed token has this outcome.
func holds(t Token, outcome token.Outcome) bool {
	held := token.Outcome{Error: t.Error, Cause: t.Cause}
	if t.Output != nil {
		held = token.Success(*t.Output)
	}
	return token.Same(held, outcome.Cut())
}

// withStep adds the step that waits for the token. A token of another engine, and one whose step
// cannot be read, stays as it is: the heartbeat was recorded.
func (h handler) withStep(ctx context.Context, t Token, id token.ID) Token {
	if id.Flags&token.FlagExternal != 0 {
		return t
	}
	state, err := h.Engine.Describe(ctx, id.Execution)
	if err != nil {
		return t
	}
	if waiting, ok, err := h.tokenOf(ctx, state); err == nil && ok && waiting.Token == t.Token {
		return waiting
	}
	return t
}

func statusOfReport(accepted bool) int {
	if accepted {
		return http.StatusOK
	}
	return http.StatusConflict
}
