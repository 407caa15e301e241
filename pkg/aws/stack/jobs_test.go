package stack_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
)

// submits is a flow whose step starts the job that the input says, and waits
// for its end.
const submits = `version: v1
type: flow
steps:
  - type: task
    name: Job
    resourceArn: acs:fc:::services/any/functions/StartJob
    pattern: waitForCallback
    timeoutSeconds: 300
    inputMappings:
      - {target: token, source: $context.task.token}
      - {target: kind, source: $input.kind}
      - {target: params, source: $input.params}
    outputMappings:
      - {target: job, source: $local}
`

// submitted is what StartJob answered to the one step of the execution.
func (f *following) submitted(s stack, execution string) jobs.StartResult {
	f.t.Helper()
	f.await("Job waits for a callback")
	return s.submittedJob(f.t, execution)
}

func (s stack) submittedJob(t *testing.T, execution string) jobs.StartResult {
	t.Helper()
	for again := time.NewTicker(look); ; {
		for _, e := range s.history(t, execution) {
			if e.Type == "TaskSubmitted" {
				return answerIn(t, e)
			}
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("it never submits")
		}
	}
}

func answerIn(t *testing.T, submitted event) jobs.StartResult {
	t.Helper()
	var detail struct{ Output jobs.StartResult }
	if err := json.Unmarshal(submitted.Detail, &detail); err != nil {
		t.Fatalf("%v: %s", err, submitted.Detail)
	}
	return detail.Output
}

// A job event that arrives in the queue resumes who waits.
func TestAJobEventResumesAStep(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	run := s.follow(t, "run", writeFlow(t, "batch", submits), "--name", "one", "--input", input)
	started := run.submitted(s, "batch/one")
	if started.Kind != "batch-job" || started.ID == "" || !strings.HasSuffix(started.Key, ":job/"+started.ID) {
		t.Fatalf("started %+v", started)
	}
	s.put(t, "JobQueue", batchFailed(started, "Essential container exited"))
	if exit := run.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, "Essential container exited", "show", "batch/one")
	s.check(t, view.ExitSucceeded, jobs.ErrorFailed, "show", "batch/one")
}

// putObject puts an object into a new bucket of the emulator.
func putObject(t *testing.T, bucket, key string) {
	t.Helper()
	put(t, emulator.Config(t), bucket, "")
	put(t, emulator.Config(t), bucket+"/"+key, "sound")
}

func put(t *testing.T, config aws.Config, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, *config.BaseEndpoint+"/"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(body))
	hash := hex.EncodeToString(sum[:])
	request.Header.Set("X-Amz-Content-Sha256", hash)
	credentials, err := config.Credentials.Retrieve(t.Context())
	if err == nil {
		err = v4.NewSigner().SignHTTP(t.Context(), credentials, request, hash, "s3", config.Region, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing of it is read
	if response.StatusCode != http.StatusOK {
		t.Fatalf("put %s: %s", path, response.Status)
	}
}
