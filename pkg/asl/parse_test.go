package asl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/asl"
)

// TestParseReports finds mistakes that Step Functions refuses, too.
func TestParseReports(t *testing.T) {
	t.Parallel()
	pass := func(expression string) string {
		return `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Parameters": {"x.$": "` + expression + `"}, "End": true}}}`
	}
	for text, want := range map[string]string{
		`{"StartAt": "A", "States": {"A": {"Type": "Succeed"},}}`:                       `1:54: the machine begins with { and is not JSON: invalid character '}'`,
		"{\n  'StartAt': 'A', 'States': {'A': {Type: Succeed}}}":                        `2:3: the machine begins with { and is not JSON: invalid character '\''`,
		"{ // first\n\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}": `1:3: the machine begins with { and is not JSON`,
		pass(`States.Format('{}')`):                                                     "has more places {} than there are values",
		pass(`States.Format('a', $.b)`):                                                 "has fewer places {} than there are values",
		pass(`States.Hash($.a, 'md5')`):                                                 "md5",
		pass(`States.Format(\"a {}\", $.b)`):                                            "a text in a call stands in single quotes",
		pass(`States.MathAdd(1)`):                                                       "States.MathAdd has 1 argument; allowed: 2",
		pass(`States.MathRandom(1)`):                                                    "States.MathRandom has 1 argument; allowed: 2 to 3",
		pass(`States.Format()`):                                                         "States.Format has 0 arguments; allowed: at least 1",
		`{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": []}}}`:          `Choices is empty; write at least one of the rules`,
	} {
		parsed, problems := asl.Parse([]byte(text))
		if parsed != nil || len(problems) == 0 || !strings.Contains(problems[0].Format("m"), want) {
			t.Errorf("%s: got %v, want %s", text, problems, want)
		}
	}
	for _, text := range []string{"StartAt: A\nStates: {'A': {Type: Succeed,}}", "\uFEFF" + pass(`States.Format('{} \\{}', $.a)`), pass(`States.Hash($.a, $.b)`)} {
		if parsed, problems := asl.Parse([]byte(text)); parsed == nil {
			t.Errorf("%s: %v", text, problems)
		}
	}
}
