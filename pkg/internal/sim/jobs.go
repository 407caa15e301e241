package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// jobWorld is what is known of jobs, of all executions together: by the services
// that run them, and by those who wait for them.
type jobWorld struct {
	services simulated.Services
	meetings map[jobs.Key]resume.JobRecord
	told     map[string]time.Duration // by job: when an event told of its end
}

// meeting is when a token was bound to a job.
type meeting struct {
	job string
	at  time.Duration
}

// toldOf is when the waiter with the token learns of the end of its job by an
// event that came after it was bound. Of one that came before, only the starter
// can tell, and a poll if it dies.
func (w *world) toldOf(handle string) (at time.Duration, ok bool) {
	met, bound := w.met[handle]
	told, ok := w.jobs.told[met.job]
	return told, bound && ok && told > met.at
}

// jobs configures package resume, whose every effect is the actor's. Unique is the same
// text for the same start.
func (a *actor) jobs(unique string) resume.JobsConfig {
	return resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: services{a, unique}, Account: simulated.Account, Region: simulated.Region, Now: a.clock},
		Tokens:       a.tokens(), Rendezvous: rendezvous{a}, Polls: polls{a},
	}
}

func (a *actor) observer() *resume.JobObserver { return resume.NewJobObserver(a.jobs("")) }

// startJob is the function that starts a job.
func (a *actor) startJob(call machine.Call) token.Outcome {
	starter := resume.NewJobStarter(a.jobs(call.Key()))
	answer, err := starter.StartJob(a.ctx, []byte(call.Input.JSON()))
	if err != nil {
		return token.Failure("Sim.StartFailed", err.Error())
	}
	return engine.ParseReply(answer, "StartJob")
}

type services struct {
	a      *actor
	unique string
}

func (s services) Start(_ context.Context, kind jobs.Kind, params []byte) (answer []byte, err error) {
	err = s.a.effect("start a "+kind.Name, func() (err error) {
		answer, err = s.a.world.jobs.services.Start(kind, params, s.unique, s.a.world.rightClock())
		if err == nil {
			s.a.world.runJob(kind, answer)
		}
		return refusal(kind, err)
	})
	return answer, err
}

func (s services) Describe(_ context.Context, kind jobs.Kind, params []byte) (answer []byte, err error) {
	err = s.a.read("describe a "+kind.Name, func() (err error) {
		answer, err = s.a.world.jobs.services.Describe(kind, params, s.a.world.rightClock())
		return refusal(kind, err)
	})
	return answer, err
}

func (s services) Stop(_ context.Context, kind jobs.Kind, params []byte) error {
	return s.a.effect("stop a "+kind.Name, func() error {
		return refusal(kind, s.a.world.jobs.services.Stop(kind, params, s.a.world.rightClock()))
	})
}

func refusal(kind jobs.Kind, err error) error {
	if refused, ok := errors.AsType[*simulated.Refusal](err); ok {
		return &resume.ServiceError{Name: kind.Service + "." + refused.Code, Message: refused.Message}
	}
	return err
}

// rightClock is that of the services.
func (s *shared) rightClock() time.Time { return epoch.Add(s.now) }

type rendezvous struct{ a *actor }

func (r rendezvous) Bind(_ context.Context, key jobs.Key, waiter resume.Waiter, _ time.Time) (resume.JobRecord, error) {
	return r.step("bind "+r.a.world.short(waiter.Handle)+" to a job", key, func(m resume.JobRecord) resume.JobRecord {
		r.a.world.met[waiter.Handle] = meeting{waiter.JobID, r.a.world.now}
		return m.Bound(waiter)
	})
}

func (r rendezvous) Note(_ context.Context, key jobs.Key, end jobs.Sighting, _ time.Time) (resume.JobRecord, error) {
	return r.step("note the end of a job", key, func(m resume.JobRecord) resume.JobRecord { return m.Noted(end) })
}

func (r rendezvous) JobRecord(_ context.Context, key jobs.Key) (met resume.JobRecord, err error) {
	err = r.a.read("read what waits for a job", func() error { met = r.a.world.jobs.meetings[key]; return nil })
	return met, err
}

func (r rendezvous) Release(_ context.Context, key jobs.Key, handles []string) error {
	_, err := r.step("release waiters", key, func(m resume.JobRecord) resume.JobRecord { return m.Released(handles) })
	return err
}

func (r rendezvous) step(what string, key jobs.Key, change func(resume.JobRecord) resume.JobRecord) (met resume.JobRecord, err error) {
	err = r.a.effect(what, func() error {
		met = change(r.a.world.jobs.meetings[key])
		r.a.world.jobs.meetings[key] = met
		return nil
	})
	return met, err
}

type polls struct{ a *actor }

// Send binds the waiter of a first poll where the poll is in the memory of one
// process, as package local does: the next process finds the waiter in the store.
func (p polls) Send(ctx context.Context, poll resume.Poll) error {
	if p.a.world.alone && poll.Number == 1 {
		if _, err := (rendezvous(p)).Bind(ctx, poll.Key, poll.Waiter, time.Time{}); err != nil {
			return err
		}
	}
	return p.a.effect(fmt.Sprintf("send poll %d", poll.Number), func() error {
		if !p.a.early {
			p.a.world.checkChain(poll)
		}
		p.a.world.postPoll(poll)
		return nil
	})
}

func (w *world) postPoll(poll resume.Poll) {
	if poll.Number == 1 {
		w.outside++
	}
	chain := chainOf(poll)
	m := &message{name: fmt.Sprintf("poll %d", poll.Number), kind: kindCloser, causes: []string{chain}, life: closerLife}
	m.handle = func(a *actor) (time.Time, error) {
		received := poll
		received.Receives = a.receives
		a.early = poll.Due.After(a.clock())
		if a.receives > 1 {
			w.polledBy(chain, poll.Number+1).extra++
		}
		return time.Time{}, a.observer().Reconcile(a.ctx, received)
	}
	pause := poll.Due.Sub(w.clock())
	w.post(m, pause)
	if w.more && w.chance(2) { // it is received again, as if its worker had not deleted it
		again := *m
		again.receives = 1
		w.live++
		w.outside++
		w.deliverAfter(&again, pause+w.between(0, visibility))
	}
}

// polled are the polls of one wait with one number.
type polled struct {
	sends int
	extra int // deliveries of the poll before this one that were not its first
	last  time.Duration
}

// meanwhile is how much later than another of that number a poll may be sent that
// was under way when the other one was noted.
const meanwhile = 30 * time.Second

// checkChain: chains of polls merge, unless each of their messages is the first of
// its kind.
func (w *world) checkChain(poll resume.Poll) {
	chain, number := chainOf(poll), poll.Number
	this := w.polledBy(chain, number)
	this.sends++
	// The first chain may be a poll ahead when the second one begins.
	most := w.polledBy(chain, 1).sends + this.extra + w.polledBy(chain, number-1).extra + w.copies[chain]
	if number > 1 && this.sends > most && w.now > this.last+meanwhile && !w.lateAtAll {
		w.violate(TooManyMessages, "poll %d of a wait is sent %d times, at most %d are right", number, this.sends, most)
	}
	this.last = w.now
}

func chainOf(poll resume.Poll) string { return "poll " + poll.Waiter.Handle }

func (w *world) polledBy(chain string, number int) *polled {
	name := fmt.Sprint(chain, " ", number)
	if w.polled[name] == nil {
		w.polled[name] = &polled{}
	}
	return w.polled[name]
}

// pollAgain has a new process poll for everybody who waits.
func (w *world) pollAgain(a *actor) {
	for _, key := range slices.SortedFunc(maps.Keys(w.jobs.meetings), func(a, b jobs.Key) int { return cmp.Compare(a.Name, b.Name) }) {
		for _, waiter := range w.jobs.meetings[key].Waiters {
			if id, ok := token.HandleID(waiter.Handle); ok && w.store.logs[engine.ID(id.Execution)] != nil {
				poll := resume.Poll{Key: key, Waiter: waiter, Number: 1, Due: a.clock().Add(resume.FirstPoll)}
				poll = poll.Sign(keys)
				w.checkChain(poll)
				w.postPoll(poll)
			}
		}
	}
}

// runJob has a job run that was started, once however often, and end: the service
// sends an event about that, perhaps twice, perhaps not at all.
func (w *world) runJob(kind jobs.Kind, answer []byte) {
	if w.started[string(answer)] {
		return
	}
	w.started[string(answer)] = true
	id, failed := jobID(kind, answer), w.chance(5)
	w.after(w.jobTakes(), func() {
		event := []byte(endOf(kind.Name, id, failed, w.rightClock()))
		w.note("a %s ends, failed=%t", kind.Name, failed)
		w.jobs.services.Observe(event, w.rightClock())
		for range w.rand.IntN(3) {
			w.jobs.told[id] = w.now
			w.postEvent(event)
		}
	})
}

// longestJob is longer than any job takes.
const longestJob = 30 * time.Minute

// jobTakes is often no time, and at most a few polls.
func (w *world) jobTakes() time.Duration {
	if w.more && w.chance(2) {
		return w.between(0, longestJob) // several polls
	}
	return w.between(0, []time.Duration{50 * time.Millisecond, time.Second, time.Minute, 10 * time.Minute}[w.rand.IntN(4)])
}

func (w *world) postEvent(event []byte) {
	w.outside++
	m := &message{name: "event", kind: kindCloser, causes: []string{"event"}, life: closerLife}
	m.handle = func(a *actor) (time.Time, error) {
		err := a.observer().Observe(a.ctx, event)
		if w.offsets != nil && errors.Is(err, resume.ErrUnusableEvent) {
			return time.Time{}, nil // its time is not plausible by this clock, and the polls make that good
		}
		return time.Time{}, err
	}
	w.post(m, 0)
}

// jobID is the id of a job that was started.
func jobID(kind jobs.Kind, answer []byte) string {
	started, err := kind.ReadStart(simulated.Account, simulated.Region, nil, answer)
	if err != nil {
		panic(fmt.Sprintf("sim: the service answers %s: %s", answer, err))
	}
	return started.ID
}

// endOf is the event of the end of a job.
func endOf(kind, id string, failed bool, at time.Time) string {
	const head = `{"version":"0","id":"e","source":"aws.%s","detail-type":%q,"account":%q,"region":%q,"time":%q,"resources":[],"detail":%s}`
	source, detailType, status := "batch", "Batch Job State Change", "SUCCEEDED"
	arn := "arn:aws:batch:" + simulated.Region + ":" + simulated.Account + ":job/" + id
	detail := `{"jobArn":"` + arn + `","jobId":%q,"jobName":"n","status":%q,"statusReason":"it ended"}`
	if kind == "transcribe-job" {
		source, detailType, status = "transcribe", "Transcribe Job State Change", "COMPLETED"
		detail = `{"TranscriptionJobName":%q,"TranscriptionJobStatus":%q}`
	}
	if failed {
		status = "FAILED"
	}
	return fmt.Sprintf(head, source, detailType, simulated.Account, simulated.Region, at.Format(time.RFC3339), fmt.Sprintf(detail, id, status))
}
