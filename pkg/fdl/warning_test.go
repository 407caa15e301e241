package fdl_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
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

func TestParseWarnsOfPathsOfOtherLanguagesInTexts(t *testing.T) {
	t.Parallel()
	wantWarnings(t, `- type: pass
  name: A
  outputMappings:
  - {target: a, source: "mode $.mode of ${input.name}"}
  - {target: b, source: ["$.x", "of {{input.name}}", "of {{ local.y }}", "of ${context.flow.name}"]}
  - {target: c, source: "costs $5, $.50 or $. of the inputs. {input} of {{name}}"}
`, `7:31: warning: text "mode $.mode of ${input.name}" is a constant: no path is replaced`, `8:27: warning: text "$.x" is a constant`,
		`8:37: warning: text "of {{input.name}}" is a constant`, `8:58: warning: text "of {{ local.y }}" is a constant`,
		`8:78: warning: text "of ${context.flow.name}" is a constant`)
}

func TestParseDoesNotWarnOfConstants(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"input", "input.", "input.csv", "local.d/input.json", "inputs.name", "input name.x", "{{name}}", "{input.name}", "{{input}}", "{}", "local time",
		"context: input.name",
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			wantWarnings(t, `- {type: pass, name: A, outputMappings: [{target: x, source: "`+source+`"}]}`+"\n")
		})
	}
}

func TestParseWarnsOfKeysLikePaths(t *testing.T) {
	t.Parallel()
	wantWarnings(t, `- type: foreach
  name: All
  iterationMapping: {collection: $.toml, item: $.row, index: $index}
  steps:
  - type: pass
    name: A
    outputMappings:
    - {target: $.plan.out, source: 1}
    - {target: $local.x, source: 2}
    - {target: "$.a b", source: 3}
    - {target: $, source: 4}
    - {target: a$, source: 5}
`, `6:48: warning: item "$.row" is a key and not a path; did you mean "row"?`, `6:62: warning: index "$index" is a key and not a path; did you mean "index"?`,
		`11:16: warning: target "$.plan.out" is a key and not a path; did you mean "plan.out"?`,
		`12:16: warning: target "$local.x" is a key and not a path; did you mean "x"?`,
		`13:16: warning: target "$.a b" is a key and not a path; did you mean "a b"?`, `14:16: warning: target "$" is a key and not a path`)
}

func TestParseWarnsOfTheLocalValueOfAPass(t *testing.T) {
	t.Parallel()
	wantWarnings(t, `- {type: pass, name: A, inputMappings: [{target: x, source: $local}], outputMappings: [{target: x, source: $local}]}
- {type: wait, name: B, duration: 1, outputMappings: [{target: x, source: $local}]}
- {type: task, name: C, resourceArn: 'acs:fc:::services/s/functions/f', outputMappings: [{target: x, source: $local}]}
`, `4:108: warning: source $local is always empty: a pass step has no local value; its input is $input`,
		`5:75: warning: source $local is always empty: a wait step has no local value; its input is $input`)
}

// errorsFlow is a flow with a task that catches an error.
func errorsFlow(name, resource string) string {
	return "- {type: task, name: A, resourceArn: '" + resource + "', catch: [{errors: ['" + name + "'], goto: B}]}\n- {type: pass, name: B}\n"
}

func TestParseWarnsOfUnknownErrors(t *testing.T) {
	t.Parallel()
	const function, flow = "acs:fc:::services/s/functions/f", "acs:fnf:::flow/f"
	for _, tt := range []struct{ name, resource, want string }{
		{"FnF.Timeout", function, `error name "FnF.Timeout" is unknown; did you mean "FnF.TaskTimeout"? (errors of Waitless: FnF.ALL, `},
		{"FnF.TaskTimeuot", function, `error name "FnF.TaskTimeuot" is unknown; did you mean "FnF.TaskTimeout"?`},
		{"fnf.TaskTimeout", function, `error name "fnf.TaskTimeout" is unknown; did you mean "FnF.TaskTimeout"?`},
		{"FnF.RuntimeError", function, `error name "FnF.RuntimeError" is unknown (errors of Waitless: `},
		{"Token.Revokd", function, `error name "Token.Revokd" is unknown; did you mean "Token.Revoked"? (errors of Waitless: `},
		{"Token.Other", function, `error name "Token.Other" is unknown (errors of Waitless: `},
		{"FnF.TaskTimeuot", flow, `error name "FnF.TaskTimeuot" is unknown; did you mean "FnF.TaskTimeout"?`},
		{"FC.ResourceThrotled", function, `error name "FC.ResourceThrotled" is unknown; did you mean "FC.ResourceThrottled"?`},
		{"FC.unknown", function, `error name "FC.unknown" is unknown; did you mean "FC.Unknown"?`},
		{"FnF.RuntimeError", flow, ""},
		{"FC.ServiceNotFound", function, ""},
		{"FC.FunctionNotStarted", function, ""},
		{"FC.Unknowable", function, ""},
		{"Timeout", function, ""},
		{"fnf.MyError", function, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			steps := errorsFlow(tt.name, tt.resource)
			if tt.want == "" {
				wantWarnings(t, steps)
				return
			}
			at := fmt.Sprintf("4:%d: warning: ", strings.Index(steps, "['")+2)
			wantWarnings(t, steps, at+tt.want)
		})
	}
}

// The page of errors lists all names that the parser knows.
func TestParseKnowsTheErrorsOfThePage(t *testing.T) {
	t.Parallel()
	known := 0
	row := regexp.MustCompile("(?m)^\\| `((?:FnF|FC|Token|fnf)\\.[A-Za-z]+)` \\|")
	for _, match := range row.FindAllStringSubmatch(string(readFile(t, "../docs/reference/errors.md")), -1) {
		known++
		wantWarnings(t, errorsFlow(match[1], "acs:fc:::services/s/functions/f"))
		misspelt := match[1][:len(match[1])-1] + "_"
		_, problems := fdl.Parse([]byte(flowOf(errorsFlow(misspelt, "acs:fc:::services/s/functions/f"))))
		if !strings.Contains(lines(problems), "; did you mean "+strconv.Quote(match[1])) {
			t.Errorf("%s: got %q", misspelt, lines(problems))
		}
	}
	if known < 28 {
		t.Errorf("%d names were found, want at least 28", known)
	}
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
	_, problems := fdl.Parse(text(flow.MaxProblems - 1))
	if len(problems) != flow.MaxProblems || problems[flow.MaxProblems-1].Severity != flow.SeverityWarning {
		t.Errorf("got %d problems, want all %d", len(problems), flow.MaxProblems)
	}
	def, problems := fdl.Parse(text(70_000))
	last := problems[len(problems)-1]
	if def != nil || len(problems) != flow.MaxProblems+1 || len(lines(problems)) > 64<<10 ||
		last.String() != "104:3" || last.Message != "and 69901 more problems; repair those above first" {
		t.Errorf("got flow %t and %d problems, the last one %s", def != nil, len(problems), last.Format("f"))
	}
}

func TestParseLimitsWarningsFirst(t *testing.T) {
	t.Parallel()
	mappings := make([]string, 2*flow.MaxProblems)
	for i := range mappings {
		mappings[i] = fmt.Sprintf("{target: t%d, source: $.x}", i)
	}
	pass := "- {type: pass, name: A, outputMappings: [" + strings.Join(mappings, ", ") + "]}\n"
	def, problems := fdl.Parse([]byte(flowOf(pass)))
	if last := problems[len(problems)-1]; def == nil || len(problems) != flow.MaxProblems+1 || last.Severity != flow.SeverityWarning {
		t.Errorf("got flow %t and %d problems, the last one %s", def != nil, len(problems), last.Format("f"))
	}
	def, problems = fdl.Parse([]byte(flowOf(pass + "- {type: pass}\n")))
	if def != nil || len(problems.Errors()) != 1 || len(problems) != flow.MaxProblems+1 {
		t.Errorf("got flow %t and %d problems, %d errors", def != nil, len(problems), len(problems.Errors()))
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
