package fdl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
)

// What a message says and no service of AWS does is for strict mode to tell.
func TestStrictMessages(t *testing.T) {
	t.Parallel()
	const message = `  - {type: task, name: Only, resourceArn: "acs:mns:::/queues/q/messages", serviceParams: {MessageBody: $, Priority: 8}}` + "\n"
	const want = "flow.yaml:4:107: strict: Priority does nothing: neither SQS nor SNS has priorities\n"
	if got := lines(parse(t, flowOf(message)).Extensions); got != want {
		t.Errorf("got %swant %s", got, want)
	}
}

// A message that lacks a param is reported with the service's name of it, and with the misspelt
// one.
func TestMessagesWithoutParams(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`action: "sns:Publish", serviceParams: {TopicArn: a, Mesage: hi}`:      `serviceParams has no "Message" but "Mesage"; write a text`,
		`action: "sns:Publish", serviceParams: {TopicArn: a, MessageTag: x}`:   `serviceParams has no "Message"; write a text`,
		`action: "sns:Publish", serviceParams: {QueueUrl: a, Message: hi}`:     `serviceParams has no "TopicArn" or "TopicName", which sns:Publish requires`,
		`action: "sqs:SendMessage", serviceParams: {QueUrl: a, Message: hi}`:   `serviceParams has no "QueueUrl" or "QueueName" but "QueUrl", which sqs:`,
		`resourceArn: "acs:mns:::/topics/t/messages", serviceParams: {}`:       `serviceParams has no "MessageBody"; write a text`,
		`action: "dynamodb:putItem", serviceParams: {}`:                        `action "dynamodb:putItem" is unknown; did you mean "dynamodb:PutItem"?`,
		`action: "DynamoDB:PutItem", serviceParams: {}`:                        `did you mean "dynamodb:PutItem"?`,
		`action: "dynamodb:put-item", serviceParams: {}`:                       `did you mean "dynamodb:PutItem"?`,
		`action: "dynamodb:putitem", serviceParams: {}`:                        `(allowed: those of waitless jobs list, and operations: waitless docs actions)`,
		`action: "Batch:submitJob", serviceParams: {}`:                         `did you mean "batch:SubmitJob"?`,
		`action: "ssm:SendCommand", serviceParams: {}, stopJob: true`:          `stopJob does not go with operation ssm:SendCommand`,
		`action: "ssm:SendCommand", serviceParams: {}, account: "12345678901"`: `account does not go with operation ssm:SendCommand`,
	} {
		_, problems := fdl.Parse([]byte(flowOf("  - {type: task, name: Only, " + params + "}\n")))
		if got := lines(problems); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}
