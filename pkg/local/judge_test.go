package local_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/machine/machinetest"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestJudgedFlows runs the flows that have every construct inside every other one, and compares the end,
// its instant and all calls with those of a naive interpreter and with what the author of the flow wants.
func TestJudgedFlows(t *testing.T) {
	t.Parallel()
	cases, err := machinetest.Cases()
	if err != nil || len(cases) < 40 {
		t.Fatalf("%d flows, error %v; want at least 40", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			flow, problems := fdl.Parse(c.Flow)
			if flow == nil {
				t.Fatalf("%v\n%s", problems, c.Flow)
			}
			judge := &machinetest.Naive{Epoch: judged, Replies: c.Replies, Steps: 10_000}
			want := judge.Run(flow, c.Input)
			if diff := c.Want.Differs(want, judged); diff != "" || judge.Steps < 0 {
				t.Errorf("the naive interpreter: %s", diff)
			}
			if diff := want.Differs(runJudged(t, c.Flow, c.Input, c.Replies), judged); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJudgedRandomFlows does the same with random flows.
func TestJudgedRandomFlows(t *testing.T) {
	t.Parallel()
	flows := uint64(400)
	if testing.Short() {
		flows = 50
	}
	input, err := value.ParseJSON([]byte(machinetest.RandomInput))
	if err != nil {
		t.Fatal(err)
	}
	ended := map[bool]int{}
	for seed := range flows {
		text := machinetest.RandomFlow(seed, true)
		flow, problems := fdl.Parse([]byte(text))
		if flow == nil {
			t.Fatalf("seed %d: %v\n%s", seed, problems, text)
		}
		replies := machinetest.RandomReplies(flow)
		judge := &machinetest.Naive{Epoch: judged, Replies: replies, Steps: 2000}
		want := judge.Run(flow, input)
		if judge.Steps < 0 {
			continue // endless
		}
		if diff := want.Differs(runJudged(t, []byte(text), input, replies), judged); diff != "" {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		ended[len(want.Failures) == 0]++
	}
	if ended[true] < int(flows)/4 || ended[false] < int(flows)/10 {
		t.Errorf("not much of a test: %v", ended)
	}
}

// judged is when the executions start.
var judged = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// runJudged runs a flow in virtual time.
func runJudged(t *testing.T, text []byte, input value.Value, replies map[string]machinetest.Reply) machinetest.End {
	t.Helper()
	clock := local.NewVirtualClock(judged)
	functions := &judgedFunctions{t: t, clock: clock, replies: replies}
	system := local.New(local.Config{
		Store: &local.MemoryStore{}, Clock: clock, Tasks: functions, Script: repliesScript(t, replies), Limits: machine.Limits{Data: machine.MaxData},
		CallbackBase: "http://127.0.0.1:8787",
	})
	functions.system = system
	ref, err := system.Client.PutFlow(t.Context(), "judged", text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := system.Start(t.Context(), engine.StartRequest{Flow: ref, Execution: "run", Input: input}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := system.Run(ctx); err != nil {
		t.Fatal(err)
	}
	state, err := system.Client.Describe(t.Context(), engine.NewID("judged", "run"))
	if err != nil || !state.Status.Final() {
		t.Fatalf("%s, error %v, waits for %+v", state.Status, err, state.Waiting)
	}
	end := machinetest.End{At: state.At, Local: state.Output, Calls: functions.calls}
	if state.Status != machine.StatusSucceeded {
		end.Failures = []string{state.Error}
	}
	return end
}

// repliesScript gives each reply more often than any step waits.
func repliesScript(t *testing.T, replies map[string]machinetest.Reply) *local.Script {
	t.Helper()
	var text strings.Builder
	text.WriteString("answers:\n")
	for step, reply := range replies {
		how := "output: " + reply.Outcome.Output.JSON()
		if reply.Outcome.Failed() {
			how = fmt.Sprintf("error: %s, cause: why", reply.Outcome.Error)
		}
		line := fmt.Sprintf("- {step: %s, afterSeconds: %v, %s}\n", step, reply.After.Seconds(), how)
		text.WriteString(strings.Repeat(line, 100))
	}
	if len(replies) == 0 {
		return nil
	}
	script, err := local.ParseScript([]byte(text.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// judgedFunctions are the functions of the flows. They note their calls.
type judgedFunctions struct {
	t       *testing.T
	clock   *local.Clock
	system  *local.System
	replies map[string]machinetest.Reply

	mu    sync.Mutex
	calls []machinetest.Call
}

// Call implements [engine.Caller].
func (f *judgedFunctions) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, input := f.clock.Now(), call.Input
	if call.Resource.Kind != "" { // a job, which ends before its submission is recorded
		f.endJob(ctx, call)
		input = input.Get("params")
	}
	f.calls = append(f.calls, machinetest.Call{At: now, Text: call.Step + " " + input.JSON()})
	return machinetest.Function(input, now.Sub(judged)), nil
}

// endJob closes the token of a job.
func (f *judgedFunctions) endJob(ctx context.Context, call machine.Call) {
	verified, err := f.system.Tokens.Verify(ctx, call.Input.Get("token").Text())
	if err == nil {
		_, _, err = verified.Close(ctx, f.replies[call.Step].Outcome)
	}
	if err != nil {
		f.t.Error(err)
	}
}

// TimeLimits implements [engine.Caller]: the functions have none of their own.
func (*judgedFunctions) TimeLimits(context.Context, *fdl.Flow) (map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // no limits
}
