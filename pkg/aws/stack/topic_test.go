package stack_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// newJobTopic makes the topic to which services publish the ends of jobs of the stack of that name.
func newJobTopic(ctx context.Context, config aws.Config, name string) (arn string, err error) {
	topic, err := sns.NewFromConfig(config).CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String(name + "-ends")})
	if err != nil {
		return "", err
	}
	return *topic.TopicArn, nil
}

// textractEnd is what Textract publishes.
func textractEnd() string {
	return fmt.Sprintf(`{"JobId":%q,"Status":"SUCCEEDED","API":"StartDocumentTextDetection","Timestamp":%d,"DocumentLocation":{}}`,
		strings.ToLower(rand.Text()), time.Now().UnixMilli())
}

// published publishes the end to the topic.
func published(t *testing.T, topic string) (messageID string) {
	t.Helper()
	made, err := sns.NewFromConfig(emulator.Config(t)).Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String(textractEnd())})
	if err != nil {
		t.Fatal(err)
	}
	return *made.MessageId
}

// subscribe has the topic send to the job queue, as the subscription of the stack does.
func (s stack) subscribe(t *testing.T, topic string) {
	t.Helper()
	_, err := sns.NewFromConfig(emulator.Config(t)).Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: &topic, Protocol: aws.String("sqs"), Endpoint: aws.String(s.queueARN(t, "JobQueue")),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNotificationsOfJobTopic: a notification of JobTopic notes the end of a job. One of another
// topic does not get into the queue, and a raw message, which does not say where it comes from, is
// discarded.
func TestNotificationsOfJobTopic(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	other, err := newJobTopic(t.Context(), emulator.Config(t), s.name+"-other")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(other, "-other", "", 1)
	s.subscribe(t, other)
	witness := subscribed(t, s.name+"-witness", other)
	refused := published(t, other)
	witness.receive(t) // the topic has sent to its queues

	line := s.logLine(t, published(t, own))
	var got struct {
		Source, Outcome, Note string
		DetailType            string `json:"detail_type"`
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Source != own || got.DetailType != "Notification" || got.Outcome != "done" || got.Note != "" {
		t.Errorf("the notification is logged as %s, %v", line, err)
	}
	s.put(t, "JobQueue", textractEnd())
	if line := s.logLine(t, "the message has version 0"); !strings.Contains(line, `"outcome":"discarded"`) {
		t.Errorf("the raw message is logged as %s", line)
	}
	s.awaitQuiet(t, "JobQueue")
	for _, log := range captured(t) {
		if strings.Contains(log, refused) {
			t.Errorf("a notification of %s was received", other)
		}
	}
}
