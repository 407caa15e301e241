package stack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// started starts a flow of testdata/jobs and does not wait for it.
func (s stack) started(t *testing.T, flow, name string, input map[string]string) {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, view.ExitSucceeded, flow+"/"+name, "start", jobFlow(flow), "--name", name, "--input", string(text))
}

func jobFlow(flow string) string { return "pkg/aws/stack/testdata/jobs/" + flow + ".yaml" }

// wantEnd waits for an execution of ours to end, and looks at how, and at who
// closed the token of its step.
func (s stack) wantEnd(t *testing.T, flow, name string, input map[string]string, want report, closedBy string) {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	got := s.do(t, "run", jobFlow(flow), "--name", name, "--input", string(text), "--json")
	var r report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if r.Status != want.Status || r.Error != want.Error || (want.Output != nil && !sameJSON(t, string(r.Output), string(want.Output))) {
		t.Errorf("%s with error %q and output %s; want %s, %q, %s", r.Status, r.Error, r.Output, want.Status, want.Error, want.Output)
	}
	closings := 0
	for _, e := range r.History {
		if (e.Type == "TaskSucceeded" || e.Type == "TaskFailed") && strings.Contains(compact(t, e.Detail), `"closedBy":"`+closedBy+`"`) {
			closings++
		}
	}
	if closings != 1 {
		t.Errorf("%d steps were closed by %s; want 1: %+v", closings, closedBy, r.History)
	}
}

// A flow goes on when its replication task stops, or fails when that stopped for
// a bad reason.
func TestAFlowWaitsForAReplication(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	for reason, want := range map[string]report{
		"FULL_LOAD_ONLY_FINISHED": {Status: "Succeeded"}, "FATAL_ERROR": {Status: "Failed", Error: "Job.Failed"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			job := newReplication(t)
			input := map[string]string{"task": job.arn}
			s.started(t, "replication", reason, input)
			job.awaitStart(t)
			job.stop(t, reason)
			s.tell(t, job.stopped(t, "durable-callback", reason))
			if want.Status == "Succeeded" {
				want.Output = json.RawMessage(fmt.Sprintf(
					`{"copy":{"job_id":%q,"job_key":%[1]q,"kind":"dms-task","status":"stopped","stop_reason":%q}}`, job.arn, reason))
			}
			s.wantEnd(t, "replication", reason, input, want, "event")
		})
	}
}

// The stop of the task has no event; a poll finds it.
func TestAFlowLooksAtItsReplication(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	job := newReplication(t)
	input := map[string]string{"task": job.arn}
	s.started(t, "replication", "untold", input)
	job.awaitStart(t)
	job.stop(t, "NORMAL")
	s.wantEnd(t, "replication", "untold", input, report{Status: "Succeeded"}, "reconcile")
}

// An event that users send for a source of their own, to a bus of their own, goes the way of a
// service's: bus, rule, queue. It says that something ended, and the service says how.
func TestAnEventOfOnesOwnSource(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	job := newReplication(t)
	input := map[string]string{"task": job.arn}
	s.started(t, "replication", "own", input)
	job.awaitStart(t)
	job.stop(t, "NORMAL")
	answer, err := eventbridge.NewFromConfig(emulator.Config(t)).PutEvents(t.Context(), &eventbridge.PutEventsInput{
		Entries: []types.PutEventsRequestEntry{{
			EventBusName: aws.String(busOf(s.name)), Source: aws.String("jobs." + s.name), Resources: []string{job.arn},
			DetailType: aws.String("DMS Replication Task State Change"),
			Detail:     aws.String(`{"eventType":"REPLICATION_TASK_FAILED","detailMessage":"Replication task has failed."}`),
		}},
	})
	if err != nil || answer.FailedEntryCount > 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
	s.wantEnd(t, "replication", "own", input, report{Status: "Succeeded"}, "event")
}

// A branch fails while another waits for a person: the stop reaches that branch, and the flow ends
// with the error of the first.
func TestABranchFails(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	got := s.do(t, "run", "events/orders/flow.yaml", "--name", "no-items", "--input", `{"order":"A-20"}`, "--json")
	var r report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if got.exit != view.ExitFailed || r.Status != "Failed" || r.Error != machine.ErrorInvalidArgument {
		t.Errorf("exit %d, %s with error %q; want %d, Failed, %s", got.exit, r.Status, r.Error, view.ExitFailed, machine.ErrorInvalidArgument)
	}
	if open := s.do(t, "tokens", "list", "--json"); strings.Contains(open.stdout, "no-items") {
		t.Errorf("a token is open after the end of its execution: %s", open.stdout)
	}
}

// A third party that a flow tells a URL posts to it.
func TestAFlowWaitsForACallback(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	person := newReviewer(t)
	s.newFunction(t, "hand", filepath.Join("testdata", "jobs", "hand.mjs"))
	input := map[string]string{"reviewer": person.server.URL}
	s.started(t, "approval", "first", input)
	if status, answer := s.post(t, person.asked(t), `{"approved":true}`); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
	s.wantEnd(t, "approval", "first", input, report{Status: "Succeeded", Output: json.RawMessage(`{"approved":true}`)}, "callback")
}

// The emulator's own services tell of their jobs: Transcribe and Step Functions
// publish to the event bus, a rule catches it, without the help of this test.
func TestAFlowWaitsForATranscription(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	bucket := s.name + "-recordings"
	putObject(t, bucket, "call.wav")
	recording := "s3://" + bucket + "/call.wav"
	for name, tt := range map[string]struct {
		recording string
		want      report
	}{
		"heard":        {recording, report{Status: "Succeeded"}},
		"no recording": {recording + ".lost", report{Status: "Failed", Error: "Job.Failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input, execution := map[string]string{"recording": tt.recording}, strings.ReplaceAll(name, " ", "-")
			s.started(t, "recording", execution, input)
			s.wantEnd(t, "recording", execution, input, tt.want, "event")
		})
	}
}

func TestAFlowWaitsForAStateMachine(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	for name, tt := range map[string]struct {
		state string
		want  report
	}{
		"succeeds": {`{"Type":"Pass","Result":{"bill":7},"ResultPath":"$.billed","End":true}`, report{Status: "Succeeded"}},
		"fails":    {`{"Type":"Fail","Error":"NoMoney","Cause":"the card is empty"}`, report{Status: "Failed", Error: "Job.Failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := sfn.NewFromConfig(emulator.Config(t))
			made, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
				Name: aws.String(s.name + "-" + name), RoleArn: aws.String(s.newRole(t, name, "states")),
				Definition: aws.String(`{"StartAt":"A","States":{"A":` + tt.state + `}}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			input := map[string]string{"machine": *made.StateMachineArn, "customer": "Kim"}
			s.started(t, "execution", name, input)
			s.wantEnd(t, "execution", name, input, tt.want, "event")
		})
	}
}
