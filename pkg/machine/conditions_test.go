package machine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// conditions shows what each of many conditions comes to on one input, each in a
// flow of its own.
func (s *script) conditions(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	input, conditions, _ := strings.Cut(d.Input, "\n")
	var out strings.Builder
	for condition := range strings.SplitSeq(strings.TrimSpace(conditions), "\n") {
		fmt.Fprintln(&out, s.decided(t, d, input, condition))
	}
	return out.String()
}

// decided runs a flow that succeeds when the condition holds, and else fails.
func (s *script) decided(t *testing.T, d *datadriven.TestData, input, condition string) string {
	t.Helper()
	quoted, err := json.Marshal(condition)
	if err != nil {
		t.Fatal(err)
	}
	flow, problems := fdl.Parse(fmt.Appendf(nil, `{"version":"v1","type":"flow","steps":[
		{"type":"choice","name":"Choice","choices":[{"condition":%s,"goto":"Holds"}]},{"type":"fail","name":"HoldsNot"},{"type":"succeed","name":"Holds"}]}`, quoted))
	if flow == nil {
		return "error: " + problems[0].Message
	}
	state, _ := machine.New(machine.FlowRef{Name: "sample", Hash: "hash"}, flow, "run", parseJSON(t, d, input), epoch, machine.Limits{})
	next, err := machine.Apply(machine.Env{Flow: flow, Cause: "wake", Tag: "t"}, state, machine.Started{At: epoch})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%-5t %s", next.State.Status == machine.StatusSucceeded, condition)
}
