package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// newExternal returns a console of a place with external waits, and opens one.
func newExternal(t *testing.T, open func(string) resume.ExternalWait) (f *fixture, api *rest.Client, handle string) {
	t.Helper()
	store := &store.Memory{}
	system := local.New(local.Config{Store: store, Clock: local.NewClock(nil)})
	external := resumetest.WithExternalWaits(store)
	api = target.ClientOf(rest.Handler(rest.Config{Engine: system.Client, Tokens: system.Tokens, Catalog: store, External: external}))
	handle = store.Keys().Handle(token.ID{Execution: [12]byte{7}, Flags: token.FlagExternal, Expires: time.Now().Add(48 * time.Hour)})
	if _, err := external.Open(t.Context(), handle, open(handle)); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, func(c *Config) { c.Waits = api }), api, handle
}

// anExternalWait returns a wait for a job.
func anExternalWait(handle string) resume.ExternalWait {
	return resume.ExternalWait{
		Handle: handle, Recipient: resume.RecipientStepFunctions, Job: jobs.Key{Kind: "batch-job", Name: "arn:aws:batch:job/1"},
		Opened: time.Now().Add(-3 * time.Hour), Deadline: time.Now().Add(time.Hour), Expires: time.Now().Add(48 * time.Hour),
	}
}

func TestExternalWaitsAreAnswered(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]url.Values{
		"complete": {"end": {"success"}, "output": {`{"a":"b"}`}}, "fail": {"end": {"failure"}, "error": {"Rejected"}, "cause": {"too late"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, api, handle := newExternal(t, anExternalWait)
			path := "/waits/" + handle
			list := f.get("/waits?after=external:") // the page after those of executions
			wantIn(t, list, `href="`+path+`"`, "Step Functions", "batch-job arn:aws:batch:job/1", ">3 h<")
			page := f.get(path)
			wantIn(t, page, "the end of the job", "arn:aws:batch:job/1", "users of this console", "<dt>Deadline</dt>", ">3 h<", `id="output"`)
			if strings.Contains(page, handle+".") || strings.Contains(page, "curl") {
				t.Error("the page has the token, or offers its URL")
			}
			if status, page, _ := f.post(path, url.Values{"end": {"success"}, "output": {"{"}}); status != http.StatusUnprocessableEntity {
				t.Errorf("an output that is no JSON: %d: %s", status, page)
			}
			if status, page, at := f.post(path, form); at != "/waits" {
				t.Errorf("after the report at %s, %d: %s", at, status, page)
			}
			closed, err := api.Token(t.Context(), handle)
			if err != nil || closed.Open || closed.Error != form.Get("error") || (closed.Output != nil) != (name == "complete") {
				t.Errorf("the wait is %+v, error %v", closed, err)
			}
			if status, page, _ := f.post(path, form); status != http.StatusNotFound {
				t.Errorf("a second report: %d: %s", status, page)
			}
		})
	}
}

// A step that waits for a job is listed with it. Only the end of the job closes its token, so there
// is no page that reports one.
func TestJobsAreListedWithTheirARN(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const arn = "arn:aws:dms:us-east-1:123456789012:task:NIGHTLYLOAD"
	f.put("ask", "version: v1\ntype: flow\nsteps:\n  - {type: task, name: Load, resourceArn: '"+arn+"', pattern: sync, "+
		"timeoutSeconds: 600, serviceParams: {StartReplicationTaskType: reload-target}}\n")
	f.begin("ask", "one", value.Object())
	f.hasEvent("ask", "one", "TaskSubmitted")
	list := f.get("/waits")
	wantIn(t, list, `<a href="/executions/ask/one">ask/one</a>`, "Load", "dms-task "+arn)
	wantIn(t, f.get("/executions/ask/one"), "Load, dms-task <code>"+arn)
	if strings.Contains(list, "/wait?step") {
		t.Errorf("the list offers to answer a job:\n%s", list)
	}
	if status, text, _ := f.do(http.MethodGet, "/executions/ask/one/wait?step=Load", nil, nil); status != http.StatusNotFound {
		t.Errorf("the page of a job: %d: %s", status, text)
	}
	if open, err := f.api.Tokens(t.Context(), "ask", "one", true); err != nil || len(open) != 0 {
		t.Errorf("%d tokens can be closed by users, error %v", len(open), err)
	}
}
