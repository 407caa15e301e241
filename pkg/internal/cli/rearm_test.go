package cli

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// A wait for a callback needs its token, an execution that has ended the report of its end, and
// rearming changes neither.
func TestRearm(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "one")
	for _, args := range [][]string{{"rearm", "--dry-run"}, {"rearm"}, {"rearm", "--calls"}} {
		want := "callback/one  token\nrearmed 1\n"
		if args[len(args)-1] == "--dry-run" {
			want = strings.Replace(want, "rearmed", "would rearm", 1)
		}
		if got := doWith(t, "", env, args...); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, strings.TrimSuffix(want, "\n")) {
			t.Errorf("%v: %+v, want %q", args, got, want)
		}
	}
	if got := doWith(t, "", env, "tokens", "succeed", text, "--output", `{"status":"ok"}`); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
}
