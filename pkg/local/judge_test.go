package local_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestJudgedFlows runs the flows that have every construct inside every other one, and compares the
// end, its instant and all calls with those of a naive interpreter and with what the author of the
// flow wants.
func TestJudgedFlows(t *testing.T) {
	t.Parallel()
	cases, err := machinetest.Cases()
	if err != nil || len(cases) < 40 {
		t.Fatalf("%d flows, error %v; want at least 40", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			texts := judgedFlows{c.Flow, c.Subflows}
			judge := texts.judge(t, c.Replies, 10_000)
			want := judge.Run(judge.Flows[judgedName], c.Input)
			if diff := c.Want.Differs(want, judged); diff != "" || judge.Steps < 0 {
				t.Errorf("the naive interpreter: %s", diff)
			}
			if diff := want.Differs(texts.run(t, c.Input, c.Replies), judged); diff != "" {
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
	ended := map[string]int{}
	for seed := range flows {
		texts := judgedFlows{[]byte(machinetest.RandomFlow(seed, true)), map[string][]byte{"child": []byte(machinetest.RandomSubflow(seed))}}
		judge := texts.judge(t, map[string]machinetest.Reply{}, 2000)
		for _, flow := range judge.Flows {
			maps.Copy(judge.Replies, machinetest.RandomReplies(flow))
		}
		want := judge.Run(judge.Flows[judgedName], input)
		if judge.Steps < 0 {
			continue // endless
		}
		if diff := want.Differs(texts.run(t, input, judge.Replies), judged); diff != "" {
			t.Fatalf("seed %d: %s\n%s\nchild: %s", seed, diff, texts.text, texts.subflows["child"])
		}
		ended[fmt.Sprint("failed=", len(want.Failures) > 0)]++
		ended["sub-flows"] += min(1, judge.Subflows)
	}
	if ended["failed=false"] < int(flows)/4 || ended["failed=true"] < int(flows)/10 || ended["sub-flows"] < int(flows)/10 {
		t.Errorf("not much of a test: %v", ended)
	}
}

// judgedFlows are the definition of a flow and those of its sub-flows.
type judgedFlows struct {
	text     []byte
	subflows map[string][]byte
}

// judgedName is the name of the flow.
const judgedName = "judged"

func (j judgedFlows) judge(t *testing.T, replies map[string]machinetest.Reply, steps int) *machinetest.Naive {
	t.Helper()
	texts := maps.Clone(j.subflows)
	texts[judgedName] = j.text
	flows, err := machinetest.Parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	return &machinetest.Naive{Epoch: judged, Replies: replies, Steps: steps, Flows: flows}
}

// judged is when the executions start.
var judged = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// run runs the flow in virtual time.
func (j judgedFlows) run(t *testing.T, input value.Value, replies map[string]machinetest.Reply) machinetest.End {
	t.Helper()
	end, _ := j.execution(t, input, replies)
	return end
}

func (j judgedFlows) execution(t *testing.T, input value.Value, replies map[string]machinetest.Reply) (machinetest.End, *local.System) {
	t.Helper()
	clock := local.NewVirtualClock(judged)
	functions := &judgedFunctions{clock: clock}
	tasks, err := local.NewFunctions(clock, map[string]string{"f": "exec:false", "batch:SubmitJob": "simulated"}) // f is not called there
	if err != nil {
		t.Fatal(err)
	}
	system := local.New(local.Config{
		Store: &store.Memory{}, Clock: clock, Functions: tasks, Roles: local.Roles{Worker: functions.worker},
		Script: repliesScript(t, replies), Limits: machine.Limits{Data: machine.MaxData}, CallbackBase: "http://127.0.0.1:8787",
	})
	for name, text := range j.subflows {
		if _, err := system.Client.PutFlow(t.Context(), name, text); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := system.Client.PutFlow(t.Context(), judgedName, j.text)
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
	state, err := system.Client.Describe(t.Context(), engine.NewID(judgedName, "run"))
	if err != nil || !state.Status.Final() {
		t.Fatalf("%s, error %v, waits for %+v", state.Status, err, state.Waiting)
	}
	end := machinetest.End{At: state.At, Local: state.Output, Calls: functions.calls}
	if state.Status != machine.StatusSucceeded {
		end.Failures = []string{state.Error}
	}
	return end, system
}

// jobEvent is the end of a job.
const jobEvent = `{"version":"0","id":"e","source":"aws.batch","detail-type":"Batch Job State Change","account":"123456789012",` +
	`"region":"us-east-1","time":"","resources":[],"detail":{"jobArn":"arn:aws:batch:us-east-1:123456789012:job/{job_id}",` +
	`"jobId":"{job_id}","jobName":"n","status":"SUCCEEDED","statusReason":"it ended"}}`

// repliesScript gives each reply more often than any step waits. The reply to a job is an event.
func repliesScript(t *testing.T, replies map[string]machinetest.Reply) *local.Script {
	t.Helper()
	answers, events := "answers:\n", "events:\n"
	for step, reply := range replies {
		entry := fmt.Sprintf("- {step: %s, afterSeconds: %v, ", step, reply.After.Seconds())
		how := "output: " + reply.Outcome.Output.JSON()
		if reply.Outcome.Failed() {
			how = fmt.Sprintf("error: %s, cause: why", reply.Outcome.Error)
		}
		answers += strings.Repeat(entry+how+"}\n", 100)
		events += entry + "event: " + jobEvent + "}\n"
	}
	if len(replies) == 0 {
		return nil
	}
	script, err := local.ParseScript([]byte(answers+events), nil)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// judgedFunctions are the functions of the flows. They note their calls.
type judgedFunctions struct {
	engine.Caller // starts jobs
	clock         *local.Clock

	mu    sync.Mutex
	calls []machinetest.Call
}

func (f *judgedFunctions) worker(config engine.Config) (local.Worker, error) {
	f.Caller, config.Caller = config.Caller, f
	return engine.NewWorker(config)
}

// Call implements [engine.Caller].
func (f *judgedFunctions) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, input, isJob := f.clock.Now(), call.Input, call.Resource.Kind != ""
	if isJob {
		input = input.Get("params")
	}
	f.calls = append(f.calls, machinetest.Call{At: now, Text: call.Step + " " + input.JSON()})
	if isJob {
		return f.Caller.Call(ctx, call)
	}
	return machinetest.Function(input, now.Sub(judged)), nil
}

// TimeLimits implements [engine.Caller]: the functions have none of their own.
func (*judgedFunctions) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // no limits
}
