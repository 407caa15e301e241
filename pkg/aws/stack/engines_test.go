package stack_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// externalCase is one of want.json where an external engine waits.
type externalCase struct {
	Name string `json:"name"`
	// StopReason is why the replication task stops.
	StopReason string `json:"stopReason"`
	// Untold says that the stop has no event.
	Untold bool `json:"untold"`
	// Answer is what is posted to the URL that the reviewer gets; nil for a
	// reviewer who is never asked.
	Answer json.RawMessage `json:"answer"`
	Status string          `json:"status"`
	// Output has TASK and REVIEWER where the input's are.
	Output json.RawMessage `json:"output"`
	Error  string          `json:"error"`
	Cause  string          `json:"cause"`
}

// An engine is external: it waits for an outcome that Waitless delivers.
type elsewhere interface {
	// start starts an execution, and answers what looks whether it has verdict.
	start(t *testing.T, name, input string) func() (verdict, bool)
}

// verdict is how an execution of an engine verdict.
type verdict struct{ status, output, err, cause string }

// TestEnginesOfOthers runs the folders of events/ in which an external
// engine waits: for a replication task, and for a person.
func TestEnginesOfOthers(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	for folder, make := range map[string]func(*testing.T, stack, string) elsewhere{
		"step-functions-task-token": newMachine, "durable-callback": newDurable,
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			e := make(t, s, filepath.Join(root, "events", folder))
			for _, c := range wantedCases[externalCase](t, folder) {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					s.runElsewhere(t, e, folder, c)
				})
			}
		})
	}
}

// wantedCases returns the cases in the want.json of a sample.
func wantedCases[Case any](t *testing.T, folder string) []Case {
	t.Helper()
	var want struct {
		Cases []Case `json:"cases"`
	}
	decoder := json.NewDecoder(bytes.NewReader(read(t, folder, "want.json")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&want); err != nil || len(want.Cases) == 0 {
		t.Fatalf("%s has %d cases: %v", folder, len(want.Cases), err)
	}
	return want.Cases
}

func read(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "events", folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// runElsewhere runs a case: the task is started by what waits, stops, and its
// event comes; then a person is asked, and answers by the URL.
func (s stack) runElsewhere(t *testing.T, e elsewhere, folder string, c externalCase) {
	t.Helper()
	job, person := newReplication(t), newReviewer(t)
	look := e.start(t, strings.ReplaceAll(c.Name, " ", "-"), person.input(t, folder, job))
	job.awaitStart(t)
	job.stop(t, c.StopReason)
	if !c.Untold {
		s.tell(t, job.stopped(t, folder, c.StopReason))
	}
	if c.Answer != nil {
		asked := person.asked(t)
		s.check(t, view.ExitSucceeded, path.Base(asked), "tokens", "list", "--unmask")
		if status, answer := s.post(t, asked, string(c.Answer)); status != http.StatusOK {
			t.Errorf("the person is answered %d %s", status, answer)
		}
	}
	got := soon(t, "the end of the execution", look)
	output := strings.NewReplacer(job.arn, "TASK", person.server.URL, "REVIEWER").Replace(got.output)
	if got.status != c.Status || got.err != c.Error || !strings.Contains(got.cause, c.Cause) {
		t.Errorf("it ended as %+v; want %s, error %q, cause %q", got, c.Status, c.Error, c.Cause)
	}
	if c.Output != nil && !sameJSON(t, output, string(c.Output)) {
		t.Errorf("output %s\nwant %s", output, compact(t, c.Output))
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &values[i]); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// A reviewer is a person, or what plays one: it is told a URL.
type reviewer struct {
	server    *httptest.Server
	questions chan string // the URLs
}

func newReviewer(t *testing.T) *reviewer {
	t.Helper()
	r := &reviewer{questions: make(chan string, 10)}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var question struct {
			Question string `json:"question"`
			URL      string `json:"callback_url"`
		}
		if json.NewDecoder(request.Body).Decode(&question) != nil || question.Question == "" {
			http.Error(w, "no question", http.StatusBadRequest)
			return
		}
		r.questions <- question.URL
	}))
	t.Cleanup(r.server.Close)
	return r
}

// input is input.json of a folder, with this reviewer and this task.
func (r *reviewer) input(t *testing.T, folder string, job replication) string {
	t.Helper()
	var input map[string]string
	if err := json.Unmarshal(read(t, folder, "input.json"), &input); err != nil || len(input) != 2 {
		t.Fatalf("%v: %v", input, err)
	}
	input["task"], input["reviewer"] = job.arn, r.server.URL
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asked is the path of the URL that the reviewer is told.
func (r *reviewer) asked(t *testing.T) string {
	t.Helper()
	text := soon(t, "the question", func() (string, bool) {
		select {
		case text := <-r.questions:
			return text, true
		default:
			return "", false
		}
	})
	parsed, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(parsed.Path, "/callbacks/") {
		t.Fatalf("the URL %s: %v", text, err)
	}
	issued(strings.TrimPrefix(parsed.Path, "/callbacks/"))
	return parsed.Path
}

// stepFunctions is a state machine.
type stepFunctions struct {
	client  *sfn.Client
	machine string
}

func newMachine(t *testing.T, s stack, folder string) elsewhere {
	t.Helper()
	outputs := s.deploySample(t, folder)
	s.setCode(t, s.name+"-ask", filepath.Join(folder, "ask.mjs"))
	return stepFunctions{sfn.NewFromConfig(emulator.Config(t)), outputs["MachineArn"]}
}

func (f stepFunctions) start(t *testing.T, name, input string) func() (verdict, bool) {
	t.Helper()
	started, err := f.client.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &f.machine, Name: &name, Input: &input})
	if err != nil {
		t.Fatal(err)
	}
	return func() (verdict, bool) {
		found, err := f.client.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
		if err != nil {
			t.Fatal(err)
		}
		end := verdict{string(found.Status), aws.ToString(found.Output), aws.ToString(found.Error), aws.ToString(found.Cause)}
		return end, found.Status != sfntypes.ExecutionStatusRunning
	}
}

// durable is a durable function.
type durable struct {
	client   *lambda.Client
	function string
}

func newDurable(t *testing.T, s stack, folder string) elsewhere {
	t.Helper()
	s.deploySample(t, folder)
	function := s.name + "-durable"
	s.setCode(t, function, filepath.Join(folder, "function.mjs"))
	return durable{lambda.NewFromConfig(emulator.DurableFunctions(t)), function}
}

func (d durable) start(t *testing.T, name, input string) func() (verdict, bool) {
	t.Helper()
	arn := emulator.StartDurable(t, d.function, name, input)
	return func() (verdict, bool) {
		found, err := d.client.GetDurableExecution(t.Context(), &lambda.GetDurableExecutionInput{DurableExecutionArn: &arn})
		if err != nil {
			t.Fatal(err)
		}
		end := verdict{status: string(found.Status), output: aws.ToString(found.Result)}
		if found.Status == types.ExecutionStatusFailed {
			end.err, end.cause = d.failure(t, arn)
		}
		return end, found.Status != types.ExecutionStatusRunning
	}
}

// failure is that of the callback: the SDK has an error of its own for all of
// them.
func (d durable) failure(t *testing.T, execution string) (name, cause string) {
	t.Helper()
	history, err := d.client.GetDurableExecutionHistory(t.Context(), &lambda.GetDurableExecutionHistoryInput{
		DurableExecutionArn: &execution, IncludeExecutionData: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history.Events {
		if failed := e.CallbackFailedDetails; failed != nil && failed.Error != nil && failed.Error.Payload != nil {
			return aws.ToString(failed.Error.Payload.ErrorType), aws.ToString(failed.Error.Payload.ErrorMessage)
		}
	}
	return "", "no callback failed"
}

// deploySample deploys a sample beside the stack, as `make sample` does, and
// returns its outputs.
func (s stack) deploySample(t *testing.T, folder string) map[string]string {
	t.Helper()
	config := emulator.Config(t)
	sample := stack{name: s.name + "-" + filepath.Base(folder)}
	deploying.Lock()
	defer deploying.Unlock()
	err := inRoot(sam(), variables(config), "deploy", "--template-file", filepath.Join("events", filepath.Base(folder), "template.yaml"),
		"--stack-name", sample.name, "--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar",
		"--region", config.Region, "--parameter-overrides", "Stack="+s.name)
	if err == nil {
		err = sample.look(t.Context(), config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sample.outputs
}

// setCode gives a function its module together with the SDKs that Lambda, or
// `sam build`, has ready for it.
func (s stack) setCode(t *testing.T, function, file string) {
	t.Helper()
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	client := lambda.NewFromConfig(emulator.Config(t))
	_, err = client.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: &function, ZipFile: emulator.NodeCode(t, module)})
	if err == nil {
		_, err = client.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
			FunctionName: &function, Handler: aws.String("function.handler"),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newFunction creates a function of the user for Node.js, which flows may call and which may call
// StartJob.
func (s stack) newFunction(t *testing.T, name, file string) {
	t.Helper()
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	role := s.newRole(t, name, "lambda")
	name = s.name + "_" + name
	_, err = lambda.NewFromConfig(emulator.Config(t)).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Runtime: types.RuntimeNodejs22x, Handler: aws.String("function.handler"), Timeout: aws.Int32(30),
		Code: &types.FunctionCode{ZipFile: emulator.NodeCode(t, module)}, Role: &role,
		Environment: &types.Environment{Variables: map[string]string{"START_JOB": s.name + "-StartJob"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newRole makes a role that a service takes, which may call all of the stack's
// functions.
func (s stack) newRole(t *testing.T, name, service string) string {
	t.Helper()
	client := iam.NewFromConfig(emulator.Config(t))
	name = s.name + "-" + name + "-" + service
	made, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + service + `.amazonaws.com"},"Action":"sts:AssumeRole"}]}`,
	)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &name, PolicyName: aws.String("calls"), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"lambda:InvokeFunction","Resource":"arn:aws:lambda:*:*:function:` + s.name + `-*"}]}`,
	)})
	if err != nil {
		t.Fatal(err)
	}
	return *made.Role.Arn
}
