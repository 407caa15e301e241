package asl_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flowtest"
	"github.com/waitless/waitless/pkg/value"
)

// scenario is a file of testdata/scenarios: a machine with one execution or several.
type scenario struct {
	Machine  yaml.Node
	Machines map[string]yaml.Node // that it starts, by name
	Runs     []struct {
		Input   any
		Replies map[string][]reply // of functions, by state or function
		Answers []struct {         // outcomes of tokens
			reply `yaml:",inline"`
			Step  string
			After int // seconds
		}
		Actions []string // of simulated jobs
		Objects map[string]string
		Events  []struct { // of jobs
			Step  string
			After int // seconds
			Event any
		}
		Want struct {
			Output  any
			Error   string
			Cause   string
			Seconds float64
			Calls   []any    // the inputs of calls
			Objects []string // ends of names of objects that were written
		}
	}
}

type reply struct {
	Output any
	Error  string
	Cause  string
}

// TestScenarios runs the machines of the files, whose rules the page about the language numbers.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s scenario
			if err := yaml.Load(text, &s, yaml.WithKnownFields()); err != nil {
				t.Fatal(err)
			}
			definition, err := yaml.Dump(&s.Machine)
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Runs {
				s.run(t, definition, i)
			}
		})
	}
}

func (s *scenario) run(t *testing.T, definition []byte, i int) {
	t.Helper()
	run := s.Runs[i]
	functions, called := map[string]flowtest.Function{}, map[string]int{}
	for name, replies := range run.Replies {
		functions[name] = func(flowtest.Call) (any, error) {
			n := called[name]
			if called[name]++; n >= len(replies) {
				return nil, fmt.Errorf("%s is called %d times", name, n+1)
			}
			if r := replies[n]; r.Error != "" {
				return nil, &flowtest.Error{Name: r.Error, Cause: r.Cause}
			}
			return replies[n].Output, nil
		}
	}
	test := flowtest.Test{Flow: definition, Input: run.Input, Functions: functions, Actions: run.Actions, Objects: run.Objects, Subflows: s.subflows(t)}
	for _, e := range run.Events {
		test.Events = append(test.Events, flowtest.Event{Step: e.Step, After: time.Duration(e.After) * time.Second, Event: e.Event})
	}
	for _, a := range run.Answers {
		test.Answers = append(test.Answers, flowtest.Answer{
			Step: a.Step, After: time.Duration(a.After) * time.Second, Output: a.Output, Error: a.Error, Cause: a.Cause,
		})
	}
	result, err := test.Run(t.Context())
	if err != nil {
		t.Errorf("run %d: %v", i+1, err)
		return
	}
	if result.Error != run.Want.Error || run.Want.Cause != "" && !strings.Contains(result.Cause, run.Want.Cause) {
		t.Errorf("run %d: failed with %q (%s), want %q (%s)", i+1, result.Error, result.Cause, run.Want.Error, run.Want.Cause)
	}
	if run.Want.Error == "" && !same(t, result.Output, run.Want.Output) {
		t.Errorf("run %d: output %s, want %v", i+1, result.Output, run.Want.Output)
	}
	if want := time.Duration(run.Want.Seconds * float64(time.Second)); result.Elapsed != want {
		t.Errorf("run %d: took %s, want %s", i+1, result.Elapsed, want)
	}
	for _, name := range run.Want.Objects {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(result.Objects)), func(key string) bool { return strings.HasSuffix(key, "/"+name) }) {
			t.Errorf("run %d: there is no object %s, but %v", i+1, name, result.Objects)
		}
	}
	for n, call := range result.Calls {
		if n < len(run.Want.Calls) && !same(t, call.Input, run.Want.Calls[n]) {
			t.Errorf("run %d: call %d has %s, want %v", i+1, n+1, call.Input, run.Want.Calls[n])
		}
	}
}

func (s *scenario) subflows(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for name, node := range s.Machines {
		text, err := yaml.Dump(&node)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	return texts
}

// same compares JSON with a value of YAML.
func same(t *testing.T, got json.RawMessage, want any) bool {
	t.Helper()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	a, err := value.ParseJSON(got)
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	b, err := value.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return value.Equal(a, b)
}
