package jobs

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

// Anybody with the right to publish to the topic writes a notification, so that each is a hint.
func TestNotificationsAreHints(t *testing.T) {
	t.Parallel()
	tested := 0
	for _, kind := range Kinds() {
		if !kind.ByTopic() {
			continue
		}
		tested++
		if !kind.event.hint {
			t.Errorf("%s trusts what is published", kind.Name)
		}
	}
	if tested == 0 {
		t.Error("no kind has notifications")
	}
	if slices.Contains(Sources(), SourceTopic) {
		t.Error("a rule waits for events that no service sends")
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:eu-central-1:111122223333:done"
	done := `{"JobId":"j","Status":"SUCCEEDED","API":"StartDocumentAnalysis"}`
	batch := `{"source":"aws.batch","detail-type":"Batch Job State Change","detail":{"jobArn":"a","jobId":"j","status":"SUCCEEDED"}}`
	for _, tt := range []struct {
		name, topic, message string
		key                  Key
		noEnd                bool
	}{
		{name: "an end", topic: topic, message: done, key: Key{"textract-analysis", account, region, "j"}},
		{
			name: "an end in another region", topic: "arn:aws-cn:sns:cn-north-1:111122223333:done", message: done,
			key: Key{"textract-analysis", account, "cn-north-1", "j"},
		},
		{name: "a status that is no end", topic: topic, message: `{"JobId":"j","Status":"IN_PROGRESS","API":"StartDocumentAnalysis"}`, noEnd: true},
		{name: "another operation", topic: topic, message: `{"JobId":"j","Status":"SUCCEEDED","API":"StartNothing"}`, noEnd: true},
		{name: "an event of another service", topic: topic, message: batch, noEnd: true},
		{name: "a text", topic: topic, message: "The disk is full.", noEnd: true},
		{name: "no topic", topic: "arn:aws:sqs:eu-central-1:111122223333:done", message: done},
		{name: "no id", topic: topic, message: `{"Status":"SUCCEEDED","API":"StartDocumentAnalysis"}`},
	} {
		text, err := json.Marshal(map[string]string{
			"Type": "Notification", "TopicArn": tt.topic, "Message": tt.message, "Timestamp": "2026-03-04T05:06:07.000Z",
		})
		if err != nil {
			t.Fatal(err)
		}
		key, seen, err := ReadEvent(text)
		if key != tt.key || errors.Is(err, ErrNoEnd) != tt.noEnd || (err == nil) != (tt.key != Key{}) || err == nil && !seen.IsHint() {
			t.Errorf("%s: got %v, %+v, %v", tt.name, key, seen, err)
		}
	}
}
