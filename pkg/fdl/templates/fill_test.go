package templates_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
)

// rules: TP-1 TP-2 TP-3 TP-4 TP-5 TP-6
func TestFill(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"S": "fn-demo", "N": "30", "Z": "010", "B": "true", "NULL": "null", "E": "", "Q": `say "hi" \o/ it's`, "Y": "x: {a: [1, 2]} # no",
		"ALIYUN::Region": "cn-hangzhou", "F.ARN": "acs:fc:::services/s/functions/f", "D": "2026-01-01", "Tilde": "~", "P": "$.done && $.n > 3",
	}
	for name, tt := range map[string]struct{ text, want string }{
		"a part":                    {"a: acs:fc:::services/${S}/functions/f", "a: acs:fc:::services/fn-demo/functions/f"},
		"twice":                     {"a: ${S}/${S}", "a: fn-demo/fn-demo"},
		"a name with dots":          {"a: ${F.ARN}", "a: acs:fc:::services/s/functions/f"},
		"a name with colons":        {"a: x:${ALIYUN::Region}:y", "a: x:cn-hangzhou:y"},
		"a number":                  {"a: ${N} # seconds", "a: 30 # seconds"},
		"a boolean":                 {"a: ${B}", "a: true"},
		"a number in quotes":        {`a: "${N}"`, `a: "30"`},
		"a number as a part":        {"a: ${N}0", `a: "300"`},
		"no decimal number":         {"a: ${Z}", `a: "010"`},
		"null":                      {"a: ${NULL}", `a: "null"`},
		"a tilde":                   {"a: ${Tilde}", `a: "~"`},
		"nothing":                   {"a: ${E}", `a: ""`},
		"a day":                     {"a: ${D}", "a: 2026-01-01"},
		"quotes":                    {"a: ${Q}", `a: "say \"hi\" \\o/ it's"`},
		"quotes in double quotes":   {`a: "x ${Q}"`, `a: "x say \"hi\" \\o/ it's"`},
		"quotes in single quotes":   {"a: 'x ${Q}'", `a: 'x say "hi" \o/ it''s'`},
		"YAML in a value":           {"a: ${Y}\nb: 1", "a: \"x: {a: [1, 2]} # no\"\nb: 1"},
		"in a flow mapping":         {`{a: "${Y}", b: '${S}'}`, `{a: "x: {a: [1, 2]} # no", b: 'fn-demo'}`},
		"a condition":               {"condition: ${P}", `condition: "$.done && $.n > 3"`},
		"a comment":                 {"a: ${S} # ${UNKNOWN}\n# ${UNKNOWN}\nb: ${N}", "a: fn-demo # ${UNKNOWN}\n# ${UNKNOWN}\nb: 30"},
		"a block":                   {"a: |\n  x ${S}\n  ${Y}\nb: 1", "a: |\n  x fn-demo\n  x: {a: [1, 2]} # no\nb: 1"},
		"several lines":             {"a: x\n  ${S}\n  y", "a: x\n  fn-demo\n  y"},
		"a key":                     {"${S}: 1", "fn-demo: 1"},
		"JSON":                      {`{"a": "${Q}", "b": "${N}"}`, `{"a": "say \"hi\" \\o/ it's", "b": "30"}`},
		"JSON without quotes":       {`{"a":${N}, "b": [${B},${S}], "c": ${Z}}`, `{"a":30, "b": [true,"fn-demo"], "c": "010"}`},
		"braces without quotes":     {"a: {b: ${N}, c: [x, ${B}]}", "a: {b: 30, c: [x, true]}"},
		"an alias":                  {"a: &x ${S}\nb: *x", "a: &x fn-demo\nb: *x"},
		"!!str":                     {"a: !!str ${N}", "a: !!str 30"},
		"escaped by an exclamation": {"a: ${!S} ${S}", `a: "${S} fn-demo"`},
		"escaped by a dollar":       {`a: "$${S} ${S}"`, `a: "${S} fn-demo"`},
		"not a name":                {"a: '${$.x} ${a b} ${} $S'", "a: '${$.x} ${a b} ${} $S'"},
		"a parameter of ROS":        {"a: x:${ALIYUN::AccountId}:y", "a: x:${ALIYUN::AccountId}:y"},
		"Windows lines":             {"a: ${S}\r\nb: ${N}\r\n", "a: fn-demo\r\nb: 30\r\n"},
		"a document with a mistake": {"a: ${S}\n  b: [", "a: ${S}\n  b: ["},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := templates.Fill([]byte(tt.text), vars)
			if string(got.Text) != tt.want || len(problems) > 0 {
				t.Errorf("got\n%s\nwith %v, want\n%s", got.Text, problems, tt.want)
			}
		})
	}
}

// rules: TP-7
func TestFillReportsAllProblems(t *testing.T) {
	t.Parallel()
	text := "a: x ${SERVCE}\nb: [1, \"é ${OTHER}${STAGE}\"]\nc: ${SERVICE}\n"
	got, problems := templates.Fill([]byte(text), map[string]string{"SERVICE": "s", "STAGE": "test"})
	want := []string{
		"f:1:6: placeholder ${SERVCE} has no value; did you mean \"SERVICE\"? (give --var SERVCE=VALUE, or write ${!SERVCE} for the text ${SERVCE})",
		"f:2:11: placeholder ${OTHER} has no value (give --var OTHER=VALUE, or write ${!OTHER} for the text ${OTHER})",
	}
	if lines := formatted(problems); !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if string(got.Text) != text || !slices.Equal(got.Names, []string{"SERVCE", "OTHER", "STAGE", "SERVICE"}) {
		t.Errorf("got %q and the names %q", got.Text, got.Names)
	}
}

// A variable that nothing refers to is what is mistyped, and not the placeholder.
func TestFillSaysWhatIsMistyped(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SECONS":  `; variable "SECONS", which nothing refers to, may be mistyped`,
		"SECONDZ": `; did you mean "SECONDZ"?`,
		"OTHER":   `; did you mean "SECONDZ"?`,
	} {
		_, problems := templates.Fill([]byte("a: ${SECONDS}\nb: ${SECONDZ}\n"), map[string]string{name: "1", "SECONDZ": "2"})
		want = "placeholder ${SECONDS} has no value" + want + " (give --var"
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) {
			t.Errorf("%s: got %v, want %s", name, problems, want)
		}
	}
}

// A value that would change the document where it cannot be put in quotes is an error.
//
// rules: TP-4
func TestFillKeepsTheStructure(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, value string }{
		"a comment in a text of several lines": {"a: x\n  ${V}\n  y", "b # c"},
		"a key in a text of several lines":     {"a: x\n  y ${V}", "b: c"},
		"the indentation of a block":           {"a: |\n  ${V}\n  y", "   x"},
		"an escape":                            {`a: "\x24{V}"`, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := templates.Fill([]byte(tt.text), map[string]string{"V": tt.value})
			if len(problems) != 1 || problems[0].Line != 1 || problems[0].Column != 4 {
				t.Errorf("got %q with %v", got.Text, problems)
			}
		})
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	filled, problems := templates.Fill([]byte("x: '${LONG}'\ny: {a: '${LONG}', b: '${S}', c: '${LONG}'}"), map[string]string{"LONG": "l", "S": "a longer text"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	// y: {a: '${LONG}', b: '${S}', c: '${LONG}'}
	// y: {a: 'l', b: 'a longer text', c: 'l'}
	for behind, before := range map[int]int{1: 1, 8: 8, 9: 9, 10: 16, 13: 19, 16: 22, 17: 23, 25: 23, 30: 27, 37: 34, 38: 41} {
		if got := filled.Position(flow.Position{Line: 2, Column: behind}); got != (flow.Position{Line: 2, Column: before}) {
			t.Errorf("column %d is %s, want %d", behind, got, before)
		}
	}
	if got := filled.Position(flow.Position{Line: 1, Column: 6}); got != (flow.Position{Line: 1, Column: 12}) {
		t.Errorf("got %s on another line", got)
	}
}

// rules: TP-8
func TestParseVar(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"NAME=VALUE": "", "A=": "", "a.b=c=d": "", "ALIYUN::Region=x": "",
		"NAME":   `variable "NAME" has no value; allowed: NAME=VALUE`,
		"1=2":    `variable name "1" is not valid; allowed: a letter or "_", then letters, digits and _ . : -`,
		"=2":     `variable name "" is not valid; allowed: a letter or "_", then letters, digits and _ . : -`,
		"A=b\nc": "the value of variable A is not one line of text; write a text of several lines in the flow",
		"A=\xff": "the value of variable A is not one line of text; write a text of several lines in the flow",
	} {
		name, value, err := templates.ParseVar(text)
		switch {
		case want == "" && (err != nil || name+"="+value != text):
			t.Errorf("%q: got %q, %q and %v", text, name, value, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func formatted(problems flow.Problems) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Format("f"))
	}
	return lines
}
