package tracing_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/tracing"
	"github.com/waitless/waitless/pkg/value"
)

// everything has a sub-flow that polls in a loop, a callback, a task that polls, iterations side by
// side and one after the other, nested, a retry and a choice.
const everything = `
version: v1
type: flow
steps:
  - type: task
    name: Poll
    resourceArn: acs:fnf:::flow/polling
    pattern: sync
    serviceParams: {Input: $.job}
  - type: task
    name: Approve
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    timeoutSeconds: 5
    retry: [{errors: [FnF.TaskTimeout], intervalSeconds: 2, maxAttempts: 1, multiplier: 1}]
  - type: choice
    name: Big
    choices:
      - condition: $.items[0] == 1
        steps:
          - type: foreach
            name: Each
            iterationMapping: {collection: $.items, item: item}
            maxConcurrency: 2
            steps:
              - type: parallel
                name: Both
                branches:
                  - steps: [{type: task, name: Echo, resourceArn: "acs:fc:::services/s/functions/echo"}]
                  - steps: [{type: wait, name: Pause, duration: 3}]
          - type: foreach
            name: InTurn
            iterationMapping: {collection: $.items, item: item}
            maxConcurrency: 1
            steps:
              - {type: task, name: Say, resourceArn: "acs:fc:::services/s/functions/echo"}
              - {type: wait, name: Rest, duration: 1}
    default: {goto: Ready}
  - type: task
    name: Job
    resourceArn: acs:fc:::services/s/functions/StartJob
  - type: task
    name: Ready
    resourceArn: acs:fc:::services/s/functions/GetJobStatus
    pattern: waitForCondition
    condition: $.job_status == "success"
    intervalSeconds: 10
    maxAttempts: 9
    inputMappings: [{target: job_id, source: $local.job_id}, {target: delay, source: 25}]
`

const everythingsTrace = `main 0-67 execution=run status=Succeeded
  Poll 0-20 execution=run closed_by=sub-flow
    polling 0-20 execution=run-568ec7dfc297ff502661742df5796394 status=Succeeded
      StartJob 0-0 execution=run-568ec7dfc297ff502661742df5796394
      Wait10s 0-10 execution=run-568ec7dfc297ff502661742df5796394
      GetJobStatus 10-10 execution=run-568ec7dfc297ff502661742df5796394
      Wait10s 10-20 execution=run-568ec7dfc297ff502661742df5796394
      GetJobStatus 20-20 execution=run-568ec7dfc297ff502661742df5796394
  Approve 20-25 execution=run closed_by=deadline error.type=FnF.TaskTimeout
  Approve 27-28 execution=run closed_by=hand
  Each 28-34 execution=run
    Each[0] 28-31 execution=run index=0
      Both 28-31 execution=run
        Both[0] 28-28 execution=run index=0
          Echo 28-28 execution=run
        Both[1] 28-31 execution=run index=1
          Pause 28-31 execution=run
    Each[1] 28-31 execution=run index=1
      Both 28-31 execution=run
        Both[0] 28-28 execution=run index=0
          Echo 28-28 execution=run
        Both[1] 28-31 execution=run index=1
          Pause 28-31 execution=run
    Each[2] 31-34 execution=run index=2
      Both 31-34 execution=run
        Both[0] 31-31 execution=run index=0
          Echo 31-31 execution=run
        Both[1] 31-34 execution=run index=1
          Pause 31-34 execution=run
  InTurn 34-37 execution=run
    InTurn[0] 34-35 execution=run index=0
      Say 34-34 execution=run
      Rest 34-35 execution=run
    InTurn[1] 35-36 execution=run index=1
      Say 35-35 execution=run
      Rest 35-36 execution=run
    InTurn[2] 36-37 execution=run index=2
      Say 36-36 execution=run
      Rest 36-37 execution=run
  Job 37-37 execution=run
  Ready 37-67 execution=run polls=4
`

var start = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// recorder collects spans.
type recorder struct {
	mu    sync.Mutex
	spans []tracing.Span
}

// Trace implements [engine.Tracer].
func (r *recorder) Trace(commit engine.TracedCommit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, tracing.Spans(commit)...)
}

// tree shows the spans with their instants in seconds and their attributes, each below its parent.
func (r *recorder) tree(t *testing.T, root machine.SpanID) string {
	t.Helper()
	children, seen := map[machine.SpanID][]tracing.Span{}, map[machine.SpanID]bool{}
	for _, s := range r.spans {
		if seen[s.ID] {
			t.Errorf("two spans have the id %s, one is %s", s.ID, s.Name)
		}
		seen[s.ID] = true
		children[s.Parent] = append(children[s.Parent], s)
	}
	var out strings.Builder
	shown := 0
	var show func(parent machine.SpanID, indent string)
	show = func(parent machine.SpanID, indent string) {
		list := children[parent]
		slices.SortStableFunc(list, func(a, b tracing.Span) int {
			return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.Name, b.Name))
		})
		for _, s := range list {
			shown++
			fmt.Fprintf(&out, "%s%s %v-%v%s\n", indent, s.Name, s.Start.Sub(start).Seconds(), s.End.Sub(start).Seconds(), attributes(s))
			show(s.ID, indent+"  ")
		}
	}
	show(root, "")
	if shown != len(r.spans) {
		t.Errorf("%d of %d spans have no parent", len(r.spans)-shown, len(r.spans))
	}
	return out.String()
}

func attributes(s tracing.Span) string {
	var text string
	for _, a := range s.Attributes {
		if a.Key != "waitless.flow" && a.Key != "waitless.flow.hash" && a.Key != "waitless.resource" && a.Key != "waitless.step" {
			text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(a.Key, "waitless."), cmp.Or(a.Text, fmt.Sprint(a.Int)))
		}
	}
	return text
}

// run runs an execution in virtual time.
func run(t *testing.T, text, input, script string, change func(*local.Config)) {
	t.Helper()
	parsed, err := local.ParseScript([]byte(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	config := local.Config{
		Store: &store.Memory{}, Clock: local.NewVirtualClock(start), Script: parsed, Traces: &engine.Traces{Ratio: 1}, CallbackBase: "http://127.0.0.1",
	}
	change(&config)
	s := local.New(config)
	polling, err := os.ReadFile("../../events/polling/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.PutFlow(t.Context(), "polling", polling); err != nil {
		t.Fatal(err)
	}
	flow, err := s.Client.PutFlow(t.Context(), "main", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	of, err := value.ParseJSON([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	trace := machine.ParseTrace(caller, "vendor=1")
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "run", Input: of, Trace: trace}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const (
	caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	input  = `{"items":[1,2,3],"job":{"delay":20}}`
	script = "answers: [{step: Approve, afterSeconds: 99, output: {}}, {step: Approve, afterSeconds: 1, output: {}}]"
)

var callersSpan = machine.ParseTrace(caller, "").Parent

func TestSpansOfAnExecution(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	run(t, everything, input, script, func(c *local.Config) { c.Tracer = r })
	if got := r.tree(t, callersSpan); got != everythingsTrace {
		t.Errorf("the trace is\n%s", got)
	}
	for _, s := range r.spans {
		if s.Trace.String() != "4bf92f3577b34da6a3ce929d0e0e4736" || s.Vendor != "vendor=1" {
			t.Errorf("%s belongs to trace %s of %q", s.Name, s.Trace, s.Vendor)
		}
	}
}

const attemptsTrace = `main 0-3 execution=run status=Succeeded
  Both 0-0 execution=run error.type=Broken
    Both[0] 0-0 execution=run index=0 error.type=Broken
    Both[1] 0-0 execution=run index=1 error.type=Broken
      Pause 0-0 execution=run error.type=Broken
  Both 2-2 execution=run error.type=Broken
    Both[0] 2-2 execution=run index=0 error.type=Broken
    Both[1] 2-2 execution=run index=1 error.type=Broken
      Pause 2-2 execution=run error.type=Broken
  Rest 2-3 execution=run
`

// Each attempt of a fork has a span, and its lanes are in that of their attempt.
func TestSpansOfAttemptsOfAFork(t *testing.T) {
	t.Parallel()
	const flow = `
version: v1
type: flow
steps:
  - type: parallel
    name: Both
    branches:
      - steps: [{type: fail, name: Bad, error: Broken}]
      - steps: [{type: wait, name: Pause, duration: 9}]
    retry: [{errors: [Broken], intervalSeconds: 2, maxAttempts: 1}]
    catch: [{errors: [FnF.ALL], goto: Rest}]
  - {type: wait, name: Rest, duration: 1}
`
	r := &recorder{}
	run(t, flow, `{}`, "", func(c *local.Config) { c.Tracer = r })
	if got := r.tree(t, callersSpan); got != attemptsTrace {
		t.Errorf("the trace is\n%s", got)
	}
}

// Workers die after each commit, before its spans are sent. The spans of the redelivered wakes are
// those of a run without a crash.
func TestSpansOfRedeliveredWakes(t *testing.T) {
	t.Parallel()
	const text = `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.items, item: item}
    maxConcurrency: 2
    steps:
      - {type: task, name: Say, resourceArn: "acs:fc:::services/s/functions/echo"}
      - {type: wait, name: Pause, duration: 3}
      - {type: task, name: Again, resourceArn: "acs:fc:::services/s/functions/echo"}
  - type: task
    name: Sub
    resourceArn: acs:fnf:::flow/polling
    pattern: sync
    serviceParams: {Input: {delay: 10}}
  - {type: task, name: Last, resourceArn: "acs:fc:::services/s/functions/echo"}
`
	want, got := newCrashes(t, text), newCrashes(t, text)
	want.run(false)
	got.run(true)
	wanted, sent := want.sent.ids(), got.sent.ids()
	if len(wanted) != 20 {
		t.Errorf("%d spans without a crash, want 20: %v", len(wanted), wanted)
	}
	for id, s := range wanted {
		if sent[id] != s {
			t.Errorf("span %s is %s with crashes, want %s", id, sent[id], s)
		}
	}
	if len(sent) != len(wanted) {
		t.Errorf("%d spans with crashes, want %d", len(sent), len(wanted))
	}
	if got.lost == 0 {
		t.Error("no span was lost in a crash")
	}
}

// ids names the spans and their parents by their ids.
func (r *recorder) ids() map[machine.SpanID]string {
	ids := map[machine.SpanID]string{}
	for _, s := range r.spans {
		ids[s.ID] = s.Name + " in " + s.Parent.String()
	}
	return ids
}

// crashes delivers each wake, with crashes once more: the spans of the first delivery are lost.
type crashes struct {
	t      *testing.T
	store  *store.Memory
	worker *engine.Worker
	wakes  []engine.Wake
	now    time.Time
	sent   recorder // by workers that did not die
	dying  bool
	lost   int
}

func newCrashes(t *testing.T, text string) *crashes {
	t.Helper()
	return newCrashesWith(t, text, machine.ParseTrace(caller, ""), func(*engine.Config) {})
}

func newCrashesWith(t *testing.T, text string, trace *machine.Trace, change func(*engine.Config)) *crashes {
	t.Helper()
	c := &crashes{t: t, store: &store.Memory{}, now: start}
	config := engine.Config{
		Log: c.store, Flows: c.store, TokenStore: c.store, Stops: c.store, Joins: c.store, Wakes: c, Caller: answering{}, TaskQueue: noQueue{},
		Keys: store.NewKeys(), Now: func() time.Time { return c.now }, Tracer: c,
	}
	change(&config)
	var err error
	if c.worker, err = engine.NewWorker(config); err != nil {
		t.Fatal(err)
	}
	client, err := engine.NewClient(engine.Config{
		Log: c.store, Flows: c.store, TokenStore: c.store, Stops: c.store, Wakes: c, Now: config.Now, Traces: &engine.Traces{},
	})
	if err != nil {
		t.Fatal(err)
	}
	polling, err := os.ReadFile("../../events/polling/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = client.PutFlow(t.Context(), "polling", polling); err != nil {
		t.Fatal(err)
	}
	flow, err := client.PutFlow(t.Context(), "main", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	of, _ := value.ParseJSON([]byte(`{"items":[1,2,3]}`))
	request := engine.StartRequest{Flow: flow, Execution: "run", Input: of, Trace: trace}
	if _, err := client.Start(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return c
}

// Send implements [engine.Wakes].
func (c *crashes) SendAll(ctx context.Context, wakes []engine.Wake) error {
	return engine.SendEach(ctx, wakes, c.Send)
}

func (*crashes) HoldBack(engine.ID) (release func()) { return func() {} }

func (c *crashes) Send(_ context.Context, w engine.Wake) error {
	c.wakes = append(c.wakes, w)
	return nil
}

// Trace implements [engine.Tracer].
func (c *crashes) Trace(commit engine.TracedCommit) {
	if c.dying {
		c.lost += len(tracing.Spans(commit))
		return
	}
	c.sent.Trace(commit)
}

func (c *crashes) run(withCrashes bool) {
	for len(c.wakes) > 0 {
		slices.SortStableFunc(c.wakes, func(a, b engine.Wake) int { return a.Due.Compare(b.Due) })
		wake := c.wakes[0]
		c.wakes = c.wakes[1:]
		if wake.Due.After(c.now) {
			c.now = wake.Due
		}
		if c.dying = withCrashes; withCrashes {
			wake.Receives = 1
			c.advance(wake)
			c.dying, wake.Receives = false, 2
		}
		c.advance(wake)
	}
}

func (c *crashes) advance(wake engine.Wake) {
	disposition, err := c.worker.Advance(c.t.Context(), wake)
	if err != nil {
		c.t.Fatal(err)
	}
	if at := disposition.RetryAt; !at.IsZero() && !c.dying {
		again := wake
		again.Due = at
		c.wakes = append(c.wakes, again)
	}
}

// answering is a caller whose functions end at once.
type answering struct{}

// Call implements [engine.Caller].
func (answering) Call(_ context.Context, _ machine.Call) (token.Outcome, error) {
	result, err := value.ParseJSON([]byte(`{"job_id":"1","job_status":"success"}`))
	return token.Success(result), err
}

// TimeLimits implements [engine.Caller].
func (answering) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// noQueue is the queue of a flow without long calls.
type noQueue struct{}

// Queue implements [engine.TaskQueue].
func (noQueue) Queue(context.Context, engine.Task) error { return errors.New("no task queue") }

// An execution that is not traced allocates as much with a tracer as without one.
func TestUntracedExecutionsCostNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts those of all goroutines
	const text = `
version: v1
type: flow
steps:
  - {type: wait, name: Pause, duration: 3}
  - {type: task, name: Say, resourceArn: "acs:fc:::services/s/functions/echo"}
`
	allocations := func(change func(*engine.Config)) float64 {
		const runs = 50
		var prepared []*crashes
		for range runs + 1 {
			c := newCrashesWith(t, text, nil, change)
			prepared = append(prepared, c)
		}
		next := 0
		return testing.AllocsPerRun(runs, func() {
			prepared[next].run(false)
			next++
		})
	}
	without := allocations(func(c *engine.Config) { c.Tracer = nil })
	if with := allocations(func(*engine.Config) {}); with > without+1 { // a collection of garbage empties pools
		t.Errorf("%v allocations with a tracer, %v without one", with, without)
	}
}
