package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/token"
)

// leakFlow puts its token wherever data goes: inputs, outputs, errors.
const leakFlow = `version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    inputMappings:
      - {target: token, source: $context.task.token}
    outputMappings:
      - {target: answer, source: $local.answer}
`

// request is the status and the text of a response.
func (a *api) request(method, path, body string) (status int, text string) {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), method, a.server.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	response, err := a.server.Client().Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// newLeak has an execution leak/one that waits with a token, which is returned.
func newLeak(t *testing.T) (*api, string) {
	t.Helper()
	a := newAPI(t)
	a.put("leak", leakFlow)
	if _, _, err := a.Start(t.Context(), "leak", rest.Start{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	a.run()
	open, ok, err := a.openToken("leak", "one", true)
	if err != nil || !ok {
		t.Fatalf("open token %+v, %t, %v", open, ok, err)
	}
	return a, open.Token
}

// The digits of a number are characters of tokens too.
func TestMaskingLeavesNumbersAlone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("leak", leakFlow)
	number := strings.Repeat("1", 60) + "." + strings.Repeat("2", 60)
	if _, _, err := a.Start(t.Context(), "leak", rest.Start{Name: "one", Input: object(t, `{"n":`+number+`,"t":"\"`+number+`"}`)}); err != nil {
		t.Fatal(err)
	}
	_, body := a.request(http.MethodGet, "/flows/leak/executions/one", "")
	if !strings.Contains(body, `"n":`+number) || strings.Contains(body, `\"`+number) {
		t.Errorf("got %s; want the number as it is, and the text masked", body)
	}
}

// A caller that may only read cannot report an outcome.
func TestReadingNeverReturnsALiveToken(t *testing.T) {
	t.Parallel()
	a, text := newLeak(t)
	a.put("leak", strings.Replace(leakFlow, "name: Ask", "name: Again", 1))
	input := object(t, `{"`+text+`":["see https://host/callbacks/`+text+`/failure"]}`)
	if _, _, err := a.Start(t.Context(), "leak", rest.Start{Name: "two", Input: input}); err != nil {
		t.Fatal(err)
	}
	a.run()
	if _, err := a.Stop(t.Context(), "leak", "two", rest.Failure{Error: "E", Cause: "because of " + text}); err != nil {
		t.Fatal(err)
	}
	a.run()
	for _, path := range []string{
		"/executions", "/flows/leak/executions/one", "/flows/leak/executions/one/history", "/flows/leak/executions/two",
		"/flows/leak/executions/two/history", "/tokens", "/tokens?unmask=true", "/tokens?flow=leak&execution=one&unmask=true", "/tokens/" + text,
		"/flows/leak/executions/one/history?unmask=true", "/tokens/reveal", "/flows/leak/executions/one/reveal", "/flows/leak/executions/one/history/reveal",
	} {
		status, body := a.request(http.MethodGet, path, "")
		if strings.Contains(body, text) {
			t.Errorf("GET %s answers %d with the token", path, status)
		}
		if status == http.StatusOK && strings.HasPrefix(path, "/flows/leak/executions/one/history") && !strings.Contains(body, token.Mask(text)) {
			t.Errorf("GET %s has no mask of the token: %s", path, body)
		}
	}
}

func TestWhatIsRevealedTakesAPost(t *testing.T) {
	t.Parallel()
	a, text := newLeak(t)
	for _, path := range []string{"/tokens/reveal", "/tokens/reveal?flow=leak&execution=one", "/flows/leak/executions/one/history/reveal"} {
		if status, body := a.request(http.MethodPost, path, ""); status != http.StatusOK || !strings.Contains(body, text) {
			t.Errorf("POST %s answers %d %s", path, status, body)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			if status, body := a.request(method, path, ""); status < 400 || strings.Contains(body, text) {
				t.Errorf("%s %s answers %d %s", method, path, status, body)
			}
		}
	}
	input := object(t, `{"token":"`+text+`"}`)
	if _, _, err := a.Start(t.Context(), "leak", rest.Start{Name: "two", Input: input}); err != nil {
		t.Fatal(err)
	}
	if e, err := a.Execution(t.Context(), "leak", "two", true); err != nil || e.Input.JSON() != input.JSON() {
		t.Errorf("revealed %s, %v", e.Input.JSON(), err)
	}
	if events, _, err := a.History(t.Context(), "leak", "one", "", true, 0); err != nil || len(events) == 0 || !strings.Contains(events[4].EventDetail, text) {
		t.Errorf("revealed history %+v, %v", events, err)
	}
}

// A response to a report, and what an error says, have no token either.
func TestWritingReturnsNoToken(t *testing.T) {
	t.Parallel()
	a, text := newLeak(t)
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"/tokens/" + text + "/heartbeat", "", 200},
		{"/flows/leak/executions", `{"name":"two","input":{"a":"` + text + `"}}`, 201},
		{"/flows/leak/executions", `{"name":"two","input":{"a":"` + text + `"}}`, 200},
		{"/flows/leak/executions", `{"name":"` + text + `\u0000"}`, 400},
		{"/flows/leak/executions", `{"` + text + `":1}`, 400},
		{"/tokens/" + text + "/success", `{"answer":"` + text + `"}`, 200},
		{"/tokens/" + text + "/failure", `{"error":"E"}`, 409},
		{"/tokens/" + text + "/heartbeat", "", 409},
	} {
		if status, body := a.request(http.MethodPost, tt.path, tt.body); status != tt.status || strings.Contains(body, text) {
			t.Errorf("POST %s %s answers %d %s; want %d", tt.path, tt.body, status, body, tt.status)
		}
	}
}

// A reader that reads nothing keeps one response of a limited number waiting.
func TestLargeResponsesAreLimited(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	system := local.New(local.Config{Store: store})
	handler := checkedHandler(t, rest.Config{Engine: system.Client, Tokens: system.Tokens, Catalog: store})
	started, release := make(chan struct{}), make(chan struct{})
	const room = 32
	done := make(chan struct{}, room)
	for range room {
		go func() {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/executions", nil)
			handler.ServeHTTP(stuck{httptest.NewRecorder(), started, release}, request)
			done <- struct{}{}
		}()
	}
	for range room {
		<-started
	}
	refused := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/executions", nil)
	ctx, cancel := context.WithCancel(request.Context())
	cancel()
	handler.ServeHTTP(refused, request.WithContext(ctx))
	if refused.Code != http.StatusServiceUnavailable || refused.Header().Get("Retry-After") == "" {
		t.Errorf("with %d responses under way another one is %d %v", room, refused.Code, refused.Header())
	}
	close(release)
	for range room {
		<-done
	}
	served := httptest.NewRecorder()
	handler.ServeHTTP(served, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/executions", nil))
	if served.Code != http.StatusOK {
		t.Errorf("afterwards it is %d", served.Code)
	}
}

// stuck is a writer whose reader reads nothing until release is closed.
type stuck struct {
	http.ResponseWriter
	started, release chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	s.started <- struct{}{}
	<-s.release
	return s.ResponseWriter.Write(p)
}
