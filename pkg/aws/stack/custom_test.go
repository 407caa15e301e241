package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"archive/zip"
	"bytes"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
)

// renderer is the function of the custom kind of the stack of that name.
func renderer(name string) string { return name + "-render" }

// renderSource is the source of the events of its jobs.
const renderSource = "com.example.render"

// newCustomKind makes the function of a custom kind, and returns the parameters that declare the
// kind.
func newCustomKind(ctx context.Context, config aws.Config, name string) (parameters []string, err error) {
	role, function := name+"-renderer", renderer(name)
	made, err := iam.NewFromConfig(config).CreateRole(ctx, &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
	if err != nil {
		return nil, err
	}
	code, err := zippedFile("render.py", filepath.Join(root, "events", "custom-job", "render.py"))
	if err != nil {
		return nil, err
	}
	created, err := lambda.NewFromConfig(config).CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: &function, Runtime: types.RuntimePython313, Handler: aws.String("render.handler"), Role: made.Role.Arn,
		Code: &types.FunctionCode{ZipFile: code},
	})
	if err != nil {
		return nil, err
	}
	declared, err := json.Marshal(map[string]jobs.Declaration{"custom:render-video": {
		Function: *created.FunctionArn,
		Event:    &jobs.DeclaredEvent{Source: renderSource, DetailType: "Render Finished", ID: "detail.job"},
	}})
	if err != nil {
		return nil, err
	}
	return []string{
		`JobKinds="` + strings.ReplaceAll(string(declared), `"`, `\"`) + `"`,
		"JobKindFunctions=" + *created.FunctionArn, "JobKindSources=" + renderSource,
	}, nil
}

func zippedFile(name, file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	entry, err := archive.Create(name)
	if err == nil {
		_, err = entry.Write(text)
	}
	if err == nil {
		err = archive.Close()
	}
	return code.Bytes(), err
}

// TestAFlowWaitsForACustomJob: a Lambda function of the user starts the job, an event from the
// user's source resumes the flow, and if no event comes, a poll does.
func TestAFlowWaitsForACustomJob(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	for video, c := range map[string]struct {
		by   string
		want report
	}{
		"intro":  {"event", report{Status: "Succeeded", Output: json.RawMessage(`{"rendered":{"file":"intro.mp4"}}`)}},
		"lost":   {"reconcile", report{Status: "Succeeded", Output: json.RawMessage(`{"rendered":{"file":"lost.mp4"}}`)}},
		"broken": {"event", report{Status: "Failed", Error: jobs.ErrorFailed}},
	} {
		t.Run(video, func(t *testing.T) {
			t.Parallel()
			input := map[string]string{"video": video, "seconds": "1"}
			s.started(t, "render", video, input)
			job := s.submittedJob(t, "render/"+video)
			if job.Kind != "custom:render-video" || job.ID == "" || job.Key != job.ID {
				t.Fatalf("started %+v", job)
			}
			trial{T: t, stack: s}.described(job) // until it has ended
			if c.by == "event" {
				s.rendered(t, job.ID)
			}
			s.wantEnd(t, "render", video, input, c.want, c.by)
		})
	}
}

// TestAnExceptionOfACustomFunction: the flow gets the exception of the function that does not start
// a job, and the error of a kind that is not declared.
func TestAnExceptionOfACustomFunction(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	text, err := os.ReadFile(filepath.Join(root, jobFlow("render")))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ kind, video, want string }{
		"no-video":   {"custom:render-video", "", "params.video is missing"},
		"undeclared": {"custom:nothing", "intro", "custom.NotDeclared"},
	} {
		flow := writeFlow(t, name, strings.Replace(string(text), "custom:render-video", c.kind, 1))
		got := s.do(t, "run", flow, "--name", "one", "--input", fmt.Sprintf(`{"video":%q,"seconds":"1"}`, c.video))
		if got.exit != view.ExitFailed || !strings.Contains(got.stdout+got.stderr, "failed: custom.") || !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("%s: %+v", c.want, got)
		}
	}
}

// rendered sends the event of the end of a job to the bus.
func (s stack) rendered(t *testing.T, job string) {
	t.Helper()
	detail := fmt.Sprintf(`{"job":%q}`, job)
	sent, err := eventbridge.NewFromConfig(emulator.Config(t)).PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{
		EventBusName: aws.String(busOf(s.name)), Source: aws.String(renderSource), DetailType: aws.String("Render Finished"), Detail: &detail,
	}}})
	if err != nil || sent.FailedEntryCount > 0 {
		t.Fatalf("%+v, %v", sent, err)
	}
}

// startCustom starts a job that ends at once, for a task token if there is one.
func (x trial) startCustom(taskToken string) (job []byte, err error) {
	return x.startJob(map[string]any{
		"kind": "custom:render-video", "params": map[string]any{"video": x.theirToken(), "seconds": "0"},
	}, taskToken)
}

func startsCustom(x trial) error {
	_, err := x.startCustom("")
	return err
}

func describesCustom(x trial) error {
	job, err := x.startCustom("")
	if err == nil {
		_, err = x.ask("GetJobStatus", string(job))
	}
	return err
}

// observesCustom sends the event of a job.
func observesCustom(x trial) error {
	text, err := x.startCustom(x.theirToken())
	if err != nil {
		return err
	}
	var job jobs.StartResult
	if err := json.Unmarshal(text, &job); err != nil {
		return err
	}
	event := fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"Render Finished","source":%q,"account":%q,"time":%q,"region":%q,`+
		`"resources":[],"detail":{"job":%q}}`,
		x.theirToken(), renderSource, emulator.Account, time.Now().UTC().Format(time.RFC3339), emulator.Region, job.ID)
	if err := x.stack.putMessage(x.T, "JobQueue", event); err != nil {
		return err
	}
	return x.await(x.delivered())
}
