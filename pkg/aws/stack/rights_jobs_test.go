package stack_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// rightsOfJobs is what the statements are for that jobs and the waits of others
// need.
func rightsOfJobs() map[string]right {
	return map[string]right{
		"StartJob/QueueDeliveries": {try: meets("taskToken"), teller: "StartJob", action: "sqs:SendMessage", says: "queue a delivery"},
		"StartJob/ReadTokenKey":    {try: anew("StartJob", opens), says: "secretsmanager:GetSecretValue"},
		"StartJob/SendPolls":       {try: opens, says: "send poll 1"},
		"StartJob/SendWakes":       {try: meets("token"), teller: "StartJob", action: "sqs:SendMessage", says: "send a wake"},
		"StartJob/Tokens":          {try: opens, says: "open the external wait"},
		"StartJob/WriteLogs":       logs("StartJob"),
		"StartJob/JobAccounts":     {try: anew("StartJob", startsElsewhere), says: "sts:AssumeRole"},
		"GetJobStatus/JobAccounts": {try: describesElsewhere, says: "sts:AssumeRole"},
		"JobEvents/JobAccounts": {
			try: anew("JobEvents", observesElsewhere), teller: "JobEvents", action: "sts:AssumeRole", says: "describe job",
		},

		"StartJob/CustomKinds":     {try: startsCustom, says: "lambda:InvokeFunction"},
		"GetJobStatus/CustomKinds": {try: describesCustom, says: "lambda:InvokeFunction"},
		"JobEvents/CustomKinds":    {try: observesCustom, teller: "JobEvents", action: "lambda:InvokeFunction", says: "describe job"},

		"JobEvents/QueueDeliveries": {try: observes("taskToken"), teller: "JobEvents", action: "sqs:SendMessage", says: "queue a delivery"},
		"JobEvents/ReceiveJobs": {
			try: putsBack("JobEvents", "JobQueue"), teller: "JobEvents", action: "sqs:ChangeMessageVisibility", says: "visibility_error",
		},
		"JobEvents/ReceivePolls": {
			try: putsBack("JobEvents", "PollQueue"), teller: "JobEvents", action: "sqs:ChangeMessageVisibility", says: "visibility_error",
		},
		"JobEvents/ReadTokenKey":  {try: anew("JobEvents", polls), teller: "JobEvents", action: "secretsmanager:GetSecretValue", says: "read the token key"},
		"JobEvents/StartTimers":   {try: sleepsUntilDeadline, teller: "JobEvents", action: "scheduler:CreateSchedule", says: "no schedule"},
		"JobEvents/PassTimerRole": {notEnforced: "the emulator lets everybody pass roles", actions: []string{"iam:PassRole"}, on: "TimerRole"},
		"JobEvents/SendPolls":     {try: polls, teller: "JobEvents", action: "sqs:SendMessage", says: "send a poll"},
		"JobEvents/SendWakes":     {try: observes("token"), teller: "JobEvents", action: "sqs:SendMessage", says: "send a wake"},
		"JobEvents/Tokens":        {try: observes("token"), teller: "JobEvents", action: "dynamodb:UpdateItem", says: "note the end of job"},
		"JobEvents/WriteLogs":     logs("JobEvents"),

		"TaskRunner/AnswerCallbacks": {
			notEnforced: "the emulator's durable functions are others than the tests'", on: "-durable:*",
			actions: []string{
				"lambda:SendDurableExecutionCallbackSuccess", "lambda:SendDurableExecutionCallbackFailure",
				"lambda:SendDurableExecutionCallbackHeartbeat",
			},
		},
		"TaskRunner/AnswerTasks":  {try: delivers, teller: "TaskRunner", action: "states:SendTaskSuccess", says: "deliver the outcome"},
		"TaskRunner/ReadTokenKey": {try: anew("TaskRunner", delivers), teller: "TaskRunner", action: "secretsmanager:GetSecretValue", says: "read the token key"},

		"Api/QueueDeliveries":         {try: succeedsExternal, says: lacksRight},
		"Api/SendPolls":               {try: rearmsExternal, says: lacksRight},
		"Callback/QueueDeliveries":    {try: delivers, teller: "Callback", action: "sqs:SendMessage", says: "queue a delivery"},
		"Callback/ReadCallbackSecret": {try: postsUnsigned, says: "the server has no secret to verify it with"},

		"Fnf/ListExecutions":  {try: manages2019("ListExecutions"), says: "InternalServerError"},
		"Fnf/QueueDeliveries": {try: reports2019, says: "InternalServerError"},
		"Fnf/ReadAndAppend":   {try: manages2019("ListExecutions"), says: "InternalServerError"},
		"Fnf/ReadFnfKeys":     {try: asksAnew("Fnf", "/"), says: noBeginning},
		"Fnf/SetSchedules":    {try: schedules2019, says: "InternalServerError"},
		"Fnf/PassTimerRole":   {notEnforced: "the emulator lets everybody pass roles", actions: []string{"iam:PassRole"}, on: "TimerRole"},
		"Fnf/ReadItems":       {try: describes2019(refers), says: "InternalServerError"},
		"Fnf/LargeValues":     {try: describes2019(runsLarge(passes)), says: "InternalServerError"},
		"Fnf/FindLargeValues": findsLargeValues,
		"Fnf/ReadTokenKey":    {try: asksAnew("Fnf", "/"), says: noBeginning},
		"Fnf/SendWakes":       {try: manages2019("StartExecution"), says: "InternalServerError"},
		"Fnf/Tokens":          {try: reports2019, says: "InternalServerError"},
		"Fnf/WriteLogs":       logs("Fnf"),

		"Sfn/DeleteSchedules": {try: deletesSfn, says: "InternalFailure"},
		"Sfn/ListExecutions":  {try: managesSfn(""), says: "InternalFailure"},
		"Sfn/QueueDeliveries": {try: reportsSfn, says: "InternalFailure"},
		"Sfn/ReadAndAppend":   {try: managesSfn(""), says: "InternalFailure"},
		"Sfn/ReadSfnKeys":     {try: asksAnew("Sfn", "/sfn/"), says: noBeginning},
		"Sfn/ReadItems":       {try: describesSfn(refers), says: "InternalFailure"},
		"Sfn/LargeValues":     {try: describesSfn(runsLarge(passes)), says: "InternalFailure"},
		"Sfn/FindLargeValues": findsLargeValues,
		"Sfn/ReadTokenKey":    {try: asksAnew("Sfn", "/sfn/"), says: noBeginning},
		"Sfn/SendWakes":       {try: managesSfn("started"), says: "InternalFailure"},
		"Sfn/Tokens":          {try: reportsSfn, says: "InternalFailure"},
		"Sfn/WriteLogs":       logs("Sfn"),
	}
}

// theirToken is a task token that Step Functions does not know, another one in
// each trial.
func (x trial) theirToken() string { return x.name + "-" + x.execution() }

// ask invokes a function and answers what it says.
func (x trial) ask(function, payload string) (answer []byte, err error) {
	answered, err := lambda.NewFromConfig(emulator.Config(x)).Invoke(x.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(x.stack.resources[function+"Function"]), Payload: []byte(payload),
	})
	switch {
	case err != nil:
		return nil, err
	case answered.FunctionError != nil:
		return nil, fmt.Errorf("%s: %s", *answered.FunctionError, answered.Payload)
	}
	return answered.Payload, nil
}

// anew has the function begin as it does after a while without work.
func (x trial) anew(function string) error {
	_, err := lambda.NewFromConfig(emulator.Config(x)).UpdateFunctionConfiguration(x.Context(), &lambda.UpdateFunctionConfigurationInput{
		FunctionName: aws.String(x.stack.resources[function+"Function"]), MemorySize: aws.Int32(512), // the emulator ends its processes
	})
	return err
}

// asksAnew requests a path of a function that begins.
func asksAnew(function, path string) func(trial) error {
	return func(x trial) error {
		if err := x.anew(function); err != nil {
			return err
		}
		_, err := x.ask(function, x.request(function, path))
		return err
	}
}

// open opens a wait of Step Functions that ends when a client calls its URL.
func (x trial) open() (callback *url.URL, err error) {
	answer, err := x.ask("StartJob", fmt.Sprintf(`{"kind":"callback","taskToken":%q}`, x.theirToken()))
	if err != nil {
		return nil, err
	}
	var started jobs.StartResult
	if err := json.Unmarshal(answer, &started); err != nil {
		return nil, err
	}
	return url.Parse(started.CallbackURL)
}

func opens(x trial) error {
	_, err := x.open()
	return err
}

// manages2019 creates a flow by the API of 2019-03-15 and does that with it.
func manages2019(action string) func(trial) error {
	return func(x trial) error {
		text, err := os.ReadFile(x.flow(passes))
		if err != nil {
			return err
		}
		create := map[string]any{"Name": x.name, "Definition": string(text), "Description": "", "Type": "FDL"}
		return x.succeeds(vendorCall{"CreateFlow", create}, vendorCall{action, map[string]any{"FlowName": x.name}})
	}
}

// schedules2019 creates, changes and deletes a schedule by the API of 2019-03-15.
func schedules2019(x trial) error {
	if err := manages2019("ListSchedules")(x); err != nil {
		return err
	}
	named, timed := map[string]any{"FlowName": x.name, "ScheduleName": "s"}, map[string]any{"CronExpression": "@every 1h"}
	maps.Copy(timed, named)
	return x.succeeds(vendorCall{"CreateSchedule", timed}, vendorCall{"UpdateSchedule", timed}, vendorCall{"DeleteSchedule", named})
}

// describes2019 describes an execution that was run before, by the API of 2019-03-15.
func describes2019(run func(trial) error) func(trial) error {
	return func(x trial) error {
		if err := run(x); err != nil {
			return err
		}
		return x.succeeds(vendorCall{"DescribeExecution", map[string]any{"FlowName": x.name, "ExecutionName": x.execution()}})
	}
}

// succeeds returns an error if the last of the calls fails.
func (x trial) succeeds(calls ...vendorCall) error {
	lines := x.stack.vendor(x.T, calls...)
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "{") {
		return errors.New(strings.Join(lines, "; "))
	}
	return nil
}

// reports2019 reports the outcome of a wait of Step Functions by the API of 2019-03-15.
func reports2019(x trial) error {
	callback, err := x.open()
	if err != nil {
		return err
	}
	return x.succeeds(vendorCall{"ReportTaskSucceeded", map[string]any{"TaskToken": path.Base(callback.Path), "Output": "{}"}})
}

// delivered is answered when the task runner has handed over the outcome of the trial's wait. Late
// deliveries of other trials do not count.
func (x trial) delivered() <-chan error {
	x.Helper()
	hash := sha256.Sum256([]byte(string(resume.RecipientStepFunctions) + "\x00" + x.theirToken()))
	handle := x.stack.keys(x.T).Handle(token.ID{Execution: [12]byte(hash[:12]), Flags: token.FlagExternal})
	return x.awaitLine("TaskRunner", fmt.Sprintf(`"delivery":%q`, token.Mask(handle)), `"outcome":"done"`)
}

// delivers calls the URL.
func delivers(x trial) error {
	callback, err := x.open()
	if err != nil {
		return err
	}
	if status, answer := x.stack.post(x.T, callback.Path, "{}"); status != http.StatusOK {
		ended := make(chan error, 1)
		ended <- fmt.Errorf("%d: %s", status, answer)
		return x.await(ended)
	}
	return x.await(x.delivered())
}

// anew tries with a function that starts, and then reads its keys.
func anew(function string, try func(trial) error) func(trial) error {
	return func(x trial) error {
		if err := x.anew(function); err != nil {
			return err
		}
		return try(x)
	}
}

// postsUnsigned posts what is to be signed, and wants to hear of the signature.
func postsUnsigned(x trial) error {
	if err := x.anew("Callback"); err != nil {
		return err
	}
	signed := strings.Replace(asks, "waitForCallback,", "waitForCallback, signed: true,", 1)
	token := x.stack.follow(x.T, "run", x.flow(signed), "--name", x.execution()).token()
	if status, answer := x.stack.post(x.T, "/callbacks/"+token, "{}"); !strings.Contains(answer, "the headers webhook-id") {
		return fmt.Errorf("%d: %s", status, answer)
	}
	return nil
}

// lists lists a wait of Step Functions.
func lists(x trial) error {
	if err := opens(x); err != nil {
		return err
	}
	return manages("tokens", "list")(x)
}

// succeedsExternal closes the wait by the management API.
func succeedsExternal(x trial) error {
	callback, err := x.open()
	if err != nil {
		return err
	}
	return x.await(x.begin(view.ExitSucceeded, "tokens", "succeed", path.Base(callback.Path), "--output", "{}"))
}

// rearmsExternal rearms all waits, of which one is for a callback.
func rearmsExternal(x trial) error {
	if _, err := x.open(); err != nil {
		return err
	}
	return x.await(x.begin(view.ExitSucceeded, "rearm"))
}

// polls sends a poll that comes too early, and is sent again.
func polls(x trial) error {
	return pollsCallback(x, time.Now().Add(time.Hour), time.Time{})
}

// sleepsUntilDeadline sends the poll of a callback that comes long before the deadline, which is
// scheduled.
func sleepsUntilDeadline(x trial) error {
	deadline := time.Now().Add(time.Hour).Truncate(time.Second)
	if err := pollsCallback(x, deadline, deadline); err != nil {
		return err
	}
	return x.awaitSchedule("poll-")
}

func pollsCallback(x trial, due, deadline time.Time) error {
	x.Helper()
	keys := x.stack.keys(x.T)
	early := &sqs.Polls{
		Target: sqs.Queue{Client: sqs.NewClient(emulator.Config(x)), URL: x.stack.resources["PollQueue"]}, Now: func() time.Time { return due },
	}
	poll := resume.Poll{
		Key: jobs.Key{Kind: jobs.KindCallback}, Waiter: resume.Waiter{Handle: keys.Handle(token.ID{Expires: due})}, Number: 1, Due: due, Deadline: deadline,
	}
	if err := early.Send(x.Context(), poll.Sign(keys)); err != nil {
		return err
	}
	return x.await(x.awaitLine("JobEvents", `"poll":1`, `"outcome":"done"`))
}

// A named job is an execution of Step Functions whose ARN is known before it
// starts. It fails, as its event says: on a busy machine a poll may be first.
type namedJob struct{ machine, name string }

func (x trial) job() namedJob {
	x.Helper()
	name := x.name + "-" + x.execution()
	made, err := sfn.NewFromConfig(emulator.Config(x)).CreateStateMachine(x.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String(x.stack.name + "-" + name), RoleArn: aws.String(x.stack.newRole(x.T, name, "states")),
		Definition: aws.String(`{"StartAt":"F","States":{"F":{"Type":"Fail","Error":"E","Cause":"c"}}}`),
	})
	if err != nil {
		x.Fatal(err)
	}
	return namedJob{*made.StateMachineArn, x.execution()}
}

func (j namedJob) request() string {
	return fmt.Sprintf(`"kind":"sfn-execution","params":{"StateMachineArn":%q,"Name":%q}`, j.machine, j.name)
}

// ends sends the event of its end, and waits until it was received if it can be.
func (j namedJob) ends(x trial) error {
	arn := strings.Replace(j.machine, ":stateMachine:", ":execution:", 1) + ":" + j.name
	event := fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"Step Functions Execution Status Change","source":"aws.states","account":%q,"time":%q,`+
		`"region":%q,"resources":[%q],"detail":{"executionArn":%q,"stateMachineArn":%q,"name":%q,"status":"FAILED","error":"E","cause":"c"}}`,
		x.theirToken(), emulator.Account, time.Now().UTC().Format(time.RFC3339), emulator.Region, arn, arn, j.machine, j.name)
	return x.stack.putMessage(x.T, "JobQueue", event)
}

// begins starts the job for a step, or for a state machine; who waits is
// answered when he goes on.
func (j namedJob) begins(x trial, member string) (<-chan error, error) {
	if member == "token" {
		flow := x.flow("- {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/StartJob', pattern: waitForCallback, inputMappings: [" +
			"{target: token, source: $context.task.token}, {target: kind, source: $input.kind}, {target: params, source: $input.params}]}")
		return x.begin(view.ExitFailed, "run", flow, "--name", x.execution(), "--input", "{"+j.request()+"}"), nil
	}
	_, err := x.ask("StartJob", fmt.Sprintf(`{%s,"taskToken":%q}`, j.request(), x.theirToken()))
	return x.delivered(), err
}

// meets starts a job whose end is known already.
func meets(member string) func(trial) error {
	return func(x trial) error {
		job := x.job()
		if err := job.ends(x); err != nil {
			return err
		}
		if err := <-x.awaitLine("JobEvents", x.theirToken(), `"outcome":"done"`); err != nil {
			return err
		}
		ended, err := job.begins(x, member)
		if err != nil {
			return err
		}
		return x.await(ended)
	}
}

// observes starts a job that then ends.
func observes(member string) func(trial) error {
	return func(x trial) error {
		job := x.job()
		ended, err := job.begins(x, member)
		if err != nil {
			return err
		}
		if err := <-x.awaitLine("StartJob", "call succeeded", `"kind":"sfn-execution"`); err != nil {
			return err
		}
		if err := job.ends(x); err != nil {
			return err
		}
		return x.await(ended)
	}
}

// elsewhere starts a job of the other account, for a task token if there is one.
func (x trial) elsewhere(taskToken string) (job []byte, err error) {
	return x.startJob(map[string]any{"kind": "transcribe-job", "account": otherAccount, "params": map[string]any{
		"TranscriptionJobName": x.theirToken(), "LanguageCode": "en-US", "Media": map[string]string{"MediaFileUri": "s3://b/k"},
	}}, taskToken)
}

// startJob asks StartJob for a job, for a task token if there is one.
func (x trial) startJob(request map[string]any, taskToken string) (job []byte, err error) {
	if taskToken != "" {
		request["taskToken"] = taskToken
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	return x.ask("StartJob", string(text))
}

func startsElsewhere(x trial) error {
	_, err := x.elsewhere("")
	return err
}

func describesElsewhere(x trial) error {
	job, err := x.elsewhere("")
	if err == nil {
		err = x.anew("GetJobStatus")
	}
	if err == nil {
		_, err = x.ask("GetJobStatus", string(job))
	}
	return err
}

// observesElsewhere sends the event of a job of the other account.
func observesElsewhere(x trial) error {
	if _, err := x.elsewhere(x.theirToken()); err != nil {
		return err
	}
	event := fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"Transcribe Job State Change","source":"aws.transcribe","account":%q,"time":%q,`+
		`"region":%q,"resources":[],"detail":{"TranscriptionJobName":%[1]q,"TranscriptionJobStatus":"COMPLETED"}}`,
		x.theirToken(), otherAccount, time.Now().UTC().Format(time.RFC3339), emulator.Region)
	if err := x.stack.putMessage(x.T, "JobQueue", event); err != nil {
		return err
	}
	return x.await(x.delivered())
}
