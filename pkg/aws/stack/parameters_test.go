package stack_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awseventbridge "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// Flows call functions of others that parameters name, by ARN or by a name, and
// no more than these.
func TestFunctionsThatParametersName(t *testing.T) {
	t.Parallel()
	s := hasty.get(t) // and the functions are of the standard one
	const step = "version: v1\ntype: flow\nsteps:\n- {type: task, name: Call, resourceArn: %q, pattern: requestResponse}\n"
	for name, tt := range map[string]struct {
		resource string
		exit     int
		want     string
	}{
		"by-arn":    {theirs, view.ExitSucceeded, `{"n":1}`},
		"by-name":   {"acs:fc:::services/any/functions/Greet", view.ExitSucceeded, `{"n":1}`},
		"not-named": {"arn:aws:lambda:" + emulator.Region + ":" + emulator.Account + ":function:" + standard.name + "-greet", view.ExitFailed, "FC.AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.check(t, tt.exit, tt.want, "run", writeFlow(t, name, fmt.Sprintf(step, tt.resource)), "--name", "one", "--input", `{"n":1}`)
		})
	}
}

// Who asks for them is told of the ends of executions.
func TestEndsArePublished(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	config := emulator.Config(t)
	queues, events := sqs.NewFromConfig(config), awseventbridge.NewFromConfig(config)
	created, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(s.name + "-ends")})
	if err != nil {
		t.Fatal(err)
	}
	found, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: created.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutRule(t.Context(), &awseventbridge.PutRuleInput{
		Name: &s.name, EventPattern: aws.String(`{"source":["waitless"],"detail":{"flow":["published"]}}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutTargets(t.Context(), &awseventbridge.PutTargetsInput{
		Rule: &s.name, Targets: []types.Target{{Id: aws.String("ends"), Arn: aws.String(found.Attributes["QueueArn"])}},
	}); err != nil {
		t.Fatal(err)
	}
	flow := writeFlow(t, "published", "version: v1\ntype: flow\nsteps:\n- {type: fail, name: Refuse, error: Refused, cause: not today}\n")
	s.check(t, view.ExitFailed, "Refused", "run", flow, "--name", "one")
	received, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: created.QueueUrl, WaitTimeSeconds: 20})
	if err != nil || len(received.Messages) != 1 {
		t.Fatalf("%d events, error %v", len(received.Messages), err)
	}
	var got struct {
		Detail struct{ Execution, Status, Error string }
	}
	if err := json.Unmarshal([]byte(*received.Messages[0].Body), &got); err != nil {
		t.Fatal(err)
	}
	if d := got.Detail; d.Execution != "one" || d.Status != string(machine.StatusFailed) || d.Error != "Refused" {
		t.Errorf("%+v", d)
	}
}
