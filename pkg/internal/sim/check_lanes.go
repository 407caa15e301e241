package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// checkOwn: an actor works for one execution, and looks at those of its sub-flows. It is the log of
// that id.
func (a *actor) checkOwn(id engine.ID) *log {
	l := a.world.logOf(id)
	if l.world != a.world && !l.isStartedBy(a.world) {
		a.world.violate(Astray, "%s works for %s and looks at the log of %s", a.name, a.world.id, id)
	}
	return l
}

// checkWrites: a worker writes only to the log that its wake is of, and starts its sub-flows.
func (a *actor) checkWrites(l *log, item engine.Item) {
	if l != a.log && !a.startsSub(l, item) {
		a.world.violate(Astray, "%s works for %s and writes to %s", a.name, a.log.id, l.id)
	}
}

// checkJoins: a worker joins only a lane that has ended, and as it ended.
func (a *actor) checkJoins(fork engine.ForkID, end engine.LaneEnd) *log {
	l := a.world.store.logs[machine.Lane{Parent: fork.Log, Attempt: fork.Attempt, Index: end.Lane}.ID()]
	switch {
	case l == nil || l != a.log && !a.recovers:
		a.world.violate(Astray, "%s joins lane %d of %d", a.name, end.Lane, fork.Attempt)
		return a.log
	case !isFinal(l.last()) || uint64(len(l.items)) != end.Seq+1 || end.Failed != (l.last().Status == machine.StatusFailed):
		a.world.violate(Join, "%s joins %s as ended at item %d, failed=%t", a.name, l.name, end.Seq, end.Failed)
	}
	return l
}

// checkClaims: a worker claims only for the lane of its wake, and no claim but the next one.
func (a *actor) checkClaims(fork engine.ForkID, claim engine.ClaimRequest) *log {
	l := a.world.store.logs[machine.Lane{Parent: fork.Log, Attempt: fork.Attempt, Index: claim.Lane}.ID()]
	if l == nil || l != a.log {
		a.world.violate(Astray, "%s claims items for lane %d of %d", a.name, claim.Lane, fork.Attempt)
		return a.log
	}
	has := 0
	if share := l.last().Share; share != nil {
		has = len(share.Ranges) - 1
	}
	if claim.Number > has+1 {
		a.world.violate(Claimed, "%s makes claim %d of %s, whose log has %d", a.name, claim.Number, l.name, has)
	}
	return l
}

// checkReports: a worker reports the failed items of the lane of its wake that the log has, and not
// fewer than another one has reported.
func (a *actor) checkReports(fork engine.ForkID, report engine.FailureReport) *log {
	l := a.world.store.logs[machine.Lane{Parent: fork.Log, Attempt: fork.Attempt, Index: report.Lane}.ID()]
	if l == nil || l != a.log {
		a.world.violate(Astray, "%s reports failed items of lane %d of %d", a.name, report.Lane, fork.Attempt)
		return a.log
	}
	if tolerance := l.last().Tolerance; tolerance == nil || report.Failed > tolerance.Failed {
		a.world.violate(Join, "%s reports %d failed items of %s, whose log has fewer", a.name, report.Failed, l.name)
	}
	return l
}

// checkStops: a lane that has joined is not stopped, for it would join again and wake its parent.
func (a *actor) checkStops(l *log, wake engine.Wake) {
	if wake.Cause == machine.CauseStop && a.world.restores == 0 && l.joined < a.began && a.kind == kindWorker && !slices.Contains(a.causes, l.causeOf(wake)) {
		a.world.violate(TooManyMessages, "%s began %s after %s had joined and stops it", a.name, a.began-l.joined, l.name)
	}
}

// checkStarts: of the wakes of joins only the one that entered a fork starts its lanes. A new process
// sends that one again, and forged wakes may be alike.
func (a *actor) checkStarts(l *log, wake engine.Wake) {
	if wake.Cause != machine.CauseStart || l.lane == nil || a.wake == nil || !machine.IsJoin(a.wake.Cause) || a.world.alone || a.world.forged > 0 {
		return
	}
	i := slices.IndexFunc(l.parent.items, func(i item) bool { return forLanes(i.state) && i.state.Waiting.Attempt.Number == l.lane.Attempt })
	if i >= 0 && l.parent.items[i].by != a.wake {
		a.world.violate(TooManyMessages, "%s starts %s for a wake of another attempt's lanes", a.name, l.name)
	}
}

// checkCall: a call is made only for what goes on.
func (a *actor) checkCall(call machine.Call) {
	a.checkInTime()
	l := a.world.logOf(call.Log)
	if end := l.ended(); a.looked > end {
		a.world.violate(Late, "%s looked %s after the end and calls %s", a.name, a.looked-end, call.Step)
	}
	a.checkInEnding(l)
}

// checkOpens: who puts the first item of a lane whose parent was ending before opens nothing with
// it, nor who begins a sub-flow that nothing waits for.
func (a *actor) checkOpens(l *log, item engine.Item) {
	state, events, err := machine.Decode(machine.ItemOrigin(l.id, item.Seq), item.Body)
	if err != nil || l != a.log {
		return
	}
	enters := []machine.EventType{machine.StepEntered, machine.BranchEntered, machine.IterationEntered}
	if state.Waiting != nil || slices.ContainsFunc(events, func(e machine.Event) bool { return slices.Contains(enters, e.Type) }) {
		a.checkInEnding(l)
	}
}

// checkInEnding: a lane that has no log is not begun by a wake that came when its parent was
// ending, nor a sub-flow that was only accepted.
func (a *actor) checkInEnding(l *log) {
	begun := len(l.items) > 0 && l.last().Status != machine.StatusStarting
	if !begun && a.kind == kindWorker && a.began > l.toStop() {
		a.world.violate(OpenedInEnding, "%s began %s after %s was to be stopped and opens something", a.name, a.began-l.toStop(), l.name)
	}
}

// checkJoined: when a log goes on or ends that waited for lanes, all of them have ended and joined,
// and it goes on as they ended.
func (l *log) checkJoined(before, after machine.State, events []machine.Event) {
	if !forLanes(before) || forLanes(after) && after.Waiting.Attempt == before.Waiting.Attempt {
		return
	}
	record := l.store.joined(engine.ForkID{Log: l.id, Attempt: before.Waiting.Attempt.Number})
	for i, lane := range l.lanes(before) {
		seq, joined := record.Joined[i]
		switch {
		case !isFinal(lane.last()):
			l.violate(Orphan, "the execution goes on after its lanes, and %s has not ended", lane.name)
		case !joined:
			l.violate(Orphan, "the execution goes on after its lanes, and %s has not joined", lane.name)
		case seq+1 != uint64(len(lane.items)):
			l.violate(Join, "%s joined as ended at item %d", lane.name, seq)
		}
	}
	l.checkItems(before, events)
	if why := l.wrongVerdict(record, before, after, events); why != "" && !l.violated(Orphan) {
		l.violate(Join, "after its lanes the log is %s %s, and %s", after.Status, after.Error, why)
	}
}

// checkIdle: a lane of a foreach whose lanes claim ends with success when each item has a lane.
func (l *log) checkIdle(after machine.State) {
	if !l.claims || l.lane == nil || after.Status != machine.StatusSucceeded || after.Share != nil && after.Share.Retired {
		return
	}
	waiting := l.parent.last().Waiting
	fork := waiting.Fork()
	if fork == nil || l.flow.parsed.All[waiting.Attempt.Step].Series.Owner != nil || fork.Items == fork.Lanes || fork.Lanes == 1 {
		return
	}
	record := l.store.joined(engine.ForkID{Log: l.parent.id, Attempt: waiting.Attempt.Number})
	if record.Failed == engine.NoLane && record.Cursor < fork.Items {
		l.violate(Idle, "%s ends, and the items from %d on have no lane", l.name, record.Cursor)
	}
}

// checkItems: each item of the fork ran in one lane, and in one at most if the fork failed.
func (l *log) checkItems(before machine.State, events []machine.Event) {
	fork, had := before.Waiting, before.Results
	if had != nil && had.Step != fork.Attempt.Step {
		had = nil
	}
	runs := make([]int, fork.Fork().Items+had.DoneBefore(math.MaxInt))
	for _, lane := range l.lanes(before) {
		for _, e := range lane.history() {
			isItem := e.Type == machine.BranchEntered || e.Type == machine.IterationEntered
			if isItem && e.Step == fork.Attempt.Step {
				runs[e.Index]++
			}
		}
	}
	exited := slices.ContainsFunc(events, func(e machine.Event) bool { return e.Type == machine.StepExited && e.Step == fork.Attempt.Step })
	for item, n := range runs {
		done := had.DoneBefore(item+1) > had.DoneBefore(item)
		switch {
		case n > 0 && (done || l.lane == nil && l.doneBefore[item] && fork.Attempt.Number == 2): //nolint:mnd // the first step of a redrive
			l.violate(Redrive, "item %d had a result, and ran", item)
		case done:
		case n > 1:
			l.violate(ItemTwice, "item %d of attempt %d ran in %d lanes", item, fork.Attempt.Number, n)
		case n == 0 && exited:
			l.violate(ItemLost, "attempt %d went on, and item %d did not run", fork.Attempt.Number, item)
		}
	}
}

// wrongVerdict is why the log does not go on as its lanes ended, empty if it does.
func (l *log) wrongVerdict(record engine.JoinRecord, before, after machine.State, events []machine.Event) string {
	lanes := l.lanes(before)
	failed := slices.IndexFunc(lanes, func(lane *log) bool { return lane.last().Status == machine.StatusFailed })
	exited := slices.ContainsFunc(events, func(e machine.Event) bool {
		return e.Type == machine.StepExited && e.Step == before.Waiting.Attempt.Step
	})
	switch {
	case (failed < 0) != (record.Failed == engine.NoLane), failed >= 0 && lanes[record.Failed].last().Status != machine.StatusFailed:
		return fmt.Sprintf("the record says that lane %d failed", record.Failed)
	case (after.Error == machine.ErrorInternal || after.Error == l.named(token.Failure(machine.ErrorInternal, "")).Error) && l.mayGiveUp():
		return ""
	case before.Ending != nil && (after.Status != before.Ending.Status ||
		l.named(token.Failure(after.Error, "")).Error != l.named(token.Failure(before.Ending.Error, "")).Error):
		return fmt.Sprintf("it was to be %s %s", before.Ending.Status, before.Ending.Error)
	case before.Ending != nil, after.Status == machine.StatusTimedOut:
		return ""
	case l.tolerates && l.wrongTolerance(before, lanes, failed >= 0) != "":
		return l.wrongTolerance(before, lanes, failed >= 0)
	case failed >= 0:
		return l.wrongHandling(before, after, events, lanes[record.Failed].last().Error)
	case failed < 0 && !exited && after.Error != machine.ErrorDataLimit && (l.limits.Events == 0 || after.Error != machine.ErrorEventLimit):
		return "no lane failed"
	}
	return ""
}

// wrongTolerance is why a fork that is not to be stopped fails, or goes on, against the number of
// its items that may fail. It is empty if there is no such reason.
func (l *log) wrongTolerance(before machine.State, lanes []*log, fails bool) string {
	step := before.Waiting.Attempt.Step
	foreach, ok := l.flow.parsed.All[step].Kind.(*flow.Foreach)
	if !ok {
		return ""
	}
	failed, exceeded, otherwise := 0, false, ""
	for _, lane := range lanes {
		for _, e := range lane.history() {
			if e.Type == machine.IterationExited && e.Step == step && e.Error != "" {
				failed++
			}
		}
		switch end := lane.last(); {
		case end.Status != machine.StatusFailed:
		case end.Error == machine.ErrorTolerance:
			exceeded = true
		case end.Error != machine.ErrorInternal && end.Error != machine.ErrorDataLimit:
			otherwise = end.Error
		}
	}
	items, most := mostFailed(before, foreach.Tolerance)
	switch {
	case most > 0 && otherwise != "" && l.limits.Events == 0:
		return fmt.Sprintf("a lane failed with %s, and %d items may fail", otherwise, most)
	case most == 0 && failed > 0, most > 0 && exceeded && failed <= most, failed > most && !fails:
		return fmt.Sprintf("%d of %d items failed, and %d may", failed, items, most)
	}
	return ""
}

// mostFailed returns how many items the fork of a state has, and how many of them may fail.
func mostFailed(s machine.State, tolerance flow.Tolerance) (items, most int) {
	items = s.Waiting.Fork().Items
	if s.Results != nil && s.Results.Step == s.Waiting.Attempt.Step {
		items += s.Results.DoneBefore(math.MaxInt)
	}
	switch {
	case tolerance.Count != nil:
		return items, min(*tolerance.Count, items)
	case tolerance.Percentage != nil:
		return items, items * int(*tolerance.Percentage) / 100 //nolint:mnd // percent
	}
	return items, 0
}

// triesBefore is how often the fork of an attempt was tried again before it.
func (l *log) triesBefore(attempt machine.Attempt) (tries int) {
	for _, e := range l.history() {
		switch {
		case e.Step != attempt.Step || e.ID > attempt.Number:
		case e.Type == machine.StepEntered:
			tries = 0
		case e.Type == machine.StepStarted:
			tries++
		}
	}
	return tries
}

// wrongHandling is why the log does not go on as its fork handles a failure, empty if it does. The
// only policy and the only entry name every error.
func (l *log) wrongHandling(before, after machine.State, events []machine.Event, failure string) string {
	attempt := before.Waiting.Attempt
	tries, handlers := l.triesBefore(attempt), l.flow.parsed.All[attempt.Step].Handlers()
	caught := slices.ContainsFunc(events, func(e machine.Event) bool {
		return e.Type == machine.StepFailed && e.Step == attempt.Step && !e.Output.IsMissing()
	})
	tolerated := slices.ContainsFunc(events, func(e machine.Event) bool { return e.Type == machine.IterationExited && e.Error == failure })
	again := after.Waiting != nil && after.Waiting.Attempt.Step == attempt.Step && !caught && !tolerated
	switch {
	case l.limits.Events > 0 && after.Error == machine.ErrorEventLimit:
	case len(handlers.Retry) > 0 && tries < handlers.Retry[0].MaxAttempts:
		pause := handlers.Retry[0].After(tries + 1)
		if !again || pause > 0 && !after.Waiting.Due.Equal(after.At.Add(pause)) {
			return fmt.Sprintf("attempt %d of the fork failed and is to be tried again in %s", tries+1, pause)
		}
	case again:
		return "it is tried again too often"
	case caught != (len(handlers.Catch) > 0):
		return fmt.Sprintf("caught=%t is wrong", caught)
	case !caught && !tolerated && (after.Status != machine.StatusFailed || after.Error != failure):
		return "a lane failed"
	}
	return ""
}

// startedAgain is how many more start wakes of its lane were sent than one. Each may come before
// the first item of the lane.
func (w *world) startedAgain(made *called) int {
	l := w.logOf(made.call.Log)
	if l.lane == nil {
		return 0
	}
	return max(0, l.sends[l.causeOf(engine.Wake{Cause: machine.CauseStart})]-1)
}

// places finds the places of attempts in the items of forks in a log, see [machine.Call].
type places struct{ open []placed }

// placed is a fork whose items this log runs, or one of the items.
type placed struct {
	entered int // the number of its event
	item    int // -1 for a fork
}

// placesIn are those at the begin of the log.
func placesIn(l *log) places {
	if l.lane == nil {
		return places{}
	}
	return places{[]placed{{item: -1}}}
}

// read reads the next event of the log.
func (p *places) read(e machine.Event, f flowDraft) {
	isFork := f.hasItems(e.Step)
	switch {
	case e.Type == machine.StepEntered && isFork && e.Lanes == 0:
		p.open = append(p.open, placed{e.ID, -1})
	case e.Type == machine.BranchEntered, e.Type == machine.IterationEntered:
		p.open = append(p.open, placed{e.ID, e.Index})
	case e.Type == machine.IterationExited && e.Error != "": // of the lane, with all that was open in it
		p.open = p.open[:1]
	case e.Type == machine.BranchExited, e.Type == machine.IterationExited, e.Type == machine.StepExited && isFork && p.isInFork():
		p.open = p.open[:len(p.open)-1]
	}
}

// isInFork reports whether the log is between the items of a fork.
func (p *places) isInFork() bool { return len(p.open) > 0 && p.open[len(p.open)-1].item < 0 }

// of is the place of an attempt that is made now.
func (p *places) of(number int) string {
	place, first := "", 0
	for _, o := range p.open {
		if o.item < 0 {
			place += fmt.Sprintf("%d.", o.entered-first)
			continue
		}
		place += fmt.Sprintf("%d.", o.item)
		first = o.entered
	}
	if place == "" {
		return ""
	}
	return place + strconv.Itoa(number-first)
}
