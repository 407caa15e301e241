package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cmd/compose"
)

// letterBox is a stack with dead letters in memory. A received letter is hidden until it is released.
type letterBox struct {
	target.AWS
	letters  []target.Letter
	hidden   map[string]bool
	replayed []string
}

func (b *letterBox) Region() string { return "eu-west-1" }

func (b *letterBox) Outputs(context.Context, string) (map[string]string, error) {
	return map[string]string{target.CallbackOutput: "https://example.org"}, nil
}

func (b *letterBox) DeadLetters(context.Context, string) (target.DeadLetters, error) { return b, nil }

func (b *letterBox) Queues() []string { return []string{"TaskDeadLetters", "WakeDeadLetters"} }

func (b *letterBox) Receive(_ context.Context, queue string) (some []target.Letter, err error) {
	for _, l := range b.letters {
		if l.Queue == queue && !b.hidden[l.ID] && len(some) < 2 {
			b.hidden[l.ID] = true
			some = append(some, l)
		}
	}
	return some, nil
}

func (b *letterBox) Release(_ context.Context, letters []target.Letter) error {
	for _, l := range letters {
		delete(b.hidden, l.ID)
	}
	return nil
}

func (b *letterBox) Replay(ctx context.Context, letter target.Letter) error {
	b.replayed = append(b.replayed, letter.ID)
	return b.Drop(ctx, letter)
}

func (b *letterBox) Drop(_ context.Context, letter target.Letter) error {
	b.letters = slices.DeleteFunc(b.letters, func(l target.Letter) bool { return l.ID == letter.ID })
	return nil
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	b := &letterBox{hidden: map[string]bool{}}
	for _, id := range []string{"a", "b", "c", "d"} {
		b.letters = append(b.letters, target.Letter{
			ID: id, Queue: "WakeDeadLetters", Kind: "wake", About: map[string]string{"execution": "0102", "cause": "start\x1b[2J"}, SentTime: time.Now().Add(-time.Hour),
			Receives: 1001,
		})
	}
	b.letters[3].Queue, b.letters[3].Kind, b.letters[3].About = "TaskDeadLetters", "", nil
	do := func(args ...string) result {
		t.Helper()
		var stdout, stderr bytes.Buffer
		c := Command{
			Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: environment(t, nil), Stores: compose.Stores{},
			AWS: func(context.Context, target.AWSOptions) (target.AWS, error) { return b, nil },
		}
		got := result{c.Run(t.Context()), stdout.String(), stderr.String()}
		if len(b.hidden) > 0 && len(b.letters) > 0 && slices.ContainsFunc(b.letters, func(l target.Letter) bool { return b.hidden[l.ID] }) {
			t.Errorf("%v leaves letters hidden: %v", args, b.hidden)
		}
		return got
	}
	if got := do("dead-letters", "replay"); got.exit != ExitUsage || !strings.Contains(got.stderr, "name the ids of letters, or --all") {
		t.Errorf("without a stack: got %+v", got)
	}
	for _, c := range []struct {
		args []string
		exit int
		want string
		left string
	}{
		{[]string{"list"}, ExitSucceeded, "cause=start", "abcd"},
		{[]string{"list"}, ExitSucceeded, "unreadable", "abcd"},
		{[]string{"list", "--limit", "3"}, ExitSucceeded, "there are more; --limit 0 lists all", "abcd"},
		{[]string{"list", "--queue", "None"}, ExitUsage, "--queue TaskDeadLetters,WakeDeadLetters", "abcd"},
		{[]string{"list", "--json"}, ExitSucceeded, `"receives": 1001`, "abcd"},
		{[]string{"replay"}, ExitUsage, "name the ids of letters, or --all", "abcd"},
		{[]string{"replay", "a", "--all"}, ExitUsage, "name the ids of letters, or --all", "abcd"},
		{[]string{"replay", "b"}, ExitSucceeded, "replayed 1", "acd"},
		{[]string{"drop", "a", "none"}, ExitFailed, "no dead letter none: it is gone", "cd"},
		{[]string{"drop", "--all", "--queue", "TaskDeadLetters"}, ExitSucceeded, "dropped 1", "c"},
		{[]string{"replay", "--all", "--json"}, ExitSucceeded, `"id": "c"`, ""},
	} {
		got := do(append([]string{"dead-letters", c.args[0], "--stack", "orders"}, c.args[1:]...)...)
		if got.exit != c.exit || !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("%v: %+v, want exit %d and %q", c.args, got, c.exit, c.want)
		}
		if strings.Contains(got.stdout, "\x1b") {
			t.Errorf("%v prints a control character: %q", c.args, got.stdout)
		}
		if slices.Contains(c.args, "--json") {
			conforms(t, "dead-letters", got.stdout)
		}
		left := ""
		for _, l := range b.letters {
			left += l.ID
		}
		if left != c.left {
			t.Errorf("%v leaves %q, want %q", c.args, left, c.left)
		}
	}
	if !slices.Equal(b.replayed, []string{"b", "c"}) {
		t.Errorf("replayed %v", b.replayed)
	}
	if got := do("dead-letters", "list"); got.exit != ExitUsage || !strings.Contains(got.stderr, "--stack NAME") {
		t.Errorf("without a stack: %+v", got)
	}
}
