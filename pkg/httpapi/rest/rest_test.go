package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// api is the API over a system in memory whose time stands still until run.
type api struct {
	*rest.Client
	t      *testing.T
	store  *store.Memory
	keys   token.Keys
	system *local.System
	server *httptest.Server
	config rest.Config
	now    time.Time // of schedules
}

func newAPI(t *testing.T) *api {
	t.Helper()
	begin := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	store := &store.Memory{}
	system := local.New(local.Config{Store: store, Clock: local.NewVirtualClock(begin)})
	server := httptest.NewServer(nil)
	t.Cleanup(server.Close)
	a := &api{Client: &rest.Client{Base: server.URL, HTTP: server.Client()}, t: t, store: store, keys: store.Keys(), system: system, server: server, now: begin}
	a.config = rest.Config{
		Engine: system.Client, Tokens: system.Tokens, Catalog: store, Start: system.Start, Stop: system.Stop, Log: slog.New(slog.DiscardHandler),
		Schedules: cron.Manager{Store: store, Trigger: cron.Unfired{}, Now: func() time.Time { return a.now }},
	}
	a.serve()
	return a
}

// serve serves the API as it is configured now.
func (a *api) serve() {
	a.t.Helper()
	a.server.Config.Handler = checkedHandler(a.t, a.config)
}

// run runs the executions until nothing is left to do.
func (a *api) run() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	if err := a.system.Run(ctx); err != nil {
		a.t.Fatal(err)
	}
}

// started puts a sample and starts it under the name "one".
func (a *api) started(flow, input string) rest.Execution {
	a.t.Helper()
	text, err := os.ReadFile("../../../events/" + flow + "/flow.yaml")
	if err != nil {
		a.t.Fatal(err)
	}
	put, err := a.PutFlow(a.t.Context(), flow, text, "")
	if err != nil {
		a.t.Fatal(err)
	}
	execution, isNew, err := a.Start(a.t.Context(), flow, rest.Start{Name: "one", Hash: put.Hash, Input: object(a.t, input)})
	if err != nil || !isNew {
		a.t.Fatalf("start: new=%t, %v", isNew, err)
	}
	return execution
}

// openToken returns the token that an execution waits for.
func (a *api) openToken(flow, execution string, unmask bool) (open rest.Token, ok bool, err error) {
	all, err := a.Tokens(a.t.Context(), flow, execution, unmask)
	if err != nil || len(all) == 0 {
		return open, false, err
	}
	return all[0], true, nil
}

func object(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantRefused: the API answered with this status and code.
func wantRefused(t *testing.T, err error, status int, code engine.Code, part string) {
	t.Helper()
	var refused *rest.Error
	if !errors.As(err, &refused) || refused.Status != status || refused.Code != code || !strings.Contains(refused.Message, part) {
		t.Errorf("error %v (%+v); want %d %s with %q", err, refused, status, code, part)
	}
}

// Responses have tokens, and so have the paths of rejected requests.
func TestResponsesForbidCaching(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", `{}`)
	for _, path := range []string{"/tokens?unmask=true", "/tokens/a.token", "/flows/none", "/nowhere", "/tokens/a.token/success"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := a.server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if h := response.Header; h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d, %v", path, response.StatusCode, h)
		}
	}
}

func TestAPIShowsAnExecutionFromStartToEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	begun := a.started("polling", `{"delay":20}`)
	if begun.Status != machine.StatusStarting || begun.Flow != "polling" || begun.StartedTime != "2026-01-31T10:00:00.000Z" {
		t.Errorf("started %+v", begun)
	}
	a.run()
	ended, err := a.Execution(t.Context(), "polling", "one", false)
	if err != nil || ended.Status != machine.StatusSucceeded || ended.StoppedTime != "2026-01-31T10:00:20.000Z" || ended.Output == nil {
		t.Errorf("ended %+v, %v", ended, err)
	}
	events, later, err := a.History(t.Context(), "polling", "one", "", false, 0)
	if err != nil || len(events) == 0 || later != "" || events[0].EventID != 1 || events[len(events)-1].Type != "ExecutionSucceeded" {
		t.Errorf("events: %+v, later %q, %v", events, later, err)
	}
	list, err := a.Executions(t.Context(), rest.Filter{Flow: "polling", Statuses: []machine.Status{machine.StatusSucceeded}})
	if err != nil || len(list) != 1 || list[0].Name != "one" {
		t.Errorf("list %+v, %v", list, err)
	}
	if list, err := a.Executions(t.Context(), rest.Filter{Statuses: []machine.Status{machine.StatusRunning}}); err != nil || len(list) != 0 {
		t.Errorf("running %+v, %v", list, err)
	}
}

func TestStartReportsNewSameOrConflict(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	first := a.started("polling", `{"delay":20}`)
	again, isNew, err := a.Start(t.Context(), "polling", rest.Start{Name: "one", Hash: first.Hash, Input: object(t, `{"delay":20}`)})
	if err != nil || isNew || again.Name != "one" {
		t.Errorf("the same again: %+v, new=%t, %v", again, isNew, err)
	}
	_, _, err = a.Start(t.Context(), "polling", rest.Start{Name: "one", Hash: first.Hash, Input: object(t, `{"delay":21}`)})
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "polling/one exists with another definition or input")
	_, _, err = a.Start(t.Context(), "polling", rest.Start{Name: "two", Hash: "other"})
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "polling")
	_, _, err = a.Start(t.Context(), "polling", rest.Start{Name: "no name", Hash: first.Hash})
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, `"no name"`)
	_, err = a.PutFlow(t.Context(), "bad", []byte("version: v2\n"), "")
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "bad:1:10")
}

// waitingToken is the token of an execution of the callback sample.
func (a *api) waitingToken() string {
	a.t.Helper()
	a.started("callback", `{}`)
	a.run()
	open, err := a.Tokens(a.t.Context(), "", "", true)
	if err != nil || len(open) != 1 {
		a.t.Fatalf("tokens %+v, %v", open, err)
	}
	return open[0].Token
}

func TestOpenTokensAreMaskedUnlessAskedFor(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	masked, err := a.Tokens(t.Context(), "", "", false)
	if err != nil || len(masked) != 1 || masked[0].Token != token.Mask(text) || masked[0].Step != "mytask" || !masked[0].Open {
		t.Errorf("tokens %+v, %v", masked, err)
	}
}

func TestFirstCloseOfATokenWins(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	for _, what := range []string{"the first", "the same again"} {
		if _, first, err := a.Succeed(t.Context(), text, object(t, `{"status":"ok"}`)); err != nil || !first {
			t.Errorf("%s: %t, %v", what, first, err)
		}
	}
	held, first, err := a.Fail(t.Context(), text, rest.Failure{Error: "Late"})
	if err != nil || first || held.ClosedBy != "hand" || held.Output == nil || held.Output.JSON() != `{"status":"ok"}` {
		t.Errorf("another: %+v, first=%t, %v", held, first, err)
	}
	a.run()
	ended, err := a.Execution(t.Context(), "callback", "one", false)
	if err != nil || ended.Output == nil || ended.Output.JSON() != `{"s":"ok"}` {
		t.Errorf("ended %+v, %v", ended, err)
	}
	if shown, err := a.Token(t.Context(), text); err != nil || shown.Open {
		t.Errorf("token %+v, %v", shown, err)
	}
}

func TestHeartbeatReportsWhetherTheTokenIsOpen(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	if beaten, first, err := a.Heartbeat(t.Context(), text); err != nil || !first || beaten.LastBeat == "" {
		t.Errorf("heartbeat %+v, open=%t, %v", beaten, first, err)
	}
	if _, first, err := a.Fail(t.Context(), text, rest.Failure{Error: "Rejected"}); err != nil || !first {
		t.Errorf("failure: %t, %v", first, err)
	}
	if _, first, err := a.Heartbeat(t.Context(), text); err != nil || first {
		t.Errorf("a heartbeat for a closed token: open=%t, %v", first, err)
	}
}

func TestStopEndsAWaitingExecution(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", `{}`)
	a.run()
	if _, err := a.Stop(t.Context(), "callback", "one", rest.Failure{Error: "Operator", Cause: "no longer needed"}); err != nil {
		t.Fatal(err)
	}
	a.run()
	ended, err := a.Execution(t.Context(), "callback", "one", false)
	if err != nil || ended.Status != machine.StatusStopped || ended.Error != "Operator" || ended.Cause != "no longer needed" {
		t.Errorf("ended %+v, %v", ended, err)
	}
	_, err = a.Stop(t.Context(), "callback", "one", rest.Failure{})
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "the execution ended before, with the status Stopped")
	_, err = a.Stop(t.Context(), "callback", "two", rest.Failure{})
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "")
}

func TestInvalidRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	flows, err := a.Flows(t.Context(), "callback")
	if err != nil {
		t.Fatal(err)
	}
	hash, nested := flows[0].Hash, strings.Repeat("[", 100)+strings.Repeat("]", 100)
	for name, tt := range map[string]struct {
		path, body string
		status     int
		part       string
	}{
		"no JSON":                {"/tokens/" + text + "/success", "{", 400, "invalid JSON"},
		"no object":              {"/tokens/" + text + "/success", "[1]", 400, "an array; allowed: an object"},
		"too deep":               {"/tokens/" + text + "/success", `{"a":` + nested + `}`, 400, "has 101 levels"},
		"an input too deep":      {"/flows/callback/executions", `{"name":"deep","hash":"` + hash + `","input":{"a":` + nested + `}}`, 400, "has 101 levels"},
		"too large for a step":   {"/tokens/" + text + "/success", `{"a":"` + strings.Repeat("x", 33<<10) + `"}`, 400, "the limit is 32768"},
		"too large":              {"/tokens/" + text + "/success", strings.Repeat(" ", 2<<20), 413, "the request has 2097152 bytes and the limit is 1048576; keep"},
		"a failure without name": {"/tokens/" + text + "/failure", "{}", 400, "no error"},
		"an unknown member":      {"/tokens/" + text + "/failure", `{"eror":"x"}`, 400, "unknown field"},
		"a forged token":         {"/tokens/" + text[:len(text)-3] + "AAA/success", "{}", 404, "not valid"},
		"no token":               {"/tokens/x/heartbeat", "", 404, "not valid"},
		"an unknown path":        {"/nothing", "", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := a.server.Client().Post(a.server.URL+tt.path, "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			var body strings.Builder
			if err := response.Write(&body); err != nil || response.StatusCode != tt.status || !strings.Contains(body.String(), tt.part) {
				t.Errorf("answered %d %s, %v; want %d with %q", response.StatusCode, body.String(), err, tt.status, tt.part)
			}
			if strings.Contains(body.String(), text) {
				t.Error("the answer repeats the token")
			}
		})
	}
	t.Cleanup(func() {
		if open, err := a.Tokens(context.WithoutCancel(t.Context()), "", "", false); err != nil || len(open) != 1 {
			t.Errorf("open tokens %+v, %v", open, err)
		}
	})
}

func TestInternalErrorsAreLoggedAndNotReturned(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var log strings.Builder
	a.server.Config.Handler = checkedHandler(t, rest.Config{
		Engine: a.system.Client, Tokens: a.system.Tokens, Catalog: brokenIndex{err: errors.New("secret detail")}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	_, err := a.Executions(t.Context(), rest.Filter{})
	wantRefused(t, err, http.StatusInternalServerError, engine.CodeInternal, "something inside failed")
	if want := `route="GET /executions" error="secret detail"`; !strings.Contains(log.String(), want) {
		t.Errorf("the log has %s, not %s", log.String(), want)
	}
}

type brokenIndex struct {
	engine.Catalog
	err error
}

func (b brokenIndex) Executions(context.Context, engine.Selection, string, int) ([]engine.ID, string, error) {
	return nil, "", b.err
}

// awsError is an error of an AWS client.
type awsError struct{ code, message string }

func (e awsError) Error() string        { return "secret detail: " + e.code + ": " + e.message }
func (e awsError) ErrorCode() string    { return e.code }
func (e awsError) ErrorMessage() string { return e.message }

// The operator of a stack learns which right the role of the API's function lacks, and nothing else
// of the error.
func TestRefusedRightsAreNamed(t *testing.T) {
	t.Parallel()
	const role = "User: arn:aws:sts::123456789012:assumed-role/orders-Api/secret is not authorized to perform: "
	for name, tt := range map[string]struct {
		err  awsError
		want string
	}{
		"a queue": {
			awsError{"AccessDenied", role + "sqs:sendmessage on resource: arn:aws:sqs:eu-west-1:123456789012:orders-Wakes because no policy allows it"},
			"lacks the right sqs:sendmessage on arn:aws:sqs:eu-west-1:123456789012:orders-Wakes; deploy the template again",
		},
		"quoted":      {awsError{"AccessDeniedException", role + `s3:GetObject on resource: "arn:aws:s3:::b/k" because`}, "s3:GetObject on arn:aws:s3:::b/k;"},
		"no resource": {awsError{"AccessDeniedException", role + "kms:Decrypt"}, "lacks the right kms:Decrypt; deploy"},
		"no right":    {awsError{"AccessDenied", "Access Denied"}, "lacks a right, which the log names; deploy"},
		"another":     {awsError{"Throttled", role}, "something inside failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.server.Config.Handler = checkedHandler(t, rest.Config{
				Engine: a.system.Client, Tokens: a.system.Tokens, Log: slog.New(slog.DiscardHandler), Catalog: brokenIndex{err: fmt.Errorf("rearm: %w", tt.err)},
			})
			_, err := a.Rearm(t.Context(), rest.Rearm{})
			wantRefused(t, err, http.StatusInternalServerError, engine.CodeInternal, tt.want)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// A caller that hangs up is not an internal error.
func TestTruncatedRequestsAreInvalid(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	system := local.New(local.Config{Store: store})
	var log strings.Builder
	handler := checkedHandler(t, rest.Config{
		Engine: system.Client, Tokens: system.Tokens, Catalog: store, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	for path, method := range map[string]string{"/flows/a": http.MethodPut, "/flows/a/executions": http.MethodPost, "/tokens/a.token/success": http.MethodPost} {
		body := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("hung up")))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, body))
		if answer.Code != http.StatusBadRequest || log.Len() > 0 {
			t.Errorf("%s: %d %s, logged %s", path, answer.Code, answer.Body, log.String())
		}
	}
}

func TestRedriveAndRerun(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", `{"order":7}`)
	_, _, err := a.Redrive(t.Context(), "callback", "one", rest.Redrive{})
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "it has not ended")
	a.run()
	if _, err := a.Stop(t.Context(), "callback", "one", rest.Failure{}); err != nil {
		t.Fatal(err)
	}
	a.run()
	for _, wantNew := range []bool{true, false} {
		got, isNew, err := a.Redrive(t.Context(), "callback", "one", rest.Redrive{})
		if err != nil || isNew != wantNew || got.Name != "one-redrive" || got.RedrivenFrom != "one" || got.RedrivenStep == "" || got.Input.JSON() != `{"order":7}` {
			t.Errorf("redrive: %+v, new=%t, %v", got, isNew, err)
		}
	}
	_, _, err = a.Redrive(t.Context(), "callback", "one", rest.Redrive{From: "None"})
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, `the flow has no step "None"`)
	_, _, err = a.Redrive(t.Context(), "callback", "one", rest.Redrive{Name: "one"})
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "execution callback/one exists and does not go on from there; choose another name")
	_, _, err = a.Redrive(t.Context(), "callback", "two", rest.Redrive{})
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "there is no execution callback/two")
	again, isNew, err := a.Rerun(t.Context(), "callback", "one", rest.Redrive{})
	if err != nil || !isNew || again.Name == "one" || again.RedrivenFrom != "" || again.Input.JSON() != `{"order":7}` {
		t.Errorf("rerun: %+v, new=%t, %v", again, isNew, err)
	}
	_, _, err = a.Rerun(t.Context(), "callback", "one", rest.Redrive{From: "Ask"})
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, `unknown field "from"`)
}
