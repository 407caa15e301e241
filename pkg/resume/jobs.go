package resume

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// JobsConfig configures [JobStarter] and [JobObserver]. All fields of the first group are required.
type JobsConfig struct {
	JobDescriber
	// Tokens closes the tokens that wait for jobs.
	Tokens     *Tokens
	Rendezvous Rendezvous
	Polls      Polls
	// Kinds has the events of custom kinds. The zero Table has none: then only polls find the ends
	// of such jobs.
	Kinds jobs.Table

	// Warn is told of errors that a later poll repairs; nil ignores them.
	Warn func(error)
	// Noted receives the stored record of a job after an event of the job; nil ignores it.
	Noted func(jobs.Key, JobRecord)

	// The rest is for a JobStarter. External is nil if no external waits are served.
	External ExternalWaits
	// Unwatched says why no token can wait for a job, and what to do; empty if tokens can.
	Unwatched string
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	// CallbackHint says how to set CallbackBase: "set VARIABLE".
	CallbackHint string
	// Random returns the random part of a simulated job's id; nil means crypto/rand.
	Random func() [10]byte
}

// checked returns the configuration with defaults. It panics if a required field
// is missing.
func (c JobsConfig) checked(constructor string) JobsConfig {
	require(constructor, map[string]bool{
		"Tokens": c.Tokens != nil, "Rendezvous": c.Rendezvous != nil, "Services": c.Services != nil, "Polls": c.Polls != nil, "Now": c.Now != nil,
	})
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.Noted == nil {
		c.Noted = func(jobs.Key, JobRecord) {}
	}
	if c.Random == nil {
		c.Random = func() (bytes [10]byte) {
			_, _ = rand.Read(bytes[:]) // never fails
			return bytes
		}
	}
	return c
}

// warn reports an error that a later poll repairs.
func (c JobsConfig) warn(err error) {
	if err != nil {
		c.Warn(err)
	}
}

// JobDescriber describes jobs. The fields are required, but for Elsewhere. It is safe for
// concurrent use.
type JobDescriber struct {
	Services Services
	// Account and Region are the caller's, for the keys of jobs.
	Account, Region string
	Now             func() time.Time
	// Elsewhere returns the services of another account, and reports whether jobs may run there.
	// With nil they run in Account only.
	Elsewhere func(account string) (Services, bool)
}

// in returns the describer of jobs of the account; empty means Account. The error is a
// [*jobs.RequestError].
func (d JobDescriber) in(account string) (JobDescriber, error) {
	if account == "" || account == d.Account {
		return d, nil
	}
	if d.Elsewhere != nil {
		if services, ok := d.Elsewhere(account); ok {
			d.Services, d.Account = services, account
			return d, nil
		}
	}
	what := fmt.Sprintf("account %s is not one of those whose jobs are started and described here; name it in JobAccounts of the stack", account)
	return JobDescriber{}, &jobs.RequestError{Name: jobs.ErrorInvalid, What: what}
}

// GetJobStatus is the function of the same name: JSON in, JSON out. Its errors are a
// [*jobs.RequestError], a [*ServiceError], or an error of package simulated.
func (d JobDescriber) GetJobStatus(ctx context.Context, input []byte) ([]byte, error) {
	request, err := jobs.ParseStatus(input)
	if err != nil {
		return nil, err
	}
	if request.Kind == jobs.KindSimulated {
		return simulated.GetJobStatus(input, d.Now())
	}
	kind, _ := jobs.Find(request.Kind)
	_, seen, err := d.describeIn(ctx, request.Account, kind, request.ID)
	if err != nil {
		return nil, err
	}
	seen.Cause = token.MaskAll(seen.Cause)
	return json.Marshal(seen.Result(request.ID))
}

// describeIn is describe for a job of the account; empty means Account. It returns the describer,
// too.
func (d JobDescriber) describeIn(ctx context.Context, account string, kind jobs.Kind, id string) (JobDescriber, jobs.Sighting, error) {
	there, err := d.in(account)
	if err != nil {
		return there, jobs.Sighting{}, err
	}
	seen, err := there.describe(ctx, kind, id)
	return there, seen, err
}

// describe asks the service how the job is. The error is a [*jobs.RequestError] if
// the service does not know the job.
func (d JobDescriber) describe(ctx context.Context, kind jobs.Kind, id string) (jobs.Sighting, error) {
	if kind.Name == jobs.KindSimulated {
		end, err := simulated.End(id)
		if err != nil || d.Now().Before(end) {
			return jobs.Sighting{Status: jobs.StatusRunning}, err
		}
		output := fmt.Sprintf(`{"job_id":%q,"job_key":%[1]q,"kind":%q,"status":%q}`, id, jobs.KindSimulated, jobs.StatusSuccess)
		return jobs.Sighting{Status: jobs.StatusSuccess, At: end, Output: json.RawMessage(output)}, nil
	}
	params, err := kind.DescribeParams(id)
	if err != nil {
		return jobs.Sighting{}, err
	}
	response, err := d.Services.Describe(ctx, kind, params)
	if refused, ok := errors.AsType[*ServiceError](err); ok && kind.Unknown(refused.code()) {
		what := fmt.Sprintf("%s does not know job %q any more: %s", kind.Service, id, token.MaskAll(refused.Message))
		return jobs.Sighting{}, &jobs.RequestError{Name: jobs.ErrorNotFound, What: what}
	}
	if err != nil {
		return jobs.Sighting{}, fmt.Errorf("describe job %s: %w", id, masked(err))
	}
	_, seen, err := kind.ReadDescription(d.Account, d.Region, id, response)
	return seen, err
}

// isNotFound reports whether the service does not know the job.
func isNotFound(err error) bool {
	refused, ok := errors.AsType[*jobs.RequestError](err)
	return ok && refused.Name == jobs.ErrorNotFound
}

// errorInvalidOutput is the error of a job if its output is not JSON.
const errorInvalidOutput = "FnF.InvalidLocal"

// The names of errors in machines.
const (
	errorTaskFailed = "States.TaskFailed" // of a job that failed
	errorRuntime    = "States.Runtime"    // of params that were not sent
)

// wholeCause is the longest description that is the cause of a failure, in bytes.
const wholeCause = 4000

// isOfMachine reports whether a step of a machine waits for the token.
func isOfMachine(handle string) bool {
	id, ok := token.HandleID(handle)
	return ok && id.Flags&token.FlagAnyValue != 0
}

// outcomeOf is outcomeFor for a waiter. In a machine the outcome is the whole description, so the
// service is asked for it after an event.
func (c JobsConfig) outcomeOf(ctx context.Context, kind jobs.Kind, key jobs.Key, waiter Waiter, seen jobs.Sighting) (token.Outcome, bool, error) {
	outcome, done := outcomeFor(kind, key.Name, waiter.Run, seen)
	if !done || !isOfMachine(waiter.Handle) {
		return outcome, done, nil
	}
	whole := kind.Whole(seen, 0)
	if whole == nil && kind.DescribeOp != "" && !kind.Custom() {
		_, described, err := c.describeIn(ctx, key.Account, kind, waiter.JobID)
		if err != nil {
			return outcome, false, err
		}
		seen = described
		if outcome, done = outcomeFor(kind, key.Name, waiter.Run, seen); !done {
			return outcome, false, nil
		}
		whole = kind.Whole(seen, 0)
	}
	switch {
	case !outcome.Failed() && whole != nil:
		output, err := value.ParseJSON(whole)
		if err != nil { // it has too many levels
			return token.Failure(errorInvalidOutput, fmt.Sprintf("the description of job %s: %s", key.Name, token.MaskAll(err.Error()))), true, nil
		}
		outcome = token.Success(output)
	case outcome.Error == jobs.ErrorSuperseded || whole == nil && outcome.Failed():
		outcome = token.Failure(errorTaskFailed, outcome.Cause)
	case outcome.Failed():
		outcome = token.Failure(errorTaskFailed, token.MaskAll(string(kind.Whole(seen, wholeCause))))
	}
	return outcome, true, nil
}

// outcomeFor returns the outcome of a wait for the run after a sighting of the job.
// It reports false while the wait goes on.
func outcomeFor(kind jobs.Kind, name string, run jobs.Run, seen jobs.Sighting) (outcome token.Outcome, done bool) {
	end, done := kind.Conclude(name, run, seen)
	if !done {
		return token.Outcome{}, false
	}
	if end.Status != jobs.StatusSuccess {
		return token.Failure(end.Error, token.MaskAll(end.Cause)), true
	}
	output, err := value.ParseJSON(end.Output)
	if err != nil { // another description would be the same
		return token.Failure(errorInvalidOutput, fmt.Sprintf("the output of job %s: %s", name, token.MaskAll(err.Error()))), true
	}
	return token.Success(output), true
}
