package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// laneTaskCases are the other rules inside of lanes: each lane is a log as an execution is.
var laneTaskCases = []ruleCase{
	{"rule 14: the token of a lane names the lane's log, and its wake goes there", func(b *fixture) {
		_, lanes := b.forkOf(parallel(callbackText(), taskText("B")) + outputsText)
		b.answer("Ask", `{}`)
		b.answer("B", `{"b":2}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		state := b.lane(lanes[0])
		flow, err := b.Flows.Flow(b.t.Context(), state.Flow)
		if err != nil {
			b.t.Fatal(err)
		}
		text, ok := machine.Token(testKeys, flow, state)
		id, opens := token.HandleID(state.Waiting.Handle())
		if !ok || !opens || engine.ID(id.Execution) != lanes[0].Execution || !id.Expires.Equal(state.Expires.Truncate(time.Second)) {
			b.t.Errorf("the token %q of log %x that expires at %s", text, id.Execution, id.Expires)
		}
		b.trace = nil
		closed := b.closeOf(lanes[0], token.Success(object(b.t, `{"a":1}`)))
		b.advance(closed)
		b.wantTrace("read of lane 0", "look: closed by hand", "write 2 of lane 0", "join lane 0: 2", "wake joined in 0s")
		b.advance(closed)
		b.wantTrace("read of lane 0", "join lane 0: 2", "wake joined in 0s")
		b.drain()
		b.wantOutput(`{"all":[{"a":1},{"b":2}]}`)
	}},
	{"rule 14: a queued call of a lane wakes the lane's log", func(b *fixture) {
		b.limits = map[string]time.Duration{"A": time.Hour}
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("B", `{}`)
		b.advance(lanes[1])
		b.advance(lanes[0])
		b.trace = nil
		b.answer("A", `{}`)
		b.rerun(b.takeTask())
		b.wantTrace("look: open", "call A", "close by task: closed by task", "wake token of lane 0 in 0s")
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 14: jobs of lanes have a token each", func(b *fixture) {
		job := strings.ReplaceAll(jobText("pattern: sync"), "{jobName: $.name}", "{jobName: films}")
		_, lanes := b.fork(job, strings.ReplaceAll(job, "name: Job", "name: Other"))
		b.answer("StartJob", started, started)
		var tokens []string
		for _, lane := range lanes {
			b.advance(lane)
			tokens = append(tokens, b.inputs["StartJob"].Get("token").Text())
		}
		b.wantDistinct("the tokens", tokens, 2)
		for _, lane := range lanes {
			b.wakes = append(b.wakes, b.closeOf(lane, success))
		}
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 14: a claimed call of a lane is left to its timer", func(b *fixture) {
		_, lanes := b.fork(taskText("A", atMostOnce), taskText("B"))
		b.script("A", answer{err: errStopped})
		b.wantError(lanes[0], engine.CodeInternal)
		b.answer("B", `{}`)
		timer := b.take()
		b.advance(lanes[1])
		b.at(time.Minute)
		b.wakes = []engine.Wake{timer}
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskInterrupted)
	}},
	{"rule 16: lanes of lanes read large values in the logs of those around them", func(b *fixture) {
		b.wantStart(b.request(flowHead+taskText("List")+waitText("Pause", 5)+nestedText, ""), engine.StartedNew)
		large := func(name string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, name, strings.Repeat(name, 700)) }
		b.answer("List", `{"list":[`+large("p")+`,`+large("q")+`,`+large("r")+`]}`)
		b.answer("A", large("1"), large("2"), large("3"), large("4"), large("5"), large("6"), large("7"), large("8"), large("9"))
		b.drain()
		b.wantOutput(`{"all":[{"names":["p","q","r"],"one":"p"},{"names":["p","q","r"],"one":"q"},{"names":["p","q","r"],"one":"r"}]}`)
		if _, err := b.History(b.t.Context(), testID); err != nil {
			b.t.Error(err)
		}
	}},
	{"ends: only the end of the execution is reported", func(b *fixture) {
		ends := &reported{}
		b.Ends = ends
		_, lanes := b.fork(inner("Inner", taskText("A"), waitText("Pause", 5)), taskText("B"))
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.wakes = append(b.wakes, lanes...)
		b.drain()
		b.wantSucceeded()
		if !slices.Equal(ends.ids, []engine.ID{testID}) {
			b.t.Errorf("the ends of %v are reported", ends.ids)
		}
	}},
	{"rule 23: the time limit reaches the lanes of lanes, and closes their tokens", func(b *fixture) {
		_, lanes := b.forkOf("timeoutSeconds: 60\n" + parallel(inner("Inner", callbackText(), waitText("Pause", 5000)), waitText("Wait", 5000)))
		b.answer("Ask", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.drain()
		b.wantEnd(machine.StatusTimedOut, machine.ErrorExecutionTimeout)
		if now := b.Now(); now.After(after(5000 * time.Second)) {
			b.t.Errorf("that is at %s", now)
		}
	}},
	{"rule 21: a defect of a lane that waits for a token closes the token first", func(b *fixture) {
		_, lanes := b.fork(callbackText(), taskText("B"))
		b.answer("Ask", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		closed := b.closeOf(lanes[0], success)
		flows := b.Flows
		b.Flows = lostFlows{flows}
		closed.Receives = 5
		b.trace = nil
		b.advance(closed)
		b.wantTrace("read of lane 0", "look: closed by hand", "read of lane 0", "close by stop: closed by hand", "write 2 of lane 0", "join lane 0: 2",
			"wake joined in 0s")
		b.Flows = flows
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 21: a lane of which nothing can be read expires with its execution", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 1), taskText("B"))
		body := []byte{machine.Format, 0xff}
		if err := b.store.Append(b.t.Context(), engine.Item{Execution: lanes[0].Execution, Nonce: "damaged", Body: body}); err != nil {
			b.t.Fatal(err)
		}
		_, execution := b.latest()
		lanes[0].Receives = 5
		b.advance(lanes[0])
		if state := b.lane(lanes[0]); state.Status != machine.StatusFailed || !state.Expires.Equal(execution.Expires) || state.Execution != executionName {
			b.t.Errorf("the lane of execution %q is %s and expires at %s, the execution at %s", state.Execution, state.Status, state.Expires, execution.Expires)
		}
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 21: a lane of which nothing can be read joins although its parent is ending", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 1), taskText("B"))
		body := []byte{machine.Format, 0xff}
		if err := b.store.Append(b.t.Context(), engine.Item{Execution: lanes[0].Execution, Nonce: "damaged", Body: body}); err != nil {
			b.t.Fatal(err)
		}
		b.advance(b.stop())
		stops := b.takeAll()
		stops[0].Receives = 5
		b.wakes = stops
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 21: a token's wake names no lane, and ends one of which nothing can be read", func(b *fixture) {
		_, lanes := b.fork(callbackText(), taskText("B"))
		b.answer("Ask", `{}`)
		b.answer("B", `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		closed := b.closeOf(lanes[0], success)
		b.Log = damagedLog{b.Log, lanes[0].Execution}
		closed.Receives = 5
		b.advance(closed)
		b.Log = b.Log.(damagedLog).Log //nolint:forcetypeassert // see above
		if state := b.lane(lanes[0]); state.Status != machine.StatusFailed || state.Execution != executionName {
			b.t.Errorf("the lane of execution %q is %s", state.Execution, state.Status)
		}
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 20: a stop reaches a lane that was ending when its process ended", func(b *fixture) {
		b.endingLane()
		b.CannotContinue = func(state machine.State) bool { return state.Execution == executionName }
		b.Generation++
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 15: a restart while a lane and its lanes are being stopped", func(b *fixture) {
		b.endingLane()
		b.restart()
		b.drain()
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"rule 15: a restart of an execution that is ending makes no call", func(b *fixture) {
		_, lanes := b.fork(waitText("Pause", 1)+taskText("A")+taskText("After"), taskText("B"))
		b.advance(lanes[0])
		b.at(time.Second)
		b.script("A", answer{outcome: success, during: func() { b.log.FailAppends(slices.Repeat([]Fault{LoseWrite}, 10)...) }})
		b.wantError(b.take(), engine.CodeInternal)
		b.limits = nil
		stop := b.stop()
		b.sendFails = 1
		b.wantError(stop, engine.CodeInternal)
		b.restart()
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 15: what a newer release wrote of a lane does not keep others from a restart", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 1), taskText("B"))
		if err := b.store.Append(b.t.Context(), engine.Item{Execution: lanes[0].Execution, Nonce: "newer", Body: newerBody()}); err != nil {
			b.t.Fatal(err)
		}
		b.restart()
	}},
}

// damagedLog has an execution of whose items the last byte is wrong.
type damagedLog struct {
	engine.Log
	id engine.ID
}

func (l damagedLog) Latest(ctx context.Context, id engine.ID) (engine.Item, error) {
	item, err := l.Log.Latest(ctx, id)
	l.damage(&item)
	return item, err
}

func (l damagedLog) Items(ctx context.Context, id engine.ID, from uint64, limit int) ([]engine.Item, error) {
	items, err := l.Log.Items(ctx, id, from, limit)
	for i := range items {
		l.damage(&items[i])
	}
	return items, err
}

func (l damagedLog) damage(item *engine.Item) {
	if item.Execution == l.id && len(item.Body) > 0 {
		item.Body = slices.Clone(item.Body)
		item.Body[len(item.Body)-1]++
	}
}

// nestedText is a foreach in a foreach, each over the same list.
const nestedText = `  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    inputMappings: [{target: list, source: $local.list}]
    steps:
      - type: foreach
        name: Inner
        iterationMapping: {collection: $.list, item: two}
        steps:
          - type: task
            name: A
            resourceArn: acs:fc:::services/test/functions/A
            inputMappings: [{target: two, source: $input.two}, {target: one, source: $input.one}]
            outputMappings: [{target: a, source: $local.id}, {target: two, source: $input.two}]
          - {type: wait, name: Rest, duration: 1}
          - type: pass
            name: Name
            outputMappings: [{target: a, source: $input.a}, {target: b, source: $input.two.id}]
        outputMappings: [{target: names, source: "$local[*].b"}, {target: one, source: $input.one.id}]
    outputMappings: [{target: all, source: $local}]
outputMappings: [{target: all, source: $local.all}]
`

// reported are the executions whose ends were reported.
type reported struct{ ids []engine.ID }

func (r *reported) Ended(_ context.Context, execution engine.ID, _ machine.State) error {
	r.ids = append(r.ids, execution)
	return nil
}

// lane returns the latest state of the lane that a wake goes to.
func (b *fixture) lane(wake engine.Wake) machine.State {
	b.t.Helper()
	item, err := b.store.Latest(b.t.Context(), wake.Execution)
	if err != nil {
		b.t.Fatal(err)
	}
	state, err := machine.DecodeState(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return state
}

// closeOf closes the token that a lane waits for, and gives the wake that was sent for it.
func (b *fixture) closeOf(lane engine.Wake, outcome token.Outcome) engine.Wake {
	b.t.Helper()
	handle := b.lane(lane).Waiting.Handle()
	if _, err := b.store.Close(b.t.Context(), handle, token.CloseOp{Outcome: outcome, By: token.ClosedByHand, At: b.Now()}); err != nil {
		b.t.Fatal(err)
	}
	id, _ := token.HandleID(handle)
	return engine.Wake{Execution: engine.ID(id.Execution), Cause: handle, Due: b.Now(), Sent: b.Now()}
}

// endingLane leads an execution to where a lane of it is ending, because a lane inside failed, and
// the wakes that stop the others are lost.
func (b *fixture) endingLane() {
	b.t.Helper()
	_, lanes := b.fork(inner("Inner", taskText("A"), waitText("Pause", 5000)), waitText("Wait", 5000))
	b.advance(lanes[1])
	b.wakes = nil
	b.advance(lanes[0])
	insides := b.takeAll()
	b.advance(insides[1])
	b.wakes = nil
	b.script("A", answer{outcome: token.Failure("Broken", "")})
	b.advance(insides[0])
	failed := b.take()
	b.sendFails = 1
	b.wantError(failed, engine.CodeInternal)
	b.trace = nil
}
