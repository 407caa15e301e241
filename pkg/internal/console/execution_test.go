package console

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// waitFor waits until an execution of the flow ask has an open wait.
func (f *fixture) waitFor(name string) {
	f.t.Helper()
	f.until(name, func(e rest.Execution) bool { return e.Waiting != nil && e.Waiting.For == "callback" })
}

// until waits until an execution of the flow ask is as it should be.
func (f *fixture) until(name string, is func(rest.Execution) bool) {
	f.t.Helper()
	for after, isLast := "", false; ; isLast = after == "" {
		e, err := f.api.Execution(f.t.Context(), "ask", name, false)
		if err != nil {
			f.t.Fatal(err)
		}
		if is(e) {
			return
		}
		if _, after, err = f.api.History(f.t.Context(), "ask", name, after, false, 5); err != nil || isLast {
			f.t.Fatalf("%s is %s: %v", name, e.Status, err)
		}
	}
}

func TestExecutionIsAnsweredOnThePageOfItsWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	f.begin("ask", "one", value.Object())
	f.waitFor("one")
	wantIn(t, f.get("/waits"), `<a href="/executions/ask/one/wait?step=Ask">Ask</a>`)
	wantIn(t, f.get("/executions/ask/one"), `class="waiting" data-step="Ask"`, `/stop"`, `data-live="/executions/ask/one/live?after=`)
	path := "/executions/ask/one/wait?step=Ask"
	page := f.get(path)
	wantIn(t, page, "who has the callback URL", `id="output"`)
	if strings.Contains(page, "http://127.0.0.1:1/callbacks/") {
		t.Error("the page has the callback URL without being asked")
	}
	_, page, _ = f.post("/executions/ask/one/reveal?step=Ask", url.Values{})
	wantIn(t, page, `value="http://127.0.0.1:1/callbacks/`, "curl -d")
	status, page, _ := f.post(path, url.Values{"end": {"success"}, "output": {"[1]"}})
	if wantIn(t, page, `id="output-error"`, "[1]"); status != http.StatusUnprocessableEntity {
		t.Errorf("status %d for an output that is not an object", status)
	}
	if status, page, at := f.post(path, url.Values{"end": {"success"}, "output": {`{"a":"b"}`}}); at != "/executions/ask/one" {
		t.Errorf("after the report at %s, %d: %s", at, status, page)
	}
	f.until("one", func(e rest.Execution) bool { return e.Status == machine.StatusSucceeded })
	page = f.get("/executions/ask/one")
	wantIn(t, page, `class="succeeded" data-step="Done"`, `id="output">{`, "&#34;a&#34;: &#34;b&#34;", "TaskSubmitted")
	if strings.Contains(page, "data-live=") || strings.Contains(page, "/stop") {
		t.Error("the page of an execution that ended follows it, or offers to stop it")
	}
	if status, page, _ := f.do(http.MethodGet, path, nil, nil); status != http.StatusNotFound {
		t.Errorf("the page of a wait that ended: %d: %s", status, page)
	}
}

func TestChoicesOfAQuestionAreButtons(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", strings.Replace(approval, "    timeoutSeconds: 600\n", `    prompt: Pay <b>${$.amount}</b>?
    choices:
      - label: Yes & now
        output: {paid: true}
      - label: No
        output: {paid: false}
`, 1))
	f.begin("ask", "one", value.Object(value.Member{Key: "amount", Value: value.Int(7)}))
	f.waitFor("one")
	wantIn(t, f.get("/waits"), "Pay &lt;b&gt;")
	path := "/executions/ask/one/wait?step=Ask"
	wantIn(t, f.get(path), "Pay &lt;b&gt;", `<button name="choice" value="Yes &amp; now"`, `value="No"`)
	if status, text, _ := f.post(path, url.Values{"choice": {"Perhaps"}}); status < 400 || !strings.Contains(text, `role="alert"`) {
		t.Errorf("a choice that is not there: %d: %s", status, text)
	}
	f.post(path, url.Values{"choice": {"Yes & now"}})
	f.until("one", func(e rest.Execution) bool { return e.Status == machine.StatusSucceeded })
	wantIn(t, f.get("/executions/ask/one"), "&#34;paid&#34;: true")
}

func TestWaitsFailAndExecutionsStop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	for _, name := range []string{"fails", "stops"} {
		f.begin("ask", name, value.Object())
		f.waitFor(name)
	}
	f.post("/executions/ask/fails/wait?step=Ask", url.Values{"end": {"failure"}, "error": {"Rejected"}, "cause": {"too late"}})
	f.until("fails", func(e rest.Execution) bool { return e.Status == machine.StatusFailed })
	wantIn(t, f.get("/executions/ask/fails"), "Ask failed: Rejected: too late", `class="failed" data-step="Ask"`)
	wantIn(t, f.get("/executions"), "Ask failed: Rejected: too late")
	wantIn(t, f.get("/executions/ask/stops/stop"), "Stop ask/stops?", "<form method=\"post\"")
	f.until("stops", func(e rest.Execution) bool { return e.Status == machine.StatusRunning }) // a GET changes nothing
	f.post("/executions/ask/stops/stop", url.Values{"cause": {"not needed"}})
	f.until("stops", func(e rest.Execution) bool { return e.Status == machine.StatusStopped })
	wantIn(t, f.get("/executions/ask/stops"), "not needed")
}

func TestExecutionsAreRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	f.begin("ask", "one", value.Object(value.Member{Key: "a", Value: value.String("b")}))
	f.waitFor("one")
	if text := f.get("/executions/ask/one"); strings.Contains(text, "Redrive…") {
		t.Error("an execution that runs can be redriven")
	}
	if status, text, _ := f.post("/executions/ask/one/redrive", url.Values{}); status != http.StatusConflict {
		t.Errorf("a redrive of an execution that runs: %d: %s", status, text)
	}
	f.post("/executions/ask/one/stop", url.Values{})
	f.until("one", func(e rest.Execution) bool { return e.Status.Final() })
	wantIn(t, f.get("/executions/ask/one"), `href="/executions/ask/one/redrive"`, `href="/executions/ask/one/rerun"`)
	wantIn(t, f.get("/executions/ask/one/redrive"), "Redrive ask/one", "<option>Done</option>", `id="newest"`)
	if _, text, at := f.post("/executions/ask/one/redrive", url.Values{"newest": {"yes"}}); at != "/executions/ask/one-redrive" {
		t.Errorf("after the redrive at %s:\n%s", at, text)
	}
	wantIn(t, f.get("/executions/ask/one-redrive"), `Redriven from</dt><dd><a href="/executions/ask/one">`)
	_, _, at := f.post("/executions/ask/one/rerun", url.Values{"name": {"again"}})
	if wantIn(t, f.get("/executions/ask/again"), "&#34;a&#34;: &#34;b&#34;"); at != "/executions/ask/again" {
		t.Errorf("after the rerun at %s", at)
	}
	_, text, _ := f.post("/executions/ask/one/redrive", url.Values{"name": {"a name"}, "from": {"Done"}})
	wantIn(t, text, `role="alert"`, `value="a name"`, "<option selected>Done</option>")
}

// isReported opens the stream that a page names, and reports whether it says that the page changed.
func (f *fixture) isReported(page string) bool {
	found := regexp.MustCompile(`<body data-live="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		return false
	}
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.server.URL+html.UnescapeString(found[1]), nil)
	if err != nil {
		return false
	}
	response, err := f.browser.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if lines.Text() == "data: changed" {
			return response.Header.Get("Content-Type") == "text/event-stream"
		}
	}
	return false
}

// A stack cannot wait for news: there the console looks again and again.
func TestStreamsReportChanges(t *testing.T) {
	t.Parallel()
	for name, news := range map[string]int{"waits": 1, "looks": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(c *Config) { c.News = news })
			f.put("ask", approval)
			f.begin("ask", "one", value.Object())
			f.waitFor("one")
			for _, path := range []string{"/executions", "/waits", "/executions/ask/one"} {
				page, reported := f.get(path), make(chan bool)
				go func() { reported <- f.isReported(page) }()
				f.begin("ask", "after-"+strings.ReplaceAll(path[1:], "/", "-"), value.Object())
				if path == "/executions/ask/one" {
					f.post(path+"/stop", url.Values{})
				}
				if !<-reported {
					t.Errorf("%s: the stream ended without a change", path)
				}
			}
		})
	}
}

func TestStreamsFollowPagesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for path, want := range map[string]int{
		"/live":                                  http.StatusBadRequest,
		"/live?of=executions":                    http.StatusBadRequest,
		"/live?of=%2Flive%3Fof%3D%2Fexecutions":  http.StatusBadRequest,
		"/live?of=%2F%7F%25zz":                   http.StatusBadRequest,
		"/live?of=%2Fassets%2Fconsole.js":        http.StatusNoContent,
		"/live?of=%2F":                           http.StatusNoContent,
		"/executions/ask/none/live?after=1":      http.StatusNoContent,
		"/executions/ask/none/live":              http.StatusNoContent,
		"/executions/ask/none":                   http.StatusNotFound,
		"/executions/ask/none/wait?step=nothing": http.StatusNotFound,
	} {
		if status, text, _ := f.do(http.MethodGet, path, nil, nil); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, text)
		}
	}
}

// A browser does not connect again to a stream that responds with an error.
func TestStreamThatMayNotWaitIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *Config) { c.MayWait = func(context.Context) bool { return false } })
	for _, path := range []string{"/live?of=%2Fexecutions", "/executions/ask/none/live?after=1"} {
		if status, text, _ := f.do(http.MethodGet, path, nil, nil); status != http.StatusOK || text != "retry: 10000\n\n" {
			t.Errorf("%s: %d %q", path, status, text)
		}
	}
}

func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const hostile = `</pre></script><script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	f.put("ask", strings.ReplaceAll(approval, "timeoutSeconds", "# "+hostile+"\n    timeoutSeconds"))
	f.begin("ask", "one", value.Object(value.Member{Key: hostile, Value: value.String(hostile)}))
	f.waitFor("one")
	f.post("/executions/ask/one/wait?step=Ask", url.Values{"end": {"failure"}, "error": {hostile}, "cause": {hostile}})
	f.until("one", func(e rest.Execution) bool { return e.Status.Final() })
	quoted := url.QueryEscape(hostile)
	for _, path := range []string{
		"/executions", "/executions/ask/one", "/executions?flow=" + quoted + "&name=" + quoted, "/start?flow=" + quoted, "/executions/ask/" + url.PathEscape(hostile),
		"/executions?status=" + quoted, "/executions?before=" + quoted, "/executions?after=" + quoted, "/waits?flow=" + quoted,
		"/executions/ask/one/wait?step=" + quoted,
	} {
		_, text, _ := f.do(http.MethodGet, path, nil, nil)
		if strings.Contains(text, "<script>") || strings.Contains(text, "<img") {
			t.Errorf("%s has it as it is:\n%s", path, text)
		}
	}
	_, text, _ := f.post("/start", url.Values{"flow": {hostile}, "name": {hostile}, "input": {hostile}})
	if strings.Contains(text, "<script>") || !strings.Contains(text, "&lt;script&gt;alert(1)") {
		t.Errorf("the form of a start:\n%s", text)
	}
}

// Indentation can make a text a hundred times as large, and so can events that have it again and
// again.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	f := newFixture(t, func(config *Config) { config.JobEvents = &eventList{kept: []rest.JobEvent{{ID: "1", Text: deep}}} })
	f.put("ask", "version: v1\ntype: flow\nsteps:\n"+passes(20))
	list := strings.Repeat("[", 98) + strings.Repeat("1,", 12_000) + "1" + strings.Repeat("]", 98)
	input, err := value.ParseJSON([]byte(`{"list":` + list + `,"other":{"a":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	f.begin("ask", "one", input)
	f.until("one", func(e rest.Execution) bool { return e.Status.Final() })
	for path, want := range map[string]string{"/executions/ask/one": list, "/job-events": deep} {
		if page := f.get(path); len(page) > 2<<20 || !strings.Contains(page, want) {
			t.Errorf("%s has %d bytes, and the text of %d bytes: %t", path, len(page), len(want), strings.Contains(page, want))
		}
	}
	long := `{"a":"` + strings.Repeat("日本", 1000) + `"}`
	if got := indented(long, 1000); len(got) > 1100 || !utf8.ValidString(got) || !strings.HasSuffix(got, "... 5009 bytes more") {
		t.Errorf("a long text is shown as %s", got)
	}
	if got := indented(`{"a":[1]}`, 1000); got != "{\n  \"a\": [\n    1\n  ]\n}" {
		t.Errorf("a short text is shown as %s", got)
	}
}

// passes are steps.
func passes(n int) (steps string) {
	for i := range n {
		steps += fmt.Sprintf("  - type: pass\n    name: step%d\n", i)
	}
	return steps
}

// Characters that set the direction of text would let an input look like another one to those who
// decide about it.
func TestTextKeepsItsOrder(t *testing.T) {
	t.Parallel()
	const reversed = "\u001b[2Jpay \u202e001\u202c, \u2066no\u2069"
	f := newFixture(t)
	f.put("ask", strings.ReplaceAll(approval, "    timeoutSeconds", "    prompt: Really ${$.a}?\n    choices:\n"+
		"      - label: \"Yes \\u202eon\"\n        output: {ok: true}\n    timeoutSeconds"))
	f.begin("ask", "one", value.Object(value.Member{Key: "a", Value: value.String(reversed)}))
	f.waitFor("one")
	const path, value = "/executions/ask/one/wait?step=Ask", "value=\"Yes \u202eon\"" // which is not shown
	for _, path := range []string{"/executions/ask/one", "/waits", path} {
		text := strings.ReplaceAll(f.get(path), value, "")
		if strings.ContainsAny(text, "\u001b\u202e\u202c\u2066\u2069") || !strings.Contains(text, "pay \ufffd001\ufffd, \ufffdno\ufffd") {
			t.Errorf("%s has the characters as they are:\n%s", path, text)
		}
	}
	wantIn(t, f.get(path), value, "Really \ufffd[2Jpay", ">Yes \ufffdon<")
	if _, _, at := f.post(path, url.Values{"choice": {"Yes \u202eon"}}); at != "/executions/ask/one" {
		t.Errorf("the choice leads to %s", at)
	}
}

func TestPagesHaveNeitherInlineScriptsNorStyles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	f.begin("ask", "one", value.Object())
	f.waitFor("one")
	inline := regexp.MustCompile(`<style|<script[^>]*>[^<]|\sstyle=|\son[a-z]+=`)
	for _, path := range []string{
		"/executions", "/start", "/waits", "/executions/ask/one", "/executions/ask/one/stop",
		"/executions/ask/one/redrive", "/executions/ask/one/rerun", "/executions/ask/one/wait?step=Ask",
	} {
		text := f.get(path)
		if found := inline.FindString(text); found != "" {
			t.Errorf("%s has %q, which its policy forbids", path, found)
		}
		ids := regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(text, -1)
		slices.SortFunc(ids, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
		if unique := slices.CompactFunc(slices.Clone(ids), func(a, b []string) bool { return a[1] == b[1] }); len(unique) < len(ids) {
			t.Errorf("%s has an id twice: %v", path, ids)
		}
	}
}

func TestBarsTellRunningFromWaiting(t *testing.T) {
	t.Parallel()
	flow, problems := fdl.Parse([]byte(`version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.items, item: item}
    steps:
      - type: task
        name: Ask
        resourceArn: acs:fc:::services/s/functions/ask
        pattern: waitForCallback
`))
	if flow == nil {
		t.Fatal(problems)
	}
	start := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	var events []machine.Event
	for i, e := range []struct {
		second int
		kind   machine.EventType
		step   int
		items  []int
	}{
		{0, machine.ExecutionStarted, machine.NoStep, nil},
		{0, machine.StepEntered, 0, nil},
		{1, machine.StepEntered, 1, []int{0}},
		{1, machine.TaskScheduled, 1, []int{0}},
		{3, machine.TaskSubmitted, 1, []int{0}},
		{8, machine.TaskSucceeded, 1, []int{0}},
		{8, machine.StepExited, 1, []int{0}},
		{2, machine.StepEntered, 1, []int{1}},
		{2, machine.TaskScheduled, 1, []int{1}},
		{2, machine.TaskSubmitted, 1, []int{1}},
	} {
		events = append(events, machine.Event{ID: i + 1, Type: e.kind, Step: e.step, ForkIndexes: e.items, At: start.Add(time.Duration(e.second) * time.Second)})
	}
	var got []string
	for _, b := range barsOf(flow, events, start, start.Add(10*time.Second), false, func(string, int) string { return "" }) {
		got = append(got, fmt.Sprint(b.Depth, " ", b.Says(), " ", b.Status, " ", b.Parts))
	}
	want := []string{
		"0 Each: waited 10 s, from +0 ms waiting [{0 1000 true true}]",
		"1 Ask[0]: ran 2 s, waited 5 s, from +1 s succeeded [{100 200 false false} {300 500 true false}]",
		"1 Ask[1]: waited 8 s, from +2 s waiting [{200 800 true true}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("bars:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A bar that has not ended grows with the script: the page says when the axis begins and was drawn,
// and which parts go on.
func TestBarsOfWhatWaitsGoOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	f.begin("ask", "one", value.Object())
	f.waitFor("one")
	open := regexp.MustCompile(`<table class="time" data-from="\S+Z" data-to="\S+Z">(?s:.*)<rect data-open class="waits"(?s:.*)</td><td data-age="\S+Z">`)
	if page := f.get("/executions/ask/one"); !open.MatchString(page) {
		t.Errorf("the page does not say which bars go on:\n%s", page)
	}
	if _, err := f.api.Stop(t.Context(), "ask", "one", rest.Failure{}); err != nil {
		t.Fatal(err)
	}
	f.until("one", func(e rest.Execution) bool { return e.Status.Final() })
	if page := f.get("/executions/ask/one"); strings.Contains(page, "data-open") || strings.Contains(page, "data-from") {
		t.Errorf("the bars of an execution that ended go on:\n%s", page)
	}
}
