package dynamo_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// TestMachinesCostAsMuchAsFlows compares the reads, writes and messages of machines in the Amazon
// States Language with those of flows in FDL that do the same.
func TestMachinesCostAsMuchAsFlows(t *testing.T) {
	t.Parallel()
	for name, both := range map[string]struct{ flow, machine string }{
		"a task": {
			`[{type: task, name: A, ` + fdlTask + `}]`,
			`{"StartAt": "A", "States": {"A": {"Type": "Task", ` + aslTask + `, "End": true}}}`,
		},
		"a loop of a wait, a task and a choice": {
			`[{type: task, name: Begin, resourceArn: "acs:fc:::services/s/functions/StartJob", inputMappings: [{target: kind, source: simulated}]},
				{type: wait, name: Pause, duration: 15},
				{type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/GetJobStatus", inputMappings: [{target: job_id, source: $local.job_id},
					{target: delay, source: $input.delay}], outputMappings: [{target: job_status, source: $local.job_status}]},
				{type: choice, name: Done, inputMappings: [{target: job_status, source: $local.job_status}],
					choices: [{condition: $.job_status == "running", goto: Pause}]}]`,
			`{"StartAt": "Begin", "States": {
				"Begin": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:StartJob",
					"Parameters": {"kind": "simulated"}, "ResultPath": "$.job", "Next": "Pause"},
				"Pause": {"Type": "Wait", "Seconds": 15, "Next": "Ask"},
				"Ask": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:GetJobStatus",
					"Parameters": {"job_id.$": "$.job.job_id", "delay.$": "$.delay"}, "ResultPath": "$.job", "Next": "Done"},
				"Done": {"Type": "Choice", "Choices": [{"Variable": "$.job.job_status", "StringEquals": "running", "Next": "Pause"}], "Default": "End"},
				"End": {"Type": "Succeed"}}}`,
		},
		"passes and a choice": {
			`[{type: pass, name: A}, {type: choice, name: C, choices: [{condition: $.delay > 1, goto: B}]}, {type: pass, name: B}]`,
			`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "C"},
				"C": {"Type": "Choice", "Choices": [{"Variable": "$.delay", "NumericGreaterThan": 1, "Next": "B"}]}, "B": {"Type": "Pass", "End": true}}}`,
		},
		"a callback": {
			`[{type: task, name: A, ` + fdlTask + `, pattern: waitForCallback, timeoutSeconds: 600, inputMappings: [{target: token, source: $context.task.token}]}]`,
			`{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "TimeoutSeconds": 600,
				"Parameters": {"FunctionName": "echo", "Payload": {"token.$": "$$.Task.Token"}}, "End": true}}}`,
		},
		"a parallel": {
			`[{type: parallel, name: P, outputMappings: [{target: all, source: $local}],
				branches: [{steps: [{type: task, name: A, ` + fdlTask + `}]}, {steps: [{type: wait, name: W, duration: 5}]}]}]`,
			`{"StartAt": "P", "States": {"P": {"Type": "Parallel", "End": true, "Branches": [
				{"StartAt": "A", "States": {"A": {"Type": "Task", ` + aslTask + `, "End": true}}},
				{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 5, "End": true}}}]}}}`,
		},
		"a list in three lanes": {
			`[{type: foreach, name: M, outputMappings: [{target: all, source: $local}], maxConcurrency: 3,
				iterationMapping: {collection: $.list, item: x}, steps: [{type: task, name: A, ` + fdlTask + `}]}]`,
			`{"StartAt": "M", "States": {"M": {"Type": "Map", "ItemsPath": "$.list", "MaxConcurrency": 3, "End": true,
				"ItemProcessor": {"StartAt": "A", "States": {"A": {"Type": "Task", ` + aslTask + `, "End": true}}}}}}`,
		},
		"a list of callbacks in two lanes": {
			`[{type: foreach, name: M, outputMappings: [{target: all, source: $local}], maxConcurrency: 2,
				iterationMapping: {collection: $.list, item: x}, steps: [
				{type: task, name: A, ` + fdlTask + `, pattern: waitForCallback, inputMappings: [{target: token, source: $context.task.token}]}]}]`,
			`{"StartAt": "M", "States": {"M": {"Type": "Map", "ItemsPath": "$.list", "MaxConcurrency": 2, "End": true, "ItemProcessor": {"StartAt": "A", "States": {
				"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "End": true,
					"Parameters": {"FunctionName": "echo", "Payload": {"token.$": "$$.Task.Token"}}}}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := allConsumed(t, "version: v1\ntype: flow\nsteps: "+strings.ReplaceAll(both.flow, "\t", " "))
			if got := allConsumed(t, both.machine); got != want {
				t.Errorf("the machine consumed %+v, the flow %+v", got, want)
			}
		})
	}
}

const (
	fdlTask = `resourceArn: "acs:fc:::services/s/functions/echo"`
	aslTask = `"Resource": "arn:aws:lambda:us-east-1:123456789012:function:echo"`
)

// allConsumed returns what an execution consumes from its start to its end, with the reports of its
// callbacks.
func allConsumed(t *testing.T, text string) (sum capacity) {
	t.Helper()
	r := &flowRun{t: t, meter: &meter{}, now: epoch, writeFormat: machine.Format}
	r.store = newTables(t, atEpoch, r.meter.options)
	list := value.Array(value.Int(1), value.Int(2), value.Int(3), value.Int(4), value.Int(5), value.Int(6), value.Int(7))
	r.start("sample", text, value.Object(value.Member{Key: "delay", Value: value.Int(40)}, value.Member{Key: "list", Value: list}))
	sum = r.meter.take()
	for len(r.wakes) > 0 {
		log := r.wakes[0].Execution
		sum = sum.plus(r.turn())
		sum = sum.plus(r.report(log))
	}
	r.wantSucceeded()
	return sum
}
