package disk_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const (
	waitsForDMS = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Load\n" +
		"    resourceArn: arn:aws:dms:us-east-1:123456789012:task:LOAD\n    pattern: sync\n"
	waitsForBatch = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Load\n    action: batch:SubmitJob\n    pattern: sync\n" +
		"    serviceParams: {jobName: w, jobQueue: q, jobDefinition: d}\n"
	waitsForTutorial = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Load\n    resourceArn: acs:fc:::services/s/functions/StartJob\n" +
		"    pattern: waitForCallback\n    inputMappings:\n      - {target: kind, source: simulated}\n      - {target: params, source: $input}\n" +
		"      - {target: token, source: $context.task.token}\n"
	loadStopped = `{"source":"aws.dms","detail-type":"DMS Replication Task State Change","account":"123456789012","region":"us-east-1",` +
		`"time":"2026-01-31T10:00:40Z","resources":["arn:aws:dms:us-east-1:123456789012:task:LOAD"],` +
		`"detail":{"eventType":"REPLICATION_TASK_STOPPED","detailMessage":"Stop Reason NORMAL"}}`
)

// beginWithJobs is a process like [begin] whose jobs are simulated.
func beginWithJobs(t *testing.T, dir string, after time.Duration) *process {
	t.Helper()
	p := &process{clock: local.NewVirtualClock(epoch.Add(after)), end: func() {}}
	p.store = openDisk(t, dir)
	tasks, err := local.NewFunctions(p.clock, simulatedActions())
	if err != nil {
		t.Fatal(err)
	}
	p.System = local.New(local.Config{Store: p.store, Clock: p.clock, Functions: tasks, Observer: p, Workers: 2})
	return p
}

// A process that ends while a job runs leaves the wait to the next one, and
// that to one more. Who takes over asks for the job, unless its event comes.
func TestARestartWhileAJobRuns(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tt := range map[string]struct {
		flow, event string
		restart     time.Duration // of the last process
		took        time.Duration
		by          token.Closer
	}{
		"soon after":                 {waitsForDMS, "", 10 * second, 60 * second, token.ClosedByReconcile},
		"when it has ended":          {waitsForDMS, "", 600 * second, 600 * second, token.ClosedByReconcile},
		"its event comes":            {waitsForDMS, loadStopped, 40 * second, 40 * second, token.ClosedByEvent},
		"a job with an invented key": {waitsForBatch, "", 10 * second, 60 * second, token.ClosedByReconcile},
		"a job without events":       {waitsForTutorial, "", 10 * second, 100 * second, token.ClosedByReconcile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			first := beginWithJobs(t, dir, 0)
			put, err := first.store.Put(t.Context(), "flow", []byte(tt.flow))
			if err != nil {
				t.Fatal(err)
			}
			input := value.Object(value.Member{Key: "delay", Value: value.Int(100)})
			if _, err := first.Start(t.Context(), engine.StartRequest{Flow: put, Execution: "one", Input: input}); err != nil {
				t.Fatal(err)
			}
			first.runUntil(t, func(state machine.State) bool { return state.Waiting != nil && state.Waiting.Submitted() })
			beginWithJobs(t, dir, 5*second).shut(t)
			last := beginWithJobs(t, dir, tt.restart)
			if err := last.TakeOver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tt.event != "" {
				if _, _, err := last.Observe(t.Context(), []byte(tt.event)); err != nil {
					t.Fatal(err)
				}
			}
			last.runToEnd(t)
			last.want(t, machine.StatusSucceeded, "", tt.took)
			if got := closerOf(t, last); got != tt.by {
				t.Errorf("closed by %s, want %s", got, tt.by)
			}
		})
	}
}

// closerOf is who closed the token of the one execution.
func closerOf(t *testing.T, p *process) token.Closer {
	t.Helper()
	history, err := p.Client.History(t.Context(), engine.NewID("flow", "one"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history {
		if e.ClosedBy != "" {
			return e.ClosedBy
		}
	}
	return ""
}
