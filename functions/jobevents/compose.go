package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/resume"
)

// minTime is the time that one message needs: a description of a job, and a few writes.
const minTime = 5 * time.Second

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	env := environment.New(getenv)
	config, log := env.AWS(), function.Log(getenv)
	queues := sqs.NewClient(config)
	queue := func(name string) sqs.Queue { return sqs.Queue{Client: queues, URL: env.Text(name)} }
	polls := queue("WAITLESS_POLL_QUEUE")
	table := dynamo.NewWaits(dynamodb.NewFromConfig(config), env.Text("WAITLESS_WAITS_TABLE"), time.Now)
	wakes := sqs.TokenWakes{
		Wakes:    sqs.NewWakes(sqs.WakesConfig{Queue: queue("WAITLESS_WAKE_QUEUE"), Now: time.Now, Log: log}),
		External: &sqs.DeliveryRequests{Target: queue("WAITLESS_DELIVERY_QUEUE")},
	}
	observer := resume.NewJobObserver(resume.JobsConfig{
		Tokens: resume.NewTokens(resume.TokensConfig{
			// Polls alone need keys: events close tokens by their handles.
			Keys:  &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: env.Text("WAITLESS_TOKEN_KEY"), Now: time.Now},
			Store: table, Wakes: wakes, Now: time.Now, Limit: env.Int("WAITLESS_DATA_LIMIT", resume.DefaultLimit, resume.ExternalLimit),
			LimitHint: environment.RaiseDataLimit,
		}),
		JobDescriber: resume.JobDescriber{
			Services: services.New(config), Account: env.Text("WAITLESS_ACCOUNT"), Region: config.Region, Now: time.Now,
		},
		Rendezvous: table, Polls: &sqs.Polls{Target: polls, Now: time.Now},
		Warn: func(err error) { log.Warn("job", "error", err.Error()) },
	})
	receiver := &sqs.Receiver{
		Client: queues, URLs: []string{env.Text("WAITLESS_JOB_QUEUE"), polls.URL}, AnySource: env.OnSAMLocal(),
		Now: time.Now, Log: log, LogMessage: "job", MinTime: minTime,
		Decode: sqs.DecodeJobs(sqs.JobHandlers{Observe: observer.Observe, Reconcile: observer.Reconcile}),
	}
	return receiver.Handle, env.Err()
}
