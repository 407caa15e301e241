package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// TestErrorOutputOfACommandIsShown checks that the terminal shows what a command writes to standard
// error, with its step and without control characters.
func TestErrorOutputOfACommandIsShown(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nname: f\nsteps: [{type: task, name: Work, resourceArn: 'acs:fc:::services/s/functions/work'}]\n")
	got := do(t, "run", flow, "--skip-time", "--task", `work=exec:sh -c 'printf "one\n\033[2Jtwo\n" >&2; echo {}'`)
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, "Work: one\nWork: \\x1b[2Jtwo\n") {
		t.Errorf("%+v", got)
	}
	got = do(t, "run", flow, "--skip-time", "--task", `work=exec:sh -c 'head -c 20000 /dev/zero | tr "\\0" x >&2; echo {}'`)
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, "Work: ... (only the first 16384 bytes are shown)\n") || len(got.stderr) > 18000 {
		t.Errorf("%+v", got)
	}
}

func TestErrorOutputOfAFailedCommandIsShown(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nname: f\n"+
		"steps: [{type: task, name: Work, timeoutSeconds: 1, resourceArn: 'acs:fc:::services/s/functions/work'}]\n")
	for name, script := range map[string]string{
		"exit code":  `exit 3`,
		"error type": `echo "{\"errorType\":\"DiskFull\"}"; exit 1`,
		"time-out":   `exec sleep 60`,
		"no JSON":    `echo well`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "run", flow, "--skip-time", "--task", `work=exec:sh -c 'printf "one\n\033[2Jtwo\n" >&2; `+script+`'`)
			if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "Work: one\nWork: \\x1b[2Jtwo\n") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestDevLogsTheErrorOutputOfACommand(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := view.NewLogger(&out, "text", false)
	if err != nil {
		t.Fatal(err)
	}
	call := machine.Call{Flow: machine.FlowRef{Name: "f"}, Execution: "one", Step: "Work", Resource: flow.Resource{Function: "work"}}
	(&server{log: log}).logOutput(call, "one\n\x1b[2Jtwo")
	if text := out.String(); !strings.Contains(text, "execution=f/one step=Work text=") || strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\x1b\n") {
		t.Errorf("logged %q", text)
	}
}
