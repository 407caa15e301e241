package queue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/queue"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// hidden notes for how long messages were put back, by their receipts.
type hidden struct {
	mu      sync.Mutex
	seconds map[string]int32
	err     error
}

func (h *hidden) ChangeMessageVisibility(
	ctx context.Context, input *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seconds == nil {
		h.seconds = map[string]int32{}
	}
	h.seconds[*input.QueueUrl+" "+*input.ReceiptHandle] = input.VisibilityTimeout
	return &sqs.ChangeMessageVisibilityOutput{}, errors.Join(h.err, ctx.Err())
}

// bench is a receiver and what can be seen of its work.
type bench struct {
	queue.Receiver

	hidden *hidden
	log    *bytes.Buffer
}

func newBench() bench {
	h, log := &hidden{}, &bytes.Buffer{}
	return bench{hidden: h, log: log, Receiver: queue.Receiver{
		Client: h, URL: "queue", Now: func() time.Time { return now }, Line: "work", Needs: 10 * time.Second,
		Log:    slog.New(slog.NewJSONHandler(log, nil)),
		Random: func(n time.Duration) time.Duration { return n },
	}}
}

func received(ids ...string) []queue.Message {
	var event events.SQSEvent
	for _, id := range ids {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: id, ReceiptHandle: "receipt " + id, Body: "body", Attributes: map[string]string{"ApproximateReceiveCount": "3"},
		})
	}
	return queue.Messages(event)
}

func doing(putBack time.Time, err error) func(context.Context) (time.Time, error) {
	return func(context.Context) (time.Time, error) { return putBack, err }
}

func TestWhatBecomesOfAMessage(t *testing.T) {
	t.Parallel()
	const nothing = -1
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		do       func(context.Context) (time.Time, error)
		dropped  error
		receives int
		left     time.Duration // of the worker's time; 0 for no limit
		outcome  string
		hidden   int32
		level    string
	}{
		"done":                   {do: doing(time.Time{}, nil), outcome: "done", hidden: nothing, level: "INFO"},
		"dropped":                {dropped: broken, outcome: "dropped", hidden: nothing, level: "WARN"},
		"put back":               {do: doing(now.Add(90*time.Second+1), nil), outcome: "put back", hidden: 91, level: "INFO"},
		"put back to the past":   {do: doing(now.Add(-time.Hour), nil), outcome: "put back", hidden: 0, level: "INFO"},
		"put back for a day":     {do: doing(now.Add(24*time.Hour), nil), outcome: "put back", hidden: 42000, level: "INFO"},
		"failed":                 {do: doing(time.Time{}, broken), receives: 1, outcome: "failed", hidden: 2, level: "ERROR"},
		"failed, nobody counted": {do: doing(time.Time{}, broken), outcome: "failed", hidden: 2, level: "ERROR"},
		"failed for the fourth":  {do: doing(time.Time{}, broken), receives: 4, outcome: "failed", hidden: 16, level: "ERROR"},
		"failed many times":      {do: doing(time.Time{}, broken), receives: 1 << 40, outcome: "failed", hidden: 300, level: "ERROR"},
		"failed with a verdict":  {do: doing(now, broken), receives: 1, outcome: "failed", hidden: 2, level: "ERROR"},
		"time enough":            {do: doing(time.Time{}, nil), left: time.Hour, outcome: "done", hidden: nothing, level: "INFO"},
		"too little time":        {do: doing(time.Time{}, nil), left: 10 * time.Second, outcome: "no time", hidden: 0, level: "WARN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench()
			ctx := t.Context()
			if tt.left > 0 {
				limited, cancel := context.WithTimeout(ctx, tt.left)
				defer cancel()
				ctx = limited
			}
			m := received("a")[0]
			m.Receives = tt.receives
			answer := b.Handle(ctx, [][]queue.Work{{{Message: m, Do: tt.do, Dropped: tt.dropped, Attrs: []slog.Attr{slog.String("what", "it")}}}})
			wantKept := tt.hidden != nothing
			if kept := len(answer.BatchItemFailures) == 1 && answer.BatchItemFailures[0].ItemIdentifier == "a"; kept != wantKept {
				t.Errorf("kept is %t, want %t", kept, wantKept)
			}
			if seconds, ok := b.hidden.seconds["queue receipt a"]; ok != wantKept || ok && seconds != tt.hidden {
				t.Errorf("put back %t for %d s, want %t for %d", ok, seconds, wantKept, tt.hidden)
			}
			b.wantLine(t, tt.level, tt.outcome)
		})
	}
}

func (b bench) wantLine(t *testing.T, level, outcome string) {
	t.Helper()
	var line struct {
		Level, Msg, What, Outcome string
		Receives, DurationMS      *int
	}
	text := strings.ReplaceAll(b.log.String(), "duration_ms", "durationMS")
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("the log is not one line: %s", b.log)
	}
	if line.Level != level || line.Msg != "work" || line.What != "it" || line.Outcome != outcome || line.Receives == nil || line.DurationMS == nil {
		t.Errorf("the log line is %s", b.log)
	}
}

func TestNothingKeptIsAnEmptyList(t *testing.T) {
	t.Parallel()
	answer := newBench()
	text, err := json.Marshal(answer.Handle(t.Context(), nil))
	if err != nil || string(text) != `{"batchItemFailures":[]}` {
		t.Errorf("the answer is %s, error %v", text, err)
	}
}

func TestAMessageThatCannotBePutBackIsKept(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.hidden.err = errors.New("denied")
	answer := b.Handle(t.Context(), [][]queue.Work{{{Message: received("a")[0], Do: doing(now.Add(time.Minute), nil)}}})
	if len(answer.BatchItemFailures) != 1 || !strings.Contains(b.log.String(), `"put_back_error":"denied"`) {
		t.Errorf("the answer is %+v, the log %s", answer, b.log)
	}
}

// The worker's time ends a little earlier for the work than for putting back.
func TestTimeIsLeftToPutBack(t *testing.T) {
	t.Parallel()
	b := newBench()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	end, _ := ctx.Deadline()
	b.Handle(ctx, [][]queue.Work{{{Message: received("a")[0], Do: func(ctx context.Context) (time.Time, error) {
		if got, _ := ctx.Deadline(); !got.Equal(end.Add(-time.Second)) {
			t.Errorf("the work ends at %s, the worker at %s", got, end)
		}
		return time.Time{}, nil
	}}}})
}

func TestGroupsRunSideBySideAndTheirWorkInOrder(t *testing.T) {
	t.Parallel()
	const groups, each, most = 25, 3, 10
	var mu sync.Mutex
	var running, highest int
	full := make(chan struct{})
	order := map[int][]int{}
	var all [][]queue.Work
	for g := range groups {
		var group []queue.Work
		for i := range each {
			group = append(group, queue.Work{Message: received(fmt.Sprint(g, i))[0], Do: func(context.Context) (time.Time, error) {
				mu.Lock()
				order[g] = append(order[g], i)
				running++
				if highest = max(highest, running); running == most {
					select {
					case <-full:
					default:
						close(full)
					}
				}
				mu.Unlock()
				<-full // so that they are seen at once
				mu.Lock()
				running--
				mu.Unlock()
				return now, nil
			}})
		}
		all = append(all, group)
	}
	b := newBench()
	b.Log = slog.New(slog.DiscardHandler)
	answer := b.Handle(t.Context(), all)
	if highest != most || len(answer.BatchItemFailures) != groups*each || len(b.hidden.seconds) != groups*each {
		t.Errorf("%d at once, want %d; %d kept and %d put back, want %d",
			highest, most, len(answer.BatchItemFailures), len(b.hidden.seconds), groups*each)
	}
	for g := range groups {
		if !slices.Equal(order[g], []int{0, 1, 2}) {
			t.Errorf("the order of group %d is %v", g, order[g])
		}
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for newer, kept := range map[bool]int{false: 0, true: 1} {
		b := newBench()
		answer := b.Handle(t.Context(), [][]queue.Work{{queue.Unreadable(received("a")[0], newer, errors.New("strange"))}})
		if len(answer.BatchItemFailures) != kept || !strings.Contains(b.log.String(), `"error":"strange"`) {
			t.Errorf("newer %t: the answer is %+v, the log %s", newer, answer, b.log)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	if m := received("a"); len(m) != 1 || m[0].ID != "a" || m[0].Body != "body" || m[0].Receives != 3 {
		t.Errorf("messages %+v", m)
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	const base, arn = "https://sqs.eu-west-1.amazonaws.com/123456789012/", "arn:aws:sqs:eu-west-1:123456789012:"
	tasks, deliveries := base+"w-TaskQueue-1", base+"w-DeliveryQueue-1"
	for source, want := range map[string]struct {
		url string
		err error
	}{
		arn + "w-TaskQueue-1": {tasks, nil}, arn + "w-DeliveryQueue-1": {deliveries, nil},
		arn + "x-w-DeliveryQueue-1": {tasks, queue.ErrSource}, "": {tasks, queue.ErrSource},
	} {
		event := events.SQSEvent{Records: []events.SQSMessage{{EventSourceARN: source}, {EventSourceARN: source}}}
		if got, err := queue.From(event, tasks, deliveries); got != want.url || !errors.Is(err, want.err) {
			t.Errorf("%q is from %s, error %v; want %+v", source, got, err, want)
		}
	}
	mixed := events.SQSEvent{Records: []events.SQSMessage{{EventSourceARN: arn + "w-TaskQueue-1"}, {EventSourceARN: arn + "w-DeliveryQueue-1"}}}
	if _, err := queue.From(mixed, tasks, deliveries); !errors.Is(err, queue.ErrSource) {
		t.Errorf("of two queues: error %v", err)
	}
	if got, err := queue.From(events.SQSEvent{}, tasks, deliveries); got != tasks || err != nil {
		t.Errorf("an event without messages is from %s, error %v", got, err)
	}
}

// requests notes when a message was hidden, and for how long.
type requests struct {
	all []string
	err error
}

func (r *requests) ChangeMessageVisibility(
	ctx context.Context, input *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	r.all = append(r.all, fmt.Sprintf("%s %s: %d s", time.Since(start).Round(time.Second), *input.ReceiptHandle, input.VisibilityTimeout))
	return &sqs.ChangeMessageVisibilityOutput{}, errors.Join(r.err, ctx.Err())
}

// start is when the time of [synctest] begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A worker that dies during the work leaves the message hidden for Hold at most.
func TestHeldMessageIsHiddenAgainWhileItsWorkRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lasts time.Duration
		err   error
		want  []string
	}{
		"short":  {0, nil, []string{"0s receipt a: 90 s"}},
		"long":   {70 * time.Second, nil, []string{"0s receipt a: 90 s", "30s receipt a: 90 s", "1m0s receipt a: 90 s"}},
		"failed": {40 * time.Second, errors.New("broken"), []string{"0s receipt a: 90 s", "30s receipt a: 90 s", "40s receipt a: 8 s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, r := newBench(), &requests{}
				b.Client, b.Hold = r, 90*time.Second
				work := queue.Work{Message: received("a")[0], Do: func(context.Context) (time.Time, error) {
					time.Sleep(tt.lasts)
					return time.Time{}, tt.err
				}}
				b.Handle(t.Context(), [][]queue.Work{{work}})
				time.Sleep(time.Hour)
				if !slices.Equal(r.all, tt.want) {
					t.Errorf("requests %q, want %q", r.all, tt.want)
				}
			})
		})
	}
}

// The work goes on when a message cannot be held: it is then done at least once,
// as ever.
func TestHeldMessageThatCannotBeHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.Client, b.Hold = &requests{err: errors.New("denied")}, 90*time.Second
		work := queue.Work{Message: received("a")[0], Do: func(context.Context) (time.Time, error) {
			time.Sleep(time.Minute - 1)
			return time.Time{}, nil
		}}
		if answer := b.Handle(t.Context(), [][]queue.Work{{work}}); len(answer.BatchItemFailures) != 0 {
			t.Errorf("the answer is %+v", answer)
		}
		if n := strings.Count(b.log.String(), `"msg":"work not held"`); n != 2 || !strings.Contains(b.log.String(), `"error":"denied"`) {
			t.Errorf("%d warnings, want 2: %s", n, b.log)
		}
	})
}
