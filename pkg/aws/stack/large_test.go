package stack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// echoes has a step with a large output, which a later step uses.
const echoes = `version: v1
type: flow
steps:
  - type: task
    name: First
    resourceArn: acs:fc:::services/any/functions/echo
    inputMappings: [{target: text, source: $input.text}]
    outputMappings: [{target: text, source: $local.text}]
  - type: wait
    name: Pause
    duration: 1
  - type: task
    name: Second
    resourceArn: acs:fc:::services/any/functions/echo
    inputMappings: [{target: again, source: $input.text}]
    outputMappings: [{target: again, source: $local.again}]
outputMappings: [{target: again, source: $local.again}]
`

// A value of 2 MB is the input of an execution, the output of a Lambda function and the input of a
// later one. The bucket has it encrypted, and the history shows each event.
func TestALargeValueOnTheStack(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	large := strings.Repeat("0123456789", 200_000)
	input := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(input, []byte(`{"text":"`+large+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.do(t, "run", writeFlow(t, "echoes", echoes), "--name", "large", "--input", "@"+input, "--json")
	var run struct{ Output struct{ Again string } }
	if err := json.Unmarshal([]byte(got.stdout), &run); err != nil || got.exit != view.ExitSucceeded || run.Output.Again != large {
		t.Errorf("exit %d, output of %d bytes, error %v: %.2000s", got.exit, len(run.Output.Again), err, got.stderr)
	}
	if got := s.do(t, "history", "echoes/large", "--json"); got.exit != view.ExitSucceeded || strings.Count(got.stdout, large) < 4 {
		t.Errorf("history: exit %d, %d times the value: %.2000s", got.exit, strings.Count(got.stdout, large), got.stderr)
	}
	s.checkMemory(t, 1024)
	s.checkLargeObjects(t, engine.NewID("echoes", "large"))
}

// checkLargeObjects checks the objects of an execution that is kept for 120 days.
func (s stack) checkLargeObjects(t *testing.T, id engine.ID) {
	t.Helper()
	client := bucketsOf(emulator.Config(t))
	bucket := aws.String(s.resources["ValuesBucket"])
	list, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket, Prefix: aws.String(id.String() + "/")})
	if err != nil || len(list.Contents) != 3 { // the input of the execution and the outputs of the functions
		t.Errorf("%d objects, error %v", len(list.Contents), err)
	}
	for _, object := range list.Contents {
		tags, err := client.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: bucket, Key: object.Key})
		if err != nil || len(tags.TagSet) != 1 || *tags.TagSet[0].Key != "days" || *tags.TagSet[0].Value != "128" {
			t.Errorf("%s has the tags %v, error %v", *object.Key, tags, err)
		}
	}
}

// checkMemory checks the memory of the functions that handle large values.
func (s stack) checkMemory(t *testing.T, want int32) {
	t.Helper()
	client := lambda.NewFromConfig(emulator.Config(t))
	for _, function := range []string{"interpreter", "taskrunner", "api"} {
		found, err := client.GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(s.name + "-" + function)})
		if err != nil || aws.ToInt32(found.MemorySize) != want {
			t.Errorf("%s has the memory %v, error %v", function, found, err)
		}
	}
}
