package resume_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/sim/mutation"
)

// modelMutants are the code without one clause, the model that notices, and the invariant that it
// finds violated.
var modelMutants = []struct {
	name, model, violated string
	edit                  mutation.Edit
}{
	{
		"a later outcome replaces the first one", "callback, heartbeat, deadline, stop", "a closed token changed",
		mutation.Edit{File: "token/record.go", Old: `if !r.Open() || late || submitted {`, New: `if late || submitted {`},
	},
	{
		"the starter does not look at an end that came before it", "callback, heartbeat, deadline, stop", "step 1: the event of its run was accepted",
		mutation.Edit{File: "resume/starting.go", Old: `	if record.End != nil {`, New: `	if record.End != nil && s.contested != nil {`},
	},
	{
		"the first poll is not sent", "an event doubled or lost, two polls", "step 1: nothing ends it",
		mutation.Edit{File: "resume/starting.go", Old: `if err := s.sendPoll(ctx, poll); err != nil {`, New: `if err := ctx.Err(); err != nil || poll.Number == 0 {`},
	},
	{
		"the next poll is not sent", "an event doubled or lost, two polls", "step 1: nothing ends it",
		mutation.Edit{File: "resume/reconciling.go", Old: `if err := o.config.sendPoll(ctx, next); err != nil {`, New: `if err := ctx.Err(); err != nil {`},
	},
	{
		"an event ends one waiter", "two waiters", "step 2: the event of its run was accepted",
		mutation.Edit{File: "resume/observing.go", Old: `	for _, waiter := range waiters {`, New: `	for _, waiter := range waiters[:1] {`},
	},
	{
		"a waiter replaces the others", "two waiters", "step 2: closed by event with",
		mutation.Edit{
			File: "resume/rendezvous.go", Old: `waiters := append(m.Released([]string{waiter.Handle}).Waiters, waiter)`, New: `waiters := []Waiter{waiter}`,
		},
	},
	{
		"an event about a resource decides", "a task again, clocks differ the other way", "closed by event with",
		mutation.Edit{File: "resume/observing.go", Old: `if kind.Scope == jobs.ScopeRun && !end.IsHint() {`, New: `if !end.IsHint() {`},
	},
	{
		"the begin of a run is not compared", "a task that another caller starts", "step 1: the event of its run was accepted",
		mutation.Edit{File: "jobs/job.go", Old: `seen.BeginText != "" && known`, New: `seen.BeginText != "" && known && k.Name == ""`},
	},
	{
		"an event ends the wait of a start that is refused", "a task for two at once", "closed by event with",
		mutation.Edit{File: "resume/observing.go", Old: `done && !waiter.Claims {`, New: `done {`},
	},
	{
		"a poll does not repeat the wake of a closed token", "a crash", "step 1: nothing ends it",
		mutation.Edit{File: "resume/reconciling.go", Old: `	case poll.mayClose(record.ClosedBy):`, New: `	case poll.mayClose(record.ClosedBy) && handle == "":`},
	},
	{
		"a request sends no wake", "a callback, a crash", "step 1: nothing ends it",
		mutation.Edit{
			File: "resume/tokens.go", Old: `if err := config.Wakes.Send(ctx, t.ID, t.handle, sent); err != nil {`, New: `if err := ctx.Err(); err != nil {`,
		},
	},
	{
		"an earlier end replaces a later one", "a task again", "step 2: the event of its run was accepted",
		mutation.Edit{File: "resume/rendezvous.go", Old: `if m.End == nil || !m.End.At.After(end.At) {`, New: `if m.End == nil || m.End != nil {`},
	},
	{
		"an end without a waiter is kept for a second", "callback, heartbeat, deadline, stop", "step 1: the event of its run was accepted",
		mutation.Edit{File: "resume/observing.go", Old: `keptWithoutWaiter = 24 * time.Hour`, New: `keptWithoutWaiter = time.Second`},
	},
}

// TestModelCatchesMutants shows that each clause carries something: without it, the model finds a
// violation, and it is that one.
func TestModelCatchesMutants(t *testing.T) {
	t.Parallel()
	var edits [][]mutation.Edit
	for _, m := range modelMutants {
		m.edit.Source(t)
		edits = append(edits, []mutation.Edit{m.edit})
	}
	if testing.Short() {
		t.Skip("builds programs with mutants, which takes several seconds")
	}
	program := mutation.Programs(t, edits)
	for i, m := range modelMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			which := "^TestModel$/^" + regexp.QuoteMeta(strings.ReplaceAll(m.model, " ", "_")) + "$"
			out, err := program(t, i, "-test.run", which, "-violations").CombinedOutput()
			_, violation, _ := strings.Cut(string(out), "violated: ")
			first, _, _ := strings.Cut(violation, "\n")
			if err == nil || !strings.Contains(first, m.violated) {
				t.Fatalf("it found %q, error %v; want %q\n%.2000s", first, err, m.violated, out)
			}
		})
	}
}
