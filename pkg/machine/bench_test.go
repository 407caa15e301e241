package machine_test

import (
	"os"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// BenchmarkApply runs the polling sample's loop: a timer is due, GetJobStatus
// answers, the choice goes back to the wait. One turn is three steps.
func BenchmarkApply(b *testing.B) {
	turn := pollingTurn(b)
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		turn()
		steps += 3
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkEncode writes the log item of such a turn.
func BenchmarkEncode(b *testing.B) {
	state, events := pollingItem(b)
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		size = len(encode(state, events))
	}
	b.ReportMetric(float64(size), "bytes/item")
}

// BenchmarkDecode reads it back, and BenchmarkDecodeState no more of it than an
// engine needs to go on.
func BenchmarkDecode(b *testing.B) {
	item := encode(pollingItem(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := decode(item); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeState(b *testing.B) {
	item := encode(pollingItem(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := machine.DecodeState(value.Origin{}, item); err != nil {
			b.Fatal(err)
		}
	}
}

// pollingItem is the log item of a turn: what both signals made.
func pollingItem(tb testing.TB) (machine.State, []machine.Event) {
	tb.Helper()
	called, slept := pollingTurn(tb)()
	return slept.State, append(called.Events, slept.Events...)
}

// pollingTurn gives a function that makes the same turn of the polling sample
// again and again: the wait is over, the answer leads to the next one.
func pollingTurn(tb testing.TB) func() (called, slept machine.Next) {
	tb.Helper()
	text, err := os.ReadFile("../../events/polling/flow.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	flow, _ := fdl.Parse(text)
	env := machine.Env{Flow: flow, Cause: "0123456789abcdef", Tag: "fedcba9876543210"}
	apply := func(s machine.State, sig machine.Signal) machine.Next {
		next, err := machine.Apply(env, s, sig)
		if err != nil || !next.Applied() {
			tb.Fatalf("%T does not apply: %v", sig, err)
		}
		return next
	}
	object := func(text string) value.Value {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
	const id = "0198a5f4-7c3e-7d2a-9f00-0123456789ab"
	name := machine.FlowRef{Name: "polling", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}
	state, _ := machine.New(name, flow, "run-1", object(`{"delay":60}`), epoch, machine.Limits{})
	next := apply(state, machine.Started{At: epoch})
	waiting := apply(next.State, machine.Returned{
		At: epoch, Attempt: next.State.Waiting.Attempt, Outcome: token.Success(object(`{"job_id":"` + id + `"}`)),
	}).State
	answer := token.Success(object(`{"job_id":"` + id + `","job_status":"running","try_count":1}`))
	return func() (called, slept machine.Next) {
		due := waiting.Timer.Due
		called = apply(waiting, machine.TimerDue{At: due})
		return called, apply(called.State, machine.Returned{At: due, Attempt: called.State.Waiting.Attempt, Outcome: answer})
	}
}

// BenchmarkForeach runs the items of one lane of a hundred, a call each, in items of the log that
// it writes and reads. The list has 10,000 elements.
func BenchmarkForeach(b *testing.B) {
	const elements, lanes = 10_000, 100
	flow := parseFlow(b, `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: x}
    steps: [{type: task, name: One, resourceArn: "acs:fc:::services/s/functions/f", inputMappings: [{target: x, source: $input.x}]}]
    outputMappings: [{target: all, source: "$local[*].x"}]
`)
	list := make([]value.Value, elements)
	for i := range list {
		list[i] = value.Int(int64(i))
	}
	env := machine.Env{Flow: flow, Cause: machine.CauseStart, Tag: "t", Limits: machine.Limits{Data: machine.MaxData}}
	parent, _ := machine.New(machine.FlowRef{Name: "flow", Hash: "hash"}, flow, "run", value.Object(member("list", value.Array(list...))), epoch, env.Limits)
	parent = mustApply(b, env, parent, machine.Started{At: epoch}).State
	item, _ := machine.Encode(machine.ItemOrigin(parent.ID(), 1), parent, nil)
	parent, err := machine.DecodeState(machine.ItemOrigin(parent.ID(), 1), item)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	items, bytes := 0, 0
	for b.Loop() {
		lane := machine.Lane{Parent: parent.ID(), Attempt: parent.Waiting.Attempt.Number, Index: items % lanes, Count: lanes}
		state, _ := machine.NewLane(parent, lane, epoch)
		next := mustApply(b, env, state, machine.Started{At: epoch})
		for seq := uint64(0); !next.State.Status.Final(); seq++ {
			call, _ := next.Commands[0].(machine.CallTask)
			answer := token.Success(call.Input)
			item, _ := machine.Encode(machine.ItemOrigin(lane.ID(), seq), next.State, next.Events)
			next = mustApply(b, env, next.State, machine.Returned{At: epoch, Attempt: next.State.Waiting.Attempt, Outcome: answer})
			items, bytes = items+1, bytes+len(item)
		}
	}
	b.ReportMetric(float64(items)/b.Elapsed().Seconds(), "items/s")
	b.ReportMetric(float64(bytes)/float64(items), "bytes/item")
}
