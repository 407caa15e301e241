package main

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/webhook"
)

// hold is how long a task stays hidden after its runner died. The visibility timeout of the queue
// cannot be that short: Lambda requires at least the time limit of the function.
const hold = 90 * time.Second

// longestCall leaves the runner, which has 15 minutes, time to close the token.
const longestCall = 15*time.Minute - 20*time.Second

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	p := parts.New(getenv, function.Log(getenv))
	functions, closeIdle := lambda.NewClient(p.Config)
	table, keys := p.WaitsTable(), p.Keys()
	r := runner{keys, engine.Config{
		TokenStore: table, Now: time.Now, Limits: p.Limits(), Wakes: sqs.NewWakes(p.WakesConfig()),
		LargeValues: s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")),
		Caller: lambda.New(lambda.Config{Client: functions, Now: time.Now, Longest: longestCall, Names: lambda.Names{
			Stack: p.Text("WAITLESS_STACK"), Functions: p.Pairs("WAITLESS_FUNCTIONS"), Callable: p.List("WAITLESS_CALLABLE_FUNCTIONS"),
			OldNames: p.Optional("WAITLESS_OLD_FUNCTION_NAMES") == "on",
		}}),
	}}
	external := recipients{stepFunctions: sfn.NewFromConfig(p.Config), durable: functions}
	deliveries := resume.NewDeliveries(keys, table, external, time.Now)
	notices := notifier{parts.Secret(p, "WAITLESS_NOTIFY_SECRET", webhook.ParseSecrets).Get, true, p.Config, parts.Secret(p, "WAITLESS_NOTIFY", parseURL)}
	receiver := p.Receiver("task", "WAITLESS_TASK_QUEUE", "WAITLESS_DELIVERY_QUEUE", "WAITLESS_NOTICE_QUEUE")
	receiver.Hold = hold
	handlers := sqs.TaskHandlers{
		Keys: keys, Run: r.run, Ends: bus{eventbridge.NewFromConfig(p.Config), p.Text("WAITLESS_EVENT_BUS")},
		Deliver: deliveries.Deliver, Heartbeat: deliveries.Beat, Notify: notices.send, Now: time.Now,
	}
	if !receiver.AnySource {
		handlers.DeliveryQueue, handlers.NoticeQueue = p.Text("WAITLESS_DELIVERY_QUEUE"), p.Text("WAITLESS_NOTICE_QUEUE")
	}
	receiver.Decode = sqs.DecodeTasks(handlers)
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		closeIdle()
		return receiver.Handle(ctx, event)
	}, p.Err()
}

// runner makes the calls of authentic tasks.
type runner struct {
	keys   *secrets.Keys
	config engine.Config
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
