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
	"github.com/waitless/waitless/pkg/value"
)

const redrivenName = "run-redrive"

var redrivenID = engine.NewID(flowName, redrivenName)

// redriveCases are about executions that go on where another one ended. Each is an execution of its
// own, whose start is one by rule 12.
var redriveCases = []ruleCase{
	// rules: RD-1 RD-2 RD-3
	{"rule 12: a redrive begins with the step that failed, and has the outputs before it", func(b *fixture) {
		b.failInB()
		_, before := b.latest()
		b.answer("B", `{"b":2}`)
		b.advance(b.redrive(engine.RedriveRequest{}))
		b.wantTrace("read of the redrive", "call B", "write 1 of the redrive")
		b.wantRedriven(machine.StatusSucceeded, `{"a":1,"b":2}`)
		if _, after := b.latest(); after.Status != machine.StatusFailed || !after.At.Equal(before.At) || after.Events != before.Events {
			b.t.Errorf("the other execution became %+v", after)
		}
	}},
	// rules: RD-4
	{"rule 12: the same redrive again is the same execution, and another one is refused", func(b *fixture) {
		b.failInB()
		first := b.redriveStart(engine.RedriveRequest{})
		b.wantStart(first, engine.StartedNew)
		b.trace = nil
		b.wantStart(b.redriveStart(engine.RedriveRequest{}), engine.StartedSame)
		b.wantTrace("wake start in 0s", "write 0: refused", "read items")
		b.wantStart(b.redriveStart(engine.RedriveRequest{From: "A"}), engine.StartedDifferent)
		b.wantStart(engine.StartRequest{Flow: first.Flow, Execution: redrivenName, Input: first.Input}, engine.StartedSame)
		b.answer("B", `{}`)
		b.drain()
		b.wantStart(b.redriveStart(engine.RedriveRequest{}), engine.StartedSame)
		b.wantRedriven(machine.StatusSucceeded, `{"a":1}`)
	}},
	{"rule 12: a redrive whose first item was lost is started by the next request", func(b *fixture) {
		b.failInB()
		b.log.FailAppends(LoseWrite)
		if _, err := b.Start(b.t.Context(), b.redriveStart(engine.RedriveRequest{})); err == nil {
			b.t.Error("no error")
		}
		b.advance(b.take()) // does not find the item, and is sent again
		b.answer("B", `{}`)
		b.wantStart(b.redriveStart(engine.RedriveRequest{}), engine.StartedNew)
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{"a":1}`)
	}},
	{"rule 7: a worker that died in the first call of a redrive: the call is repeated with the same key", func(b *fixture) {
		b.failInB()
		b.keys = nil
		start := b.redrive(engine.RedriveRequest{})
		b.script("B", answer{err: errStopped})
		b.wantError(start, engine.CodeInternal)
		b.answer("B", `{}`)
		b.advance(start)
		b.wantRedriven(machine.StatusSucceeded, `{"a":1}`)
		if len(b.keys) != 2 || b.keys[0] != b.keys[1] {
			b.t.Errorf("keys %v", b.keys)
		}
	}},
	// rules: RD-5
	{"rule 12: an execution that runs or succeeded is not redriven, nor one that failed by a step of type fail", func(b *fixture) {
		start := b.begin(taskFlow("A"))
		b.wantNoRedrive(engine.RedriveRequest{}, engine.CodeConflict, "it has not ended; wait for its end, or stop it")
		b.answer("A", `{}`)
		b.advance(start)
		b.wantNoRedrive(engine.RedriveRequest{}, engine.CodeConflict, "it succeeded, so no step is left; rerun it")
	}},
	// rules: RD-5 RD-6
	{"rule 12: a step of type fail would fail again, and an earlier step can be named", func(b *fixture) {
		b.answer("A", `{"a":1}`)
		b.advance(b.begin(taskFlow("A") + "  - {type: fail, name: No, error: E}\n"))
		b.wantNoRedrive(engine.RedriveRequest{}, engine.CodeInvalid, `step "No" is of type fail, so it fails again; go on from an earlier step`)
		b.wantNoRedrive(engine.RedriveRequest{From: "B"}, engine.CodeInvalid, `the flow has no step "B"`)
		b.answer("A", `{"a":2}`)
		b.advance(b.redrive(engine.RedriveRequest{From: "A"}))
		b.wantRedriven(machine.StatusFailed, "")
	}},
	// rules: RD-7
	{"rule 9: the redrive of a stopped wait has a token of its own", func(b *fixture) {
		b.answer("Ask", `{}`)
		b.advance(b.begin(askFlow))
		old := b.waiting().Handle()
		b.advance(b.stop())
		b.answer("Ask", `{}`)
		b.advance(b.redrive(engine.RedriveRequest{}))
		_, state := b.latestOf(redrivenID)
		if state.Waiting == nil || state.Waiting.Handle() == old || !state.Waiting.Submitted() {
			b.t.Fatalf("waiting %+v, before %s", state.Waiting, old)
		}
	}},
	// rules: RD-8
	{"rule 1: the time limit of a redrive begins with the redrive", func(b *fixture) {
		b.advance(b.begin("timeoutSeconds: 30\n" + flowHead + waitText("Pause", 20) + waitText("More", 20)))
		b.drain()
		b.wantEnd(machine.StatusTimedOut, machine.ErrorExecutionTimeout)
		b.at(time.Hour)
		b.advance(b.redrive(engine.RedriveRequest{}))
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{}`)
	}},
	// rules: RD-8
	{"rule 12: the retries of a step begin anew", func(b *fixture) {
		flow := flowHead + taskText("A", "retry: [{errors: [E], maxAttempts: 1, intervalSeconds: 1}]")
		b.script("A", failed("E"))
		b.script("A", failed("E"))
		b.advance(b.begin(flow))
		b.drain()
		b.wantEnd(machine.StatusFailed, "E")
		b.script("A", failed("E"))
		b.answer("A", `{"a":1}`)
		b.advance(b.redrive(engine.RedriveRequest{}))
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{"a":1}`)
	}},
	// rules: RD-9
	{"rule 15: the branches of a parallel that have no result run again, in lanes of their own", func(b *fixture) {
		b.answer("A", `{"a":1}`)
		b.answer("B", `{"b":1}`)
		b.script("C", failed("E"))
		b.advance(b.begin(taskFlow("A") + strings.TrimPrefix(parallel(taskText("B"), taskText("C")), flowHead) + outputsText))
		b.drain()
		b.wantEnd(machine.StatusFailed, "E")
		b.answer("C", `{"c":1}`)
		b.advance(b.redrive(engine.RedriveRequest{}))
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{"all":[{"b":1},{"c":1}]}`)
	}},
	// rules: RD-9
	{"rule 27: the iterations of a foreach that have no result run again, and lanes claim them", func(b *fixture) {
		c := b.failItems(itemText, 7)
		b.goOnWith(c, redrivenName, nil)
		b.wantRedriven(machine.StatusSucceeded, allItems)
	}},
	{"rule 27: a redrive of a redrive has the results of both", func(b *fixture) {
		c := b.failItems(itemText, 3)
		b.goOnWith(c, redrivenName, []int{9})
		b.wantRedriven(machine.StatusFailed, "")
		b.goOnWith(c, "run-redrive-2", nil)
	}},
	{"rule 31: an attempt of a redrive that is tried again has the results of the execution before", func(b *fixture) {
		c := b.failItems(strings.Replace(itemText, "    steps:", retries+"    steps:", 1), 7)
		b.goOnWith(c, redrivenName, []int{9})
		b.wantRedriven(machine.StatusFailed, "")
		if len(slices.DeleteFunc(slices.Clone(c.made), func(item int) bool { return item != 9 })) != 3 {
			b.t.Errorf("three attempts made the calls %v", c.made)
		}
	}},
	{"rule 14: a foreach with one place has the results of its own log, also in its redrive", func(b *fixture) {
		c := b.failItems(strings.Replace(itemText, "maxConcurrency: 2", "maxConcurrency: 1", 1), 4)
		b.goOnWith(c, redrivenName, []int{8})
		if want := []int{4, 5, 6, 7, 8}; !slices.Equal(c.made, want) {
			b.t.Errorf("the items %v ran, want %v", c.made, want)
		}
		b.goOnWith(c, "run-redrive-2", nil)
	}},
	{"rule 27: the results of a fork without outputs are its items", func(b *fixture) {
		c := b.failItems(strings.ReplaceAll(itemText, outputsText, ""), 7)
		b.goOnWith(c, redrivenName, nil)
		b.wantRedriven(machine.StatusSucceeded, `{}`)
	}},
	{"rule 19: a fork that was stopped has results", func(b *fixture) {
		c := &itemCalls{fixture: b, stopAt: 5}
		b.Caller = c
		b.wantStart(b.request(flowHead+itemText, itemsInput), engine.StartedNew)
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
		b.goOnWith(c, redrivenName, nil)
		b.wantRedriven(machine.StatusSucceeded, allItems)
	}},
	// rules: RD-6
	{"rule 15: a redrive from a fork that was left runs all items again", func(b *fixture) {
		c := &itemCalls{fixture: b}
		b.Caller = c
		b.script("Last", failed("Broken"))
		b.wantStart(b.request(flowHead+strings.ReplaceAll(itemText, outputsText, "")+taskText("Last"), itemsInput), engine.StartedNew)
		b.drain()
		b.wantEnd(machine.StatusFailed, "Broken")
		c.made = nil
		b.answer("Last", `{}`)
		b.wakes = []engine.Wake{b.redrive(engine.RedriveRequest{From: "Each"})}
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, "")
		if len(c.made) != 10 {
			b.t.Errorf("the items %v ran", c.made)
		}
	}},
	{"rule 27: a redrive of a fork in which all items have results runs none", func(b *fixture) {
		c := &itemCalls{fixture: b}
		b.Caller = c
		b.wantStart(b.request(flowHead+itemText, itemsInput), engine.StartedNew)
		b.advance(b.take())
		lanes := b.takeAll()
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
		b.goOnWith(c, redrivenName, nil)
		b.wantRedriven(machine.StatusSucceeded, allItems)
	}},
	{"rule 15: a redrive in format 1 has no place for results, so all items run again", func(b *fixture) {
		b.WriteFormat = 1
		c := b.failItems(itemText, 7)
		c.done = nil
		b.goOnWith(c, redrivenName, nil)
		b.wantRedriven(machine.StatusSucceeded, allItems)
	}},
	{"rule 15: a redrive in format 2 has the results of lanes with fixed items", func(b *fixture) {
		b.WriteFormat = 1
		c := b.failItems(itemText, 7)
		b.WriteFormat = machine.Format
		b.goOnWith(c, redrivenName, nil)
		b.wantRedriven(machine.StatusSucceeded, allItems)
	}},
	// rules: RD-11
	{"rule 12: the results of a fork refer to nothing of the other execution", func(b *fixture) {
		values := b.withLarge()
		c := &itemCalls{fixture: b, fails: []int{7}, pad: 40_000}
		b.Caller = c
		b.wantStart(b.request(flowHead+itemText, itemsInput), engine.StartedNew)
		b.drain()
		c.fails = nil
		start := b.redrive(engine.RedriveRequest{})
		values.expired = testID
		b.wakes = []engine.Wake{start}
		b.drain()
		state, err := b.Describe(b.t.Context(), redrivenID)
		if err != nil || state.Status != machine.StatusSucceeded || state.Output.Get("all").Len() != 10 || state.Output.Size() < 10*c.pad {
			b.t.Errorf("%s %s with %d bytes, %v", state.Status, state.Cause, state.Output.Size(), err)
		}
	}},
	// rules: RD-13
	{"rule 12: the newest definition has the results of a fork if that has the same branches", func(b *fixture) {
		b.answer("B", `{"b":1}`)
		b.script("C", failed("E"))
		b.advance(b.begin(parallel(taskText("B"), taskText("C")) + outputsText))
		b.drain()
		b.wantEnd(machine.StatusFailed, "E")
		put(b.t, b.Flows, flowName, parallel(taskText("B"), taskText("C"), taskText("D"))+outputsText)
		if start := b.redriveStart(engine.RedriveRequest{Newest: true, Execution: "other"}); start.Redriven.Step != "Fork" {
			b.t.Errorf("it goes on from %+v", start.Redriven)
		} else {
			b.takeAll()
			b.wantStart(start, engine.StartedNew)
		}
		b.answer("B", `{"b":2}`)
		b.answer("C", `{"c":2}`)
		b.answer("D", `{"d":2}`)
		b.drain()
		if state, err := b.Describe(b.t.Context(), engine.NewID(flowName, "other")); err != nil || state.Output.JSON() != `{"all":[{"b":2},{"c":2},{"d":2}]}` {
			b.t.Errorf("%s %s, %v", state.Cause, state.Output.JSON(), err)
		}
		put(b.t, b.Flows, flowName, parallel(taskText("B"), taskText("C")+taskText("D"))+outputsText)
		b.answer("C", `{"c":3}`)
		b.answer("D", `{"d":3}`)
		b.advance(b.redrive(engine.RedriveRequest{Newest: true}))
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{"all":[{"b":1},{"c":3,"d":3}]}`)
	}},
	// rules: RD-10
	{"rule 24: a redrive starts a sub-flow anew", func(b *fixture) {
		b.advance(b.withChild(taskFlow("A"), awaited))
		b.script("A", failed("E"))
		b.drain()
		b.wantEnd(machine.StatusFailed, "E")
		b.answer("A", `{"a":1}`)
		b.advance(b.redrive(engine.RedriveRequest{}))
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{"a":1}`)
	}},
	// rules: RD-10
	{"rule 25: the redrive of a sub-flow reports to no parent", func(b *fixture) {
		b.advance(b.childWaits(taskFlow("A")))
		b.script("A", failed("E"))
		b.drain()
		b.wantEnd(machine.StatusFailed, "E")
		_, parent := b.latest()
		start, err := b.Redrive(b.t.Context(), childID, engine.RedriveRequest{})
		if err != nil {
			b.t.Fatal(err)
		}
		b.wantStart(start, engine.StartedNew)
		b.answer("A", `{"a":1}`)
		b.drain()
		state, err := b.Describe(b.t.Context(), engine.NewID("child", start.Execution))
		if _, after := b.latest(); err != nil || state.Status != machine.StatusSucceeded || state.Parent != nil || after.Events != parent.Events {
			b.t.Errorf("the redrive is %s with parent %+v, the parent %+v, %v", state.Status, state.Parent, after, err)
		}
	}},
	{"rule 12: a redrive with the newest definition of a deleted flow", func(b *fixture) {
		b.failInB()
		b.Flows = noNewest{b.Flows}
		b.wantNoRedrive(engine.RedriveRequest{Newest: true}, engine.CodeInvalid, "the flow was deleted; put it again")
		b.redriveStart(engine.RedriveRequest{})
	}},
	// rules: RD-11
	{"rule 12: a redrive refers to nothing of the other execution, which expires first", func(b *fixture) {
		values := b.withLarge()
		b.startLarge(taskFlow("A", "B"))
		b.answer("A", `{"text":"`+strings.Repeat("y", largeSize/3)+`","list":["`+strings.Repeat("z", 500)+`"]}`)
		b.script("B", failed("E"))
		b.advance(b.take())
		start := b.redrive(engine.RedriveRequest{})
		values.expired = testID
		b.answer("B", `{}`)
		b.advance(start)
		state, err := b.Describe(b.t.Context(), redrivenID)
		if err != nil || state.Status != machine.StatusSucceeded || len(state.Output.Get("text").Text()) != largeSize/3 || state.Input.Size() < largeSize {
			b.t.Errorf("%s with %d bytes, %v", state.Status, state.Output.Size(), err)
		}
	}},
	{"rule 13: the redrive and the rerun of an execution that was failed for a defect have its input", func(b *fixture) {
		b.wantStart(b.request(taskFlow("A"), `{"order":7}`), engine.StartedNew)
		flows := b.Flows
		b.Flows = otherFlows{b.Flows, machine.FlowRef{Name: flowName, Hash: "unknown"}}
		start := b.take()
		start.Receives = 5
		b.advance(start)
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
		b.Flows = flows
		if state, err := b.Describe(b.t.Context(), testID); err != nil || state.Input.JSON() != `{"order":7}` {
			b.t.Errorf("the execution has %s, %v", state.Input.JSON(), err)
		}
		rerun, err := b.Rerun(b.t.Context(), testID, "again", false)
		if err != nil || rerun.Input.JSON() != `{"order":7}` {
			b.t.Errorf("the rerun has %s, %v", rerun.Input.JSON(), err)
		}
		if redrive := b.redriveStart(engine.RedriveRequest{}); redrive.Input.JSON() != `{"order":7}` {
			b.t.Errorf("the redrive has %s", redrive.Input.JSON())
		}
	}},
	{"rule 13: an execution of which nothing can be read is not repeated with another input", func(b *fixture) {
		b.appendBody(0, []byte{machine.Format, 0xff})
		b.advance(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch, Receives: 5})
		if state, err := b.Describe(b.t.Context(), testID); err != nil || state.Status != machine.StatusFailed {
			b.t.Errorf("it is %s, %v", state.Status, err)
		}
		b.wantNoRedrive(engine.RedriveRequest{}, engine.CodeInvalid, "its first item is damaged")
	}},
	// rules: RD-4
	{"rule 12: the redrive of an earlier execution of that name is another one", func(b *fixture) {
		early := b.request(taskFlow("A", "B"), "")
		early.Execution, early.Redriven = redrivenName, &machine.Redriven{From: executionName, Count: 1, Step: "B"}
		b.wantStart(early, engine.StartedNew)
		b.takeAll()
		b.trace = nil
		b.at(time.Hour)
		b.failInB()
		b.wantStart(b.redriveStart(engine.RedriveRequest{}), engine.StartedDifferent)
	}},
	{"rule 12: a redrive of an execution that is removed while its history is read goes on nowhere", func(b *fixture) {
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("Task%d", i))
			b.answer(names[i], `{}`)
		}
		b.script("Last", failed("E"))
		b.advance(b.begin(taskFlow(append(names, "Last")...)))
		b.wantEnd(machine.StatusFailed, "E")
		b.Log = firstPage{b.Log}
		b.wantNoRedrive(engine.RedriveRequest{}, engine.CodeNotFound, "its history was removed while it was read")
	}},
	// rules: RD-12
	{"rule 12: a redrive notifies what the other execution notified", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(taskFlow("A"))
		b.script("A", failed("E"))
		b.advance(start)
		b.answer("A", `{}`)
		b.advance(b.redrive(engine.RedriveRequest{}))
		if len(n.got) != 2 || n.got[1].Execution != redrivenID || n.got[1].Target != testNotify.Target {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	// rules: RD-13
	{"rule 12: a redrive with the newest definition has its step at the same place", func(b *fixture) {
		b.failInB()
		put(b.t, b.Flows, flowName, taskFlow("C"))
		b.wantNoRedrive(engine.RedriveRequest{Newest: true}, engine.CodeInvalid, `the other definition has no step "B"`)
		put(b.t, b.Flows, flowName, taskFlow("A")+"  - type: parallel\n    name: P\n    branches:\n    - steps:\n"+indented(indented(taskText("B"))))
		b.wantNoRedrive(engine.RedriveRequest{Newest: true}, engine.CodeInvalid, `the other definition has step "B" inside of a fork`)
		newest := put(b.t, b.Flows, flowName, taskFlow("C", "B", "D"))
		b.answer("B", `{"b":2}`)
		b.answer("D", `{"d":3}`)
		b.advance(b.redrive(engine.RedriveRequest{Newest: true}))
		b.wantRedriven(machine.StatusSucceeded, `{"a":1,"b":2,"d":3}`)
		if _, state := b.latestOf(redrivenID); state.Flow != newest {
			b.t.Errorf("the redrive has %+v, want %+v", state.Flow, newest)
		}
	}},
	// rules: RD-14
	{"rule 12: a redrive of a redrive", func(b *fixture) {
		b.failInB()
		b.script("B", failed("Again"))
		b.advance(b.redrive(engine.RedriveRequest{}))
		b.wantRedriven(machine.StatusFailed, "")
		start, err := b.Redrive(b.t.Context(), redrivenID, engine.RedriveRequest{})
		if err != nil || start.Execution != "run-redrive-2" || start.Redriven.From != redrivenName || start.Redriven.Count != 2 {
			b.t.Fatalf("%+v, %v", start, err)
		}
		b.wantStart(start, engine.StartedNew)
		b.answer("B", `{"b":2}`)
		b.drain()
		if state, err := b.Describe(b.t.Context(), engine.NewID(flowName, "run-redrive-2")); err != nil || state.Output.JSON() != `{"a":1,"b":2}` {
			b.t.Errorf("%+v, %v", state, err)
		}
	}},
	// rules: RD-15
	{"rule 12: a rerun begins with the first step, also of an execution that succeeded", func(b *fixture) {
		b.answer("A", `{"a":1}`)
		b.advance(b.begin(taskFlow("A")))
		start, err := b.Rerun(b.t.Context(), testID, "again", false)
		if err != nil || start.Redriven != nil {
			b.t.Fatalf("%+v, %v", start, err)
		}
		b.wantStart(start, engine.StartedNew)
		b.wantStart(start, engine.StartedSame)
		b.answer("A", `{"a":2}`)
		b.drain()
		if state, err := b.Describe(b.t.Context(), engine.NewID(flowName, "again")); err != nil || state.Output.JSON() != `{"a":2}` {
			b.t.Errorf("%+v, %v", state, err)
		}
	}},
}

// firstPage has only the first items of a log.
type firstPage struct{ engine.Log }

// Items implements [engine.Log].
func (l firstPage) Items(ctx context.Context, id engine.ID, from uint64, limit int) ([]engine.Item, error) {
	if from > 0 {
		return nil, nil
	}
	return l.Log.Items(ctx, id, from, limit)
}

// noNewest lists no definition.
type noNewest struct{ engine.Flows }

// Newest implements [engine.Flows].
func (noNewest) Newest(context.Context, string) (machine.FlowRef, error) {
	return machine.FlowRef{}, engine.ErrNotFound
}

func failed(name string) answer { return answer{outcome: token.Failure(name, "why")} }

// failInB runs an execution whose task A succeeds and whose task B fails.
func (b *fixture) failInB() {
	b.t.Helper()
	b.answer("A", `{"a":1}`)
	b.script("B", failed("E"))
	b.advance(b.begin(taskFlow("A", "B")))
	b.wantEnd(machine.StatusFailed, "E")
	b.trace = nil
}

func (b *fixture) redriveStart(request engine.RedriveRequest) engine.StartRequest {
	b.t.Helper()
	start, err := b.Redrive(b.t.Context(), testID, request)
	if err != nil {
		b.t.Fatal(err)
	}
	b.trace = nil
	return start
}

// redrive starts the redrive of the execution and gives its wake. The trace is empty then.
func (b *fixture) redrive(request engine.RedriveRequest) engine.Wake {
	b.t.Helper()
	b.lanes[redrivenID] = " of the redrive"
	b.takeAll()
	b.wantStart(b.redriveStart(request), engine.StartedNew)
	b.trace = nil
	return b.take()
}

func (b *fixture) wantNoRedrive(request engine.RedriveRequest, code engine.Code, part string) {
	b.t.Helper()
	_, err := b.Redrive(b.t.Context(), testID, request)
	if engine.CodeOf(err) != code || !strings.Contains(err.Error(), part) {
		b.t.Errorf("error %v, want %s: %s", err, code, part)
	}
	b.trace = nil
}

// wantRedriven compares the status of the redrive, and its output after a success.
func (b *fixture) wantRedriven(status machine.Status, output string) {
	b.t.Helper()
	state, err := b.Describe(b.t.Context(), redrivenID)
	b.trace = nil
	if err != nil || state.Status != status || output != "" && state.Output.JSON() != output {
		b.t.Errorf("the redrive is %s (%s: %s) with %s, %v", state.Status, state.Error, state.Cause, state.Output.JSON(), err)
	}
}

// itemText is a foreach over the numbers of ten items. Its list has the output of a call for each.
const itemText = foreachText + `        inputMappings: [{target: n, source: $input.one}]
` + outputsText

const (
	itemsInput = `{"list":[0,1,2,3,4,5,6,7,8,9]}`
	allItems   = `{"all":[{"n":0},{"n":1},{"n":2},{"n":3},{"n":4},{"n":5},{"n":6},{"n":7},{"n":8},{"n":9}]}`
)

// itemCalls calls a function for each item of a foreach.
type itemCalls struct {
	*fixture
	fails  []int // the items that fail
	stopAt int   // the item in whose call the execution is stopped, 0 for none
	pad    int   // bytes in each output
	made   []int
	done   []int
}

func (c *itemCalls) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if call.Resource.Function != "A" {
		return c.fixture.Call(ctx, call)
	}
	number, _ := call.Input.Get("n").Int64()
	item := int(number)
	c.made = append(c.made, item)
	if slices.Contains(c.fails, item) {
		return token.Failure("Broken", "why"), nil
	}
	if c.stopAt > 0 && item == c.stopAt && c.Stop(c.t.Context(), testID, "Enough", "it is enough") != nil {
		c.t.Error("the execution is not stopped")
	}
	c.done = append(c.done, item)
	if c.pad > 0 {
		return token.Success(value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", c.pad))})), nil
	}
	return token.Success(call.Input), nil
}

// failItems runs a flow of one foreach in which an item fails.
func (b *fixture) failItems(text string, item int) *itemCalls {
	b.t.Helper()
	c := &itemCalls{fixture: b, fails: []int{item}}
	b.Caller = c
	b.wantStart(b.request(flowHead+text, itemsInput), engine.StartedNew)
	b.drain()
	b.wantEnd(machine.StatusFailed, "Broken")
	return c
}

// goOnWith runs the redrive with that name of the execution, or of its first redrive, in which these
// items fail. It runs the items that have no result, and no others.
func (b *fixture) goOnWith(c *itemCalls, name string, fails []int) {
	b.t.Helper()
	from := testID
	if name != redrivenName {
		from = redrivenID
	}
	start, err := b.Redrive(b.t.Context(), from, engine.RedriveRequest{})
	if err != nil || start.Execution != name {
		b.t.Fatalf("%+v, %v", start, err)
	}
	had := slices.Clone(c.done)
	c.made, c.fails, c.stopAt = nil, fails, 0
	b.wantStart(start, engine.StartedNew)
	b.drain()
	for item := range 10 {
		if ran := slices.Contains(c.made, item); ran == slices.Contains(had, item) && (fails == nil || ran) {
			b.t.Errorf("item %d ran: %t, had %v, made %v", item, ran, had, c.made)
		}
	}
}
