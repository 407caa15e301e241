package machine_test

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// A flow calls a function and then waits. The caller of Apply executes the commands and brings the
// signals.
func ExampleApply() {
	flow, problems := fdl.Parse([]byte(`
version: v1
type: flow
steps:
  - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/ask"}
  - {type: wait, name: Rest, duration: 60}
`))
	if flow == nil {
		fmt.Println(problems)
		return
	}
	at := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	state, history := machine.New(machine.FlowRef{Name: "nap", Hash: "h"}, flow, "run-1", value.Object(), at, machine.Limits{})
	apply := func(sig machine.Signal) []machine.Command {
		next, err := machine.Apply(machine.Env{Flow: flow, Cause: machine.CauseStart, Tag: "timer-1"}, state, sig)
		if err != nil {
			fmt.Println(err)
		}
		state, history = next.State, append(history, next.Events...)
		return next.Commands
	}

	call, _ := apply(machine.Started{At: at})[0].(machine.CallTask)
	fmt.Println("call", call.Resource.Function, call.Input)

	apply(machine.Returned{At: at, Attempt: call.Attempt, Outcome: token.Success(value.Object(value.Member{Key: "ok", Value: value.Bool(true)}))})
	fmt.Println("timer", state.Timer.Tag, state.Timer.Due.Sub(at))

	apply(machine.TimerDue{At: state.Timer.Due})
	fmt.Println(state.Status, state.Output, len(history), "events")
	// Output:
	// call ask {}
	// timer timer-1 1m0s
	// Succeeded {"ok":true} 11 events
}
