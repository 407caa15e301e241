package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
)

const orderFlow = "testdata/flows/order.yaml"

// TestRun runs flows in virtual time.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"polling-20":      {"run", pollingFlow, "--input", `{"delay":20}`, "--skip-time"},
		"polling-41":      {"run", pollingFlow, "--input", `{"delay":41}`, "--skip-time"},
		"polling-20-json": {"run", pollingFlow, "--input", `{"delay":20}`, "--skip-time", "--json"},
		"polling-41-json": {"run", pollingFlow, "--input", `{"delay":41}`, "--skip-time", "--json"},
		"name":            {"run", pollingFlow, "--input", `{"delay":10}`, "--skip-time", "--name", "monday"},
		"input-file":      {"run", "testdata/flows/nested.yaml", "--input", "@testdata/small.json", "--skip-time"},
		"nested-failed":   {"run", "testdata/flows/nested.yaml", "--input", `{"amount":101}`, "--skip-time"},
		"nested-succeeded": {
			"run", "testdata/flows/nested.yaml", "--input", `{"amount":101,"approved":true}`, "--skip-time",
		},
		"waiting":  {"run", "testdata/flows/approve.yaml", "--name", "one", "--skip-time"},
		"two-days": {"run", "testdata/flows/days.yaml", "--skip-time"},
		"control":  {"run", "testdata/flows/control.yaml", "--skip-time"},
		"retry":    {"run", "../../../events/retry/flow.yaml", "--input", `{"ready_after":30,"job_id":"job-1"}`, "--skip-time"},
		"retried":  {"run", "../../../events/retry/flow.yaml", "--input", `{"ready_after":90}`, "--skip-time"},
		"two-services": {
			"run", "testdata/flows/two-services.yaml", "--skip-time",
			"--task", `shop/run=exec:echo '{"is":"charged"}'`, "--task", `dispatch/run=exec:echo '{"is":"shipped"}'`,
		},
		"polls":      {"run", "../../../events/wait-for-condition/flow.yaml", "--input", `{"delay":20}`, "--skip-time"},
		"polls-json": {"run", "../../../events/wait-for-condition/flow.yaml", "--input", `{"delay":20}`, "--skip-time", "--json"},
		"limited":    {"run", "testdata/flows/limited.yaml", "--skip-time", "--name", "one"},
		"caught":     {"run", "testdata/flows/caught.yaml", "--skip-time"},
		"subflow":    {"run", orderFlow, "--input", `{"id":7}`, "--skip-time", "--name", "one", "--subflow", "payment=testdata/flows/payment.yaml"},
		"subflow-failed": {
			"run", orderFlow, "--input", `{"id":100}`, "--skip-time", "--name", "one", "--config", "testdata/subflows.yaml",
		},
		"subflow-unknown":  {"run", orderFlow, "--skip-time"},
		"subflow-misspelt": {"run", orderFlow, "--skip-time", "--subflow", "paymnt=testdata/flows/payment.yaml"},
		"subflow-no-file":  {"run", orderFlow, "--skip-time", "--subflow", "payment"},
		"subflow-waiting": {
			"run", orderFlow, "--skip-time", "--name", "one", "--subflow", "payment=testdata/flows/approve.yaml",
		},
		"absent": {"run", "testdata/flows/absent.yaml", "--skip-time", "--name", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, args...)
			golden(t, "run/"+name+".txt", maskedToken.ReplaceAllString(got.transcript(args...), "...000000"))
			if strings.HasSuffix(name, "-json") {
				conforms(t, "run", got.stdout)
			}
		})
	}
}

func TestRunRefusesUsage(t *testing.T) {
	t.Parallel()
	polling := func(args ...string) []string { return append([]string{"run", pollingFlow, "--skip-time"}, args...) }
	for name, args := range map[string][]string{
		"functions-unknown":  {"run", "testdata/flows/unknown.yaml"},
		"function-unknown":   {"run", "testdata/flows/task.yaml", "--json"},
		"task-no-equals":     polling("--task", "StartJob"),
		"task-no-name":       polling("--task", "=exec:true"),
		"task-unknown-form":  polling("--task", "StartJob=ftp://localhost"),
		"task-http":          polling("--task", "StartJob=http:localhost"),
		"task-no-command":    polling("--task", "StartJob=exec:"),
		"task-open-quote":    polling("--task", "StartJob=exec:echo 'a"),
		"task-missing":       polling("--task", "StartJob=exec:waitless-no-such-program --now"),
		"task-not-file":      polling("--task", "StartJob=exec:./no-such-program"),
		"task-no-executable": polling("--task", "StartJob=exec:./schema/run.json"),
		"tasks-several":      polling("--task", "StartJob=exec:", "--task", "GetJobStatus=lambda:@http://localhost"),
		"task-twice":         polling("--task", "StartJob=exec:true", "--task", "StartJob=exec:false"),
		"task-ambiguous":     {"run", "testdata/flows/two-services.yaml", "--skip-time", "--task", "run=exec:true"},
		"tasks-ambiguous":    {"run", "testdata/flows/two-services.yaml", "--skip-time", "--task", "shop/run=exec:true"},
		"task-of-no-service": polling("--task", "demo/StartJob=exec:true"),
		"task-of-nothing":    polling("--task", "StartJbo=exec:true"),
		"task-of-no-task":    {"run", "testdata/flows/pause.yaml", "--task", "StartJob=exec:true"},
		"input-broken":       polling("--input", `{"delay":20`),
		"input-empty":        polling("--input", ""),
		"input-array":        polling("--input", `[20]`),
		"input-text":         polling("--input", `"delay"`),
		"input-no-file":      polling("--input", "@testdata/none.json"),
		"input-no-file-name": polling("--input", "@"),
		"input-folder":       polling("--input", "@testdata"),
		"input-stdin-broken": polling("--input", "-"),
		"name-bad":           polling("--name", "a b"),
		"name-long":          polling("--name", strings.Repeat("n", 129)),
		"file-missing":       {"run", "testdata/flows/none.yaml"},
		"file-a-folder":      {"run", "testdata/flows"},
		"flow-missing":       {"run"},
		"flows-two":          {"run", pollingFlow, "other.yaml"},
		"validate-format":    {"validate", pollingFlow, "--format", "srif"},
		"version-argument":   {"version", "1"},
		"command-unknown":    {"rnu", pollingFlow},
		"command-foreign":    {"deploy"},
		"flag-unknown":       polling("--inptu", "{}"),
		"flag-foreign":       polling("--region", "eu-west-1"),
		"flags-two":          polling("--jsn", "--nme", "x"),
		"flag-short":         polling("-i", "{}"),
		"flag-no-value":      polling("--input"),
		"flag-bool":          polling("--json=yes"),
		"flag-of-root":       {"--jsn"},
		"now-broken":         polling("--name", "now"),
		"action-unknown":     {"run", batchFlow, "--skip-time"},
		"action-exec":        {"run", batchFlow, "--skip-time", "--task", "batch:SubmitJob=exec:true"},
		"action-aws-skip":    {"run", batchFlow, "--skip-time", "--task", "batch:SubmitJob=aws"},
		"action-of-none":     {"run", "testdata/flows/pause.yaml", "--task", "batch:SubmitJob=simulated"},
		"dev-listen":         {"dev", "--listen", "nowhere"},
		"command-ls":         {"ls"},
		"command-logs":       {"logs", "pass/a"},
		"command-describe":   {"describe"},
		"command-cancel":     {"cancel"},
		"command-retry":      {"retry"},
		"command-of-group":   {"tokens", "complete", "x"},
		"dev-base":           {"dev", "--listen", "127.0.0.1:0", "--base", "ftp://host"},
		"dev-everywhere":     {"dev", "--listen", ":0"},
		"dev-api-everywhere": {"dev", "--listen", ":0", "--api"},
		"dev-api-base":       {"dev", "--listen", "127.0.0.1:0", "--base", "https://example.com", "--api"},
		"dev-keys":           {"dev", "--client-keys", `{"id":"secret"}`},
		"dev-keys-none":      {"dev", "--client-keys", "-"},
		"dev-task":           {"dev", "--task", "batch:SubmitJob"},
		"iam-unknown":        {"jobs", "iam", "bach-job"},
		"iam-no-operation":   {"jobs", "iam", "dynamodb:PutItems"},
		"task-no-operation":  {"run", "testdata/flows/operation.yaml"},
		"operation-unknown":  {"run", "testdata/flows/operation-unknown.yaml"},
		"docs-unknown":       {"docs", "flwo"},
		"docs-two":           {"docs", "flow", "language"},
		"shell-unknown":      {"completion", "bsh"},
		"shell-argument":     {"completion", "bash", "x"},
		"sample-unknown":     {"init", "--sample", "poling"},
		"init-two":           {"init", "a", "b"},
		"init-in-a-file":     {"init", "testdata/small.json"},
		"iam-simulated":      {"jobs", "iam", "simulated"},
		"iam-missing":        {"jobs", "iam"},
		"event-missing":      {"job-events", "send"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, stdin := fixedTime, "{"
			if name == "now-broken" {
				env = map[string]string{"WAITLESS_NOW": "10 o'clock"}
			}
			got := doWith(t, stdin, env, args...)
			if got.exit != view.ExitUsage || got.stdout != "" || !strings.Contains(got.stderr, "\ntry: ") {
				t.Errorf("exit %d, stdout %q; want %d, nothing, and something to try", got.exit, got.stdout, view.ExitUsage)
			}
			golden(t, "usage/"+name+".txt", got.transcript(args...))
		})
	}
}

func TestRunFailsWithItsCommand(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"no-json":   `exec:echo done`,
		"nothing":   `exec:true`,
		"a-number":  `exec:echo 7`,
		"exit-3":    `exec:sh -c 'echo no connection to the store >&2; exit 3'`,
		"killed":    `exec:sh -c 'kill -9 $$'`,
		"long":      `exec:sh -c 'i=0; while [ $i -lt 40 ]; do echo line $i of an output that is too long to be shown >&2; i=$((i+1)); done; exit 1'`,
		"coloured":  `exec:printf '\033[31mred\033[0m'`,
		"succeeded": `exec:sh -c 'echo {\"now\":\"$WAITLESS_NOW\",\"flow\":\"$WAITLESS_FLOW\",\"step\":\"$WAITLESS_STEP\"}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"run", "testdata/flows/task.yaml", "--skip-time", "--task", "Work=" + script}
			golden(t, "command/"+name+".txt", do(t, args...).transcript(args...))
		})
	}
}

func TestRunReadsStandardInput(t *testing.T) {
	t.Parallel()
	got := doWith(t, `{"delay": 10}`, fixedTime, "run", pollingFlow, "--skip-time", "--input", "-")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, `"try_count":1`) {
		t.Errorf("got %+v", got)
	}
}

// Some editors put a mark in front of a text.
func TestRunReadsAFileWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte("\uFEFF{\"delay\": 10}\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := do(t, "run", pollingFlow, "--skip-time", "--input", "@"+file)
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, `"try_count":1`) {
		t.Errorf("got %+v", got)
	}
}

// The first Ctrl-C asks the program to end, which it cannot while its output is not read
// what it writes; the second one ends it.
func TestTheSecondInterruptEndsTheProgram(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", manySteps(t, 1000), "--skip-time", "--json") // more than a pipe holds
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		state, err := cmd.Process.Wait()
		ended <- fmt.Sprint(state, err)
	}()
	interrupts := 0
	for again := time.NewTicker(10 * time.Millisecond); ; <-again.C {
		select {
		case how := <-ended:
			if how != "signal: interrupt <nil>" || interrupts < 2 {
				t.Errorf("ended after %d interrupts: %s", interrupts, how)
			}
			return
		default:
			interrupts++
			_ = cmd.Process.Signal(os.Interrupt) // it may just have ended
		}
	}
}

func TestRunNamesItself(t *testing.T) {
	t.Parallel()
	got := doWith(t, "", nil, "run", pollingFlow, "--skip-time")
	if !runName.MatchString(got.stderr) {
		t.Errorf("got %s", got.stderr)
	}
}

func TestRunOfManySteps(t *testing.T) {
	t.Parallel()
	file := manySteps(t, 200)
	got := do(t, "run", file, "--skip-time")
	if got.exit != view.ExitSucceeded || strings.Count(got.stderr, " output {}") != 200 {
		t.Errorf("got %+v", got)
	}
}

// The result cannot be printed, so the run is not a success.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	full := writerFunc(func([]byte) (int, error) {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	})
	for name, args := range map[string][]string{
		"run":      {"run", pollingFlow, "--skip-time", "--input", `{"delay":10}`},
		"run-json": {"run", pollingFlow, "--skip-time", "--json"},
		"validate": {"validate", pollingFlow},
		"version":  {"version"},
		"help":     {"help"},
		"none":     {},
		"flag":     {"run", "--help"},
		"topic":    {"help", "json"},
		"group":    {"flows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			c := Command{Args: args, Stdin: strings.NewReader(""), Stdout: full, Stderr: &stderr, Stores: compose.Stores{}, Getenv: environment(t, fixedTime)}
			if exit := c.Run(t.Context()); exit != view.ExitInternal {
				t.Errorf("exit %d, want %d", exit, view.ExitInternal)
			}
			if want := "waitless: write standard output: no space left on device\n"; !strings.Contains(stderr.String(), want) {
				t.Errorf("got %s, want %s", stderr.String(), want)
			}
		})
	}
}

// A view whose reader is gone does not end the execution.
func TestLinesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	closed := writerFunc(func([]byte) (int, error) { return 0, syscall.EPIPE })
	var stdout bytes.Buffer
	c := Command{
		Args: []string{"run", pollingFlow, "--skip-time", "--input", `{"delay":10}`}, Stdin: strings.NewReader(""),
		Stdout: &stdout, Stderr: closed, Stores: compose.Stores{}, Getenv: environment(t, fixedTime),
	}
	if exit := c.Run(t.Context()); exit != view.ExitSucceeded || !strings.Contains(stdout.String(), "success") {
		t.Errorf("exit %d, stdout %q", exit, stdout.String())
	}
}

func TestInterruptEndsAWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	watch := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("waits until")) {
			cancel()
		}
		return stderr.Write(p)
	})
	got := within(t, func() result {
		c := Command{
			Args: []string{"run", "testdata/flows/pause.yaml", "--name", "once"}, Stdin: strings.NewReader(""),
			Stdout: io.Discard, Stderr: watch, Stores: compose.Stores{}, Getenv: environment(t, nil),
		}
		return result{exit: c.Run(ctx)}
	})
	const want = "waitless: pause/once: interrupted; continue it with: waitless run testdata/flows/pause.yaml --name once\n"
	if got.exit != view.ExitInterrupted || !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("exit %d, stderr:\n%s", got.exit, stderr.String())
	}
}

func TestInterruptEndsReadingInput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	never, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	stdin := readerFunc(func(p []byte) (int, error) {
		cancel()
		return never.Read(p)
	})
	got := within(t, func() result {
		var stderr bytes.Buffer
		c := Command{
			Args: []string{"run", pollingFlow, "--input", "-"}, Stdin: stdin, Stdout: io.Discard, Stderr: &stderr,
			Stores: compose.Stores{}, Getenv: environment(t, nil),
		}
		exit := c.Run(ctx)
		return result{exit: exit, stderr: stderr.String()}
	})
	if got.exit != view.ExitInterrupted || !strings.Contains(got.stderr, "nothing was done") {
		t.Errorf("got %+v", got)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// within answers what f does, which must not take long.
func within(t *testing.T, f func() result) result {
	t.Helper()
	done := make(chan result, 1)
	go func() { done <- f() }()
	select {
	case r := <-done:
		return r
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end")
		return result{}
	}
}

func TestBinaryIsInterrupted(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "testdata/flows/pause.yaml", "--name", "once")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := readUntil(t, stderr, "waits until")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(text, stderr) // ends with the program
	if code := exitCode(cmd.Wait()); code != view.ExitInterrupted {
		t.Errorf("exit %d, want %d: %s", code, view.ExitInterrupted, text.String())
	}
}

// readUntil reads until what was read has want, and answers it.
func readUntil(t *testing.T, r io.Reader, want string) *bytes.Buffer {
	t.Helper()
	var text bytes.Buffer
	for buffer := make([]byte, 4096); !strings.Contains(text.String(), want); {
		n, err := r.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, text.String())
		}
	}
	return &text
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// A reader that has enough, like head, leaves no message behind.
func TestBinaryWithAClosedPipe(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	var stderr bytes.Buffer
	cmd := command(t, "help", "json")
	cmd.Stdout, cmd.Stderr = writer, &stderr
	err = cmd.Run()
	_ = writer.Close()
	if stderr.Len() > 0 {
		t.Errorf("it ended with %v and said %q", err, stderr.String())
	}
}

func TestBinaryInRealTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 seconds, in which the flow waits")
	}
	cmd := command(t, "run", pollingFlow, "--input", `{"delay":20}`)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	stdout, err := cmd.Output()
	took := time.Since(began)
	if err != nil || !strings.Contains(string(stdout), `"try_count":2`) {
		t.Errorf("%v, stdout %s, stderr %s", err, stdout, stderr.String())
	}
	if n := strings.Count(stderr.String(), "GetJobStatus returned"); n != 2 {
		t.Errorf("GetJobStatus answered %d times, want 2:\n%s", n, stderr.String())
	}
	// A busy machine may be late; early is what no machine may be.
	if took < 20*time.Second {
		t.Errorf("took %s, want at least 20 seconds", took)
	}
	t.Logf("took %s", took)
}

func TestRunCutsLongLines(t *testing.T) {
	t.Parallel()
	got := do(t, "run", "testdata/flows/pass.yaml", "--skip-time", "--input", `{"text":"`+strings.Repeat("x", 20_000)+`"}`)
	for line := range strings.Lines(got.stderr) {
		if len(line) > view.LongestLine+100 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, "…") {
		t.Errorf("exit %d: %.200s", got.exit, got.stderr)
	}
}

// manySteps is a file with a flow of n pass steps.
func manySteps(t *testing.T, n int) string {
	t.Helper()
	var flow strings.Builder
	flow.WriteString("version: v1\ntype: flow\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&flow, "  - {type: pass, name: Step%03d}\n", i)
	}
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte(flow.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
