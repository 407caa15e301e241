package machine

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// forkKind is a parallel or a foreach. Its items are the branches or the iterations.
type forkKind[I items] struct{ items I }

type items interface {
	// extent returns the extent of the step with this input, or the failure of an attempt with it.
	extent(r *run, step *flow.Step, input value.Value) (extent, *token.Outcome)
	// item returns the input and the steps of an item, no steps if there is no such item.
	item(r *run, input value.Value, index int) (value.Value, []*flow.Step)
	// events returns the events that enter and leave an item.
	events() (entered, exited EventType)
	// has reports whether the definition may lead to the item.
	has(index int) bool
	handlers() *flow.Handlers
}

// extent is the number of items of a fork, of the lanes that run them at most, and of the items
// that may fail.
type extent struct{ items, lanes, tolerated int }

// forkRun is a fork in an application.
type forkRun struct {
	*run
	step  *flow.Step
	items items
}

func (k forkKind[I]) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	return forkRun{r, step, k.items}.enterFork(input, nil)
}

func (k forkKind[I]) begin(r *run, step *flow.Step, input value.Value, retried []int) *flow.Step {
	r.emit(Event{Type: StepStarted, Step: step.Index})
	return forkRun{r, step, k.items}.enterFork(input, retried)
}

func (k forkKind[I]) enterItem(r *run, step *flow.Step, index int) *flow.Step {
	fork := forkRun{r, step, k.items}
	return fork.enterItem(fork.results().at(index))
}

func (k forkKind[I]) signal(r *run, step *flow.Step, sig Signal) *flow.Step {
	switch sig := sig.(type) {
	case LanesJoined:
		return forkRun{r, step, k.items}.lanesJoined(sig)
	case ItemsClaimed:
		return forkRun{r, step, k.items}.claimed(sig)
	case FailuresReported:
		r.leaveWaiting()
		t := r.state().Tolerance
		if sig.Failed > t.Most {
			return r.failExecution(nil, token.Failure(ErrorTolerance, fmt.Sprintf("step %s: %d of %d iterations failed and the limit is %d",
				step.Name, sig.Failed, t.Items, t.Most)))
		}
		r.independent = true
		return forkRun{r, step, k.items}.enterItemAfter(t.Last)
	case LaneFailed:
		forkRun{r, step, k.items}.laneFailed(sig.Failure.Cut())
		r.failedIn(sig.Step)
	case Returned:
		return forkRun{r, step, k.items}.returned(sig.Outcome)
	case TimerDue:
		switch r.state().Waiting.For {
		case WaitingForRetry:
			_, w := r.leaveWaiting()
			return r.tryAgain(step, w)
		case WaitingForCall: // was postponed
			w := r.ownWaiting()
			w.Due, w.Entry = time.Time{}, r.entry()
			r.do(forkRun{r, step, k.items}.call(w))
		}
	case Started, Submitted, Queued, TokenClosed, BeatSeen, StopRequested:
	}
	return nil
}

func (k forkKind[I]) resume(r *run, step *flow.Step, ended Series) *flow.Step {
	if ended.Owner.Kind == OwnerCatch {
		return r.endCatch(step, ended)
	}
	return forkRun{r, step, k.items}.leaveItem(ended.Owner.Branch, token.Success(ended.Local))
}

func (k forkKind[I]) pending(r *run, step *flow.Step, executed Executed) Command {
	s := r.state()
	fork := s.Waiting.Fork()
	switch {
	case s.Ending != nil && fork == nil, s.Waiting.For == WaitingForRetry:
		return nil
	case s.Waiting.postponed():
		return nil
	case s.Waiting.For == WaitingForCall:
		return forkRun{r, step, k.items}.call(s.Waiting)
	case s.Waiting.For == WaitingForReport:
		return s.report()
	case fork == nil:
		return forkRun{r, step, k.items}.claim()
	case s.StopsLanes():
		return StopLanes{Attempt: s.Waiting.Attempt, Count: fork.Lanes}
	}
	return StartLanes{Attempt: s.Waiting.Attempt, Count: fork.Lanes, Executed: executed}
}

func (k forkKind[I]) canWait(w *Waiting) bool {
	fork := w.Fork()
	switch {
	case !mayRetry(k.items.handlers(), w):
		return false
	case fork == nil:
		return w.IsBetweenItems() || w.For == WaitingForRetry || w.For == WaitingForCall && isRun(k.items)
	}
	isLeast := fork.Lanes >= leastLanes(k.items, fork.Tolerated) || fork.First > 0 && fork.Lanes > 0
	return isLeast && fork.Lanes <= MaxLanes
}

// leastLanes is the least number of lanes of a fork. A fork with handlers always runs in lanes: its
// log goes on after a failure in them (rule 31). A fork with tolerated failures does, too, and a
// run does.
func leastLanes(i items, tolerated int) int {
	if h := i.handlers(); tolerated > 0 || isRun(i) || len(h.Retry)+len(h.Catch) > 0 {
		return 1
	}
	return 2 //nolint:mnd // one lane is no fork
}

// isRun reports whether the items are executions for users.
func isRun(i items) bool {
	foreach, ok := i.(iterations)
	return ok && foreach.Run != nil
}

func (k forkKind[I]) owns(o Owner) bool {
	return o.Kind == OwnerFork && o.Branch == 0 || o.Kind == OwnerItem && o.Branch >= 0 && k.items.has(o.Branch) || ownsCatch(k.items.handlers(), o)
}

func (k forkKind[I]) ownerOf(series *flow.Series) Owner {
	if series.InCatch {
		return catchOf(k.items.handlers(), series)
	}
	return Owner{Kind: OwnerItem}
}

type branches struct{ *flow.Parallel }

func (b branches) extent(*run, *flow.Step, value.Value) (extent, *token.Outcome) { //nolint:unparam // of an interface
	return extent{items: len(b.Branches), lanes: MaxLanes}, nil
}

func (b branches) handlers() *flow.Handlers { return &b.Handlers }

func (b branches) item(_ *run, input value.Value, index int) (value.Value, []*flow.Step) {
	if !b.has(index) {
		return input, nil
	}
	return input, b.Branches[index]
}

func (branches) events() (entered, exited EventType) { return BranchEntered, BranchExited }

func (b branches) has(index int) bool { return index < len(b.Branches) }

type iterations struct{ *flow.Foreach }

func (i iterations) extent(r *run, step *flow.Step, input value.Value) (extent, *token.Outcome) {
	collection := i.collection(r, input)
	if collection.Kind() != value.KindArray {
		return extent{}, limitReached(ErrorInvalidArgument, "step %s: collection %s is %s; allowed: a list", step.Name, i.Collection, value.Shown(collection))
	}
	e := extent{items: collection.Len(), lanes: i.MaxConcurrency, tolerated: i.Tolerance.Of(collection.Len())}
	if atOnce, ok := i.AtOnce.Eval(&expr.Scope{Self: input, Lookup: &r.lookup}).Int64(); ok {
		e.lanes = int(atOnce)
	}
	if tolerated, ok := i.Tolerance.Path.Eval(&expr.Scope{Self: input, Lookup: &r.lookup}).Int64(); ok {
		e.tolerated = int(tolerated)
	}
	return e, nil
}

func (i iterations) handlers() *flow.Handlers { return &i.Handlers }

func (i iterations) item(r *run, input value.Value, index int) (value.Value, []*flow.Step) {
	collection := i.collection(r, input)
	if index >= collection.Len() {
		return input, nil
	}
	members := []value.Member{{Key: i.Item, Value: collection.At(index)}}
	if i.Index != "" {
		members = append(members, value.Member{Key: i.Index, Value: value.Int(int64(index))})
	}
	return value.Merge(r.lookup.Open(input), value.Object(members...)), i.Steps
}

func (i iterations) collection(r *run, input value.Value) value.Value {
	return r.lookup.Open(i.Collection.Eval(&expr.Scope{Self: input, Lookup: &r.lookup}))
}

func (iterations) events() (entered, exited EventType) { return IterationEntered, IterationExited }

func (iterations) has(int) bool { return true }

// enterFork begins an attempt of the fork, which the last event entered. With fewer lanes than the
// least number its items run in this log (rule 14). Retried are the retries before it.
func (r forkRun) enterFork(input value.Value, retried []int) *flow.Step {
	w := Waiting{Attempt: Attempt{Step: r.step.Index, Number: r.state().Events}, Input: input, Retried: retried}
	if run := r.step.MapRun(); run != nil {
		w.Input = value.Merge(r.lookup.Open(input), value.Object(value.Member{Key: run.Name, Value: value.String(RunName(r.state().ID(), w.Attempt.Number))}))
		if run.Items != nil {
			return r.waitForCall(w)
		}
	}
	return r.enterItems(w)
}

// enterItems enters the items in the input of the attempt.
func (r forkRun) enterItems(w Waiting) *flow.Step {
	e, failure := r.items.extent(r.run, r.step, w.Input)
	if failure != nil {
		return r.attemptFailed(r.step, w, *failure)
	}
	s, had := r.state(), r.results()
	if had != nil && (had.bound(had.Done.Len()-1) > e.items || e.items >= mostShared) { // of another list
		s.Results, had = nil, nil
	}
	if e.items -= had.DoneBefore(e.items); e.items == 0 && had != nil {
		local := value.Missing()
		if needsOutputs(r.step) {
			local = r.withResults(value.Array())
		}
		return r.endItems(w, local)
	}
	if e.lanes = min(e.lanes, e.items); e.lanes >= leastLanes(r.items, e.tolerated) || had != nil {
		return r.waitForLanes(w, e)
	}
	r.open(Series{
		Owner: Owner{Kind: OwnerFork, Step: r.step.Index}, Input: w.Input, Local: value.Array(), Entered: s.Events, Since: s.Trace.since(r.at),
	})
	return r.enterItem(0)
}

// waitForLanes waits for the lanes of an attempt, which the last event entered.
func (r forkRun) waitForLanes(w Waiting, e extent) *flow.Step {
	s, lanes := r.state(), e.lanes
	first, block := s.FirstID+s.Events+s.Reserved, r.block()
	if block > (math.MaxInt-first)/lanes/2 {
		return r.fail(r.step, token.Failure(ErrorEventLimit, fmt.Sprintf("step %s: there are no more ids for the events of its lanes; nest less, or split the "+
			"work into several executions", r.step.Name)))
	}
	r.reserve(lanes, block)
	fork := &ForkWait{Lanes: lanes, FirstID: first, Block: block, Items: e.items, Tolerated: min(e.tolerated, e.items)}
	switch {
	case r.results() != nil && lanes == 1:
		fork.First = e.items
	case r.results() != nil, e.items > lanes && lanes > 1 && e.items < mostShared && r.env.WriteFormat >= formatOfShares:
		fork.First = 1
	}
	w.For, w.Entry = fork, r.entry()
	r.wait(&w)
	r.do(StartLanes{Attempt: w.Attempt, Count: lanes})
	return nil
}

// block is the number of ids for each lane of the step: for its own events, and for the events of
// the lanes of all forks that it may enter. It is huge if there are not so many numbers.
func (r forkRun) block() int {
	events := r.env.Limits.laneEvents(r.step)
	size, perLevel := events, events/2*MaxLanes // a fork has at least two events
	for range forksInside(r.env.Flow, r.step) {
		if size > math.MaxInt/perLevel {
			return math.MaxInt
		}
		size *= perLevel
	}
	return size
}

// forksInside is how deeply forks are nested inside of a fork.
func forksInside(flow *flow.Flow, fork *flow.Step) int {
	most := 0
	for _, step := range flow.All[fork.Index+1:] {
		if !isInside(step, fork) {
			break // the steps inside of a fork follow it, before those of its catch
		}
		if step.IsFork() {
			most = max(most, len(ForksAround(step))-len(ForksAround(fork)))
		}
	}
	return most
}

// NeedsOutputs reports whether the outputs of the lanes are needed: whether the output of the
// attempt's step is mapped from them. Otherwise lanes do not keep them.
func NeedsOutputs(flow *flow.Flow, attempt Attempt) bool { return needsOutputs(flow.All[attempt.Step]) }

func needsOutputs(step *flow.Step) bool { return step.Data.ReadsResult() }

// enterItem enters an item of the step, or leaves the fork if it has no such item.
func (r forkRun) enterItem(index int) *flow.Step {
	fork := *r.innermost()
	input, steps := r.items.item(r.run, fork.Input, index)
	if len(steps) == 0 {
		return r.endFork(fork)
	}
	entered, _ := r.items.events()
	number := r.emit(Event{Type: entered, Step: r.step.Index, Index: index})
	r.open(Series{
		Owner: Owner{OwnerItem, r.step.Index, index}, Input: input, Local: value.Object(), Entered: number, Since: r.state().Trace.since(r.at),
	})
	return steps[0]
}

// leaveItem ends an item, which had the innermost series, with its output or with a failure that
// the fork tolerates. It enters the next item.
func (r forkRun) leaveItem(index int, end token.Outcome) *flow.Step {
	_, exited := r.items.events()
	r.emit(Event{Type: exited, Step: r.step.Index, Index: index, Error: end.Error, Cause: end.Cause})
	s, fork, output := r.state(), r.innermost(), end.Output
	if end.Failed() {
		output = value.Object(value.Member{Key: "error", Value: value.String(end.Error)}, value.Member{Key: "cause", Value: value.String(end.Cause)})
	}
	if needsOutputs(r.step) {
		r.setLocal(r.withOutput(fork.Local, output))
	}
	if err := r.limitsReached(r.step, r.limited(fork.Input, fork.Local)...); err != nil {
		return r.failExecution(r.step, *err)
	}
	if end.Failed() && s.Tolerance.Most < s.Tolerance.Items { // too many can fail
		r.wait(&Waiting{Attempt: Attempt{Step: r.step.Index, Number: s.Events}, For: WaitingForReport, Input: value.Object(), Entry: r.entry()})
		r.do(s.report())
		return nil
	}
	r.independent = r.independent || len(s.Series) <= r.kept
	return r.enterItemAfter(index)
}

// enterItemAfter enters the next item of this log, or claims the next ones, or leaves the fork.
func (r forkRun) enterItemAfter(index int) *flow.Step {
	s, next := r.state(), index+1
	switch own := s.isLane() && len(s.Series) == 1; {
	case own && s.Share == nil:
		next = index + s.Lane.Count
	case own:
		had := r.results()
		position := next - had.DoneBefore(next)
		if position == s.Share.last().To {
			return r.nextItems()
		}
		next = had.at(position)
	}
	return r.enterItem(next)
}

// WaitingPlace returns the [Call.Place] of the attempt or the poll that the state waits for.
func (s State) WaitingPlace() string {
	if s.Waiting == nil {
		return ""
	}
	place := PlaceIn(s.Series, s.Waiting.Attempt.Number)
	if place != "" && s.Waiting.Polls > 0 {
		place += "." + strconv.Itoa(s.Waiting.Polls)
	}
	return place
}

// PlaceIn names an attempt in the items around it, which have the open series, "" outside of items.
// It does not depend on results of earlier items, which may be lost with their worker and differ
// the next time.
func PlaceIn(open []Series, number int) string {
	var place []byte
	first := 0
	for _, series := range open {
		switch series.Owner.Kind {
		case OwnerFork:
			place = fmt.Appendf(place, "%d.", series.Entered-first)
		case OwnerItem:
			place = fmt.Appendf(place, "%d.", series.Owner.Branch)
			first = series.Entered
		case OwnerFlow, OwnerChoice, OwnerCatch:
		}
	}
	if len(place) == 0 {
		return ""
	}
	return string(fmt.Appendf(place, "%d", number-first))
}

// maxTail is how large the last list of outputs becomes. Full lists stay in the items of the log in
// which they became full, and later items refer to them, so a long series does not write all of its
// outputs again with each one.
const maxTail = 1 << 10

// withOutput adds an output to the lists of outputs.
func (r forkRun) withOutput(lists, output value.Value) value.Value {
	all, tail := elements(r.lookup.Open(lists)), value.Array()
	if last := len(all) - 1; last >= 0 && all[last].Size() < maxTail {
		all, tail = all[:last], r.lookup.Open(all[last])
	}
	return value.Array(append(all, value.Array(append(elements(tail), output)...))...)
}

// joinedLists is one list of all outputs.
func (r forkRun) joinedLists(lists value.Value) value.Value {
	var all []value.Value
	for _, list := range elements(r.lookup.Open(lists)) {
		all = append(all, elements(r.lookup.Open(list))...)
	}
	return value.Array(all...)
}

func elements(array value.Value) []value.Value {
	list := make([]value.Value, 0, array.Len()+1)
	for _, m := range array.Members() {
		list = append(list, m.Value)
	}
	return list
}

// endFork continues after the last item of this log: with the end of the lane, or of the step.
func (r forkRun) endFork(fork Series) *flow.Step {
	r.leaveSeries()
	r.independent = false
	local := value.Missing()
	if needsOutputs(r.step) {
		local = r.joinedLists(fork.Local)
	}
	if len(r.state().Series) > 0 {
		return r.endItems(Waiting{Attempt: Attempt{Step: r.step.Index, Number: fork.Entered}, Input: fork.Input}, local)
	}
	r.close(StatusSucceeded, token.Success(local))
	return nil
}

// exitFork ends the step. The limit of its data is checked before its mappings read large values.
func (r forkRun) exitFork(input, local value.Value) *flow.Step {
	if err := r.checkData(r.step, r.limited(input, local)...); err != nil {
		return r.fail(r.step, *err)
	}
	if run := r.step.MapRun(); run != nil {
		input = value.Object(value.Member{Key: run.Name, Value: r.lookup.Open(input).Get(run.Name)})
	}
	return r.exit(r.step, input, local, 0)
}

// laneFailed closes the attempt: the log opens nothing until the other lanes were stopped and all
// have joined (rule 30). A log of format 1 ends instead, and stops them first. A fork with handlers
// is of format 2, also if that was chosen only when its execution began.
func (r forkRun) laneFailed(failure token.Outcome) {
	h := r.items.handlers()
	if r.env.WriteFormat < formatOfShares && r.state().Tolerance == nil && len(h.Retry)+len(h.Catch) == 0 {
		r.decide(StatusFailed, failure)
		r.endOrClose()
		return
	}
	w := r.ownWaiting()
	fork := *w.Fork()
	fork.Closing = &failure
	w.Began = r.state().Trace.since(w.Start())
	w.For, w.Entry = &fork, r.entry()
	r.do(StopLanes{Attempt: w.Attempt, Count: fork.Lanes})
}

// lanesJoined continues after all lanes: with the end that was decided, with the failure of a lane,
// or with the next step.
func (r forkRun) lanesJoined(sig LanesJoined) *flow.Step {
	_, w := r.leaveWaiting()
	switch {
	case r.state().Ending != nil:
		r.endAsDecided()
	case sig.Failure.Failed():
		failure, failed := sig.Failure.Cut(), cmp.Or(sig.Step, r.state().FailedStep)
		if r.step.MapRun() != nil {
			if failure.Error != ErrorInternal && w.Fork().Tolerated == 0 {
				cause := fmt.Sprintf("step %s: an iteration failed with %s: %s", r.step.Name, failure.Error, failure.Cause)
				failure = r.named(token.Failure(ErrorTolerance, cause)).Cut()
			}
			w = again(w)
		}
		r.failedIn("") // a catch may fail
		if next, ok := r.handled(r.step, w, failure); ok {
			return next
		}
		r.failedIn(failed)
		return r.forkFailed(r.step, failure)
	case sig.Left > 0:
		return r.attemptFailed(r.step, w, noRoom(r.step, sig.Left, w.Fork().Items))
	case !needsOutputs(r.step):
		return r.endItems(w, value.Missing())
	case len(sig.Outputs) != w.Fork().Lanes, w.Fork().First > 0 && len(sig.Ranges) != w.Fork().Lanes:
		r.err = fmt.Errorf("machine: %d outputs of %d lanes", len(sig.Outputs), w.Fork().Lanes)
	default:
		if err := r.checkData(r.step, r.limited(append([]value.Value{w.Input}, sig.Outputs...)...)...); err != nil {
			return r.fail(r.step, *err)
		}
		if w.Fork().First > 0 {
			return r.endItems(w, r.withResults(r.inOrder(sig, w.Fork().Items)))
		}
		return r.endItems(w, r.interleaved(sig.Outputs))
	}
	return nil
}

// interleaved is the list of all items' outputs in their order, from the lists of the lanes.
func (r forkRun) interleaved(lanes []value.Value) value.Value {
	lists := make([]value.Value, len(lanes))
	for i, lane := range lanes {
		lists[i] = r.lookup.Open(lane)
	}
	var all []value.Value
	for position := range lists[0].Len() {
		for _, list := range lists {
			if position < list.Len() { // the last items are those of the first lanes
				all = append(all, list.At(position))
			}
		}
	}
	return value.Array(all...)
}
