package services_test

import (
	"crypto/rand"
	"errors"
	"os"
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

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// account is the one that the emulator plays.
const account = emulator.Account

// passing is a state machine that ends at once.
func passing(t *testing.T) (arn string) {
	t.Helper()
	role, err := iam.NewFromConfig(emulator.Config(t)).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("r" + rand.Text()),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[
			{"Effect":"Allow","Principal":{"Service":"states.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	created, err := sfn.NewFromConfig(emulator.Config(t)).CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m" + rand.Text()), RoleArn: role.Role.Arn,
		Definition: aws.String(`{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *created.StateMachineArn
}

// What real services answer is what the table reads. DMS is none of the
// emulator's.
func TestJobsAreStartedAndDescribed(t *testing.T) {
	t.Parallel()
	s, unique := services.New(emulator.Config(t)), rand.Text()
	for kind, tt := range map[string]struct{ params, unknown string }{
		"batch-job":     {`{"jobName":"n","jobQueue":"q","jobDefinition":"d","tags":{"a":"b"}}`, ""},
		"sfn-execution": {`{"stateMachineArn":"` + passing(t) + `","input":{"a":1}}`, "arn:aws:states:us-east-1:" + account + ":execution:M:none"},
		"transcribe-job": {
			`{"LanguageCode":"en-US","Media":{"MediaFileUri":"s3://bucket/key.wav"}}`, "none",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			row, ok := jobs.Find(kind)
			params, err := row.StartParams([]byte(tt.params), unique)
			if !ok || err != nil {
				t.Fatal(err)
			}
			answer, err := s.Start(t.Context(), row, params)
			if err != nil {
				t.Fatal(err)
			}
			started, err := row.ReadStart(account, emulator.Region, params, answer)
			if err != nil {
				t.Fatal(err)
			}
			checkSeen(t, s, row, started)
			checkTaken(t, s, row, params, started)
			if tt.unknown != "" {
				checkUnknown(t, s, row, tt.unknown)
			}
		})
	}
}

func checkSeen(t *testing.T, s *services.Services, row jobs.Kind, started jobs.Started) {
	t.Helper()
	params, err := row.DescribeParams(started.ID)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Describe(t.Context(), row, params)
	if err != nil {
		t.Fatal(err)
	}
	key, seen, err := row.ReadDescription(account, emulator.Region, started.ID, answer)
	if err != nil || seen.Status == "" || key != started.Key || (row.Scope == jobs.ScopeResource && seen.BeginText != started.BeginText) {
		t.Errorf("started %+v, seen %+v of %+v, error %v", started, seen, key, err)
	}
}

// checkTaken starts the same again, where the name of a job keeps it from being
// a second one: the service refuses it, or answers the one that there is.
func checkTaken(t *testing.T, s *services.Services, row jobs.Kind, params []byte, first jobs.Started) {
	t.Helper()
	if row.Once != jobs.OnceByName {
		return
	}
	answer, err := s.Start(t.Context(), row, params)
	if err != nil {
		refused, ok := errors.AsType[*resume.ServiceError](err)
		if !ok || !row.InUse(strings.TrimPrefix(refused.Name, row.Service+".")) {
			t.Fatalf("the same again: %v", err)
		}
	}
	if again, err := row.ReadStart(account, emulator.Region, params, answer); err != nil || again.ID != first.ID || again.Key != first.Key {
		t.Errorf("the same again is %+v, error %v; want %+v", again, err, first)
	}
}

func checkUnknown(t *testing.T, s *services.Services, row jobs.Kind, id string) {
	t.Helper()
	params, err := row.DescribeParams(id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Describe(t.Context(), row, params)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || !row.Unknown(strings.TrimPrefix(refused.Name, row.Service+".")) {
		t.Errorf("a job that nobody started: %v", err)
	}
}
