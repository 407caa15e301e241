package cli

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// suggestions are what the hidden command that the scripts call answers: what may
// stand in the place of the last argument.
func suggestions(t *testing.T, args ...string) []string {
	t.Helper()
	got := do(t, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	if got.exit != view.ExitSucceeded || !strings.HasPrefix(lines[len(lines)-1], ":") {
		t.Fatalf("got %+v", got)
	}
	var words []string
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return words
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want []string }{
		"a command":            {[]string{"va"}, []string{"validate"}},
		"a command of a group": {[]string{"tokens", "he"}, []string{"heartbeat"}},
		"a flag":               {[]string{"run", "flow.yaml", "--skip"}, []string{"--skip-time"}},
		"a flow":               {[]string{"run", ""}, []string{"yaml", "yml", "json"}},
		"a second flow":        {[]string{"run", pollingFlow, ""}, nil},
		"a function":           {[]string{"run", pollingFlow, "--task", ""}, []string{"GetJobStatus=exec:", "StartJob=exec:"}},
		"an action": {
			[]string{"run", "../../../events/batch-callback/flow.yaml", "--task", ""},
			[]string{"batch:SubmitJob=simulated", "batch:SubmitJob=aws"},
		},
		"a function of no flow":   {[]string{"run", "--task", ""}, nil},
		"a function of a broken":  {[]string{"run", "testdata/flows/six-mistakes.yaml", "--task", ""}, nil},
		"a kind of jobs":          {[]string{"jobs", "iam", "tran"}, []string{"transcribe-analytics", "transcribe-job", "translate-job"}},
		"a status":                {[]string{"list", "--status", "S"}, []string{"Starting", "Succeeded", "Stopped"}},
		"a sample":                {[]string{"init", "--sample", "third"}, []string{"third-party-callback"}},
		"a folder":                {[]string{"init", ""}, nil},
		"a topic":                 {[]string{"docs", "flo"}, []string{"flow"}},
		"a name that is not ours": {[]string{"flows", "show", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := suggestions(t, tt.args...)
			begun := tt.args[len(tt.args)-1]
			got = slices.DeleteFunc(got, func(word string) bool { return !strings.HasPrefix(word, begun) }) // as the shell does
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompletionOfExecutions(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for _, name := range []string{"one", "two"} {
		if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", name); got.exit != view.ExitSucceeded {
			t.Fatalf("%+v", got)
		}
	}
	for _, args := range [][]string{{"show", "pass/"}, {"stop", "--store", env["WAITLESS_STORE"], ""}, {"history", "--follow", ""}} {
		got := doWith(t, "", env, append([]string{"__complete"}, args...)...)
		for _, want := range []string{"pass/one\tSucceeded\n", "pass/two\tSucceeded\n", ":4\n"} {
			if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, want) {
				t.Errorf("%v: %+v, want %q", args, got, want)
			}
		}
	}
	for _, command := range []string{"run", "start", "list"} {
		if got := doWith(t, "", env, "__complete", command, "--flow", ""); got.exit != view.ExitSucceeded || !strings.HasPrefix(got.stdout, "pass\n:4\n") {
			t.Errorf("%s --flow: %+v", command, got)
		}
	}
	got := doWith(t, "", map[string]string{"WAITLESS_STORE": t.TempDir() + "/none"}, "__complete", "show", "")
	if got.exit != view.ExitSucceeded || got.stdout != ":4\n" {
		t.Errorf("without a store: %+v", got)
	}
}

// inBash makes bash complete a command line of two words as its readline does,
// and prints what it would put there.
const inBash = `
_get_comp_words_by_ref() { words=(waitless "$typed"); cword=1; cur=$typed; prev=waitless; } # of the package bash-completion
source <(waitless completion bash)
COMP_TYPE=9 COMP_WORDS=(waitless "$typed") COMP_CWORD=1
__start_waitless waitless "$typed" waitless
echo "${COMPREPLY[@]}"
`

func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", inBash)
	cmd.Env = []string{"typed=va", "PATH=" + filepath.Dir(program(t)) + ":/usr/bin:/bin"}
	out, err := cmd.Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "validate" {
		t.Errorf("waitless va<TAB> gives %q, want validate (%v)", got, err)
	}
}

// Every script is one, and of the program's name.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, mark := range map[string]string{
		"bash": "complete -o default -F __start_waitless waitless", "zsh": "#compdef waitless",
		"fish": "complete -c waitless", "powershell": "Register-ArgumentCompleter -CommandName 'waitless'",
	} {
		if got := do(t, "completion", shell); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, mark) || got.stderr != "" {
			t.Errorf("%s: exit %d, and %q is not in what it prints: %s", shell, got.exit, mark, got.stderr)
		}
	}
}
