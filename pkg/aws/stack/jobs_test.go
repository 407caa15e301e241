package stack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/jobs"
)

// employed is a stack that may start and describe jobs of every kind, and
// catches all their events: those of the services, and those of a source of the
// test's own.
var employed = deployment{name: freshName(), build: shipped}

// account is the one that the emulator plays.
const account = "000000000000"

// ownSource is the source of the test's own events.
func ownSource() string { return "jobs." + employed.name }

var employ sync.Once

func employedStack(t *testing.T) stack {
	t.Helper()
	employ.Do(func() {
		employed.parameters = []string{
			"LongestDelay=30", "JobPolicies=" + jobRights(t), "BatchEvents=on", "DmsEvents=on", "StepFunctionsEvents=on", "TranscribeEvents=on",
			"EventSource=" + ownSource(),
			"StateMachines=arn:aws:states:" + emulator.Region + ":" + account + ":stateMachine:" + employed.name + "-machine",
			"DurableFunctions=arn:aws:lambda:" + emulator.Region + ":" + account + ":function:" + employed.name + "-durable",
		}
	})
	return employed.get(t)
}

// jobRights makes a managed policy of the least rights of all kinds, and
// answers its ARN.
func jobRights(t *testing.T) string {
	t.Helper()
	var statements []jobs.Statement
	for _, kind := range jobs.Kinds() {
		statements = append(statements, kind.Statements(account, emulator.Region)...)
	}
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		t.Fatal(err)
	}
	made, err := iam.NewFromConfig(emulator.Config(t)).CreatePolicy(t.Context(), &iam.CreatePolicyInput{
		PolicyName: aws.String(employed.name + "-jobs"), PolicyDocument: aws.String(string(document)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.Policy.Arn
}

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

// submitted is what StartJob answered to the one step of an execution.
func (s stack) submitted(t *testing.T, execution string) jobs.StartAnswer {
	t.Helper()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		for _, e := range s.history(t, execution) {
			var detail struct{ Output json.RawMessage }
			var started jobs.StartAnswer
			if e.Type != "TaskSubmitted" {
				continue
			}
			if err := errors.Join(json.Unmarshal([]byte(e.EventDetail), &detail), json.Unmarshal(detail.Output, &started)); err != nil {
				t.Fatalf("%v: %s", err, e.EventDetail)
			}
			return started
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("it never submits")
		}
	}
}

// A job event that arrives in the queue resumes who waits.
func TestAJobEventResumesAStep(t *testing.T) {
	t.Parallel()
	s := employedStack(t)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	run := s.follow(t, "run", writeFlow(t, "batch", submits), "--name", "one", "--input", input)
	started := s.submitted(t, "batch/one")
	if started.Kind != "batch-job" || started.ID == "" || !strings.HasSuffix(started.Key, ":job/"+started.ID) {
		t.Fatalf("started %+v", started)
	}
	event := fmt.Sprintf(`{"version":"0","id":"e-1","detail-type":"Batch Job State Change","source":"aws.batch","account":%q,"time":%q,"region":%q,`+
		`"resources":[%q],"detail":{"jobArn":%q,"jobId":%q,"jobName":"n","status":"FAILED","statusReason":"Essential container exited"}}`,
		account, time.Now().UTC().Format(time.RFC3339), emulator.Region, started.Key, started.Key, started.ID)
	if err := queue.Send(t.Context(), sqs.NewFromConfig(emulator.Config(t)), s.resources["JobQueue"], event, 0); err != nil {
		t.Fatal(err)
	}
	if exit := run.wait(); exit != cli.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.check(t, cli.ExitSucceeded, "Essential container exited", "show", "batch/one")
	s.check(t, cli.ExitSucceeded, jobs.ErrorFailed, "show", "batch/one")
}

// The emulator's Transcribe tells of the ends of its jobs itself: nothing of
// ours is called by the test.
func TestATranscriptionResumesAStep(t *testing.T) {
	t.Parallel()
	s := employedStack(t)
	bucket := employed.name + "-media"
	putObject(t, bucket, "speech.wav")
	input := `{"kind":"transcribe-job","params":{"LanguageCode":"en-US","Media":{"MediaFileUri":"s3://` + bucket + `/speech.wav"}}}`
	flow := writeFlow(t, "transcribe", submits)
	s.check(t, cli.ExitSucceeded, `"status":"COMPLETED"`, "run", flow, "--name", "one", "--input", input)
	input = strings.Replace(input, "speech.wav", "none.wav", 1)
	s.check(t, cli.ExitFailed, jobs.ErrorFailed, "run", flow, "--name", "two", "--input", input)
}

// putObject puts an object into a new bucket of the emulator.
func putObject(t *testing.T, bucket, key string) {
	t.Helper()
	config := emulator.Config(t)
	for path, body := range map[string]string{bucket: "", bucket + "/" + key: "sound"} {
		if body != "" {
			defer put(t, config, path, body) // once the bucket is there
			continue
		}
		put(t, config, path, body)
	}
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

// An event that a user sends for his own source goes the way of a service's:
// bus, rule, queue.
func TestAnEventOfOnesOwnSource(t *testing.T) {
	t.Parallel()
	s := employedStack(t)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	run := s.follow(t, "run", writeFlow(t, "own", submits), "--name", "one", "--input", input)
	started := s.submitted(t, "own/one")
	detail := fmt.Sprintf(`{"jobArn":%q,"jobId":%q,"jobName":"n","jobQueue":"q","status":"SUCCEEDED"}`, started.Key, started.ID)
	putEvent(t, ownSource(), "Batch Job State Change", detail, started.Key)
	if exit := run.wait(); exit != cli.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
}

func putEvent(t *testing.T, source, detailType, detail string, resources ...string) {
	t.Helper()
	answer, err := eventbridge.NewFromConfig(emulator.Config(t)).PutEvents(context.WithoutCancel(t.Context()), &eventbridge.PutEventsInput{
		Entries: []types.PutEventsRequestEntry{{Source: &source, DetailType: &detailType, Detail: &detail, Resources: slices.Clone(resources)}},
	})
	if err != nil || answer.FailedEntryCount > 0 {
		t.Fatalf("put an event: %+v, error %v", answer, err)
	}
}
