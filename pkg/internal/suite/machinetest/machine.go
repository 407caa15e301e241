package machinetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// NaiveMachine runs state machines as the Amazon States Language describes them. It reads the JSON
// of a definition itself, and runs states recursively on whole values. Of each call it notes the
// instant and the input.
type NaiveMachine struct {
	Epoch   time.Time
	Replies map[string]Reply // by the name of a state
	Name    string           // of the execution
	// Steps may still run. It is negative after a machine that is too long, has too large values,
	// or reads something that is not defined.
	Steps int
	// Seen counts what happened.
	Seen map[string]int
	// Events has the events of each sequence of states that runs once at a time, by the name of the
	// first state.
	Events map[string][]MachineEvent

	first string // state of the machine
	input any    // of the execution
	// isCut says that a fork failed, so other sequences in it may have ended early.
	isCut bool
}

// MachineEvent is an event of an execution of a machine, as Step Functions names it.
type MachineEvent struct{ Type, State string }

const (
	unknownCause  = "?" // of a failure that has no cause in the definition
	severalCauses = "!" // of failures at once, each of which may be reported
)

// scope has the values that a state reads.
type scope struct {
	data any            // "$"
	vars map[string]any // "$name"
	item any            // of the innermost Map, nil outside
	// sequence is the name of the first state beside the state, "" in a Map.
	sequence string
	state    string
	since    time.Time // when the state was entered, or the attempt of a Task began
	retried  int
	isTask   bool
	result   any // of a Task, a Parallel or a Map, for JSONata
	caught   any // the error of an entry of Catch, for JSONata
}

// failure ends a state.
type failure struct{ name, cause string }

// ended is the end of a state or of a sequence of states.
type ended struct {
	End

	output any
	// cause belongs to the only failure.
	cause string
}

func (e *ended) fail(f *failure) { e.Failures, e.cause = []string{f.name}, f.cause }

// Run runs a machine, a definition in JSON.
func (n *NaiveMachine) Run(definition string, input value.Value) End {
	n.Seen, n.Events = map[string]int{}, map[string][]MachineEvent{}
	machine := parsed(definition)
	n.input = parsed(input.JSON())
	n.first = text(machine["StartAt"])
	first := n.first
	n.event(first, "ExecutionStarted", "")
	all := n.states(machine, scope{data: n.input, vars: map[string]any{}, sequence: first}, n.Epoch)
	end := "ExecutionSucceeded"
	if len(all.Failures) > 0 {
		end = "ExecutionFailed"
	}
	n.event(first, end, "")
	all.Local = toJSON(all.output)
	return all.End
}

// Differs returns how an end differs from the wanted one, "" if it does not. It does not compare
// causes that the language leaves open.
func (n *NaiveMachine) Differs(want, got End) string {
	for _, end := range []*End{&want, &got} {
		end.Local, end.Calls = Masked(end.Local), slices.Clone(end.Calls)
		for i := range end.Calls {
			state, input, _ := strings.Cut(end.Calls[i].Text, " ")
			v, err := value.ParseJSON([]byte(input))
			if err != nil {
				return err.Error()
			}
			end.Calls[i].Text = state + " " + Masked(v).JSON()
		}
	}
	return want.Differs(got, n.Epoch)
}

// DiffersInOrder returns how the order of events differs from the wanted one, "" if it does not.
// Without forks it compares all events. Otherwise it compares the entries and exits of states in
// each sequence of states that runs once at a time. They are not defined inside of a failed fork.
func (n *NaiveMachine) DiffersInOrder(events []MachineEvent) string {
	for first, want := range n.Events {
		if n.isCut && first != n.first {
			continue
		}
		var got []MachineEvent
		compared := func(e MachineEvent) bool { return e.Type != "EvaluationFailed" }
		if n.Seen["forks"] > 0 {
			want = slices.DeleteFunc(slices.Clone(want), func(e MachineEvent) bool { return !e.ofState() })
			compared = func(e MachineEvent) bool {
				return slices.ContainsFunc(want, func(w MachineEvent) bool { return w.State == e.State }) && e.ofState()
			}
		}
		for _, e := range events {
			if compared(e) {
				got = append(got, e)
			}
		}
		same := func(a, b MachineEvent) bool { // it is not defined whether a failed function was submitted
			return (a.Type == b.Type || a.Type == "TaskSubmitFailed" && b.Type == "TaskFailed") && (a.State == b.State || !a.ofState())
		}
		if !slices.EqualFunc(got, want, same) {
			return fmt.Sprintf("events of %s: %v, want %v", first, got, want)
		}
	}
	return ""
}

func (e MachineEvent) ofState() bool {
	return strings.HasSuffix(e.Type, "StateEntered") || strings.HasSuffix(e.Type, "StateExited")
}

func parsed(text string) (v map[string]any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err) // of a random machine
	}
	return v
}

func toJSON(v any) value.Value {
	text, err := toValue(v)
	if err != nil {
		panic(err)
	}
	if v == nil {
		return value.Null()
	}
	return text
}

func fromJSON(v value.Value) (out any) {
	if err := json.Unmarshal([]byte(v.JSON()), &out); err != nil {
		panic(err)
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func (n *NaiveMachine) event(sequence, name, state string) {
	if sequence != "" {
		n.Events[sequence] = append(n.Events[sequence], MachineEvent{name, state})
	}
}

func (n *NaiveMachine) giveUp() { n.Steps = -1 }

// states runs the states of a machine, a branch or an iteration.
func (n *NaiveMachine) states(machine map[string]any, s scope, at time.Time) ended {
	all := ended{End: End{At: at}, output: s.data}
	for next := text(machine["StartAt"]); next != ""; {
		if n.Steps--; n.Steps < 0 || toJSON(all.output).Size() > largestValue {
			n.giveUp()
			return all
		}
		state, _ := machine["States"].(map[string]any)[next].(map[string]any)
		s.state, s.data, s.since = next, all.output, all.At
		n.event(s.sequence, text(state["Type"])+"StateEntered", next)
		end, following, assigned := n.state(state, s, all.At)
		all.At, all.Failures, all.cause, all.output = end.At, end.Failures, end.cause, end.output
		all.Calls = append(all.Calls, end.Calls...)
		if len(all.Failures) > 0 || n.Steps < 0 {
			return all
		}
		if text(state["Type"]) != "Fail" {
			n.event(s.sequence, text(state["Type"])+"StateExited", next)
		}
		s.vars = maps.Clone(s.vars)
		maps.Copy(s.vars, assigned)
		next = following
	}
	return all
}

// state runs a state. It returns its end, the next state and the variables that it assigns.
func (n *NaiveMachine) state(state map[string]any, s scope, at time.Time) (end ended, next string, assigned map[string]any) {
	switch text(state["Type"]) {
	case "Task", "Parallel", "Map":
		return n.tries(state, s, at)
	case "Choice":
		return n.choice(state, s, at)
	}
	end.At, next = at, text(state["Next"])
	effective, f := n.begin(state, s)
	if f == nil && text(state["Type"]) == "Wait" {
		end.At, f = n.until(state, s.with(effective), at)
	}
	if f == nil && text(state["Type"]) == "Fail" {
		f = n.failed(state, s)
	}
	if f == nil {
		if result, ok := state["Result"]; ok {
			effective = result
		}
		end.output, assigned, f = n.finish(state, s, effective)
	}
	if f != nil {
		end.fail(f)
	}
	return end, next, assigned
}

// failed returns the failure of a Fail.
func (n *NaiveMachine) failed(state map[string]any, s scope) *failure {
	f := &failure{cmp.Or(text(state["Error"]), "States.Failed"), text(state["Cause"])}
	for field, to := range map[string]*string{"ErrorPath": &f.name, "CausePath": &f.cause} {
		if path, ok := state[field]; ok {
			v, g := n.expression(text(path), s)
			if g != nil {
				return g
			}
			*to = text(v)
		}
	}
	return f
}

// begin returns the effective input of a state.
func (n *NaiveMachine) begin(state map[string]any, s scope) (any, *failure) {
	if isQuery(state) {
		if arguments, ok := state["Arguments"]; ok {
			return n.queried(arguments, s)
		}
		return s.data, nil
	}
	data, f := n.at(state, "InputPath", s, s.data)
	if template, ok := state["Parameters"]; ok && f == nil && text(state["Type"]) != "Map" {
		return n.template(template, s.with(data))
	}
	return data, f
}

// finish returns the output of a state with that result, and the variables that it assigns.
func (n *NaiveMachine) finish(state map[string]any, s scope, result any) (output any, assigned map[string]any, f *failure) {
	if isQuery(state) {
		if hasResult(state) {
			s.result = result
		}
		return n.finishQuery(state, s, result)
	}
	output = result
	switch kind := text(state["Type"]); {
	case hasResult(state) && state["ResultSelector"] != nil:
		output, f = n.template(state["ResultSelector"], s.with(result))
		fallthrough
	case kind == "Pass" || hasResult(state):
		if f == nil {
			output, f = placed(state, "ResultPath", s.data, output)
		}
	}
	if f == nil {
		output, f = n.at(state, "OutputPath", s, output)
	}
	assigned, g := n.assign(state, s.with(result))
	return output, assigned, n.oneOf(f, g)
}

// oneOf returns a failure. If two failures have different names, either may be reported.
func (n *NaiveMachine) oneOf(f, g *failure) *failure {
	if f != nil && g != nil && f.name != g.name {
		n.giveUp()
	}
	return cmp.Or(f, g)
}

func (n *NaiveMachine) assign(state map[string]any, s scope) (map[string]any, *failure) {
	template, ok := state["Assign"]
	if !ok {
		return nil, nil
	}
	v, f := n.template(template, s)
	assigned, _ := v.(map[string]any)
	return assigned, f
}

func (n *NaiveMachine) finishQuery(state map[string]any, s scope, output any) (any, map[string]any, *failure) {
	var f, g *failure
	if template, ok := state["Output"]; ok {
		output, f = n.queried(template, s)
	}
	var assigned any
	if template, ok := state["Assign"]; ok {
		assigned, g = n.queried(template, s)
	}
	variables, _ := assigned.(map[string]any)
	return output, variables, n.oneOf(f, g)
}

func hasResult(state map[string]any) bool {
	return slices.Contains([]string{"Task", "Parallel", "Map"}, text(state["Type"]))
}

func (n *NaiveMachine) until(state map[string]any, s scope, at time.Time) (time.Time, *failure) {
	length := state["Seconds"]
	if path, ok := state["SecondsPath"]; ok {
		v, f := n.path(text(path), s)
		if f != nil {
			return at, f
		}
		length = v
	}
	if isQuery(state) {
		v, f := n.queried(length, s)
		if f != nil {
			return at, f
		}
		length = v
	}
	whole, ok := length.(float64)
	if !ok || whole < 0 || whole != math.Trunc(whole) {
		return at, &failure{errorRuntime, unknownCause}
	}
	return at.Add(seconds(int64(whole))), nil
}

func (n *NaiveMachine) choice(state map[string]any, s scope, at time.Time) (end ended, next string, assigned map[string]any) {
	end.At = at
	effective, f := n.begin(state, s)
	rules, _ := state["Choices"].([]any)
	chosen := map[string]any(nil)
	for _, each := range rules {
		rule, _ := each.(map[string]any)
		var holds bool
		if f == nil && chosen == nil {
			if holds, f = n.holds(rule, s.with(effective)); holds {
				chosen = rule
			}
		}
	}
	next = text(state["Default"])
	ending := maps.Clone(state)
	switch {
	case f != nil:
	case chosen != nil: // its own fields replace those of the state
		next = text(chosen["Next"])
		delete(ending, "Assign")
		delete(ending, "Output")
		for _, key := range []string{"Assign", "Output"} {
			if field, ok := chosen[key]; ok {
				ending[key] = field
			}
		}
	case next == "":
		f = &failure{"States.NoChoiceMatched", unknownCause}
	}
	if f == nil {
		end.output, assigned, f = n.finish(ending, s, effective)
	}
	if f != nil {
		end.fail(f)
	}
	return end, next, assigned
}

// tries makes attempts until one succeeds, or until Retry has no attempt left.
func (n *NaiveMachine) tries(state map[string]any, s scope, at time.Time) (all ended, next string, assigned map[string]any) {
	all.At = at
	retries, _ := state["Retry"].([]any)
	retried := make([]int, len(retries))
	for s.isTask = text(state["Type"]) == "Task"; ; s.retried++ {
		if s.retried > 0 && !s.isTask {
			n.event(s.sequence, text(state["Type"])+"StateStarted", s.state)
		}
		var end ended
		if s.isTask {
			s.since = all.At
		}
		end, assigned = n.attempt(state, s, all.At)
		all.At, all.Failures, all.cause, all.output = end.At, end.Failures, end.cause, end.output
		all.Calls = append(all.Calls, end.Calls...)
		if len(all.Failures) == 0 || n.Steps < 0 {
			return all, text(state["Next"]), assigned
		}
		names := slices.Compact(slices.Sorted(slices.Values(all.Failures)))
		if len(names) > 1 && (len(retries) > 0 || state["Catch"] != nil) {
			n.giveUp() // the first failure decides, and each may be it
			return all, "", nil
		}
		i := slices.IndexFunc(retries, func(entry any) bool { return handles(entry, names[0]) })
		if i < 0 {
			break
		}
		policy, _ := retries[i].(map[string]any)
		if retried[i] == int(number(policy, "MaxAttempts", 3)) {
			break
		}
		n.Seen["tried again "+text(state["Type"])]++
		pause := number(policy, "IntervalSeconds", 1) * math.Pow(number(policy, "BackoffRate", 2), float64(retried[i]))
		all.At = all.At.Add(time.Duration(min(pause, number(policy, "MaxDelaySeconds", math.MaxInt32)) * float64(time.Second)))
		retried[i]++
	}
	return n.caught(state, s, all)
}

func number(object map[string]any, key string, otherwise float64) float64 {
	if v, ok := object[key].(float64); ok {
		return v
	}
	return otherwise
}

const errorRuntime = "States.Runtime"

// handles reports whether an entry of Retry or Catch names a failure.
func handles(entry any, name string) bool {
	fields, _ := entry.(map[string]any)
	names, _ := fields["ErrorEquals"].([]any)
	return name != errorRuntime && (slices.Contains(names, any(name)) || slices.Contains(names, any("States.ALL")) ||
		name != "States.Timeout" && slices.Contains(names, any("States.TaskFailed")))
}

func (n *NaiveMachine) caught(state map[string]any, s scope, failed ended) (end ended, next string, assigned map[string]any) {
	entries, _ := state["Catch"].([]any)
	i := slices.IndexFunc(entries, func(entry any) bool { return handles(entry, failed.Failures[0]) })
	if i < 0 {
		return failed, "", nil
	}
	n.Seen["caught "+text(state["Type"])]++
	entry, _ := entries[i].(map[string]any)
	name, cause := any(failed.Failures[0]), any(failed.cause)
	if cause == any(severalCauses) {
		n.giveUp()
	}
	if name == any("States.Failed") { // a Fail without Error
		if name = nil; cause == any("") {
			cause = nil
		}
	}
	output := any(map[string]any{"Error": name, "Cause": cause})
	s.retried = 0
	var f, g *failure
	if isQuery(state) {
		s.caught = output
		failed.output, assigned, f = n.finishQuery(entry, s, output)
	} else {
		failed.output, f = placed(entry, "ResultPath", s.data, output)
		assigned, g = n.assign(entry, s.with(output))
	}
	failed.Failures = nil
	if f = n.oneOf(f, g); f != nil {
		failed.fail(f)
	}
	return failed, text(entry["Next"]), assigned
}

// attempt makes one attempt of a Task, a Parallel or a Map.
func (n *NaiveMachine) attempt(state map[string]any, s scope, at time.Time) (end ended, assigned map[string]any) {
	end.At = at
	effective, f := n.begin(state, s)
	if f == nil {
		switch text(state["Type"]) {
		case "Task":
			end = n.task(state, s, effective, at)
		case "Parallel":
			end = n.parallel(state, s, effective, at)
		case "Map":
			end, f = n.iterations(state, s, effective, at)
		}
	}
	if f == nil && len(end.Failures) == 0 && n.Steps >= 0 {
		end.output, assigned, f = n.finish(state, s, end.output)
	}
	if f != nil {
		end.fail(f)
	}
	return end, assigned
}

func (n *NaiveMachine) task(state map[string]any, s scope, input any, at time.Time) (end ended) {
	resource, prefix := text(state["Resource"]), "LambdaFunction"
	isInvoke := strings.Contains(resource, ":lambda:invoke")
	if isInvoke {
		prefix = "Task"
		input = input.(map[string]any)["Payload"] //nolint:forcetypeassert // of a random machine
	}
	n.event(s.sequence, prefix+"Scheduled", s.state)
	n.event(s.sequence, prefix+"Started", s.state)
	arg := toJSON(input)
	end.At, end.Calls = at, []Call{{At: at, Text: s.state + " " + Masked(arg).JSON()}}
	outcome := Function(arg, at.Sub(n.Epoch))
	if strings.HasSuffix(resource, ".waitForTaskToken") && !outcome.Failed() {
		n.event(s.sequence, prefix+"Submitted", s.state)
		reply, ok := n.Replies[s.state]
		if limit := number(state, "TimeoutSeconds", 0); limit > 0 && (!ok || reply.After > seconds(int64(limit))) {
			reply = Reply{seconds(int64(limit)), token.Failure("States.Timeout", "")}
		}
		end.At, outcome, isInvoke = at.Add(reply.After), reply.Outcome, false
	}
	switch {
	case outcome.Error == "States.Timeout":
		n.event(s.sequence, prefix+"TimedOut", s.state)
		end.fail(&failure{outcome.Error, unknownCause})
	case outcome.Failed():
		n.event(s.sequence, prefix+"Failed", s.state)
		end.fail(&failure{outcome.Error, outcome.Cause})
	default:
		n.event(s.sequence, prefix+"Succeeded", s.state)
		if end.output = fromJSON(outcome.Output); isInvoke {
			end.output = map[string]any{"ExecutedVersion": "$LATEST", "Payload": end.output, "StatusCode": 200.0}
		}
	}
	return end
}

func (n *NaiveMachine) parallel(state map[string]any, s scope, input any, at time.Time) ended {
	var lanes []ended
	var outputs []any
	branches, _ := state["Branches"].([]any)
	if s.retried == 0 {
		n.event(s.sequence, "ParallelStateStarted", s.state)
	}
	for _, each := range branches {
		branch, _ := each.(map[string]any)
		inner := s.with(input)
		if inner.sequence != "" {
			inner.sequence = text(branch["StartAt"])
		}
		end := n.states(branch, inner.inside(), at)
		lanes, outputs = append(lanes, end), append(outputs, end.output)
	}
	return n.joined(lanes, outputs, s, "Parallel", at)
}

// inside returns the scope of the first state inside of a fork.
func (s scope) inside() scope {
	s.isTask, s.retried, s.result, s.caught = false, 0, nil, nil
	return s
}

func (n *NaiveMachine) joined(lanes []ended, outputs []any, s scope, kind string, at time.Time) (all ended) {
	ends := make([]End, len(lanes))
	for i, lane := range lanes {
		ends[i] = lane.End
	}
	all.End, all.output = joined(ends, nil, at), outputs
	causes := map[string]bool{}
	for _, lane := range lanes {
		if len(lane.Failures) > 0 && lane.At.Equal(all.At) {
			causes[lane.cause], all.cause = true, lane.cause
		}
	}
	if len(causes) > 1 {
		all.cause = severalCauses
	}
	if len(outputs) == 0 {
		all.output = []any{}
	}
	suffix := "Succeeded"
	if len(all.Failures) > 0 {
		suffix, n.isCut = "Failed", true
	}
	n.event(s.sequence, kind+"State"+suffix, s.state)
	n.Seen["forks"]++
	return all
}

func (n *NaiveMachine) iterations(state map[string]any, s scope, input any, at time.Time) (ended, *failure) {
	list, f := n.items(state, s, input)
	if f != nil {
		return ended{End: End{At: at}}, f
	}
	if s.retried == 0 {
		n.event(s.sequence, "MapStateStarted", s.state)
	}
	most, f := n.atOnce(state, s.with(input))
	if f != nil {
		return ended{End: End{At: at}}, f
	}
	tolerance, f := n.tolerance(state, s.with(input), len(list))
	if f != nil {
		return ended{End: End{At: at}}, f
	}
	places, outputs := make([]ended, min(len(list), most)), make([]any, len(list))
	ends := make([]End, len(places))
	for i := range places {
		places[i].At, ends[i].At = at, at
	}
	processor, _ := state["ItemProcessor"].(map[string]any)
	outer := s.sequence
	for i, item := range list {
		place := &ends[i%len(places)]
		if i >= len(places) {
			place = firstFree(ends)
		}
		if len(place.Failures) > 0 {
			continue
		}
		inner := s.with(item.input)
		inner.item, inner.sequence = map[string]any{"Index": float64(i), "Value": item.value}, ""
		end := n.states(processor, inner.inside(), place.At)
		if tolerance.tolerates(&end.End) {
			n.Seen["failures tolerated"]++
			end.output = map[string]any{"Error": end.Failures[0], "Cause": end.cause}
			if end.Failures = nil; tolerance.isUnclear || end.cause == severalCauses {
				n.giveUp()
			}
		}
		place.At, place.Failures, place.Calls, outputs[i] = end.At, end.Failures, append(place.Calls, end.Calls...), end.output
		for j := range ends {
			if &ends[j] == place {
				places[j].cause = end.cause
			}
		}
	}
	for i := range places {
		places[i].End = ends[i]
	}
	if tolerance.isExceeded() {
		n.Seen["tolerance exceeded"]++
		places = []ended{{End: tolerance.exceeded(ends, errorTolerance), cause: unknownCause}}
	}
	s.sequence = outer
	return n.joined(places, outputs, s, "Map", at), nil
}

// atOnce returns how many iterations of a Map run at once.
func (n *NaiveMachine) atOnce(state map[string]any, s scope) (int, *failure) {
	most := state["MaxConcurrency"]
	if path, ok := state["MaxConcurrencyPath"]; ok {
		var f *failure
		if most, f = n.path(text(path), s); f != nil {
			return 0, f
		}
	}
	whole, isNumber := most.(float64)
	if most != nil && (!isNumber || whole < 0) {
		return 0, &failure{errorRuntime, unknownCause}
	}
	return cmp.Or(int(whole), 40), nil //nolint:mnd // the default
}

const errorTolerance = "States.ExceedToleratedFailureThreshold"

// tolerance returns how many iterations of a Map may fail.
func (n *NaiveMachine) tolerance(state map[string]any, s scope, items int) (t tolerance, f *failure) {
	most := state["ToleratedFailureCount"]
	if path, ok := state["ToleratedFailureCountPath"]; ok {
		if most, f = n.path(text(path), s); f != nil {
			return t, f
		}
		if whole, isNumber := most.(float64); !isNumber || whole < 0 || whole != math.Trunc(whole) {
			return t, &failure{errorRuntime, unknownCause}
		}
	}
	var count *int
	if whole, ok := most.(float64); ok {
		count = new(int(whole))
	}
	var percentage *float64
	if share, ok := state["ToleratedFailurePercentage"].(float64); ok {
		percentage = &share
	}
	t.most = mostFailed(items, count, percentage)
	return t, nil
}

type mapItem struct{ value, input any }

// items returns the items of a Map with the inputs of their iterations.
func (n *NaiveMachine) items(state map[string]any, s scope, input any) ([]mapItem, *failure) {
	var list any
	var f *failure
	if isQuery(state) {
		list = s.data
		if items, ok := state["Items"]; ok {
			list, f = n.queried(items, s)
		}
	} else {
		list, f = n.at(state, "ItemsPath", s.with(input), input)
	}
	elements, ok := list.([]any)
	if f == nil && !ok {
		name := errorRuntime
		if isQuery(state) {
			name = errorQuery
		}
		f = &failure{name, unknownCause}
	}
	if f != nil {
		return nil, f
	}
	items := make([]mapItem, len(elements))
	for i, element := range elements {
		items[i] = mapItem{element, element}
		selector, ok := state["ItemSelector"]
		if !ok {
			continue
		}
		inner := s.with(input)
		inner.item = map[string]any{"Index": float64(i), "Value": element}
		if isQuery(state) {
			items[i].input, f = n.queried(selector, inner)
		} else {
			items[i].input, f = n.template(selector, inner)
		}
		if f != nil {
			return nil, f
		}
	}
	return items, nil
}
