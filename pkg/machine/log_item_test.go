package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// storeLimit is what every store keeps as one item.
const storeLimit = 390 << 10

// manyPasses is a flow whose steps each put out a key of their own.
func manyPasses(t *testing.T, steps int) *flow.Flow {
	t.Helper()
	var text strings.Builder
	text.WriteString("version: v1\ntype: flow\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&text, "- {type: pass, name: P%d, outputMappings: [{target: k%d, source: %d}]}\n", i, i, i)
	}
	flow, problems := fdl.Parse([]byte(text.String()))
	if flow == nil {
		t.Fatal(problems)
	}
	return flow
}

// wide is an object of many small members, which every merge copies.
func wide(size int) value.Value {
	var members []value.Member
	for i := 0; size > 0; i++ {
		m := whole(fmt.Sprintf("m%05d", i), 7)
		members = append(members, m)
		size -= len(`"m00000":7,`)
	}
	return value.Object(members...)
}

// Steps that run on by themselves go on in another item before one is too large
// for a store, whatever each of them makes anew.
func TestStepsContinueInAnotherItem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ data, limit, items int }{
		"a small input":           {100, 0, 2},
		"as much as a step may":   {31_000, 0, 14},
		"under the highest limit": {120_000, 256 << 10, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const steps = 40
			flow := manyPasses(t, steps)
			limits := machine.Limits{Data: tt.limit}
			at := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
			log := &itemLog{}
			state, events := machine.New(machine.FlowRef{Name: "f", Hash: "h"}, flow, "e", wide(tt.data), at, limits)
			state, _, err := log.put(state, events)
			all := len(events)
			for sig := machine.Signal(machine.Started{At: at}); err == nil && !state.Status.Final(); sig = (machine.TimerDue{At: at}) {
				env := machine.Env{Flow: flow, Limits: limits, Keys: keys, Cause: state.Timer.Tag, Tag: fmt.Sprint("tag", len(log.items))}
				next, problem := log.ask(t, env, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, state, sig) })
				if problem != nil {
					t.Fatal(problem)
				}
				if w := next.State.Waiting; w != nil && (w.For != machine.WaitingForNextLogItem || next.State.Timer.Due != at) {
					t.Fatalf("it waits for %+v", w)
				}
				all += len(next.Events)
				state, _, err = log.put(next.State, next.Events)
			}
			if err != nil || state.Status != machine.StatusSucceeded || all != 2*steps+2 || len(log.items) != tt.items {
				t.Errorf("%s with %d events in %d items: %s %s, %v", state.Status, all, len(log.items), state.Error, state.Cause, err)
			}
			for i, item := range log.items {
				if len(item) > storeLimit {
					t.Errorf("item %d has %d bytes", i, len(item))
				}
			}
		})
	}
}

// However large what a loop passes on is, each of its events is measured once.
//
//nolint:paralleltest // it counts what the process allocates
func TestEventsOfALoopAreMeasuredOnce(t *testing.T) {
	flow := parseFlow(t, `{"version":"v1","type":"flow","steps":[{"type":"pass","name":"Top","inputMappings":[{"target":"x","source":"$input"}]},
		{"type":"choice","name":"Again","choices":[{"condition":"true","goto":"Top"}]}]}`)
	env := machine.Env{Flow: flow, Cause: machine.CauseStart}
	start, _ := machine.New(machine.FlowRef{Name: "flow"}, flow, "run", wide(30_000), epoch, machine.Limits{})
	events := 0.0
	allocations := testing.AllocsPerRun(1, func() {
		next, err := machine.Apply(env, start, machine.Started{At: epoch})
		if err != nil {
			t.Error(err)
		}
		events = float64(next.State.Events)
	})
	if events < 1000 || allocations > 4*events {
		t.Errorf("%.0f allocations for %.0f events", allocations, events)
	}
}
