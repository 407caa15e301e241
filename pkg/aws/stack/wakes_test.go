package stack_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// send puts messages into the wake queue.
func (s stack) send(t *testing.T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		s.put(t, "WakeQueue", body)
	}
}

func encode(t *testing.T, wake engine.Wake) string {
	t.Helper()
	body, err := sqs.EncodeWake(wake)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// awaitQuiet waits until no message is in the queue, not even one that is being
// handled, and answers how many died.
func (s stack) awaitQuiet(t *testing.T, id string) int {
	t.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for s.messages(t, id) > 0 {
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatalf("%s is never quiet", id)
		}
	}
	deadWakes.Lock()
	defer deadWakes.Unlock()
	return s.messages(t, "WakeDeadLetters")
}

// deadWakes is held while dead wakes are counted, and while a test of the same stack keeps one.
var deadWakes sync.Mutex

// messages are those in a queue: there, hidden and delayed.
func (s stack) messages(t *testing.T, id string) int {
	t.Helper()
	counts, err := sqs.NewClient(emulator.Config(t)).GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{
		QueueUrl: aws.String(s.resources[id]), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for name, text := range counts.Attributes {
		if strings.HasPrefix(name, "ApproximateNumberOfMessages") {
			count, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			sum += count
		}
	}
	return sum
}

// Wakes that are doubled, late or forged change nothing: not the calls, not the
// instant until which a step waits, not what has ended.
func TestWakesThatMeanNothing(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	const flow = "events/polling/flow.yaml"
	run := s.follow(t, "run", flow, "--name", "pestered", "--input", `{"delay":10}`)
	run.await("Wait10s waits until")
	id, now, long := engine.NewID("polling", "pestered"), time.Now(), time.Now().Add(-time.Hour)
	nobody := engine.NewID("polling", "nobody")
	pests := []string{
		encode(t, engine.Wake{Execution: id, Cause: machine.CauseStart, Due: now, Sent: now}),
		encode(t, engine.Wake{Execution: id, Cause: machine.CauseStart, Due: long, Sent: long}),
		encode(t, engine.Wake{Execution: id, Cause: machine.CauseStop, Due: long, Sent: long}),
		encode(t, engine.Wake{Execution: id, Cause: "forgedtimer", Due: long, Sent: long, Seq: 1}),
		encode(t, engine.Wake{Execution: id, Cause: "forgedtoken", Due: long, Sent: long}),
		encode(t, engine.Wake{Execution: nobody, Cause: machine.CauseStart, Due: long, Sent: long}),
		encode(t, engine.Wake{Execution: nobody, Cause: "forgedtimer", Due: long, Sent: long, Seq: 7}),
		`{"v":1,"kind":"wake","payload":{"execution":"x"}}`, `{"v":1,"execution":"x"}`, `[]`, `what is this`,
	}
	s.send(t, append(pests, pests...)...)
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	before := s.history(t, "polling/pestered")
	s.send(t, append(pests, pests...)...)
	if dead := s.awaitQuiet(t, "WakeQueue"); dead > 0 {
		t.Errorf("%d wakes died", dead)
	}
	after := s.history(t, "polling/pestered")
	if got := (report{History: after}).calls(t); len(after) != len(before) || got["StartJob"] != 1 || got["GetJobStatus"] != 1 {
		t.Errorf("%d events and then %d, calls %v", len(before), len(after), got)
	}
	if due, done := waits(t, after, "Wait10s"); len(done) != 1 || done[0].Before(due[0].Truncate(time.Millisecond)) {
		t.Errorf("it waited until %v, due at %v", done, due)
	}
	s.check(t, view.ExitUsage, "there is no execution", "show", "polling/nobody")
}

// What takes longer than the interpreter awaits is made by the task runner,
// which closes the token of the call.
func TestLongCallsAreTheTaskRunners(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	s.check(t, view.ExitSucceeded, `"job_status":"success"`, "run", "events/polling/flow.yaml", "--name", "slow", "--input", `{"delay":10}`)
	tokens, err := dynamodb.NewFromConfig(emulator.Config(t)).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.resources["WaitsTable"])})
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens.Items) < 2 {
		t.Errorf("%d tokens are closed, want those of StartJob and GetJobStatus", len(tokens.Items))
	}
}
