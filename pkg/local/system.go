package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Store is what a [System] keeps its executions in.
type Store interface {
	engine.Log
	engine.Flows
}

// Config is what a [System] is made of.
type Config struct {
	Store    Store
	Clock    *Clock // nil means the real one
	Tasks    engine.Tasks
	Limits   machine.Limits
	Observer engine.Observer // nil for nobody
	Workers  int             // wakes handled at once; 0 means 1
}

// System is an engine with everything around it, in one process.
type System struct {
	*engine.Engine
	queue   *queue
	clock   *Clock
	workers int
}

// New composes a system. It does nothing until [System.Run].
func New(config Config) *System {
	if config.Clock == nil {
		config.Clock = &Clock{}
	}
	q := newQueue(config.Clock)
	return &System{
		Engine: engine.New(engine.Config{
			Log: config.Store, Flows: config.Store, Wakes: q, Tasks: config.Tasks,
			Now: config.Clock.Now, Limits: config.Limits, Observer: config.Observer,
		}),
		queue: q, clock: config.Clock, workers: max(config.Workers, 1),
	}
}

// Run handles wakes until nothing is left to be done, not even later, or ctx
// ends, whose error it then answers. A wake that the engine cannot apply ends
// it with that error: what failed in a process of one's own is for a person to
// see, and nothing is lost.
func (s *System) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() {
			if err := s.work(ctx); err != nil {
				stop(err)
			}
		})
	}
	s.awaitIdle(ctx)
	if ctx.Err() == nil {
		stop(errIdle)
	}
	workers.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errIdle) {
		return err
	}
	return nil
}

// errIdle ends a run that has nothing left to do.
var errIdle = errors.New("idle")

// awaitIdle returns when the queue is idle or ctx ends.
func (s *System) awaitIdle(ctx context.Context) {
	for {
		idle, changed := s.queue.idle()
		if idle || await(ctx, 0, changed) != nil {
			return
		}
	}
}

// work handles wakes until ctx ends, which is no error, or one fails.
func (s *System) work(ctx context.Context) error {
	for {
		wake, err := s.queue.receive(ctx)
		if err != nil {
			return nil //nolint:nilerr // the end of ctx is how work ends
		}
		verdict, err := s.Advance(ctx, wake)
		if err != nil {
			s.queue.finished(wake, s.clock.Now().Add(time.Second))
			return err
		}
		s.queue.finished(wake, verdict.PutBack)
	}
}
