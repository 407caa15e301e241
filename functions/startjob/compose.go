package main

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.Call, error) {
	env := environment.New(getenv)
	config, log := env.AWS(), function.Log(getenv)
	queues := sqs.NewClient(config)
	queue := func(name string) sqs.Queue { return sqs.Queue{Client: queues, URL: env.Text(name)} }
	wakes, delivery, polls := queue("WAITLESS_WAKE_QUEUE"), queue("WAITLESS_DELIVERY_QUEUE"), queue("WAITLESS_POLL_QUEUE")
	ownQueues := []string{wakes.URL, delivery.URL, polls.URL, env.Text("WAITLESS_TASK_QUEUE"), env.Text("WAITLESS_JOB_QUEUE")}
	table := dynamo.NewWaits(dynamodb.NewFromConfig(config), env.Text("WAITLESS_WAITS_TABLE"), time.Now)
	starter := resume.NewJobStarter(resume.JobsConfig{
		JobDescriber: resume.JobDescriber{
			Services: services.New(config, messages.Operations(config, ownQueues...)),
			Account:  env.Text("WAITLESS_ACCOUNT"), Region: config.Region, Now: time.Now,
		},
		Tokens: resume.NewTokens(resume.TokensConfig{
			// Only an input with a token needs keys: the simulated job needs no right on them.
			Keys:  &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: env.Text("WAITLESS_TOKEN_KEY"), Now: time.Now},
			Store: table, Now: time.Now, Limit: env.Int("WAITLESS_DATA_LIMIT", resume.DefaultLimit, resume.ExternalLimit),
			LimitHint: environment.RaiseDataLimit,
			Wakes: sqs.TokenWakes{
				Wakes:    sqs.NewWakes(sqs.WakesConfig{Queue: wakes, Now: time.Now, Log: log}),
				External: &sqs.DeliveryRequests{Target: delivery},
			},
		}),
		Rendezvous: table, Polls: &sqs.Polls{Target: polls, Now: time.Now},
		Warn:     func(err error) { log.Warn("job", "error", err.Error()) },
		External: table, CallbackBase: env.Optional("WAITLESS_CALLBACK_URL"), CallbackHint: "set WAITLESS_CALLBACK_URL",
	})
	return function.NewCall(starter.StartJob, attrs), env.Err()
}

// attrs returns what the log line says of a response. It leaves the callback URL out, which holds a token, and masks
// a callback's job_id, which is a token's handle.
func attrs(response []byte) []slog.Attr {
	started := jobs.StartResult{Kind: jobs.KindSimulated}
	_ = json.Unmarshal(response, &started) // our own response; a log line is not a reason to fail
	var sent jobs.Sent
	if _ = json.Unmarshal(response, &sent); sent.MessageID != "" {
		return []slog.Attr{slog.String("message_id", sent.MessageID), slog.String("status", "sent")}
	}
	id := started.ID
	if started.Kind == jobs.KindCallback {
		id = token.Mask(id)
	}
	return []slog.Attr{slog.String("kind", started.Kind), slog.String("job_id", id), slog.String("status", "started")}
}
