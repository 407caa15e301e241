package advise

import (
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

// stepsOf are the steps of a flow.
func stepsOf(t *testing.T, text string) []*flow.Step {
	t.Helper()
	def, problems := fdl.Parse([]byte(text))
	if def == nil {
		t.Fatalf("%v in:\n%s", problems, text)
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
			choice: `choices: [{condition: $.s == "off", goto: Done}, {condition: $.s == "on", goto: Wait}]`, want: `$.s == "off" || !($.s == "on")`,
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
