package sqs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"github.com/waitless/waitless/pkg/aws/sqs"
)

// endpoint is a client of a stand-in for SQS, and the requests that reach it.
func endpoint(t *testing.T) (*awssqs.Client, <-chan request) {
	t.Helper()
	requests := make(chan request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := request{header: r.Header}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		requests <- got
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte(`{"MessageId":"m"}`))
	}))
	t.Cleanup(server.Close)
	return awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: aws.AnonymousCredentials{}, DisableMessageChecksumValidation: true,
	}), requests
}

type request struct {
	QueueURL     string `json:"QueueUrl"`
	MessageBody  string
	DelaySeconds int

	header http.Header
}

func TestSend(t *testing.T) {
	t.Parallel()
	client, requests := endpoint(t)
	if err := sqs.Send(t.Context(), sqs.Queue{Client: client, URL: "https://queue"}, "body", 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := <-requests; got.QueueURL != "https://queue" || got.MessageBody != "body" || got.DelaySeconds != 2 {
		t.Errorf("sent %+v", got)
	}
	if err := sqs.Send(t.Context(), sqs.Queue{Client: client, URL: "https://queue"}, "body", sqs.LongestDelay+1); err == nil {
		t.Error("a delay over the limit was sent")
	}
}

// Lambda gives its functions both variables, and the SDK passes the lineage on
// unless it is told not to.
func TestMessageHasNoLineage(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "interpreter")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Lineage=1:a87bd80c:1")
	const header = "X-Amzn-Trace-Id"
	client, requests := endpoint(t)
	if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: aws.String("https://queue"), MessageBody: aws.String("body")}); err != nil {
		t.Fatal(err)
	}
	if (<-requests).header.Get(header) == "" {
		t.Error("the SDK does not pass the lineage on any more: what takes it off can go")
	}
	without := awssqs.New(client.Options(), func(o *awssqs.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			_, err := stack.Build.Remove("RecursionDetection")
			return err
		})
	})
	for name, client := range map[string]*awssqs.Client{"a client of the SDK": client, "one that has none": without} {
		if err := sqs.Send(t.Context(), sqs.Queue{Client: client, URL: "https://queue"}, "body", 0); err != nil {
			t.Fatal(err)
		}
		if got := (<-requests).header.Values(header); len(got) > 0 {
			t.Errorf("%s: a message has the lineage %q", name, got)
		}
	}
}

func TestSecondsAreRoundedUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int32{
		-time.Hour: 0, -1: 0, 0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, sqs.LongestDelay: 900, 12 * time.Hour: 43200,
	} {
		if got := sqs.Seconds(d); got != want {
			t.Errorf("%s are %d s, want %d", d, got, want)
		}
	}
}
