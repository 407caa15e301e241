package cli

import (
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"none":         {},
		"help":         {"help"},
		"flag":         {"--help"},
		"run":          {"run", "--help"},
		"help-run":     {"help", "run"},
		"validate":     {"validate", "--help"},
		"version":      {"version", "--help"},
		"help-help":    {"help", "--help"},
		"json":         {"help", "json"},
		"unknown":      {"help", "valdate"},
		"unknown-flag": {"help", "run", "--jsn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, "help/"+name+".txt", do(t, args...).transcript(args...))
		})
	}
}

// Every command shows an example, and the example works as it stands.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	root := Command{}.root()
	root.InitDefaultHelpCmd()
	for _, cmd := range append(root.Commands(), root) {
		t.Run(cmd.Name(), func(t *testing.T) {
			t.Parallel()
			testExamples(t, cmd)
		})
	}
}

func testExamples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if cmd.Example == "" {
		t.Fatal("there is no example")
	}
	for example := range strings.Lines(cmd.Example) {
		words, err := shellwords.Parse(strings.ReplaceAll(example, "flow.yaml", pollingFlow))
		if err != nil || words[0] != "waitless" {
			t.Fatalf("%q begins with something else than waitless (%v)", example, err)
		}
		// Without a delay the job of the sample takes so long that its flow gives up.
		want := ExitSucceeded
		if strings.Contains(example, " run ") && !strings.Contains(example, "--input") {
			want = ExitFailed
		}
		if got := do(t, words[1:]...); got.exit != want {
			t.Errorf("%q: exit %d, want %d: %s", example, got.exit, want, got.stderr)
		}
	}
}
