package machine_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestMachineAgreesWithNaiveInterpreterOfStates plays random machines in the Amazon States Language
// and compares the end, its instant and all calls with those of an interpreter that reads the JSON
// itself and runs states recursively on whole values.
func TestMachineAgreesWithNaiveInterpreterOfStates(t *testing.T) {
	t.Parallel()
	machines := uint64(600)
	if testing.Short() {
		machines = 100
	}
	input, err := value.ParseJSON([]byte(machinetest.MachineInput))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for seed := range machines {
		text := machinetest.RandomMachine(seed, false)
		flow, problems := asl.Parse([]byte(text))
		if flow == nil {
			t.Fatalf("seed %d: %v\n%s", seed, problems, text)
		}
		judge := &machinetest.NaiveMachine{Epoch: epoch, Name: "run", Steps: 2000}
		want := judge.Run(text, input)
		if judge.Steps < 0 {
			continue // endless
		}
		s := &script{flow: flow, format: machine.Format, limits: machine.Limits{Data: machine.MaxData}}
		if diff := judge.Differs(want, s.played(t, input)); diff != "" || t.Failed() {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		seen[string(s.state.Status)]++
		seen["forks"] += len(s.log.family.logs) - 1
		for what, happened := range judge.Seen {
			seen[what] += happened
		}
	}
	if seen["Succeeded"]+seen["Failed"] < int(machines)*5/6 || seen["Succeeded"] < int(machines)/4 || seen["Failed"] < int(machines)/10 ||
		seen["forks"] < int(machines) || seen["caught Task"] < int(machines)/50 || seen["caught Map"]+seen["caught Parallel"] < int(machines)/50 ||
		seen["tried again Map"]+seen["tried again Parallel"] < int(machines)/50 ||
		seen["failures tolerated"] < int(machines)/50 || seen["tolerance exceeded"] < int(machines)/100 {
		t.Errorf("not much of a test: %v", seen)
	}
}

// Ends that the engine decides have the names of the flow's language in the history.
func TestEndsOfMachinesAreNamed(t *testing.T) {
	t.Parallel()
	def, problems := asl.Parse([]byte(`{"StartAt": "A", "States": {"A": {"Type": "Wait", "Seconds": 9, "End": true}}}`))
	if def == nil {
		t.Fatal(problems)
	}
	begun, _ := machine.New(machine.FlowRef{Name: "m", Hash: "hash"}, def, "run", value.Object(), epoch, machine.Limits{})
	for name, end := range map[string]func(s machine.State) (machine.State, []machine.Event){
		"States.Runtime": func(s machine.State) (machine.State, []machine.Event) {
			return machine.Abandon(def, s, token.Record{}, false, "broken", machine.Entry{By: "defect", Since: epoch})
		},
		"States.Aborted": func(s machine.State) (machine.State, []machine.Event) {
			next := mustApply(t, machine.Env{Flow: def}, s, machine.StopRequested{At: epoch, Error: machine.ErrorStopped})
			return next.State, next.Events
		},
		"FnF.Own": func(s machine.State) (machine.State, []machine.Event) {
			next := mustApply(t, machine.Env{Flow: def}, s, machine.StopRequested{At: epoch, Error: "FnF.Own"})
			return next.State, next.Events
		},
	} {
		state, events := end(mustApply(t, machine.Env{Flow: def}, begun, machine.Started{At: epoch}).State)
		if last := events[len(events)-1]; state.Error != name || last.Error != name {
			t.Errorf("%s: %+v, events %+v", name, state, events)
		}
	}
}
