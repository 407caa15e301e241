package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
)

// otherAccount is an account of the emulator in which the standard stack starts and describes jobs.
const otherAccount = "210987654321"

// jobRoleOf is the name of the role in that account for the stack of that name.
func jobRoleOf(name string) string { return name + "-jobs" }

func inOtherAccount(config aws.Config) aws.Config {
	config = config.Copy()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: otherAccount, SecretAccessKey: "test"}, nil
	})
	return config
}

// newJobRole makes the role, which the principals of the emulator's own account assume with the
// external id of the stack.
func newJobRole(ctx context.Context, config aws.Config, name string) error {
	client, role := iam.NewFromConfig(inOtherAccount(config)), jobRoleOf(name)
	_, err := client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + emulator.Account + `:root"},
		"Action":"sts:AssumeRole","Condition":{"StringLike":{"sts:ExternalId":"arn:aws:cloudformation:*:stack/` + name + `/*"}}}]}`)})
	if err != nil {
		return err
	}
	_, err = client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &role, PolicyName: &role, PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["transcribe:*","s3:GetObject"],"Resource":"*"}]}`)})
	return err
}

// A job of another account is started there, and its event, which the emulator does not forward
// between accounts, is a hint that the description with the role decides. The job has no such name
// in the stack's account.
func TestAFlowWaitsForAJobOfAnotherAccount(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	// The emulator has one bucket for the outputs of all accounts. Made by the other account's job,
	// it would be closed to the jobs of this one.
	put(t, emulator.Config(t), "ministack-transcribe-output", "")
	bucket := s.name + "-elsewhere"
	put(t, inOtherAccount(emulator.Config(t)), bucket, "")
	put(t, inOtherAccount(emulator.Config(t)), bucket+"/call.wav", "sound")
	input := map[string]string{"recording": "s3://" + bucket + "/call.wav", "account": otherAccount}
	s.started(t, "elsewhere", "first", input)
	job := s.submittedJob(t, "elsewhere/first")
	if job.Account != otherAccount || job.Kind != "transcribe-job" {
		t.Fatalf("started %+v", job)
	}
	asks := trial{T: t, stack: s}
	status := asks.described(job)
	event, want := "FAILED", report{Status: "Succeeded", Output: json.RawMessage(fmt.Sprintf(`{"job":%q}`, job.ID))}
	if status.Status == jobs.StatusFailed { // the emulator's services do not share what accounts own
		event, want = "COMPLETED", report{Status: "Failed", Error: jobs.ErrorFailed}
	}
	s.put(t, "JobQueue", fmt.Sprintf(`{"version":"0","id":"e-1","detail-type":"Transcribe Job State Change","source":"aws.transcribe","account":%q,"time":%q,`+
		`"region":%q,"resources":[],"detail":{"TranscriptionJobName":%q,"TranscriptionJobStatus":%q}}`,
		otherAccount, time.Now().UTC().Format(time.RFC3339), emulator.Region, job.ID, event))
	s.wantEnd(t, "elsewhere", "first", input, want, "event")
	job.Account = ""
	if _, err := asks.status(job); err == nil || !strings.Contains(err.Error(), jobs.ErrorNotFound) {
		t.Errorf("in the stack's own account: %v", err)
	}
}

// described returns how the job ended.
func (x trial) described(job jobs.StartResult) jobs.StatusResult {
	x.Helper()
	for again := time.NewTicker(look); ; {
		status, err := x.status(job)
		if err != nil {
			x.Fatal(err)
		}
		if status.Status != jobs.StatusRunning {
			return status
		}
		select {
		case <-again.C:
		case <-x.Context().Done():
			x.Fatal("it never ends")
		}
	}
}

func (x trial) status(job jobs.StartResult) (status jobs.StatusResult, err error) {
	request, err := json.Marshal(job)
	if err != nil {
		return status, err
	}
	response, err := x.ask("GetJobStatus", string(request))
	if err != nil {
		return status, err
	}
	return status, json.Unmarshal(response, &status)
}

// An account that is not in JobAccounts has no jobs of the stack.
func TestAFlowStartsNothingInAnUnlistedAccount(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	input := `{"recording":"s3://b/k","account":"111122223333"}`
	got := s.do(t, "run", jobFlow("elsewhere"), "--name", "unlisted", "--input", input, "--json")
	if got.exit != view.ExitFailed || !strings.Contains(got.stdout, jobs.ErrorInvalid) || !strings.Contains(got.stdout, "JobAccounts of the stack") {
		t.Errorf("%+v", got)
	}
}
