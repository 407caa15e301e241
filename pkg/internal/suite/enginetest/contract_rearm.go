package enginetest

import (
	"context"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// rearmCases are those of wakes for messages that may be lost.
var rearmCases = []ruleCase{
	{"rearm: a wake for a callback reads the token and changes nothing", func(b *fixture) {
		b.ask(askNextFlow)
		b.at(time.Hour)
		b.rearm(engine.RearmRequest{}, "token")
		b.advance(b.take())
		b.wantTrace("read", "no request to stop", "look: open")
	}},
	{"rearm: a dry run sends nothing", func(b *fixture) {
		b.ask(askNextFlow)
		b.rearm(engine.RearmRequest{DryRun: true}, "token")
		if len(b.wakes) > 0 {
			b.t.Errorf("wakes %v", b.wakes)
		}
	}},
	{"rearm: while the worker that entered a call may live, the wake returns to the queue", func(b *fixture) {
		b.ask(askNextFlow)
		b.rearm(engine.RearmRequest{Calls: true}, "token")
		b.wantPutBack(b.take(), epoch.Add(workerDeadAfter))
	}},
	{"rearm: while the worker that entered a fork may live, the wake returns to the queue, and no lane gets one", func(b *fixture) {
		b.fork(taskText("A"), taskText("B"))
		b.wakes = nil
		b.rearm(engine.RearmRequest{Calls: true}, "lanes")
		rearm := b.take()
		b.wantPutBack(rearm, epoch.Add(workerDeadAfter))
		b.wantTrace("read", "no request to stop")
		b.at(workerDeadAfter)
		b.advance(rearm)
		if wakes := b.takeAll(); len(wakes) != 2 || wakes[0].Lane == nil || wakes[1].Lane == nil {
			b.t.Errorf("the wakes are %+v", wakes)
		}
	}},
	{"rearm: a start is overdue when its worker is dead for certain", func(b *fixture) {
		b.begin(pollFlow)
		b.overdue(workerDeadAfter, 0)
		b.overdue(time.Hour, time.Hour-workerDeadAfter)
	}},
	{"rearm: a timer is overdue after its instant", func(b *fixture) {
		b.pause()
		b.overdue(10*time.Second, 0)
		b.overdue(time.Minute, 50*time.Second)
	}},
	{"rearm: a call that was not made is overdue when its worker is dead for certain", func(b *fixture) {
		b.askedNot(askFlow)
		b.overdue(workerDeadAfter, 0)
		b.overdue(time.Hour, time.Hour-workerDeadAfter)
	}},
	{"rearm: a wait without a deadline is overdue after the time limit of the execution", func(b *fixture) {
		b.Limits.Duration = 24 * time.Hour
		b.ask(askFlow)
		b.overdue(24*time.Hour, 0)
		b.overdue(25*time.Hour, time.Hour)
		b.advance(b.close(success))
		b.overdue(25*time.Hour, 0)
	}},
	{"rearm: a timer of a lane is overdue after its instant, and the wake rearms the lane", func(b *fixture) {
		_, lanes := b.fork(waitText("A", 10), waitText("B", 3000))
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.wakes = nil
		b.overdue(10*time.Second, 0)
		b.overdue(time.Minute, 50*time.Second)
		b.rearm(engine.RearmRequest{}, "lanes")
		b.drain()
		b.overdue(time.Minute, 0)
	}},
	{"rearm: a timer of a lane in a lane is overdue", func(b *fixture) {
		_, lanes := b.fork(inner("Inner", waitText("A", 10), waitText("B", 3000)), waitText("C", 3000))
		b.advance(lanes[0])
		for _, lane := range append(b.takeAll(), lanes[1]) {
			b.advance(lane)
		}
		b.overdue(10*time.Second, 0)
		b.overdue(time.Minute, 50*time.Second)
	}},
	{"rearm: a lane that has not begun is overdue when the worker that wakes it is dead for certain", func(b *fixture) {
		b.fork(waitText("A", 3000), waitText("B", 3000))
		b.overdue(workerDeadAfter, 0)
		b.overdue(time.Hour, time.Hour-workerDeadAfter)
	}},
	{"rearm: a fork is overdue whose lanes have all ended", func(b *fixture) {
		b.answer("A", `{}`)
		b.answer("B", `{}`)
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.advance(lanes[0])
		b.at(time.Minute)
		b.advance(lanes[1])
		b.wakes = nil
		b.overdue(time.Hour, time.Hour-time.Minute-workerDeadAfter)
		b.rearm(engine.RearmRequest{}, "lanes")
		b.drain()
		b.wantSucceeded()
	}},
	{"rearm: a fork is overdue that one lane has failed", func(b *fixture) {
		b.script("A", answer{outcome: token.Failure("No", "")})
		_, lanes := b.fork(taskText("A"), waitText("B", 3000))
		b.advance(lanes[1])
		b.advance(lanes[0])
		b.wakes = nil
		b.overdue(workerDeadAfter, 0)
		b.overdue(time.Hour, time.Hour-workerDeadAfter)
	}},
	{"rearm: an execution that is ending is overdue when its worker is dead for certain", func(b *fixture) {
		b.fork(waitText("A", 3000), waitText("B", 3000))
		b.advance(b.stop())
		b.wakes = nil
		b.overdue(workerDeadAfter, 0)
		b.overdue(time.Hour, time.Hour-workerDeadAfter)
	}},
	{"rearm: a wait for a sub-flow is overdue whose end was not reported", func(b *fixture) {
		b.answer("A", `{}`)
		b.advance(b.withChild(taskFlow("A"), awaited, named))
		b.overdue(time.Hour, 0)
		child := b.takeFirst()
		b.sendFails = 1
		b.wantError(child, engine.CodeInternal)
		b.overdue(2*time.Hour, time.Hour-workerDeadAfter)
		b.rearm(engine.RearmRequest{}, "subflow")
		b.drain()
		b.wantSucceeded()
	}},
	{"rearm: an execution is overdue after the time limit although its definition cannot be read", func(b *fixture) {
		b.Limits.Duration = 24 * time.Hour
		b.ask(askFlow)
		b.Flows = brokenFlows{b.Flows}
		b.overdue(25*time.Hour, time.Hour)
	}},
	{"rearm: a long call is queued again only if calls are lost", func(b *fixture) {
		b.long()
		b.at(time.Hour)
		b.rearm(engine.RearmRequest{}, "token", "call")
		b.advance(b.take())
		if len(b.tasks) > 0 {
			b.t.Errorf("tasks %v", b.tasks)
		}
		b.rearm(engine.RearmRequest{Calls: true}, "token", "call")
		b.advance(b.take())
		if len(b.tasks) != 1 {
			b.t.Errorf("tasks %v, want one", b.tasks)
		}
	}},
	{"rearm: the notice of a wait is sent again, the same, and only if notices are lost", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(flowHead + callbackText("timeoutSeconds: 600", "heartbeatSeconds: 60"))
		b.answer("Ask", `{}`)
		b.advance(start)
		b.at(time.Minute)
		b.rearm(engine.RearmRequest{}, "timer", "token")
		b.wakes = b.wakes[len(b.wakes)-1:]
		b.advance(b.take())
		b.wantTrace("read", "no request to stop", "wake timer in 0s", "look: open")
		b.rearm(engine.RearmRequest{Notices: true, DryRun: true}, "timer", "token", "notice")
		b.rearm(engine.RearmRequest{Notices: true}, "timer", "token", "notice")
		b.wakes = b.wakes[len(b.wakes)-1:]
		b.advance(b.take())
		b.wantTrace("read", "no request to stop", "wake timer in 0s", "look: open", "notice execution.waiting")
		if len(n.got) != 2 || n.got[0] != n.got[1] {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	{"rearm: the notice of a wait is sent again at once, also while the worker that made the call may live", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(askFlow)
		b.answer("Ask", `{}`)
		b.advance(start)
		b.at(time.Second)
		b.rearm(engine.RearmRequest{Notices: true}, "token", "notice")
		b.wakes = b.wakes[len(b.wakes)-1:]
		b.advance(b.take())
		if len(n.got) != 2 || n.got[0] != n.got[1] {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	{"rearm: the notice of a wait that ends is not sent again", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(askFlow)
		b.answer("Ask", `{}`)
		b.advance(start)
		b.close(success)
		b.wakes = nil
		b.at(time.Hour)
		b.rearm(engine.RearmRequest{Notices: true}, "token", "notice")
		b.advance(b.take())
		b.wantSucceeded()
		if len(n.got) != 2 || !n.got[1].Ended {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	{"rearm: the notices of the waits of lanes are sent again, beside calls", func(b *fixture) {
		n := b.notices()
		b.askInLanes()
		b.at(time.Hour)
		b.rearm(engine.RearmRequest{Notices: true, Calls: true}, "lanes", "notice")
		b.drain()
		if len(n.got) != 4 || !sameNotices(n.got[:2], n.got[2:]) {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	{"rearm: a target that is not told of waits needs no notice of one", func(b *fixture) {
		b.notices()
		b.ask(askFlow)
		b.at(time.Hour)
		b.rearm(engine.RearmRequest{Notices: true}, "token")
	}},
}

// sameNotices reports whether the notices are the same, in any order.
func sameNotices(a, b []engine.Notice) bool {
	for _, n := range a {
		if !slices.Contains(b, n) {
			return false
		}
	}
	return len(a) == len(b)
}

// brokenFlows have definitions that this release cannot read.
type brokenFlows struct{ engine.Flows }

// Flow implements [engine.Flows].
func (brokenFlows) Flow(context.Context, machine.FlowRef) (*flow.Flow, error) {
	_, flow, err := engine.ParseFlow(flowName, []byte("type: none"))
	return flow, err
}

// overdue wants the execution to be that late at an instant after the epoch.
func (b *fixture) overdue(at, want time.Duration) {
	b.t.Helper()
	b.at(at)
	found, err := b.client().Rearm(b.t.Context(), []engine.ID{testID}, engine.RearmRequest{DryRun: true})
	if err != nil || len(found) != 1 || found[0].Overdue != want {
		b.t.Errorf("after %s: found %+v, error %v; want overdue by %s", at, found, err, want)
	}
	b.trace = nil
}

// rearm rearms the execution of the case, which needs these messages.
func (b *fixture) rearm(request engine.RearmRequest, needs ...string) {
	b.t.Helper()
	found, err := b.client().Rearm(b.t.Context(), []engine.ID{testID}, request)
	if err != nil || len(found) != 1 || found[0].Err != nil || !slices.Equal(found[0].Needs, needs) {
		b.t.Fatalf("found %+v, error %v; want needs %v", found, err, needs)
	}
	b.trace = nil
}
