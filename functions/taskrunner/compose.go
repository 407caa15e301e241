package main

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awseventbridge "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/eventbridge"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/aws/recipients"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// hold is how long a task stays hidden after its runner died. The visibility timeout of the queue cannot be that short: Lambda
// requires at least the time limit of the function.
const hold = 90 * time.Second

// longestCall leaves the runner, which has 15 minutes, time to close the token.
const longestCall = 15*time.Minute - 20*time.Second

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	env := environment.New(getenv)
	config, log := env.AWS(), function.Log(getenv)
	queues := sqs.NewClient(config)
	functions, closeIdle := lambda.NewClient(config)
	table := dynamo.NewWaits(dynamodb.NewFromConfig(config), env.Text("WAITLESS_WAITS_TABLE"), time.Now)
	keys := &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: env.Text("WAITLESS_TOKEN_KEY"), Now: time.Now}
	r := runner{keys, engine.TaskRunnerConfig{
		TokenStore: table, Now: time.Now,
		Limits: machine.Limits{
			Data: env.Int("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxData), Hints: machine.Hints{Data: environment.RaiseDataLimit},
		},
		Wakes: sqs.NewWakes(sqs.WakesConfig{Queue: sqs.Queue{Client: queues, URL: env.Text("WAITLESS_WAKE_QUEUE")}, Now: time.Now, Log: log}),
		Caller: lambda.New(lambda.Config{Client: functions, Now: time.Now, Longest: longestCall, Names: lambda.Names{
			Stack: env.Text("WAITLESS_STACK"), Functions: env.Pairs("WAITLESS_FUNCTIONS"), Callable: env.List("WAITLESS_CALLABLE_FUNCTIONS"),
		}}),
	}}
	external := &recipients.Recipients{StepFunctions: sfn.NewFromConfig(config), Durable: functions}
	deliveries := resume.NewDeliveries(keys, table, external, time.Now)
	receiver := &sqs.Receiver{
		Client: queues, URLs: []string{env.Text("WAITLESS_TASK_QUEUE"), env.Text("WAITLESS_DELIVERY_QUEUE")}, AnySource: env.OnSAMLocal(),
		Now: time.Now, Log: log, LogMessage: "task", Hold: hold,
		Decode: sqs.DecodeTasks(sqs.TaskHandlers{
			Run: r.run, Ends: &eventbridge.Bus{Client: awseventbridge.NewFromConfig(config), Name: env.Text("WAITLESS_EVENT_BUS")},
			Deliver: deliveries.Deliver, Heartbeat: deliveries.Beat, Now: time.Now,
		}),
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		closeIdle()
		return receiver.Handle(ctx, event)
	}, env.Err()
}

// runner makes the calls of authentic tasks.
type runner struct {
	keys   *secrets.Keys
	config engine.TaskRunnerConfig
}

func (r runner) run(ctx context.Context, task engine.Task) (disposition engine.Disposition, err error) {
	r.config.NewerKeys = r.keys.Newer
	if r.config.Keys, err = r.keys.Get(ctx); err != nil {
		return disposition, err
	}
	runner, err := engine.NewTaskRunner(r.config)
	if err != nil {
		return disposition, err
	}
	return runner.RunTask(ctx, task)
}
