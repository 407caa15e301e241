package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// run is one call of [System.Run] or [System.Serve].
type run struct {
	ctx  context.Context //nolint:containedctx // timers and calls that begin later belong to the run
	stop context.CancelCauseFunc
}

// Run handles wakes until nothing is left to do, not even later, or until ctx ends; it then returns
// the error of ctx. If the engine cannot apply a wake, Run returns that error; the wake is handled
// by the next run. A defect of one execution fails that execution alone.
func (s *System) Run(ctx context.Context) error {
	return s.handle(ctx, func(r run) {
		await(r.ctx, 0, s.queue.whenIdle())
		r.stop(errIdle) // has no effect after the end of ctx
	})
}

// Serve is [System.Run], except that it goes on when nothing is left to do: a token may be closed,
// or an execution started.
func (s *System) Serve(ctx context.Context) error {
	return s.handle(ctx, func(r run) { <-r.ctx.Done() })
}

// handle runs the workers until the function end, or one of them, ends the run.
func (s *System) handle(ctx context.Context, end func(run)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := run{ctx, stop}
	s.run.Store(&r)
	if err := s.TakeOver(ctx); err != nil {
		return err
	}
	if err := s.config.Store.CountDescendants(ctx); err != nil { // an earlier run may have ended between a count and its start
		return err
	}
	if recovery := s.recovery.Load(); recovery != nil {
		s.queue.inBackground(func() {
			if err := recovery.run(r.ctx); err != nil {
				r.stop(err) // no effect after the end of the run: the next one goes on
			}
		})
	}
	s.tasks.resume()
	var notices, removing sync.WaitGroup
	defer notices.Wait()
	defer stop(nil)
	if err := s.notices.begin(&r, &notices); err != nil {
		return err
	}
	now, first := s.config.Clock.Now(), make(chan struct{})
	s.queue.inBackground(func() { await(r.ctx, removalGrace, first) })
	removing.Go(func() { s.removeRegularly(r, now, first) })
	defer removing.Wait()
	s.changes.setRunning(true)
	s.pool.begin(func() { s.work(r) }, r.ctx.Done())
	end(r)
	if !errors.Is(context.Cause(ctx), errIdle) { // else another run may follow
		s.changes.setRunning(false)
	}
	s.pool.all.Wait()
	s.queue.works.Wait() // only workers add work
	if err := context.Cause(ctx); !errors.Is(err, errIdle) {
		return err
	}
	return nil
}

// errIdle ends a run that has nothing left to do.
var errIdle = errors.New("idle")

// work handles wakes until the run ends. A wake that fails ends the run before it is put back, so
// that no worker of this run receives it again.
func (s *System) work(r run) {
	for more := true; more; more = s.pool.more() {
		wake, err := s.queue.receive(r.ctx)
		if err != nil {
			return
		}
		s.pool.received()
		received := s.config.Clock.Now()
		var disposition engine.Disposition
		if recovery := s.recovery.Load(); recovery != nil {
			err = recovery.adoptFor(r.ctx, wake)
		}
		if err == nil {
			disposition, err = s.worker.Advance(r.ctx, wake)
		}
		if s.config.Applied != nil {
			s.config.Applied(wake, received, disposition)
		}
		if err != nil {
			disposition.RetryAt = s.afterError(err, r)
		}
		if disposition.Unmapped != nil {
			s.config.Unmapped(*disposition.Unmapped)
		}
		s.queue.finished(wake, disposition.RetryAt)
	}
}

// afterError returns when a wake or a task that failed with err is redelivered, zero for never. It
// ends the run unless the error concerns one execution alone. An execution that needs a newer
// release is left to it.
func (s *System) afterError(err error, r run) time.Time {
	code := engine.CodeOf(err)
	switch {
	case code == engine.CodeTooNew:
		return time.Time{}
	case errors.Is(err, errStopped):
		return s.config.Clock.Now() // behind the wake of the stop
	case code != engine.CodeDefect:
		r.stop(err)
	}
	return s.config.Clock.Now().Add(retryDelay)
}

// retryDelay is after what time a wake that could not be applied is redelivered.
const retryDelay = time.Second
