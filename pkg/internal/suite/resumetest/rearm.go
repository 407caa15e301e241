package resumetest

import (
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

func (d *fixture) rearmer() resume.Rearmer {
	return resume.Rearmer{Tokens: d.tokens(), Polls: fixturePolls{d}, Rendezvous: fixtureStore{d}, Account: account, Region: region}
}

// rearm rearms the external wait of the caller, which needs that message.
func (p *caller) rearm(needs string) {
	p.Helper()
	rearmer := p.rearmer()
	for _, dryRun := range []bool{true, false} {
		before := len(p.polls) + len(p.wakes)
		got, err := rearmer.Rearm(p.Context(), p.waitOf(p.theirs), dryRun)
		if err != nil || got != needs {
			p.Fatalf("the wait needs %s, error %v; want %s", got, err, needs)
		}
		if sent := len(p.polls) + len(p.wakes) - before; (sent == 0) != dryRun {
			p.Errorf("dry run %t: %d messages sent", dryRun, sent)
		}
	}
}

func rearmedPoll(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("batch-job", batch, 3600)
	d.polls = nil
	p.rearm(resume.NeedsPoll)
	d.services.end(p.answer.ID, "", false)
	d.pass(resume.FirstPoll)
	p.ended(token.ClosedByReconcile, p.answer.ID)
}

func rearmedDeadline(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("callback", `{}`, 3600)
	d.polls = nil
	p.rearm(resume.NeedsPoll)
	d.pass(time.Hour)
	p.ended(token.ClosedByDeadline, "FnF.TaskTimeout: the callback had no outcome by 2026-01-31T11:00:00Z")
}

func rearmedDelivery(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("batch-job", batch, 3600)
	d.services.end(p.answer.ID, "", false)
	d.pass(resume.FirstPoll)
	d.wakes = nil
	d.pass(time.Hour)
	p.rearm(resume.NeedsDelivery)
	p.ended(token.ClosedByReconcile, p.answer.ID)
}

func rearmedInVain(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.startWithin("batch-job", batch, 100*3600)
	d.pass(time.Hour)
	p.rearm(resume.NeedsPoll)
	p.endedByOnePoll()
}

// endedByOnePoll: of two chains of polls one is left, which finds the end of the job.
func (p *caller) endedByOnePoll() {
	p.Helper()
	p.pass(2 * time.Hour)
	if len(p.polls) != 1 {
		p.Errorf("%d polls are under way, want one: %+v", len(p.polls), p.polls)
	}
	p.services.end(p.answer.ID, "", false)
	p.pass(resume.LongestPoll)
	p.ended(token.ClosedByReconcile, p.answer.ID)
}

// rearmStep rearms the step of the caller, which needs that message.
func (p *caller) rearmStep(needs string) {
	p.Helper()
	rearmer := p.rearmer()
	for _, dryRun := range []bool{true, false} {
		before := len(p.polls)
		got, err := rearmer.RearmStep(p.Context(), resume.StepWait{Handle: p.handle, Started: p.answer, Called: p.called, StopJob: p.stopJob}, dryRun)
		if sent := len(p.polls) - before; err != nil || got != needs || sent > 0 && (dryRun || needs == "") {
			p.Errorf("dry run %t: the step needs %q, error %v; want %q; %d polls sent", dryRun, got, err, needs, sent)
		}
	}
}

func rearmedStep(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.polls = nil
	p.rearmStep(resume.NeedsPoll)
	d.services.end(p.answer.ID, "", false)
	d.pass(resume.FirstPoll)
	p.ended(token.ClosedByReconcile, p.answer.ID)
	p.rearmStep("")
}

func rearmedStepInVain(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.pass(time.Hour)
	p.rearmStep(resume.NeedsPoll)
	p.endedByOnePoll()
}

// rearmedTooLate: what began when is in the binding.
func rearmedTooLate(d *fixture) {
	d.external = true
	one, two := d.caller(1), d.caller(2)
	one.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	d.polls = nil
	d.services.end(dmsTask, "NORMAL", false)
	d.pass(20 * time.Second)
	two.start("dms-task", dmsJob)
	d.pass(20 * time.Second)
	d.services.end(dmsTask, "FULL_LOAD_ONLY_FINISHED", false)
	one.rearm(resume.NeedsPoll)
	d.pass(resume.FirstPoll)
	one.ended(token.ClosedByReconcile, "Job.Superseded")
}

func rearmedTask(d *fixture) {
	p := d.caller(1)
	p.start("dms-task", dmsJob)
	d.polls = nil
	p.rearmStep(resume.NeedsPoll)
	d.pass(20 * time.Second)
	d.services.end(dmsTask, "NORMAL", false)
	d.pass(resume.FirstPoll)
	p.ended(token.ClosedByReconcile, `"stop_reason":"NORMAL"`)
}

// unbind loses the binding of the caller, and all polls.
func (p *caller) unbind(key jobs.Key) {
	p.Helper()
	p.polls = nil
	if err := p.raw.Release(p.Context(), key, []string{p.handle}); err != nil {
		p.Fatal(err)
	}
}

func (p *caller) batchKey() jobs.Key {
	return jobs.Key{Kind: "batch-job", Account: account, Region: region, Name: p.answer.Key}
}

func reboundStep(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	p.unbind(p.batchKey())
	p.rearmStep(resume.NeedsPoll)
	p.endedByItsEvent()
}

func reboundWait(d *fixture) {
	d.external = true
	p := d.caller(1)
	p.start("batch-job", batch)
	p.unbind(p.batchKey())
	p.rearm(resume.NeedsPoll)
	p.endedByItsEvent()
}

func (p *caller) endedByItsEvent() {
	p.Helper()
	p.services.end(p.answer.ID, "", false)
	p.observe(p.services.batchEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, p.answer.ID)
}

// rearmedFunction: the token of a callback is bound to the job, so the function passed it to
// StartJob.
func rearmedFunction(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.polls, p.called = nil, true
	p.rearmStep(resume.NeedsPoll)
	d.services.end(p.answer.ID, "", false)
	d.pass(resume.FirstPoll)
	p.ended(token.ClosedByReconcile, p.answer.ID)
}

// rearmedNoFunction: a function may return a job that its token does not wait for.
func rearmedNoFunction(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	p.unbind(p.batchKey())
	p.called = true
	p.rearmStep("")
}

// rearmedNoStep: the runs of a resource have one key, and other functions return anything.
func rearmedNoStep(d *fixture) {
	p := d.caller(1)
	for _, p.answer = range []jobs.StartResult{
		{ID: "arn:aws:dms:us-east-1:123456789012:task:T", Kind: "dms-task", Key: "arn:aws:dms:us-east-1:123456789012:task:T"},
		{ID: "x", Kind: "unknown", Key: "x"}, {ID: "x", Kind: "callback", Key: "x"}, {Kind: "batch-job"}, {},
	} {
		p.rearmStep("")
	}
}
