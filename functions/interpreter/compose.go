package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/aws/xray"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/telemetry"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	p := parts.New(getenv, function.Log(getenv))
	// At most 30 seconds on a stack (InterpreterTimeLimit): the engine counts on that for claimed
	// calls.
	timeLimit := p.Duration("WAITLESS_TIME_LIMIT", time.Second, 1, 900)
	limits := p.TimeLimits()
	// The task runner makes longer calls. The interpreter needs the rest of its time for the steps
	// after the reply.
	limits.Direct = min(machine.DefaultDirect, timeLimit/3)
	functions, closeIdle := lambda.NewClient(p.Config)
	store, waits := p.LogTable(), p.WaitsTable()
	keys := p.Keys()
	wakes := p.WakesConfig()
	wakes.Descendants, wakes.Limit = p.Queue("WAITLESS_DESCENDANT_QUEUE"), p.Duration("WAITLESS_LONGEST_DELAY", time.Second, 2, 900)
	wakes.Schedule = &scheduler.Group{
		Client: awsscheduler.NewFromConfig(p.Bounded), Name: p.Text("WAITLESS_TIMERS"), QueueARN: p.Text("WAITLESS_WAKE_QUEUE_ARN"),
		RoleARN: p.Text("WAITLESS_TIMER_ROLE"), DeadLettersARN: p.Text("WAITLESS_DEAD_LETTERS"),
	}
	config := engine.Config{
		Log: store, Flows: store, Joins: store, TokenStore: waits, Stops: waits, Wakes: sqs.NewWakes(wakes),
		Descendants: waits, Index: store, Pauses: waits,
		TaskQueue: &sqs.Tasks{Target: p.Queue("WAITLESS_TASK_QUEUE")},
		Caller: lambda.New(lambda.Config{
			Client: functions, Now: time.Now, Longest: limits.Direct,
			Names: lambda.Names{
				Stack: p.Text("WAITLESS_STACK"), Functions: p.Pairs("WAITLESS_FUNCTIONS"), Callable: p.List("WAITLESS_CALLABLE_FUNCTIONS"),
				OldNames: p.Optional("WAITLESS_OLD_FUNCTION_NAMES") == "on",
			},
			Warn: func(err error) { p.Log.Warn("wake", "error", err.Error()) },
		}),
		Now: time.Now, WorkerDeadAfter: 2 * timeLimit, CallbackBase: p.Optional("WAITLESS_CALLBACK_URL"), Limits: limits,
		WriteFormat: p.WriteFormat(),
		LargeValues: s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")), NewerKeys: keys.Newer,
		Notices: &sqs.Notices{Target: p.Queue("WAITLESS_NOTICE_QUEUE")}, Observer: telemetry.Executions{Sink: p.Metrics()},
	}
	if p.Text("WAITLESS_STATUS_EVENTS") == "on" {
		config.Ends = &sqs.Ends{Target: p.Queue("WAITLESS_DELIVERY_QUEUE")} // its receiver publishes them
	}
	flush := func(context.Context) {}
	if url := p.Optional("WAITLESS_TRACES"); url != "" {
		spans := xray.New(p.Config, url, p.Text("WAITLESS_STACK"), p.Metrics(), p.Log)
		config.Tracer, flush = spans, spans.Flush
	}
	worker, err := engine.NewWorker(config)
	receiver := p.Receiver("wake", "WAITLESS_WAKE_QUEUE", "WAITLESS_DESCENDANT_QUEUE")
	clientConfig := p.ClientConfig(store, waits, config.LargeValues)
	i := interpreter{keys: keys, worker: worker, schedules: store, clientConfig: clientConfig, metrics: p.Metrics()}
	receiver.Decode, receiver.MinTime = sqs.DecodeWakes(i.advance, i.fire), limits.Direct
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		closeIdle()
		defer flush(ctx)
		return receiver.Handle(ctx, event)
	}, errors.Join(p.Err(), err)
}

// interpreter advances executions with the current token keys, and starts the executions of
// schedules.
type interpreter struct {
	keys         *secrets.Keys
	worker       *engine.Worker
	schedules    schedule.Store
	clientConfig engine.Config
	metrics      *telemetry.Batch
}

func (i interpreter) advance(ctx context.Context, wake engine.Wake) (engine.Disposition, error) {
	keys, err := i.keys.Get(ctx)
	if err != nil {
		return engine.Disposition{}, err
	}
	received := i.clientConfig.Now()
	disposition, err := i.worker.WithKeys(keys).Advance(ctx, wake)
	telemetry.CountWake(i.metrics, wake, received, disposition)
	return disposition, err
}

// fire starts the execution of a schedule that is due. Scheduler sends the message up to a minute
// early.
func (i interpreter) fire(ctx context.Context, due schedule.Firing) (retryAt time.Time, err error) {
	if due.At.After(i.clientConfig.Now()) {
		return due.At, nil
	}
	client, err := parts.NewClient(ctx, i.clientConfig, i.keys)
	if err != nil {
		return retryAt, err
	}
	return retryAt, schedule.Starter{Store: i.schedules, Newest: i.clientConfig.Flows.Newest, Start: client.Start}.Fire(ctx, due)
}
