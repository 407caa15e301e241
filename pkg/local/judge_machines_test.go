package local_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/value"
)

// TestJudgedMachines runs random machines in the Amazon States Language, and compares the end, its
// instant, all calls and the order of the events with those of a naive interpreter.
func TestJudgedMachines(t *testing.T) {
	t.Parallel()
	machines := uint64(600)
	if testing.Short() {
		machines = 50
	}
	input, err := value.ParseJSON([]byte(machinetest.MachineInput))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for seed := range machines {
		text := machinetest.RandomMachine(seed, true)
		judge := &machinetest.NaiveMachine{Epoch: judged, Name: "run", Steps: 2000, Replies: machinetest.MachineReplies(text)}
		want := judge.Run(text, input)
		if judge.Steps < 0 {
			continue // endless
		}
		seen["compared"]++
		got, system := judgedFlows{text: []byte(text)}.execution(t, input, judge.Replies)
		diff := judge.Differs(want, got)
		if diff == "" {
			diff = judge.DiffersInOrder(machineEvents(t, system))
		}
		if diff != "" {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		for what, happened := range judge.Seen {
			seen[what] += happened
		}
	}
	if seen["compared"] < int(machines)*5/6 || seen["forks"] < int(machines)/4 || seen["caught Task"] < int(machines)/50 ||
		seen["caught Map"]+seen["caught Parallel"] < int(machines)/100 {
		t.Errorf("not much of a test: %v", seen)
	}
}

// machineEvents returns the events of an execution as the API of Step Functions shows them.
func machineEvents(t *testing.T, system *local.System) (events []machinetest.MachineEvent) {
	t.Helper()
	state, err := system.Client.Describe(t.Context(), engine.NewID(judgedName, "run"))
	if err != nil {
		t.Fatal(err)
	}
	flow, err := system.Client.Flow(t.Context(), state.Flow)
	if err != nil {
		t.Fatal(err)
	}
	history, err := system.Client.History(t.Context(), state.ID())
	if err != nil {
		t.Fatal(err)
	}
	shown, err := sfn.Render(flow, "us-east-1", history)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range shown {
		var event struct {
			Type            string
			Entered, Exited struct{ Name string }
		}
		names := strings.NewReplacer("stateEnteredEventDetails", "entered", "stateExitedEventDetails", "exited")
		if err := json.Unmarshal([]byte(names.Replace(string(text))), &event); err != nil {
			t.Fatal(err)
		}
		events = append(events, machinetest.MachineEvent{Type: event.Type, State: event.Entered.Name + event.Exited.Name})
	}
	return events
}
