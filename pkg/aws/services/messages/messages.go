// Package messages sends messages to queues of SQS and topics of SNS, for the
// kinds of package jobs that have no end. It is apart from package services so
// that only who sends any links the clients.
//
// This package may change between releases.
package messages

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/waitless/waitless/pkg/aws/services"
)

// Operations are those that send messages. A message is sent once more only
// when it did not arrive. Own are the URLs of queues that get none, whatever the
// rights of who sends: whose messages the functions of a stack believe.
func Operations(config aws.Config, own ...string) services.Operations {
	starts := services.Starts(config)
	q := &queues{client: sqs.NewFromConfig(starts), urls: map[string]string{}}
	for _, queue := range own {
		q.own = append(q.own, path.Base(queue))
	}
	t := &topics{client: sns.NewFromConfig(starts)}
	return services.Operations{"sqs:SendMessage": q.send, "sns:Publish": t.publish}
}

type queues struct {
	client *sqs.Client
	own    []string // names

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
		found, err := q.url(ctx, input.QueueName)
		if err != nil {
			return nil, services.Refusal(service, err)
		}
		input.QueueUrl = &found
	}
	if err := q.check(aws.ToString(input.QueueUrl)); err != nil {
		return nil, services.Refusal(service, err)
	}
	output, err := q.client.SendMessage(ctx, &input.SendMessageInput)
	if err != nil {
		return nil, services.Refusal(service, err)
	}
	return answer(output.MessageId, output.ResultMetadata)
}

// check refuses a queue of one's own. A queue's URL may be written in several
// ways, but has its name in its path.
func (q *queues) check(queue string) error {
	parsed, err := url.Parse(queue)
	if err != nil {
		return &smithy.GenericAPIError{Code: "InvalidArgument", Message: "params.QueueUrl is no URL"}
	}
	for part := range strings.SplitSeq(parsed.Path, "/") {
		if slices.Contains(q.own, part) {
			return &smithy.GenericAPIError{Code: "AccessDenied", Message: "queue " + part + " is the stack's own, and no flow sends to it"}
		}
	}
	return nil
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
