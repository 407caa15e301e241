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
)

func eventLast(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	if want := (jobs.StartResult{ID: p.answer.ID, Kind: "batch-job", Key: batchARN(p.answer.ID)}); p.answer != want || p.answer.ID == "" {
		d.Errorf("the answer is %+v, want %+v", p.answer, want)
	}
	d.pass(30 * time.Second)
	p.waits()
	d.services.end(p.answer.ID, "", false)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func eventFirst(d *fixture) {
	p := d.caller(1)
	d.services.nextID = "known-before"
	d.services.jobs["known-before"] = &job{began: d.now}
	d.services.end("known-before", "", false)
	d.observe(d.services.batchEvent("known-before"))
	d.pass(time.Hour)
	p.start("batch-job", batch)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func eventDuringStart(d *fixture) {
	p := d.caller(1)
	d.services.onStart = func(id string) {
		d.services.end(id, "", false)
		d.observe(d.services.batchEvent(id))
	}
	p.start("batch-job", batch)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

func eventTwice(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "", false)
	event := d.services.batchEvent(p.answer.ID)
	d.observe(event)
	d.pass(time.Second)
	d.observe(event)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
	d.observe(event)
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

// late closes the token as its deadline does.
func (p *caller) late() {
	p.Helper()
	if p.external {
		p.pass(time.Minute)
		return
	}
	mustClose(p.T, p.raw, p.handle, token.CloseOp{Outcome: token.Failure("FnF.TaskTimeout", "late"), By: token.ClosedByDeadline, At: p.now})
}

func eventAfterDeadline(d *fixture) {
	p := d.caller(1)
	p.startWithin("batch-job", batch, 60)
	p.late()
	d.services.end(p.answer.ID, "", false)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout")
}

func eventAfterHand(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	mustClose(d.T, d.raw, p.handle, closing(failure, 0))
	d.services.end(p.answer.ID, "", false)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByHand, "Broken")
}

// oldRun is a run of the task that ended, and its event.
func (d *fixture) oldRun() (event string) {
	d.services.jobs[dmsTask] = &job{began: d.now.Add(-time.Hour)}
	d.services.end(dmsTask, "FULL_LOAD_ONLY_FINISHED", false)
	return d.services.dmsEvent()
}

// endTask ends the task's run, and its event comes.
func (d *fixture) endTask(reason string) {
	d.services.end(dmsTask, reason, false)
	d.observe(d.services.dmsEvent())
}

func eventOfOlderRun(d *fixture) {
	p, old := d.caller(1), d.oldRun()
	d.pass(10 * time.Second)
	p.start("dms-task", dmsJob)
	d.observe(old)
	p.waits()
	d.pass(30 * time.Second)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func parkedOlderRun(d *fixture) {
	p := d.caller(1)
	d.observe(d.oldRun())
	d.pass(10 * time.Second)
	p.start("dms-task", dmsJob)
	p.waits()
	if slices.Contains(d.trace, "describe") {
		d.Errorf("effects %q: it ended before, so there is nothing to ask", d.trace)
	}
	d.pass(30 * time.Second)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func eventInSameSecond(d *fixture) {
	p := d.caller(1)
	d.now = epoch.Truncate(time.Second).Add(900 * time.Millisecond)
	d.services.onStart = func(string) {
		d.pass(50 * time.Millisecond)
		d.endTask("NORMAL") // whose instant is before the start
	}
	p.start("dms-task", dmsJob)
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func olderRunInSameSecond(d *fixture) {
	p := d.caller(1)
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

func eventWithoutReason(d *fixture) {
	silent := func() string { return strings.ReplaceAll(d.services.dmsEvent(), " Stop Reason NORMAL", "") }
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	d.services.end(dmsTask, "NORMAL", false)
	d.observe(silent())
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)

	p = d.caller(2)
	d.services.onStart = func(string) {
		d.services.end(dmsTask, "NORMAL", false)
		d.observe(silent())
	}
	p.start("dms-task", dmsJob)
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func eventWithoutOutput(d *fixture) {
	p := d.caller(1)
	p.start("sfn-execution", machineJob)
	p.observed(p.answer.ID)
	p.ended(token.ClosedByEvent, `"output":{"large":true}`)
}

func eventNever(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.pass(50 * time.Second)
	d.services.end(p.answer.ID, "", false)
	d.pass(10*time.Second - time.Nanosecond)
	p.waits()
	d.pass(time.Nanosecond)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
}

func eventNeverForTask(d *fixture) {
	p := d.caller(1)
	d.oldRun()
	d.pass(time.Minute)
	p.start("dms-task", dmsJob)
	d.pass(2 * time.Minute)
	p.waits()
	d.services.end(dmsTask, "NORMAL", false)
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"stop_reason":"NORMAL"`)
}

func jobFailed(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "Essential container exited", true)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, "Job.Failed: batch-job is FAILED: Essential container exited")
}

func taskFailed(d *fixture) {
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	d.endTask("FATAL_ERROR")
	p.ended(token.ClosedByEvent, "Job.Failed")
}

func twoOnOneTask(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(time.Second)
	d.endTask("FULL_LOAD_ONLY_FINISHED")
	d.pass(3 * time.Second)
	two.start("dms-task", dmsJob)
	two.waits()
	d.pass(time.Second)
	d.endTask("NORMAL")
	one.ended(token.ClosedByEvent, "FULL_LOAD_ONLY_FINISHED")
	d.observe(d.services.dmsEvent())
	two.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
	d.wantWaiters(two) // who was told is released when the next one waits
}

func twoOnOneTaskAtOnce(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(time.Second)
	err := two.tryStart("dms-task", dmsJob, 0)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || refused.Name != "dms.InvalidResourceStateFault" {
		d.Fatalf("error %v", err)
	}
	d.pass(time.Second)
	d.endTask("NORMAL")
	d.wantWaiters(one)
	one.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

// twoAtTheSameMoment: the second one is rejected while it is unknown whose run
// it is, and takes it for its own.
func twoAtTheSameMoment(d *fixture) {
	for number, answered := range []time.Duration{0, -3 * time.Second, -2 * time.Hour, unnamed} {
		one, two := d.caller(2*number), d.caller(2*number+1)
		d.services.answered = answered
		d.services.onStart = func(string) {
			d.services.onStart = nil
			two.start("dms-task", dmsJob)
		}
		one.start("dms-task", dmsJob)
		two.ended(token.ClosedByReconcile, "Job.Superseded: "+dmsTask)
		d.endTask("NORMAL")
		one.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
	}
}

func claimedRun(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(time.Second)
	if err := two.tryStart("dms-task", dmsJob, 0); err == nil {
		d.Fatal("want it refused")
	}
	d.endTask("NORMAL")
	one.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
	if len(d.sent[two.theirs]) > 0 || slices.ContainsFunc(d.wakes, func(w wake) bool { return w.handle == two.handle }) {
		d.Errorf("it was refused, and was told of the other one's end: %v", d.sent[two.theirs])
	}
	if waits, err := d.raw.List(d.Context(), "", 10); err != nil || len(waits) > 0 {
		d.Errorf("open are %+v, error %v", waits, err)
	}
}

// claimedRunEnds: the run ends after the second caller was bound, and before it knows that the run
// is another one's.
func claimedRunEnds(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(time.Second)
	d.onBind = func() { d.endTask("NORMAL") }
	err := two.tryStart("dms-task", dmsJob, 0)
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "dms.InvalidResourceStateFault" {
		d.Fatalf("error %v", err)
	}
	if slices.ContainsFunc(d.wakes, func(w wake) bool { return w.handle != one.handle }) {
		d.Errorf("wakes %+v: it was refused, and was told of the other one's end", d.wakes)
	}
	d.wantWaiters(one)
	one.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

// adoptedRunEnds: the run ends after its starter, whose call is repeated, was bound, and before it
// is known that the run is its own.
func adoptedRunEnds(d *fixture) {
	p := d.caller(1)
	d.dieAfter = 1 // with the start
	if err := process(func() error { return p.tryStart("dms-task", dmsJob, 0) }); !errors.Is(err, errDied) {
		d.Fatal(err)
	}
	d.pass(time.Minute)
	d.onBind = func() { d.endTask("NORMAL") }
	p.start("dms-task", dmsJob)
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

// twoOnOneExecution: the service returns the execution that runs with that name to both.
func twoOnOneExecution(d *fixture) {
	const named = `{"StateMachineArn":"` + machineARN + `","Name":"mine"}`
	id := strings.Replace(machineARN, ":stateMachine:", ":execution:", 1) + ":mine"
	for number, by := range []token.Closer{token.ClosedByEvent, token.ClosedByReconcile} {
		one, two := d.caller(2*number), d.caller(2*number+1)
		delete(d.services.jobs, id)
		one.start("sfn-execution", named)
		two.start("sfn-execution", named)
		if one.answer != two.answer {
			d.Fatalf("answers %+v and %+v", one.answer, two.answer)
		}
		if by == token.ClosedByEvent {
			one.observed(id)
		} else {
			one.polled(id)
		}
		wakes := slices.Clone(d.wakes)
		one.ended(by, id)
		d.wakes = wakes
		two.ended(by, id)
		d.pass(time.Hour)
		mustRelease(d, id, one, two)
	}
}

// mustRelease forgets who waited, as the expiry of the job's record does.
func mustRelease(d *fixture, id string, callers ...*caller) {
	d.Helper()
	key := jobs.Key{Kind: "sfn-execution", Account: account, Region: region, Name: id}
	for _, p := range callers {
		if err := d.raw.Release(d.Context(), key, []string{p.handle}); err != nil {
			d.Fatal(err)
		}
	}
}

// largeOutput: a job may have an output that is larger than its waiter accepts.
func largeOutput(d *fixture) {
	limit := resume.DefaultLimit
	if d.external {
		limit = resume.ExternalLimit
	}
	small := d.caller(1)
	small.endsWith(`"x"`, (*caller).observed)
	record, err := d.raw.Record(d.Context(), small.handle)
	if err != nil {
		d.Fatal(err)
	}
	most := limit - record.Outcome.Output.Size() + 1
	for number, tell := range []func(p *caller, id string){(*caller).observed, (*caller).polled} {
		p := d.caller(2 + 2*number)
		p.endsWith(`"`+strings.Repeat("x", most)+`"`, tell)
		p.ended(map[int]token.Closer{0: token.ClosedByEvent, 1: token.ClosedByReconcile}[number], `"status":"SUCCEEDED"`)
		p = d.caller(3 + 2*number)
		p.endsWith(`"`+strings.Repeat("x", most+1)+`"`, tell)
		p.ended(map[int]token.Closer{0: token.ClosedByEvent, 1: token.ClosedByReconcile}[number],
			fmt.Sprintf("FnF.DataLimitExceeded: the output has %d bytes and the limit is %d", limit+1, limit))
	}
	p := d.caller(10)
	d.services.onStart = func(id string) {
		d.services.jobs[id].output = `"` + strings.Repeat("x", most+1) + `"`
		p.observed(id)
	}
	p.start("sfn-execution", machineJob)
	p.ended(token.ClosedByEvent, "FnF.DataLimitExceeded")
}

// endsWith starts an execution that ends with that output, as those who wait
// for it are told.
func (p *caller) endsWith(output string, tell func(p *caller, id string)) {
	p.Helper()
	p.start("sfn-execution", machineJob)
	p.services.jobs[p.answer.ID].output = output
	tell(p, p.answer.ID)
}

// observed ends an execution, and its event comes.
func (p *caller) observed(id string) {
	p.Helper()
	p.services.end(id, "", false)
	p.observe(p.services.sfnEvent(id))
}

// polled ends an execution, and its poll comes.
func (p *caller) polled(id string) {
	p.Helper()
	p.services.end(id, "", false)
	p.pass(time.Minute)
}

// expiredWaiter: of an execution that is long over no record is left.
func expiredWaiter(d *fixture) {
	over := token.ID{Execution: [12]byte{9}, Number: 1, Expires: d.now.Add(time.Hour).Truncate(time.Second)}
	waiter := resume.Waiter{Handle: d.keys.Handle(over), Run: jobs.Run{Since: d.now}}
	if _, err := d.raw.Bind(d.Context(), taskKey, waiter, over.Expires); err != nil {
		d.Fatal(err)
	}
	d.pass(2 * time.Hour)
	p := d.caller(1)
	d.dieAfter = 1 // with the start
	p.start("dms-task", dmsJob)
	if slices.Contains(d.trace, "record") {
		d.Errorf("effects %q: there is nothing to read", d.trace)
	}
	d.wantWaiters(p)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

var taskKey = jobs.Key{Kind: "dms-task", Account: account, Region: region, Name: dmsTask}

// repeatedNamedByUser: the name is not ours, so the instant tells, and who else
// was bound to the job.
func repeatedNamedByUser(d *fixture) {
	for number, named := range []struct{ kind, params, refused string }{
		{"sfn-execution", `{"StateMachineArn":"` + machineARN + `","Name":"mine"}`, "sfn.ExecutionAlreadyExists"},
		{"transcribe-job", `{"TranscriptionJobName":"mine","Media":{}}`, "transcribe.ConflictException"},
	} {
		p, other := d.caller(2*number), d.caller(2*number+1)
		d.dieAfter = 1 // with the start
		if err := process(func() error { return p.tryStart(named.kind, named.params, 0) }); !errors.Is(err, errDied) {
			d.Fatal(err)
		}
		id := "mine"
		if named.kind == "sfn-execution" {
			id = strings.Replace(machineARN, ":stateMachine:", ":execution:", 1) + ":mine"
		}
		d.services.end(id, "", false)
		d.pass(time.Minute)
		refused := &resume.ServiceError{Name: named.refused, Message: "it exists"}
		d.fails["start"] = []error{refused}
		p.start(named.kind, named.params)
		d.pass(time.Minute)
		d.fails["start"] = []error{refused}
		if err := other.tryStart(named.kind, named.params, 0); !errors.Is(err, refused) {
			d.Errorf("%s: another one's start: error %v", named.kind, err)
		}
		p.ended(token.ClosedByReconcile, id)
	}
}

// longNamedByUser: a job that began long ago belongs to another caller.
func longNamedByUser(d *fixture) {
	p := d.caller(1)
	d.services.jobs["mine"] = &job{began: d.now.Add(-6 * time.Minute)}
	if err := p.tryStart("transcribe-job", `{"TranscriptionJobName":"mine","Media":{}}`, 0); err == nil || len(d.polls) > 0 {
		d.Errorf("error %v, polls %+v", err, d.polls)
	}
}

// wantWaiters: the caller alone is bound to the task.
func (d *fixture) wantWaiters(p *caller) {
	d.Helper()
	met, err := d.raw.Note(d.Context(), taskKey, jobs.Sighting{At: d.now}, d.now.Add(day))
	if err != nil || len(met.Waiters) != 1 || met.Waiters[0].Handle != p.handle {
		d.Errorf("known is %+v, error %v; want one waiter, %s", met, err, p.handle)
	}
}

// rules: J-20
func superseded(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	d.services.end(dmsTask, "NORMAL", false)
	d.pass(20 * time.Second)
	two.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	two.waits()
	one.ended(token.ClosedByReconcile, "Job.Superseded")
	d.endTask("NORMAL")
	two.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func severalWait(d *fixture) {
	d.services.nextID = "one-for-all"
	callers := []*caller{d.caller(1), d.caller(2), d.caller(3)}
	for _, p := range callers {
		p.start("batch-job", batch)
	}
	d.services.end("one-for-all", "", false)
	d.observe(d.services.batchEvent("one-for-all"))
	wakes := slices.Clone(d.wakes)
	for _, p := range callers {
		d.wakes = wakes
		p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
	}
}

func severalFail(d *fixture) {
	d.services.nextID = "one-for-all"
	one, two := d.caller(1), d.caller(2)
	one.start("batch-job", batch)
	two.start("batch-job", batch)
	d.services.end("one-for-all", "", false)
	event := d.services.batchEvent("one-for-all")
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

func throttledEvent(d *fixture) {
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	d.fails["describe"] = []error{throttled}
	d.services.end(dmsTask, "NORMAL", false)
	err := d.jobs.Observe(d.Context(), []byte(d.services.dmsEvent()))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || !refused.Again {
		d.Errorf("error %v, want the event to come again", err)
	}
	p.waits()
	d.observe(d.services.dmsEvent())
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

// deniedEvent: it would be refused the next time, too, and the polls ask again.
func deniedEvent(d *fixture) {
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	d.services.end(dmsTask, "NORMAL", false)
	denied := &resume.ServiceError{Name: "dms.AccessDeniedException", Message: "no"}
	d.fails["describe"] = []error{denied}
	if err := d.jobs.Observe(d.Context(), []byte(d.services.dmsEvent())); err != nil {
		d.Errorf("error %v, want the event to come no more", err)
	}
	if len(d.warns) != 1 || !errors.Is(d.warns[0], denied) {
		d.Errorf("warned of %v", d.warns)
	}
	p.waits()
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"stop_reason":"NORMAL"`)
}

func throttledPoll(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "", false)
	d.fails["describe"] = []error{throttled, errFault}
	d.pass(time.Minute + 2*time.Minute)
	p.waits()
	if len(d.warns) != 2 {
		d.Errorf("warned of %v", d.warns)
	}
	d.pass(4 * time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
}

func pollPauses(d *fixture) {
	p := d.caller(1)
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
	d.services.end(p.answer.ID, "", false)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, `"status":"SUCCEEDED"`)
}

// redeliveredPolls: a queue delivers a poll again after its successor was sent,
// or after it was not. The chains that come of it merge.
func redeliveredPolls(d *fixture) {
	const hops, every = 200, 10
	p := d.caller(1)
	p.start("batch-job", batch)
	for hop := 1; hop <= hops; hop++ {
		poll := d.polls[0]
		d.polls, d.now = d.polls[1:], poll.Due
		poll.Receives = 1
		d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
		if hop%every == 0 {
			poll.Receives++
			d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
		}
		slices.SortStableFunc(d.polls, func(a, b resume.Poll) int { return a.Due.Compare(b.Due) })
		if len(d.polls) == 0 || len(d.polls) > 2 {
			d.Fatalf("after %d polls: %d are under way: %+v", hop, len(d.polls), d.polls)
		}
	}
	d.pass(2 * resume.LongestPoll)
	if len(d.polls) != 1 {
		d.Fatalf("%d polls are under way: %+v", len(d.polls), d.polls)
	}
	again := d.polls[0] // of a new process, which knows who waits and no more
	again.Number, d.polls, d.now = 1, nil, again.Due
	d.delivered(func() error { return d.jobs.Reconcile(d.Context(), again.Sign(d.keys)) })
	if len(d.polls) != 1 || d.polls[0].Number != 2 {
		d.Fatalf("polls %+v", d.polls)
	}
	d.services.end(p.answer.ID, "", false)
	d.pass(resume.LongestPoll)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
	if len(d.polls) != 0 {
		d.Errorf("polls are under way: %+v", d.polls)
	}
}

// undisturbedPolls: what is noted to merge chains costs nothing where there is
// one.
func undisturbedPolls(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	for range 5 {
		poll := d.polls[0]
		d.polls, d.now, d.trace = nil, poll.Due, nil
		poll.Receives = 1
		d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
		if want := []string{"record", "describe", "poll"}; !slices.Equal(d.trace, want) {
			d.Errorf("effects %q, want %q", d.trace, want)
		}
	}
	p.waits()
}

// unsentPoll: a poll whose successor could not be sent comes again, also after
// an earlier one came twice.
func unsentPoll(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	for number := 1; number <= 3; number++ {
		poll := d.polls[0]
		d.polls, d.now = nil, poll.Due
		d.fails["poll"] = []error{errors.New("the queue is down")}
		d.delivered(func() error {
			poll.Receives++
			return d.jobs.Reconcile(d.Context(), poll)
		})
		if len(d.polls) != 1 || d.polls[0].Number != number+1 {
			d.Fatalf("polls %+v", d.polls)
		}
	}
	p.waits()
}

func forgottenJob(d *fixture) {
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	d.endTask("NORMAL")
	p.ended(token.ClosedByEvent, "NORMAL")

	p = d.caller(2)
	d.pass(time.Hour)
	p.start("dms-task", dmsJob)
	d.services.end(dmsTask, "NORMAL", false)
	event := d.services.dmsEvent()
	delete(d.services.jobs, dmsTask)
	d.observe(event) // that it is forgotten for good is for the polls to find
	d.pass(time.Minute)
	p.waits()
	d.pass(2 * time.Minute)
	p.ended(token.ClosedByReconcile, "JobNotFound")
}

func bindFails(d *fixture) {
	p := d.caller(1)
	d.fails["bind"] = []error{errFault}
	p.start("batch-job", batch)
	if d.services.starts != 1 || len(d.warns) != 1 || !errors.Is(d.warns[0], errFault) {
		d.Errorf("%d starts, warned of %v", d.services.starts, d.warns)
	}
	d.services.end(p.answer.ID, "", false)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.waits()
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"SUCCEEDED"`)
}

// unsentFirstPoll fails the start: without a poll a lost event leaves the token open.
func unsentFirstPoll(d *fixture) {
	for number, job := range []struct{ kind, params string }{{"transcribe-job", transcr}, {"simulated", `{"delay":20}`}} {
		p := d.caller(number)
		d.fails["poll"], d.trace = []error{errFault}, nil
		if err := p.tryStart(job.kind, job.params, 0); !errors.Is(err, errFault) || slices.Contains(d.trace, "bind") {
			d.Errorf("%s: error %v, effects %q: want the error and no binding", job.kind, err, d.trace)
		}
	}
	p := d.caller(0)
	p.start("transcribe-job", transcr)
	d.services.end(p.answer.ID, "", false)
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"COMPLETED"`)
}

// diedStart: once the poll is sent, the end is observed, and no caller is
// bound before.
func diedStart(d *fixture) {
	for n := 1; !slices.Contains(d.trace, "bind"); n++ {
		p := d.caller(n)
		d.trace, d.polls, d.dieAfter = nil, nil, n
		if err := process(func() error { return p.tryStart("transcribe-job", transcr, 0) }); !errors.Is(err, errDied) {
			d.Fatalf("died after %d effects: error %v", n, err)
		}
		if !slices.Contains(d.trace, "poll") {
			continue
		}
		p.handle = d.polls[0].Waiter.Handle
		d.services.end(d.polls[0].Waiter.JobID, "", false)
		d.pass(time.Minute)
		p.ended(token.ClosedByReconcile, `"status":"COMPLETED"`)
	}
	if !slices.Contains(d.trace, "poll") {
		d.Errorf("effects %q", d.trace)
	}
}

func repeatedByName(d *fixture) {
	p := d.caller(1)
	d.dieAfter = 1 // with the start
	if err := process(func() error { return p.tryStart("transcribe-job", transcr, 0) }); !errors.Is(err, errDied) {
		d.Fatal(err)
	}
	d.pass(10 * time.Minute)
	p.start("transcribe-job", transcr)
	first := p.answer
	p.start("transcribe-job", transcr) // now that it is bound
	if p.answer != first || d.services.starts != 1 {
		d.Errorf("%d starts; answer %+v, then %+v", d.services.starts, first, p.answer)
	}
	d.services.end(p.answer.ID, "", false)
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"status":"COMPLETED"`)
}

func repeatedAfterEnd(d *fixture) {
	p := d.caller(1)
	id := ""
	d.services.onStart = func(started string) { id = started; panic(errDied) }
	if err := process(func() error { return p.tryStart("transcribe-job", transcr, 0) }); !errors.Is(err, errDied) {
		d.Fatal(err)
	}
	d.pass(5 * time.Minute)
	d.services.end(id, "", false)
	d.observe(d.services.transcribeEvent(id))
	d.pass(5 * time.Minute)
	p.start("transcribe-job", transcr)
	p.ended(token.ClosedByEvent, `"status":"COMPLETED"`)
}

func repeatedThenReplaced(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	d.dieAfter = 1 // with the start
	one.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	d.services.end(dmsTask, "NORMAL", false)
	d.pass(20 * time.Second)
	two.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	one.ended(token.ClosedByReconcile, "Job.Superseded")
}

func repeatedBusy(d *fixture) {
	p := d.caller(1)
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
	if d.services.starts != 1 {
		d.Errorf("%d starts", d.services.starts)
	}
}

func repeatedTwice(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	first := p.answer
	p.start("batch-job", batch)
	if d.services.starts != 2 || p.answer == first {
		d.Errorf("%d starts, answer %+v", d.services.starts, p.answer)
	}
	d.services.end(first.ID, "", false)
	d.observe(d.services.batchEvent(first.ID))
	d.services.end(p.answer.ID, "too late", true)
	d.observe(d.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, first.ID)
}

func longBusy(d *fixture) {
	p := d.caller(1)
	d.services.jobs[dmsTask] = &job{began: d.now.Add(-6 * time.Minute)}
	err := p.tryStart("dms-task", dmsJob, 0)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || refused.Name != "dms.InvalidResourceStateFault" || len(d.polls) != 0 || slices.Contains(d.trace, "bind") {
		d.Errorf("error %v, polls %+v, effects %q", err, d.polls, d.trace)
	}

	d.oldRun() // and one that runs no more is refused for another reason
	d.services.jobs[dmsTask].began = d.now
	d.fails["start"] = []error{&resume.ServiceError{Name: "dms.InvalidResourceStateFault", Message: "it is being modified"}}
	if err := p.tryStart("dms-task", dmsJob, 0); err == nil || len(d.polls) != 0 {
		d.Errorf("error %v, polls %+v", err, d.polls)
	}
}

func refusedStart(d *fixture) {
	p := d.caller(1)
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

func simulatedJob(d *fixture) {
	p := d.caller(1)
	p.start("simulated", `{"delay":20}`)
	if slices.Contains(d.trace, "bind") {
		d.Errorf("effects %q: no event comes", d.trace)
	}
	if p.answer.Kind != "simulated" || p.answer.Key != p.answer.ID || d.services.starts != 0 {
		d.Errorf("the answer is %+v, %d starts", p.answer, d.services.starts)
	}
	d.now = epoch.Truncate(time.Second)
	d.pass(20*time.Second - time.Nanosecond)
	p.waits()
	d.wantStatus("simulated", p.answer.ID, fmt.Sprintf(`{"job_id":%q,"job_status":"running","try_count":1}`, p.answer.ID))
	d.pass(time.Nanosecond)
	d.wantStatus("simulated", p.answer.ID, fmt.Sprintf(`{"job_id":%q,"job_status":"success","try_count":1}`, p.answer.ID))
	p.ended(token.ClosedByReconcile, fmt.Sprintf(`{"job_id":%q,"job_key":%q,"kind":"simulated","status":"success"}`, p.answer.ID, p.answer.ID))

	p = d.caller(2)
	p.start("simulated", `{"delay":7200}`)
	d.pass(2*time.Hour - time.Second)
	p.waits()
	d.pass(time.Second)
	p.ended(token.ClosedByReconcile, `"status":"success"`)
}

// crash plays a case once for each of its effects, after which the process dies.
func (d *fixture) crash(play func(p *caller, n int)) {
	d.Helper()
	for n := 1; ; n++ {
		d.dieAfter, d.wakes, d.polls = n, nil, nil
		play(d.caller(n), n)
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

func crashEventLast(d *fixture) {
	d.crash(func(p *caller, _ int) {
		p.start("batch-job", batch)
		d.pass(time.Second)
		d.services.end(p.answer.ID, "", false)
		d.observe(d.services.batchEvent(p.answer.ID))
		p.ended(token.ClosedByEvent, p.answer.ID)
	})
}

// crashEventFirst: who dies between the wake and the update leaves the end to
// the poll.
func crashEventFirst(d *fixture) {
	d.crash(func(p *caller, n int) {
		d.services.nextID = fmt.Sprint("known-before-", n)
		d.services.jobs[d.services.nextID] = &job{began: d.now}
		d.services.end(d.services.nextID, "", false)
		d.observe(d.services.batchEvent(d.services.nextID))
		p.start("batch-job", batch)
		p.ended(token.ClosedByEvent, d.services.nextID)
	})
}

func crashPoll(d *fixture) {
	d.crash(func(p *caller, _ int) {
		p.start("transcribe-job", transcr)
		d.pass(time.Minute)
		p.waits()
		d.services.end(p.answer.ID, "", false)
		d.pass(2 * time.Minute)
		p.ended(token.ClosedByReconcile, p.answer.ID)
	})
}

func callback(d *fixture) {
	p := d.caller(1)
	p.start("callback", `{}`)
	text, ok := strings.CutPrefix(p.answer.CallbackURL, "https://example.org/callbacks/")
	if !ok || p.answer.ID != p.handle || p.answer.Kind != "callback" || p.answer.Key != p.handle || d.services.starts != 0 {
		d.Fatalf("the answer is %+v, %d starts", p.answer, d.services.starts)
	}
	if !d.external && (text != p.text || len(d.trace) != 0) {
		d.Errorf("the URL is of %q, want the step's own token; effects %q", text, d.trace)
	}
	d.pass(time.Hour)
	tokens := resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(d.keys), Store: fixtureStore{d}, Wakes: fixtureWakes{d}, Now: d.clock, By: token.ClosedByCallback,
	})
	if _, _, err := Close(d.Context(), tokens, text, success); err != nil {
		d.Fatal(err)
	}
	p.ended(token.ClosedByCallback, `{"status":"ok"}`)
}

func lostWake(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "", false)
	d.fails["wake"] = []error{errFault}
	event := d.services.batchEvent(p.answer.ID)
	if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, errFault) || len(d.wakes) != 0 {
		d.Errorf("error %v, wakes %v", err, d.wakes)
	}
	d.observe(event)
	p.ended(token.ClosedByEvent, p.answer.ID)
}

// diesBeforeWake brings the task's event, which closes the token and sends no wake.
func (d *fixture) diesBeforeWake() (event string) {
	d.Helper()
	d.services.end(dmsTask, "NORMAL", false)
	event = d.services.dmsEvent()
	d.fails["wake"] = []error{errFault}
	if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, errFault) {
		d.Fatalf("error %v", err)
	}
	return event
}

// lostWakeReleased: before the event comes again, the next one who waits for the
// task has released who waited.
func lostWakeReleased(d *fixture) {
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(50 * time.Second)
	event := d.diesBeforeWake()
	d.pass(5 * time.Second)
	two.start("dms-task", dmsJob)
	d.observe(event)
	d.pass(5 * time.Second)
	one.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func lostWakeForgotten(d *fixture) {
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	event := d.diesBeforeWake()
	delete(d.services.jobs, dmsTask)
	d.observe(event)
	d.pass(time.Minute)
	p.ended(token.ClosedByEvent, `"stop_reason":"NORMAL"`)
}

func maskedTexts(d *fixture) {
	secret := d.keys.Sign(token.ID{Number: 99, Expires: epoch.Add(day)})
	p := d.caller(1)
	d.fails["start"] = []error{&resume.ServiceError{Name: "batch.ClientException", Message: "bad: " + secret, Again: true}}
	err := p.tryStart("batch-job", batch, 0)
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || !refused.Again || strings.Contains(err.Error(), secret) {
		d.Errorf("error %v", err)
	}
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "bad: "+secret, true)
	d.observe(d.services.batchEvent(p.answer.ID))
	if record, err := d.raw.Record(d.Context(), p.handle); err != nil || strings.Contains(written(*record.Outcome), secret) {
		d.Errorf("the token holds %+v, error %v", record.Outcome, err)
	}
	answer, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":"batch-job"}`, p.answer.ID))
	if err != nil || strings.Contains(string(answer), secret) {
		d.Errorf("it answers %s, error %v", answer, err)
	}
	p.ended(token.ClosedByEvent, "Job.Failed")
}

// machineCaller returns a caller that is a step of a machine.
func (d *fixture) machineCaller(number int) *caller {
	id, _ := token.HandleID(d.caller(number).handle)
	id.Flags = token.FlagAnyValue
	return &caller{fixture: d, text: d.keys.Sign(id), handle: d.keys.Handle(id)}
}

// wholeDescription: the outcome is the service's description, whatever told the end.
func wholeDescription(d *fixture) {
	for number, failed := range []bool{false, true} {
		byEvent, byPoll, early := d.machineCaller(3*number+1), d.machineCaller(3*number+2), d.machineCaller(3*number+3)
		want := `"Status":"SUCCEEDED"`
		if failed {
			want = `States.TaskFailed: {"`
		}
		byEvent.start("batch-job", batch)
		d.services.end(byEvent.answer.ID, "", failed)
		d.fails["describe"] = []error{errFault} // the event is redelivered
		d.observe(d.services.batchEvent(byEvent.answer.ID))
		byEvent.ended(token.ClosedByEvent, want)

		byPoll.start("batch-job", batch)
		d.services.end(byPoll.answer.ID, "", failed)
		d.pass(time.Minute)
		byPoll.ended(token.ClosedByReconcile, want)

		d.services.onStart = func(id string) {
			d.services.end(id, "", failed)
			d.observe(d.services.batchEvent(id))
		}
		early.start("batch-job", batch)
		early.ended(token.ClosedByEvent, want)
		d.services.onStart = nil
	}
}

// wholeDescriptionDenied: a service that does not describe a job does so later, or forgot it.
func wholeDescriptionDenied(d *fixture) {
	p := d.machineCaller(1)
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "", false)
	d.fails["describe"] = []error{&resume.ServiceError{Name: "batch.AccessDeniedException", Message: "no"}}
	d.observe(d.services.batchEvent(p.answer.ID))
	p.waits()
	d.pass(time.Minute)
	p.ended(token.ClosedByReconcile, `"Status":"SUCCEEDED"`)

	p = d.machineCaller(2)
	p.start("batch-job", batch)
	delete(d.services.jobs, p.answer.ID)
	d.pass(time.Hour)
	p.ended(token.ClosedByReconcile, "States.TaskFailed: job_id is")
}

// refusedInMachine: the errors of a start have the names of Step Functions.
func refusedInMachine(d *fixture) {
	p := d.machineCaller(1)
	d.fails["start"] = []error{&resume.ServiceError{Name: "batch.ClientException", Message: "no queue"}, &resume.ServiceError{Name: jobs.ErrorInvalid}}
	for _, want := range []string{"Batch.ClientException", "States.Runtime"} {
		refused, ok := errors.AsType[*resume.ServiceError](p.tryStart("batch-job", batch, 0))
		if !ok || refused.Name != want {
			d.Errorf("error %v, want %s", refused, want)
		}
	}
	wrong, ok := errors.AsType[*jobs.RequestError](p.tryStart("batch-job", `{}`, 0))
	if !ok || wrong.Name != "States.Runtime" {
		d.Errorf("error %v", wrong)
	}
}
