package machine

import (
	"fmt"
	"math"
	"strconv"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// fork begins a parallel or a foreach. With fewer than two lanes its items run in this log (rule 14).
func (r *run) fork(step *flow.Step, input value.Value) *flow.Step {
	items, lanes := 0, MaxLanes
	if foreach, ok := step.Kind.(*flow.Foreach); ok {
		collection := r.collection(foreach, input)
		if collection.Kind() != value.KindArray {
			r.fail(step, token.Failure(ErrorInvalidArgument,
				fmt.Sprintf("step %s: collection %s is %s; allowed: a list", step.Name, foreach.Collection, value.Shown(collection))))
			return nil
		}
		items, lanes = collection.Len(), foreach.MaxConcurrency
	} else if parallel, ok := step.Kind.(*flow.Parallel); ok {
		items = len(parallel.Branches)
	}
	if lanes = min(lanes, items); lanes > 1 {
		r.waitForLanes(step, input, items, lanes)
		return nil
	}
	s := r.state()
	s.Series = append(s.Series, Series{
		Owner: Owner{Kind: OwnerFork, Step: step.Index}, Input: input, Local: value.Array(), Entered: s.Events, Since: s.Trace.since(r.at),
	})
	return r.enterItem(0)
}

// waitForLanes waits for the lanes of a step that was just entered.
func (r *run) waitForLanes(step *flow.Step, input value.Value, items, lanes int) {
	s := r.state()
	first, block := s.FirstID+s.Events+s.Reserved, r.block(step)
	if block > (math.MaxInt-first)/lanes/2 {
		r.fail(step, token.Failure(ErrorEventLimit, fmt.Sprintf("step %s: there are no more ids for the events of its lanes; nest less, or split the work "+
			"into several executions", step.Name)))
		return
	}
	entered := &r.next.Events[len(r.next.Events)-1]
	entered.Lanes, entered.Block = lanes, block
	s.Reserved += lanes * block
	s.Waiting = &Waiting{
		Attempt: Attempt{Step: step.Index, Number: s.Events}, For: WaitingForLanes, Input: input, Entry: r.entry(),
		Lanes: lanes, FirstID: first, Block: block, Items: items,
	}
	r.next.Commands = append(r.next.Commands, StartLanes{Attempt: s.Waiting.Attempt, Count: lanes})
}

// block is the number of ids for each lane of the step: for its own events, and for those of the
// lanes of all forks that it may enter. It is huge if there are not so many numbers.
func (r *run) block(step *flow.Step) int {
	events := r.env.Limits.events()
	size, perLevel := events, events/2*MaxLanes // a fork has at least two events
	for range forksInside(r.env.Flow, step) {
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
		forks := 0
		for step != nil && step != fork {
			if step.IsFork() {
				forks++
			}
			step = step.Series.Owner
		}
		if step == nil {
			break // the steps inside of a fork follow it
		}
		most = max(most, forks)
	}
	return most
}

// NeedsOutputs reports whether the outputs of the lanes are needed: whether the output of the
// attempt's step is mapped from them. Otherwise lanes do not keep them.
func NeedsOutputs(flow *flow.Flow, attempt Attempt) bool { return needsOutputs(flow.All[attempt.Step]) }

func needsOutputs(step *flow.Step) bool { return step.Data.ReadsResult() }

func (r *run) collection(foreach *flow.Foreach, input value.Value) value.Value {
	return r.lookup.Open(foreach.Collection.Eval(&expr.Scope{Self: input, Lookup: &r.lookup}))
}

// enterItem enters an item of the innermost fork, or leaves the fork if it has no such item. It
// returns the next step.
func (r *run) enterItem(index int) *flow.Step {
	s, fork := r.state(), *r.innermost()
	step := r.env.Flow.All[fork.Owner.Step]
	entered, input, steps := r.item(step, fork.Input, index)
	if len(steps) == 0 {
		return r.endFork(step, fork)
	}
	number := r.emit(Event{Type: entered, Step: step.Index, Index: index})
	s.Series = append(s.Series, Series{
		Owner: Owner{OwnerItem, step.Index, index}, Input: input, Local: value.Object(), Entered: number, Since: s.Trace.since(r.at),
	})
	return steps[0]
}

// item returns the event, the input and the steps of an item, no steps if the fork does not have it.
func (r *run) item(step *flow.Step, input value.Value, index int) (EventType, value.Value, []*flow.Step) {
	if parallel, ok := step.Kind.(*flow.Parallel); ok {
		if index >= len(parallel.Branches) {
			return BranchEntered, input, nil
		}
		return BranchEntered, input, parallel.Branches[index]
	}
	foreach, _ := step.Kind.(*flow.Foreach)
	collection := r.collection(foreach, input)
	if index >= collection.Len() {
		return IterationEntered, input, nil
	}
	members := []value.Member{{Key: foreach.Item, Value: collection.At(index)}}
	if foreach.Index != "" {
		members = append(members, value.Member{Key: foreach.Index, Value: value.Int(int64(index))})
	}
	return IterationEntered, r.merge(input, value.Object(members...)), foreach.Steps
}

// endItem leaves an item, whose series was the innermost one, and enters the next one.
func (r *run) endItem(step *flow.Step, ended Series) *flow.Step {
	exited := IterationExited
	if _, ok := step.Kind.(*flow.Parallel); ok {
		exited = BranchExited
	}
	r.emit(Event{Type: exited, Step: step.Index, Index: ended.Owner.Branch})
	s, fork := r.state(), r.innermost()
	if needsOutputs(step) {
		fork.Local = r.withOutput(fork.Local, ended.Local)
	}
	if err := r.limitsReached(step, fork.Input, fork.Local); err != nil {
		r.failExecution(step, *err)
		return nil
	}
	r.independent = r.independent || len(s.Series) <= r.kept
	distance := 1
	if s.isLane() && len(s.Series) == 1 {
		distance = s.Lane.Count
	}
	return r.enterItem(ended.Owner.Branch + distance)
}

// leaveSeries leaves the innermost series.
func (r *run) leaveSeries() {
	s := r.state()
	s.Series = s.Series[:len(s.Series)-1]
	r.kept = min(r.kept, len(s.Series))
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

// PlaceIn names an attempt in the items around it, whose series are open, "" outside of items. It does not depend on what
// happened in earlier items, whose results may be lost with their worker and be others the next time.
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
func (r *run) withOutput(lists, output value.Value) value.Value {
	all, tail := elements(r.lookup.Open(lists)), value.Array()
	if last := len(all) - 1; last >= 0 && all[last].Size() < maxTail {
		all, tail = all[:last], r.lookup.Open(all[last])
	}
	return value.Array(append(all, value.Array(append(elements(tail), output)...))...)
}

// joinedLists is one list of all outputs.
func (r *run) joinedLists(lists value.Value) value.Value {
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
func (r *run) endFork(step *flow.Step, fork Series) *flow.Step {
	s := r.state()
	r.leaveSeries()
	r.independent = false
	local := value.Missing()
	if needsOutputs(step) {
		local = r.joinedLists(fork.Local)
	}
	if len(s.Series) > 0 {
		return r.exitFork(step, fork.Input, local)
	}
	s.Status, s.Output = StatusSucceeded, local
	r.closeExecution()
	return nil
}

// exitFork ends the step. The limit of its data is checked before its mappings read large values.
func (r *run) exitFork(step *flow.Step, input, local value.Value) *flow.Step {
	if err := r.checkData(step, input, local); err != nil {
		r.fail(step, *err)
		return nil
	}
	return r.exit(step, input, local, 0)
}

// lanesJoined continues after all lanes: with the end that was decided, with the failure of a lane,
// or with the next step.
func (r *run) lanesJoined(sig LanesJoined) {
	step, w := r.leaveWaiting()
	switch {
	case r.state().Ending != nil:
		r.endAsDecided()
	case sig.Failure.Failed():
		r.forkFailed(step, sig.Failure.Cut())
	case !needsOutputs(step):
		r.advance(r.exitFork(step, w.Input, value.Missing()))
	case len(sig.Outputs) != w.Lanes:
		r.err = fmt.Errorf("machine: %d outputs of %d lanes", len(sig.Outputs), w.Lanes)
	default:
		if err := r.checkData(step, append([]value.Value{w.Input}, sig.Outputs...)...); err != nil {
			r.fail(step, *err)
			return
		}
		r.advance(r.exitFork(step, w.Input, r.interleaved(sig.Outputs)))
	}
}

// interleaved is the list of all items' outputs in their order, from the lists of the lanes.
func (r *run) interleaved(lanes []value.Value) value.Value {
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

// laneFailed decides that a failed lane ends this log. The other lanes are stopped first (rule 19).
func (r *run) laneFailed(failure token.Outcome) {
	r.decide(StatusFailed, failure.Cut())
	r.endOrClose()
}
