// Package interpreter composes the function that makes executions go on. It
// may change between releases.
package interpreter

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/tasks"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/aws/wakes/schedules"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Handler takes a batch of wakes and answers those that come again.
type Handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// longestCall is how long an interpreter awaits an answer; longer calls are the
// task runner's. The interpreter has time left for what follows the answer.
func (s settings) longestCall() time.Duration {
	return min(machine.DefaultDirect, s.timeLimit/3)
}

// New composes the function from its environment.
func New(getenv func(string) string) (Handler, error) {
	env := environment.New(getenv)
	s := settingsOf(env)
	if err := env.Err(); err != nil {
		return nil, err
	}
	log := lambdas.Log(getenv)
	queues := sqs.NewFromConfig(s.aws)
	functions, fresh := tasks.NewClient(s.aws)
	config, err := s.engine(queues, functions, log)
	if err != nil {
		return nil, err
	}
	keys := &secrets.Keys{Client: secretsmanager.NewFromConfig(s.aws), Secret: s.tokenKey, Now: time.Now}
	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		fresh()
		if _, err := queue.From(event, s.wakeQueue); err != nil && !env.OnSAMLocal() {
			return response, err
		}
		config := config
		config.NewerKeys = keys.Newer
		if config.Keys, err = keys.Get(ctx); err != nil {
			return response, err
		}
		worker, err := newWorker(config)
		if err != nil {
			return response, err
		}
		receiver := &wakes.Receiver{
			Receiver: queue.Receiver{Client: queues, URL: s.wakeQueue, Now: time.Now, Log: log, Line: "wake", Needs: s.longestCall()},
			Advance:  worker.Advance,
		}
		return receiver.Handle(ctx, event)
	}, nil
}

// engine is what an engine works with, but for the keys.
func (s settings) engine(queues *sqs.Client, functions *lambda.Client, log *slog.Logger) (engine.WorkerConfig, error) {
	sender, err := s.wakes(queues, log)
	if err != nil {
		return engine.WorkerConfig{}, err
	}
	tables := dynamodb.NewFromConfig(s.aws)
	store, waits := dynamo.NewLog(tables, s.logTable, time.Now), dynamo.NewWaits(tables, s.waitsTable, time.Now)
	return engine.WorkerConfig{
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Wakes: sender, Caller: s.tasks(functions, log),
		TaskQueue: &tasks.Queue{Client: queues, URL: s.taskQueue}, Ends: s.ends(queues), Now: time.Now,
		Limits: machine.Limits{
			Direct: s.longestCall(), Duration: s.duration, Data: s.dataLimit, Hints: machine.Hints{Data: environment.RaiseDataLimit},
		},
		WorkerLife: 2 * s.timeLimit, CallbackBase: s.callbackURL,
	}, nil
}

// settings are what the environment says.
type settings struct {
	aws                  aws.Config
	logTable, waitsTable string
	wakeQueue, taskQueue string
	wakeQueueARN         string
	deliveryQueue        string
	timers, timerRole    string
	deadLetters          string
	longestDelay         time.Duration
	timeLimit            time.Duration
	dataLimit            int
	duration             time.Duration // that an execution may take whose flow does not say it
	tokenKey             string
	names                tasks.Names
	statusEvents         string
	callbackURL          string
}

func settingsOf(env *environment.Environment) settings {
	return settings{
		aws:      env.AWS(),
		logTable: env.Text("WAITLESS_LOG_TABLE"), waitsTable: env.Text("WAITLESS_WAITS_TABLE"),
		wakeQueue: env.Text("WAITLESS_WAKE_QUEUE"), taskQueue: env.Text("WAITLESS_TASK_QUEUE"), wakeQueueARN: env.Text("WAITLESS_WAKE_QUEUE_ARN"),
		deliveryQueue: env.Text("WAITLESS_DELIVERY_QUEUE"),
		timers:        env.Text("WAITLESS_TIMERS"), timerRole: env.Text("WAITLESS_TIMER_ROLE"), deadLetters: env.Text("WAITLESS_DEAD_LETTERS"),
		longestDelay: env.Seconds("WAITLESS_LONGEST_DELAY"),
		tokenKey:     env.Text("WAITLESS_TOKEN_KEY"),
		names: tasks.Names{
			Stack: env.Text("WAITLESS_STACK"), Functions: env.Pairs("WAITLESS_FUNCTIONS"), Callable: env.List("WAITLESS_CALLABLE_FUNCTIONS"),
		},
		timeLimit: env.Seconds("WAITLESS_TIME_LIMIT"), duration: env.Duration(), statusEvents: env.Text("WAITLESS_STATUS_EVENTS"),
		callbackURL: env.Optional("WAITLESS_CALLBACK_URL"),
		dataLimit:   env.Bytes("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxData),
	}
}

func (s settings) wakes(queues *sqs.Client, log *slog.Logger) (*wakes.Wakes, error) {
	return wakes.New(wakes.Config{
		Client: queues, URL: s.wakeQueue, Now: time.Now, Log: log, Limit: s.longestDelay,
		Schedule: &schedules.Group{
			Client: scheduler.NewFromConfig(s.aws), Name: s.timers, QueueARN: s.wakeQueueARN, RoleARN: s.timerRole, DeadLettersARN: s.deadLetters,
		},
	})
}

func (s settings) tasks(functions *lambda.Client, log *slog.Logger) *tasks.Tasks {
	return tasks.New(tasks.Config{
		Client: functions, Names: s.names, Now: time.Now, Longest: s.longestCall(),
		Warn: func(err error) { log.Warn("wake", "error", err.Error()) },
	})
}

// ends is the queue of deliveries, whose receiver tells the event bus; nil when
// status events are off.
func (s settings) ends(queues *sqs.Client) engine.Ends {
	if s.statusEvents != "on" {
		return nil
	}
	return &tasks.Queue{Client: queues, URL: s.deliveryQueue}
}
