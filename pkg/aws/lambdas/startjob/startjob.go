// Package startjob composes the function StartJob, also known as SubmitJob. It may change between releases; what
// the function takes and answers does not.
package startjob

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/jobqueue"
	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/aws/tasks/deliveries"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// New composes the function from its environment.
func New(getenv func(string) string) (lambdas.Call, error) {
	env := environment.New(getenv)
	config := env.AWS()
	waits, key := env.Text("WAITLESS_WAITS_TABLE"), env.Text("WAITLESS_TOKEN_KEY")
	wakeQueue, deliveryQueue, pollQueue := env.Text("WAITLESS_WAKE_QUEUE"), env.Text("WAITLESS_DELIVERY_QUEUE"), env.Text("WAITLESS_POLL_QUEUE")
	own := []string{wakeQueue, deliveryQueue, pollQueue, env.Text("WAITLESS_TASK_QUEUE"), env.Text("WAITLESS_JOB_QUEUE")}
	account, callbackURL := env.Text("WAITLESS_ACCOUNT"), env.Optional("WAITLESS_CALLBACK_URL")
	limit := env.Bytes("WAITLESS_DATA_LIMIT", resume.DefaultLimit, resume.ForeignLimit)
	if err := env.Err(); err != nil {
		return lambdas.Call{}, err
	}
	queues, table := sqs.NewFromConfig(config), dynamo.NewWaits(dynamodb.NewFromConfig(config), waits, time.Now)
	log := lambdas.Log(getenv)
	sender, err := wakes.New(wakes.Config{Client: queues, URL: wakeQueue, Now: time.Now, Log: log})
	if err != nil {
		return lambdas.Call{}, err
	}
	starter := resume.NewJobStarter(resume.StarterConfig{
		Jobs: resume.JobsConfig{
			// The keys are read only if a token waits: the tutorial's job needs no right on them.
			Tokens: resume.NewTokens(resume.TokensConfig{
				Keys:  &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: key, Now: time.Now},
				Store: table, Wakes: wakes.ForTokens(sender, &deliveries.Queue{Client: queues, URL: deliveryQueue}), Now: time.Now, Limit: limit,
			}),
			Rendezvous: table, Services: services.New(config, messages.Operations(config, own...)),
			Polls:   &jobqueue.Queue{Client: queues, URL: pollQueue, Now: time.Now},
			Account: account, Region: config.Region,
			Warn: func(err error) { log.Warn("job", "error", err.Error()) },
		},
		Foreign: table, CallbackBase: callbackURL,
	})
	return lambdas.NewCall(starter.StartJob, attrs), nil
}

// attrs returns what the log line says of a response. It leaves the callback URL out, which holds a token, and masks
// a callback's job_id, which is a token's handle.
func attrs(answer []byte) []slog.Attr {
	started := jobs.StartResult{Kind: jobs.KindSimulated}
	_ = json.Unmarshal(answer, &started) // our own answer; a log line is no reason to fail
	var sent jobs.Sent
	if _ = json.Unmarshal(answer, &sent); sent.MessageID != "" {
		return []slog.Attr{slog.String("message_id", sent.MessageID), slog.String("status", "sent")}
	}
	id := started.ID
	if started.Kind == jobs.KindCallback {
		id = token.Mask(id)
	}
	return []slog.Attr{slog.String("kind", started.Kind), slog.String("job_id", id), slog.String("status", "started")}
}
