package advise

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// loop is a series of steps that a goto of a choice repeats.
type loop struct {
	steps    []*flow.Step   // from the step that the goto leads to, to the choice
	choice   *flow.Step     // the step that goes back
	back     []*flow.Branch // its ways back
	task     *flow.Step     // the step that is polled
	index    int            // the task's place in a turn
	before   int            // history events when the loop begins
	depth    int            // open series in the loop
	after    *flow.Step     // the step behind the loop, nil at the end of the series
	earlier  []*flow.Step   // the steps of the series before the loop
	siblings []*flow.Step   // all steps of the series
	fork     *flow.Step     // the innermost parallel or foreach around the loop, nil for none
}

// History events of a step that succeeds.
const (
	eventsOfPass   = 2
	eventsOfWait   = 4
	eventsOfCall   = 5
	eventsOfWaiter = 6 // a task that is submitted and ends later
)

func eventsOf(steps ...*flow.Step) (events int) {
	for _, step := range steps {
		switch kind := step.Kind.(type) {
		case *flow.Task:
			events += eventsOfCall
			if kind.Pattern == flow.PatternSync && !kind.Resource.IsFunction() || kind.Pattern == flow.PatternWaitForCallback {
				events += eventsOfWaiter - eventsOfCall
			}
		case *flow.Wait:
			events += eventsOfWait
		case *flow.Pass, *flow.Choice, *flow.Parallel, *flow.Foreach, *flow.Succeed, *flow.Fail:
			events += eventsOfPass
		}
	}
	return events
}

// is reports whether a step has the kind K.
func is[K flow.Kind](step *flow.Step) bool {
	if step == nil {
		return false
	}
	_, ok := step.Kind.(K)
	return ok
}

// ways returns the branches of a choice, its default last, or the branches for the entries of the
// catch of a task or a fork.
func ways(step *flow.Step) (all []*flow.Branch) {
	switch kind := step.Kind.(type) {
	case *flow.Choice:
		for i := range kind.Branches {
			all = append(all, &kind.Branches[i])
		}
		if kind.Default != nil {
			all = append(all, kind.Default)
		}
	case *flow.Task, *flow.Parallel, *flow.Foreach:
		for _, entry := range step.Handlers().Catch {
			all = append(all, &flow.Branch{Steps: entry.Steps, Goto: entry.Goto})
		}
	case *flow.Pass, *flow.Wait, *flow.Succeed, *flow.Fail:
	}
	return all
}

// gotos are the steps of the same series that a step jumps to.
func gotos(step *flow.Step) (targets []*flow.Step) {
	for _, way := range ways(step) {
		if way.Goto != nil {
			targets = append(targets, way.Goto)
		}
	}
	return targets
}

// loops returns the loops of a series, and of the series in its steps, that poll: they have a wait
// and a call of a function.
func loops(steps []*flow.Step, before, depth int) []loop {
	var found []loop
	for i, step := range steps {
		for _, way := range ways(step) {
			found = append(found, loops(way.Steps, before+eventsOf(steps[:i]...)+1, depth+1)...)
		}
		for _, lane := range lanes(step) {
			for _, l := range loops(lane, started, 1) {
				l.fork = cmp.Or(l.fork, step)
				found = append(found, l)
			}
		}
		// The nearest of the ways back of a choice that polls, and further ones without another
		// call on the way: an earlier call is to be made again, so it is not part of the loop.
		var l loop
		for first := i; is[*flow.Choice](step) && first >= 0 && (l.task == nil || !is[*flow.Task](steps[first])); first-- {
			if !slices.Contains(gotos(step), steps[first]) {
				continue
			}
			if wider := loopFrom(steps, first, i); wider.findTask() && len(wider.waits()) > 0 {
				l = wider
			}
		}
		if l.task != nil {
			l.depth, l.before = depth, before+eventsOf(l.earlier...)
			found = append(found, l)
		}
	}
	// the longest of the loops around one task, or from one step, is one loop with several ways
	// back
	return slices.DeleteFunc(slices.Clone(found), func(a loop) bool {
		return slices.ContainsFunc(found, func(b loop) bool {
			return (a.task == b.task || a.steps[0] == b.steps[0]) && len(b.steps) > len(a.steps)
		})
	})
}

// started is how many events a log has when its first step begins.
const started = 1

// lanes are the series of a parallel or a foreach, which have logs of their own.
func lanes(step *flow.Step) [][]*flow.Step {
	switch kind := step.Kind.(type) {
	case *flow.Parallel:
		return kind.Branches
	case *flow.Foreach:
		return [][]*flow.Step{kind.Steps}
	case *flow.Task, *flow.Pass, *flow.Wait, *flow.Choice, *flow.Succeed, *flow.Fail:
	}
	return nil
}

// loopFrom returns the loop from the step at first to the choice at last.
func loopFrom(steps []*flow.Step, first, last int) loop {
	// The steps of a turn lead to the choice without a jump to the first one.
	leads := map[*flow.Step]bool{steps[last]: true}
	for i := last - 1; i >= first; i-- {
		leads[steps[i]] = slices.ContainsFunc(successors(steps[i]), func(next *flow.Step) bool { return leads[next] && next != steps[first] })
	}
	l := loop{choice: steps[last], earlier: steps[:first], siblings: steps}
	l.steps = slices.DeleteFunc(slices.Clone(steps[first:last+1]), func(s *flow.Step) bool { return !leads[s] })
	if !l.choice.End {
		l.after = l.choice.Next
	}
	for _, way := range ways(l.choice) {
		if slices.Contains(steps[first:last+1], way.Goto) {
			l.back = append(l.back, way)
		}
	}
	return l
}

// successors are the steps of the same series that may come after a step.
func successors(step *flow.Step) []*flow.Step {
	after := gotos(step)
	choice, isChoice := step.Kind.(*flow.Choice)
	jumps := isChoice && choice.Default != nil && len(after) == len(ways(step))
	if step.End || step.Next == nil || jumps || is[*flow.Succeed](step) || is[*flow.Fail](step) {
		return after
	}
	return append(after, step.Next)
}

// turn returns the steps of one turn, including the steps of the branch that goes back.
func (l *loop) turn() []*flow.Step { return slices.Concat(l.steps, l.back[0].Steps) }

// findTask finds the task that returns the result for the choice: the last function that is called
// before it.
func (l *loop) findTask() bool {
	turn := l.turn()
	for n := range turn {
		i := (len(l.steps) - 1 - n + len(turn)) % len(turn)
		task, ok := turn[i].Kind.(*flow.Task)
		switch {
		case !ok:
		case task.Pattern == flow.PatternWaitForCondition:
			return false // the step polls already
		case !task.Resource.OfService() && task.Pattern == flow.PatternRequestResponse:
			l.task, l.index = turn[i], i
			return true
		}
	}
	return false
}

func (l *loop) waits() []*flow.Step {
	return slices.DeleteFunc(l.turn(), func(s *flow.Step) bool { return !is[*flow.Wait](s) })
}

// firstWait is the wait before the first call, nil if the loop begins with a call.
func (l *loop) firstWait() *flow.Step {
	before := l.turn()[:l.index]
	if i := slices.IndexFunc(before, is[*flow.Wait]); i >= 0 {
		return before[i]
	}
	return nil
}

// interval is the time from one call to the next, 0 if the input decides.
func (l *loop) interval() (d time.Duration, ok bool) {
	for _, step := range l.waits() {
		wait, _ := step.Kind.(*flow.Wait)
		if wait.Mode != flow.WaitDuration {
			return 0, false
		}
		d += wait.Duration
	}
	return d, true
}

// withoutPause returns a finding about the loop that a choice closes if it repeats at once and
// nothing in it can end it: it has no wait and waits for nothing, and no step in it sets a value
// that a condition in it reads.
func withoutPause(step *flow.Step) (f Finding, ok bool) {
	series := step.Series.Steps
	last := slices.Index(series, step)
	for first := last; first >= 0 && is[*flow.Choice](step); first-- {
		if !slices.Contains(gotos(step), series[first]) {
			continue
		}
		l := loopFrom(series, first, last)
		if slices.ContainsFunc(l.everyStep(), l.pausesOrEnds) {
			continue
		}
		first, back, events := l.steps[0].Name, l.choice.Name, eventsOf(l.steps...)
		return Finding{
			Position: l.steps[0].Position, Rule: LoopWithoutPause, Steps: names(l.steps),
			Found: fmt.Sprintf("%s goes back to %s without a pause, and no step on the way changes what its conditions read: once it goes back, it does so until "+
				"the execution fails with %s, after about %d turns", back, first, machine.ErrorEventLimit, mostEvents(step)/events),
			Instead: fmt.Sprintf(`Add a wait, or a task with pattern: waitForCondition, to the way from %s back to %s; or make a step on it set what the conditions `+
				`of %s read.`, back, first, back),
			Saves: fmt.Sprintf("%s for each turn, and the execution", flow.Count(events, "event")),
		}, true
	}
	return f, false
}

// everyStep returns the steps of the loop with those inside of them and on its ways back.
func (l *loop) everyStep() (all []*flow.Step) {
	var add func(steps []*flow.Step)
	add = func(steps []*flow.Step) {
		for _, step := range steps {
			all = append(all, step)
			for _, lane := range lanes(step) {
				add(lane)
			}
			for _, way := range ways(step) {
				if step != l.choice || slices.Contains(l.back, way) {
					add(way.Steps)
				}
			}
		}
	}
	add(l.steps)
	return all
}

// pausesOrEnds reports whether a step of the loop takes time, or whether its condition may change
// from one turn to the next.
func (l *loop) pausesOrEnds(step *flow.Step) bool {
	switch kind := step.Kind.(type) {
	case *flow.Wait, *flow.Succeed, *flow.Fail:
		return true
	case *flow.Task:
		return kind.Pattern != flow.PatternRequestResponse || len(kind.Catch) > 0
	case *flow.Choice:
		return slices.ContainsFunc(kind.Branches, func(b flow.Branch) bool {
			_, isFixed := conditionOf(&b).MapPaths(func(path expr.Path) (expr.Path, bool) {
				local, isLocal := localOf(step, path)
				key, _, isKey := local.Cut()
				return path, !isLocal || !slices.ContainsFunc(l.everyStep(), func(s *flow.Step) bool {
					isOpen := fdl.DataOf(s).Output == nil && (is[*flow.Task](s) || s.IsFork())
					return isOpen || !isKey && fdl.DataOf(s).Output != nil || sets(s, key)
				})
			})
			return !isFixed
		})
	case *flow.Parallel, *flow.Foreach:
		return len(step.Handlers().Catch) > 0
	case *flow.Pass:
	}
	return false
}
