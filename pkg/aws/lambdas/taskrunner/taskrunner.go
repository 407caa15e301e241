// Package taskrunner composes the function that makes long calls, hands outcomes
// to the engines of others, and tells the event bus of executions that ended. It
// may change between releases.
package taskrunner

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/bus"
	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/aws/recipients"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/tasks"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// Handler takes a batch of tasks and answers those that come again.
type Handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// hold is how long a task stays hidden after its runner died. The visibility timeout of the queue cannot be that
// short: Lambda demands at least the time limit of the function.
const hold = 90 * time.Second

// longestCall leaves the runner, which has 15 minutes, time to close the token.
const longestCall = 15*time.Minute - 20*time.Second

// New composes the function from its environment.
func New(getenv func(string) string) (Handler, error) {
	env := environment.New(getenv)
	config := env.AWS()
	waits, wakeQueue := env.Text("WAITLESS_WAITS_TABLE"), env.Text("WAITLESS_WAKE_QUEUE")
	taskQueue, deliveryQueue := env.Text("WAITLESS_TASK_QUEUE"), env.Text("WAITLESS_DELIVERY_QUEUE")
	key, eventBus := env.Text("WAITLESS_TOKEN_KEY"), env.Text("WAITLESS_EVENT_BUS")
	names := tasks.Names{
		Stack: env.Text("WAITLESS_STACK"), Functions: env.Pairs("WAITLESS_FUNCTIONS"), Callable: env.List("WAITLESS_CALLABLE_FUNCTIONS"),
	}
	limit := env.Bytes("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxData)
	if err := env.Err(); err != nil {
		return nil, err
	}
	log := lambdas.Log(getenv)
	queues := sqs.NewFromConfig(config)
	sender, err := wakes.New(wakes.Config{Client: queues, URL: wakeQueue, Now: time.Now, Log: log})
	if err != nil {
		return nil, err
	}
	functions, fresh := tasks.NewClient(config)
	table := dynamo.NewWaits(dynamodb.NewFromConfig(config), waits, time.Now)
	keys := &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: key, Now: time.Now}
	r := runner{keys, engine.TaskRunnerConfig{
		TokenStore: table, Wakes: sender, Now: time.Now, Limits: machine.Limits{Data: limit, Hints: machine.Hints{Data: environment.RaiseDataLimit}},
		Caller: tasks.New(tasks.Config{Client: functions, Names: names, Now: time.Now, Longest: longestCall}),
	}}
	delivery := resume.NewDeliveries(keys, table, &recipients.Recipients{StepFunctions: sfn.NewFromConfig(config), Durable: functions}, time.Now)
	receiver := tasks.Receiver{
		Receiver: queue.Receiver{Client: queues, Now: time.Now, Log: log, Line: "task", Hold: hold},
		Run:      r.run,
		Ends:     &bus.Bus{Client: eventbridge.NewFromConfig(config), Name: eventBus},
		Deliver:  delivery.Deliver, Beat: delivery.Beat,
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		fresh()
		receiver := receiver
		var err error
		if receiver.URL, err = queue.From(event, taskQueue, deliveryQueue); err != nil && !env.OnSAMLocal() {
			return events.SQSEventResponse{}, err
		}
		return receiver.Handle(ctx, event)
	}, nil
}

// runner makes calls, whose tasks are authentic or have no effect.
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
