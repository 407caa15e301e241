package messages_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/jobs"
)

// fromTopics is the policy of a queue that topics send to.
const fromTopics = `{"Version":"2012-10-17","Statement":` +
	`[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}`

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// What real services take is what the table makes, and what they answer is what
// it reads.
func TestMessagesArriveAtTheirQueue(t *testing.T) {
	t.Parallel()
	config, name := emulator.Config(t), "q"+rand.Text()
	queues, topics := sqs.NewFromConfig(config), sns.NewFromConfig(config)
	queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"Policy": fromTopics}})
	if err != nil {
		t.Fatal(err)
	}
	topic, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &name})
	if err == nil {
		_, err = topics.Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String(strings.Replace(*topic.TopicArn, ":sns:", ":sqs:", 1)),
			Attributes: map[string]string{"RawMessageDelivery": "true"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := services.New(config, messages.Operations(config))
	for kind, place := range map[string]string{"sqs-message": "QueueName", "sns-message": "TopicName"} {
		row, _ := jobs.Find(kind)
		params, err := row.MessageParams(emulator.Account, emulator.Region, []byte(`{"`+place+`":"`+name+`","MessageBody":{"a":1},"MessageTag":"t"}`), "once")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.Start(t.Context(), row, params)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := row.ReadSent(params, answer)
		if err != nil || sent.RequestID == "" {
			t.Errorf("%s: sent %+v, error %v", kind, sent, err)
		}
		got, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: queue.QueueUrl, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"},
		})
		if err != nil || len(got.Messages) != 1 {
			t.Fatalf("%s: %d messages, error %v", kind, len(got.Messages), err)
		}
		if m := got.Messages[0]; *m.Body != `{"a":1}` || !strings.EqualFold(*m.MD5OfBody, sent.BodyMD5) || *m.MessageAttributes["MessageTag"].StringValue != "t" {
			t.Errorf("%s: got %s %s, sent %+v", kind, *m.Body, *m.MD5OfBody, sent)
		}
		if _, err := queues.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: queue.QueueUrl}); err != nil {
			t.Fatal(err)
		}
	}
}
