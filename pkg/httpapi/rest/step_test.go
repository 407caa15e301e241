package rest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Reporting by name does not need the right to read tokens.
func TestReportByExecutionName(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	step := "callback/one"
	if beaten, open, err := a.Heartbeat(t.Context(), step); err != nil || !open || beaten.LastBeat == "" {
		t.Errorf("heartbeat %+v, open=%t, %v", beaten, open, err)
	}
	_, _, err := a.Succeed(t.Context(), "callback/one/other", object(t, `{}`))
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, `waits for the callback of step mytask, not of "other"`)
	step += "/mytask"
	for range 2 {
		closed, first, err := a.Succeed(t.Context(), step, object(t, `{"status":"ok"}`))
		if err != nil || !first || closed.Step != "mytask" || closed.Execution != "one" || closed.Token != token.Mask(text) {
			t.Errorf("closed %+v, first=%t, %v", closed, first, err)
		}
	}
	held, first, err := a.Fail(t.Context(), step, rest.Failure{Error: "Late"})
	if err != nil || first || held.Output == nil || held.Output.JSON() != `{"status":"ok"}` {
		t.Errorf("another: %+v, first=%t, %v", held, first, err)
	}
}

// After the execution went on, the recorded outcome decides what a report gets.
func TestLateReportReturnsTheRecordedOutcome(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	if _, _, err := a.Succeed(t.Context(), "callback/one", object(t, `{"status":"ok"}`)); err != nil {
		t.Fatal(err)
	}
	a.run()
	for _, step := range []string{"callback/one", "callback/one/mytask"} {
		held, first, err := a.Succeed(t.Context(), step, object(t, `{}`))
		if err != nil || first || held.Output == nil || held.Output.JSON() != `{"status":"ok"}` || held.ClosedBy != "hand" || held.ClosedAt == "" ||
			held.Step != "mytask" || held.Token != token.Mask(text) {
			t.Errorf("after the end another outcome: %+v, first=%t, %v", held, first, err)
		}
		if _, first, err := a.Succeed(t.Context(), step, object(t, `{"status":"ok"}`)); err != nil || !first {
			t.Errorf("after the end the same outcome: first=%t, %v", first, err)
		}
		if _, first, err := a.Fail(t.Context(), step, rest.Failure{Error: "Late"}); err != nil || first {
			t.Errorf("after the end a failure: first=%t, %v", first, err)
		}
		if _, open, err := a.Heartbeat(t.Context(), step); err != nil || open {
			t.Errorf("after the end a heartbeat: open=%t, %v", open, err)
		}
	}
	_, _, err := a.Succeed(t.Context(), "callback/one/other", object(t, `{}`))
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "callback/one has no open token: it has ended with the status Succeeded")
}

func TestReportWithoutACallbackIsAConflict(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("polling", `{"delay":20}`)
	step := "polling/one"
	_, _, err := a.Succeed(t.Context(), step, object(t, `{}`))
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "polling/one has no open token: it does not wait")
	step = "polling/two"
	for _, report := range []func() error{
		func() error { _, _, err := a.Succeed(t.Context(), step, object(t, `{}`)); return err },
		func() error { _, _, err := a.Fail(t.Context(), step, rest.Failure{Error: "E"}); return err },
		func() error { _, _, err := a.Heartbeat(t.Context(), step); return err },
		func() error { _, err := a.Tokens(t.Context(), "polling", "two", false); return err },
	} {
		wantRefused(t, report(), http.StatusNotFound, engine.CodeNotFound, "there is no execution polling/two")
	}
}

// A client that still sends its request would not read the response.
func TestTooLargeRequestIsReadBeforeTheResponse(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.waitingToken()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: a.server.Config.Handler, ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	a.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	output := object(t, `{"a":"`+strings.Repeat("x", 16<<20)+`"}`)
	_, _, err = a.Succeed(t.Context(), "callback/one", output)
	wantRefused(t, err, http.StatusRequestEntityTooLarge, engine.CodeInvalid, "the request has 167")
}

func TestStartWithoutHashAndName(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("tiny", onePass)
	latest := a.put("tiny", onePass+"  - type: pass\n    name: Two\n")
	first, isNew, err := a.Start(t.Context(), "tiny", rest.Start{})
	if err != nil || !isNew || first.Hash != latest.Hash || len(first.Name) < 16 {
		t.Errorf("first %+v, new=%t, %v", first, isNew, err)
	}
	if second, isNew, err := a.Start(t.Context(), "tiny", rest.Start{}); err != nil || !isNew || second.Name == first.Name {
		t.Errorf("second %+v, new=%t, %v", second, isNew, err)
	}
	if status, body := a.request(http.MethodPost, "/flows/tiny/executions", ""); status != http.StatusCreated {
		t.Errorf("without a body: %d %s", status, body)
	}
	_, _, err = a.Start(t.Context(), "none", rest.Start{})
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, `there is no flow "none"`)
}

func TestStatusesOfAList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("tiny", onePass)
	for _, name := range []string{"over", "running"} {
		if _, _, err := a.Start(t.Context(), "tiny", rest.Start{Name: name}); err != nil {
			t.Fatal(err)
		}
		if name == "over" {
			a.run()
		}
	}
	for query, want := range map[string]int{
		"": 2, "succeeded": 1, "Succeeded,Failed": 1, "starting, SUCCEEDED": 2, "Starting,Running": 1, "Failed": 0, "Failed,TimedOut": 0,
	} {
		if list, err := a.Executions(t.Context(), rest.Filter{Statuses: []machine.Status{machine.Status(query)}}); err != nil || len(list) != want {
			t.Errorf("status=%s lists %d, %v; want %d", query, len(list), err, want)
		}
	}
	for _, query := range []string{"Nope", "Failed,Nope", "failled"} {
		_, err := a.Executions(t.Context(), rest.Filter{Statuses: []machine.Status{machine.Status(query)}})
		wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "allowed: Starting, Running, Succeeded, Failed, Stopped, TimedOut")
	}
	if status, _ := a.request(http.MethodGet, "/executions?status=Failed&status=Succeeded", ""); status != http.StatusOK {
		t.Errorf("a repeated parameter: %d", status)
	}
}

func TestManagementJSONIsStrict(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("tiny", onePass)
	for name, body := range map[string]string{
		"a name in capital letters": `{"NAME":"x"}`,
		"text behind the object":    `{"name":"x"} {}`,
		"another member":            `{"name":"x","hsah":""}`,
		"no object":                 `[]`,
		"a number as name":          `{"name":1}`,
	} {
		if status, text := a.request(http.MethodPost, "/flows/tiny/executions", body); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if list, err := a.Executions(t.Context(), rest.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("started %+v, %v", list, err)
	}
}

func TestBoundsOfAList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("tiny", onePass)
	for i := range 60 {
		if _, _, err := a.Start(t.Context(), "tiny", rest.Start{Name: fmt.Sprintf("n%02d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		filter rest.Filter
		want   int
		more   bool
	}{
		{rest.Filter{}, 60, false},
		{rest.Filter{Limit: 1}, 1, true},
		{rest.Filter{Limit: 25}, 25, true},
		{rest.Filter{Limit: 59}, 59, true},
		{rest.Filter{Limit: 60}, 60, false},
		{rest.Filter{Limit: 61}, 61 - 1, false},
		{rest.Filter{Limit: 3, Statuses: []machine.Status{machine.StatusStarting, machine.StatusFailed}}, 3, true},
		{rest.Filter{Limit: 3, Statuses: []machine.Status{machine.StatusFailed}}, 0, false},
		{rest.Filter{Since: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)}, 0, false},
		{rest.Filter{Before: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}, 0, false},
		{rest.Filter{Before: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 7}, 7, true},
		{rest.Filter{Prefix: "n0"}, 10, false},
		{rest.Filter{Prefix: "n4", Limit: 3}, 3, true},
		{rest.Filter{Prefix: "none"}, 0, false},
		{rest.Filter{Since: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 7}, 7, true},
	} {
		var found []rest.Execution
		more, err := a.EachExecutions(t.Context(), tt.filter, func(page []rest.Execution) error {
			found = append(found, page...)
			return nil
		})
		if err != nil || len(found) != tt.want || more != tt.more {
			t.Errorf("%+v: %d, more=%t, %v; want %d, %t", tt.filter, len(found), more, err, tt.want, tt.more)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "since=yesterday", "before=tomorrow"} {
		if status, body := a.request(http.MethodGet, "/executions?"+query, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

func TestShowReportsQueuedCalls(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.waitingToken()
	for _, queued := range []bool{false, true} {
		a.server.Config.Handler = checkedHandler(t, rest.Config{
			Engine: a.system.Client, Tokens: a.system.Tokens, AwaitsTurn: func(id engine.ID) bool { return queued && id == engine.NewID("callback", "one") },
		})
		if e, err := a.Execution(t.Context(), "callback", "one", false); err != nil || e.Waiting == nil || e.Waiting.Queued != queued {
			t.Errorf("waiting %+v, %v; want queued=%t", e.Waiting, err, queued)
		}
	}
}
