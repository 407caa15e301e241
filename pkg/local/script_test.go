package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestParseScriptRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"an unknown field": {
			"answers:\n  - step: a\n    after: 3\n",
			`script.yaml:3:5: field "after" is unknown (allowed: step, afterSeconds, output, error, cause, choice, by`,
		},
		"a near miss":       {"answers:\n  - stp: a\n", `script.yaml:2:5: field "stp" is unknown; did you mean "step"?`},
		"an unknown list":   {"answer: []\n", `script.yaml:1:1: field "answer" is unknown; did you mean "answers"?`},
		"a type":            {"answers:\n  - step: a\n    afterSeconds: soon\n", "script.yaml:3:19: found a text; allowed: a number"},
		"no list":           {"answers: 3\n", "script.yaml:1:10: found a number; allowed: a list"},
		"an entry":          {"events: [3]\n", "script.yaml:1:10: found a number; allowed: a mapping with step, afterSeconds, event"},
		"a mapping":         {"answers: {step: a}\n", "script.yaml:1:10: found a mapping; allowed: a list"},
		"a list":            {"- a\n", "script.yaml:1:1: found a list; allowed: a mapping with answers, events"},
		"no step":           {"answers:\n  - afterSeconds: 3\n", "script.yaml:2:5: answer 1: it names no step"},
		"a negative delay":  {"answers:\n  - step: a\n    afterSeconds: -1\n", "afterSeconds is -1; allowed: 0 or more"},
		"both outcomes":     {"answers:\n  - step: a\n    output: {}\n    error: E\n", "both output and error"},
		"two successes":     {"answers:\n  - step: a\n    output: {}\n    choice: Yes\n", "both output and choice"},
		"a choice, failed":  {"answers:\n  - step: a\n    error: E\n    choice: Yes\n", "both error and choice"},
		"a list, no choice": {"answers:\n  - step: a\n    choice: [Yes]\n", "script.yaml:3:13: found a list; allowed: a text"},
		"neither":           {"answers:\n  - step: a\n", "script.yaml:2:5: answer 1: it has neither output nor error nor choice"},
		"what is no YAML":   {"answers: [", "script.yaml:2:1: did not find"},
		"an unknown closer": {"answers:\n  - step: a\n    by: magic\n    output: {}\n", `by is "magic"; allowed: hand, callback`},
		"no event":          {"events:\n  - step: a\n", "event 1: it has no event"},
		"an event's step":   {"events:\n  - event: {a: 1}\n", "event 1: it names no step"},
		"an event's delay":  {"events:\n  - step: a\n    afterSeconds: -1\n    event: {a: 1}\n", "event 1: afterSeconds is -1"},
		"no event's file":   {"events:\n  - step: a\n    event: none.json\n", "event 1: open none.json"},
		"a file, no JSON":   {"events:\n  - step: a\n    event: broken.json\n", "event 1: broken.json is not JSON"},
		"an event's source": {
			"events:\n  - step: a\n    event: {source: aws.bach, detail-type: Batch Job State Change}\n",
			`script.yaml:3:12: event 1: the event has the source "aws.bach", which no kind of jobs has; did you mean "aws.batch"?`,
		},
		"an event's type": {
			"events:\n  - {step: a, event: {source: aws.batch, detail-type: Batch Job State Chnge}}\n",
			`script.yaml:2:22: event 1: the event has the detail-type "Batch Job State Chnge", which no kind of jobs has; did you mean "Batch Job State Change"?`,
		},
		"no event of a bus": {"events:\n  - step: a\n    event: {a: 1}\n", "script.yaml:3:12: event 1: the event has no source"},
		"the second answer": {"answers:\n  - step: a\n    output: {}\n  - step: b\n", "answer 2:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := local.ParseScript([]byte(tt.text), fstest.MapFS{"broken.json": {Data: []byte("{")}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
		})
	}
	for _, text := range []string{"", "answers:\n"} {
		if _, err := local.ParseScript([]byte(text), nil); err != nil {
			t.Errorf("the empty script %q: %v", text, err)
		}
	}
}

// What stands for the job stays the text that it is.
func TestAScriptsEventNamesTheJob(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"j1", "", `"`, `"quoted"`, `a\`, "\u2028<"} {
		started := value.Object(value.Member{Key: "job_id", Value: value.String(id)}, value.Member{Key: "job_key", Value: value.String("key of " + id)})
		event, err := value.ParseJSON([]byte(local.EventOf(`{"id":"{job_id}","key":"the {job_key}"}`, started)))
		if err != nil || event.Get("id").Text() != id || event.Get("key").Text() != "the key of "+id {
			t.Errorf("%q: %s, %v", id, event, err)
		}
	}
}

// Outcomes of a foreach are given by iteration, and to any other iteration by the step.
func TestScriptNamesIterations(t *testing.T) {
	t.Parallel()
	const flow = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    inputMappings: [{target: list, source: [1, 2, 3]}]
    iterationMapping: {collection: $.list, item: one}
    steps:
      - type: task
        name: Ask
        resourceArn: acs:fc:::services/s/functions/echo
        pattern: waitForCallback
        outputMappings: [{target: said, source: $local.said}]
    outputMappings: [{target: all, source: '$local'}]
outputMappings: [{target: all, source: $local.all}]
`
	script, err := local.ParseScript([]byte(`answers:
  - {step: "Ask[2]", output: {said: c}}
  - {step: Ask, output: {said: other}}
  - {step: "Ask[0]", output: {said: a}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	parsed, problems := fdl.Parse([]byte(flow))
	if problems != nil {
		t.Fatal(problems)
	}
	if err := script.CheckSteps(parsed); err != nil {
		t.Error(err)
	}
	s := local.New(local.Config{Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Now()), Script: script})
	start(t, s, flow, "one")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", "one"))
	if want := `{"all":[{"said":"a"},{"said":"other"},{"said":"c"}]}`; err != nil || state.Output.JSON() != want {
		t.Errorf("the output is %s, %v, want %s", state.Output.JSON(), err, want)
	}
}

// Answers of one instant go to iterations in their order, also through sub-flows, although the
// functions return in another order.
func TestScriptAnswersInTheOrderOfIterations(t *testing.T) {
	t.Parallel()
	const each = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    inputMappings: [{target: list, source: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}]
    iterationMapping: {collection: $.list, item: one}
    steps:
      - type: task
        %s
        outputMappings: [{target: said, source: $local.said}]
    outputMappings: [{target: all, source: $local}]
outputMappings: [{target: all, source: $local.all}]
`
	const single = `version: v1
type: flow
steps:
  - type: task
    %s
    outputMappings: [{target: said, source: $local.said}]
outputMappings: [{target: said, source: $local.said}]
`
	const asks = `name: Ask
    resourceArn: acs:fc:::services/s/functions/ask
    pattern: waitForCallback
    inputMappings: [{target: one, source: $input.one}]`
	const starts = `name: Sub
    resourceArn: acs:fnf:::flow/%s
    pattern: sync
    inputMappings: [{target: one, source: $input.one}]
    serviceParams: {Input: $}`
	var answers, outputs []string
	for i := range 11 {
		answers = append(answers, fmt.Sprintf("{step: Ask, output: {said: %d}}", i))
		outputs = append(outputs, fmt.Sprintf(`{"said":%d}`, i))
	}
	starting := func(flow string) string { return fmt.Sprintf(starts, flow) }
	within := func(kind string) string {
		return fmt.Sprintf(each, strings.ReplaceAll(kind, "\n    ", "\n        "))
	}
	for name, flows := range map[string]map[string]string{
		"iterations":             {"flow": within(asks)},
		"sub-flows":              {"child": fmt.Sprintf(single, asks), "flow": within(starting("child"))},
		"sub-flows of sub-flows": {"child": fmt.Sprintf(single, asks), "mid": fmt.Sprintf(single, starting("child")), "flow": within(starting("mid"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				script, err := local.ParseScript([]byte("answers: ["+strings.Join(answers, ", ")+"]"), nil)
				if err != nil {
					t.Fatal(err)
				}
				s := local.New(local.Config{Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Now()), Script: script, Functions: lastFirst{}})
				for flow, text := range flows {
					if _, err := s.Client.PutFlow(t.Context(), flow, []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				start(t, s, flows["flow"], "one")
				if err := s.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				state, err := s.Client.Describe(t.Context(), engine.NewID("flow", "one"))
				if want := `{"all":[` + strings.Join(outputs, ",") + `]}`; err != nil || state.Output.JSON() != want {
					t.Errorf("the output is %s, %v, want %s; %s %s", state.Output.JSON(), err, want, state.Error, state.Cause)
				}
			})
		})
	}
}

// lastFirst is a function whose call for the last iteration returns first.
type lastFirst struct{ tasksFunc }

func (lastFirst) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	one, _ := call.Input.Get("one").Int64()
	time.Sleep(time.Duration(11-one) * time.Second) // in a bubble
	return answered, nil
}

const asksFlow = `version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    inputMappings: [{target: order, source: $input.order}]
    prompt: Ship?
    choices:
      - {label: Ship it, output: {shipped: $.order}}
      - {label: Wait, output: {shipped: 0}}
    outputMappings: [{target: shipped, source: $local.shipped}]
  - type: task
    name: Other
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    end: true
`

// A step that the flow does not have is reported where the script names it.
func TestScriptNamesStepsOfTheFlow(t *testing.T) {
	t.Parallel()
	parsed, _ := fdl.Parse([]byte(asksFlow))
	for text, want := range map[string]string{
		"answers:\n  - {step: Ask, output: {}}\n  - {output: {}, step: Asc}\n": `script.yaml:3:24: the flow has no step "Asc"; did you mean "Ask"?`,
		"answers:\n  - {step: Ask, output: [1]}\n":                             `script.yaml:2:25: answer 1: output is an array; allowed: an object`,
		"events:\n  - step: Othr\n    event: {source: aws.batch, detail-type: Batch Job State Change}\n": `script.yaml:2:11: ` +
			`the flow has no step "Othr"; did you mean "Other"?`,
	} {
		script, err := local.ParseScript([]byte(text), nil)
		if err == nil {
			err = script.CheckSteps(parsed)
		}
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// An event that cannot be about a job ends the run; the service would send none.
func TestAScriptsUnusableEventEndsTheRun(t *testing.T) {
	t.Parallel()
	wrong := strings.Replace(batchEvent("10", "{job_key}", "SUCCEEDED"), "'123456789012'", "'1234'", 1)
	s := jobSystem(t, simulated, "events:"+wrong)
	start(t, s, batchJob, "one")
	want := `script.yaml:5:7: event 1: not an event of a job: batch-job event: account is "1234": want `
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A choice is the output that the page of the callback reports with its button.
func TestScriptChooses(t *testing.T) {
	t.Parallel()
	script, err := local.ParseScript([]byte("answers:\n  - {step: Ask, choice: Ship it}\n  - {step: Other, output: {}}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := local.New(local.Config{Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Now()), Script: script})
	flow, err := s.Client.PutFlow(t.Context(), "flow", []byte(asksFlow))
	if err == nil {
		input := value.Object(value.Member{Key: "order", Value: value.Int(7)})
		_, err = s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "one", Input: input})
	}
	if err == nil {
		err = s.Run(t.Context())
	}
	state, describing := s.Client.Describe(t.Context(), engine.NewID("flow", "one"))
	if err != nil || describing != nil || state.Status != "Succeeded" || len(s.UnusedAnswers()) > 0 {
		t.Errorf("%s, %v, %v, unused %q", state.Status, err, describing, s.UnusedAnswers())
	}
	events, err := s.Client.History(t.Context(), engine.NewID("flow", "one"))
	var said string
	for _, e := range events {
		said += e.Output.JSON() + "\n"
	}
	if err != nil || !strings.Contains(said, `{"shipped":7}`) {
		t.Errorf("%v, outputs:\n%s", err, said)
	}
}

func TestScriptRefusesChoices(t *testing.T) {
	t.Parallel()
	parsed, problems := fdl.Parse([]byte(asksFlow))
	if problems != nil {
		t.Fatal(problems)
	}
	for text, want := range map[string]string{
		"answers:\n  - step: Ask\n    choice: Ship It\n": `script.yaml:3:13: step Ask has no choice "Ship It"; ` +
			`did you mean "Ship it"?; allowed: Ship it, Wait`,
		"answers:\n  - {step: Ask, output: {}}\n  - {step: Ask, choice: No}": `script.yaml:3:25: step Ask has no choice "No"; allowed: Ship it, Wait`,
		"answers:\n  - {step: Other, choice: Wait}\n":                        "script.yaml:2:27: step Other has no choices; write its output",
	} {
		script, err := local.ParseScript([]byte(text), nil)
		if err == nil {
			err = script.CheckSteps(parsed)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
