package asl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flowtest"
	"github.com/waitless/waitless/pkg/value"
)

// rules: JN-1 JN-2 JN-4 JN-10 JN-11 JN-12

// TestQueryProblems compares the problems of states with JSONata, and their places.
func TestQueryProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ state, at, want string }{
		"syntax": {
			`"Type": "Pass", "Output": {"a": ["{% 1 + %}"]}`, `%}"]`,
			`Output/a[0]: the expression ends where an operand is expected (S0207)`,
		},
		"behind a new line": {
			`"Type": "Pass", "Output": "{% \"é\" &\n $x.) %}"`, `) %}`,
			`Output: ")" cannot begin an operand (S0211)`,
		},
		"behind an escape": {
			`"Type": "Pass", "Output": "{% \u0041 ) %}"`, `"{% \u0041`,
			`Output: unexpected ")" behind the expression (S0201), at line 1, column 4 of the expression`,
		},
		"a name alone": {
			`"Type": "Pass", "Output": "{% $sum(phone.number) %}"`, `phone`,
			`Output: "phone" reads the input of the expression`,
		},
		"the input": {
			`"Type": "Pass", "Output": "{% $ %}"`, `$ %}`,
			`Output: "$" reads`,
		},
		"the root": {
			`"Type": "Pass", "Output": "{% $states.input[$ = $$] %}"`, `$$`,
			`Output: "$$" reads`,
		},
		"errorOutput": {
			`"Type": "Pass", "Assign": {"a": "{% $states.errorOutput %}"}`, `$states.errorOutput`,
			`Assign/a: $states.errorOutput has a value only in`,
		},
		"result": {
			`"Type": "Pass", "Output": "{% $states.result.a %}"`, `$states.result.a`,
			`Output: $states.result has no value here`,
		},
		"result of a task": {
			`"Type": "Task", "Resource": "arn:aws:lambda:::function:f", "Output": "{% $states.result %}"`, ``,
			"",
		},
		"unknown variable": {
			`"Type": "Pass", "Assign": {"total": 1}, "Output": "{% $totl %}"`, `$totl`,
			`no state assigns variable $totl, so it has no value; did you mean "total"?`,
		},
		"a field of JSONPath": {
			`"Type": "Wait", "SecondsPath": "$.s"`, `"SecondsPath"`,
			`field "SecondsPath" is unknown in a state of type Wait; it belongs to JSONPath; with JSONata`,
		},
		"a rule of JSONPath": {
			`"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "S"}]`, `"Variable"`,
			`field "Variable" is unknown in a rule; it belongs to JSONPath; with JSONata write Condition`,
		},
		"Condition": {
			`"Type": "Choice", "Choices": [{"Condition": "yes", "Next": "S"}]`, `"yes"`,
			`Condition is text "yes"; allowed: an expression`,
		},
		"Seconds": {
			`"Type": "Wait", "Seconds": "60"`, `"60"`,
			`Seconds is text "60"; allowed: a whole number`,
		},
		"the other language": {
			`"Type": "Pass", "QueryLanguage": "JSONPath"`, `"JSONPath"`,
			`QueryLanguage is JSONPath, and the machine has JSONata`,
		},
		"nothing wrong": {
			`"Type": "Pass", "Output": "{% $map([1], function($v) { $v }) ~> $sum %}"`, ``,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := `{"QueryLanguage": "JSONata", "StartAt": "S", "States": {"S": {` + strings.ReplaceAll(c.state, "\n", `\n`) + `, "End": true}}}`
			_, problems := asl.Parse([]byte(text))
			if c.want == "" && len(problems) == 0 {
				return
			}
			for _, p := range problems {
				if at := string([]rune(text)[p.Column-1:]); c.want != "" && strings.HasPrefix(at, c.at) && strings.HasPrefix(p.Message, `state "S": `+c.want) {
					return
				}
			}
			t.Errorf("problems %v of %s\nwant %s at %s", problems, text, c.want, c.at)
		})
	}
}

// TestQueryInOtherLanguage keeps expressions in states with JSONPath as they are.
func TestQueryInOtherLanguage(t *testing.T) {
	t.Parallel()
	_, problems := asl.Parse([]byte(`{"StartAt": "S", "States": {"S": {"Type": "Pass", "Output": "{% 1 %}", "End": true}}}`))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "it belongs to JSONata") {
		t.Errorf("problems %v, want one about Output", problems)
	}
}

// TestPlainPathsEqualExpressions compares a path that is looked up with the same path in an
// expression that is evaluated.
func TestPlainPathsEqualExpressions(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		`{"a": {"b": 1}}`, `{"a": {"b": [1]}}`, `{"a": {"b": []}}`, `{"a": {"b": null}}`, `{"a": [{"b": 1}, {"b": [2, 3]}, {}]}`, `{"a": [{"b": 1}]}`, `{"a": []}`,
		`{"a": null}`, `{"a": 1}`, `{}`, `[{"a": {"b": 1}}]`, `[[{"a": {"b": [[1], 2]}}]]`, `"a"`, `{"a": {"b": {"c": [{"d": 1}]}}}`, `{"a": {"b": [[1]]}}`,
	} {
		for _, path := range []string{"$states.input", "$states.input.a", "$states.input.a.b", "$var", "$var.a.b"} {
			text := `{"QueryLanguage": "JSONata", "StartAt": "S", "States": {"S": {"Type": "Pass", "Assign": {"var": ` + input + `}, "Next": "T"},
				"T": {"Type": "Pass", "Output": "{% PATH %}", "End": true}}}`
			var got [2]string
			for i, form := range []string{path, "(" + path + ")"} {
				run := flowtest.Test{Flow: []byte(strings.Replace(text, "PATH", form, 1)), Input: json.RawMessage(input)}
				result, err := run.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got[i] = string(result.Output) + result.Error
			}
			if got[0] != got[1] {
				t.Errorf("%s of %s: %s, and evaluated %s", path, input, got[0], got[1])
			}
		}
	}
}

// surroundings is the attempt that a frame belongs to. It implements [flow.Surroundings].
type surroundings struct{ seed string }

func (s surroundings) Context() flow.Context {
	return flow.Context{Step: flow.StepContext{Name: "S", Seed: s.seed, Since: "2026-01-31T10:00:00.250Z"}}
}

func (surroundings) Missing(string, string, string) {}

// TestQueriesRepeat evaluates a state twice for one attempt, and for another one.
func TestQueriesRepeat(t *testing.T) {
	t.Parallel()
	parsed, problems := asl.Parse([]byte(`{"QueryLanguage": "JSONata", "StartAt": "S", "States": {"S": {"Type": "Task", "End": true,
		"Resource": "arn:aws:lambda:::function:f",
		"Arguments": ["{% $uuid() & $random() %}", "{% $string($shuffle([1..20])) %}", "{% $now() %}", "{% $millis() %}"]}}}`))
	if parsed == nil {
		t.Fatal(problems)
	}
	data := parsed.Steps[0].Data
	enter := func(seed string) value.Value {
		return data.Enter(&flow.Frame{Lookup: &value.Lookup{}, Surroundings: surroundings{seed}, Outer: flow.Outer{Input: value.Object()}}).Work
	}
	first, again, other := enter("a"), enter("a"), enter("b")
	if !value.Equal(first, again) || value.Equal(first.At(0), other.At(0)) || value.Equal(first.At(1), other.At(1)) {
		t.Errorf("arguments %s, again %s, and of another attempt %s", first, again, other)
	}
	if first.At(2).Text() != "2026-01-31T10:00:00.250Z" || first.At(3).Text() != "1769853600250" {
		t.Errorf("the instant is %s, and in milliseconds %s", first.At(2), first.At(3))
	}
	if !data.ReadsAttempt() {
		t.Error("a new attempt keeps the arguments of the last one")
	}
}

// held returns v as an item of a log reads it that refers to an earlier one.
func held(v value.Value) value.Value {
	for seq := range uint64(2) {
		e := &value.Encoder{Origin: value.Origin{Log: "log", Seq: seq}}
		e.Value(v)
		v = value.NewDecoderAt(e.Origin, e.Bytes()).Value()
	}
	return v
}

// TestPlainPathKeepsReference finds that a path does not load a large value, and that an expression
// loads only the part that it reads.
func TestPlainPathKeepsReference(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]int{
		"$states.input.large": 0, "$states.input.small": 0, "$states.input.small & 'x'": 0, "$length($states.input.large)": 1, "$count($states.input)": 2,
	} {
		text := `{"QueryLanguage": "JSONata", "StartAt": "S", "States": {"S": {"Type": "Pass", "End": true, "Output": "{% ` + expression + ` %}"}}}`
		parsed, problems := asl.Parse([]byte(text))
		if parsed == nil {
			t.Fatal(problems)
		}
		large := value.String(strings.Repeat("x", 1000))
		input := held(value.Object(
			value.Member{Key: "large", Value: large}, value.Member{Key: "other", Value: value.String(large.Text() + "y")},
			value.Member{Key: "small", Value: value.String("s")},
		))
		lookup := &value.Lookup{}
		exit := parsed.Steps[0].Data.Leave(&flow.Frame{Lookup: lookup, Surroundings: surroundings{}, Input: input, Outer: flow.Outer{Input: input}})
		if len(lookup.Load) != want || exit.Failure.Failed() {
			t.Errorf("%s loads %d values, want %d (%s)", expression, len(lookup.Load), want, exit.Failure.Cause)
		}
	}
}

// BenchmarkOutput computes the output of a state with a path that is looked up, with the same path
// in an expression, and with the path of a state with JSONPath.
func BenchmarkOutput(b *testing.B) {
	input, err := value.ParseJSON([]byte(`{"order": {"customer": {"name": "Ada"}}, "items": [1, 2, 3]}`))
	if err != nil {
		b.Fatal(err)
	}
	for name, state := range map[string]string{
		"path": `"Output": "{% $states.input.order.customer.name %}"`, "expression": `"Output": "{% ($states.input.order.customer.name) %}"`,
		"JSONPath": `"QueryLanguage": "JSONPath", "OutputPath": "$.order.customer.name"`,
		"object":   `"Output": "{% {'name': $states.input.order.customer.name, 'first': $states.input.items[0], 'count': $count($states.input.items)} %}"`,
	} {
		b.Run(name, func(b *testing.B) {
			text := `{"StartAt": "S", "States": {"S": {"Type": "Pass", "End": true, "QueryLanguage": "JSONata", ` + state + `}}}`
			if strings.HasPrefix(state, `"QueryLanguage"`) {
				text = strings.Replace(text, `"QueryLanguage": "JSONata", `, "", 1)
			}
			parsed, problems := asl.Parse([]byte(text))
			if parsed == nil {
				b.Fatal(problems)
			}
			b.ReportAllocs()
			for b.Loop() {
				frame := flow.Frame{Lookup: &value.Lookup{}, Surroundings: surroundings{}, Input: input, Outer: flow.Outer{Input: input}}
				if exit := parsed.Steps[0].Data.Leave(&frame); exit.Failure.Failed() {
					b.Fatal(exit.Failure)
				}
			}
		})
	}
}

// FuzzQuery parses a state with any expression and evaluates it. Neither panics, and the same
// attempt has the same output.
func FuzzQuery(f *testing.F) {
	for _, expression := range []string{
		"$states.input.a[0].b", "$states", "$partition($states.input.a, 2)", "$random() & $uuid()", "$range(0, 5, 2)", "a.b", "$$", "$v ~> |$|{}|", "1 +",
		"$parse('[1]')[0]", "$hash('a', 'MD5')", "$states.input.(a; $now())", "$map($states.input.a, function($x) { $x.b })", "$states.context.State", "$random(7)",
	} {
		f.Add(expression, `{"a": [{"b": 1}, {"b": [2]}], "c": "x"}`)
	}
	f.Fuzz(func(t *testing.T, expression, input string) {
		text, err := json.Marshal(map[string]any{"QueryLanguage": "JSONata", "StartAt": "S", "States": map[string]any{"S": map[string]any{
			"Type": "Pass", "End": true, "Output": map[string]string{"v": "{%" + expression + "%}"}, "Assign": map[string]string{"v": "{%" + expression + "%}"},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		parsed, _ := asl.Parse(text)
		in, err := value.ParseJSON([]byte(input))
		if parsed == nil || err != nil {
			return
		}
		leave := func() flow.Exit {
			return parsed.Steps[0].Data.Leave(&flow.Frame{Lookup: &value.Lookup{}, Surroundings: surroundings{"s"}, Input: in, Outer: flow.Outer{Input: in}})
		}
		if first, again := leave(), leave(); !value.Equal(first.Output, again.Output) || first.Failure.Cause != again.Failure.Cause {
			t.Errorf("%s of %s: %s (%s), and again %s (%s)", expression, input, first.Output, first.Failure.Cause, again.Output, again.Failure.Cause)
		}
	})
}
