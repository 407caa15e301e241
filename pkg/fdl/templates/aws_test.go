package templates_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
)

const awsTemplate = `
Transform: AWS::Serverless-2016-10-31
Parameters:
  Pause: {Type: String, Default: "60"}
Resources:
  Ship: {Type: AWS::Serverless::Function, Properties: {Handler: ship.handler}}
  Pay: {Type: AWS::Lambda::Function}
  Orders: {Type: AWS::DynamoDB::Table}
  Machine:
`

// rules: TP-18
func TestImportOfStateMachine(t *testing.T) {
	t.Parallel()
	const text = `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "${Ship}", "End": true}}}`
	const sam, step = "    Type: AWS::Serverless::StateMachine\n    Properties:\n", "    Type: AWS::StepFunctions::StateMachine\n    Properties:\n"
	invoke := "      Definition:\n        StartAt: A\n        States: {A: {Type: Task, Resource: \"${Ship}\", End: true}}\n"
	for name, tt := range map[string]struct{ resource, file, name, function string }{
		"Definition":              {sam + invoke, "", "Machine", "Ship"},
		"DefinitionSubstitutions": {sam + invoke + "      DefinitionSubstitutions: {Ship: !GetAtt Pay.Arn}\n", "", "Machine", "Pay"},
		"a tag":                   {sam + "      Definition: {StartAt: A, States: {A: {Type: Task, Resource: !GetAtt Pay.Arn, End: true}}}\n", "", "Machine", "Pay"},
		"a name":                  {sam + "      Name: orders\n" + invoke, "", "orders", "Ship"},
		"DefinitionUri": {
			sam + "      DefinitionUri: m.asl.json\n      DefinitionSubstitutions: {Ship: {Fn::GetAtt: [Pay, Arn]}}\n", text, "Machine", "Pay",
		},
		"DefinitionString": {step + "      StateMachineName: orders\n      DefinitionString: '" + text + "'\n", "", "orders", "Ship"},
		"DefinitionString as !Sub": {
			step + "      DefinitionString: !Sub '" + strings.ReplaceAll(text, "Ship", "Pay.Arn") + "'\n", "", "Machine", "Pay",
		},
		"DefinitionString as Fn::Join": { // as CDK writes it
			step + `      DefinitionString: {"Fn::Join": ["", ["{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Task\",\"Resource\":\"arn:",` +
				`{"Ref": "AWS::Partition"}, ":states:::lambda:invoke\",\"Parameters\":{\"FunctionName\":\"", {"Fn::GetAtt": ["Pay", "Arn"]},` +
				` "\",\"Payload.$\":\"$\"},\"End\":true}}}"]]}` + "\n", "", "Machine", "Pay",
		},
		"DefinitionString as !Join": {
			step + `      DefinitionString: !Join ['"', ['{', StartAt, ':', A, ',', States, ':{', A, ':{', Type, ':', Task, ',', Resource, ':',` +
				` !Sub '${Pay.Arn}', ',', End, !Join ['', [':true}', '}}']]]]` +
				"\n", "", "Machine", "Pay",
		},
		"a substitution by !Join": {
			sam + invoke + "      DefinitionSubstitutions: {Ship: !Join [':', [arn:aws:lambda:::function, other]]}\n", "", "Machine", "other",
		},
		"an ARN": {
			sam + invoke +
				"      DefinitionSubstitutions: {Ship: !Sub 'arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:other'}\n", "", "Machine", "other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flows := templates.Find([]byte(awsTemplate+tt.resource), nil)
			if len(flows) != 1 || flows[0].Name != tt.name || (flows[0].File != "") != (tt.file != "") {
				t.Fatalf("found %+v", flows)
			}
			filled, problems := flows[0].Import([]byte(tt.file), nil)
			if len(problems) > 0 {
				t.Fatal(formatted(problems), string(filled.Text))
			}
			parsed, problems := asl.Parse(filled.Text)
			if parsed == nil {
				t.Fatalf("%v in\n%s", problems, filled.Text)
			}
			if got := parsed.Steps[0].Kind.(*flow.Task).Resource.Function; got != tt.function {
				t.Errorf("the state calls %q, want %q", got, tt.function)
			}
		})
	}
	values := sam + "      Definition:\n        StartAt: A\n        States: {A: {Type: Pass, Result: [\"${P}\", \"${T}\", \"${V}\", \"${Own}\"], End: true}}\n" +
		"      DefinitionSubstitutions: {P: !Ref Pause, T: !Ref Orders, V: '${V}'}\n"
	filled, problems := templates.Find([]byte(awsTemplate+values), nil)[0].Import(nil, map[string]string{"Own": "x"})
	want := "StartAt: A\nStates:\n  A:\n    Type: Pass\n    Result:\n    - \"60\"\n    - \"Orders\"\n    - \"${V}\"\n    - \"x\"\n    End: true\n"
	if string(filled.Text) != want || len(problems) > 0 {
		t.Errorf("got %s with %v, want %s", filled.Text, problems, want)
	}
	numbers := sam + "      DefinitionUri: m.asl.json\n      DefinitionSubstitutions: {Secs: !Ref Pause}\n"
	filled, problems = templates.Find([]byte(awsTemplate+numbers), nil)[0].Import([]byte(`{"Seconds": ${Secs}, "Own": ${Own}}`), nil)
	if want := `{"Seconds": 60, "Own": ${Own}}`; string(filled.Text) != want || len(problems) > 0 {
		t.Errorf("got %s with %v, want %s", filled.Text, problems, want)
	}
	const inS3 = "the definition is an object in S3; download it, and use the file in place of the template"
	const noText = "the definition is neither a text nor a flow; allowed: a text, Fn::Sub, Fn::Join or Ref"
	const noJoin = "a part of Fn::Join is not known; allowed: a text, Ref, Fn::GetAtt, Fn::ImportValue, Fn::Join, and Fn::Sub with a text alone"
	for properties, want := range map[string]string{
		sam + "      DefinitionUri: {Bucket: b, Key: k}\n":                         inS3,
		step + "      DefinitionS3Location: {Bucket: b, Key: k}\n":                 inS3,
		step + "      DefinitionString: {Fn::Join: ['', [{Fn::If: [C, a, b]}]]}\n": noJoin,
		step + "      DefinitionString: {Fn::Join: ''}\n":                          noJoin,
		step + "      DefinitionString: {Fn::If: [C, a, b]}\n":                     noText,
	} {
		flows := templates.Find([]byte(awsTemplate+properties), nil)
		if len(flows) != 1 {
			t.Fatalf("%s: found %+v", properties, flows)
		}
		if _, problems := flows[0].Import(nil, nil); len(problems) != 1 || problems[0].Message != want {
			t.Errorf("%s: got %v, want %s", properties, problems, want)
		}
	}
}
