package stack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// stopsJob is a flow whose step starts an execution of Step Functions, and stops it with its own.
const stopsJob = `version: v1
type: flow
steps:
  - type: task
    name: Job
    action: sfn:StartExecution
    pattern: sync
    stopJob: true
    timeoutSeconds: 3600
    serviceParams: {StateMachineArn: $.machine}
`

// A stoppedFlow is a flow that was stopped while its job runs.
type stoppedFlow struct {
	stack  stack
	client *sfn.Client
	job    jobs.StartResult
}

// stopFlow stops an execution that waits for an execution of a new state machine of that name,
// which ends in an hour by itself.
func (s stack) stopFlow(t *testing.T, machine, flow string) stoppedFlow {
	t.Helper()
	client := sfn.NewFromConfig(emulator.Config(t))
	made, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: &machine, RoleArn: aws.String(s.newRole(t, flow, "states")),
		Definition: aws.String(`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":3600,"End":true}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	run := s.follow(t, "run", writeFlow(t, flow, stopsJob), "--name", "one", "--input", fmt.Sprintf(`{"machine":%q}`, *made.StateMachineArn))
	run.await("Job waits for its job")
	stopped := stoppedFlow{stack: s, client: client, job: s.submittedJob(t, flow+"/one")}
	if got := stopped.status(t); got != types.ExecutionStatusRunning {
		t.Fatalf("the job is %s", got)
	}
	s.check(t, view.ExitSucceeded, "", "stop", flow+"/one")
	if exit := run.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, "Stopped", "show", flow+"/one")
	return stopped
}

func (f stoppedFlow) status(t *testing.T) types.ExecutionStatus {
	t.Helper()
	described, err := f.client.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &f.job.ID})
	if err != nil {
		t.Fatal(err)
	}
	return described.Status
}

// await waits until the job has the status.
func (f stoppedFlow) await(t *testing.T, want types.ExecutionStatus) {
	t.Helper()
	soon(t, "the stop of the job", func() (_ struct{}, ok bool) { return struct{}{}, f.status(t) == want })
}

// The job of a step with `stopJob: true` is stopped after its execution was, with the rights that
// `jobs iam` prints as stop.
func TestAStoppedExecutionStopsItsJob(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	s.stopFlow(t, stoppable(s.name), "stops-job").await(t, types.ExecutionStatusAborted)
}

// Without the right the execution stops all the same. The refusal is logged and counted, and a
// later poll stops the job once the right is there.
func TestAStopWithoutTheRight(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	stopped := s.stopFlow(t, s.name+"-kept", "stops-nothing")
	asks := trial{T: t, stack: s, logs: cloudwatchlogs.NewFromConfig(emulator.Config(t)), began: time.Now()}
	refused := []string{"stop job " + stopped.job.Key, "AccessDenied", "is not authorized to perform: states:StopExecution"}
	soon(t, "the log of the refusal", func() (_ struct{}, ok bool) {
		return struct{}{}, asks.line("JobEvents", refused...) != "" && asks.line("JobEvents", `"JobStopFailures":`) != ""
	})
	if got := stopped.status(t); got != types.ExecutionStatusRunning {
		t.Errorf("the job is %s", got)
	}
	_, err := iam.NewFromConfig(emulator.Config(t)).PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
		RoleName: aws.String(s.resources["JobEventsRole"]), PolicyName: aws.String("stops"), PolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"states:StopExecution","Resource":"` + stopped.job.ID + `"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	stopped.poll(t)
	stopped.await(t, types.ExecutionStatusAborted)
}

// poll sends the second poll of the job now. The stack's own comes two minutes after the first.
func (f stoppedFlow) poll(t *testing.T) {
	t.Helper()
	handle := f.job.ID[strings.LastIndex(f.job.ID, ":")+1:] // the job is named after its token
	second := resume.Poll{
		Key:    jobs.Key{Kind: f.job.Kind, Account: emulator.Account, Region: emulator.Region, Name: f.job.Key},
		Waiter: resume.Waiter{Handle: handle, JobID: f.job.ID, StopJob: true}, Number: 2, Due: time.Now(),
	}
	polls := &sqs.Polls{Target: sqs.Queue{Client: sqs.NewClient(emulator.Config(t)), URL: f.stack.resources["PollQueue"]}, Now: time.Now}
	if err := polls.Send(t.Context(), second.Sign(f.stack.keys(t))); err != nil {
		t.Fatal(err)
	}
}
