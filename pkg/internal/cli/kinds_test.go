package cli

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// TestSettingsDeclareKinds: mistakes in kinds are reported where they stand, together.
func TestSettingsDeclareKinds(t *testing.T) {
	t.Parallel()
	s := &settings{path: "waitless.yaml"}
	problems := s.parse([]byte(`kinds:
  render: {event: {source: s, detail-type: T, id: detail.job}}
  custom:a: {event: {source: s, detail-type: T, ids: detail.job}}
  custom:b: {event: {source: s, detail-type: T, id: detail.job}, function: nothing}
`))
	want := []string{
		`waitless.yaml:2:11: "render" is not the name of a custom kind`,
		`waitless.yaml:3:13: custom:a: unknown field "ids"`,
		`waitless.yaml:4:13: custom:b: function is "nothing"; write the ARN`,
	}
	for i, problem := range problems {
		if got := problem.Format("waitless.yaml"); len(problems) != len(want) || !strings.HasPrefix(strings.Replace(got, "error: ", "", 1), want[i]) {
			t.Fatalf("got %s, want %s", got, want[i])
		}
	}
	if problems := s.parse([]byte("kinds: [a]\n")); len(problems) != 1 || !strings.Contains(problems[0].Message, "kinds are not a mapping") {
		t.Errorf("got %v", problems)
	}
	problems = s.parse([]byte("kinds:\n  custom:a: {event: {source: s, detail-type: T, id: i}}\n  custom:b: {event: {source: s, detail-type: T, id: i}}\n"))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "custom:b: custom:a has events of the same source") {
		t.Errorf("got %v", problems)
	}
	problems = s.parse([]byte("kinds:\n  custom:a:\n    function: arn:aws:lambda:eu-west-1:123456789012:function:f\n"))
	if len(problems) > 0 || s.kinds.Custom()[0].Function == "" {
		t.Errorf("got %v, %+v", problems, s.kinds.Custom())
	}
}

// TestCustomKindsRunTheirFunction: the runner of a custom kind starts and describes the jobs of a
// flow, and its exceptions fail the step.
func TestCustomKindsRunTheirFunction(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", `version: v1
type: flow
steps:
  - type: task
    name: Render
    action: custom:render
    pattern: sync
    serviceParams: {video: $.video}
    outputMappings: [{target: rendered, source: $local.output}]
`)
	function := writeFile(t, "render.sh", `read -r request
case "$request" in
*'"action":"start"'*'"video":"none"'*) echo '{"errorType":"NoVideo","errorMessage":"no such video"}'; exit 1 ;;
*'"action":"start"'*) echo '{"job_id":"render-1"}' ;;
*'"action":"describe"'*'"job_id":"render-1"'*) echo '{"status":"succeeded","output":{"file":"a.mp4"}}' ;;
esac
`)
	for input, want := range map[string]string{`{"video":"a"}`: `{"rendered":{"file":"a.mp4"}}`, `{"video":"none"}`: "custom.NoVideo"} {
		ran := do(t, "run", flow, "--skip-time", "--task", "custom:render=exec:sh "+function, "--input", input)
		if got := ran.stdout + ran.stderr; !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", input, got, want)
		}
	}
}

// TestJobsListHasDeclaredKinds: the list has the kinds of the file with settings, and only those.
func TestJobsListHasDeclaredKinds(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "waitless.yaml", "kinds:\n  custom:render: {event: {source: com.example.render, detail-type: Ended, id: detail.job}}\n")
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{[]string{"jobs", "list"}, false},
		{[]string{"jobs", "list", "--config", file}, true},
		{[]string{"jobs", "list", "--config", file, "--json"}, true},
	} {
		got := do(t, tt.args...)
		if got.exit != view.ExitSucceeded || strings.Contains(got.stdout, "custom:render") != tt.want ||
			strings.Contains(got.stdout, "com.example.render") != tt.want {
			t.Errorf("%q: exit %d, %s%s", tt.args, got.exit, got.stdout, got.stderr)
		}
	}
}
