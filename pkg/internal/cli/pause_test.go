package cli

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// A paused flow holds the execution that runs, also when its token is closed, and rejects others.
// When the flow is resumed, the execution ends.
func TestAPausedFlowGoesOnWhenItIsResumed(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	run := runInBackground(t, env, callbackFlow, "--name", "one")
	text := run.awaits(`tokens succeed (\S+) --output`)
	wantSaid(t, doWith(t, "", env, "flows", "pause", "callback"), view.ExitSucceeded, "callback is paused")
	const try = `try: waitless flows resume callback`
	for _, args := range [][]string{
		{"start", callbackFlow, "--name", "two"},
		{"start", "--flow", "callback", "--name", "two"},
	} {
		wantSaid(t, doWith(t, "", env, args...), view.ExitUsage, `flow "callback" is paused`, try)
	}
	wantSaid(t, doWith(t, "", env, "show", "callback/two"), view.ExitUsage, "there is no execution callback/two")
	wantSaid(t, doWith(t, "", env, "tokens", "succeed", text, "--output", `{"status":"ok"}`), view.ExitSucceeded, "")
	wantSaid(t, doWith(t, "", env, "show", "callback/one"), view.ExitSucceeded, "Running")
	wantSaid(t, doWith(t, "", env, "flows", "list"), view.ExitSucceeded, "paused")
	wantSaid(t, doWith(t, "", env, "list"), view.ExitSucceeded, " flow is paused; ")
	wantSaid(t, doWith(t, "", env, "show", "callback/one"), view.ExitSucceeded, "paused    with its flow; to continue: waitless flows resume callback\n")
	for command, args := range map[string][]string{"executions": {"list", "--json"}, "execution": {"show", "callback/one", "--json"}} {
		got := doWith(t, "", env, args...)
		wantSaid(t, got, view.ExitSucceeded, `"paused": true`)
		conforms(t, command, got.stdout)
	}

	run.stop()
	if code := run.wait(); code != view.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
	wantSaid(t, doWith(t, "", env, "flows", "list"), view.ExitSucceeded, "paused") // by the store
	wantSaid(t, doWith(t, "", env, "run", callbackFlow, "--name", "one"), view.ExitUsage, `flow "callback" is paused`, try)

	wantSaid(t, doWith(t, "", env, "flows", "resume", "callback"), view.ExitSucceeded, "callback goes on, 1 execution")
	for _, args := range [][]string{{"flows", "list"}, {"list"}, {"show", "callback/one"}, {"list", "--json"}} {
		if got := doWith(t, "", env, args...); strings.Contains(got.stdout, "paused") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	wantSaid(t, doWith(t, "", env, "run", callbackFlow, "--name", "one"), view.ExitSucceeded, `"s":"ok"`)

	wantSaid(t, doWith(t, "", env, "flows", "pause", "callback"), view.ExitSucceeded, "callback is paused")
	if got := doWith(t, "", env, "list"); strings.Contains(got.stdout, "paused") {
		t.Errorf("an execution that has ended: %+v", got)
	}
	wantSaid(t, doWith(t, "", env, "flows", "delete", "callback"), view.ExitSucceeded, "callback is deleted")
	wantSaid(t, doWith(t, "", env, "flows", "resume", "callback"), view.ExitUsage, `there is no flow "callback"`, "try: waitless flows list")
}

// The process that runs the execution continues it, a minute after its step began at the earliest:
// until then another worker may live.
func TestTheRunningProcessContinuesAResumedFlow(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	var later atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	run := inBackgroundAt(t, now, env, "run", callbackFlow, "--name", "one")
	text := run.awaits(`tokens succeed (\S+) --output`)
	wantSaid(t, doWith(t, "", env, "flows", "pause", "callback"), view.ExitSucceeded, "callback is paused")
	wantSaid(t, doWith(t, "", env, "tokens", "succeed", text, "--output", `{"status":"ok"}`), view.ExitSucceeded, "")
	later.Store(int64(time.Hour))
	wantSaid(t, doWith(t, "", env, "show", "callback/one"), view.ExitSucceeded, "Running")
	wantSaid(t, doWith(t, "", env, "flows", "resume", "callback"), view.ExitSucceeded, "callback goes on, 1 execution")
	if code := run.wait(); code != view.ExitSucceeded {
		t.Errorf("exit %d", code)
	}
	wantSaid(t, doWith(t, "", env, "show", "callback/one"), view.ExitSucceeded, "Succeeded")
	for _, command := range []string{"pause", "resume"} {
		wantSaid(t, doWith(t, "", env, "flows", command, "callbak"), view.ExitUsage,
			`there is no flow "callbak"`, `did you mean "callback"?`, "try: waitless flows list")
	}
}
