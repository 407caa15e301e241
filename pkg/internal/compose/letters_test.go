package compose

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/internal/cli/target"
)

// SQS names a deleted queue in two ways: in the body, and in the header for clients of its older
// protocol.
func TestDeletedQueues(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amzn-Query-Error", "AWS.SimpleQueueService.NonExistentQueue;Sender")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}`)
	}))
	t.Cleanup(server.Close)
	client := sqs.NewClient(aws.Config{
		Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	d := &deadLetters{
		queues:   map[string]sqs.DeadLetters{"WakeDeadLetters": {Client: client, URL: server.URL + "/1/dead", Source: server.URL + "/1/wakes"}},
		received: map[string]sqs.Letter{"a": {ID: "a"}},
	}
	if _, err := d.Receive(t.Context(), "WakeDeadLetters"); !errors.Is(err, target.ErrNoQueue) {
		t.Errorf("receive: %v", err)
	}
	if err := d.Replay(t.Context(), target.Letter{ID: "a", Queue: "WakeDeadLetters"}); !errors.Is(err, target.ErrNoQueue) {
		t.Errorf("replay: %v", err)
	}
}
