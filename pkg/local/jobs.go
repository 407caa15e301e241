package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// newJobs composes what starts, observes and describes jobs, whose tasks say who
// stands behind which kind.
func (s *System) newJobs(config Config) {
	account := config.Account
	if account == (Account{}) {
		account = Account{simulated.Account, simulated.Region}
	}
	services := services{simulated: s.simulated, aws: config.AWS, provided: s.provided}
	jobs := resume.JobsConfig{
		Tokens: s.Tokens, Rendezvous: config.Store, Services: services, Polls: polls{s, config.Store},
		Account: account.ID, Region: account.Region, Warn: config.Warn,
	}
	s.starter = resume.NewJobStarter(resume.StarterConfig{Jobs: jobs, CallbackBase: config.CallbackBase})
	s.observer = resume.NewJobObserver(jobs)
	s.describer = resume.JobDescriber{Services: services, Account: account.ID, Region: account.Region, Now: s.clock.Now}
}

// Account is an account of AWS in a region.
type Account struct{ ID, Region string }

// Observe takes a job event, as [resume.JobObserver.Observe] does. A job that is
// simulated has then ended as its event says.
func (s *System) Observe(ctx context.Context, event []byte) error {
	s.simulated.observe(event)
	return s.observer.Observe(ctx, event)
}

// jobFunction is the use case behind a function that is built in, nil for one
// that has nothing to do with jobs.
func (s *System) jobFunction(name string) func(context.Context, []byte) ([]byte, error) {
	switch name {
	case "StartJob", "SubmitJob":
		return s.starter.StartJob
	case "GetJobStatus", "CheckJob":
		return s.describer.GetJobStatus
	}
	return nil
}

// callJobs makes a call of StartJob or GetJobStatus for another kind than the
// tutorial's.
func callJobs(
	ctx context.Context, call machine.Call, function func(context.Context, []byte) ([]byte, error), input []byte,
) (token.Outcome, error) {
	answer, err := function(context.WithValue(ctx, onceKey{}, call.Key()), input)
	var request *jobs.RequestError
	var service *resume.ServiceError
	switch {
	case err == nil:
		return engine.ParseAnswer(answer, "function "+call.Resource.Function), nil
	case ctx.Err() != nil:
		return token.Outcome{}, ctx.Err()
	case errors.As(err, &request):
		return thrown(call, request.Name, request.What), nil
	case errors.As(err, &service):
		return thrown(call, service.Name, service.Message), nil
	}
	return thrown(call, publicName(err), err.Error()), nil
}

// thrown is the exception that a function ended with; of one that starts a job the
// service's error.
func thrown(call machine.Call, name, message string) token.Outcome {
	if call.Resource.Kind != "" || name == ErrorFunction {
		return token.Failure(name, message)
	}
	return token.Thrown(name, message)
}

// publicName is the name of an error that is neither the service's nor names
// itself.
func publicName(err error) string {
	var invalid simulated.InvalidArgument
	var notFound simulated.JobNotFound
	switch {
	case errors.As(err, &invalid), errors.Is(err, token.ErrInvalid):
		return jobs.ErrorInvalid
	case errors.As(err, &notFound):
		return jobs.ErrorNotFound
	}
	return ErrorFunction
}

// polls are timers of the queue.
type polls struct {
	system *System
	kept   resume.Rendezvous
}

// Send implements [resume.Polls]. What is not due when the process ends is sent
// again by the next one, as its store knows who waits for which job.
func (p polls) Send(ctx context.Context, poll resume.Poll) error {
	if err := p.keep(ctx, poll); err != nil {
		return err
	}
	p.system.queue.at(poll.Due, func() { p.carryOut(poll) })
	return nil
}

// keep binds the waiter of a first poll to its job, so that the next process finds
// it in the store.
func (p polls) keep(ctx context.Context, poll resume.Poll) error {
	id, ok := token.HandleID(poll.Waiter.Handle)
	if !ok || poll.Number > 1 {
		return nil
	}
	_, err := p.kept.Bind(ctx, poll.Key, poll.Waiter, id.Expires)
	return err
}

// carryOut makes the poll. A poll that fails ends the run, as a wake does, and is repeated in the
// next run.
func (p polls) carryOut(poll resume.Poll) {
	r := p.system.currentRun()
	poll.Receives++ // each is delivered once, and comes again when it sent nothing
	if err := p.system.observer.Reconcile(r.ctx, poll); err != nil {
		r.stop(fmt.Errorf("ask for job %s: %w", poll.Key.Name, err)) // no effect when the run has ended
		poll.Due = p.system.clock.Now().Add(retryDelay)
		_ = p.Send(r.ctx, poll)
	}
}

// pollAgain sends the polls of an earlier process once more: in the time
// between the two, events reached nobody.
func (s *System) pollAgain(ctx context.Context) error {
	for after := (resume.Poll{}); ; {
		page, err := s.store.Waiting(ctx, after, recoveryPage)
		if err != nil {
			return err
		}
		for _, poll := range page {
			s.simulated.remember(poll)
			poll.Number, poll.Receives, poll.Due = 1, 0, poll.Waiter.Run.Since.Add(resume.FirstPoll)
			if first := s.clock.Now().Add(resume.FirstPoll); first.Before(poll.Due) {
				poll.Due = first // the clock of the process that started it was ahead
			}
			if err := (polls{s, s.store}).Send(ctx, poll.Sign(s.signing)); err != nil {
				return err
			}
			after = poll
		}
		if len(page) < recoveryPage {
			return nil
		}
	}
}

// provider says who stands behind a kind of jobs.
type provider string

// The providers, as --task names them.
const (
	providerSimulated provider = "simulated"
	providerAWS       provider = "aws"
)

// services are those that the tasks of a system name for each kind.
type services struct {
	simulated *simulatedServices
	aws       resume.Services // nil for nobody
	provided  func(kind string) provider
}

// Start implements [resume.Services].
func (s services) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	behind := s.behind(kind)
	if behind == nil {
		return nil, notProvided(kind, false)
	}
	return behind.Start(ctx, kind, params)
}

// Describe implements [resume.Services]. A later process may be told who stands
// behind the kind of a job that was started before.
func (s services) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	behind := s.behind(kind)
	if behind == nil {
		return nil, notProvided(kind, true)
	}
	return behind.Describe(ctx, kind, params)
}

// behind is nil for nobody.
func (s services) behind(kind jobs.Kind) resume.Services {
	switch s.provided(kind.Name) {
	case providerSimulated:
		return s.simulated
	case providerAWS:
		return s.aws
	}
	return nil
}

func notProvided(kind jobs.Kind, again bool) error {
	return &resume.ServiceError{
		Name: kind.Service + ".NotProvided", Again: again,
		Message: fmt.Sprintf("no runner for action %s; add --task '%s=simulated'", action(kind), action(kind)),
	}
}

// simulatedServices play services to many goroutines.
type simulatedServices struct {
	clock *Clock

	mu     sync.Mutex
	played simulated.Services
}

// onceKey is where a context keeps what is the same text for the same start.
type onceKey struct{}

// Start implements [resume.Services].
func (s *simulatedServices) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	once, _ := ctx.Value(onceKey{}).(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.played.Start(kind, params, once, s.clock.Now())
	return answer, refusalOf(kind, err)
}

// Describe implements [resume.Services].
func (s *simulatedServices) Describe(_ context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.played.Describe(kind, params, s.clock.Now())
	return answer, refusalOf(kind, err)
}

func refusalOf(kind jobs.Kind, err error) error {
	var refusal *simulated.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return &resume.ServiceError{Name: kind.Service + "." + refusal.Code, Message: refusal.Message}
	}
	return &jobs.RequestError{Name: simulated.ErrorName(err), What: err.Error()}
}

func (s *simulatedServices) observe(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played.Observe(event, s.clock.Now())
}

func (s *simulatedServices) remember(poll resume.Poll) {
	run := poll.Waiter.Run
	began, err := time.Parse(time.RFC3339Nano, run.Name) // as the service named it
	if err != nil {
		began = run.Since
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played.Remember(poll.Key, poll.JobID, began)
}
