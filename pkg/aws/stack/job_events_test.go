package stack_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// submitsBatch is a flow whose step waits for a job of Batch.
const submitsBatch = `version: v1
type: flow
steps:
  - {type: task, name: Job, action: "batch:SubmitJob", pattern: sync, serviceParams: {jobName: n, jobQueue: q, jobDefinition: d}}
`

// batchFailed is the event of a job that failed.
func batchFailed(started jobs.StartResult, reason string) string {
	return fmt.Sprintf(`{"version":"0","id":"e-1","detail-type":"Batch Job State Change","source":"aws.batch","account":%q,"time":%q,"region":%q,`+
		`"resources":[%q],"detail":{"jobArn":%q,"jobId":%q,"jobName":"n","status":"FAILED","statusReason":%q}}`,
		emulator.Account, time.Now().UTC().Format(time.RFC3339), emulator.Region, started.Key, started.Key, started.ID, reason)
}

// bindings is held while a wait has no binding to its job, and while a test rearms all executions
// of the standard stack, which binds it again.
var bindings sync.Mutex

// unbound is a wait whose binding to its job is lost.
type unbound struct {
	*testing.T
	release func()
	stack   stack
	waits   *dynamo.Waits
	key     jobs.Key
	waiter  resume.Waiter
}

// unbind loses the binding of the one wait for a job.
func (s stack) unbind(t *testing.T, started jobs.StartResult) unbound {
	t.Helper()
	bindings.Lock()
	u := unbound{
		T: t, release: sync.OnceFunc(bindings.Unlock), stack: s,
		waits: dynamo.NewWaits(dynamodb.NewFromConfig(emulator.Config(t)), s.resources["WaitsTable"], time.Now),
		key:   jobs.Key{Kind: started.Kind, Account: emulator.Account, Region: emulator.Region, Name: started.Key},
	}
	t.Cleanup(u.release)
	record, err := u.waits.JobRecord(t.Context(), u.key)
	if err != nil || len(record.Waiters) != 1 {
		t.Fatalf("the job has %+v, error %v; want one waiter", record, err)
	}
	u.waiter = record.Waiters[0]
	if err := u.waits.Release(t.Context(), u.key, []string{u.waiter.Handle}); err != nil {
		t.Fatal(err)
	}
	return u
}

// bind binds the wait again.
func (u unbound) bind() {
	u.Helper()
	defer u.release()
	if _, err := u.waits.Bind(u.Context(), u.key, u.waiter, time.Now().Add(time.Hour)); err != nil {
		u.Fatal(err)
	}
}

func (u unbound) isListed() bool {
	u.Helper()
	return strings.Contains(u.stack.do(u.T, "job-events", "list", "--limit", "0").stdout, u.key.ID()+"  ")
}

// A job event that matches no wait is listed until one is bound to the job. Its replay then ends
// the wait, once.
func TestAJobEventIsReplayed(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	run := s.follow(t, "run", writeFlow(t, "unmatched", submitsBatch), "--name", "one")
	run.await("Job waits for its job")
	started := s.submittedJob(t, "unmatched/one")
	u := s.unbind(t, started)
	id, reason := u.key.ID(), "ended before "+s.name
	s.check(t, view.ExitUsage, "no job event is kept with this id", "job-events", "replay", id)
	s.put(t, "JobQueue", batchFailed(started, reason))
	soon(t, "the event is listed", func() (_ struct{}, ok bool) { return struct{}{}, u.isListed() })
	s.check(t, view.ExitSucceeded, "parked: no token waits for the job", "job-events", "replay", id)
	if u.bind(); u.isListed() {
		t.Error("the event is listed, and the job has a waiter")
	}
	s.check(t, view.ExitSucceeded, "job       Job: "+started.Kind+" "+started.ID+"\n", "show", "unmatched/one")
	s.check(t, view.ExitSucceeded, "accepted", "job-events", "replay", id)
	s.check(t, view.ExitSucceeded, "", "job-events", "replay", id) // accepted too, or parked once the wait has ended
	if exit := run.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, reason, "show", "unmatched/one")
	history := s.do(t, "history", "unmatched/one", "--json").stdout
	if got := strings.Count(history, `"closedBy": "event"`); got != 1 {
		t.Errorf("%d events ended the step, want 1: %s", got, history)
	}
	s.logLine(t, `"job":"`+started.Key+`","replay":true`)
	audited := soon(t, "the audit has the replay", func() (line string, ok bool) {
		for line := range strings.Lines(s.log(t, "Api")) {
			if strings.Contains(line, `"object":"/job-events/replay `+id+`"`) && strings.Contains(line, `"status":200`) {
				return line, true
			}
		}
		return "", false
	})
	if !strings.Contains(audited, `"operation":"POST /job-events/replay"`) || !strings.Contains(audited, `"caller":"arn:`) {
		t.Errorf("the line is %s", audited)
	}
}
