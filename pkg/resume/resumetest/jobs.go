package resumetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// JobsStore is what [resume.Jobs] keeps things in.
type JobsStore interface {
	resume.Outcomes
	resume.Rendezvous
	resume.ForeignWaits
}

// orderings are the cases of [Jobs] that are the same for steps of ours and for
// somebody else's engine.
var orderings = map[string]func(*desk){
	"the event last":  eventLast,
	"the event first": eventFirst,
	"the event before whoever waits for the job knows it": eventDuringStart,
	"the event twice":                                              eventTwice,
	"the event after the deadline":                                 eventAfterDeadline,
	"the event after somebody closed the token by hand":            eventAfterHand,
	"the event for an older run of the same task":                  eventOfOlderRun,
	"the event for an older run was parked":                        parkedOlderRun,
	"the event in the same second as the start":                    eventInSameSecond,
	"the event for an older run in the same second as the start":   olderRunInSameSecond,
	"the event never: a poll finds the end":                        eventNever,
	"the event never, for a task: a poll finds the end":            eventNeverForTask,
	"a job that failed":                                            jobFailed,
	"a task that was stopped for a bad reason":                     taskFailed,
	"two executions on one task, one after the other":              twoOnOneTask,
	"two executions on one task at once: the second is refused":    twoOnOneTaskAtOnce,
	"a run that was replaced before anybody heard of its end":      superseded,
	"several wait for one job":                                     severalWait,
	"one of several cannot be closed: the event comes again":       severalFail,
	"the description is throttled: the event comes again":          throttledEvent,
	"the description is throttled: the next poll asks again":       throttledPoll,
	"polls become rare and end with the wait":                      pollPauses,
	"a job that its service forgot":                                forgottenJob,
	"the binding fails: a poll finds the end":                      bindFails,
	"the poll cannot be sent: the start fails and is repeated":     pollFails,
	"a start repeated: the service knows the name":                 repeatedByName,
	"a start repeated: the task runs, and began just now":          repeatedBusy,
	"a start repeated: the service starts a second run":            repeatedTwice,
	"a task that has long been running is not taken over":          longBusy,
	"a start that the service refuses":                             refusedStart,
	"a simulated job needs no service":                             simulatedJob,
	"crash after each effect: the event last":                      crashEventLast,
	"crash after each effect: the event first":                     crashEventFirst,
	"crash after each effect: a poll finds the end":                crashPoll,
	"a callback closes the token, and nothing is started":          callback,
	"a wake that is lost is sent again with the event":             lostWake,
	"what a service says holds no token of ours in causes, errors": maskedTexts,
}

// Jobs is the suite of [resume.Jobs] and [resume.Deliveries] over a store: a
// table of the orderings in which start, event, poll and end may come, in virtual
// time, with services that it plays itself.
func Jobs(t *testing.T, open func(t *testing.T) JobsStore) {
	t.Helper()
	for name, test := range orderings {
		for who, foreign := range map[string]bool{"own": false, "foreign": true} {
			t.Run(who+": "+name, func(t *testing.T) {
				t.Parallel()
				test(newDesk(t, open(t), foreign))
			})
		}
	}
	for name, test := range map[string]func(*desk){
		"the event for an unknown job is parked":                 unknownJob,
		"a malformed event has no effect":                        malformedEvent,
		"an event that tells of no end has no effect":            noEnd,
		"nobody waits: the job is started and no more":           nobodyWaits,
		"a token that is none, or a foreign one, starts nothing": badTokens,
		"the tutorial's functions speak the tutorial's JSON":     tutorial,
		"a callback has a place to arrive at":                    callbackNowhere,
		"where nobody else is served, nobody else is":            notServed,
		"how a job is":                                             jobStatus,
		"a foreign wait ends at its deadline":                      foreignDeadline,
		"a foreign wait ends at its deadline, without a job":       callbackDeadline,
		"crash after each effect: a foreign wait's deadline":       crashDeadline,
		"a foreign wait may end as any value":                      foreignValues,
		"a foreign start repeated is one wait":                     foreignRepeated,
		"a durable function's wait":                                durableWait,
		"a wake of an open foreign wait is kept while it is young": youngWake,
		"a delivery that fails is tried again":                     deliveryFails,
		"a recipient that waits no more":                           recipientGone,
		"a wake of no foreign wait is dropped":                     wakeOfNothing,
		"keys were replaced while somebody else's engine waited":   replacedKeys,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newDesk(t, open(t), false))
		})
	}
}

func eventLast(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	if want := (jobs.StartAnswer{ID: p.answer.ID, Kind: "batch-job", Key: batchARN(p.answer.ID)}); p.answer != want || p.answer.ID == "" {
		d.Errorf("the answer is %+v, want %+v", p.answer, want)
	}
	d.pass(30 * time.Second)
	p.waits()
	d.cloud.end(p.answer.ID, "", false)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func eventFirst(d *desk) {
	p := d.party(1)
	d.cloud.nextID = "known-before"
	d.cloud.jobs["known-before"] = &job{began: d.now}
	d.cloud.end("known-before", "", false)
	d.observe(d.cloud.batchEvent("known-before"))
	d.pass(time.Hour)
	p.start("batch-job", batch)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func eventDuringStart(d *desk) {
	p := d.party(1)
	d.cloud.onStart = func(id string) {
		d.cloud.end(id, "", false)
		d.observe(d.cloud.batchEvent(id))
	}
	p.start("batch-job", batch)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func eventTwice(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	d.cloud.end(p.answer.ID, "", false)
	event := d.cloud.batchEvent(p.answer.ID)
	d.observe(event)
	d.pass(time.Second)
	d.observe(event)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
	d.observe(event)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

// late closes the token as its deadline does.
func (p *party) late() {
	p.Helper()
	if p.foreign {
		p.pass(time.Minute)
		return
	}
	mustClose(p.T, p.raw, p.handle, token.Closing{Outcome: token.Failure("FnF.TaskTimeout", "late"), By: token.ClosedByDeadline, At: p.now})
}

func eventAfterDeadline(d *desk) {
	p := d.party(1)
	p.startWithin("batch-job", batch, 60)
	p.late()
	d.cloud.end(p.answer.ID, "", false)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout")
}

func eventAfterHand(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	mustClose(d.T, d.raw, p.handle, closing(failure, 0))
	d.cloud.end(p.answer.ID, "", false)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.ended(token.ClosedByHand, "Broken")
}

// oldRun is a run of the task that ended, and its event.
func (d *desk) oldRun() (event string) {
	d.cloud.jobs[dmsTask] = &job{began: d.now.Add(-time.Hour)}
	d.cloud.end(dmsTask, "FULL_LOAD_ONLY_FINISHED", false)
	return d.cloud.dmsEvent()
}

// endTask ends the task's run, and its event comes.
func (d *desk) endTask(reason string) {
	d.cloud.end(dmsTask, reason, false)
	d.observe(d.cloud.dmsEvent())
}

func eventOfOlderRun(d *desk) {
	p, old := d.party(1), d.oldRun()
	d.pass(10 * time.Second)
	p.start("dms-task", dmsJob)
	d.observe(old)
	p.waits()
	d.pass(30 * time.Second)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func parkedOlderRun(d *desk) {
	p := d.party(1)
	d.observe(d.oldRun())
	d.pass(10 * time.Second)
	p.start("dms-task", dmsJob)
	p.waits()
	d.pass(30 * time.Second)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func eventInSameSecond(d *desk) {
	p := d.party(1)
	d.now = epoch.Truncate(time.Second).Add(900 * time.Millisecond)
	d.cloud.onStart = func(string) {
		d.pass(50 * time.Millisecond)
		d.endTask("NORMAL") // whose instant is before the start
	}
	p.start("dms-task", dmsJob)
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func olderRunInSameSecond(d *desk) {
	p := d.party(1)
	d.now = epoch.Truncate(time.Second).Add(100 * time.Millisecond)
	old := d.oldRun()
	d.observe(old)
	d.pass(800 * time.Millisecond)
	p.start("dms-task", dmsJob)
	p.waits()
	d.observe(old)
	p.waits()
	d.pass(time.Second)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func eventNever(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	d.pass(50 * time.Second)
	d.cloud.end(p.answer.ID, "", false)
	d.pass(10*time.Second - time.Nanosecond)
	p.waits()
	d.pass(time.Nanosecond)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
}

func eventNeverForTask(d *desk) {
	p := d.party(1)
	d.oldRun()
	d.pass(time.Minute)
	p.start("dms-task", dmsJob)
	d.pass(2 * time.Minute)
	p.waits()
	d.cloud.end(dmsTask, "NORMAL", false)
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"stop_reason":"NORMAL"`)
}

func jobFailed(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	d.cloud.end(p.answer.ID, "Essential container exited", true)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, "Job.Failed: batch-job is FAILED: Essential container exited")
}

func taskFailed(d *desk) {
	p := d.party(1)
	p.start("dms-task", dmsJob)
	d.endTask("FATAL_ERROR")
	p.ended(token.ClosedByEvent, "Job.Failed")
}

func twoOnOneTask(d *desk) {
	one, two := d.party(1), d.party(2)
	one.start("dms-task", dmsJob)
	d.pass(time.Second)
	d.endTask("FULL_LOAD_ONLY_FINISHED")
	d.pass(3 * time.Second)
	two.start("dms-task", dmsJob)
	two.waits()
	d.pass(time.Second)
	d.endTask("NORMAL")
	one.ended(token.ClosedByEvent, "FULL_LOAD_ONLY_FINISHED")
	d.observe(d.cloud.dmsEvent())
	two.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
	// Who was told is released when the next one waits.
	met, err := d.raw.Note(d.Context(), d.taskKey(), jobs.Sighting{At: d.now}, d.now.Add(day))
	if err != nil || len(met.Waiters) != 1 || met.Waiters[0].Handle != two.handle {
		d.Errorf("known is %+v, error %v", met, err)
	}
}

func (d *desk) taskKey() jobs.Key {
	return jobs.Key{Kind: "dms-task", Account: account, Region: region, Name: dmsTask}
}

func twoOnOneTaskAtOnce(d *desk) {
	one, two := d.party(1), d.party(2)
	one.start("dms-task", dmsJob)
	d.pass(time.Second)
	err := two.tryStart("dms-task", dmsJob, 0)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || refused.Name != "dms.InvalidResourceStateFault" {
		d.Fatalf("error %v", err)
	}
	d.pass(time.Second)
	d.endTask("NORMAL")
	one.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func superseded(d *desk) {
	one, two := d.party(1), d.party(2)
	one.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	d.cloud.end(dmsTask, "NORMAL", false)
	d.pass(20 * time.Second)
	two.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	two.waits()
	one.ended(token.ClosedByReconcile, "Job.Superseded")
	d.endTask("NORMAL")
	two.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func severalWait(d *desk) {
	d.cloud.nextID = "one-for-all"
	parties := []*party{d.party(1), d.party(2), d.party(3)}
	for _, p := range parties {
		p.start("batch-job", batch)
	}
	d.cloud.end("one-for-all", "", false)
	d.observe(d.cloud.batchEvent("one-for-all"))
	wakes := slices.Clone(d.wakes)
	for _, p := range parties {
		d.wakes = wakes
		p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
	}
}

func severalFail(d *desk) {
	d.cloud.nextID = "one-for-all"
	one, two := d.party(1), d.party(2)
	one.start("batch-job", batch)
	two.start("batch-job", batch)
	d.cloud.end("one-for-all", "", false)
	event := d.cloud.batchEvent("one-for-all")
	d.fails["close"] = []error{errFault}
	if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, errFault) {
		d.Errorf("error %v, want the event to come again", err)
	}
	if len(d.wakes) != 1 {
		d.Errorf("%d were told, want the other one", len(d.wakes))
	}
	d.observe(event)
	wakes := slices.Clone(d.wakes)
	one.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
	d.wakes = wakes
	two.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

var throttled = &resume.ServiceError{Name: "dms.ThrottlingException", Message: "Rate exceeded", Again: true}

func throttledEvent(d *desk) {
	p := d.party(1)
	p.start("dms-task", dmsJob)
	d.fails["describe"] = []error{throttled}
	d.cloud.end(dmsTask, "NORMAL", false)
	err := d.jobs.Observe(d.Context(), []byte(d.cloud.dmsEvent()))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || !refused.Again {
		d.Errorf("error %v, want the event to come again", err)
	}
	p.waits()
	d.observe(d.cloud.dmsEvent())
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func throttledPoll(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	d.cloud.end(p.answer.ID, "", false)
	d.fails["describe"] = []error{throttled, errFault}
	d.pass(time.Minute + 2*time.Minute)
	p.waits()
	if len(d.warns) != 2 {
		d.Errorf("warned of %v", d.warns)
	}
	d.pass(4 * time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
}

func pollPauses(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	var pauses []time.Duration
	for number := 1; number <= 8; number++ {
		poll := d.polls[0]
		if len(d.polls) != 1 || poll.Number != number {
			d.Fatalf("polls %+v", d.polls)
		}
		pauses = append(pauses, poll.Due.Sub(d.now)/time.Minute)
		d.pass(poll.Due.Sub(d.now))
	}
	if want := []time.Duration{1, 2, 4, 8, 15, 15, 15, 15}; !slices.Equal(pauses, want) {
		d.Errorf("the pauses are %d minutes, want %d", pauses, want)
	}
	p.waits()
	d.cloud.end(p.answer.ID, "", false)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func forgottenJob(d *desk) {
	p := d.party(1)
	p.start("dms-task", dmsJob)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, "NORMAL")

	p = d.party(2)
	d.pass(time.Hour)
	p.start("dms-task", dmsJob)
	d.cloud.end(dmsTask, "NORMAL", false)
	event := d.cloud.dmsEvent()
	delete(d.cloud.jobs, dmsTask)
	d.observe(event) // that it is forgotten for good is for the polls to find
	d.pass(time.Minute)
	p.waits()
	d.pass(2 * time.Minute)
	p.ended(token.ClosedByReconcile, "JobNotFound")
}

func bindFails(d *desk) {
	p := d.party(1)
	d.fails["bind"] = []error{errFault}
	p.start("batch-job", batch)
	if d.cloud.starts != 1 || len(d.warns) != 1 || !errors.Is(d.warns[0], errFault) {
		d.Errorf("%d starts, warned of %v", d.cloud.starts, d.warns)
	}
	d.cloud.end(p.answer.ID, "", false)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.waits()
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
}

func pollFails(d *desk) {
	p := d.party(1)
	d.fails["poll"] = []error{errFault}
	if err := p.tryStart("transcribe-job", transcr, 0); !errors.Is(err, errFault) {
		d.Errorf("error %v", err)
	}
	if slices.Contains(d.trace, "bind") {
		d.Errorf("effects %q: it was bound, and no poll is sent", d.trace)
	}
	p.start("transcribe-job", transcr)
	d.cloud.end(p.answer.ID, "", false)
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"COMPLETED"`)
}

func repeatedByName(d *desk) {
	p := d.party(1)
	d.dieAfter = 1 // with the start
	p.start("transcribe-job", transcr)
	if d.cloud.starts != 1 {
		d.Errorf("%d starts", d.cloud.starts)
	}
	first := p.answer
	d.pass(10 * time.Minute)
	p.start("transcribe-job", transcr)
	if p.answer != first || d.cloud.starts != 1 {
		d.Errorf("%d starts; answer %+v, then %+v", d.cloud.starts, first, p.answer)
	}
	d.cloud.end(p.answer.ID, "", false)
	d.pass(15 * time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"COMPLETED"`)
}

func repeatedBusy(d *desk) {
	p := d.party(1)
	d.dieAfter = 1 // with the start
	if err := process(func() error { return p.tryStart("dms-task", dmsJob, 0) }); !errors.Is(err, errDied) {
		d.Fatal(err)
	}
	d.pass(3 * time.Minute)
	p.start("dms-task", dmsJob)
	p.waits()
	p.start("dms-task", dmsJob) // now that it is bound
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
	if d.cloud.starts != 1 {
		d.Errorf("%d starts", d.cloud.starts)
	}
}

func repeatedTwice(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	first := p.answer
	p.start("batch-job", batch)
	if d.cloud.starts != 2 || p.answer == first {
		d.Errorf("%d starts, answer %+v", d.cloud.starts, p.answer)
	}
	d.cloud.end(first.ID, "", false)
	d.observe(d.cloud.batchEvent(first.ID))
	d.cloud.end(p.answer.ID, "too late", true)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, first.ID)
}

func longBusy(d *desk) {
	p := d.party(1)
	d.cloud.jobs[dmsTask] = &job{began: d.now.Add(-6 * time.Minute)}
	err := p.tryStart("dms-task", dmsJob, 0)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || refused.Name != "dms.InvalidResourceStateFault" || len(d.polls) != 0 || slices.Contains(d.trace, "bind") {
		d.Errorf("error %v, polls %+v, effects %q", err, d.polls, d.trace)
	}
}

func refusedStart(d *desk) {
	p := d.party(1)
	d.fails["start"] = []error{throttled}
	err := p.tryStart("batch-job", batch, 0)
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || !refused.Again {
		d.Errorf("error %v", err)
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
	_, err = d.jobs.StartJob(d.Context(), p.request("batch-job", `{}`, 0))
	if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorInvalid || len(d.trace) != 0 {
		d.Errorf("error %v, effects %q", err, d.trace)
	}
}

func simulatedJob(d *desk) {
	p := d.party(1)
	p.start("simulated", `{"delay":20}`)
	if p.answer.Kind != "simulated" || p.answer.Key != p.answer.ID || d.cloud.starts != 0 {
		d.Errorf("the answer is %+v, %d starts", p.answer, d.cloud.starts)
	}
	d.now = epoch.Truncate(time.Second)
	d.pass(20*time.Second - time.Nanosecond)
	p.waits()
	d.wantStatus("simulated", p.answer.ID, fmt.Sprintf(`{"job_id":%q,"job_status":"running","try_count":1}`, p.answer.ID))
	d.pass(time.Nanosecond)
	d.wantStatus("simulated", p.answer.ID, fmt.Sprintf(`{"job_id":%q,"job_status":"success","try_count":1}`, p.answer.ID))
	p.ended(token.ClosedByReconcile, fmt.Sprintf(`{"job_id":%q,"job_key":%q,"kind":"simulated","status":"success"}`, p.answer.ID, p.answer.ID))

	p = d.party(2)
	p.start("simulated", `{"delay":7200}`)
	d.pass(2*time.Hour - time.Second)
	p.waits()
	d.pass(time.Second)
	p.ended(token.ClosedByReconcile, `"status":"success"`)
}

// crash plays a case once for each of its effects, after which the process dies.
func (d *desk) crash(play func(p *party, n int)) {
	d.Helper()
	for n := 1; ; n++ {
		d.dieAfter, d.wakes, d.polls = n, nil, nil
		play(d.party(n), n)
		if d.Failed() {
			d.Fatalf("when it died after effect %d", n)
		}
		if d.dieAfter > 0 {
			if n < 5 {
				d.Errorf("the case has %d effects only", n-1)
			}
			return
		}
		if n > 200 {
			d.Fatal("the case has effects without end")
		}
	}
}

func crashEventLast(d *desk) {
	d.crash(func(p *party, _ int) {
		p.start("batch-job", batch)
		d.pass(time.Second)
		d.cloud.end(p.answer.ID, "", false)
		d.observe(d.cloud.batchEvent(p.answer.ID))
		p.ended(token.ClosedByEvent, p.answer.ID)
	})
}

// crashEventFirst: who dies between the wake and the update leaves the end to
// the poll.
func crashEventFirst(d *desk) {
	d.crash(func(p *party, n int) {
		d.cloud.nextID = fmt.Sprint("known-before-", n)
		d.cloud.jobs[d.cloud.nextID] = &job{began: d.now}
		d.cloud.end(d.cloud.nextID, "", false)
		d.observe(d.cloud.batchEvent(d.cloud.nextID))
		p.start("batch-job", batch)
		p.ended(token.ClosedByEvent, d.cloud.nextID)
	})
}

func crashPoll(d *desk) {
	d.crash(func(p *party, _ int) {
		p.start("transcribe-job", transcr)
		d.pass(time.Minute)
		p.waits()
		d.cloud.end(p.answer.ID, "", false)
		d.pass(2 * time.Minute)
		p.ended(token.ClosedByReconcile, p.answer.ID)
	})
}

func callback(d *desk) {
	p := d.party(1)
	p.start("callback", `{}`)
	text, ok := strings.CutPrefix(p.answer.CallbackURL, "https://example.org/callbacks/")
	if !ok || p.answer.ID != p.handle || p.answer.Kind != "callback" || p.answer.Key != p.handle || d.cloud.starts != 0 {
		d.Fatalf("the answer is %+v, %d starts", p.answer, d.cloud.starts)
	}
	if !d.foreign && (text != p.text || len(d.trace) != 0) {
		d.Errorf("the URL is of %q, want the step's own token; effects %q", text, d.trace)
	}
	d.pass(time.Hour)
	tokens := resume.New(resume.Config{
		Keys: d.keys, Outcomes: deskStore{d}, Wakes: deskWakes{d}, Now: d.clock, By: token.ClosedByCallback,
	})
	if _, _, err := tokens.Close(d.Context(), text, success); err != nil {
		d.Fatal(err)
	}
	p.ended(token.ClosedByCallback, `{"status":"ok"}`)
}

func lostWake(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	d.cloud.end(p.answer.ID, "", false)
	d.fails["wake"] = []error{errFault}
	event := d.cloud.batchEvent(p.answer.ID)
	if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, errFault) || len(d.wakes) != 0 {
		d.Errorf("error %v, wakes %v", err, d.wakes)
	}
	d.observe(event)
	p.ended(token.ClosedByEvent, p.answer.ID)
}

func maskedTexts(d *desk) {
	secret := d.keys.Sign(token.ID{Number: 99, Expires: epoch.Add(day)})
	p := d.party(1)
	d.fails["start"] = []error{&resume.ServiceError{Name: "batch.ClientException", Message: "bad: " + secret}}
	if err := p.tryStart("batch-job", batch, 0); err == nil || strings.Contains(err.Error(), secret) {
		d.Errorf("error %v", err)
	}
	p.start("batch-job", batch)
	d.cloud.end(p.answer.ID, "bad: "+secret, true)
	d.observe(d.cloud.batchEvent(p.answer.ID))
	if record, err := d.raw.Record(d.Context(), p.handle); err != nil || strings.Contains(written(*record.Outcome), secret) {
		d.Errorf("the token holds %+v, error %v", record.Outcome, err)
	}
	answer, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":"batch-job"}`, p.answer.ID))
	if err != nil || strings.Contains(string(answer), secret) {
		d.Errorf("it answers %s, error %v", answer, err)
	}
	p.ended(token.ClosedByEvent, "Job.Failed")
}

func (d *desk) wantStatus(kind, id, want string) {
	d.Helper()
	answer, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":%q}`, id, kind))
	if err != nil || string(answer) != want {
		d.Errorf("it answers %s, error %v; want %s", answer, err, want)
	}
}

func unknownJob(d *desk) {
	d.cloud.jobs["nobody"] = &job{began: d.now}
	d.cloud.end("nobody", "", false)
	d.observe(d.cloud.batchEvent("nobody"))
	if want := []string{"note"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q", d.trace, want)
	}
	d.observe(d.oldRun())
	if want := []string{"note", "note"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q: nobody asks how it is", d.trace, want)
	}
}

func malformedEvent(d *desk) {
	for _, event := range []string{
		"", "x", "[]", "{}", `{"source":"aws.batch"}`,
		`{"source":"aws.batch","detail-type":"Batch Job State Change","detail":{"status":"SUCCEEDED"}}`,
		strings.ReplaceAll(strings.ReplaceAll(d.oldRun(), account, ""), `"account":""`, `"account":7`),
	} {
		if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, resume.ErrNoEvent) {
			d.Errorf("%s: error %v", event, err)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func noEnd(d *desk) {
	d.cloud.jobs["runs"] = &job{began: d.now}
	for _, event := range []string{
		d.cloud.batchEvent("runs"), strings.ReplaceAll(d.oldRun(), "TASK_STOPPED", "TASK_SOMETHING_NEW"),
		`{"source":"aws.s3","detail-type":"Object Created","detail":{}}`,
	} {
		if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, jobs.ErrNoEnd) {
			d.Errorf("%s: error %v", event, err)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func nobodyWaits(d *desk) {
	answer, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`}`))
	var got jobs.StartAnswer
	if err != nil || json.Unmarshal(answer, &got) != nil || got.ID == "" || got.Key != batchARN(got.ID) {
		d.Errorf("it answers %s, error %v", answer, err)
	}
	if want := []string{"start"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q", d.trace, want)
	}
	if _, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"dms-task","params":`+dmsJob+`}`)); err != nil {
		d.Error(err)
	}
	_, err = d.jobs.StartJob(d.Context(), []byte(`{"kind":"dms-task","params":`+dmsJob+`}`))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "dms.InvalidResourceStateFault" {
		d.Errorf("error %v", err)
	}
}

func badTokens(d *desk) {
	valid := d.party(1).text
	expired := token.ID{Execution: [12]byte{1}, Expires: epoch.Truncate(time.Second)}
	foreign := token.ID{Execution: [12]byte{1}, Flags: token.FlagForeign, Expires: epoch.Add(day).Truncate(time.Second)}
	for _, text := range []string{"x", valid[:len(valid)-1], d.keys.Sign(expired), d.keys.Sign(foreign)} {
		request := fmt.Appendf(nil, `{"kind":"batch-job","params":%s,"token":%q}`, batch, text)
		if _, err := d.jobs.StartJob(d.Context(), request); !errors.Is(err, token.ErrInvalid) || strings.Contains(err.Error(), text+" ") {
			d.Errorf("%q: error %v", text, err)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func tutorial(d *desk) {
	d.now = epoch.Truncate(time.Second)
	for _, input := range []string{``, `{}`, `{"delay":20,"token":"ignored"}`, `{"kind":"simulated","delay":20}`} {
		answer, err := d.jobs.StartJob(d.Context(), []byte(input))
		var got map[string]string
		if err != nil || json.Unmarshal(answer, &got) != nil || len(got) != 1 || got["job_id"] == "" {
			d.Fatalf("%s: it answers %s, error %v", input, answer, err)
		}
		status := fmt.Sprintf(`{"job_id":%q,"delay":20,"try_count":1}`, got["job_id"])
		for _, want := range []string{"running", "success"} {
			answer, err = d.jobs.GetJobStatus(d.Context(), []byte(status))
			if want := fmt.Sprintf(`{"job_id":%q,"job_status":%q,"try_count":2}`, got["job_id"], want); err != nil || string(answer) != want {
				d.Errorf("%s: it answers %s, error %v; want %s", input, answer, err, want)
			}
			d.pass(20 * time.Second)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func callbackNowhere(d *desk) {
	d.open("")
	p := d.party(1)
	err := p.tryStart("callback", `{}`, 0)
	refused, ok := errors.AsType[*jobs.RequestError](err)
	if !ok || refused.Name != jobs.ErrorInvalid || !strings.Contains(refused.What, "WAITLESS_CALLBACK_URL") || len(d.trace) != 0 {
		d.Errorf("error %v, effects %q", err, d.trace)
	}
}

func notServed(d *desk) {
	alone := resume.NewJobs(resume.JobsConfig{
		Tokens: resume.New(resume.Config{Keys: d.keys, Outcomes: deskStore{d}, Wakes: deskWakes{d}, Now: d.clock}), Services: d.cloud, Now: d.clock,
	})
	_, err := alone.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`,"taskToken":"theirs"}`))
	refused, ok := errors.AsType[*jobs.RequestError](err)
	if !ok || refused.Name != jobs.ErrorInvalid || len(d.trace) != 0 {
		d.Errorf("error %v, effects %q", err, d.trace)
	}
}

func jobStatus(d *desk) {
	p := d.party(1)
	p.start("batch-job", batch)
	id := p.answer.ID
	d.wantStatus("batch-job", id, fmt.Sprintf(`{"job_id":%q,"job_status":"running","status":"RUNNING"}`, id))
	d.cloud.end(id, "it broke", true)
	d.wantStatus("batch-job", id, fmt.Sprintf(
		`{"job_id":%q,"job_status":"failed","status":"FAILED","error":"Job.Failed","cause":"batch-job is FAILED: it broke"}`, id))
	for kind, unknown := range map[string]string{"batch-job": "nobody", "dms-task": dmsTask, "transcribe-job": "nobody", "callback": p.handle, "sfn-execution": "x"} {
		_, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":%q}`, unknown, kind))
		if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorNotFound {
			d.Errorf("%s: error %v", kind, err)
		}
	}
	d.fails["describe"] = []error{throttled}
	_, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":"batch-job"}`, id))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || !refused.Again {
		d.Errorf("error %v", err)
	}
}

func foreignDeadline(d *desk) {
	d.foreign = true
	p := d.party(1)
	p.startWithin("batch-job", batch, 100)
	d.pass(100*time.Second - time.Nanosecond)
	p.waits()
	d.pass(time.Nanosecond)
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout: job "+batchARN(p.answer.ID)+" had no outcome by 2026-01-31T10:01:40Z")

	p = d.party(2)
	p.startWithin("batch-job", batch, 100)
	d.pass(90 * time.Second)
	d.cloud.end(p.answer.ID, "", false)
	d.pass(10 * time.Second)
	p.ended(token.ClosedByReconcile, p.answer.ID)
}

func callbackDeadline(d *desk) {
	d.foreign = true
	p := d.party(1)
	p.start("callback", `{}`)
	d.pass(90*day - time.Nanosecond)
	p.waits()
	d.pass(time.Nanosecond)
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout: the callback had no outcome by 2026-05-01T10:00:00Z")
}

func crashDeadline(d *desk) {
	d.foreign = true
	d.crash(func(p *party, _ int) {
		p.startWithin("batch-job", batch, 90)
		d.pass(90 * time.Second)
		p.ended(token.ClosedByDeadline, "FnF.TaskTimeout")
	})
}

func foreignValues(d *desk) {
	d.foreign = true
	tokens := resume.New(resume.Config{Keys: d.keys, Outcomes: deskStore{d}, Wakes: deskWakes{d}, Now: d.clock})
	for i, report := range []string{`null`, `"text"`, `[1,2]`, `{}`, `"` + strings.Repeat("x", resume.ForeignLimit-2) + `"`} {
		p := d.party(i)
		p.start("callback", `{}`)
		_, text, _ := strings.Cut(p.answer.CallbackURL, "/callbacks/")
		large, err := resume.ParseValue([]byte(`"`+strings.Repeat("x", resume.ForeignLimit)+`"`), resume.ForeignLimit*2)
		if err != nil {
			d.Fatal(err)
		}
		_, _, err = tokens.Close(d.Context(), text, large)
		if refused, ok := errors.AsType[*resume.ReportError](err); !ok || !refused.TooLarge {
			d.Errorf("a value over the limit: error %v", err)
		}
		outcome, err := resume.ParseValue([]byte(report), resume.ForeignLimit)
		if err != nil {
			d.Fatal(err)
		}
		if _, _, err := tokens.Close(d.Context(), text, outcome); err != nil {
			d.Fatal(err)
		}
		p.ended(token.ClosedByHand, report)
	}
}

func foreignRepeated(d *desk) {
	d.foreign = true
	p := d.party(1)
	p.start("callback", `{}`)
	first := p.answer
	d.pass(time.Minute)
	p.start("callback", `{}`)
	list, err := d.raw.List(d.Context(), "", 10)
	if err != nil || len(list) != 1 || p.answer != first {
		d.Errorf("listed are %+v, error %v; answers %+v, then %+v", list, err, first, p.answer)
	}
	wait := list[0]
	if wait.Recipient != resume.RecipientStepFunctions || !wait.Opened.Equal(epoch) || !wait.Deadline.Equal(epoch.Add(90*day)) ||
		wait.Expires.Before(wait.Deadline.Add(day)) || wait.Job != (jobs.Key{}) || wait.JobID != "" {
		d.Errorf("the wait is %+v", wait)
	}
	if strings.Contains(string(wait.Sealed), "their token") {
		d.Error("somebody else's token is kept as it is")
	}
}

func durableWait(d *desk) {
	_, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`,"callbackId":"their+callback/=="}`))
	if err != nil {
		d.Fatal(err)
	}
	wait := d.waitOf("their+callback/==")
	if wait.Recipient != resume.RecipientDurable || wait.Job.Kind != "batch-job" || wait.JobID == "" {
		d.Errorf("the wait is %+v", wait)
	}
	p := &party{desk: d, theirs: "their+callback/==", handle: wait.Handle}
	d.foreign = true
	d.cloud.end(wait.JobID, "", false)
	d.observe(d.cloud.batchEvent(wait.JobID))
	p.ended(token.ClosedByEvent, wait.JobID)
}

// once delivers a wake that was sent so long ago.
func (p *party) once(age time.Duration) (putBack time.Duration, err error) {
	at, err := p.deliveries().Deliver(p.Context(), p.handle, p.now.Add(-age))
	if at.IsZero() {
		return 0, err
	}
	return at.Sub(p.now), err
}

func youngWake(d *desk) {
	d.foreign = true
	p := d.party(1)
	p.start("batch-job", batch)
	for age, want := range map[time.Duration]time.Duration{
		0: time.Second, 10*time.Second - 1: time.Second, 10 * time.Second: 0, time.Hour: 0, -time.Second: time.Second, -time.Hour: 0,
	} {
		if putBack, err := p.once(age); err != nil || putBack != want {
			d.Errorf("at an age of %s it is put back for %s, error %v; want %s", age, putBack, err, want)
		}
	}
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	for range 2 {
		if putBack, err := p.once(time.Hour); err != nil || putBack != 0 {
			d.Errorf("it is put back for %s, error %v", putBack, err)
		}
	}
	p.wantDelivered(success)
}

func deliveryFails(d *desk) {
	d.foreign = true
	p := d.party(1)
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

func recipientGone(d *desk) {
	d.foreign = true
	p := d.party(1)
	p.start("batch-job", batch)
	d.sent[p.theirs] = []token.Outcome{failure} // somebody else was faster
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	if _, err := p.once(0); err != nil {
		d.Error(err)
	}
	p.wantDelivered(failure)
	if wait, _, err := d.raw.ForeignWait(d.Context(), p.handle); err != nil || wait.Delivery != resume.DeliveryGone {
		d.Errorf("the wait is %+v, error %v", wait, err)
	}
}

func wakeOfNothing(d *desk) {
	p := d.party(1) // a step of ours
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	if putBack, err := p.once(0); err != nil || putBack != 0 || len(d.sent) != 0 {
		d.Errorf("it is put back for %s, error %v, sent %v", putBack, err, d.sent)
	}
}

func replacedKeys(d *desk) {
	d.foreign = true
	p := d.party(1)
	p.start("batch-job", batch)
	old := d.keys.Current
	d.keys = token.Keys{Current: token.Key{ID: 8, Secret: []byte(strings.Repeat("n", token.SecretSize))}, Previous: &old}
	mustClose(d.T, d.raw, p.handle, closing(success, 0))
	if _, err := p.once(0); err != nil {
		d.Error(err)
	}
	p.wantDelivered(success)
}
