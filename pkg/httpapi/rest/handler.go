package rest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
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
	h := handler{config, make(chan struct{}, maxLarge)}
	mux := http.NewServeMux()
	for pattern, serve := range h.small() {
		mux.HandleFunc(pattern, h.serve(serve))
	}
	for pattern, serve := range h.large() {
		mux.HandleFunc(pattern, h.withRoom(h.serve(serve)))
	}
	return notKept(mux)
}

// A responder serves one route: the status and the body of its response.
type responder func(*http.Request) (int, any, error)

// Reading with GET masks every token. What shows tokens whole is a POST with a
// path of its own, so that a policy that allows GET /* does not allow it.

const pathOfExecution = "/flows/{flow}/executions/{execution}"

// small are the routes whose responses are about one thing.
func (h handler) small() map[string]responder {
	return map[string]responder{
		"PUT /flows/{flow}":                            h.putFlow,
		"GET /flows/{flow}":                            h.showFlow,
		"DELETE /flows/{flow}":                         h.deleteFlow,
		"POST /flows/{flow}/executions":                h.start,
		"GET " + pathOfExecution:                       h.show(masked),
		"POST " + pathOfExecution + "/reveal":          h.show(revealed),
		"POST " + pathOfExecution + "/stop":            h.stop,
		"POST " + pathOfExecution + "/token/success":   h.close(h.tokenOfExecution, resume.ParseSuccess),
		"POST " + pathOfExecution + "/token/failure":   h.close(h.tokenOfExecution, resume.ParseFailure),
		"POST " + pathOfExecution + "/token/heartbeat": h.heartbeat(h.tokenOfExecution),
		"GET /tokens/{token}":                          h.showToken,
		"POST /tokens/{token}/success":                 h.close(tokenInPath, resume.ParseSuccess),
		"POST /tokens/{token}/failure":                 h.close(tokenInPath, resume.ParseFailure),
		"POST /tokens/{token}/heartbeat":               h.heartbeat(tokenInPath),
	}
}

// large are the routes whose responses may have megabytes.
func (h handler) large() map[string]responder {
	return map[string]responder{
		"GET /flows":                                  h.listFlows,
		"GET /executions":                             h.list,
		"GET " + pathOfExecution + "/history":         h.history(masked),
		"POST " + pathOfExecution + "/history/reveal": h.history(revealed),
		"GET /tokens":                                 h.openTokens(masked),
		"POST /tokens/reveal":                         h.openTokens(revealed),
	}
}

// notKept forbids to keep a response, or to take it for something else: tokens
// stand in paths, and the data of executions in responses. A path that is not
// clean would be answered with the place of the clean one, token and all.
func notKept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if escaped := r.URL.EscapedPath(); pathpkg.Clean(escaped) != escaped {
			write(w, http.StatusNotFound, &Error{Code: engine.CodeNotFound, Message: "there is nothing here"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

type handler struct {
	Config

	// largeResponses has room for the large responses that are under way.
	largeResponses chan struct{}
}

const (
	// maxLarge is how many large responses are made and sent at once. Readers
	// that read nothing keep no more than these in memory.
	maxLarge = 32
	// maxLargeWait is how long a request waits for room before it is refused.
	maxLargeWait = 10 * time.Second
)

// withRoom serves a large response when there is room for it.
func (h handler) withRoom(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), maxLargeWait)
		defer cancel()
		select {
		case h.largeResponses <- struct{}{}:
			defer func() { <-h.largeResponses }()
			next(w, r)
		case <-ctx.Done():
			w.Header().Set("Retry-After", "10")
			write(w, http.StatusServiceUnavailable, &Error{Code: engine.CodeInternal, Message: "too many lists and histories are being read; try again later"})
		}
	}
}

func (h handler) serve(serve responder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, body, err := serve(r)
		if err != nil {
			refused := h.refusal(r, err)
			refused.Message = token.MaskAll(refused.Message)
			status, body = refused.Status, refused
			if refused.Code == engine.CodeInternal {
				h.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", r.Pattern, "error", token.MaskAll(err.Error()))
			}
		}
		write(w, status, body)
	}
}

func write(w http.ResponseWriter, status int, body any) {
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

// readJSON reads the body, an object with no other members than these, into
// form. An empty body leaves form as it is.
func readJSON(r *http.Request, form any, members ...string) error {
	body, err := readBody(r)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	object, err := value.ParseJSON(body)
	switch {
	case err != nil:
		return invalid("the body cannot be read: %s", err)
	case object.Kind() != value.KindObject:
		return invalid("the body is %s; allowed: an object", object.Kind())
	}
	for _, m := range object.Members() {
		if !slices.Contains(members, m.Key) { // exactly: encoding/json would take "NAME" for "name"
			return invalid("unknown field %q%s; allowed: %s", m.Key, fdl.DidYouMean(m.Key, members), strings.Join(members, ", "))
		}
	}
	if err := json.Unmarshal(body, form); err != nil {
		return invalid("the body is not what belongs here: %s", err)
	}
	return nil
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
	if err := readJSON(r, &form, "name", "hash", "input"); err != nil {
		return 0, nil, err
	}
	flow, err := h.definitionOf(r, form.Hash)
	if err != nil {
		return 0, nil, err
	}
	if form.Name == "" {
		form.Name = "run-" + strings.ToLower(rand.Text()[:nameLength])
	}
	met, err := h.Start(r.Context(), engine.StartRequest{Flow: flow, Execution: form.Name, Input: form.Input})
	if err != nil {
		return 0, nil, err
	}
	execution, err := h.execution(r.Context(), flow.Name, form.Name)
	if err != nil {
		return 0, nil, err
	}
	switch met {
	case engine.StartedDifferent:
		return 0, nil, &Error{http.StatusConflict, engine.CodeConflict, fmt.Sprintf(
			"execution %s/%s exists with another definition or input; choose another name", flow.Name, form.Name)}
	case engine.StartedSame:
		return http.StatusOK, masked(execution), nil
	case engine.StartedNew:
	}
	return http.StatusCreated, masked(execution), nil
}

// nameLength is how many characters of a name are drawn: 80 bits.
const nameLength = 16

// definitionOf is the definition with the hash, which need not be listed any
// more, or without a hash the latest one that is.
func (h handler) definitionOf(r *http.Request, hash string) (machine.Flow, error) {
	if hash == "" {
		definitions, err := h.definitions(r)
		if err != nil {
			return machine.Flow{}, err
		}
		return definitions[0].Flow, nil
	}
	flow := machine.Flow{Name: r.PathValue("flow"), Hash: hash}
	_, err := h.Engine.Flows.Flow(r.Context(), flow)
	return flow, err
}

// describe is the state of an execution.
func (h handler) describe(ctx context.Context, flow, execution string) (machine.State, error) {
	state, err := h.Engine.Describe(ctx, engine.NewID(flow, execution))
	return state, orNoExecution(flow, execution, err)
}

// orNoExecution is err, which names the execution if there is none.
func orNoExecution(flow, execution string, err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return &Error{http.StatusNotFound, engine.CodeNotFound, fmt.Sprintf("there is no execution %s/%s", flow, execution)}
	}
	return err
}

func (h handler) execution(ctx context.Context, flow, name string) (Execution, error) {
	state, err := h.describe(ctx, flow, name)
	if err != nil {
		return Execution{}, err
	}
	return h.withWaiting(ctx, state)
}

func (h handler) withWaiting(ctx context.Context, state machine.State) (Execution, error) {
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

func named(r *http.Request) (flow, execution string) {
	return r.PathValue("flow"), r.PathValue("execution")
}

func (h handler) show(view view) responder {
	return func(r *http.Request) (int, any, error) {
		flow, name := named(r)
		execution, err := h.execution(r.Context(), flow, name)
		return http.StatusOK, view(execution), err
	}
}

func (h handler) history(view view) responder {
	return func(r *http.Request) (int, any, error) {
		after := 0
		if text := r.URL.Query().Get("after"); text != "" {
			var err error
			if after, err = strconv.Atoi(text); err != nil {
				return 0, nil, invalid("after is %q; allowed: the id of an event", text)
			}
		}
		name, execution := named(r)
		state, err := h.describe(r.Context(), name, execution)
		if err != nil {
			return 0, nil, err
		}
		flow, err := h.Engine.Flows.Flow(r.Context(), state.Flow)
		if err != nil {
			return 0, nil, err
		}
		history, err := h.Engine.History(r.Context(), engine.NewID(name, execution))
		return http.StatusOK, view(historyPage(flow, history, after)), err
	}
}

func (h handler) stop(r *http.Request) (int, any, error) {
	var form Failure
	if err := readJSON(r, &form, "error", "cause"); err != nil {
		return 0, nil, err
	}
	flow, name := named(r)
	if err := h.Stop(r.Context(), engine.NewID(flow, name), form.Error, form.Cause); err != nil {
		return 0, nil, orNoExecution(flow, name, err)
	}
	execution, err := h.execution(r.Context(), flow, name)
	return http.StatusAccepted, masked(execution), err
}
