package sfn_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

const allSteps = `version: v1
type: flow
steps:
  - {type: wait, name: Wait, duration: 1}
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    steps:
      - {type: pass, name: Inside}
  - type: parallel
    name: Both
    branches:
      - steps: [{type: pass, name: Left}]
      - steps: [{type: pass, name: Right}]
  - type: choice
    name: Which
    choices:
      - {condition: $.no == "x", goto: Done}
    default: {goto: Ask}
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    inputMappings: [{target: token, source: $context.task.token}]
    catch: [{errors: [FnF.ALL], goto: Bad}]
  - {type: succeed, name: Done}
  - {type: fail, name: Bad, error: E, cause: because}
`

// Each event has the type that comes closest, and the previous event is one that is shown.
func TestHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", allSteps)
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", `{"list":[1,2]}`))
	wantSuccess(t, err)
	f.run()
	text := f.token("e")
	_, err = c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &text, Error: aws.String("Rejected"), Cause: aws.String("by hand")})
	wantSuccess(t, err)
	f.run()
	all := f.events(c, sdk.GetExecutionHistoryInput{})
	const want = "ExecutionStarted WaitStateEntered WaitStateExited MapStateEntered " +
		"MapIterationStarted PassStateEntered PassStateExited MapIterationSucceeded " +
		"MapIterationStarted PassStateEntered PassStateExited MapIterationSucceeded MapStateExited " +
		"ParallelStateEntered PassStateEntered PassStateExited PassStateEntered PassStateExited ParallelStateExited " +
		"ChoiceStateEntered ChoiceStateExited TaskStateEntered TaskScheduled TaskStarted TaskSubmitted TaskFailed " +
		"FailStateEntered ExecutionFailed"
	if got := shownEvents(all); got != want {
		t.Errorf("the history is\n%s; want\n%s", got, want)
	}
	ids := []int64{0}
	for _, e := range all {
		if !slices.Contains(ids, e.PreviousEventId) {
			t.Errorf("event %d follows %d, which is not shown", e.Id, e.PreviousEventId)
		}
		ids = append(ids, e.Id)
		if d := e.TaskScheduledEventDetails; d != nil && (*d.Resource != "acs:fc:::services/s/functions/echo" || *d.ResourceType != "function" ||
			*d.Region != "eu-west-1" || !strings.Contains(*d.Parameters, `"token":"`) || strings.Contains(*d.Parameters, text)) {
			t.Errorf("scheduled %s with %s", *d.Resource, *d.Parameters)
		}
		if d := e.TaskFailedEventDetails; d != nil && (*d.Error != "Rejected" || *d.Cause != "by hand") {
			t.Errorf("failed: %s %s", *d.Error, *d.Cause)
		}
		if d := e.MapIterationSucceededEventDetails; d != nil && *d.Name != "Each" {
			t.Errorf("an iteration: %+v", d)
		}
	}
	if first, last := all[0].ExecutionStartedEventDetails, all[len(all)-1].ExecutionFailedEventDetails; *first.Input != `{"list":[1,2]}` ||
		*last.Error != "E" || *last.Cause != "because" {
		t.Errorf("from %v to %v", first, last)
	}
}

// pagedMachine has forks, one in the other, that are tried again and caught, and events without a
// type.
const pagedMachine = `{"StartAt": "Wait", "States": {
  "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Each"},
  "Each": {"Type": "Map", "ItemsPath": "$.list", "ItemProcessor": {"StartAt": "Inner", "States": {
    "Inner": {"Type": "Parallel", "Branches": [
      {"StartAt": "Left", "States": {"Left": {"Type": "Pass", "End": true}}},
      {"StartAt": "Right", "States": {"Right": {"Type": "Wait", "Seconds": 1, "End": true}}}], "Next": "Behind"},
    "Behind": {"Type": "Pass", "End": true}}}, "ResultPath": null, "Next": "Both"},
  "Both": {"Type": "Parallel", "Branches": [{"StartAt": "Bad", "States": {"Bad": {"Type": "Fail", "Error": "E"}}}, {"StartAt": "Good", "States": {
    "Good": {"Type": "Succeed"}}}], "Retry": [{"ErrorEquals": ["E"], "MaxAttempts": 1}], "Catch": [{"ErrorEquals": ["E"], "Next": "Task"}], "End": true},
  "Task": {"Type": "Task", "Resource": "arn:aws:lambda:::function:none", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Query"}], "End": true},
  "Query": {"QueryLanguage": "JSONata", "Type": "Pass", "Output": "{% $none %}", "End": true}}}`

// Pages of any size are the history, in both directions: the same ids and previous ids.
func TestHistoryPages(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"fdl": strings.Split(allSteps, "  - type: task")[0] + "  - {type: pass, name: Ask}\n  - {type: succeed, name: Done}\n",
		"asl": pagedMachine,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.put("f", text)
			c := f.client()
			_, err := c.StartExecution(t.Context(), start("f", "e", `{"list":[1,2,3]}`))
			wantSuccess(t, err)
			f.run()
			want, _ := f.pages(100, false)
			for size := 1; size < 40; size++ {
				if got, _ := f.pages(size, false); !slices.Equal(got, want) {
					t.Errorf("pages of %d are\n%s; want\n%s", size, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				backwards, _ := f.pages(size, true)
				slices.Reverse(backwards)
				if !slices.Equal(backwards, want) {
					t.Errorf("pages of %d, backwards, are\n%s; want\n%s", size, strings.Join(backwards, "\n"), strings.Join(want, "\n"))
				}
			}
			for _, e := range f.events(c, sdk.GetExecutionHistoryInput{IncludeExecutionData: aws.Bool(false)}) {
				if d := e.StateEnteredEventDetails; d != nil && d.Input != nil {
					t.Errorf("event %d has an input", e.Id)
				}
			}
		})
	}
}

// pages returns the history of execution e, with the ids of its events, and how many pages it has.
func (f *fixture) pages(size int, reverse bool) (events []string, pages int) {
	f.t.Helper()
	type event struct {
		ID       int `json:"id"`
		Previous int `json:"previousEventId"`
		Type     string
	}
	for next := ""; next != "" || pages == 0; pages++ {
		var page struct {
			Events    []event
			NextToken string
		}
		body := fmt.Sprintf(`{"executionArn":"%sf:e","maxResults":%d,"reverseOrder":%t,"nextToken":%q}`, runs, size, reverse, next)
		_, _, text := f.do(signed(f.t, "GetExecutionHistory", body))
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Events) > size {
			f.t.Fatalf("a page of %d: %v, %s", size, err, text)
		}
		slices.SortFunc(page.Events, func(a, b event) int { return cmp.Compare(a.ID, b.ID) }) // a page has the order of time
		if reverse {
			slices.Reverse(page.Events)
		}
		for _, e := range page.Events {
			events = append(events, fmt.Sprintf("%d<%d %s", e.ID, e.Previous, e.Type))
		}
		next = page.NextToken
	}
	return events, pages
}

// losingStore finds no large value.
type losingStore struct{ *store.Memory }

func (losingStore) LoadValue(context.Context, string) ([]byte, error) { return nil, engine.ErrNotFound }

// An execution whose large input is missing is listed, described and has a history. The reason
// stands for the input.
func TestAnExecutionWithoutItsLargeInputIsListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	limits := machine.Limits{Data: machine.MaxLargeData}
	f.system = local.New(local.Config{Store: losingStore{f.Memory}, Clock: local.NewVirtualClock(time.Now()), Limits: limits})
	f.config.Executions = executions{f.system.Client, f.system, &f.read}
	f.put("f", "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n")
	flow, err := f.system.Client.Newest(t.Context(), "f")
	for name, size := range map[string]int{"small": 1, "e": 300 << 10} {
		input := value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", size))})
		if err == nil {
			_, err = f.system.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: name, Input: input})
		}
	}
	wantSuccess(t, err)
	c := f.client()
	list, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + "f")})
	wantSuccess(t, err)
	if len(list.Executions) != 2 {
		t.Errorf("%d executions are listed", len(list.Executions))
	}
	shown, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String(runs + "f:e")})
	wantSuccess(t, err)
	events := f.events(c, sdk.GetExecutionHistoryInput{})
	for _, input := range []string{*shown.Input, *events[0].ExecutionStartedEventDetails.Input} {
		if !strings.HasPrefix(input, `"left out: read large value `) {
			t.Errorf("the input is %.60s", input)
		}
	}
}

// Responses of a Lambda function have a limit: pages are shorter for it, and values that have no
// room are left out.
func TestResponsesAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", strings.Split(allSteps, "  - type: task")[0]+"  - {type: pass, name: Ask}\n  - {type: succeed, name: Done}\n")
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", `{"list":[1,2],"a":"`+strings.Repeat(`\"`, 1000)+`"}`))
	wantSuccess(t, err)
	f.run()
	want := shownEvents(f.events(c, sdk.GetExecutionHistoryInput{}))
	for limit, isWhole := range map[int]bool{60_000: true, 20_000: false} {
		f.config.MaxResponse, f.requests = limit, 0
		events := f.events(c, sdk.GetExecutionHistoryInput{})
		if got := shownEvents(events); got != want || isWhole && f.requests < 2 {
			t.Errorf("limit %d: %d pages are\n%s; want\n%s", limit, f.requests, got, want)
		}
		backwards := f.events(c, sdk.GetExecutionHistoryInput{ReverseOrder: true})
		slices.Reverse(backwards)
		if got := shownEvents(backwards); got != want {
			t.Errorf("limit %d: backwards the pages are\n%s; want\n%s", limit, got, want)
		}
		shown, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String(runs + "f:e")})
		wantSuccess(t, err)
		for _, input := range []string{*shown.Input, *events[0].ExecutionStartedEventDetails.Input} {
			if got := !strings.HasPrefix(input, `"left out: a value of `); got != isWhole {
				t.Errorf("limit %d: the input is %.60s", limit, input)
			}
		}
	}
}

func TestFailedMapping(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: Broken, timestamp: $.when}\n")
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", `{"when":"x"}`))
	wantSuccess(t, err)
	f.run()
	events := f.events(c, sdk.GetExecutionHistoryInput{})
	if got := shownEvents(events); got != "ExecutionStarted WaitStateEntered EvaluationFailed ExecutionFailed" {
		t.Fatalf("the history is %s", got)
	}
	if d := events[2].EvaluationFailedEventDetails; *d.State != "Broken" || aws.ToString(d.Error) == "" {
		t.Errorf("failed: %+v", d)
	}
}

// TestFailedExpressions shows the events of states whose expressions fail, each with the id of the
// event before it and the field that failed.
func TestFailedExpressions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ states, want string }{
		"a pass": {
			`"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Output": "{% $none %}", "End": true}`,
			"ExecutionStarted/0 PassStateEntered/0 PassStateExited/2 PassStateEntered/3 EvaluationFailed(Output)/3 ExecutionFailed/5",
		},
		"a wait": {
			`"A": {"Type": "Wait", "Seconds": "{% 'x' %}", "End": true}`,
			"ExecutionStarted/0 WaitStateEntered/0 EvaluationFailed(Seconds)/2 ExecutionFailed/3",
		},
		"a task that catches it": {
			`"A": {"Type": "Task", "Resource": "arn:aws:lambda:::function:f", "Arguments": "{% $none %}",
				"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}], "End": true}, "B": {"Type": "Succeed"}`,
			"ExecutionStarted/0 TaskStateEntered/0 EvaluationFailed(Arguments)/2 TaskStateExited/3 SucceedStateEntered/4 SucceedStateExited/5 ExecutionSucceeded/6",
		},
		"the items of a map": {
			`"A": {"Type": "Map", "Items": "{% 1 %}", "ItemProcessor": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}, "End": true}`,
			"ExecutionStarted/0 MapStateEntered/0 EvaluationFailed(Items)/0 MapStateFailed/8 ExecutionFailed/9",
		},
		"a state in a map": {
			`"A": {"Type": "Map", "Items": [1], "ItemProcessor": {"StartAt": "B", "States": {
				"B": {"Type": "Pass", "Output": {"a": "{% $none %}"}, "End": true}}}, "End": true}`,
			"ExecutionStarted/0 MapStateEntered/0 MapStateStarted/0 MapIterationStarted/0 PassStateEntered/0 EvaluationFailed(Output/a)/0 MapIterationFailed/0 " +
				"MapStateFailed/0 ExecutionFailed/0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.put("f", `{"QueryLanguage": "JSONata", "StartAt": "A", "States": {`+c.states+`}}`)
			client := f.client()
			_, err := client.StartExecution(t.Context(), start("f", "e", `{}`))
			wantSuccess(t, err)
			f.run()
			var got []string
			for _, e := range f.events(client, sdk.GetExecutionHistoryInput{}) {
				if strings.Contains(c.want, "IterationStarted") { // the ids depend on the lanes
					e.PreviousEventId = 0
				}
				location := ""
				if failed := e.EvaluationFailedEventDetails; failed != nil {
					location = "(" + aws.ToString(failed.Location) + ")"
				}
				got = append(got, fmt.Sprintf("%s%s/%d", e.Type, location, e.PreviousEventId))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("the history is\n%s, want\n%s", strings.Join(got, " "), c.want)
			}
		})
	}
}

// An execution has 25,000 events. Pages of its history have each event once, of a flow and of a
// state machine, whose Wait has two events that the API has no type for. The events read are
// counted: each once, and a few again for each page; in reverse order the whole history once, and
// then at most a sixteenth for each page.
func TestHistoryOf25000Events(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text        string
		count, last int
	}{
		"asl": {`{"StartAt":"B","States":{"A":{"Type":"Wait","Seconds":1,"Next":"A"},"C":{"Type":"Succeed"},
			"B":{"Type":"Choice","Choices":[{"Variable":"$.end","IsPresent":true,"Next":"C"}],"Default":"A"}}}`, 12500, 12500},
		"fdl": {"version: v1\ntype: flow\nsteps:\n  - {type: wait, name: A, duration: 1}\n" +
			"  - {type: choice, name: B, choices: [{condition: 'true', goto: A}]}\n", 16664, 24996},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.put("f", tt.text)
			c := f.client()
			_, err := c.StartExecution(t.Context(), start("f", "e", "{}"))
			wantSuccess(t, err)
			f.run()
			const size, all = 100, 25_000
			began := time.Now()
			events, pages := f.pages(size, false)
			t.Logf("%d pages took %s", pages, time.Since(began))
			last := events[len(events)-1]
			if len(events) != tt.count || !strings.HasPrefix(last, fmt.Sprint(tt.last, "<")) || !strings.HasSuffix(last, " ExecutionFailed") {
				t.Errorf("%d events, the last is %s", len(events), last)
			}
			if f.read > all+3*pages {
				t.Errorf("%d pages read %d events", pages, f.read)
			}
			f.read = 0
			backwards, pages := f.pages(size, true)
			slices.Reverse(backwards)
			if f.read > all+pages*(all/16+size) || !slices.Equal(backwards, events) {
				t.Errorf("%d pages backwards read %d events, and have %d of %d", pages, f.read, len(backwards), len(events))
			}
			t.Logf("%d pages backwards read %d events", pages, f.read)
		})
	}
}

// The events of a page have the order of their times. A Parallel succeeds like a Map, and each
// attempt follows the one before.
func TestHistoryOfAParallel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wait := func(name string, seconds int) string {
		return fmt.Sprintf(`{"StartAt":%q,"States":{%[1]q:{"Type":"Wait","Seconds":%d,"End":true}}}`, name, seconds)
	}
	text, err := json.Marshal(`{"StartAt":"A","States":{"A":{"Type":"Parallel","Next":"B","ResultPath":null,"Branches":[` +
		wait("Long", 3) + `,` + wait("Short", 1) + `]},
		"B":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"No","States":{"No":{"Type":"Fail","Error":"E"}}}],
			"Retry":[{"ErrorEquals":["E"],"MaxAttempts":1}],"Catch":[{"ErrorEquals":["E"],"Next":"C"}]},
		"C":{"Type":"Succeed"}}}`)
	wantSuccess(t, err)
	f.follow([]step{
		{"CreateStateMachine", `{"name":"f","definition":` + string(text) + `,"roleArn":"arn:aws:iam::123456789012:role/r"}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{}`},
	})
	f.run()
	c := f.client()
	forwards := f.events(c, sdk.GetExecutionHistoryInput{})
	backwards := f.events(c, sdk.GetExecutionHistoryInput{ReverseOrder: true})
	slices.Reverse(backwards)
	const want = "ExecutionStarted ParallelStateEntered ParallelStateStarted WaitStateEntered WaitStateEntered WaitStateExited WaitStateExited " +
		"ParallelStateSucceeded ParallelStateExited " +
		"ParallelStateEntered ParallelStateStarted FailStateEntered ParallelStateStarted FailStateEntered ParallelStateFailed ParallelStateExited " +
		"SucceedStateEntered SucceedStateExited ExecutionSucceeded"
	for name, events := range map[string][]types.HistoryEvent{"forwards": forwards, "backwards": backwards} {
		if got := shownEvents(events); got != want {
			t.Errorf("%s the history is\n%s; want\n%s", name, got, want)
		}
		ids := map[int64]bool{}
		for i, e := range events {
			if i > 1 && !ids[e.PreviousEventId] {
				t.Errorf("%s: event %d %s follows %d", name, e.Id, e.Type, e.PreviousEventId)
			}
			if ids[e.Id] = true; i > 0 && e.Timestamp.Before(*events[i-1].Timestamp) {
				t.Errorf("%s: event %d is at %s, and event %d before it at %s", name, e.Id, e.Timestamp, events[i-1].Id, events[i-1].Timestamp)
			}
		}
		d := events[0].ExecutionStartedEventDetails
		if aws.ToString(d.RoleArn) != "arn:aws:iam::123456789012:role/r" || d.InputDetails == nil || d.InputDetails.Truncated {
			t.Errorf("%s: started with %+v", name, d)
		}
		if d := events[len(events)-1].ExecutionSucceededEventDetails; d == nil || d.OutputDetails == nil {
			t.Errorf("%s: succeeded with %+v", name, d)
		}
	}
}

// The start of a Map that runs several items at once says how many it has.
func TestLengthOfAMap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", `{"StartAt":"A","States":{"A":{"Type":"Map","ItemsPath":"$.list","MaxConcurrency":2,"End":true,"ItemProcessor":{
		"StartAt":"W","States":{"W":{"Type":"Wait","SecondsPath":"$","End":true}}}}}}`)
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", `{"list":[3,1,1]}`))
	wantSuccess(t, err)
	f.run()
	var lengths []int32
	for _, e := range f.events(c, sdk.GetExecutionHistoryInput{}) {
		if d := e.MapStateStartedEventDetails; d != nil {
			lengths = append(lengths, d.Length)
		}
	}
	if !slices.Equal(lengths, []int32{3}) {
		t.Errorf("the lengths are %v", lengths)
	}
}
