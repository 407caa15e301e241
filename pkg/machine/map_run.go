package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// A run is a fork with items that are executions for users. A call may read its items before the
// lanes begin, and another one may write the results after they have joined. Both may be repeated.

// keyResults is the member of a run's input with the results that are being written.
const keyResults = "results"

// RunName names the run that an event of a log begins.
func RunName(log ID, event int) string { return fmt.Sprintf("%s-%d", log, event) }

// IsInRun reports whether the event belongs to an execution of a run of the flow, and not to the
// execution around it.
func (e Event) IsInRun(def *flow.Flow) bool {
	if e.Step < 0 || e.Step >= len(def.All) {
		return false
	}
	for _, fork := range ForksAround(def.All[e.Step]) {
		if fork.MapRun() != nil {
			return true
		}
	}
	return e.Type.ofItem() && def.All[e.Step].MapRun() != nil
}

// waitForCall makes the call that reads the items of an attempt, or writes their results.
func (r forkRun) waitForCall(w Waiting) *flow.Step {
	w.For, w.Entry = WaitingForCall, r.entry()
	r.wait(&w)
	r.do(r.call(&w))
	return nil
}

// call returns the call for which the state waits.
func (r forkRun) call(w *Waiting) CallTask {
	s, run := r.state(), r.step.MapRun()
	call := s.callOf(r.step, w.Attempt)
	s.Trace.describe(&call)
	call.Place, call.Iteration = s.WaitingPlace(), IterationPath(Iterations(r.step, s.ForkIndexes()))
	call.Resource = flow.Resource{Text: flow.Objects, Operation: flow.Objects, Function: flow.CallService}
	call.Values, call.StepInput = r.env.Flow.Values, w.Input
	params := r.lookup.Complete(w.Input)
	if results := params.Get(keyResults); !results.IsMissing() {
		params = run.Written(params, results)
	}
	call.Input = value.Object(
		value.Member{Key: "operation", Value: value.String(flow.Objects)}, value.Member{Key: "params", Value: params},
		value.Member{Key: "idempotencyKey", Value: value.String(call.Key())},
	)
	return CallTask{Call: call}
}

// returned continues after the call.
func (r forkRun) returned(outcome token.Outcome) *flow.Step {
	_, w := r.leaveWaiting()
	run, failed := r.step.MapRun(), ""
	writes := !r.lookup.Open(w.Input).Get(keyResults).IsMissing()
	if failed = run.ReadFailed; writes {
		failed = run.WriteFailed
	}
	switch {
	case r.state().Ending != nil:
		r.endAsDecided()
		return nil
	case outcome.Failed():
		return r.attemptFailed(r.step, again(w), token.Failure(failed, outcome.Error+": "+outcome.Cause).Cut())
	case writes:
		return r.exitFork(w.Input, outcome.Output)
	}
	last := r.state().Events
	name := r.lookup.Open(w.Input).Get(run.Name)
	begun := run.Items(r.frame(r.step, value.Missing(), value.Missing(), last, last), outcome.Output)
	if begun.Failure.Failed() {
		return r.attemptFailed(r.step, again(w), begun.Failure)
	}
	if size, limit := begun.Work.Size(), r.env.Limits.MaxData(); size > limit {
		return r.attemptFailed(r.step, again(w), *limitReached(ErrorDataLimit, "step %s: the items have %d bytes and the limit is %d; select less of each item, "+
			"or split the object", r.step.Name, size, limit))
	}
	r.emit(Event{Type: StepStarted, Step: r.step.Index})
	w.Attempt.Number = r.state().Events
	w.Input = value.Merge(begun.Work, value.Object(value.Member{Key: run.Name, Value: name}))
	return r.enterItems(w)
}

// again returns the waiting of an attempt for its retry, which computes the input again.
func again(w Waiting) Waiting {
	w.Input = value.Missing()
	return w
}

// endItems ends the step with the results of its items, or has them written first.
func (r forkRun) endItems(w Waiting, local value.Value) *flow.Step {
	run := r.step.MapRun()
	if run == nil || run.Written == nil {
		return r.exitFork(w.Input, local)
	}
	w.Input = value.Merge(r.lookup.Open(w.Input), value.Object(value.Member{Key: keyResults, Value: local}))
	return r.waitForCall(w)
}

// limited returns the values of a fork that the limit of data applies to: of a run neither the
// input nor results that are written.
func (r forkRun) limited(values ...value.Value) []value.Value {
	run := r.step.MapRun()
	switch {
	case run == nil:
		return values
	case run.Written != nil:
		return nil
	}
	return values[1:]
}
