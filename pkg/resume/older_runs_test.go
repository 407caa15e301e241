package resume_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// reused is a job whose key names a resource that runs again: the run of its kind's recorded event
// ended, and a later run is started.
type reused struct {
	*testing.T
	kind   jobs.Kind
	key    jobs.Key
	ended  time.Time // the older run
	event  []byte    // of its end
	params []byte
	latest jobs.Simulated
	now    time.Time

	records map[string]token.Record
	met     resume.JobRecord
	config  resume.JobsConfig
}

const recordedKinds = "../jobs/testdata/kinds"

func (r *reused) file(name string) []byte {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(recordedKinds, r.kind.Name, name))
	if err != nil {
		r.Fatal(err)
	}
	return text
}

// newReused returns the job between its runs.
func newReused(t *testing.T, kind jobs.Kind) *reused {
	t.Helper()
	r := &reused{T: t, kind: kind, records: map[string]token.Record{}}
	r.event, r.params = r.file("success.event.json"), r.file("start.params.json")
	key, end, err := jobs.ReadEvent(r.event)
	if err != nil {
		t.Fatal(err)
	}
	started, err := kind.ReadStart(key.Account, key.Region, r.params, r.file("start.response.json"))
	if err != nil || started.Key != key {
		t.Fatalf("it starts %+v, error %v; the event is about %+v", started, err, key)
	}
	r.key, r.ended = key, end.At
	r.latest = jobs.Simulated{ID: started.ID, Key: key, Params: r.params, Began: end.At.Add(time.Minute)}
	clock := func() time.Time { return r.now }
	r.config = resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: r, Account: key.Account, Region: key.Region, Now: clock},
		Tokens:       resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(modelKeys), Store: r, Wakes: ignored{}, Now: clock}),
		Rendezvous:   r, Polls: ignoredPolls{},
	}
	return r
}

func (r *reused) token() token.ID {
	return token.ID{Execution: [12]byte{1}, Number: 1, Expires: r.ended.Add(month).Truncate(time.Second)}
}

// start starts the later run by a clock that is ahead of the service's. Of a resource whose start
// does not say when the run began, only the clocks tell the runs apart, and whole seconds are their
// limit.
func (r *reused) start(ahead time.Duration) {
	r.Helper()
	started, err := r.kind.ReadStart(r.key.Account, r.key.Region, r.params, r.kind.Started(r.latest))
	if err != nil {
		r.Fatal(err)
	}
	if started.BeginText == "" && r.kind.Once == jobs.OnceBusy {
		ahead = min(ahead, time.Second)
	}
	r.now = r.latest.Began.Add(ahead)
	request := `{"kind":"` + r.kind.Name + `","params":` + string(r.params) + `,"token":"` + modelKeys.Sign(r.token()) + `"}`
	if _, err := resume.NewJobStarter(r.config).StartJob(r.Context(), []byte(request)); err != nil {
		r.Fatal(err)
	}
}

func (r *reused) observe(event []byte) {
	r.Helper()
	if err := resume.NewJobObserver(r.config).Observe(r.Context(), event); err != nil {
		r.Fatal(err)
	}
}

func (r *reused) record() token.Record { return r.records[modelKeys.Handle(r.token())] }

// TestNoOlderRunEndsANewerWait: for each kind whose key names a resource, the event of an older run
// leaves the wait for a newer one open, in whichever order they come, and the newer run ends it.
func TestNoOlderRunEndsANewerWait(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, kind := range jobs.Kinds() {
		if kind.Scope != jobs.ScopeResource || !kind.HasEvents() {
			continue
		}
		tested[kind.Name] = true
		for name, order := range map[string]func(r *reused, ahead time.Duration){
			"the event before the start": func(r *reused, ahead time.Duration) { r.now = r.ended; r.observe(r.event); r.start(ahead) },
			"the event after the start":  func(r *reused, ahead time.Duration) { r.start(ahead); r.observe(r.event) },
			"the event twice": func(r *reused, ahead time.Duration) {
				r.now = r.ended
				r.observe(r.event)
				r.start(ahead)
				r.observe(r.event)
			},
		} {
			for clock, ahead := range map[string]time.Duration{"": 0, ", the clock behind": -2 * time.Minute, ", the clock ahead": 50 * time.Second} {
				t.Run(kind.Name+": "+name+clock, func(t *testing.T) {
					t.Parallel()
					newReused(t, kind).check(func(r *reused) { order(r, ahead) })
				})
			}
		}
	}
	for _, known := range []string{"dms-task", "transcribe-job"} {
		if !tested[known] {
			t.Errorf("%s is not tested", known)
		}
	}
}

func (r *reused) check(order func(*reused)) {
	r.Helper()
	order(r)
	if record := r.record(); !record.Open() {
		r.Fatalf("the older run closed the token by %s with %s", record.ClosedBy, written(*record.Outcome))
	}
	end := r.latest.Began.Add(10 * time.Minute)
	before, after := r.ended.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339)
	event := []byte(strings.ReplaceAll(string(r.event), before, after))
	r.now, r.latest.Ended, r.latest.Event = end, end, event
	r.observe(event)
	if record := r.record(); record.Open() || record.Outcome.Failed() || record.ClosedBy != token.ClosedByEvent {
		r.Errorf("after the end of the newer run the token holds %+v", record)
	}
}

// Start implements [resume.Services].
func (r *reused) Start(context.Context, jobs.Kind, []byte) ([]byte, error) {
	return r.kind.Started(r.latest), nil
}

// Describe implements [resume.Services].
func (r *reused) Describe(context.Context, jobs.Kind, []byte) ([]byte, error) {
	return r.kind.Described(r.latest), nil
}

func (r *reused) change(handle string, change func(token.Record) token.Record) (token.Record, error) {
	r.records[handle] = change(r.records[handle])
	return r.records[handle], nil
}

// Record implements [resume.TokenStore].
func (r *reused) Record(_ context.Context, handle string) (token.Record, error) {
	return r.records[handle], nil
}

// Close implements [resume.TokenStore].
func (r *reused) CloseEarly(ctx context.Context, handle string, op token.CloseOp, _ func()) (token.Record, error) {
	return r.Close(ctx, handle, op)
}

func (r *reused) Close(_ context.Context, handle string, op token.CloseOp) (token.Record, error) {
	return r.change(handle, op.Apply)
}

// Beat implements [resume.TokenStore].
func (r *reused) Beat(_ context.Context, handle string, at time.Time) (token.Record, error) {
	return r.change(handle, func(record token.Record) token.Record { return record.Beat(at) })
}

// Poll implements [resume.TokenStore].
func (r *reused) Poll(_ context.Context, handle string, op token.PollOp) (token.Record, error) {
	return r.change(handle, op.Apply)
}

// Bind implements [resume.Rendezvous]. There is one job.
func (r *reused) Bind(_ context.Context, _ jobs.Key, waiter resume.Waiter, _ time.Time) (resume.JobRecord, error) {
	r.met = r.met.Bound(waiter)
	return r.met, nil
}

// Note implements [resume.Rendezvous].
func (r *reused) Note(_ context.Context, key jobs.Key, end jobs.Sighting, _ time.Time) (resume.JobRecord, error) {
	if key != r.key {
		r.Errorf("the event is about %+v", key)
	}
	r.met = r.met.Noted(end)
	return r.met, nil
}

// JobRecord implements [resume.Rendezvous].
func (r *reused) JobRecord(context.Context, jobs.Key) (resume.JobRecord, error) { return r.met, nil }

// Release implements [resume.Rendezvous].
func (r *reused) Release(_ context.Context, _ jobs.Key, handles []string) error {
	r.met = r.met.Released(handles)
	return nil
}

// ignored drops wakes, and ignoredPolls polls.
type (
	ignored      struct{}
	ignoredPolls struct{}
)

func (ignored) Send(context.Context, token.ID, string, time.Time) error { return nil }

func (ignoredPolls) Send(context.Context, resume.Poll) error { return nil }

// Stop implements [resume.Services]. No step of this test stops its job.
func (*reused) Stop(context.Context, jobs.Kind, []byte) error {
	return errors.New("no job is stopped here")
}

// Where nothing finds out the end of a job, no job starts for a token.
func TestNoTokenWaitsUnwatched(t *testing.T) {
	t.Parallel()
	r := newReused(t, jobs.Kinds()[0])
	r.config.Unwatched = "set the parameter Jobs"
	for _, token := range []string{`"token":"` + modelKeys.Sign(r.token()) + `"`, `"taskToken":"t"`, `"callbackId":"c"`} {
		_, err := resume.NewJobStarter(r.config).StartJob(t.Context(), []byte(`{"kind":"`+r.kind.Name+`","params":`+string(r.params)+`,`+token+`}`))
		if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.What != r.config.Unwatched {
			t.Errorf("%s: error %v", token, err)
		}
	}
}
