package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/engine"
)

// idAttribute is the attribute of a message with the id of the notice, named as the header of a
// request to a URL is.
const idAttribute = "webhook-id"

// isFIFO reports whether messages of the target have groups. The notices of one execution are a
// group.
func isFIFO(target arn.ARN) bool { return strings.HasSuffix(target.Resource, ".fifo") }

func (n notifier) sendToQueue(ctx context.Context, target arn.ARN, notice engine.Notice) error {
	host := "https://sqs." + target.Region + ".amazonaws.com"
	if target.Partition == "aws-cn" {
		host += ".cn"
	}
	input := &sqs.SendMessageInput{
		QueueUrl:    aws.String(host + "/" + target.AccountID + "/" + target.Resource),
		MessageBody: &notice.Body, MessageAttributes: map[string]types.MessageAttributeValue{
			idAttribute: {DataType: aws.String("String"), StringValue: &notice.ID},
		},
	}
	if isFIFO(target) {
		input.MessageGroupId, input.MessageDeduplicationId = aws.String(notice.Execution.String()), &notice.ID
	}
	_, err := sqs.NewFromConfig(n.config).SendMessage(ctx, input)
	return err
}

// putEvent puts the notice with its id on an event bus.
func (n notifier) putEvent(ctx context.Context, notice engine.Notice) error {
	var form struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
	}
	if err := json.Unmarshal([]byte(notice.Body), &form); err != nil {
		return err
	}
	id, _ := json.Marshal(notice.ID) // a text
	detail := `{"id":` + string(id) + "," + notice.Body[1:]
	return bus{eventbridge.NewFromConfig(n.config), notice.Target}.put(ctx, form.Type, detail, form.Timestamp)
}

// publish publishes a notice on a topic.
func (n notifier) publish(ctx context.Context, target arn.ARN, notice engine.Notice) error {
	params := map[string]any{
		"TopicArn": notice.Target, "Message": notice.Body,
		"MessageAttributes": map[string]any{idAttribute: map[string]string{"DataType": "String", "StringValue": notice.ID}},
	}
	if isFIFO(target) {
		params["MessageGroupId"], params["MessageDeduplicationId"] = notice.Execution.String(), notice.ID
	}
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	_, err = call.New(n.config).Call(ctx, call.Publish, text)
	return err
}
