package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
)

// asking waits for two callbacks: a person chooses for one of them.
const asking = `version: v1
type: flow
steps:
  - type: parallel
    name: Both
    branches:
      - steps:
          - type: task
            name: Pay
            resourceArn: acs:fc:::services/s/functions/echo
            pattern: waitForCallback
            prompt: Pay ${$.amount} for ${$.reason}?
            choices: [{label: Yes please, output: {pay: $.amount}}, {label: "No", output: {}}]
      - steps:
          - {type: task, name: Plain, resourceArn: "acs:fc:::services/s/functions/echo", pattern: waitForCallback}
`

// newAsking returns an API with an execution of that flow. The reason is too large for its state.
func newAsking(t *testing.T) (a *api, reason string) {
	t.Helper()
	a, reason = newAPI(t), strings.Repeat("a long reason ", 100)
	a.put("asking", asking)
	input := object(t, `{"amount":50,"reason":"`+reason+`"}`)
	if _, _, err := a.Start(t.Context(), "asking", rest.Start{Name: "one", Input: input}); err != nil {
		t.Fatal(err)
	}
	a.run()
	return a, reason
}

// rules: B-20
func TestResponsesHaveTheQuestion(t *testing.T) {
	t.Parallel()
	a, reason := newAsking(t)
	want := func(what string, q *machine.Question) {
		t.Helper()
		if q == nil || q.Prompt != "Pay 50 for "+reason+"?" || strings.Join(q.Choices, ",") != "Yes please,No" {
			t.Errorf("%s: %+v", what, q)
		}
	}
	tokens, err := a.Tokens(t.Context(), "asking", "one", false)
	if err != nil || len(tokens) != 2 || tokens[1].Question != nil {
		t.Fatalf("tokens %+v, %v", tokens, err)
	}
	want("the tokens", tokens[0].Question)
	shown, err := a.Execution(t.Context(), "asking", "one", false)
	if err != nil || len(shown.Waiting.Inside) != 2 || shown.Waiting.Inside[1].Question != nil {
		t.Fatalf("execution %+v, %v", shown, err)
	}
	want("the execution", shown.Waiting.Inside[0].Question)
	listed, err := a.Executions(t.Context(), rest.Filter{})
	if err != nil || len(listed) != 1 || listed[0].Waiting.Inside[0].Question != nil {
		t.Errorf("a list has the question: %+v, %v", listed, err)
	}
}

// rules: B-21
func TestReportOfAChoice(t *testing.T) {
	t.Parallel()
	a, _ := newAsking(t)
	for _, tt := range []struct{ token, choice, want string }{
		{"asking/one/Pay", "yes please", `choice "yes please" is unknown; did you mean "Yes please"? (allowed: Yes please, No)`},
		{"asking/one/Pay", "Perhaps", `choice "Perhaps" is unknown (allowed: Yes please, No)`},
		{"asking/one/Plain", "No", "step Plain has no choices; give its output"},
	} {
		_, _, err := a.Choose(t.Context(), tt.token, tt.choice)
		wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, tt.want)
	}
	tokens, err := a.Tokens(t.Context(), "asking", "one", true)
	if err != nil || len(tokens) != 2 {
		t.Fatalf("tokens %+v, %v", tokens, err)
	}
	for _, name := range []string{"asking/one/Pay", tokens[0].Token} {
		closed, first, err := a.Choose(t.Context(), name, "Yes please")
		if err != nil || !first || closed.Output == nil || closed.Output.JSON() != `{"pay":50}` {
			t.Errorf("%s: %+v, first=%t, %v", name, closed, first, err)
		}
	}
	if _, first, err := a.Choose(t.Context(), "asking/one/Pay", "No"); err != nil || first {
		t.Errorf("another choice: first=%t, %v", first, err)
	}
	a.run()
	_, _, err = a.Choose(t.Context(), tokens[0].Token, "No")
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "no step waits for the token, so there is nothing to choose")
}
