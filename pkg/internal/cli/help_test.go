package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"none":              {},
		"help":              {"help"},
		"flag":              {"--help"},
		"run":               {"run", "--help"},
		"help-run":          {"help", "run"},
		"validate":          {"validate", "--help"},
		"version":           {"version", "--help"},
		"history":           {"history", "--help"},
		"flows":             {"flows", "--help"},
		"flows-put":         {"flows", "put", "--help"},
		"flows-list":        {"flows", "list", "--help"},
		"flows-show":        {"flows", "show", "--help"},
		"flows-delete":      {"flows", "delete", "--help"},
		"schedules":         {"schedules", "--help"},
		"schedules-put":     {"schedules", "put", "--help"},
		"start":             {"start", "--help"},
		"dev":               {"dev", "--help"},
		"doctor":            {"doctor", "--help"},
		"jobs":              {"jobs", "--help"},
		"jobs-list":         {"jobs", "list", "--help"},
		"jobs-iam":          {"jobs", "iam", "--help"},
		"job-events":        {"job-events", "send", "--help"},
		"job-events-list":   {"job-events", "list", "--help"},
		"job-events-replay": {"job-events", "replay", "--help"},
		"tokens-url":        {"tokens", "url", "--help"},
		"revoke":            {"tokens", "revoke", "--help"},
		"help-help":         {"help", "--help"},
		"advise":            {"advise", "--help"},
		"init":              {"init", "--help"},
		"samples":           {"samples", "--help"},
		"docs":              {"docs", "--help"},
		"schema":            {"schema", "--help"},
		"completion":        {"completion", "--help"},
		"bash":              {"completion", "bash", "--help"},
		"json":              {"help", "json"},
		"unknown":           {"help", "valdate"},
		"unknown-flag":      {"help", "run", "--jsn"},
		"of-unknown":        {"tokens", "sho", "--help"},
		"of-none":           {"valdate", "-h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, "help/"+name+".txt", do(t, args...).transcript(args...))
		})
	}
}

// Every command shows an example, and the example works as it stands, on a
// store in which the executions and the token that the examples name exist.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	root := Command{}.root()
	root.InitDefaultHelpCmd()
	for _, cmd := range allCommands(root) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			t.Parallel()
			testExamples(t, cmd)
		})
	}
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, allCommands(sub)...)
	}
	return all
}

func testExamples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if cmd.Example == "" {
		t.Fatal("there is no example")
	}
	env := map[string]string{"WAITLESS_NOW": start, "WAITLESS_STORE": t.TempDir() + "/store"}
	text := exampleStore(t, env)
	for example := range strings.Lines(cmd.Example) {
		words, err := shellwords.Parse(strings.NewReplacer(
			"flow.yaml", pollingFlow, "my-project", t.TempDir()+"/my-project", "TOKEN", text, "FLOW/EXECUTION", "callback/waiting",
			"event.json", "testdata/events/another-service.json",
			"flows/approval.test.yaml", "../../../events/callback/flow.test.yaml", "report.xml", t.TempDir()+"/report.xml").Replace(example))
		if err != nil || words[0] != "waitless" {
			t.Fatalf("%q begins with something else than waitless (%v)", example, err)
		}
		// Without a delay the job of the sample takes so long that its flow gives up.
		want := view.ExitSucceeded
		if strings.Contains(example, " run ") && !strings.Contains(example, "--input") {
			want = view.ExitFailed
		}
		if strings.Contains(example, " console ") || strings.Contains(example, " redrive ") || strings.Contains(example, "--stack ") {
			want = view.ExitUsage // no region is configured for a stack here, and order-7 has not ended
		}
		if strings.Contains(example, " job-events replay ") {
			want = view.ExitUsage // no process keeps events here
		}
		if strings.Contains(example, " doctor --stack ") || strings.Contains(example, " doctor --before ") {
			want = view.ExitFailed // that is what it finds
		}
		if strings.Contains(example, "start ") {
			words = append(words, "--name", fmt.Sprintf("another-%d", len(words))) // order-7 is there already
		}
		if strings.Contains(example, " dev ") {
			testDevExample(t, env, words[1:])
			continue
		}
		if got := doWith(t, "", env, words[1:]...); got.exit != want {
			t.Errorf("%q: exit %d, want %d: %s", example, got.exit, want, got.stderr)
		}
	}
}

// testDevExample ends dev once it listens.
func testDevExample(t *testing.T, env map[string]string, args []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout := writerFunc(func(p []byte) (int, error) {
		stop()
		return len(p), nil
	})
	var stderr bytes.Buffer
	args = append(args, "--listen", "127.0.0.1:0")
	c := Command{Args: args, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: &stderr, Stores: compose.Stores{}, Getenv: environment(t, env)}
	if exit := c.Run(ctx); exit != view.ExitInterrupted {
		t.Errorf("%q: exit %d, want %d: %s", args, exit, view.ExitInterrupted, stderr.String())
	}
}

// exampleStore fills a store and returns the token of a step that waits.
func exampleStore(t *testing.T, env map[string]string) string {
	t.Helper()
	if got := doWith(t, "", env, "start", pollingFlow, "--name", "order-7", "--input", `{"delay":20}`); got.exit != view.ExitSucceeded {
		t.Fatal(got.stderr)
	}
	nightly := t.TempDir() + "/nightly.yaml"
	text, err := os.ReadFile("testdata/flows/pass.yaml")
	if err == nil {
		err = os.WriteFile(nightly, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := doWith(t, "", env, "run", nightly, "--name", "run-1"); got.exit != view.ExitSucceeded {
		t.Fatal(got.stderr)
	}
	if got := doWith(t, "", env, "schedules", "put", "nightly/daily", "--cron", "@every 24h"); got.exit != view.ExitSucceeded {
		t.Fatal(got.stderr)
	}
	return waitingToken(t, env, "waiting")
}
