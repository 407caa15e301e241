package advise

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
)

// loop is a turn of steps of one series: a goto of a choice leads back to the
// first of them.
type loop struct {
	steps []*fdl.Step // from the one that the goto leads to, to the choice
	// choice is the step that goes back, and back are its ways to do so, which are
	// taken instead of going on.
	choice *fdl.Step
	back   []*fdl.Branch
	// task is the one that is asked, index its place in a turn.
	task  *fdl.Step
	index int
	// before is how many history events there are when the loop begins, and depth
	// how many series are open in it.
	before, depth int
	after         *fdl.Step   // the step behind the loop, nil at the end of the series
	earlier       []*fdl.Step // the steps of the series that come first
	siblings      []*fdl.Step // all steps of the series
}

// The history events of a step that ends as it should.
const (
	eventsOfPass   = 2
	eventsOfWait   = 4
	eventsOfCall   = 5
	eventsOfWaiter = 6 // a task that is submitted, and ends later
)

// Limits of an execution that package machine has, and a test compares.
const (
	historyLimit   = 5000
	historyReserve = 6 // what one step may add
)

func eventsOf(step *fdl.Step) int {
	switch kind := step.Kind.(type) {
	case *fdl.Task:
		if kind.Pattern == fdl.PatternSync || kind.Pattern == fdl.PatternWaitForCallback {
			return eventsOfWaiter
		}
		return eventsOfCall
	case *fdl.Wait:
		return eventsOfWait
	case *fdl.Pass, *fdl.Choice, *fdl.Succeed, *fdl.Fail:
	}
	return eventsOfPass
}

func eventsOfAll(steps []*fdl.Step) int {
	events := 0
	for _, step := range steps {
		events += eventsOf(step)
	}
	return events
}

// loops are those of a series and of what is nested in it that poll: they have a
// wait and a call of a function.
func loops(steps []*fdl.Step, before, depth int) []loop {
	var found []loop
	for i, step := range steps {
		events := before + eventsOfAll(steps[:i])
		for _, nested := range nestedSeries(step) {
			found = append(found, loops(nested, events+1, depth+1)...)
		}
		if l, ok := loopOf(steps, i); ok {
			l.depth, l.before = depth, before+eventsOfAll(l.earlier)
			found = append(found, l)
		}
	}
	return outermost(found)
}

// outermost leaves of several loops around the same task, or that begin with the
// same step, the longest one: they are one loop with more than one way back.
func outermost(found []loop) []loop {
	return slices.DeleteFunc(slices.Clone(found), func(a loop) bool {
		return slices.ContainsFunc(found, func(b loop) bool {
			return (a.task == b.task || a.steps[0] == b.steps[0]) && len(b.steps) > len(a.steps)
		})
	})
}

func nestedSeries(step *fdl.Step) [][]*fdl.Step {
	var nested [][]*fdl.Step
	switch kind := step.Kind.(type) {
	case *fdl.Choice:
		for _, b := range branches(kind) {
			nested = append(nested, b.Steps)
		}
	case *fdl.Task:
		for _, entry := range kind.Catch {
			nested = append(nested, entry.Steps)
		}
	case *fdl.Pass, *fdl.Wait, *fdl.Succeed, *fdl.Fail:
	}
	return nested
}

// branches are all ways through a choice that it names.
func branches(choice *fdl.Choice) []*fdl.Branch {
	var all []*fdl.Branch
	for i := range choice.Branches {
		all = append(all, &choice.Branches[i])
	}
	if choice.Default != nil {
		all = append(all, choice.Default)
	}
	return all
}

// loopOf is the loop that the step at i closes: of its ways back the nearest one
// that polls, and further ones that make no other call on the way. A way back
// to an earlier call is not part of it, for that call is to be made again.
func loopOf(steps []*fdl.Step, i int) (l loop, ok bool) {
	choice, isChoice := steps[i].Kind.(*fdl.Choice)
	if !isChoice {
		return loop{}, false
	}
	for first := i; first >= 0; first-- {
		if _, calls := steps[first].Kind.(*fdl.Task); ok && calls {
			break
		}
		if !slices.ContainsFunc(branches(choice), func(b *fdl.Branch) bool { return b.Goto == steps[first] }) {
			continue
		}
		if wider := loopFrom(steps, first, i); wider.findTask() && len(wider.waits()) > 0 {
			l, ok = wider, true
		}
	}
	return l, ok
}

// loopFrom is the turn from the step at first to the choice at last.
func loopFrom(steps []*fdl.Step, first, last int) loop {
	l := loop{choice: steps[last], earlier: steps[:first], siblings: steps}
	if !steps[last].End {
		l.after = steps[last].Next
	}
	for _, b := range branches(steps[last].Kind.(*fdl.Choice)) { // the step is one
		if slices.Contains(steps[first:last+1], b.Goto) {
			l.back = append(l.back, b)
		}
	}
	l.steps = inTurn(steps, first, last)
	return l
}

// inTurn are the steps from first to last that lead to last without beginning
// anew: others are jumped over.
func inTurn(steps []*fdl.Step, first, last int) []*fdl.Step {
	leads := map[*fdl.Step]bool{steps[last]: true}
	for i := last - 1; i >= first; i-- {
		for _, next := range successors(steps[i]) {
			if leads[next] && next != steps[first] {
				leads[steps[i]] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(steps[first:last+1]), func(s *fdl.Step) bool { return !leads[s] })
}

// successors are the steps of the same series that may come after a step.
func successors(step *fdl.Step) []*fdl.Step {
	after := gotos(step)
	goesOn := !step.End && step.Next != nil
	switch kind := step.Kind.(type) {
	case *fdl.Choice:
		jumpsAlways := !slices.ContainsFunc(branches(kind), func(b *fdl.Branch) bool { return b.Goto == nil })
		goesOn = goesOn && (kind.Default == nil || !jumpsAlways)
	case *fdl.Succeed, *fdl.Fail:
		goesOn = false
	case *fdl.Task, *fdl.Pass, *fdl.Wait:
	}
	if goesOn {
		after = append(after, step.Next)
	}
	return after
}

// gotos are the steps of the same series that a step jumps to.
func gotos(step *fdl.Step) []*fdl.Step {
	var targets []*fdl.Step
	switch kind := step.Kind.(type) {
	case *fdl.Choice:
		for _, b := range branches(kind) {
			targets = append(targets, b.Goto)
		}
	case *fdl.Task:
		for _, entry := range kind.Catch {
			targets = append(targets, entry.Goto)
		}
	case *fdl.Pass, *fdl.Wait, *fdl.Succeed, *fdl.Fail:
	}
	return slices.DeleteFunc(targets, func(s *fdl.Step) bool { return s == nil })
}

// turn are the steps of one turn in their order, those of the branch that goes
// back included.
func (l *loop) turn() []*fdl.Step { return slices.Concat(l.steps, l.back[0].Steps) }

// findTask finds the task whose answer the choice looks at: the last function that
// is called before it. False: there is none.
func (l *loop) findTask() bool {
	turn := l.turn()
	for n := range turn {
		i := (len(l.steps) - 1 - n + len(turn)) % len(turn)
		task, ok := turn[i].Kind.(*fdl.Task)
		switch {
		case !ok:
		case task.Pattern == fdl.PatternWaitForCondition:
			return false // what the choice looks at is polled already
		case task.Resource.Kind == "" && task.Pattern == fdl.PatternRequestResponse:
			l.task, l.index = turn[i], i
			return true
		}
	}
	return false
}

func (l *loop) waits() []*fdl.Step {
	return slices.DeleteFunc(l.turn(), func(s *fdl.Step) bool { _, ok := s.Kind.(*fdl.Wait); return !ok })
}

// firstWait is the wait that comes before the first call, nil when the first call
// is made at once.
func (l *loop) firstWait() *fdl.Step {
	for _, step := range l.turn()[:l.index] {
		if _, ok := step.Kind.(*fdl.Wait); ok {
			return step
		}
	}
	return nil
}

// interval is from one call to the next. Not ok: the input decides.
func (l *loop) interval() (d time.Duration, ok bool) {
	for _, step := range l.waits() {
		wait := step.Kind.(*fdl.Wait) // waits are waits
		if wait.Mode != fdl.WaitDuration {
			return 0, false
		}
		d += wait.Duration
	}
	return d, true
}

// figures are what the loop costs.
func (l *loop) figures() *Loop {
	turn := l.turn()
	f := &Loop{Events: eventsOfAll(turn)}
	f.Interval, _ = l.interval()
	toTask := eventsOfAll(turn[:l.index])
	f.Polls = max(0, historyLimit-historyReserve-l.depth-l.before-toTask)/f.Events + 1
	calls := 0
	for _, step := range turn {
		switch kind := step.Kind.(type) {
		case *fdl.Task:
			calls++
			if kind.Pattern != fdl.PatternRequestResponse {
				f.Writes, f.Messages = f.Writes+writesOfWaiter, f.Messages+1
			}
		case *fdl.Wait:
			f.Writes, f.Messages = f.Writes+1, f.Messages+1
		case *fdl.Pass, *fdl.Choice, *fdl.Succeed, *fdl.Fail:
		}
	}
	f.Writes += calls - 1 // the first call's result is written with the wait that comes next
	return f
}

// writesOfWaiter is what a callback or a job takes beyond a short call: submitted,
// closed, gone on.
const writesOfWaiter = 3
