package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
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

// awaitedSeeds are the fixed ones from before steps started sub-flows without waiting for their
// end.
const awaitedSeeds = 15_500

// drawsAllPatterns reports whether steps of a seed's run may start sub-flows without waiting for
// their end. Those that were found before have no forks and stay what they were.
func drawsAllPatterns(seed uint64) bool { return seed > awaitedSeeds && drawsForks(seed) }

// drawSub adds a task that starts a sub-flow.
func (w *world) drawSub(f *flowDraft) {
	name := fmt.Sprintf("sub%d", len(w.subflows)+1)
	w.subflows[name] = flowDraft{} // takes the name
	w.subflows[name] = w.drawFlow(f.depth + 1)
	lines := append([]string{"resourceArn: acs:fnf:::flow/" + name}, w.drawSubPattern()...)
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("timeoutSeconds: %d", 1+w.rand.IntN(60)))
	}
	if w.tries {
		lines = append(lines, w.drawPolicies()...)
	}
	f.step("task", lines...)
}

// drawSubPattern is how a task starts its sub-flow. Sub-flows with a name of their own meet.
func (w *world) drawSubPattern() (lines []string) {
	if !w.allPatterns {
		return []string{"pattern: sync"}
	}
	switch w.rand.IntN(5) {
	case 0, 1:
		lines = []string{"pattern: sync"}
	case 2:
		mappings := "{target: token, source: $context.task.token}"
		for size := range mostCollected + 1 {
			mappings += fmt.Sprintf(", {target: i%d, source: $input.i%d}", size, size)
		}
		lines = []string{"pattern: waitForCallback", "inputMappings: [" + mappings + "]"}
	}
	if w.chance(8) {
		lines = append(lines, "serviceParams: {Input: $, ExecutionName: named}")
	}
	return lines
}

// addSub adds the sub-flow that a state waits for. At times a person stops it, or closes the token
// of the step that waits for it.
func (l *log) addSub(waiting *machine.Waiting) {
	if waiting == nil || waiting.Child() == nil {
		return
	}
	sub := l.newSub(*waiting.Child())
	if sub == nil {
		return
	}
	sub.awaiting, sub.handle = l, waiting.Handle()
	if text, ok := keys.SignAgain(sub.handle); ok && l.chance(8) {
		l.close(l.between(0, 10*time.Second), text, l.brought(), 0)
	}
}

// tells has the process end at times when a step has just told its sub-flow that it is left: the
// commit of that is on its way, or the sub-flow has not heard of it.
func (a *actor) tells(wake engine.Wake) {
	if w := a.world; wake.Cause == machine.CauseParent && w.allPatterns && w.alone && !a.recovers && w.chance(2) {
		w.after(w.between(0, 100*time.Millisecond), w.restart)
	}
}

// addStarted adds the sub-flow of a step that does not wait for its end. People may close the token
// that a step passes to its sub-flow.
func (l *log) addStarted(call machine.Call) {
	if call.Start.Refused.Failed() {
		return
	}
	l.newSub(call.Start.Child)
	if made := l.calls.by[call.Key()]; made.times == 1 && l.flow.taskOf(call.Attempt.Step).Pattern == flow.PatternWaitForCallback {
		l.bringClosers(call, func() time.Duration { return l.closesAfter(l.flow.taskOf(call.Attempt.Step)) })
	}
}

// newSub adds a sub-flow that a step of the log names, nil if it was known before. At times a
// person stops it.
func (l *log) newSub(child machine.ExecutionRef) *world {
	parent := l.world
	if known := l.worldOf(child.ID()); known != nil {
		known.starters = append(known.starters, parent)
		return nil
	}
	sub := parent.newExecution(machine.FlowRef{Name: child.Flow, Hash: "sim"}, child.Execution)
	sub.family, sub.defect, sub.limits, sub.starters = parent.family, parent.defect, parent.limits, []*world{parent}
	sub.hasJobs, sub.tries, sub.forks, sub.failing = parent.hasJobs, parent.tries, parent.forks, parent.failing
	sub.flow = parent.subflows[child.Flow]
	parent.note("%s is the sub-flow of %s%s", sub.execution, parent.execution, l.suffix())
	parent.trace = append(parent.trace, sub.flow.text...)
	if parent.allPatterns && parent.defect.drawn() && parent.chance(2) {
		sub.defect = defect{} // only the parent meets it
	}
	if parent.chance(8) {
		parent.after(parent.between(0, 10*time.Second), func() { sub.stop(0) })
	}
	return sub
}

// addParent notes which step started the sub-flow: of several that name it, the one that was first.
func (l *log) addParent(state machine.State) {
	if l.starters == nil || l.lane != nil || len(l.items) > 1 {
		return
	}
	l.awaiting, l.handle = nil, state.Parent.Handle
	if state.Awaited() {
		l.awaiting = l.logOf(state.Parent.Log)
	}
}

// isStartedBy reports whether a step of that execution starts this one.
func (w *world) isStartedBy(other *world) bool { return slices.Contains(w.starters, other) }

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
	if w.starters != nil && w.awaiting == nil && state.Error == machine.ErrorStopped {
		w.violate(Child, "%s is stopped with the step that started it, which does not wait for it", w.execution)
	}
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

// startsSub reports whether the item is the first of a sub-flow that a step of the actor's
// execution starts.
func (a *actor) startsSub(l *log, item engine.Item) bool {
	return item.Seq == 0 && l.lane == nil && l.isStartedBy(a.world)
}

// checkStarted: the sub-flow of a step is there, and the step did not take its own for another one.
func (l *log) checkStarted(a *attempt, end machine.Event) {
	made := l.calls.by[a.key()]
	if made == nil {
		if end.Type == machine.TaskSucceeded && a.handle == "" {
			l.violate(Child, "attempt %d succeeded and started nothing", a.number)
		}
		return
	}
	child := l.worldOf(made.call.Start.Child.ID())
	isThere := child != nil && len(child.own().items) > 0
	switch {
	case end.Type == machine.TaskSucceeded && a.handle == "" && (!isThere || end.Output.Get("Name").Text() != child.execution):
		l.violate(Child, "attempt %d ended with %s, and did not start that", a.number, end.Output.JSON())
	case end.Error == engine.ErrorExecutionAlreadyExists && end.ClosedBy != token.ClosedByChild && isThere && child.own().items[0].state.Parent.Key == a.key():
		l.violate(Child, "attempt %d takes its sub-flow for another execution", a.number)
	case end.ClosedBy == token.ClosedByChild && a.task.Pattern != flow.PatternSync:
		l.violate(Child, "attempt %d ended with its sub-flow, and waits for a callback", a.number)
	}
}
