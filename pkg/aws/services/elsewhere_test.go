package services_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

const otherAccount, externalID = "210987654321", "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1"

// rootOf is the configuration of clients of another account of the emulator.
func rootOf(t *testing.T, account string) aws.Config {
	t.Helper()
	config := emulator.Config(t).Copy()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: account, SecretAccessKey: "test"}, nil
	})
	return config
}

// jobRole makes a role of the other account, which the emulator's own account may assume with the
// external id, and returns its ARN as [services.Elsewhere] expects it.
func jobRole(t *testing.T) string {
	t.Helper()
	return jobRoleThatMay(t, `["transcribe:*","s3:GetObject"]`)
}

// jobRoleThatMay makes such a role with these actions.
func jobRoleThatMay(t *testing.T, actions string) string {
	t.Helper()
	client, name := iam.NewFromConfig(rootOf(t, otherAccount)), "jobs-"+rand.Text()
	_, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + account + `:root"},"Action":"sts:AssumeRole",
		"Condition":{"StringEquals":{"sts:ExternalId":"` + externalID + `"}}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &name, PolicyName: &name, PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":` + actions + `,"Resource":"*"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	return "arn:aws:iam::ACCOUNT:role/" + name
}

// elsewhereWith returns the services of the other account, of which sessions have at most these
// rights.
func elsewhereWith(t *testing.T, role string, only services.Rights) resume.Services {
	t.Helper()
	there, ok := services.Elsewhere(emulator.Config(t), services.Role{
		Accounts: []string{otherAccount}, ARN: role, ExternalID: externalID, Only: only,
	})(otherAccount)
	if !ok {
		t.Fatal("the account has no services")
	}
	return there
}

// transcription returns a kind with the params of a start.
func transcription(t *testing.T) (kind jobs.Kind, params []byte) {
	t.Helper()
	kind, _ = jobs.Find("transcribe-job")
	params, err := kind.StartParams([]byte(`{"LanguageCode":"en-US","Media":{"MediaFileUri":"s3://bucket/key.wav"}}`), rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	return kind, params
}

// TestElsewhere: a job of another account is started and described there, and is unknown in the own
// account.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	there := elsewhereWith(t, jobRole(t), nil)
	kind, params := transcription(t)
	response, err := there.Start(t.Context(), kind, params)
	if err != nil {
		t.Fatal(err)
	}
	started, err := kind.ReadStart(otherAccount, emulator.Region, params, response)
	if err != nil {
		t.Fatal(err)
	}
	description, err := kind.DescribeParams(started.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.Describe(t.Context(), kind, description); err != nil {
		t.Errorf("in the other account: %v", err)
	}
	_, err = services.New(emulator.Config(t)).Describe(t.Context(), kind, description)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || !kind.Unknown(strings.TrimPrefix(refused.Name, "transcribe.")) {
		t.Errorf("in the own account: %v", err)
	}
}

// TestElsewhereRefused: the account's role demands the external id of the stack, and an account
// that is not listed has no services.
func TestElsewhereRefused(t *testing.T) {
	t.Parallel()
	role := jobRole(t)
	kind, _ := jobs.Find("transcribe-job")
	there, _ := services.Elsewhere(emulator.Config(t), services.Role{Accounts: []string{otherAccount}, ARN: role, ExternalID: "of another stack"})(otherAccount)
	_, err := there.Describe(t.Context(), kind, []byte(`{"TranscriptionJobName":"n"}`))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "transcribe.AccessDenied" || refused.Again {
		t.Errorf("with another external id: %v", err)
	}
	if _, ok := services.Elsewhere(emulator.Config(t), services.Role{Accounts: []string{otherAccount}, ARN: role, ExternalID: externalID})("111122223333"); ok {
		t.Error("an account that is not listed has services")
	}
}

// machineElsewhere makes a state machine of the other account, whose executions take an hour.
func machineElsewhere(t *testing.T) (arn string) {
	t.Helper()
	role, err := iam.NewFromConfig(rootOf(t, otherAccount)).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("r" + rand.Text()), AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"states.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := sfn.NewFromConfig(rootOf(t, otherAccount)).CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m" + rand.Text()), RoleArn: role.Role.Arn,
		Definition: aws.String(`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":3600,"End":true}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.StateMachineArn
}

// TestElsewhereOnly: a session has the rights of its use alone, of all that the role has.
func TestElsewhereOnly(t *testing.T) {
	t.Parallel()
	role := jobRoleThatMay(t, `"*"`)
	running := elsewhereWith(t, role, nil)
	machine := machineElsewhere(t)
	kind, _ := jobs.Find("sfn-execution")
	params, err := kind.StartParams([]byte(`{"stateMachineArn":"`+machine+`"}`), rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	response, err := running.Start(t.Context(), kind, params)
	if err != nil {
		t.Fatal(err)
	}
	started, err := kind.ReadStart(otherAccount, emulator.Region, params, response)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		only  services.Rights
		stops bool
	}{"GetJobStatus": {services.Describing, false}, "JobEvents": {services.DescribingAndStopping, true}} {
		there := elsewhereWith(t, role, row.only)
		if _, err := there.Start(t.Context(), kind, params); codeOf(kind, err) != "AccessDeniedException" {
			t.Errorf("%s starts: %v", name, err)
		}
		description, _ := kind.DescribeParams(started.ID)
		if _, err := there.Describe(t.Context(), kind, description); err != nil {
			t.Errorf("%s describes: %v", name, err)
		}
		stop, _ := kind.StopParams(started.ID)
		if err := there.Stop(t.Context(), kind, stop); (err == nil) != row.stops || err != nil && codeOf(kind, err) != "AccessDeniedException" {
			t.Errorf("%s stops: %v", name, err)
		}
		batch, _ := jobs.Find("batch-job") // of a session of its own
		if _, err := there.Describe(t.Context(), batch, []byte(`{"jobs":["none"]}`)); err != nil {
			t.Errorf("%s describes another kind: %v", name, err)
		}
	}
}

// TestSessionPoliciesFit: the policy of a session has the rights of a kind and at most the length
// that STS accepts. None has a right to start.
func TestSessionPoliciesFit(t *testing.T) {
	t.Parallel()
	const longest = 2048
	for _, kind := range jobs.Kinds() {
		if !kind.HasEnd() || kind.DescribeOp == "" {
			continue
		}
		policy := services.SessionPolicy(services.DescribingAndStopping(kind))
		if len(policy) > longest || !strings.Contains(policy, kind.DescribeStatements("1", "eu-west-1")[0].Action[0]) {
			t.Errorf("%s: %d characters: %s", kind.Name, len(policy), policy)
		}
		for _, statement := range kind.StartStatements("1", "eu-west-1") {
			for _, action := range statement.Action {
				if strings.HasSuffix(action, ":"+kind.StartOp) && strings.Contains(policy, `"`+action+`"`) {
					t.Errorf("%s: a session that describes may %s", kind.Name, action)
				}
			}
		}
	}
}
