// Package messages sends messages to queues of SQS and topics of SNS, for the
// kinds of package jobs that have no end. It is apart from package services so
// that only who sends any links the clients.
//
// This package is not an API and may change between releases.
package messages

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/services"
)

// Operations returns the operations that send messages. A message is sent again
// only when it did not arrive. No message goes to a queue of a Waitless stack,
// whatever the rights of the sender, nor to own, the URLs of more such queues.
func Operations(config aws.Config, own ...string) services.Operations {
	starts := services.Starts(config)
	q := &queues{client: sqs.NewFromConfig(starts), urls: map[string]string{}}
	for _, queue := range own {
		q.own = append(q.own, path.Base(queue))
	}
	t := &topics{client: call.New(starts)}
	return services.Operations{"sqs:SendMessage": q.send, "sns:Publish": t.publish}
}

type queues struct {
	client *sqs.Client
	own    []string // names

	mu   sync.Mutex
	urls map[string]string // by the queue's name
}

// queueMessage is the service's input, with the name of a queue in place of its URL.
type queueMessage struct {
	QueueName string
	sqs.SendMessageInput
}

func (q *queues) send(ctx context.Context, service string, params []byte) ([]byte, error) {
	var input queueMessage
	if err := services.Decode(params, &input); err != nil {
		return nil, err
	}
	if input.QueueName != "" {
		found, err := q.url(ctx, input.QueueName)
		if err != nil {
			return nil, services.Refusal(service, err)
		}
		input.QueueUrl = &found
	}
	checked, err := q.check(aws.ToString(input.QueueUrl))
	if err != nil {
		return nil, services.Refusal(service, err)
	}
	input.QueueUrl = &checked
	output, err := q.client.SendMessage(ctx, &input.SendMessageInput)
	if err != nil {
		return nil, services.Refusal(service, err)
	}
	requestID, _ := middleware.GetRequestIDMetadata(output.ResultMetadata)
	return answer(aws.ToString(output.MessageId), requestID)
}

// ofStack matches the names that CloudFormation gives the queues of template.yaml:
// the stack's name, the logical id and random characters. It shortens the logical
// id behind a very long name of a stack: the sender's own stack is therefore also
// known by its URLs.
var ofStack = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)-(Wake|Descendant|Task|Delivery|Notice|Job|Poll)(Queue|DeadLetters)-[0-9A-Za-z]{8,}$`)
})

// queueURL matches the one spelling of a queue's URL that is accepted: scheme and
// host, account, name.
var queueURL = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)/([0-9]{12})/([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$`)
})

// check rejects a queue of a stack, and returns the queue's URL, built from the parts
// that it checked. It accepts one spelling, because SQS may read others differently.
func (q *queues) check(queue string) (string, error) {
	parts := queueURL().FindStringSubmatch(queue)
	if parts == nil {
		return "", services.Invalid("params.QueueUrl is not the URL of a queue; write https://HOST/ACCOUNT/NAME, with 12 digits for the account, or use QueueName")
	}
	base, account, name := parts[1], parts[2], parts[3]
	isOwn := func(own string) bool { return strings.EqualFold(own, name) }
	if slices.ContainsFunc(q.own, isOwn) || ofStack().MatchString(name) {
		return "", &smithy.GenericAPIError{
			Code: "AccessDenied", Message: "queue " + name + " has the name of a queue of a Waitless stack, to which no flow sends; use a queue with another name",
		}
	}
	return base + "/" + account + "/" + name, nil
}

// url returns the URL of the queue with the name. A queue that is created again has the same URL.
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

type topics struct{ client *call.Client }

func (t *topics) publish(ctx context.Context, service string, params []byte) ([]byte, error) {
	response, err := t.client.Call(ctx, call.Publish, params)
	var output struct{ MessageID string }
	if err == nil {
		err = json.Unmarshal(response.Body, &output)
	}
	if err != nil {
		return nil, services.Refusal(service, err)
	}
	return answer(output.MessageID, response.RequestID)
}

// answer is what both services tell.
func answer(messageID, requestID string) ([]byte, error) {
	return json.Marshal(map[string]string{"MessageId": messageID, "RequestId": requestID})
}
