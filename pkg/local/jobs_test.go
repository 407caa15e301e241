package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const (
	batchJob = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n    action: batch:SubmitJob\n    pattern: sync\n" +
		"    serviceParams: {jobName: w, jobQueue: q, jobDefinition: d, delay: $.delay}\n"
	dmsTask = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n" +
		"    resourceArn: arn:aws:dms:us-east-1:123456789012:task:T\n    pattern: sync\n    serviceParams: {delay: $.delay}\n"
	execution = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n" +
		"    resourceArn: arn:aws:states:us-east-1:123456789012:stateMachine:m\n    pattern: sync\n    serviceParams: {delay: $.delay}\n"
	transcription = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n    action: transcribe:StartTranscriptionJob\n    pattern: sync\n" +
		"    serviceParams: {Media: {MediaFileUri: s3://b/o.mp3}, delay: $.delay}\n"
	// asked starts a job and asks for it, as flows do that poll.
	asked = "version: v1\ntype: flow\nsteps:\n" +
		"  - {type: task, name: Work, resourceArn: 'acs:fc:::services/s/functions/StartJob'}\n" +
		"  - {type: wait, name: Pause, duration: 70}\n" +
		"  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/GetJobStatus\n" +
		"    inputMappings:\n      - {target: job_id, source: $local.job_id}\n      - {target: kind, source: $input.kind}\n"
	// told waits for a job of the tutorial's kind.
	told = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n    resourceArn: acs:fc:::services/s/functions/StartJob\n" +
		"    pattern: waitForCallback\n    inputMappings:\n      - {target: kind, source: $input.kind}\n" +
		"      - {target: params, source: $input.params}\n      - {target: token, source: $context.task.token}\n"
	// batchStart asks for a Batch job.
	batchStart = `{"kind":"batch-job","params":{"jobName":"w","jobQueue":"q","jobDefinition":"d"}}`
)

var simulated = map[string]string{
	"batch:SubmitJob": "simulated", "dms:StartReplicationTask": "simulated", "sfn:StartExecution": "simulated",
	"transcribe:StartTranscriptionJob": "simulated",
}

// jobRun is what a flow with a job came to.
type jobRun struct {
	state   machine.State
	history []machine.Event
}

func (r jobRun) took() time.Duration { return r.state.At.Sub(r.state.Started) }

// closedBy is who closed the first token.
func (r jobRun) closedBy() token.Closer {
	for _, e := range r.history {
		if e.ClosedBy != "" {
			return e.ClosedBy
		}
	}
	return ""
}

// runJob runs a flow to its end in virtual time, as the script says.
func runJob(t *testing.T, providers map[string]string, flow, input, script string) jobRun {
	t.Helper()
	return runFlow(t, jobSystem(t, providers, script), "flow", flow, input)
}

// jobSystem is a system in memory and in virtual time.
func jobSystem(t *testing.T, providers map[string]string, script string) *local.System {
	t.Helper()
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	tasks, err := local.NewFunctions(clock, providers)
	if err != nil {
		t.Fatal(err)
	}
	played, err := local.ParseScript([]byte(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	return local.New(local.Config{Store: &store.Memory{}, Clock: clock, Functions: tasks, Script: played, CallbackBase: "http://127.0.0.1:8787"})
}

// runFlow runs the flow of that name until nothing is left to do.
func runFlow(t *testing.T, s *local.System, name, flow, input string) jobRun {
	t.Helper()
	put, err := s.Client.PutFlow(t.Context(), name, []byte(flow))
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.ParseJSON([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: put, Execution: "run", Input: v}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := s.Client.Describe(t.Context(), engine.NewID(name, "run"))
	if err != nil {
		t.Fatal(err)
	}
	history, err := s.Client.History(t.Context(), engine.NewID(name, "run"))
	if err != nil {
		t.Fatal(err)
	}
	return jobRun{state, history}
}

// batchEvent is the event of the end of the job, after some seconds.
func batchEvent(seconds, key, status string) string {
	return "\n  - step: Work\n    afterSeconds: " + seconds + "\n    event:\n      source: aws.batch\n      detail-type: Batch Job State Change\n" +
		"      account: '123456789012'\n      region: us-east-1\n      time: '2026-01-31T10:00:30Z'\n" +
		"      detail: {jobArn: '" + key + "', jobId: '{job_id}', status: " + status + ", statusReason: no room}"
}

// dmsEvent is the event of the end of the task, after some seconds, as it was
// written down once.
func dmsEvent(seconds string) string {
	return "\n  - step: Work\n    afterSeconds: " + seconds + "\n    event:\n      source: aws.dms\n" +
		"      detail-type: DMS Replication Task State Change\n      account: '123456789012'\n      region: us-east-1\n" +
		"      time: '2001-01-01T00:00:00Z'\n      resources: ['{job_key}']\n" +
		"      detail: {eventType: REPLICATION_TASK_STOPPED, detailMessage: Stop Reason NORMAL}"
}

// TestStopJob: a job is stopped with its execution if the flow says so, by the poll that is under
// way. The time limit of a flow stops the execution as an operator does.
func TestStopJob(t *testing.T) {
	t.Parallel()
	const ask = "version: v1\ntype: flow\nsteps:\n  - {type: task, name: Ask, resourceArn: 'acs:fc:::services/s/functions/GetJobStatus'}\n"
	stopping := batchJob + "    stopJob: true\n"
	limited := func(flow string) string {
		return strings.Replace(flow, "type: flow\n", "type: flow\ntimeoutSeconds: 100\n", 1)
	}
	for name, tt := range map[string]struct {
		flow   string
		delay  string
		status machine.Status
		want   string
	}{
		"of a stopped execution":              {limited(stopping), "100000", machine.StatusTimedOut, "failed"},
		"of one that leaves it alone":         {limited(batchJob), "100000", machine.StatusTimedOut, "running"},
		"of an execution that ends by itself": {limited(stopping), "50", machine.StatusSucceeded, "success"},
		"of a step that reached its limit":    {stopping + "    timeoutSeconds: 100\n", "100000", machine.StatusFailed, "running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := jobSystem(t, simulated, "")
			r := runFlow(t, s, "work", tt.flow, `{"delay":`+tt.delay+`}`)
			if r.state.Status != tt.status {
				t.Errorf("the execution: %s %s %s", r.state.Status, r.state.Error, r.state.Cause)
			}
			asked := runFlow(t, s, "ask", ask, r.started(t))
			if got := asked.state.Output.Get("job_status").Text(); got != tt.want {
				t.Errorf("the job: %s, want %s", asked.state.Output, tt.want)
			}
		})
	}
}

// started is what StartJob returned for the first job.
func (r jobRun) started(t *testing.T) string {
	t.Helper()
	for _, e := range r.history {
		if e.Type == machine.TaskSubmitted {
			return e.Output.JSON()
		}
	}
	t.Fatal("no job was started")
	return ""
}

func TestJobsInVirtualTime(t *testing.T) {
	t.Parallel()
	const noEvent = ""
	for name, tt := range map[string]struct {
		flow, input, script string
		seconds             int
		by                  token.Closer
		failed              string
	}{
		"Batch, no event":     {batchJob, `{}`, noEvent, 60, token.ClosedByReconcile, ""},
		"Batch, done at once": {batchJob, `{"delay":0}`, noEvent, 0, token.ClosedByReconcile, ""},
		"Batch, faster":       {batchJob, `{"delay":5}`, noEvent, 5, token.ClosedByReconcile, ""},
		"Batch, slower":       {batchJob, `{"delay":200}`, noEvent, 200, token.ClosedByReconcile, ""},
		"Batch, much slower":  {batchJob, `{"delay":10000}`, noEvent, 10_000, token.ClosedByReconcile, ""},
		"DMS, slower":         {dmsTask, `{"delay":200}`, noEvent, 200, token.ClosedByReconcile, ""},
		"the event before the delay": {
			batchJob, `{"delay":200}`, "events:" + batchEvent("100", "{job_key}", "FAILED"), 100, token.ClosedByEvent, "Job.Failed",
		},
		"a function, with a delay": {
			told, `{"kind":"batch-job","params":{"jobName":"w","jobQueue":"q","jobDefinition":"d","delay":5}}`, noEvent, 5, token.ClosedByReconcile, "",
		},
		"DMS, no event":             {dmsTask, `{}`, noEvent, 60, token.ClosedByReconcile, ""},
		"Step Functions, no event":  {execution, `{}`, noEvent, 60, token.ClosedByReconcile, ""},
		"Transcribe, no event":      {transcription, `{}`, noEvent, 60, token.ClosedByReconcile, ""},
		"the event":                 {batchJob, `{}`, "events:" + batchEvent("10", "{job_key}", "SUCCEEDED"), 10, token.ClosedByEvent, ""},
		"the event, a failure":      {batchJob, `{}`, "events:" + batchEvent("10", "{job_key}", "FAILED"), 10, token.ClosedByEvent, "Job.Failed"},
		"the event after its start": {batchJob, `{}`, "events:" + batchEvent("0", "{job_key}", "SUCCEEDED"), 0, token.ClosedByEvent, ""},
		"the event twice": {
			batchJob, `{}`, "events:" + batchEvent("10", "{job_key}", "SUCCEEDED") + batchEvent("20", "{job_key}", "FAILED"), 10, token.ClosedByEvent, "",
		},
		"the event of a task, whose time is when it comes": {dmsTask, `{}`, "events:" + dmsEvent("10"), 10, token.ClosedByEvent, ""},
		"the event too late":         {batchJob, `{}`, "events:" + batchEvent("100", "{job_key}", "FAILED"), 60, token.ClosedByReconcile, ""},
		"an event that is not final": {batchJob, `{}`, "events:" + batchEvent("10", "{job_key}", "RUNNING"), 60, token.ClosedByReconcile, ""},
		"the event of another job": {
			batchJob, `{}`, "events:" + batchEvent("10", "arn:aws:batch:us-east-1:123456789012:job/x", "FAILED"), 60, token.ClosedByReconcile, "",
		},
		// rules: J-21
		"a delay that is not a number":   {batchJob, `{"delay":"soon"}`, noEvent, 0, token.ClosedBySubmit, "InvalidArgument"},
		"the tutorial's job, told":       {told, `{"kind":"simulated","params":{"delay":5}}`, noEvent, 5, token.ClosedByReconcile, ""},
		"a function, told":               {told, batchStart, noEvent, 60, token.ClosedByReconcile, ""},
		"a function, wrong params":       {told, `{"kind":"batch-job","params":{"jobName":"w"}}`, noEvent, 0, token.ClosedBySubmit, "InvalidArgument"},
		"a function, unknown kind":       {told, `{"kind":"bach-job","params":{}}`, noEvent, 0, token.ClosedBySubmit, "InvalidArgument"},
		"a function, no kind":            {asked, `{"jobName":"w","jobQueue":"q","jobDefinition":"d"}`, noEvent, 0, "", "InvalidArgument"},
		"a function, params and no kind": {told, `{"params":{"jobName":"w"}}`, noEvent, 0, token.ClosedBySubmit, "InvalidArgument"},
		"a callback of StartJob": {
			told, `{"kind":"callback"}`, "answers:\n  - {step: Work, afterSeconds: 10, by: callback, output: {}}", 10, token.ClosedByCallback, "",
		},
		"started, and asked for":    {asked, batchStart, noEvent, 70, "", ""},
		"the tutorial's job, asked": {asked, `{"kind":"simulated"}`, noEvent, 70, "", ""},
		"an external task token":    {asked, `{"kind":"batch-job","params":{"jobName":"w"},"taskToken":"theirs"}`, noEvent, 0, "", "InvalidArgument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runJob(t, simulated, tt.flow, tt.input, tt.script)
			if r.took() != time.Duration(tt.seconds)*time.Second || r.closedBy() != tt.by || r.state.Error != tt.failed {
				t.Errorf("took %s, closed by %q, error %q (%s); want %ds, %q, %q",
					r.took(), r.closedBy(), r.state.Error, r.state.Cause, tt.seconds, tt.by, tt.failed)
			}
			if got := r.state.Output.Get("job_status").Text(); tt.flow == asked && tt.failed == "" && got != "success" {
				t.Errorf("asked for after %d s the job is %q", tt.seconds, got)
			}
		})
	}
}

// The same start of an execution is the same job in each run of it.
func TestASimulatedJobHasTheSameIDInEachRun(t *testing.T) {
	t.Parallel()
	first, second := runJob(t, simulated, batchJob, `{}`, ""), runJob(t, simulated, batchJob, `{}`, "")
	if id := first.state.Output.Get("job_id").Text(); id == "" || id != second.state.Output.Get("job_id").Text() {
		t.Errorf("outputs %s and %s", first.state.Output.JSON(), second.state.Output.JSON())
	}
}

// A kind that no task names has no runner.
func TestJobWithoutProviderFails(t *testing.T) {
	t.Parallel()
	r := runJob(t, nil, told, batchStart, "")
	if r.state.Error != "batch.NotProvided" ||
		!strings.Contains(r.state.Cause, "--task 'batch:SubmitJob=simulated'") {
		t.Errorf("error %q: %s", r.state.Error, r.state.Cause)
	}
}

func TestActionsAreResolved(t *testing.T) {
	t.Parallel()
	flow, problems := fdl.Parse([]byte(batchJob))
	if flow == nil {
		t.Fatal(problems)
	}
	for providers, known := range map[string]bool{
		"": false, "batch:SubmitJob=simulated": true, "batch:SubmitJob=aws": true, "dms:StartReplicationTask=aws": false,
	} {
		definitions := map[string]string{}
		if name, who, ok := strings.Cut(providers, "="); ok {
			definitions[name] = who
		}
		tasks, err := local.NewFunctions(&local.Clock{}, definitions)
		if err != nil {
			t.Fatal(err)
		}
		missing := tasks.Resolve(flow)
		if (len(missing) == 0) != known || tasks.NeedAWS() != strings.HasSuffix(providers, "=aws") {
			t.Errorf("%q: missing %v, needs AWS %v", providers, missing, tasks.NeedAWS())
		}
		if len(missing) > 0 && !strings.Contains(missing[0].Error(), `step Work: no runner for action "batch:SubmitJob"`) {
			t.Errorf("%q: %v", providers, missing[0])
		}
	}
	if _, err := local.NewFunctions(&local.Clock{}, map[string]string{"batch:SubmitJob": "exec:true"}); err == nil {
		t.Error("a command stands behind an action")
	}
}

// inForeach waits for the job of an iteration.
const inForeach = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    inputMappings: [{target: list, source: [a]}, {target: delay, source: $input.delay}]
    steps:
      - type: task
        name: Work
        action: batch:SubmitJob
        pattern: sync
        serviceParams: {jobName: w, jobQueue: q, jobDefinition: d, delay: $.delay}
        inputMappings: [{target: delay, source: $input.delay}]
`

// systemAt is a system of the store with simulated jobs, in virtual time from that instant.
func systemAt(t *testing.T, store local.Store, at time.Time, observer engine.Observer) *local.System {
	t.Helper()
	clock := local.NewVirtualClock(at)
	tasks, err := local.NewFunctions(clock, simulated)
	if err != nil {
		t.Fatal(err)
	}
	return local.New(local.Config{Store: store, Clock: clock, Functions: tasks, Observer: observer})
}

// stopper ends a run once a job was submitted.
type stopper struct{ context.CancelFunc }

func (stopper) Calling(machine.Call, time.Time) {}

func (s stopper) Committed(_ engine.ID, _ machine.State, events []machine.Event) {
	if slices.ContainsFunc(events, func(e machine.Event) bool { return e.Type == machine.TaskSubmitted }) {
		s.CancelFunc()
	}
}

// runUntilSubmitted runs an execution flow/run until its job was started.
func runUntilSubmitted(t *testing.T, store local.Store, at time.Time, flow, input string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := systemAt(t, store, at, stopper{cancel})
	put, err := s.Client.PutFlow(ctx, "flow", []byte(flow))
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.ParseJSON([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(ctx, engine.StartRequest{Flow: put, Execution: "run", Input: v}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v", err)
	}
}

// TestARestartKeepsTheDelay: a simulated job ends after its delay also if the process is another
// one then.
func TestARestartKeepsTheDelay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ flow, input string }{
		"an action":       {batchJob, `{"delay":200}`},
		"a named job":     {dmsTask, `{"delay":200}`},
		"a function":      {told, `{"kind":"batch-job","params":{"jobName":"w","jobQueue":"q","jobDefinition":"d","delay":200}}`},
		"a large input":   {batchJob, `{"delay":200,"text":"` + strings.Repeat("long ", 2_000) + `"}`},
		"in an iteration": {inForeach, `{"delay":200}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, start := &store.Memory{}, time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
			runUntilSubmitted(t, store, start, tt.flow, tt.input)
			after := systemAt(t, store, start.Add(30*time.Second), nil)
			if err := after.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			state, err := after.Client.Describe(t.Context(), engine.NewID("flow", "run"))
			if took := state.At.Sub(start); err != nil || took != 200*time.Second || state.Status != machine.StatusSucceeded {
				t.Errorf("took %s, status %s (%s), error %v; want 200s", took, state.Status, state.Cause, err)
			}
		})
	}
}
