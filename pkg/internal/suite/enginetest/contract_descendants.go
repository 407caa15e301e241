package enginetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

var grandchildID = engine.NewID("grandchild", "kid")

// descendantCases are about sub-flows of sub-flows, which their root counts.
//
// rules: SF-18 SF-19 I-9
var descendantCases = []ruleCase{
	{"descendants: a sub-flow of the root is not counted, and one of that is, before it starts and when it has ended", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.wantTrace("read", "wake start of the sub-flow in 0s", "write 0 of the sub-flow", "write 1")
		b.answer("A", `{}`)
		b.advance(b.take())
		b.wantTrace("read of the sub-flow", "count a start: 1", "wake start of the grandchild in 0s", "write 0 of the grandchild", "write 1 of the sub-flow")
		start := b.take()
		if !start.Descendant {
			b.t.Error("the wake of the grandchild is not one of descendants")
		}
		b.advance(start)
		b.wantTrace("read of the grandchild", "call A", "write 1 of the grandchild", "count an end")
		b.wantCounted(0)
	}},
	{"descendants: all wakes of a descendant go the way of its start", func(b *fixture) {
		b.advance(b.withGrandchild(waitFlow(10)))
		b.advance(b.take())
		start := b.take()
		start.Descendant = false // as after a message of an earlier release
		b.advance(start)
		if timer := b.take(); !timer.Descendant || timer.Root != machine.RootID(testID) || timer.Flow != "grandchild" {
			b.t.Errorf("the timer is %+v", timer)
		}
		b.Generation++
		item, state := b.latestOf(grandchildID)
		if err := b.Recover(b.t.Context(), item, state); err != nil {
			b.t.Fatal(err)
		}
		if timer := b.take(); !timer.Descendant || timer.Root != machine.RootID(testID) {
			b.t.Errorf("the timer of the next process is %+v", timer)
		}
	}},
	{"descendants: a start that is repeated is counted once", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.log.FailAppends(append([]Fault{NoFault}, slices.Repeat([]Fault{LoseWrite}, 10)...)...)
		start := b.take()
		b.wantError(start, engine.CodeInternal)
		b.log.FailAppends()
		b.at(time.Minute)
		b.advance(start)
		b.wantCounted(1)
	}},
	{"descendants: a start that fails for good is not counted", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.Flows = deletedFlow{b.Flows, "grandchild"}
		b.advance(b.take())
		if child := b.child(); child.Status != machine.StatusFailed || child.Error != engine.ErrorFlowNotExists {
			b.t.Errorf("the sub-flow is %s with %s: %s", child.Status, child.Error, child.Cause)
		}
		b.wantCounted(0)
	}},
	{"descendants: a worker that died between the count and the start leaves the count too high", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		start := b.take()
		b.sendFails = 1
		b.wantError(start, engine.CodeInternal)
		b.advance(start)
		b.wantCounted(2)
	}},
	{"descendants: a worker that died between the end and its count leaves the count too high", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.advance(b.take())
		b.answer("A", `{}`)
		b.Descendants = deadRoots{b.Descendants}
		start := b.take()
		b.advance(start)
		b.wantCounted(1)
		b.at(time.Minute)
		b.advance(start) // the end is counted by the worker that committed it, or not at all
		b.wantCounted(1)
	}},
	{"descendants: a start over the limit fails its step", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.setCounted(machine.MaxDescendants)
		b.advance(b.take())
		if child := b.child(); child.Status != machine.StatusFailed || child.Error != machine.ErrorSubflowLimit {
			b.t.Errorf("the sub-flow is %s with %s: %s", child.Status, child.Error, child.Cause)
		}
	}},
	{"descendants: after a start over the limit, each start has a turn", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.setCounted(machine.MaxDescendants)
		b.setCounted(0) // a start that is refused
		b.setCounted(1) // one that has the first turn
		b.advance(b.take())
		if start := b.take(); !start.Due.Equal(after(time.Second)) {
			b.t.Errorf("the start is due at %s", start.Due)
		}
	}},
	{"descendants: a count that is too high is made anew once it is certain", func(b *fixture) {
		b.advance(b.withGrandchild(waitFlow(10)))
		b.advance(b.take())
		b.setCounted(machine.MaxDescendants)
		for _, tt := range []struct {
			after time.Duration
			want  int
		}{{4 * time.Minute, machine.MaxDescendants}, {5 * time.Minute, 1}} {
			b.at(tt.after)
			if err := b.client().Recount(b.t.Context(), machine.RootID(testID)); err != nil {
				b.t.Fatal(err)
			}
			b.wantCounted(tt.want)
		}
	}},
	{"descendants: a deep start has a turn, before which no wake begins it", func(b *fixture) {
		put(b.t, b.Flows, "child", taskFlow("A"))
		b.lanes[childID] = " of the sub-flow"
		parent := machine.Parent{Log: testID, Key: strings.Repeat("0", 32), Root: machine.RootID(engine.NewID("flow", "root")), Generation: machine.MaxFastGeneration}
		for range 2 { // turns before this one
			op := engine.EnterOp{At: epoch, Paced: true, Expires: epoch.Add(time.Hour)}
			if _, _, err := b.store.Enter(b.t.Context(), parent.Root, op); err != nil {
				b.t.Fatal(err)
			}
		}
		b.withParent(flowHead+subflowText(named), parent)
		b.advance(b.take())
		start := b.take()
		if !start.Due.Equal(after(2 * time.Second)) {
			b.t.Errorf("the start is due at %s", start.Due)
		}
		b.trace = nil
		b.advance(engine.Wake{Execution: childID, Cause: machine.CauseStart, Due: b.Now(), Sent: b.Now()}) // forged, or after a rearm
		b.wantTrace("read of the sub-flow", "wake start of the sub-flow in 2s")
		b.Generation++
		item, state := b.latestOf(childID)
		if err := b.Recover(b.t.Context(), item, state); err != nil {
			b.t.Fatal(err)
		}
		b.wantTrace("no request to stop", "wake start of the sub-flow in 2s")
		b.at(2 * time.Second)
		b.answer("A", `{}`)
		b.advance(start)
		if child := b.child(); child.Status != machine.StatusSucceeded || !child.At.Equal(after(2*time.Second)) {
			b.t.Errorf("the sub-flow is %s at %s", child.Status, child.At)
		}
	}},
	{"descendants: the stop of a root stops them one by one, and its wake looks again until none is left", func(b *fixture) {
		b.advance(b.withGrandchild(waitFlow(1000)))
		b.advance(b.take())
		b.advance(b.take())
		b.wakes = nil
		if err := b.client().StopDescendants(b.t.Context(), testID, "Enough", "it is enough"); err != nil {
			b.t.Fatal(err)
		}
		b.trace = nil
		b.advance(b.take())
		b.wantTrace("read the root", "read", "read items of the grandchild", "wake stop of the grandchild in 0s", "wake descendants in 1s")
		wakes := b.takeAll()
		b.advance(wakes[0])
		b.wantTrace("read of the grandchild", "no request to stop", "read the root", "write 2 of the grandchild", "count an end")
		if _, state := b.latestOf(grandchildID); state.Status != machine.StatusStopped || state.Error != "Enough" || state.Cause != "it is enough" {
			b.t.Errorf("the grandchild is %s with %s: %s", state.Status, state.Error, state.Cause)
		}
		look := wakes[1]
		b.at(59 * time.Second)
		b.advance(look) // a worker may live that starts a sub-flow of the root
		b.wantTrace("read the root", "read", "wake descendants in 59s")
		b.at(time.Minute)
		look.Due = b.Now()
		b.advance(look)
		b.wantTrace("read the root", "read")
	}},
	{"descendants: below a stopped root nothing starts", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		start := b.take()
		if err := b.client().StopDescendants(b.t.Context(), testID, "", ""); err != nil {
			b.t.Fatal(err)
		}
		b.advance(start)
		if child := b.child(); child.Status != machine.StatusFailed || child.Error != machine.ErrorStopped {
			b.t.Errorf("the sub-flow is %s with %s: %s", child.Status, child.Error, child.Cause)
		}
		if _, err := b.store.Latest(b.t.Context(), grandchildID); err == nil {
			b.t.Error("the grandchild started")
		}
	}},
	{"descendants: the wake of a stop comes before the request, and a forged one does nothing", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		b.wakes, b.trace = nil, nil
		forged := engine.Wake{Execution: testID, Cause: machine.CauseDescendants, Due: b.Now(), Sent: b.Now()}
		b.advance(forged)
		b.wantTrace("read the root", "wake descendants in 1s")
		b.at(30 * time.Second)
		b.advance(forged)
		b.wantTrace("read the root")
	}},
	{"descendants: only a root can be stopped with all of them", func(b *fixture) {
		b.advance(b.withGrandchild(taskFlow("A")))
		err := b.client().StopDescendants(b.t.Context(), childID, "", "")
		if engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), "stop the execution from which it descends, "+flowName+"/") {
			b.t.Errorf("the stop of a sub-flow with its descendants: %v", err)
		}
		if err := b.client().StopDescendants(b.t.Context(), engine.NewID("no", "log"), "", ""); engine.CodeOf(err) != engine.CodeNotFound {
			b.t.Errorf("the stop of an unknown execution: %v", err)
		}
		b.Descendants = failingRoots{b.Descendants}
		if err := b.client().StopDescendants(b.t.Context(), engine.NewID("no", "log"), "", ""); engine.CodeOf(err) != engine.CodeInternal {
			b.t.Errorf("the stop of an execution whose root's record cannot be read: %v", err)
		}
	}},
	{"descendants: the stop of a sub-flow whose root is unknown names another way", func(b *fixture) {
		b.withParent(waitFlow(10), machine.Parent{
			Log: engine.NewID("removed", "one"), Key: "removed-one-1", Root: machine.RootID(engine.NewID("removed", "one")), Generation: 1,
		})
		err := b.client().StopDescendants(b.t.Context(), testID, "", "")
		const why = "it descends from an execution that was removed; stop it alone, or pause its flow"
		if engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), why) {
			b.t.Errorf("the stop of a sub-flow of an unknown root: %v", err)
		}
	}},
}

// failingRoots cannot be read.
type failingRoots struct{ engine.Descendants }

// Root implements [engine.Descendants].
func (failingRoots) Root(context.Context, engine.ID) (engine.RootRecord, error) {
	return engine.RootRecord{}, ErrFault
}

// pauseCases are about paused flows.
//
// rules: SF-20 I-10 I-11 I-12 I-13
var pauseCases = []ruleCase{
	{"pause: a start and a timer are deleted without a read", func(b *fixture) {
		start := b.begin(waitFlow(10))
		b.setPaused(true)
		b.advance(start)
		b.wantTrace()
		b.setPaused(false)
		b.advance(start)
		timer := b.take()
		b.trace = nil
		b.setPaused(true)
		b.at(10 * time.Minute)
		b.advance(timer)
		b.wantTrace()
		b.setPaused(false)
		b.rearmAll()
		b.drain()
		b.wantSucceeded()
	}},
	{"pause: a token is closed, and its wake deleted; a resumed flow goes on with the outcome", func(b *fixture) {
		b.ask(askFlow)
		b.setPaused(true)
		b.advance(b.close(success))
		b.wantTrace("read")
		b.setPaused(false)
		b.at(time.Minute)
		b.rearmAll()
		b.drain()
		b.wantSucceeded()
	}},
	{"pause: deadlines pass", func(b *fixture) {
		b.ask(flowHead + callbackText(deadline))
		timer := b.takeTimer()
		b.setPaused(true)
		b.at(2 * time.Minute)
		b.advance(timer)
		b.setPaused(false)
		b.rearmAll()
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskTimeout)
	}},
	{"pause: a stop ends the execution, with its lanes", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 100), waitText("B", 100))
		for _, lane := range lanes {
			b.advance(lane)
		}
		b.setPaused(true)
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"pause: lanes do not begin, and do when the flow is resumed", func(b *fixture) {
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.setPaused(true)
		for _, lane := range lanes {
			b.advance(lane)
		}
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		b.setPaused(false)
		b.at(time.Minute)
		b.rearmAll()
		b.drain()
		b.wantSucceeded()
	}},
	{"pause: a start is rejected, and so is a sub-flow", func(b *fixture) {
		request := b.request(taskFlow("A"), "")
		b.setPaused(true)
		if _, err := b.client().Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodePaused {
			b.t.Errorf("a start: %v", err)
		}
		b.setPaused(false)
		start := b.withChild(taskFlow("A"), named)
		if err := b.store.SetPaused(b.t.Context(), "child", true); err != nil {
			b.t.Fatal(err)
		}
		b.at(10 * time.Minute) // other processes know of it
		b.advance(start)
		b.wantEnd(machine.StatusFailed, machine.ErrorFlowPaused)
	}},
}

func waitFlow(seconds int) string { return flowHead + waitText("Pause", seconds) }

// withGrandchild begins an execution that starts the flow child, which starts this flow, and gives
// its wake.
func (b *fixture) withGrandchild(grandchild string) engine.Wake {
	b.t.Helper()
	put(b.t, b.Flows, "grandchild", grandchild)
	b.lanes[grandchildID] = " of the grandchild"
	return b.withChild(flowHead+strings.ReplaceAll(subflowText(named), "child", "grandchild"), named)
}

// withParent begins an execution that a step started.
func (b *fixture) withParent(flow string, parent machine.Parent) {
	b.t.Helper()
	request := b.request(flow, "")
	parsed, err := b.Flows.Flow(b.t.Context(), request.Flow)
	if err != nil {
		b.t.Fatal(err)
	}
	state, events := machine.New(request.Flow, parsed, request.Execution, request.Input, b.Now(), b.Limits)
	state.Parent = &parent
	item := engine.Item{Execution: testID, Nonce: b.freshText()}
	item.Body, _ = machine.Encode(machine.ItemOrigin(testID, 0), state, events)
	if err := b.store.Append(b.t.Context(), item); err != nil {
		b.t.Fatal(err)
	}
	b.wakes = append(b.wakes, engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: b.Now(), Sent: b.Now()})
}

func (b *fixture) wantCounted(want int) {
	b.t.Helper()
	if record, err := b.store.Root(b.t.Context(), machine.RootID(testID)); err != nil || record.Open != want {
		b.t.Errorf("%d descendants are counted, error %v; want %d", record.Open, err, want)
	}
}

func (b *fixture) setCounted(open int) {
	b.t.Helper()
	if _, _, err := b.store.Enter(b.t.Context(), machine.RootID(testID), engine.EnterOp{At: b.Now(), Expires: b.Now().Add(time.Hour)}); err != nil {
		b.t.Fatal(err)
	}
	read, err := b.store.Root(b.t.Context(), machine.RootID(testID))
	if err == nil {
		err = b.store.Recount(b.t.Context(), machine.RootID(testID), read, open)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *fixture) setPaused(paused bool) {
	b.t.Helper()
	if err := b.store.SetPaused(b.t.Context(), flowName, paused); err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Minute) // other processes know of it
	b.trace = nil
}

// rearmAll rearms the execution, whose other wakes are gone.
func (b *fixture) rearmAll() {
	b.t.Helper()
	b.wakes = nil
	if _, err := b.client().Rearm(b.t.Context(), []engine.ID{testID}, engine.RearmRequest{}); err != nil {
		b.t.Fatal(err)
	}
}

// deletedFlow is a store of flows from which one is deleted after a look for its newest definition.
type deletedFlow struct {
	engine.Flows
	name string
}

// Flow implements [engine.Flows].
func (d deletedFlow) Flow(ctx context.Context, ref machine.FlowRef) (*flow.Flow, error) {
	if ref.Name == d.name {
		return nil, engine.ErrNotFound
	}
	return d.Flows.Flow(ctx, ref)
}

// deadRoots is the store of a worker that dies before it counts an end.
type deadRoots struct{ engine.Descendants }

// Leave implements [engine.Descendants].
func (deadRoots) Leave(context.Context, engine.ID) error { return errDied }
