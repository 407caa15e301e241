package machine_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// distinct is an object of about so many bytes in small members, whose keys no
// other one has.
func distinct(number, size int) value.Value {
	var members []value.Member
	for i := 0; size > 0; i++ {
		members = append(members, whole(fmt.Sprintf("k%03d_%05d", number, i), 7))
		size -= len(`"k000_00000":7,`)
	}
	return value.Object(members...)
}

// callsOf is a flow that calls a function so many times.
func callsOf(t *testing.T, calls int, lines string) *flow.Flow {
	t.Helper()
	var text strings.Builder
	text.WriteString("version: v1\ntype: flow\noutputMappings: [{target: done, source: true}]\nsteps:\n")
	for i := range calls {
		fmt.Fprintf(&text, "- {type: task, name: T%d, resourceArn: 'acs:fc:::services/s/functions/f', %s}\n", i, lines)
	}
	return parseFlow(t, text.String())
}

// drive runs an execution as an engine does: a call is made before the commit of its
// result, the next one after it. It gives all events.
func (l *itemLog) drive(t *testing.T, flow *flow.Flow, limits machine.Limits, input value.Value, answer func(call int) value.Value) (
	state machine.State, all []machine.Event, calls int,
) {
	t.Helper()
	state, draft := machine.New(machine.FlowRef{Name: "f", Hash: "h"}, flow, "e", input, epoch, limits)
	commit := func() {
		all = append(all, draft...)
		var err error
		if state, _, err = l.put(state, draft); err != nil {
			t.Fatal(err)
		}
		draft = nil
	}
	commit()
	hasResult := false
	for sig := machine.Signal(machine.Started{At: epoch}); !state.Status.Final(); {
		env := machine.Env{Flow: flow, Limits: limits, Keys: keys, Cause: state.Timer.Tag, Tag: fmt.Sprint("tag", len(l.items)), Before: draft}
		next, err := l.ask(t, env, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, state, sig) })
		if err != nil {
			t.Fatal(err)
		}
		state, draft = next.State, append(draft, next.Events...)
		sig = machine.TimerDue{At: epoch}
		at := slices.IndexFunc(next.Commands, func(c machine.Command) bool { _, call := c.(machine.CallTask); return call })
		if at < 0 || hasResult {
			commit()
			hasResult = false
		}
		if at >= 0 {
			call, _ := next.Commands[at].(machine.CallTask)
			sig = machine.Returned{At: epoch, Attempt: call.Attempt, Outcome: token.Success(answer(calls))}
			calls, hasResult = calls+1, true
		}
	}
	return state, all, calls
}

// wantItems: each fits into every store.
func (l *itemLog) wantItems(t *testing.T) (largest int) {
	t.Helper()
	for i, item := range l.items {
		if len(item) > storeLimit {
			t.Errorf("item %d has %d bytes", i, len(item))
		}
		largest = max(largest, len(item))
	}
	return largest
}

// What a series keeps is written anew with each change when it is an object of many
// small members. It fails before no store takes it, and what was called has
// succeeded.
func TestItemLimitFailsALargeSeries(t *testing.T) {
	t.Parallel()
	mapsNothing := "inputMappings: [{target: none, source: true}]"
	keepsNothing := "outputMappings: [{target: done, source: true}]"
	for name, tt := range map[string]struct {
		limit, calls, each int
		lines              string
		fails              bool
		least              int
	}{
		"the default limit":                   {0, 40, 12_000, mapsNothing, true, 28},
		"few that fit":                        {0, 20, 12_000, mapsNothing, false, 20},
		"the highest limit":                   {machine.MaxData, 5, 100_000, mapsNothing, true, 3},
		"two that fit":                        {machine.MaxData, 2, 100_000, mapsNothing, false, 2},
		"where each step keeps what it needs": {0, 60, 12_000, keepsNothing, false, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &itemLog{}
			limits := machine.Limits{Data: tt.limit}
			state, events, calls := log.drive(t, callsOf(t, tt.calls, tt.lines), limits, value.Object(), func(call int) value.Value { return distinct(call, tt.each) })
			log.wantItems(t)
			if want := map[bool]machine.Status{true: machine.StatusFailed, false: machine.StatusSucceeded}[tt.fails]; state.Status != want || calls < tt.least {
				t.Errorf("%s after %d calls: %s %s", state.Status, calls, state.Error, state.Cause)
			}
			if tt.fails {
				wantFull(t, state, events)
			}
		})
	}
}

// wantFull: the execution has failed for want of room, with the step that was left.
func wantFull(t *testing.T, state machine.State, events []machine.Event) {
	t.Helper()
	if state.Error != machine.ErrorDataLimit || !strings.Contains(state.Cause, "the limit of a log item is") {
		t.Errorf("%s %s", state.Error, state.Cause)
	}
	last := events[len(events)-3:]
	for i, want := range []machine.EventType{machine.TaskSucceeded, machine.StepFailed, machine.ExecutionFailed} {
		if last[i].Type != want {
			t.Errorf("event %d is %v, want %v", last[i].ID, last[i].Type, want)
		}
	}
	for i, event := range events {
		if want := events[0].ID + i; event.ID != want {
			t.Fatalf("event %d has the id %d", want, event.ID)
		}
	}
}

// constants are mappings to so many targets.
func constants(prefix string, targets int) string {
	var text strings.Builder
	for i := range targets {
		fmt.Fprintf(&text, "{target: %s%05d, source: 7},", prefix, i)
	}
	return "[" + text.String() + "]"
}

// Around the border an item fits or the step fails, and not before it has to.
func TestItemLimitIsExact(t *testing.T) {
	t.Parallel()
	const room = 22 << 10 // kept free for the end
	const none = "inputMappings: [{target: none, source: true}]"
	const last = "- {type: pass, name: Last, inputMappings: [{target: none, source: true}], outputMappings: []}\n"
	task := func(name, lines string) string {
		return "- {type: task, name: " + name + ", resourceArn: 'acs:fc:::services/s/functions/f', " + lines + "}\n"
	}
	for name, tt := range map[string]struct {
		steps  string
		before []int // what earlier calls answer
	}{
		"what the series keeps": {task("A", none) + task("B", none) + task("C", none) + last, []int{130_000, 60_000}},
		"input, local and output of one step": {
			task("A", none) + task("B", "inputMappings: [{target: in, source: $input}], outputMappings: "+constants("o", 9500)) + last, []int{100_000},
		},
		"what other steps put into the item before the call": {
			"- {type: pass, name: P, outputMappings: " + constants("p", 4000) + "}\n" + task("A", "outputMappings: "+constants("o", 7000)) + last, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flow := parseFlow(t, "version: v1\ntype: flow\noutputMappings: [{target: done, source: true}]\nsteps:\n"+tt.steps)
			run := func(size int) (state machine.State, events []machine.Event, largest int) {
				log := &itemLog{}
				state, events, _ = log.drive(t, flow, machine.Limits{Data: machine.MaxData}, distinct(999, 40_000), func(call int) value.Value {
					return distinct(call, append(tt.before, size)[call])
				})
				return state, events, log.wantItems(t)
			}
			const least, step = 20_000, 200
			first := least + step*sort.Search(machine.MaxData/step, func(more int) bool { state, _, _ := run(least + step*more); return state.Error != "" })
			state, events, _ := run(first)
			wantFull(t, state, events)
			if _, _, largest := run(first - step); largest < storeLimit-room {
				t.Errorf("it fails at %d bytes, when the largest item has %d", first, largest)
			}
		})
	}
}

// digits is the object that takes the most room in an item for its bytes as JSON.
func digits(size int) value.Value {
	return value.Object(value.Member{Key: "d", Value: value.Array(slices.Repeat([]value.Value{value.Int(7)}, (size-len(`{"d":[]}`))/len("7,"))...)})
}

// Of a token somebody was told that it succeeded, so it did, and what it held is in
// the history; the answer to its submission gives way.
func TestItemHasRoomForTheLargestOutcome(t *testing.T) {
	t.Parallel()
	flow := parseFlow(t, `{"version":"v1","type":"flow","steps":[{"type":"task","name":"Ask","resourceArn":"acs:fc:::services/s/functions/f",
		"pattern":"waitForCallback","outputMappings":[{"target":"done","source":true}]}]}`)
	env := machine.Env{Flow: flow, Limits: machine.Limits{Data: machine.MaxData}, Keys: keys, Cause: machine.CauseStart, Tag: "t"}
	log := &itemLog{}
	state, events := machine.New(machine.FlowRef{Name: "f", Hash: "h"}, flow, "e", value.Object(), epoch, env.Limits)
	answer := digits(machine.MaxReply)
	for _, sig := range []func() machine.Signal{
		func() machine.Signal { return machine.Started{At: epoch} },
		func() machine.Signal {
			return machine.TokenClosed{
				At: epoch, Attempt: state.Waiting.Attempt, By: token.ClosedByHand, Reply: &answer,
				Outcome: token.Success(digits(machine.MaxData - len(`{}{"done":true}`))),
			}
		},
	} {
		var err error
		if state, _, err = log.put(state, events); err != nil {
			t.Fatal(err)
		}
		next, err := machine.Apply(env, state, sig())
		if err != nil {
			t.Fatal(err)
		}
		state, events = next.State, next.Events
	}
	log.items = append(log.items, log.next(state, events))
	log.wantItems(t)
	wantFull(t, state, events[1:])
	if submitted, succeeded := events[0], events[1]; !submitted.Output.IsMissing() || succeeded.Output.IsMissing() {
		t.Errorf("%v has %d bytes, %v %d", submitted.Type, submitted.Output.Size(), succeeded.Type, succeeded.Output.Size())
	}
}

// Wherever the data comes from, what has no room fails there.
func TestItemLimitFailsTheStepThatExceedsIt(t *testing.T) {
	t.Parallel()
	const f = "resourceArn: 'acs:fc:::services/s/functions/f'"
	const none = "inputMappings: [{target: none, source: true}]"
	wideMap := constants("w", 400)
	for name, tt := range map[string]struct{ flow, cause, types string }{
		"the input of the flow": {"inputMappings: " + wideMap + "\nsteps: [{type: pass, name: P}]", "the flow: ", "ExecutionFailed"},
		"the input of a step": {
			"steps: [{type: pass, name: P, inputMappings: " + wideMap + "}]", "step P: ", "StepEntered StepFailed ExecutionFailed",
		},
		"what a job is started with": {
			"steps: [{type: task, name: J, action: 'batch:SubmitJob', serviceParams: {a: " + wideConstant(400) + "}}]", "step J: ",
			"StepEntered StepFailed ExecutionFailed",
		},
		"the output of the flow": {
			"outputMappings: " + wideMap + "\nsteps: [{type: pass, name: P}]", "the flow: ", "StepEntered StepExited ExecutionFailed",
		},
		"the output of a choice": {
			"steps: [{type: choice, name: C, choices: [{condition: 'true', steps: [{type: pass, name: P, outputMappings: " + constants("p", 30) +
				"}], goto: L}], outputMappings: " +
				wideMap + "}, {type: pass, name: L}]", "step C: ", "StepEntered StepEntered StepExited StepFailed ExecutionFailed",
		},
		"an answer": {
			"steps: [{type: task, name: T, " + f + ", " + none + "}]", "step T: ",
			"StepEntered TaskScheduled TaskStarted TaskFailed StepFailed ExecutionFailed",
		},
		"what errorMappings give": {
			"steps: [{type: task, name: T, " + f + ", " + none + ", errorMappings: " + wideMap + ", catch: [{errors: [FnF.ALL], steps: [{type: pass, name: P}]}]}]",
			"step T: ", "StepEntered TaskScheduled TaskStarted TaskFailed StepFailed ExecutionFailed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &itemLog{}
			limits := machine.Limits{Item: 24_000}
			state, events, _ := log.drive(t, parseFlow(t, "version: v1\ntype: flow\n"+tt.flow), limits, value.Object(), func(int) value.Value {
				return distinct(1, 6_000)
			})
			var types []string
			for _, event := range events[1:] {
				types = append(types, event.Type.String())
			}
			asWanted := state.Error == machine.ErrorDataLimit && strings.HasPrefix(state.Cause, tt.cause+"the state has")
			if got := strings.Join(types, " "); got != tt.types || !asWanted {
				t.Errorf("%s\nwant %s\n%s: %s", got, tt.types, state.Error, state.Cause)
			}
			for i, item := range log.items {
				if len(item) > limits.Item {
					t.Errorf("item %d has %d bytes", i, len(item))
				}
			}
		})
	}
}

// wideConstant is an object with so many members.
func wideConstant(members int) string {
	var text strings.Builder
	for i := range members {
		fmt.Fprintf(&text, "c%05d: 7,", i)
	}
	return "{" + text.String() + "}"
}
