// Package messages sends messages to queues of SQS and topics of SNS, for the
// kinds of package jobs that have no end. It is apart from package services so
// that only who sends any links the clients.
//
// This package may change between releases.
package messages

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/waitless/waitless/pkg/aws/services"
)

// Operations are those that send messages. A message is sent once more only
// when it did not arrive.
func Operations(config aws.Config) services.Operations {
	starts := services.Starts(config)
	q := &queues{client: sqs.NewFromConfig(starts), urls: map[string]string{}}
	t := &topics{client: sns.NewFromConfig(starts)}
	return services.Operations{"sqs:SendMessage": q.send, "sns:Publish": t.publish}
}

type queues struct {
	client *sqs.Client

	mu   sync.Mutex
	urls map[string]string // by the queue's name
}

// queueMessage is what the service takes, and the name of a queue in the place
// of its URL.
type queueMessage struct {
	QueueName string
	sqs.SendMessageInput
}

func (q *queues) send(ctx context.Context, service string, params []byte) ([]byte, error) {
	var input queueMessage
	if err := services.Decode(service, params, &input); err != nil {
		return nil, err
	}
	if input.QueueName != "" {
		url, err := q.url(ctx, input.QueueName)
		if err != nil {
			return nil, services.Refusal(service, err)
		}
		input.QueueUrl = &url
	}
	output, err := q.client.SendMessage(ctx, &input.SendMessageInput)
	if err != nil {
		return nil, services.Refusal(service, err)
	}
	return answer(output.MessageId, output.ResultMetadata)
}

// url is where the queue of that name is. A queue that is made again has the
// same URL.
func (q *queues) url(ctx context.Context, name string) (string, error) {
	q.mu.Lock()
	known, ok := q.urls[name]
	q.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urls[name] = aws.ToString(found.QueueUrl)
	return q.urls[name], nil
}

type topics struct{ client *sns.Client }

func (t *topics) publish(ctx context.Context, service string, params []byte) ([]byte, error) {
	var input sns.PublishInput
	if err := services.Decode(service, params, &input); err != nil {
		return nil, err
	}
	output, err := t.client.Publish(ctx, &input)
	if err != nil {
		return nil, services.Refusal(service, err)
	}
	return answer(output.MessageId, output.ResultMetadata)
}

// answer is what both services tell.
func answer(messageID *string, metadata smithymiddleware.Metadata) ([]byte, error) {
	requestID, _ := middleware.GetRequestIDMetadata(metadata)
	return json.Marshal(map[string]string{"MessageId": aws.ToString(messageID), "RequestId": requestID})
}
