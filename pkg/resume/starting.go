package resume

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/token"
)

// StartJob is the function of that name: JSON in, JSON out. Its errors are a
// [*jobs.RequestError], a [*ServiceError], [token.ErrInvalid], a store's, or
// those of package simulated.
//
// The job is started, then the first poll is sent, then whoever waits is bound to
// the job's key, so that whatever dies in between somebody learns of the end. A
// repeated start with the same token starts the same job again and waits under
// the same handle. Whether that is a second run is for the service: one with
// [jobs.OnceByName] finds the first one by its name; one with [jobs.OnceBusy]
// refuses, and a run that began just now is taken for the first one, as is that
// of a job which the caller named, unless somebody else waits for it; any other
// starts a second run, and the outcome is that of whichever ends first.
func (j *Jobs) StartJob(ctx context.Context, input []byte) ([]byte, error) {
	request, err := jobs.ParseStart(input)
	if err != nil {
		return nil, err
	}
	s := &start{Jobs: j, request: request, since: j.config.Now()}
	s.kind, _ = jobs.Find(request.Kind)
	if err := s.whoWaits(ctx); err != nil {
		return nil, err
	}
	if request.Kind == jobs.KindSimulated && s.nobodyWaits() {
		return simulated.StartJob(request.Params, s.since, j.config.Random())
	}
	if !s.kind.HasEnd() {
		return s.sendMessage(ctx)
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	answer := s.started.Result()
	answer.CallbackURL = s.callbackURL
	return json.Marshal(answer)
}

// GetJobStatus is the function of that name: JSON in, JSON out. Its errors are
// those of [Jobs.StartJob].
func (j *Jobs) GetJobStatus(ctx context.Context, input []byte) ([]byte, error) {
	request, err := jobs.ParseStatus(input)
	if err != nil {
		return nil, err
	}
	if request.Kind == jobs.KindSimulated {
		return simulated.GetJobStatus(input, j.config.Now())
	}
	kind, _ := jobs.Find(request.Kind)
	seen, err := j.describe(ctx, kind, request.ID)
	if err != nil {
		return nil, err
	}
	seen.Cause = token.MaskAll(seen.Cause)
	return json.Marshal(seen.Result(request.ID))
}

// start is one call of StartJob.
type start struct {
	*Jobs
	request jobs.StartRequest
	kind    jobs.Kind
	// since is when the call began.
	since time.Time

	// id and handle are those of the token of whoever waits, empty for nobody.
	id     token.ID
	handle string
	// recipient is empty for a step of ours; else theirs is the recipient's token
	// and deadline when the wait ends.
	recipient Recipient
	theirs    string
	deadline  time.Time

	started jobs.Started
	// adopted: the service refused the start, and a run that is under way may be
	// that of an earlier call.
	adopted     *ServiceError
	callbackURL string
}

func (s *start) nobodyWaits() bool { return s.handle == "" }

// whoWaits finds the token that the job closes.
func (s *start) whoWaits(ctx context.Context) (err error) {
	switch r := s.request; {
	case r.Token != "":
		s.id, s.handle, err = s.config.Tokens.verify(ctx, r.Token)
		if err == nil && isForeign(s.id) { // it stands for somebody else's wait, which has its own
			err = token.ErrInvalid
		}
		return err
	case r.TaskToken != "":
		s.recipient, s.theirs = RecipientStepFunctions, r.TaskToken
	case r.CallbackID != "":
		s.recipient, s.theirs = RecipientDurable, r.CallbackID
	default:
		return nil
	}
	if s.config.Foreign == nil {
		return &jobs.RequestError{Name: jobs.ErrorInvalid, What: "taskToken and callbackId are not served here: want token, or none"}
	}
	s.deadline = s.since.Add(foreignTime(s.request.TimeoutSeconds))
	s.id = foreignID(s.recipient, s.theirs, s.deadline)
	s.handle = s.config.Tokens.config.Keys.Handle(s.id)
	return nil
}

// begin starts the job.
func (s *start) begin(ctx context.Context) error {
	switch s.request.Kind {
	case jobs.KindCallback:
		return s.beginCallback()
	case jobs.KindSimulated:
		return s.beginSimulated()
	}
	params, err := s.kind.StartParams(s.request.Params, s.unique())
	if err != nil {
		return err
	}
	answer, err := s.config.Services.Start(ctx, s.kind, params)
	if refused, ok := errors.AsType[*ServiceError](err); ok && s.kind.Taken(refused.code()) && s.unique() != "" {
		return s.adopt(ctx, params, refused)
	}
	if err != nil {
		return s.refusal(err)
	}
	s.started, err = s.kind.ReadStart(s.config.Account, s.config.Region, params, answer)
	return err
}

// sendMessage is a start that is all there is. One that is repeated sends a
// second message, unless the queue or the topic is a FIFO one.
func (s *start) sendMessage(ctx context.Context) ([]byte, error) {
	params, err := s.kind.MessageParams(s.config.Account, s.config.Region, s.request.Params, s.unique())
	if err != nil {
		return nil, err
	}
	answer, err := s.config.Services.Start(ctx, s.kind, params)
	if err != nil {
		return nil, s.refusal(err)
	}
	sent, err := s.kind.ReadSent(params, answer)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sent)
}

// refusal is the error of a start that was refused.
func (s *start) refusal(err error) error {
	if refused, ok := errors.AsType[*ServiceError](err); ok && refused.Again {
		err = &ServiceError{Name: refused.Name, Message: refused.Message + "; the same start may succeed later", Again: true}
	}
	return fmt.Errorf("start a job of kind %s: %w", s.kind.Name, masked(err))
}

// beginCallback starts nothing: the job is that somebody calls.
func (s *start) beginCallback() error {
	if s.config.CallbackBase == "" {
		return &jobs.RequestError{Name: jobs.ErrorInvalid, What: "there is no callback URL here: set where callbacks arrive (WAITLESS_CALLBACK_URL)"}
	}
	text := s.request.Token
	if text == "" {
		text = s.config.Tokens.config.Keys.Sign(s.id)
	}
	s.callbackURL = token.CallbackURL(s.config.CallbackBase, text)
	s.started = jobs.Started{ID: s.handle, Key: s.ownKey(s.handle)}
	return nil
}

func (s *start) beginSimulated() error {
	id, err := simulated.StartUntil(s.request.Params, s.since, s.config.Random())
	if err != nil {
		return err
	}
	s.started = jobs.Started{ID: id, Key: s.ownKey(id)}
	return nil
}

// ownKey is a key of what no service knows.
func (s *start) ownKey(name string) jobs.Key {
	return jobs.Key{Kind: s.request.Kind, Account: s.config.Account, Region: s.config.Region, Name: name}
}

func simulatedEnd(key jobs.Key, id string, at time.Time) jobs.Sighting {
	output := fmt.Sprintf(`{"job_id":%q,"job_key":%q,"kind":%q,"status":%q}`, id, key.Name, key.Kind, jobs.StatusSuccess)
	return jobs.Sighting{Status: jobs.StatusSuccess, At: at, Output: json.RawMessage(output)}
}

// unique is the same text for the same start: of a step's attempt, or of one
// wait of somebody else's engine.
func (s *start) unique() string {
	switch {
	case s.nobodyWaits():
		return s.request.IdempotencyKey
	case s.recipient == "":
		return s.handle
	}
	return hex.EncodeToString(s.id.Execution[:])
}

// justNow is how long ago a run may have begun that is taken for that of an
// earlier call: who was killed before he could say what he started is called
// again within that time.
const justNow = 5 * time.Minute

// adopt waits for the job that the service says is there already, if it may be
// that of an earlier call with the same token or key: it has the name that only
// this one gives, or its run began just now.
func (s *start) adopt(ctx context.Context, params []byte, refused *ServiceError) (err error) {
	fail := s.refusal(refused)
	if s.started, err = s.kind.ReadStart(s.config.Account, s.config.Region, params, nil); err != nil {
		return fail
	}
	ours := s.kind.NamedByUs(s.started.ID, s.unique())
	if ours && (s.kind.Scope == jobs.ScopeRun || s.nobodyWaits()) {
		return nil
	}
	if s.nobodyWaits() { // whose run it is, only waiters tell
		return fail
	}
	seen, err := s.describe(ctx, s.kind, s.started.ID)
	if err != nil {
		s.warn(err)
		return fail
	}
	if !ours {
		s.adopted = refused
		refusedFor := seen.Status == jobs.StatusRunning || s.kind.Once == jobs.OnceByName // which is taken for good
		if s.since.Sub(seen.Began) > justNow || !refusedFor {
			return fail
		}
	}
	s.started.Run = seen.Run
	if !seen.Began.IsZero() {
		s.since = seen.Began
	}
	return nil
}

// wait has the waiter learn of the end of the job: it sends the first poll, then
// binds the waiter to the job's key. An error of the poll is an error of the start,
// because without a poll a lost event would leave the step waiting. An error of the
// binding is not, because the poll finds the end.
func (s *start) wait(ctx context.Context) (err error) {
	if s.nobodyWaits() || s.request.Kind == jobs.KindCallback && s.recipient == "" {
		return nil
	}
	waiter := Waiter{Handle: s.handle, Run: s.run(), JobID: s.started.ID}
	var met Meeting
	if s.adopted != nil {
		if met, err = s.claim(ctx, waiter); err != nil {
			return err
		}
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	poll := Poll{Key: s.started.Key, JobID: s.started.ID, Waiter: waiter, Number: 1, Deadline: s.deadline}
	if err := s.send(ctx, poll, s.config.Now()); err != nil {
		return fmt.Errorf("job %s was started, but its end would not be noticed: %w", s.started.Key.Name, err)
	}
	if s.adopted == nil && s.kind.DetailType != "" { // or no event comes
		met, err = s.bind(ctx, waiter)
		s.warn(err)
	}
	s.see(ctx, waiter, met)
	return nil
}

// see does what the meeting of a binding asks for.
func (s *start) see(ctx context.Context, waiter Waiter, met Meeting) {
	if s.adopted == nil {
		s.expose(ctx, s.others(ctx, met.Waiters))
	}
	if met.End != nil {
		s.warn(s.meet(ctx, waiter, *met.End))
	}
}

// claim binds who waits to a run that may be somebody else's, which it is if
// anybody waits for it, or did so for one that the name is of. That comes before
// all else: who is refused must not be told of the end.
func (s *start) claim(ctx context.Context, waiter Waiter) (Meeting, error) {
	met, err := s.bind(ctx, waiter)
	if err == nil && (s.isKnown(met.Waiters) || len(s.others(ctx, met.Waiters)) > 0) {
		s.warn(s.config.Rendezvous.Release(ctx, s.started.Key, []string{s.handle}))
		return Meeting{}, s.refusal(s.adopted)
	}
	return met, err
}

// isKnown: the job has a name that no other can have, and somebody else was bound
// to it, whose token may be closed by now.
func (s *start) isKnown(waiters []Waiter) bool {
	return s.kind.Once == jobs.OnceByName && slices.ContainsFunc(waiters, func(w Waiter) bool {
		return w.Handle != s.handle && s.kind.SameRun(s.run(), w.Run)
	})
}

// run is what is known of the run that was started or adopted.
func (s *start) run() jobs.Run { return jobs.Run{Name: s.started.Run, Since: s.since} }

// bind lets the job's event find who waits.
func (s *start) bind(ctx context.Context, waiter Waiter) (Meeting, error) {
	met, err := s.config.Rendezvous.Bind(ctx, s.started.Key, waiter, s.id.Expires)
	if err != nil {
		return Meeting{}, fmt.Errorf("bind a token to job %s: %w", s.started.Key.Name, err)
	}
	return met, nil
}

// others are those of the waiters who wait beside this one. Who waited for an
// earlier run, and waits no more, is released.
func (s *start) others(ctx context.Context, waiters []Waiter) []Waiter {
	others := slices.DeleteFunc(slices.Clone(waiters), func(w Waiter) bool { return w.Handle == s.handle })
	if s.kind.Scope == jobs.ScopeRun {
		return others
	}
	var waiting []Waiter
	var closed []string
	for _, other := range others {
		if s.isOver(ctx, other.Handle) {
			closed = append(closed, other.Handle)
		} else {
			waiting = append(waiting, other)
		}
	}
	if len(closed) > 0 {
		s.warn(s.config.Rendezvous.Release(ctx, s.started.Key, closed))
	}
	return waiting
}

// isOver: the token is closed, or its execution is over for so long that no
// record is left.
func (s *start) isOver(ctx context.Context, handle string) bool {
	if id, ok := token.HandleID(handle); !ok || !s.config.Now().Before(id.Expires) {
		return true
	}
	record, err := s.config.Outcomes.Record(ctx, handle)
	s.warn(err)
	return err == nil && !record.Open()
}

// expose fails those who took the run for their own before whoever started it was
// bound: the service had refused them.
func (s *start) expose(ctx context.Context, others []Waiter) {
	if s.kind.Once == jobs.OnceNot {
		return
	}
	for _, other := range others {
		if s.kind.SameRun(s.run(), other.Run) {
			cause := s.started.Key.Name + ": its run was taken for that of this start, and somebody else started it"
			s.warn(s.settle(ctx, other.Handle, token.Failure(jobs.ErrorSuperseded, cause), token.ClosedByReconcile))
		}
	}
}

// meet closes the token at once, if the end that came before it is that of its
// run.
func (s *start) meet(ctx context.Context, waiter Waiter, end jobs.Sighting) error {
	key := s.started.Key
	_, ended := s.kind.Conclude(key.Name, waiter.Run, end)
	if end.Status != jobs.StatusRunning && !ended {
		return nil // it ended before this run began
	}
	seen, err := s.confirm(ctx, s.kind, key, end)
	if err != nil {
		return err
	}
	outcome, err := verdict(s.kind, key.Name, waiter.Run, seen)
	if err != nil || outcome == nil {
		return err
	}
	_, _, err = s.config.Tokens.close(ctx, s.id, s.handle, s.config.Tokens.fitting(s.id, *outcome), token.ClosedByEvent)
	return err
}
