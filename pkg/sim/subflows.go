package sim

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// family is what an execution and its sub-flows have in common.
type family struct {
	failed     int  // runs of workers that died or gave up, and processes
	defectTold bool // the defect ended one of the logs, or closed a token
}

// mostNested is how many sub-flows wait for one another at most.
const mostNested = 2

// drawSub adds a task that waits for the end of a sub-flow.
func (w *world) drawSub(f *flow) {
	name := fmt.Sprintf("sub%d", len(w.subflows)+1)
	w.subflows[name] = flow{} // takes the name
	w.subflows[name] = w.drawFlow(f.depth + 1)
	lines := []string{"resourceArn: acs:fnf:::flow/" + name, "pattern: sync"}
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("timeoutSeconds: %d", 1+w.rand.IntN(60)))
	}
	if w.tries {
		lines = append(lines, w.drawPolicies()...)
	}
	f.step("task", lines...)
}

// addSub adds the sub-flow that a state waits for. At times a person stops it, or closes the token of
// the step that waits for it.
func (l *log) addSub(waiting *machine.Waiting) {
	if waiting == nil || waiting.Child == nil || l.worldOf(waiting.Child.ID()) != nil {
		return
	}
	parent := l.world
	sub := parent.newExecution(machine.FlowRef{Name: waiting.Child.Flow, Hash: "sim"}, waiting.Child.Execution)
	sub.family, sub.defect, sub.limits = parent.family, parent.defect, parent.limits
	sub.hasJobs, sub.tries, sub.forks, sub.failing = parent.hasJobs, parent.tries, parent.forks, parent.failing
	sub.flow, sub.awaiting, sub.handle = parent.subflows[waiting.Child.Flow], l, waiting.Handle()
	parent.note("%s is the sub-flow of %s%s", sub.execution, parent.execution, l.suffix())
	parent.trace = append(parent.trace, sub.flow.text...)
	if parent.chance(8) {
		parent.after(parent.between(0, 10*time.Second), func() { sub.stop(0) })
	}
	if text, ok := keys.SignAgain(sub.handle); ok && parent.chance(8) {
		parent.close(parent.between(0, 10*time.Second), text, parent.brought(), 0)
	}
}

// left is when the step that waits for the sub-flow stopped to do so, [never] for other executions.
func (w *world) left() time.Duration {
	if at, ok := w.store.closed(w.handle); ok {
		return at
	}
	return never
}

// checkSub: the token of the step is closed as its sub-flow ended.
func (w *world) checkSub() {
	state := w.own().last()
	if w.awaiting == nil || !isFinal(state) {
		return
	}
	record := w.record(w.handle)
	if record.Open() {
		w.violate(Stuck, "the sub-flow %s ended, and the token of its step is open", w.execution)
		return
	}
	if outcome := *record.Outcome; record.ClosedBy == token.ClosedByChild && !ends(state, outcome) {
		w.violate(Join, "the sub-flow %s is %s %s, and its step ended with %s", w.execution, state.Status, state.Error, shown(outcome))
	}
}

// ends reports whether the outcome is that of the sub-flow. A large output is not at hand.
func ends(state machine.State, outcome token.Outcome) bool {
	if outcome.Failed() || state.Status != machine.StatusSucceeded {
		return outcome.Error == state.Error && outcome.Cause == state.Cause
	}
	return !state.Output.IsComplete() || value.Equal(outcome.Output, state.Output)
}

// startsSub reports whether the item is the first of a sub-flow that the log of the actor waits for.
func (a *actor) startsSub(l *log, item engine.Item) bool {
	return item.Seq == 0 && l.lane == nil && l.awaiting != nil && l.awaiting.world == a.world
}
