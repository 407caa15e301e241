package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

const endedJob = "arn:aws:batch:us-east-1:123456789012:job/"

// observeBatch has a stack receive the event of a job that ended.
func (s *stack) observeBatch(id string) (key jobs.Key) {
	s.t.Helper()
	text, err := os.ReadFile("../../../events/batch-callback/succeeded.json")
	if err != nil {
		s.t.Fatal(err)
	}
	event := strings.NewReplacer("{job_key}", endedJob+id, "{job_id}", id, "{time}", time.Now().UTC().Format(time.RFC3339)).Replace(string(text))
	key, handles, err := s.system.Observe(s.t.Context(), []byte(event))
	if err != nil || len(handles) > 0 {
		s.t.Fatalf("job %+v, handles %q, error %v", key, handles, err)
	}
	return key
}

// bindCallback has the callback of an execution wait for a job, as a function does that passes its
// token to StartJob.
func (s *stack) bindCallback(flow, execution string, key jobs.Key) {
	s.t.Helper()
	var state machine.State
	for state.Waiting == nil { // it has just been started
		found, err := s.system.Client.Rearm(s.t.Context(), []engine.ID{engine.NewID(flow, execution)}, engine.RearmRequest{DryRun: true})
		if state = found[0].State; err != nil || state.Status.Final() {
			s.t.Fatalf("found %+v, error %v", found, err)
		}
	}
	waiter := resume.Waiter{Handle: state.Waiting.Handle(), Run: jobs.Run{Since: time.Now().Add(-time.Hour)}, JobID: "j"}
	if _, err := s.store.Bind(s.t.Context(), key, waiter, time.Now().Add(time.Hour)); err != nil {
		s.t.Fatal(err)
	}
}

// An event that matches no wait is listed and replayed on a stack as on one machine.
func TestJobEventsOfAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	onStack := func(args ...string) result {
		return s.do(append(append([]string{"job-events"}, args...), "--stack", "waitless-test")...)
	}
	if got := onStack("list"); got.stdout != "no unmatched job events\n" {
		t.Errorf("%+v", got)
	}
	s.observeBatch("older")
	key := s.observeBatch("newer")
	got := onStack("list", "--json", "--all")
	conforms(t, "job-events", got.stdout)
	for limit, want := range map[string]string{"0": "", "1": "there are more; --limit 0 lists all\n", "2": ""} {
		got := onStack("list", "--limit", limit)
		lines := regexp.MustCompile(`(?m)^batch-job:123456789012:us-east-1:`+endedJob+`(older|newer)  \S+Z  parked  success\s*$`).FindAllString(got.stdout, -1)
		if count := map[string]int{"0": 2, "1": 1, "2": 2}[limit]; got.exit != view.ExitSucceeded || len(lines) != count || !strings.HasSuffix(got.stdout, want) {
			t.Errorf("limit %s: %d lines, %+v", limit, len(lines), got)
		}
	}
	if got := onStack("replay", key.ID()); got.exit != view.ExitSucceeded || !strings.HasPrefix(got.stdout, "parked: no token waits for the job") {
		t.Errorf("%+v", got)
	}
	s.do("start", callbackFlow, "--name", "asked", "--stack", "waitless-test")
	s.bindCallback("callback", "asked", key)
	if got := onStack("list"); strings.Contains(got.stdout, "newer") || !strings.Contains(got.stdout, "older") {
		t.Errorf("an event whose job has a waiter is listed: %+v", got)
	}
	for _, result := range []string{"accepted", "parked"} { // the first replay ends the wait
		got := onStack("replay", key.ID(), "--json")
		conforms(t, "job-event", got.stdout)
		if !strings.Contains(got.stdout, `"`+result+`"`) {
			t.Errorf("%+v", got)
		}
	}
	if history := s.do("history", "callback/asked", "--json", "--stack", "waitless-test").stdout; strings.Count(history, `"closedBy": "event"`) != 1 {
		t.Errorf("the event did not end the step: %s", history)
	}
}

func TestJobEventsThatAreNotKept(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, id := range []string{"7", "batch-job:123456789012:us-east-1:" + endedJob + "unknown"} {
		got := s.do("job-events", "replay", id, "--stack", "waitless-test")
		says := strings.Contains(got.stderr, "no job event is kept with this id") && strings.Contains(got.stderr, "try: waitless job-events list")
		if got.exit != view.ExitUsage || !says {
			t.Errorf("%+v", got)
		}
	}
	if got := s.do("job-events", "list", "--limit", "-1", "--stack", "waitless-test"); got.exit != view.ExitUsage ||
		!strings.Contains(got.stderr, "--limit is -1") {
		t.Errorf("%+v", got)
	}
}

// An event is kept by the store: it is listed after the end of the process that received it.
func TestJobEventsOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "start", pollingFlow, "--name", "any"); got.exit != view.ExitSucceeded {
		t.Fatal(got.stderr)
	}
	text, err := os.ReadFile("../../../events/batch-callback/succeeded.json")
	if err != nil {
		t.Fatal(err)
	}
	event := strings.NewReplacer("{job_key}", endedJob+"one", "{job_id}", "one").Replace(string(text))
	if got := doWith(t, event, env, "job-events", "send", "-"); !strings.HasPrefix(got.stdout, "parked: no token waits") {
		t.Fatalf("%+v", got)
	}
	listed := doWith(t, "", env, "job-events", "list")
	id := "batch-job:123456789012:us-east-1:" + endedJob + "one"
	if !strings.HasPrefix(listed.stdout, id+"  ") || !strings.Contains(listed.stdout, "parked  success") {
		t.Errorf("%+v", listed)
	}
	if got := doWith(t, "", env, "job-events", "replay", id); !strings.HasPrefix(got.stdout, "parked: ") {
		t.Errorf("%+v", got)
	}
}
