package advise

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

// everything has each field of each type of step, and texts that YAML would take
// for something else.
const everything = `version: v1
type: flow
steps:
  - type: task
    name: "yes"
    resourceArn: arn:aws:dms:us-east-1:123456789012:task:NIGHTLYLOAD
    pattern: sync
    timeoutSeconds: 60
    serviceParams: {StartReplicationTaskType: reload-target, b: [1, {c: $.x}], "d e": "5"}
    retry: [{errors: [FC.Unknown, "a, b"], intervalSeconds: 0, maxIntervalSeconds: 5, multiplier: 1.5, maxAttempts: 0}, {errors: [x]}]
    errorMappings: [{target: error, source: $local.error}]
    catch: [{errors: [FnF.ALL], steps: [{type: pass, name: Caught, end: true}], goto: Poll}, {errors: ["- y"], goto: Poll}]
    end: true
  - {type: task, name: Job, action: "batch:SubmitJob", serviceParams: {}}
  - type: task
    name: Ask
    resourceArn: acs:fc:{region}:{account}:services/s/functions/f
    pattern: waitForCallback
    heartbeatSeconds: 5
    signed: true
    atMostOnce: true
    inputMappings:
      - {target: "a.b", source: '$input["x y"][0].z[*]'}
      - {target: number, source: -1.50}
      - {target: text, source: "1.50"}
      - {target: empty, source: ""}
      - {target: "null", source: null}
      - {target: "# no comment", source: 'it''s "quoted": #1'}
      - {target: lines, source: "a\nb\u00e9 "}
      - {target: list, source: [true, {a: "b"}]}
      - {target: dollar, source: $100}
      - {target: word, source: "On"}
      - {target: date, source: 2026-01-31}
  - {type: task, name: AskAcme, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback, signed: acme}
  - {type: task, name: Poll, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCondition,
     condition: '!($.a == "x: y") && $.b in ["c"]', intervalSeconds: 5, backoffRate: 1.5, maxAttempts: 3}
  - {type: wait, name: W1, duration: 0}
  - {type: wait, name: W2, duration: $.a}
  - {type: wait, name: W3, timestamp: 2026-01-31T10:00:00.5+02:00}
  - {type: wait, name: W4, timestamp: $.b}
  - type: choice
    name: C1
    inputMappings: []
    choices:
      - {condition: $.a, steps: [{type: succeed, name: S, outputMappings: [{target: x, source: $input}]}]}
      - {condition: $.b, goto: W1}
      - {condition: "true"}
    default: {}
  - type: choice
    name: C2
    choices: [{condition: $.a}]
    default: {steps: [{type: fail, name: F, error: "true", cause: "a: b"}], goto: C1}
`

// What is written reads as what was written.
func TestWrittenStepsReadTheSame(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"everything": everything}
	paths, err := filepath.Glob("../../../events/*/flow.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, nodes := stepsOf(t, text), stepNodes([]byte(text))
			var all []*yaml.Node
			for _, step := range want {
				node := nodes.step(step)
				annotate(node, "type", "a note")
				all = append(all, node)
			}
			again := "version: v1\ntype: flow\nsteps:\n" + written(all...)
			if got := stepsOf(t, again); !reflect.DeepEqual(got, want) {
				t.Errorf("was written as:\n%s", again)
			}
		})
	}
}

// The comments of the user stay, and anchors are resolved.
func TestWrittenStepsKeepComments(t *testing.T) {
	t.Parallel()
	const flow = `version: v1
type: flow
steps:
  - {type: pass, name: First, outputMappings: &shared [{target: a, source: 1}]}
  # asks for a decision
  - type: task # of a person
    name: Ask
    # the team decides
    resourceArn: acs:fc:::services/s/functions/ask
    pattern: waitForCallback
    outputMappings: *shared
`
	const want = `# asks for a decision
- type: task # of a person
  name: Ask
  # the team decides
  resourceArn: acs:fc:::services/s/functions/ask
  pattern: waitForCallback
  timeoutSeconds: 86400 # how long the sender may take; or heartbeatSeconds, if it sends heartbeats
  outputMappings:
    - target: a
      source: 1
`
	parsed, problems := fdl.Parse([]byte(flow))
	if parsed == nil {
		t.Fatal(problems)
	}
	if findings := Flow(parsed, []byte(flow), Prices{}); len(findings) != 2 || findings[1].Instead != want {
		t.Errorf("found %+v", findings)
	}
}

// stepsOf are the steps of a flow, without their places.
func stepsOf(t *testing.T, text string) []*flow.Step {
	t.Helper()
	def, problems := fdl.Parse([]byte(text))
	if def == nil {
		t.Fatalf("%v in:\n%s", problems, text)
	}
	for _, step := range def.All {
		step.Position = flow.Position{}
		if task, ok := step.Kind.(*flow.Task); ok {
			task.At, task.ParamPlaces = flow.Position{}, nil
		}
	}
	return def.Steps
}

// The end of a loop is the condition of its choice, turned around where need be,
// on what the task answers.
func TestConditionOfALoop(t *testing.T) {
	t.Parallel()
	const task = "- {type: task, name: Ask, resourceArn: \"acs:fc:::services/s/functions/ask\""
	for name, tt := range map[string]struct {
		task, choice, want string
		polls              int
		giveUp             string
	}{
		"what goes back": {choice: `choices: [{condition: $.s == "on", goto: Wait}]`, want: `!($.s == "on")`},
		"what goes on":   {choice: `choices: [{condition: $.s == "off", goto: Done}], default: {goto: Wait}`, want: `$.s == "off"`},
		"two that go on": {
			choice: `choices: [{condition: $.s == "off", goto: Done}, {condition: $.s == "broken", goto: Failed}], default: {goto: Wait}`,
			want:   `$.s == "off" || $.s == "broken"`,
		},
		"what goes on is said by what goes back": {
			choice: `choices: [{condition: $.s == "off", goto: Done}, {condition: $.s == "on", goto: Wait}]`, want: `!($.s == "on")`,
		},
		"what goes on is another thing": {
			choice: `choices: [{condition: $.x, goto: Done}, {condition: $.s == "on", goto: Wait}]`, want: `$.x || !($.s == "on")`,
		},
		"going back first": {
			choice: `choices: [{condition: $.x && $.y || $.z, goto: Wait}, {condition: $.s == "off", goto: Done}], default: {goto: Wait}`,
			want:   `!($.x && $.y || $.z) && $.s == "off"`,
		},
		"by the choice's mappings": {
			choice: `inputMappings: [{target: state, source: $local.s.t}], choices: [{condition: '$.state[0] == "$.state"', goto: Wait}]`,
			want:   `!($.s.t[0] == "$.state")`,
		},
		"by the whole local value": {
			choice: `inputMappings: [{target: all, source: $local}], choices: [{condition: $.all.s, goto: Wait}]`, want: `!$.s`,
		},
		"by the task's mappings": {
			task:   `, outputMappings: [{target: s, source: $local.body.state}]`,
			choice: `choices: [{condition: $.s == "on", goto: Wait}]`, want: `!($.body.state == "on")`,
		},
		"not by the input":            {choice: `inputMappings: [{target: s, source: $input.s}], choices: [{condition: $.s, goto: Wait}]`},
		"not by a constant":           {choice: `inputMappings: [{target: s, source: on}], choices: [{condition: $.s, goto: Wait}]`},
		"not by what is not mapped":   {choice: `inputMappings: [{target: s, source: $local.s}], choices: [{condition: $.x, goto: Wait}]`},
		"not by what the task has in": {task: `, outputMappings: [{target: s, source: $input.s}]`, choice: `choices: [{condition: $.s, goto: Wait}]`},
		"not by what comes after": {
			task:   `}` + "\n- {type: pass, name: Set, outputMappings: [{target: s, source: x}]",
			choice: `choices: [{condition: $.s, goto: Wait}]`,
		},
		"not by what is set before": {choice: `choices: [{condition: $.n != 1 && $.s, goto: Wait}]`},
		"not by the whole input":    {choice: `choices: [{condition: $, goto: Wait}]`},
		"always":                    {choice: `choices: [{condition: $.s, goto: Wait}], default: {goto: Wait}`},
		"counted where it goes on": {
			choice: `choices: [{condition: $.n > 3, goto: Failed}, {condition: $.s == "on", goto: Wait}]`,
			want:   `!($.s == "on")`, polls: 3, giveUp: "Failed",
		},
		"counted to the number": {
			choice: `choices: [{condition: $.n >= 3, goto: Failed}, {condition: $.s == "on", goto: Wait}]`,
			want:   `!($.s == "on")`, polls: 2, giveUp: "Failed",
		},
		"counted where it goes back": {
			choice: `choices: [{condition: $.s == "on" && $.n < 5, goto: Wait}], default: {goto: Failed}`,
			want:   `!($.s == "on")`, polls: 4, giveUp: "Failed",
		},
		"counted by another mapping": {
			choice: `inputMappings: [{target: s, source: $local.s}, {target: tries, source: $local.n}], ` +
				`choices: [{condition: $.s == "on" && $.tries <= 5, goto: Wait}]`,
			want: `!($.s == "on")`, polls: 5,
		},
		"a number that the task does not read": {
			task:   `, inputMappings: [{target: a, source: $input.a}]`,
			choice: `choices: [{condition: $.m > 3, goto: Failed}, {condition: $.s == "on", goto: Wait}]`, want: `$.m > 3 || !($.s == "on")`,
		},
		"a number that is there at once": {choice: `choices: [{condition: $.n > 0, goto: Failed}, {condition: $.s == "on", goto: Wait}]`},
		"a number that the task puts out": {
			task:   `, outputMappings: [{target: n, source: $local.n}]`,
			choice: `choices: [{condition: $.n > 0, goto: Failed}], default: {goto: Wait}`, want: `$.n > 0`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := stepsOf(t, "version: v1\ntype: flow\nsteps:\n- {type: pass, name: Init, outputMappings: [{target: n, source: 1}]}\n"+
				"- {type: wait, name: Wait, duration: 5}\n"+task+tt.task+"}\n- {type: choice, name: Check, "+tt.choice+"}\n"+
				"- {type: succeed, name: Done}\n- {type: fail, name: Failed}\n")
			found := loops(steps, 1, 1)
			if len(found) != 1 {
				t.Fatalf("found %d loops, want 1", len(found))
			}
			p := asPoll(&found[0])
			giveUp := ""
			if p.giveUp != nil && p.giveUp.Goto != nil {
				giveUp = p.giveUp.Goto.Name
			}
			until := ""
			if p.known {
				until = p.until.String()
			}
			if until != tt.want || p.maxPolls != tt.polls || giveUp != tt.giveUp {
				t.Errorf("got %q, %d polls, then %q; want %q, %d polls, then %q", until, p.maxPolls, giveUp, tt.want, tt.polls, tt.giveUp)
			}
		})
	}
}
