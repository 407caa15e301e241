package stack_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/jobs"
)

// employed is a stack that may start and describe jobs of every kind, catches
// all their events, those of a source of the test's own too, and answers state
// machines and durable functions.
var employed = deployment{name: freshName(), build: shipped}

// account is the one that the emulator plays.
const account = "000000000000"

// The names that the stack knows of others.
var (
	ownSource       = "jobs." + employed.name
	stateMachine    = "arn:aws:states:" + emulator.Region + ":" + account + ":stateMachine:" + employed.name + "-machine"
	durableFunction = "arn:aws:lambda:" + emulator.Region + ":" + account + ":function:" + employed.name + "-durable"
)

var employ sync.Once

func employedStack(t *testing.T) stack {
	t.Helper()
	employ.Do(func() {
		employed.parameters = []string{
			"LongestDelay=30", "JobPolicies=" + jobRights(t, employed.name),
			"BatchEvents=on", "DmsEvents=on", "StepFunctionsEvents=on", "TranscribeEvents=on", "EventSource=" + ownSource,
			"StateMachines=" + stateMachine, "DurableFunctions=" + durableFunction,
		}
		employed.get(t).letTasksBeAnswered(t)
	})
	return employed.get(t)
}

// jobRights makes a managed policy of the least rights of all kinds, and
// answers its ARN. The emulator knows few resources by their ARNs, so it is for
// all of them.
func jobRights(t *testing.T, name string) string {
	t.Helper()
	var statements []jobs.Statement
	for _, kind := range jobs.Kinds() {
		for _, s := range kind.Statements(account, emulator.Region) {
			s.Resource = []string{"*"}
			statements = append(statements, s)
		}
	}
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		t.Fatal(err)
	}
	made, err := iam.NewFromConfig(emulator.Config(t)).CreatePolicy(t.Context(), &iam.CreatePolicyInput{
		PolicyName: aws.String(name + "-jobs"), PolicyDocument: aws.String(string(document)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.Policy.Arn
}

// letTasksBeAnswered gives the task runner a right that it needs on the emulator
// only: that asks for it on all state machines. It bears the name of the
// statement that it stands in for.
func (s stack) letTasksBeAnswered(t *testing.T) {
	t.Helper()
	_, err := iam.NewFromConfig(emulator.Config(t)).PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
		RoleName: aws.String(s.resources["TaskRunnerRole"]), PolicyName: aws.String("emulator"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Sid":"AnswerTasks","Effect":"Allow",` +
			`"Action":["states:SendTaskSuccess","states:SendTaskFailure"],"Resource":"*"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
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

// submitted is what StartJob answered to the one step of the execution.
func (f *following) submitted(s stack, execution string) jobs.StartAnswer {
	f.t.Helper()
	f.await("Job waits for a callback")
	for again := time.NewTicker(look); ; {
		for _, e := range s.history(f.t, execution) {
			if e.Type == "TaskSubmitted" {
				return answerIn(f.t, e)
			}
		}
		select {
		case <-again.C:
		case <-f.t.Context().Done():
			f.t.Fatal("it never submits")
		}
	}
}

func answerIn(t *testing.T, submitted event) jobs.StartAnswer {
	t.Helper()
	var detail struct{ Output jobs.StartAnswer }
	if err := json.Unmarshal([]byte(submitted.EventDetail), &detail); err != nil {
		t.Fatalf("%v: %s", err, submitted.EventDetail)
	}
	return detail.Output
}

// A job event that arrives in the queue resumes who waits.
func TestAJobEventResumesAStep(t *testing.T) {
	t.Parallel()
	s := employedStack(t)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	run := s.follow(t, "run", writeFlow(t, "batch", submits), "--name", "one", "--input", input)
	started := run.submitted(s, "batch/one")
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

// An event that a user sends for his own source goes the way of a service's:
// bus, rule, queue.
func TestAnEventOfOnesOwnSource(t *testing.T) {
	t.Parallel()
	s := employedStack(t)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	run := s.follow(t, "run", writeFlow(t, "own", submits), "--name", "one", "--input", input)
	started := run.submitted(s, "own/one")
	detail := fmt.Sprintf(`{"jobArn":%q,"jobId":%q,"jobName":"n","jobQueue":"q","status":"SUCCEEDED"}`, started.Key, started.ID)
	putEvent(t, ownSource, "Batch Job State Change", detail, started.Key)
	if exit := run.wait(); exit != cli.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
}

func putEvent(t *testing.T, source, detailType, detail string, resources ...string) {
	t.Helper()
	answer, err := eventbridge.NewFromConfig(emulator.Config(t)).PutEvents(t.Context(), &eventbridge.PutEventsInput{
		Entries: []types.PutEventsRequestEntry{{Source: &source, DetailType: &detailType, Detail: &detail, Resources: slices.Clone(resources)}},
	})
	if err != nil || answer.FailedEntryCount > 0 {
		t.Fatalf("put an event: %+v, error %v", answer, err)
	}
}

// A state machine of Step Functions waits for a job, and is answered by the
// task runner.
func TestAStateMachineIsResumed(t *testing.T) {
	t.Parallel()
	s := employedStack(t)
	bucket := employed.name + "-speech"
	putObject(t, bucket, "speech.wav")
	machine := s.addMachine(t)
	for name, want := range map[string]string{"speech.wav": `"COMPLETED"`, "none.wav": jobs.ErrorFailed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := `{"kind":"transcribe-job","params":{"LanguageCode":"en-US","Media":{"MediaFileUri":"s3://` + bucket + `/` + name + `"}}}`
			if end := machine.run(t, input); !strings.Contains(end, want) {
				t.Errorf("it ends with %s, want %s", end, want)
			}
		})
	}
}

// stateMachineOf is a state machine of a stack on the emulator.
type stateMachineOf struct {
	*sfn.Client

	arn string
}

// addMachine adds a state machine whose one state starts the job that its input
// says, and waits for its end.
func (s stack) addMachine(t *testing.T) stateMachineOf {
	t.Helper()
	function := "arn:aws:lambda:" + emulator.Region + ":" + account + ":function:" + s.name + "-StartJob"
	definition := `{"StartAt":"Job","States":{"Job":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken","TimeoutSeconds":240,` +
		`"Parameters":{"FunctionName":"` + function + `","Payload":{"kind.$":"$.kind","params.$":"$.params","taskToken.$":"$$.Task.Token"}},"End":true}}}`
	statement := `{"Effect":"Allow","Action":"lambda:InvokeFunction","Resource":"` + function + `"}`
	return stateMachineOf{sfn.NewFromConfig(emulator.Config(t)), createMachine(t, s.name+"-machine", definition, statement)}
}

// addPassing adds a state machine that does nothing, and answers its ARN.
func (s stack) addPassing(t *testing.T, name string) (arn string) {
	t.Helper()
	return createMachine(t, s.name+"-"+name, `{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}`, "")
}

// createMachine creates a state machine with a role that has the statement.
func createMachine(t *testing.T, name, definition, statement string) (arn string) {
	t.Helper()
	config := emulator.Config(t)
	roles := iam.NewFromConfig(config)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"states.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	role, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
	if err == nil && statement != "" {
		_, err = roles.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
			RoleName: &name, PolicyName: aws.String("calls"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[` + statement + `]}`),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	created, err := sfn.NewFromConfig(config).CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: &name, RoleArn: role.Role.Arn, Definition: &definition,
	})
	if err != nil {
		t.Fatal(err)
	}
	return *created.StateMachineArn
}

// run runs an execution and answers its output, or its error and cause.
func (m stateMachineOf) run(t *testing.T, input string) string {
	t.Helper()
	started, err := m.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &m.arn, Input: &input})
	if err != nil {
		t.Fatal(err)
	}
	for again := time.NewTicker(look); ; {
		seen, err := m.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
		switch {
		case err != nil:
			t.Fatal(err)
		case seen.Status != sfntypes.ExecutionStatusRunning:
			return strings.Join([]string{string(seen.Status), aws.ToString(seen.Output), aws.ToString(seen.Error), aws.ToString(seen.Cause)}, " ")
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("it never ends")
		}
	}
}
