package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// TestMachineAgreesWithNaiveInterpreter plays random flows with forks and compares the end, its
// instant and all calls with those of an interpreter that runs a flow recursively on whole values.
func TestMachineAgreesWithNaiveInterpreter(t *testing.T) {
	t.Parallel()
	flows := uint64(600)
	if testing.Short() {
		flows = 100
	}
	seen := map[string]int{}
	for seed := range flows {
		text := machinetest.RandomFlow(seed, false)
		flow, problems := fdl.Parse([]byte(text))
		if flow == nil {
			t.Fatalf("seed %d: %v\n%s", seed, problems, text)
		}
		input, err := value.ParseJSON([]byte(machinetest.RandomInput))
		if err != nil {
			t.Fatal(err)
		}
		format := 2
		if seed%2 == 0 && !machinetest.HandlesForks(flow) {
			format = 1
		}
		judge := &machinetest.Naive{Epoch: epoch, Steps: 2000, FixedParts: format == 1}
		want := judge.Run(flow, input)
		if judge.Steps < 0 {
			seen["endless"]++
			continue
		}
		s := &script{flow: flow, format: format, limits: machine.Limits{Data: machine.MaxData}}
		if diff := want.Differs(s.played(t, input), epoch); diff != "" || t.Failed() {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		checkNumbers(t, s.history(t, s.log.id, &machine.Numbering{}))
		seen[string(s.state.Status)]++
		seen["forks"] += len(s.log.family.logs) - 1
		for what, happened := range judge.Seen {
			seen[what] += happened
		}
	}
	if seen["forks"] < int(flows) || seen["Succeeded"] < int(flows)/4 || seen["Failed"] < int(flows)/10 ||
		seen["caught forks"] < int(flows)/50 || seen["forks tried again"] < int(flows)/50 ||
		seen["failures tolerated"] < int(flows)/50 || seen["tolerance exceeded"] < int(flows)/100 {
		t.Errorf("not much of a test: %v", seen)
	}
}

// checkNumbers checks that the ids of a history grow.
func checkNumbers(t *testing.T, history string) {
	t.Helper()
	last := 0
	for line := range strings.Lines(history) {
		var id, by int
		if _, err := fmt.Sscanf(line, "%d<%d", &id, &by); err != nil || id <= last || by > last || by < 0 {
			t.Errorf("%v: event %d caused by %d follows event %d", err, id, by, last)
		}
		last = id
	}
}

// played runs the flow on the machine.
func (s *script) played(t *testing.T, input value.Value) machinetest.End {
	t.Helper()
	state, events := machine.New(machine.FlowRef{Name: "sample", Hash: "hash"}, s.flow, "run", input, epoch, s.limits)
	s.log.known()
	s.state, _, _ = s.log.put(state, events)
	s.apply(t, machine.Started{At: epoch})
	p := &player{t: t, now: epoch, open: []*script{s}}
	for p.step() {
	}
	end := machinetest.End{At: s.state.At, Local: s.log.complete(t, s.state.Output), Calls: p.calls}
	if s.state.Status == machine.StatusFailed {
		end.Failures = []string{s.state.Error}
	}
	return end
}
