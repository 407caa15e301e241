package sfn_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// The states of these tests.
const (
	pathTask = `{"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","InputPath":"$.order","Parameters":{"TableName":"orders","Key.$":"$.id"},
		"ResultSelector":{"found.$":"$.Item"},"ResultPath":"$.row","OutputPath":"$.row","Next":"Ship"}`
	queryTask = `{"Type":"Task","QueryLanguage":"JSONata","Resource":"arn:aws:states:::lambda:invoke",
		"Arguments":{"FunctionName":"price","Payload":{"id":"{% $states.input.id %}"}},"Assign":{"paid":"{% $states.result.Payload %}"},
		"Output":"{% $states.result.Payload * $rate %}","End":true,
		"Retry":[{"ErrorEquals":["Busy"],"IntervalSeconds":2,"MaxAttempts":3}],
		"Catch":[{"ErrorEquals":["Other"],"Next":"A"},{"ErrorEquals":["States.ALL"],"Output":"{% $states.errorOutput %}","Next":"Failed"}]}`
	mapState = `{"Type":"Map","ItemsPath":"$.list","ItemSelector":{"n.$":"$$.Map.Item.Value","i.$":"$$.Map.Item.Index","by.$":"$$.Execution.Name"},
		"MaxConcurrency":3,"ToleratedFailureCount":1,"ItemProcessor":{"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}},"Next":"N"}`
	readingMap = `{"Type":"Map","QueryLanguage":"JSONata","ToleratedFailurePercentage":"{% 40 %}","MaxConcurrency":"{% 1 + 1 %}",
		"ItemReader":{"Resource":"arn:aws:states:::s3:getObject","Arguments":{"Bucket":"b","Key":"k"}},"Items":"{% [1] %}",
		"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}},"End":true}`
	tokenTask = `{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken",
		"Parameters":{"QueueUrl":"q","MessageBody.$":"$$.Task.Token"},"End":true}`
	machineOfStates = `{"StartAt":"Fork","QueryLanguage":"JSONata","States":{"Fork":{"Type":"Parallel","End":true,
		"Branches":[{"StartAt":"Inner","States":{"Inner":{"Type":"Choice",
		"Choices":[{"Condition":"{% $limit > 5 %}","Next":"Big","Output":"large"}],"Default":"Small"},
		"Big":{"Type":"Succeed"},"Small":{"Type":"Fail","Error":"Small","Cause":"too small"}}},
		{"StartAt":"Other","States":{"Other":{"Type":"Task","Resource":"arn:aws:states:us-east-1:1:activity:a","End":true}}}]}}}`
)

// A state runs alone, with a mock in place of its call, branches or iterations.
func TestStatesRunAlone(t *testing.T) {
	t.Parallel()
	const order = `,"input":"{\"order\":{\"id\":7}}"`
	context := func(members string) string { quoted, _ := json.Marshal(members); return `,"context":` + string(quoted) }
	for name, c := range map[string]struct{ state, request, want string }{
		"paths": {pathTask, order + `,"inspectionLevel":"DEBUG","mock":{"result":"{\"Item\":{\"a\":1},\"Rest\":2}"}`,
			`{"status":"SUCCEEDED","nextState":"Ship","output":{"found":{"a":1}},"inspectionData":{"input":{"order":{"id":7}},"afterInputPath":{"id":7},
			"afterParameters":{"TableName":"orders","Key":7},"result":{"Item":{"a":1},"Rest":2},"afterResultSelector":{"found":{"a":1}},
			"afterResultPath":{"order":{"id":7},"row":{"found":{"a":1}}}}}`},
		"level INFO": {pathTask, order + `,"mock":{"result":"{\"Item\":3}","fieldValidationMode":"NONE"}`,
			`{"status":"SUCCEEDED","nextState":"Ship","output":{"found":3}}`},
		"a path to nothing": {pathTask, `,"input":"{\"order\":{}}","inspectionLevel":"TRACE","mock":{"result":"{}"}`,
			`{"status":"FAILED","error":"States.Runtime","cause":"any","inspectionData":{"input":{"order":{}},"afterInputPath":{}}}`},
		"variables": {queryTask, `,"input":"{\"id\":1}","variables":"{\"rate\":2}","inspectionLevel":"DEBUG","mock":{"result":"{\"Payload\":21}"}`,
			`{"status":"SUCCEEDED","output":42,"inspectionData":{"input":{"id":1},"afterArguments":{"FunctionName":"price","Payload":{"id":1}},"result":{"Payload":21},
			"variables":{"rate":2,"paid":21}}}`},
		"a retry": {queryTask, `,"input":"{\"id\":1}","inspectionLevel":"DEBUG","mock":{"errorOutput":{"error":"Busy","cause":"why"}},` +
			`"stateConfiguration":{"retrierRetryCount":2}`,
			`{"status":"RETRIABLE","error":"Busy","cause":"why","inspectionData":{"input":{"id":1},"afterArguments":{"FunctionName":"price","Payload":{"id":1}},
			"errorDetails":{"retryIndex":0,"retryBackoffIntervalSeconds":8}}}`},
		"a catch after the last retry": {queryTask, `,"input":"{\"id\":1}","inspectionLevel":"DEBUG","mock":{"errorOutput":{"error":"Busy","cause":"why"}},` +
			`"stateConfiguration":{"retrierRetryCount":3}`,
			`{"status":"CAUGHT_ERROR","error":"Busy","cause":"why","nextState":"Failed","output":{"Error":"Busy","Cause":"why"},"inspectionData":{"input":{"id":1},
			"afterArguments":{"FunctionName":"price","Payload":{"id":1}},"errorDetails":{"retryIndex":0,"catchIndex":1}}}`},
		"an expression that fails is caught": {queryTask, `,"input":"{\"id\":1}","mock":{"result":"{\"Payload\":\"x\"}"}`,
			`{"status":"CAUGHT_ERROR","error":"States.QueryEvaluationError","cause":"any","nextState":"Failed",
			"output":{"Error":"States.QueryEvaluationError","Cause":"any"}}`},
		"a Map": {mapState, `,"input":"{\"list\":[5,6]}","inspectionLevel":"DEBUG","mock":{"result":"[1,2]"}` + context(`{"Execution":{"Name":"me"}}`),
			`{"status":"SUCCEEDED","nextState":"N","output":[1,2],"inspectionData":{"input":{"list":[5,6]},"afterInputPath":{"list":[5,6]},"afterItemsPath":[5,6],
			"afterItemSelector":[{"n":5,"i":0,"by":"me"},{"n":6,"i":1,"by":"me"}],"afterResultSelector":[1,2],"afterResultPath":[1,2],"maxConcurrency":3,
			"toleratedFailureCount":1}}`},
		"too many failures": {mapState, `,"input":"{\"list\":[5,6]}","mock":{"result":"[1,2]"},"stateConfiguration":{"mapIterationFailureCount":2}`,
			`{"status":"FAILED","error":"States.ExceedToleratedFailureThreshold","cause":"The specified tolerated failure threshold was exceeded"}`},
		"an error in an iteration": {mapState, `,"input":"{\"list\":[5,6]}","mock":{"errorOutput":{"error":"E","cause":"c"}},` +
			`"stateConfiguration":{"errorCausedByState":"In"}`,
			`{"status":"FAILED","error":"E","cause":"c"}`},
		"items of a reader": {readingMap, `,"inspectionLevel":"DEBUG","mock":{"result":"[1]"},` +
			`"stateConfiguration":{"mapItemReaderData":"[1,2,3]","mapIterationFailureCount":1}`,
			`{"status":"SUCCEEDED","output":[1],"inspectionData":{"input":{},"maxConcurrency":2,"toleratedFailurePercentage":40}}`},
		"a Choice in a branch": {machineOfStates, `,"stateName":"Inner","variables":"{\"limit\":6}","inspectionLevel":"TRACE"`,
			`{"status":"SUCCEEDED","nextState":"Big","output":"large","inspectionData":{"input":{},"variables":{"limit":6}}}`},
		"a Fail": {machineOfStates, `,"stateName":"Small"`, `{"status":"FAILED","error":"Small","cause":"too small"}`},
		"a Parallel": {machineOfStates, `,"stateName":"Fork","inspectionLevel":"DEBUG","mock":{"result":"[1,2]"}`,
			`{"status":"SUCCEEDED","output":[1,2],"inspectionData":{"input":{}}}`},
		"an activity": {machineOfStates, `,"stateName":"Other","mock":{"result":"3"}`, `{"status":"SUCCEEDED","output":3}`},
		"a Pass with a Result": {`{"Type":"Pass","Result":4,"End":true}`, `,"inspectionLevel":"DEBUG","input":"1"`,
			`{"status":"SUCCEEDED","output":4,"inspectionData":{"input":1,"result":4,"afterResultSelector":4,"afterResultPath":4}}`},
		"a Wait of a year":      {`{"Type":"Wait","Seconds":31000000,"Next":"N"}`, `,"input":"1"`, `{"status":"SUCCEEDED","output":1,"nextState":"N"}`},
		"a Wait of three years": {`{"Type":"Wait","Seconds":99999999,"Next":"N"}`, `,"input":"1"`, `{"status":"SUCCEEDED","output":1,"nextState":"N"}`},
		"a Wait until 2060":     {`{"Type":"Wait","Timestamp":"2060-11-01T00:00:00Z","Next":"N"}`, ``, `{"status":"SUCCEEDED","output":{},"nextState":"N"}`},
		"failures without a limit, as on Step Functions": {strings.Replace(mapState, `"ToleratedFailureCount":1,`, ``, 1),
			`,"input":"{\"list\":[5,6]}","mock":{"result":"[1,2]"},"stateConfiguration":{"mapIterationFailureCount":2}`,
			`{"status":"SUCCEEDED","nextState":"N","output":[1,2]}`},
		"a token": {tokenTask, `,"inspectionLevel":"DEBUG","mock":{"result":"1"}` + context(`{"Task":{"Token":"t"}}`),
			`{"status":"SUCCEEDED","output":1,"inspectionData":{"input":{},"afterInputPath":{},"afterParameters":{"QueueUrl":"q","MessageBody":"t"},"result":1,
			"afterResultSelector":1,"afterResultPath":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			_, _, text := f.do(signed(t, "TestState", testRequest(c.state, c.request)))
			var got, want map[string]any
			if err := errors.Join(json.Unmarshal([]byte(text), &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
				t.Fatal(err)
			}
			unpack(got)
			if seen, ok := got["inspectionData"].(map[string]any); ok {
				unpack(seen)
			}
			for _, cause := range []map[string]any{want, member(want, "output")} {
				for name := range maps.Keys(cause) {
					if cause[name] == "any" { // a cause
						cause[name] = got["cause"]
					}
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("response %s\nwant %s", text, c.want)
			}
		})
	}
}

func testRequest(definition, rest string) string {
	quoted, _ := json.Marshal(definition)
	return `{"definition":` + string(quoted) + rest + `}`
}

// unpack replaces texts that hold JSON with their values.
func unpack(o map[string]any) {
	for name, text := range o {
		var v any
		if text, ok := text.(string); ok && json.Unmarshal([]byte(text), &v) == nil {
			o[name] = v
		}
	}
}

func member(o map[string]any, name string) map[string]any {
	inner, _ := o[name].(map[string]any)
	return inner
}

// Without a mock the call is made by the server, if it makes calls.
func TestStatesCallTheirFunctions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.config.Call = func(_ context.Context, call machine.Call) (token.Outcome, error) {
		if call.Resource.Function != "price" {
			return token.Failure("Busy", call.Resource.Function), nil
		}
		return token.Success(value.Object(value.Member{Key: "got", Value: call.Input})), nil
	}
	request := testRequest(queryTask, `,"input":"{\"id\":1}","variables":"{\"rate\":2}","inspectionLevel":"DEBUG"`)
	f.follow([]step{
		{"TestState", testRequest(`{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:price","TimeoutSeconds":900,"End":true}`, ``),
			`{"status":"SUCCEEDED","output":"{\"got\":{}}"}`},
		{"TestState", strings.Replace(request, `* $rate`, ``, 1), `{"status":"SUCCEEDED","output":"{\"got\":{\"id\":1}}"}`},
		{"TestState", strings.Replace(request, `\"price\"`, `\"none\"`, 1), `{"status":"RETRIABLE","error":"Busy","cause":"none"}`},
	})
	f.config.Call = func(_ context.Context, call machine.Call) (token.Outcome, error) {
		return token.Failure(token.ErrorFunctionNotFound, "no runner for operation "+call.Resource.Operation), nil
	}
	if _, _, text := f.do(signed(t, "TestState", testRequest(`{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","End":true}`, ``))); !strings.Contains(
		text, "no runner for operation dynamodb:putItem; specify a mock, or add the runner") {
		t.Errorf("the call of an operation without a runner: %s", text)
	}
	f.config.MayWait = func(context.Context) bool { return false }
	f.follow([]step{{"TestState", request, "ThrottlingException"}})
	f.config.Call = nil
	f.follow([]step{{"TestState", request, "ValidationException"}})
}

func TestInvalidTestsOfStates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.config.Check = catalogue.Check
	f.config.Call = func(context.Context, machine.Call) (token.Outcome, error) { panic("no call is wanted") }
	const pass, mock = `{"Type":"Pass","End":true}`, `,"mock":{"result":"1"}`
	var steps []step
	for _, c := range []struct{ definition, rest, code string }{
		{"", ``, "ValidationException"},
		{`{"Type":"Paste","End":true}`, ``, "InvalidDefinition"},
		{`{"Type":"Pass","InputPath":"a","End":true}`, ``, "InvalidDefinition"},
		{`{"Type":"Pass","Next":5}`, ``, "InvalidDefinition"},
		{`{"Type":"Pass"}`, ``, "InvalidDefinition"},
		{`[]`, ``, "InvalidDefinition"},
		{machineOfStates, ``, "InvalidDefinition"},
		{machineOfStates, `,"stateName":"None"`, "InvalidDefinition"},
		{machineOfStates, `,"stateName":"Other"`, "ValidationException"},
		{machineOfStates, `,"stateName":"Fork"`, "InvalidDefinition"},
		{`{"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItems","End":true}`, mock, "InvalidDefinition"},
		{pass, `,"inspectionLevel":"ALL"`, "ValidationException"},
		{pass, mock, "ValidationException"},
		{pass, `,"context":"{}"`, "ValidationException"},
		{pass, `,"input":"{"`, "InvalidExecutionInput"},
		{pass, `,"variables":"[]"`, "ValidationException"},
		{mapState, `,"mock":{}`, "ValidationException"},
		{mapState, `,"mock":{"result":"1"}`, "ValidationException"},
		{mapState, `,"mock":{"result":""}`, "ValidationException"},
		{mapState, `,"mock":{"result":"[]","errorOutput":{"error":"E"}}`, "ValidationException"},
		{mapState, `,"mock":{"errorOutput":{"cause":"c"}}`, "ValidationException"},
		{mapState, `,"mock":{"result":"[]","fieldValidationMode":"SOME"}`, "ValidationException"},
		{mapState, `,"mock":{"result":"[]"},"revealSecrets":true`, "ValidationException"},
		{mapState, `,"mock":{"result":"[]"},"stateConfiguration":{"errorCausedByState":"Out"}`, "ValidationException"},
		{mapState, `,"mock":{"result":"[]"},"stateConfiguration":{"mapIterationFailureCount":-1}`, "ValidationException"},
		{mapState, `,"mock":{"result":"[]"},"stateConfiguration":{"mapItemReaderData":"{}"}`, "ValidationException"},
		{tokenTask, ``, "ValidationException"},
		{`{"Type":"Task","Resource":"arn:aws:states:::states:startExecution","Parameters":{"StateMachineArn":"m"},"End":true}`, ``, "ValidationException"},
		{`{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","Credentials":{"RoleArn":"r"},"End":true}`, ``, "InvalidDefinition"},
	} {
		steps = append(steps, step{"TestState", testRequest(c.definition, c.rest), c.code})
	}
	f.follow(steps)
	if _, _, text := f.do(signed(t, "TestState", testRequest(mapState, `,"mock":{"result":"1"}`))); !strings.Contains(
		text, "mock.result is a number, 1; allowed: an array") {
		t.Errorf("a result of another type: %s", text)
	}
	_, _, text := f.do(signed(t, "TestState", testRequest(`{"Type":"Task","Resourc":"x","TimeoutSeconds":-1,"Foo":1,"End":true}`, ``)))
	for _, problem := range []string{`did you mean \"Resource\"`, "TimeoutSeconds", "Foo"} {
		if !strings.Contains(text, problem) {
			t.Errorf("%s lacks the problem %s", text, problem)
		}
	}
}
