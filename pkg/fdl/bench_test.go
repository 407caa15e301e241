package fdl_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
)

// thousandSteps is a flow of 1,000 steps: polls by goto, branches, retries, catches and mappings.
// As JSON it stands in one line.
func thousandSteps(asJSON bool) string {
	var b strings.Builder
	for i := range 1000 / 8 {
		fmt.Fprintf(&b, `- {type: task, name: Call%[1]d, resourceArn: "acs:fc:::services/s/functions/f%[1]d", timeoutSeconds: 60,
  inputMappings: [{target: id, source: $local.id}, {target: who, source: $context.execution.name}],
  retry: [{errors: [FnF.TaskTimeout, FC.Unknown], intervalSeconds: 5, maxAttempts: 3, multiplier: 1.5}],
  catch: [{errors: [FnF.ALL], goto: Stop%[1]d}], errorMappings: [{target: why, source: $local.cause}]}
- {type: wait, name: Wait%[1]d, duration: 10}
- {type: choice, name: Ask%[1]d, choices: [{condition: '$.status == "done" && $.count in [1, 2, 3]', steps: [{type: pass, name: Note%[1]d}]},
  {condition: $.count < 10, goto: Wait%[1]d}], default: {goto: Stop%[1]d}}
- {type: foreach, name: Each%[1]d, iterationMapping: {collection: $.rows, item: row}, steps: [{type: pass, name: Row%[1]d}]}
- {type: pass, name: Set%[1]d, outputMappings: [{target: n, source: 1}, {target: list, source: [a, b, {c: "x"}]}]}
- {type: pass, name: Stop%[1]d}
`, i)
	}
	if !asJSON {
		return flowOf(b.String())
	}
	return asJSONText(flowOf(b.String()))
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"YAML": thousandSteps(false), "JSON": thousandSteps(true), "mistakes": strings.ReplaceAll(thousandSteps(false), "$.count <", "$.count ="),
	} {
		b.Run(name, func(b *testing.B) {
			flow, problems := fdl.Parse([]byte(text))
			if name != "mistakes" && (flow == nil || len(flow.All) != 1000) {
				b.Fatal(lines(problems))
			}
			for b.Loop() {
				fdl.Parse([]byte(text))
			}
		})
	}
}

// TestParseAllocatesLittle holds what makes BenchmarkParse as fast as the library allows: it makes
// most of them.
func TestParseAllocatesLittle(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts those of all goroutines
	for name, text := range map[string]string{"YAML": thousandSteps(false), "JSON": thousandSteps(true)} {
		allocations := testing.AllocsPerRun(3, func() { fdl.Parse([]byte(text)) })
		if most := 115_000.0; allocations > most {
			t.Errorf("%s: %.0f allocations for 1,000 steps, want at most %.0f", name, allocations, most)
		}
	}
}

func asJSONText(text string) string {
	var document any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		panic(err)
	}
	out, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	return string(out)
}
