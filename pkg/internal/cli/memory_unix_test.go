//go:build unix

package cli

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestRunMemoryOfForeach compares the memory of the shipped command at 10,000 items with that at
// 100. What a run keeps does not grow with the items, except for the items and their results.
func TestRunMemoryOfForeach(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", `version: v1
type: flow
steps:
- type: foreach
  name: Each
  inputMappings: [{target: list, source: $input.list}]
  iterationMapping: {collection: $.list, item: one}
  steps:
  - {type: task, name: Call, resourceArn: "acs:fc:::services/any/functions/echo", inputMappings: [{target: one, source: $input.one}]}
`)
	few, many := memoryOfRun(t, flow, 100), memoryOfRun(t, flow, 10_000)
	if most := 1.6 * float64(few); float64(many) > most {
		t.Errorf("10,000 items take %d, 100 items %d", many, few)
	}
}

// memoryOfRun returns the most memory that a run with so many items had.
func memoryOfRun(t *testing.T, flow string, items int) int64 {
	t.Helper()
	list := strings.TrimSuffix(strings.Repeat("1,", items), ",")
	run := command(t, "run", flow, "--input", "@"+writeFile(t, "input-"+strconv.Itoa(items)+".json", `{"list":[`+list+`]}`))
	run.Env = append(run.Env, "GOGC=") // as users run it
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	usage, _ := run.ProcessState.SysUsage().(*syscall.Rusage)
	return usage.Maxrss
}
