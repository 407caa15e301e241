package local

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// activities has the tasks that wait for workers, by the Function of their activity and in the
// order in which they were queued. The next process queues the tasks that no worker has.
type activities struct {
	mu      sync.Mutex
	waiting map[string][]engine.Task
	came    chan struct{} // is closed when a task comes
}

// queue adds a task for workers. A task that waits already is not added again.
func (a *activities) queue(ctx context.Context, s *System, task engine.Task) error {
	name := task.Call.Resource.Function
	known, err := s.config.Store.Activities(ctx)
	if err != nil {
		return err
	}
	if _, ok := known[name[len(flow.ActivityPrefix):]]; !ok {
		return &engine.Error{Code: engine.CodeNotFound, Err: fmt.Errorf(
			"step %s: %s does not exist; create it with CreateActivity, or add --task %s=exec:COMMAND", task.Call.Step, task.Call.Resource.Text, name)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.ContainsFunc(a.waiting[name], func(t engine.Task) bool { return t.Handle == task.Handle }) {
		a.waiting[name] = append(a.waiting[name], task)
		close(a.came)
		a.came = make(chan struct{})
	}
	return nil
}

// next removes and returns the first task of an activity. Without one it returns a channel that is
// closed when a task comes.
func (a *activities) next(name string) (task engine.Task, ok bool, came <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting[name]) == 0 {
		return task, false, a.came
	}
	task = a.waiting[name][0]
	a.waiting[name] = a.waiting[name][1:]
	return task, true, nil
}

// TakeTask gives a task of an activity to a worker, with the text of its token. It waits for a task
// until ctx ends, and returns "" without one. A worker that dies keeps its task until a heartbeat
// is missed, or the time limit of the task.
func (s *System) TakeTask(ctx context.Context, activity, worker string) (text string, input value.Value, err error) {
	for ctx.Err() == nil {
		task, ok, came := s.activities.next(flow.ActivityPrefix + activity)
		if !ok {
			await(ctx, 0, came)
			continue
		}
		// The request ends at any time, and the task must not be lost with it.
		_, err := s.runActivity(context.WithoutCancel(ctx), task, func(_ context.Context, call machine.Call) (token.Outcome, error) {
			text, _ = s.config.Store.Keys().SignAgain(task.Handle)
			input = call.Input
			return token.Success(startedBy(worker)), nil
		})
		if err != nil {
			return "", value.Value{}, err
		}
		if text != "" { // else the task has an end, or another worker
			break
		}
	}
	return text, input, nil
}

// startedBy is the reply to the submission of a task.
func startedBy(worker string) value.Value {
	if worker == "" {
		return value.Object()
	}
	return value.Object(value.Member{Key: "workerName", Value: value.String(worker)})
}

// caller is a function as an [engine.Caller].
type caller func(ctx context.Context, call machine.Call) (token.Outcome, error)

// Call implements [engine.Caller].
func (c caller) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	return c(ctx, call)
}

// TimeLimits implements [engine.Caller].
func (caller) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// runActivity calls start with the task, unless the task has an end or a worker, and records the
// reply.
func (s *System) runActivity(ctx context.Context, task engine.Task, start caller) (engine.Disposition, error) {
	config := s.runnerConfig
	config.Caller = start
	runner, err := s.config.Roles.TaskRunner(config)
	if err != nil {
		return engine.Disposition{}, err
	}
	return runner.RunTask(ctx, task)
}

// standIn runs the task of an activity with the runner that stands for its workers. It stores the
// reply before it closes the token, so that the history has the start of the task.
func (s *System) standIn(ctx context.Context, task engine.Task) (engine.Disposition, error) {
	return s.runActivity(ctx, task, func(ctx context.Context, call machine.Call) (token.Outcome, error) {
		outcome, err := s.config.Functions.Call(ctx, call)
		if err != nil {
			return outcome, err
		}
		reply := startedBy("")
		if _, err = s.config.Store.Reply(ctx, task.Handle, token.ReplyOp{Reply: reply}); err != nil {
			return outcome, err
		}
		text, _ := s.config.Store.Keys().SignAgain(task.Handle)
		outcome.Thrown = false // a worker reports a failure with a name
		if refused, err := s.endJob(ctx, text, outcome); err != nil || refused.Failed() {
			return refused, err
		}
		return token.Success(reply), nil
	})
}
