package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Error names of calls, as the vendor's or, where those are unknown, ours.
const (
	// ErrorFunction: the function was called and failed.
	ErrorFunction = token.ErrorFunction
	// ErrorFunctionNotFound: there is no such function.
	ErrorFunctionNotFound = "FC.FunctionNotFound"
	// ErrorTimeout: the function did not answer in time.
	ErrorTimeout = "FnF.TaskTimeout"
	// ErrorNoJSON: the function answered with something else than JSON.
	ErrorNoJSON = machine.ErrorInvalidLocal
)

// Tasks calls functions by their name: the user's commands first, then the
// functions that are built in. It implements [engine.Tasks]. Resources of any
// region, account, service and qualifier are looked up by the function's name.
type Tasks struct {
	clock    *Clock
	commands map[string]command
	// providers are who stands behind the kinds of jobs.
	providers map[string]provider
	system    *System // whose jobs are started, nil for none
}

// NewTasks makes a table from definitions: "exec:./check.sh --fast" by function
// name, "simulated" or "aws" by action. The error names each definition that is
// not usable.
func NewTasks(clock *Clock, definitions map[string]string) (*Tasks, error) {
	t := &Tasks{clock: clock, commands: make(map[string]command, len(definitions)), providers: map[string]provider{}}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if err := t.define(name, definitions[name]); err != nil {
			problems = append(problems, fmt.Errorf("task %s: %w", name, err))
		}
	}
	return t, errors.Join(problems...)
}

func (t *Tasks) define(name, definition string) error {
	if kind, ok := jobs.ForAction(name); ok {
		switch who := provider(definition); who {
		case providerSimulated, providerAWS:
			t.providers[kind.Name] = who
			return nil
		}
		return fmt.Errorf("%q is not usable for an action; allowed: simulated, aws", definition)
	}
	c, err := parseCommand(definition)
	if err == nil {
		t.commands[name] = c
	}
	return err
}

// provider says who stands behind a kind of jobs, "" for nobody.
func (t *Tasks) provider(kind string) provider { return t.providers[kind] }

// NeedAWS reports whether jobs are started on AWS.
func (t *Tasks) NeedAWS() bool {
	return slices.Contains(slices.Collect(maps.Values(t.providers)), providerAWS)
}

// TaskName is what a definition calls the function of a resource, or the action
// that starts a job: "batch:SubmitJob".
func TaskName(resource fdl.Resource) string {
	if kind, ok := jobs.Find(resource.Kind); ok {
		return action(kind)
	}
	return resource.Function
}

func action(kind jobs.Kind) string { return kind.Service + ":" + kind.Start }

// Resolve finds the tasks of a flow whose function nobody provides: an error a
// function, with the step that calls it first.
func (t *Tasks) Resolve(flow *fdl.Flow) []error {
	var missing []error
	seen := map[string]bool{}
	for _, step := range flow.All {
		task, ok := step.Kind.(*fdl.Task)
		if !ok || t.knows(task.Resource) {
			continue
		}
		name := TaskName(task.Resource)
		if seen[name] {
			continue
		}
		seen[name] = true
		missing = append(missing, &UnknownFunctionError{
			Function: name, IsAction: task.Resource.Kind != "", Step: step.Name, Position: step.Position, Known: t.names(),
		})
	}
	return missing
}

func (t *Tasks) knows(resource fdl.Resource) bool {
	if resource.Kind != "" {
		return t.provider(resource.Kind) != ""
	}
	_, isCommand := t.commands[resource.Function]
	_, isBuiltIn := simulated.Lookup(resource.Function)
	return isCommand || isBuiltIn
}

func (t *Tasks) names() []string {
	names := slices.Concat(slices.Collect(maps.Keys(t.commands)), simulated.Names())
	slices.Sort(names)
	return slices.Compact(names)
}

// UnknownFunctionError says that a flow calls a function that nobody provides.
type UnknownFunctionError struct {
	Function string
	IsAction bool         // it is one, and starts a job
	Step     string       // the first step that calls it
	Position fdl.Position // of that step
	Known    []string     // the functions that there are
}

func (e *UnknownFunctionError) Error() string {
	if e.IsAction {
		return fmt.Sprintf("step %s starts a job by %q, and nobody says who stands behind that here (simulated or aws)", e.Step, e.Function)
	}
	return fmt.Sprintf("step %s calls function %q, which nobody provides%s (known: %s)",
		e.Step, e.Function, fdl.DidYouMean(e.Function, e.Known), strings.Join(e.Known, ", "))
}

// TimeLimits implements [engine.Tasks]: a command may take long, what is built
// in does not.
func (t *Tasks) TimeLimits(_ context.Context, flow *fdl.Flow) (map[string]time.Duration, error) {
	var limits map[string]time.Duration
	for _, step := range flow.All {
		task, ok := step.Kind.(*fdl.Task)
		if !ok {
			continue
		}
		if c, ok := t.commandOf(task.Resource); ok {
			if limits == nil {
				limits = make(map[string]time.Duration)
			}
			limits[task.Resource.Text] = c.limit
		}
	}
	return limits, nil
}

// commandOf is the user's command in the place of a function; none stands for
// the one that starts the job of an action.
func (t *Tasks) commandOf(resource fdl.Resource) (command, bool) {
	if resource.Kind != "" {
		return command{}, false
	}
	c, ok := t.commands[resource.Function]
	return c, ok
}

// Call implements [engine.Tasks].
func (t *Tasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if c, ok := t.commandOf(call.Resource); ok {
		return c.call(ctx, call, t.clock.Now())
	}
	function, ok := simulated.Lookup(call.Resource.Function)
	if !ok {
		return token.Failure(ErrorFunctionNotFound, (&UnknownFunctionError{
			Function: call.Resource.Function, Step: call.Step, Known: t.names(),
		}).Error()), nil
	}
	input := []byte(call.Input.JSON())
	if t.system != nil && !call.Input.Get("kind").IsMissing() {
		if ofJobs := t.system.jobFunction(call.Resource.Function); ofJobs != nil {
			return callJobs(ctx, call, ofJobs, input)
		}
	}
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	answer, err := function(input, t.clock.Now(), random)
	if err != nil {
		return thrown(call, simulated.ErrorName(err), err.Error()), nil
	}
	return engine.ParseAnswer(answer, "function "+call.Resource.Function), nil
}
