package rest

import (
	"bytes"
	"cmp"
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

// Index lists executions. It may lag behind the log.
type Index interface {
	// Executions returns a page of executions, the latest start first: at most limit ids. After is the
	// text next of the previous page, empty for the first one; any other text is an error with
	// [engine.CodeInvalid]. Next is empty on the last page; pages before it may be short or empty.
	// An empty flow or status means all, [machine.StatusRunning] all that have not ended.
	Executions(ctx context.Context, flow string, status machine.Status, after string, limit int) (ids []engine.ID, next string, err error)
}

// Flows lists the definitions that [engine.Flows] stores.
type Flows interface {
	// Definitions returns the listed definitions by name, the latest of a name first. An empty name
	// means all.
	Definitions(ctx context.Context, name string) ([]engine.Definition, error)

	// FlowText returns the text of a listed definition. For any other, the error is
	// [engine.ErrNotFound].
	FlowText(ctx context.Context, flow machine.FlowRef) ([]byte, error)

	// DeleteFlow takes the definition off the list until it is put again. The engine can still read
	// it: executions that the index does not show yet need it, and histories name its steps. Deleting
	// a definition that is not listed has no effect.
	DeleteFlow(ctx context.Context, flow machine.FlowRef) error
}

// External lists waits of external engines, as [resume.ExternalWaits] does.
type External interface {
	List(ctx context.Context, after string, limit int) ([]resume.ExternalWait, error)
}

// Config is what a handler works with. Fields are required unless they say what nil means.
type Config struct {
	Engine *engine.Client
	Tokens *resume.Tokens
	Index  Index
	Flows  Flows
	// External lists waits of external engines; nil means there are none.
	External External
	// Start starts executions; nil means that of Engine.
	Start func(context.Context, engine.StartRequest) (engine.StartResult, error)
	// CanStart returns why Start would reject an execution of the flow; nil means there is no such reason.
	CanStart func(parsed *fdl.Flow, flow, execution string) error
	// Log receives what failed inside, without tokens; nil discards it.
	Log *slog.Logger
	// Blocked returns why executions of a flow cannot continue here, "" when they can; nil means they
	// always can.
	Blocked func(*fdl.Flow) string
	// AwaitsTurn reports whether a call of the execution waits until fewer calls run; nil means none does.
	AwaitsTurn func(engine.ID) bool
	// Reasons adds what failed inside to responses, for callers that run the server themselves.
	Reasons bool
	// Stop requests the end of an execution; nil means that of Engine.
	Stop func(ctx context.Context, id engine.ID, name, cause string) error
}

// maxBody is the largest request, as in the 2019-03-15 API.
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
	for _, route := range h.routes() {
		mux.HandleFunc(route.pattern, h.serve(route))
	}
	return strict(mux)
}

// A responder serves one route: the status and the body of its response.
type responder func(*http.Request) (int, any, error)

// route is one kind of request.
type route struct {
	pattern    string
	respond    responder
	parameters []string // the query parameters it may have
	large      bool     // the response may have megabytes
}

// routes returns all routes. Reading with GET masks every token. Requests that show whole tokens
// are POST with a path of their own, so that a policy for GET /* does not allow them.
func (h handler) routes() []route {
	const execution = "/flows/{flow}/executions/{execution}"
	step, after, ofTokens := []string{"step"}, []string{"after"}, []string{"flow", "execution", "after"}
	return []route{
		{"GET /flows", h.listFlows, []string{"flow"}, true},
		{"PUT /flows/{flow}", h.putFlow, []string{"execution"}, false},
		{"GET /flows/{flow}", h.showFlow, []string{"hash"}, false},
		{"DELETE /flows/{flow}", h.deleteFlow, nil, false},
		{"POST /flows/{flow}/executions", h.start, nil, false},
		{"GET /executions", h.list, []string{"flow", "status", "since", "limit", "after"}, true},
		{"GET " + execution, h.show(masked), nil, false},
		{"POST " + execution + "/reveal", h.show(revealed), nil, false},
		{"GET " + execution + "/history", h.history(masked), after, true},
		{"POST " + execution + "/history/reveal", h.history(revealed), after, true},
		{"POST " + execution + "/stop", h.stop, nil, false},
		{"POST " + execution + "/token/success", h.close(h.tokenOfExecution, resume.Limits.Success), step, false},
		{"POST " + execution + "/token/failure", h.close(h.tokenOfExecution, resume.Limits.Failure), step, false},
		{"POST " + execution + "/token/heartbeat", h.heartbeat(h.tokenOfExecution), step, false},
		{"GET /tokens", h.openTokens(masked), ofTokens, true},
		{"POST /tokens/reveal", h.openTokens(revealed), ofTokens, true},
		{"GET /tokens/{token}", h.showToken, nil, false},
		{"POST /tokens/{token}/success", h.close(tokenInPath, resume.Limits.Success), nil, false},
		{"POST /tokens/{token}/failure", h.close(tokenInPath, resume.Limits.Failure), nil, false},
		{"POST /tokens/{token}/heartbeat", h.heartbeat(tokenInPath), nil, false},
	}
}

// checkParameters returns an error if the query has a parameter that the route does not know.
func (r route) checkParameters(request *http.Request) error {
	for name := range request.URL.Query() {
		if !slices.Contains(r.parameters, name) {
			return invalid("unknown parameter %q%s; allowed: %s", name, fdl.DidYouMean(name, r.parameters),
				cmp.Or(strings.Join(r.parameters, ", "), "none"))
		}
	}
	return nil
}

// strict forbids caches and content sniffing, since paths have tokens and responses have data of
// executions. It rejects unknown paths and methods with a JSON body, and a path that is not clean:
// the mux would redirect it, token and all.
func strict(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if escaped := r.URL.EscapedPath(); pathpkg.Clean(escaped) != escaped {
			write(w, http.StatusNotFound, notFound("unknown path"))
			return
		}
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refused := &statusOnly{ResponseWriter: w}
		mux.ServeHTTP(refused, r) // which sets the header Allow
		if refused.status == http.StatusMethodNotAllowed {
			write(w, refused.status, &Error{Code: engine.CodeInvalid, Message: "method " + r.Method + " is not allowed here; allowed: " + w.Header().Get("Allow")})
			return
		}
		write(w, http.StatusNotFound, notFound("unknown path"))
	})
}

// statusOnly keeps the status of a response and drops its body.
type statusOnly struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (s *statusOnly) WriteHeader(status int) { s.status = status }

// Write implements [http.ResponseWriter].
func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }

type handler struct {
	Config

	// largeResponses has an element for each large response under way.
	largeResponses chan struct{}
}

const (
	// maxLarge is how many large responses are made and sent at once: slow readers keep no more in
	// memory.
	maxLarge = 32
	// maxLargeWait is how long a request waits for its turn before it is rejected.
	maxLargeWait = 10 * time.Second
)

// serve serves a route. A large response waits until there is room for it.
func (h handler) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if route.large {
			ctx, cancel := context.WithTimeout(r.Context(), maxLargeWait)
			defer cancel()
			select {
			case h.largeResponses <- struct{}{}:
				defer func() { <-h.largeResponses }()
			case <-ctx.Done():
				w.Header().Set("Retry-After", "10")
				write(w, http.StatusServiceUnavailable, &Error{Code: engine.CodeInternal, Message: "too many lists and histories are being read; try again later"})
				return
			}
		}
		status, body, err := h.respond(w, r, route)
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

func (h handler) respond(w http.ResponseWriter, r *http.Request, route route) (int, any, error) {
	if err := route.checkParameters(r); err != nil {
		return 0, nil, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	return route.respond(r)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // fails if the caller is gone
}

// refusal is the error that the caller gets: all of what the caller can correct, and what failed
// inside only if Reasons says so.
func (h handler) refusal(r *http.Request, err error) *Error {
	var refused *Error
	var coded *engine.Error
	var tooLarge *http.MaxBytesError
	var report *resume.ReportError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &report):
		return invalid("%s", report)
	case errors.As(err, &tooLarge):
		return &Error{http.StatusRequestEntityTooLarge, engine.CodeInvalid, resume.RequestTooLarge(r.ContentLength, tooLarge.Limit).What}
	case errors.Is(err, token.ErrInvalid):
		return notFound("%s", err)
	case errors.Is(err, resume.ErrTooSlow):
		return &Error{http.StatusServiceUnavailable, engine.CodeInternal, err.Error()}
	case errors.As(err, &coded) && coded.Code != engine.CodeInternal:
		return refuse(coded.Code, "%s", coded)
	case h.Reasons:
		return refuse(engine.CodeInternal, "%s", err)
	}
	return refuse(engine.CodeInternal, "something inside failed; see the log")
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

// refuse returns an error with the status of the code.
func refuse(code engine.Code, format string, args ...any) *Error {
	return &Error{statusOf(code), code, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error { return refuse(engine.CodeInvalid, format, args...) }

func notFound(format string, args ...any) *Error { return refuse(engine.CodeNotFound, format, args...) }

func conflict(format string, args ...any) *Error { return refuse(engine.CodeConflict, format, args...) }

// readJSON reads the body, an object with no other members than these, into form. An empty body leaves
// form unchanged.
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
		return invalid("a field of the body has another type: %s", err)
	}
	return nil
}

// readBody reads the body as it is.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) { // the caller hung up or is too slow
		return nil, invalid("the request ended too early")
	}
	return body, err
}

func (h handler) putFlow(r *http.Request) (int, any, error) {
	name := r.PathValue("flow")
	if len(name) > fdl.MaxName {
		return 0, nil, invalid("flow name %.20q... has %d bytes and the limit is %d; shorten it", name, len(name), fdl.MaxName)
	}
	if !fdl.ValidName(name) {
		return 0, nil, invalid("invalid flow name %q: it begins with a letter or \"_\" and has letters, digits, \"_\" and \"-\"", name)
	}
	text, err := readBody(r)
	if err != nil {
		return 0, nil, err
	}
	if execution := r.URL.Query().Get("execution"); execution != "" {
		if err := h.canStart(r.Context(), name, text, execution); err != nil {
			return 0, nil, err
		}
	}
	flow, err := h.Engine.PutFlow(r.Context(), name, text)
	return http.StatusOK, Flow{Name: flow.Name, Hash: flow.Hash}, err
}

// canStart returns an error if an execution of that name could not be started with the definition.
func (h handler) canStart(ctx context.Context, name string, text []byte, execution string) error {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return err
	}
	if h.CanStart != nil {
		if err := h.CanStart(parsed, name, execution); err != nil {
			return err
		}
	}
	state, err := h.Engine.Describe(ctx, engine.NewID(name, execution))
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err == nil && state.Flow != flow:
		return startedDifferent(name, execution)
	}
	return err
}

func startedDifferent(flow, execution string) error {
	return conflict("execution %s/%s exists with another definition or input; choose another name", flow, execution)
}

func (h handler) start(r *http.Request) (int, any, error) {
	var form struct {
		Start
		Name *string `json:"name"` // nil when it is left out
	}
	if err := readJSON(r, &form, "name", "hash", "input"); err != nil {
		return 0, nil, err
	}
	if form.Name == nil {
		form.Name = new("run-" + strings.ToLower(rand.Text()[:nameLength]))
	} else if *form.Name == "" {
		return 0, nil, invalid(`name is ""; allowed: a name, or leave it out`)
	}
	name := *form.Name
	flow, err := h.definitionOf(r, form.Hash)
	if err != nil {
		return 0, nil, err
	}
	met, err := h.Start(r.Context(), engine.StartRequest{Flow: flow, Execution: name, Input: form.Input})
	if err != nil {
		return 0, nil, err
	}
	execution, err := h.execution(r.Context(), flow.Name, name)
	if err != nil {
		return 0, nil, err
	}
	switch met {
	case engine.StartedDifferent:
		return 0, nil, startedDifferent(flow.Name, name)
	case engine.StartedSame:
		return http.StatusOK, masked(execution), nil
	case engine.StartedNew:
	}
	return http.StatusCreated, masked(execution), nil
}

// nameLength is how many characters of a name are random: 80 bits.
const nameLength = 16

// definitionOf returns the definition with the hash, listed or not, or without a hash the latest listed
// one.
func (h handler) definitionOf(r *http.Request, hash string) (machine.FlowRef, error) {
	if hash == "" {
		definitions, err := h.definitions(r)
		if err != nil {
			return machine.FlowRef{}, err
		}
		return definitions[0].Flow, nil
	}
	flow := machine.FlowRef{Name: r.PathValue("flow"), Hash: hash}
	_, err := h.Engine.Flow(r.Context(), flow)
	return flow, err
}

// describe returns the state of an execution.
func (h handler) describe(ctx context.Context, flow, execution string) (machine.State, error) {
	state, err := h.Engine.Describe(ctx, engine.NewID(flow, execution))
	return state, orNoExecution(flow, execution, err)
}

// orNoExecution returns err, or one that names the execution if it does not exist.
func orNoExecution(flow, execution string, err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return notFound("there is no execution %s/%s", flow, execution)
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
	flow, err := h.Engine.Flow(ctx, state.Flow)
	if err != nil {
		return Execution{}, err
	}
	e := executionOf(state, waitingOf(flow, state.Waiting))
	if h.Blocked != nil {
		e.Blocked = h.Blocked(flow)
	}
	if h.AwaitsTurn != nil && e.Waiting != nil {
		e.Waiting.Queued = h.AwaitsTurn(state.ID())
	}
	if e.Blocked != "" && e.Waiting != nil && state.Waiting.For == machine.WaitingForToken {
		record, err := h.Engine.TokenRecord(ctx, state.Waiting.Handle())
		if err != nil {
			return Execution{}, err
		}
		e.Waiting.OutcomeStored = !record.Open()
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
		flow, err := h.Engine.Flow(r.Context(), state.Flow)
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
