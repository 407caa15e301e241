package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
)

// letterBox is a stack with dead letters in memory. A received letter is hidden until it is
// released.
type letterBox struct {
	target.AWS
	letters  []target.Letter
	hidden   map[string]bool
	replayed []string
	gone     []string // queues that were deleted
}

func (b *letterBox) Region() string { return "eu-west-1" }

func (b *letterBox) Outputs(context.Context, string) (map[string]string, error) {
	return map[string]string{target.CallbackOutput: "https://example.org"}, nil
}

func (b *letterBox) DeadLetters(context.Context, string) (target.DeadLetters, error) { return b, nil }

func (b *letterBox) Queues() []string { return []string{"TaskDeadLetters", "WakeDeadLetters"} }

func (b *letterBox) Receive(_ context.Context, queue string) (some []target.Letter, err error) {
	if slices.Contains(b.gone, queue) {
		return nil, target.ErrNoQueue
	}
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

// do runs a command on the stack.
func (b *letterBox) do(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := Command{
		Args: append([]string{"dead-letters"}, args...), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: environment(t, nil),
		Stores: compose.Stores{}, AWS: func(context.Context, target.AWSOptions) (target.AWS, error) { return b, nil },
	}
	got := result{c.Run(t.Context()), stdout.String(), stderr.String()}
	if slices.ContainsFunc(b.letters, func(l target.Letter) bool { return b.hidden[l.ID] }) {
		t.Errorf("%v leaves letters hidden: %v", args, b.hidden)
	}
	return got
}

// A deleted queue is named, and does not keep the others from being read.
func TestDeadLettersOfDeletedQueues(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		gone, args []string
		exit       int
		out, err   string
	}{
		"one": {
			[]string{"TaskDeadLetters"}, []string{"list"}, view.ExitSucceeded,
			"a  WakeDeadLetters", "TaskDeadLetters: the queue does not exist; try: waitless doctor --stack orders",
		},
		"one, replayed": {[]string{"TaskDeadLetters"}, []string{"replay", "--all"}, view.ExitSucceeded, "replayed 1", "TaskDeadLetters: the queue does not exist"},
		"the named one": {
			[]string{"TaskDeadLetters"}, []string{"list", "--queue", "TaskDeadLetters"}, view.ExitInternal, "", "try: waitless doctor --stack orders, or --queue",
		},
		"all": {[]string{"TaskDeadLetters", "WakeDeadLetters"}, []string{"list"}, view.ExitInternal, "", "no dead-letter queue could be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &letterBox{hidden: map[string]bool{}, gone: tt.gone, letters: []target.Letter{{ID: "a", Queue: "WakeDeadLetters", Kind: "wake"}}}
			got := b.do(t, append(tt.args, "--stack", "orders")...)
			if got.exit != tt.exit || !strings.Contains(got.stdout, tt.out) || !strings.Contains(got.stderr, tt.err) {
				t.Errorf("%+v, want exit %d, %q and %q", got, tt.exit, tt.out, tt.err)
			}
		})
	}
}

// A function would discard what it cannot read, so only its ID replays it.
func TestUnreadableLettersAreLeft(t *testing.T) {
	t.Parallel()
	b := &letterBox{hidden: map[string]bool{}, letters: []target.Letter{
		{ID: "a", Queue: "TaskDeadLetters", Kind: "task"}, {ID: "b", Queue: "TaskDeadLetters", Body: "[1,2,3]"},
		{ID: "c", Queue: "WakeDeadLetters", Body: "text"}, {ID: "d", Queue: "WakeDeadLetters", Kind: "wake"},
	}}
	got := b.do(t, "replay", "--all", "--stack", "orders", "--json")
	if want := "left 2 letters that cannot be read: b, c; try: "; got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, want) {
		t.Errorf("%+v, want %q", got, want)
	}
	conforms(t, "dead-letters", got.stdout)
	if !strings.Contains(got.stdout, `"left": [`) || !slices.Equal(b.replayed, []string{"a", "d"}) {
		t.Errorf("replayed %v: %s", b.replayed, got.stdout)
	}
	if got := b.do(t, "list", "--stack", "orders", "--json"); !strings.Contains(got.stdout, `"body": "[1,2,3]"`) {
		t.Errorf("%+v lacks the body", got)
	}
	if got := b.do(t, "replay", "c", "--stack", "orders"); got.exit != view.ExitSucceeded || !slices.Equal(b.replayed, []string{"a", "d", "c"}) {
		t.Errorf("by its ID: %+v, replayed %v", got, b.replayed)
	}
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
	if got := b.do(t, "replay"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "name the ids of letters, or --all") {
		t.Errorf("without a stack: got %+v", got)
	}
	for _, c := range []struct {
		args []string
		exit int
		want string
		left string
	}{
		{[]string{"list"}, view.ExitSucceeded, "cause=start", "abcd"},
		{[]string{"list"}, view.ExitSucceeded, "unreadable", "abcd"},
		{[]string{"list", "--limit", "3"}, view.ExitSucceeded, "there are more; --limit 0 lists all", "abcd"},
		{[]string{"list", "--limit", "-1"}, view.ExitUsage, "--limit is -1; allowed: a number of letters, or 0 for all", "abcd"},
		{[]string{"list", "--queue", "None"}, view.ExitUsage, "--queue TaskDeadLetters,WakeDeadLetters", "abcd"},
		{[]string{"list", "--json"}, view.ExitSucceeded, `"receives": 1001`, "abcd"},
		{[]string{"replay"}, view.ExitUsage, "name the ids of letters, or --all", "abcd"},
		{[]string{"replay", "a", "--all"}, view.ExitUsage, "name the ids of letters, or --all", "abcd"},
		{[]string{"replay", "b"}, view.ExitSucceeded, "replayed 1", "acd"},
		{[]string{"drop", "a", "none"}, view.ExitFailed, "waitless: dead-letters drop: none: no such dead letter: it is gone", "cd"},
		{[]string{"drop", "none"}, view.ExitFailed, "try: waitless dead-letters list --stack orders", "cd"},
		{[]string{"drop", "--all", "--queue", "TaskDeadLetters"}, view.ExitSucceeded, "dropped 1", "c"},
		{[]string{"replay", "--all", "--json"}, view.ExitSucceeded, `"id": "c"`, ""},
		{[]string{"list"}, view.ExitSucceeded, "no dead letters", ""},
		{[]string{"list", "--json"}, view.ExitSucceeded, `"letters": []`, ""},
	} {
		got := b.do(t, append([]string{c.args[0], "--stack", "orders"}, c.args[1:]...)...)
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
	if got := b.do(t, "list"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--stack NAME") {
		t.Errorf("without a stack: %+v", got)
	}
}
