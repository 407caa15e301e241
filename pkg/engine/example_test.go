package engine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// wakeQueue is a queue in memory.
type wakeQueue []engine.Wake

func (q *wakeQueue) SendAll(ctx context.Context, wakes []engine.Wake) error {
	return engine.SendEach(ctx, wakes, q.Send)
}

func (*wakeQueue) HoldBack(engine.ID) (release func()) { return func() {} }

func (q *wakeQueue) Send(_ context.Context, w engine.Wake) error {
	*q = append(*q, w)
	return nil
}

// greeter has one function, which takes no time.
type greeter struct{}

func (greeter) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	text := "Hello, " + call.Input.Get("name").Text()
	return token.Success(value.Object(value.Member{Key: "greeting", Value: value.String(text)})), nil
}

func (greeter) TimeLimits(_ context.Context, def *flow.Flow) (map[string]time.Duration, error) {
	return map[string]time.Duration{def.All[0].Kind.(*flow.Task).Resource.Text: time.Second}, nil
}

// noTasks is the task queue of flows without long calls.
type noTasks struct{}

func (noTasks) Queue(context.Context, engine.Task) error { return context.Canceled }

// A client starts an execution, and a worker applies its wakes. A worker needs a log, flows, tokens
// and requests to stop, which one store has; a queue of wakes; and functions.
func Example() {
	const definition = `version: v1
type: flow
steps:
  - type: task
    name: Greet
    resourceArn: acs:fc:::services/demo/functions/greet
    inputMappings: [{target: name, source: $input.name}]
    outputMappings: [{target: greeting, source: $local.greeting}]
outputMappings: [{target: greeting, source: $local.greeting}]
`
	ctx, store, wakes := context.Background(), &store.Memory{}, &wakeQueue{}
	client, err := engine.NewClient(engine.Config{
		Log: store, Flows: store, TokenStore: store, Stops: store, Wakes: wakes, Now: time.Now,
	})
	check(err)
	worker, err := engine.NewWorker(engine.Config{
		Log: store, Flows: store, TokenStore: store, Stops: store, Joins: store, Wakes: wakes, Caller: greeter{}, TaskQueue: noTasks{}, Now: time.Now,
	})
	check(err)

	flow, err := client.PutFlow(ctx, "greet", []byte(definition))
	check(err)
	input := value.Object(value.Member{Key: "name", Value: value.String("Ada")})
	_, err = client.Start(ctx, engine.StartRequest{Flow: flow, Execution: "one", Input: input})
	check(err)
	for _, wake := range *wakes {
		_, err = worker.Advance(ctx, wake)
		check(err)
	}

	state, err := client.Describe(ctx, engine.NewID("greet", "one"))
	check(err)
	fmt.Println(state.Status, state.Output)
	// Output: Succeeded {"greeting":"Hello, Ada"}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
