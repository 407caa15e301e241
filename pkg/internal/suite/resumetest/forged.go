package resumetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// endedLongAgo is the id of a simulated job, which anybody can make.
func (d *fixture) endedLongAgo() string {
	id, err := simulated.StartUntil(json.RawMessage(`{"delay":0}`), epoch.Add(-time.Hour), [10]byte{1})
	if err != nil {
		d.Fatal(err)
	}
	return id
}

// forgedPoll: a handle is no secret, and neither is the form of a message. Nobody
// closes a token with them: not one that waits for a job, for a callback, or for
// a person, and not by a deadline.
func forgedPoll(d *fixture) {
	waits := map[string]*caller{"a job": d.caller(1), "a callback": d.caller(2)}
	waits["a job"].start("batch-job", batch)
	waits["a callback"].start("callback", `{}`)
	authentic := d.polls
	if !d.external { // a step that waits for a person has no job at all
		waits["a person"] = d.caller(3)
	}
	other := token.Keys{Current: token.Key{ID: d.keys.Current.ID, Secret: []byte(strings.Repeat("x", token.SecretSize))}}
	ended := d.endedLongAgo()
	for what, p := range waits {
		poll := resume.Poll{
			Key:    jobs.Key{Kind: jobs.KindSimulated, Account: account, Region: region, Name: ended},
			Waiter: resume.Waiter{Handle: p.handle, Run: jobs.Run{Since: epoch}, JobID: ended}, Number: 1, Due: epoch,
		}
		late := poll
		late.Key.Kind, late.Deadline = jobs.KindCallback, epoch.Add(-time.Second)
		for _, forged := range append(d.changed(authentic, poll), poll, late, poll.Sign(other), late.Sign(other)) {
			d.trace = nil
			if err := d.jobs.Reconcile(d.Context(), forged); !errors.Is(err, token.ErrForged) || len(d.trace) > 0 {
				d.Errorf("%s: error %v, effects %q of poll %+v", what, err, d.trace, forged)
			}
		}
		p.waits()
	}
}

// changed are the authentic polls with one thing each of the forged one.
func (d *fixture) changed(authentic []resume.Poll, forged resume.Poll) (all []resume.Poll) {
	for _, poll := range authentic {
		for _, change := range []func(p *resume.Poll){
			func(p *resume.Poll) { p.Key = forged.Key },
			func(p *resume.Poll) { p.Waiter.JobID = forged.Waiter.JobID },
			func(p *resume.Poll) { p.Waiter.Handle = d.caller(9).handle + "A" },
			func(p *resume.Poll) { p.Waiter.Run = jobs.Run{BeginText: "another", Since: epoch.Add(-time.Hour)} },
			func(p *resume.Poll) { p.Number = 99 },
			func(p *resume.Poll) { p.Deadline = epoch.Add(-time.Second) },
		} {
			changed := poll
			change(&changed)
			all = append(all, changed)
		}
	}
	return all
}

// forgedDelivery: a sender to the queue of deliveries has handed over
// what the token holds, and nothing of their own.
func forgedDelivery(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("callback", `{}`)
	for range 2 {
		if err := d.deliveries().Beat(d.Context(), p.handle); err != nil || d.beats[p.theirs] != 0 {
			d.Errorf("%d forged heartbeats are delivered, error %v", d.beats[p.theirs], err)
		}
		if putBack, err := d.deliveries().Deliver(d.Context(), p.handle, d.now.Add(-time.Hour)); err != nil || !putBack.IsZero() || len(d.sent[p.theirs]) > 0 {
			d.Errorf("an open token: sent %v, put back %s, error %v", d.sent[p.theirs], putBack, err)
		}
		if _, err := d.raw.Beat(d.Context(), p.handle, d.now); err != nil {
			d.Fatal(err)
		}
		d.now = d.now.Add(time.Minute + time.Nanosecond) // the beat is too old
	}
	p.waits()
}

func earlyPoll(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	early := d.polls[0]
	for receives, effects := range map[int][]string{1: {"poll"}, 2: {"poll", "polled"}} { // a second chain may begin here, too
		d.polls, d.trace = nil, nil
		received := early
		received.Receives = receives
		if err := d.jobs.Reconcile(d.Context(), received); err != nil || len(d.polls) != 1 || d.polls[0] != early || !slices.Equal(d.trace, effects) {
			d.Errorf("polls %+v, effects %q, want %q, error %v", d.polls, d.trace, effects, err)
		}
	}
}

// replacedPollKeys: the polls of before stay valid while their key is known, and
// the next one is of the new key.
func replacedPollKeys(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	old, poll := d.keys.Current, d.polls[0]
	d.polls, d.now = nil, poll.Due
	later := token.Key{ID: old.ID + 1, Secret: []byte(strings.Repeat("n", token.SecretSize))}
	d.keys = token.Keys{Current: later}
	d.open("")
	if err := d.jobs.Reconcile(d.Context(), poll); !errors.Is(err, token.ErrUnknownKey) {
		d.Errorf("of a key that is gone, or not known yet: error %v", err)
	}
	d.keys = token.Keys{Current: later, Others: []token.Key{old}}
	d.open("")
	if err := d.jobs.Reconcile(d.Context(), poll); err != nil || len(d.polls) != 1 || d.polls[0].MAC == poll.MAC {
		d.Fatalf("error %v, polls %+v", err, d.polls)
	}
	d.keys = token.Keys{Current: later}
	d.open("")
	d.now = d.polls[0].Due
	if err := d.jobs.Reconcile(d.Context(), d.polls[0]); err != nil {
		d.Errorf("after the old key is gone: %v", err)
	}
}

// forgedEvent: a principal that may put events on a bus names a source, an account and an
// instant of their own. What the service says of the job decides.
func forgedEvent(d *fixture) {
	p := d.caller(1)
	p.start("sfn-execution", machineJob)
	d.services.jobs[p.answer.ID].output = `{"by":"forger"}`
	d.services.end(p.answer.ID, "", false)
	event := d.services.sfnEvent(p.answer.ID)
	d.services.jobs[p.answer.ID].ended = time.Time{} // in truth it runs
	at := d.clock().Format("2006-01-02T15:04:05Z")
	for name, forged := range map[string]string{
		"of another account":       strings.Replace(event, account, "999999999999", 1),
		"of the year 9999":         strings.Replace(event, at, "9999-12-31T23:59:59Z", 1),
		"of in six minutes":        strings.Replace(event, at, d.clock().Add(6*time.Minute).Format("2006-01-02T15:04:05Z"), 1),
		"of the time of Columbus":  strings.Replace(event, at, "1492-10-12T00:00:00Z", 1),
		"of before there were any": strings.Replace(event, at, "2001-01-01T00:00:00Z", 1),
	} {
		d.trace = nil
		if err := d.jobs.Observe(d.Context(), []byte(forged)); !errors.Is(err, resume.ErrUnusableEvent) || len(d.trace) > 0 {
			d.Errorf("%s: error %v, effects %q", name, err, d.trace)
		}
	}
	d.observe(strings.Replace(event, "aws.states", "anybody.at.all", 1))
	p.waits()
	d.services.jobs[p.answer.ID].output = `{"by":"the job"}`
	d.services.end(p.answer.ID, "", false)
	d.observe(strings.Replace(event, "aws.states", "anybody.at.all", 1))
	p.ended(token.ClosedByEvent, `{"by":"the job"}`)
}
