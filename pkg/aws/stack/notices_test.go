package stack_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// toldQueue is the ARN of the queue that the stack of that name may send notices to.
func toldQueue(stack string) string {
	return "arn:aws:sqs:" + emulator.Region + ":" + emulator.Account + ":" + stack + "-told"
}

// makeToldQueue makes that queue unless it is there.
func makeToldQueue(t *testing.T, s stack) (client *sqs.Client, url string) {
	t.Helper()
	client = sqs.NewFromConfig(emulator.Config(t))
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(s.name + "-told")})
	if err != nil {
		t.Fatal(err)
	}
	return client, *made.QueueUrl
}

// rules: NO-1 NO-7
//
// The target of an execution on a stack is told of its wait, again by rearm, and of its end. A
// target that the stack does not list is rejected.
func TestAQueueIsNotified(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	queues, url := makeToldQueue(t, s)
	flow := writeFlow(t, "notified", "version: v1\ntype: flow\nsteps:\n"+asks+"\n")
	f := s.follow(t, "start", flow, "--follow", "--name", "one", "--notify", toldQueue(s.name), "--notify-waits")
	receive := func() (received *sqs.ReceiveMessageOutput, err error) {
		for range 6 { // what was entered a moment ago is not repeated before its worker is dead for certain
			received, err = queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: &url, WaitTimeSeconds: 20, MaxNumberOfMessages: 1, MessageAttributeNames: []string{"webhook-id"},
			})
			if err != nil || len(received.Messages) > 0 {
				break
			}
		}
		return received, err
	}
	wants := []string{`"type":"execution.waiting"`, `"type":"execution.waiting"`, `"type":"execution.ended"`}
	ids := map[string]bool{}
	for i, want := range wants {
		received, err := receive()
		if err != nil || len(received.Messages) != 1 {
			t.Fatalf("notice %d: %d messages, error %v", i, len(received.Messages), err)
		}
		if body := *received.Messages[0].Body; !strings.Contains(body, want) || !strings.Contains(body, `"execution":"one"`) {
			t.Errorf("notice %d is %s, want %s", i, body, want)
		}
		if _, err := queues.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: received.Messages[0].ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		ids[aws.ToString(received.Messages[0].MessageAttributes["webhook-id"].StringValue)] = true
		switch i {
		case 0:
			bindings.Lock()
			s.check(t, view.ExitSucceeded, "notices of open waits: ", "rearm", "--notices")
			bindings.Unlock()
		case 1:
			s.check(t, view.ExitSucceeded, "", "tokens", "succeed", f.token())
		}
	}
	if len(ids) != 2 {
		t.Errorf("the ids are %v, want one of the wait and one of the end", ids)
	}
	s.check(t, view.ExitUsage, "NotifyTargets", "start", flow, "--name", "two", "--notify", toldQueue("others"))
}
