package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// visit is a task from where it is entered to where it is left, with all of its
// attempts.
type visit struct {
	step     int
	task     *flow.Task
	attempts []*attempt
	// failed: it was left by an event StepFailed, and next came after that.
	failed bool
	next   machine.Event
}

// checkVisit: each attempt that failed was tried again as the policies say,
// after their pauses, and what they left was caught by the first entry that asks
// for it.
func (l *log) checkVisit(v *visit) {
	used := make([]int, len(v.task.Retry))
	for i, a := range v.attempts {
		last := i == len(v.attempts)-1
		if len(a.ends) == 0 || a.ends[0].Type == machine.TaskSucceeded {
			if !last {
				l.violate(Tries, "attempt %d follows attempt %d, which did not fail", v.attempts[i+1].number, a.number)
			}
			return
		}
		end := a.ends[0]
		policy := slices.IndexFunc(v.task.Retry, func(r flow.Retry) bool { return asksFor(v.task, r.Errors, end) })
		again := policy >= 0 && used[policy] < v.task.Retry[policy].MaxAttempts
		switch {
		case again && last && v.failed:
			l.violate(Tries, "attempt %d failed with %s and was not tried again, though policy %d says so", a.number, end.Error, policy)
		case !again && !last:
			l.violate(Tries, "attempt %d failed with %s and was tried again, though no policy says so", a.number, end.Error)
		case again && !last:
			used[policy]++
			if due := end.At.Add(v.task.Retry[policy].After(used[policy])); v.attempts[i+1].began.Before(due) {
				l.violate(Early, "attempt %d began %s too early", v.attempts[i+1].number, due.Sub(v.attempts[i+1].began))
			}
		case last && v.failed:
			l.checkCaught(v, end)
		}
	}
}

func (l *log) checkCaught(v *visit, end machine.Event) {
	entry := slices.IndexFunc(v.task.Catch, func(c flow.Catch) bool { return asksFor(v.task, c.Errors, end) })
	tolerated := v.next.Type == machine.IterationExited && v.next.Error != ""
	ends := v.next.Type == machine.ExecutionFailed || v.next.Type == machine.StepFailed || l.lane != nil && v.next.Type == 0 || tolerated
	if (entry < 0) != ends {
		l.violate(Tries, "%s was followed by event %d, %s, though entry %d asks for it", end.Error, v.next.ID, v.next.Type, entry)
		return
	}
	if entry < 0 {
		return
	}
	first := v.task.Catch[entry].Goto
	if steps := v.task.Catch[entry].Steps; len(steps) > 0 {
		first = steps[0]
	}
	if v.next.Type != machine.StepEntered || v.next.Step != first.Index {
		l.violate(Tries, "%s was caught by entry %d, and event %d, %s, is not where that leads", end.Error, entry, v.next.ID, v.next.Type)
	}
}

// asksFor reports whether errors name the failure of a task. What ended a sub-flow was not thrown
// by the function of the task.
func asksFor(task *flow.Task, errors []string, end machine.Event) bool {
	names := []string{"FnF.ALL", "States.ALL", end.Error}
	if end.Error == thrown && !task.Resource.Subflow {
		names = append(names, "FC."+thrown, "FC.FunctionError")
	}
	return slices.ContainsFunc(errors, func(name string) bool { return slices.Contains(names, name) })
}

// polls are those of an attempt: the calls of each, nil for one that was not
// made, by its number.
func (l *log) polls(a *attempt) map[int]*called {
	polls := map[int]*called{}
	for _, item := range l.items {
		if item.state.Waiting != nil {
			l.addPoll(polls, a, item.state.Waiting)
		}
	}
	for _, made := range l.calls.all {
		if at := made.call.Attempt; made.call.Log == l.id && at.Step == a.step && a.made(made.call) {
			polls[at.Poll] = made
		}
	}
	return polls
}

// made reports whether a poll is of the attempt. What was lost, and was repeated with the same key,
// may have had another number in an item.
func (a *attempt) made(poll machine.Call) bool {
	if a.place != "" {
		return strings.HasPrefix(poll.Place, a.place+".")
	}
	return poll.Attempt.Number == a.number
}

// addPoll takes up a poll whose token was opened, called or not.
func (l *log) addPoll(polls map[int]*called, a *attempt, waiting *machine.Waiting) {
	if at := waiting.Attempt; at.Step == a.step && at.Number == a.number && waiting.Token() != nil {
		polls[at.Poll] = nil
		a.handles = append(a.handles, waiting.Handle())
	}
}

// checkPolls: the outcome of the attempt is that of its last poll or of its
// limits, each poll before was answered and did not meet the condition, and
// between two of them there was a pause.
func (l *log) checkPolls(a *attempt) {
	polls := l.polls(a)
	numbers := slices.Sorted(maps.Keys(polls))
	if most := a.task.Poll.MaxAttempts; most > 0 && len(numbers) > most {
		l.violate(Tries, "attempt %d polled %d times, at most %d are right", a.number, len(numbers), most)
	}
	for i, number := range numbers {
		made := polls[number]
		if i < len(numbers)-1 {
			l.checkPoll(a, number, made)
		}
		if i == 0 || made == nil || polls[numbers[i-1]] == nil {
			continue
		}
		if due := polls[numbers[i-1]].first + a.task.Poll.After(i); made.first < due {
			l.violate(Early, "poll %d of attempt %d came %s too early", number, a.number, due-made.first)
		}
	}
	for _, end := range a.ends {
		var last *called
		if len(numbers) > 0 {
			last = polls[numbers[len(numbers)-1]]
		}
		l.checkPollEnd(a, end, last, len(numbers))
	}
}

func (l *log) checkPoll(a *attempt, number int, made *called) {
	if number == 0 || made == nil || !slices.ContainsFunc(made.results, func(o token.Outcome) bool { return !o.Failed() && !meets(o) }) {
		l.violate(History, "poll %d of attempt %d was followed by another, and it did not say so", number, a.number)
	}
}

func (l *log) checkPollEnd(a *attempt, end machine.Event, last *called, count int) {
	switch {
	case end.Error == machine.ErrorStopped, end.Error == machine.ErrorInternal:
	case end.Error == machine.ErrorTaskTimeout:
		if end.At.Before(a.began.Add(a.task.Timeout)) {
			l.violate(Early, "attempt %d timed out %s too early", a.number, a.began.Add(a.task.Timeout).Sub(end.At))
		}
	case end.Error == "FnF.ConditionNotMet":
		if count != a.task.Poll.MaxAttempts {
			l.violate(History, "attempt %d gave up after %d polls, and %d are allowed", a.number, count, a.task.Poll.MaxAttempts)
		}
	case last == nil || !slices.ContainsFunc(last.results, func(o token.Outcome) bool { return l.says(end, o) && (o.Failed() || meets(o)) }):
		l.violate(History, "attempt %d ended with %s %s %s, which its last poll did not answer", a.number, end.Output.JSON(), end.Error, end.Cause)
	}
}

// checkClosed: when an execution has ended, no token of it can be closed any
// more.
func (w *world) checkClosed(attempts []*attempt) {
	for _, a := range attempts {
		for _, handle := range a.handles {
			if w.record(handle).Open() {
				w.violate(HollowAnswer, "the execution ended, and a token of attempt %d is open", a.number)
			}
		}
	}
}

// checkOvertime: after its time limit an execution ends and does nothing else.
func (l *log) checkOvertime() {
	history := l.history()
	if len(history) == 0 {
		return
	}
	_, decided := l.since(func(s machine.State) bool { return s.Ending != nil && s.Ending.Status == machine.StatusFailed })
	deadline := history[0].At.Add(cmp.Or(l.flow.parsed.Timeout, l.flow.parsed.Life, l.limits.Duration, machine.DefaultDuration))
	for _, e := range history {
		over := !e.At.Before(deadline)
		switch e.Type {
		case machine.ExecutionTimedOut:
			if !over {
				l.violate(Early, "the execution timed out %s too early", deadline.Sub(e.At))
			}
		case machine.StepFailed:
			if over && !decided { // a lane had failed before
				l.violate(Overtime, "event %d, %s, is %s after the end of the execution's time", e.ID, e.Type, e.At.Sub(deadline))
			}
		case machine.StepEntered, machine.StepExited, machine.StepStarted, machine.StepSucceeded,
			machine.BranchEntered, machine.BranchExited, machine.IterationEntered, machine.IterationExited,
			machine.TaskScheduled, machine.TaskStarted, machine.ExecutionSucceeded:
			if over {
				l.violate(Overtime, "event %d, %s, is %s after the end of the execution's time", e.ID, e.Type, e.At.Sub(deadline))
			}
		case machine.ExecutionStarted, machine.ExecutionFailed, machine.ExecutionStopped, // a defect, a stop that was first
			machine.TaskSubmitted, machine.TaskSucceeded, machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut: // what a token holds
		}
	}
}
