package resume

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/token"
)

// StarterConfig configures a [JobStarter]. Jobs is required.
type StarterConfig struct {
	Jobs JobsConfig
	// External is nil if no external waits are served.
	External ExternalWaits
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	// CallbackHint says how to set CallbackBase: "set VARIABLE".
	CallbackHint string
	// Random returns the random part of a simulated job's id; nil means crypto/rand.
	Random func() [10]byte
}

// JobStarter starts jobs. It is safe for concurrent use.
type JobStarter struct {
	ports        JobsConfig
	external     ExternalWaits
	callbackBase string
	callbackHint string
	random       func() [10]byte
}

// NewJobStarter returns a JobStarter. It panics if a required field is missing.
func NewJobStarter(config StarterConfig) *JobStarter {
	if config.Random == nil {
		config.Random = random
	}
	return &JobStarter{config.Jobs.checked("NewJobStarter"), config.External, config.CallbackBase, config.CallbackHint, config.Random}
}

func random() (bytes [10]byte) {
	_, _ = rand.Read(bytes[:]) // never fails
	return bytes
}

// StartJob is the function of that name: JSON in, JSON out. It starts a job and has
// the token in its input wait for the end. Its errors are a [*jobs.RequestError], a
// [*ServiceError], [token.ErrInvalid], a store's, or those of package simulated.
//
// The order is: start the job, send the first poll, bind the waiter to the job's key.
// From the first poll on, a crash at any point is recovered by the poll.
//
// A repeated start with the same token waits under the same handle. Whether it
// starts a second run depends on the service:
//
//   - [jobs.OnceByName]: the service rejects it, and StartJob waits for the first job,
//     which it finds by its name.
//   - [jobs.OnceBusy]: the service rejects it, and StartJob waits for a run that began
//     just now, unless another token waits for that run.
//   - Any other: the service starts a second run, and the first end is the outcome.
func (j *JobStarter) StartJob(ctx context.Context, input []byte) ([]byte, error) {
	request, err := jobs.ParseStart(input)
	if err != nil {
		return nil, err
	}
	s := &start{JobStarter: j, request: request, since: j.ports.now()}
	s.kind, _ = jobs.Find(request.Kind)
	if err := s.openToken(ctx); err != nil {
		return nil, err
	}
	switch {
	case request.Kind == jobs.KindSimulated && !s.waits():
		return simulated.StartJob(request.Params, s.since, j.random())
	case !s.kind.HasEnd():
		return s.sendMessage(ctx)
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	response := s.started.Result()
	response.CallbackURL = s.callbackURL
	return json.Marshal(response)
}

// start is one call of StartJob.
type start struct {
	*JobStarter
	request jobs.StartRequest
	kind    jobs.Kind
	// since is when the call began.
	since time.Time
	// token waits for the end of the job; it is zero if nothing waits.
	token Token
	// recipient is empty if a step waits. For an external wait, theirs is the
	// recipient's token, and deadline is when the wait ends.
	recipient Recipient
	theirs    string
	deadline  time.Time

	started jobs.Started
	// adopted is the service's refusal, if started is a run that an earlier call may
	// have started.
	adopted     *ServiceError
	callbackURL string
}

// waits reports whether a token waits for the end of the job.
func (s *start) waits() bool { return s.token.handle != "" }

// openToken opens the token that waits, or makes the one of an external wait.
func (s *start) openToken(ctx context.Context) (err error) {
	switch r := s.request; {
	case r.Token != "":
		s.token, err = s.ports.Tokens.Open(ctx, r.Token)
		if err == nil && isExternal(s.token.ID) { // StartJob makes such tokens itself
			err = token.ErrInvalid
		}
		return err
	case r.TaskToken != "":
		return s.openExternal(ctx, RecipientStepFunctions, r.TaskToken)
	case r.CallbackID != "":
		return s.openExternal(ctx, RecipientDurable, r.CallbackID)
	}
	return nil
}

// begin starts the job.
func (s *start) begin(ctx context.Context) error {
	switch s.request.Kind {
	case jobs.KindCallback:
		return s.beginCallback(ctx)
	case jobs.KindSimulated:
		id, err := simulated.StartUntil(s.request.Params, s.since, s.random())
		s.started = jobs.Started{ID: id, Key: s.ownKey(id)}
		return err
	}
	params, err := s.kind.StartParams(s.request.Params, s.unique())
	if err != nil {
		return err
	}
	response, err := s.ports.Services.Start(ctx, s.kind, params)
	if refused, ok := errors.AsType[*ServiceError](err); ok && s.kind.InUse(refused.code()) && s.unique() != "" {
		return s.adopt(ctx, params, refused)
	}
	if err != nil {
		return s.refusal(err)
	}
	s.started, err = s.kind.ReadStart(s.ports.Account, s.ports.Region, params, response)
	return err
}

// sendMessage sends a message, which has no end to wait for. A repeated call sends a
// second message, unless the queue or the topic is a FIFO one.
func (s *start) sendMessage(ctx context.Context) ([]byte, error) {
	params, err := s.kind.MessageParams(s.ports.Account, s.ports.Region, s.request.Params, s.unique())
	if err != nil {
		return nil, err
	}
	response, err := s.ports.Services.Start(ctx, s.kind, params)
	if err != nil {
		return nil, s.refusal(err)
	}
	sent, err := s.kind.ReadSent(params, response)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sent)
}

// refusal returns the error of a start that the service refused.
func (s *start) refusal(err error) error {
	if refused, ok := errors.AsType[*ServiceError](err); ok && refused.Again {
		err = &ServiceError{Name: refused.Name, Message: refused.Message + "; the same start may succeed later", Again: true}
	}
	return fmt.Errorf("start a job of kind %s: %w", s.kind.Name, masked(err))
}

// beginCallback starts nothing: the job is a request to the callback URL.
func (s *start) beginCallback(ctx context.Context) error {
	if s.callbackBase == "" {
		what := "callbacks have no URL here"
		if s.callbackHint != "" {
			what += ": " + s.callbackHint
		}
		return &jobs.RequestError{Name: jobs.ErrorInvalid, What: what}
	}
	text := s.request.Token
	if text == "" {
		keys, err := s.ports.Tokens.config.Keys.Get(ctx)
		if err != nil {
			return err
		}
		text = keys.Sign(s.token.ID)
	}
	s.callbackURL = token.CallbackURL(s.callbackBase, text)
	s.started = jobs.Started{ID: s.token.handle, Key: s.ownKey(s.token.handle)}
	return nil
}

// ownKey returns the key of a job that no service knows.
func (s *start) ownKey(name string) jobs.Key {
	return jobs.Key{Kind: s.request.Kind, Account: s.ports.Account, Region: s.ports.Region, Name: name}
}

// unique returns the idempotency key of the start: a repeated start has the same one.
func (s *start) unique() string {
	switch {
	case !s.waits():
		return s.request.IdempotencyKey
	case s.recipient == "":
		return s.token.handle
	}
	return hex.EncodeToString(s.token.ID.Execution[:])
}

// wait has the token wait for the end of the job. An error of the poll fails the
// start, because without a poll a lost event would leave the token open. An error of
// the binding does not, because the poll finds the end.
func (s *start) wait(ctx context.Context) (err error) {
	if !s.waits() || s.request.Kind == jobs.KindCallback && s.recipient == "" {
		return nil
	}
	var met Meeting
	if s.adopted != nil {
		if met, err = s.claim(ctx); err != nil {
			return err
		}
	}
	if err := s.keepExternal(ctx); err != nil {
		return err
	}
	poll := Poll{Key: s.started.Key, JobID: s.started.ID, Waiter: s.waiter(), Number: 1, Deadline: s.deadline}
	if err := s.ports.sendPoll(ctx, poll); err != nil {
		return fmt.Errorf("job %s was started, but its end would not be noticed: %w", s.started.Key.Name, err)
	}
	if s.adopted == nil && s.kind.HasEvents() {
		met, err = s.bind(ctx)
		s.ports.warn(err)
		s.expose(ctx, met.Waiters)
	}
	if met.End != nil {
		s.ports.warn(s.closeWith(ctx, *met.End))
	}
	return nil
}

func (s *start) waiter() Waiter {
	return Waiter{Handle: s.token.handle, Run: s.run(), JobID: s.started.ID}
}

// run is what is known of the run that was started or adopted.
func (s *start) run() jobs.Run { return jobs.Run{BeginText: s.started.BeginText, Since: s.since} }

// bind has the job's event find the waiter.
func (s *start) bind(ctx context.Context) (Meeting, error) {
	met, err := s.ports.Rendezvous.Bind(ctx, s.started.Key, s.waiter(), s.token.ID.Expires)
	if err != nil {
		return Meeting{}, fmt.Errorf("bind a token to job %s: %w", s.started.Key.Name, err)
	}
	return met, nil
}

// closeWith closes the token with an end that was noted before the waiter was bound,
// if that is the end of its run.
func (s *start) closeWith(ctx context.Context, end jobs.Sighting) error {
	key := s.started.Key
	if _, done := s.kind.Conclude(key.Name, s.run(), end); !done && !end.IsHint() {
		return nil // the end of an earlier run
	}
	seen, err := s.ports.confirm(ctx, s.kind, key, end)
	if err != nil {
		return err
	}
	outcome, done := outcomeFor(s.kind, key.Name, s.run(), seen)
	if !done {
		return nil
	}
	_, _, err = s.token.close(ctx, s.ports.Tokens.fitting(s.token.ID, outcome), token.ClosedByEvent)
	return err
}
