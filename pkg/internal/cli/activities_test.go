package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const activityMachine = `{"StartAt": "Work", "States": {
  "Work": {"Type": "Task", "Resource": "arn:aws:states:us-east-1:000000000000:activity:work", "HeartbeatSeconds": 2, "End": true}}}`

// activityWorker is a worker as AWS documents it. Its argument says what becomes of the tasks.
const activityWorker = `
import json, sys, boto3
sfn = boto3.client("stepfunctions", endpoint_url=sys.argv[1], region_name="us-east-1")
arn = sfn.create_activity(name="work")["activityArn"]
if sys.argv[2] == "create":
    sys.exit()
task = sfn.get_activity_task(activityArn=arn, workerName="python")
assert task["taskToken"], task
n = json.loads(task["input"])["n"]
sfn.send_task_heartbeat(taskToken=task["taskToken"])
if n == 1:
    sfn.send_task_success(taskToken=task["taskToken"], output=json.dumps({"done": n}))
elif n == 2:
    sfn.send_task_failure(taskToken=task["taskToken"], error="No.Paper", cause="none left")
execution = "arn:aws:states:us-east-1:000000000000:execution:work:run-%d" % n
while sfn.describe_execution(executionArn=execution)["status"] == "RUNNING":
    pass
events = [e["type"] for e in sfn.get_execution_history(executionArn=execution)["events"]]
started = [e["activityStartedEventDetails"] for e in sfn.get_execution_history(executionArn=execution)["events"] if e["type"] == "ActivityStarted"]
names = [a["name"] for a in sfn.list_activities()["activities"]]
assert names == ["work"] and sfn.describe_activity(activityArn=arn)["name"] == "work", names
ended = sfn.describe_execution(executionArn=execution)
print(" ".join(events), started, ended.get("output"), ended.get("error"), ended.get("cause"))
`

// A worker with AWS's SDK for Python takes the tasks of an activity. The second task waits while
// dev is killed and starts again, and the worker of the third one dies.
func TestWorkersTakeTheTasksOfActivities(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../../.tools/sam/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	env := inStore(t)
	env[clientKeysVariable] = `{"AKIDEXAMPLE":"a secret of 24 bytes or more"}`
	machine := writeFile(t, "work.asl.json", activityMachine)
	d := startDev(t, program(t), env)
	work := func(mode string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), python, "-c", activityWorker, d.says.Sfn, mode)
		cmd.Env = []string{"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=a secret of 24 bytes or more", "NO_PROXY=*", "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(want string) {
		t.Helper()
		if got := work("work"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const begin = "ExecutionStarted TaskStateEntered ActivityScheduled ActivityStarted "
	work("create")
	d.do("start", machine, "--name", "run-1", "--input", `{"n":1}`)
	check(begin + `ActivitySucceeded TaskStateExited ExecutionSucceeded [{'workerName': 'python'}] {"done":1} None None`)
	d.do("start", machine, "--name", "run-2", "--input", `{"n":2}`)
	d.until("TaskScheduled", "history", "work/run-2", "--json")
	d.kill()
	d = startDev(t, program(t), env)
	check(begin + `ActivityFailed ExecutionFailed [{'workerName': 'python'}] None No.Paper none left`)
	d.do("start", machine, "--name", "run-3", "--input", `{"n":3}`)
	check(begin + `ActivityTimedOut ExecutionFailed [{'workerName': 'python'}] None States.Timeout step Work: no heartbeat within 2s`)
}
