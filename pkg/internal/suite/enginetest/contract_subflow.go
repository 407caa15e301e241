package enginetest

import (
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// childID is the id of the sub-flow of a case.
var childID = engine.NewID("child", "kid")

const (
	// named gives the sub-flow its name.
	named   = "serviceParams: {Input: $, ExecutionName: kid}"
	awaited = "pattern: sync"
)

// subflowCases are rules 24 to 26.
//
// rules: SF-12 SF-13 SF-14 SF-15 SF-17
var subflowCases = []ruleCase{
	{"rule 24: a step is committed as waiting, then its sub-flow starts, then that is recorded", func(b *fixture) {
		b.advance(b.withChild(taskFlow("A"), awaited, named))
		b.wantTrace("read", "write 1", "wake start of the sub-flow in 0s", "write 0 of the sub-flow", "write 2")
		b.wantHistory("Scheduled Started Submitted")
		child := b.child()
		want := machine.Parent{Log: testID, Key: child.Parent.Key, Handle: b.waiting().Handle(), Depth: 1, Root: machine.RootID(testID), Generation: 1}
		if *child.Parent != want || want.Key == "" || child.Input.JSON() != `{"id":7}` {
			b.t.Errorf("the sub-flow has the input %s and the parent %+v, want %+v", child.Input, child.Parent, want)
		}
	}},
	{"rule 24: a start that was not sent is sent once the worker cannot live", func(b *fixture) {
		start := b.withChild(taskFlow("A"), awaited, named)
		b.sendFails = 1
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "write 1", "wake start of the sub-flow in 0s: failed")
		b.at(59 * time.Second)
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "wake start of the sub-flow in 0s", "write 0 of the sub-flow", "write 2")
	}},
	{"rule 24: an attempt that is submitted again has the same sub-flow", func(b *fixture) {
		start := b.startedChild(taskFlow("A"))
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "wake start of the sub-flow in 0s", "write 0 of the sub-flow: refused", "read of the sub-flow", "write 2")
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"rule 24: an execution of that name with another token fails the submission", func(b *fixture) {
		start := b.withChild(taskFlow("A"), awaited, named)
		b.startByHand()
		b.advance(start)
		b.wantTrace("read", "write 1", "wake start of the sub-flow in 0s", "write 0 of the sub-flow: refused", "read of the sub-flow",
			"close by submit: closed by submit", "wake parent of the sub-flow in 0s", "write 2")
		b.wantEnd(machine.StatusFailed, engine.ErrorExecutionAlreadyExists)
		b.answer("A", `{}`)
		b.drain() // the other execution goes on
		if child := b.child(); child.Status != machine.StatusSucceeded || child.Parent != nil {
			b.t.Errorf("the other execution is %s and has the parent %+v", child.Status, child.Parent)
		}
	}},
	{"rule 24: requestResponse ends with the start, which is repeated like a call", func(b *fixture) {
		start := b.withChild(taskFlow("A"), named)
		b.log.FailAppends(NoFault, Refuse)
		b.advance(start)
		b.wantTrace("read", "wake start of the sub-flow in 0s", "write 0 of the sub-flow", "write 1: refused", "read", "write 1")
		b.wantOutput(`{"FlowName":"child","Name":"kid","StartedTime":"2026-01-31T10:00:00.123Z","Status":"Running"}`)
		b.answer("A", `{}`)
		b.drain()
		if child := b.child(); child.Status != machine.StatusSucceeded || child.Awaited() || child.Parent.Depth != 0 {
			b.t.Errorf("the sub-flow is %s, its parent %+v", child.Status, child.Parent)
		}
	}},
	{"rule 24: for requestResponse an execution of that name that runs was started", func(b *fixture) {
		start := b.withChild(taskFlow("A"), named)
		b.startByHand()
		b.advance(start)
		b.wantSucceeded()
	}},
	{"rule 24: for requestResponse an execution of that name that has ended is another one", func(b *fixture) {
		start := b.withChild(taskFlow("A"), named)
		b.startByHand()
		b.answer("A", `{}`)
		b.drain()
		b.advance(start)
		b.wantEnd(machine.StatusFailed, engine.ErrorExecutionAlreadyExists)
	}},
	{"rule 24: waitForCallback waits for the token that the flow passed on", func(b *fixture) {
		b.advance(b.withChild(taskFlow("A"), "pattern: waitForCallback", named))
		b.wantTrace("read", "write 1", "wake start of the sub-flow in 0s", "write 0 of the sub-flow", "write 2")
		b.answer("A", `{}`)
		b.drain()
		if !b.waiting().Submitted() || b.child().Status != machine.StatusSucceeded {
			b.t.Errorf("the execution waits for %+v, the sub-flow is %s", b.waiting(), b.child().Status)
		}
		b.advance(b.close(success))
		b.wantSucceeded()
	}},
	{"rule 24: the sub-flow has the newest definition, and a flow without one fails the submission", func(b *fixture) {
		start := b.withChild(taskFlow("A"), awaited, named)
		newest := put(b.t, b.Flows, "child", taskFlow("B"))
		b.advance(start)
		if got := b.child().Flow; got != newest {
			b.t.Errorf("the sub-flow is of %+v, want %+v", got, newest)
		}
	}},
	{"rule 24: a flow that is not stored fails the submission", func(b *fixture) {
		start := b.begin(flowHead + subflowText(awaited, named))
		b.advance(start)
		b.wantEnd(machine.StatusFailed, engine.ErrorFlowNotExists)
		b.wantHistory("Scheduled Started SubmitFailed ExecutionFailed")
	}},
	{"rule 24: sub-flows that wait for one another are ten at most", func(b *fixture) {
		flow := flowHead + strings.ReplaceAll(subflowText(awaited), "child", flowName)
		b.wantStart(b.request(flow, ""), engine.StartedNew)
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorDepthLimit)
	}},
	{"rule 25: the terminal item, then the token of the parent, then its wake", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		b.answer("A", `{"done":true}`)
		b.trace = nil
		b.advance(b.take())
		b.wantTrace("read of the sub-flow", "look: open", "call A", "write 1 of the sub-flow", "close by sub-flow: closed by sub-flow", "wake token in 0s")
		b.advance(b.take())
		b.wantTrace("read", "look: closed by sub-flow", "write 3")
		b.wantOutput(`{"done":true}`)
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 25: a worker that died before it closed the token", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		b.answer("A", `{}`)
		start := b.take()
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.at(59 * time.Second)
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read of the sub-flow")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read of the sub-flow", "close by sub-flow: closed by sub-flow", "wake token in 0s")
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 25: a worker that died before it sent the wake: the update is refused, and the parent woken", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		b.answer("A", `{}`)
		start := b.take()
		b.sendFails = 1
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read of the sub-flow", "close by sub-flow: closed by sub-flow", "wake token in 0s")
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 25: the end of a sub-flow fails its step with the error of the sub-flow", func(b *fixture) {
		b.advance(b.childWaits(flowHead + "  - {type: fail, name: No, error: NoMoney, cause: the account is empty}\n"))
		b.drain()
		b.wantEnd(machine.StatusFailed, "NoMoney")
		b.wantHistory("Scheduled Started Submitted Failed ExecutionFailed")
	}},
	{"rule 25: a sub-flow that is stopped or reaches its time limit reports that", func(b *fixture) {
		b.advance(b.childWaits("timeoutSeconds: 30\n" + flowHead + waitText("Pause", 60)))
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorExecutionTimeout)
	}},
	{"rule 25: a sub-flow that ends by a defect reports that", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		start := b.take()
		flows := b.Flows
		b.Flows = lostFlows{flows}
		start.Receives = 5
		b.advance(start)
		b.Flows = flows
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 25: a sub-flow of which nothing can be read reports that", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		start := b.take()
		b.Log = damagedLog{b.Log, childID}
		start.Receives = 5
		b.advance(start)
		b.Log = b.Log.(damagedLog).Log //nolint:forcetypeassert // see above
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 25: the parent of a sub-flow is a lane, and its worker died before it knew of the end", func(b *fixture) {
		put(b.t, b.Flows, "child", taskFlow("A"))
		b.lanes[childID] = " of the sub-flow"
		b.wantStart(b.request(parallel(subflowText(awaited, named), waitText("B", 5)), ""), engine.StartedNew)
		b.answer("A", `{"done":true}`)
		b.advance(b.takeFirst()) // the fork
		b.advance(b.takeFirst()) // the lane, whose last wake starts the sub-flow
		start := b.takeAll()
		b.sendFails = 1
		b.wantError(start[len(start)-1], engine.CodeInternal)
		b.wakes = start
		b.at(time.Minute)
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 25: a large output reaches the parent", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A") + waitText("Pause", 10)))
		large := `{"large":"` + strings.Repeat("x", 1000) + `"}`
		b.answer("A", large)
		b.drain()
		b.wantOutput(large)
	}},
	{"rule 25: a restart after a sub-flow ended and before its parent knew", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		b.answer("A", `{"done":true}`)
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(b.take(), engine.CodeInternal)
		b.restart()
		b.wantTrace("no request to stop", "wake start in 0s")
		b.advance(b.take())
		b.wantTrace("read", "look: open", "read of the sub-flow", "close by sub-flow: closed by sub-flow", "wake token in 0s")
		b.drain()
		b.wantOutput(`{"done":true}`)
	}},
	{"rule 25: an execution that was started with a token reports its end to the token's step", func(b *fixture) {
		b.startedWithToken(taskFlow("A"))
		b.answer("A", `{"done":true}`)
		b.trace = nil
		b.advance(b.take())
		b.wantTrace("read of the sub-flow", "call A", "write 1 of the sub-flow", "close by sub-flow: closed by sub-flow", "wake token in 0s")
		b.drain()
		b.wantOutput(`{"done":true}`)
	}},
	{"rule 25: the failure of an execution that was started with a token fails the token's step", func(b *fixture) {
		b.startedWithToken(flowHead + "  - {type: fail, name: No, error: NoMoney, cause: the account is empty}\n")
		b.drain()
		b.wantEnd(machine.StatusFailed, "NoMoney")
	}},
	{"rule 25: a worker that died before it reported to the token that an execution was started with", func(b *fixture) {
		b.startedWithToken(taskFlow("A"))
		b.answer("A", `{}`)
		start := b.take()
		b.updateFaults = []Fault{LoseWrite}
		b.wantError(start, engine.CodeInternal)
		b.at(time.Minute)
		b.advance(start)
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 26: an execution that was started with a token goes on without the token's step", func(b *fixture) {
		b.startedWithToken(taskFlow("A"))
		b.answer("A", `{}`)
		start := b.take()
		b.advance(b.stop())
		b.advance(b.parentWake())
		b.advance(start)
		if child := b.child(); child.Status != machine.StatusSucceeded || child.EndsWithParent() {
			b.t.Errorf("the execution is %s", child.Status)
		}
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 26: a time-out wakes the sub-flow before it is committed, and the sub-flow is stopped", func(b *fixture) {
		timer := b.childAsks(deadline)
		b.at(time.Minute)
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by deadline", "wake parent of the sub-flow in 0s", "write 3")
		b.wantEnd(machine.StatusFailed, machine.ErrorTaskTimeout)
		b.advance(b.take())
		b.wantTrace("read of the sub-flow", "look: closed by deadline", "write 3 of the sub-flow", "close by stop: closed by stop", "write 4 of the sub-flow",
			"close by sub-flow: closed by deadline", "wake token in 0s")
		b.wantChildStopped()
		b.advance(b.take())
		b.wantTrace("read")
	}},
	{"rule 26: without the wake nothing is committed", func(b *fixture) {
		timer := b.childAsks(deadline)
		b.at(time.Minute)
		b.sendFails = 1
		b.wantError(timer, engine.CodeInternal)
		b.wantTrace("read", "close by deadline: closed by deadline", "wake parent of the sub-flow in 0s: failed")
		b.advance(timer)
		b.drain()
		b.wantChildStopped()
	}},
	{"rule 26: an outcome by hand stops the sub-flow", func(b *fixture) {
		b.childAsks(deadline)
		b.wakes = []engine.Wake{b.close(success)}
		b.drain()
		b.wantSucceeded()
		b.wantChildStopped()
	}},
	{"rule 26: a stop reaches the sub-flow", func(b *fixture) {
		b.childAsks(deadline)
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
		b.wantChildStopped()
	}},
	{"rule 26: a stop that meets the end of the sub-flow applies that", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		b.answer("A", `{}`)
		b.advance(b.take())
		b.wakes = nil
		b.advance(b.stop())
		b.wantTrace("read", "read the request to stop", "write 3", "close by stop: closed by sub-flow", "write 4")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionStopped")
	}},
	{"rule 26: a sub-flow that starts after its parent ended is stopped at its start", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		start := b.take()
		b.advance(b.stop())
		b.wakes, b.trace = nil, nil
		b.advance(start)
		b.wantTrace("read of the sub-flow", "look: closed by stop", "write 1 of the sub-flow", "close by sub-flow: closed by stop", "wake token in 0s")
		b.wantChildStopped()
	}},
	{"rule 26: a forged wake of the parent does nothing", func(b *fixture) {
		b.childAsks(deadline)
		b.advance(b.parentWake())
		b.wantTrace("read of the sub-flow", "look: open")
		b.advance(engine.Wake{Execution: testID, Cause: machine.CauseParent, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read")
		b.advance(engine.Wake{Execution: engine.NewID("no", "log"), Cause: machine.CauseParent, Due: b.Now(), Sent: b.Now()})
		b.wantTrace("read")
	}},
	{"rule 26: a defect of the parent stops the sub-flow", func(b *fixture) {
		timer := b.childAsks(deadline)
		flows := b.Flows
		b.Flows = lostFlows{flows}
		timer.Receives = 5
		b.at(time.Minute)
		b.advance(timer)
		b.Flows = flows
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
		b.drain()
		b.wantChildStopped()
	}},
	{"rule 26: a stop reaches sub-flows of sub-flows, and those in lanes", func(b *fixture) {
		put(b.t, b.Flows, "grandchild", flowHead+callbackText())
		put(b.t, b.Flows, "child", parallel(strings.ReplaceAll(subflowText(awaited, named), "child", "grandchild"), waitText("B", 500)))
		b.answer("Ask", `{}`)
		b.advance(b.begin(flowHead + subflowText(awaited, named)))
		b.settle()
		if _, state := b.latestOf(engine.NewID("grandchild", "kid")); state.Waiting == nil || !state.Waiting.Submitted() {
			b.t.Fatalf("the sub-flow of the sub-flow is %s and waits for %+v", state.Status, state.Waiting)
		}
		b.wakes = append(b.wakes, b.stop())
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
		b.wantChildStopped()
		if _, state := b.latestOf(engine.NewID("grandchild", "kid")); state.Status != machine.StatusStopped {
			b.t.Errorf("the sub-flow of the sub-flow is %s", state.Status)
		}
	}},
	{"rule 26: a restart after the parent left its sub-flow", func(b *fixture) {
		timer := b.childAsks(deadline)
		b.at(time.Minute)
		b.advance(timer)
		b.wakes = nil
		b.Generation++
		item, state := b.latestOf(childID)
		if err := b.Recover(b.t.Context(), item, state); err != nil {
			b.t.Fatal(err)
		}
		b.drain()
		b.wantChildStopped()
	}},
}

// subflowText is a task Sub that starts the flow child.
func subflowText(lines ...string) string {
	return "  - type: task\n    name: Sub\n    resourceArn: acs:fnf:::flow/child\n    " + strings.Join(lines, "\n    ") + "\n"
}

// withChild begins an execution whose only step starts this flow, and gives its wake.
func (b *fixture) withChild(child string, lines ...string) engine.Wake {
	b.t.Helper()
	put(b.t, b.Flows, "child", child)
	b.lanes[childID] = " of the sub-flow"
	b.wantStart(b.request(flowHead+subflowText(lines...), `{"id":7}`), engine.StartedNew)
	b.trace = nil
	return b.take()
}

// childWaits is withChild for a step that waits for the end of its sub-flow.
func (b *fixture) childWaits(child string) engine.Wake {
	b.t.Helper()
	return b.withChild(child, awaited, named)
}

// startedChild leads a step to where it started its sub-flow and did not record that. It gives the
// wake of the start.
func (b *fixture) startedChild(child string) engine.Wake {
	b.t.Helper()
	start := b.childWaits(child)
	b.log.FailAppends(append([]Fault{NoFault, NoFault}, slices.Repeat([]Fault{LoseWrite}, 10)...)...)
	b.wantError(start, engine.CodeInternal)
	b.trace = nil
	return start
}

// childAsks leads a sub-flow to where it waits for a callback, and gives the timer of its parent's
// step.
func (b *fixture) childAsks(limit string) engine.Wake {
	b.t.Helper()
	b.advance(b.withChild(askFlow, awaited, named, limit))
	timer := b.takeTimer()
	b.answer("Ask", `{}`)
	b.advance(b.take())
	b.trace = nil
	return timer
}

// startByHand starts the execution that the step names.
func (b *fixture) startByHand() {
	b.t.Helper()
	flow, err := b.Flows.Newest(b.t.Context(), "child")
	if err != nil {
		b.t.Fatal(err)
	}
	b.wantStart(engine.StartRequest{Flow: flow, Execution: "kid"}, engine.StartedNew)
	b.trace = nil
}

// startedWithToken begins an execution that waits for a callback, and starts this flow with its
// token.
func (b *fixture) startedWithToken(child string) {
	b.t.Helper()
	b.lanes[childID] = " of the sub-flow"
	b.answer("Ask", `{}`)
	b.advance(b.begin(askFlow))
	flow := put(b.t, b.Flows, "child", child)
	b.wantStart(engine.StartRequest{Flow: flow, Execution: "kid", Reports: b.waiting().Handle()}, engine.StartedNew)
	b.trace = nil
}

// settle applies all wakes that are due.
func (b *fixture) settle() {
	b.t.Helper()
	for {
		i := slices.IndexFunc(b.wakes, func(w engine.Wake) bool { return !w.Due.After(b.Now()) })
		if i < 0 {
			return
		}
		wake := b.wakes[i]
		b.wakes = slices.Delete(b.wakes, i, i+1)
		b.advance(wake)
	}
}

func (b *fixture) parentWake() engine.Wake {
	return engine.Wake{Execution: childID, Cause: machine.CauseParent, Due: b.Now(), Sent: b.Now()}
}

func (b *fixture) child() machine.State {
	b.t.Helper()
	_, state := b.latestOf(childID)
	return state
}

func (b *fixture) wantChildStopped() {
	b.t.Helper()
	if child := b.child(); child.Status != machine.StatusStopped || child.Error != machine.ErrorStopped {
		b.t.Errorf("the sub-flow is %s with error %q (%s)", child.Status, child.Error, child.Cause)
	}
}
