package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// sfnEndpoint returns the endpoint of the API of Step Functions over flows. The emulator has no
// TLS.
func (s stack) sfnEndpoint() string {
	return strings.Replace(s.outputs["CallbackEndpoint"], "https:", "http:", 1) + "/sfn"
}

// sfnARN returns the ARN of what these words name.
func sfnARN(words ...string) *string {
	return aws.String("arn:aws:states:" + emulator.Region + ":" + emulator.Account + ":" + strings.Join(words, ":"))
}

// awsCLI runs the AWS CLI with an action of Step Functions, and returns what it prints, or its error.
func (s stack) awsCLI(t *testing.T, secret string, args ...string) (printed map[string]any, failed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), vendorTool(t, "clients", "bin/aws"), append([]string{"stepfunctions", "--output", "json"}, args...)...)
	// A proxy leads to the emulator: requests are signed for the host of the endpoint.
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "HTTP_PROXY=http://" + s.named(t), "AWS_ENDPOINT_URL_SFN=" + s.sfnEndpoint(), "AWS_DEFAULT_REGION=" + emulator.Region,
		"AWS_ACCESS_KEY_ID=" + fnfKey, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_MAX_ATTEMPTS=1",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, string(out)
	}
	if len(out) > 0 {
		if err := json.Unmarshal(out, &printed); err != nil {
			t.Fatalf("%q prints %s", args, out)
		}
	}
	return printed, ""
}

// The AWS CLI starts an execution on a stack, reports to the step that waits, and reads what
// happened.
func TestTheAWSCLI(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	call := func(secret string, args ...string) (printed map[string]any, failed string) {
		t.Helper()
		return s.awsCLI(t, secret, args...)
	}
	text, run := s.waiting(t, "awscli")
	if _, failed := call("the secret of another", "list-state-machines"); !strings.Contains(failed, "InvalidSignatureException") {
		t.Errorf("with another secret: %s", failed)
	}
	if _, failed := call(fnfSecret, "send-task-success", "--task-token", text, "--task-output", `{"status":"ok"}`); failed != "" {
		t.Error(failed)
	}
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	execution := *sfnARN("execution", "callback", "awscli")
	shown, failed := call(fnfSecret, "describe-execution", "--execution-arn", execution)
	if failed != "" || shown["status"] != "SUCCEEDED" || shown["output"] != `{"s":"ok"}` {
		t.Errorf("described %v %s", shown, failed)
	}
	history, failed := call(fnfSecret, "get-execution-history", "--execution-arn", execution, "--reverse-order", "--max-items", "1")
	if events, _ := history["events"].([]any); len(events) != 1 || events[0].(map[string]any)["type"] != "ExecutionSucceeded" {
		t.Errorf("the history is %v %s", history, failed)
	}
	started, failed := call(fnfSecret, "start-execution", "--state-machine-arn", *sfnARN("stateMachine", "callback"), "--name", "awscli-2")
	if started["executionArn"] != execution+"-2" {
		t.Errorf("started %v %s", started, failed)
	}
}

// greeting returns a state machine that waits, calls a function and ends by its answer: with an
// error for an unknown name.
func (s stack) greeting() string {
	return strings.Replace(`{"StartAt":"Pause","States":{
  "Pause":{"Type":"Wait","Seconds":1,"Next":"Call"},
  "Call":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"STACK-echo","Payload.$":"$"},
    "ResultSelector":{"name.$":"$.Payload.name"},"Catch":[{"ErrorEquals":["States.ALL"],"Next":"Odd"}],"Next":"Known"},
  "Known":{"Type":"Choice","Choices":[{"Variable":"$.name","StringEquals":"Ada","Next":"Yes"}],"Default":"No"},
  "Yes":{"Type":"Pass","Parameters":{"text.$":"States.Format('hello {}', $.name)"},"End":true},
  "No":{"Type":"Fail","Error":"Unknown","Cause":"no such name"},
  "Odd":{"Type":"Pass","Parameters":{"caught.$":"$.Error"},"End":true}}}`, "STACK", s.name, 1)
}

// The AWS CLI puts a state machine on a stack, runs it to each of its ends, publishes it and deletes
// it. The limit of a value is 256 KiB, before the start and inside.
func TestStateMachinesByTheAWSCLI(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file://" + file
	}
	call := func(args ...string) map[string]any {
		t.Helper()
		printed, failed := s.awsCLI(t, fnfSecret, args...)
		if failed != "" {
			t.Errorf("%q: %s", args, failed)
		}
		return printed
	}
	refused := func(code string, args ...string) {
		t.Helper()
		if _, failed := s.awsCLI(t, fnfSecret, args...); !strings.Contains(failed, "("+code+")") {
			t.Errorf("%q: %s; want %s", args, failed, code)
		}
	}
	definition := write("greeting.asl.json", s.greeting())
	checked := call("validate-state-machine-definition", "--definition", definition)
	if checked["result"] != "OK" {
		t.Errorf("checked %v", checked)
	}
	created := call("create-state-machine", "--name", "greeting", "--definition", definition, "--role-arn", "arn:aws:iam::000000000000:role/r",
		"--publish", "--tags", "key=team,value=a")
	machine := *sfnARN("stateMachine", "greeting")
	if created["stateMachineArn"] != machine || created["stateMachineVersionArn"] != machine+":1" {
		t.Errorf("created %v", created)
	}
	refused("StateMachineAlreadyExists", "create-state-machine", "--name", "greeting", "--definition", write("other", passesMachine),
		"--role-arn", "arn:aws:iam::123456789012:role/r")
	refused("InvalidDefinition", "update-state-machine", "--state-machine-arn", machine, "--definition", "{}")
	call("create-state-machine-alias", "--name", "live", "--routing-configuration", "stateMachineVersionArn="+machine+":1,weight=100")
	large := strings.Repeat("x", 60<<10)
	for name, input := range map[string]string{
		"known": `{"name":"Ada"}`, "unknown": `{"name":"Bob"}`, "odd": `[1]`, "large": `{"name":"Ada","rest":"` + large + `"}`,
	} {
		call("start-execution", "--state-machine-arn", machine+":live", "--name", name, "--input", write(name, input))
	}
	refused("InvalidExecutionInput", "start-execution", "--state-machine-arn", machine, "--name", "huge",
		"--input", write("huge", `{"name":"Ada","rest":"`+strings.Repeat(large, 5)+`"}`))
	for name, want := range map[string][3]string{
		"known": {"SUCCEEDED", `{"text":"hello Ada"}`, ""}, "large": {"SUCCEEDED", `{"text":"hello Ada"}`, ""},
		"unknown": {"FAILED", "", "Unknown"}, "odd": {"FAILED", "", "States.Runtime"},
	} {
		execution := *sfnARN("execution", "greeting", name)
		got := soon(t, "the end of "+name, func() (map[string]any, bool) {
			shown := call("describe-execution", "--execution-arn", execution)
			return shown, shown["status"] != "RUNNING"
		})
		output, _ := got["output"].(string)
		failure, _ := got["error"].(string)
		if got["status"] != want[0] || output != want[1] || failure != want[2] {
			t.Errorf("%s ended as %v with %s %s; want %q", name, got["status"], output, failure, want)
		}
	}
	call("update-state-machine", "--state-machine-arn", machine, "--definition", write("passes", passesMachine), "--publish")
	sync, err := s.sfnClient(t).StartSyncExecution(t.Context(), &sfn.StartSyncExecutionInput{StateMachineArn: &machine, Name: aws.String("sync")}, unprefixed)
	if err != nil || sync.Status != "SUCCEEDED" || aws.ToString(sync.Output) != `"done"` {
		t.Errorf("the synchronous execution: %+v, %v", sync, err)
	}
	of := call("describe-state-machine-for-execution", "--execution-arn", *sfnARN("execution", "greeting", "known"))
	if of["definition"] != s.greeting() {
		t.Errorf("the definition of an execution: %v", of)
	}
	refused("ConflictException", "delete-state-machine-version", "--state-machine-version-arn", machine+":1")
	if tags := call("list-tags-for-resource", "--resource-arn", machine); !reflect.DeepEqual(tags["tags"], []any{map[string]any{"key": "team", "value": "a"}}) {
		t.Errorf("tags %v", tags)
	}
	call("redrive-execution", "--execution-arn", *sfnARN("execution", "greeting", "odd"))
	call("delete-state-machine", "--state-machine-arn", machine)
	refused("StateMachineDoesNotExist", "describe-state-machine", "--state-machine-arn", machine)
}

// A stack tests a state with a mock, and makes no calls for it.
func TestAStateIsTestedOnTheStack(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	state := &sfn.TestStateInput{
		Definition: aws.String(s.greeting()), StateName: aws.String("Call"), Mock: &types.MockInput{Result: aws.String(`{"Payload":{"name":"Ada"}}`)},
	}
	if tested, err := s.sfnClient(t).TestState(t.Context(), state, unprefixed); err != nil || aws.ToString(tested.Output) != `{"name":"Ada"}` ||
		aws.ToString(tested.NextState) != "Known" {
		t.Errorf("the tested state: %+v, %v", tested, err)
	}
	state.Mock = nil
	if _, err := s.sfnClient(t).TestState(t.Context(), state, unprefixed); err == nil || !strings.Contains(err.Error(), "specify a mock") {
		t.Errorf("a call of a tested state: %v", err)
	}
}

// unprefixed keeps a client from putting "sync-" before the host.
func unprefixed(o *sfn.Options) { o.APIOptions = append(o.APIOptions, withoutHostPrefix) }

func withoutHostPrefix(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("withoutHostPrefix", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(smithyhttp.DisableEndpointHostPrefix(ctx, true), in)
	}), middleware.After)
}

// A value of 200 KB, which is not kept in the log, passes through a state machine.
func TestALargeValueOfAStateMachineOnTheStack(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	folder := t.TempDir()
	file, input := filepath.Join(folder, "largemachine.asl.json"), filepath.Join(folder, "input.json")
	text := `{"name":"Ada","rest":"` + strings.Repeat("x", 200<<10) + `"}`
	if err := errors.Join(os.WriteFile(file, []byte(s.greeting()), 0o600), os.WriteFile(input, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	got := s.do(t, "run", file, "--name", "large", "--input", "@"+input, "--json")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "hello Ada") {
		t.Errorf("exit %d: %.2000s %.2000s", got.exit, got.stdout, got.stderr)
	}
}

// passesMachine is a state machine that ends at once.
const passesMachine = `{"StartAt":"P","States":{"P":{"Type":"Pass","Result":"done","End":true}}}`

// sfnClient is the vendor's client of Go, which does not retry.
func (s stack) sfnClient(t *testing.T) *sfn.Client {
	t.Helper()
	proxy := &url.URL{Scheme: "http", Host: s.named(t)}
	return sfn.New(sfn.Options{
		BaseEndpoint: aws.String(s.sfnEndpoint()), Region: emulator.Region, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(fnfKey, fnfSecret, ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}},
	})
}

// managesSfn puts a flow and lists its executions by the API of Step Functions, or starts one of
// that name.
func managesSfn(execution string) func(trial) error {
	return func(x trial) error {
		if err := x.await(x.begin(view.ExitSucceeded, "flows", "put", x.flow(passes))); err != nil {
			return err
		}
		var err error
		if machine := sfnARN("stateMachine", x.name); execution == "" {
			_, err = x.stack.sfnClient(x.T).ListExecutions(x.Context(), &sfn.ListExecutionsInput{StateMachineArn: machine})
		} else {
			_, err = x.stack.sfnClient(x.T).StartExecution(x.Context(), &sfn.StartExecutionInput{StateMachineArn: machine, Name: &execution})
		}
		return err
	}
}

// deletesSfn deletes a state machine with a schedule, by the API of Step Functions.
func deletesSfn(x trial) error {
	for _, args := range [][]string{{"flows", "put", x.flow(passes)}, {"schedules", "put", x.name + "/s", "--cron", "@every 1h"}} {
		if err := x.await(x.begin(view.ExitSucceeded, args...)); err != nil {
			return err
		}
	}
	_, err := x.stack.sfnClient(x.T).DeleteStateMachine(x.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: sfnARN("stateMachine", x.name)})
	return err
}

// describesSfn describes an execution that was run before, by the API of Step Functions.
func describesSfn(run func(trial) error) func(trial) error {
	return func(x trial) error {
		if err := run(x); err != nil {
			return err
		}
		_, err := x.stack.sfnClient(x.T).DescribeExecution(x.Context(), &sfn.DescribeExecutionInput{ExecutionArn: sfnARN("execution", x.name, x.execution())})
		return err
	}
}

// reportsSfn reports the outcome of a wait of Step Functions by the API of Step Functions.
func reportsSfn(x trial) error {
	callback, err := x.open()
	if err != nil {
		return err
	}
	_, err = x.stack.sfnClient(x.T).SendTaskSuccess(x.Context(), &sfn.SendTaskSuccessInput{
		TaskToken: aws.String(path.Base(callback.Path)), Output: aws.String("{}"),
	})
	return err
}
