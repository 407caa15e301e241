package cli

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// A flow that does not say how long it may take has the limit that the
// environment says.
func TestTheTimeLimitOfTheEnvironment(t *testing.T) {
	t.Parallel()
	const flow = "testdata/flows/days.yaml" // waits for two days
	for days, want := range map[string]struct {
		exit int
		said string
	}{
		"":    {view.ExitSucceeded, ""},
		"3":   {view.ExitSucceeded, ""},
		"1":   {view.ExitFailed, "timed out: FnF.ExecutionTimeout: the execution did not end within 24h0m0s"},
		"0":   {view.ExitUsage, `WAITLESS_EXECUTION_DAYS is "0"; allowed: whole days from 1 to 366`},
		"367": {view.ExitUsage, `WAITLESS_EXECUTION_DAYS is "367"`},
		"one": {view.ExitUsage, `WAITLESS_EXECUTION_DAYS is "one"`},
	} {
		t.Run(days, func(t *testing.T) {
			t.Parallel()
			got := doWith(t, "", map[string]string{"WAITLESS_NOW": start, "WAITLESS_EXECUTION_DAYS": days}, "run", flow, "--skip-time")
			if got.exit != want.exit || !strings.Contains(got.stderr, want.said) {
				t.Errorf("%+v; want exit %d with %q", got, want.exit, want.said)
			}
		})
	}
}

// The file with settings says limits, too, and is named when it is wrong.
func TestTheLimitsOfTheFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		exit int
		said string
	}{
		"execution-days: 3":   {view.ExitSucceeded, ""},
		"execution-days: 1":   {view.ExitFailed, "timed out: FnF.ExecutionTimeout: the execution did not end within 24h0m0s"},
		"execution-days: 367": {view.ExitUsage, `FILE:1:17: execution-days is "367"; allowed: whole days from 1 to 366`},
		"retention-days: 0":   {view.ExitUsage, `FILE:1:17: retention-days is "0"; allowed: whole days from 1 to 366`},
		"data-limit: 1":       {view.ExitUsage, `FILE:1:13: data-limit is "1"; allowed: a number of bytes from 32768 to 6291456`},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, "settings.yaml", text)
			got := doWith(t, "", map[string]string{"WAITLESS_NOW": start}, "run", "testdata/flows/days.yaml", "--skip-time", "--config", file)
			if said := strings.ReplaceAll(got.stderr, file, "FILE"); got.exit != want.exit || !strings.Contains(said, want.said) {
				t.Errorf("exit %d: %s; want exit %d with %q", got.exit, said, want.exit, want.said)
			}
		})
	}
}

// TestConcurrencyLimitsAreChecked covers the flags, the environment and the file.
func TestConcurrencyLimitsAreChecked(t *testing.T) {
	t.Parallel()
	const flow = "testdata/flows/days.yaml"
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"flag":     {nil, []string{"--workers", "0"}, `--workers is "0"; allowed: a number from 1 to 10000` + "\ntry: leave it out\n"},
		"too many": {nil, []string{"--max-commands", "10001"}, `--max-commands is "10001"; allowed: a number from 1 to 10000` + "\n"},
		"variable": {map[string]string{"WAITLESS_MAX_CALLS": "many"}, nil, `WAITLESS_MAX_CALLS is "many"; allowed: a number from 1 to 10000` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := doWith(t, "", tt.env, append([]string{"run", flow, "--skip-time"}, tt.args...)...)
			if got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("%+v; want %q", got, tt.want)
			}
		})
	}
}

// A flow with a time limit ends then, whatever it waits for.
func TestTheTimeLimitOfAFlow(t *testing.T) {
	t.Parallel()
	args := []string{"run", "testdata/flows/limited.yaml", "--name", "one", "--skip-time"}
	got := do(t, args...)
	want := "waitless: limited/one: timed out with FnF.ExecutionTimeout\n"
	if got.exit != view.ExitFailed || !strings.Contains(got.stderr, want) {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.stderr, "   30.0s  limited/one timed out: FnF.ExecutionTimeout: ") {
		t.Errorf("the view says %s", got.stderr)
	}
	got = do(t, append(args, "--json")...)
	conforms(t, "run", got.stdout)
	if got.exit != view.ExitFailed || !strings.Contains(got.stdout, `"status": "TimedOut"`) || !strings.Contains(got.stdout, `"type": "ExecutionTimedOut"`) {
		t.Errorf("%+v", got)
	}
}
