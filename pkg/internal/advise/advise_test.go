package advise_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/advise"
)

func parsed(t *testing.T, text string) *flow.Flow {
	t.Helper()
	flow, problems := fdl.Parse([]byte(text))
	if flow == nil {
		t.Fatalf("%v in:\n%s", problems, text)
	}
	return flow
}

// adviceOn returns the findings about a flow of these steps.
func adviceOn(t *testing.T, steps string) []advise.Finding {
	t.Helper()
	return advise.Flow(parsed(t, header+steps))
}

const header = "version: v1\ntype: flow\nsteps:\n"

func call(name, more string) string {
	return "- {type: task, name: " + name + ", resourceArn: acs:fc:::services/s/functions/" + name + more + "}\n"
}

const (
	wait = "- {type: wait, name: Wait, duration: 30}\n"
	ends = "- {type: succeed, name: Done}\n- {type: fail, name: Failed}\n"
)

// parallel is a fork with these branches.
func parallel(branches ...string) string {
	text := "- type: parallel\n  name: Fork\n  branches:\n"
	for _, steps := range branches {
		text += "  - steps:\n" + indented(steps)
	}
	return text
}

func foreach(steps string) string {
	return "- type: foreach\n  name: Fork\n  iterationMapping: {collection: $.list, item: item}\n  steps:\n" + indented(steps)
}

func indented(steps string) string {
	return "    " + strings.TrimSpace(strings.ReplaceAll(steps, "\n", "\n    ")) + "\n"
}

// work are the inputs of a call with an index, count those of the choice behind it.
const (
	work  = ", {target: list, source: $input.list}, {target: i, source: $local.i}"
	count = "{target: i, source: $local.i}, {target: n, source: $input.n}"
)

// index is a loop over an index that begins at a number.
func index(from, inputs, choices string) string {
	if !strings.Contains(choices, "inputMappings") {
		choices += "], inputMappings: [" + count
	}
	return "- {type: pass, name: Begin, outputMappings: [{target: i, source: " + from + "}]}\n" +
		call("Work", ", inputMappings: ["+strings.TrimPrefix(inputs, ", ")+"], outputMappings: [{target: i, source: $local.next}, {target: r, source: $local.r}]") +
		choice("choices: ["+choices+"]") + ends
}

func subflow(more string) string {
	return "- {type: task, name: Sub, resourceArn: \"acs:fnf:::flow/Sub\"" + more + "}\n"
}

func choice(choices string) string { return "- {type: choice, name: Check, " + choices + "}\n" }

// What is found, by rule and step.
//
// rules: AD-1 AD-2 AD-3 AD-4 AD-5 AD-6 AD-7 AD-8 AD-9 AD-10
func TestFlow(t *testing.T) {
	t.Parallel()
	again := choice("choices: [{condition: $.s == \"running\", goto: Wait}]")
	noLimit := "flow-without-timeout "
	for name, tt := range map[string]struct {
		steps string
		want  []string
	}{
		"nothing that waits": {call("Ask", "") + ends, nil},
		"a polling loop":     {wait + call("Ask", "") + again, []string{"polling-loop Ask", noLimit}},
		"one that counts": {
			"- {type: pass, name: Init, outputMappings: [{target: n, source: 0}]}\n" + wait + call("Ask", "") +
				choice("choices: [{condition: $.n > 3, goto: Failed}, {condition: $.s == \"running\", goto: Wait}]") + ends,
			[]string{"polling-loop Ask"},
		},
		"a loop that does not wait":    {"- {type: pass, name: Wait}\n" + call("Ask", "") + again, nil},
		"a loop that calls nothing":    {wait + "- {type: pass, name: Ask}\n" + again, nil},
		"a loop that starts jobs":      {wait + "- {type: task, name: Ask, action: batch:SubmitJob, serviceParams: {}}\n" + again, nil},
		"a choice that goes to itself": {choice("choices: [{condition: $.a, goto: Check}]"), []string{"loop-without-pause Check"}},
		"a pass and a choice": {
			"- {type: pass, name: A}\n" + choice("choices: [{condition: $.a}], default: {goto: A}"),
			[]string{"loop-without-pause A,Check"},
		},
		"a pass that ends the loop": {
			"- {type: pass, name: A, outputMappings: [{target: a, source: false}]}\n" + choice("choices: [{condition: $.a, goto: A}]"), nil,
		},
		"a call that changes nothing that is read": {
			call("Ask", ", outputMappings: [{target: r, source: $local.r}]") + choice("choices: [{condition: $.a, goto: Ask}]"),
			[]string{"loop-without-pause Ask,Check"},
		},
		"a call whose result is not read": {
			call("Ask", "") + choice("inputMappings: [{target: a, source: $input.a}], choices: [{condition: $.a, goto: Ask}]"),
			[]string{"loop-without-pause Ask,Check"},
		},
		"a call that reaches the whole input": {
			call("Ask", ", outputMappings: [{target: r, source: $local.r}]") + choice("choices: [{condition: $, goto: Ask}]"),
			nil,
		},
		"a call that may fail": {
			call("Ask", ", outputMappings: [], catch: [{errors: [x], goto: Done}]") + choice("choices: [{condition: $.a, goto: Ask}]") + ends,
			nil,
		},
		"a wait where it goes back": {choice("choices: [{condition: $.a, steps: [{type: wait, name: W, duration: 5}], goto: Check}]"), nil},
		"a wait where it leaves": {
			choice("choices: [{condition: $.a, goto: Check}], default: {steps: [{type: wait, name: W, duration: 5}]}"),
			[]string{"loop-without-pause Check"},
		},
		"a wait in a foreach": {
			foreach("- {type: wait, name: W, duration: 5}\n") + choice("inputMappings: [{target: a, source: $input.a}], choices: [{condition: $.a, goto: Fork}]"), nil,
		},
		"a loop around a job": {
			"- {type: task, name: Job, action: batch:SubmitJob, pattern: sync, serviceParams: {}, timeoutSeconds: 9, outputMappings: []}\n" +
				choice("choices: [{condition: $.a, goto: Job}]"),
			nil,
		},
		"a goto forward": {wait + call("Ask", "") + choice("choices: [{condition: $.x, goto: Done}]") + ends, nil},
		"what the loop jumps over": {
			wait + "- {type: choice, name: Skip, choices: [{condition: $.x, goto: Check}], default: {goto: Done}}\n" +
				call("Ask", "") + "- {type: succeed, name: Over}\n" + again + ends,
			nil,
		},
		"waiting where it goes back": {
			call("Ask", "") + choice("choices: [{condition: $.done, goto: Done}], "+
				"default: {steps: [{type: wait, name: Wait, duration: 5}], goto: Ask}") + ends,
			[]string{"polling-loop Ask", noLimit},
		},
		"all where it goes back": {choice("choices: [{condition: \"!$.done\", steps: [{type: wait, name: Wait, duration: 5}, "+
			"{type: task, name: Ask, resourceArn: \"acs:fc:::services/s/functions/ask\"}], goto: Check}]") + ends, []string{"polling-loop Ask", noLimit}},
		"in a branch": {choice("choices: [{condition: $.slow, steps: [{type: wait, name: W, duration: 5}, {type: task, name: Ask, " +
			"resourceArn: \"acs:fc:::services/s/functions/ask\"}, {type: choice, name: C, " +
			"choices: [{condition: $.x, goto: W}]}]}]"), []string{"polling-loop Ask", noLimit}},
		"two choices of one loop": {
			wait + call("Ask", "") + "- {type: choice, name: First, choices: [{condition: $.a, goto: Wait}]}\n" + again,
			[]string{"polling-loop Ask", noLimit},
		},

		"two tasks of one loop": {
			wait + call("A", "") + "- {type: choice, name: First, choices: [{condition: $.a, goto: Wait}]}\n" + call("B", "") + again,
			[]string{"polling-loop B", noLimit},
		},

		"a loop in one branch of two": {
			parallel(wait+call("Ask", "")+again, "- {type: pass, name: B}\n"), []string{"polling-loop Ask", noLimit},
		},
		"a loop in each branch": {
			parallel(wait+call("Ask", "")+again, "- {type: wait, name: W, duration: 5}\n"+call("Too", "")+
				"- {type: choice, name: C, choices: [{condition: $.x, goto: W}]}\n"),
			[]string{"polling-loop Ask", "polling-loop Too", noLimit},
		},
		"a loop in each iteration": {foreach(wait + call("Ask", "") + again), []string{"polling-loop Ask", noLimit}},
		"a loop in each inner iteration": {
			parallel(strings.ReplaceAll(foreach(wait+call("Ask", "")+again), "Fork", "Inner")), []string{"polling-loop Ask", noLimit},
		},
		"iterations without a loop":  {foreach(call("Ask", "")), nil},
		"an index":                   {index("0", work, "{condition: $.i < $.n, goto: Work}"), []string{"index-loop Work"}},
		"an index on the other side": {index("0", work, "{condition: $.n > $.i, goto: Work}"), []string{"index-loop Work"}},
		"an index to the end": {
			index("0", work, "{condition: $.i >= $.n, goto: Done}], default: {goto: Work}, inputMappings: ["+count),
			[]string{"index-loop Work"},
		},
		"an index that goes on elsewhere": {
			index("0", work, "{condition: $.i < $.n, goto: Work}], default: {goto: Failed}, inputMappings: ["+count),
			[]string{"index-loop Work"},
		},
		"an index among other inputs": {
			index("0", work+", {target: b, source: $input.b}", "{condition: $.i < $.n, goto: Work}"),
			[]string{"index-loop Work"},
		},
		"an index from 1":                  {index("1", work, "{condition: $.i < $.n, goto: Work}"), nil},
		"an index beyond the end":          {index("0", work, "{condition: $.i <= $.n, goto: Work}"), nil},
		"an index up to a number":          {index("0", work, "{condition: $.i < 9, goto: Work}"), nil},
		"an index that is not read":        {index("0", "", "{condition: $.i < $.n, goto: Work}"), nil},
		"an index with a result":           {index("0", work+", {target: r, source: $local.r}", "{condition: $.i < $.n, goto: Work}"), nil},
		"a sub-flow":                       {subflow(", pattern: sync"), []string{noLimit, "subflow-without-timeout Sub"}},
		"a sub-flow that reports":          {subflow(", pattern: waitForCallback"), []string{noLimit, "subflow-without-timeout Sub"}},
		"a sub-flow with a limit":          {subflow(", pattern: sync, timeoutSeconds: 60"), nil},
		"a sub-flow that is only started":  {subflow(""), nil},
		"a sub-flow that is started again": {subflow(", retry: [{errors: [FnF.ALL]}]"), nil},
		"a callback":                       {call("Ask", ", pattern: waitForCallback"), []string{noLimit, "callback-without-deadline Ask"}},
		"a callback with a deadline":       {call("Ask", ", pattern: waitForCallback, timeoutSeconds: 60"), nil},
		"a callback with heartbeats":       {call("Ask", ", pattern: waitForCallback, heartbeatSeconds: 60"), nil},
		"a job": {
			"- {type: task, name: Job, action: batch:SubmitJob, pattern: sync, serviceParams: {}}\n",
			[]string{noLimit, "task-without-timeout Job"},
		},
		"a job with a limit": {
			"- {type: task, name: Job, action: batch:SubmitJob, pattern: sync, timeoutSeconds: 60, serviceParams: {}}\n",
			nil,
		},
		"a job that is only started": {"- {type: task, name: Job, action: batch:SubmitJob, serviceParams: {}}\n", nil},
		"a condition": {
			call("Ask", ", pattern: waitForCondition, condition: $.x, intervalSeconds: 5"),
			[]string{noLimit, "task-without-timeout Ask"},
		},
		"a condition with a limit":    {call("Ask", ", pattern: waitForCondition, condition: $.x, intervalSeconds: 5, timeoutSeconds: 50"), nil},
		"a condition that is counted": {call("Ask", ", pattern: waitForCondition, condition: $.x, intervalSeconds: 5, maxAttempts: 50"), nil},
		"a time-out that never comes": {
			call("Ask", ", catch: [{errors: [FnF.TaskTimeout], goto: Failed}]") + ends,
			[]string{"task-without-timeout Ask"},
		},
		"a time-out that comes": {call("Ask", ", timeoutSeconds: 9, catch: [{errors: [FnF.TaskTimeout], goto: Failed}]") + ends, nil},

		"a retry":                       {call("Ask", ", retry: [{errors: [FC.Unknown]}]"), []string{"retry-without-idempotency Ask"}},
		"a retry of every error":        {call("Ask", ", retry: [{errors: [FnF.ALL]}]"), []string{"retry-without-idempotency Ask"}},
		"a retry of what did not begin": {call("Ask", ", retry: [{errors: [FC.ResourceExhausted, FC.ResourceThrottled]}]"), nil},
		"no retry at all":               {call("Ask", ", retry: [{errors: [FnF.ALL], maxAttempts: 0}]"), nil},
		"a retry with a key": {
			call("Ask", ", retry: [{errors: [FnF.ALL]}], inputMappings: [{target: k, source: $context.task.idempotencyKey}]"),
			nil,
		},
		"a retry with the execution": {
			call("Ask", ", retry: [{errors: [FnF.ALL]}], inputMappings: [{target: k, source: $context.execution.name}]"),
			nil,
		},
		"a retry with another mapping": {
			call("Ask", ", retry: [{errors: [FnF.ALL]}], inputMappings: [{target: k, source: $input.key}]"),
			[]string{"retry-without-idempotency Ask"},
		},
		"a retry in a foreach with the execution": {
			retried("", ", inputMappings: [{target: k, source: $context.execution.name}]"), []string{"retry-without-idempotency Ask"},
		},
		"a retry in a foreach with the execution and the element": {
			retried("", ", inputMappings: [{target: k, source: $context.execution.name}, {target: x, source: $input.x}]"), nil,
		},
		"a retry in a foreach with the key": {retried("", ", inputMappings: [{target: k, source: $context.task.idempotencyKey}]"), nil},
		"a retry at most once":              {call("Ask", ", retry: [{errors: [FnF.ALL]}], atMostOnce: true"), nil},
		"a retry of a job": {
			"- {type: task, name: Job, action: batch:SubmitJob, serviceParams: {}, retry: [{errors: [FnF.ALL]}]}\n",
			nil,
		},
		"a retry of what only asks": {call("GetJobStatus", ", retry: [{errors: [FnF.ALL]}]"), nil},
		"a catch of every error":    {call("Ask", ", catch: [{errors: [FnF.ALL], goto: Failed}]") + ends, []string{"error-swallowed Ask"}},
		"a catch of every error, told": {
			call("Ask", ", catch: [{errors: [FnF.ALL], goto: Failed}], errorMappings: [{target: e, source: $local.error}]") + ends,
			nil,
		},
		"a catch of one error": {call("Ask", ", catch: [{errors: [FC.Unknown], goto: Failed}]") + ends, nil},
		"in the order of the text, twice": {
			call("A", ", pattern: waitForCallback") + call("B", ", retry: [{errors: [FC.Unknown]}]"),
			[]string{noLimit, "callback-without-deadline A", "retry-without-idempotency B"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range adviceOn(t, tt.steps) {
				about := map[advise.Rule]string{advise.FlowWithoutTimeout: "", advise.IndexLoop: f.Steps[0]}
				if f.Loop != nil {
					about[f.Rule] = f.Loop.Task
				}
				step, ok := about[f.Rule]
				if !ok {
					step = strings.Join(f.Steps, ",")
				}
				got = append(got, string(f.Rule)+" "+step)
				if f.Found == "" || f.Instead == "" || f.Saves == "" || (f.Rule == advise.PollingLoop) != (f.Loop != nil) {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// retried is a foreach with a task that is retried in a choice.
func retried(index, fields string) string {
	return "- {type: foreach, name: Each, iterationMapping: {collection: $.xs, item: x" + index + "}, steps: [{type: choice, name: If, choices: [" +
		"{condition: $.x, steps: [{type: task, name: Ask, resourceArn: 'acs:fc:::services/s/functions/Ask', retry: [{errors: [FnF.ALL]}]" + fields + "}]}]}]}\n"
}

// What else would have to change is said: gotos to steps that are gone, what runs
// once only, and what the task goes on from.
func TestInsteadNamesOtherChanges(t *testing.T) {
	t.Parallel()
	back := "default: {steps: [{type: pass, name: Note}, {type: wait, name: Wait, duration: 5}], goto: Ask}"
	for name, tt := range map[string]struct{ steps, want string }{
		"a step of another way back": {
			call("Ask", "") + choice("choices: [{condition: $.x, steps: [{type: wait, name: W, duration: 9}], goto: Ask}], "+back),
			"Note would have to be part of the function",
		},
		"a step that is left out": {call("Ask", "") + choice("choices: [{condition: $.x}], "+back), "Note would have to be part of the function"},
		"what was reached": {
			"- {type: pass, name: Init, outputMappings: [{target: marker, source: \"\"}]}\n" +
				call("Ask", ", inputMappings: [{target: m, source: $local.marker}]") + choice("choices: [{condition: $.x}], "+back),
			"If Ask gets another marker in each turn, keep the loop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings := adviceOn(t, tt.steps)
			i := slices.IndexFunc(findings, func(f advise.Finding) bool { return f.Rule == advise.PollingLoop })
			if i < 0 || !strings.Contains(findings[i].Instead, tt.want) {
				t.Errorf("found %+v, want one that says %q", findings, tt.want)
			}
		})
	}
}

// A flow with a limit of its own ends whatever its steps wait for.
func TestFlowWithALimit(t *testing.T) {
	t.Parallel()
	text := "version: v1\ntype: flow\ntimeoutSeconds: 60\nsteps:\n" + call("Ask", ", pattern: waitForCallback")
	if got := advise.Flow(parsed(t, text)); len(got) > 0 {
		t.Errorf("found %+v", got)
	}
}

// flows are the samples and those that the command advises about in its tests.
func flows(tb testing.TB) []string {
	tb.Helper()
	var all []string
	for _, pattern := range []string{"../../../events/*/flow.yaml", "../cli/testdata/advise/*.yaml", "../cli/testdata/kill/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			tb.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}
