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
	own       *Functions
	kinds     jobs.Table // with the functions of custom kinds
	other     string     // another account than that of the provider on AWS, "" for the same
	key       string     // the same for repetitions of a start
	output    func(machine.Call, string)
}

// Start implements [resume.Services].
func (s services) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	request := params
	if kind.Custom() {
		request = kind.CustomStart(params)
	}
	return s.carryOut(ctx, kind, request, false, func(played *simulated.Services, now time.Time) ([]byte, error) {
		if s.simulated.check != nil {
			if err := s.simulated.check(kind, params); err != nil {
				return nil, err
			}
		}
		return played.Start(kind, params, s.key, now)
	}, func(kind jobs.Kind) ([]byte, error) { return s.aws.Start(ctx, kind, params) })
}

// Describe implements [resume.Services]. A later process may have a provider for a job that was
// started before.
func (s services) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	return s.carryOut(ctx, kind, params, true,
		func(played *simulated.Services, now time.Time) ([]byte, error) {
			return played.Describe(kind, params, now)
		},
		func(kind jobs.Kind) ([]byte, error) { return s.aws.Describe(ctx, kind, params) })
}

// Stop implements [resume.Services].
func (s services) Stop(ctx context.Context, kind jobs.Kind, params []byte) error {
	_, err := s.carryOut(ctx, kind, params, true,
		func(played *simulated.Services, now time.Time) ([]byte, error) {
			return nil, played.Stop(kind, params, now)
		},
		func(kind jobs.Kind) ([]byte, error) { return nil, s.aws.Stop(ctx, kind, params) })
	return err
}

// carryOut carries out an operation at the provider of the kind; request is the request to a
// runner. Again says that a later process may have a provider.
func (s services) carryOut(
	ctx context.Context, kind jobs.Kind, request []byte, again bool,
	play func(*simulated.Services, time.Time) ([]byte, error), onAWS func(jobs.Kind) ([]byte, error),
) ([]byte, error) {
	switch provider := s.own.provider(kind.Name); {
	case provider == providerSimulated:
		s.simulated.mu.Lock()
		defer s.simulated.mu.Unlock()
		response, err := play(&s.simulated.played, s.simulated.clock.Now())
		if refusal, ok := errors.AsType[*simulated.Refusal](err); ok {
			err = &resume.ServiceError{Name: kind.Service + "." + refusal.Code, Message: refusal.Message}
		}
		return response, err
	case provider == providerAWS && s.other != "":
		return nil, &resume.ServiceError{Name: kind.Service + ".NotProvided", Message: fmt.Sprintf(
			"a job of account %s is not that of your credentials; use credentials of that account, or --task '%s=simulated'", s.other, action(kind))}
	case provider == providerAWS && s.aws != nil:
		if declared, ok := s.kinds.Find(kind.Name); ok && kind.Custom() { // with its function
			kind = declared
		}
		return onAWS(kind)
	case provider == providerRunner:
		return s.run(ctx, kind, request)
	}
	return nil, &resume.ServiceError{
		Name: kind.Service + ".NotProvided", Again: again,
		Message: fmt.Sprintf("no runner for action %s; add --task '%s=simulated'", action(kind), action(kind)),
	}
}

// elsewhere returns the services of another account. Simulated jobs run in any.
func (s services) elsewhere(account string) (resume.Services, bool) {
	s.other = account
	return s, true
}

// simulatedServices are simulated services for concurrent use.
type simulatedServices struct {
	clock *Clock
	check func(jobs.Kind, []byte) error // of starts; nil finds nothing

	mu     sync.Mutex
	played simulated.Services
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
