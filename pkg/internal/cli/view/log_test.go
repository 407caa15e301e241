package view

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// loggedFlow has an attempt that fails and is retried, a callback, a job and a failure.
const loggedFlow = `version: v1
type: flow
steps:
  - type: task
    name: Flaky
    resourceArn: acs:fc:::services/s/functions/nothing
    retry: [{errors: [FnF.ALL], intervalSeconds: 2, maxAttempts: 1}]
    catch: [{errors: [FnF.ALL], goto: Ask}]
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    timeoutSeconds: 60
    errorMappings: []
    catch: [{errors: [FnF.ALL], goto: Give}]
  - {type: fail, name: Give, error: GivenUp, cause: "red \e[31m \u202e and a token TOKEN"}
`

// logged runs an execution in virtual time, and returns what is logged of it.
func logged(t *testing.T, format string, quiet bool, cause string) string {
	t.Helper()
	return loggedOf(t, strings.Replace(loggedFlow, "TOKEN", cause, 1), format, quiet)
}

func loggedOf(t *testing.T, definition, format string, quiet bool) string {
	t.Helper()
	var out bytes.Buffer
	log, err := NewLogger(&out, format, quiet)
	if err != nil {
		t.Fatal(err)
	}
	store := &store.Memory{}
	flow, err := store.Put(t.Context(), "logged", []byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		t.Fatal(err)
	}
	system := local.New(local.Config{
		Store: store, Clock: local.NewVirtualClock(at), Observer: &ExecutionLog{Log: log, Flow: store.Flow},
	})
	request := engine.StartRequest{Flow: flow, Execution: "one", Input: value.Object()}
	if _, err = system.Start(t.Context(), request); err == nil {
		err = system.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestLogOfExecutions(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 30) + "." + strings.Repeat("b", 43) // as tokens look
	for name, c := range map[string]struct {
		format string
		quiet  bool
	}{"text": {"text", false}, "quiet": {"text", true}, "json": {"json", false}} {
		got := logged(t, c.format, c.quiet, text+strings.Repeat(" long", 1000))
		golden(t, "log/"+name+".txt", got)
		if strings.Contains(got, text) || strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%s: a token or an order to the terminal is logged:\n%q", name, got)
		}
		for line := range strings.Lines(got) {
			if len(line) > longestLogged+300 {
				t.Errorf("%s: a line of %d bytes", name, len(line))
			}
			if c.format == "json" && !json.Valid([]byte(line)) {
				t.Errorf("%q is no JSON", line)
			}
		}
	}
}

func TestLogLinesAreOneLineEach(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, "text", false)
	if err != nil {
		t.Fatal(err)
	}
	log.With("always", "a b").Warn("a\nb", "empty", "", "line", "a\nb", "number", 1, "at", time.Unix(0, 0))
	const want = `level=WARN msg=a\nb always="a b" empty="" line=a\nb number=1 at=1970-01-01T02:00:00.000+02:00` + "\n"
	if _, got, _ := strings.Cut(out.String(), " "); got != want || log.Enabled(context.Background(), slog.LevelDebug) {
		t.Errorf("got %q", out.String())
	}
}

func TestSecondsInTheLogAreMilliseconds(t *testing.T) {
	t.Parallel()
	ended := machine.Event{Type: machine.ExecutionSucceeded, Step: machine.NoStep, At: at(1507*time.Millisecond + time.Nanosecond)}
	attrs := attrsOf(nil, machine.State{Started: at(0)}, ended)
	if got := attrs[len(attrs)-1].String(); got != "seconds=1.507" {
		t.Errorf("logged %q", got)
	}
}

func TestLogOfARetryNamesTheIteration(t *testing.T) {
	t.Parallel()
	got := loggedOf(t, `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.items, item: it}
    inputMappings: [{target: items, source: [1, 2]}]
    steps:
      - type: task
        name: Flaky
        resourceArn: acs:fc:::services/s/functions/nothing
        retry: [{errors: [FnF.ALL], intervalSeconds: 2, maxAttempts: 1}]
`, "text", false)
	if !strings.Contains(got, `msg="retry scheduled" execution=logged/one step=Flaky[1] retry=1`) {
		t.Errorf("log:\n%s", got)
	}
}
