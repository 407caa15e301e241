package services_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

const renderFunction = "arn:aws:lambda:eu-central-1:111122223333:function:render"

func customTable(t *testing.T) jobs.Table {
	t.Helper()
	table, err := jobs.ParseTable(`{"custom:render":{"function":"` + renderFunction + `"}}`)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestCustomKindsInvokeTheirFunction: each request names the action and the kind, and the payload
// of the response comes back.
func TestCustomKindsInvokeTheirFunction(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"application/json", ""} {
		asked := make(chan string, 1)
		s := at(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked <- r.URL.Path + " " + string(body)
			w.Header()["Content-Type"] = []string{media}
			_, _ = io.WriteString(w, `{"job_id":"j-1"}`)
		}).With(customTable(t))
		kind, _ := jobs.Find("custom:render")
		describe, _ := kind.DescribeParams("j-1")
		stop, _ := kind.StopParams("j-1")
		for _, call := range []struct {
			want string
			make func() ([]byte, error)
		}{
			{`{"action":"start","kind":"custom:render","params":{"n":1}}`, func() ([]byte, error) { return s.Start(t.Context(), kind, []byte(`{"n":1}`)) }},
			{`{"action":"describe","kind":"custom:render","job_id":"j-1"}`, func() ([]byte, error) { return s.Describe(t.Context(), kind, describe) }},
			{`{"action":"stop","kind":"custom:render","job_id":"j-1"}`, func() ([]byte, error) { return []byte(`{"job_id":"j-1"}`), s.Stop(t.Context(), kind, stop) }},
		} {
			answer, err := call.make()
			if err != nil || string(answer) != `{"job_id":"j-1"}` {
				t.Errorf("got %s, %v", answer, err)
			}
			path, body, _ := strings.Cut(<-asked, " ")
			if path != "/2015-03-31/functions/"+renderFunction+"/invocations" || body != call.want {
				t.Errorf("asked %s with %s, want %s", path, body, call.want)
			}
		}
	}
}

// TestErrorsOfCustomKinds: an exception, and a refusal of Lambda, have names that flows can catch.
// A function without a usable exception may have started the job.
func TestErrorsOfCustomKinds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind, failed, body string
		status             int
		want, says         string
		again              bool
	}{
		"an exception": {
			kind: "custom:render", failed: "Unhandled", body: `{"errorType":"NoVideo","errorMessage":"no such video"}`,
			want: "custom.NoVideo", says: "no such video",
		},
		"an exception with the secrets of a request": {
			kind: "custom:render", failed: "Unhandled", body: `{"errorType":"Denied","errorMessage":"denied. The Canonical String is x-amz-security-token:SECRET"}`,
			want: "custom.Denied", says: "denied.",
		},
		"no exception":  {kind: "custom:render", failed: "Unhandled", body: `"oops"`, says: `the function of custom:render failed: "oops"`},
		"no such right": {kind: "custom:render", status: 403, body: `{"Message":"not authorized"}`, want: "custom.AccessDeniedException", says: "not authorized"},
		"throttled":     {kind: "custom:render", status: 429, body: `{"message":"slow"}`, want: "custom.AccessDeniedException", says: "slow", again: true},
		"undeclared":    {kind: "custom:other", want: "custom.NotDeclared", says: "declare it in the setting JobKinds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := at(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tt.failed != "" {
					w.Header().Set("X-Amz-Function-Error", tt.failed)
				}
				if tt.status != 0 {
					w.Header().Set("X-Amzn-ErrorType", "AccessDeniedException")
					w.WriteHeader(tt.status)
				}
				_, _ = io.WriteString(w, tt.body)
			}).With(customTable(t))
			kind, _ := jobs.Find(tt.kind)
			_, err := s.Start(t.Context(), kind, []byte(`{}`))
			refused, ok := errors.AsType[*resume.ServiceError](err)
			if err == nil || ok != (tt.want != "") || ok && (refused.Name != tt.want || refused.Again != tt.again) || !strings.Contains(err.Error(), tt.says) ||
				strings.Contains(err.Error(), "SECRET") {
				t.Errorf("got %v, want %s: %s", err, tt.want, tt.says)
			}
		})
	}
}
