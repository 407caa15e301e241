package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

var now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

func ended(status machine.Status, name, cause string) machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Status: status, Started: now, At: now.Add(1500 * time.Millisecond),
		Input: value.String("secret"), Output: value.String("secret"), Error: name, Cause: cause,
	}
}

// client is a bus that notes what it is given.
type client struct {
	entries []types.PutEventsRequestEntry
	answer  eventbridge.PutEventsOutput
	err     error
}

func (c *client) PutEvents(
	_ context.Context, input *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options),
) (*eventbridge.PutEventsOutput, error) {
	c.entries = append(c.entries, input.Entries...)
	return &c.answer, c.err
}

func TestTheEventOfAnEnd(t *testing.T) {
	t.Parallel()
	text := token.Keys{Current: token.Key{Secret: make([]byte, token.SecretSize)}}.Sign(token.ID{Expires: now})
	const members = `{"version":1,"flow":"flow","execution":"run","id":"` // and so on
	id := ended("", "", "").ID().String()
	for _, tt := range []struct {
		state machine.State
		want  string
	}{
		{ended(machine.StatusSucceeded, "", ""), `"status":"Succeeded",`},
		{ended(machine.StatusFailed, "JobFailed", "no \"disk\""), `"status":"Failed","error":"JobFailed","cause":"no \"disk\"",`},
		{ended(machine.StatusFailed, "E", "at "+text), `"status":"Failed","error":"E","cause":"at ` + token.Mask(text) + `",`},
		{ended(machine.StatusStopped, "", "by hand"), `"status":"Stopped","cause":"by hand",`},
		{ended(machine.StatusTimedOut, "FnF.ExecutionTimeout", "over 1h"), `"status":"TimedOut","error":"FnF.ExecutionTimeout","cause":"over 1h",`},
	} {
		c := &client{}
		b := bus{c, "bus"}
		for range 2 { // at least once, and always the same
			if err := b.Ended(t.Context(), tt.state.ID(), tt.state); err != nil {
				t.Fatal(err)
			}
		}
		want := members + id + `",` + tt.want + `"started":"2026-01-31T10:00:00Z","ended":"2026-01-31T10:00:01.5Z"}`
		for _, e := range c.entries {
			if *e.Detail != want || *e.Source != "waitless" || *e.DetailType != "Execution Status Change" || *e.EventBusName != "bus" || !e.Time.Equal(tt.state.At) {
				t.Errorf("got  %s %s %s %s %s\nwant %s", *e.EventBusName, *e.Source, *e.DetailType, e.Time, *e.Detail, want)
			}
		}
		if len(c.entries) != 2 {
			t.Errorf("%d events", len(c.entries))
		}
	}
}

func TestAnEventThatIsNotPublishedIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	refused := eventbridge.PutEventsOutput{FailedEntryCount: 1, Entries: []types.PutEventsResultEntry{
		{ErrorCode: aws.String("ThrottlingException"), ErrorMessage: aws.String("later")},
	}}
	for name, tt := range map[string]struct {
		client client
		status machine.Status
		want   string
	}{
		"the call failed":     {client{err: broken}, machine.StatusFailed, "broken"},
		"the bus rejected it": {client{answer: refused}, machine.StatusFailed, "ThrottlingException: later"},
		"and did not say why": {client{answer: eventbridge.PutEventsOutput{FailedEntryCount: 1}}, machine.StatusFailed, "the bus rejected it"},
		"it has not ended":    {client{}, machine.StatusRunning, "it is Running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bus{&tt.client, "bus"}
			state := ended(tt.status, "", "")
			err := b.Ended(t.Context(), state.ID(), state)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A rule as a user would write it gets the ends that it asks for.
func TestARuleOnTheEmulator(t *testing.T) {
	t.Parallel()
	config, name := emulator.Config(t), "bus-"+rand.Text()
	events, queues := eventbridge.NewFromConfig(config), sqs.NewFromConfig(config)
	url, arn := newQueue(t, queues, name)
	if _, err := events.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutRule(t.Context(), &eventbridge.PutRuleInput{
		Name: &name, EventBusName: &name,
		EventPattern: aws.String(`{"source":["waitless"],"detail-type":["Execution Status Change"],"detail":{"status":["Failed"],"flow":["flow"]}}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutTargets(t.Context(), &eventbridge.PutTargetsInput{
		Rule: &name, EventBusName: &name, Targets: []types.Target{{Id: aws.String("queue"), Arn: &arn}},
	}); err != nil {
		t.Fatal(err)
	}
	b := bus{events, name}
	for _, state := range []machine.State{ended(machine.StatusSucceeded, "", ""), ended(machine.StatusFailed, "JobFailed", "no disk")} {
		if err := b.Ended(t.Context(), state.ID(), state); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20, MaxNumberOfMessages: 10})
	if err != nil || len(answer.Messages) != 1 {
		t.Fatalf("%d events came, error %v", len(answer.Messages), err)
	}
	var got struct{ Detail detail }
	if err := json.Unmarshal([]byte(*answer.Messages[0].Body), &got); err != nil {
		t.Fatal(err)
	}
	if d := got.Detail; d.Execution != "run" || d.Status != machine.StatusFailed || d.Error != "JobFailed" || d.Cause != "no disk" || !d.Ended.After(d.Started) {
		t.Errorf("the detail is %+v", d)
	}
}

func newQueue(t *testing.T, client *sqs.Client, name string) (url, arn string) {
	t.Helper()
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: created.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *created.QueueUrl, attributes.Attributes["QueueArn"]
}
