package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

func somePoll() resume.Poll {
	return resume.Poll{
		Key:    jobs.Key{Kind: "dms-task", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:dms:t"},
		Waiter: resume.Waiter{Handle: handle, Run: jobs.Run{BeginText: "r", Since: now.Add(-time.Minute)}, JobID: "arn:aws:dms:t"},
		Number: 3, Due: now.Add(4 * time.Minute), Deadline: now.Add(24 * time.Hour), MAC: "authentic",
	}
}

// useCases records what it is given.
type useCases struct {
	mu         sync.Mutex
	events     []string
	reconciled []resume.Poll
	replayed   []jobs.Key
	err        error
}

func (u *useCases) replay(_ context.Context, key jobs.Key) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.replayed = append(u.replayed, key)
	return u.err
}

func (u *useCases) observe(_ context.Context, event []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.events = append(u.events, string(event))
	return u.err
}

func (u *useCases) reconcile(_ context.Context, poll resume.Poll) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reconciled = append(u.reconciled, poll)
	return u.err
}

func (u *useCases) fixture() *fixture {
	return newFixture(sqs.DecodeJobs(sqs.JobHandlers{Observe: u.observe, Reconcile: u.reconcile, Replay: u.replay}))
}

func polls(f *fixture) *sqs.Polls { return &sqs.Polls{Target: f.queue(), Now: f.Now} }

func TestPollRoundTrip(t *testing.T) {
	t.Parallel()
	bare := somePoll()
	bare.Waiter.Run.BeginText, bare.Deadline = "", time.Time{}
	odd, stopping := somePoll(), somePoll()
	odd.Key.Name, stopping.Waiter.StopJob = "\ufffe\uffff\u2028<&>", true
	for name, poll := range map[string]resume.Poll{
		"with all it may have": stopping, "of a job that goes on": somePoll(), "with the least": bare, "with an odd name": odd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &useCases{}
			f := u.fixture()
			if err := polls(f).Send(t.Context(), poll); err != nil {
				t.Fatal(err)
			}
			if f.delays[0] != 240 || strings.ContainsAny(f.bodies[0], "\ufffe\uffff") {
				t.Errorf("a delay of %d s: %s", f.delays[0], f.bodies[0])
			}
			if kept := f.receive(t, f.bodies[0]); kept != 0 {
				t.Errorf("%d are kept", kept)
			}
			poll.Receives = 2
			if len(u.reconciled) != 1 || !reflect.DeepEqual(u.reconciled[0], poll) {
				t.Errorf("got %+v, want %+v", u.reconciled, poll)
			}
		})
	}
}

// A replay is redelivered after an error, and carries the key of the job as it was given.
func TestReplayRoundTrip(t *testing.T) {
	t.Parallel()
	key := jobs.Key{Kind: "dms-task", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:dms:\ufffe\u2028<&>"}
	for _, fails := range []error{nil, errors.New("throttled")} {
		u := &useCases{err: fails}
		f := u.fixture()
		if err := polls(f).Replay(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		kept := f.receive(t, f.bodies[0], `{"v":1,"kind":"replay"}`, `{"v":1,"kind":"replay","payload":7}`)
		if (kept == 0) != (fails == nil) || len(u.replayed) != 1 || u.replayed[0] != key || f.delays[0] != 0 {
			t.Errorf("after %v: %d are kept, replayed %+v, delay %d", fails, kept, u.replayed, f.delays[0])
		}
		f.wantLog(t, map[string]int{`"job":"arn:aws:dms:`: 1, `"replay":true`: 1, `"outcome":"discarded"`: 2})
	}
}

// A poll has its own names, as other messages do.
func TestPollFieldNames(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	if err := polls(f).Send(t.Context(), somePoll()); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Payload map[string]json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal([]byte(f.bodies[0]), &body); err != nil {
		t.Fatal(err)
	}
	want := []string{"account", "beginText", "deadline", "due", "handle", "jobId", "kind", "mac", "name", "number", "region", "since"}
	if got := slices.Sorted(maps.Keys(body.Payload)); !slices.Equal(got, want) {
		t.Errorf("the fields are %q, want %q", got, want)
	}
}

// The receiver of an early poll sends another one.
func TestSoonPollIsDelayedAndLatePollIsScheduled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after     time.Duration
		unset     bool // there is no schedule
		rejects   error
		delay     int32
		scheduled bool
	}{
		"the longest delay":       {after: 15 * time.Minute, delay: 900},
		"later":                   {after: time.Hour, scheduled: true},
		"without a schedule":      {after: time.Hour, unset: true, delay: 900},
		"the schedule rejects it": {after: time.Hour, rejects: errors.New("ServiceQuotaExceededException"), delay: 900},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := newFixture(nil), &recordedSchedule{err: tt.rejects}
			sender := &sqs.Polls{Target: f.queue(), Now: f.Now, Schedule: s, Log: f.Log}
			if tt.unset {
				sender = polls(f)
			}
			late := somePoll()
			late.Due = now.Add(tt.after)
			if err := sender.Send(t.Context(), late); err != nil {
				t.Fatal(err)
			}
			if tt.scheduled != (len(f.bodies) == 0) || !tt.scheduled && f.delays[0] != tt.delay {
				t.Errorf("sent %q with delays %d", f.bodies, f.delays)
			}
			if tt.scheduled && (!s.at.Equal(late.Due.Add(-time.Minute)) || !strings.Contains(s.body, late.Waiter.Handle)) {
				t.Errorf("scheduled at %s: %s", s.at, s.body)
			}
			if logged := f.log.String(); strings.Contains(logged, "no schedule") != (tt.rejects != nil) || strings.Contains(logged, late.Waiter.Handle) {
				t.Errorf("the log is %s", logged)
			}
		})
	}
}

func TestScheduleNameOfPoll(t *testing.T) {
	t.Parallel()
	name := func(change func(*resume.Poll)) string {
		f, s, poll := newFixture(nil), &recordedSchedule{}, somePoll()
		poll.Due = now.Add(time.Hour)
		change(&poll)
		if err := (&sqs.Polls{Target: f.queue(), Now: f.Now, Schedule: s}).Send(t.Context(), poll); err != nil {
			t.Fatal(err)
		}
		return s.name
	}
	first := name(func(*resume.Poll) {})
	if !regexp.MustCompile(`^poll-[0-9a-f]{40}$`).MatchString(first) {
		t.Errorf("the name is %q", first)
	}
	if name(func(p *resume.Poll) { p.Waiter.Run.Since = now }) != first {
		t.Error("a poll that was sent again has another name")
	}
	if name(func(p *resume.Poll) { p.Number++ }) == first || name(func(p *resume.Poll) { p.Due = p.Due.Add(1) }) == first {
		t.Error("two polls have one name")
	}
}

func TestForgedPollIsDiscarded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		kept int
		log  string
	}{
		"forged":                      {fmt.Errorf("reconcile: %w", token.ErrForged), 0, `"level":"WARN","msg":"work","kind":"dms-task"`},
		"of a key that is not known":  {fmt.Errorf("reconcile: %w", token.ErrUnknownKey), 1, `"outcome":"failed"`},
		"of a table that is not here": {errors.New("throttled"), 1, `"outcome":"failed"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := (&useCases{err: tt.err}).fixture()
			if err := polls(f).Send(t.Context(), somePoll()); err != nil {
				t.Fatal(err)
			}
			kept := f.receive(t, f.bodies[0])
			if kept != tt.kept || !strings.Contains(f.log.String(), tt.log) || strings.Contains(f.log.String(), "discarded") != (tt.kept == 0) {
				t.Errorf("%d are kept, want %d; logged %s", kept, tt.kept, f.log)
			}
		})
	}
}

func TestSendFailsIfQueueRejectsPoll(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	f.err = errors.New("denied")
	if err := polls(f).Send(t.Context(), somePoll()); !errors.Is(err, f.err) {
		t.Errorf("error %v", err)
	}
	secret := somePoll()
	secret.Waiter.Handle = keys.Sign(token.ID{Expires: now.Add(time.Hour)})
	if err := polls(f).Send(t.Context(), secret); err == nil || strings.Contains(err.Error(), secret.Waiter.Handle) || len(f.bodies) != 1 {
		t.Errorf("a token is sent, or told: error %v, %d messages", err, len(f.bodies))
	}
}

const event = `{"version":"0","id":"e-1","detail-type":"Batch Job State Change","source":"aws.batch","detail":{"status":"FAILED"}}`

func TestEventIsPassedOnUnchanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		kept int
		log  string
	}{
		"accepted":        {nil, 0, `"source":"aws.batch","detail_type":"Batch Job State Change","outcome":"done"`},
		"no end of a job": {jobs.ErrNoEnd, 0, `"note":"no end of a job"`},
		"unreadable":      {fmt.Errorf("%w: no key", resume.ErrUnusableEvent), 0, `no key"`},
		"failed":          {errors.New("throttled"), 1, `"error":"throttled"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &useCases{err: tt.err}
			f := u.fixture()
			if kept := f.receive(t, event); kept != tt.kept {
				t.Errorf("%d are kept, want %d", kept, tt.kept)
			}
			if len(u.events) != 1 || u.events[0] != event {
				t.Errorf("observed %q", u.events)
			}
			f.wantLog(t, map[string]int{tt.log: 1, "\n": 1})
		})
	}
}

// A notification is passed on as SNS delivers it. What is no notification of a topic is discarded.
func TestNotificationIsPassedOnUnchanged(t *testing.T) {
	t.Parallel()
	const notification = `{"Type":"Notification","MessageId":"m-1","TopicArn":"arn:aws:sns:us-east-1:1:done","Message":"{\"JobId\":\"j\"}"}`
	u := &useCases{}
	f := u.fixture()
	kept := f.receive(t, notification,
		`{"Type":"SubscriptionConfirmation","MessageId":"m-2","TopicArn":"arn:aws:sns:us-east-1:1:done"}`, `{"Type":"Notification","MessageId":"m-3"}`)
	if kept != 0 || len(u.events) != 1 || u.events[0] != notification {
		t.Errorf("%d are kept, observed %q", kept, u.events)
	}
	f.wantLog(t, map[string]int{
		`"event":"m-1","source":"arn:aws:sns:us-east-1:1:done","detail_type":"Notification","outcome":"done"`: 1, `"outcome":"discarded"`: 2,
	})
}

func TestBatchOfJobs(t *testing.T) {
	t.Parallel()
	u := &useCases{}
	f := u.fixture()
	if err := polls(f).Send(t.Context(), somePoll()); err != nil {
		t.Fatal(err)
	}
	good := f.bodies[0]
	kept := f.receive(t,
		good, good, event, strings.Replace(event, `"detail":`, `"payload":{},"detail":`, 1),
		`{"v":2,"kind":7}`, `{"v":1,"kind":"later"}`, // of a newer release
		`forged`, `[]`, `{}`, `{"v":1}`, `{"v":1,"kind":"poll"}`, `{"source":"aws.batch"}`,
		strings.Replace(good, handle, "x.y", 1), strings.Replace(good, `"v":1`, `"v":-1`, 1),
	)
	if kept != 2 || len(u.reconciled) != 2 || len(u.events) != 2 {
		t.Errorf("%d are kept, %d polls, %d events; want two of a newer release, 2, 2", kept, len(u.reconciled), len(u.events))
	}
	f.wantLog(t, map[string]int{
		`"outcome":"discarded"`: 8, `"job":"arn:aws:dms:t","token":"` + token.Mask(handle) + `","poll":3,"outcome":"done"`: 2, handle: 0,
	})
}
