package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// helperArgument makes the test binary one of the commands in helpers.
const helperArgument = "be-the-command"

// TestMain runs the tests, or is a command of theirs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperArgument {
		helpers[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	for _, name := range []string{"WAITLESS_CLIENT_KEYS", "WAITLESS_CALLBACK_SECRET", "WAITLESS_NOTIFY_SECRET", "WAITLESS_API_KEY"} {
		_ = os.Setenv(name, "a secret that no command gets")
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // or each helper takes a second under -race
	os.Exit(m.Run())
}

var helpers = map[string]func(args []string){
	"echo": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"text": func([]string) { fmt.Println("all is well") },
	"mute": func([]string) {},
	"deaf": func([]string) { fmt.Println("{}") },
	"args": func(args []string) { printJSON(map[string]any{"args": args}) },
	"exit": func([]string) {
		fmt.Println(`{"ignored":true}`)
		for i := range 100 {
			fmt.Fprintf(os.Stderr, "line %d %s\n", i, strings.Repeat("x", 100))
		}
		fmt.Fprintln(os.Stderr, "ValueError: the job is not there")
		os.Exit(3)
	},
	"throw": func(args []string) {
		fmt.Println(`{"errorType":"DiskFull","errorMessage":"no room"}`)
		code, _ := strconv.Atoi(args[0])
		os.Exit(code)
	},
	"kill": func([]string) {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		hang()
	},
	"hang": func([]string) { hang() },
	"large": func(args []string) {
		size, _ := strconv.Atoi(args[0])
		_, _ = os.Stdout.Write(bytes.Repeat([]byte(" "), size-2))
		fmt.Print("{}")
	},
	"environment": func([]string) {
		input, _ := io.ReadAll(os.Stdin)
		environment := map[string]any{"stdin": string(input)}
		for _, name := range []string{"NOW", "FLOW", "EXECUTION", "STEP", "ITERATION", "IDEMPOTENCY_KEY"} {
			if text, ok := os.LookupEnv("WAITLESS_" + name); ok {
				environment[name] = text
			}
		}
		environment["inherited"] = os.Getenv("PATH") != ""
		environment["secrets"] = os.Getenv("WAITLESS_CLIENT_KEYS") + os.Getenv("WAITLESS_CALLBACK_SECRET") +
			os.Getenv("WAITLESS_NOTIFY_SECRET") + os.Getenv("WAITLESS_API_KEY")
		printJSON(environment)
	},
	"background": func([]string) {
		child, err := os.StartProcess(os.Args[0], []string{os.Args[0], helperArgument, "hang"}, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
		if err != nil {
			panic(err)
		}
		printJSON(map[string]any{"pid": child.Pid})
	},
}

// hang waits for a signal, until which the process ends only by being killed. It outlives each test
// that waits for its end, and no process stays behind for ever.
func hang() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	select {
	case <-signals:
	case <-time.After(2 * Patience):
	}
}

func printJSON(v any) {
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		panic(err)
	}
}

// helper is the definition of a task that runs a helper.
func helper(t *testing.T, name string, args ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "exec:" + strings.Join(append([]string{"'" + program + "'", helperArgument, name}, args...), " ")
}

func helperCommand(t *testing.T, name string, args ...string) command {
	t.Helper()
	c, err := parseCommand(helper(t, name, args...), "")
	if err != nil {
		t.Fatal(err)
	}
	c.grace = 50 * time.Millisecond
	return c
}

var commandNow = time.Date(2026, 1, 31, 10, 0, 0, 500, time.UTC)

func testCall(function, input string) machine.Call {
	v, err := value.ParseJSON([]byte(input))
	if err != nil {
		panic(err)
	}
	return machine.Call{
		Attempt: machine.Attempt{Number: 7}, Flow: machine.FlowRef{Name: "polling", Hash: "hash"}, Execution: "run-1", Step: "GetJobStatus",
		Resource: flow.Resource{Function: function}, Input: v,
	}
}

func runCommand(t *testing.T, c command, input string) token.Outcome {
	t.Helper()
	outcome, err := c.call(t.Context(), testCall("work", input), commandNow)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func wantOutput(t *testing.T, outcome token.Outcome, want string) {
	t.Helper()
	if outcome.Failed() || outcome.Output.JSON() != want {
		t.Errorf("the outcome is %s: %s, output %.200s; want output %.200s", outcome.Error, outcome.Cause, outcome.Output.JSON(), want)
	}
}

func wantCause(t *testing.T, outcome token.Outcome, name string, parts ...string) {
	t.Helper()
	if outcome.Error != name {
		t.Errorf("the error is %q, want %q", outcome.Error, name)
	}
	for _, part := range parts {
		if !strings.Contains(outcome.Cause, part) {
			t.Errorf("the cause is\n%s\nwant it to say %q", outcome.Cause, part)
		}
	}
	if len(outcome.Cause) > 1200 {
		t.Errorf("the cause has %d bytes", len(outcome.Cause))
	}
}

func TestTasksConform(t *testing.T) {
	t.Parallel()
	enginetest.Tasks(t, func(t *testing.T) enginetest.Functions {
		t.Helper()
		tasks, err := NewFunctions(NewVirtualClock(commandNow), map[string]string{
			"cat": helper(t, "echo"), "exit": helper(t, "exit"), "hang": helper(t, "hang"), "text": helper(t, "text"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return enginetest.Functions{Caller: tasks, Echo: "cat", Fail: "exit", Hang: "hang", Wrong: "text"}
	})
}

func TestBuiltInTasksConform(t *testing.T) {
	t.Parallel()
	enginetest.Tasks(t, func(t *testing.T) enginetest.Functions {
		t.Helper()
		tasks, err := NewFunctions(NewVirtualClock(commandNow), map[string]string{"text": helper(t, "text"), "hang": helper(t, "hang")})
		if err != nil {
			t.Fatal(err)
		}
		return enginetest.Functions{Caller: tasks, Echo: "echo", Fail: "GetJobStatus", Hang: "hang", Wrong: "text"}
	})
}

func TestCommandGetsInputAndEnvironment(t *testing.T) {
	t.Parallel()
	outcome := runCommand(t, helperCommand(t, "environment"), `{"delay":20}`)
	wantOutput(t, outcome, fmt.Sprintf(
		`{"EXECUTION":"run-1","FLOW":"polling","IDEMPOTENCY_KEY":%q,"NOW":"2026-01-31T10:00:00.0000005Z","STEP":"GetJobStatus",`+
			`"inherited":true,"secrets":"","stdin":"{\"delay\":20}\n"}`,
		testCall("work", `{}`).Key()))
}

func TestCommandGetsTheIteration(t *testing.T) {
	t.Parallel()
	call := testCall("work", `{}`)
	call.Iteration = "3.0"
	outcome, err := helperCommand(t, "environment").call(t.Context(), call, commandNow)
	if got := outcome.Output.Get("ITERATION").Text(); err != nil || got != call.Iteration {
		t.Errorf("the iteration is %q, error %v, want %s", got, err, call.Iteration)
	}
}

func TestCommandOutcomes(t *testing.T) {
	t.Parallel()
	large := fmt.Sprint(engine.LongestReply)
	cases := []struct {
		name    string
		command []string
		want    func(t *testing.T, outcome token.Outcome)
	}{
		{"answers JSON", []string{"echo"}, func(t *testing.T, o token.Outcome) { t.Helper(); wantOutput(t, o, `{"a":"b"}`) }},
		{"ignores its input", []string{"deaf"}, func(t *testing.T, o token.Outcome) { t.Helper(); wantOutput(t, o, `{}`) }},
		{"answers no JSON", []string{"text"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantCause(t, o, machine.ErrorInvalidLocal, `" answered "all is well"; a function answers with JSON`)
		}},
		{"answers nothing", []string{"mute"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantCause(t, o, machine.ErrorInvalidLocal, "answered nothing; a function answers with JSON")
		}},
		// rules: E-12
		{"fails", []string{"exit"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantCause(t, o, token.ErrorFunction, "ended with exit status 3; its error output: ...", "line 99", `ValueError: the job is not there"`)
		}},
		// rules: E-14
		{"throws", []string{"throw", "3"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			if want := token.Thrown("DiskFull", "no room"); o != want {
				t.Errorf("the outcome is %+v, want %+v", o, want)
			}
		}},
		{"answers what an exception looks like", []string{"throw", "0"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantOutput(t, o, `{"errorMessage":"no room","errorType":"DiskFull"}`)
		}},
		{"is killed", []string{"kill"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantCause(t, o, token.ErrorFunction, "ended with signal: killed; its error output: nothing")
		}},
		{"answers as much as it may", []string{"large", large}, func(t *testing.T, o token.Outcome) { t.Helper(); wantOutput(t, o, `{}`) }},
		{"answers a byte too much", []string{"large", fmt.Sprint(engine.LongestReply + 1)}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantCause(t, o, machine.ErrorInvalidLocal, "answered more than 6291456 bytes, which is the limit")
		}},
		{"has arguments in quotes", []string{"args", `'a b'`, `"c d"`, `e\ f`, `"it's"`, `''`, `'|;&<>'`, `$HOME`, "*"}, func(t *testing.T, o token.Outcome) {
			t.Helper()
			wantOutput(t, o, `{"args":["a b","c d","e f","it's","","|;&<>","$HOME","*"]}`)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.want(t, runCommand(t, helperCommand(t, c.command[0], c.command[1:]...), `{"a":"b"}`))
		})
	}
}

// rules: AS-25
func TestCommandOfAMachineHasLambdasErrors(t *testing.T) {
	t.Parallel()
	slow, noProgram := helperCommand(t, "hang"), helperCommand(t, "echo")
	slow.limit, noProgram.path = time.Millisecond, "/no/such/program"
	for want, c := range map[string]command{
		"Runtime.ExitError": helperCommand(t, "kill"), "Sandbox.Timedout": slow, "Runtime.InvalidEntrypoint": noProgram,
		"Function.ResponseSizeTooLarge": helperCommand(t, "large", fmt.Sprint(engine.LongestReply+1)),
		"DiskFull":                      helperCommand(t, "throw", "3"),
	} {
		call := testCall("work", `{}`)
		call.Values.LambdaErrors = true
		outcome, err := c.call(t.Context(), call, commandNow)
		if err != nil || outcome.Error != want || !outcome.Thrown {
			t.Errorf("the outcome is %+v, %v, want %s", outcome, err, want)
		}
	}
	limited := testCall("work", `{}`)
	limited.Values.LambdaErrors, limited.Limit = true, time.Millisecond
	outcome, err := helperCommand(t, "hang").call(t.Context(), limited, commandNow)
	if err != nil || outcome.Thrown {
		t.Fatal(outcome, err)
	}
	wantCause(t, outcome, machine.ErrorTaskTimeout, "raise the time limit of the step")
}

func TestCommandThatIgnoresALargeInput(t *testing.T) {
	t.Parallel()
	input := `{"a":"` + strings.Repeat("x", 1<<20) + `"}` // more than a pipe holds
	wantOutput(t, runCommand(t, helperCommand(t, "deaf"), input), `{}`)
}

func TestCommandTakesTooLong(t *testing.T) {
	t.Parallel()
	c := helperCommand(t, "hang")
	c.limit = time.Millisecond
	wantCause(t, runCommand(t, c, `{}`), machine.ErrorTaskTimeout, "took longer than 1ms")
}

// The answer counts although something in the background holds it open.
func TestCommandLeavesAProgramInTheBackground(t *testing.T) {
	t.Parallel()
	outcome := runCommand(t, helperCommand(t, "background"), `{}`)
	pid, ok := outcome.Output.Get("pid").Int64()
	if !ok {
		t.Fatalf("the outcome is %s: %s, output %s", outcome.Error, outcome.Cause, outcome.Output.JSON())
	}
	if process, err := os.FindProcess(int(pid)); err == nil {
		_ = process.Kill()
	}
}

func TestCommandVanishes(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, 0o700)
	c, err := parseCommand("exec:"+program, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	wantCause(t, runCommand(t, c, `{}`), token.ErrorFunction, "did not run: ", "no such file")
}

func write(t *testing.T, file string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho '{}'\n"), mode); err != nil {
		t.Fatal(err)
	}
}

func TestCancelledCommand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if outcome, err := helperCommand(t, "hang").call(ctx, testCall("work", `{}`), commandNow); err == nil {
		t.Errorf("the outcome is %+v", outcome)
	}
}

func TestInvalidDefinitions(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	write(t, plain, 0o600)
	cases := []struct{ name, definition, want string }{
		{"another kind", "ftp://host/x",
			`"ftp://host/x" is not usable; allowed: exec:COMMAND, http://HOST/PATH, https://HOST/PATH, lambda:NAME, lambda:NAME@http://HOST:PORT`},
		{"nothing", "", `"" is not usable`},
		{"no command", "exec:  ", `names no command; allowed: exec:COMMAND`},
		{"a quote left open", "exec:echo 'a", "has a quote or a parenthesis without its other half"},
		{"a pipe", "exec:cat x | jq .", `has a '|' outside quotes and runs without a shell; put it in quotes, or use exec:sh -c '...'`},
		{"a pipe after letters of two bytes", "exec:echo äöü | jq .", `has a '|' outside quotes`},
		{"two commands", "exec:a; b", `has a ';' outside quotes`},
		{"a redirection", "exec:cat <x", `has a '<' outside quotes`},
		{"a missing program", "exec:there-is-no-such-program -x", `command "there-is-no-such-program" is not there or not executable: executable file`},
		{"a missing file", "exec:./no/such/file", `command "./no/such/file" is not there or not executable: `},
		{"a file that is not executable", "exec:" + plain, "is not there or not executable: permission denied"},
		{"a URL without a host", "http:x", `"http:x" names no host; allowed: exec:COMMAND, http://HOST/PATH`},
		{"a port without a host", "http://:80/", `"http://:80/" names no host`},
		{"a port that is not a number", "https://user:secret@host:port/", `"https:..." is not a URL; allowed: `},
		{"a fragment", "https://user:secret@host/path?key=secret#part", `"https://...@host/path?..." has a fragment (#...)`},
		{"a Lambda function without a name", "lambda:", `"lambda:" names no Lambda function; allowed: lambda:NAME, lambda:NAME:QUALIFIER or lambda:ARN`},
		{"a name that no Lambda function has", "lambda:a b", `"lambda:a b" names no Lambda function`},
		{"an endpoint that is not a URL", "lambda:f@localhost:3001", `"lambda:f@localhost:3001" names no endpoint; allowed: lambda:f@http://HOST:PORT`},
		{"an endpoint with a user", "lambda:f@http://user:secret@localhost:3001", `"lambda:f@http://...@localhost:3001" names no endpoint`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewFunctions(&Clock{}, map[string]string{"work": c.definition})
			if err == nil || !strings.Contains(err.Error(), "task work: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestNewTasksReportsAllInvalidDefinitions(t *testing.T) {
	t.Parallel()
	_, err := NewFunctions(&Clock{}, map[string]string{"b": "http:x", "a": "exec:", "c": helper(t, "echo")})
	if err == nil || !strings.HasPrefix(err.Error(), "task a: ") || !strings.Contains(err.Error(), "\ntask b: ") || strings.Contains(err.Error(), "task c") {
		t.Errorf("error %v", err)
	}
}

func TestCommandsGoBeforeBuiltInFunctions(t *testing.T) {
	t.Parallel()
	tasks, err := NewFunctions(NewVirtualClock(commandNow), map[string]string{"StartJob": helper(t, "args", "mine")})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := tasks.Call(t.Context(), testCall("StartJob", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	wantOutput(t, outcome, `{"args":["mine"]}`)
}

func TestResolveReportsFunctionsWithoutRunner(t *testing.T) {
	t.Parallel()
	tasks, err := NewFunctions(&Clock{}, map[string]string{"mine": helper(t, "echo")})
	if err != nil {
		t.Fatal(err)
	}
	task := func(step, function string) string {
		return "  - type: task\n    name: " + step + "\n    resourceArn: acs:fc:::services/any/functions/" + function + "\n"
	}
	flow, _ := fdl.Parse([]byte("version: v1\ntype: flow\nsteps:\n" + task("A", "StartJob") + task("B", "GetJobStatuss") + task("C", "mine") +
		task("D", "GetJobStatuss") + task("E", "zzzzzzzzzz")))
	missing := tasks.Resolve(flow)
	want := []string{
		`step B: no runner for function "GetJobStatuss"; did you mean "GetJobStatus"?`,
		`step E: no runner for function "zzzzzzzzzz" (known: CheckJob, GetJobStatus, StartJob, SubmitJob, echo, mine)`,
	}
	if len(missing) != len(want) {
		t.Fatalf("%d functions: %v", len(missing), missing)
	}
	for i, err := range missing {
		if err.Error() != want[i] {
			t.Errorf("the message is\n%s\nwant\n%s", err, want[i])
		}
	}
	outcome, err := tasks.Call(t.Context(), testCall("zzzzzzzzzz", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	wantCause(t, outcome, token.ErrorFunctionNotFound, `step GetJobStatus: no runner for function "zzzzzzzzzz"`)
}

var _ engine.Caller = (*Functions)(nil)
