package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mattn/go-shellwords"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// command is a program of the user's that stands in for a function: the step's
// input comes on its standard input, its standard output is the answer.
type command struct {
	path string   // of the program
	args []string // beside its name
	text string   // as the user wrote it
}

const (
	// commandLimit is how long a command may take: as long as a Lambda function.
	commandLimit = 15 * time.Minute
	// commandOutput is how much of its output is read: as much as a Lambda
	// function may answer.
	commandOutput = 6 << 20
	// commandGrace is how long a command that was told to stop is waited for.
	commandGrace = 2 * time.Second
)

// parseCommand reads "exec:PROGRAM ARGUMENT...", with the quotes of a shell
// but without one.
func parseCommand(definition string) (command, error) {
	text, ok := strings.CutPrefix(definition, "exec:")
	if !ok {
		return command{}, fmt.Errorf("%q is not usable; allowed: exec:COMMAND", definition)
	}
	words, err := shellwords.Parse(text)
	if err != nil || len(words) == 0 {
		return command{}, fmt.Errorf("%q has no command after exec:, or a quote that is not closed", definition)
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return command{}, fmt.Errorf("command %q is not there or not executable: %w", words[0], errors.Unwrap(err))
	}
	return command{path: path, args: words[1:], text: text}, nil
}

// call runs the command. now goes to it as WAITLESS_NOW, since with a virtual
// clock it would see another time.
func (c command) call(ctx context.Context, call machine.CallTask, now time.Time) (token.Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	stdout, stderr := &limitedBuffer{limit: commandOutput}, &limitedBuffer{limit: commandOutput}
	cmd := exec.CommandContext(limited, c.path, c.args...) //nolint:gosec // running the user's command is the purpose
	cmd.Stdin = strings.NewReader(call.Input.JSON() + "\n")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = commandGrace
	cmd.Env = append(os.Environ(),
		"WAITLESS_NOW="+now.Format(time.RFC3339Nano),
		"WAITLESS_FLOW="+call.Flow.Name,
		"WAITLESS_EXECUTION="+call.Execution,
		"WAITLESS_STEP="+call.Step,
		"WAITLESS_IDEMPOTENCY_KEY="+call.Key(),
	)
	err := cmd.Run()
	if ctx.Err() != nil {
		return token.Outcome{}, ctx.Err()
	}
	return c.outcome(err, limited.Err(), stdout, stderr), nil
}

func (c command) outcome(err, limitErr error, stdout, stderr *limitedBuffer) token.Outcome {
	who := fmt.Sprintf("command %q", c.text)
	var exit *exec.ExitError
	switch {
	case limitErr != nil:
		return token.Failure(ErrorTimeout, fmt.Sprintf("%s took longer than %s", who, commandLimit))
	case stdout.full():
		return token.Failure(ErrorNoJSON, fmt.Sprintf("%s answered more than %d bytes, which is the limit; write large data elsewhere and answer with its place",
			who, commandOutput))
	case errors.As(err, &exit):
		return token.Failure(ErrorFunction, fmt.Sprintf("%s ended with %s; its error output: %s", who, exit.ProcessState, excerpt(lastLines(stderr.Bytes()))))
	case err != nil:
		return token.Failure(ErrorFunction, fmt.Sprintf("%s did not run: %s", who, err))
	}
	return parseAnswer(stdout.Bytes(), who)
}

// lastLines is the end of an error output, where programs say what went wrong.
func lastLines(text []byte) []byte {
	const lines = 3
	text = bytes.TrimSpace(text)
	end := len(text)
	for range lines {
		if end = bytes.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}

// limitedBuffer keeps the first bytes written to it and swallows the rest.
type limitedBuffer struct {
	bytes.Buffer
	limit   int
	written int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.written += len(p)
	_, err := b.Buffer.Write(p[:min(len(p), b.limit-b.Len())])
	return len(p), err
}

func (b *limitedBuffer) full() bool { return b.written > b.limit }
