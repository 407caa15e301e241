package wakes_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/token"
)

// sent is a queue and a schedule that note what they are given.
type sent struct {
	delay *int32 // of the message, nil for none
	body  string

	name string // of the schedule, empty for none
	at   time.Time

	refuses, queueRefuses error
}

func (s *sent) SendMessage(_ context.Context, input *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	s.delay, s.body = &input.DelaySeconds, *input.MessageBody
	return &sqs.SendMessageOutput{}, s.queueRefuses
}

func (s *sent) At(_ context.Context, name string, at time.Time, body string) error {
	s.name, s.at, s.body = name, at, body
	return s.refuses
}

func wakesTo(t *testing.T, s *sent, limit time.Duration) (*wakes.Wakes, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	w, err := wakes.New(wakes.Config{
		Client: s, URL: "queue", Schedule: s, Limit: limit, Now: func() time.Time { return now }, Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, log
}

func TestASoonWakeIsADelayAndALateOneASchedule(t *testing.T) {
	t.Parallel()
	const none = -1
	for name, tt := range map[string]struct {
		limit, after time.Duration
		refuses      error
		delay        int32
		early        time.Duration // how long before its instant it is scheduled
	}{
		"past":                    {after: -time.Hour, delay: 0},
		"now":                     {after: 0, delay: 0},
		"a nanosecond":            {after: 1, delay: 1},
		"the limit":               {after: 900 * time.Second, delay: 900},
		"over the limit":          {after: 900*time.Second + 1, delay: none, early: time.Minute},
		"two days":                {after: 48 * time.Hour, delay: none, early: time.Minute},
		"a smaller limit":         {limit: 30 * time.Second, after: 30 * time.Second, delay: 30},
		"over a smaller limit":    {limit: 30 * time.Second, after: 31 * time.Second, delay: none, early: 15 * time.Second},
		"no schedule takes it":    {after: time.Hour, refuses: errors.New("ThrottlingException"), delay: 900, early: time.Minute},
		"none with small a limit": {limit: 30 * time.Second, after: time.Hour, refuses: errors.New("ValidationException"), delay: 30, early: 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sent{refuses: tt.refuses}
			w, log := wakesTo(t, s, tt.limit)
			wake := wakeAfter(tt.after)
			if err := w.Send(t.Context(), wake); err != nil {
				t.Fatal(err)
			}
			if s.body != encode(t, wake) {
				t.Errorf("the message is %s", s.body)
			}
			switch {
			case tt.delay == none && s.delay != nil, tt.delay != none && (s.delay == nil || *s.delay != tt.delay):
				t.Errorf("the delay is %v, want %d", s.delay, tt.delay)
			case tt.early == 0 && s.name != "", tt.early > 0 && !s.at.Equal(wake.Due.Add(-tt.early)):
				t.Errorf("schedule %q at %s, want %s before %s", s.name, s.at, tt.early, wake.Due)
			}
			if logged := strings.Contains(log.String(), "no schedule"); logged != (tt.refuses != nil) {
				t.Errorf("the log is %s", log)
			}
		})
	}
}

func TestALateWakeWithoutScheduleGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	s := &sent{}
	w, err := wakes.New(wakes.Config{Client: s, URL: "queue", Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), wakeAfter(time.Hour)); err != nil || *s.delay != 900 {
		t.Errorf("the delay is %d, error %v", *s.delay, err)
	}
}

func TestAWakeThatIsNotSentIsAnError(t *testing.T) {
	t.Parallel()
	s := &sent{queueRefuses: errors.New("denied")}
	w, _ := wakesTo(t, s, 0)
	if err := w.Send(t.Context(), wakeAfter(0)); !errors.Is(err, s.queueRefuses) {
		t.Errorf("error %v", err)
	}
	forged := wakeAfter(0)
	forged.Cause = "handle.signature"
	s.delay, s.queueRefuses = nil, nil
	if err := w.Send(t.Context(), forged); err == nil || s.delay != nil {
		t.Errorf("a token was sent, error %v", err)
	}
}

func TestTheNameOfASchedule(t *testing.T) {
	t.Parallel()
	name := func(tag string, after time.Duration) string {
		s := &sent{}
		w, _ := wakesTo(t, s, 0)
		wake := wakeAfter(after)
		wake.Cause = tag
		if err := w.Send(t.Context(), wake); err != nil {
			t.Fatal(err)
		}
		return s.name
	}
	first := name("tag", time.Hour)
	if !regexp.MustCompile(`^[0-9a-zA-Z-_.]{1,64}$`).MatchString(first) || !strings.HasPrefix(first, wakeAfter(0).Execution.String()) {
		t.Errorf("the name is %q", first)
	}
	if name("tag", time.Hour) != first {
		t.Error("the same timer has two names")
	}
	if name("gat", time.Hour) == first || name("tag", time.Hour+1) == first {
		t.Error("two timers have one name")
	}
}

func TestTheLimitIsOneOfSQS(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{-1, time.Second, 901 * time.Second} {
		if _, err := wakes.New(wakes.Config{Limit: limit}); err == nil {
			t.Errorf("limit %s is taken", limit)
		}
	}
}

// foreign notes the handles that it is told.
type foreign struct{ handles []string }

func (f *foreign) Send(_ context.Context, _ token.ID, handle string, _ time.Time) error {
	f.handles = append(f.handles, handle)
	return nil
}

// The wake of a token goes to whoever waits for it.
func TestTheWakesOfTokens(t *testing.T) {
	t.Parallel()
	own, theirs := token.ID{Execution: [12]byte{1}}, token.ID{Execution: [12]byte{2}, Flags: token.FlagForeign | token.FlagSigned}
	s, f := &sent{}, &foreign{}
	w, _ := wakesTo(t, s, 0)
	if err := wakes.ForTokens(w, f).Send(t.Context(), own, "own", now); err != nil || !strings.Contains(s.body, `"execution":"01`) || len(f.handles) != 0 {
		t.Errorf("sent %s and %q, error %v", s.body, f.handles, err)
	}
	s.body = ""
	if err := wakes.ForTokens(w, f).Send(t.Context(), theirs, "theirs", now); err != nil || s.body != "" || len(f.handles) != 1 || f.handles[0] != "theirs" {
		t.Errorf("sent %s and %q, error %v", s.body, f.handles, err)
	}
	if err := wakes.ForTokens(w, nil).Send(t.Context(), theirs, "theirs", now); err == nil || s.body != "" {
		t.Errorf("a wake that nobody takes: error %v, sent %s", err, s.body)
	}
}
