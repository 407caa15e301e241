package asl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/flow"
)

// TestParseReports finds mistakes that Step Functions refuses, too.
func TestParseReports(t *testing.T) {
	t.Parallel()
	pass := func(expression string) string {
		return `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Parameters": {"x.$": "` + expression + `"}, "End": true}}}`
	}
	query := func(text string) string {
		return `{"StartAt": "A", "QueryLanguage": "JSONata", "States": {"A": {"Type": "Pass", "Output": {"x": "` + text + `"}, "End": true}}}`
	}
	for text, want := range map[string]string{
		`{"StartAt": "A", "States": {"A": {"Type": "Succeed"},}}`:                       `1:54: the machine begins with { and is not JSON: invalid character '}'`,
		"{\n  'StartAt': 'A', 'States': {'A': {Type: Succeed}}}":                        `2:3: the machine begins with { and is not JSON: invalid character '\''`,
		"{ // first\n\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}": `1:3: the machine begins with { and is not JSON`,

		pass(`States.Format('{}')`):                                            "has more places {} than there are values",
		pass(`States.Format('a', $.b)`):                                        "has fewer places {} than there are values",
		pass(`States.Hash($.a, 'md5')`):                                        "md5",
		pass(`States.Format(\"a {}\", $.b)`):                                   "a text in a call stands in single quotes",
		pass(`States.MathAdd(1)`):                                              "States.MathAdd has 1 argument; allowed: 2",
		pass(`States.MathRandom(1)`):                                           "States.MathRandom has 1 argument; allowed: 2 to 3",
		pass(`States.Format()`):                                                "States.Format has 0 arguments; allowed: at least 1",
		`{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": []}}}`: `Choices is empty; write at least one of the rules`,

		`{"StartAt": "A", "States": {"A": {"Type": "Succeed"}, "B": {"Type": "Succeed"}}}`:                     `1:55: state "B": no state leads to it`,
		`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}}}`: `1:29: the machine: no state ends it`,

		`{"StartAt": "A", "Comment": 5, "States": {"A": {"Type": "Succeed"}}}`:          `1:29: the machine: Comment is number 5; allowed: a text`,
		`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": null}}}`:             `state "A": Next is nothing; allowed: the name of a state: A`,
		`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Output": 1, "End": true}}}`: `it belongs to JSONata; with JSONPath write Parameters`,
		strings.Replace(query("1"), `"Output"`, `"Parameters"`, 1):                      `it belongs to JSONPath; with JSONata write Output`,
		`{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
			"Parameters": {"FunctionName": "f", "ClientContext": "c"}, "End": true}}}`: `ClientContext is not served; put it into Payload`,
		query(" {% 1 %}"): `state "A": Output/x is text " {% 1 %}", which is no whole expression; write "{% ... %}", without spaces around`,
		query("{% 1 %} "): `which is no whole expression`,
		query("{% 1"):     `which is no whole expression`,
		`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Assign": {"x": 1}, "Next": "B"}, "B": {"Type": "Parallel", "Branches": [
			{"StartAt": "C", "States": {"C": {"Type": "Pass", "Assign": {"x": 2}, "End": true}}}], "Assign": {"x": 3},
				"End": true}}}`: `state "C": variable "x" belongs to the states around, where state "A" assigns it`,
		`{"StartAt": "A", "States": {"A": {"Type": "Parallel", "Branches": [{"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}], "End": true,
			"Retry": [{"MaxAttempts": 1}]}}}`: `state "A": field "ErrorEquals" is missing, which is required`,
	} {
		parsed, problems := asl.Parse([]byte(text))
		if parsed != nil || len(problems) == 0 || !strings.Contains(problems[0].Format("m"), want) {
			t.Errorf("%s: got %v, want %s", text, problems, want)
		}
	}
	for _, text := range []string{"StartAt: A\nStates: {'A': {Type: Succeed,}}", "\uFEFF" + pass(`States.Format('{} \\{}', $.a)`),
		pass(`States.Hash($.a, $.b)`), query(" {% 1 %} ")} {
		if parsed, problems := asl.Parse([]byte(text)); parsed == nil {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// States that are not served are refused by their names, with a remedy.
func TestNotServed(t *testing.T) {
	t.Parallel()
	const task, states, inner = `{"Type": "Task", "End": true, "Resource": "arn:aws:`, `states:::`, `{"StartAt": "B", "States": {"B": {"Type": "Succeed"}}`
	const distributed = `{"Type": "Map", "End": true, "ItemProcessor": ` + inner + `, "ProcessorConfig": {"Mode": "DISTRIBUTED"}}`
	const reader = distributed + `, "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": `
	const writer = distributed + `, "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": `
	for state, want := range map[string]string{
		task + states + `elasticmapreduce:createCluster.sync"}`: "elasticmapreduce:createCluster starts no job that is served",

		task + states + `apigateway:invoke"}`: "apigateway:invoke is not served; call it in a function",
		task + states + `http:invoke"}`:       "http:invoke is not served; call it in a function",

		task + states + `eks:call"}`:                                                        "eks:call is not served; call it in a function",
		task + `states:eu-west-1:123456789012:activity:a b"}`:                               "names no activity",
		task + `lambda:::function:f", "Credentials": {"RoleArn": "arn:aws:iam::1:role/r"}}`: "Credentials is not served; give the role",
		`{"Type": "Map", "End": true, "Label": "x", "ItemProcessor": ` + inner + `}}`:       "Label belongs to a Map in mode DISTRIBUTED; write \"ProcessorConfig\"",
		distributed + `, "Label": "a b"}`:                                                   "Label is text \"a b\"; allowed: 1 to 40 characters of ASCII",
		distributed + `, "ItemBatcher": {"BatchInput": {}}}`:                                "ItemBatcher has no size of a batch",
		distributed + `, "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"},
			"ReaderConfig": {"InputType": "MANIFEST"}}}`: `InputType is text "MANIFEST"; allowed: "JSON" or "JSONL" or "CSV"`,
		reader + `{"Bucket": "b", "Key": "k"}, "ReaderConfig": -1}}`:   "ReaderConfig is number -1; allowed: an object",
		reader + `{"Bucket": "b", "Key": "k"}, "ReaderConfig": []}}`:   "ReaderConfig is an array; allowed: an object",
		reader + `{"Bucket": "b", "Key": "k"}, "ReaderConfig": null}}`: "ReaderConfig is nothing; allowed: an object",
		reader + `{"Bucket": "b", "Key": "k"}, "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a", 1]}}}`: "an element of " +
			"CSVHeaders is number 1; allowed: a string",
		reader + `7}}`:                "Parameters is number 7; allowed: an object",
		reader + `{"Bucket": "b"}}}`:  `field "Key" is missing`,
		reader + `{"Key.$": "$.k"}}}`: `field "Bucket" is missing`,
		distributed + `, "ResultWriter": {"WriterConfig": {"OutputType": "JSONL", "Transformation": "COMPACT"}}}`: "ResultWriter without Resource is served with",
		distributed + `, "ResultWriter": {"WriterConfig": {}}}`:                                                   "ResultWriter without Resource is served with",
		distributed + `, "ResultWriter": {}}`:                                                                     `field "Parameters" is missing`,
		writer + `{"Prefix": "p"}}}`:                                                                              `field "Bucket" is missing`,
		writer + `{"Bucket": "b"}, "WriterConfig": -1}}`:                                                          "WriterConfig is number -1; allowed: an object",
	} {
		text := `{"StartAt": "Work", "States": {"Work": ` + state + `}}`
		_, problems := asl.Parse([]byte(text))
		if len(problems.Errors()) == 0 || !strings.Contains(problems[0].Message, `state "Work": `) || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v; want %q", state, problems, want)
		}
	}
}

// TestParseWarns finds what Step Functions accepts and what then never matches, and nothing else.
func TestParseWarns(t *testing.T) {
	t.Parallel()
	const task = `"Type": "Task", "Resource": "arn:aws:lambda:::function:f"`
	const made = `"A": {"Type": "Pass", "Result": {"name": 1}, "Next": "B"}`
	catch := func(entries string) string {
		return `"A": {` + task + `, "Catch": [` + entries + `], "End": true}, "B": {"Type": "Succeed"}`
	}
	for states, want := range map[string][]string{
		`"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "${F.functionName}", "LogType.$": "$$.Execution.Name"},
			"End": true}`: {`state "A": LogType has no effect`},
		`"A": {"Type": "Succeed"}, "B": {"Type": "Pass", "Next": "C"}, "C": {"Type": "Pass", "Next": "B"}`: {
			`state "B": StartAt does not lead to it, so it never runs; let a state that runs lead to it, or remove it`,
			`state "C": StartAt does not lead to it, so it never runs; let a state that runs lead to it, or remove it`},
		`"A": {` + task + `, "Catch": [{"ErrorEquals": ["E"], "Next": "C"}], "Next": "B"}, "B": {"Type": "Wait", "Seconds": 1, "Next": "D"}, "C": {"Type": "Fail"},
			"D": {"Type": "Pass", "Next": "B"}`: {`state "B": the states behind it lead to no end`},
		`"A": {` + task + `, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}], "Next": "B"},
			"B": {"Type": "Wait", "Seconds": 1, "Next": "A"}, "C": {"Type": "Fail"}`: nil,
		`"A": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "A"}, {"Variable": "$.b", "IsNull": true, "Next": "B"}]},
			"B": {"Type": "Fail"}`: nil,
		catch(`{"ErrorEquals": ["States.Runtime"], "Next": "B"}`): {`no entry handles States.Runtime; remove it`},
		catch(`{"ErrorEquals": ["E"], "Next": "B"}, {"ErrorEquals": ["F", "E"], "Next": "B"}`): {
			`an entry before it has error "E", too, so this one never matches; remove it`},
		catch(`{"ErrorEquals": ["States.TaskFailed"], "Next": "B"}, {"ErrorEquals": ["States.Timeout", "E"], "Next": "B"},
			{"ErrorEquals": ["States.ALL"], "Next": "B"}`): {
			`an entry before it has States.TaskFailed, which matches error "E", too; move this entry before it`},
		catch(`{"ErrorEquals": ["States.NoChoiceMatched", "States.BranchFailed", "States.HeartbeatTimeout"], "Next": "B"}`): {
			`the state never fails with error "States.NoChoiceMatched"`, `the state never fails with error "States.BranchFailed"`,
			`the state never fails with error "States.HeartbeatTimeout"`},
		catch(`{"ErrorEquals": ["States.Timout"], "Next": "B"}`): {
			`the state never fails with error "States.Timout"; did you mean "States.Timeout"?; remove it, or write an error that it may have`},
		`"A": {"Type": "Parallel", "Branches": [{"StartAt": "B", "States": {"B": {"Type": "Fail", "Error": "E"}}}], "End": true,
			"Retry": [{"ErrorEquals": ["F"]}], "Catch": [{"ErrorEquals": ["E"], "Next": "C"}]}, "C": {"Type": "Succeed"}`: {
			`the state never fails with error "F"`},
		`"A": {"Type": "Wait", "Seconds": 31622400, "End": true}`: {`it waits for 31622400 seconds, and the machine ends after 31622400`},
		`"A": {"Type": "Wait", "Seconds": 31622399, "End": true}`: nil,
		made + `, "B": {"Type": "Wait", "SecondsPath": "$.nam", "End": true}`: {
			`state "B": SecondsPath: path $.nam leads to no value: no state before makes "nam"; did you mean "name"?`},
		made + `, "B": {"Type": "Pass", "Parameters": {"x": {"y.$": "States.Format('{}', $.none)"}}, "End": true}`: {
			`state "B": Parameters/x: y.$: path $.none leads to no value`},
		made + `, "B": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsPresent": true, "Next": "A"}], "Default": "C"}, "C": {"Type": "Succeed"}`: nil,
		made + `, "B": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "f"}, "ResultPath": "$.r", "Next": "C"},
			"C": {"Type": "Pass", "InputPath": "$.r", "Parameters": {"a.$": "$.a"}, "Next": "D"}, "D": {"Type": "Pass", "InputPath": "$.b", "End": true}`: {
			`state "D": InputPath: path $.b leads to no value: no state before makes "b"`},
		`"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "f"}, "Next": "B",
			"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}]}, "B": {"Type": "Pass", "InputPath": "$.payload", "Next": "C"},
			"C": {"Type": "Pass", "InputPath": "$.Cause", "End": true}`: {
			`state "B": InputPath: path $.payload leads to no value: no state before makes "payload"; did you mean "Payload"?`},
		made + `, "B": {"Type": "Pass", "InputPath": "$.name", "Next": "C"}, "C": {"Type": "Pass", "InputPath": "$.any", "End": true}`:              nil,
		made + `, "B": {` + task + `, "Next": "C"}, "C": {"Type": "Pass", "Parameters": {"a.$": "$.any", "b.$": "$$.Execution.Name"}, "End": true}`: nil,
	} {
		_, problems := asl.Parse([]byte(`{"StartAt": "A", "States": {` + states + `}}`))
		for i, p := range problems {
			if i >= len(want) || p.Severity != flow.SeverityWarning || !strings.Contains(p.Message, want[i]) {
				t.Errorf("%s: %s; want %q", states, p.Format("m"), want)
			}
		}
		if len(problems) < len(want) {
			t.Errorf("%s: %v; want %q", states, problems, want)
		}
	}
	const timed = `{"TimeoutSeconds": 60, "StartAt": "A", "States": {"A": {"Type": "Wait", "Seconds": 60, "End": true}}}`
	if _, problems := asl.Parse([]byte(timed)); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "the machine ends after 60; write fewer, or raise TimeoutSeconds") {
		t.Errorf("%v", problems)
	}
}

// TestParseReportsJobs: a job that Step Functions does not wait for is a warning, and an unknown one
// a problem.
func TestParseReportsJobs(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"glue:startJobRun.sync":                     "",
		"aws-sdk:glue:startJobRun.sync":             "AWS has no .sync for aws-sdk:glue:startJobRun",
		"transcribe:startJob.sync":                  "transcribe:startJob starts no job that is served",
		"glue:startJobRuns.sync":                    `did you mean "glue:startJobRun"?`,
		"glue:startJobRun.sync:2":                   "glue:startJobRun has no .sync:2; allowed: .sync, .waitForTaskToken",
		"aws-sdk:ssm:startAutomationExecution.sync": "AWS has no .sync for aws-sdk:ssm:startAutomationExecution",
	} {
		text := `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::` + resource + `", "Parameters": {}, "End": true}}}`
		_, problems := asl.Parse([]byte(text))
		if want == "" && len(problems) > 0 || want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Format("m"), want)) {
			t.Errorf("%s: got %v, want %s", resource, problems, want)
		}
	}
}

// TestParseWarnsOfExpressions finds expressions that Step Functions accepts, and that have no value.
func TestParseWarnsOfExpressions(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"$eval('1')":                "state machines have no $eval, so it fails; parse JSON with $parse",
		"$states.inptu.a":           `Output: $states has no member "inptu"; did you mean "input"?`,
		"$states.context.Executoin": `Output: $states.context has no member "Executoin"; did you mean "Execution"?`,
		"$partitoin([1], 1)":        `no state assigns variable $partitoin, so it has no value; did you mean "partition"?`,
		"$uppercsae('a')":           `did you mean "uppercase"?`,
		"$inner":                    "only states of another branch or iteration assign variable $inner, so it has no value here",
		"$outer & $states.context.State.Name & $partition([1], 1)": "",
	} {
		machine := "StartAt: Before\nQueryLanguage: JSONata\nStates:\n  Before: {Type: Pass, Assign: {outer: 1}, Next: Both}\n" +
			"  Both: {Type: Parallel, Next: A, Branches: [{StartAt: In, States: {In: {Type: Pass, Assign: {inner: '{% $outer %}'}, Next: In2}, " +
			"In2: {Type: Pass, Output: '{% $inner %}', End: true}}}]}\n" +
			"  A: {Type: Pass, Output: \"{% " + expression + " %}\", End: true}\n"
		parsed, problems := asl.Parse([]byte(machine))
		if parsed == nil || (want == "") != (len(problems) == 0) || want != "" && !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v, want %s", expression, problems, want)
		}
	}
}

// TestParseSubstitutedResources reads ARNs with placeholders of a template, also if a substitution
// has the whole ARN.
func TestParseSubstitutedResources(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]flow.Resource{
		"${arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:aws-sdk:sqs:sendMessage}": {
			Text: "arn:aws:states:::aws-sdk:sqs:sendMessage", Operation: "aws-sdk:sqs:sendMessage", Function: flow.CallService,
		},
		"arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:activity:work": {
			Text: "arn:aws:states:::activity:work", Function: "activity:work", Activity: true,
		},
		"arn:aws:states:::glue:startJobRun.sync":       {Text: "arn:aws:states:::glue:startJobRun.sync", Kind: "glue-job", Function: flow.StartJob},
		"arn:${AWS::Partition}:lambda:::function:${F}": {},
	} {
		parsed, problems := asl.Parse([]byte(`{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "` + resource + `", "End": true}}}`))
		if parsed == nil {
			if want.Text != "" {
				t.Errorf("%s: %v", resource, problems)
			}
			continue
		}
		for _, task := range parsed.Tasks() {
			if task.Resource != want {
				t.Errorf("%s: %+v; want %+v", resource, task.Resource, want)
			}
		}
	}
}
