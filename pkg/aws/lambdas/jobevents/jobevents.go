// Package jobevents composes the function that takes job events, and looks at jobs whose events never come. It may
// change between releases.
package jobevents

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/jobqueue"
	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/tasks/deliveries"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/resume"
)

// Handler takes a batch of job events and polls, and answers those that come again.
type Handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// needs is how much of its time the function keeps for one message: a description, and a few writes.
const needs = 5 * time.Second

// New composes the function from its environment.
func New(getenv func(string) string) (Handler, error) {
	env := environment.New(getenv)
	config := env.AWS()
	waits, account := env.Text("WAITLESS_WAITS_TABLE"), env.Text("WAITLESS_ACCOUNT")
	wakeQueue, deliveryQueue := env.Text("WAITLESS_WAKE_QUEUE"), env.Text("WAITLESS_DELIVERY_QUEUE")
	jobQueue, pollQueue := env.Text("WAITLESS_JOB_QUEUE"), env.Text("WAITLESS_POLL_QUEUE")
	key := env.Text("WAITLESS_TOKEN_KEY")
	limit := env.Bytes("WAITLESS_DATA_LIMIT", resume.DefaultLimit, resume.ForeignLimit)
	if err := env.Err(); err != nil {
		return nil, err
	}
	log := lambdas.Log(getenv)
	queues, table := sqs.NewFromConfig(config), dynamo.NewWaits(dynamodb.NewFromConfig(config), waits, time.Now)
	sender, err := wakes.New(wakes.Config{Client: queues, URL: wakeQueue, Now: time.Now, Log: log})
	if err != nil {
		return nil, err
	}
	polls := &jobqueue.Queue{Client: queues, URL: pollQueue, Now: time.Now}
	observer := resume.NewJobObserver(resume.JobsConfig{
		Tokens: resume.NewTokens(resume.TokensConfig{
			Keys:  &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: key, Now: time.Now}, // of polls
			Store: table, Wakes: wakes.ForTokens(sender, &deliveries.Queue{Client: queues, URL: deliveryQueue}), Now: time.Now, Limit: limit,
		}),
		Rendezvous: table, Services: services.New(config), Polls: polls,
		Account: account, Region: config.Region,
		Warn: func(err error) { log.Warn("job", "error", err.Error()) },
	})
	receiver := jobqueue.Receiver{
		Receiver: queue.Receiver{Client: queues, Now: time.Now, Log: log, Line: "job", Needs: needs},
		Observe:  observer.Observe, Reconcile: observer.Reconcile,
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		receiver := receiver
		var err error
		if receiver.URL, err = queue.From(event, jobQueue, pollQueue); err != nil && !env.OnSAMLocal() {
			return events.SQSEventResponse{}, err
		}
		return receiver.Handle(ctx, event)
	}, nil
}
