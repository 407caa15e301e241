package services_test

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/resume"
)

// TestFaultTable: a start that may have reached its service is requested once, a description until
// there is one.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }))
	t.Cleanup(server.Close)
	var entries []faults.Entry
	for kind, params := range map[string]struct{ start, describe string }{
		"batch-job": {`{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`, `{"jobs":["j"]}`},
		"dms-task": {
			`{"ReplicationTaskArn":"a","StartReplicationTaskType":"start-replication"}`, `{"Filters":[{"Name":"replication-task-arn","Values":["a"]}]}`,
		},
		"custom:render": {start: `{"video":"a"}`}, // a description is the same operation, and is repeated as the others
		"sfn-execution": {`{"stateMachineArn":"arn","name":"` + rand.Text() + `"}`, `{"executionArn":"arn"}`},
		"transcribe-job": {
			`{"TranscriptionJobName":"n","LanguageCode":"en-US","Media":{"MediaFileUri":"s3://bucket/key.wav"}}`, `{"TranscriptionJobName":"n"}`,
		},
	} {
		row, ok := customTable(t).Find(kind)
		if !ok {
			t.Fatal(kind)
		}
		for name, made := range map[string]func(config aws.Config) resume.Services{
			"services.New":       func(config aws.Config) resume.Services { return services.New(config) },
			"services.Elsewhere": elsewhere,
		} {
			entries = append(entries,
				entryOf(name, made, func(ctx context.Context, s resume.Services) error {
					_, err := s.Start(ctx, row, []byte(params.start))
					return err
				}, true),
			)
			if params.describe == "" {
				continue
			}
			entries = append(entries,
				entryOf(name, made, func(ctx context.Context, s resume.Services) error {
					_, err := s.Describe(ctx, row, []byte(params.describe))
					return err
				}, false),
			)
		}
	}
	faults.Compare(t, server.URL, "Services of jobs", append(entries, actionsEntry())...)
}

// actionsEntry is the call of an operation for a step, which is requested once if it may have
// reached its service.
func actionsEntry() faults.Entry {
	return faults.Entry{Name: "services.Actions.Call", New: func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		actions := services.NewActions(p.Config(aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}))
		return faults.Call{State: p.Carried, Do: func(ctx context.Context) error {
			_, err := actions.Call(ctx, []byte(`{"operation":"dynamodb:PutItem","params":{"TableName":"t","Item":{"id":{"S":"a"}}},"idempotencyKey":"k"}`))
			return err
		}}
	}}
}

func entryOf(
	name string, made func(aws.Config) resume.Services, call func(ctx context.Context, s resume.Services) error, starts bool,
) faults.Entry {
	return faults.Entry{Name: name, New: func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		s := made(p.Config(aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}))
		made := faults.Call{Do: func(ctx context.Context) error { return call(ctx, s) }}
		if starts {
			made.State = p.Carried
		}
		return made
	}}
}

// elsewhere returns the services of another account. The faults are those of the services, and not
// of STS, whose requests are the SDK's.
func elsewhere(config aws.Config) resume.Services {
	if config.HTTPClient == nil {
		config.HTTPClient = awshttp.NewBuildableClient()
	}
	config.HTTPClient = assumed{config.HTTPClient}
	there, _ := services.Elsewhere(config, services.Role{
		Accounts: []string{otherAccount}, ARN: "arn:aws:iam::ACCOUNT:role/jobs", ExternalID: externalID,
	})(otherAccount)
	return there
}

// assumed responds to AssumeRole, the only request with a form.
type assumed struct{ aws.HTTPClient }

func (a assumed) Do(request *http.Request) (*http.Response, error) {
	if request.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return a.HTTPClient.Do(request)
	}
	const credentials = "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s</SecretAccessKey>" +
		"<SessionToken>t</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(credentials)), Request: request}, nil
}
