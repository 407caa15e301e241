// Package flowtest runs flows in tests: in memory, in virtual time, with stand-ins for functions
// and scripted outcomes for callbacks and jobs. Waits of days take microseconds, and a test has the
// same result each time.
//
//	result, err := flowtest.Test{
//		Flow:    definition,
//		Input:   map[string]any{"order": 7},
//		Answers: []flowtest.Answer{{Step: "Approve", After: 2 * time.Hour, Output: map[string]any{"approved": true}}},
//	}.Run(t.Context())
//
// `waitless test` runs such tests from YAML files; see [ParseFile].
//
// This package may change between releases.
package flowtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/objects"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Test is one execution of a flow, with the replies and events that it gets.
type Test struct {
	// Flow is the definition, and Name its name, "" for the one in the definition or "flow".
	Flow []byte
	Name string
	// Subflows are the definitions of the flows that it starts, by name.
	Subflows map[string][]byte
	// Input is encoded as JSON; nil is an object without members.
	Input any
	// Now is when the execution starts; the zero instant is [DefaultNow].
	Now time.Time
	// Functions stand for functions, by FUNCTION or SERVICE/FUNCTION, or by the name of a step,
	// which takes precedence. Others are the built-in ones: StartJob, GetJobStatus, echo. A call of
	// any other ends the test.
	Functions map[string]Function
	// Actions are the actions with simulated jobs: "batch:SubmitJob". The jobs' ends come from
	// Events, or from the simulation.
	Actions []string
	// Objects are the objects of S3 that Maps of a machine read, by "BUCKET/KEY".
	Objects map[string]string
	// Kinds has the events of custom kinds.
	Kinds jobs.Table
	// Check returns mistakes in the flow or a sub-flow that package fdl cannot find; nil finds
	// none. Errors of sub-flows end the test, too.
	Check func(*flow.Flow) flow.Problems
	// Answers and Events are outcomes of callbacks and events of jobs.
	Answers []Answer
	Events  []Event
	// Files has the events that are named by a file; nil for none.
	Files fs.FS

	place func(list string, entry int, field string) string // in a file of tests; nil for a test of a program
}

// DefaultNow is when executions start.
var DefaultNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Function is a stand-in. The result is encoded as JSON and must be an object. An [*Error] is an
// exception of the function; any other error ends the test.
type Function func(Call) (any, error)

// Call is a call of a function.
type Call struct {
	Step     string
	Function string
	At       time.Time
	Input    json.RawMessage
}

// Error is an error of a function, which a flow can retry or catch by its name. A name that begins
// with "FC.", or is "FnF.TaskTimeout", stands for a failed call: a function cannot throw it as an
// exception.
type Error struct{ Name, Cause string }

func (e *Error) Error() string { return e.Name + ": " + e.Cause }

// Answer is the outcome of one attempt of a step that waits for a callback. The first answer of a
// step belongs to its first attempt.
type Answer struct {
	// Step may have the indices of iterations: "Approve[2]".
	Step string
	// After is the time from the submission of the task.
	After time.Duration
	// Output is the output of a success: an object, or of a state of a machine any value. Null is
	// json.RawMessage("null"). With Error the answer is a failure.
	Output       any
	Error, Cause string
	// Choice is the label of a choice of the step, in place of Output.
	Choice string
	// Heartbeats come these times after the submission. An answer with heartbeats alone never
	// closes the token.
	Heartbeats []time.Duration
}

// Event is an event of a job, as EventBridge delivers it, or the name of a file in Files.
type Event struct {
	Step  string
	After time.Duration // from the start of the job
	Event any
}

// Result is how an execution ended.
type Result struct {
	Status       machine.Status
	Output       json.RawMessage // nil for a failure
	Error, Cause string
	Elapsed      time.Duration
	// Calls are the calls of functions, in their order.
	Calls []Call
	// Waits is the step for which the execution waits if nothing is left that could end it; its
	// Status is then Running.
	Waits string
	// UnusedAnswers are the answers that no step waited for.
	UnusedAnswers []string
	// Objects are the objects of S3 at the end.
	Objects map[string]string
	// History is the history of the execution.
	History []machine.HistoryEvent
	// Covered has the steps and branches that the execution went through. CoveredSubflows has the
	// same for each started sub-flow, by name.
	Covered         Coverage
	CoveredSubflows map[string]Coverage
}

// Count returns how often the step was called.
func (r Result) Count(step string) (n int) {
	for _, call := range r.Calls {
		if call.Step == step {
			n++
		}
	}
	return n
}

// Run runs the test. The error describes a mistake in the test; a failure of the execution is a
// result.
func (t Test) Run(ctx context.Context) (Result, error) {
	r := t.newRun()
	input, err := r.prepare()
	if err != nil {
		return Result{}, t.placed(err)
	}
	for name, text := range r.Subflows {
		if _, err := r.system.Client.PutFlow(ctx, name, text); err != nil {
			return Result{}, err
		}
	}
	ref, err := r.system.Client.PutFlow(ctx, r.name(), r.Flow)
	if err != nil {
		return Result{}, err
	}
	if _, err := r.system.Start(ctx, engine.StartRequest{Flow: ref, Execution: execution, Input: input}); err != nil {
		return Result{}, err
	}
	if err := r.system.Run(ctx); err != nil {
		return Result{}, t.placed(err)
	}
	return r.result(ctx, engine.NewID(ref.Name, execution))
}

func (t Test) newRun() *run {
	clock := local.NewVirtualClock(cmp.Or(t.Now, DefaultNow))
	return &run{Test: t, objects: objects.NewMemory(t.Objects), executions: map[string]map[engine.ID]bool{}, unknown: map[string]bool{}, clock: clock}
}

// execution is the name of each execution.
const execution = "test"

// run is a test that runs.
type run struct {
	Test
	objects *objects.Memory
	clock   *local.Clock
	flow    *flow.Flow
	all     *flow.Flow // has the steps of all flows of the test
	system  *local.System
	builtIn *local.Functions
	unknown map[string]bool // functions that are neither stand-ins nor built in

	mu         sync.Mutex
	calls      []Call
	executions map[string]map[engine.ID]bool // by the names of their flows
	err        error                         // the first of a stand-in
}

func (r *run) prepare() (input value.Value, err error) {
	var problems flow.Problems
	if r.flow, problems = language.Parse(r.Flow, r.Check); r.flow == nil {
		var lines []string
		for _, p := range problems.Errors() {
			lines = append(lines, p.Format(cmp.Or(r.Name, "flow")))
		}
		return input, fmt.Errorf("the flow is not valid:\n%s", strings.Join(lines, "\n"))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Subflows)) {
		if _, _, err := engine.ParseFlow(name, r.Subflows[name], r.Check); err != nil {
			return input, err
		}
	}
	r.all = r.withSubflows()
	script, wrong := r.script()
	tasks, err := r.tasks()
	if err = errors.Join(r.placed(wrong), err); err != nil {
		return input, err
	}
	r.system = local.New(local.Config{
		Store: &store.Memory{}, Clock: r.clock, Functions: tasks, Kinds: r.Kinds, Observer: r, Script: script, CallbackBase: "http://127.0.0.1:8787",
	})
	return inputOf(r.Input)
}

// name returns the name of the flow.
func (r *run) name() string { return cmp.Or(r.Name, r.flow.Name, "flow") }

func inputOf(input any) (value.Value, error) {
	if input == nil {
		return value.Object(), nil
	}
	text, err := json.Marshal(input)
	if err != nil {
		return value.Value{}, fmt.Errorf("input: %w", err)
	}
	return value.ParseJSON(text)
}

// script encodes answers and events as the script that a simulated run reads.
func (r *run) script() (*local.Script, error) {
	lists := map[string][]any{}
	for _, a := range r.Answers {
		entry := map[string]any{"step": a.Step, "afterSeconds": a.After.Seconds(), "error": a.Error, "cause": a.Cause, "choice": a.Choice}
		if a.Output != nil {
			entry["output"] = a.Output
		}
		var heartbeats []float64
		for _, after := range a.Heartbeats {
			heartbeats = append(heartbeats, after.Seconds())
		}
		entry["heartbeats"] = heartbeats
		lists["answers"] = append(lists["answers"], entry)
	}
	for _, e := range r.Events {
		lists["events"] = append(lists["events"], map[string]any{"step": e.Step, "afterSeconds": e.After.Seconds(), "event": e.Event})
	}
	text, err := json.Marshal(lists)
	if err != nil {
		return nil, err
	}
	script, err := local.ParseScript(text, r.Files)
	if err != nil {
		return nil, err
	}
	return script, script.CheckSteps(r.all)
}

// placed returns an error of an entry with its place in the file of tests.
func (t Test) placed(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all error
		for _, one := range several.Unwrap() {
			all = errors.Join(all, t.placed(one))
		}
		return all
	}
	wrong, ok := errors.AsType[*local.ScriptError](err)
	switch {
	case !ok:
		return err
	case t.place == nil:
		return fmt.Errorf("%s %d: %s", strings.TrimSuffix(wrong.List, "s"), wrong.Entry+1, wrong.Why)
	}
	return fmt.Errorf("%s: %s", t.place(wrong.List, wrong.Entry, wrong.Field), wrong.Why)
}

// withSubflows is a flow with the steps of all flows of the test.
func (r *run) withSubflows() *flow.Flow {
	all := &flow.Flow{All: r.flow.All, Values: r.flow.Values, IsMachine: r.flow.IsMachine}
	for _, text := range r.Subflows {
		if flow, _ := language.Parse(text); flow != nil { // an invalid flow is reported when it is put
			all.All = slices.Concat(all.All, flow.All)
		}
	}
	return all
}

// tasks are the stand-ins, by the names of their functions.
func (r *run) tasks() (tasks *local.Functions, err error) {
	if r.builtIn, err = local.NewFunctions(r.clock, nil); err != nil {
		return nil, err
	}
	actions := map[string]string{}
	for _, action := range r.Actions {
		if _, ok := jobs.ForAction(action); !ok {
			var names []string
			for _, kind := range r.Kinds.Kinds() {
				if kind.StartOp != "" {
					names = append(names, kind.Action())
				}
			}
			return nil, fmt.Errorf("actions: %q starts no job and sends no message%s; the stand-in for an operation is one of functions",
				action, similar.DidYouMean(action, names))
		}
		actions[action] = "simulated"
	}
	if tasks, err = local.NewFunctions(r.clock, actions); err != nil {
		return nil, err
	}
	tasks.AddObjects(r.objects)
	used := map[string]bool{}
	for step, task := range r.all.Tasks() {
		if task.Resource.Kind != "" && task.Resource.Sync() == "" || task.Resource.Subflow {
			continue
		}
		for _, name := range append([]string{step.Name}, local.TaskNames(task.Resource)...) {
			if r.Functions[name] != nil {
				used[name] = true
				tasks.AddFunction(local.TaskNames(task.Resource)[0], r.call)
			}
		}
	}
	err = r.unused(used)
	for _, missing := range tasks.Resolve(r.flow) {
		if unknown, ok := errors.AsType[*local.UnknownFunctionError](missing); ok && unknown.IsAction {
			err = errors.Join(err, fmt.Errorf("step %s: the test does not have the action %q; write actions: [%q]", unknown.Step, unknown.Function, unknown.Function))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, missing := range tasks.Resolve(r.all) {
		if unknown, ok := errors.AsType[*local.UnknownFunctionError](missing); ok && !unknown.IsAction {
			tasks.AddFunction(unknown.Function, r.call)
			r.unknown[unknown.Function] = true
		}
	}
	return tasks, nil
}

// unused returns an error for the stand-ins that no step can call.
func (r *run) unused(used map[string]bool) (err error) {
	for _, name := range slices.Sorted(maps.Keys(r.Functions)) {
		if used[name] {
			continue
		}
		var names []string
		var why error
		for step, task := range r.all.Tasks() {
			ofTask := append([]string{step.Name}, local.TaskNames(task.Resource)...)
			action := local.TaskName(task.Resource)
			switch {
			case !slices.Contains(ofTask, name):
			case task.Resource.Subflow:
				why = fmt.Errorf("functions: step %s starts an execution, which no function stands for; name the file of its flow below subflows", step.Name)
			case task.Resource.Kind != "" && task.Resource.Sync() == "":
				why = fmt.Errorf("functions: %q is or has the action %q, which no function stands for; write actions: [%q]", name, action, action)
			}
			names = append(names, ofTask...)
		}
		if why == nil {
			why = fmt.Errorf("functions: the flow has neither a function nor a step %q%s", name, similar.DidYouMean(name, names))
		}
		err = errors.Join(err, why)
	}
	return err
}

// call makes a call of a stand-in: the step's stand-in, or else the function's, or else the
// built-in function.
func (r *run) call(call machine.Call) token.Outcome {
	for _, name := range append([]string{call.Step}, local.TaskNames(call.Resource)...) {
		f := r.Functions[name]
		if f == nil {
			continue
		}
		result, err := f(r.callOf(call))
		if thrown, ok := errors.AsType[*Error](err); ok {
			if strings.HasPrefix(thrown.Name, "FC.") || thrown.Name == machine.ErrorTaskTimeout || call.Resource.Operation != "" {
				return token.Failure(thrown.Name, thrown.Cause)
			}
			return token.Thrown(thrown.Name, thrown.Cause)
		}
		text, encoding := json.Marshal(result)
		if err = errors.Join(err, encoding); err != nil {
			return r.fail(fmt.Errorf("the stand-in for step %s: %w", call.Step, err))
		}
		return engine.ParseReply(text, "the stand-in for step "+call.Step)
	}
	name := local.TaskNames(call.Resource)[0]
	outcome, err := r.builtIn.Call(context.Background(), call)
	if err == nil && outcome.Error != token.ErrorFunctionNotFound && !r.unknown[name] {
		return outcome
	}
	return r.fail(fmt.Errorf("step %s calls %s, for which the test has no stand-in; add it to functions", call.Step, name))
}

// fail ends the test with an error.
func (r *run) fail(err error) token.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	return token.Failure(token.ErrorFunction, err.Error())
}

func (r *run) callOf(call machine.Call) Call {
	return Call{Step: call.Step, Function: local.TaskName(call.Resource), At: r.clock.Now(), Input: call.Input.AppendJSON(nil)}
}

// Calling implements [engine.Observer].
func (r *run) Calling(call machine.Call, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if call.Resource.Operation != "" || call.Resource.Sync() != "" { // as a runner gets it
		call.Input = call.Input.Get("params")
	}
	r.calls = append(r.calls, r.callOf(call))
}

// Committed implements [engine.Observer].
func (r *run) Committed(id engine.ID, state machine.State, _ []machine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if state.Lane != nil {
		return // of an execution that was seen
	}
	if r.executions[state.Flow.Name] == nil {
		r.executions[state.Flow.Name] = map[engine.ID]bool{}
	}
	r.executions[state.Flow.Name][id] = true
}

func (r *run) result(ctx context.Context, id engine.ID) (Result, error) {
	state, err := r.system.Client.Describe(ctx, id)
	if err == nil {
		err = r.err
	}
	if err != nil {
		return Result{}, err
	}
	result := Result{
		Status: state.Status, Error: state.Error, Cause: state.Cause, Elapsed: state.At.Sub(state.Started), Calls: r.calls, UnusedAnswers: r.system.UnusedAnswers(),
	}
	result.Objects = r.objects.Texts()
	if !state.Output.IsMissing() {
		result.Output = state.Output.AppendJSON(nil)
	}
	if w := state.Waiting; w != nil && !state.Status.Final() {
		result.Waits = r.flow.All[w.Attempt.Step].Name
	}
	events, err := r.system.Client.History(ctx, id)
	for _, event := range events {
		result.History = append(result.History, event.Render(r.flow))
	}
	if err != nil {
		return result, err
	}
	if result.Covered, err = r.covered(ctx, r.name(), r.flow); err != nil {
		return result, err
	}
	result.CoveredSubflows = map[string]Coverage{}
	for name, text := range r.Subflows {
		flow, _ := language.Parse(text) // was put
		if result.CoveredSubflows[name], err = r.covered(ctx, name, flow); err != nil {
			return result, err
		}
	}
	return result, nil
}

// covered returns the coverage of all executions of a flow.
func (r *run) covered(ctx context.Context, name string, flow *flow.Flow) (Coverage, error) {
	all := covered(flow, nil)
	for id := range r.executions[name] {
		events, err := r.system.Client.History(ctx, id)
		if err != nil {
			return all, err
		}
		all = all.And(covered(flow, events))
	}
	return all, nil
}
