package rest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// twoJobs waits for two jobs at once, and notPolled for none that can be polled.
const (
	twoJobs = `version: v1
type: flow
steps:
  - type: parallel
    name: Both
    branches:
      - steps: [{type: task, name: A, action: "batch:SubmitJob", pattern: sync, serviceParams: {job: a}}]
      - steps: [{type: task, name: B, action: "batch:SubmitJob", pattern: sync, serviceParams: {job: b}}]
`
	notPolled = `version: v1
type: flow
steps: [{type: task, name: Ask, resourceArn: acs:fc:::services/s/functions/f, pattern: waitForCallback}]
`
)

// jobStarts starts jobs with one id.
type jobStarts struct{}

func (jobStarts) Call(context.Context, machine.Call) (token.Outcome, error) {
	job := value.Object(
		value.Member{Key: "job_id", Value: value.String("j")}, value.Member{Key: "kind", Value: value.String("batch-job")},
		value.Member{Key: "job_key", Value: value.String("arn:aws:batch:us-east-1:123456789012:job/j")},
	)
	return token.Success(job), nil
}

func (jobStarts) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // no limits
}

// sentPolls are the polls that were sent.
type sentPolls []resume.Poll

func (s *sentPolls) Send(_ context.Context, poll resume.Poll) error {
	*s = append(*s, poll)
	return nil
}

// bindJob has the token of the execution wait for the job, as StartJob does.
func (a *api) bindJob(stopJob bool) (handle string) {
	a.t.Helper()
	id := engine.NewID("jobs", "e")
	found, err := a.system.Client.Rearm(a.t.Context(), []engine.ID{id}, engine.RearmRequest{DryRun: true})
	if err != nil || found[0].State.Waiting == nil {
		a.t.Fatalf("found %+v, error %v", found, err)
	}
	key := jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "us-east-1", Name: "arn:aws:batch:us-east-1:123456789012:job/j"}
	handle = found[0].State.Waiting.Handle()
	if _, err := a.store.Bind(a.t.Context(), key, resume.Waiter{Handle: handle, JobID: "j", StopJob: stopJob}, a.now.Add(time.Hour)); err != nil {
		a.t.Fatal(err)
	}
	return handle
}

// The polls of jobs of steps are sent again, those of branches too. Of a callback, if its
// token is bound to the job that its function returned.
func TestRearmSendsPollsOfSteps(t *testing.T) {
	t.Parallel()
	for _, want := range []struct {
		text  string
		bound bool
		needs []string
		polls int
	}{
		{twoJobs, false, []string{"lanes", resume.NeedsPoll}, 2},
		{notPolled, false, []string{"token"}, 0},
		{notPolled, true, []string{"token", resume.NeedsPoll}, 1},
	} {
		a := newAPI(t)
		a.system = local.New(local.Config{Store: a.store, Clock: local.NewVirtualClock(a.now), Functions: jobStarts{}})
		polls := &sentPolls{}
		a.config.Engine, a.config.Tokens, a.config.Start = a.system.Client, a.system.Tokens, a.system.Start
		a.config.External = resumetest.WithExternalWaits(a.store)
		a.config.Rearmer = resume.Rearmer{Tokens: a.system.Tokens, Polls: polls, Rendezvous: a.store, Account: "123456789012", Region: "us-east-1"}
		a.serve()
		flow := a.put("jobs", want.text)
		if _, _, err := a.Start(t.Context(), "jobs", rest.Start{Name: "e", Hash: flow.Hash, Input: object(t, `{}`)}); err != nil {
			t.Fatal(err)
		}
		a.run()
		if want.bound {
			a.bindJob(false)
		}
		for _, dryRun := range []bool{true, false} {
			page, err := a.Rearm(t.Context(), rest.Rearm{DryRun: dryRun})
			if err != nil || len(page.Rearmed) != 1 || !slices.Equal(page.Rearmed[0].Needs, want.needs) {
				t.Errorf("rearmed %+v, error %v; want needs %q", page, err, want.needs)
			}
			if sent := len(*polls); dryRun && sent > 0 || !dryRun && sent != want.polls {
				t.Errorf("dry run %t: %d polls, want %d", dryRun, sent, want.polls)
			}
		}
		for _, poll := range *polls {
			if poll.Key.Kind != "batch-job" || poll.Waiter.JobID != "j" || poll.Waiter.Handle == "" || poll.MAC == "" {
				t.Errorf("poll %+v", poll)
			}
		}
	}
}

// The poll of a job that is to be stopped is sent again after its execution stopped, if only an
// ended execution is left that knows it.
func TestRearmSendsPollsOfStoppedExecutions(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.system = local.New(local.Config{Store: a.store, Clock: local.NewVirtualClock(a.now), Functions: jobStarts{}})
	polls := &sentPolls{}
	a.config.Engine, a.config.Tokens, a.config.Start, a.config.Stop = a.system.Client, a.system.Tokens, a.system.Start, a.system.Stop
	a.config.External = resumetest.WithExternalWaits(a.store)
	a.config.Rearmer = resume.Rearmer{Tokens: a.system.Tokens, Polls: polls, Rendezvous: a.store, Account: "123456789012", Region: "us-east-1"}
	a.serve()
	flow := a.put("jobs", `version: v1
type: flow
steps: [{type: task, name: A, action: "batch:SubmitJob", pattern: sync, stopJob: true, serviceParams: {job: a}}]
`)
	if _, _, err := a.Start(t.Context(), "jobs", rest.Start{Name: "e", Hash: flow.Hash, Input: object(t, `{}`)}); err != nil {
		t.Fatal(err)
	}
	a.run()
	handle := a.bindJob(true)
	if _, err := a.Stop(t.Context(), "jobs", "e", rest.Failure{Error: "Stopped"}); err != nil {
		t.Fatal(err)
	}
	a.run()
	for _, dryRun := range []bool{true, false} {
		page, err := a.Rearm(t.Context(), rest.Rearm{DryRun: dryRun, EndedSince: "2020-01-01T00:00:00Z"})
		if err != nil || len(page.Rearmed) != 1 || !slices.Equal(page.Rearmed[0].Needs, []string{"end", resume.NeedsPoll}) {
			t.Errorf("rearmed %+v, error %v", page, err)
		}
		if sent := len(*polls); (sent == 0) != dryRun {
			t.Errorf("dry run %t: %d polls", dryRun, sent)
		}
	}
	if sent := *polls; len(sent) != 1 || sent[0].Waiter.Handle != handle || !sent[0].Waiter.StopJob {
		t.Errorf("polls %+v", sent)
	}
}
