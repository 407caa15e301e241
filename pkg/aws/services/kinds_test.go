package services_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/jobs"
)

// starts are the least params of a start, and a job_id, of each kind that a
// service stands behind.
var starts = map[string]struct{ params, id, answer, description string }{
	"batch-job": {
		`{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`, "j-1",
		`{"jobArn":"arn:aws:batch:eu-central-1:123456789012:job/j-1","jobId":"j-1"}`, `{"jobs":[{"jobId":"j-1","status":"SUCCEEDED"}]}`,
	},
	"dms-task": {
		`{"ReplicationTaskArn":"arn:aws:dms:eu-central-1:123456789012:task:T"}`, "arn:aws:dms:eu-central-1:123456789012:task:T",
		`{"ReplicationTask":{"ReplicationTaskArn":"arn:aws:dms:eu-central-1:123456789012:task:T"}}`,
		`{"ReplicationTasks":[{"ReplicationTaskArn":"arn:aws:dms:eu-central-1:123456789012:task:T","Status":"stopped",
			"StopReason":"Stop Reason FULL_LOAD_ONLY_FINISHED","ReplicationTaskStartDate":1767225600.5}]}`,
	},
	"sfn-execution": {
		`{"stateMachineArn":"arn:aws:states:eu-central-1:123456789012:stateMachine:M","input":{"a":1}}`,
		"arn:aws:states:eu-central-1:123456789012:execution:M:e",
		`{"executionArn":"arn:aws:states:eu-central-1:123456789012:execution:M:e","startDate":1767225600.5}`,
		`{"executionArn":"arn:aws:states:eu-central-1:123456789012:execution:M:e","status":"SUCCEEDED","output":"{}"}`,
	},
	"transcribe-job": {
		`{"TranscriptionJobName":"t","LanguageCode":"en-US","Media":{"MediaFileUri":"s3://b/k"}}`, "t",
		`{"TranscriptionJob":{"TranscriptionJobName":"t","CreationTime":1767225600.5}}`,
		`{"TranscriptionJob":{"TranscriptionJobName":"t","TranscriptionJobStatus":"COMPLETED"}}`,
	},
}

// Each row of the table of kinds has its client, whose answers the row reads.
func TestEachKindHasItsOperations(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, kind := range jobs.Kinds() {
		if kind.Service == "" || !kind.HasEnd() { // package messages sends what has no end
			continue
		}
		tried++
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			row, ok := starts[kind.Name]
			if !ok {
				t.Fatal("the kind has no row in this test")
			}
			s := at(t, func(w http.ResponseWriter, r *http.Request) {
				body := row.description
				if strings.Contains(r.Header.Get("X-Amz-Target")+r.URL.Path, kind.StartOp) || strings.HasSuffix(r.URL.Path, "/submitjob") {
					body = row.answer
				}
				w.Header().Set("Content-Type", "application/x-amz-json-1.1")
				_, _ = io.WriteString(w, body)
			})
			checkKind(t, kind, row.params, row.id, func(params []byte) ([]byte, error) { return s.Start(t.Context(), kind, params) },
				func(params []byte) ([]byte, error) { return s.Describe(t.Context(), kind, params) })
		})
	}
	if tried != len(starts) {
		t.Errorf("%d kinds of %d were tried", tried, len(starts))
	}
}

func checkKind(t *testing.T, kind jobs.Kind, params, id string, start, describe func([]byte) ([]byte, error)) {
	t.Helper()
	const account, region = "123456789012", "eu-central-1"
	whole, err := kind.StartParams([]byte(params), "once")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := start(whole)
	if err != nil {
		t.Fatal(err)
	}
	if started, err := kind.ReadStart(account, region, whole, answer); err != nil || started.ID != id {
		t.Errorf("started %+v, error %v, from %s", started, err, answer)
	}
	asks, err := kind.DescribeParams(id)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = describe(asks); err != nil {
		t.Fatal(err)
	}
	if _, seen, err := kind.ReadDescription(account, region, id, answer); err != nil || seen.Status != jobs.StatusSuccess {
		t.Errorf("seen %+v, error %v, in %s", seen, err, answer)
	}
}
