package stack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// mailbox is a queue of the test's.
type mailbox struct{ name, url, arn string }

func newMailbox(t *testing.T, name string, attributes map[string]string) mailbox {
	t.Helper()
	client := sqs.NewFromConfig(emulator.Config(t))
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: made.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mailbox{name, *made.QueueUrl, found.Attributes["QueueArn"]}
}

// receive takes the next message out.
func (m mailbox) receive(t *testing.T) types.Message {
	t.Helper()
	client := sqs.NewFromConfig(emulator.Config(t))
	const tries = 24 // of five seconds
	for range tries {
		got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &m.url, WaitTimeSeconds: 5, MaxNumberOfMessages: 1, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range got.Messages {
			if _, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &m.url, ReceiptHandle: message.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
			return message
		}
	}
	t.Fatalf("queue %s has no message", m.name)
	return types.Message{}
}

// tells sends a message, and goes on.
const tells = `version: v1
type: flow
steps:
  - type: task
    name: Tell
    resourceArn: acs:mns:cn-hangzhou:1:/queues/%s/messages
    inputMappings: [{target: order, source: $input.order}]
    serviceParams: {MessageBody: $, MessageTag: urgent, Priority: 8%s}
`

// A message goes to the queue of its name, and the step goes on with what SQS
// answered.
func TestAMessageToAQueue(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	for name, tt := range map[string]struct{ suffix, params string }{"standard": {"", ", DelaySeconds: 1"}, "in order": {".fifo", ", MessageGroupId: g"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attributes map[string]string
			if tt.suffix != "" {
				attributes = map[string]string{"FifoQueue": "true"}
			}
			orders := newMailbox(t, s.name+"-orders"+tt.suffix, attributes)
			flow := writeFlow(t, "tell", fmt.Sprintf(tells, orders.name, tt.params))
			got := s.do(t, "run", flow, "--name", "tell"+strings.TrimPrefix(tt.suffix, "."), "--input", `{"order":7}`)
			var output struct{ MessageID, MessageBodyMD5, RequestID string }
			if err := json.Unmarshal([]byte(got.stdout), &output); err != nil || got.exit != view.ExitSucceeded {
				t.Fatalf("%v: %+v", err, got)
			}
			message := orders.receive(t)
			if *message.Body != `{"order":7}` || *message.MessageId != output.MessageID || !strings.EqualFold(*message.MD5OfBody, output.MessageBodyMD5) ||
				output.RequestID == "" {
				t.Errorf("the step's output is %s, the message %s %s", got.stdout, *message.MessageId, *message.Body)
			}
			if tag := message.MessageAttributes["MessageTag"]; aws.ToString(tag.StringValue) != "urgent" {
				t.Errorf("the attributes are %+v", message.MessageAttributes)
			}
			if once := message.Attributes["MessageDeduplicationId"]; (once == "") != (tt.suffix == "") {
				t.Errorf("it is known by %q", once)
			}
		})
	}
}

// fromTopics is the policy of a queue that topics send to.
const fromTopics = `{"Version":"2012-10-17","Statement":` +
	`[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}`

// asksTopic sends a token to a topic, and waits for who gets it.
const asksTopic = `version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:mns:::/topics/%s/messages
    pattern: waitForCallback
    timeoutSeconds: 300
    inputMappings: [{target: token, source: $context.task.token}]
    serviceParams: {MessageBody: $}
`

// subscribed is a new queue to which a topic sends its messages as they are.
func subscribed(t *testing.T, name, topic string) mailbox {
	t.Helper()
	box := newMailbox(t, name, map[string]string{"Policy": fromTopics})
	_, err := sns.NewFromConfig(emulator.Config(t)).Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: &topic, Protocol: aws.String("sqs"), Endpoint: &box.arn, Attributes: map[string]string{"RawMessageDelivery": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// Who gets the token from a topic's subscription brings the outcome.
func TestAMessageToATopic(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	topic, err := sns.NewFromConfig(emulator.Config(t)).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String(s.name + "-topic")})
	if err != nil {
		t.Fatal(err)
	}
	questions := subscribed(t, s.name+"-questions", *topic.TopicArn)
	run := s.follow(t, "run", writeFlow(t, "ask", fmt.Sprintf(asksTopic, s.name+"-topic")), "--name", "asked")
	var body struct{ Token string }
	if message := questions.receive(t); json.Unmarshal([]byte(*message.Body), &body) != nil || body.Token == "" {
		t.Fatalf("the message is %s", *message.Body)
	}
	s.checkPosts(t, posted{"/callbacks/" + body.Token, `{"answer":42}`, http.StatusOK, "success"})
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, `{"answer":42}`, "show", "ask/asked")
	s.check(t, view.ExitSucceeded, `MessageBodyMD5`, "history", "ask/asked")
}

// What is not there fails the step by the service's own name.
func TestAMessageToNobody(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	s.check(t, view.ExitFailed, "sqs.NonExistentQueue", "run", writeFlow(t, "nobody", fmt.Sprintf(tells, s.name+"-none", "")), "--name", "nobody")
}

// A local run calls a function where the emulator has Lambda's API, and one that
// is not there is no other function.
func TestALocalRunCallsALambdaFunction(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const flow = "version: v1\ntype: flow\nsteps: [{type: task, name: Ask, resourceArn: 'acs:fc:::services/s.live/functions/ask'}]"
	endpoint := *emulator.Config(t).BaseEndpoint
	file := writeFlow(t, "local", flow)
	for definition, want := range map[string]result{
		"lambda:" + s.name + "-echo@" + endpoint: {exit: view.ExitSucceeded, stdout: `{"a":1}`},
		"lambda:" + s.name + "-echo":             {exit: view.ExitSucceeded, stdout: `{"a":1}`},
		"lambda:" + s.name + "-none":             {exit: view.ExitFailed, stderr: "FC.FunctionNotFound"},
	} {
		got := s.do(t, "run", file, "--skip-time", "--input", `{"a":1}`, "--task", "ask="+definition)
		if got.exit != want.exit || !strings.Contains(got.stdout, want.stdout) || !strings.Contains(got.stderr, want.stderr) {
			t.Errorf("%s: %+v", definition, got)
		}
	}
}

// A local run sends with the user's own rights.
func TestALocalRunSendsAMessage(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	orders := newMailbox(t, s.name+"-local-orders", nil)
	flow := writeFlow(t, "tell", fmt.Sprintf(tells, orders.name, ""))
	s.check(t, view.ExitSucceeded, `"MessageBodyMD5":"4DB405096CA2C297FFB21AEADA277352"`,
		"run", flow, "--store", t.TempDir()+"/store", "--input", `{"order":7}`, "--task", "sqs:SendMessage=aws")
	if message := orders.receive(t); *message.Body != `{"order":7}` {
		t.Errorf("the message is %s", *message.Body)
	}
}
