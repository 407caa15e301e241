package fdl_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

// call is a task step with these fields beside its type and resource.
func call(fields string) string {
	return `  - {type: task, resourceArn: "acs:fc:::services/s/functions/f", ` + fields + "}\n"
}

func TestParseRetry(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for fields, want := range map[string]flow.Retry{
		`errors: [A, FnF.ALL]`: {Errors: []string{"A", "FnF.ALL"}, Interval: time.Second, MaxInterval: day, Multiplier: 2, MaxAttempts: 3},
		`errors: [A], intervalSeconds: 0, maxIntervalSeconds: 0, multiplier: 1, maxAttempts: 0`: {Errors: []string{"A"}, Multiplier: 1},
		`errors: [A], intervalSeconds: 86400, maxIntervalSeconds: 86400, multiplier: 1.5, maxAttempts: 2147483647`: {
			Errors: []string{"A"}, Interval: day, MaxInterval: day, Multiplier: 1.5, MaxAttempts: math.MaxInt32,
		},
	} {
		task := parseTask(t, `resourceArn: "`+lambda+`", retry: [{`+fields+`}]`)
		if len(task.Retry) != 1 || !reflect.DeepEqual(task.Retry[0], want) {
			t.Errorf("%s: %+v, want %+v", fields, task.Retry, want)
		}
	}
	if task := parseTask(t, `resourceArn: "`+lambda+`", retry: [], catch: []`); len(task.Retry)+len(task.Catch) > 0 {
		t.Errorf("empty lists give %+v", task)
	}
}

const caught = `
  - type: task
    name: Book
    resourceArn: acs:fc:::services/s/functions/f
    catch:
      - {errors: [Full], goto: Other}
      - errors: [FnF.ALL]
        steps:
          - {type: pass, name: Note}
          - {type: choice, name: Again, choices: [{condition: $.x, goto: Note}]}
        goto: Book
    errorMappings:
      - {target: why, source: $local.cause}
  - {type: pass, name: Other}
`

func TestParseCatch(t *testing.T) {
	t.Parallel()
	def := parse(t, flowOf(caught))
	task := kindOf[*flow.Task](t, def)
	if len(task.Catch) != 2 || len(fdl.DataOf(def.Steps[0]).Errors) != 1 {
		t.Fatalf("task is %+v", task)
	}
	if got := task.Catch[0]; got.Errors[0] != "Full" || got.Goto != def.Steps[1] || got.Steps != nil {
		t.Errorf("first entry is %+v", got)
	}
	if got := task.Catch[1]; got.Goto != def.Steps[0] || names(got.Steps) != "Note Again" {
		t.Errorf("second entry is %+v", got)
	}
	if got := names(def.All); got != "Book Note Again Other" {
		t.Errorf("all steps: %s", got)
	}
	again, _ := def.All[2].Kind.(*flow.Choice)
	if def.All[1].Next != def.All[2] || def.All[2].Next != nil || again.Branches[0].Goto != def.All[1] {
		t.Error("the steps of the catch are no series")
	}
}

func TestParsePoll(t *testing.T) {
	t.Parallel()
	task := parseTask(t, `resourceArn: "`+lambda+`", pattern: waitForCondition, condition: $.a == 1, intervalSeconds: 5`)
	if p := task.Poll; p == nil || p.Text != "$.a == 1" || p.Interval != 5*time.Second || p.Backoff != 1 || p.MaxAttempts != 0 {
		t.Errorf("poll is %+v", p)
	}
	task = parseTask(t, `resourceArn: "`+lambda+`", pattern: waitForCondition, condition: $.a, intervalSeconds: 86400, backoffRate: 1.5, maxAttempts: 3`)
	if p := task.Poll; p == nil || p.Interval != flow.MaxInterval || p.Backoff != 1.5 || p.MaxAttempts != 3 {
		t.Errorf("poll is %+v", p)
	}
	if task = parseTask(t, `resourceArn: "`+lambda+`"`); task.Poll != nil {
		t.Errorf("poll is %+v", task.Poll)
	}
}

func TestParseTimeoutOfAFlow(t *testing.T) {
	t.Parallel()
	flow := parse(t, "timeoutSeconds: 90\n"+flowOf(call("name: A")))
	if flow.Timeout != 90*time.Second {
		t.Errorf("timeout is %s", flow.Timeout)
	}
}

func TestProblemsOfFailures(t *testing.T) {
	t.Parallel()
	poll := `pattern: waitForCondition, condition: $.a, intervalSeconds: 1`
	for _, tt := range []struct{ name, fields, want string }{
		{"retry is no list", `retry: {errors: [A]}`, `retry is a mapping; allowed: a list of policies`},
		{"policy is no mapping", `retry: [3]`, `a policy of retry is number 3; allowed: a mapping with the fields errors, intervalSeconds, max`},
		{"no errors", `retry: [{errors: []}]`, `errors is an empty list; allowed: a list of error names, like FnF.TaskTimeout, or FnF.ALL for every`},
		{"error is a number", `retry: [{errors: [404]}]`, `an error name is number 404; allowed: text, like FnF.TaskTimeout, or FnF.ALL`},
		{"errors is a text", `catch: [{errors: FnF.ALL, goto: A}]`, `errors is text "FnF.ALL"; allowed: a list of error names`},
		{"interval of a fraction", `retry: [{errors: [A], intervalSeconds: 0.5}]`, `intervalSeconds is number 0.5; allowed: whole seconds from 0 to 86400 (a day)`},
		{"interval too long", `retry: [{errors: [A], maxIntervalSeconds: 86401}]`, `maxIntervalSeconds is number 86401; allowed: whole seconds from 0 to 86400`},
		{"multiplier too small", `retry: [{errors: [A], multiplier: 0.9}]`, `multiplier is number 0.9; allowed: a number from 1, like 1.5`},
		{"multiplier too large", `retry: [{errors: [A], multiplier: 1e400}]`, `multiplier is number 1e400; allowed: a number from 1`},
		{"multiplier is a text", `retry: [{errors: [A], multiplier: "2"}]`, `multiplier is text "2"; allowed: a number from 1`},
		{"attempts negative", `retry: [{errors: [A], maxAttempts: -1}]`, `maxAttempts is number -1; allowed: a whole number from 0 to 2147483647`},
		{"entry is no mapping", `catch: [Full]`, `an entry of catch is text "Full"; allowed: a mapping with the fields errors, goto, steps`},
		{"goto out of the series", `catch: [{errors: [A], goto: Inner, steps: [{type: pass, name: Inner}]}]`,
			`goto "Inner" leads to the step at 4:137, which is not in the list of step "A" (allowed: A)`},
		{"goto is a list", `catch: [{errors: [A], goto: [A]}]`, `goto is a list; allowed: the name of a step in the same list as the task`},
		{"repeated name", `catch: [{errors: [A], steps: [{type: pass, name: A}]}]`, `step name "A" is repeated; it stands first at 4:72`},
		{"foreach in a catch", `catch: [{errors: [A], steps: [{type: foreach, name: B, iterationMapping: {collection: $.a, item: b}}]}]`,
			`a foreach step has no field "steps", which is required`},
		{"condition of a call", `condition: $.a`, `condition needs "pattern: waitForCondition"`},
		{"backoff of a callback", `pattern: waitForCallback, backoffRate: 2`, `backoffRate needs "pattern: waitForCondition"`},
		{"attempts of a call", `maxAttempts: 3`, `maxAttempts needs "pattern: waitForCondition"; that of a retry stands in its policy`},
		{"no poll", `pattern: waitForCondition, condition: $.a, intervalSeconds: 0`, `intervalSeconds is number 0; allowed: whole seconds from 1 to 86400 (a day)`},
		{"no condition", `pattern: waitForCondition, intervalSeconds: 1`, `a task step with "pattern: waitForCondition" has no field "condition", which is required`},
		{"polls of a broken condition", `pattern: waitForCondition, condition: $.a =, intervalSeconds: 1`, `condition $.a =: found "="`},
		{"no polls", poll + `, maxAttempts: 0`, `maxAttempts is number 0; allowed: a whole number from 1 to 2147483647`},
		{"polls at most once", poll + `, atMostOnce: true`, `atMostOnce does not go with "pattern: waitForCondition"`},
		{"polls with heartbeats", poll + `, heartbeatSeconds: 5`, `heartbeatSeconds needs "pattern: waitForCallback"`},
		{"signed by a sender polls", poll + `, signed: acme`, `signed needs "pattern: waitForCallback"`},
		{"signed by a word", `pattern: waitForCallback, signed: yes`, `signed is text "yes"; allowed: true, false, the name of a sender`},
		{"signed by a boolean in quotes", `pattern: waitForCallback, signed: "TRUE"`, `signed is text "TRUE"; allowed: true, false, the name of a sender`},
		{"signed by no name", `pattern: waitForCallback, signed: "a b"`, `signed is text "a b"; allowed: true, false, the name of a sender`},
		{"signed by a long name", `pattern: waitForCallback, signed: ` + strings.Repeat("a", 129),
			`signed is text "` + strings.Repeat("a", 80) + `..."; allowed: true, false, the name of a sender`},
		{"signed by a number", `pattern: waitForCallback, signed: 1`, `signed is number 1; allowed: true, false, the name of a sender`},
		{"signed by nobody", `pattern: waitForCallback, signed: null`, `signed is nothing; allowed: true, false, the name of a sender`},
		{"signed by a list", `pattern: waitForCallback, signed: [acme]`, `signed is a list; allowed: true, false, the name of a sender`},
		{"signed polls", poll + `, signed: true`, `signed needs "pattern: waitForCallback"`},
		{"seconds without their unit", `timeout: 10`, `field "timeout" is unknown in a task step; did you mean "timeoutSeconds", a number of seconds?`},
		{"also of heartbeats", `heartbeat: 10`, `field "heartbeat" is unknown in a task step; did you mean "heartbeatSeconds", a number of seconds?`},
		{"a policy's field on the step", `multiplier: 2`, `field "multiplier" is unknown in a task step; it belongs to a policy of retry (allowed`},
		{"a policy's field in a branch", `catch: [{errors: [A], goto: A, condition: $.a}]`, `field "condition" is unknown in an entry of catch; it belongs`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flow, problems := fdl.Parse([]byte(flowOf(call("name: A, " + tt.fields))))
			if flow != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, tt.want) {
				t.Errorf("flow %t with\n%swant one: %s", flow != nil, lines(problems), tt.want)
			}
		})
	}
}

func TestWarningsOfFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fields, want string }{
		{`errorMappings: []`, `4:90: warning: errorMappings has no effect without catch`},
		{`retry: [{errors: [FnF.All]}]`, `4:93: warning: error name "FnF.All" matches no other name; did you mean "FnF.ALL"`},
		{`retry: [{errors: ["*"]}]`, `4:93: warning: error name "*" matches no other name; did you mean "FnF.ALL"`},
		{`inputMappings: [{target: a, source: $context.flow.nam}]`, `4:111: warning: source $context.flow.nam is missing: $context does not have it, ` +
			`so the target is left out; did you mean "$context.flow.name"? (allowed: $context.flow.name, `},
		{`outputMappings: [{target: a, source: $context.execution.input.x}, {target: b, source: "$context.execution.inputs"}]`,
			`4:161: warning: source $context.execution.inputs is missing`},
	} {
		flow, problems := fdl.Parse([]byte(flowOf(call("name: A, " + tt.fields))))
		if flow == nil || len(problems) != 1 || !strings.HasPrefix(lines(problems), "flow.yaml:"+tt.want) {
			t.Errorf("%s: flow %t with\n%swant one: %s", tt.fields, flow != nil, lines(problems), tt.want)
		}
	}
}

const strictFlow = `version: v1
type: flow
inputMappings:
  - {target: a, source: $local.x}
  - {target: b, source: $context.step.name}
outputMappings: [{target: a, source: $context.task.token}, {target: b, source: $context.flow.id}]
steps:
  - {type: pass, name: First, inputMappings: [{target: a, source: $local.x}, {target: b, source: $local}]}
  - {type: pass, name: Second, inputMappings: [{target: a, source: $local.x}], outputMappings: [{target: b, source: $local.x}]}
  - {type: wait, name: Third, duration: 1, outputMappings: [{target: b, source: '$local["x"]'}]}
  - type: task
    name: Poll
    resourceArn: acs:fc:::services/s/functions/f
    pattern: waitForCondition
    condition: $.a
    intervalSeconds: 1
    inputMappings: [{target: t, source: $context.task.token}, {target: k, source: $context.task.idempotencyKey}]
    errorMappings: [{target: a, source: $local.error}, {target: b, source: $local.code}]
    catch:
      - errors: [FnF.ALL]
        steps: [{type: pass, name: Note, inputMappings: [{target: a, source: $local.a}]}]
  - type: task
    name: Ask
    resourceArn: arn:aws:lambda:::function:f
    pattern: waitForCallback
    heartbeatSeconds: 5
    signed: acme
    inputMappings: [{target: t, source: $context.task.token}, {target: u, source: $context.task.callbackUrl}]
  - {type: task, name: Job, action: "batch:SubmitJob", serviceParams: {}, atMostOnce: true, pattern: sync, stopJob: true}
  - type: choice
    name: Choose
    choices:
      - condition: $.a
        steps: [{type: pass, name: Inner, inputMappings: [{target: a, source: $local.a}]}]
      - condition: $.b
        steps:
          - {type: pass, name: Loop, inputMappings: [{target: a, source: $local.a}]}
          - {type: choice, name: Back, choices: [{condition: $.a, goto: Loop}]}
  - {type: succeed, name: End, outputMappings: [{target: a, source: $local.x}, {target: b, source: $context.task.token}]}
`

const strictWant = `flow.yaml:4:25: strict: source $local.x is missing: no step has run yet, so the target is left out
flow.yaml:5:25: strict: source $context.step.name is missing: the mappings of the flow belong to no step, so the target is left out
flow.yaml:6:38: strict: source $context.task.token is missing: the mappings of the flow belong to no step, so the target is left out
flow.yaml:8:67: strict: source $local.x is missing: $local is empty at the first step, so the target is left out
flow.yaml:9:117: strict: source $local.x is missing: a pass step has no local value (its input is $input), so the target is left out
flow.yaml:10:81: strict: source $local.x is missing: a wait step has no local value (its input is $input), so the target is left out
flow.yaml:14:14: strict: pattern "waitForCondition" is an extension: FDL polls with a wait, a task and a choice
flow.yaml:17:41: strict: source $context.task.token is missing: the task needs "pattern: waitForCallback", so the target is left out
flow.yaml:17:83: strict: $context.task.idempotencyKey is an extension: $context of FDL does not have it
flow.yaml:18:76: strict: source $local.code is missing: $local of errorMappings has error and cause, so the target is left out
flow.yaml:21:16: strict: steps is an extension: FDL documents goto alone
flow.yaml:24:18: strict: resource arn:aws:lambda:::function:f is an extension: FDL has no resources of AWS
flow.yaml:26:23: strict: heartbeatSeconds is an extension: a task of FDL has no such field
flow.yaml:27:13: strict: signed is an extension: a task of FDL has no such field
flow.yaml:28:83: strict: $context.task.callbackUrl is an extension: $context of FDL does not have it
flow.yaml:29:37: strict: action batch:SubmitJob is an extension: FDL has no services of AWS
flow.yaml:29:87: strict: atMostOnce is an extension: a task of FDL has no such field
flow.yaml:29:117: strict: stopJob is an extension: a task of FDL has no such field
flow.yaml:34:79: strict: source $local.a is missing: $local is empty at the first step, so the target is left out
flow.yaml:39:69: strict: source $local.x is missing: a succeed step has no local value (its input is $input), so the target is left out
flow.yaml:39:100: strict: source $context.task.token is missing: a succeed step is not a task, so the target is left out
`

// Nothing of this is a problem of the flow, and the samples have none of it.
func TestExtensions(t *testing.T) {
	t.Parallel()
	if got := lines(parse(t, strictFlow).Extensions); got != strictWant {
		t.Errorf("got\n%swant\n%s", got, strictWant)
	}
	for _, sample := range []string{"polling", "callback"} {
		flow := parse(t, string(readFile(t, "../../events/"+sample+"/flow.yaml")))
		if len(flow.Extensions) > 0 {
			t.Errorf("%s has extensions:\n%s", sample, lines(flow.Extensions))
		}
	}
}
