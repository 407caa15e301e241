package console

import (
	"context"
	"net/url"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// A person's wait two sub-flows below is on the page above, with its buttons.
func TestFamiliesAreLinked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	calls := func(child string) string {
		return "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Book\n    pattern: sync\n    resourceArn: acs:fnf:::flow/" + child +
			"\n    serviceParams: {Input: '{}', ExecutionName: " + child + "}\n"
	}
	f.put("ask", calls("middle"))
	f.put("middle", calls("person"))
	f.put("person", `version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/fnf-demo/functions/echo
    pattern: waitForCallback
    prompt: Book it?
    choices: [{label: Approve, output: {}}]
  - {type: fail, name: No, error: No, cause: not this time}
`)
	f.begin("ask", "one", value.Object())
	f.until("one", func(e rest.Execution) bool {
		below, err := rest.Below(t.Context(), e, f.api.Execution, func(ctx context.Context, flow, name string) ([]rest.Token, error) {
			return f.api.Tokens(ctx, flow, name, false)
		})
		return err == nil && len(below) == 1
	})
	wantIn(t, f.get("/executions/ask/one"), "Book it?", ` of <a href="/executions/person/person">person/person</a>`,
		`<form method="post" action="/executions/person/person/wait?step=Ask"`)
	wantIn(t, f.get("/executions/middle/middle"), `Parent</dt><dd><a href="/executions/ask/one">`)
	wantIn(t, f.get("/executions/person/person"), `Parent</dt><dd><a href="/executions/middle/middle">`)
	f.post("/executions/person/person/wait?step=Ask", url.Values{"choice": {"Approve"}})
	f.until("one", func(e rest.Execution) bool { return e.Status == machine.StatusFailed })
	f.post("/executions/ask/one/redrive", url.Values{})
	wantIn(t, f.get("/executions/ask/one"), `Redriven as</dt><dd><a href="/executions/ask/one-redrive">`)
}
