package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The AWS CLI starts an execution in dev, reports to the step that waits, and reads what happened.
func TestTheAWSCLIUsesDev(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the AWS CLI four times")
	}
	command := awsCLI(t)
	const id, secret = "me", "a secret of 24 bytes or more"
	env := inStore(t)
	env[clientKeysVariable] = `{"` + id + `":"` + secret + `"}`
	d := startDev(t, program(t), env)
	aws := func(args ...string) (printed map[string]any) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command, append([]string{"stepfunctions", "--endpoint-url", d.says.Sfn, "--output", "json"}, args...)...)
		cmd.Env = []string{
			"HOME=" + t.TempDir(), "NO_PROXY=*", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + id, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_MAX_ATTEMPTS=1",
		}
		out, err := cmd.CombinedOutput()
		if err == nil && len(out) > 0 {
			err = json.Unmarshal(out, &printed)
		}
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return printed
	}
	const arn = "arn:aws:states:us-east-1:000000000000:"
	d.do("flows", "put", callbackFlow)
	started := aws("start-execution", "--state-machine-arn", arn+"stateMachine:callback", "--name", "one", "--input", `{"a":1}`)
	if started["executionArn"] != arn+"execution:callback:one" {
		t.Errorf("started %v", started)
	}
	text := d.until(`\n *"token": "([^"]+)"`, "tokens", "list", "callback/one", "--unmask", "--json")
	aws("send-task-success", "--task-token", text, "--task-output", `{"status":"ok"}`)
	d.until(`(?m)^callback/one +(Succeeded)`, "list")
	shown := aws("describe-execution", "--execution-arn", arn+"execution:callback:one")
	if shown["status"] != "SUCCEEDED" || shown["input"] != `{"a":1}` || shown["output"] != `{"s":"ok"}` {
		t.Errorf("described %v", shown)
	}
	history, _ := aws("get-execution-history", "--execution-arn", arn+"execution:callback:one")["events"].([]any)
	if last, _ := history[len(history)-1].(map[string]any); last["type"] != "ExecutionSucceeded" {
		t.Errorf("the history is %v", history)
	}
}

// awsCLI returns the path of the AWS CLI.
func awsCLI(t *testing.T) string {
	t.Helper()
	found, err := filepath.Abs("../../../.tools/clients/bin/aws")
	if err == nil {
		_, err = os.Stat(found)
	}
	if err != nil {
		t.Fatalf("the AWS CLI is not installed: `make test` installs it, `make unit` runs the tests that need none: %v", err)
	}
	return found
}
