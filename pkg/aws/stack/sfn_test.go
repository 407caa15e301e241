package stack_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

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

// The AWS CLI starts an execution on a stack, reports to the step that waits, and reads what
// happened.
func TestTheAWSCLI(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	call := func(secret string, args ...string) (printed map[string]any, failed string) {
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

// sfnClient is the vendor's client of Go, which does not retry.
func (x trial) sfnClient() *sfn.Client {
	x.Helper()
	proxy := &url.URL{Scheme: "http", Host: x.stack.named(x.T)}
	return sfn.New(sfn.Options{
		BaseEndpoint: aws.String(x.stack.sfnEndpoint()), Region: emulator.Region, Retryer: aws.NopRetryer{},
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
			_, err = x.sfnClient().ListExecutions(x.Context(), &sfn.ListExecutionsInput{StateMachineArn: machine})
		} else {
			_, err = x.sfnClient().StartExecution(x.Context(), &sfn.StartExecutionInput{StateMachineArn: machine, Name: &execution})
		}
		return err
	}
}

// deletesSfn deletes a state machine with a schedule, by the API of Step Functions.
func deletesSfn(x trial) error {
	for _, args := range [][]string{{"flows", "put", x.flow(passes)}, {"schedules", "put", x.name + "/s", "--cron", "@every 1h"}} {
		if err := x.await(x.begin(cli.ExitSucceeded, args...)); err != nil {
			return err
		}
	}
	_, err := x.sfnClient().DeleteStateMachine(x.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: sfnARN("stateMachine", x.name)})
	return err
}

// describesSfn describes an execution that was run before, by the API of Step Functions.
func describesSfn(run func(trial) error) func(trial) error {
	return func(x trial) error {
		if err := run(x); err != nil {
			return err
		}
		_, err := x.sfnClient().DescribeExecution(x.Context(), &sfn.DescribeExecutionInput{ExecutionArn: sfnARN("execution", x.name, x.execution())})
		return err
	}
}

// reportsSfn reports the outcome of a wait of Step Functions by the API of Step Functions.
func reportsSfn(x trial) error {
	callback, err := x.open()
	if err != nil {
		return err
	}
	_, err = x.sfnClient().SendTaskSuccess(x.Context(), &sfn.SendTaskSuccessInput{
		TaskToken: aws.String(path.Base(callback.Path)), Output: aws.String("{}"),
	})
	return err
}
