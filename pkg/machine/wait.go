package machine

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// wait begins a wait, or skips one that is over already.
func (r *run) wait(step *flow.Step, wait *flow.Wait, input value.Value) *flow.Step {
	until, err := waitUntil(wait, &expr.Scope{Self: input, Lookup: &r.lookup}, r.at)
	if err != nil {
		r.fail(step, token.Failure(ErrorInvalidArgument, fmt.Sprintf("step %s: %s", step.Name, err)))
		return nil
	}
	number := r.emit(Event{Type: StepStarted, Step: step.Index, Until: until})
	if until.After(r.at) {
		r.state().Waiting = &Waiting{
			Attempt: Attempt{Step: step.Index, Number: number}, For: WaitingForInstant, Input: input, Due: until, Entry: r.entry(),
		}
		return nil
	}
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	return r.exit(step, input, value.Object(), 0)
}

func (r *run) waited() {
	step, waiting := r.leaveWaiting()
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	r.advance(r.exit(step, waiting.Input, value.Object(), 0))
}

// waitUntil returns when a wait that begins now ends. The error says what is wrong with a value of
// the input.
func waitUntil(wait *flow.Wait, scope *expr.Scope, now time.Time) (time.Time, error) {
	switch wait.Mode {
	case flow.WaitDuration:
		return now.Add(wait.Duration), nil
	case flow.WaitTimestamp:
		return notTooFar(wait.Timestamp, now)
	case flow.WaitDurationPath:
		v := scope.Lookup.Complete(wait.Path.Eval(scope))
		d, ok := fdl.ParseDuration(v)
		if !ok {
			return time.Time{}, fmt.Errorf("duration %s is %s; allowed: whole seconds from 0 to %d", wait.Path, shown(v), int(flow.MaxWait/time.Second))
		}
		return now.Add(d), nil
	case flow.WaitTimestampPath:
		v := scope.Lookup.Complete(wait.Path.Eval(scope))
		t, ok := fdl.ParseTimestamp(v)
		if !ok {
			return time.Time{}, fmt.Errorf("timestamp %s is %s; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339)", wait.Path, shown(v))
		}
		return notTooFar(t, now)
	}
	return time.Time{}, fmt.Errorf("wait mode %d is unknown", wait.Mode)
}

func notTooFar(t, now time.Time) (time.Time, error) {
	if latest := now.Add(flow.MaxWait); t.After(latest) {
		return time.Time{}, fmt.Errorf("timestamp %s lies more than %s ahead, after %s; wait in several steps",
			t.UTC().Format(time.RFC3339Nano), flow.MaxWait, latest.UTC().Format(time.RFC3339Nano))
	}
	return t, nil
}

// shown is a value for a message: its kind, and how it begins.
func shown(v value.Value) string {
	if v.IsMissing() {
		return "missing"
	}
	if v.Kind() == value.KindNull {
		return v.Kind().String()
	}
	const most = 80
	text := []rune(v.JSON())
	if len(text) > most {
		text = append(text[:most], []rune("...")...)
	}
	return fmt.Sprintf("%s, %s", v.Kind(), string(text))
}
