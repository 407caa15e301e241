package rest_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
)

// askEach waits for a callback in each iteration of a foreach, and in a branch beside it.
const askEach = `version: v1
type: flow
steps:
  - type: parallel
    name: Both
    branches:
      - steps:
          - type: foreach
            name: Each
            iterationMapping: {collection: $.list, item: one}
            steps:
              - type: task
                name: Ask
                resourceArn: acs:fc:::services/s/functions/echo
                pattern: waitForCallback
      - steps:
          - type: task
            name: Other
            resourceArn: acs:fc:::services/s/functions/echo
            pattern: waitForCallback
`

// newAskEach starts it with five iterations.
func newAskEach(t *testing.T) *api {
	t.Helper()
	a := newAPI(t)
	flow := a.put("ask", askEach)
	start := rest.Start{Name: "e", Hash: flow.Hash, Input: object(t, `{"list":[1,2,3,4,5]}`)}
	if _, _, err := a.Start(t.Context(), "ask", start); err != nil {
		t.Fatal(err)
	}
	a.run()
	return a
}

func TestShowSaysWhatIterationsWaitFor(t *testing.T) {
	t.Parallel()
	a := newAskEach(t)
	e, err := a.Execution(t.Context(), "ask", "e", false)
	if err != nil || e.Waiting.Step != "Both" || e.Waiting.For != "lanes" || len(e.Waiting.Inside) != 3 || e.Waiting.Others != 3 || e.Waiting.More {
		t.Fatalf("shown: %+v, %v", e.Waiting, err)
	}
	if first := e.Waiting.Inside[1]; first.Step != "Ask" || !slices.Equal(first.Iterations, []int{1}) || first.For != "callback" {
		t.Errorf("inside: %+v", first)
	}
	list, err := a.Executions(t.Context(), rest.Filter{})
	if err != nil || len(list) != 1 || len(list[0].Waiting.Inside) != 3 || list[0].Waiting.Others != 3 || !list[0].Waiting.More {
		t.Errorf("listed: %+v, %v", list, err)
	}
}

// Two lanes run five iterations, and the lane that becomes free takes the next one. One iteration
// fails, which is tolerated.
func TestShowSaysHowFarAForeachIs(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	flow := a.put("two", `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    maxConcurrency: 2
    maxToleratedFailures: 1
    steps: [{type: task, name: Ask, resourceArn: acs:fc:::services/s/functions/echo, pattern: waitForCallback}]
`)
	if _, _, err := a.Start(t.Context(), "two", rest.Start{Name: "e", Hash: flow.Hash, Input: object(t, `{"list":[1,2,3,4,5]}`)}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		ends string
		want string
	}{
		{"", "0 of 5 done, 2 waiting in Ask for a callback, 3 not begun"},
		{"Ask[0]", "1 of 5 done, 2 waiting in Ask for a callback, 2 not begun"},
		{"Ask[2]", "2 of 5 done, 2 waiting in Ask for a callback, 1 not begun"},
		{"Ask[3]", "3 of 5 done (1 failed), 2 waiting in Ask for a callback"},
		{"Ask[1]", "4 of 5 done (1 failed), 1 waiting in Ask for a callback"},
	} {
		var err error
		switch step.ends {
		case "":
		case "Ask[3]":
			_, _, err = a.Fail(t.Context(), "two/e/"+step.ends, rest.Failure{Error: "No"})
		default:
			_, _, err = a.Succeed(t.Context(), "two/e/"+step.ends, object(t, `{}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		a.run()
		e, err := a.Execution(t.Context(), "two", "e", false)
		if err != nil || e.Waiting == nil || e.Waiting.Progress == nil || e.Waiting.Progress.String() != step.want {
			t.Errorf("after %q: %v, error %v, want %s", step.ends, e.Waiting.Progress, err, step.want)
		}
	}
	if list, err := a.Executions(t.Context(), rest.Filter{}); err != nil || len(list) != 1 || list[0].Waiting.Progress != nil {
		t.Errorf("listed: %+v, %v", list, err)
	}
}

func TestCallbacksInIterations(t *testing.T) {
	t.Parallel()
	a := newAskEach(t)
	_, _, err := a.Succeed(t.Context(), "ask/e", object(t, `{}`))
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict,
		"execution ask/e waits for 6 callbacks: Ask[0], Ask[1], Ask[2] and 3 more; name one as in ask/e/Ask[0]")
	_, _, err = a.Succeed(t.Context(), "ask/e/Ask[9]", object(t, `{}`))
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "step Ask[9] waits for no callback; execution ask/e waits for 6 callbacks: Ask[0], ")
	_, _, err = a.Succeed(t.Context(), "ask/e/Ask", object(t, `{}`))
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "waits for 5 callbacks")
	for _, place := range []string{"Ask[3]", "Other", "Ask[0]", "Ask[4]", "Ask[1]", "Ask[2]"} {
		closed, first, err := a.Succeed(t.Context(), "ask/e/"+place, object(t, `{}`))
		if err != nil || !first || closed.Place() != place {
			t.Errorf("%s: %+v, first=%t, %v", place, closed, first, err)
		}
		a.run()
		if held, first, err := a.Fail(t.Context(), "ask/e/"+place, rest.Failure{Error: "Late"}); err != nil || first || held.Place() != place || held.Error != "" {
			t.Errorf("%s again: %+v, first=%t, %v", place, held, first, err)
		}
	}
	if e, err := a.Execution(t.Context(), "ask", "e", false); err != nil || e.Status != machine.StatusSucceeded {
		t.Errorf("ended: %+v, %v", e, err)
	}
}

func TestProgressInWords(t *testing.T) {
	t.Parallel()
	waiting := []rest.WaitingItems{{"Ask", "callback", 2}, {"Pay", "sub-flow", 1}, {"Get", "retry", 2}}
	p := rest.Progress{Items: 12, Done: 3, Failed: 1, Running: 6, NotBegun: 3, Waiting: waiting}
	const want = "3 of 12 done (1 failed), 1 running, 2 waiting in Ask for a callback, 1 waiting in Pay for its sub-flow, " +
		"2 waiting in Get for its next attempt, 3 not begun"
	if got := p.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
