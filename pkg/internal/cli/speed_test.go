package cli

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestStartOfTheProgram checks what a start costs before the command begins: the packages of
// Waitless allocate little, and the garbage collector does not run.
func TestStartOfTheProgram(t *testing.T) {
	t.Parallel()
	cmd := command(t, "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1,gctrace=1", "GOGC=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	allocations := 0
	for _, match := range regexp.MustCompile(`(?m)^init github.com/waitless/waitless/.* (\d+) allocs$`).FindAllSubmatch(out, -1) {
		count, _ := strconv.Atoi(string(match[1])) // digits
		allocations += count
	}
	if most := 400; allocations == 0 || allocations > most {
		t.Errorf("%d allocations in the initialization of our packages, want 1 to %d\n%s", allocations, most, out)
	}
	if strings.Contains(string(out), "\ngc 1 ") {
		t.Errorf("the garbage collector ran:\n%s", out)
	}
}

// BenchmarkValidate measures `waitless validate` of a flow with 1,000 steps from outside: the start
// of the process, the reading and the output. The budget is 20 ms for the shortest run, which the
// load of the machine delays least.
//
//	go test -run '^$' -bench Validate -benchtime 100x ./pkg/internal/cli
func BenchmarkValidate(b *testing.B) {
	const steps = 1000
	var text strings.Builder
	text.WriteString("version: v1\ntype: flow\nsteps:\n")
	for i := range steps / 5 {
		fmt.Fprintf(&text, `- {type: task, name: Call%[1]d, resourceArn: "acs:fc:::services/s/functions/f%[1]d", timeoutSeconds: 60,
  inputMappings: [{target: id, source: $local.id}, {target: who, source: $context.execution.name}],
  retry: [{errors: [FnF.TaskTimeout, FC.Unknown], intervalSeconds: 5, maxAttempts: 3, multiplier: 1.5}],
  catch: [{errors: [FnF.ALL], goto: Stop%[1]d}]}
- {type: wait, name: Wait%[1]d, duration: 10}
- {type: choice, name: Ask%[1]d, choices: [{condition: '$.status == "done" && $.count > 3', steps: [{type: pass, name: Note%[1]d}]}],
  default: {goto: Wait%[1]d}}
- {type: pass, name: Stop%[1]d, outputMappings: [{target: n, source: 1}, {target: list, source: [a, b, {c: "x"}]}]}
`, i)
	}
	flow, binary := writeFile(b, "flow.yaml", text.String()), program(b)
	shortest := time.Hour
	for b.Loop() {
		began := time.Now()
		out, err := exec.Command(binary, "validate", flow).CombinedOutput()
		if shortest = min(shortest, time.Since(began)); err != nil || !strings.Contains(string(out), "valid, 1000 steps") {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	b.ReportMetric(float64(shortest.Microseconds())/1000, "ms")
}
