package local

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Store is what a [System] keeps its executions in.
type Store interface {
	engine.Log
	engine.Flows
	resume.Outcomes
}

// Config is what a [System] is made of.
type Config struct {
	Store    Store
	Clock    *Clock       // nil means the real one
	Tasks    engine.Tasks // nil means the functions that are built in
	Keys     token.Keys   // sign tokens; without a secret new ones are made
	Limits   machine.Limits
	Observer engine.Observer // nil for nobody
	Workers  int             // wakes handled at once; 0 means 1
}

// System is an engine with everything around it, in one process.
type System struct {
	*engine.Engine
	// Tokens closes tokens from outside.
	Tokens  *resume.Tokens
	queue   *queue
	clock   *Clock
	workers int
}

// New composes a system. It does nothing until [System.Run].
func New(config Config) *System {
	if config.Clock == nil {
		config.Clock = &Clock{}
	}
	if config.Tasks == nil {
		config.Tasks = &Tasks{clock: config.Clock}
	}
	if config.Keys.Current.Secret == nil {
		config.Keys = newKeys()
	}
	s := &System{queue: newQueue(config.Clock), clock: config.Clock, workers: max(config.Workers, 1)}
	s.Engine = engine.New(engine.Config{
		Log: config.Store, Flows: config.Store, Outcomes: config.Store, Wakes: s.queue, Tasks: config.Tasks, TaskQueue: taskQueue{s},
		Keys: config.Keys, Now: config.Clock.Now, Limits: config.Limits, Observer: config.Observer,
	})
	s.Tokens = resume.New(resume.Config{Keys: config.Keys, Outcomes: config.Store, Wakes: tokenWakes{s.queue}, Now: config.Clock.Now})
	return s
}

// newKeys are for a store that is gone with the process.
func newKeys() token.Keys {
	secret := make([]byte, token.SecretSize)
	_, _ = rand.Read(secret) // never fails
	return token.Keys{Current: token.Key{ID: 1, Secret: secret}}
}

// tokenWakes makes the wakes of closed tokens the engine's.
type tokenWakes struct{ queue *queue }

func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	return w.queue.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
}

// taskQueue makes long calls beside the workers.
type taskQueue struct{ system *System }

// Queue implements [engine.TaskQueue]. The call ends with the run that queued
// it.
func (q taskQueue) Queue(ctx context.Context, task engine.Task) error {
	stop, ok := ctx.Value(stopKey{}).(context.CancelCauseFunc)
	if !ok {
		stop = func(error) {}
	}
	q.system.queue.inBackground(func() {
		if err := q.system.RunTask(ctx, task); err != nil {
			stop(err)
		}
	})
	return nil
}

// stopKey is where the context of a run keeps what ends it.
type stopKey struct{}

// Start is [engine.Engine.Start] for an execution that begins in this very
// instant: its wake is held back until there is something to find.
func (s *System) Start(ctx context.Context, request engine.StartRequest) (engine.StartAnswer, error) {
	release := s.queue.holdBack(engine.NewID(request.Flow.Name, request.Execution))
	defer release()
	return s.Engine.Start(ctx, request)
}

// Run handles wakes until nothing is left to be done, not even later, or ctx
// ends, whose error it then answers. A wake that the engine cannot apply ends
// it with that error: what failed in a process of one's own is for a person to
// see, and nothing is lost. A defect of one execution is that execution's
// failure in the end, and others go on.
func (s *System) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx = context.WithValue(ctx, stopKey{}, stop)
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() { s.work(ctx, stop) })
	}
	s.awaitIdle(ctx)
	stop(errIdle) // has no effect when ctx has ended
	workers.Wait()
	s.queue.works.Wait() // only workers begin some
	if err := context.Cause(ctx); !errors.Is(err, errIdle) {
		return err
	}
	return nil
}

// errIdle ends a run that has nothing left to do.
var errIdle = errors.New("idle")

// awaitIdle returns when the queue is idle or ctx ends.
func (s *System) awaitIdle(ctx context.Context) {
	for ctx.Err() == nil {
		idle, changed := s.queue.idle()
		if idle {
			return
		}
		await(ctx, 0, changed)
	}
}

// work handles wakes until ctx ends. A wake that fails ends ctx before it is
// put back, so that nobody else takes it.
func (s *System) work(ctx context.Context, stop context.CancelCauseFunc) {
	for {
		wake, err := s.queue.receive(ctx)
		if err != nil {
			return
		}
		verdict, err := s.Advance(ctx, wake)
		if err != nil {
			if engine.CodeOf(err) != engine.CodeDefect {
				stop(err)
			}
			verdict.PutBack = s.clock.Now().Add(retryDelay)
		}
		s.queue.finished(wake, verdict.PutBack)
	}
}

// retryDelay is when a wake that could not be applied is delivered again.
const retryDelay = time.Second
