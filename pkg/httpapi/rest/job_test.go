package rest_test

import (
	"context"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// repliesOfStartJob are the replies to submissions, by the name of the step.
type repliesOfStartJob struct {
	jobStarts
	replies map[string]string
}

func (r repliesOfStartJob) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	reply, err := value.ParseJSON([]byte(r.replies[call.Step]))
	return token.Success(reply), err
}

// TestAnOpenStepNamesItsJob: the response about one execution has the job that a step or a branch
// waits for. A list reads nothing for it.
func TestAnOpenStepNamesItsJob(t *testing.T) {
	t.Parallel()
	const (
		head = "version: v1\ntype: flow\nsteps:\n  - "
		sync = `{type: task, name: A, action: "batch:SubmitJob", pattern: sync, serviceParams: {jobName: a}}`
		full = `{"job_id":"j","kind":"batch-job","job_key":"arn:j","account":"210987654321"}`
	)
	all := rest.AwaitedJob{Kind: "batch-job", ID: "j", Key: "arn:j", Account: "210987654321"}
	for name, tt := range map[string]struct {
		step, reply string
		want        *rest.AwaitedJob
	}{
		"sync":        {sync, full, &all},
		"no reply":    {sync, `{}`, &rest.AwaitedJob{Kind: "batch-job"}},
		"callback":    {`{type: task, name: A, action: "batch:SubmitJob", pattern: waitForCallback, serviceParams: {jobName: a}}`, full, &all},
		"a person":    {`{type: task, name: A, resourceArn: "acs:fc:::services/s/functions/ask", pattern: waitForCallback}`, full, nil},
		"in a branch": {"{type: parallel, name: Both, branches: [{steps: [" + sync + "]}]}", full, &all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			tasks := repliesOfStartJob{replies: map[string]string{"A": tt.reply}}
			a.system = local.New(local.Config{Store: a.store, Clock: local.NewVirtualClock(a.now), Functions: tasks})
			a.config.Engine, a.config.Tokens, a.config.Start = a.system.Client, a.system.Tokens, a.system.Start
			a.serve()
			a.put("f", head+tt.step)
			if _, _, err := a.Start(t.Context(), "f", rest.Start{Name: "one", Input: object(t, `{}`)}); err != nil {
				t.Fatal(err)
			}
			a.run()
			shown, err := a.Execution(t.Context(), "f", "one", false)
			wantJob(t, shown, err, tt.want)
			listed, err := a.Executions(t.Context(), rest.Filter{})
			if err != nil || len(listed) != 1 {
				t.Fatalf("listed %+v, error %v", listed, err)
			}
			wantJob(t, listed[0], err, nil)
		})
	}
}

// wantJob checks the job of the innermost wait.
func wantJob(t *testing.T, e rest.Execution, err error, want *rest.AwaitedJob) {
	t.Helper()
	if err != nil || e.Waiting == nil {
		t.Fatalf("execution %s: waiting %+v, error %v", engine.NewID(e.Flow, e.Name), e.Waiting, err)
	}
	w := *e.Waiting
	if len(w.Inside) > 0 {
		w = w.Inside[0]
	}
	if got := w.Job; (got == nil) != (want == nil) || got != nil && *got != *want {
		t.Errorf("job %+v, want %+v", got, want)
	}
}
