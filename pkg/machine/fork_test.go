package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// series returns a script of a foreach whose iterations run one after the other, and its input: as
// many elements, each with a text of that size.
func series(t *testing.T, elements, size int) (*script, value.Value) {
	t.Helper()
	flow := parseFlow(t, `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    maxConcurrency: 1
    iterationMapping: {collection: $.list, item: x}
    steps:
      - {type: task, name: One, resourceArn: "acs:fc:::services/s/functions/f", inputMappings: [{target: x, source: $input.x}]}
    outputMappings: [{target: all, source: "$local[*].x"}]
`)
	list := make([]value.Value, elements)
	for i := range list {
		list[i] = value.String(fmt.Sprint(i) + strings.Repeat("x", size))
	}
	return &script{flow: flow, limits: machine.Limits{Data: machine.MaxData}}, value.Object(member("list", value.Array(list...)))
}

// TestLongSeriesDoesNotRewriteItsOutputs: full lists of outputs stay in the items in which they
// became full.
func TestLongSeriesDoesNotRewriteItsOutputs(t *testing.T) {
	t.Parallel()
	const elements = 60
	for _, size := range []int{50, 200, 400} {
		s, input := series(t, elements, size)
		end := s.played(t, input)
		if end.Local.Get("all").JSON() != input.Get("list").JSON() {
			t.Errorf("the output is %.200s", end.Local)
		}
		first, last := len(s.log.items[elements/4]), len(s.log.items[elements-1])
		if last > first+1500 {
			t.Errorf("outputs of %d bytes: item %d has %d bytes, item %d has %d", size, elements/4, first, elements-1, last)
		}
	}
}

const forked = `
version: v1
type: flow
steps:
  - type: parallel
    name: Both
    branches:
      - steps: [{type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback}]
      - steps:
          - type: foreach
            name: Each
            maxConcurrency: 1
            iterationMapping: {collection: $.list, item: x}
            steps: [{type: task, name: One, resourceArn: "acs:fc:::services/s/functions/f"}]
  - {type: pass, name: After}
`

// forking returns an execution that waits for two lanes, and these. The first lane waits for a
// token, the second is in the first iteration of a foreach.
func forking(tb testing.TB) (env machine.Env, parent machine.State, lanes [2]machine.State) {
	tb.Helper()
	env = machine.Env{Flow: parseFlow(tb, forked), Keys: keys, Cause: "wake", Tag: "t"}
	input := value.Object(member("list", value.Array(value.Int(1), value.Int(2))))
	parent, _ = machine.New(machine.FlowRef{Name: "flow", Hash: "hash"}, env.Flow, "run", input, epoch, machine.Limits{})
	parent = mustApply(tb, env, parent, machine.Started{At: epoch}).State
	for i := range lanes {
		lane, ok := machine.NewLane(parent, laneOf(parent, i), epoch)
		if !ok {
			tb.Fatalf("lane %d does not begin", i)
		}
		lanes[i] = mustApply(tb, env, lane, machine.Started{At: epoch}).State
	}
	return env, parent, lanes
}

func laneOf(parent machine.State, index int) machine.Lane {
	return machine.Lane{Parent: parent.ID(), Attempt: parent.Waiting.Attempt.Number, Index: index, Count: parent.Waiting.Fork().Lanes}
}

// States of forks and lanes that no signal leads to are an error.
func TestDamagedForks(t *testing.T) {
	t.Parallel()
	const parent, lane = 0, 1
	for name, tt := range map[string]struct {
		of     int
		damage func(*machine.State)
	}{
		"no lanes":                        {parent, func(s *machine.State) { s.Waiting.For = &machine.ForkWait{} }},
		"one lane":                        {parent, func(s *machine.State) { s.Waiting.For = &machine.ForkWait{Lanes: 1} }},
		"too many lanes":                  {parent, func(s *machine.State) { s.Waiting.For = &machine.ForkWait{Lanes: machine.MaxLanes + 1} }},
		"a task waits for lanes":          {parent, func(s *machine.State) { s.Waiting.Attempt.Step = 1 }},
		"a fork waits for a call":         {parent, func(s *machine.State) { s.Waiting.For = machine.WaitingForCall }},
		"no series":                       {parent, func(s *machine.State) { s.Series = nil }},
		"a lane in the flow":              {lane, func(s *machine.State) { s.Series[0] = machine.Series{} }},
		"an execution in a fork":          {lane, func(s *machine.State) { s.Lane = nil }},
		"a lane without series":           {lane, func(s *machine.State) { s.Series = nil }},
		"a lane after the last":           {lane, func(s *machine.State) { s.Lane.Index = 2 }},
		"a lane before the first":         {lane, func(s *machine.State) { s.Lane.Index = -1 }},
		"a lane of too many":              {lane, func(s *machine.State) { s.Lane.Count = machine.MaxLanes + 1 }},
		"a fork without an item":          {lane, func(s *machine.State) { s.Series = s.Series[:3] }},
		"a fork without its item":         {lane, func(s *machine.State) { s.Series = append(s.Series[:1:1], s.Series[2:]...) }},
		"an item without its fork":        {lane, func(s *machine.State) { s.Series = append(s.Series[:2:2], s.Series[3:]...) }},
		"an item of another fork":         {lane, func(s *machine.State) { s.Series[1].Owner.Step = 2 }},
		"a branch after the last":         {lane, func(s *machine.State) { s.Series[1].Owner.Branch = 2 }},
		"a branch before the first":       {lane, func(s *machine.State) { s.Series[1].Owner.Branch = -1 }},
		"an iteration before the first":   {lane, func(s *machine.State) { s.Series[3].Owner.Branch = -1 }},
		"a fork that is a task":           {lane, func(s *machine.State) { s.Series[2].Owner.Step = 1 }},
		"a fork with a branch":            {lane, func(s *machine.State) { s.Series[2].Owner.Branch = 1 }},
		"a lane that begins and waits":    {lane, func(s *machine.State) { s.Status = machine.StatusStarting }},
		"a lane that ended and has steps": {lane, func(s *machine.State) { s.Status, s.Waiting = machine.StatusFailed, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, state, lanes := forking(t)
			if tt.of == lane {
				state = lanes[1]
			}
			tt.damage(&state)
			if next, err := machine.Apply(env, state, machine.StopRequested{At: epoch}); err == nil || next.Applied() {
				t.Errorf("%d events, error %v", len(next.Events), err)
			}
			if next, err := machine.Pending(env, state, epoch, machine.ExecutedMaybe); err == nil && state.Waiting != nil || len(next.Commands) > 0 {
				t.Errorf("pending %v, error %v", next.Commands, err)
			}
		})
	}
}

// rule 16, rule 20: a lane begins while its fork waits for it, and is stopped before that only if
// its parent is ending.
func TestNewLane(t *testing.T) {
	t.Parallel()
	_, parent, lanes := forking(t)
	ending := parent
	ending.Ending = &machine.Ending{Status: machine.StatusStopped, Error: "E", Cause: "why"}
	ended := parent
	ended.Status, ended.Waiting, ended.Series = machine.StatusFailed, nil, nil
	right := laneOf(parent, 1)
	for name, tt := range map[string]struct {
		parent          machine.State
		change          func(*machine.Lane)
		begins, stopped bool
	}{
		"it waits":          {parent, func(*machine.Lane) {}, true, false},
		"it is ending":      {ending, func(*machine.Lane) {}, false, true},
		"it ended":          {ended, func(*machine.Lane) {}, false, false},
		"it has no lanes":   {lanes[1], func(*machine.Lane) {}, false, false},
		"another parent":    {parent, func(l *machine.Lane) { l.Parent[0]++ }, false, false},
		"another attempt":   {parent, func(l *machine.Lane) { l.Attempt++ }, false, false},
		"another count":     {parent, func(l *machine.Lane) { l.Count++ }, false, false},
		"after the last":    {parent, func(l *machine.Lane) { l.Index = 2 }, false, false},
		"before the first":  {ending, func(l *machine.Lane) { l.Index = -1 }, false, false},
		"stopped but wrong": {ending, func(l *machine.Lane) { l.Attempt-- }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lane := right
			tt.change(&lane)
			if s, ok := machine.NewLane(tt.parent, lane, epoch); ok != tt.begins || ok && (s.ID() != lane.ID() || s.Status != machine.StatusStarting) {
				t.Errorf("it begins: %t, %+v", ok, s)
			}
			s, ok := machine.StoppedLane(tt.parent, lane, machine.Entry{By: "wake", Since: epoch})
			if ok != tt.stopped || ok && (s.ID() != lane.ID() || s.Status != machine.StatusStopped || s.By != "wake" || s.Error != "E") {
				t.Errorf("it is stopped: %t, %+v", ok, s)
			}
		})
	}
}

// Lanes run the same steps with the same numbers, so what leaves them names the lane.
func TestLanesHaveOwnKeysAndTokens(t *testing.T) {
	t.Parallel()
	env, parent, lanes := forking(t)
	seen := map[machine.ID]bool{parent.ID(): true, lanes[0].ID(): true, lanes[1].ID(): true}
	if len(seen) != 3 {
		t.Error("logs have the same id")
	}
	id, ok := token.HandleID(lanes[0].Waiting.Handle())
	if !ok || machine.ID(id.Execution) != lanes[0].ID() {
		t.Errorf("the token is of %+v", id)
	}
	next, err := machine.Pending(env, lanes[1], epoch, machine.ExecutedMaybe)
	if err != nil || len(next.Commands) != 1 {
		t.Fatalf("%d commands, error %v", len(next.Commands), err)
	}
	call, _ := next.Commands[0].(machine.CallTask)
	elsewhere := call.Call
	elsewhere.Log = lanes[0].ID()
	execution := call.Call
	execution.Log = parent.ID()
	unknown := execution
	unknown.Log = machine.ID{}
	if call.Log != lanes[1].ID() || call.Key() == elsewhere.Key() || call.Key() == execution.Key() || execution.Key() != unknown.Key() {
		t.Errorf("keys %s, %s, %s, %s", call.Key(), elsewhere.Key(), execution.Key(), unknown.Key())
	}
}

// rule 21: a log that waits for lanes does not end before they have joined.
func TestAbandonForks(t *testing.T) {
	t.Parallel()
	env, parent, _ := forking(t)
	by := machine.Entry{By: "defect", Since: epoch}
	ending, events := machine.Abandon(nil, parent, token.Record{}, false, "broken", by)
	if parent.Reserved == 0 || ending.LastID() != parent.LastID() {
		t.Errorf("the next event has the id %d, behind %d that are reserved and %d of all", ending.LastID()+1, parent.Reserved, parent.LastID())
	}
	if ending.Status != machine.StatusRunning || len(events) > 0 || ending.Waiting.Fork().Lanes != 2 || !ending.Waiting.Input.IsMissing() {
		t.Fatalf("%+v, events %+v", ending, events)
	}
	ending, _, err := decode(encode(ending, nil))
	if err != nil {
		t.Fatal(err)
	}
	if entered, ok := machine.Unresolved(ending, "defect"); !ok || entered != by {
		t.Errorf("unresolved %t, %+v", ok, entered)
	}
	next, err := machine.Pending(env, ending, epoch, machine.ExecutedMaybe)
	if stop, ok := next.Commands[0].(machine.StopLanes); err != nil || !ok || stop.Count != 2 || stop.Attempt != parent.Waiting.Attempt {
		t.Errorf("%+v, error %v", next.Commands, err)
	}
	end := mustApply(t, env, ending, machine.LanesJoined{At: epoch, Attempt: parent.Waiting.Attempt}).State
	abandoned, events := machine.Abandon(nil, ending, token.Record{}, true, "broken again", by)
	wantAbandoned(t, parent, end)
	wantAbandoned(t, parent, abandoned)
	if len(events) != 1 || events[0].Type != machine.ExecutionFailed {
		t.Errorf("events %+v", events)
	}
}

// wantAbandoned checks the end of a fork whose log is broken, and that its ids follow those of the
// fork.
func wantAbandoned(t *testing.T, parent, s machine.State) {
	t.Helper()
	if s.LastID() != parent.LastID()+s.Events-parent.Events {
		t.Errorf("the last event has the id %d; want %d events behind %d", s.LastID(), s.Events-parent.Events, parent.LastID())
	}
	if s.Status != machine.StatusFailed || s.Error != machine.ErrorInternal || s.Cause != "broken" || s.Waiting != nil || s.Ending != nil {
		t.Errorf("it ends as %+v", s)
	}
}

// rule 21: a lane has no event for its end.
func TestAbandonLane(t *testing.T) {
	t.Parallel()
	_, _, lanes := forking(t)
	lane, events := machine.Abandon(nil, lanes[1], token.Record{}, false, "broken", machine.Entry{By: "defect", Since: epoch})
	if lane.Status != machine.StatusFailed || lane.ID() != lanes[1].ID() || lane.By != "defect" || len(events) > 0 {
		t.Errorf("%+v, events %+v", lane, events)
	}
}

// An output is missing only by a defect.
func TestLanesJoinedWithoutOutputs(t *testing.T) {
	t.Parallel()
	env, parent, _ := forking(t)
	env.Flow = parseFlow(t, strings.Replace(forked, "    name: Both\n", "    name: Both\n    outputMappings: [{target: all, source: $local}]\n", 1))
	sig := machine.LanesJoined{At: epoch, Attempt: parent.Waiting.Attempt, Outputs: []value.Value{value.Array(value.Object())}}
	if next, err := machine.Apply(env, parent, sig); err == nil || next.Applied() {
		t.Errorf("%+v, error %v", next.Events, err)
	}
}

// rule 22: the call of an item may be made while results of earlier items are not committed. If
// these are lost and others the next time, the call is repeated with the same key.
func TestKeyOfAnItemDoesNotDependOnEarlierItems(t *testing.T) {
	t.Parallel()
	flow := parseFlow(t, `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    maxConcurrency: 1
    iterationMapping: {collection: $.list, item: x}
    steps:
      - {type: task, name: One, resourceArn: "acs:fc:::services/s/functions/f", end: true, catch: [{errors: [E], goto: Two}]}
      - {type: pass, name: Two}
`)
	env := machine.Env{Flow: flow, Cause: "wake", Tag: "t"}
	input := value.Object(member("list", value.Array(value.Int(1), value.Int(2))))
	state, _ := machine.New(machine.FlowRef{Name: "flow"}, flow, "run", input, epoch, machine.Limits{})
	first := mustApply(t, env, state, machine.Started{At: epoch})
	call, _ := first.Commands[0].(machine.CallTask)
	keys, numbers := map[string]bool{}, map[int]bool{}
	for _, outcome := range []token.Outcome{token.Success(value.Object()), token.Failure("E", "why")} {
		next := mustApply(t, env, first.State, machine.Returned{At: epoch, Attempt: call.Attempt, Outcome: outcome})
		second, _ := next.Commands[0].(machine.CallTask)
		if !second.Independent || call.Independent || second.Key() == call.Key() {
			t.Errorf("independent: %t, then %t; keys %s and %s", call.Independent, second.Independent, call.Key(), second.Key())
		}
		keys[second.Key()], numbers[second.Attempt.Number] = true, true
	}
	if len(keys) != 1 || len(numbers) != 2 {
		t.Errorf("keys %v of numbers %v", keys, numbers)
	}
}

// rule 22: a call that the worker has no time for is made by the wake of a timer.
func TestPostpone(t *testing.T) {
	t.Parallel()
	env, _, lanes := forking(t)
	env.Tag = "now"
	later := machine.Postpone(env, lanes[1])
	if _, unresolved := machine.Unresolved(later, "wake"); unresolved || later.Timer != (machine.Timer{Tag: "now", Due: later.At}) || lanes[1].Timer.Tag != "" {
		t.Errorf("unresolved %t, timer %+v", unresolved, later.Timer)
	}
	if pending, err := machine.Pending(env, later, epoch, machine.ExecutedMaybe); err != nil || len(pending.Commands) > 0 {
		t.Errorf("pending %+v, error %v", pending.Commands, err)
	}
	env.Cause = "now"
	next := mustApply(t, env, later, machine.TimerDue{At: epoch})
	call, ok := next.Commands[0].(machine.CallTask)
	if w := next.State.Waiting; !ok || call.Attempt != lanes[1].Waiting.Attempt || !w.Due.IsZero() || w.By != "now" || next.State.Timer.Tag != "" {
		t.Errorf("%+v, commands %+v", w, next.Commands)
	}
}

// The cause of a fork names the step that failed, and is as long as another at most.
func TestCauseOfForkIsCut(t *testing.T) {
	t.Parallel()
	env := machine.Env{Flow: parseFlow(t, strings.Replace(forked, "pattern: waitForCallback", "end: true", 1)), Cause: "wake", Tag: "t"}
	parent, _ := machine.New(machine.FlowRef{Name: "flow"}, env.Flow, "run", value.Object(member("list", value.Array())), epoch, machine.Limits{})
	parent = mustApply(t, env, parent, machine.Started{At: epoch}).State
	lane, _ := machine.NewLane(parent, laneOf(parent, 0), epoch)
	lane = mustApply(t, env, lane, machine.Started{At: epoch}).State
	failure := token.Failure("E", strings.Repeat("x", 4096))
	lane = mustApply(t, env, lane, machine.Returned{At: epoch, Attempt: lane.Waiting.Attempt, Outcome: failure}).State
	if !strings.HasPrefix(lane.Cause, "step Ask: xxx") || len(lane.Cause) > 4096 {
		t.Errorf("%d bytes: %.40s", len(lane.Cause), lane.Cause)
	}
}
