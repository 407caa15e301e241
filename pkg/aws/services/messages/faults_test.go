package messages_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/services/messages"
)

// TestFaultTable: a message that may have arrived is sent once.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	config, name := emulator.Config(t), "q"+rand.Text()
	if _, err := sqs.NewFromConfig(config).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
		t.Fatal(err)
	}
	topic, err := sns.NewFromConfig(config).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	var entries []faults.Entry
	for operation, params := range map[string]string{
		"sqs:SendMessage": `{"QueueName":"` + name + `","MessageBody":"body"}`,
		"sns:Publish":     `{"TopicArn":"` + *topic.TopicArn + `","Message":"body"}`,
	} {
		entries = append(entries, faults.Entry{Name: "messages.Operations", New: func(t *testing.T, p *faults.Proxy) faults.Call {
			t.Helper()
			operations := messages.Operations(p.Config(emulator.Config(t)))
			return faults.Call{Do: func(ctx context.Context) error {
				_, err := operations[operation](ctx, operation[:3], []byte(params))
				return err
			}}
		}})
	}
	faults.Compare(t, *config.BaseEndpoint, "Messages of flows", entries...)
}
