package disk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// scenario is want.json of a folder in events/: what the flow beside it comes
// to for some inputs.
type scenario struct {
	Cases []struct {
		Name   string         `json:"name"`
		Input  value.Value    `json:"input"`
		Status machine.Status `json:"status"`
		// Output has "JOB" where the id of a simulated job stands.
		Output  value.Value    `json:"output"`
		Error   string         `json:"error"`
		Seconds float64        `json:"seconds"` // from start to end, in virtual time
		Calls   map[string]int `json:"calls"`   // of each function
		// ClosedBy is who closed the last token, where there is one.
		ClosedBy string `json:"closedBy"`
	} `json:"cases"`
}

// stores are all stores that a System can have.
var stores = map[string]func(t *testing.T) local.Store{
	"memory": func(*testing.T) local.Store { return &store.Memory{} },
	"disk": func(t *testing.T) local.Store {
		t.Helper()
		return openDisk(t, filepath.Join(t.TempDir(), "store"))
	},
}

// TestScenarios runs every folder of events/ on every store, in virtual time.
func TestScenarios(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../../../events/*/flow.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range folders {
		folder := filepath.Dir(file)
		for store, open := range stores {
			t.Run(filepath.Base(folder)+"/"+store, func(t *testing.T) {
				t.Parallel()
				runScenario(t, folder, open)
			})
		}
	}
}

func runScenario(t *testing.T, folder string, open func(t *testing.T) local.Store) {
	t.Helper()
	var s scenario
	read(t, filepath.Join(folder, "want.json"), func(text []byte) error {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields() // a key mistyped would check nothing
		return decoder.Decode(&s)
	})
	if len(s.Cases) == 0 {
		t.Error("want.json has no cases")
	}
	for _, c := range s.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			state, calls := runFlow(t, open(t), filepath.Join(folder, "flow.yaml"), c.Input)
			if state.Status != c.Status || state.Error != c.Error {
				t.Errorf("status %s, error %q (%s); want %s, %q", state.Status, state.Error, state.Cause, c.Status, c.Error)
			}
			if got := state.At.Sub(state.Started); got != time.Duration(c.Seconds*float64(time.Second)) {
				t.Errorf("took %s, want %vs", got, c.Seconds)
			}
			if !maps.Equal(calls.count, c.Calls) {
				t.Errorf("calls %v, want %v", calls.count, c.Calls)
			}
			if got := aJob.ReplaceAllString(state.Output.JSON(), "JOB"); !c.Output.IsMissing() && got != c.Output.JSON() {
				t.Errorf("output %s, want %s", got, c.Output.JSON())
			}
			if got := calls.closedBy(); c.ClosedBy != "" && got != c.ClosedBy {
				t.Errorf("closed by %q, want %q", got, c.ClosedBy)
			}
		})
	}
}

// aJob is the id of a job that a service, or the tutorial's function, invented.
var aJob = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// simulatedActions let every action start a job that is simulated.
func simulatedActions() map[string]string {
	definitions := map[string]string{}
	for _, kind := range jobs.Kinds() {
		if kind.StartOp != "" {
			definitions[kind.Service+":"+kind.StartOp] = "simulated"
		}
	}
	definitions["custom:render-video"] = "simulated"
	return definitions
}

func read(t *testing.T, file string, parse func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = parse(text)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// runFlow runs one execution to its end and counts the calls by function.
func runFlow(t *testing.T, store local.Store, file string, input value.Value) (machine.State, *counter) {
	t.Helper()
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 987654321, time.UTC))
	tasks, err := local.NewFunctions(clock, simulatedActions())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := jobs.NewTable(map[string]jobs.Declaration{
		"custom:render-video": {Event: &jobs.DeclaredEvent{Source: "com.example.render", DetailType: "Render Finished", ID: "detail.job"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := &counter{count: map[string]int{}}
	system := local.New(local.Config{
		Store: store, Clock: clock, Functions: tasks, Kinds: kinds, Observer: calls, Workers: 2, Script: script(t, file), CallbackBase: "http://127.0.0.1:8787",
	})
	var flow machine.FlowRef
	read(t, file, func(text []byte) error {
		flow, err = store.Put(t.Context(), "sample", text)
		return err
	})
	if _, err := system.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "run", Input: input}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := system.Run(ctx); err != nil {
		t.Fatal(err)
	}
	state, err := system.Client.Describe(t.Context(), engine.NewID("sample", "run"))
	if err != nil {
		t.Fatal(err)
	}
	checkHistory(t, system, state, calls)
	return state, calls
}

// script is script.yaml beside the flow, nil without one.
func script(t *testing.T, flow string) *local.Script {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(flow), "script.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := local.ParseScript(text, os.DirFS(filepath.Dir(flow)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkHistory: the history is whole, and is what the observer was told. Without forks it is
// numbered 1, 2, 3, ...
func checkHistory(t *testing.T, system *local.System, state machine.State, told *counter) {
	t.Helper()
	history, err := system.Client.History(t.Context(), engine.NewID("sample", "run"))
	if err != nil {
		t.Fatal(err)
	}
	ids, types := 0, map[machine.EventType]int{}
	for _, event := range history {
		if event.ID <= ids || (len(history) == state.Events && event.ID != ids+1) {
			t.Errorf("event %d follows event %d", event.ID, ids)
		}
		ids = event.ID
		types[event.Type]++
	}
	for _, event := range told.events {
		types[event.Type]--
	}
	if maps.DeleteFunc(types, func(_ machine.EventType, more int) bool { return more == 0 }); len(types) > 0 {
		t.Errorf("the history has more of these than the observer was told, or fewer: %v", types)
	}
	want := map[machine.Status]machine.EventType{machine.StatusSucceeded: machine.ExecutionSucceeded, machine.StatusFailed: machine.ExecutionFailed}
	if last := history[len(history)-1].Type; last != want[state.Status] {
		t.Errorf("the last event is %s and the execution %s", last, state.Status)
	}
}

// counter counts calls by function and keeps the events of one execution.
type counter struct {
	mu     sync.Mutex
	count  map[string]int
	events []machine.Event
}

func (c *counter) Calling(call machine.Call, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[call.Resource.Function]++
}

func (c *counter) Committed(_ engine.ID, _ machine.State, events []machine.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, events...)
}

// closedBy is who closed the last token.
func (c *counter) closedBy() (by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.ClosedBy != "" {
			by = string(e.ClosedBy)
		}
	}
	return by
}
