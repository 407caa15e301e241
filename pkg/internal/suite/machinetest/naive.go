package machinetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Function is what all functions of the flows do. It returns its input. With "clock" in the input
// it adds how many seconds have elapsed, as "at". With "fail" it fails with that error: always, or
// for as many seconds as "until" says.
func Function(input value.Value, elapsed time.Duration) token.Outcome {
	if failure := input.Get("fail").Text(); failure != "" {
		if until, limited := input.Get("until").Int64(); !limited || elapsed < seconds(until) {
			return token.Failure(failure, "why")
		}
	}
	if input.Get("clock").IsMissing() {
		return token.Success(input)
	}
	return token.Success(value.Merge(input, value.Object(value.Member{Key: "at", Value: value.Int(int64(elapsed / time.Second))})))
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// Reply closes the token of a step so long after its task was submitted.
type Reply struct {
	After   time.Duration
	Outcome token.Outcome
}

// Naive runs flows as FDL describes them, recursively and on whole values. Of each call it notes
// the instant and the input.
type Naive struct {
	Epoch   time.Time
	Replies map[string]Reply      // by the name of a step
	Flows   map[string]*flow.Flow // of sub-flows, by name
	// Steps may still run. It is negative after a flow that is too long or has too large values.
	Steps int
	// Lists are the lengths of the lists of each foreach, by its name.
	Lists map[string][]int
	// Subflows is how many were started.
	Subflows int
	// FixedParts says that each place of a foreach has a fixed part of its elements, as in logs of
	// format 1. Otherwise the next element goes to the place that is free first.
	FixedParts bool
	// Seen counts what happened to forks.
	Seen map[string]int
}

// HandlesForks reports whether a parallel or a foreach of the flow has retry or catch, or tolerates
// failures.
func HandlesForks(def *flow.Flow) bool {
	return slices.ContainsFunc(def.All, func(step *flow.Step) bool {
		h, foreach := step.Handlers(), flow.Foreach{}
		if each, ok := step.Kind.(*flow.Foreach); ok {
			foreach = *each
		}
		return step.IsFork() && len(h.Retry)+len(h.Catch) > 0 || foreach.Tolerance.IsSet()
	})
}

const largestValue = 20_000

// Call is a call. A call that comes at the instant of a failure beside it may be made or not.
type Call struct {
	At   time.Time
	Text string
	May  bool
	// since is the start of the sub-flow that makes the call, if nothing waits for its end. A
	// failure after that does not prevent the call.
	since time.Time
}

// orderedAt is when it was decided that the call will be made.
func (c Call) orderedAt() time.Time {
	if c.since.IsZero() {
		return c.At
	}
	return c.since
}

// End is the end of a series. If several branches fail at once, each of the failures is right.
type End struct {
	At       time.Time
	Local    value.Value
	Failures []string
	Calls    []Call
}

// Differs returns how another end differs from the wanted one, "" if it does not. It does not
// compare the causes of failures that a foreach tolerates.
func (want End) Differs(got End, epoch time.Time) string {
	want, got = want.withoutCauses(), got.withoutCauses()
	switch {
	case len(got.Failures) != min(1, len(want.Failures)), len(got.Failures) > 0 && !slices.Contains(want.Failures, got.Failures[0]):
		return fmt.Sprintf("failure %v, want one of %v", got.Failures, want.Failures)
	case len(want.Failures) == 0 && want.Local.JSON() != got.Local.JSON():
		return fmt.Sprintf("output %s, want %s", got.Local, want.Local)
	case !want.At.Equal(got.At):
		return fmt.Sprintf("ends after %s, want %s", got.At.Sub(epoch), want.At.Sub(epoch))
	}
	made := slices.Clone(got.Calls)
	may := func(c Call) bool { return c.May }
	must := slices.DeleteFunc(slices.Clone(want.Calls), may) // an equal call that may be made comes after it
	for _, call := range slices.Concat(must, slices.DeleteFunc(want.Calls, func(c Call) bool { return !may(c) })) {
		i := slices.IndexFunc(made, func(c Call) bool { return c.At.Equal(call.At) && c.Text == call.Text })
		if i < 0 && !call.May {
			return fmt.Sprintf("no call at %s: %s", call.At.Sub(epoch), call.Text)
		}
		if i >= 0 {
			made = slices.Delete(made, i, i+1)
		}
	}
	if len(made) > 0 {
		return fmt.Sprintf("%d calls too many: %s at %s", len(made), made[0].Text, made[0].At.Sub(epoch))
	}
	return ""
}

// withoutCauses returns the end with [unknownCause] in place of each cause that stands beside an
// error.
func (want End) withoutCauses() End {
	var without func(v any) any
	without = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = without(v[i])
			}
		case map[string]any:
			for key := range v {
				v[key] = without(v[key])
			}
			if v["error"] != nil && v["cause"] != nil {
				v["cause"] = unknownCause
			}
		}
		return v
	}
	if !want.Local.IsMissing() {
		want.Local = toJSON(without(fromJSON(want.Local)))
	}
	want.Calls = slices.Clone(want.Calls)
	for i, call := range want.Calls {
		if step, input, _ := strings.Cut(call.Text, " "); strings.Contains(input, `"cause"`) {
			want.Calls[i].Text = step + " " + toJSON(without(parsed(input))).JSON()
		}
	}
	return want
}

// Run runs a flow.
func (n *Naive) Run(flow *flow.Flow, input value.Value) End { return n.flow(flow, input, n.Epoch) }

func (n *Naive) flow(flow *flow.Flow, input value.Value, at time.Time) End {
	data, _ := flow.Data.(*fdl.Data)
	if data.Input != nil {
		input = data.Input.Eval(&expr.Scope{Input: input})
	}
	end := n.series(flow.Steps, input, value.Object(), at)
	if data.Output != nil {
		end.Local = data.Output.Eval(&expr.Scope{Input: input, Local: end.Local})
	}
	return end
}

// series runs steps from the first one on.
func (n *Naive) series(steps []*flow.Step, input, local value.Value, at time.Time) End {
	all := End{At: at, Local: local}
	if len(steps) == 0 {
		return all
	}
	for step := steps[0]; step != nil; {
		if n.Steps--; n.Steps < 0 || all.Local.Size() > largestValue {
			n.Steps = -1
			return all
		}
		in := value.Merge(input, all.Local)
		if mappings := fdl.DataOf(step).Input; mappings != nil {
			in = mappings.Eval(&expr.Scope{Input: input, Local: all.Local})
		}
		end, next := n.step(step, in, all.At)
		all.At, all.Calls = end.At, append(all.Calls, end.Calls...)
		if all.Failures = end.Failures; len(all.Failures) > 0 {
			return all
		}
		all.Local = value.Merge(all.Local, end.Local)
		step = next
	}
	return all
}

// step runs a step and maps its output. It returns the next step.
func (n *Naive) step(step *flow.Step, input value.Value, at time.Time) (End, *flow.Step) {
	next := step.Next
	if step.End {
		next = nil
	}
	end := End{At: at, Local: value.Object()}
	switch kind := step.Kind.(type) {
	case *flow.Task, *flow.Parallel, *flow.Foreach:
		if end = n.tries(step, input, at); len(end.Failures) > 0 {
			return n.caught(step, input, end, next)
		}
	case *flow.Wait:
		end = n.wait(kind, input, at)
	case *flow.Choice:
		end, next = n.choice(kind, input, at, next)
	case *flow.Succeed:
		next = nil
	case *flow.Fail:
		end.Failures = []string{cmp.Or(kind.Error, "FnF.Failed")}
	case *flow.Pass:
	}
	if len(end.Failures) > 0 {
		return end, nil
	}
	if mappings := fdl.DataOf(step).Output; mappings != nil {
		end.Local = mappings.Eval(&expr.Scope{Input: input, Local: end.Local})
	} else if end.Local.Kind() == value.KindArray {
		end.Local = value.Object()
	}
	return end, next
}

// tries makes attempts until one succeeds or no policy has a retry left.
func (n *Naive) tries(step *flow.Step, input value.Value, at time.Time) End {
	all, retried, handlers := End{At: at}, map[int]int{}, step.Handlers()
	for {
		end := n.try(step, input, all.At)
		all.At, all.Local, all.Failures, all.Calls = end.At, end.Local, end.Failures, append(all.Calls, end.Calls...)
		if len(end.Failures) == 0 || n.Steps < 0 {
			return all
		}
		if len(handlers.Retry)+len(handlers.Catch) > 0 && len(slices.Compact(slices.Sorted(slices.Values(end.Failures)))) > 1 {
			n.Steps = -1 // the first failure decides, and each may be it
			return all
		}
		i := slices.IndexFunc(handlers.Retry, func(r flow.Retry) bool { return names(r.Errors, end.Failures[0]) })
		if i < 0 || retried[i] == handlers.Retry[i].MaxAttempts {
			return all
		}
		n.note(step, "forks tried again")
		policy := handlers.Retry[i]
		pause := float64(policy.Interval) * math.Pow(policy.Multiplier, float64(retried[i]))
		all.At = all.At.Add(min(time.Duration(pause), policy.MaxInterval))
		retried[i]++
	}
}

func (n *Naive) note(step *flow.Step, what string) {
	if n.Seen == nil {
		n.Seen = map[string]int{}
	}
	if step.IsFork() {
		n.Seen[what]++
	}
}

// try makes one attempt.
func (n *Naive) try(step *flow.Step, input value.Value, at time.Time) End {
	switch kind := step.Kind.(type) {
	case *flow.Task:
		return n.attempt(step, kind, input, at)
	case *flow.Parallel:
		return n.parallel(kind, input, at)
	case *flow.Foreach:
		return n.foreach(step, kind, input, at)
	case *flow.Pass, *flow.Wait, *flow.Choice, *flow.Succeed, *flow.Fail:
	}
	return End{}
}

func names(errors []string, failure string) bool {
	return slices.Contains(errors, failure) || slices.Contains(errors, "FnF.ALL")
}

func (n *Naive) attempt(step *flow.Step, task *flow.Task, input value.Value, at time.Time) End {
	if task.Poll != nil {
		return n.polls(step, task.Poll, input, at)
	}
	if task.Resource.Subflow {
		return n.subflow(step, task, input, at)
	}
	if task.Resource.OfService() { // a job or an operation
		input = task.Params.Eval(&expr.Scope{Self: input})
	}
	end := n.call(step, input, at)
	if task.Pattern == flow.PatternRequestResponse || len(end.Failures) > 0 {
		return end
	}
	return n.replied(step, task, end)
}

// replied is the end of a step that waits for its reply.
func (n *Naive) replied(step *flow.Step, task *flow.Task, end End) End {
	reply, ok := n.Replies[step.Name]
	if !ok || task.Timeout > 0 && reply.After > task.Timeout {
		reply = Reply{task.Timeout, token.Failure(machine.ErrorTaskTimeout, "")}
	}
	return closed(end, reply)
}

// subflow runs a sub-flow. The step ends with it, at once, or with a reply.
func (n *Naive) subflow(step *flow.Step, task *flow.Task, input value.Value, at time.Time) End {
	n.Subflows++
	params := task.Params.Eval(&expr.Scope{Self: input})
	name := params.Get(flow.ParamFlowName).Text()
	end := n.flow(n.Flows[name], params.Get(flow.ParamInput), at)
	if limit := at.Add(task.Timeout); task.Pattern == flow.PatternSync && task.Timeout > 0 && end.At.After(limit) {
		return End{At: limit, Failures: []string{machine.ErrorTaskTimeout}, Calls: until(limit, end.Calls)}
	}
	if task.Pattern == flow.PatternSync {
		return end
	}
	for i := range end.Calls {
		end.Calls[i].since = at
	}
	started := End{At: at, Calls: end.Calls, Local: value.Object( // and a name that nobody can foresee
		value.Member{Key: "FlowName", Value: value.String(name)}, value.Member{Key: "Status", Value: value.String("Running")},
		value.Member{Key: "StartedTime", Value: value.String(at.UTC().Format(machine.TimeFormat))},
	)}
	if task.Pattern == flow.PatternWaitForCallback {
		return n.replied(step, task, started)
	}
	return started
}

func closed(end End, reply Reply) End {
	end.At = end.At.Add(reply.After)
	if end.Local = reply.Outcome.Output; reply.Outcome.Failed() {
		end.Failures = []string{reply.Outcome.Error}
	}
	return end
}

func (n *Naive) call(step *flow.Step, input value.Value, at time.Time) End {
	end := End{At: at, Calls: []Call{{At: at, Text: step.Name + " " + input.JSON()}}}
	return closed(end, Reply{Outcome: Function(input, at.Sub(n.Epoch))})
}

func (n *Naive) polls(step *flow.Step, poll *flow.Poll, input value.Value, at time.Time) End {
	var calls []Call
	for pause, made := poll.Interval, 1; ; made++ {
		end := n.call(step, input, at)
		calls = append(calls, end.Calls...)
		end.Calls = calls
		switch {
		case len(end.Failures) > 0, poll.Condition.Holds(&expr.Scope{Self: end.Local}):
			return end
		case made == poll.MaxAttempts:
			end.Failures = []string{machine.ErrorConditionNotMet}
			return end
		}
		at = at.Add(pause)
		pause = time.Duration(float64(pause) * poll.Backoff)
	}
}

// caught goes on after a failed task or fork.
func (n *Naive) caught(step *flow.Step, input value.Value, failed End, next *flow.Step) (End, *flow.Step) {
	handlers := step.Handlers()
	i := slices.IndexFunc(handlers.Catch, func(c flow.Catch) bool { return names(c.Errors, failed.Failures[0]) })
	if i < 0 {
		return failed, nil
	}
	n.note(step, "caught forks")
	local := value.Object()
	if mappings := fdl.DataOf(step).Errors; mappings != nil {
		failure := value.Object(value.Member{Key: "error", Value: value.String(failed.Failures[0])})
		local = mappings.Eval(&expr.Scope{Input: input, Local: failure})
	}
	entry := handlers.Catch[i]
	end := n.series(entry.Steps, input, local, failed.At)
	end.Calls = append(failed.Calls, end.Calls...)
	if entry.Goto != nil {
		next = entry.Goto
	}
	return end, next
}

func (n *Naive) wait(wait *flow.Wait, input value.Value, at time.Time) End {
	end := End{At: at, Local: value.Object()}
	given := func() value.Value { return wait.Path.Eval(&expr.Scope{Self: input}) }
	switch wait.Mode {
	case flow.WaitDuration:
		end.At = at.Add(wait.Duration)
	case flow.WaitTimestamp:
		end.At = later(at, wait.Timestamp)
	case flow.WaitDurationPath:
		pause, ok := given().Int64()
		if !ok {
			end.Failures = []string{machine.ErrorInvalidArgument}
			return end
		}
		end.At = at.Add(seconds(pause))
	case flow.WaitTimestampPath:
		until, err := time.Parse(time.RFC3339, given().Text())
		if err != nil {
			end.Failures = []string{machine.ErrorInvalidArgument}
			return end
		}
		end.At = later(at, until)
	}
	return end
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (n *Naive) choice(choice *flow.Choice, input value.Value, at time.Time, next *flow.Step) (End, *flow.Step) {
	branch := choice.Default
	for i := range choice.Branches {
		if choice.Branches[i].Condition.Holds(&expr.Scope{Self: input}) {
			branch = &choice.Branches[i]
			break
		}
	}
	if branch == nil {
		return End{At: at, Local: value.Object()}, next
	}
	if branch.Goto != nil {
		next = branch.Goto
	}
	return n.series(branch.Steps, input, value.Object(), at), next
}

func (n *Naive) parallel(parallel *flow.Parallel, input value.Value, at time.Time) End {
	var lanes []End
	var locals []value.Value
	for _, branch := range parallel.Branches {
		end := n.series(branch, input, value.Object(), at)
		lanes, locals = append(lanes, end), append(locals, end.Local)
	}
	return joined(lanes, locals, at)
}

func (n *Naive) foreach(step *flow.Step, foreach *flow.Foreach, input value.Value, at time.Time) End {
	list := foreach.Collection.Eval(&expr.Scope{Self: input})
	if list.Kind() != value.KindArray {
		return End{At: at, Failures: []string{machine.ErrorInvalidArgument}}
	}
	if n.Lists != nil {
		n.Lists[step.Name] = append(n.Lists[step.Name], list.Len())
	}
	places, ends := make([]End, min(list.Len(), foreach.MaxConcurrency)), make([]value.Value, list.Len())
	for j := range places {
		places[j].At = at
	}
	tolerance := tolerance{most: mostFailed(list.Len(), foreach.Tolerance.Count, foreach.Tolerance.Percentage)}
	for i := range list.Len() {
		place := &places[i%len(places)]
		if !n.FixedParts && i >= len(places) {
			place = firstFree(places)
		}
		if len(place.Failures) > 0 { // no place is left, or its part ends here
			continue
		}
		end := n.series(foreach.Steps, value.Merge(input, item(foreach, list.At(i), i)), value.Object(), place.At)
		if tolerance.tolerates(&end) {
			n.note(step, "failures tolerated")
			end.Local = value.Object(value.Member{Key: "error", Value: value.String(end.Failures[0])}, value.Member{Key: "cause", Value: value.String(unknownCause)})
			if end.Failures = nil; tolerance.isUnclear {
				n.Steps = -1
			}
		}
		place.At, place.Failures, place.Calls, ends[i] = end.At, end.Failures, append(place.Calls, end.Calls...), end.Local
	}
	if tolerance.isExceeded() {
		n.note(step, "tolerance exceeded")
		places = []End{tolerance.exceeded(places, machine.ErrorTolerance)}
	}
	return joined(places, ends, at)
}

// tolerance counts the items of a fork that failed, of which some may fail.
type tolerance struct {
	most      int
	failed    []time.Time
	isUnclear bool // an item had several failures at once
}

// mostFailed returns how many of so many items may fail.
func mostFailed(items int, count *int, percentage *float64) (most int) {
	if count == nil && percentage == nil {
		return 0
	}
	most = items
	if count != nil {
		most = min(most, *count)
	}
	for percentage != nil && float64(most)*100 > *percentage*float64(items) {
		most--
	}
	return most
}

// tolerates notes the end of an item. It reports whether the item failed and does not fail the fork
// by itself.
func (t *tolerance) tolerates(end *End) bool {
	if t.most == 0 || len(end.Failures) == 0 {
		return false
	}
	t.failed = append(t.failed, end.At)
	t.isUnclear = t.isUnclear || len(slices.Compact(slices.Sorted(slices.Values(end.Failures)))) > 1
	return true
}

func (t *tolerance) isExceeded() bool { return len(t.failed) > t.most }

// exceeded returns the end of a fork with a failure too many.
func (t *tolerance) exceeded(places []End, failure string) End {
	slices.SortFunc(t.failed, time.Time.Compare)
	end := End{At: t.failed[t.most], Failures: []string{failure}}
	for _, place := range places {
		end.Calls = append(end.Calls, place.Calls...)
	}
	return end
}

// firstFree returns the place that is free first, and has not failed unless all have.
func firstFree(places []End) *End {
	first := &places[0]
	for i := range places {
		place := &places[i]
		if len(first.Failures) > len(place.Failures) || len(first.Failures) == len(place.Failures) && place.At.Before(first.At) {
			first = place
		}
	}
	return first
}

// until returns the calls of what ends at an instant before its own end.
func until(at time.Time, calls []Call) (made []Call) {
	for _, call := range calls {
		ordered := call.orderedAt()
		call.May = call.May || ordered.Equal(at)
		if !ordered.After(at) {
			made = append(made, call)
		}
	}
	return made
}

// item returns the members that an iteration adds to the input of its foreach.
func item(foreach *flow.Foreach, element value.Value, number int) value.Value {
	members := []value.Member{{Key: foreach.Item, Value: element}}
	if foreach.Index != "" {
		members = append(members, value.Member{Key: foreach.Index, Value: value.Int(int64(number))})
	}
	return value.Object(members...)
}

// joined is the end of a fork with the results of its items: the end of its last lane, or the first
// failure.
func joined(lanes []End, results []value.Value, at time.Time) End {
	all, failed := End{At: at}, false
	for _, lane := range lanes {
		switch {
		case len(lane.Failures) > 0 && (!failed || lane.At.Before(all.At)):
			failed, all.At, all.Failures = true, lane.At, lane.Failures
		case len(lane.Failures) > 0 && lane.At.Equal(all.At):
			all.Failures = append(all.Failures, lane.Failures...)
		case !failed && lane.At.After(all.At):
			all.At = lane.At
		}
	}
	for _, lane := range lanes {
		if failed {
			lane.Calls = until(all.At, lane.Calls)
		}
		all.Calls = append(all.Calls, lane.Calls...)
	}
	if !failed {
		all.Local = value.Array(results...)
	}
	return all
}
