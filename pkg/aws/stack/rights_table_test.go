package stack_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/token"
)

// called are the functions that the trials call. The long ones may take longer
// than the interpreter waits, so the task runner calls them.
type called struct{ short, long, otherShort, otherLong string }

// The flows of the trials.
const (
	passes = "- {type: pass, name: A}"
	pauses = "- {type: wait, name: A, duration: 1}"
	forks  = "- {type: parallel, name: A, branches: [{steps: [{type: pass, name: B}]}, {steps: [{type: pass, name: C}]}]}"
	// joins needs the outputs of its branches.
	joins = "- {type: parallel, name: A, branches: [{steps: [{type: pass, name: B}]}, {steps: [{type: pass, name: C}]}]," +
		" outputMappings: [{target: all, source: $local}]}"
	sleeps = "- {type: wait, name: A, duration: 10000}" // more than the longest delay
	// expires closes its token itself.
	expires = "- {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/echo', pattern: waitForCallback, timeoutSeconds: 1}"
	// asks waits for an outcome.
	asks = "- {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/echo', pattern: waitForCallback," +
		" inputMappings: [{target: taskToken, source: $context.task.token}]}"
	// prompts waits for an outcome, and asks about its input.
	prompts = "- {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/echo', pattern: waitForCallback, prompt: '${$.large}?'," +
		" inputMappings: [{target: taskToken, source: $context.task.token}, {target: large, source: $input.large}]}"
)

func calls(function string) string {
	return "- {type: task, name: A, resourceArn: '" + function + "'}"
}

const writesLogs = "the emulator writes the logs itself"

// logs is the right to write the logs of a function.
func logs(function string) right {
	return right{notEnforced: writesLogs, actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"}, on: function + "Logs"}
}

// usesKey is the right to use the key of a stack.
var usesKey = right{notEnforced: "the emulator encrypts nothing", actions: []string{"kms:Decrypt", "kms:GenerateDataKey"}, on: stackKey}

// rightsOf is what each statement of each role is for.
func rightsOf(f called) map[string]right {
	return map[string]right{
		"Api/ListExecutions": {try: manages("list"), says: lacksRight},
		"Api/ListWaits":      {try: manages("tokens", "list"), says: lacksRight},
		"Api/ReadAndAppend":  {try: manages("flows", "list"), says: lacksRight},
		"Api/ReadItems":      {try: refers, says: lacksRight},
		"Api/ReadTokenKey":   {try: beginsAnew("Api"), says: noBeginning},
		"Api/ReadWaits":      {try: lists, says: lacksRight},
		"Api/SendWakes":      {try: starts, says: lacksRight},
		"Api/Tokens":         {try: succeedsExternal, says: lacksRight},
		"Api/WriteLogs":      logs("Api"),

		"Api/SetSchedules":    {try: setsSchedules, says: lacksRight},
		"Api/PassTimerRole":   {notEnforced: "the emulator lets everybody pass roles", actions: []string{"iam:PassRole"}, on: "TimerRole"},
		"Api/LargeValues":     {try: startsLarge, says: lacksRight},
		"Api/FindLargeValues": findsLargeValues,

		"Callback/ReadTokenKey": {
			try: anew("Callback", posts("/heartbeat", "")), teller: "Callback", action: "secretsmanager:GetSecretValue", says: "read the token key",
		},
		"Callback/SendWakes": {try: posts("", "{}"), teller: "Callback", action: "sqs:SendMessage", says: "send a wake"},
		"Callback/Tokens":    {try: posts("/heartbeat", ""), teller: "Callback", action: "dynamodb:UpdateItem", says: "table Waits"},
		"Callback/WriteLogs": logs("Callback"),
		"Callback/ReadQuestions": {
			try:    shows(func(trial) string { return "{}" }),
			teller: "Callback", action: "dynamodb:Query", says: "table Log",
		},
		"Callback/LargeValues": {try: shows(trial.largeInput), teller: "Callback", action: "s3:GetObject", says: "read large value"},

		"Interpreter/CallFunctions": {try: runs(view.ExitSucceeded, calls(f.short)), says: token.ErrorAccessDenied},
		"Interpreter/CallMore":      {try: runs(view.ExitSucceeded, calls(f.otherShort)), says: token.ErrorAccessDenied},
		"Interpreter/PassTimerRole": {notEnforced: "the emulator lets everybody pass roles", actions: []string{"iam:PassRole"}, on: "TimerRole"},
		"Interpreter/JoinLanes":     {try: runs(view.ExitSucceeded, forks), teller: "Interpreter", action: "dynamodb:UpdateItem", says: "table Log"},
		"Interpreter/QueueTasks":    {try: runs(view.ExitSucceeded, calls(f.long)), teller: "Interpreter", action: "sqs:SendMessage", says: "queue a call"},
		"Interpreter/QueueEnds":     {try: publishes, teller: "Interpreter", action: "sqs:SendMessage", says: "queue the end"},
		"Interpreter/QueueNotices":  {try: notifies, teller: "Interpreter", action: "sqs:SendMessage", says: "queue a notice"},
		"Interpreter/ReadAndAppend": {try: runs(view.ExitSucceeded, passes), teller: "Interpreter", action: "dynamodb:Query", says: "table Log"},
		"Interpreter/ListExecutions": {
			notEnforced: "the command that stops descendants ends before the interpreter needs it; see TestGrowingFamilies",
			actions:     []string{"dynamodb:Query"}, on: "LogTable",
		},
		"Interpreter/ReadFlows": {try: runs(view.ExitSucceeded, passes), teller: "Interpreter", action: "dynamodb:GetItem", says: "read flow"},
		"Interpreter/ReadItems": {try: runs(view.ExitSucceeded, joins), teller: "Interpreter", action: "dynamodb:BatchGetItem", says: "table Log"},
		"Interpreter/ReadTokenKey": {
			try: anew("Interpreter", runs(view.ExitSucceeded, passes)), teller: "Interpreter", action: "secretsmanager:GetSecretValue", says: "read the token key",
		},
		"Interpreter/ReceiveWakes": {
			try: putsBack("Interpreter", "WakeQueue"), teller: "Interpreter", action: "sqs:ChangeMessageVisibility", says: "visibility_error",
		},
		"Interpreter/SendWakes":   {try: runs(view.ExitSucceeded, pauses), teller: "Interpreter", action: "sqs:SendMessage", says: "send a wake"},
		"Interpreter/StartTimers": {try: schedules, teller: "Interpreter", action: "scheduler:CreateSchedule", says: "no schedule"},
		// It reads the paused flows first, unless it has read them a moment ago.
		"Interpreter/Tokens":    {try: runs(view.ExitFailed, expires), teller: "Interpreter", action: "dynamodb:", says: "table Waits"},
		"Interpreter/WriteLogs": logs("Interpreter"),

		"Interpreter/LargeValues": {
			try: runsLarge(calls(f.short)), teller: "Interpreter", action: "s3:GetObject", says: "read large value",
		},
		"Interpreter/FindLargeValues": findsLargeValues,

		"TaskRunner/LargeValues":     {try: runsLarge(calls(f.long)), teller: "TaskRunner", action: "s3:GetObject", says: "read large value"},
		"TaskRunner/FindLargeValues": findsLargeValues,
		"TaskRunner/CallFunctions":   {try: runs(view.ExitSucceeded, calls(f.long)), says: token.ErrorAccessDenied},
		"TaskRunner/CallMore":        {try: runs(view.ExitSucceeded, calls(f.otherLong)), says: token.ErrorAccessDenied},
		"TaskRunner/PublishStatus":   {try: publishes, teller: "TaskRunner", action: "events:PutEvents", says: "publish the end"},
		"TaskRunner/ReceiveTasks": {
			try: putsBack("TaskRunner", "TaskQueue"), teller: "TaskRunner", action: "sqs:ChangeMessageVisibility", says: "visibility_error",
		},
		"TaskRunner/ReceiveDeliveries": {
			try: putsBack("TaskRunner", "DeliveryQueue"), teller: "TaskRunner", action: "sqs:ChangeMessageVisibility", says: "visibility_error",
		},
		"TaskRunner/ReceiveNotices": {
			try: putsBack("TaskRunner", "NoticeQueue"), teller: "TaskRunner", action: "sqs:ChangeMessageVisibility", says: "visibility_error",
		},
		"TaskRunner/ReadNotifySecret": {
			try: anew("TaskRunner", notifies), teller: "TaskRunner", action: "secretsmanager:GetSecretValue", says: "read the secret of notices",
		},
		"TaskRunner/SendNotices": {try: notifiesQueue, teller: "TaskRunner", action: "sqs:SendMessage", says: `"outcome":"failed"`},
		"TaskRunner/SendWakes":   {try: runs(view.ExitSucceeded, calls(f.long)), teller: "TaskRunner", action: "sqs:SendMessage", says: "send a wake"},
		"TaskRunner/Tokens":      {try: runs(view.ExitSucceeded, calls(f.long)), teller: "TaskRunner", action: "dynamodb:GetItem", says: "table Waits"},
		"TaskRunner/WriteLogs":   logs("TaskRunner"),

		"Janitor/ListExecutions":   {try: sweeps, says: "perform: dynamodb:Query"},
		"Janitor/ReadAndAppend":    {try: sweepsWaits, says: "table Log"},
		"Janitor/PlaceAndJoins":    {try: sweeps, says: "perform: dynamodb:GetItem"},
		"Janitor/ListWaits":        {try: sweeps, says: "perform: dynamodb:Query"},
		"Janitor/ReadWaits":        {try: sweepsWaits, says: "perform: dynamodb:BatchGetItem"},
		"Janitor/Tokens":           {try: sweepsWaits, says: "table Waits"},
		"Janitor/ReadTokenKey":     {try: anew("Janitor", sweepsWaits), says: "read the token key"},
		"Janitor/SendPolls":        {try: sweepsWaits, says: "perform: sqs:SendMessage"},
		"Janitor/QueueDeliveries":  {try: sweepsOutcomes, says: "perform: sqs:SendMessage"},
		"Janitor/SendWakes":        {try: sweepsLetters(""), says: "perform: sqs:SendMessage"},
		"Janitor/QueueNotices":     {try: sweepsLetters("2"), says: "queue a notice"},
		"Janitor/ReceiveDeadWakes": {try: sweeps, says: "perform: sqs:ReceiveMessage"},
		"Janitor/ReadItems":        {try: sweepsSubflow(4096), says: "perform: dynamodb:BatchGetItem"},
		"Janitor/LargeValues":      {try: sweepsSubflow(largeInput), says: "perform: s3:GetObject"},
		"Janitor/FindLargeValues":  findsLargeValues,
		"Janitor/CountDeadLetters": {try: sweeps, says: "perform: sqs:GetQueueAttributes"},
		"Janitor/WriteLogs":        logs("Janitor"),

		"JanitorSchedule/StartJanitor": {
			notEnforced: "the emulator's Scheduler asks for no right of the role", actions: []string{"lambda:InvokeFunction"}, on: "JanitorFunction",
		},

		"Timer/SendWakes": {notEnforced: "the emulator's Scheduler asks for no right of the role", actions: []string{"sqs:SendMessage"}, on: "WakeQueue"},
		"Timer/KeepWakes": {notEnforced: "the emulator's Scheduler asks for no right of the role", actions: []string{"sqs:SendMessage"}, on: "WakeDeadLetters"},
		"Timer/SendPolls": {notEnforced: "the emulator's Scheduler asks for no right of the role", actions: []string{"sqs:SendMessage"}, on: "PollQueue"},
		"Timer/KeepPolls": {notEnforced: "the emulator's Scheduler asks for no right of the role", actions: []string{"sqs:SendMessage"}, on: "PollDeadLetters"},

		"Api/UseKey":         usesKey,
		"Callback/UseKey":    usesKey,
		"Fnf/UseKey":         usesKey,
		"Interpreter/UseKey": usesKey,
		"Janitor/UseKey":     usesKey,
		"JobEvents/UseKey":   usesKey,
		"Sfn/UseKey":         usesKey,
		"StartJob/UseKey":    usesKey,
		"TaskRunner/UseKey":  usesKey,
		"Timer/UseKey":       usesKey,

		"Echo/WriteLogs":         logs("Echo"),
		"GetJobStatus/WriteLogs": logs("GetJobStatus"),
		"CallService/WriteLogs":  logs("CallService"),
	}
}

const (
	// lacksRight is what the management API says, before the name of the right.
	lacksRight = "the role of the API's function lacks the right "
	// noBeginning is what Lambda says of a function that ends before it asks
	// for work.
	noBeginning = "Unhandled"
)

// manages runs a command that needs the management API alone.
func manages(args ...string) func(trial) error {
	return func(x trial) error { return x.await(x.begin(view.ExitSucceeded, args...)) }
}

// setsSchedules creates, changes and deletes a schedule.
func setsSchedules(x trial) error {
	for _, args := range [][]string{
		{"flows", "put", x.flow(passes)}, {"schedules", "put", x.name + "/s", "--cron", "@every 1h"},
		{"schedules", "put", x.name + "/s", "--cron", "@every 2h"}, {"schedules", "delete", x.name + "/s"},
	} {
		if err := x.await(x.begin(view.ExitSucceeded, args...)); err != nil {
			return err
		}
	}
	return nil
}

// starts starts an execution.
func starts(x trial) error {
	return x.await(x.begin(view.ExitSucceeded, "start", x.flow(passes), "--name", x.execution()))
}

// runs runs an execution to its end.
func runs(exit int, steps string) func(trial) error {
	return func(x trial) error { return x.await(x.begin(exit, "run", x.flow(steps), "--name", x.execution())) }
}

// findsLargeValues is the right to find out that an object is missing.
var findsLargeValues = right{
	notEnforced: "the emulator says without it that an object is missing", actions: []string{"s3:ListBucket"}, on: "ValuesBucket",
}

// largeInput is an input that no message has room for.
const largeInput = 300 << 10

// startsLarge starts an execution whose input no item has room for.
func startsLarge(x trial) error {
	return x.await(x.begin(view.ExitSucceeded, "start", x.flow(passes), "--name", x.execution(), "--input", x.largeInput()))
}

// runsLarge runs an execution with such an input.
func runsLarge(steps string) func(trial) error {
	return func(x trial) error {
		return x.await(x.begin(view.ExitSucceeded, "run", x.flow(steps), "--name", x.execution(), "--input", x.largeInput()))
	}
}

// largeInput returns the argument with a large input.
func (x trial) largeInput() string {
	x.Helper()
	file := filepath.Join(x.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte(`{"large":"`+strings.Repeat("x", largeInput)+`"}`), 0o600); err != nil {
		x.Fatal(err)
	}
	return "@" + file
}

// refers runs an execution whose last item refers to the input, which the first has.
func refers(x trial) error {
	return x.await(x.begin(view.ExitSucceeded, "run", x.flow(passes), "--name", x.execution(), "--input", `{"large":"`+strings.Repeat("x", 4096)+`"}`))
}

// posts posts to the public API for a token that is open.
func posts(path, body string) func(trial) error {
	return func(x trial) error {
		token := x.stack.follow(x.T, "run", x.flow(asks), "--name", x.execution()).token()
		ended := make(chan error, 1)
		if status, answer := x.stack.post(x.T, "/callbacks/"+token+path, body); status != http.StatusOK {
			ended <- fmt.Errorf("%d: %s", status, answer)
		} else {
			ended <- nil
		}
		return x.await(ended)
	}
}

// shows gets the page of a callback that asks about this input.
func shows(input func(trial) string) func(trial) error {
	return func(x trial) error {
		token := x.stack.follow(x.T, "run", x.flow(prompts), "--name", x.execution(), "--input", input(x)).token()
		ended := make(chan error, 1)
		if page := x.stack.call(x.T, http.MethodGet, "/callbacks/"+token, ""); page.status != http.StatusOK || !strings.Contains(page.body, `id="prompt"`) {
			ended <- fmt.Errorf("%d: %s", page.status, page.body)
		} else {
			ended <- nil
		}
		return x.await(ended)
	}
}

// putsBack gives a function a message that it puts back: one of a newer
// release. The emulator receives and deletes without asking for a right, so
// putting back is all that needs one.
func putsBack(function, queue string) func(trial) error {
	return func(x trial) error {
		_, err := sqs.NewFromConfig(emulator.Config(x)).SendMessage(x.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(x.stack.resources[queue]), MessageBody: aws.String(`{"v":1000}`),
		})
		if err != nil {
			return err
		}
		return x.await(x.until(func() bool {
			line := x.line(function, `"outcome":"failed"`, "1000")
			return line != "" && !strings.Contains(line, "visibility_error")
		}))
	}
}

// schedules looks for the schedule of a long wait.
func schedules(x trial) error {
	name := x.execution()
	if err := <-x.begin(view.ExitSucceeded, "start", x.flow(sleeps), "--name", name); err != nil {
		return err
	}
	return x.awaitSchedule(engine.NewID(x.name, name).String())
}

// awaitSchedule waits until one timer has a name with that prefix.
func (x trial) awaitSchedule(prefix string) error {
	x.Helper()
	client := scheduler.NewFromConfig(emulator.Config(x))
	input := &scheduler.ListSchedulesInput{GroupName: aws.String(x.stack.resources["Timers"]), NamePrefix: &prefix}
	return x.await(x.until(func() bool {
		found, err := client.ListSchedules(x.Context(), input)
		return err == nil && len(found.Schedules) == 1
	}))
}

// publishes waits for the task runner to have told the event bus.
func publishes(x trial) error {
	name := x.execution()
	if err := <-x.begin(view.ExitSucceeded, "run", x.flow(passes), "--name", name); err != nil {
		return err
	}
	return x.await(x.awaitLine("TaskRunner", engine.NewID(x.name, name).String(), `"ended":"Succeeded"`, `"outcome":"done"`))
}

// notifies waits until the task runner has tried to reach a target, for which it had to read the
// secret.
func notifies(x trial) error {
	name := x.execution()
	if err := <-x.begin(view.ExitSucceeded, "start", x.flow(passes), "--name", name, "--notify", "https://hook.invalid/hook"); err != nil {
		return err
	}
	return x.await(x.awaitLine("TaskRunner", engine.NewID(x.name, name).String(), "dial tcp", `"outcome":"failed"`))
}

// notifiesQueue waits until the task runner has sent a notice to a queue.
func notifiesQueue(x trial) error {
	makeToldQueue(x.T, x.stack)
	name := x.execution()
	if err := <-x.begin(view.ExitSucceeded, "start", x.flow(passes), "--name", name, "--notify", toldQueue(x.stack.name)); err != nil {
		return err
	}
	return x.await(x.awaitLine("TaskRunner", engine.NewID(x.name, name).String(), `"notice":`, `"outcome":"done"`))
}

// execution is the name of the trial's: each time another one, since what was
// begun and refused is put back for a minute.
func (x trial) execution() string {
	if x.again {
		return "with"
	}
	return "without"
}

// flow writes the file of a flow of the trial's own: who runs a flow for the
// first time has to read it.
func (x trial) flow(steps string) string {
	x.Helper()
	file := filepath.Join(x.TempDir(), x.name+".yaml")
	if err := os.WriteFile(file, []byte("version: v1\ntype: flow\nsteps:\n"+steps+"\n"), 0o600); err != nil {
		x.Fatal(err)
	}
	return file
}

// deployForRights deploys a stack with all statements that a parameter brings,
// and the functions that the trials call.
func deployForRights(t *testing.T) (stack, called) {
	t.Helper()
	const others = "arn:aws:lambda:" + emulator.Region + ":" + emulator.Account + ":function:"
	other := "other" + strings.ToLower(rand.Text()[:8])
	f := called{short: "acs:fc:::services/s/functions/StartJob", otherShort: others + other + "-short", otherLong: others + other + "-long"}
	parameters := []string{"LongestDelay=30", "Options=status-events", "DataLimit=2097152", "KmsKey=" + stackKey,
		"CallableFunctions=" + f.otherShort + "," + f.otherLong}
	d := deployment{name: freshName(), build: shipped, prepare: withJobs, parameters: parameters, withoutTLS: true}
	s := d.get(t)
	f.long = "acs:fc:::services/s/functions/long"
	for name, timeout := range map[string]int32{s.name + "_long": 60, other + "-long": 60, other + "-short": 5} {
		s.addFunction(t, name, timeout)
	}
	return s, f
}

// addFunction adds a function that answers its input.
func (s stack) addFunction(t *testing.T, name string, timeout int32) {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(folder, "build", "EchoFunction", "bootstrap"))
	if err != nil {
		t.Fatal(err)
	}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err == nil {
		_, err = file.Write(program)
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = lambda.NewFromConfig(emulator.Config(t)).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Handler: aws.String("bootstrap"), Runtime: types.RuntimeProvidedal2023, Timeout: &timeout,
		Role: aws.String("arn:aws:iam::" + emulator.Account + ":role/" + s.resources["EchoRole"]), Code: &types.FunctionCode{ZipFile: code.Bytes()},
	})
	if err != nil {
		t.Fatal(err)
	}
}
