package stack_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// machineCase is one of want.json of a state machine that the guides show.
type machineCase struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// Answer is what is posted to the callback URL, and Rejection the failure; nil for a machine
	// that asks no person.
	Answer    json.RawMessage `json:"answer"`
	Rejection json.RawMessage `json:"rejection"`
	Status    string          `json:"status"`
	Output    json.RawMessage `json:"output"` // has "JOB" where the id of a simulated job stands
	// Transitions is how many states the execution enters, which is what Step Functions charges
	// for.
	Transitions int `json:"transitions"`
}

// TestMachinesOfGuides runs the state machines that the guides show before and after the change.
func TestMachinesOfGuides(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	t.Run("step-functions-job-poller", func(t *testing.T) {
		t.Parallel()
		const folder = "step-functions-job-poller"
		outputs := s.deploySample(t, folder)
		for _, c := range wantedCases[machineCase](t, folder) {
			c.run(t, outputs, func() {})
		}
	})
	t.Run("step-functions-approval", func(t *testing.T) {
		t.Parallel()
		const folder = "step-functions-approval"
		outputs := s.deploySample(t, folder)
		box := subscribed(t, s.name+"-approvals", outputs["TopicArn"])
		for _, c := range wantedCases[machineCase](t, folder) {
			c.run(t, outputs, func() { s.answerQuestion(t, box, c) })
		}
		s.askBefore(t, folder)
		for _, c := range wantedCases[machineCase](t, folder) {
			c.run(t, outputs, func() { answerByAction(t, box, c) })
		}
	})
}

// run runs an execution to its end, and counts its transitions.
func (c machineCase) run(t *testing.T, outputs map[string]string, answer func()) {
	t.Helper()
	client := sfn.NewFromConfig(emulator.Config(t))
	input := string(c.Input)
	started, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: aws.String(outputs["MachineArn"]), Input: &input})
	if err != nil {
		t.Fatal(err)
	}
	answer()
	got := soon(t, "the end of the execution", func() (*sfn.DescribeExecutionOutput, bool) {
		found, err := client.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
		if err != nil {
			t.Fatal(err)
		}
		return found, found.Status != "RUNNING"
	})
	if output := aJob.ReplaceAllString(aws.ToString(got.Output), "JOB"); string(got.Status) != c.Status || !sameJSON(t, output, string(c.Output)) {
		t.Errorf("%s: it ended as %s with %s; want %s with %s", c.Name, got.Status, output, c.Status, compact(t, c.Output))
	}
	history, err := client.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: started.ExecutionArn})
	if err != nil {
		t.Fatal(err)
	}
	entered := 0
	for _, e := range history.Events {
		if strings.HasSuffix(string(e.Type), "StateEntered") {
			entered++
		}
	}
	if entered != c.Transitions {
		t.Errorf("%s: %d states were entered, want %d", c.Name, entered, c.Transitions)
	}
}

// question reads the next message of ask.py or before.py.
func question[T any](t *testing.T, box mailbox, c machineCase) T {
	t.Helper()
	var message struct {
		Order  string
		Answer T
	}
	var input struct{ Order string }
	text := *box.receive(t).Body
	if err := json.Unmarshal(c.Input, &input); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &message); err != nil || message.Order != input.Order {
		t.Fatalf("%s: the message is %s (%v)", c.Name, text, err)
	}
	return message.Answer
}

// answerQuestion posts the outcome of a case to the URL in the message.
func (s stack) answerQuestion(t *testing.T, box mailbox, c machineCase) {
	t.Helper()
	asked, err := url.Parse(question[string](t, box, c))
	if err != nil {
		t.Fatal(err)
	}
	issued(strings.TrimPrefix(asked.Path, "/callbacks/"))
	path, body := asked.Path, c.Answer
	if body == nil {
		path, body = path+"/failure", c.Rejection
	}
	if status, response := s.post(t, path, string(body)); status != http.StatusOK {
		t.Errorf("%s: %d %s", c.Name, status, response)
	}
}

// askBefore gives the function that asks the code of before.py, and a function in the place of
// sfn-callback-urls.
func (s stack) askBefore(t *testing.T, folder string) {
	t.Helper()
	client, asking, creating := lambda.NewFromConfig(emulator.Config(t)), s.name+"-approve", s.name+"-create-urls"
	_, err := client.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &creating, Runtime: types.RuntimePython313, Handler: aws.String("create_urls.handler"), Role: aws.String(s.newRole(t, "create-urls", "lambda")),
		Code: &types.FunctionCode{ZipFile: zipped(t, "create_urls.py", filepath.Join("testdata", "create_urls.py"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	code := zipped(t, "ask.py", filepath.Join(root, "events", folder, "before.py"))
	if _, err := client.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: &asking, ZipFile: code}); err != nil {
		t.Fatal(err)
	}
	is, err := client.GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &asking})
	if err != nil {
		t.Fatal(err)
	}
	variables := maps.Clone(is.Environment.Variables)
	variables["CREATE_URLS"] = creating
	_, err = client.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
		FunctionName: &asking, Environment: &types.Environment{Variables: variables},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = iam.NewFromConfig(emulator.Config(t)).PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
		RoleName: aws.String(filepath.Base(*is.Role)), PolicyName: aws.String("before"), PolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"lambda:InvokeFunction","Resource":"arn:aws:lambda:*:*:function:` + creating + `"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, name, file string) []byte {
	t.Helper()
	code, err := zippedFile(name, file)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// answerByAction does what the URL of an action does: it sends the action's outcome to Step
// Functions.
func answerByAction(t *testing.T, box mailbox, c machineCase) {
	t.Helper()
	urls := question[map[string]string](t, box, c)
	if names := slices.Sorted(maps.Keys(urls)); !slices.Equal(names, []string{"approve", "reject"}) {
		t.Fatalf("%s: URLs of %q", c.Name, names)
	}
	name := "approve"
	if c.Answer == nil {
		name = "reject"
	}
	chosen, err := url.Parse(urls[name])
	if err != nil {
		t.Fatal(err)
	}
	var payload struct {
		Token  string
		Action struct {
			Type, Error, Cause string
			Output             json.RawMessage
		}
	}
	text, err := base64.URLEncoding.DecodeString(chosen.Query().Get("payload"))
	if err == nil {
		err = json.Unmarshal(text, &payload)
	}
	if err != nil {
		t.Fatal(err)
	}
	client, action := sfn.NewFromConfig(emulator.Config(t)), payload.Action
	switch action.Type {
	case "success":
		_, err = client.SendTaskSuccess(t.Context(), &sfn.SendTaskSuccessInput{TaskToken: &payload.Token, Output: aws.String(string(action.Output))})
	case "failure":
		_, err = client.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: &payload.Token, Error: &action.Error, Cause: &action.Cause})
	default:
		t.Fatalf("an action of type %q", action.Type)
	}
	if err != nil {
		t.Fatal(err)
	}
}
