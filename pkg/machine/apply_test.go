package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// twoWaits waits for the seconds in $.first, then for those in $.second, then
// calls; all of it in a choice's branch.
const twoWaits = `
version: v1
type: flow
steps:
  - {type: choice, name: Choice, choices: [{condition: $.first >= 0, steps: [
      {type: wait, name: First, duration: $.first},
      {type: wait, name: Second, duration: $.second},
      {type: task, name: Call, resourceArn: "acs:fc:::services/s/functions/f"}]}]}
  - {type: pass, name: Last}
`

func parseFlow(tb testing.TB, text string) *flow.Flow {
	tb.Helper()
	flow, problems := fdl.Parse([]byte(text))
	if flow == nil {
		tb.Fatalf("the flow has problems: %v\n%s", problems, text)
	}
	return flow
}

func starting(first, second int64) machine.State {
	input := value.Object(whole("first", first), whole("second", second))
	state, _ := machine.New(machine.FlowRef{Name: "flow", Hash: "hash"}, &flow.Flow{}, "run", input, epoch, machine.Limits{})
	return state
}

func mustApply(tb testing.TB, env machine.Env, s machine.State, sig machine.Signal) machine.Next {
	tb.Helper()
	next, err := machine.Apply(env, s, sig)
	if err != nil || !next.Applied() {
		tb.Fatalf("%T: applied=%t, error %v", sig, next.Applied(), err)
	}
	return next
}

func TestTimers(t *testing.T) {
	t.Parallel()
	flow := parseFlow(t, twoWaits)
	tenSeconds := epoch.Add(10 * time.Second)
	tests := []struct {
		name  string
		live  machine.Timer // of the state that the start is applied to
		first int64
		cause string
		want  machine.Timer // "fresh" if it is started
	}{
		{"nothing waits for an instant", machine.Timer{Tag: "live", Due: tenSeconds}, 0, "other", machine.Timer{}},
		{"no timer yet", machine.Timer{}, 10, "start", machine.Timer{Tag: "fresh", Due: tenSeconds}},
		{"the live timer has this due", machine.Timer{Tag: "live", Due: tenSeconds}, 10, "other", machine.Timer{Tag: "live", Due: tenSeconds}},
		{"the live timer is this wake", machine.Timer{Tag: "live", Due: tenSeconds}, 10, "live", machine.Timer{Tag: "fresh", Due: tenSeconds}},
		{"the live timer is too late", machine.Timer{Tag: "live", Due: tenSeconds.Add(1)}, 10, "other", machine.Timer{Tag: "fresh", Due: tenSeconds}},
		{"the live timer is too early", machine.Timer{Tag: "live", Due: tenSeconds.Add(-1)}, 10, "other", machine.Timer{Tag: "fresh", Due: tenSeconds}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state := starting(test.first, 0)
			state.Timer = test.live
			next := mustApply(t, machine.Env{Flow: flow, Cause: test.cause, Tag: "fresh"}, state, machine.Started{At: epoch})
			if next.State.Timer != test.want {
				t.Errorf("live timer %+v, want %+v", next.State.Timer, test.want)
			}
		})
	}
}

// One wait after the other: each has a timer of its own, the call has none.
func TestTimerOfEachWait(t *testing.T) {
	t.Parallel()
	env := machine.Env{Flow: parseFlow(t, twoWaits), Cause: machine.CauseStart, Tag: "t1"}
	state := mustApply(t, env, starting(10, 5), machine.Started{At: epoch}).State
	if want := (machine.Timer{Tag: "t1", Due: epoch.Add(10 * time.Second)}); state.Timer != want {
		t.Errorf("first wait: timer %+v, want %+v", state.Timer, want)
	}
	early, err := machine.Apply(machine.Env{Flow: env.Flow, Cause: "t1", Tag: "t2"}, state, machine.TimerDue{At: state.Timer.Due.Add(-1)})
	if err != nil || early.Applied() || early.State.Timer != state.Timer || len(early.Commands) > 0 {
		t.Errorf("a timer a nanosecond early: %+v, error %v", early, err)
	}
	state = mustApply(t, machine.Env{Flow: env.Flow, Cause: "t1", Tag: "t2"}, state, machine.TimerDue{At: epoch.Add(11 * time.Second)}).State
	if want := (machine.Timer{Tag: "t2", Due: epoch.Add(16 * time.Second)}); state.Timer != want {
		t.Errorf("second wait: timer %+v, want %+v", state.Timer, want)
	}
	state = mustApply(t, machine.Env{Flow: env.Flow, Cause: "t2", Tag: "t3"}, state, machine.TimerDue{At: state.Timer.Due}).State
	if state.Timer != (machine.Timer{}) || state.Waiting == nil {
		t.Errorf("call: timer %+v, waiting %+v", state.Timer, state.Waiting)
	}
}

func TestUnresolvedAndPending(t *testing.T) {
	t.Parallel()
	env := machine.Env{Flow: parseFlow(t, twoWaits), Cause: machine.CauseStart, Tag: "t1", Generation: 3}
	accepted := starting(10, 0)
	asleep := mustApply(t, env, accepted, machine.Started{At: epoch}).State
	env.Cause = "t1"
	at := epoch.Add(12 * time.Second)
	called := mustApply(t, env, asleep, machine.TimerDue{At: at})
	answer := machine.Returned{At: at, Attempt: called.State.Waiting.Attempt, Outcome: token.Success(value.Object())}
	ended := mustApply(t, env, called.State, answer).State

	for name, s := range map[string]machine.State{"accepted": accepted, "asleep": asleep, "ended": ended} {
		for _, cause := range []string{machine.CauseStart, "t1", ""} {
			if entered, ok := machine.Unresolved(s, cause); ok || entered != (machine.Entry{}) {
				t.Errorf("%s: cause %q has something unresolved: %+v", name, cause, entered)
			}
		}
		if next, err := machine.Pending(env, s, epoch, machine.ExecutedMaybe); err != nil || len(next.Commands) > 0 {
			t.Errorf("%s: pending %v, error %v", name, next.Commands, err)
		}
	}

	if entered, ok := machine.Unresolved(called.State, "t1"); !ok || entered != (machine.Entry{By: "t1", Since: at, Generation: 3}) {
		t.Errorf("the call of t1 is unresolved=%t: %+v", ok, entered)
	}
	if _, ok := machine.Unresolved(called.State, machine.CauseStart); ok {
		t.Error("the call of t1 counts as the start's")
	}
	stored, _, err := decode(encode(called.State, called.Events))
	if err != nil {
		t.Fatal(err)
	}
	pending, err := machine.Pending(env, stored, epoch, machine.ExecutedMaybe)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(called.Commands, pending.Commands, compared); diff != "" {
		t.Errorf("the pending call is not the one that was asked for:\n%s", diff)
	}
	if got, want := keyOf(t, pending.Commands), keyOf(t, called.Commands); got != want {
		t.Errorf("key %s of the pending call, %s of the first", got, want)
	}
	if ended.By != "t1" || accepted.By != machine.CauseStart {
		t.Errorf("started by %q, ended by %q", accepted.By, ended.By)
	}
}

func keyOf(t *testing.T, commands []machine.Command) string {
	t.Helper()
	for _, c := range commands {
		if call, ok := c.(machine.CallTask); ok {
			return call.Key()
		}
	}
	t.Fatal("no call")
	return ""
}

func TestKey(t *testing.T) {
	t.Parallel()
	call := machine.Call{
		Attempt: machine.Attempt{Step: 1, Number: 12}, Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Step: "Call",
	}
	if got, want := call.Key(), "b0bb1a267964e6e368cabec0bfebbff0"; got != want {
		t.Errorf("key %s, want %s: a key that changes between releases makes a function do its work twice", got, want)
	}
	sameAttempt := call
	sameAttempt.Input = value.Object(whole("n", 1))
	if sameAttempt.Key() != call.Key() {
		t.Error("one attempt has two keys")
	}
	others := map[string]func(*machine.Call){
		"number":    func(c *machine.Call) { c.Attempt.Number = 2 },
		"step":      func(c *machine.Call) { c.Step = "Call1" },
		"execution": func(c *machine.Call) { c.Execution = "runC" },
		"flow":      func(c *machine.Call) { c.Flow.Name = "flowr" },
		"shifted":   func(c *machine.Call) { c.Flow.Name, c.Execution = "flowr", "un" },
	}
	for name, change := range others {
		other := call
		change(&other)
		if other.Key() == call.Key() {
			t.Errorf("%s: two attempts have one key", name)
		}
	}
}

// States that no signal leads to are an error, not a panic, whatever comes.
func TestDamagedStates(t *testing.T) {
	t.Parallel()
	env := machine.Env{Flow: parseFlow(t, twoWaits), Cause: machine.CauseStart, Tag: "t1"}
	asleep := mustApply(t, env, starting(10, 0), machine.Started{At: epoch}).State
	tests := map[string]func(*machine.State){
		"no step":                   func(s *machine.State) { s.Waiting.Attempt.Step = 5 },
		"step before the first":     func(s *machine.State) { s.Waiting.Attempt.Step = machine.NoStep },
		"a pass waits":              func(s *machine.State) { s.Waiting.Attempt.Step = 4 },
		"a wait waits for a call":   func(s *machine.State) { s.Waiting.For = machine.WaitingForCall },
		"a task waits for a timer":  func(s *machine.State) { s.Waiting.Attempt.Step = 3 },
		"no series":                 func(s *machine.State) { s.Series = nil },
		"no series of the flow":     func(s *machine.State) { s.Series = s.Series[1:] },
		"two series of the flow":    func(s *machine.State) { s.Series[1].Owner = machine.Owner{} },
		"no such choice":            func(s *machine.State) { s.Series[1].Owner.Step = 9 },
		"choice before the first":   func(s *machine.State) { s.Series[1].Owner.Step = -2 },
		"a wait with branches":      func(s *machine.State) { s.Series[1].Owner.Step = 1 },
		"no such branch":            func(s *machine.State) { s.Series[1].Owner.Branch = 1 },
		"branch before the default": func(s *machine.State) { s.Series[1].Owner.Branch = -2 },
		"no default":                func(s *machine.State) { s.Series[1].Owner.Branch = -1 },
		"a catch of a choice":       func(s *machine.State) { s.Series[1].Owner.Kind = machine.OwnerCatch },
		"a wait with a token":       func(s *machine.State) { s.Waiting.For = &machine.TokenWait{} },
		"waits for nothing":         func(s *machine.State) { s.Waiting = nil },
		"waits after the end":       func(s *machine.State) { s.Status, s.Series = machine.StatusSucceeded, nil },
		"series after the end":      func(s *machine.State) { s.Status, s.Waiting = machine.StatusFailed, nil },
		"begins twice":              func(s *machine.State) { s.Status, s.Waiting = machine.StatusStarting, nil },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, _, err := decode(encode(asleep, nil)) // a copy of one's own
			if err != nil {
				t.Fatal(err)
			}
			damage(&state)
			attempt := asleep.Waiting.Attempt
			if state.Waiting != nil {
				attempt = state.Waiting.Attempt
			}
			due := epoch.Add(time.Hour)
			for _, sig := range []machine.Signal{
				machine.Started{At: due}, machine.TimerDue{At: due},
				machine.Returned{At: due, Attempt: attempt, Outcome: token.Success(value.Object())},
			} {
				if next, err := machine.Apply(env, state, sig); err == nil || !strings.Contains(err.Error(), `"run"`) || next.Applied() {
					t.Errorf("%T: %d events, error %v", sig, len(next.Events), err)
				}
			}
			if next, err := machine.Pending(env, state, epoch, machine.ExecutedMaybe); err == nil || len(next.Commands) > 0 {
				t.Errorf("pending %v, error %v", next.Commands, err)
			}
		})
	}
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	for typ, want := range map[machine.EventType]string{
		0: "Unknown", machine.ExecutionTimedOut: "ExecutionTimedOut", machine.IterationExited + 1: "Unknown", 255: "Unknown",
	} {
		if text, err := typ.MarshalJSON(); err != nil || string(text) != `"`+want+`"` {
			t.Errorf("type %d is %s as JSON, error %v, want %s", typ, text, err, want)
		}
	}
	// An event of a flow that is not at hand, or of another one.
	h := machine.Event{ID: 2, By: 1, Type: machine.TaskScheduled, Step: 9, At: epoch.In(time.FixedZone("", 3600))}.Render(parseFlow(t, twoWaits))
	if h.StepName != "" || h.Time != "2026-01-31T10:00:00.000Z" || h.EventDetail != "{}" {
		t.Errorf("rendered %+v", h)
	}
}
