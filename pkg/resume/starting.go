package resume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/token"
)

// JobStarter starts jobs. It is safe for concurrent use.
type JobStarter struct{ config JobsConfig }

// NewJobStarter returns a JobStarter. It panics if a required field is missing.
func NewJobStarter(config JobsConfig) *JobStarter {
	return &JobStarter{config.checked("NewJobStarter")}
}

// StartJob is the function of the same name: JSON in, JSON out. It starts a job and has the token
// in its input wait for the end. Its errors are a [*jobs.RequestError], a [*ServiceError],
// [token.ErrInvalid], an error of the store, or an error of package simulated.
//
// The order is: start the job, send the first poll, bind the waiter to the job's key. From the
// first poll on, a crash at any point is recovered by the poll.
//
// A repeated start with the same token waits under the same handle. Whether it starts a second run
// depends on the service:
//
//   - [jobs.OnceByName]: the service rejects it, and StartJob waits for the first job,
//     which it finds by its name.
//   - [jobs.OnceByToken]: the service returns the first job.
//   - [jobs.OnceBusy]: the service rejects it, and StartJob waits for a run that began
//     just now, unless another token waits for that run.
//   - Any other: the service starts a second run, and the first end is the outcome.
//
// For a step of a machine the errors have the names of Step Functions.
func (j *JobStarter) StartJob(ctx context.Context, input []byte) ([]byte, error) {
	request, err := jobs.ParseStart(input)
	if err != nil {
		return nil, err
	}
	s := &startCall{JobsConfig: j.config, request: request, run: jobs.Run{Since: j.config.Now()}}
	if s.JobDescriber, err = s.in(request.Account); err != nil {
		return nil, err
	}
	s.kind, _ = jobs.Find(request.Kind)
	if err := s.openToken(ctx); err != nil {
		return nil, err
	}
	response, err := s.start(ctx)
	if isOfMachine(s.token.handle) {
		err = inMachine(err)
	}
	return response, err
}

// inMachine returns the error of a start with the name of Step Functions.
func inMachine(err error) error {
	var refused *ServiceError
	var wrong *jobs.RequestError
	switch {
	case errors.As(err, &refused) && refused.Name == jobs.ErrorInvalid:
		return &ServiceError{Name: errorRuntime, Message: refused.Message}
	case errors.As(err, &refused):
		return &ServiceError{Name: jobs.IntegrationError(refused.Name), Message: refused.Message, Again: refused.Again}
	case errors.As(err, &wrong) && wrong.Name == jobs.ErrorFailed:
		return &jobs.RequestError{Name: errorTaskFailed, What: wrong.What}
	case errors.As(err, &wrong):
		return &jobs.RequestError{Name: errorRuntime, What: wrong.What}
	}
	return err
}

// start starts the job, and has the token wait for its end.
func (s *startCall) start(ctx context.Context) ([]byte, error) {
	switch request := s.request; {
	case request.Kind == jobs.KindSimulated && !s.waits():
		return simulated.StartJob(request.Params, s.run.Since, s.Random())
	case !s.kind.HasEnd():
		return s.sendMessage(ctx)
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if err := s.arrangeWait(ctx); err != nil {
		return nil, err
	}
	response := s.started.Result()
	response.CallbackURL, response.Account = s.callbackURL, s.request.Account
	return json.Marshal(response)
}

// startCall is one call of StartJob.
type startCall struct {
	JobsConfig
	request jobs.StartRequest
	kind    jobs.Kind
	// token waits for the end of the job, and text is its text; both are zero if nothing waits.
	token Token
	text  string
	// unique is the idempotency key of the start: a repeated start has the same one.
	unique string
	// wait is the external wait, the zero value if a step waits.
	wait ExternalWait

	started jobs.Started
	// run identifies the run that was started or adopted, as far as it is known. Its Since is the
	// begin of the call, or for an adopted run, the begin according to the service.
	run jobs.Run
	// contested is the service's refusal, if started is an adopted run that another caller may have
	// started: then the waiter is bound before anything else is done. It is nil for a run of this
	// call, and for a run with a name that this call chose.
	contested   *ServiceError
	callbackURL string
}

// waits reports whether a token waits for the end of the job.
func (s *startCall) waits() bool { return s.token.handle != "" }

// openToken opens the token that waits, or creates the token of an external wait.
func (s *startCall) openToken(ctx context.Context) (err error) {
	switch r := s.request; {
	case s.Unwatched != "" && r.Token+r.TaskToken+r.CallbackID != "":
		return &jobs.RequestError{Name: jobs.ErrorInvalid, What: s.Unwatched}
	case r.Token != "":
		s.token, err = s.Tokens.Verify(ctx, r.Token)
		if err == nil && isExternal(s.token.ID) { // StartJob makes such tokens itself
			err = token.ErrInvalid
		}
		s.text, s.unique = r.Token, s.token.handle
		return err
	case r.TaskToken != "":
		return s.openExternal(ctx, RecipientStepFunctions, r.TaskToken)
	case r.CallbackID != "":
		return s.openExternal(ctx, RecipientDurable, r.CallbackID)
	}
	s.unique = s.request.IdempotencyKey
	return nil
}

// begin starts the job.
func (s *startCall) begin(ctx context.Context) error {
	switch s.request.Kind {
	case jobs.KindCallback:
		// nothing starts: the job is a request to the callback URL
		if s.CallbackBase == "" {
			what := "callbacks have no URL here"
			if s.CallbackHint != "" {
				what += ": " + s.CallbackHint
			}
			return &jobs.RequestError{Name: jobs.ErrorInvalid, What: what}
		}
		s.callbackURL = token.CallbackURL(s.CallbackBase, s.text)
		s.started = jobs.Started{ID: s.token.handle, Key: s.ownKey(s.token.handle)}
		return nil
	case jobs.KindSimulated:
		id, err := simulated.StartUntil(s.request.Params, s.run.Since, s.Random())
		s.started = jobs.Started{ID: id, Key: s.ownKey(id)}
		return err
	}
	params, err := s.kind.StartParams(s.request.Params, s.unique)
	if err != nil {
		return err
	}
	response, err := s.Services.Start(ctx, s.kind, params)
	if refused, ok := errors.AsType[*ServiceError](err); ok && s.kind.InUse(refused.code()) && s.unique != "" {
		return s.adopt(ctx, params, refused)
	}
	if err != nil {
		return s.refusal(err)
	}
	s.started, err = s.kind.ReadStart(s.Account, s.Region, params, response)
	s.run.BeginText = s.started.BeginText
	if err != nil {
		return err
	}
	// If the response does not say when the run began, only clocks tell it from an earlier job of
	// the same name. The description of a name that was in use names its only run; the description
	// of a resource may still be about the run before.
	if s.kind.Scope == jobs.ScopeResource && s.kind.Once == jobs.OnceByName && s.run.BeginText == "" && s.waits() {
		seen, err := s.describe(ctx, s.kind, s.started.ID)
		s.warn(err)
		s.run.BeginText = seen.BeginText
	}
	return nil
}

// sendMessage sends a message, which has no end to wait for. A repeated call sends a
// second message, unless the queue or the topic is a FIFO one.
func (s *startCall) sendMessage(ctx context.Context) ([]byte, error) {
	params, err := s.kind.MessageParams(s.Account, s.Region, s.request.Params, s.unique)
	if err != nil {
		return nil, err
	}
	response, err := s.Services.Start(ctx, s.kind, params)
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
func (s *startCall) refusal(err error) error {
	return fmt.Errorf("start a job of kind %s: %w", s.kind.Name, masked(err))
}

// ownKey returns the key of a job that no service knows.
func (s *startCall) ownKey(name string) jobs.Key {
	return jobs.Key{Kind: s.request.Kind, Account: s.Account, Region: s.Region, Name: name}
}

// arrangeWait sends the first poll and binds the waiter, so that the token is closed
// when the job ends. It does not wait itself. An error of the poll fails the
// start, because without a poll a lost event would leave the token open. An error of
// the binding does not, because the poll finds the end.
func (s *startCall) arrangeWait(ctx context.Context) (err error) {
	if !s.waits() || s.request.Kind == jobs.KindCallback && s.wait.Recipient == "" {
		return nil
	}
	var record JobRecord
	if s.contested != nil {
		if record, err = s.claim(ctx); err != nil {
			return err
		}
	}
	if err := s.keepExternal(ctx); err != nil {
		return err
	}
	poll := Poll{Key: s.started.Key, Waiter: s.waiter(), Number: 1, Deadline: s.wait.Deadline}
	if err := s.sendPoll(ctx, poll); err != nil {
		return fmt.Errorf("job %s was started, but its end would not be noticed: %w", s.started.Key.Name, err)
	}
	if s.contested == nil && s.kind.HasEvents() {
		record, err = s.bind(ctx, s.waiter())
		s.warn(err)
		s.expose(ctx, record.Waiters)
	}
	if record.End != nil {
		s.warn(s.closeWith(ctx, *record.End))
	}
	return nil
}

func (s *startCall) waiter() Waiter {
	return Waiter{Handle: s.token.handle, Run: s.run, JobID: s.started.ID, StopJob: s.request.StopJob}
}

// bind has the job's event find the waiter.
func (s *startCall) bind(ctx context.Context, waiter Waiter) (JobRecord, error) {
	record, err := s.Rendezvous.Bind(ctx, s.started.Key, waiter, s.token.ID.Expires)
	if err != nil {
		return JobRecord{}, fmt.Errorf("bind a token to job %s: %w", s.started.Key.Name, err)
	}
	return record, nil
}

// closeWith closes the token with an end that was noted before the waiter was bound,
// if that is the end of its run.
func (s *startCall) closeWith(ctx context.Context, end jobs.Sighting) error {
	key := s.started.Key
	// A resource's stored end is compared with the run before the service is asked, to save the
	// call for the end of an earlier run. The service may then describe another run again, so
	// outcomeFor compares once more.
	if _, done := s.kind.Conclude(key.Name, s.run, end); !done && !end.IsHint() {
		return nil // the end of an earlier run
	}
	seen, err := s.decidingSighting(ctx, s.kind, key, end)
	if err != nil {
		return err
	}
	outcome, done, err := s.outcomeOf(ctx, s.kind, key, s.waiter(), seen)
	if err != nil || !done {
		return err
	}
	_, _, err = s.token.closeFromRequest(ctx, s.Tokens.withinLimits(s.token.ID, outcome), token.ClosedByEvent)
	return err
}
