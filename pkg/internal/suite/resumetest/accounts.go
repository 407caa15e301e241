package resumetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// otherAccount is the account beside the fixture's own whose jobs are served.
const otherAccount = "210987654321"

// servicesOf implements [resume.JobDescriber.Elsewhere].
func (d *fixture) servicesOf(account string) (resume.Services, bool) {
	return d.other, account == otherAccount
}

// otherEvent is the event of a job of the other account.
func (d *fixture) otherEvent(id string) string {
	return strings.ReplaceAll(d.other.transcribeEvent(id), account, otherAccount)
}

// eventOfOtherAccount: the service of the account is asked, and not the same service of the own
// account.
func eventOfOtherAccount(d *fixture) {
	p := d.startElsewhere()
	d.services.jobs[p.answer.ID] = &job{began: d.now, ended: d.now, failed: true} // of the same name
	d.now = d.now.Add(time.Minute / 2)
	d.observe(d.services.transcribeEvent(p.answer.ID))
	p.waits()
	d.other.end(p.answer.ID, "", false)
	d.observe(d.otherEvent(p.answer.ID))
	p.ended(token.ClosedByEvent, `"status":"COMPLETED"`)
}

func pollOfOtherAccount(d *fixture) {
	p := d.startElsewhere()
	d.services.jobs[p.answer.ID] = &job{began: d.now, ended: d.now, failed: true}
	d.other.end(p.answer.ID, "", false)
	d.pass(resume.FirstPoll)
	p.ended(token.ClosedByReconcile, `"status":"COMPLETED"`)
}

// repeatedElsewhere: a repeated start adopts the job of its account.
func repeatedElsewhere(d *fixture) {
	p := d.startElsewhere()
	first := p.answer
	p.start("transcribe-job", transcr)
	if p.answer != first || d.other.starts != 1 || d.services.starts != 0 {
		d.Errorf("two starts return %+v and %+v, after %d in the account and %d in the own one", first, p.answer, d.other.starts, d.services.starts)
	}
	d.other.end(first.ID, "", false)
	d.observe(d.otherEvent(first.ID))
	p.ended(token.ClosedByEvent, `"status":"COMPLETED"`)
}

func (d *fixture) startElsewhere() *caller {
	d.Helper()
	p := d.caller(1)
	p.account = otherAccount
	p.start("transcribe-job", transcr)
	if p.answer.Account != otherAccount || len(d.other.jobs) != 1 || len(d.services.jobs) != 0 {
		d.Fatalf("%+v, %d jobs in the account and %d in the own one", p.answer, len(d.other.jobs), len(d.services.jobs))
	}
	return p
}

// statusElsewhere: the response of StartJob is a request of GetJobStatus.
func statusElsewhere(d *fixture) {
	started, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"transcribe-job","params":`+transcr+`,"account":"`+otherAccount+`","idempotencyKey":"k"}`))
	if err != nil {
		d.Fatal(err)
	}
	var job jobs.StartResult
	if err := json.Unmarshal(started, &job); err != nil {
		d.Fatal(err)
	}
	d.other.end(job.ID, "", false)
	status, err := d.jobs.GetJobStatus(d.Context(), started)
	if err != nil || !strings.Contains(string(status), `"job_status":"success"`) {
		d.Errorf("%s is %s, error %v", started, status, err)
	}
	own := strings.ReplaceAll(string(started), `"account":"`+otherAccount+`"`, `"account":"`+account+`"`)
	_, err = d.jobs.GetJobStatus(d.Context(), []byte(own))
	if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorNotFound {
		d.Errorf("in the own account: %v", err)
	}
}

// unlistedAccount: nothing is started, described or noted for an account that is not served.
func unlistedAccount(d *fixture) {
	const unlisted = "111122223333"
	for _, ask := range []func() error{
		func() error {
			_, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`,"account":"`+unlisted+`"}`))
			return err
		},
		func() error {
			_, err := d.jobs.GetJobStatus(d.Context(), []byte(`{"kind":"batch-job","job_id":"j","account":"`+unlisted+`"}`))
			return err
		},
	} {
		err := ask()
		if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorInvalid || !strings.Contains(refused.What, unlisted) {
			d.Errorf("error %v", err)
		}
	}
	d.other.jobs["j"] = &job{began: d.now, ended: d.now}
	event := strings.ReplaceAll(d.otherEvent("j"), otherAccount, unlisted)
	if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, resume.ErrUnusableEvent) {
		d.Errorf("its event: error %v", err)
	}
	if !slices.Equal(d.trace, nil) {
		d.Errorf("effects %q", d.trace)
	}
}
