package rest

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	pathpkg "path"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Config configures a handler. Fields are required unless they say what nil means.
type Config struct {
	Engine  *engine.Client
	Tokens  *resume.Tokens
	Catalog engine.Catalog
	// Schedules manages the schedules of flows.
	Schedules cron.Manager
	// External lists waits of external engines; nil means there are none.
	External resume.ExternalWaits
	// Rearmer rearms those waits, and jobs of steps; it is required if there is External.
	Rearmer resume.Rearmer
	// JobEvents are the kept job events; nil means that none are kept.
	JobEvents JobEvents
	// MaxResponse is the most bytes of a response, with the escapes of a text in JSON. Lists and
	// histories have shorter pages for it, and leave out larger values. 0 means no limit.
	MaxResponse int
	// MaxInput is the limit of the input of an execution in bytes; 0 means the limit of tokens.
	MaxInput int
	// Start starts executions, and Stop requests the end of one, as Engine does.
	Start func(context.Context, engine.StartRequest) (engine.StartResult, error)
	Stop  func(ctx context.Context, id engine.ID, name, cause string) error
	// CanStart returns why Start would reject an execution of the flow; nil means there is no such
	// reason.
	CanStart func(ctx context.Context, parsed *flow.Flow, flow, execution string) error
	// Log receives internal errors, without tokens.
	Log *slog.Logger
	// Blocked returns why executions of a flow cannot continue here, "" when they can; nil means
	// they always can.
	Blocked func(*flow.Flow) string
	// AwaitsTurn reports whether a call of the execution waits until fewer calls run; nil means
	// none does.
	AwaitsTurn func(engine.ID) bool
	// Watch returns a channel that is closed when the execution ends, or with events when it
	// records more. Forget is called when it is not needed any more. A nil channel means that
	// nothing will happen, and a nil Watch that requests cannot wait.
	Watch func(id engine.ID, events bool) (happened <-chan struct{}, forget func())
	// Pause is called while a request waits, until resume is called; nil does nothing.
	Pause func(context.Context) (resume func())
	// MayWait reports whether a request may wait or be a stream. If not, it is rejected, so that
	// connections are left for others. Nil means that each may.
	MayWait func(context.Context) bool
	// Undelivered returns why notices of an execution were given up; nil means that it is not
	// known.
	Undelivered func(context.Context, engine.ID) ([]string, error)
	// Reasons adds what failed inside to responses, for callers that run the server themselves.
	Reasons bool
}

// maxBody is the largest request, as in the 2019-03-15 API. A higher limit of a step's data raises
// it to that limit plus aroundData.
const (
	maxBody    = 1 << 20
	aroundData = 64 << 10
)

// Handler serves the API.
func Handler(config Config) http.Handler {
	if config.Pause == nil {
		config.Pause = func(context.Context) func() { return func() {} }
	}
	if config.MayWait == nil {
		config.MayWait = func(context.Context) bool { return true }
	}
	h := handler{config, make(chan struct{}, maxLarge)}
	mux := http.NewServeMux()
	for _, route := range h.routes() {
		serve := h.serve(route)
		if route.respond == nil {
			serve = h.stream
		}
		mux.Handle(route.pattern, serve)
	}
	mux.HandleFunc(unknown, func(w http.ResponseWriter, r *http.Request) {
		r.Pattern = "" // it has no route
		refuseUnknown(mux, w, r)
	})
	// Caches and content sniffing are forbidden, since paths have tokens and responses have data of
	// executions. The mux would redirect a path that is not clean, token and all.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header["Cache-Control"], header["X-Content-Type-Options"] = noStore, noSniff
		if escaped := r.URL.EscapedPath(); pathpkg.Clean(escaped) != escaped {
			notFound("unknown path").write(w)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// A responder serves one route: the status and the body of its response.
type responder func(*http.Request) (int, any, error)

// route is one kind of request.
type route struct {
	pattern    string
	respond    responder // nil for the stream
	parameters []string  // the query parameters it may have
	large      bool      // the response may have megabytes
	starts     bool      // it starts an execution, and may wait for its end
	noBody     bool      // a body with members is rejected
	// reveals adds the same request as POST with a path of its own and whole tokens in the
	// response. A policy for GET /* does not allow that path.
	reveals, isRevealed bool
}

// routes returns all routes. Their responses mask every token, but for the text of a definition.
func (h handler) routes() (all []route) {
	for _, r := range h.masking() {
		all = append(all, r)
		if path, ok := strings.CutPrefix(r.pattern, "GET "); ok && r.reveals {
			r.pattern, r.isRevealed, r.noBody = "POST "+path+"/reveal", true, true
			all = append(all, r)
		}
	}
	return all
}

// masking returns the routes with masked tokens in their responses.
func (h handler) masking() []route {
	const execution, ofSchedule = "/flows/{flow}/executions/{execution}", "/flows/{flow}/schedules/{schedule}"
	wait, step, choice := []string{"wait"}, []string{"step"}, []string{"step", "choice"}
	return []route{
		{pattern: "GET /openapi.json", respond: describe, isRevealed: true},
		{pattern: "GET /flows", respond: h.listFlows, parameters: []string{"flow"}, large: true},
		{pattern: "PUT /flows/{flow}", respond: h.putFlow, parameters: []string{"execution"}},
		{pattern: "GET /flows/{flow}", respond: h.showFlow, parameters: []string{"hash"}, isRevealed: true},
		{pattern: "PUT /flows/{flow}/notify", respond: h.setNotify},
		{pattern: "POST /flows/{flow}/pause", respond: h.pause, noBody: true},
		{pattern: "POST /flows/{flow}/resume", respond: h.resume},
		{pattern: "DELETE /flows/{flow}", respond: h.deleteFlow, noBody: true},
		{pattern: "POST /flows/{flow}/executions", respond: h.start, parameters: wait, starts: true},
		{pattern: "GET /executions", respond: h.list, parameters: []string{"flow", "status", "since", "before", "prefix", "limit", "after"}, large: true},
		{pattern: "GET " + execution, respond: h.show, parameters: wait, reveals: true},
		{pattern: "GET " + execution + "/history", respond: h.history, parameters: []string{"after", "wait"}, large: true, reveals: true},
		{pattern: "GET " + execution + "/history/stream"},
		{pattern: "POST " + execution + "/stop", respond: h.stop},
		{pattern: "POST " + execution + "/redrive", respond: h.repeat(true), parameters: wait, starts: true},
		{pattern: "POST " + execution + "/rerun", respond: h.repeat(false), parameters: wait, starts: true},
		{pattern: "POST " + execution + "/token/success", respond: h.report(h.tokenOfExecution, resume.Limits.Success), parameters: choice},
		{pattern: "POST " + execution + "/token/failure", respond: h.report(h.tokenOfExecution, resume.Limits.Failure), parameters: step},
		{pattern: "POST " + execution + "/token/heartbeat", respond: h.report(h.tokenOfExecution, nil), parameters: step},
		{pattern: "POST /rearm", respond: h.rearm},
		{pattern: "GET /job-events", respond: h.listJobEvents, parameters: []string{"after"}},
		{pattern: "POST /job-events/replay", respond: h.replayJobEvent},
		{pattern: "GET /schedules", respond: h.listSchedules, parameters: []string{"flow", "after"}, large: true},
		{pattern: "PUT " + ofSchedule, respond: h.putSchedule},
		{pattern: "GET " + ofSchedule, respond: h.showSchedule},
		{pattern: "DELETE " + ofSchedule, respond: h.deleteSchedule, noBody: true},
		{pattern: "POST " + ofSchedule + "/enable", respond: h.enableSchedule(true), noBody: true},
		{pattern: "POST " + ofSchedule + "/disable", respond: h.enableSchedule(false), noBody: true},
		{pattern: "GET /tokens", respond: h.openTokens, parameters: []string{"flow", "execution", "after", "jobs"}, large: true, reveals: true},
		{pattern: "GET /tokens/{token}", respond: h.showToken},
		{pattern: "POST /tokens/{token}/success", respond: h.report(h.tokenInPath, resume.Limits.Success), parameters: choice[1:]},
		{pattern: "POST /tokens/{token}/failure", respond: h.report(h.tokenInPath, resume.Limits.Failure)},
		{pattern: "POST /tokens/{token}/heartbeat", respond: h.report(h.tokenInPath, nil)},
	}
}

// Routes returns the routes of the API, as "METHOD /path/{name}".
func Routes() (patterns []string) {
	for _, r := range (handler{}).routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// checkParameters returns an error if the query has a parameter that the route does not know.
func (r route) checkParameters(query url.Values) error {
	for name := range query {
		if !slices.Contains(r.parameters, name) {
			return invalid("unknown parameter %q%s; allowed: %s", name, similar.DidYouMean(name, r.parameters),
				cmp.Or(strings.Join(r.parameters, ", "), "none"))
		}
	}
	return nil
}

// unknown is the pattern of the requests that no route serves.
const unknown = "/"

// Values of headers that all responses share.
var noStore, noSniff, contentJSON = []string{"no-store"}, []string{"nosniff"}, []string{"application/json"}

// refuseUnknown rejects a request that no route serves, and says which methods its path has.
func refuseUnknown(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var methods []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
		if _, pattern := mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); pattern != unknown {
			methods = append(methods, method)
		}
	}
	if len(methods) == 0 {
		notFound("unknown path").write(w)
		return
	}
	allowed := strings.Join(methods, ", ")
	w.Header().Set("Allow", allowed)
	refused := invalid("method %s is not allowed here; allowed: %s", r.Method, allowed)
	refused.Status = http.StatusMethodNotAllowed
	refused.write(w)
}

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

// serve serves a route.
func (h handler) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		response, err := response{}, route.checkParameters(query)
		if err == nil && route.noBody {
			err = h.readJSON(r, &struct{}{})
		}
		if err == nil {
			response, err = h.respond(w, r, route, query)
		}
		if err != nil {
			h.refusal(r, err).write(w)
			return
		}
		defer response.sent()
		write(w, response.status, response.body, !route.isRevealed)
	}
}

// response is the response of a route. Its memory counts until sent is called.
type response struct {
	status int
	body   any
	sent   func()
}

// respondNow responds to a request. A large response waits until there is room for it.
func (h handler) respondNow(r *http.Request, route route) (made response, err error) {
	made.sent = func() {}
	if route.large {
		if made.sent, err = h.largeTurn(r.Context()); err != nil {
			return made, err
		}
	}
	isMade := false
	defer func() {
		if !isMade { // after a panic too
			made.sent()
		}
	}()
	made.status, made.body, err = route.respond(r)
	isMade = err == nil
	return made, err
}

// largeTurn waits until there is room for a large response, which it takes until release is called.
func (h handler) largeTurn(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, maxLargeWait)
	defer cancel()
	select {
	case h.largeResponses <- struct{}{}:
		return func() { <-h.largeResponses }, nil
	case <-ctx.Done():
		return nil, unavailable("too many lists and histories are being read; try again later")
	}
}

func write(w http.ResponseWriter, status int, body any, mask bool) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // no character of a token is escaped
	_ = encoder.Encode(body)     // the forms of this package have a JSON text
	w.Header()["Content-Type"] = contentJSON
	w.WriteHeader(status)
	shown := text.String()
	if mask {
		shown = token.MaskJSON(shown)
	}
	_, _ = io.WriteString(w, shown) // fails if the caller is gone
}

// write writes the response, in which every token is masked.
func (e *Error) write(w http.ResponseWriter) {
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	write(w, e.Status, e, true)
}

// refusal returns the error for the caller. It names every problem that the caller can correct. It
// names an internal error only if Reasons is set, or if the function lacks a right.
func (h handler) refusal(r *http.Request, err error) *Error {
	var refused *Error
	var report *resume.ReportError
	coded, ok := errors.AsType[*engine.Error](err)
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &report):
		return invalid("%s", report)
	case errors.Is(err, token.ErrInvalid):
		return notFound("%s", err)
	case ok && coded.Code != engine.CodeInternal:
		return refuse(coded.Code, "%s", coded)
	}
	h.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", r.Pattern, "error", token.MaskAll(err.Error()))
	switch {
	case errors.Is(err, resume.ErrTooSlow):
		return unavailable(err.Error())
	case h.Reasons:
		return refuse(engine.CodeInternal, "%s", err)
	}
	if right, denied := deniedRight(err); denied {
		return refuse(engine.CodeInternal, "the role of the API's function lacks %s; deploy the template again, and look for a policy that denies it", right)
	}
	return refuse(engine.CodeInternal, "something inside failed; see the log")
}

// statusOf has the statuses of codes; any other code has the status 500.
var statusOf = map[engine.Code]int{
	engine.CodeNotFound: http.StatusNotFound, engine.CodeConflict: http.StatusConflict, engine.CodeInvalid: http.StatusBadRequest,
	engine.CodePaused: http.StatusConflict,
}

// refuse returns an error with the status of the code.
func refuse(code engine.Code, format string, args ...any) *Error {
	return &Error{cmp.Or(statusOf[code], http.StatusInternalServerError), code, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error { return refuse(engine.CodeInvalid, format, args...) }

func notFound(format string, args ...any) *Error { return refuse(engine.CodeNotFound, format, args...) }

func conflict(format string, args ...any) *Error { return refuse(engine.CodeConflict, format, args...) }

func unavailable(message string) *Error {
	return &Error{http.StatusServiceUnavailable, engine.CodeInternal, message}
}

// readJSON reads the body, an object with no other members than these, into form. An empty body
// leaves form unchanged.
func (h handler) readJSON(r *http.Request, form any, members ...string) error {
	body, err := h.readBody(r)
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
			return invalid("unknown field %q%s; allowed: %s", m.Key, similar.DidYouMean(m.Key, members), cmp.Or(strings.Join(members, ", "), "none"))
		}
	}
	if err := json.Unmarshal(body, form); err != nil {
		return invalid("a field of the body has another type: %s", err)
	}
	return nil
}

// mostDiscarded is how much of a body is read beyond its limit.
const mostDiscarded = 64 << 20

// readBody reads the body as it is.
func (h handler) readBody(r *http.Request) ([]byte, error) {
	body, err := resume.ReadBody(r.Body, r.ContentLength, max(maxBody, cmp.Or(h.MaxInput, h.Tokens.Limits(token.ID{}).Size)+aroundData))
	if report, ok := errors.AsType[*resume.ReportError](err); ok && report.TooLarge {
		_, _ = io.CopyN(io.Discard, r.Body, mostDiscarded) // a client that cannot go on sending does not read the response
		return nil, &Error{http.StatusRequestEntityTooLarge, engine.CodeInvalid, report.What}
	}
	return body, err
}

//go:embed openapi.json
var openAPI []byte

func describe(*http.Request) (int, any, error) { return http.StatusOK, json.RawMessage(openAPI), nil }

func (h handler) putFlow(r *http.Request) (int, any, error) {
	name := r.PathValue("flow")
	if len(name) > flow.MaxName {
		return 0, nil, invalid("flow name %.20q... has %d bytes and the limit is %d; shorten it", name, len(name), flow.MaxName)
	}
	if !flow.ValidName(name) {
		return 0, nil, invalid("invalid flow name %q: it begins with a letter or \"_\" and has letters, digits, \"_\" and \"-\"", name)
	}
	text, err := h.readBody(r)
	if err != nil {
		return 0, nil, err
	}
	if execution := r.URL.Query().Get("execution"); execution != "" {
		if err := h.canStart(r.Context(), name, text, execution); err != nil {
			return 0, nil, err
		}
	}
	flow, err := h.Engine.PutFlow(r.Context(), name, text)
	audit.Name(r.Context(), flow.Hash)
	return http.StatusOK, Flow{Name: flow.Name, Hash: flow.Hash}, err
}

// setNotify sets the target of a definition. The response has the target with secret parts removed.
func (h handler) setNotify(r *http.Request) (int, any, error) {
	var form Start
	if err := h.readJSON(r, &form, "hash", "notify", "notifyWaits"); err != nil {
		return 0, nil, err
	}
	flow, err := h.definitionOf(r, form.Hash)
	notify := machine.Notify{Target: form.Notify, Waits: form.NotifyWaits}
	if err == nil {
		err = h.Engine.SetNotify(r.Context(), flow, notify)
	}
	return http.StatusOK, flowOf(engine.Definition{Flow: flow, Notify: notify}), err
}

// canStart returns an error if an execution with the name could not be started with the definition.
func (h handler) canStart(ctx context.Context, name string, text []byte, execution string) error {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err == nil && h.CanStart != nil {
		err = h.CanStart(ctx, parsed, name, execution)
	}
	if err != nil {
		return err
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
	form := Start{Name: engine.NewName()}
	if err := h.readJSON(r, &form, "name", "hash", "input", "notify", "notifyWaits"); err != nil {
		return 0, nil, err
	}
	if form.Name == "" {
		return 0, nil, invalid(`name is ""; allowed: a name, or leave it out`)
	}
	flow, err := h.definitionOf(r, form.Hash)
	if err != nil {
		return 0, nil, err
	}
	return h.started(r, engine.StartRequest{
		Flow: flow, Execution: form.Name, Input: form.Input, Notify: machine.Notify{Target: form.Notify, Waits: form.NotifyWaits},
	})
}

// started starts an execution. If the request waits, it responds when the execution has ended.
func (h handler) started(r *http.Request, request engine.StartRequest) (int, any, error) {
	audit.Name(r.Context(), request.Execution)
	wait, err := h.waitOf(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	id := engine.NewID(request.Flow.Name, request.Execution)
	var ended <-chan struct{}
	if wait > 0 { // before the start: the execution may end at once
		var forget func()
		ended, forget = h.Watch(id, false)
		defer forget()
	}
	request.Trace = machine.ParseTrace(r.Header.Get("Traceparent"), strings.Join(r.Header.Values("Tracestate"), ","))
	met, err := h.Start(r.Context(), request)
	switch {
	case err != nil:
		return 0, nil, err
	case met == engine.StartedDifferent && request.Redriven != nil:
		return 0, nil, conflict("execution %s/%s exists and does not go on from there; choose another name", request.Flow.Name, request.Execution)
	case met == engine.StartedDifferent:
		return 0, nil, startedDifferent(request.Flow.Name, request.Execution)
	}
	status := http.StatusCreated
	if met == engine.StartedSame {
		status = http.StatusOK
	}
	h.awaitEnd(r.Context(), id, ended, wait)
	execution, err := h.execution(r.Context(), request.Flow.Name, request.Execution)
	return status, execution, err
}

// repeat returns what redrives an execution, or reruns it from the start.
func (h handler) repeat(redrives bool) responder {
	members := []string{"name", "newest"}
	if redrives {
		members = []string{"name", "from", "newest"}
	}
	return func(r *http.Request) (int, any, error) {
		var form Redrive
		if err := h.readJSON(r, &form, members...); err != nil {
			return 0, nil, err
		}
		flow, name := named(r)
		id := engine.NewID(flow, name)
		var request engine.StartRequest
		var err error
		if redrives {
			request, err = h.Engine.Redrive(r.Context(), id, engine.RedriveRequest{Execution: form.Name, From: form.From, Newest: form.Newest})
		} else {
			request, err = h.Engine.Rerun(r.Context(), id, form.Name, form.Newest)
		}
		switch {
		case engine.CodeOf(err) == engine.CodeDefect: // an unreadable value of the execution is not an internal error of this API
			return 0, nil, &Error{http.StatusConflict, engine.CodeDefect,
				fmt.Sprintf("execution %s/%s cannot be repeated: %s; or start one with the same input", flow, name, err)}
		case err != nil:
			return 0, nil, orNoExecution(flow, name, err)
		}
		return h.started(r, request)
	}
}

// definitionOf returns the definition with the hash, listed or not, or without a hash the latest
// listed one.
func (h handler) definitionOf(r *http.Request, hash string) (machine.FlowRef, error) {
	if hash == "" {
		newest, err := h.Engine.Newest(r.Context(), r.PathValue("flow"))
		if errors.Is(err, engine.ErrNotFound) {
			err = noFlow(r)
		}
		return newest, err
	}
	flow := machine.FlowRef{Name: r.PathValue("flow"), Hash: hash}
	_, err := h.Engine.Flow(r.Context(), flow)
	return flow, err
}

// orNoExecution returns err, or, if the execution does not exist, an error that names it.
func orNoExecution(flow, execution string, err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return notFound("there is no execution %s/%s", flow, execution)
	}
	return err
}

func (h handler) execution(ctx context.Context, flow, name string) (Execution, error) {
	state, err := h.Engine.Describe(ctx, engine.NewID(flow, name))
	if err != nil {
		return Execution{}, orNoExecution(flow, name, err)
	}
	e, err := h.withWaiting(ctx, state, shownLanes)
	if err == nil && state.Notify.Target != "" && h.Undelivered != nil {
		e.Undelivered, err = h.Undelivered(ctx, engine.NewID(flow, name))
	}
	if err == nil {
		err = h.addFamily(ctx, state, &e)
	}
	return e, err
}

// addFamily adds the parent of an execution and its redrive.
func (h handler) addFamily(ctx context.Context, state machine.State, to *Execution) error {
	if state.Parent != nil {
		parent, err := h.Engine.Describe(ctx, state.Parent.Log)
		if err == nil {
			to.Parent = parent.Flow.Name + "/" + parent.Execution
		} else if !errors.Is(err, engine.ErrNotFound) {
			return err
		}
	}
	if !state.Status.Final() || state.Status == machine.StatusSucceeded {
		return nil
	}
	again, err := h.Engine.Describe(ctx, engine.NewID(state.Flow.Name, state.RedriveName()))
	if err == nil && again.Redriven != nil && again.Redriven.From == state.Execution {
		to.RedrivenAs = again.Execution
	}
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
}

// How many lanes are read for their waits: of one execution, and of each execution in a list.
const (
	shownLanes  = 200
	listedLanes = 4
)

// withWaiting returns the execution with its wait, for which it reads at most lanes lanes.
func (h handler) withWaiting(ctx context.Context, state machine.State, lanes int) (Execution, error) {
	e, waiting := executionOf(state), state.Waiting
	if state.Status.Final() || waiting == nil && h.Blocked == nil {
		return e, nil
	}
	flow, err := h.Engine.Flow(ctx, state.Flow)
	if err != nil {
		return e, err
	}
	if h.Blocked != nil {
		e.Blocked = h.Blocked(flow)
	}
	if waiting == nil {
		return e, nil
	}
	one := h.waitingOf(flow, state)
	if e.Waiting = &one; lanes == shownLanes {
		if err := h.addAsked(ctx, flow, state, &one); err != nil {
			return e, err
		}
	}
	if waiting.Fork() != nil {
		return e, h.addInside(ctx, flow, state, lanes, e.Waiting)
	}
	if e.Blocked == "" || waiting.Token() == nil {
		return e, nil
	}
	record, err := h.Engine.TokenRecord(ctx, waiting.Handle())
	e.Waiting.OutcomeStored = !record.Open()
	return e, err
}

// waitingOf returns the wait of a state.
func (h handler) waitingOf(flow *flow.Flow, state machine.State) Waiting {
	w := state.Waiting
	step := flow.All[w.Attempt.Step]
	subflow := ""
	if w.Child() != nil {
		subflow = w.Child().Flow + "/" + w.Child().Execution
	}
	return Waiting{
		Subflow: subflow,
		Step:    step.Name, Iterations: machine.Iterations(step, state.ForkIndexes()), For: waitsFor(flow, w), Since: instant(w.Since), Until: instant(w.Due),
		Queued: h.AwaitsTurn != nil && h.AwaitsTurn(state.ID()),
	}
}

// addAsked reads and adds the step's question to a person, and the job that it started.
func (h handler) addAsked(ctx context.Context, flow *flow.Flow, state machine.State, to *Waiting) (err error) {
	if to.Question, err = h.questionOf(ctx, flow, state); err == nil {
		to.Job, err = h.awaitedJob(ctx, loaded{state, flow})
	}
	return err
}

// mostInside is how many branches or iterations are told of.
const mostInside = 3

// addInside adds the waits of a state's lanes.
func (h handler) addInside(ctx context.Context, flow *flow.Flow, state machine.State, lanes int, to *Waiting) error {
	waits, err := h.Engine.Waiting(ctx, state, lanes)
	if err != nil {
		return err
	}
	if lanes == shownLanes && waits.Items > 0 && !state.StopsLanes() {
		to.Progress = progressOf(flow, waits, len(state.ForkIndexes()))
	}
	for _, state := range waits.States[:min(len(waits.States), mostInside)] {
		one := h.waitingOf(flow, state)
		if lanes == shownLanes {
			if err := h.addAsked(ctx, flow, state, &one); err != nil {
				return err
			}
		}
		to.Inside = append(to.Inside, one)
	}
	to.Others, to.More = len(waits.States)-len(to.Inside)+waits.Unread, waits.Unread > 0
	return nil
}

// progressOf counts the items of a fork, which are inside of so many others. An item with several
// waits counts as running if one is for a call, and else for the first one.
func progressOf(flow *flow.Flow, waits engine.Waits, depth int) *Progress {
	p := &Progress{Items: waits.Items, Done: waits.Done, Failed: waits.Failed, Running: waits.Running, NotBegun: waits.Items - waits.Done - waits.Running}
	first := map[int]WaitingItems{}
	for _, state := range waits.States {
		indexes := state.ForkIndexes()
		if len(indexes) <= depth { // it is between two items
			continue
		}
		one := WaitingItems{Step: flow.All[state.Waiting.Attempt.Step].Name, For: waitsFor(flow, state.Waiting)}
		if _, has := first[indexes[depth]]; !has || one.For == "call" {
			first[indexes[depth]] = one
		}
	}
	for _, index := range slices.Sorted(maps.Keys(first)) {
		one := first[index]
		same := slices.IndexFunc(p.Waiting, func(w WaitingItems) bool { return w.Step == one.Step && w.For == one.For })
		switch {
		case one.For == "call":
		case same < 0:
			one.Items = 1
			p.Waiting = append(p.Waiting, one)
		default:
			p.Waiting[same].Items++
		}
	}
	return p
}

func named(r *http.Request) (flow, execution string) {
	return r.PathValue("flow"), r.PathValue("execution")
}

func (h handler) show(r *http.Request) (int, any, error) {
	flow, name := named(r)
	execution, err := h.execution(r.Context(), flow, name)
	if err == nil {
		err = h.addPaused(r.Context(), &execution, time.Now())
	}
	return http.StatusOK, execution, err
}

func (h handler) history(r *http.Request) (int, any, error) {
	after, err := engine.ParsePosition(r.URL.Query().Get("after"))
	if err != nil {
		return 0, nil, errPageToken
	}
	l, err := h.loadNamed(r)
	if err != nil {
		return 0, nil, err
	}
	p, size, err := h.historyPage(r.Context(), l, after, math.MaxInt)
	if most := len(p.Events) - 1; err == nil && size > h.maxResponse() && most > 0 {
		p, _, err = h.historyPage(r.Context(), l, after, most)
	}
	return http.StatusOK, p, err
}

// historyPage returns a page of at most most events, and about how many bytes it has.
func (h handler) historyPage(ctx context.Context, l loaded, after engine.Position, most int) (p page, size int, err error) {
	p.Events = []machine.HistoryEvent{}
	read, err := h.Engine.HistoryAfter(ctx, l.ID(), after, func(e machine.Event) bool {
		rendered, escaped := e.RenderWithin(l.flow, h.maxResponse()-baseSize)
		p.Events = append(p.Events, rendered)
		size += baseSize + escaped
		return size >= h.fullPage() || len(p.Events) == most
	})
	p.position = read.Next.String()
	switch {
	case read.More:
		p.Next = p.position
	case !read.Ended:
		p.Later = p.position
	}
	return p, size, err
}

func (h handler) stop(r *http.Request) (int, any, error) {
	var form Stop
	if err := h.readJSON(r, &form, "error", "cause", "descendants"); err != nil {
		return 0, nil, err
	}
	flow, name := named(r)
	id := engine.NewID(flow, name)
	if form.Descendants {
		if err := h.Engine.StopDescendants(r.Context(), id, form.Error, form.Cause); err != nil {
			return 0, nil, orNoExecution(flow, name, err)
		}
	}
	err := h.Stop(r.Context(), id, form.Error, form.Cause)
	if code := engine.CodeOf(err); form.Descendants && (code == engine.CodeConflict || code == engine.CodeNotFound) {
		err = nil // it has ended, and is perhaps removed
	}
	if err != nil {
		return 0, nil, orNoExecution(flow, name, err)
	}
	execution, err := h.execution(r.Context(), flow, name)
	if refused, ok := errors.AsType[*Error](err); ok && form.Descendants && refused.Code == engine.CodeNotFound {
		execution, err = Execution{Flow: flow, Name: name}, nil // it was removed
	}
	return http.StatusAccepted, execution, err
}
