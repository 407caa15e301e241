package main

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// A message of another queue is discarded. One of its own queue is redelivered, because its target
// cannot be reached.
func TestQueuesOfDeliveriesAndNotices(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	t.Cleanup(server.Close)
	variables := map[string]string{
		"AWS_ENDPOINT_URL_SQS": server.URL, "WAITLESS_DATA_LIMIT": "32768", "WAITLESS_FUNCTIONS": "echo=stack-echo",
		"WAITLESS_TASK_QUEUE": server.URL + "/tasks", "WAITLESS_DELIVERY_QUEUE": server.URL + "/deliveries", "WAITLESS_NOTICE_QUEUE": server.URL + "/notices",
	}
	const id = "0123456789abcdef01234567"
	notice := `{"v":1,"kind":"notice","payload":{"execution":"` + id + `","id":"end","target":"arn:aws:lambda:us-east-1:1:none","body":"{}"}}`
	end := `{"v":1,"kind":"end","payload":{"flow":"flow","execution":"run","status":"Running"}}` // which is not one
	for _, tt := range []struct {
		sam, queue, body string
		kept             int
	}{
		{"", "notices", notice, 1}, {"", "deliveries", notice, 0}, {"", "tasks", notice, 0},
		{"", "notices", end, 0}, {"", "deliveries", end, 1}, {"", "tasks", end, 0},
		{"true", "any", notice, 1}, {"true", "any", end, 1},
	} {
		variables["AWS_SAM_LOCAL"] = tt.sam
		handle, err := compose(func(name string) string { return cmp.Or(variables[name], "text") })
		if err != nil {
			t.Fatal(err)
		}
		response, err := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
			{MessageId: "1", ReceiptHandle: "r", Body: tt.body, EventSourceARN: "arn:aws:sqs:us-east-1:1:" + tt.queue},
		}})
		if err != nil || len(response.BatchItemFailures) != tt.kept {
			t.Errorf("%+v: %d are redelivered, error %v", tt, len(response.BatchItemFailures), err)
		}
	}
}
