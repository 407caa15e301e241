package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// A misspelled parameter would otherwise be ignored, and the list would be that of another
// question.
func TestRequestsWithUnknownOrEmptyParametersAreRejected(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("tiny", onePass)
	for _, tt := range []struct{ method, path, body, message string }{
		{"GET", "/executions?limt=1", "", `unknown parameter "limt"; did you mean "limit"?; allowed: flow, status, since, before, prefix, limit, after`},
		{"GET", "/executions?status=", "", `status is ""; allowed: Starting, Running, Succeeded, Failed, Stopped, TimedOut`},
		{"GET", "/executions?limit=", "", `limit is ""`},
		{"GET", "/executions?since=", "", `since is ""`},
		{"GET", "/executions?before=", "", `before is ""`},
		{"GET", "/flows?name=tiny", "", `unknown parameter "name"`},
		{"GET", "/flows/tiny?limit=1", "", `unknown parameter "limit"; allowed: hash`},
		{"GET", "/flows/tiny/executions/one?after=1", "", `unknown parameter "after"; allowed: wait`},
		{"GET", "/flows/tiny/executions/one/history?from=1", "", `allowed: after`},
		{"POST", "/flows/tiny/executions?name=x", "{}", `allowed: wait`},
		{"POST", "/flows/tiny/executions/one/stop?name=x", "{}", `allowed: none`},
		{"POST", "/flows/tiny/executions", `{"name":""}`, `name is ""; allowed: a name, or leave it out`},
		{"GET", "/tokens?unmask=true", "", `allowed: flow, execution, after`},
		{"POST", "/flows/tiny/executions/one/token/success?stp=x", "{}", `did you mean "step"`},
	} {
		status, body := a.request(tt.method, tt.path, tt.body)
		var refused rest.Error
		err := json.Unmarshal([]byte(body), &refused)
		if err != nil || status != http.StatusBadRequest || refused.Code != engine.CodeInvalid || !strings.Contains(refused.Message, tt.message) {
			t.Errorf("%s %s: %d %s, %v; want 400 with %s", tt.method, tt.path, status, body, err, tt.message)
		}
	}
}

// A caller that names an execution in the body, and not in the query, would otherwise get the
// tokens of all executions.
func TestRequestsWithoutABodyRejectMembers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("tiny", onePass)
	const body = `{"flow":"tiny","execution":"one"}`
	for _, request := range []string{
		"POST /tokens/reveal", "POST /flows/tiny/executions/one/reveal", "POST /flows/tiny/executions/one/history/reveal",
		"POST /flows/tiny/executions/one/token/heartbeat", "POST /tokens/one/heartbeat", "POST /tokens/one/success?choice=Yes",
		"POST /flows/tiny/executions/one/token/success?choice=Yes", "DELETE /flows/tiny", "DELETE /flows/tiny/schedules/daily",
		"POST /flows/tiny/schedules/daily/enable", "POST /flows/tiny/schedules/daily/disable",
	} {
		method, path, _ := strings.Cut(request, " ")
		status, text := a.request(method, path, body)
		if status != http.StatusBadRequest || !strings.Contains(text, `unknown field \"execution\"; allowed: none`) {
			t.Errorf("%s: %d %s", request, status, text)
		}
	}
	for _, empty := range []string{"", " ", "{}"} {
		if status, text := a.request("POST", "/tokens/reveal", empty); status != http.StatusOK {
			t.Errorf("the body %q: %d %s", empty, status, text)
		}
	}
}

func TestUnknownPathsAndMethodsAreRejectedWithJSON(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, tt := range []struct {
		method, path string
		status       int
		code         engine.Code
	}{
		{"GET", "/", http.StatusNotFound, engine.CodeNotFound},
		{"GET", "/nowhere", http.StatusNotFound, engine.CodeNotFound},
		{"GET", "/flows/", http.StatusNotFound, engine.CodeNotFound},
		{"GET", "//flows", http.StatusNotFound, engine.CodeNotFound},
		{"POST", "/executions", http.StatusMethodNotAllowed, engine.CodeInvalid},
		{"PATCH", "/flows/a", http.StatusMethodNotAllowed, engine.CodeInvalid},
	} {
		status, body := a.request(tt.method, tt.path, "")
		var refused rest.Error
		err := json.Unmarshal([]byte(body), &refused)
		if err != nil || status != tt.status || refused.Code != tt.code || refused.Message == "" {
			t.Errorf("%s %s: %d %s, %v; want %d %s", tt.method, tt.path, status, body, err, tt.status, tt.code)
		}
	}
}
