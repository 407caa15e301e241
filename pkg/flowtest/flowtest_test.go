package flowtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/flowtest"
)

const approval = `version: v1
type: flow
name: approval
steps:
- {type: wait, name: Rest, duration: 172800}
- {type: wait, name: RestMore, duration: 86400}
- {type: task, name: Approve, resourceArn: "acs:fc:::services/mail/functions/ask", pattern: waitForCallback,
   timeoutSeconds: 604800, heartbeatSeconds: 3600,
   catch: [{errors: [FnF.TaskTimeout], goto: Late}]}
- type: choice
  name: Decide
  choices:
  - {condition: $.approved == true, goto: Ship}
- {type: fail, name: Refused, error: Refused}
- {type: task, name: Ship, resourceArn: "acs:fc:::services/shop/functions/ship", end: true,
   retry: [{errors: [NotReady], intervalSeconds: 30, maxAttempts: 2}]}
- {type: pass, name: Late}
`

func shipped(flowtest.Call) (any, error) { return map[string]any{"shipped": true}, nil }

func asked(flowtest.Call) (any, error) { return map[string]any{}, nil }

// TestAMachineOfThreeDays polls a job once an hour for three days, and takes milliseconds for 72
// polls and as many waits.
func TestAMachineOfThreeDays(t *testing.T) {
	t.Parallel()
	const poller = `{"StartAt": "Pause", "States": {
		"Pause": {"Type": "Wait", "Seconds": 3600, "Next": "Ask"},
		"Ask": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:ask", "ResultPath": "$.polls", "Next": "Done"},
		"Done": {"Type": "Choice", "Choices": [{"Variable": "$.polls", "NumericLessThan": 72, "Next": "Pause"}], "Default": "End"},
		"End": {"Type": "Succeed"}}}`
	polls := 0
	test := flowtest.Test{Flow: []byte(poller), Functions: map[string]flowtest.Function{"ask": func(flowtest.Call) (any, error) {
		polls++
		return polls, nil
	}}}
	begin := time.Now()
	r, err := test.Run(t.Context())
	if err != nil || r.Status != "Succeeded" || r.Elapsed != 72*time.Hour || string(r.Output) != `{"polls":72}` {
		t.Errorf("%+v, error %v", r, err)
	}
	const most = 10 * time.Second // on a busy machine
	if took := time.Since(begin); took > most {
		t.Errorf("took %s, want at most %s", took, most)
	}
}

// TestATestOfThreeDays waits three days, and two hours for an approval. It does so twice, with the
// same result.
func TestATestOfThreeDays(t *testing.T) {
	t.Parallel()
	var results []flowtest.Result
	for range 2 {
		n := 0
		result, err := flowtest.Test{
			Flow: []byte(approval), Input: map[string]any{"order": 7},
			Functions: map[string]flowtest.Function{
				"mail/ask": asked,
				"Ship": func(call flowtest.Call) (any, error) {
					if n++; n == 1 {
						return nil, &flowtest.Error{Name: "NotReady", Cause: "try again"}
					}
					return shipped(call)
				},
			},
			Answers: []flowtest.Answer{{
				Step: "Approve", After: 2 * time.Hour, Output: map[string]any{"approved": true}, Heartbeats: []time.Duration{50 * time.Minute, 100 * time.Minute},
			}},
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
	r := results[0]
	if r.Status != "Succeeded" || r.Elapsed != 74*time.Hour+30*time.Second || r.Count("Ship") != 2 || r.Count("Approve") != 1 {
		t.Errorf("%+v", r)
	}
	if at := flowtest.DefaultNow.Add(72 * time.Hour); !r.Calls[0].At.Equal(at) || !strings.Contains(string(r.Calls[0].Input), `"order":7`) {
		t.Errorf("first call %+v, want it at %s", r.Calls[0], at)
	}
	want := []string{
		"catch Approve: FnF.TaskTimeout", "choice Decide: otherwise", "step Refused", "retry Ship: NotReady (a failure after maxAttempts: 2)", "step Late",
	}
	if !slices.Equal(r.Covered.Missing(), want) {
		t.Errorf("not covered: %q, want %q", r.Covered.Missing(), want)
	}
	if one, other := asJSON(t, r.History), asJSON(t, results[1].History); one != other {
		t.Errorf("two runs differ:\n%s\n%s", one, other)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	both := map[string]flowtest.Function{"mail/ask": asked, "ship": shipped}
	for name, row := range map[string]struct {
		answers []flowtest.Answer
		want    flowtest.Result
	}{
		"refused": {
			[]flowtest.Answer{{Step: "Approve", Heartbeats: nil, Output: map[string]any{"approved": false}}},
			flowtest.Result{Status: "Failed", Error: "Refused", Elapsed: 72 * time.Hour},
		},
		"a failure": {
			[]flowtest.Answer{{Step: "Approve", After: time.Minute, Error: "Sick", Cause: "at home"}},
			flowtest.Result{Status: "Failed", Error: "Sick", Elapsed: 72*time.Hour + time.Minute},
		},
		"heartbeats that stop, which is caught": {
			[]flowtest.Answer{{Step: "Approve", Heartbeats: []time.Duration{50 * time.Minute}}},
			flowtest.Result{Status: "Succeeded", Elapsed: 73*time.Hour + 50*time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := flowtest.Test{Flow: []byte(approval), Functions: both, Answers: row.answers}.Run(t.Context())
			if err != nil || got.Status != row.want.Status || got.Error != row.want.Error || got.Elapsed != row.want.Elapsed {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

const visits = `version: v1
type: flow
steps:
- type: foreach
  name: Each
  iterationMapping: {collection: $.all, item: one}
  steps:
  - {type: task, name: Visit, resourceArn: "acs:fc:::services/s/functions/visit"}
  outputMappings: [{target: all, source: "$local[*].n"}]
`

// TestIterationsCallInTheirOrder runs iterations side by side, in fewer places than elements, too.
// Their calls have one order nevertheless.
func TestIterationsCallInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		items        int
		atOnce, more string
	}{
		"a place each": {6, "6", ""}, "five places": {10, "5", ""}, "three places": {20, "3", ""}, "the most places": {150, "100", ""},
		"two steps": {10, "5", `- {type: pass, name: After}`},
		"two calls": {10, "2", `- {type: task, name: Second, resourceArn: "acs:fc:::services/s/functions/visit"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want, got []int
			for i := range tt.items {
				want = append(want, i)
			}
			changes := strings.NewReplacer("item: one}", "item: one, index: i}\n  maxConcurrency: "+tt.atOnce, "  outputMappings", "  "+tt.more+"\n  outputMappings")
			result, err := flowtest.Test{
				Flow:  []byte(changes.Replace(visits)),
				Input: map[string]any{"all": want},
				Functions: map[string]flowtest.Function{
					"visit": func(c flowtest.Call) (any, error) {
						var input struct{ I int }
						err := json.Unmarshal(c.Input, &input)
						if c.Step == "Visit" {
							got = append(got, input.I)
						}
						return map[string]any{"n": input.I}, err
					},
				},
			}.Run(t.Context())
			if err != nil || result.Status != "Succeeded" || !slices.Equal(got, want) {
				t.Errorf("%s %s, error %v: called %v", result.Status, result.Cause, err, got)
			}
		})
	}
}

// TestFunctionsWithoutStandIns needs a stand-in only for what is called, and none for a built-in
// function.
func TestFunctionsWithoutStandIns(t *testing.T) {
	t.Parallel()
	got, err := flowtest.Test{Flow: []byte(approval), Functions: map[string]flowtest.Function{"ask": asked}}.Run(t.Context())
	if err != nil || got.Status != "Succeeded" {
		t.Errorf("ship is not called: %+v, error %v", got, err)
	}
	got, err = flowtest.Test{
		Flow: []byte(`{version: v1, type: flow, steps: [
			{type: task, name: A, resourceArn: "acs:fc:::services/s/functions/echo"},
			{type: task, name: B, resourceArn: "acs:fc:::services/s/functions/echo"}]}`),
		Input:     map[string]any{"n": 1},
		Functions: map[string]flowtest.Function{"A": shipped},
	}.Run(t.Context())
	if err != nil || string(got.Output) != `{"n":1,"shipped":true}` {
		t.Errorf("B calls the built-in function: %+v, error %v", got, err)
	}
}

// TestFailedCalls has calls that fail on their way to the function, with the names that retries and
// catches have for that.
func TestFailedCalls(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"FC.ResourceThrottled", "FnF.TaskTimeout"} {
		n := 0
		got, err := flowtest.Test{
			Flow: []byte(strings.Replace(approval, "NotReady", name, 1)),
			Functions: map[string]flowtest.Function{"ask": asked, "ship": func(call flowtest.Call) (any, error) {
				if n++; n < 3 {
					return nil, &flowtest.Error{Name: name}
				}
				return shipped(call)
			}},
			Answers: []flowtest.Answer{{Step: "Approve", Output: map[string]any{"approved": true}}},
		}.Run(t.Context())
		if err != nil || got.Status != "Succeeded" || got.Elapsed != 72*time.Hour+90*time.Second {
			t.Errorf("%s: %s after %s: %s, error %v", name, got.Status, got.Elapsed, got.Error, err)
		}
	}
}

func TestWhatNothingEnds(t *testing.T) {
	t.Parallel()
	flow := strings.NewReplacer("timeoutSeconds: 604800, ", "", "heartbeatSeconds: 3600,", "").Replace(approval)
	got, err := flowtest.Test{Flow: []byte(flow), Functions: map[string]flowtest.Function{"ask": asked, "ship": shipped}, Answers: []flowtest.Answer{
		{Step: "Ship", Output: map[string]any{}},
	}}.Run(t.Context())
	if err != nil || got.Waits != "Approve" || got.Status.Final() || len(got.UnusedAnswers) != 1 {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestTestsThatAreWrong(t *testing.T) {
	t.Parallel()
	both := map[string]flowtest.Function{"ask": asked, "ship": shipped}
	for name, row := range map[string]struct {
		test flowtest.Test
		want string
	}{
		"the flow":         {flowtest.Test{Flow: []byte("version: v1")}, `flow:1:1: a flow has no field "steps"`},
		"no such function": {flowtest.Test{Functions: map[string]flowtest.Function{"ask": asked, "ship": shipped, "shop/sheep": shipped}}, `"shop/sheep"`},
		"no such step":     {flowtest.Test{Functions: both, Answers: []flowtest.Answer{{Step: "Aprove", Output: map[string]any{}}}}, `did you mean "Approve"?`},
		"a missing function": {
			flowtest.Test{
				Functions: map[string]flowtest.Function{"ask": asked},
				Answers:   []flowtest.Answer{{Step: "Approve", Output: map[string]any{"approved": true}}},
			},
			"step Ship calls shop/ship, for which the test has no stand-in",
		},
		"a stand-in for a message": {
			flowtest.Test{Flow: []byte(tells), Functions: map[string]flowtest.Function{"Tell": shipped, "sns:Publish": shipped, "dynamodb:PutItm": shipped}},
			`functions: "Tell" is or has the action "sns:Publish", which no function stands for; write actions: ["sns:Publish"]` + "\n" +
				`functions: the flow has neither a function nor a step "dynamodb:PutItm"`,
		},
		"a misspelt stand-in for an operation": {
			flowtest.Test{Flow: []byte(tells), Functions: map[string]flowtest.Function{"dynamodb:PutItm": shipped}},
			`neither a function nor a step "dynamodb:PutItm"; did you mean "dynamodb:PutItem"?` + "\n" +
				`step Tell: the test does not have the action "sns:Publish"; write actions: ["sns:Publish"]`,
		},
		"an operation as an action": {
			flowtest.Test{Flow: []byte(tells), Actions: []string{"dynamodb:PutItem"}},
			`actions: "dynamodb:PutItem" starts no job and sends no message; the stand-in for an operation is one of functions`,
		},
		"a misspelt action":     {flowtest.Test{Flow: []byte(tells), Actions: []string{"sns:Publsh"}}, `did you mean "sns:Publish"?`},
		"a broken stand-in":     {flowtest.Test{Functions: map[string]flowtest.Function{"ask": broken, "ship": shipped}}, "the stand-in for step Approve: broken"},
		"an input of no object": {flowtest.Test{Functions: both, Input: 7}, "input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.test.Flow == nil {
				row.test.Flow = []byte(approval)
			}
			if _, err := row.test.Run(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %s", err, row.want)
			}
		})
	}
}

const tells = `version: v1
type: flow
steps:
  - {type: task, name: Tell, action: "sns:Publish", serviceParams: {TopicName: a, Message: hi}}
  - {type: task, name: Put, action: "dynamodb:PutItem", serviceParams: {TableName: t, Item: {}}}
`

func broken(flowtest.Call) (any, error) { return nil, errors.New("broken") }

const fileOfTests = `flow: approval.yaml
tests:
- name: is approved
  input: {order: 7}
  functions:
    mail/ask: {output: {}}
    Ship: [{error: NotReady, cause: try again}, {output: {shipped: true}}]
  answers:
  - {step: Approve, afterSeconds: 7200, heartbeats: [3000, 6000], output: {approved: true}}
  want:
    output: {approved: true, shipped: true}
    elapsedSeconds: 266430
    calls: {Ship: 2, Approve: 1}
- name: wants something else
  functions: {ask: {output: {}}, ship: {output: {a: 1, b: 2}}}
  answers: [{step: Approve, output: {approved: true}}]
  want: {output: {a: 1, approved: true, b: 3}, elapsedSeconds: 1, calls: {Ship: 7}}
- name: is late
  functions: {ask: {output: {}}, ship: {output: {}}}
  answers: [{step: Approve, error: FnF.TaskTimeout}]
  want: {calls: {Ship: 0}}
- name: is refused
  functions: {ask: {output: {}}, ship: {output: {}}}
  answers: [{step: Approve, output: {approved: false}}]
  want: {status: Failed, error: Refused}
- name: is never ready
  functions: {ask: {output: {}}, ship: {error: NotReady}}
  answers: [{step: Approve, output: {approved: true}}]
  want: {status: Failed, error: NotReady, calls: {Ship: 3}}
`

const ordering = `version: v1
type: flow
steps:
- {type: task, name: Pay, resourceArn: "acs:fc:::services/shop/functions/pay",
   retry: [{errors: [NotReady], intervalSeconds: 1, maxAttempts: 1}]}
- type: task
  name: Send
  action: fnf:StartExecution
  pattern: sync
  serviceParams: {FlowName: sending, Input: {order: $.order, items: [{sku: a, count: 2}]}}
`

const sending = `version: v1
type: flow
steps:
- {type: task, name: Ship, resourceArn: "acs:fc:::services/shop/functions/ship", retry: [{errors: [NotReady], maxAttempts: 0}]}
- type: choice
  name: Tracked
  choices:
  - {condition: $.tracked, goto: Told}
- {type: pass, name: Told}
`

const testsOfOrdering = `subflows: {sending: sending.yaml}
tests:
- name: sees its inputs
  input: {order: 7, key: k}
  functions: {Pay: [{error: NotReady}, {output: {paid: 1.0}}], Ship: {output: {}}}
  want:
    inputs:
      Pay: [{order: 7}, {order: 7.0, key: k}]
      Ship: [{order: 7, items: [{sku: a}]}]
- name: wants other inputs
  input: {order: 7}
  functions: {Pay: {output: {}}, Ship: {output: {}}}
  want:
    inputs:
      Pay: [{order: "7", key: k}, {}]
      Ship: [{items: [{sku: b, size: {wide: true}}]}]
- name: wants other elements
  input: {order: 7}
  functions: {Pay: {output: {}}, Ship: {output: {}}}
  want: {inputs: {Ship: [{items: []}]}}
`

func TestInputsOfCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", ordering)
	write(t, dir, "sending.yaml", sending)
	cases, err := flowtest.ParseFile(write(t, dir, "flow.test.yaml", testsOfOrdering))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{nil, {
		`input of call 1 of Pay: key is missing, want "k"; it is {"order":7}`,
		`input of call 1 of Pay: order is 7, want "7"`,
		"inputs of Pay: want 2, and the step was called once",
		`input of call 1 of Ship: items[0].size is missing, want {"wide":true}; items[0] is {"count":2,"sku":"a"}`,
		`input of call 1 of Ship: items[0].sku is "a", want "b"`,
	}, {`input of call 1 of Ship: items is [{"count":2,"sku":"a"}], want []`}} {
		result, differences, err := cases[i].Run(t.Context())
		if err != nil || !reflect.DeepEqual(differences, want) {
			t.Errorf("%s: differences %q, error %v; want %q", cases[i].Title, differences, err, want)
		}
		missing := []string{
			"retry Ship: NotReady (a failure after maxAttempts: 0)", "choice Tracked: $.tracked", "step Told",
		}
		if got := result.CoveredSubflows["sending"].Missing(); !slices.Equal(got, missing[:2]) && i == 0 {
			t.Errorf("of the sub-flow not covered: %q", got)
		}
	}
}

func TestInputsOfUnknownSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", approval)
	cases, err := flowtest.ParseFile(write(t, dir, "flow.test.yaml", "tests: [{want: {inputs: {Shp: [{}]}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := cases[0].Run(t.Context()); err == nil || err.Error() != `want: the flow has no step "Shp"; did you mean "Ship"?` {
		t.Errorf("error %v", err)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "approval.yaml", approval)
	cases, err := flowtest.ParseFile(write(t, dir, "approval.test.yaml", fileOfTests))
	if err != nil || len(cases) != 5 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	var covered flowtest.Coverage
	for i, want := range [][]string{nil, {
		"elapsedSeconds is 259200, want 1", "calls of Ship is 1, want 7",
		"output differs (- want, + got):\n    {\n      \"a\": 1,\n      \"approved\": true,\n  -   \"b\": 3\n  +   \"b\": 2\n    }",
	}, nil, nil, nil} {
		result, differences, err := cases[i].Run(t.Context())
		if err != nil || !reflect.DeepEqual(differences, want) {
			t.Errorf("%s: differences %q, error %v; want %q", cases[i].Title, differences, err, want)
		}
		covered = covered.And(result.Covered)
	}
	if met, all := covered.Count(); met != all || all != 12 {
		t.Errorf("%d of %d parts are covered; not: %q", met, all, covered.Missing())
	}
}

// TestObjectsOfTests reads the items of a Map from objects of a test.
func TestObjectsOfTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "each.asl.json", `{"StartAt": "Each", "States": {"Each": {"Type": "Map", "End": true,
		"ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}},
		"ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "data", "Key": "a.json"}}}}}`)
	cases, err := flowtest.ParseFile(write(t, dir, "each.test.yaml",
		"flow: each.asl.json\ntests:\n- {input: {}, objects: {data/a.json: '[1, 2]'}, want: {output: [1, 2]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, differences, err := cases[0].Run(t.Context()); err != nil || differences != nil {
		t.Errorf("%q, error %v", differences, err)
	}
}

// TestCoverageOfHeartbeats tells entries for a missed heartbeat from entries for any timeout.
func TestCoverageOfHeartbeats(t *testing.T) {
	t.Parallel()
	test := flowtest.Test{
		Flow: []byte(`
StartAt: Ask
States:
  Ask:
    Type: Task
    Resource: arn:aws:states:::lambda:invoke.waitForTaskToken
    Parameters: {FunctionName: ask, Payload.$: $$.Task.Token}
    HeartbeatSeconds: 60
    Retry: [{ErrorEquals: [States.Timeout], MaxAttempts: 0}, {ErrorEquals: [States.HeartbeatTimeout], MaxAttempts: 2}]
    Catch: [{ErrorEquals: [Refused, States.HeartbeatTimeout], Next: End}, {ErrorEquals: [States.Timeout], Next: End}]
    Next: End
  End: {Type: Succeed}`),
		Functions: map[string]flowtest.Function{"ask": func(flowtest.Call) (any, error) { return "sent", nil }},
	}
	r, err := test.Run(t.Context())
	want := []string{
		"retry Ask: States.HeartbeatTimeout", "retry Ask: States.HeartbeatTimeout (a failure after maxAttempts: 2)", "catch Ask: States.Timeout",
	}
	if err != nil || !slices.Equal(r.Covered.Missing(), want) {
		t.Errorf("not covered: %q, error %v; want %q", r.Covered.Missing(), err, want)
	}
}

// TestCoverageOfTolerance counts the failed iterations of a foreach, and the retry after too many.
func TestCoverageOfTolerance(t *testing.T) {
	t.Parallel()
	const states = `
StartAt: Each
States:
  Each:
    Type: Map
    ToleratedFailureCount: 1
    Retry: [{ErrorEquals: [Refused], MaxAttempts: 1}, {ErrorEquals: [States.ExceedToleratedFailureThreshold], MaxAttempts: 1}]
    ItemProcessor:
      StartAt: Call
      States:
        Call: {Type: Task, Resource: "arn:aws:lambda:us-east-1:123456789012:function:call", End: true}
    End: true`
	for _, row := range []struct {
		fail int
		want []string
	}{
		{0, []string{
			"tolerance Each: a failed iteration", "retry Each: Refused", "retry Each: Refused (a failure after maxAttempts: 1)",
			"retry Each: States.ExceedToleratedFailureThreshold", "retry Each: States.ExceedToleratedFailureThreshold (a failure after maxAttempts: 1)",
		}},
		{1, []string{
			"retry Each: Refused", "retry Each: Refused (a failure after maxAttempts: 1)",
			"retry Each: States.ExceedToleratedFailureThreshold", "retry Each: States.ExceedToleratedFailureThreshold (a failure after maxAttempts: 1)",
		}},
		{2, []string{
			"retry Each: Refused", "retry Each: Refused (a failure after maxAttempts: 1)",
			"retry Each: States.ExceedToleratedFailureThreshold (a failure after maxAttempts: 1)",
		}},
	} {
		calls := 0
		test := flowtest.Test{
			Flow: []byte(states), Input: []int{1, 2, 3},
			Functions: map[string]flowtest.Function{"call": func(flowtest.Call) (any, error) {
				if calls++; calls <= row.fail {
					return nil, &flowtest.Error{Name: "Refused"}
				}
				return "done", nil
			}},
		}
		if r, err := test.Run(t.Context()); err != nil || r.Status != "Succeeded" || !slices.Equal(r.Covered.Missing(), row.want) {
			t.Errorf("%d failures: %s, not covered: %q, error %v; want %q", row.fail, r.Status, r.Covered.Missing(), err, row.want)
		}
	}
}

func TestFileNamesTheFlow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, want := range map[string]string{"trip.yaml": "trip", "trip.flow.yml": "trip", "my.trip.yaml": "my-trip"} {
		write(t, dir, file, approval)
		cases, err := flowtest.ParseFile(write(t, dir, "trip.test.yaml", "flow: "+file+"\ntests: [{}]"))
		if err != nil || len(cases) != 1 || cases[0].Name != want {
			t.Errorf("%s: got %d cases and error %v, want one with the name %s", file, len(cases), err, want)
		}
	}
}

const asking = `version: v1
type: flow
steps:
- {type: task, name: Ask, resourceArn: "acs:fc:::services/mail/functions/echo", pattern: waitForCallback, prompt: "Ship?",
   choices: [{label: Ship it, output: {shipped: true}}, {label: Wait, output: {shipped: false}}],
   outputMappings: [{target: shipped, source: $local.shipped}]}
outputMappings: [{target: shipped, source: $local.shipped}]
`

func TestAnswersByChoice(t *testing.T) {
	t.Parallel()
	answers := []flowtest.Answer{{Step: "Ask", After: time.Hour, Choice: "Wait"}}
	result, err := flowtest.Test{Flow: []byte(asking), Answers: answers}.Run(t.Context())
	if err != nil || string(result.Output) != `{"shipped":false}` || result.Elapsed != time.Hour {
		t.Errorf("%+v, error %v", result, err)
	}
	answers[0].Choice = "wait"
	_, err = flowtest.Test{Flow: []byte(asking), Answers: answers}.Run(t.Context())
	if want := `answer 1: step Ask has no choice "wait"; did you mean "Wait"?; allowed: Ship it, Wait`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	dir := t.TempDir()
	write(t, dir, "flow.yaml", asking)
	path := write(t, dir, "ask.test.yaml", `tests:
- answers: [{step: Ask, choice: Ship it}]
  want: {output: {shipped: true}}
- answers:
  - step: Ask
    choice: Never
`)
	cases, err := flowtest.ParseFile(path)
	if err != nil || len(cases) != 2 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	if _, differences, err := cases[0].Run(t.Context()); err != nil || differences != nil {
		t.Errorf("differences %q, error %v", differences, err)
	}
	_, _, err = cases[1].Run(t.Context())
	if want := path + `:6:13: step Ask has no choice "Never"; allowed: Ship it, Wait`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", approval)
	for text, want := range map[string]string{
		"tests: []": "it has no tests",
		"test: []":  `:1:1: field "test" is unknown; did you mean "tests"? (allowed: flow, mocks, subflows, tests)`,
		"tests: [{inptu: 1, want: {call: {A: 1}}}]": `:1:27: field "call" is unknown; did you mean "calls"? (allowed: status, output, error,`,
		"tests: [7]":                              ":1:9: found a number; allowed: a mapping with name, case, now,",
		"tests: [{answers: {step: A}}]":           ":1:19: found a mapping; allowed: a list",
		"tests: [{answers: [{choice: [A]}]}]":     ":1:29: found a list; allowed: a text",
		"tests: [{want: {elapsedSeconds: soon}}]": ":1:33: found a text; allowed: a number",
		"tests: [":                                  "did not find expected node content",
		"flow: other.yaml\ntests: [{}]":             "other.yaml: no such file or directory",
		"subflows: {s: s.yaml}\ntests: [{}]":        "s.yaml: no such file or directory",
		"tests: [{now: today}]":                     `now is "today"`,
		"tests: [{functions: {ask: 7}}]":            "reply 1 is not a mapping",
		"tests: [{functions: {ask: []}}]":           "it has no replies",
		"tests: [{functions: {ask: {}}}]":           "reply 1 needs output or error",
		"tests: [{functions: {ask: {outputs: 1}}}]": `the member "outputs"`,
	} {
		if _, err := flowtest.ParseFile(write(t, dir, "wrong.test.yaml", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", text, err, want)
		}
	}
}

// TestFilesReportAllMistakes reports mistakes of the format, of a test and of its flow together.
func TestFilesReportAllMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", approval)
	file := write(t, dir, "wrong.test.yaml", "tests:\n- now: today\n  functions: {fnn: {output: 1}, ask: {outputs: 1}}\n"+
		"  answers: [{step: Aprove, output: {}}, {step: Aks, output: {}}]\n  want: {eror: E, status: Done, calls: {Shp: 1}}\n")
	cases, err := flowtest.ParseFile(file)
	if len(cases) != 1 {
		t.Fatal(err)
	}
	all := errors.Join(err, cases[0].Verify()).Error()
	for _, want := range []string{
		file + `:5:10: field "eror" is unknown`, file + `:2:3: test 1: now is "today"`, file + `:2:3: test 1: functions: ask: reply 1 has the member "outputs"`,
		`the flow has neither a function nor a step "fnn"`, file + `:4:20: the flow has no step "Aprove"`, file + `:4:48: the flow has no step "Aks"`,
		`want: status "Done" is unknown`, `want: the flow has no step "Shp"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("without %s:\n%s", want, all)
		}
	}
	if _, _, err := cases[0].Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Aks") || !strings.Contains(err.Error(), "Shp") {
		t.Errorf("error %v", err)
	}
}

// TestNullIsAnOutput: of a stand-in, of an answer and of an execution.
func TestNullIsAnOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "m.asl.json", `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:lambda:::function:f", "ResultPath": "$.a", "Next": "B"},
		"B": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "InputPath": "$.a", "ResultPath": null,
		"Parameters": {"FunctionName": "ask", "Payload": {"token.$": "$$.Task.Token"}}, "OutputPath": "$.a", "End": true}}}`)
	for want, differences := range map[string]int{"null": 0, "1": 1} {
		cases, err := flowtest.ParseFile(write(t, dir, want+".test.yaml", "flow: m.asl.json\ntests: [{functions: {f: {output: null}, ask: {output: {}}}, "+
			"answers: [{step: B, output: null}], want: {output: "+want+"}}]"))
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := cases[0].Run(t.Context()); err != nil || len(got) != differences {
			t.Errorf("want %s: %q, error %v", want, got, err)
		}
	}
}

// TestWantsOfWhatIsNotThere finds mistakes that would let a test pass, or fail for another reason
// than the flow.
func TestWantsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", approval)
	for want, message := range map[string]string{
		"calls: {Shp: 0}":    `want: the flow has no step "Shp"; did you mean "Ship"?`,
		"waits: Aprove":      `want: the flow has no step "Aprove"; did you mean "Approve"?`,
		"elapsedSeconds: -1": "want: elapsedSeconds is -1; allowed: 0 or more",
		"calls: {Shp: -2}":   "want: calls of Shp are -2; allowed: 0 or more\n" + `want: the flow has no step "Shp"; did you mean "Ship"?`,
		"status: Succeedd":   `want: status "Succeedd" is unknown; did you mean "Succeeded"? (allowed: Succeeded, Failed, Stopped, TimedOut)`,
	} {
		cases, err := flowtest.ParseFile(write(t, dir, "want.test.yaml", "tests: [{functions: {ask: {output: {}}}, want: {"+want+"}}]"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := cases[0].Run(t.Context()); err == nil || err.Error() != message {
			t.Errorf("%s: error %v, want %s", want, err, message)
		}
	}
	cases, err := flowtest.ParseFile(write(t, dir, "waits.test.yaml", "tests: [{functions: {ask: {output: {}}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	flow := strings.NewReplacer("timeoutSeconds: 604800, ", "", "heartbeatSeconds: 3600,", "").Replace(approval)
	cases[0].Flow = []byte(flow)
	if _, differences, err := cases[0].Run(t.Context()); err != nil ||
		!slices.Equal(differences, []string{"status is Running (step Approve waits, and nothing ends that), want Succeeded"}) {
		t.Errorf("%q, error %v", differences, err)
	}
}

// A difference in the error tells its cause, which a wrong stand-in may have made.
func TestDifferencesHaveTheCause(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.asl.json", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "InputPath": "$.price", "End": true}}}`)
	cases, err := flowtest.ParseFile(write(t, dir, "flow.test.yaml", "flow: flow.asl.json\ntests: [{want: {error: Sorry}}]"))
	if err != nil {
		t.Fatal(err)
	}
	_, differences, err := cases[0].Run(t.Context())
	if err != nil || len(differences) != 1 || !strings.Contains(differences[0], "error is States.Runtime (state A: ") ||
		!strings.HasSuffix(differences[0], "), want Sorry") {
		t.Errorf("%q, error %v", differences, err)
	}
}

// TestFilesElsewhereAreNotRead: a file of tests may come from another person, and a message about a
// file shows parts of it.
func TestFilesElsewhereAreNotRead(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, dir, "flow.yaml", approval)
	secret := write(t, outside, "secret.yaml", "top secret")
	for _, link := range []string{"link.yaml", "link.test.yaml"} {
		if err := os.Symlink(secret, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(dir, "link.test.yaml")}
	for name, file := range map[string]string{"up": up, "absolute": secret, "link": "link.yaml", "folder": "."} {
		paths = append(paths, write(t, dir, name+"-flow.test.yaml", "flow: "+file+"\ntests: [{}]"),
			write(t, dir, name+"-subflow.test.yaml", "subflows: {child: "+file+"}\ntests: [{}]"))
		event := write(t, dir, name+"-event.test.yaml", "tests: [{events: [{step: Approve, event: "+file+"}]}]")
		cases, err := flowtest.ParseFile(event)
		if err == nil {
			_, _, err = cases[0].Run(t.Context())
		}
		refused(t, event, err)
	}
	for _, path := range paths {
		_, err := flowtest.ParseFile(path)
		refused(t, path, err)
	}
}

func refused(t *testing.T, path string, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "top secret") ||
		!strings.Contains(err.Error(), "escapes") && !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%s: error %v", path, err)
	}
}

// TestEntriesThatAreWrong: an answer or an event that does not fit has its line and column.
func TestEntriesThatAreWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", approval)
	for entries, want := range map[string]string{
		"answers: [{step: Approve, output: {}}, {output: {}, step: Aprove}]": `:1:68: the flow has no step "Aprove"; did you mean "Approve"?`,
		"answers: [{step: Approve, output: {}, error: E}]":                   ":1:55: answer 1: it has both output and error",
		"events: [{step: Approve, event: {source: aws.bach, detail-type: x}}]": `:1:42: event 1: the event has the source "aws.bach", which no kind of jobs has; ` +
			`did you mean "aws.batch"?`,
	} {
		file := write(t, dir, "wrong.test.yaml", "tests: [{"+entries+"}]")
		cases, err := flowtest.ParseFile(file)
		if err == nil {
			_, _, err = cases[0].Run(t.Context())
		}
		if err == nil || !strings.HasPrefix(err.Error(), file+want) {
			t.Errorf("%s: error %v, want %s", entries, err, want)
		}
	}
}

// TestTimesThatAreWrong: each is a mistake of the file, and no test that runs with another time.
func TestTimesThatAreWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", approval)
	for _, number := range []string{"1e300", ".nan", ".inf", "-1", "soon"} {
		for _, text := range []string{"answers: [{step: Approve, afterSeconds: N}]", "answers: [{step: Approve, heartbeats: [N]}]", "events: [{afterSeconds: N}]"} {
			text = "tests: [{" + strings.ReplaceAll(text, "N", number) + "}]"
			if cases, err := flowtest.ParseFile(write(t, dir, "wrong.test.yaml", text)); err == nil {
				t.Errorf("%s: %+v", text, cases[0])
			}
		}
	}
}

// TestLongOutputsAreCompared compares two outputs of 5,000 lines each. A table of all pairs of
// lines would take 200 MB.
func TestLongOutputsAreCompared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "flow.yaml", "version: v1\ntype: flow\nsteps: [{type: pass, name: A, outputMappings: [{target: all, source: $input.all}]}]\n")
	numbers := strings.Repeat("1,", 5_000)
	cases, err := flowtest.ParseFile(write(t, dir, "long.test.yaml", "tests: [{input: {all: ["+numbers+"2]}, want: {output: {all: [3,"+numbers+"4]}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	_, differences, err := cases[0].Run(t.Context())
	if text := strings.Join(differences, "\n"); err != nil || !strings.Contains(text, "from line 3 on:\n  -     3,\n") || len(text) > 4<<10 {
		t.Errorf("%.300s, error %v", text, err)
	}
}

// TestThePageInTheReference runs the file on the page about tests.
func TestThePageInTheReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(page), "```text\n")
	file, after, _ := strings.Cut(file, "```\n")
	dir := t.TempDir()
	write(t, dir, "approval.yaml", approval)
	cases, err := flowtest.ParseFile(write(t, dir, "approval.test.yaml", file))
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	if _, differences, err := cases[0].Run(t.Context()); err != nil || differences != nil {
		t.Errorf("%q, error %v", differences, err)
	}
	_, program, _ := strings.Cut(after, "```go\n")
	program, _, _ = strings.Cut(program, "```\n")
	example, err := os.ReadFile("example_test.go")
	if err != nil || !strings.Contains(string(example), "\t"+strings.ReplaceAll(strings.TrimSpace(program), "\n", "\n\t")) {
		t.Errorf("the program on the page is not in example_test.go: %v", err)
	}
}

// TestIterationsThatWaitHaveOneOrder runs iterations that wait for a job, a sub-flow or a callback
// side by side. They have one order nevertheless.
func TestIterationsThatWaitHaveOneOrder(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{
		"sub-flow": `{type: task, name: Visit, resourceArn: acs:fnf:::flow/sub, pattern: sync}`,
		"callback": `{type: task, name: Visit, resourceArn: "acs:fc:::services/s/functions/visit", pattern: waitForCallback}`,
		"long":     `{type: task, name: Visit, resourceArn: "acs:fc:::services/s/functions/visit", timeoutSeconds: 3600}`,
		"job":      `{type: task, name: Visit, resourceArn: "arn:aws:dms:us-east-1:123456789012:task:NIGHTLY", pattern: sync}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, runs := "", 40
			if name == "long" {
				runs = 200
			}
			for i := range runs {
				if got := orderOfVisits(t, step); i == 0 {
					want = got
				} else if got != want {
					t.Fatalf("run %d: %s\nthe first one: %s", i, got, want)
				}
			}
		})
	}
}

// orderOfVisits returns what an execution with the step as its iterations called and recorded.
func orderOfVisits(t *testing.T, step string) string {
	t.Helper()
	n := 0
	test := flowtest.Test{
		Flow:     []byte(strings.Replace(visits, `{type: task, name: Visit, resourceArn: "acs:fc:::services/s/functions/visit"}`, step, 1)),
		Subflows: map[string][]byte{"sub": []byte("version: v1\ntype: flow\nsteps: [{type: task, name: Visit, resourceArn: acs:fc:::services/s/functions/visit}]\n")},
		Input:    map[string]any{"all": []int{0, 0, 0, 0, 0, 0}},
		Functions: map[string]flowtest.Function{"visit": func(flowtest.Call) (any, error) {
			n++
			return map[string]any{"n": n}, nil
		}},
	}
	if strings.Contains(step, "waitForCallback") {
		for range 6 {
			test.Answers = append(test.Answers, flowtest.Answer{Step: "Visit", After: time.Second, Output: map[string]any{"n": 1}})
		}
	}
	if strings.Contains(step, "arn:aws:dms") {
		test.Actions = []string{"dms:StartReplicationTask"}
	}
	got, err := test.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order := fmt.Sprintf("%s %s", got.Status, got.Output)
	for _, e := range got.History {
		order += fmt.Sprintf("\n%s %s%v", e.Type, e.StepName, e.Iterations)
	}
	return order
}
