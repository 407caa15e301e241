package resumetest

import (
	"errors"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// unmatchedStep starts a job whose binding and polls are lost, and brings its event, which finds no
// wait.
func unmatchedStep(d *fixture) *caller {
	p := d.caller(1)
	p.start("batch-job", batch)
	p.unbind(p.batchKey())
	p.services.end(p.answer.ID, "", false)
	p.observe(p.services.batchEvent(p.answer.ID))
	p.waits()
	return p
}

func (p *caller) replay() {
	p.Helper()
	p.delivered(func() error { return p.jobs.Replay(p.Context(), p.batchKey()) })
}

// replayedEvent: without a replay, the next poll would find the end a minute later.
func replayedEvent(d *fixture) {
	p := unmatchedStep(d)
	p.replay()
	p.waits() // nothing is bound yet
	p.rearmStep(resume.NeedsPoll)
	p.replay()
	p.replay()
	p.ended(token.ClosedByEvent, p.answer.ID)
}

// replayedWake: the replay that closed the token died before it sent the wake.
func replayedWake(d *fixture) {
	p := unmatchedStep(d)
	p.rearmStep(resume.NeedsPoll)
	p.polls = nil
	p.dieAfter = len([]string{"close"})
	if err := process(func() error { return p.jobs.Replay(p.Context(), p.batchKey()) }); !errors.Is(err, errDied) {
		p.Fatalf("error %v", err)
	}
	p.dieAfter = 0
	p.replay()
	p.ended(token.ClosedByEvent, p.answer.ID)
}

// replayedHint: an event without the large output says only that the job may have ended, so the
// service is asked.
func replayedHint(d *fixture) {
	p := d.caller(1)
	p.start("sfn-execution", machineJob)
	key := jobs.Key{Kind: "sfn-execution", Account: account, Region: region, Name: p.answer.Key}
	p.unbind(key)
	p.observed(p.answer.ID)
	p.waits()
	p.rearmStep(resume.NeedsPoll)
	p.delivered(func() error { return p.jobs.Replay(p.Context(), key) })
	p.ended(token.ClosedByEvent, `"output":{"large":true}`)
}

func replayedNothing(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.trace = nil
	p.replay()
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
	p.waits()
}
