package local

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/waitless/waitless/pkg/engine"
)

// taskQueue makes long calls beside the workers.
type taskQueue struct {
	system *System

	mu sync.Mutex
	// tasks are under way or left, by the handles of their tokens: a task that is queued twice is
	// run once.
	tasks  map[string]*queuedTask
	queued int // counts them
}

// queuedTask is left if its run ended before the call, or until it is retried.
type queuedTask struct {
	engine.Task
	order int // in which tasks were queued
	left  bool
}

// Queue implements [engine.TaskQueue]. The call ends with the present run, and the next run repeats
// it.
func (q *taskQueue) Queue(ctx context.Context, task engine.Task) error {
	if s := q.system; task.Call.Resource.Activity && (s.own == nil || !s.own.knows(task.Call.Resource)) {
		return s.activities.queue(ctx, s, task)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tasks[task.Handle] == nil {
		q.queued++
		t := &queuedTask{task, q.queued, true}
		q.tasks[task.Handle] = t
		q.begin(q.system.run.Load(), t)
	}
	return nil
}

// begin begins a task that is left. q.mu is held.
func (q *taskQueue) begin(r *run, t *queuedTask) {
	if t.left && r.ctx.Err() == nil {
		t.left = false
		// In virtual time, an execution is to take the same course each time: a task runs alone, in
		// the order in which tasks were queued. Commands and requests to servers, which take real
		// time, run side by side.
		s := q.system
		if s.config.Clock.IsVirtual() && (s.own == nil || s.gates.classOf(t.Call) == classBuiltIn) {
			q.system.queue.at(q.system.config.Clock.Now(), func() { q.run(q.system.run.Load(), t) })
		} else {
			q.system.queue.inBackground(func() { q.run(r, t) })
		}
	}
}

// run runs the task when its turn has come.
func (q *taskQueue) run(r *run, t *queuedTask) {
	if gate := q.system.gates.of(t.Call); gate != nil {
		if gate.enter(r.ctx, executionOf(t.Call)) != nil {
			q.end(t, true)
			return
		}
		defer gate.leave()
	}
	t.Receives++
	runTask := q.system.runner.RunTask
	if t.Call.Resource.Activity {
		runTask = q.system.standIn
	}
	disposition, err := runTask(r.ctx, t.Task)
	switch {
	case errors.Is(err, errStopped): // the stop closes its token
		q.end(t, false)
		return
	case err != nil:
		q.end(t, true)
		disposition.RetryAt = q.system.afterError(err, *r)
	default:
		q.end(t, !disposition.RetryAt.IsZero())
	}
	if r.ctx.Err() == nil && !disposition.RetryAt.IsZero() {
		q.system.queue.at(disposition.RetryAt, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.begin(r, t)
		})
	}
}

// end forgets a task, or leaves it.
func (q *taskQueue) end(t *queuedTask, left bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.left = left; !left {
		delete(q.tasks, t.Handle)
	}
}

// resume runs the tasks that earlier runs left.
func (q *taskQueue) resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range slices.SortedFunc(maps.Values(q.tasks), func(a, b *queuedTask) int { return a.order - b.order }) {
		q.begin(q.system.run.Load(), t)
	}
}
