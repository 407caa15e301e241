package resumetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func externalDeadline(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("batch-job", batch, 100)
	d.pass(100*time.Second - time.Nanosecond)
	p.waits()
	d.pass(time.Nanosecond)
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout: job "+batchARN(p.answer.ID)+" had no outcome by 2026-01-31T10:01:40Z")

	p = d.caller(2)
	p.startWithin("batch-job", batch, 100)
	d.pass(90 * time.Second)
	d.services.end(p.answer.ID, "", false)
	d.pass(10 * time.Second)
	p.ended(token.ClosedByReconcile, p.answer.ID)
}

func callbackDeadline(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("callback", `{}`, 3600)
	if len(d.polls) != 1 || !d.polls[0].Due.Equal(epoch.Add(time.Hour)) {
		d.Errorf("polls %+v: there is nothing to ask before the deadline", d.polls)
	}
	d.pass(time.Hour - time.Nanosecond)
	p.waits()
	d.pass(time.Nanosecond)
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout: the callback had no outcome by 2026-01-31T11:00:00Z")
}

// callbackHops: a queue whose longest delay is shorter delivers the poll of a callback several
// times before the deadline. Two chains of polls merge.
func callbackHops(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("callback", `{}`, 3600)
	for hop, receives := range [][]int{{1, 2}, {1}, {1}} {
		early := d.polls
		d.polls = nil
		d.pass(resume.LongestPoll)
		for _, poll := range early {
			for _, poll.Receives = range receives {
				d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
			}
		}
		if len(d.polls) != len(receives) || d.polls[0].Number != hop+2 || !d.polls[0].Due.Equal(epoch.Add(time.Hour)) {
			d.Fatalf("hop %d: polls %+v, want %d at the deadline", hop, d.polls, len(receives))
		}
	}
	p.waits()
	d.pass(resume.LongestPoll)
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout")
}

// callbackAnswered: a poll that a queue delivers before the deadline ends if the callback was
// answered.
func callbackAnswered(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("callback", `{}`, 3600)
	_, text, _ := strings.Cut(p.answer.CallbackURL, "/callbacks/")
	d.delivered(func() error {
		_, _, err := Close(d.Context(), d.tokens(), text, token.Success(value.Object()))
		return err
	})
	poll := d.polls[0]
	d.polls = nil
	d.pass(resume.LongestPoll)
	d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
	if len(d.polls) != 0 {
		d.Errorf("polls %+v: the token is closed", d.polls)
	}
}

func crashCallback(d *fixture) {
	d.external = true
	d.crash(func(p *caller, _ int) {
		p.startWithin("callback", `{}`, 90)
		d.pass(90 * time.Second)
		p.ended(token.ClosedByDeadline, "FnF.TaskTimeout")
	})
}

func crashDeadline(d *fixture) {
	d.external = true
	d.crash(func(p *caller, _ int) {
		p.startWithin("batch-job", batch, 90)
		d.pass(90 * time.Second)
		p.ended(token.ClosedByDeadline, "FnF.TaskTimeout")
	})
}

func externalValues(d *fixture) {
	d.external = true
	tokens := d.tokens()
	for i, report := range []string{`null`, `"text"`, `[1,2]`, `{}`, `"` + strings.Repeat("x", resume.ExternalLimit-2) + `"`} {
		p := d.caller(i)
		p.start("callback", `{}`)
		_, text, _ := strings.Cut(p.answer.CallbackURL, "/callbacks/")
		large, err := resume.Limits{Size: resume.ExternalLimit * 2, AnyValue: true}.Success([]byte(`"` + strings.Repeat("x", resume.ExternalLimit) + `"`))
		if err != nil {
			d.Fatal(err)
		}
		_, _, err = Close(d.Context(), tokens, text, large)
		if refused, ok := errors.AsType[*resume.ReportError](err); !ok || !refused.TooLarge {
			d.Errorf("a value over the limit: error %v", err)
		}
		outcome, err := resume.Limits{Size: resume.ExternalLimit, AnyValue: true}.Success([]byte(report))
		if err != nil {
			d.Fatal(err)
		}
		if _, _, err := Close(d.Context(), tokens, text, outcome); err != nil {
			d.Fatal(err)
		}
		p.ended(token.ClosedByHand, report)
	}
}

func externalRepeated(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("callback", `{}`)
	first := p.answer
	d.pass(time.Minute)
	p.start("callback", `{}`)
	list, err := d.raw.List(d.Context(), "", 10)
	if err != nil || len(list) != 1 || p.answer != first {
		d.Errorf("listed are %+v, error %v; answers %+v, then %+v", list, err, first, p.answer)
	}
	if len(d.polls) != 2 || !d.polls[1].Deadline.Equal(d.polls[0].Deadline) {
		d.Errorf("polls %+v: want one deadline", d.polls)
	}
	wait := list[0]
	if wait.Recipient != resume.RecipientStepFunctions || !wait.Opened.Equal(epoch) || !wait.Deadline.Equal(epoch.Add(90*day)) ||
		wait.Expires.Before(wait.Deadline.Add(day)) || wait.Job != (jobs.Key{}) || wait.JobID != "" {
		d.Errorf("the wait is %+v", wait)
	}
	if strings.Contains(string(wait.Sealed), "their token") {
		d.Error("the token of an external wait is stored as it is")
	}
}

func durableWait(d *fixture) {
	_, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`,"callbackId":"their+callback/=="}`))
	if err != nil {
		d.Fatal(err)
	}
	wait := d.waitOf("their+callback/==")
	if wait.Recipient != resume.RecipientDurable || wait.Job.Kind != "batch-job" || wait.JobID == "" {
		d.Errorf("the wait is %+v", wait)
	}
	if _, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"callback","taskToken":"their+callback/=="}`)); err != nil {
		d.Fatal(err)
	}
	if list, err := d.raw.List(d.Context(), "", 10); err != nil || len(list) != 2 {
		d.Errorf("listed are %+v, error %v; want one wait for each recipient", list, err)
	}
	p := &caller{fixture: d, theirs: "their+callback/==", handle: wait.Handle}
	d.external = true
	d.services.end(wait.JobID, "", false)
	d.observe(d.services.batchEvent(wait.JobID))
	p.ended(token.ClosedByEvent, wait.JobID)
}

// once delivers a wake that was sent so long ago.
func (p *caller) once(age time.Duration) (putBack time.Duration, err error) {
	at, err := p.deliveries().Deliver(p.Context(), p.handle, p.now.Add(-age))
	if at.IsZero() {
		return 0, err
	}
	return at.Sub(p.now), err
}

func youngWake(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("batch-job", batch)
	for age, want := range map[time.Duration]time.Duration{
		0: time.Second, 10*time.Second - 1: time.Second, 10 * time.Second: 0, time.Hour: 0, -time.Second: time.Second, -time.Hour: 0,
	} {
		if putBack, err := p.once(age); err != nil || putBack != want {
			d.Errorf("at an age of %s it is put back for %s, error %v; want %s", age, putBack, err, want)
		}
	}
	for age, want := range map[time.Duration][]string{0: {"wait", "wait"}, time.Hour: {"wait"}} {
		d.trace = nil
		if _, err := p.once(age); err != nil || !slices.Equal(d.trace, want) {
			d.Errorf("at an age of %s: effects %q, error %v; want %q", age, d.trace, err, want)
		}
	}
	d.trace = nil
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	for range 2 {
		if putBack, err := p.once(time.Hour); err != nil || putBack != 0 {
			d.Errorf("it is put back for %s, error %v", putBack, err)
		}
	}
	p.wantDelivered(success)
	if want := []string{"wait", "deliver", "delivery", "wait"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q", d.trace, want)
	}
}

func deliveryFails(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("batch-job", batch)
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	d.fails["deliver"] = []error{fmt.Errorf("throttled: %s", p.theirs)}
	if _, err := p.once(0); err == nil || strings.Contains(err.Error(), p.theirs) || !strings.Contains(err.Error(), "throttled") {
		d.Errorf("error %v", err)
	}
	d.fails["delivery"] = []error{errFault}
	if _, err := p.once(0); !errors.Is(err, errFault) {
		d.Errorf("error %v", err)
	}
	if _, err := p.once(time.Hour); err != nil {
		d.Error(err)
	}
	p.wantDelivered(success)
}

func recipientGone(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("batch-job", batch)
	d.sent[p.theirs] = []token.Outcome{failure} // another caller was first
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	if _, err := p.once(0); err != nil {
		d.Error(err)
	}
	p.wantDelivered(failure)
	if wait, _, err := d.raw.ExternalWait(d.Context(), p.handle); err != nil || wait.Delivery != resume.DeliveryGone {
		d.Errorf("the wait is %+v, error %v", wait, err)
	}
}

func wakeOfNothing(d *fixture) {
	p := d.caller(1) // a step of ours
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	if putBack, err := p.once(0); err != nil || putBack != 0 || len(d.sent) != 0 {
		d.Errorf("it is put back for %s, error %v, sent %v", putBack, err, d.sent)
	}
}

func replacedKeys(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("batch-job", batch)
	old := d.keys.Current
	d.keys = token.Keys{Current: token.Key{ID: 8, Secret: []byte(strings.Repeat("n", token.SecretSize))}, Others: []token.Key{old}}
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	if _, err := p.once(0); err != nil {
		d.Error(err)
	}
	p.wantDelivered(success)
}

// beat sends a heartbeat for the wait of a callback, and delivers it.
func (p *caller) beat() {
	p.Helper()
	tokens := p.tokens()
	_, text, _ := strings.Cut(p.answer.CallbackURL, "/callbacks/")
	if _, err := Beat(p.Context(), tokens, text); err != nil {
		p.Fatal(err)
	}
	for _, handle := range p.beatsSent {
		p.delivered(func() error { return p.deliveries().Beat(p.Context(), handle) })
	}
	p.beatsSent = nil
}

func heartbeatHandedOn(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("callback", `{}`)
	p.beat()
	d.fails["beat"] = []error{errors.New("throttled")}
	p.beat()
	if d.beats[p.theirs] != 2 {
		d.Errorf("the recipient took %d heartbeats, want 2", d.beats[p.theirs])
	}
	p.waits()
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	d.trace = nil
	p.beat()
	if err := d.deliveries().Beat(d.Context(), p.handle); err != nil || d.beats[p.theirs] != 2 || slices.Contains(d.trace, "send a heartbeat") {
		d.Errorf("a closed one: %d heartbeats, error %v, effects %q", d.beats[p.theirs], err, d.trace)
	}
	own := d.tokens()
	d.external = false
	if _, err := Beat(d.Context(), own, d.caller(2).text); err != nil || len(d.beatsSent) > 0 {
		d.Errorf("of a step of ours %d heartbeats are handed on, error %v", len(d.beatsSent), err)
	}
}

func heartbeatGone(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("callback", `{}`)
	d.sent[p.theirs] = []token.Outcome{success}
	p.beat()
	if wait, _, err := d.raw.ExternalWait(d.Context(), p.handle); err != nil || wait.Delivery != resume.DeliveryGone {
		d.Errorf("the wait is %+v, error %v", wait, err)
	}
	if err := d.deliveries().Beat(d.Context(), "no handle"); err != nil {
		d.Errorf("of no wait: error %v", err)
	}
}
