package fdl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

// jsonOf is a flow on one line of JSON, with the repeated part in a list.
func jsonOf(begin, part, end string) lineartest.Text {
	return lineartest.Repeated(`{"version":"v1","type":"flow","steps":[`+begin, part, end+`{"type":"pass","name":"Z"}]}`)
}

// rules: L-13 L-14
func TestParseIsLinear(t *testing.T) {
	t.Parallel()
	inFlow := func(begin, part, end string) lineartest.Text { return lineartest.Repeated(flowOf(begin), part, end) }
	const mappings = `{"type":"pass","name":"A","outputMappings":[`
	lineartest.Check(t, func(text string) { _, _ = fdl.Parse([]byte(text)) }, 700, map[string]lineartest.Text{
		"steps":              inFlow("", "- {type: pass, name: A#}\n", ""),
		"repeated steps":     inFlow("", "- {type: pass, name: A}\n", ""),
		"tasks":              inFlow("", "- {type: task, name: A#, resourceArn: 'acs:fc:::services/s#/functions/f'}\n", ""),
		"JSON":               jsonOf("", `{"type":"pass","name":"A#"},`, ""),
		"conditions":         inFlow("- type: choice\n  name: A\n  choices:\n", "  - {condition: $.a == #, goto: Z}\n", "- {type: pass, name: Z}\n"),
		"unknown gotos":      inFlow("", "- {type: choice, name: A#, choices: [{condition: $.a, goto: B#}]}\n", ""),
		"unknown fields":     inFlow("- type: pass\n", "  fild#: 1\n", ""),
		"unknown types":      inFlow("", "- {type: taks, name: A#}\n", ""),
		"misspelt type":      inFlow("- name: A\n", "  tye#: 1\n", ""),
		"unknown actions":    inFlow("", "- {type: task, name: A#, action: 'sqs:sendMessag#'}\n", ""),
		"broken conditions":  jsonOf("", `{"type":"choice","name":"A#","choices":[{"condition":"$.a =","goto":"Z"}]},`, ""),
		"broken sources":     jsonOf(mappings, `{"target":"t#","source":"$input."},`, `{"target":"t","source":1}]},`),
		"constant sources":   jsonOf(mappings, `{"target":"t#","source":"x $input.a"},`, `{"target":"t","source":1}]},`),
		"comments":           inFlow("", "# a comment\n", "- {type: pass, name: A}\n"),
		"comments at values": inFlow("", "- {type: pass, name: A#} # a comment\n", ""),
		"aliases":            inFlow("- {type: pass, name: &a A}\n", "- *a\n", ""),
		"anchors":            inFlow("", "- &a# x\n", ""),
		"empty values":       inFlow("- [", "a: , ", "\ty]\n"),
		"empty texts":        inFlow("- [", "\"\", ", "\ty]\n"),
		"broken brackets":    inFlow("- ", "[{", ""),
		"folded text":        inFlow("- >\n", "  text\n", ""),
		"escapes":            jsonOf("", `"\ud83d\ude00",`, ""),
		"documents":          lineartest.Repeated("", "--- a\n", ""),
		"whole number":       inFlow("- {type: wait, name: A, duration: 1e", "9", "}\n"),
	})
}

// An alias repeats its text each time, so a short document may have long texts.
// rules: L-13
func TestParseBoundsTextsOfAliases(t *testing.T) {
	t.Parallel()
	repeated := strings.Repeat("*a, ", 10_000)
	for _, text := range []string{"\"" + strings.Repeat("x", 200_000) + "\"", strings.Repeat("1", 200_000), strings.Repeat("x", 200_000)} {
		flow, problems := fdl.Parse([]byte("a: &a " + text + "\nb: [" + repeated + "]\n"))
		const want = "the texts of the definition have more than 798720 bytes, those repeated by aliases included; split the flow"
		if flow != nil || !strings.Contains(lines(problems), want) {
			t.Errorf("got %.300s", lines(problems))
		}
	}
}
