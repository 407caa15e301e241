package resumetest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// fixture has the roles of [resume.JobsConfig], and gives a case a virtual clock, services, queues
// and recipients.
type fixture struct {
	*testing.T
	jobs     fixtureJobs
	raw      JobsStore
	keys     token.Keys
	services *fakeServices
	other    *fakeServices // of otherAccount
	// external: the waiters are external.
	external bool

	mu    sync.Mutex
	now   time.Time
	polls []resume.Poll
	wakes []wake
	// sent are the outcomes that each recipient took, by its token.
	sent  map[string][]token.Outcome
	warns []error
	// beats counts the heartbeats that each recipient took; beatsSent are the
	// handles of those under way.
	beats     map[string]int
	beatsSent []string
	// fails are the errors of the next effects of that name, in order.
	fails map[string][]error
	// dieAfter, unless 0, ends the process after so many effects more.
	dieAfter int
	trace    []string
	// onBind, unless nil, is called once a waiter is bound and before its starter hears of it.
	onBind func()
	// parked is until when the latest event is stored while there is no waiter.
	parked time.Time
}

type wake struct {
	handle string
	at     time.Time
}

const (
	account = "123456789012"
	region  = "eu-central-1"
)

func newFixture(t *testing.T, store JobsStore, external bool) *fixture {
	t.Helper()
	d := &fixture{
		T: t, raw: store, external: external, now: epoch, sent: map[string][]token.Outcome{}, beats: map[string]int{}, fails: map[string][]error{},
		keys: token.Keys{Current: token.Key{ID: 7, Secret: []byte(strings.Repeat("k", token.SecretSize))}},
	}
	d.services = &fakeServices{fixture: d, jobs: map[string]*job{}}
	d.other = &fakeServices{fixture: d, jobs: map[string]*job{}}
	d.open("https://example.org")
	return d
}

// fixtureJobs are the use cases of jobs.
type fixtureJobs struct {
	*resume.JobStarter
	*resume.JobObserver
	resume.JobDescriber
}

// open makes the jobs of the fixture, as a new process does.
func (d *fixture) open(callbacks string) { d.jobs = d.jobsWith(true, callbacks) }

// jobsWith makes the jobs, with or without external waits.
func (d *fixture) jobsWith(external bool, callbacks string) fixtureJobs {
	config := resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: d.services, Account: account, Region: region, Now: d.clock, Elsewhere: d.servicesOf},
		Tokens:       d.tokens(), Rendezvous: fixtureStore{d}, Polls: fixturePolls{d},
		Warn:         func(err error) { d.warns = append(d.warns, err) },
		CallbackBase: callbacks, CallbackHint: "set the base", Random: func() [10]byte { return [10]byte{1, 2, 3} },
	}
	if external {
		config.External = fixtureStore{d}
	}
	return fixtureJobs{resume.NewJobStarter(config), resume.NewJobObserver(config), config.JobDescriber}
}

func (d *fixture) tokens() *resume.Tokens {
	return resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(d.keys), Store: fixtureStore{d}, Wakes: fixtureWakes{d}, Now: d.clock, Beats: d})
}

func (d *fixture) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// errDied is what a call ends with whose process died.
var errDied = errors.New("resumetest: the process died")

// effect makes an effect, unless it is to fail, and may end the process.
func (d *fixture) effect(name string, make func() error) error {
	if fails := d.fails[name]; len(fails) > 0 {
		d.fails[name] = fails[1:]
		return fails[0]
	}
	if err := make(); err != nil {
		return err
	}
	d.trace = append(d.trace, name)
	if d.dieAfter > 0 {
		if d.dieAfter--; d.dieAfter == 0 {
			panic(errDied)
		}
	}
	return nil
}

// process runs a call in a process that may die.
func process(call func() error) (err error) {
	defer func() {
		switch died := recover().(type) {
		case nil:
		case error:
			err = died
		default:
			panic(died)
		}
	}()
	return call()
}

// delivered makes a call again after errors, as a queue does.
func (d *fixture) delivered(call func() error) {
	d.Helper()
	const patience = 5
	var err error
	for range patience {
		if err = process(call); err == nil {
			return
		}
	}
	d.Fatalf("after %d deliveries: %v", patience, err)
}

// fixtureStore is the store, whose effects are noted.
type fixtureStore struct{ *fixture }

func (s fixtureStore) Record(ctx context.Context, handle string) (r token.Record, err error) {
	err = s.effect("record", func() (err error) { r, err = s.raw.Record(ctx, handle); return err })
	return r, err
}

func (s fixtureStore) Close(ctx context.Context, handle string, closing token.CloseOp) (r token.Record, err error) {
	err = s.effect("close", func() (err error) { r, err = s.raw.Close(ctx, handle, closing); return err })
	return r, err
}

func (s fixtureStore) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (r token.Record, err error) {
	err = s.effect("close", func() (err error) { r, err = s.raw.CloseEarly(ctx, handle, closing, applied); return err })
	return r, err
}

func (s fixtureStore) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return s.raw.Beat(ctx, handle, at)
}

func (s fixtureStore) Poll(ctx context.Context, handle string, polling token.PollOp) (r token.Record, err error) {
	err = s.effect("polled", func() (err error) { r, err = s.raw.Poll(ctx, handle, polling); return err })
	return r, err
}

func (s fixtureStore) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (m resume.JobRecord, err error) {
	err = s.effect("bind", func() (err error) { m, err = s.raw.Bind(ctx, key, waiter, expires); return err })
	if then := s.onBind; then != nil {
		s.onBind = nil
		then()
	}
	return m, err
}

func (s fixtureStore) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (m resume.JobRecord, err error) {
	s.parked = expires
	err = s.effect("note", func() (err error) { m, err = s.raw.Note(ctx, key, end, expires); return err })
	return m, err
}

func (s fixtureStore) JobRecord(ctx context.Context, key jobs.Key) (resume.JobRecord, error) {
	return s.raw.JobRecord(ctx, key)
}

func (s fixtureStore) Release(ctx context.Context, key jobs.Key, handles []string) error {
	return s.effect("release", func() error { return s.raw.Release(ctx, key, handles) })
}

func (s fixtureStore) Open(ctx context.Context, handle string, wait resume.ExternalWait) (w resume.ExternalWait, err error) {
	err = s.effect("open", func() (err error) { w, err = s.raw.Open(ctx, handle, wait); return err })
	return w, err
}

func (s fixtureStore) ExternalWait(ctx context.Context, handle string) (w resume.ExternalWait, r token.Record, err error) {
	err = s.effect("wait", func() (err error) { w, r, err = s.raw.ExternalWait(ctx, handle); return err })
	return w, r, err
}

func (s fixtureStore) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	return s.effect("delivery", func() error { return s.raw.Deliver(ctx, handle, delivery) })
}

func (s fixtureStore) List(ctx context.Context, after string, limit int) ([]resume.ExternalWait, error) {
	return s.raw.List(ctx, after, limit)
}

type fixtureWakes struct{ *fixture }

func (s fixtureWakes) Send(_ context.Context, id token.ID, handle string, at time.Time) error {
	if s.keys.Handle(id) != handle || !at.Equal(s.clock()) {
		s.Errorf("the wake is for %v, handle %s, sent at %s", id, handle, at)
	}
	return s.effect("wake", func() error { s.wakes = append(s.wakes, wake{handle, at}); return nil })
}

type fixturePolls struct{ *fixture }

func (s fixturePolls) Send(_ context.Context, poll resume.Poll) error {
	if ahead := poll.Due.Sub(s.clock()); ahead > resume.LongestPoll && poll.Key.Kind != jobs.KindCallback {
		s.Errorf("poll %d is due in %s, more than a message can be held back", poll.Number, ahead)
	}
	return s.effect("poll", func() error { s.polls = append(s.polls, poll); return nil })
}

// fixtureRecipients are other engines: one takes the first outcome, and waits no
// more then.
type fixtureRecipients struct{ *fixture }

func (s fixtureRecipients) Deliver(_ context.Context, recipient resume.Recipient, theirs string, outcome token.Outcome) (delivery resume.Delivery, err error) {
	if recipient != resume.RecipientStepFunctions && recipient != resume.RecipientDurable {
		s.Errorf("recipient %q", recipient)
	}
	err = s.effect("deliver", func() error {
		if delivery = resume.DeliveryGone; len(s.sent[theirs]) == 0 {
			delivery = resume.DeliverySent
			s.sent[theirs] = append(s.sent[theirs], outcome)
		}
		return nil
	})
	return delivery, err
}

// Beat implements [resume.Recipients].
func (s fixtureRecipients) Beat(_ context.Context, recipient resume.Recipient, theirs string) (delivery resume.Delivery, err error) {
	if recipient != resume.RecipientStepFunctions && recipient != resume.RecipientDurable {
		s.Errorf("recipient %q", recipient)
	}
	err = s.effect("beat", func() error {
		if len(s.sent[theirs]) > 0 {
			delivery = resume.DeliveryGone
			return nil
		}
		s.beats[theirs]++
		return nil
	})
	return delivery, err
}

// SendBeat implements [resume.Beats].
func (d *fixture) SendBeat(_ context.Context, handle string, _ time.Time) error {
	return d.effect("send a heartbeat", func() error { d.beatsSent = append(d.beatsSent, handle); return nil })
}

// caller starts a job and waits for its end.
type caller struct {
	*fixture
	// text is the token of a step of ours; theirs that of an external wait.
	text, theirs string
	handle       string
	// account, unless empty, is where the job runs.
	account string
	// stopJob says that the job is stopped with the execution.
	stopJob bool
	answer  jobs.StartResult
	// called says that a function of the user's started the job, with the token of a callback.
	called bool
}

// caller returns the caller with that number.
func (d *fixture) caller(number int) *caller {
	hash := sha256.Sum256([]byte(d.Name()))
	id := token.ID{Execution: [12]byte(hash[:12]), Number: uint32(number), Expires: epoch.Add(400 * day).Truncate(time.Second)} //nolint:gosec // small
	if d.external {
		return &caller{fixture: d, theirs: fmt.Sprintf("their token/%s+%d==", d.Name(), number)}
	}
	return &caller{fixture: d, text: d.keys.Sign(id), handle: d.keys.Handle(id)}
}

// request is what the caller asks StartJob for. An empty taskToken is of a durable
// function.
func (p *caller) request(kind, params string, seconds int) []byte {
	request := map[string]any{"kind": kind, "params": json.RawMessage(params)}
	if p.external {
		request["taskToken"] = p.theirs
		if seconds > 0 {
			request["timeoutSeconds"] = seconds
		}
	} else {
		request["token"] = p.text
	}
	if p.stopJob {
		request["stopJob"] = true
	}
	if p.account != "" {
		request["account"] = p.account
	}
	text, err := json.Marshal(request)
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// start starts a job, and again after errors.
func (p *caller) start(kind, params string) {
	p.Helper()
	p.startWithin(kind, params, 0)
}

func (p *caller) startWithin(kind, params string, seconds int) {
	p.Helper()
	p.delivered(func() error { return p.tryStart(kind, params, seconds) })
}

func (p *caller) tryStart(kind, params string, seconds int) error {
	answer, err := p.jobs.StartJob(p.Context(), p.request(kind, params, seconds))
	if err != nil {
		return err
	}
	if p.external {
		p.handle = p.waitOf(p.theirs).Handle
	}
	return json.Unmarshal(answer, &p.answer)
}

// waitOf is the external wait with that token in it, the latest where there are
// several.
func (d *fixture) waitOf(theirs string) (found resume.ExternalWait) {
	d.Helper()
	all, err := d.raw.List(d.Context(), "", 1000)
	if err != nil {
		d.Fatal(err)
	}
	for _, wait := range all {
		if text, err := d.keys.Unseal(wait.Handle, wait.Sealed); err == nil && text == theirs {
			found = wait
		}
	}
	if found.Handle == "" {
		d.Fatalf("no wait has the token %q", theirs)
	}
	return found
}

func (d *fixture) observe(event string) {
	d.Helper()
	d.delivered(func() error { return d.jobs.Observe(d.Context(), []byte(event)) })
}

// pass lets time pass, in which polls come when they are due.
func (d *fixture) pass(duration time.Duration) {
	d.Helper()
	for end := d.now.Add(duration); ; {
		slices.SortStableFunc(d.polls, func(a, b resume.Poll) int { return a.Due.Compare(b.Due) })
		if len(d.polls) == 0 || d.polls[0].Due.After(end) {
			d.now = end
			return
		}
		poll := d.polls[0]
		d.polls = d.polls[1:]
		if poll.Due.After(d.now) {
			d.now = poll.Due
		}
		d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
	}
}

// deliver delivers the wakes of external tokens.
func (d *fixture) deliver() {
	d.Helper()
	for _, wake := range d.wakes {
		for looks := 0; d.external; looks++ {
			var putBack time.Time
			d.delivered(func() (err error) {
				putBack, err = d.deliveries().Deliver(d.Context(), wake.handle, wake.at)
				return err
			})
			if putBack.IsZero() {
				break
			}
			if looks > 20 {
				d.Fatal("a wake that nothing comes of is looked at for ever")
			}
			d.pass(putBack.Sub(d.now))
		}
	}
	d.wakes = nil
}

func (d *fixture) deliveries() *resume.Deliveries {
	return resume.NewDeliveries(resume.FixedKeys(d.keys), fixtureStore{d}, fixtureRecipients{d}, d.clock)
}

// waits: the caller's token is open.
func (p *caller) waits() {
	p.Helper()
	if record, err := p.raw.Record(p.Context(), p.handle); err != nil || !record.Open() {
		p.Errorf("the token holds %+v, error %v; want it open", record, err)
	}
}

// ended: the caller's token was closed by that closer, who told those who wait,
// and in the end nothing is under way any more. The text is in the outcome.
func (p *caller) ended(by token.Closer, text string) {
	p.Helper()
	record, err := p.raw.Record(p.Context(), p.handle)
	if err != nil || record.Open() || record.ClosedBy != by {
		p.Fatalf("the token holds %+v, error %v; want it closed by %s", record, err, by)
	}
	if got := written(*record.Outcome); !strings.Contains(got, text) {
		p.Errorf("the outcome is %s, want %s in it", got, text)
	}
	if !slices.ContainsFunc(p.wakes, func(w wake) bool { return w.handle == p.handle }) {
		p.Error("no outcome was delivered")
	}
	p.deliver()
	p.wantDelivered(*record.Outcome)
	later := time.Hour
	for _, poll := range p.polls { // that of a callback is due at the deadline
		later = max(later, poll.Due.Sub(p.now))
	}
	p.pass(later)
	if i := slices.IndexFunc(p.polls, func(poll resume.Poll) bool { return poll.Waiter.Handle == p.handle }); i >= 0 {
		p.Errorf("at last a poll is under way still: %+v", p.polls[i])
	}
	p.deliver()
	p.wantDelivered(*record.Outcome)
	if again, err := p.raw.Record(p.Context(), p.handle); err != nil || !sameRecord(again, record) {
		p.Errorf("at last the token holds %+v, error %v; want %+v", again, err, record)
	}
}

// wantDelivered: the recipient of an external wait took the outcome once.
func (p *caller) wantDelivered(outcome token.Outcome) {
	p.Helper()
	if !p.external {
		return
	}
	if sent := p.sent[p.theirs]; len(sent) != 1 || !token.Same(sent[0], outcome) {
		p.Errorf("the recipient took %+v, want %+v once", sent, outcome)
	}
	wait, _, err := p.raw.ExternalWait(p.Context(), p.handle)
	if err != nil || wait.Delivery == "" {
		p.Errorf("the wait is %+v, error %v; want its delivery noted", wait, err)
	}
}

// written is an outcome for people.
func written(o token.Outcome) string {
	if o.Failed() {
		return o.Error + ": " + o.Cause
	}
	return o.Output.JSON()
}

// fakeServices start jobs and describe them. Instants are in
// whole seconds, as those of real ones are.
type fakeServices struct {
	*fixture
	jobs map[string]*job // by job_id
	// starts counts them.
	starts int
	// stops are the job_ids that were stopped.
	stops []string
	// nextID, unless empty, is the id of the next job.
	nextID string
	// answered is how much later than it began a task's run began by the answer to
	// its start; unnamed where the answer does not say.
	answered time.Duration
	// onStart, unless nil, is called once a job runs and before its starter hears
	// of it.
	onStart func(id string)
}

const unnamed = -100 * day

// job is the latest run of a job.
type job struct {
	began, ended time.Time
	reason       string // of the end, or of the failure
	failed       bool
	output       string // of an execution, too large for events where empty
}

const (
	dmsTask = "arn:aws:dms:eu-central-1:123456789012:task:ABC"
	dmsJob  = `{"ReplicationTaskArn":"` + dmsTask + `"}`
	batch   = `{"JobName":"n","JobQueue":"q","JobDefinition":"d"}`
	transcr = `{"Media":{"MediaFileUri":"s3://bucket/key"}}`

	machineARN = "arn:aws:states:eu-central-1:123456789012:stateMachine:M"
	machineJob = `{"StateMachineArn":"` + machineARN + `"}`
)

// Start implements [resume.Services].
func (c *fakeServices) Start(_ context.Context, kind jobs.Kind, params []byte) (answer []byte, err error) {
	var names struct{ ReplicationTaskArn, TranscriptionJobName, Name string }
	if err := json.Unmarshal(params, &names); err != nil {
		return nil, err
	}
	id := cmp.Or(names.ReplicationTaskArn, names.TranscriptionJobName)
	if kind.Name == "sfn-execution" {
		id = strings.Replace(machineARN, ":stateMachine:", ":execution:", 1) + ":" + names.Name
	}
	err = c.effect("start", func() error {
		switch old := c.jobs[id]; {
		case old != nil && kind.Name == "dms-task" && old.ended.IsZero():
			return &resume.ServiceError{Name: "dms.InvalidResourceStateFault", Message: "the task is running"}
		case old != nil && kind.Name == "transcribe-job":
			return &resume.ServiceError{Name: "transcribe.ConflictException", Message: "the name is in use"}
		}
		c.starts++
		if id == "" {
			id = cmp.Or(c.nextID, fmt.Sprintf("%x-%d", sha256.Sum256([]byte(c.Name())), c.starts)[32:])
		}
		if c.nextID == "" || c.jobs[id] == nil {
			c.jobs[id] = &job{began: c.clock().Truncate(time.Second)}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c.onStart != nil {
		c.onStart(id)
	}
	began := c.jobs[id].began.Format(time.RFC3339)
	switch kind.Name {
	case "dms-task":
		if c.answered == unnamed {
			return fmt.Appendf(nil, `{"ReplicationTask":{"ReplicationTaskArn":%q}}`, id), nil
		}
		began = c.jobs[id].began.Add(c.answered).Format(time.RFC3339)
		return fmt.Appendf(nil, `{"ReplicationTask":{"ReplicationTaskArn":%q,"ReplicationTaskStartDate":%q}}`, id, began), nil
	case "transcribe-job":
		return fmt.Appendf(nil, `{"TranscriptionJob":{"TranscriptionJobName":%q,"CreationTime":%q}}`, id, began), nil
	}
	if kind.Name == "sfn-execution" {
		return fmt.Appendf(nil, `{"ExecutionArn":%q}`, id), nil
	}
	return fmt.Appendf(nil, `{"JobId":%q,"JobArn":%q}`, id, batchARN(id)), nil
}

func batchARN(id string) string { return "arn:aws:batch:eu-central-1:123456789012:job/" + id }

// end ends the job's latest run.
func (c *fakeServices) end(id, reason string, failed bool) {
	j := c.jobs[id]
	j.ended, j.reason, j.failed = c.clock().Truncate(time.Second), reason, failed
}

// status is the word of a service for how a job is.
func (j *job) status(running, success, failed string) string {
	switch {
	case j.ended.IsZero():
		return running
	case j.failed:
		return failed
	}
	return success
}

// Describe implements [resume.Services].
func (c *fakeServices) Describe(_ context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	var names struct {
		Jobs                 []string
		Filters              []struct{ Values []string }
		TranscriptionJobName string
		ExecutionArn         string
	}
	if err := c.effect("describe", func() error { return json.Unmarshal(params, &names) }); err != nil {
		return nil, err
	}
	switch kind.Name {
	case "dms-task":
		return c.describeDMS(names.Filters[0].Values[0])
	case "transcribe-job":
		return c.describeTranscribe(names.TranscriptionJobName)
	case "sfn-execution":
		return c.describeExecution(names.ExecutionArn)
	}
	return c.describeBatch(names.Jobs[0])
}

// Stop implements [resume.Services].
func (c *fakeServices) Stop(_ context.Context, _ jobs.Kind, params []byte) error {
	var names struct{ JobID, ReplicationTaskArn, ExecutionArn string }
	return c.effect("stop", func() error {
		if err := json.Unmarshal(params, &names); err != nil {
			return err
		}
		c.stops = append(c.stops, names.JobID+names.ReplicationTaskArn+names.ExecutionArn)
		return nil
	})
}

func (c *fakeServices) describeBatch(id string) ([]byte, error) {
	j := c.jobs[id]
	if j == nil {
		return []byte(`{"Jobs":[]}`), nil
	}
	return fmt.Appendf(nil, `{"Jobs":[{"JobArn":%q,"JobId":%q,"JobName":"n","Status":%q,"StatusReason":%q,"StoppedAt":%d}]}`,
		batchARN(id), id, j.status("RUNNING", "SUCCEEDED", "FAILED"), j.reason, j.ended.UnixMilli()), nil
}

func (c *fakeServices) describeDMS(id string) ([]byte, error) {
	j := c.jobs[id]
	if j == nil {
		return nil, &resume.ServiceError{Name: "dms.ResourceNotFoundFault", Message: "no such task"}
	}
	stop := ""
	if !j.ended.IsZero() {
		stop = fmt.Sprintf(`,"StopReason":"Stop Reason %s","ReplicationTaskStats":{"StopDate":%q}`, j.reason, j.ended.Format(time.RFC3339))
	}
	return fmt.Appendf(nil, `{"ReplicationTasks":[{"ReplicationTaskArn":%q,"Status":%q,"ReplicationTaskStartDate":%q%s}]}`,
		id, j.status("running", "stopped", "failed"), j.began.Format(time.RFC3339), stop), nil
}

func (c *fakeServices) describeTranscribe(id string) ([]byte, error) {
	j := c.jobs[id]
	if j == nil {
		return nil, &resume.ServiceError{Name: "transcribe.NotFoundException", Message: "no such job"}
	}
	return fmt.Appendf(nil, `{"TranscriptionJob":{"TranscriptionJobName":%q,"TranscriptionJobStatus":%q,"CreationTime":%q,"CompletionTime":%q}}`,
		id, j.status("IN_PROGRESS", "COMPLETED", "FAILED"), j.began.Format(time.RFC3339), j.ended.Format(time.RFC3339)), nil
}

func (c *fakeServices) describeExecution(id string) ([]byte, error) {
	j := c.jobs[id]
	if j == nil {
		return nil, &resume.ServiceError{Name: "sfn.ExecutionDoesNotExist", Message: "no such execution"}
	}
	return fmt.Appendf(nil, `{"ExecutionArn":%q,"StateMachineArn":%q,"Name":"n","Status":%q,"StartDate":%q,"StopDate":%q,"Output":%q}`,
		id, machineARN, j.status("RUNNING", "SUCCEEDED", "FAILED"), j.began.Format(time.RFC3339), j.ended.Format(time.RFC3339),
		cmp.Or(j.output, `{"large":true}`)), nil
}

// sfnEvent is the event of an execution.
func (c *fakeServices) sfnEvent(id string) string {
	j, output := c.jobs[id], "null"
	if j.output != "" {
		output = fmt.Sprintf("%q", j.output)
	}
	return fmt.Sprintf(`{"version":"0","id":"e","source":"aws.states","detail-type":"Step Functions Execution Status Change","account":%q,
		"region":%q,"time":%q,"resources":[%q],"detail":{"executionArn":%q,"stateMachineArn":%q,"name":"n","status":%q,"cause":%q,"output":%s,
		"outputDetails":{"included":%t}}}`,
		account, region, c.clock().Format("2006-01-02T15:04:05Z"), id, id, machineARN, j.status("RUNNING", "SUCCEEDED", "FAILED"), j.reason, output, j.output != "")
}

// batchEvent is the event of how the job is now, and dmsEvent that of a task.
func (c *fakeServices) batchEvent(id string) string {
	j := c.jobs[id]
	return fmt.Sprintf(`{"version":"0","id":"e","source":"aws.batch","detail-type":"Batch Job State Change","account":%q,"region":%q,"time":%q,
		"resources":[%q],"detail":{"jobArn":%q,"jobId":%q,"jobName":"n","status":%q,"statusReason":%q}}`,
		account, region, c.clock().Format("2006-01-02T15:04:05Z"), batchARN(id), batchARN(id), id, j.status("RUNNING", "SUCCEEDED", "FAILED"), j.reason)
}

func (c *fakeServices) dmsEvent() string {
	j := c.jobs[dmsTask]
	kind := j.status("REPLICATION_TASK_STARTED", "REPLICATION_TASK_STOPPED", "REPLICATION_TASK_FAILED")
	return fmt.Sprintf(`{"version":"0","id":"e","source":"aws.dms","detail-type":"DMS Replication Task State Change","account":%q,"region":%q,"time":%q,
		"resources":[%q],"detail":{"eventType":%q,"detailMessage":"Replication task has stopped. Stop Reason %s"}}`,
		account, region, c.clock().Format("2006-01-02T15:04:05Z"), dmsTask, kind, j.reason)
}

func (c *fakeServices) transcribeEvent(id string) string {
	j := c.jobs[id]
	return fmt.Sprintf(`{"version":"0","id":"e","source":"aws.transcribe","detail-type":"Transcribe Job State Change","account":%q,"region":%q,"time":%q,
		"resources":[],"detail":{"TranscriptionJobName":%q,"TranscriptionJobStatus":%q}}`,
		account, region, c.clock().Format("2006-01-02T15:04:05Z"), id, j.status("IN_PROGRESS", "COMPLETED", "FAILED"))
}
