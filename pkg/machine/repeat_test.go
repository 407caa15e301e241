package machine_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// repeats has a task of each way to be repeated.
const repeats = `
version: v1
type: flow
timeoutSeconds: 600
steps:
  - type: task
    name: Book
    resourceArn: acs:fc:::services/s/functions/f
    retry: [{errors: [Busy], intervalSeconds: 30}, {errors: [Broken]}]
    catch:
      - {errors: [NoSeat], goto: Poll}
      - {errors: [FnF.ALL], steps: [{type: wait, name: Pause, duration: 5}]}
  - type: task
    name: Poll
    resourceArn: acs:fc:::services/s/functions/g
    pattern: waitForCondition
    condition: $.done
    intervalSeconds: 10
    timeoutSeconds: 100
`

// repeating is an execution that ran into Book's failure, as a store gives it back.
func repeating(t *testing.T, failure string) (machine.Env, machine.State) {
	t.Helper()
	env := machine.Env{Flow: parseFlow(t, repeats), Keys: keys, Cause: "wake", Tag: "t"}
	state, _ := machine.New(machine.FlowRef{Name: "flow", Hash: "hash"}, env.Flow, "run", value.Object(), epoch, machine.Limits{})
	state = mustApply(t, env, state, machine.Started{At: epoch}).State
	failed := machine.Returned{At: epoch, Attempt: state.Waiting.Attempt, Outcome: token.Failure(failure, "why")}
	state = mustApply(t, env, state, failed).State
	if state.Waiting.For == machine.WaitingForCall {
		answer := token.Success(value.Object())
		state = mustApply(t, env, state, machine.Returned{At: epoch, Attempt: state.Waiting.Attempt, Outcome: answer}).State
	}
	state, _, err := decode(encode(state, nil))
	if err != nil {
		t.Fatal(err)
	}
	return env, state
}

// States of repeated tasks that no signal leads to are an error, too.
func TestDamagedRepeats(t *testing.T) {
	t.Parallel()
	const pause, poll, caught = "Busy", "NoSeat", "Other"
	for name, tt := range map[string]struct {
		failure string
		damage  func(*machine.State)
	}{
		"a pause without a retry": {pause, func(s *machine.State) { s.Waiting.Retried = nil }},
		"a counter too many":      {pause, func(s *machine.State) { s.Waiting.Retried = append(s.Waiting.Retried, 1) }},
		"a call with a counter less": {pause, func(s *machine.State) {
			s.Waiting.For, s.Waiting.Retried = machine.WaitingForCall, s.Waiting.Retried[:1]
		}},
		"polls of a call":               {pause, func(s *machine.State) { s.Waiting.Polls = 1 }},
		"a call waits for a poll":       {pause, func(s *machine.State) { s.Waiting.For = machine.WaitingForPoll }},
		"no polls":                      {poll, func(s *machine.State) { s.Waiting.Polls = 0 }},
		"a claimed poll":                {poll, func(s *machine.State) { s.Waiting.For = machine.WaitingForClaim }},
		"a poll's pause before a retry": {poll, func(s *machine.State) { s.Waiting.For = machine.WaitingForRetry }},
		"no such entry":                 {caught, func(s *machine.State) { s.Series[1].Owner.Branch = 2 }},
		"entry before the first":        {caught, func(s *machine.State) { s.Series[1].Owner.Branch = -1 }},
		"an entry without steps":        {caught, func(s *machine.State) { s.Series[1].Owner.Branch = 0 }},
		"a catch of a task without":     {caught, func(s *machine.State) { s.Series[1].Owner.Step = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, state := repeating(t, tt.failure)
			tt.damage(&state)
			if next, err := machine.Apply(env, state, machine.TimerDue{At: epoch.Add(time.Hour)}); err == nil || next.Applied() {
				t.Errorf("%d events, error %v", len(next.Events), err)
			}
			if next, err := machine.Pending(env, state, epoch, machine.ExecutedMaybe); err == nil || len(next.Commands) > 0 {
				t.Errorf("pending %v, error %v", next.Commands, err)
			}
		})
	}
}

// TestAbandonWhileItEnds: an execution that is given up ends as was decided. What
// a poll answered is not recorded: nobody knows whether it met the condition.
func TestAbandonWhileItEnds(t *testing.T) {
	t.Parallel()
	for status, want := range map[machine.Status]machine.EventType{
		machine.StatusTimedOut: machine.ExecutionTimedOut, machine.StatusStopped: machine.ExecutionStopped,
	} {
		state := polling()
		state.Ending = &machine.Ending{Status: status, Error: "E", Cause: "why"}
		answer := token.Success(value.Object())
		record := token.Record{Outcome: &answer, ClosedBy: token.ClosedByTask}
		end, events := machine.Abandon(nil, state, record, false, "broken", machine.Entry{By: "wake", Since: state.At})
		if end.Status != status || len(events) != 1 || events[0].Type != want || end.Polls != 100 {
			t.Errorf("%s: %+v, events %+v", status, end, events)
		}
	}
}

// TestPollsDifferFromOneAnother: by key and by token, and from the attempt.
func TestPollsDifferFromOneAnother(t *testing.T) {
	t.Parallel()
	env, state := repeating(t, "NoSeat")
	env.TimeLimits = map[string]time.Duration{"acs:fc:::services/s/functions/g": time.Minute}
	keysSeen, handles := map[string]bool{}, map[string]bool{}
	const polls = 5
	for range polls {
		next := mustApply(t, env, state, machine.TimerDue{At: state.Waiting.Due})
		queue, ok := next.Commands[0].(machine.QueueTask)
		if !ok || !queue.Await || queue.AtMostOnce {
			t.Fatalf("commands %+v", next.Commands)
		}
		id, ok := token.HandleID(queue.Handle)
		if !ok || id.Number != 1<<31|uint32(next.State.Polls) {
			t.Errorf("token %+v of poll %d", id, next.State.Polls)
		}
		keysSeen[queue.Key()], handles[queue.Handle] = true, true
		attempt := queue.Call
		attempt.Attempt.Poll = 0
		keysSeen[attempt.Key()] = true
		answer := machine.TokenClosed{At: next.State.At, Attempt: next.State.Waiting.Attempt, Outcome: token.Success(value.Object()), By: token.ClosedByTask}
		state = mustApply(t, env, next.State, answer).State
	}
	if len(keysSeen) != polls+1 || len(handles) != polls {
		t.Errorf("%d keys and %d tokens of %d polls", len(keysSeen), len(handles), polls)
	}
}

// What is left of the attempt's time bounds a poll, whenever its call is made.
func TestLimitOfAPoll(t *testing.T) {
	t.Parallel()
	env, state := repeating(t, "NoSeat")
	next := mustApply(t, env, state, machine.TimerDue{At: epoch.Add(40 * time.Second)})
	again, err := machine.Pending(env, next.State, epoch.Add(50*time.Second), machine.ExecutedMaybe)
	if err != nil {
		t.Fatal(err)
	}
	for _, commands := range [][]machine.Command{next.Commands, again.Commands} {
		if call, ok := commands[0].(machine.CallTask); !ok || call.Limit != time.Minute || call.Claimed {
			t.Errorf("command %+v", commands[0])
		}
	}
}
