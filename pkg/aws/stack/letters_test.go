package stack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// deadLetters runs a command on the dead letters of job events, and returns those that it prints of
// an event.
func (s stack) deadLetters(t *testing.T, event string, args ...string) (about []target.Letter) {
	t.Helper()
	got := s.do(t, append([]string{"dead-letters", args[0], "--queue", "JobDeadLetters", "--json"}, args[1:]...)...)
	var printed struct{ Letters []target.Letter }
	if err := json.Unmarshal([]byte(got.stdout), &printed); err != nil || got.exit != view.ExitSucceeded {
		t.Fatalf("dead-letters %v: %v, %+v", args, err, got)
	}
	for _, letter := range printed.Letters {
		if letter.Kind == "event" && letter.About["event"] == event {
			about = append(about, letter)
		}
	}
	return about
}

// A dead letter is listed as often as the user likes. Replayed, it does what it was sent for;
// dropped, it is gone.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	run := s.follow(t, "run", writeFlow(t, "dead", submits), "--name", "one", "--input", input)
	started := run.submitted(s, "dead/one")
	fill := strings.NewReplacer("REGION", emulator.Region, "JOBKEY", started.Key, "JOBID", started.ID)
	now := time.Now().UTC().Format(time.RFC3339)
	s.put(t, "JobDeadLetters", fill.Replace(jobEvent("replayed", "aws.batch", emulator.Account, now)))
	for range 2 { // the first listing does not hide the letter from the second
		if listed := s.deadLetters(t, "replayed", "list"); len(listed) != 1 || listed[0].Queue != "JobDeadLetters" || time.Since(listed[0].SentTime) > time.Hour {
			t.Fatalf("listed %+v", listed)
		}
	}
	replayed := s.deadLetters(t, "replayed", "replay", s.deadLetters(t, "replayed", "list")[0].ID)
	if exit := run.wait(); exit != view.ExitFailed || len(replayed) != 1 {
		t.Errorf("exit %d, replayed %+v", exit, replayed)
	}
	s.check(t, view.ExitSucceeded, "event replayed", "show", "dead/one")

	s.put(t, "JobDeadLetters", fill.Replace(jobEvent("dropped", "aws.batch", emulator.Account, now)))
	left := s.deadLetters(t, "dropped", "list")
	if len(left) != 1 || len(s.deadLetters(t, "replayed", "list")) > 0 {
		t.Fatalf("left after the replay: %+v", left)
	}
	if dropped := s.deadLetters(t, "dropped", "drop", left[0].ID); len(dropped) != 1 {
		t.Errorf("dropped %+v", dropped)
	}
	if listed := s.deadLetters(t, "dropped", "list"); len(listed) > 0 {
		t.Errorf("left after the drop: %+v", listed)
	}
	s.check(t, view.ExitFailed, "it is gone", "dead-letters", "drop", left[0].ID)
	s.check(t, view.ExitUsage, "the stack has no dead-letter queue", "dead-letters", "list", "--queue", "None")
}
