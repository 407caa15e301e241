package wakes_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// nowhere takes what is put back.
type nowhere struct{}

func (nowhere) ChangeMessageVisibility(
	context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func receiver(log *bytes.Buffer, advance func(context.Context, engine.Wake) (engine.Disposition, error)) *wakes.Receiver {
	return &wakes.Receiver{Advance: advance, Receiver: queue.Receiver{
		Client: nowhere{}, URL: "queue", Now: time.Now, Log: slog.New(slog.NewJSONHandler(log, nil)), Line: "wake",
	}}
}

func record(id, body string) events.SQSMessage {
	return events.SQSMessage{MessageId: id, ReceiptHandle: "r-" + id, Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "2"}}
}

func TestTheWakesOfABatch(t *testing.T) {
	t.Parallel()
	one, other := wakeAfter(0), wakeAfter(0)
	other.Execution = engine.NewID("flow", "other")
	start, token := one, one
	start.Cause, start.Seq = machine.CauseStart, 0
	token.Cause, token.Seq = "AQEaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0

	var mu sync.Mutex
	advanced := map[engine.ID][]string{}
	log := &bytes.Buffer{}
	r := receiver(log, func(_ context.Context, w engine.Wake) (engine.Disposition, error) {
		mu.Lock()
		defer mu.Unlock()
		if w.Receives != 2 {
			t.Errorf("receives is %d", w.Receives)
		}
		advanced[w.Execution] = append(advanced[w.Execution], w.Cause)
		switch w.Cause {
		case machine.CauseStart:
			return engine.Disposition{RetryAt: time.Now().Add(time.Hour), EarlyLooks: 2}, nil
		case token.Cause:
			return engine.Disposition{Absent: &engine.Absences{Mappings: []machine.UnmappedSource{
				{Step: "Ask", Mappings: "inputMappings", Target: "a", Source: `$local["b\""]`},
				{Mappings: "outputMappings", Target: "c", Source: "$local.d"},
			}}}, errors.New("broken")
		}
		return engine.Disposition{}, nil
	})
	answer, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		record("1", encode(t, start)), record("2", encode(t, other)), record("3", encode(t, token)),
		record("4", "forged"), record("5", encode(t, one)), record("6", `{"v":2}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, f := range answer.BatchItemFailures {
		kept = append(kept, f.ItemIdentifier)
	}
	slices.Sort(kept)
	if !slices.Equal(kept, []string{"1", "3", "6"}) {
		t.Errorf("kept are %q", kept)
	}
	if got := advanced[one.Execution]; !slices.Equal(got, []string{start.Cause, token.Cause, one.Cause}) {
		t.Errorf("the wakes of one execution came as %q", got)
	}
	if got := advanced[other.Execution]; !slices.Equal(got, []string{other.Cause}) {
		t.Errorf("those of the other came as %q", got)
	}
	for _, line := range []string{
		`"cause":"start","outcome":"put back","receives":2`, `"cause":"token","outcome":"failed","receives":2`,
		`"absent":["step Ask: inputMappings: a <- $local[\"b\\\"\"]","the flow: outputMappings: c <- $local.d"]`,
		`"cause":"timer","outcome":"done","receives":2`, `"outcome":"dropped"`, `"early_looks":2`, `"execution":"` + other.Execution.String() + `"`,
	} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log has no %s:\n%s", line, log)
		}
	}
	if told := strings.Count(log.String(), `"absent"`); told != 1 {
		t.Errorf("%d lines tell of mappings, want that of the wake in which they were:\n%s", told, log)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 6 || strings.Contains(log.String(), token.Cause) {
		t.Errorf("the log has %d lines, want 6 without a handle:\n%s", lines, log)
	}
}
