package sqs_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// Dead letters are listed with what they are about and without a token, are there after that, and
// are replayed or dropped.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	client := awssqs.NewFromConfig(emulator.Config(t))
	urls := make([]string, 2)
	for i := range urls {
		created, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("letters-" + rand.Text())})
		if err != nil {
			t.Fatal(err)
		}
		urls[i] = *created.QueueUrl
	}
	send := func(body string) {
		t.Helper()
		if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &urls[0], MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	id := engine.NewID("orders", "order-7")
	wake, err := sqs.EncodeWake(engine.Wake{Execution: id, Cause: "start", Due: time.Unix(1, 0), Sent: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	handle := (token.Keys{Current: token.Key{ID: 1}}).Handle(token.ID{Execution: id, Number: 3})
	send(wake)
	send(`{"v":1,"kind":"delivery","payload":{"handle":"` + handle + `","sent":"2026-01-31T10:00:00Z"}}`)
	send(`{"id":"e-1","source":"aws.batch","detail-type":"Batch Job State Change","detail":{}}`)
	send("not JSON")

	letters := sqs.DeadLetters{Client: client, URL: urls[0], Source: urls[1]}
	for range 2 { // listing releases them
		found := receiveLetters(t, letters, 4)
		text, _ := json.Marshal(found)
		for _, want := range []string{`"execution":"` + id.String() + `"`, `"cause":"start"`, `"delivery":"`, `"source":"aws.batch"`, `"Kind":"event"`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s", text, want)
			}
		}
		if strings.Contains(string(text), handle) {
			t.Errorf("%s has the handle of a token", text)
		}
		if err := letters.Release(t.Context(), found); err != nil {
			t.Fatal(err)
		}
	}
	for _, letter := range receiveLetters(t, letters, 4) {
		if w := letter.Wake; (w != nil) != (letter.Kind == "wake") {
			t.Errorf("%q has the wake %+v", letter.Kind, w)
		}
		finish := letters.Drop
		if letter.Kind == "wake" {
			finish = letters.Replay
		}
		if err := finish(t.Context(), letter); err != nil {
			t.Error(err)
		}
	}
	replayed, err := client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &urls[1], MaxNumberOfMessages: 10})
	if err != nil || len(replayed.Messages) != 1 || *replayed.Messages[0].Body != wake {
		t.Errorf("replayed %+v, error %v", replayed, err)
	}
	if left, err := letters.Receive(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left %+v, error %v", left, err)
	}
}

// A letter that is dead-lettered again has the number of its replays. One that an operator replays
// begins anew.
func TestReplaysAreCounted(t *testing.T) {
	t.Parallel()
	client := awssqs.NewFromConfig(emulator.Config(t))
	created, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("replays-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	letters := sqs.DeadLetters{Client: client, URL: *created.QueueUrl, Source: *created.QueueUrl}
	if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: created.QueueUrl, MessageBody: aws.String("a message")}); err != nil {
		t.Fatal(err)
	}
	if n, err := letters.Count(t.Context()); err != nil || n != 1 {
		t.Errorf("%d letters, error %v", n, err)
	}
	replays := []func(context.Context, sqs.Letter) error{letters.ReplayCounted, letters.ReplayCounted, letters.Replay, letters.Drop}
	for i, want := range []int{0, 1, 2, 0} {
		letter := receiveLetters(t, letters, 1)[0]
		if letter.Replays != want {
			t.Errorf("replayed %d times, want %d", letter.Replays, want)
		}
		if err := replays[i](t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
}

// receiveLetters receives so many letters: one request may return fewer.
func receiveLetters(t *testing.T, letters sqs.DeadLetters, want int) (found []sqs.Letter) {
	t.Helper()
	for range 10 {
		some, err := letters.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if found = append(found, some...); len(found) == want {
			return found
		}
	}
	t.Fatalf("%d letters, want %d", len(found), want)
	return nil
}
