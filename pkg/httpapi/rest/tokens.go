package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// loaded is an execution with its definition.
type loaded struct {
	machine.State
	flow *flow.Flow
}

func (h handler) load(ctx context.Context, id engine.ID) (l loaded, err error) {
	if l.State, err = h.Engine.Describe(ctx, id); err == nil {
		l.flow, err = h.Engine.Flow(ctx, l.Flow)
	}
	return l, err
}

// loadNamed loads the execution that the path of a request names.
func (h handler) loadNamed(r *http.Request) (loaded, error) {
	flow, name := named(r)
	l, err := h.load(r.Context(), engine.NewID(flow, name))
	return l, orNoExecution(flow, name, err)
}

// tokenOf returns the token of the callback that an execution waits for, which may be closed
// already. Ok is false if it waits for no callback.
func (h handler) tokenOf(l loaded) (t Token, ok bool) {
	text, ok := h.Engine.Token(l.flow, l.State)
	if !ok {
		return t, false
	}
	t = l.wait()
	t.Token = text
	step := l.flow.All[l.Waiting.Attempt.Step]
	if task, ok := step.Kind.(*flow.Task); ok {
		t.HeartbeatSeconds = int(task.Heartbeat / time.Second)
	}
	return t, true
}

// wait returns the token that the execution waits for, without its text.
func (l loaded) wait() Token {
	step := l.flow.All[l.Waiting.Attempt.Step]
	return Token{
		Flow: l.Flow.Name, Execution: l.Execution, Step: step.Name, Iterations: machine.Iterations(step, l.ForkIndexes()),
		Since: instant(l.Waiting.Since), Deadline: instant(l.Waiting.Deadline),
	}
}

// jobOf returns the token of the job that an execution waits for. Ok is false if it waits for no
// job.
func (h handler) jobOf(ctx context.Context, l loaded) (t Token, ok bool, err error) {
	if waitsFor(l.flow, l.Waiting) != "job" {
		return t, false, nil
	}
	t = l.wait()
	t.Kind = l.flow.All[l.Waiting.Attempt.Step].Kind.(*flow.Task).Resource.Kind
	reply, err := h.Engine.Submission(ctx, l.ID())
	t.Job = reply.Get("job_key").Text()
	return t, true, err
}

// awaitedJob returns the job that a step of [flow.StartJob] waits for, nil for other waits.
func (h handler) awaitedJob(ctx context.Context, l loaded) (*AwaitedJob, error) {
	task, isTask := l.flow.All[l.Waiting.Attempt.Step].Kind.(*flow.Task)
	if waits := waitsFor(l.flow, l.Waiting); !isTask || task.Resource.Function != flow.StartJob || waits != "job" && waits != "callback" {
		return nil, nil //nolint:nilnil // it waits for no job
	}
	reply, err := h.Engine.Submission(ctx, l.ID())
	text := func(name string) string { return reply.Get(name).Text() }
	job := AwaitedJob{Kind: cmp.Or(task.Resource.Kind, text("kind")), ID: text("job_id"), Key: text("job_key"), Account: text("account")}
	if err != nil || job.Kind == "" {
		return nil, err
	}
	return &job, nil
}

// A finder returns the token that a request names.
type finder func(*http.Request) (Token, error)

// tokenInPath returns the token in the path: by its text, or of an external wait by its handle, so
// that those who may report need not read the text.
func (h handler) tokenInPath(r *http.Request) (Token, error) {
	text := r.PathValue("token")
	if _, isHandle := token.HandleID(text); !isHandle || h.External == nil {
		return Token{Token: text}, nil
	}
	wait, _, err := h.External.ExternalWait(r.Context(), text)
	if errors.Is(err, resume.ErrNoWait) {
		return Token{}, token.ErrInvalid
	}
	return h.externalToken(wait), err
}

// tokenOfExecution finds the token of the execution in the path, so that those who may report need
// not read it. With the parameter step it is that step's. A token that is closed and not waited for
// any more has no usable text, and says what closed it.
func (h handler) tokenOfExecution(r *http.Request) (Token, error) {
	l, err := h.loadNamed(r)
	if err != nil {
		return Token{}, err
	}
	step := r.URL.Query().Get("step")
	waiting, err := h.Engine.Waiting(r.Context(), l.State, math.MaxInt)
	if err != nil {
		return Token{}, err
	}
	var tokens, matching []Token // of callbacks of the execution and its lanes, which may be closed already
	for _, state := range waiting.States {
		t, ok := h.tokenOf(loaded{state, l.flow})
		if ok {
			tokens = append(tokens, t)
		}
		if ok && t.IsOf(step) {
			matching = append(matching, t)
		}
	}
	switch len(matching) {
	case 0:
	case 1:
		return matching[0], nil
	default:
		return Token{}, conflict("%s", SeveralTokens(matching))
	}
	history, err := h.Engine.History(r.Context(), l.ID())
	if err != nil {
		return Token{}, err
	}
	if closed, found := closedToken(l, history, step); found {
		return closed, nil
	}
	switch len(tokens) {
	case 0:
		return Token{}, h.noToken(r.Context(), l.State)
	case 1:
		return Token{}, conflict("execution %s/%s waits for the callback of step %s, not of %q; name that step, or none",
			l.Flow.Name, l.Execution, tokens[0].Place(), step)
	}
	return Token{}, conflict("step %s waits for no callback; %s", step, SeveralTokens(tokens))
}

// Place names the step that waits, with the iterations around it: "Ask[3]".
func (t Token) Place() string { return machine.StepIn(t.Step, t.Iterations) }

// IsOf reports whether the token belongs to a step: "Ask" in any iterations, "Ask[3]" in these, ""
// for any step.
func (t Token) IsOf(step string) bool { return step == "" || step == t.Step || step == t.Place() }

// SeveralTokens says that an execution waits for several callbacks, and how to name one.
func SeveralTokens(tokens []Token) string {
	first := tokens[0]
	places := []string{}
	for _, t := range tokens[:min(len(tokens), mostInside)] {
		places = append(places, t.Place())
	}
	more := ""
	if others := len(tokens) - len(places); others > 0 {
		more = fmt.Sprintf(" and %d more", others)
	}
	return fmt.Sprintf("execution %s/%s waits for %d callbacks: %s%s; name one as in %s/%s/%s",
		first.Flow, first.Execution, len(tokens), strings.Join(places, ", "), more, first.Flow, first.Execution, first.Place())
}

// closedToken returns the callback token that was closed last, as the history tells; of the step,
// unless that is empty.
func closedToken(l loaded, history []machine.Event, step string) (t Token, found bool) {
	var end machine.Event
	for _, e := range slices.Backward(history) {
		if end.Type != 0 && e.Type == machine.TaskScheduled && e.Step == end.Step && e.Log == end.Log {
			handle := token.Keys{}.Handle(token.ID{Execution: e.Log, Number: uint32(e.Number), Expires: l.Expires}) //nolint:gosec // small
			t.Token, t.Since = token.Mask(handle), instant(e.At)
			outcome := token.Outcome{Output: end.Output, Error: end.Error, Cause: end.Cause}
			return recordOf(t, token.Record{Outcome: &outcome, ClosedBy: end.ClosedBy, ClosedAt: end.At}), true
		}
		if end.Type != 0 || e.ClosedBy == "" {
			continue
		}
		waits := l.flow.All[e.Step]
		at := Token{Flow: l.Flow.Name, Execution: l.Execution, Step: waits.Name, Iterations: machine.Iterations(waits, e.ForkIndexes)}
		if task, ok := waits.Kind.(*flow.Task); ok && task.Pattern == flow.PatternWaitForCallback && at.IsOf(step) {
			end, t = e, at
		}
	}
	return Token{}, false
}

// noToken returns an error that describes the state of an execution without an open token.
func (h handler) noToken(ctx context.Context, state machine.State) error {
	e, err := h.withWaiting(ctx, state, listedLanes)
	switch {
	case err != nil:
		return err
	case state.Status.Final():
		return conflict("execution %s/%s has no open token: it has ended with the status %s", e.Flow, e.Name, e.Status)
	case e.Waiting == nil:
		return conflict("execution %s/%s has no open token: it does not wait; try again in a moment", e.Flow, e.Name)
	}
	fix := "list the open tokens"
	if subflows := e.Waiting.Subflows(); len(subflows) > 0 {
		fix = "name an execution that it waits for: " + strings.Join(subflows, ", ")
	}
	return conflict("execution %s/%s has no open token: step %s waits for %s; %s", e.Flow, e.Name, e.Waiting.Step, e.Waiting.What(), fix)
}

func (h handler) showToken(r *http.Request) (int, any, error) {
	t, err := h.tokenInPath(r)
	if err != nil {
		return 0, nil, err
	}
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
		choice := r.URL.Query().Get("choice")
		reads := parse != nil && choice == ""
		body, err := h.readReport(r, reads)
		if err != nil {
			return 0, nil, err
		}
		t, err := find(r)
		if err != nil {
			return 0, nil, err
		}
		if t.ClosedBy != "" {
			held, reported := token.Outcome{Error: t.Error, Cause: t.Cause}, token.Outcome{}
			if t.Output != nil {
				held = token.Success(*t.Output)
			}
			if reads {
				reported, err = parse(h.Tokens.Limits(token.ID{Flags: token.FlagAnyValue}), body)
			}
			return statusOfReport(reads && token.Same(held, reported.Cut())), t, err
		}
		verified, err := h.Tokens.Verify(r.Context(), t.Token)
		if err != nil {
			return 0, nil, err
		}
		if parse == nil {
			record, err := verified.Heartbeat(r.Context())
			return statusOfReport(record.Open()), recordOf(h.withStep(r.Context(), t, verified.ID), record), err
		}
		var outcome token.Outcome
		if reads {
			outcome, err = parse(h.Tokens.Limits(verified.ID), body)
		} else {
			outcome, err = h.chosen(r.Context(), verified, choice)
		}
		if err != nil {
			return 0, nil, err
		}
		met, record, err := verified.Close(r.Context(), outcome)
		return statusOfReport(met != resume.ClosedDifferent), recordOf(t, record), err
	}
}

// chosen returns the outcome of the choice with that label of the step that waits for the token.
func (h handler) chosen(ctx context.Context, verified resume.Token, label string) (token.Outcome, error) {
	var wait engine.Wait
	var err error
	waits := verified.ID.Flags&token.FlagExternal == 0
	if waits {
		wait, waits, err = h.Engine.WaitFor(ctx, verified.ID.Execution, verified.Handle())
	}
	switch {
	case err != nil:
		return token.Outcome{}, err
	case !waits:
		return token.Outcome{}, conflict("no step waits for the token, so there is nothing to choose")
	case wait.Question == nil || wait.Question.Choices == nil:
		return token.Outcome{}, invalid("step %s has no choices; give its output", wait.Step)
	}
	output, ok := wait.Question.Output(label)
	if !ok {
		labels := wait.Question.Choices
		return token.Outcome{}, invalid("choice %q is unknown%s (allowed: %s)", label, similar.DidYouMean(label, labels), strings.Join(labels, ", "))
	}
	return token.Outcome{Output: output, Choice: label}, nil
}

// readReport returns the body of a report, or rejects members if the report has none.
func (h handler) readReport(r *http.Request, reads bool) ([]byte, error) {
	if reads {
		return h.readBody(r)
	}
	return nil, h.readJSON(r, &struct{}{})
}

// withStep adds the step that waits for the token. It returns t unchanged for a token of another
// engine, or if the step cannot be read: the heartbeat was recorded.
func (h handler) withStep(ctx context.Context, t Token, id token.ID) Token {
	if id.Flags&token.FlagExternal != 0 {
		return t
	}
	if l, err := h.load(ctx, id.Execution); err == nil {
		if waiting, ok := h.tokenOf(l); ok && waiting.Token == t.Token {
			return waiting
		}
	}
	return t
}

func statusOfReport(accepted bool) int {
	if accepted {
		return http.StatusOK
	}
	return http.StatusConflict
}
