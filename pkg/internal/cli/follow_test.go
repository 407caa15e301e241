package cli

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// The end of the process that holds the store does not end a command that follows an execution
// there.
func TestHistoryFollowsWithTheNextHolder(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	first := runInBackground(t, env, callbackFlow, "--name", "one")
	first.awaits("report the outcome")
	history := inBackground(t, env, "history", "callback/one", "--follow")
	first.stop()
	if code := first.wait(); code != view.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
	history.awaits("no worker runs on this store; start one: waitless dev")
	second := runInBackground(t, env, callbackFlow, "--name", "one")
	second.awaits("report the outcome")
	if got := doWith(t, "", env, "tokens", "succeed", "callback/one", "--output", `{"approved":true}`); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	second.wait()
	if code := history.wait(); code != view.ExitSucceeded || !strings.Contains(history.stdout.String(), "ExecutionSucceeded") {
		t.Errorf("exit %d:\n%s", code, &history.stdout)
	}
	if n := strings.Count(history.stdout.String(), "ExecutionStarted"); n != 1 {
		t.Errorf("%d times ExecutionStarted", n)
	}
}
