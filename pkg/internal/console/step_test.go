package console

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// panelFlow calls a function that tells its key, asks in iterations, and fails twice in the end.
const panelFlow = `version: v1
type: flow
steps:
  - type: task
    name: Key
    resourceArn: acs:fc:::services/fnf-demo/functions/echo
    inputMappings: [{target: key, source: $context.task.idempotencyKey}]
    outputMappings: [{target: key, source: $local.key}]
  - type: foreach
    name: Each
    iterationMapping: {collection: $.items, item: item}
    steps:
      - type: task
        name: Ask
        resourceArn: acs:fc:::services/fnf-demo/functions/echo
        pattern: waitForCallback
        prompt: Pay ${$.item}?
        choices:
          - {label: Approve, output: {}}
          - {label: Reject, output: {}}
  - type: task
    name: Pack
    resourceArn: acs:fc:::services/fnf-demo/functions/boom
    retry: [{errors: [FC.FunctionError], intervalSeconds: 1, maxAttempts: 1}]
`

// openPanels starts an execution of [panelFlow] in which two iterations ask.
func openPanels(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.put("ask", panelFlow)
	f.begin("ask", "one", value.Object(value.Member{Key: "items", Value: value.Array(value.Int(7), value.Int(8))}))
	f.until("one", func(e rest.Execution) bool {
		return e.Waiting != nil && len(e.Waiting.Inside) == 2 && e.Waiting.Inside[0].For == "callback" && e.Waiting.Inside[1].For == "callback"
	})
	return f
}

func TestStepsHaveAPanel(t *testing.T) {
	t.Parallel()
	f := openPanels(t)
	const path = "/executions/ask/one"
	page := f.get(path)
	wantIn(t, page, `<a href="/executions/ask/one?step=Ask#step"><g class="waiting" data-step="Ask">`, `>Ask[1]</a>`, `<button name="choice" value="Approve"`)
	if strings.Contains(page, `id="step"`) {
		t.Error("the page has a panel without being asked")
	}
	panel := f.get(path + "?step=Ask")
	wantIn(t, panel, `id="step">Ask[1] `, "Pay 8?", `Ask[0] waiting</a>`, "TaskSubmitted", "Events of Ask[1]", `action="/executions/ask/one/wait?step=Ask%5B1%5D"`)
	if strings.Contains(panel, "ExecutionStarted") {
		t.Error("the events of a step have those of other steps")
	}
	wantIn(t, f.get(path+"?step=Ask%5B0%5D"), `id="step">Ask[0] `, "Pay 7?")
	wantIn(t, f.get(path+"?step=Pack"), "The step Pack has not begun.")

	for _, step := range []string{"%5B0%5D", "%5B1%5D"} {
		f.post(path+"/wait?step=Ask"+step, map[string][]string{"choice": {"Approve"}})
	}
	f.until("one", func(e rest.Execution) bool { return e.Status == machine.StatusFailed })
	wantIn(t, f.get(path), "attempt 2 of 2: FC.FunctionError", `<span class="failed">FC.FunctionError`)
	panel = f.get(path + "?step=Pack")
	wantIn(t, panel, `id="step">Pack `, "functions/boom", `<strong>FC.FunctionError</strong>`, ">1</th>", ">2</th>")
	if pause := regexp.MustCompile(`<td>1(\.\d+)? s</td>`); !pause.MatchString(panel) {
		t.Errorf("the panel does not tell the pause between the attempts:\n%s", panel)
	}
	key := regexp.MustCompile(`(?s)id="step-output">.*?([0-9a-f]{32})`).FindStringSubmatch(f.get(path + "?step=Key"))
	if key == nil || !strings.Contains(f.get(path+"?step=Key"), "<code>"+key[1]+"</code>") {
		t.Errorf("the panel has another key than the function got: %v", key)
	}
}

// The client of the fixture unpacks responses when it asked for gzip itself.
func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", "version: v1\ntype: flow\nsteps:\n"+passes(200))
	f.begin("ask", "one", value.Object())
	f.until("one", func(e rest.Execution) bool { return e.Status.Final() })
	const path = "/executions/ask/one?all=1"
	_, plain, _ := f.do(http.MethodGet, path, nil, http.Header{"Accept-Encoding": {"identity"}})
	_, packed, _ := f.do(http.MethodGet, path, nil, http.Header{"Accept-Encoding": {"gzip"}})
	unpacked, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil || !strings.Contains(string(text), "step199") || len(packed) > len(plain)/5 {
		t.Errorf("%d bytes are packed into %d: %v", len(plain), len(packed), err)
	}
	t.Logf("%d bytes are packed into %d", len(plain), len(packed))
}

func TestEventsAreAFile(t *testing.T) {
	t.Parallel()
	f := openPanels(t)
	for query, want := range map[string]string{"": "ExecutionStarted", "?step=Ask%5B1%5D": "StepEntered"} {
		var events []machine.HistoryEvent
		_, text, _ := f.do(http.MethodGet, "/executions/ask/one/events"+query, nil, nil)
		if err := json.Unmarshal([]byte(text), &events); err != nil || len(events) == 0 || events[0].Type != want {
			t.Errorf("%s: %v: %s", query, err, text)
		}
		if query != "" && (len(events) != 4 || events[0].Iterations[0] != 1) {
			t.Errorf("%s has the events of another step: %s", query, text)
		}
	}
	for _, path := range []string{"one/events?step=Pack", "none/events"} {
		if status, text, _ := f.do(http.MethodGet, "/executions/ask/"+path, nil, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
