package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-shellwords"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// command is a program that runs in place of a function. It reads the step's input from standard
// input and writes its result to standard output.
type command struct {
	path string   // of the program
	args []string // beside its name
	dir  string   // where it runs, "" for the working directory
	name string   // of the program, as the user wrote it
	// limit is how long it may take, grace how long to wait for its output after its end or its
	// kill.
	limit, grace time.Duration
	// output receives the error output of each call that ended; nil discards it.
	output func(machine.Call, string)
}

const (
	// commandGrace is how long to wait for output that a program in the background holds open.
	commandGrace = 2 * time.Second
	// errorOutput is how many bytes of the end of the error output the cause of a failure
	// holds. shownOutput is how many bytes of its beginning are shown.
	errorOutput = 1 << 10
	shownOutput = 16 << 10
)

// parseCommand reads "exec:PROGRAM ARGUMENT...". It follows a shell's rules for quotes, but no
// shell runs.
func parseCommand(definition, dir string) (command, error) {
	text := strings.TrimPrefix(definition, "exec:")
	parser := shellwords.NewParser()
	words, err := parser.Parse(text)
	switch {
	case err != nil:
		return command{}, fmt.Errorf("%q has a quote or a parenthesis without its other half", definition)
	case parser.Position >= 0:
		return command{}, fmt.Errorf("%q has a %q outside quotes and runs without a shell; put it in quotes, or use exec:sh -c '...'",
			definition, []rune(text)[parser.Position])
	case len(words) == 0:
		return command{}, fmt.Errorf("%q names no command; allowed: exec:COMMAND", definition)
	}
	program := words[0]
	if dir != "" && !filepath.IsAbs(program) && filepath.Base(program) != program { // a bare name is looked up in PATH
		program = filepath.Join(dir, program)
	}
	path, err := exec.LookPath(program)
	if err == nil && dir != "" {
		path, err = filepath.Abs(path) // a relative path would begin at dir again
	}
	if err != nil {
		return command{}, fmt.Errorf("command %q is not there or not executable: %w", words[0], errors.Unwrap(err))
	}
	return command{path: path, args: words[1:], dir: dir, name: words[0], limit: callLimit, grace: commandGrace}, nil
}

func (c command) timeLimit(context.Context) time.Duration { return c.limit }

// call runs the command. It gets the instant now as WAITLESS_NOW, because the clock may be virtual.
func (c command) call(ctx context.Context, call machine.Call, now time.Time) (token.Outcome, error) {
	c.limit = limitOf(c.limit, call)
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	stdout, stderr := &head{limit: engine.LongestReply, whenFull: cancel}, &tail{limit: errorOutput}
	cmd := exec.CommandContext(limited, c.path, c.args...) //nolint:gosec // G204: the user gives the command, and no shell reads it
	cmd.Dir = c.dir
	cmd.Stdin = strings.NewReader(call.Input.JSON() + "\n")
	shown := &head{limit: shownOutput, whenFull: func() {}}
	cmd.Stdout, cmd.Stderr = stdout, io.MultiWriter(stderr, shown)
	cmd.WaitDelay = c.grace
	apart(cmd)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isSecret),
		"WAITLESS_NOW="+now.Format(time.RFC3339Nano),
		"WAITLESS_FLOW="+call.Flow.Name,
		"WAITLESS_EXECUTION="+call.Execution,
		"WAITLESS_STEP="+call.Step,
		"WAITLESS_IDEMPOTENCY_KEY="+call.Key(),
	)
	if call.Iteration != "" {
		cmd.Env = append(cmd.Env, "WAITLESS_ITERATION="+call.Iteration)
	}
	if call.Traceparent != "" {
		cmd.Env = append(cmd.Env, "TRACEPARENT="+call.Traceparent, "TRACESTATE="+call.Tracestate)
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and left a program in the background
	}
	if err != nil && ctx.Err() != nil {
		return token.Outcome{}, ctx.Err()
	}
	outcome := c.outcome(call, err, limited.Err(), stdout, stderr)
	if c.output != nil && len(shown.text) > 0 {
		text := strings.TrimRight(string(shown.text), "\r\n")
		if shown.full {
			text += fmt.Sprintf("\n... (only the first %d bytes are shown)", shown.limit)
		}
		c.output(call, text)
	}
	return outcome, nil
}

// isSecret reports whether a variable holds a secret of this process, which commands do not get.
func isSecret(variable string) bool {
	return strings.HasPrefix(variable, "WAITLESS_CLIENT_KEYS=") || strings.HasPrefix(variable, "WAITLESS_CALLBACK_SECRET=") ||
		strings.HasPrefix(variable, "WAITLESS_API_KEY=") || strings.HasPrefix(variable, "WAITLESS_NOTIFY_SECRET=")
}

func (c command) outcome(call machine.Call, err, limitErr error, stdout *head, stderr *tail) token.Outcome {
	who := fmt.Sprintf("command %q", c.name) // its arguments may hold secrets
	var exit *exec.ExitError
	switch {
	case stdout.full:
		return engine.ReplyTooLong(call, who, stdout.limit)
	case err != nil && limitErr != nil:
		return tooSlow(call, who, c.limit)
	case errors.As(err, &exit):
		if outcome, ok := ownError(stdout.text, who); ok && exit.Exited() {
			return outcome
		}
		return engine.Ended(call, "Runtime.ExitError",
			token.Failure(token.ErrorFunction, fmt.Sprintf("%s ended with %s; its error output: %s", who, exit.ProcessState, stderr)))
	case err != nil:
		return engine.Ended(call, "Runtime.InvalidEntrypoint", token.Failure(token.ErrorFunction, fmt.Sprintf("%s did not run: %s", who, err)))
	}
	return engine.ParseReply(stdout.text, who)
}

// head keeps the first bytes written to it.
type head struct {
	limit int
	text  []byte
	full  bool // more were written
	// whenFull is called when the first byte is dropped.
	whenFull func()
}

func (h *head) Write(p []byte) (int, error) {
	kept := min(len(p), h.limit-len(h.text))
	h.text = append(h.text, p[:kept]...)
	if kept < len(p) && !h.full {
		h.full = true
		h.whenFull()
	}
	return len(p), nil
}

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	text  []byte
	cut   bool // more were written
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - t.limit; more > 0 {
		t.text = append(t.text[:0], t.text[more:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the text in quotes, without the rest of a cut character.
func (t *tail) String() string {
	text := t.text
	for t.cut && len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	text = bytes.TrimSpace(text)
	switch {
	case t.cut:
		return fmt.Sprintf("...%q", text)
	case len(text) == 0:
		return "nothing"
	}
	return fmt.Sprintf("%q", text)
}
