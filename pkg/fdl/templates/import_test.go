package templates_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
)

const resources = `
Parameters:
  Stage: {Type: String}
  Size: {Type: Number, Default: 3}
  Flow: {Type: String, Default: "version: v1"}
Resources:
  Album:
    Type: Aliyun::Serverless::Service
    resize: {Type: Aliyun::Serverless::Function}
  Mail: {Type: ALIYUN::FC::Service, Properties: {ServiceName: mails}}
  Send: {Type: ALIYUN::FC::Function, Properties: {ServiceName: {Fn::GetAtt: [Mail, ServiceName]}, FunctionName: send}}
  Lost: {Type: ALIYUN::FC::Function, Properties: {ServiceName: !Ref Nothing, FunctionName: send}}
  F: {Type: "ALIYUN::FNF::Flow", Properties: {Definition: `

const otherFlow = `  G: {Type: "ALIYUN::FNF::Flow", Properties: {Name: gee, Definition: x}}` + "\n"

// rules: TP-14 TP-15 TP-16
func TestImport(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ definition, want string }{
		"a text":                      {`"a: ${Stage}"`, "a: ${Stage}"},
		"Fn::Sub":                     {`{Fn::Sub: "a: ${Size}"}`, "a: 3"},
		"!Sub":                        {`!Sub "a: x${Size}"`, "a: x3"},
		"Fn::Sub with a mapping":      {`{Fn::Sub: ["a: x${Size}${B}${C}", {Size: 4, B: {Ref: Size}, C: !Sub "<${Size}>"}]}`, `a: "x43<3>"`},
		"an attribute of Funcraft":    {`{Fn::Sub: "a: ${Albumresize.ARN}"}`, "a: acs:fc:::services/Album/functions/resize"},
		"an attribute of ROS":         {`{Fn::Sub: "a: ${Send.ARN}"}`, "a: acs:fc:::services/mails/functions/send"},
		"a reference to a function":   {`{Fn::Sub: "a: !Ref Album/resize"}`, "a: acs:fc:::services/Album/functions/resize"},
		"a reference in quotes":       {`{Fn::Sub: "a: !Ref 'Album/resize' # x"}`, "a: acs:fc:::services/Album/functions/resize # x"},
		"a reference to a flow":       {`{Fn::Sub: "a: !Ref flow/Next"}`, "a: acs:fnf:::flow/Next"},
		"a reference to a parameter":  {`{Fn::Sub: "a: !Ref Size"}`, `a: "3"`},
		"a reference to an attribute": {`{Fn::Sub: "a: !GetAtt Album/resize.FunctionName"}`, "a: resize"},
		"the name of a flow":          {`{Fn::Sub: "a: acs:fnf:::flow/${F.Name}/${G.Name}"}`, "a: acs:fnf:::flow/F/gee"},
		"an attribute of a flow":      {`{Fn::Sub: "a: !GetAtt G.Name"}`, "a: gee"},
		"a reference to a named flow": {`{Fn::Sub: "a: !Ref flow/G"}`, "a: acs:fnf:::flow/gee"},
		"an attribute in a mapping":   {`{Fn::Sub: ["a: ${C}", {C: {Fn::GetAtt: [G, Name]}}]}`, "a: gee"},
		"Fn::Join":                    {`{Fn::Join: [": ", [a, {Ref: Size}]]}`, "a: 3"},
		"Fn::Replace":                 {`{Fn::Replace: [{<a>: 1, <b>: {Ref: Size}}, "a: x-<a>-<b>-${Size}"]}`, "a: x-1-3-${Size}"},
		"Fn::Replace in a value":      {`{Fn::Replace: [{<a>: "x<b><a>", <b>: {Ref: Size}}, "a: <a>-<b>"]}`, `a: "x3<a>-3"`},
		"Fn::Replace of nothing":      {`{Fn::Replace: [{}, "a: x"]}`, "a: x"},
		"Ref":                         {`{Ref: Flow}`, "version: v1"},
		"a flow":                      {`{type: flow, steps: []}`, "{type: flow, steps: []}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flows := templates.Find([]byte(resources+tt.definition+"}}\n"+otherFlow), nil)
			if len(flows) != 2 || flows[0].Name != "F" || flows[0].File != "" {
				t.Fatalf("found %+v", flows)
			}
			got, problems := flows[0].Import(nil, nil)
			if string(got.Text) != tt.want || len(problems) > 0 {
				t.Errorf("got\n%s\nwith %v, want\n%s", got.Text, problems, tt.want)
			}
		})
	}
}

// rules: TP-14 TP-15 TP-16
func TestImportReportsWhatIsUnknown(t *testing.T) {
	t.Parallel()
	noValue := func(name string) string {
		return strings.ReplaceAll("placeholder ${NAME} has no value (give --var NAME=VALUE, or write ${!NAME} for the text ${NAME})", "NAME", name)
	}
	for definition, want := range map[string]string{
		`{Fn::Sub: "a: ${Stage}"}`:                       noValue("Stage"),
		`{Fn::Sub: "a: ${Lost.ARN}"}`:                    noValue("Lost.ARN"),
		`{Fn::Sub: "a: !Ref Album/rezise"}`:              `!Ref Album/rezise names no function of the template; did you mean "Album/resize"?`,
		`{Fn::Sub: "a: !Ref Sizes"}`:                     `!Ref Sizes has no value; did you mean "Size"? (give --var Sizes=VALUE)`,
		`{Fn::Replace: [{<a>: {Ref: Stage}}, "a: <a>"]}`: "<a> has no value (give --var Stage=VALUE)",
		`{Ref: Stage}`:                                   "parameter Stage has no value (give --var Stage=VALUE)",
		`[1]`:                                            "the definition is neither a text nor a flow; allowed: a text, Fn::Sub, Fn::Join, Fn::Replace or Ref",
		`{Fn::Join: ["", [a, !Ref Stage]]}`:              noValue("Stage"),
		`{Fn::Sub: "a: !Ref\n  Size"}`:                   "!Ref stands on several lines, or with escapes; write it on one line",
	} {
		_, problems := templates.Find([]byte(resources+definition+"}}\n"), nil)[0].Import(nil, nil)
		if len(problems) != 1 || problems[0].Message != want || problems[0].Line != strings.Count(resources, "\n")+1 {
			t.Errorf("%s: got %v, want %s", definition, problems, want)
		}
	}
}

// rules: TP-13 TP-14
func TestFind(t *testing.T) {
	t.Parallel()
	const text = `
vars: {stage: test, deep: {er: x}}
services:
  a: {component: fnf, props: {name: "f-${vars.stage}", definition: "./${vars.deep.er}.yml"}}
  b: {component: devsapp/fnf, props: {definition: ./b.yml}}
  c: {component: fc, props: {name: c, definition: ./c.yml}}
  d: {component: fnf, props: {name: "no name ${vars.other}"}}
  e: &e {component: fnf, props: *e}
  f: {component: '${path("../")}', props: {name: f, definition: ./f.yml}}
  g: {component: ../fc, props: {name: g}}
Old: {Component: fnf, Properties: {Name: old, Definition: {steps: [], type: flow}}}
`
	var got []string
	for _, flow := range templates.Find([]byte(text), map[string]string{"vars.stage": "prod"}) {
		got = append(got, flow.Name+" "+flow.File)
	}
	if want := []string{"f-prod ./x.yml", "b ./b.yml", "f ./f.yml", "old "}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, text := range []string{"", "a: [", "steps: []\nF: {Type: 'ALIYUN::FNF::Flow', Properties: {Definition: x}}", "- 1"} {
		if got := templates.Find([]byte(text), nil); got != nil {
			t.Errorf("found %+v in %q", got, text)
		}
	}
}

// rules: TP-17
func TestImportKeepsPlaces(t *testing.T) {
	t.Parallel()
	const text = "Resources:\n  F:\n    Type: ALIYUN::FNF::Flow\n    Properties:\n      Definition:\n        Fn::Sub: |-\n\n" +
		"          a: ${Long}\n            b ${Unknown}\n"
	_, problems := templates.Find([]byte(text), nil)[0].Import(nil, map[string]string{"Long": "l"})
	if len(problems) != 1 || problems[0].Position != (flow.Position{Line: 9, Column: 15}) {
		t.Errorf("got %v", problems)
	}
}
