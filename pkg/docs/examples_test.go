package docs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestLinksLeadToTopics(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)]*)\)`)
	for _, topic := range docs.Topics() {
		for _, match := range link.FindAllStringSubmatch(topic.Text, -1) {
			name, isTopic := strings.CutSuffix(match[1], ".md")
			if _, found := docs.Find(name); !isTopic || !found {
				t.Errorf("topic %s has a link to %q, which is no topic", topic.Name, match[1])
			}
		}
	}
}

// example is a flow of a topic, and the text of its run.
type example struct {
	flow string
	run  string // empty for a part of a flow
}

// fenced matches a block of code: its language and its lines.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func examplesOf(text string) []example {
	var found []example
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		switch language := match[1]; {
		case language == "yaml":
			found = append(found, example{flow: match[2]})
		case language == "run" && len(found) > 0:
			found[len(found)-1].run = match[2]
		}
	}
	return found
}

// complete returns the flow of the example. Steps without a flow get one.
func (e example) complete() string {
	if strings.HasPrefix(e.flow, "version:") {
		return e.flow
	}
	return "version: v1\ntype: flow\nsteps:\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(e.flow, "  ")
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for _, topic := range docs.Topics() {
		for i, e := range examplesOf(topic.Text) {
			t.Run(fmt.Sprintf("%s/%d", topic.Name, i+1), func(t *testing.T) {
				t.Parallel()
				flow, problems := fdl.Parse([]byte(e.complete()))
				for _, p := range problems {
					t.Errorf("%s", p.Format(topic.Name))
				}
				switch {
				case flow == nil:
				case e.run != "":
					e.start(t)
				case e.flow == e.complete() && !isSample(t, e.flow):
					t.Error("the flow is never run: add a block of the language \"run\", or use a flow of events/")
				}
			})
		}
	}
}

// isSample reports whether the flow is one of events/. Other tests run these.
func isSample(t *testing.T, flow string) bool {
	t.Helper()
	files, err := filepath.Glob("../../events/*/flow.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no flows in events/: %v", err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return readFile(t, file) == flow })
}

// outside has the input of an example, the results of its functions, and its expected end.
type outside struct {
	mu      sync.Mutex
	input   value.Value
	results map[string][]token.Outcome // by step
	script  string
	end     string
}

// outsideLine matches a line of a run: the step, what happens, and the rest.
var outsideLine = regexp.MustCompile(`^(\S+) +(returns|fails with|is reported) (.*?)(?: after (\S+))?$`)

func parseOutside(t *testing.T, text string) *outside {
	t.Helper()
	o := &outside{results: map[string][]token.Outcome{}, script: "answers:\n"}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		match := outsideLine.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "input "):
			o.input = parseJSON(t, strings.TrimPrefix(line, "input "))
		case strings.HasPrefix(line, "output "), strings.HasPrefix(line, "fails with "), strings.HasPrefix(line, "times out "):
			o.end = line
		case match == nil:
			t.Fatalf("the run has an unknown line: %q", line)
		case match[2] == "returns":
			o.results[match[1]] = append(o.results[match[1]], token.Success(parseJSON(t, match[3])))
		case match[2] == "fails with":
			name, cause, _ := strings.Cut(match[3], ": ")
			o.results[match[1]] = append(o.results[match[1]], token.Failure(name, cause))
		case match[2] == "is reported":
			after, err := time.ParseDuration(match[4])
			if err != nil {
				t.Fatal(err)
			}
			o.script += fmt.Sprintf("  - {step: %s, afterSeconds: %g, output: %s}\n", match[1], after.Seconds(), match[3])
		}
	}
	return o
}

// Call implements [engine.Caller] with the results of the run. The last result repeats.
func (o *outside) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	results := o.results[call.Step]
	if len(results) == 0 {
		return token.Failure("Example.NoResult", "the run has no result of "+call.Step), nil
	}
	if len(results) > 1 {
		o.results[call.Step] = results[1:]
	}
	return results[0], nil
}

// TimeLimits implements [engine.Caller]: all functions are quick.
func (*outside) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// start runs the example in virtual time and compares its end.
func (e example) start(t *testing.T) {
	t.Helper()
	before, after, redriven := strings.Cut(e.run, "\nredrive\n")
	o := parseOutside(t, before)
	config := local.Config{
		Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)), Functions: o,
		CallbackBase: "http://127.0.0.1:8787",
	}
	if o.script != "answers:\n" {
		script, err := local.ParseScript([]byte(o.script), nil)
		if err != nil {
			t.Fatal(err)
		}
		config.Script = script
	}
	s := local.New(config)
	put, err := s.Client.PutFlow(t.Context(), "example", []byte(e.complete()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: put, Execution: "run", Input: o.input}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := s.Client.Describe(t.Context(), engine.NewID("example", "run"))
	if redriven && err == nil {
		again := parseOutside(t, after)
		o.results, o.end = again.results, again.end
		state, err = redrive(t.Context(), s, state)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := endOf(state); got != o.end {
		t.Errorf("it ends with\n%s\nand not with\n%s", got, o.end)
	}
}

// redrive runs the redrive of an execution and returns its end.
func redrive(ctx context.Context, s *local.System, ended machine.State) (machine.State, error) {
	start, err := s.Client.Redrive(ctx, ended.ID(), engine.RedriveRequest{})
	if err == nil {
		_, err = s.Start(ctx, start)
	}
	if err == nil {
		err = s.Run(ctx)
	}
	if err != nil {
		return machine.State{}, err
	}
	return s.Client.Describe(ctx, engine.NewID(start.Flow.Name, start.Execution))
}

func endOf(state machine.State) string {
	took := ""
	if d := state.At.Sub(state.Started); d > 0 {
		took = " after " + d.String()
	}
	switch state.Status { //nolint:exhaustive // an example ends by itself
	case machine.StatusSucceeded:
		return "output " + state.Output.JSON() + took
	case machine.StatusFailed:
		return "fails with " + state.Error + took
	case machine.StatusTimedOut:
		return "times out with " + state.Error + took
	}
	return string(state.Status)
}

func parseJSON(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
