package services_test

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
)

// TestFaultTable: a start that may have reached its service is requested once, a description until there is one.
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
		"sfn-execution": {`{"stateMachineArn":"arn","name":"` + rand.Text() + `"}`, `{"executionArn":"arn"}`},
		"transcribe-job": {
			`{"TranscriptionJobName":"n","LanguageCode":"en-US","Media":{"MediaFileUri":"s3://bucket/key.wav"}}`, `{"TranscriptionJobName":"n"}`,
		},
	} {
		row, ok := jobs.Find(kind)
		if !ok {
			t.Fatal(kind)
		}
		entries = append(entries,
			entryOf(func(ctx context.Context, s *services.Services) error {
				_, err := s.Start(ctx, row, []byte(params.start))
				return err
			}, true),
			entryOf(func(ctx context.Context, s *services.Services) error {
				_, err := s.Describe(ctx, row, []byte(params.describe))
				return err
			}, false),
		)
	}
	faults.Compare(t, server.URL, "Services of jobs", entries...)
}

func entryOf(call func(ctx context.Context, s *services.Services) error, starts bool) faults.Entry {
	return faults.Entry{Name: "services.New", New: func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		s := services.New(p.Config(aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}))
		made := faults.Call{Do: func(ctx context.Context) error { return call(ctx, s) }}
		if starts {
			made.State = p.Carried
		}
		return made
	}}
}
