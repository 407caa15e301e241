package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

const paidMachine = `{"StartAt": "Each", "States": {
  "Each": {"Type": "Map", "ItemsPath": "$.list", "ResultPath": "$.done", "Next": "Pay", "ItemProcessor": {"StartAt": "Pack", "States": {
    "Pack": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:pack", "End": true}}}},
  "Pay": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:pay", "End": true}}}`

// A state machine that failed goes on after its Map; the graph, lists and schedules show it.
func TestCommandsAcceptMachines(t *testing.T) {
	t.Parallel()
	env, dir := inStore(t), t.TempDir()
	file, money := writeIn(t, dir, "order.asl.json", paidMachine), filepath.Join(dir, "money")
	run := func(name string) result {
		return doWith(t, "", env, "run", file, "--name", name, "--input", `{"list":[1,2]}`, "--task", "pack=exec:echo 1",
			"--task", `pay=exec:sh -c 'test -e `+money+` && echo \"paid\"'`)
	}
	if got := run("0a"); got.exit != view.ExitFailed || !strings.Contains(got.stderr, "Runtime.ExitError") {
		t.Fatalf("%+v", got)
	}
	doWith(t, "", env, "redrive", "order/0a")
	writeIn(t, dir, "money", "")
	if got := run("0a-redrive"); got.exit != view.ExitSucceeded || strings.Contains(got.stderr, "Pack returned") {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]string{
		"graph|order|--execution|0a": "2 done", "show|order/0a-redrive": "redriven  from order/0a at step Pay\n", "list": "Pay failed: Runtime.ExitError",
		"schedules|put|order/often|--cron|@every 5m": "order/often  @every 5m", "advise|" + file: "order.asl.json: nothing to advise",
	} {
		if got := doWith(t, "", env, strings.Split(args, "|")...); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// A Map reads its items from objects in folders, and writes its results there.
func TestMapsOfObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{"s3/data", "s3/out"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeIn(t, filepath.Join(dir, "s3", "data"), "a.json", "[1,2]")
	file := writeIn(t, dir, "each.asl.json", `{"StartAt": "Each", "States": {"Each": {"Type": "Map", "End": true,
		"ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}},
		"ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "data", "Key": "a.json"}},
		"ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "out"}},
		"ResultSelector": {"bucket.$": "$.ResultWriterDetails.Bucket"}}}}`)
	const done = `{"bucket":"out"}` + "\n"
	if got := do(t, "run", file, "--skip-time", "--task", "s3=dir:"+filepath.Join(dir, "s3")); got.exit != view.ExitSucceeded || got.stdout != done {
		t.Errorf("%+v", got)
	}
	settings := writeIn(t, dir, "waitless.yaml", "tasks:\n  s3: dir:s3\n")
	if got := do(t, "run", file, "--skip-time", "--config", settings); got.exit != view.ExitSucceeded || got.stdout != done {
		t.Errorf("%+v", got)
	}
	if got := do(t, "run", file, "--skip-time"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--task s3=dir:FOLDER") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "__complete", "run", file, "--task", "s"); !strings.HasPrefix(got.stdout, "s3=aws\ns3=dir:\n:") {
		t.Errorf("%+v", got)
	}
}

// The state of a machine accepts any JSON value for its token, and a failure without a name.
func TestTokensOfMachines(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	const ask = `"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", ` +
		`"Parameters": {"FunctionName": "ask", "Payload": {"token.$": "$$.Task.Token"}}`
	file := writeIn(t, t.TempDir(), "odd.asl.json", `{"StartAt": "In/ner", "States": {"In/ner": {`+ask+`, "Next": "Two"}, "Two": {`+ask+`, "End": true}}}`)
	run := runInBackground(t, env, file, "--name", "o", "--task", "ask=exec:echo 1")
	run.awaits("In/ner waits for a callback")
	if got := doWith(t, "", env, "tokens", "succeed", "odd/o/In/ner", "--output", "[1,2]"); got.exit != view.ExitSucceeded {
		t.Errorf("%+v", got)
	}
	run.awaits("Two waits for a callback")
	if got := doWith(t, "", env, "tokens", "fail", "odd/o", "--cause", "c"); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "States.Failed") {
		t.Errorf("%+v", got)
	}
	if code := run.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
}
