package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// newJobs composes what observes and describes jobs.
func (s *System) newJobs() {
	account := cmp.Or(s.config.Account, Account{simulated.Account, simulated.Region})
	kinds := s.config.Kinds
	s.services = services{
		simulated: &simulatedServices{clock: s.config.Clock, check: s.config.CheckStart, played: simulated.Services{Kinds: kinds}},
		aws:       s.config.AWS, own: s.own, kinds: kinds, output: s.config.Output,
	}
	s.jobs = resume.JobsConfig{
		JobDescriber: resume.JobDescriber{
			Services: s.services, Account: account.ID, Region: account.Region, Now: s.config.Clock.Now, Elsewhere: s.services.elsewhere,
		},
		Tokens: s.Tokens, Rendezvous: s.config.Store, Polls: polls{s}, Kinds: kinds, Warn: s.config.Warn,
		CallbackBase: s.config.CallbackBase, CallbackHint: s.config.Limits.Hints.CallbackBase,
	}
	s.observer = resume.NewJobObserver(s.jobs)
}

// Account is an account of AWS in a region.
type Account struct{ ID, Region string }

// Observe handles a job event; see [resume.JobObserver.Observe]. It returns the job, and the
// handles of the open tokens that waited for it. A simulated job then ends as its event says.
func (s *System) Observe(ctx context.Context, event []byte) (job jobs.Key, handles []string, err error) {
	simulation := s.services.simulated
	simulation.mu.Lock()
	simulation.played.Observe(event, s.config.Clock.Now())
	simulation.mu.Unlock()
	config := s.jobs
	config.Noted = func(key jobs.Key, record resume.JobRecord) {
		job = key
		for _, waiter := range record.Waiters {
			if record, err := s.TokenRecord(ctx, waiter.Handle); err != nil || record.Open() {
				handles = append(handles, waiter.Handle)
			}
		}
	}
	err = resume.NewJobObserver(config).Observe(ctx, event)
	return job, handles, err
}

// Replay handles the stored end of a job again; see [resume.JobObserver.Replay].
func (s *System) Replay(ctx context.Context, key jobs.Key) error { return s.observer.Replay(ctx, key) }

// Unmatched implements [resume.UnmatchedEvents].
func (s *System) Unmatched(ctx context.Context, after string, limit int) ([]resume.UnmatchedEvent, string, error) {
	return s.config.Store.Unmatched(ctx, after, limit)
}

// TokenRecord returns the record of a token; see [resume.TokenStore].
func (s *System) TokenRecord(ctx context.Context, handle string) (token.Record, error) {
	return s.config.Store.Record(ctx, handle)
}

// JobRecord returns the stored record of a job; see [resume.Rendezvous].
func (s *System) JobRecord(ctx context.Context, key jobs.Key) (resume.JobRecord, error) {
	return s.config.Store.JobRecord(ctx, key)
}

// The functions that start jobs.
const (
	functionStart  = "StartJob"
	functionSubmit = "SubmitJob"
	functionCheck  = "CheckJob"
)

// sampleFunctions are built-in functions with names that a sample of AWS uses, too.
var sampleFunctions = []string{functionSubmit, functionCheck}

// callJobs calls a built-in function that starts or describes a job of a service. Ok is false for
// any other function.
func (s *System) callJobs(ctx context.Context, call machine.Call) (outcome token.Outcome, ok bool, err error) {
	input := []byte(call.Input.JSON())
	var output []byte
	switch call.Resource.Function {
	case functionStart, functionSubmit:
		config, services := s.jobs, s.services
		services.key = call.Key() // the simulated services start one job for it
		config.Services, config.Elsewhere = services, services.elsewhere
		output, err = resume.NewJobStarter(config).StartJob(ctx, input)
	case "GetJobStatus", functionCheck:
		output, err = s.jobs.GetJobStatus(ctx, input)
	default:
		return token.Outcome{}, false, nil
	}
	switch {
	case err == nil:
		return engine.ParseReply(output, "function "+call.Resource.Function), true, nil
	case ctx.Err() != nil:
		return token.Outcome{}, true, ctx.Err()
	}
	return failedJob(call, err), true, nil
}

// endJob closes the token of a machine's job with the result of the runner that stands for the job.
func (s *System) endJob(ctx context.Context, text string, result token.Outcome) (token.Outcome, error) {
	waiting, err := s.newTokens(s.config.Store, token.ClosedByEvent).Verify(ctx, text)
	if err == nil {
		_, _, err = waiting.Close(ctx, result)
	}
	if refused, ok := errors.AsType[*resume.ReportError](err); ok {
		return token.Failure(machine.ErrorDataLimit, refused.Error()), nil
	}
	return token.Success(value.Object()), err
}

// failedJob returns the failure of a call that starts or describes a job.
func failedJob(call machine.Call, err error) token.Outcome {
	var request *jobs.RequestError
	var service *resume.ServiceError
	switch {
	case errors.As(err, &request):
		return thrown(call, request.Name, request.What)
	case errors.As(err, &service):
		return thrown(call, service.Name, service.Message)
	case errors.Is(err, token.ErrInvalid):
		return thrown(call, jobs.ErrorInvalid, err.Error())
	}
	return token.Failure(token.ErrorFunction, err.Error())
}

// thrown returns the exception of a function, or the service's error if the task is an action.
func thrown(call machine.Call, name, message string) token.Outcome {
	if call.Resource.OfService() {
		return token.Failure(name, message)
	}
	return token.Thrown(name, message)
}

// polls sends polls as timers of the queue.
type polls struct{ system *System }

// Send implements [resume.Polls].
//
//   - A simulated job has a poll at the instant at which it ends.
//   - The waiter of a first poll is bound to its job. The store has the waiters of each job, so the
//     next process sends polls again that were not due at the end of this one.
func (p polls) Send(ctx context.Context, poll resume.Poll) error {
	if id, ok := token.HandleID(poll.Waiter.Handle); ok && poll.Number <= 1 {
		if _, err := p.system.config.Store.Bind(ctx, poll.Key, poll.Waiter, id.Expires); err != nil {
			return err
		}
	}
	poll.Due = p.system.services.due(poll)
	p.enqueue(poll)
	return nil
}

// enqueue has the poll made when it is due. A poll that fails ends the run, as a wake does, and is
// repeated in the next run.
func (p polls) enqueue(poll resume.Poll) {
	p.system.queue.at(poll.Due, func() {
		r := p.system.run.Load()
		poll.Receives++ // it is delivered once, and again only if it sent no poll
		if err := p.system.observer.Reconcile(r.ctx, poll); err != nil {
			r.stop(fmt.Errorf("ask for job %s: %w", poll.Key.Name, err)) // no effect after the end of the run
			poll.Due = p.system.config.Clock.Now().Add(retryDelay)
			p.enqueue(poll)
		}
	})
}

// pollAgain sends the polls of an earlier process again: events between the two processes were
// lost.
func (s *System) pollAgain(ctx context.Context) error {
	for poll, err := range pages(func(after resume.Poll, limit int) ([]resume.Poll, error) {
		return s.config.Store.Waiting(ctx, after, limit)
	}) {
		if err != nil {
			return err
		}
		if poll.Waiter.Claims { // its start is repeated
			continue
		}
		s.services.remember(poll, func() []byte {
			id, ok := token.HandleID(poll.Waiter.Handle)
			if !ok {
				return nil
			}
			// The recovery of the execution reports what cannot be read.
			params, err := s.Client.JobParams(ctx, id.Execution, poll.Waiter.Handle)
			if err != nil || params.IsMissing() {
				return nil
			}
			return []byte(params.JSON())
		})
		poll.Number, poll.Receives, poll.Due = 1, 0, poll.Waiter.Run.Since.Add(resume.FirstPoll)
		if first := s.config.Clock.Now().Add(resume.FirstPoll); first.Before(poll.Due) {
			poll.Due = first // the clock of the earlier process was ahead
		}
		if err := (polls{s}).Send(ctx, poll.Sign(s.config.Store.Keys())); err != nil {
			return err
		}
	}
	return nil
}
