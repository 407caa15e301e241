package local_test

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// A program runs flows in its own process. Its functions are Go code, and the virtual clock skips
// the hour that the flow waits. With a store of package disk and [local.System.Serve] executions
// survive restarts.
func Example() {
	const definition = `version: v1
type: flow
steps:
  - type: task
    name: Order
    resourceArn: acs:fc:::services/shop/functions/order
  - type: wait
    name: Pause
    duration: 3600
`
	ctx := context.Background()
	system := local.New(local.Config{
		Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)), Functions: shop{},
	})
	flow, err := system.Client.PutFlow(ctx, "order", []byte(definition))
	if err != nil {
		fmt.Println(err)
		return
	}
	input := value.Object(value.Member{Key: "item", Value: value.String("tea")})
	if _, err := system.Start(ctx, engine.StartRequest{Flow: flow, Execution: "order-7", Input: input}); err != nil {
		fmt.Println(err)
		return
	}
	if err := system.Run(ctx); err != nil { // until nothing is left to do
		fmt.Println(err)
		return
	}
	state, err := system.Client.Describe(ctx, engine.NewID("order", "order-7"))
	fmt.Println(state.Status, "after", state.At.Sub(state.Started), err)
	// Output:
	// order {"item":"tea"}
	// Succeeded after 1h0m0s <nil>
}

// shop has the functions of the flow.
type shop struct{}

// Call implements [engine.Caller].
func (shop) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	fmt.Println(call.Resource.Function, call.Input.JSON())
	return token.Success(value.Object(value.Member{Key: "accepted", Value: value.Bool(true)})), nil
}

// TimeLimits implements [engine.Caller]: the functions have none of their own.
func (shop) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
} //nolint:nilnil // no limits
