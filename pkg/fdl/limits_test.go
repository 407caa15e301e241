package fdl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
)

// No text takes the process down or keeps it busy; each of these would.
// rules: L-14 L-15
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const deep = 100_000
	times := strings.Repeat
	tests := []struct{ name, text, want string }{
		{"alias bomb", aliasBomb(), "more than 100000 values"},
		{"deep lists", times("[", deep), "depth"},
		{"deep mappings", times("{a: ", deep*9/10), "depth"},
		{"deep block lists", times("- ", deep), "depth"},
		{"deep keys", times("? ", deep), "depth"},
		{"nested lists", "a: " + lists(501), "more than 500 levels of lists and mappings; split the flow"},
		{"nested JSON", `{"a":` + lists(501) + "}", "more than 500 levels of lists and mappings; split the flow"},
		{
			"a nested constant", flowOf("- {type: pass, name: A, outputMappings: [{target: x, source: " + lists(101) + "}]}"),
			"source has 101 levels of arrays and objects and the limit is 100",
		},
		{
			"nested parameters", flowOf("- {type: task, name: A, action: 'batch:SubmitJob', pattern: sync, serviceParams: {x: " + lists(100) + "}}"),
			"serviceParams has 101 levels of arrays and objects and the limit is 100",
		},
		{"a long definition", flowOf("- {type: pass, name: A}") + "#" + times("x", 390<<10), " bytes and the limit is 399360; split the flow"},
		{"deep JSON", `{"a":` + times("[", deep) + times("]", deep) + "}", "depth"},
		{"deep steps", deepSteps(2_000), "more than 500 levels"},
		{"many steps in one another", deepSteps(100), `step name "A" is repeated`},
		{"wide JSON", `{"a":[` + times("1,", deep) + "1]}", "more than 100000 values"},
		{"wide YAML", "a:\n" + times("-\n", deep+1), "more than 100000 values"},
		{"one long line of problems", `{"steps": [` + times(`{"type": "choice", "name": "A"},`, 5_000) + `1]}`, "repeated"},
		{"many gotos that lead nowhere", manyGotos(1_000), "and 970 more"},
		{"long text", flowOf("- {type: wait, name: A, duration: " + times("x", 300_000) + "}"), "..."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flow, problems := fdl.Parse([]byte(tt.text))
			if got := lines(problems); flow != nil || !strings.Contains(got, tt.want) {
				t.Errorf("got flow %t and %.500s", flow != nil, got)
			}
			for _, p := range problems {
				if len(p.Message) > 2_000 {
					t.Fatalf("a message of %d bytes: %.200s", len(p.Message), p.Message)
				}
			}
		})
	}
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// lists are empty lists in one another.
func lists(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func deepSteps(depth int) string {
	return flowOf("- ") + strings.Repeat("{type: choice, name: A, choices: [{condition: $.x, steps: [", depth) + "{type: pass, name: B}" +
		strings.Repeat("]}]}", depth)
}

func manyGotos(number int) string {
	var b strings.Builder
	for i := range number {
		fmt.Fprintf(&b, "- {type: choice, name: %s%d, choices: [{condition: $.x, goto: %s%d}]}\n", strings.Repeat("a", 50), i, strings.Repeat("b", 50), i)
	}
	return flowOf(b.String())
}
