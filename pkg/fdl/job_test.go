package fdl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// TestParseJobs: what a job is started with comes from the resource, the
// constants and the step's input.
func TestParseJobs(t *testing.T) {
	t.Parallel()
	const dms = "arn:aws:dms:eu-west-1:123456789012:task:LOAD7"
	for name, tt := range map[string]struct{ fields, params string }{
		"an action":                       {`action: "batch:SubmitJob", pattern: sync, serviceParams: {a: $.x, b: 1}`, `{"a":"X","b":1}`},
		"an action without params":        {`action: "batch:SubmitJob", serviceParams: {}`, `{}`},
		"an action with all of the input": {`action: "sfn:StartExecution", pattern: sync, serviceParams: {input: $}`, `{"input":{"x":"X"}}`},
		"a resource":                      {`resourceArn: "` + dms + `", pattern: sync`, `{"ReplicationTaskArn":"` + dms + `"}`},
		"a resource with params":          {`resourceArn: "` + dms + `", serviceParams: {a: $.x}`, `{"ReplicationTaskArn":"` + dms + `","a":"X"}`},
		"a queue": {
			`resourceArn: "acs:mns:::/queues/q/messages", serviceParams: {MessageBody: $, Priority: 8}`,
			`{"MessageBody":{"x":"X"},"Priority":8,"QueueName":"q"}`,
		},
		"a topic": {
			`resourceArn: "acs:mns:::/topics/t/messages", pattern: waitForCallback, serviceParams: {messageBody: $.x}`, `{"TopicName":"t","messageBody":"X"}`,
		},
		"a message by its action": {`action: "sqs:SendMessage", serviceParams: {QueueUrl: $.x, MessageBody: b}`, `{"MessageBody":"b","QueueUrl":"X"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := parseTask(t, tt.fields)
			got := task.Params.Eval(&expr.Scope{Self: value.Object(value.Member{Key: "x", Value: value.String("X")})})
			if task.Resource.Function != flow.StartJob || got.JSON() != tt.params {
				t.Errorf("resource %+v, params %s, want %s", task.Resource, got, tt.params)
			}
		})
	}
}

func parseTask(t *testing.T, fields string) *flow.Task {
	t.Helper()
	return kindOf[*flow.Task](t, parse(t, flowOf("  - {type: task, name: Only, "+fields+"}\n")))
}

// TestTaskReadsTheCallbackURL: it is looked for where a mapping names it.
func TestTaskReadsTheCallbackURL(t *testing.T) {
	t.Parallel()
	const ask = `resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback`
	for fields, want := range map[string]bool{
		ask: false,
		ask + `, inputMappings: [{target: t, source: $context.task.token}]`:                                false,
		ask + `, inputMappings: [{target: t, source: $context.task.callbackUrl}]`:                          true,
		ask + `, inputMappings: [{target: t, source: '$context["task"]["callbackUrl"]'}]`:                  true,
		ask + `, outputMappings: [{target: a, source: 1}, {target: t, source: $context.task.callbackUrl}]`: true,
		ask + `, outputMappings: [{target: t, source: callbackUrl}]`:                                       false,
	} {
		if got := parseTask(t, fields).CallbackURL; got != want {
			t.Errorf("%s: %t", fields, got)
		}
	}
}

func TestParseAccount(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{`"012345678901"`: "012345678901", "$.x": "X", `'$["x"]'`: "X"} {
		task := parseTask(t, `action: "batch:SubmitJob", serviceParams: {}, account: `+written)
		if got := task.Account.Eval(&expr.Scope{Self: value.Object(value.Member{Key: "x", Value: value.String("X")})}); got.Text() != want {
			t.Errorf("account: %s is %s, want %q", written, got, want)
		}
	}
	if task := parseTask(t, `action: "batch:SubmitJob", serviceParams: {}`); !task.Account.IsMissing() {
		t.Errorf("a task without it has %+v", task.Account)
	}
}

func TestAccountProblems(t *testing.T) {
	t.Parallel()
	const job, function = `action: "batch:SubmitJob", serviceParams: {}, `, `resourceArn: "acs:fc:::services/s/functions/f", `
	for fields, want := range map[string]string{
		job + `account: 123456789012`:     `account is number 123456789012; allowed: twelve digits in quotes, or a path like $.account`,
		job + `account: "1"`:              `account is text "1"; allowed: twelve digits in quotes, or a path like $.account`,
		job + `account: $context.account`: `account is text "$context.account"; allowed: twelve digits in quotes, or a path like $.account`,
		job + `account: {a: $.a}`:         `account is a mapping; allowed: twelve digits in quotes, or a path like $.account`,
		function + `account: $.a`:         `account needs an action or the resourceArn of a job; functions, messages and sub-flows have no account of their own`,
		`action: "sqs:SendMessage", serviceParams: {QueueUrl: q, MessageBody: b}, account: $.a`: `account needs an action or the resourceArn of a job`,
	} {
		flow, problems := fdl.Parse([]byte(flowOf("  - {type: task, name: Only, " + fields + "}\n")))
		if flow != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) || problems[0].Column < 40 {
			t.Errorf("%s: flow %t with\n%swant one: %s", fields, flow != nil, lines(problems), want)
		}
	}
}

func TestParseStopJob(t *testing.T) {
	t.Parallel()
	const job = `action: "batch:SubmitJob", serviceParams: {}`
	for fields, want := range map[string]bool{
		job + `, pattern: sync`: false, job + `, pattern: sync, stopJob: true`: true, job + `, stopJob: false`: false,
		`resourceArn: "arn:aws:dms:eu-west-1:123456789012:task:LOAD7", pattern: sync, stopJob: true`: true,
		`resourceArn: "acs:fc:::services/s/functions/f", stopJob: false`:                             false,
	} {
		if got := parseTask(t, fields).StopJob; got != want {
			t.Errorf("%s: %t, want %t", fields, got, want)
		}
	}
}

func TestStopJobProblems(t *testing.T) {
	t.Parallel()
	const needsJob = `stopJob needs an action or the resourceArn of a job; functions, messages and sub-flows have no job to stop`
	for fields, want := range map[string]string{
		`action: "batch:SubmitJob", serviceParams: {}, stopJob: 1`:                                            `stopJob is number 1; allowed: true, false`,
		`action: "batch:SubmitJob", serviceParams: {}, stopJob: true`:                                         `stopJob needs "pattern: sync"; without it the`,
		`action: "batch:SubmitJob", serviceParams: {}, pattern: waitForCallback, stopJob: true`:               `stopJob needs "pattern: sync"; without it the`,
		`action: "textract:StartDocumentAnalysis", serviceParams: {}, pattern: sync, stopJob: true`:           `stopJob does not go with textract:StartDocumentAn`,
		`resourceArn: "acs:fc:::services/s/functions/f", pattern: sync, stopJob: true`:                        needsJob,
		`action: "sqs:SendMessage", serviceParams: {QueueUrl: q, MessageBody: b}, stopJob: true`:              needsJob,
		`action: "fnf:StartExecution", serviceParams: {FlowName: f, Input: {}}, pattern: sync, stopJob: true`: needsJob,
	} {
		flow, problems := fdl.Parse([]byte(flowOf("  - {type: task, name: Only, " + fields + "}\n")))
		if flow != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) || problems[0].Column < 70 {
			t.Errorf("%s: flow %t with\n%swant one: %s", fields, flow != nil, lines(problems), want)
		}
	}
}

func TestParsePatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]flow.Pattern{
		"requestResponse": flow.PatternRequestResponse, "sync": flow.PatternSync, "waitForCallback": flow.PatternWaitForCallback,
	} {
		if got := parseTask(t, `action: "batch:SubmitJob", serviceParams: {}, pattern: `+pattern); got.Pattern != want || got.Signed {
			t.Errorf("%s: %+v", pattern, got)
		}
	}
	if got := parseTask(t, `action: "batch:SubmitJob", serviceParams: {}, signed: true, pattern: waitForCallback`); !got.Signed {
		t.Error("it is not signed")
	}
}

func TestParseSigned(t *testing.T) {
	t.Parallel()
	const ask = `resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback`
	for written, want := range map[string]flow.Task{
		"true": {Signed: true}, "false": {}, "acme": {Signed: true, Sender: "acme"}, `"acme"`: {Signed: true, Sender: "acme"},
		"_a-B9": {Signed: true, Sender: "_a-B9"}, "default": {Signed: true, Sender: "default"},
	} {
		got := parseTask(t, ask+`, signed: `+written)
		if got.Signed != want.Signed || got.Sender != want.Sender {
			t.Errorf("signed: %s gives %t, %q", written, got.Signed, got.Sender)
		}
	}
}
