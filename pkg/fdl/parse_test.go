package fdl_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

const lambda = "arn:aws:lambda:eu-west-1:123456789012:function:f"

// flowOf is a flow with these steps, written at the left margin.
func flowOf(steps string) string {
	return "version: v1\ntype: flow\nsteps:\n" + steps
}

// parse is the flow of a text that has no problem.
func parse(t *testing.T, text string) *flow.Flow {
	t.Helper()
	flow, problems := fdl.Parse([]byte(text))
	if flow == nil || len(problems) > 0 {
		t.Fatalf("got flow %v and problems:\n%s", flow != nil, lines(problems))
	}
	return flow
}

// kindOf is the kind of the only step of a flow.
func kindOf[K flow.Kind](t *testing.T, flow *flow.Flow) K {
	t.Helper()
	kind, ok := flow.Steps[0].Kind.(K)
	if !ok {
		t.Fatalf("step is a %T", flow.Steps[0].Kind)
	}
	return kind
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func names(steps []*flow.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func TestPollingSample(t *testing.T) {
	t.Parallel()
	text := readFile(t, "../../events/polling/flow.yaml")
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != "ef2bd7caa4b41ab84a2613a57bf1b5b8d5b4150b2d87035c38dd07975dbb821f" || len(text) != 1066 {
		t.Errorf("the sample is not the vendor's: %d bytes, SHA-256 %s", len(text), got)
	}
	def := parse(t, string(text))
	if got := names(def.Steps); got != "StartJob Init Wait10s GetJobStatus CheckJobComplete JobSucceeded JobFailed" {
		t.Errorf("steps %s", got)
	}
	if !slices.Equal(def.All, def.Steps) || !reflect.DeepEqual(def.Data, &fdl.Data{}) || def.Version != "v1" || def.Name != "" {
		t.Errorf("flow is %+v", def)
	}
	task, isTask := def.Steps[0].Kind.(*flow.Task)
	if !isTask || task.Resource.Function != "StartJob" || task.Resource.Service != "fnf-demo" {
		t.Errorf("first step is %+v", def.Steps[0].Kind)
	}
	if got := fdl.DataOf(def.Steps[1]).Output.Eval(&expr.Scope{}).JSON(); got != `{"try_count":0}` {
		t.Errorf("Init maps %s", got)
	}
	choice, isChoice := def.Steps[4].Kind.(*flow.Choice)
	if !isChoice || len(choice.Branches) != 3 || choice.Branches[2].Goto != def.Steps[2] || choice.Default != nil {
		t.Errorf("choice is %+v", def.Steps[4].Kind)
	}
}

func TestVersionsAndNames(t *testing.T) {
	t.Parallel()
	flow := parse(t, "version: v1beta1\ntype: flow\nname: my_Flow-2\nsteps: [{type: pass, name: _}]")
	if flow.Version != "v1beta1" || flow.Name != "my_Flow-2" {
		t.Errorf("flow is %+v", flow)
	}
}

const nested = `- type: choice
  name: Outer
  choices:
    - condition: $.a == 1
      steps:
        - {type: pass, name: A1}
        - type: choice
          name: Inner
          choices:
            - {condition: $.b, goto: A1}
            - {condition: $.c}
          default: {goto: Inner}
        - {type: pass, name: A2, end: true}
    - condition: $.a == 2
      goto: Last
  default:
    steps:
      - {type: succeed, name: D1}
    goto: Outer
- {type: fail, name: Last, error: E, cause: because}
`

func TestLinksOfNestedSteps(t *testing.T) {
	t.Parallel()
	def := parse(t, flowOf(nested))
	if got := names(def.All); got != "Outer A1 Inner A2 D1 Last" {
		t.Errorf("all steps: %s", got)
	}
	next := map[string]string{"Outer": "Last", "A1": "Inner", "Inner": "A2"}
	for i, s := range def.All {
		if s.Index != i {
			t.Errorf("%s has index %d, want %d", s.Name, s.Index, i)
		}
		if got := names(slices.DeleteFunc([]*flow.Step{s.Next}, func(s *flow.Step) bool { return s == nil })); got != next[s.Name] {
			t.Errorf("after %s comes %q, want %q", s.Name, got, next[s.Name])
		}
		if s.End != (s.Name == "A2") {
			t.Errorf("%s has end %t", s.Name, s.End)
		}
	}
	if got := def.All[2].Position; got != (flow.Position{Line: 10, Column: 11}) {
		t.Errorf("Inner stands at %s", got)
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	def := parse(t, flowOf(nested))
	outer := kindOf[*flow.Choice](t, def)
	inner, _ := def.All[2].Kind.(*flow.Choice)
	if got := outer.Branches[1]; got.Goto != def.Steps[1] || got.Steps != nil || got.Text != "$.a == 2" {
		t.Errorf("second branch is %+v", got)
	}
	if got := outer.Default; got.Goto != def.Steps[0] || names(got.Steps) != "D1" {
		t.Errorf("default is %+v", got)
	}
	if inner.Branches[0].Goto != def.All[1] || inner.Default.Goto != def.All[2] {
		t.Errorf("inner choice is %+v", inner)
	}
	if fail, _ := def.Steps[1].Kind.(*flow.Fail); fail == nil || *fail != (flow.Fail{Error: "E", Cause: "because"}) {
		t.Errorf("fail is %+v", fail)
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	instant := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		field, path string
		want        flow.Wait
	}{
		{"duration: 0", "", flow.Wait{Mode: flow.WaitDuration}},
		{"duration: 172800", "", flow.Wait{Mode: flow.WaitDuration, Duration: fdl.MaxWait}},
		{"duration: 1e1", "", flow.Wait{Mode: flow.WaitDuration, Duration: 10 * time.Second}},
		{"duration: $.a.b", "$.a.b", flow.Wait{Mode: flow.WaitDurationPath}},
		{"timestamp: 2026-01-31T10:00:00Z", "", flow.Wait{Mode: flow.WaitTimestamp, Timestamp: instant}},
		{`timestamp: "2026-01-31T12:00:00+02:00"`, "", flow.Wait{Mode: flow.WaitTimestamp, Timestamp: instant}},
		{"timestamp: $.at[0]", "$.at[0]", flow.Wait{Mode: flow.WaitTimestampPath}},
	}
	for _, tt := range tests {
		t.Run(tt.field, func(t *testing.T) {
			t.Parallel()
			wait := kindOf[*flow.Wait](t, parse(t, flowOf("- type: wait\n  name: W\n  "+tt.field)))
			if got := wait.Path.String(); got != tt.path {
				t.Errorf("path %s, want %s", got, tt.path)
			}
			if wait.Mode != tt.want.Mode || wait.Duration != tt.want.Duration || !wait.Timestamp.Equal(tt.want.Timestamp) {
				t.Errorf("got %+v, want %+v", wait, tt.want)
			}
		})
	}
}

func TestParseDurationAndTimestamp(t *testing.T) {
	t.Parallel()
	number := func(text string) value.Value { v, _ := value.Number(text); return v }
	for text, ok := range map[string]bool{"0": true, "172800": true, "10.0": true, "172801": false, "-1": false, "0.5": false, "1e99": false} {
		if _, got := flow.ParseDuration(number(text), fdl.MaxWait); got != ok {
			t.Errorf("duration %s: ok is %t", text, got)
		}
	}
	if _, ok := flow.ParseDuration(value.String("10"), fdl.MaxWait); ok {
		t.Error("a text is taken for a duration")
	}
	for text, ok := range map[string]bool{
		"2026-01-31T10:00:00Z": true, "2026-01-31T10:00:00.123456789-07:00": true,
		"2026-01-31": false, "2026-01-31 10:00:00Z": false, "2026-01-31T10:00:00": false, "2026-02-30T10:00:00Z": false,
		// What time.Parse lets pass and RFC 3339 does not.
		"2026-01-31T1:00:00Z": false, "2026-01-31T10:00:00,5Z": false, "2026-01-31T10:00:00+24:00": false,
	} {
		if _, got := flow.ParseTimestamp(value.String(text)); got != ok {
			t.Errorf("timestamp %s: ok is %t", text, got)
		}
	}
	if _, ok := flow.ParseTimestamp(number("2026")); ok {
		t.Error("a number is taken for a timestamp")
	}
}

// The constants of a pass step show how scalars are read.
func TestConstants(t *testing.T) {
	t.Parallel()
	tests := []struct{ source, want string }{
		{"12345678901234567890123", "12345678901234567890123"},
		{"1.50", "1.50"},
		{"-1", "-1"},
		{"1e400", "1e400"},
		{"2026-01-31T10:00:00Z", `"2026-01-31T10:00:00Z"`},
		{"2026-01-31", `"2026-01-31"`},
		{"yes", `"yes"`},
		{"True", "true"},
		{"~", "null"},
		{`"1"`, `"1"`},
		{"!!str 1", `"1"`},
		{"''", `""`},
		{"{a: [1, {b: x}], 2: null}", `{"2":null,"a":[1,{"b":"x"}]}`},
		{"|\n      two\n      lines", `"two\nlines"`},
		{`"\U0001F600"`, `"😀"`},
	}
	for _, tt := range tests {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			flow := parse(t, flowOf("- type: pass\n  name: P\n  outputMappings:\n  - target: x\n    source: "+tt.source))
			if got := fdl.DataOf(flow.Steps[0]).Output.Eval(&expr.Scope{}).Get("x").JSON(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAnchorsAreFollowed(t *testing.T) {
	t.Parallel()
	flow := parse(t, flowOf("- type: pass\n  name: A\n  outputMappings: &m\n  - {target: x, source: &c {k: 1}}\n  - {target: y, source: *c}\n"+
		"- {type: pass, name: B, outputMappings: *m}"))
	for _, s := range flow.Steps {
		if got := fdl.DataOf(s).Output.Eval(&expr.Scope{}).JSON(); got != `{"x":{"k":1},"y":{"k":1}}` {
			t.Errorf("%s maps %s", s.Name, got)
		}
	}
}

func TestMappings(t *testing.T) {
	t.Parallel()
	flow := parse(t, "version: v1\ntype: flow\ninputMappings: []\noutputMappings:\n- {target: a.b, source: $local.x}\n- {target: c, source: $input}\n"+
		"steps: [{type: pass, name: P}]")
	scope := expr.Scope{Input: value.Int(1), Local: value.Object(value.Member{Key: "x", Value: value.Int(2)})}
	if got := flow.Data.(*fdl.Data).Output.Eval(&scope).JSON(); got != `{"a.b":2,"c":1}` {
		t.Errorf("output is %s", got)
	}
	if input := flow.Data.(*fdl.Data).Input; input == nil || len(input) != 0 {
		t.Errorf("an empty list is not the same as none: %v", input)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	def := parse(t, "\uFEFF \n"+`{"version": "v1", "type": "flow", "steps": [
	{"type": "pass", "name": "P", "end": false, "outputMappings": [
	{"target": "\ud83d\ude00", "source": [1.0, -2e3, true, null, {"k": "\ud83d\ude00"}]}]}]}`)
	if got := fdl.DataOf(def.Steps[0]).Output.Eval(&expr.Scope{}).JSON(); got != `{"😀":[1.0,-2e3,true,null,{"k":"😀"}]}` {
		t.Errorf("got %s", got)
	}
	if got := def.Steps[0].Position; got != (flow.Position{Line: 3, Column: 2}) {
		t.Errorf("the step stands at %s", got)
	}
}

// JSON that people write by hand has commas too many; as YAML it is fine.
func TestNearlyJSON(t *testing.T) {
	t.Parallel()
	parse(t, `{"version": "v1", "type": "flow", "steps": [{"type": "pass", "name": "P",},],}`)
}

func TestValidName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "_": true, "A-1_b": true, strings.Repeat("x", 128): true,
		"": false, "1": false, "-a": false, "a b": false, "a\n": false, "ä": false, "a.b": false, strings.Repeat("x", 129): false,
	} {
		if got := flow.ValidName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestValidExecution(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "_": true, "8f14e45f-ceea-467f-a3b4-19d1e0b0b8c5": true, "2026.01": true, "-a": true, "ä": true, "a@b+c=d'(e)!": true,
		strings.Repeat("ä", 128): true, strings.Repeat("x", 129): false,
		"": false, ".": false, "..": false, "a b": false, "a\u00a0b": false, "a\n": false, "a\u202eb": false, "a\xff": false,
	} {
		if got := flow.ValidExecution(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	for _, c := range `<>{}[]?*"#%\^|~` + "`$&,;:/" { // the documentation of StartExecution has these
		if flow.ValidExecution("a" + string(c)) {
			t.Errorf("%c is valid", c)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	kinds := []flow.Kind{&flow.Task{}, &flow.Pass{}, &flow.Wait{}, &flow.Choice{}, &flow.Succeed{}, &flow.Fail{}}
	var types []string
	for _, k := range kinds {
		types = append(types, k.Type())
	}
	if got := strings.Join(types, " "); got != "task pass wait choice succeed fail" {
		t.Errorf("types: %s", got)
	}
	def := parse(t, flowOf("- {type: task, name: T, pattern: requestResponse, resourceArn: '"+lambda+"'}"))
	if got := kindOf[*flow.Task](t, def).Resource.Function; got != "f" {
		t.Errorf("function %s", got)
	}
}
