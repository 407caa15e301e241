package local_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// sends is a flow that sends its input to a queue, and asks for an answer.
const sends = "version: v1\ntype: flow\nsteps:\n" +
	"  - type: task\n    name: Tell\n    resourceArn: acs:mns:::/queues/orders/messages\n" +
	"    inputMappings: [{target: order, source: $input.order}]\n    serviceParams: {MessageBody: $, Priority: 1, DelaySeconds: 5}\n" +
	"  - type: task\n    name: Ask\n    resourceArn: acs:mns:cn-hangzhou:1:/topics/questions/messages\n    pattern: waitForCallback\n" +
	"    inputMappings: [{target: token, source: $context.task.token}]\n    serviceParams: {MessageBody: $}\n"

func TestMessagesInVirtualTime(t *testing.T) {
	t.Parallel()
	const script = "answers: [{step: Ask, afterSeconds: 60, output: {answer: 42}}]"
	ran := runJob(t, map[string]string{"sqs:SendMessage": "simulated", "sns:Publish": "simulated"}, sends, `{"order":7}`, script)
	got := ran.state.Output
	if ran.state.Status != machine.StatusSucceeded || ran.took().Seconds() != 60 || got.Get("answer").JSON() != "42" {
		t.Fatalf("%s after %s: %s %s, output %s", ran.state.Status, ran.took(), ran.state.Error, ran.state.Cause, got.JSON())
	}
	sum, _ := hex.DecodeString(got.Get("MessageBodyMD5").Text())
	if len(sum) != 16 || got.Get("MessageId").Text() == "" || got.Get("RequestId").Text() == "" {
		t.Errorf("output %s", got.JSON())
	}
}

// Who stands for a queue gets what was to be sent, and its answer is the step's.
func TestRunnersInThePlaceOfQueues(t *testing.T) {
	t.Parallel()
	const script = "answers: [{step: Ask, afterSeconds: 60, output: {answer: 42}}]"
	ran := runJob(t, map[string]string{"orders": "exec:cat", "questions": "exec:cat"}, sends, `{"order":7}`, script)
	const want = `{"DelaySeconds":5,"MessageBody":{"order":7},"Priority":1,"QueueName":"orders","answer":42}`
	if ran.state.Status != machine.StatusSucceeded || ran.state.Output.JSON() != want {
		t.Errorf("%s: %s %s, output %s", ran.state.Status, ran.state.Error, ran.state.Cause, ran.state.Output.JSON())
	}
}

func TestRejectedMessage(t *testing.T) {
	t.Parallel()
	flow := strings.Replace(sends, "DelaySeconds: 5", "DelaySeconds: 3600", 1)
	ran := runJob(t, map[string]string{"sqs:SendMessage": "simulated", "sns:Publish": "simulated"}, flow, `{"order":7}`, "")
	if ran.state.Status != machine.StatusFailed || !strings.Contains(ran.state.Cause, "params.DelaySeconds is number 3600: want an integer from 0 to 900") {
		t.Errorf("%s: %s %s", ran.state.Status, ran.state.Error, ran.state.Cause)
	}
}

func TestResolveReportsQueuesWithoutRunner(t *testing.T) {
	t.Parallel()
	flow, err := fdl.Parse([]byte(sends))
	if err != nil {
		t.Fatal(err)
	}
	tasks, definitionErr := local.NewFunctions(&local.Clock{}, map[string]string{"questions": "exec:cat"})
	if definitionErr != nil {
		t.Fatal(definitionErr)
	}
	missing := tasks.Resolve(flow)
	const want = `step Tell: no runner for "orders" ` +
		`(orders=exec:COMMAND, http(s)://... or lambda:..., or sqs:SendMessage=simulated or aws)`
	if len(missing) != 1 || missing[0].Error() != want {
		t.Errorf("missing %v", missing)
	}
}
