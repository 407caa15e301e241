package resume

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// JobsConfig is what [Jobs] works with.
type JobsConfig struct {
	// Tokens closes the tokens of those who wait, and signs those of foreign
	// waits. It is required.
	Tokens *Tokens
	// Outcomes, Wakes, Rendezvous, Services and Polls are required where their
	// use cases are used.
	Outcomes   TokenStore
	Wakes      Wakes
	Rendezvous Rendezvous
	Services   Services
	Polls      Polls
	// Foreign is nil where nobody else's engine is served.
	Foreign ForeignWaits
	// Account and Region are the caller's, for keys that no answer tells.
	Account, Region string
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	Now          func() time.Time
	// Random makes the random part of a simulated job's id; nil means crypto/rand.
	Random func() [10]byte
	// Warn is told of what went wrong and a later poll makes good; nil for nobody.
	Warn func(error)
}

// Jobs starts jobs, tells how they are, and brings those who wait for one its
// end. It is safe for concurrent use.
type Jobs struct{ config JobsConfig }

// NewJobs makes Jobs.
func NewJobs(config JobsConfig) *Jobs {
	if config.Random == nil {
		config.Random = random
	}
	if config.Warn == nil {
		config.Warn = func(error) {}
	}
	return &Jobs{config}
}

func random() (bytes [10]byte) {
	_, _ = rand.Read(bytes[:]) // never fails
	return bytes
}

// warn tells of an error that is made good later.
func (j *Jobs) warn(err error) {
	if err != nil {
		j.config.Warn(err)
	}
}

// describe asks the service how the job is. The error is a [*jobs.RequestError]
// where it knows no such job.
func (j *Jobs) describe(ctx context.Context, kind jobs.Kind, id string) (jobs.Sighting, error) {
	params, err := kind.DescribeParams(id)
	if err != nil {
		return jobs.Sighting{}, err
	}
	answer, err := j.config.Services.Describe(ctx, kind, params)
	if refused, ok := errors.AsType[*ServiceError](err); ok && kind.Unknown(refused.code()) {
		what := fmt.Sprintf("%s knows no job %q any more: %s", kind.Service, id, token.MaskAll(refused.Message))
		return jobs.Sighting{}, &jobs.RequestError{Name: jobs.ErrorNotFound, What: what}
	}
	if err != nil {
		return jobs.Sighting{}, fmt.Errorf("describe job %s: %w", id, masked(err))
	}
	_, seen, err := kind.ReadDescription(j.config.Account, j.config.Region, id, answer)
	return seen, err
}

// isNotFound: the service knows no such job.
func isNotFound(err error) bool {
	refused, ok := errors.AsType[*jobs.RequestError](err)
	return ok && refused.Name == jobs.ErrorNotFound
}

// verdict returns the outcome that a sighting means for a waiter, nil while it waits.
func verdict(kind jobs.Kind, name string, run jobs.Run, seen jobs.Sighting) (*token.Outcome, error) {
	end, ended := kind.Conclude(name, run, seen)
	if !ended {
		return nil, nil //nolint:nilnil // documented
	}
	return outcomeOf(name, end), nil
}

// errorInvalidOutput is the error of a job whose output cannot be read.
const errorInvalidOutput = "FnF.InvalidLocal"

// outcomeOf is the end of a job as the outcome of what waits for it.
func outcomeOf(name string, end jobs.Sighting) *token.Outcome {
	if end.Status != jobs.StatusSuccess {
		outcome := token.Failure(end.Error, token.MaskAll(end.Cause))
		return &outcome
	}
	output, err := value.ParseJSON(end.Output)
	outcome := token.Success(output)
	if err != nil { // another look would find the same
		outcome = token.Failure(errorInvalidOutput, fmt.Sprintf("the output of job %s: %s", name, token.MaskAll(err.Error())))
	}
	return &outcome
}

// settle closes a token for somebody whose message comes again after an error:
// the update, then the wake, also where the update was refused, for whoever made
// it before may have died in between (rule 10).
func (j *Jobs) settle(ctx context.Context, handle string, outcome token.Outcome, by token.Closer) error {
	id, ok := token.HandleID(handle)
	if !ok {
		return fmt.Errorf("close token %s: it is no handle", token.Mask(handle))
	}
	now := j.config.Now()
	if !now.Before(id.Expires) {
		return nil // nothing of the execution is left
	}
	closing := token.CloseOp{Outcome: j.config.Tokens.fitting(id, outcome), By: by, At: now}
	if _, err := j.config.Outcomes.Close(ctx, handle, closing); err != nil {
		return fmt.Errorf("close token %s: %w", token.Mask(handle), err)
	}
	return j.wake(ctx, id, handle, now)
}

func (j *Jobs) wake(ctx context.Context, id token.ID, handle string, at time.Time) error {
	if err := j.config.Wakes.Send(ctx, id, handle, at); err != nil {
		return fmt.Errorf("wake who waits with token %s: %w", token.Mask(handle), err)
	}
	return nil
}
