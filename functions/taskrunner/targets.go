package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/engine"
)

// idAttribute is the attribute of a message with the id of the notice, named as the header of a request to a URL is.
const idAttribute = "webhook-id"

// sendTo sends a notice to a queue, a topic or an event bus, in the region of its ARN.
func (n notifier) sendTo(ctx context.Context, target arn.ARN, notice engine.Notice) error {
	n.config.Region = target.Region
	switch target.Service {
	case "sqs":
		return n.sendToQueue(ctx, target, notice)
	case "sns":
		return n.publish(ctx, target, notice)
	case "events":
		return n.putEvent(ctx, notice)
	}
	return fmt.Errorf("notices cannot be sent to %s; allowed: the ARN of a queue, a topic or an event bus", notice.Target)
}

// isFIFO reports whether messages of the target have groups. Those of one execution are a group.
func isFIFO(target arn.ARN) bool { return strings.HasSuffix(target.Resource, ".fifo") }

// host returns the host of a service.
func host(target arn.ARN) string {
	name := "https://" + target.Service + "." + target.Region + ".amazonaws.com"
	if target.Partition == "aws-cn" {
		name += ".cn"
	}
	return name
}

func (n notifier) sendToQueue(ctx context.Context, target arn.ARN, notice engine.Notice) error {
	input := &sqs.SendMessageInput{
		QueueUrl:    aws.String(host(target) + "/" + target.AccountID + "/" + target.Resource),
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

// publish publishes a notice on a topic. It is the only request to SNS: the generated client would be a fifth of the binary.
func (n notifier) publish(ctx context.Context, target arn.ARN, notice engine.Notice) error {
	const attribute = "MessageAttributes.entry.1."
	form := url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {notice.Target}, "Message": {notice.Body},
		attribute + "Name": {idAttribute}, attribute + "Value.DataType": {"String"}, attribute + "Value.StringValue": {notice.ID},
	}
	if isFIFO(target) {
		form.Set("MessageGroupId", notice.Execution.String())
		form.Set("MessageDeduplicationId", notice.ID)
	}
	endpoint := host(target)
	if n.config.BaseEndpoint != nil {
		endpoint = *n.config.BaseEndpoint
	}
	return n.post(ctx, endpoint, form.Encode())
}

// post sends a signed request to SNS.
func (n notifier) post(ctx context.Context, endpoint, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	credentials, err := n.config.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "sns", n.config.Region, time.Now()); err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var refusal struct {
		Error struct{ Code, Message string }
	}
	_ = xml.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&refusal) // the status remains
	return fmt.Errorf("publish a notice: status %d %s: %s", response.StatusCode, refusal.Error.Code, refusal.Error.Message)
}
