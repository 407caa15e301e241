package fdl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
	"github.com/waitless/waitless/pkg/value"
)

// The mistakes that a check finds have the positions of the name, or of the params.
func TestCheckActions(t *testing.T) {
	t.Parallel()
	def, problems := fdl.Parse([]byte(`version: v1
type: flow
steps:
  - type: task
    name: Put
    action: dynamodb:PutItem
    serviceParams: {TableName: orders, Item: $.item}
  - type: task
    name: Start
    action: batch:SubmitJob
    serviceParams: {jobName: a}
  - type: foreach
    name: Each
    iterationMapping: {collection: $.all, item: one}
    steps:
      - type: task
        name: Get
        action: dynamodb:GetItems
        serviceParams: {}
`))
	if len(problems) > 0 {
		t.Fatal(text(problems))
	}
	var asked []string
	got := def.CheckActions(func(operation string, params value.Value, _ flow.Suggest) []flow.ActionMistake {
		asked = append(asked, fmt.Sprint(operation, params.JSON()))
		return []flow.ActionMistake{
			{Message: "a param of " + operation, InParams: true, Path: []string{"TableName"}}, {Message: operation + " is\nunknown"},
			{Message: "lead", Warning: true, InParams: true, Path: []string{"Item", "a"}},
		}
	})
	if want := `dynamodb:PutItem{"Item":"$.item","TableName":"orders"} batch:SubmitJob{"jobName":"a"} dynamodb:GetItems{}`; strings.Join(asked, " ") != want {
		t.Errorf("asked for %q, want %s", asked, want)
	}
	want := "f:6:13: dynamodb:PutItem is unknown; f:7:21: a param of dynamodb:PutItem; f:7:40: warning: lead; " +
		"f:10:13: batch:SubmitJob is unknown; f:11:20: a param of batch:SubmitJob; f:11:20: warning: lead; " +
		"f:18:17: dynamodb:GetItems is unknown; f:19:24: a param of dynamodb:GetItems; f:19:24: warning: lead"
	if found := text(got); found != want {
		t.Errorf("got %s\nwant %s", found, want)
	}
}

func text(problems flow.Problems) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Format("f")
	}
	return strings.Join(lines, "; ")
}

// An operation has one pattern, and params. It has no account.
func TestTaskWithAnOperation(t *testing.T) {
	t.Parallel()
	task := "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: A\n    action: dynamodb:PutItem\n"
	for fields, want := range map[string]string{
		"    serviceParams: {}\n":                                    "",
		"    serviceParams: {}\n    pattern: requestResponse\n":      "",
		"    serviceParams: {}\n    pattern: sync\n":                 `operation, whose response is its end (allowed with it: requestResponse)`,
		"    serviceParams: {}\n    pattern: waitForCallback\n":      `pattern "waitForCallback" does not go with an operation`,
		"    serviceParams: {}\n    account: '123456789012'\n":       "account does not go with operation ",
		"    pattern: requestResponse\n":                             `has an action and no field "serviceParams"`,
		"    serviceParams: {a: $.b}\n    timeoutSeconds: 5\n":       "",
		"    serviceParams: {a: $x}\n    pattern: requestResponse\n": `path $x: found`,
	} {
		_, problems := fdl.Parse([]byte(task + fields))
		if found := text(problems); want == "" && len(problems) > 0 || !strings.Contains(found, want) {
			t.Errorf("%s: got %s, want %s", fields, found, want)
		}
	}
}

// TestCheckKinds: a custom kind that is not declared is reported where the flow names it.
func TestCheckKinds(t *testing.T) {
	t.Parallel()
	def, problems := fdl.Parse([]byte(`version: v1
type: flow
steps:
  - {type: task, name: A, action: "custom:render-video", pattern: sync, stopJob: true, serviceParams: {n: 1}}
  - {type: task, name: B, action: "custom:rendr-video", serviceParams: {}}
  - {type: task, name: C, action: "batch:SubmitJob", serviceParams: {jobName: a}}
`))
	if len(problems) > 0 {
		t.Fatal(text(problems))
	}
	task, _ := def.All[0].Kind.(*flow.Task)
	if want := (flow.Resource{Text: "custom:render-video", Kind: "custom:render-video", Function: flow.StartJob}); task == nil || task.Resource != want {
		t.Errorf("got %+v, want %+v", task, want)
	}
	got := text(def.CheckKinds([]string{"custom:render-video"}, "kinds of waitless.yaml"))
	want := `f:5:35: kind "custom:rendr-video" is not declared in kinds of waitless.yaml; did you mean "custom:render-video"? (declared: custom:render-video)`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestCustomKindsHaveNoAccount: the function decides where its jobs run.
func TestCustomKindsHaveNoAccount(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		`custom:render-video, account: "123456789012"`: "account does not go with custom:render-video",
		"custom:Render": `action "custom:Render" is not the name of a custom kind`,
	} {
		_, problems := fdl.Parse([]byte("version: v1\ntype: flow\nsteps:\n  - {type: task, name: A, pattern: sync, serviceParams: {}, action: " + action + "}\n"))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: got %s, want %s", action, text(problems), want)
		}
	}
}

func TestSuggestionsOfActionsStopAfterTheHundredth(t *testing.T) {
	t.Parallel()
	def := parse(t, lineartest.Repeated(flowOf(""), "- {type: task, name: A#, action: 's3:PutObject', serviceParams: {}}\n", "")(3*flow.MaxProblems))
	suggested := 0
	def.CheckActions(func(_ string, _ value.Value, suggest flow.Suggest) []flow.ActionMistake {
		if suggest("taks", []string{"task"}) != "" {
			suggested++
		}
		return []flow.ActionMistake{{Message: "wrong"}}
	})
	if suggested != flow.MaxProblems {
		t.Errorf("%d suggestions", suggested)
	}
}
