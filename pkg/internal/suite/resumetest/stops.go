package resumetest

import (
	"errors"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// stopping returns a caller of the kind whose job is stopped with its execution.
func (d *fixture) stopping(kind, params string) *caller {
	p := d.caller(1)
	p.stopJob = true
	p.start(kind, params)
	return p
}

// stopExecution closes the caller's token as the engine does when the execution stops.
func (p *caller) stopExecution() {
	p.Helper()
	closing := token.CloseOp{Outcome: token.Failure("FnF.ExecutionStopped", "by hand"), By: token.ClosedByStop, At: p.clock()}
	if _, err := p.raw.Close(p.Context(), p.handle, closing); err != nil {
		p.Fatal(err)
	}
}

// wantStops checks which jobs were stopped, and that no poll is left.
func (d *fixture) wantStops(want ...string) {
	d.Helper()
	if !slices.Equal(d.services.stops, want) || len(d.polls) > 0 {
		d.Errorf("stopped %q, polls %+v; want %q and no poll", d.services.stops, d.polls, want)
	}
}

func stoppedJob(d *fixture) {
	p := d.stopping("batch-job", batch)
	d.pass(time.Minute)
	p.waits()
	p.stopExecution()
	d.wantNoStop()
	d.pass(day)
	d.wantStops(p.answer.ID)
}

// wantNoStop checks that no job was stopped so far.
func (d *fixture) wantNoStop() {
	d.Helper()
	if len(d.services.stops) > 0 {
		d.Errorf("stopped %q", d.services.stops)
	}
}

func unstoppedJob(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	p.stopExecution()
	d.pass(day)
	d.wantStops()
}

// stopAfterRearm: the poll is lost, and with lostBinding also what the store has of the job.
func stopAfterRearm(lostBinding bool) func(d *fixture) {
	return func(d *fixture) {
		p := d.stopping("batch-job", batch)
		d.polls = nil
		if lostBinding {
			if err := p.raw.Release(d.Context(), p.batchKey(), []string{p.handle}); err != nil {
				d.Fatal(err)
			}
		}
		p.rearmStep(resume.NeedsPoll)
		p.stopExecution()
		d.pass(day)
		d.wantStops(p.answer.ID)
	}
}

// stopRearmed: the poll is lost after the execution stopped. After the job was stopped nothing is
// left to rearm.
func stopRearmed(d *fixture) {
	p := d.stopping("batch-job", batch)
	p.stopExecution()
	d.polls = nil
	rearm := func(dryRun bool, want string) {
		if needs, err := p.rearmer().RearmStop(d.Context(), p.answer, dryRun); err != nil || needs != want {
			d.Errorf("dry run %t: it needs %q, error %v; want %q", dryRun, needs, err, want)
		}
	}
	rearm(true, resume.NeedsPoll)
	d.pass(day)
	d.wantNoStop()
	rearm(false, resume.NeedsPoll)
	d.pass(day)
	d.wantStops(p.answer.ID)
	rearm(false, "")
}

func endedBeforeStop(d *fixture) {
	p := d.stopping("batch-job", batch)
	d.services.end(p.answer.ID, "", false)
	p.stopExecution()
	d.pass(day)
	d.wantStops()
}

func laterRunGoesOn(d *fixture) {
	p := d.stopping("dms-task", dmsJob)
	p.stopExecution()
	d.now = d.now.Add(40 * time.Second)
	d.services.jobs[dmsTask] = &job{began: d.now.Truncate(time.Second)}
	d.pass(day)
	d.wantStops()
}

// laterUnknownRunGoesOn: the response to the start did not say when the run began, so only the time
// tells the runs apart.
func laterUnknownRunGoesOn(d *fixture) {
	d.services.answered = unnamed
	p := d.stopping("dms-task", dmsJob)
	p.stopExecution()
	d.now = d.now.Add(time.Hour)
	d.services.jobs[dmsTask] = &job{began: d.now.Truncate(time.Second)}
	d.pass(day)
	d.wantStops()
}

// lateBegin: while a task starts, its description has the begin of the run before.
func lateBegin(d *fixture) {
	d.services.answered = unnamed
	p := d.stopping("dms-task", dmsJob)
	p.stopExecution()
	d.services.jobs[dmsTask].began = d.now.Add(-day).Truncate(time.Second)
	d.pass(day)
	d.wantStops(dmsTask)
}

// sharedJobGoesOn: another execution waits for the same job, which goes on until that stops, too.
func sharedJobGoesOn(d *fixture) {
	d.services.nextID = "one-for-all"
	p, other := d.stopping("batch-job", batch), d.caller(2)
	other.start("batch-job", batch)
	p.stopExecution()
	d.pass(time.Hour)
	other.waits()
	if d.wantNoStop(); len(d.warns) > 0 {
		d.Errorf("warned of %v", d.warns)
	}
	other.stopExecution()
	d.pass(day)
	d.wantStops(p.answer.ID)
}

func repeatedStop(d *fixture) {
	p := d.stopping("batch-job", batch)
	p.stopExecution()
	d.fails["describe"] = []error{throttled}
	d.fails["stop"] = []error{throttled, errFault}
	d.pass((1 + 2 + 4) * time.Minute)
	d.wantNoStop()
	if len(d.warns) != 3 {
		d.Errorf("warned of %v", d.warns)
	}
	d.pass(5 * time.Minute)
	d.wantStops(p.answer.ID)
}

func externalStop(d *fixture) {
	for kind, request := range map[string]string{
		"with a task token":              `{"kind":"batch-job","params":` + batch + `,"taskToken":"t","stopJob":true}`,
		"without a token":                `{"kind":"batch-job","params":` + batch + `,"stopJob":true}`,
		"of a kind that cannot be ended": `{"kind":"transcribe-job","params":` + transcr + `,"taskToken":"t","stopJob":true}`,
		"that is no boolean":             `{"kind":"batch-job","params":` + batch + `,"stopJob":"yes"}`,
	} {
		_, err := d.jobs.StartJob(d.Context(), []byte(request))
		if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorInvalid {
			d.Errorf("a stop %s: %v", kind, err)
		}
	}
	d.wantStops()
}
