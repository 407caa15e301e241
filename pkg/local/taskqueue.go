package local

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/waitless/waitless/pkg/engine"
)

// taskQueue makes long calls beside the workers.
type taskQueue struct {
	system *System

	mu sync.Mutex
	// known has the tasks under way or left, by the handles of their tokens: a task that is queued
	// twice is run once.
	known map[string]bool
	left  []engine.Task // whose run ended before the call, or that are to be retried
}

// Queue implements [engine.TaskQueue]. The call ends with the present run, and the next run repeats
// it.
func (q *taskQueue) Queue(_ context.Context, task engine.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.known[task.Handle] {
		q.known[task.Handle] = true
		q.begin(q.system.currentRun(), task)
	}
	return nil
}

func (q *taskQueue) begin(r run, task engine.Task) {
	q.system.queue.inBackground(func() { q.run(r, task) })
}

// run runs the task when its turn has come.
func (q *taskQueue) run(r run, task engine.Task) {
	if gate := q.system.gates.of(task.Call); gate != nil {
		if gate.enter(r.ctx, executionOf(task.Call)) != nil {
			q.leave(task)
			return
		}
		defer gate.leave()
	}
	disposition, err := q.system.runner.RunTask(r.ctx, task)
	switch {
	case errors.Is(err, errStopped): // the stop closes its token
		q.forget(task)
	case err != nil:
		q.leave(task)
		r.stop(err)
	case !disposition.RetryAt.IsZero():
		q.leave(task)
		q.system.queue.at(disposition.RetryAt, func() {
			if r.ctx.Err() == nil && q.take(task) {
				q.run(r, task)
			}
		})
	default:
		q.forget(task)
	}
}

func (q *taskQueue) forget(task engine.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, task.Handle)
}

func (q *taskQueue) leave(task engine.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = append(q.left, task)
}

// take reports whether the task was still left, and removes it.
func (q *taskQueue) take(task engine.Task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.left)
	q.left = slices.DeleteFunc(q.left, func(t engine.Task) bool { return t.Handle == task.Handle })
	return len(q.left) < before
}

// resume runs the tasks that earlier runs left.
func (q *taskQueue) resume() {
	r := q.system.currentRun()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, task := range q.left {
		q.begin(r, task)
	}
	q.left = nil
}
