package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// eventList is a process that keeps job events.
type eventList struct {
	kept []rest.JobEvent
	sent []string
	err  error
}

func (l *eventList) JobEvents(context.Context, string) (rest.JobEventPage, error) {
	return rest.JobEventPage{Events: l.kept}, nil
}

func (l *eventList) SendEvent(_ context.Context, event []byte) (rest.JobEventResult, error) {
	l.sent = append(l.sent, string(event))
	return rest.JobEventResult{}, l.err
}

func TestJobEventsAreShownSentAndReplayed(t *testing.T) {
	t.Parallel()
	list := &eventList{kept: []rest.JobEvent{
		{ID: "7", Time: time.Now(), Result: "matched", Kind: "batch-job", Name: hostile, Executions: []string{"flow/one"}, Text: `{"a":"` + hostile + `"}`},
		{ID: "6", Result: "failed", Problem: "not an event", Text: ""},
	}}
	f := newFixture(t, func(config *Config) { config.JobEvents = list })
	shown := f.get("/job-events")
	for _, want := range []string{`href="/executions/flow/one"`, "matched", "not an event", "too large to keep", `value="7"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page lacks %q: %s", want, shown)
		}
	}
	if strings.Contains(shown, "<script>") || strings.Contains(shown, `value="6"`) {
		t.Errorf("the page does not escape an event, or replays one that is not kept: %s", shown)
	}
	for _, c := range []struct {
		form   url.Values
		status int
		says   string
	}{
		{url.Values{"replay": {"7"}}, http.StatusOK, "Job events"},
		{url.Values{"replay": {"6"}}, http.StatusNotFound, "not kept any longer"},
		{url.Values{"event": {"{"}}, http.StatusUnprocessableEntity, "this is no JSON"},
		{url.Values{"event": {`{"b":1}`}}, http.StatusOK, "Job events"},
	} {
		if status, text, _ := f.post("/job-events", c.form); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%v: %d: %s", c.form, status, text)
		}
	}
	if got := strings.Join(list.sent, " "); got != list.kept[0].Text+` {"b":1}` {
		t.Errorf("sent: %s", got)
	}
	list.err = errors.New("refused <b>")
	if status, text, _ := f.post("/job-events", url.Values{"event": {`{}`}}); status != 422 || !strings.Contains(text, "refused &lt;b&gt;") {
		t.Errorf("%d: %s", status, text)
	}
}

func TestAStackHasNoJobEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if text := f.get("/job-events"); !strings.Contains(text, "event bus") || strings.Contains(text, "<form") {
		t.Errorf("the page is %s", text)
	}
	if status, _, _ := f.post("/job-events", url.Values{"event": {`{}`}}); status != http.StatusNotFound {
		t.Errorf("a sent event gets %d", status)
	}
}
