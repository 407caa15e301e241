package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/webhook"
)

const notifySecret = "whsec_bm90aWZ5bm90aWZ5bm90aWZ5bm90aWZ5"

// secretsOf returns the secrets of the text.
func secretsOf(text string) func(context.Context) ([]webhook.Secret, error) {
	return func(context.Context) ([]webhook.Secret, error) { return webhook.ParseSecrets(text) }
}

// rules: NO-4 NO-5
func TestNoticesToURLs(t *testing.T) {
	t.Parallel()
	verifier, err := standardwebhooks.NewWebhook(notifySecret)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		notifier
		status  int
		want    string // of the error, empty for none
		discard bool
		calls   int
	}{
		"accepted":              {notifier{secrets: secretsOf(notifySecret)}, 204, "", false, 1},
		"rejected":              {notifier{secrets: secretsOf(notifySecret)}, 500, "status 500", false, 1},
		"wants no more":         {notifier{secrets: secretsOf(notifySecret)}, 410, "410", true, 1},
		"a private address":     {notifier{secrets: secretsOf(notifySecret), onlyPublic: true}, 204, "private address", false, 0},
		"no secret":             {notifier{secrets: secretsOf("")}, 204, "NotifySecret", false, 0},
		"a secret of no use":    {notifier{secrets: secretsOf("s3cret")}, 204, "secret 1 of notices", false, 0},
		"a redirect elsewhere":  {notifier{secrets: secretsOf(notifySecret)}, 307, "status 307", false, 1},
		"two secrets, one good": {notifier{secrets: secretsOf(notifySecret + " " + notifySecret)}, 200, "", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls++
				if err := verifier.Verify([]byte(`{"a":1}`), r.Header); err != nil || r.Header.Get("webhook-id") != "end-1" {
					t.Errorf("id %q, error %v", r.Header.Get("webhook-id"), err)
				}
				w.Header().Set("Location", "/other")
				w.WriteHeader(tt.status)
			}))
			defer server.Close()
			err := tt.send(t.Context(), engine.Notice{ID: "end-1", Target: server.URL + "/s3cret", Body: `{"a":1}`})
			if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if errors.Is(err, sqs.ErrDiscard) != tt.discard || calls != tt.calls {
				t.Errorf("discarded: %t, %d calls, want %t and %d", errors.Is(err, sqs.ErrDiscard), calls, tt.discard, tt.calls)
			}
		})
	}
}

// inSecret is a client of Secrets Manager that has one text for each secret.
type inSecret string

func (s inSecret) GetSecretValue(
	context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	return &secretsmanager.GetSecretValueOutput{SecretString: aws.String(string(s))}, nil
}

// rules: NO-3 NO-9
//
// Only the secret that the parameter Notify names is read for the URL of a target.
func TestNoticesToTheURLInASecret(t *testing.T) {
	t.Parallel()
	const named = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf"
	for name, tt := range map[string]struct{ parameter, target, text, want string }{
		"the secret":        {named, named, "https://127.0.0.1:1/s3cret\n", "private address"},
		"another secret":    {named, named + "2", "https://127.0.0.1:1/s3cret", "set the parameter Notify"},
		"no secret":         {"", named, "https://127.0.0.1:1/s3cret", "set the parameter Notify"},
		"not a URL":         {named, named, "s3cret", "is not a URL"},
		"not encrypted":     {named, named, "http://example.org/s3cret", "not encrypted"},
		"a queue's ARN":     {named, named, "arn:aws:sqs:eu-west-1:123456789012:s3cret", "not a URL"},
		"a URL in the open": {named, "https://127.0.0.1:1/s3cret", "", "private address"},
	} {
		url := &secrets.Parsed[string]{Client: inSecret(tt.text), Secret: tt.parameter, Now: time.Now, Parse: parseURL}
		n := notifier{secrets: secretsOf(notifySecret), onlyPublic: true, preset: url}
		err := n.send(t.Context(), engine.Notice{ID: "end-1", Target: tt.target, Body: `{"a":1}`})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

// fromTopics is the policy of a queue that topics send to.
const fromTopics = `{"Version":"2012-10-17","Statement":` +
	`[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}`

// noticeBody is the body of a notice.
const noticeBody = `{"data":{"execution":"run","flow":"flow"},"timestamp":"2026-01-31T10:00:00.000Z","type":"execution.ended"}`

// rules: NO-7 NO-13 NO-14
//
// A queue, a topic and an event bus get a notice with its id. What they send on arrives at one
// queue.
func TestNoticesToServices(t *testing.T) {
	t.Parallel()
	config, name := emulator.Config(t), "notices-"+rand.Text()
	queues := awssqs.NewFromConfig(config)
	url, queue := newQueue(t, queues, name)
	if _, err := queues.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"Policy": fromTopics},
	}); err != nil {
		t.Fatal(err)
	}
	topic, bus := newTopic(t, config, name, queue), newBus(t, config, name, queue)
	n := notifier{config: config}
	for target, id := range map[string]string{queue: "end-queue", topic: "end-topic", bus: "end-bus"} {
		if err := n.send(t.Context(), engine.Notice{Execution: engine.NewID("flow", "run"), ID: id, Target: target, Body: noticeBody}); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	got := map[string]bool{}
	for len(got) < 3 && t.Context().Err() == nil {
		answer, err := queues.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{
			QueueUrl: &url, WaitTimeSeconds: 20, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		})
		if err != nil || len(answer.Messages) == 0 {
			t.Fatalf("%v came, error %v", got, err)
		}
		for _, m := range answer.Messages {
			id := cmp.Or(aws.ToString(m.MessageAttributes[idAttribute].StringValue), "end-bus")
			got[id] = true
			if id == "end-bus" {
				wantEvent(t, *m.Body)
			} else if *m.Body != noticeBody {
				t.Errorf("%s is %s", id, *m.Body)
			}
		}
	}
	for _, target := range []string{topic + "-none", queue + "-none", strings.Replace(queue, ":sqs:", ":s3:", 1)} {
		if err := n.send(t.Context(), engine.Notice{ID: "end", Target: target, Body: noticeBody}); err == nil {
			t.Errorf("%s: no error", target)
		}
	}
}

// wantEvent checks the event of a notice.
func wantEvent(t *testing.T, text string) {
	t.Helper()
	for _, part := range []string{`"source":"waitless"`, `"detail-type":"execution.ended"`, `"id":"end-bus"`, `"execution":"run"`} {
		if !strings.Contains(strings.ReplaceAll(text, `": `, `":`), part) {
			t.Errorf("the event is %s, want %s", text, part)
		}
	}
}

// newTopic makes a topic that sends to the queue.
func newTopic(t *testing.T, config aws.Config, name, queue string) (arn string) {
	t.Helper()
	topics := sns.NewFromConfig(config)
	made, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &name})
	if err == nil {
		_, err = topics.Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: made.TopicArn, Protocol: aws.String("sqs"), Endpoint: &queue, Attributes: map[string]string{"RawMessageDelivery": "true"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return *made.TopicArn
}

// newBus makes an event bus with a rule that sends to the queue.
func newBus(t *testing.T, config aws.Config, name, queue string) (arn string) {
	t.Helper()
	buses := eventbridge.NewFromConfig(config)
	made, err := buses.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &name})
	if err == nil {
		_, err = buses.PutRule(t.Context(), &eventbridge.PutRuleInput{
			Name: &name, EventBusName: &name,
			EventPattern: aws.String(`{"source":["waitless"],"detail-type":["execution.ended"],"detail":{"data":{"flow":["flow"]}}}`),
		})
	}
	if err == nil {
		_, err = buses.PutTargets(t.Context(), &eventbridge.PutTargetsInput{
			Rule: &name, EventBusName: &name, Targets: []types.Target{{Id: aws.String("queue"), Arn: &queue}},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return *made.EventBusArn
}

// rules: NO-13
//
// Messages of one execution to a target with groups are in order, and one that is sent twice is
// there once.
func TestNoticesInGroups(t *testing.T) {
	t.Parallel()
	config := emulator.Config(t)
	queues := awssqs.NewFromConfig(config)
	made, err := queues.CreateQueue(t.Context(), &awssqs.CreateQueueInput{
		QueueName: aws.String("n" + rand.Text() + ".fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := queues.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{
		QueueUrl: made.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := notifier{config: config}
	for range 2 {
		if err := n.send(t.Context(), engine.Notice{ID: "end", Target: found.Attributes["QueueArn"], Body: noticeBody}); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := queues.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: made.QueueUrl, MaxNumberOfMessages: 10})
	if err != nil || len(answer.Messages) != 1 || *answer.Messages[0].Body != noticeBody {
		t.Errorf("%+v, error %v", answer, err)
	}
}
