package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Index lists executions. It is for people: it may lag behind the log.
type Index interface {
	// Executions is a page of them, the latest start first: at most limit ids,
	// of those behind the page that gave the text after. Next is what gives the
	// page behind it, empty when there is none; before it is, a page may be
	// short, and even empty. An empty flow or status means
	// all; [machine.StatusRunning] means those that have not ended. A text that
	// no page gave: an [*engine.Error] with [engine.CodeInvalid].
	Executions(ctx context.Context, flow string, status machine.Status, after string, limit int) (ids []engine.ID, next string, err error)
}

// Tokens closes tokens and tells of them, as [resume.Tokens] does.
type Tokens interface {
	Close(ctx context.Context, text string, outcome token.Outcome) (resume.Answer, token.Record, error)
	Heartbeat(ctx context.Context, text string) (token.Record, error)
	Describe(ctx context.Context, text string) (token.ID, token.Record, error)
}

// Flows lists the definitions that [engine.Flows] keeps.
type Flows interface {
	// Definitions are those that are listed, in the order of their names, of
	// one name the latest first. An empty name means all.
	Definitions(ctx context.Context, name string) ([]engine.Definition, error)

	// FlowText is a definition that is listed, as it was put. Another one:
	// [engine.ErrNotFound].
	FlowText(ctx context.Context, flow machine.Flow) ([]byte, error)

	// DeleteFlow takes the definition off the list, until it is put again. The
	// engine still gets it: executions that an index does not show yet need it,
	// and histories name its steps. One that is not listed is no error.
	DeleteFlow(ctx context.Context, flow machine.Flow) error
}

// Foreign lists the waits of somebody else's engine, as [resume.ForeignWaits]
// does.
type Foreign interface {
	List(ctx context.Context, after string, limit int) ([]resume.ForeignWait, error)
}

// Config is what a handler works with. All fields without a word on nil are
// required.
type Config struct {
	Engine *engine.Engine
	Tokens Tokens
	Index  Index
	Flows  Flows
	// Foreign is nil where nobody else's engine is served.
	Foreign Foreign
	// Start starts executions; nil means the engine.
	Start func(context.Context, engine.StartRequest) (engine.StartAnswer, error)
	// Log is told what failed inside, never a token; nil means nobody is.
	Log *slog.Logger
	// MaxOutput is the size of the largest output of a step of ours, in bytes; 0
	// means [machine.DefaultData].
	MaxOutput int
	// Blocked returns why executions of a flow cannot continue here, "" when they can; nil means they
	// always can.
	Blocked func(*fdl.Flow) string
	// Reasons: callers serve themselves, so they are told what failed inside.
	Reasons bool
	// Stop asks for the end of an execution; nil means the engine.
	Stop func(ctx context.Context, id engine.ID, name, cause string) error
}

// maxBody is the largest request: the vendor's limit of a request.
const maxBody = 1 << 20

// Handler serves the API.
func Handler(config Config) http.Handler {
	if config.Start == nil {
		config.Start = config.Engine.Start
	}
	if config.Stop == nil {
		config.Stop = config.Engine.Stop
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	h := handler{config}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(*http.Request) (int, any, error){
		"GET /flows":                                       h.listFlows,
		"PUT /flows/{flow}":                                h.putFlow,
		"GET /flows/{flow}":                                h.showFlow,
		"DELETE /flows/{flow}":                             h.deleteFlow,
		"POST /flows/{flow}/executions":                    h.start,
		"GET /executions":                                  h.list,
		"GET /flows/{flow}/executions/{execution}":         h.show,
		"GET /flows/{flow}/executions/{execution}/history": h.history,
		"POST /flows/{flow}/executions/{execution}/stop":   h.stop,
		"GET /tokens":                                      h.openTokens,
		"GET /tokens/{token}":                              h.showToken,
		"POST /tokens/{token}/success":                     h.succeed,
		"POST /tokens/{token}/failure":                     h.fail,
		"POST /tokens/{token}/heartbeat":                   h.heartbeat,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			h.answer(w, serve, r)
		})
	}
	return notKept(mux)
}

// notKept says that nobody may keep an answer, or take it for something else:
// tokens stand in paths, and the data of executions in answers.
func notKept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

type handler struct{ Config }

func (h handler) answer(w http.ResponseWriter, serve func(*http.Request) (int, any, error), r *http.Request) {
	status, body, err := serve(r)
	if err != nil {
		refused := h.refusal(r, err)
		status, body = refused.Status, refused
		if refused.Code == engine.CodeInternal {
			h.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", r.Pattern, "error", token.MaskAll(err.Error()))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // the caller is gone
}

// refusal is what a caller is told of an error: all of what they can mend,
// nothing of what happened inside unless they serve themselves.
func (h handler) refusal(r *http.Request, err error) *Error {
	var refused *Error
	var coded *engine.Error
	var tooLarge *http.MaxBytesError
	var report *resume.ReportError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &report):
		return &Error{http.StatusBadRequest, engine.CodeInvalid, report.Error()}
	case errors.As(err, &tooLarge):
		return &Error{http.StatusRequestEntityTooLarge, engine.CodeInvalid, resume.RequestTooLarge(r.ContentLength, tooLarge.Limit).What}
	case errors.Is(err, token.ErrInvalid):
		return &Error{http.StatusNotFound, engine.CodeNotFound, err.Error()}
	case errors.Is(err, resume.ErrTooSlow):
		return &Error{http.StatusServiceUnavailable, engine.CodeInternal, err.Error()}
	case errors.As(err, &coded) && coded.Code != engine.CodeInternal:
		return &Error{statusOf(coded.Code), coded.Code, coded.Error()}
	case h.Reasons:
		return &Error{http.StatusInternalServerError, engine.CodeInternal, token.MaskAll(err.Error())}
	}
	return &Error{http.StatusInternalServerError, engine.CodeInternal, "something inside failed; see the log"}
}

func statusOf(code engine.Code) int {
	switch code {
	case engine.CodeNotFound:
		return http.StatusNotFound
	case engine.CodeConflict:
		return http.StatusConflict
	case engine.CodeInvalid:
		return http.StatusBadRequest
	case engine.CodeTooNew, engine.CodeInternal, engine.CodeDefect:
	}
	return http.StatusInternalServerError
}

func invalid(format string, args ...any) error {
	return &Error{http.StatusBadRequest, engine.CodeInvalid, fmt.Sprintf(format, args...)}
}

// readJSON reads the body into form; an empty one leaves it as it is.
func readJSON(r *http.Request, form any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(form)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &tooLarge):
		return err
	}
	return invalid("the body is not what belongs here: %s", err)
}

// readBody reads the body as it is.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) { // the caller hung up, or is too slow
		return nil, invalid("the request ended before all of it was here")
	}
	return body, err
}

func (h handler) putFlow(r *http.Request) (int, any, error) {
	name := r.PathValue("flow")
	if len(name) > fdl.MaxName {
		return 0, nil, invalid("flow name %.20q... has %d bytes and the limit is %d; shorten it", name, len(name), fdl.MaxName)
	}
	if !fdl.ValidName(name) {
		return 0, nil, invalid("flow name %q is no name", name)
	}
	text, err := readBody(r)
	if err != nil {
		return 0, nil, err
	}
	flow, err := h.Engine.Flows.Put(r.Context(), name, text)
	return http.StatusOK, Flow{Name: flow.Name, Hash: flow.Hash}, err
}

func (h handler) start(r *http.Request) (int, any, error) {
	var form Start
	if err := readJSON(r, &form); err != nil {
		return 0, nil, err
	}
	flow := machine.Flow{Name: r.PathValue("flow"), Hash: form.Hash}
	if _, err := h.Engine.Flows.Flow(r.Context(), flow); err != nil {
		return 0, nil, err
	}
	met, err := h.Start(r.Context(), engine.StartRequest{Flow: flow, Execution: form.Name, Input: form.Input})
	if err != nil {
		return 0, nil, err
	}
	execution, err := h.execution(r.Context(), engine.NewID(flow.Name, form.Name))
	if err != nil {
		return 0, nil, err
	}
	switch met {
	case engine.StartedDifferent:
		return 0, nil, &Error{http.StatusConflict, engine.CodeConflict, fmt.Sprintf(
			"execution %s/%s exists with another definition or input; choose another name", flow.Name, form.Name)}
	case engine.StartedSame:
		return http.StatusOK, execution, nil
	case engine.StartedNew:
	}
	return http.StatusCreated, execution, nil
}

func (h handler) execution(ctx context.Context, id engine.ID) (Execution, error) {
	state, err := h.Engine.Describe(ctx, id)
	if err != nil {
		return Execution{}, err
	}
	if state.Status.Final() || state.Waiting == nil && h.Blocked == nil {
		return executionOf(state, nil), nil
	}
	flow, err := h.Engine.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return Execution{}, err
	}
	e := executionOf(state, waitingOf(flow, state.Waiting))
	if h.Blocked != nil {
		e.Blocked = h.Blocked(flow)
	}
	return e, nil
}

func pathID(r *http.Request) engine.ID {
	return engine.NewID(r.PathValue("flow"), r.PathValue("execution"))
}

func (h handler) show(r *http.Request) (int, any, error) {
	execution, err := h.execution(r.Context(), pathID(r))
	return http.StatusOK, execution, err
}

func (h handler) history(r *http.Request) (int, any, error) {
	after := 0
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.Atoi(text); err != nil {
			return 0, nil, invalid("after is %q; allowed: the id of an event", text)
		}
	}
	state, err := h.Engine.Describe(r.Context(), pathID(r))
	if err != nil {
		return 0, nil, err
	}
	flow, err := h.Engine.Flows.Flow(r.Context(), state.Flow)
	if err != nil {
		return 0, nil, err
	}
	history, err := h.Engine.History(r.Context(), pathID(r))
	return http.StatusOK, historyPage(flow, history, after), err
}

func (h handler) stop(r *http.Request) (int, any, error) {
	var form Failure
	if err := readJSON(r, &form); err != nil {
		return 0, nil, err
	}
	id := pathID(r)
	if err := h.Stop(r.Context(), id, form.Error, form.Cause); err != nil {
		return 0, nil, err
	}
	execution, err := h.execution(r.Context(), id)
	return http.StatusAccepted, execution, err
}

// openToken is the token that an execution waits for, if it does.
func (h handler) openToken(ctx context.Context, id engine.ID) (t Token, ok bool, err error) {
	state, err := h.Engine.Describe(ctx, id)
	if err != nil || state.Waiting == nil {
		return t, false, err
	}
	flow, err := h.Engine.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return t, false, err
	}
	text, ok := machine.Token(h.Engine.Keys, flow, state)
	if !ok {
		return t, false, nil
	}
	record, err := h.Engine.Outcomes.Record(ctx, state.Waiting.Handle)
	t = Token{
		Token: text, Flow: state.Flow.Name, Execution: state.Execution, Step: flow.All[state.Waiting.Attempt.Step].Name,
		Since: instant(state.Waiting.Since), Deadline: instant(state.Waiting.Deadline),
	}
	return recordOf(t, record), record.Open(), err
}

func (h handler) showToken(r *http.Request) (int, any, error) {
	text := r.PathValue("token")
	_, record, err := h.Tokens.Describe(r.Context(), text)
	return http.StatusOK, recordOf(Token{Token: text}, record), err
}

func (h handler) succeed(r *http.Request) (int, any, error) { return h.close(r, resume.ParseSuccess) }

func (h handler) fail(r *http.Request) (int, any, error) { return h.close(r, resume.ParseFailure) }

// close closes a token with the outcome that parse finds in the body.
func (h handler) close(r *http.Request, parse func([]byte, int) (token.Outcome, error)) (int, any, error) {
	body, err := readBody(r)
	if err != nil {
		return 0, nil, err
	}
	outcome, err := parse(body, cmp.Or(h.MaxOutput, machine.DefaultData))
	if err != nil {
		return 0, nil, err
	}
	text := r.PathValue("token")
	met, record, err := h.Tokens.Close(r.Context(), text, outcome)
	if err != nil {
		return 0, nil, err
	}
	if met == resume.ClosedDifferent {
		return http.StatusConflict, recordOf(Token{Token: text}, record), nil
	}
	return http.StatusOK, recordOf(Token{Token: text}, record), nil
}

func (h handler) heartbeat(r *http.Request) (int, any, error) {
	text := r.PathValue("token")
	record, err := h.Tokens.Heartbeat(r.Context(), text)
	if err != nil {
		return 0, nil, err
	}
	if !record.Open() {
		return http.StatusConflict, recordOf(Token{Token: text}, record), nil
	}
	return http.StatusOK, recordOf(Token{Token: text}, record), nil
}
