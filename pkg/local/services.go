package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// provider is what starts and describes the jobs of a kind.
type provider string

// The providers, as --task names them.
const (
	providerSimulated provider = "simulated"
	providerAWS       provider = "aws"
	// providerRunner: the jobs of a custom kind have a runner of their own.
	providerRunner provider = "runner"
)

// services start and describe jobs at the provider that the tasks of a system name for each kind.
type services struct {
	simulated *simulatedServices
	aws       resume.Services // nil means there is no provider on AWS
	own       *Tasks
	kinds     jobs.Table // with the functions of custom kinds
	other     string     // another account than that of the provider on AWS, "" for the same
	key       string     // the same for repetitions of a start
	output    func(machine.Call, string)
}

// Start implements [resume.Services].
func (s services) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	switch provider := s.own.provider(kind.Name); {
	case provider == providerSimulated:
		return s.simulated.start(kind, params, s.key)
	case provider == providerAWS && s.other != "":
		return nil, s.notThere(kind)
	case provider == providerAWS && s.aws != nil:
		return s.aws.Start(ctx, s.withFunction(kind), params)
	case provider == providerRunner:
		return s.run(ctx, kind, kind.CustomStart(params))
	}
	return nil, notProvided(kind, false)
}

// Describe implements [resume.Services]. A later process may have a provider for a job that was
// started before.
func (s services) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	switch provider := s.own.provider(kind.Name); {
	case provider == providerSimulated:
		return s.simulated.describe(kind, params)
	case provider == providerAWS && s.other != "":
		return nil, s.notThere(kind)
	case provider == providerAWS && s.aws != nil:
		return s.aws.Describe(ctx, s.withFunction(kind), params)
	case provider == providerRunner:
		return s.run(ctx, kind, params)
	}
	return nil, notProvided(kind, true)
}

// Stop implements [resume.Services].
func (s services) Stop(ctx context.Context, kind jobs.Kind, params []byte) error {
	switch provider := s.own.provider(kind.Name); {
	case provider == providerSimulated:
		return s.simulated.stop(kind, params)
	case provider == providerAWS && s.other != "":
		return s.notThere(kind)
	case provider == providerAWS && s.aws != nil:
		return s.aws.Stop(ctx, s.withFunction(kind), params)
	case provider == providerRunner:
		_, err := s.run(ctx, kind, params)
		return err
	}
	return notProvided(kind, true)
}

// elsewhere returns the services of another account. Simulated jobs run in any.
func (s services) elsewhere(account string) (resume.Services, bool) {
	s.other = account
	return s, true
}

func (s services) notThere(kind jobs.Kind) error {
	return &resume.ServiceError{
		Name: kind.Service + ".NotProvided",
		Message: fmt.Sprintf("a job of account %s is not that of your credentials; use credentials of that account, or --task '%s=simulated'",
			s.other, action(kind)),
	}
}

func notProvided(kind jobs.Kind, again bool) error {
	return &resume.ServiceError{
		Name: kind.Service + ".NotProvided", Again: again,
		Message: fmt.Sprintf("no runner for action %s; add --task '%s=simulated'", action(kind), action(kind)),
	}
}

// simulatedServices are simulated services for concurrent use.
type simulatedServices struct {
	clock *Clock
	check func(jobs.Kind, []byte) error // of starts; nil finds nothing

	mu     sync.Mutex
	played simulated.Services
}

func (s *simulatedServices) start(kind jobs.Kind, params []byte, key string) ([]byte, error) {
	if s.check != nil {
		if err := s.check(kind, params); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	response, err := s.played.Start(kind, params, key, s.clock.Now())
	return response, refusalOf(kind, err)
}

func (s *simulatedServices) describe(kind jobs.Kind, params []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response, err := s.played.Describe(kind, params, s.clock.Now())
	return response, refusalOf(kind, err)
}

func (s *simulatedServices) stop(kind jobs.Kind, params []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return refusalOf(kind, s.played.Stop(kind, params, s.clock.Now()))
}

func refusalOf(kind jobs.Kind, err error) error {
	if refusal, ok := errors.AsType[*simulated.Refusal](err); ok {
		return &resume.ServiceError{Name: kind.Service + "." + refusal.Code, Message: refusal.Message}
	}
	return err
}

func (s *simulatedServices) observe(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played.Observe(event, s.clock.Now())
}

// remember restores the simulated job of a poll of an earlier process.
func (s services) remember(poll resume.Poll, params func() []byte) {
	if s.own.provider(poll.Key.Kind) != providerSimulated {
		return
	}
	run := poll.Waiter.Run
	began, err := time.Parse(time.RFC3339Nano, run.BeginText) // as the service told it
	if err != nil {
		began = run.Since
	}
	known := params()
	s.simulated.mu.Lock()
	defer s.simulated.mu.Unlock()
	s.simulated.played.Remember(poll.Key, poll.Waiter.JobID, began, known)
}

// due returns when a poll finds the end of a simulated job, if that is earlier than the poll. Once
// the job is over, a poll after the first stays where it is: the poll before it did not find the
// end.
func (s services) due(poll resume.Poll) time.Time {
	if s.own.provider(poll.Key.Kind) != providerSimulated {
		return poll.Due
	}
	s.simulated.mu.Lock()
	defer s.simulated.mu.Unlock()
	end, ok := s.simulated.played.End(poll.Key)
	if !ok || !end.Before(poll.Due) || poll.Number > 1 && !s.simulated.clock.Now().Before(end) {
		return poll.Due
	}
	return end
}
