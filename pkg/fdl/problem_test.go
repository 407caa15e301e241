package fdl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
)

// lines are the problems as the command prints them.
func lines(problems flow.Problems) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.Format("flow.yaml") + "\n")
	}
	return b.String()
}

// The messages of mistakes that people make are in the folders of mistakes;
// here are the places of the rest.
func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"in the order of the text, whatever was found first", "steps:\n- {type: pass, name: A, name: A}\nname: 1\n", []string{
			`1:1: a flow has no field "version", which is required`,
			`1:1: a flow has no field "type", which is required`,
			`2:25: key "name" is repeated; it stands first at 2:16`,
			`3:7: flow name is number 1; allowed: a letter`,
		}},
		{"a misspelt field is read as the one it means", flowOf("- {Type: fail, nam: A, eror: 1}"), []string{
			`4:4: field "Type" is unknown in a fail step; did you mean "type"?`,
			`4:16: field "nam" is unknown in a fail step; did you mean "name"?`,
			`4:24: field "eror" is unknown in a fail step; did you mean "error"?`,
			`4:30: error is number 1; allowed: text`,
		}},
		{"a goto to a step with problems leads somewhere", flowOf("- {type: x, name: A}\n- {type: wiat, name: B, duration: 1}\n- {type: pass, name: 1 C}\n" +
			"- {type: choice, name: D, choices: [{condition: $.a, goto: A}, {condition: $.b, goto: B}, {condition: $.c, goto: 1 C}]}"), []string{
			`4:10: step type "x" is unknown (allowed`,
			`5:10: step type "wiat" is unknown; did you mean "wait"?`,
			`6:22: step name is text "1 C"; allowed: a letter`,
		}},
		{"what cannot be read is told once", flowOf("- {type: wait, name: A, duration: 0x1}\n" +
			"- {type: !x pass, name: B}\n- !y {type: pass}\n- {type: pass, name: D, !z x: y}\n"), []string{
			`4:35: number 0x1 is not written in decimal`,
			`5:10: tag !x is not supported`,
			`6:3: tag !y is not supported`,
			`7:25: tag !z is not supported`,
		}},
		{"a key that is no text", flowOf("- {type: pass, name: A}\n- type: pass\n  [x]: 1\n- ? {a: b}\n  : 1\n"), []string{
			`6:3: a key is not a text; allowed: text`,
			`7:5: a key is not a text; allowed: text`,
		}},
		{"a repeated mistake behind an alias is told once", flowOf("- {type: pass, name: A, inputMappings: &m [{target: a, source: $input.}]}\n" +
			"- {type: pass, name: B, inputMappings: *m}"), []string{
			`4:71: path $input.: found the end`,
		}},
		{"in quotes with escapes", flowOf(`- {type: choice, name: A, choices: [{condition: "$.a == \"x\" & 1"}, ` +
			`{condition: '$.b == ''x'' & 1'}, {condition: "$.\u0061 & 1"}]}`), []string{
			`4:63: condition $.a == "x" & 1: found "&"`,
			`4:90: condition $.b == 'x' & 1: found "'"`,
			`4:115: condition $.a & 1: found "&"`,
		}},
		{"in a text of many lines, at its begin", flowOf("- type: choice\n  name: A\n  choices:\n  - condition: |\n      $.a &\n      1\n"), []string{
			`7:16: condition $.a & 1 : found "&"`,
		}},
		{"columns count characters", flowOf(`- {type: choice, name: A, choices: [{condition: '"ö😀" = $.x'}]}`), []string{
			`4:55: condition "ö😀" = $.x: found "="`,
		}},
		{"after a byte order mark", "\uFEFFversion: v3\ntype: flow\nsteps: [{type: pass, name: A}]", []string{
			`1:10: version "v3" is unknown`,
		}},
		{"lines that end with two characters", "version: v1\r\ntype: flow\r\nsteps:\r\n- type: choice\r\n" +
			"  name: A\r\n  choices: [{condition: $.a = 1}]\r\n", []string{
			`6:29: condition $.a = 1: found "="`,
		}},
		{"a position beyond the text is where it ends", "---", []string{`1:4: a flow is nothing; allowed: a mapping`}},
		{"a text, without an excerpt", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1\n", []string{
			`1:1: a flow is a text; allowed: a mapping with the fields version, type, name, steps`,
		}},
		{"a mapping without a field of flows, without its keys", "root:*:20228:7::\nroot:*:20228:7::\nname: 0x1\n", []string{
			`1:1: a flow has none of the fields version, type, steps, which are required`,
		}},
		{"a mapping with a misspelt field of flows", "stepz: []\n", []string{
			`1:1: field "stepz" is unknown in a flow; did you mean "steps"?`,
			`1:1: a flow has no field "version"`,
			`1:1: a flow has no field "type"`,
			`1:8: steps`,
		}},
		{"a line separator", "version: v1\u2028", []string{`1:12: the definition has the character "\u2028"`}},
		{"a carriage return alone", "version: v1\rtype: flow", []string{`1:12: the definition has the character "\r"`}},
		{"a control character", "version: v1\ntype: \x07", []string{`2:7: the definition has the character "\a"`}},
		{"an unknown escape", `version: "\q"`, []string{`1:11: the definition is invalid: found a backslash`}},
		{"an alias in itself", flowOf("- &a [*a]\n"), []string{`4:3: a step is a list`, `4:7: alias *a stands inside of what it repeats`}},
		{"JSON", "{\n \"version\": \"v1\", \"type\": \"flow\",\n \"steps\": [{\"type\": \"pass\", \"name\": \"A\", \"end\": 1}, 7]}", []string{
			`3:49: end is number 1; allowed: true, false`,
			`3:53: a step is number 7; allowed: a mapping`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantProblems(t, tt.text, tt.want)
		})
	}
}

// wantProblems compares the problems of a flow with errors, each by how it begins.
func wantProblems(t *testing.T, text string, want []string) {
	t.Helper()
	flow, problems := fdl.Parse([]byte(text))
	if flow != nil {
		t.Error("a flow with errors is given")
	}
	got := strings.Split(strings.TrimSuffix(lines(problems), "\n"), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], "flow.yaml:"+want[i]) {
			t.Fatalf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestWarningsLeaveAFlow(t *testing.T) {
	t.Parallel()
	for source, hint := range map[string]string{
		"$.x":                `; did you mean "$input.x" or "$local.x"?`,
		"$locla.x":           `; did you mean "$local"?`,
		"$Input[0]":          `; did you mean "$input"?`,
		"$100":               "",
		"${input.job}":       `; did you mean "$input.job"?`,
		"${$input.job}":      `; did you mean "$input.job"?`,
		"input.name":         `; did you mean "$input.name"?`,
		"local.jobs[0]":      `; did you mean "$local.jobs[0]"?`,
		"context.flow.name":  `; did you mean "$context.flow.name"?`,
		"{{input.name}}":     `; did you mean "$input.name"?`,
		"{{ $local.name }}":  `; did you mean "$local.name"?`,
		"{{input.a-b[*]}}":   `; did you mean "$input.a-b[*]"?`,
		"${input.two words}": `; did you mean "$input"?`,
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			flow, problems := fdl.Parse([]byte(flowOf("- type: pass\n  name: A\n  outputMappings: [{target: x, source: '" + source + "'}]")))
			want := `flow.yaml:6:40: warning: source text "` + source + `" is a constant, because it does not begin with $input, $local or $context` + hint
			if flow == nil || len(problems.Errors()) != 0 || lines(problems) != want+"\n" {
				t.Errorf("got flow %t and\n%swant\n%s", flow != nil, lines(problems), want)
			}
		})
	}
}

func TestSeverity(t *testing.T) {
	t.Parallel()
	problems := flow.Problems{{Severity: flow.SeverityWarning}, {Severity: flow.SeverityError, Message: "m"}}
	if got := problems.Errors(); len(got) != 1 || got[0].Message != "m" || len(problems) != 2 {
		t.Errorf("errors are %v", got)
	}
	if flow.SeverityError.String() != "error" || flow.SeverityWarning.String() != "warning" {
		t.Error("severities have wrong names")
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	names := []string{"task", "pass", "wait", "choice", "resourceArn"}
	tests := []struct{ found, want string }{
		{"tsak", "task"},
		{"Task", "task"},
		{"taskk", "task"},
		{"wai", "wait"},
		{"choise", "choice"},
		{"resourceARN", "resourceArn"},
		{"resource", ""},
		{"goto", ""},
		{"", ""},
		{"x", ""},
		{strings.Repeat("task", 100), ""},
	}
	for _, tt := range tests {
		want := tt.want
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := similar.DidYouMean(tt.found, names); got != want {
			t.Errorf("%q: got %q, want %q", tt.found, got, want)
		}
	}
}
