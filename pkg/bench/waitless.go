package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// definitions are the flows of the workloads. The job says until when to wait, because durations
// are whole seconds.
var definitions = map[string]string{
	polling: `version: v1
type: flow
steps:
  - type: task
    name: Start
    resourceArn: acs:fc:::services/peers/functions/start
  - type: wait
    name: Pause
    timestamp: $.until
    inputMappings:
      - {target: until, source: $local.until}
  - type: task
    name: Describe
    resourceArn: acs:fc:::services/peers/functions/describe
    inputMappings:
      - {target: polls, source: $local.polls}
  - type: choice
    name: Check
    inputMappings:
      - {target: status, source: $local.status}
    choices:
      - condition: $.status == "running"
        goto: Pause
      - condition: $.status == "success"
        goto: Done
  - type: succeed
    name: Done
`,
	callback: `version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/peers/functions/ask
    pattern: waitForCallback
    inputMappings:
      - {target: token, source: $context.task.token}
      - {target: name, source: $input.name}
`,
}

// machineOfPolling does the work of the polling flow in the Amazon States Language.
const machineOfPolling = `{
  "StartAt": "Start",
  "States": {
    "Start": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:start", "ResultPath": "$.job", "Next": "Pause"},
    "Pause": {"Type": "Wait", "TimestampPath": "$.job.until", "Next": "Describe"},
    "Describe": {
      "Type": "Task",
      "Resource": "arn:aws:lambda:us-east-1:123456789012:function:describe",
      "Parameters": {"polls.$": "$.job.polls"},
      "ResultPath": "$.job",
      "Next": "Check"
    },
    "Check": {
      "Type": "Choice",
      "Choices": [
        {"Variable": "$.job.status", "StringEquals": "running", "Next": "Pause"},
        {"Variable": "$.job.status", "StringEquals": "success", "Next": "Done"}
      ]
    },
    "Done": {"Type": "Succeed"}
  }
}
`

// builtIn returns the sample of polling with three polls. Its functions are those of the command,
// which cannot say until when to wait: its timers are due at once.
func builtIn() string {
	text, _ := fs.ReadFile(events.Files("polling"), "flow.yaml") // embedded, so it is there
	return strings.NewReplacer("duration: 10\n", "duration: 0\n", `$.status == "success"`, `$.try_count == 3`).Replace(string(text))
}

// status is what the functions of the polling flow return.
func status(done int64) map[string]any {
	now := "running"
	if done == polls {
		now = "success"
	}
	return map[string]any{"polls": done, "status": now, "until": time.Now().Add(pause).UTC().Format(time.RFC3339Nano)}
}

// activities serves the functions of the polling flow.
func activities() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(status(0)) })
	mux.HandleFunc("POST /describe", func(w http.ResponseWriter, r *http.Request) {
		var input struct {
			Polls int64 `json:"polls"`
		}
		if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(status(input.Polls + 1))
	})
	return mux
}

// tokens are the tokens of tasks that were submitted, by the name of the execution.
type tokens struct{ byName sync.Map }

func (t *tokens) of(name string) chan string {
	submitted, _ := t.byName.LoadOrStore(name, make(chan string, 1))
	return submitted.(chan string) //nolint:forcetypeassert // nothing else is stored
}

func (t *tokens) submit(name, text string) {
	select {
	case t.of(name) <- text:
	default: // a call that is repeated
	}
}

func (t *tokens) await(ctx context.Context, name string) (string, error) {
	defer t.byName.Delete(name)
	select {
	case text := <-t.of(name):
		return text, nil
	case <-ctx.Done():
		return "", fmt.Errorf("the task of %s is not submitted: %w", name, context.Cause(ctx))
	}
}

// ServeHTTP is the function of the callback flow: another service, which gets the token.
func (t *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var input struct{ Token, Name string }
	if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	t.submit(input.Name, input.Token)
	_, _ = w.Write([]byte("{}"))
}

// waitlessDev is a client of `waitless dev --api`.
type waitlessDev struct {
	client

	tokens *tokens
}

func (w waitlessDev) Start(ctx context.Context, workload, name string) error {
	if workload == polling {
		return nil // Wait starts it
	}
	return w.do(ctx, http.MethodPost, "/flows/"+workload+"/executions", startOf(name), nil)
}

func startOf(name string) string {
	return fmt.Sprintf(`{"name":%q,"input":{"name":%q,"delay":30}}`, name, name)
}

func (w waitlessDev) Signal(ctx context.Context, name string) error {
	text, err := w.tokens.await(ctx, name)
	if err != nil {
		return err
	}
	return w.do(ctx, http.MethodPost, "/callbacks/"+url.PathEscape(text), "{}", nil)
}

func (w waitlessDev) Wait(ctx context.Context, name string) error {
	workload := workloadOf(name)
	method, path, body := http.MethodGet, "/flows/"+workload+"/executions/"+name, ""
	if workload == polling { // a start of an execution that runs waits for its end
		method, path, body = http.MethodPost, "/flows/"+workload+"/executions", startOf(name)
	}
	for {
		var execution struct{ Status string }
		err := w.do(ctx, method, path+"?wait=30", body, &execution)
		if err != nil || execution.Status == string(machine.StatusSucceeded) {
			return err
		}
		if machine.Status(execution.Status).Final() {
			return fmt.Errorf("execution %s: status %s; want %s", name, execution.Status, machine.StatusSucceeded)
		}
	}
}

// waitless is the engine in this process.
type waitless struct {
	*local.System

	flows  map[string]machine.FlowRef
	tokens *tokens
}

func openWaitless(ctx context.Context, dir, _ string) (app, error) {
	store, err := disk.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	w := waitless{flows: map[string]machine.FlowRef{}, tokens: &tokens{}}
	w.System = local.New(local.Config{Store: store, Functions: w})
	for name, text := range definitions {
		if w.flows[name], err = w.Client.PutFlow(ctx, name, []byte(text)); err != nil {
			return nil, err
		}
	}
	go func() { _ = w.Serve(ctx) }() // until the process ends
	return w, nil
}

// Call implements [engine.Caller].
func (w waitless) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	result := map[string]any{}
	switch call.Resource.Function {
	case "start":
		result = status(0)
	case "describe":
		done, _ := call.Input.Get("polls").Int64()
		result = status(done + 1)
	case "ask":
		name, text := call.Input.Get("name").Text(), call.Input.Get("token").Text()
		w.tokens.submit(name, text)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return token.Outcome{}, err
	}
	output, err := value.ParseJSON(text)
	return token.Success(output), err
}

// TimeLimits implements [engine.Caller]: the functions have none.
func (waitless) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return map[string]time.Duration{}, nil
}

func (w waitless) Start(ctx context.Context, workload, name string) error {
	input := value.Object(value.Member{Key: "name", Value: value.String(name)})
	_, err := w.System.Start(ctx, engine.StartRequest{Flow: w.flows[workload], Execution: name, Input: input})
	return err
}

func (w waitless) Signal(ctx context.Context, name string) error {
	text, err := w.tokens.await(ctx, name)
	if err != nil {
		return err
	}
	verified, err := w.Tokens.Verify(ctx, text)
	if err != nil {
		return err
	}
	_, _, err = verified.Close(ctx, token.Success(value.Object()))
	return err
}

func (w waitless) Wait(ctx context.Context, name string) error {
	workload := workloadOf(name)
	state, err := w.Await(ctx, engine.NewID(workload, name))
	if err == nil && state.Status != machine.StatusSucceeded {
		err = fmt.Errorf("execution %s: status %s; want %s", name, state.Status, machine.StatusSucceeded)
	}
	return err
}
