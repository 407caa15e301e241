package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	env := environment.New(getenv)
	config, log := env.AWS(), function.Log(getenv)
	queues := sqs.NewClient(config)
	queue := func(name string) sqs.Queue { return sqs.Queue{Client: queues, URL: env.Text(name)} }
	wakeQueue := queue("WAITLESS_WAKE_QUEUE")
	// At most 30 seconds on a stack (InterpreterTimeLimit): the engine counts on that for claimed calls.
	timeLimit := env.Duration("WAITLESS_TIME_LIMIT", time.Second, 1, 900)
	// The task runner makes longer calls. The interpreter needs the rest of its time for what follows the reply.
	longestCall := min(machine.DefaultDirect, timeLimit/3)
	functions, closeIdle := lambda.NewClient(config)
	tables := dynamodb.NewFromConfig(config)
	store := dynamo.NewLog(tables, env.Text("WAITLESS_LOG_TABLE"), time.Now)
	waits := dynamo.NewWaits(tables, env.Text("WAITLESS_WAITS_TABLE"), time.Now)
	i := interpreter{
		keys: &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: env.Text("WAITLESS_TOKEN_KEY"), Now: time.Now},
		worker: engine.WorkerConfig{
			Log: store, Flows: store, TokenStore: waits, Stops: waits, Joins: store,
			Wakes:     sqs.NewWakes(timers(env, config, wakeQueue, log)),
			TaskQueue: &sqs.Tasks{Target: queue("WAITLESS_TASK_QUEUE")},
			Caller: lambda.New(lambda.Config{
				Client: functions, Now: time.Now, Longest: longestCall,
				Names: lambda.Names{
					Stack: env.Text("WAITLESS_STACK"), Functions: env.Pairs("WAITLESS_FUNCTIONS"), Callable: env.List("WAITLESS_CALLABLE_FUNCTIONS"),
				},
				Warn: func(err error) { log.Warn("wake", "error", err.Error()) },
			}),
			Now: time.Now, WorkerDeadAfter: 2 * timeLimit, CallbackBase: env.Optional("WAITLESS_CALLBACK_URL"),
			Limits: machine.Limits{
				Direct: longestCall, Duration: env.Duration("WAITLESS_EXECUTION_DAYS", 24*time.Hour, 1, 366),
				Data: env.Int("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxData), Hints: machine.Hints{Data: environment.RaiseDataLimit},
			},
		},
	}
	ends := &sqs.Tasks{Target: queue("WAITLESS_DELIVERY_QUEUE")} // whose receiver publishes them
	if env.Text("WAITLESS_STATUS_EVENTS") == "on" {
		i.worker.Ends = ends
	}
	receiver := &sqs.Receiver{
		Client: queues, URLs: []string{wakeQueue.URL}, AnySource: env.OnSAMLocal(), Decode: sqs.DecodeWakes(i.advance),
		Now: time.Now, Log: log, LogMessage: "wake", MinTime: longestCall,
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		closeIdle()
		return receiver.Handle(ctx, event)
	}, env.Err()
}

// timers returns the configuration of wakes that are delayed messages or schedules.
func timers(env *environment.Environment, config aws.Config, queue sqs.Queue, log *slog.Logger) sqs.WakesConfig {
	return sqs.WakesConfig{
		Queue: queue, Now: time.Now, Log: log, Limit: env.Duration("WAITLESS_LONGEST_DELAY", time.Second, 2, 900),
		Schedule: &scheduler.Group{
			Client: awsscheduler.NewFromConfig(config), Name: env.Text("WAITLESS_TIMERS"), QueueARN: env.Text("WAITLESS_WAKE_QUEUE_ARN"),
			RoleARN: env.Text("WAITLESS_TIMER_ROLE"), DeadLettersARN: env.Text("WAITLESS_DEAD_LETTERS"),
		},
	}
}

// interpreter advances executions with the current token keys.
type interpreter struct {
	keys   *secrets.Keys
	worker engine.WorkerConfig
}

func (i interpreter) advance(ctx context.Context, wake engine.Wake) (d engine.Disposition, err error) {
	i.worker.NewerKeys = i.keys.Newer
	if i.worker.Keys, err = i.keys.Get(ctx); err != nil {
		return d, err
	}
	worker, err := newWorker(i.worker)
	if err != nil {
		return d, err
	}
	return worker.Advance(ctx, wake)
}
