package sqs_test

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
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/telemetry"
)

// workOf returns a receiver whose messages all ask for this work.
func workOf(work sqs.Work, err error) *fixture {
	work.Attrs = append(work.Attrs, slog.String("what", "it"))
	return newFixture(func(sqs.Message) (sqs.Work, error) { return work, err })
}

func doing(retryAt time.Time, err error) func(context.Context) (time.Time, error) {
	return func(context.Context) (time.Time, error) { return retryAt, err }
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	const nothing = -1
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		do       func(context.Context) (time.Time, error)
		decoding error
		receives int
		left     time.Duration // of the worker's time; 0 for no limit
		outcome  string
		hidden   int32
		level    string
	}{
		"done":                   {do: doing(time.Time{}, nil), outcome: "done", hidden: nothing, level: "INFO"},
		"discarded":              {decoding: broken, outcome: "discarded", hidden: nothing, level: "WARN"},
		"retry":                  {do: doing(now.Add(90*time.Second+1), nil), outcome: "retry", hidden: 91, level: "INFO"},
		"retry in the past":      {do: doing(now.Add(-time.Hour), nil), outcome: "retry", hidden: 0, level: "INFO"},
		"retry in a day":         {do: doing(now.Add(24*time.Hour), nil), outcome: "retry", hidden: 42000, level: "INFO"},
		"failed":                 {do: doing(time.Time{}, broken), receives: 1, outcome: "failed", hidden: 2, level: "ERROR"},
		"failed, not counted":    {do: doing(time.Time{}, broken), outcome: "failed", hidden: 2, level: "ERROR"},
		"failed for the fourth":  {do: doing(time.Time{}, broken), receives: 4, outcome: "failed", hidden: 16, level: "ERROR"},
		"failed many times":      {do: doing(time.Time{}, broken), receives: 1 << 40, outcome: "failed", hidden: 300, level: "ERROR"},
		"failed with an instant": {do: doing(now, broken), receives: 1, outcome: "failed", hidden: 2, level: "ERROR"},
		"time enough":            {do: doing(time.Time{}, nil), left: time.Hour, outcome: "done", hidden: nothing, level: "INFO"},
		"too little time":        {do: doing(time.Time{}, nil), left: 10 * time.Second, outcome: "no time", hidden: 0, level: "WARN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := workOf(sqs.Work{Do: tt.do}, tt.decoding)
			f.MinTime = 10 * time.Second
			ctx := t.Context()
			if tt.left > 0 {
				limited, cancel := context.WithTimeout(ctx, tt.left)
				defer cancel()
				ctx = limited
			}
			event := batch("body")
			event.Records[0].Attributes["ApproximateReceiveCount"] = fmt.Sprint(tt.receives)
			response, err := f.Handle(ctx, event)
			wantKept := tt.hidden != nothing
			if kept := len(response.BatchItemFailures) == 1 && response.BatchItemFailures[0].ItemIdentifier == "1"; err != nil || kept != wantKept {
				t.Errorf("kept is %t, want %t; error %v", kept, wantKept, err)
			}
			if seconds, ok := f.hidden["1"]; ok != wantKept || ok && seconds != tt.hidden {
				t.Errorf("hidden %t for %d s, want %t for %d", ok, seconds, wantKept, tt.hidden)
			}
			f.wantLine(t, tt.level, tt.outcome)
		})
	}
}

func (f *fixture) wantLine(t *testing.T, level, outcome string) {
	t.Helper()
	var line struct {
		Level, Msg, What, Outcome string
		Receives, DurationMS      *int
	}
	text := strings.ReplaceAll(f.log.String(), "duration_ms", "durationMS")
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("the log is not one line: %s", f.log)
	}
	if line.Level != level || line.Msg != "work" || line.What != "it" || line.Outcome != outcome || line.Receives == nil || line.DurationMS == nil {
		t.Errorf("the log line is %s", f.log)
	}
}

// A batch writes one line, with its failures and the deliveries among them.
func TestMetricsOfABatch(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	works := map[string]sqs.Work{
		"done": {Do: doing(time.Time{}, nil)}, "retry": {Do: doing(now, nil)}, "failed": {Do: doing(time.Time{}, broken)},
		"discarded": {Do: doing(time.Time{}, sqs.ErrDiscard)}, "delivery": {Do: doing(time.Time{}, broken), Failures: telemetry.DeliveryFailures},
	}
	f := newFixture(func(m sqs.Message) (sqs.Work, error) { return works[m.Body], nil })
	var lines bytes.Buffer
	f.Metrics = &telemetry.Batch{Stack: "s", Now: f.Now, Out: &lines}
	f.receive(t, "done", "retry")
	if lines.Len() > 0 {
		t.Errorf("a batch without failures wrote %s", &lines)
	}
	f.receive(t, "done", "failed", "delivery", "discarded", "failed")
	line, _, _ := strings.Cut(lines.String(), `,"_aws"`)
	if want := `{"DeliveryFailures":1,"MessagesDiscarded":1,"MessagesFailed":3,"Stack":"s"`; line != want || strings.Count(lines.String(), "\n") != 1 {
		t.Errorf("it wrote %s, want one line that begins with %s", &lines, want)
	}
}

func TestNothingKeptIsAnEmptyList(t *testing.T) {
	t.Parallel()
	response, err := newFixture(nil).Handle(t.Context(), events.SQSEvent{})
	if text, _ := json.Marshal(response); err != nil || string(text) != `{"batchItemFailures":[]}` {
		t.Errorf("the response is %s, error %v", text, err)
	}
}

func TestMessageThatCannotBeHiddenIsKept(t *testing.T) {
	t.Parallel()
	f := workOf(sqs.Work{Do: doing(now.Add(time.Minute), nil)}, nil)
	f.err = errors.New("denied")
	if kept := f.receive(t, "body"); kept != 1 || !strings.Contains(f.log.String(), `"visibility_error":"denied"`) {
		t.Errorf("%d are kept, the log is %s", kept, f.log)
	}
}

// The work ends a little earlier than the worker, which then hides the message.
func TestTimeIsLeftToHideTheMessage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	end, _ := ctx.Deadline()
	f := workOf(sqs.Work{Do: func(ctx context.Context) (time.Time, error) {
		if got, _ := ctx.Deadline(); !got.Equal(end.Add(-time.Second)) {
			t.Errorf("the work ends at %s, the worker at %s", got, end)
		}
		return time.Time{}, nil
	}}, nil)
	if _, err := f.Handle(ctx, batch("body")); err != nil {
		t.Error(err)
	}
}

func TestGroupsAreConcurrentAndTheirMessagesInOrder(t *testing.T) {
	t.Parallel()
	const groups, each, most = 25, 3, 10
	var mu sync.Mutex
	var running, highest int
	full := make(chan struct{})
	order := map[string]string{}
	f := newFixture(func(m sqs.Message) (sqs.Work, error) {
		group, number, _ := strings.Cut(m.Body, " ")
		return sqs.Work{Group: group, Do: func(context.Context) (time.Time, error) {
			mu.Lock()
			order[group] += number
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
		}}, nil
	})
	var bodies []string
	for i := range each {
		for g := range groups {
			bodies = append(bodies, fmt.Sprintf("g%d %d", g, i))
		}
	}
	if kept := f.receive(t, bodies...); highest != most || kept != groups*each {
		t.Errorf("%d at once, want %d; %d kept, want %d", highest, most, kept, groups*each)
	}
	for group, got := range order {
		if got != "012" {
			t.Errorf("the order of group %s is %s", group, got)
		}
	}
}

func TestMessagesWithoutGroupAreConcurrent(t *testing.T) {
	t.Parallel()
	const messages = 3
	var waiting sync.WaitGroup
	waiting.Add(messages)
	f := workOf(sqs.Work{Do: func(context.Context) (time.Time, error) {
		waiting.Done()
		waiting.Wait()
		return time.Time{}, nil
	}}, nil)
	if kept := f.receive(t, make([]string, messages)...); kept != 0 {
		t.Errorf("%d are kept", kept)
	}
}

func TestMessageOfNewerReleaseIsKept(t *testing.T) {
	t.Parallel()
	f := workOf(sqs.Work{}, fmt.Errorf("strange: %w", sqs.ErrNewer))
	if kept := f.receive(t, "body"); kept != 1 || !strings.Contains(f.log.String(), `"error":"strange`) {
		t.Errorf("%d are kept, the log is %s", kept, f.log)
	}
}

func TestMessageOfUnknownKindIsDiscardedSoon(t *testing.T) {
	t.Parallel()
	const body = `{"v":1,"kind":"later","payload":{}}`
	for receives, want := range map[string]int{"1": 1, "14": 1, "15": 0, "1000": 0} {
		f := newFixture(sqs.DecodeWakes(nil, nil))
		event := batch(body)
		event.Records[0].Attributes["ApproximateReceiveCount"] = receives
		response, err := f.Handle(t.Context(), event)
		if kept := len(response.BatchItemFailures); err != nil || kept != want || strings.Contains(f.log.String(), "ERROR") {
			t.Errorf("receive %s: %d are kept, want %d; error %v, the log is %s", receives, kept, want, err, f.log)
		}
	}
}

func TestDecodeGetsTheMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(func(m sqs.Message) (sqs.Work, error) {
		if m.ID != "1" || m.Body != "body" || m.Receives != 2 {
			t.Errorf("message %+v", m)
		}
		return sqs.Work{Do: doing(time.Time{}, nil)}, nil
	})
	f.receive(t, "body")
}

func TestEventOfAnotherQueueIsRejected(t *testing.T) {
	t.Parallel()
	const base, arn = "https://sqs.eu-west-1.amazonaws.com/123456789012/", "arn:aws:sqs:eu-west-1:123456789012:"
	tasks, deliveries := base+"w-TaskQueue-1", base+"w-DeliveryQueue-1"
	for name, tt := range map[string]struct {
		sources []string
		any     bool
		url     string // of the queue in which the message is hidden; empty if the event is rejected
	}{
		"the first queue":          {[]string{arn + "w-TaskQueue-1", arn + "w-TaskQueue-1"}, false, tasks},
		"the second queue":         {[]string{arn + "w-DeliveryQueue-1"}, false, deliveries},
		"another queue":            {[]string{arn + "x-w-DeliveryQueue-1"}, false, ""},
		"without a queue":          {[]string{""}, false, ""},
		"of two queues":            {[]string{arn + "w-TaskQueue-1", arn + "w-DeliveryQueue-1"}, false, ""},
		"another queue, sam local": {[]string{arn + "x"}, true, tasks},
	} {
		urls := &requests{}
		f := workOf(sqs.Work{Do: doing(now, nil)}, nil)
		f.Client, f.URLs, f.AnySource = urls, []string{tasks, deliveries}, tt.any
		event := batch(make([]string, len(tt.sources))...)
		for i, source := range tt.sources {
			event.Records[i].EventSourceARN = source
		}
		_, err := f.Handle(t.Context(), event)
		if tt.url == "" && (!errors.Is(err, sqs.ErrSource) || len(urls.urls) > 0) {
			t.Errorf("%s: error %v", name, err)
		}
		if tt.url != "" && (err != nil || len(urls.urls) == 0 || urls.urls[0] != tt.url) {
			t.Errorf("%s: messages of %q, error %v; want %s", name, urls.urls, err, tt.url)
		}
	}
}

// requests records when messages were hidden, and for how long.
type requests struct {
	mu   sync.Mutex
	all  []string
	urls []string
	err  error
}

func (r *requests) ChangeMessageVisibility(
	ctx context.Context, input *awssqs.ChangeMessageVisibilityInput, _ ...func(*awssqs.Options),
) (*awssqs.ChangeMessageVisibilityOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls = append(r.urls, *input.QueueUrl)
	r.all = append(r.all, fmt.Sprintf("%s %s: %d s", time.Since(start).Round(time.Second), *input.ReceiptHandle, input.VisibilityTimeout))
	return &awssqs.ChangeMessageVisibilityOutput{}, errors.Join(r.err, ctx.Err())
}

// start is when the time of [synctest] begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// If a worker dies during the work, the message stays hidden for Hold at most.
func TestHeldMessageIsHiddenAgainWhileItsWorkRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lasts time.Duration
		err   error
		want  []string
	}{
		"short":  {0, nil, []string{"0s receipt 1: 90 s"}},
		"long":   {70 * time.Second, nil, []string{"0s receipt 1: 90 s", "30s receipt 1: 90 s", "1m0s receipt 1: 90 s"}},
		"failed": {40 * time.Second, errors.New("broken"), []string{"0s receipt 1: 90 s", "30s receipt 1: 90 s", "40s receipt 1: 4 s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &requests{}
				f := workOf(sqs.Work{Do: func(context.Context) (time.Time, error) {
					time.Sleep(tt.lasts)
					return time.Time{}, tt.err
				}}, nil)
				f.Client, f.Hold = r, 90*time.Second
				if _, err := f.Handle(t.Context(), batch("body")); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Hour)
				if !slices.Equal(r.all, tt.want) {
					t.Errorf("requests %q, want %q", r.all, tt.want)
				}
			})
		})
	}
}

// If a message cannot be held, its work goes on, and is done at least once.
func TestHeldMessageThatCannotBeHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := workOf(sqs.Work{Do: func(context.Context) (time.Time, error) {
			time.Sleep(time.Minute - 1)
			return time.Time{}, nil
		}}, nil)
		f.Client, f.Hold = &requests{err: errors.New("denied")}, 90*time.Second
		if response, err := f.Handle(t.Context(), batch("body")); err != nil || len(response.BatchItemFailures) != 0 {
			t.Errorf("the response is %+v, error %v", response, err)
		}
		f.wantLog(t, map[string]int{`"msg":"work not held"`: 2, `"error":"denied"`: 2})
	})
}
