package fdl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
)

// wantWarnings compares the warnings of a flow that runs, each after its place.
func wantWarnings(t *testing.T, steps string, want ...string) {
	t.Helper()
	flow, problems := fdl.Parse([]byte(flowOf(steps)))
	if flow == nil || len(problems) != len(want) {
		t.Fatalf("got flow %t and %d problems, want %d:\n%s", flow != nil, len(problems), len(want), lines(problems))
	}
	for i, p := range problems {
		if got := p.Format("f"); !strings.HasPrefix(got, "f:"+want[i]) {
			t.Errorf("got %q, want %q", got, want[i])
		}
	}
}

func TestParseWarnsOfPathsInTexts(t *testing.T) {
	t.Parallel()
	wantWarnings(t, `- type: pass
  name: A
  outputMappings:
  - {target: a, source: "hello $input.name"}
  - {target: b, source: {to: ["$local.x", "$localize"], "$input.key": 1}}
  - {target: c, source: "costs $5, see $context"}
  - {target: d, source: "$input.name"}
`, `7:32: warning: text "hello $input.name" is a constant: no path is replaced`, `8:32: warning: text "$local.x" is a constant`,
		`9:40: warning: text "costs $5, see $context" is a constant`)
}

func TestParseWarnsOfPlaceholders(t *testing.T) {
	t.Parallel()
	wantWarnings(t, "- {type: task, name: A, resourceArn: 'acs:fc:{region}:{account}:services/{serviceName}/functions/f'}\n",
		`4:38: warning: resource "acs:fc:{region}:{account}:services/{serviceName}/functions/f" has the placeholder {serviceName} in place of a service`)
}

func TestParseWarnsOfFunctionsOfOneName(t *testing.T) {
	t.Parallel()
	wantWarnings(t, `- {type: task, name: A, resourceArn: 'acs:fc:::services/s1/functions/run'}
- {type: task, name: B, resourceArn: 'acs:fc:::services/s1.prod/functions/run'}
- {type: task, name: C, resourceArn: 'arn:aws:lambda:::function:run'}
- {type: task, name: D, resourceArn: 'acs:fc:::services/s2/functions/run'}
`, `7:38: warning: function "run" of service "s2" has the name of one of service "s1" at 4:38: name each as a task, s1/run and s2/run`)
}

func TestParseWarnsOfUnreachedSteps(t *testing.T) {
	t.Parallel()
	const task = "resourceArn: 'acs:fc:::services/s/functions/f'"
	for name, tt := range map[string]struct {
		steps []string
		want  []string
	}{
		"after succeed": {[]string{"type: succeed, name: A", "type: pass, name: B", "type: pass, name: C"}, []string{"B"}},
		"after fail":    {[]string{"type: fail, name: A", "type: pass, name: B"}, []string{"B"}},
		"after an end":  {[]string{"type: pass, name: A, end: true", "type: pass, name: B"}, []string{"B"}},
		"two groups": {[]string{
			"type: choice, name: A, default: {goto: C}, choices: [{condition: $.a, goto: C}]", "type: pass, name: B", "type: succeed, name: C", "type: pass, name: D",
		}, []string{"B", "D"}},
		"a choice without default": {[]string{"type: choice, name: A, choices: [{condition: $.a, goto: C}]", "type: pass, name: B", "type: succeed, name: C"}, nil},
		"a choice that ends": {[]string{
			"type: choice, name: A, end: true, choices: [{condition: $.a, goto: C}]", "type: pass, name: B", "type: succeed, name: C",
		}, []string{"B"}},
		"a goto backwards": {[]string{"type: pass, name: A", "type: choice, name: B, end: true, choices: [{condition: $.a, goto: A}]"}, nil},
		"a catch":          {[]string{"type: task, name: A, " + task + ", end: true, catch: [{errors: [FnF.ALL], goto: B}]", "type: pass, name: B"}, nil},
		"a catch with steps that fail": {[]string{
			"type: task, name: A, " + task + ", end: true, catch: [{errors: [FnF.ALL], steps: [{type: fail, name: F}], goto: B}]", "type: pass, name: B",
		}, []string{"B"}},
		"a branch that fails": {[]string{
			"type: choice, name: A, choices: [{condition: $.a, steps: [{type: fail, name: F}]}], " +
				"default: {steps: [{type: pass, name: G}, {type: fail, name: H}]}", "type: pass, name: B",
		}, []string{"B"}},
		"a branch that succeeds": {[]string{
			"type: choice, name: A, choices: [{condition: $.a, steps: [{type: succeed, name: S}]}], default: {steps: [{type: fail, name: H}]}", "type: pass, name: B",
		}, nil},
		"inside of a branch": {[]string{
			"type: choice, name: A, choices: [{condition: $.a, steps: [{type: succeed, name: S}, {type: pass, name: B}]}]",
		}, []string{"B"}},
		"a branch of an unreached choice": {[]string{
			"type: succeed, name: S", "type: choice, name: B, choices: [{condition: $.a, steps: [{type: succeed, name: T}, {type: pass, name: C}]}]",
		}, []string{"B"}},
		"a branch that never ends": {[]string{
			"type: choice, name: A, choices: [{condition: $.a, steps: [{type: choice, name: L, default: {goto: L}, " +
				"choices: [{condition: $.b, goto: L}]}]}], default: {goto: C}",
			"type: pass, name: B", "type: pass, name: C",
		}, []string{"B"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flow, problems := fdl.Parse([]byte(flowOf("- {" + strings.Join(tt.steps, "}\n- {") + "}\n")))
			var got []string
			for _, p := range problems {
				if name, ok := strings.CutPrefix(p.Message, `step "`); ok {
					got = append(got, name[:1])
				}
			}
			if flow == nil || len(got) != len(problems) || fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %q, want %q:\n%s", got, tt.want, lines(problems))
			}
		})
	}
}

// rules: L-17
func TestParseLimitsProblems(t *testing.T) {
	t.Parallel()
	text := func(problems int) []byte {
		return []byte(flowOf(strings.Repeat("- {}\n", problems) + "- {type: pass, name: A, outputMappings: [{target: x, source: $.x}]}"))
	}
	_, problems := fdl.Parse(text(fdl.MaxProblems - 1))
	if len(problems) != fdl.MaxProblems || problems[fdl.MaxProblems-1].Severity != fdl.SeverityWarning {
		t.Errorf("got %d problems, want all %d", len(problems), fdl.MaxProblems)
	}
	flow, problems := fdl.Parse(text(70_000))
	last := problems[len(problems)-1]
	if flow != nil || len(problems) != fdl.MaxProblems+1 || len(lines(problems)) > 64<<10 ||
		last.String() != "104:3" || last.Message != "and 69901 more problems; repair those above first" {
		t.Errorf("got flow %t and %d problems, the last one %s", flow != nil, len(problems), last.Format("f"))
	}
}

func TestParseLimitsWarningsFirst(t *testing.T) {
	t.Parallel()
	mappings := make([]string, 2*fdl.MaxProblems)
	for i := range mappings {
		mappings[i] = fmt.Sprintf("{target: t%d, source: $.x}", i)
	}
	pass := "- {type: pass, name: A, outputMappings: [" + strings.Join(mappings, ", ") + "]}\n"
	flow, problems := fdl.Parse([]byte(flowOf(pass)))
	if last := problems[len(problems)-1]; flow == nil || len(problems) != fdl.MaxProblems+1 || last.Severity != fdl.SeverityWarning {
		t.Errorf("got flow %t and %d problems, the last one %s", flow != nil, len(problems), last.Format("f"))
	}
	flow, problems = fdl.Parse([]byte(flowOf(pass + "- {type: pass}\n")))
	if flow != nil || len(problems.Errors()) != 1 || len(problems) != fdl.MaxProblems+1 {
		t.Errorf("got flow %t and %d problems, %d errors", flow != nil, len(problems), len(problems.Errors()))
	}
}

// Finding the steps that follow takes no longer for series that stand deep in one another.
func TestUnreachedStepsOfDeepSeries(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `{"type":"choice","name":"C%d","choices":[{"condition":"$.a","steps":[{"type":"pass","name":"P%d"},`, i, i)
	}
	b.WriteString(`{"type":"pass","name":"End"}` + strings.Repeat("]}]}", 100))
	flow, problems := fdl.Parse([]byte(`{"version":"v1","type":"flow","steps":[` + b.String() + "]}"))
	if flow == nil || len(problems) != 0 {
		t.Errorf("got flow %t and %s", flow != nil, lines(problems))
	}
}
