package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/objects"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Functions calls functions by their names: runners that the user defined, then built-in functions.
// It implements [engine.Caller]. Resources of any region, account and qualifier are looked up by
// "service/function", then by the name of the function alone.
type Functions struct {
	clock   *Clock
	runners map[string]runner
	// providers are the providers of kinds of jobs.
	providers map[string]provider
	// callJobs calls functions that start or describe jobs of services; nil means there are none.
	callJobs func(context.Context, machine.Call) (outcome token.Outcome, ok bool, err error)
	// endJob closes the token of a call that starts a job with the result of a runner.
	endJob func(ctx context.Context, token string, outcome token.Outcome) (token.Outcome, error)
	// callOperation calls operations of services on AWS; nil means there are none.
	callOperation func(ctx context.Context, input []byte) (output []byte, err error)
	output        func(machine.Call, string)
}

// NewFunctions returns functions with these definitions: "exec:./check.sh --fast",
// "https://example.com/check" or "lambda:check" by the name of a function or the action of an
// operation, "simulated" by the action of jobs, "aws" by any action. The error names each invalid
// definition.
func NewFunctions(clock *Clock, definitions map[string]string) (*Functions, error) {
	t := &Functions{clock: clock, runners: make(map[string]runner, len(definitions)), providers: map[string]provider{}}
	return t, t.Add("", definitions)
}

// Add adds definitions as [NewFunctions] does. Relative paths begin at dir, and commands run there;
// "" means the working directory.
func (t *Functions) Add(dir string, definitions map[string]string) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if err := t.define(name, definitions[name], dir); err != nil {
			problems = append(problems, fmt.Errorf("task %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func (t *Functions) define(name, definition, dir string) error {
	kind, ok := jobs.ForAction(name)
	base, isSync := strings.CutSuffix(name, flow.SyncSuffix)
	if isSync && (definition == string(providerSimulated) || definition == string(providerAWS)) {
		kind, _, ok = jobs.ForIntegration(base)
	}
	if ok {
		switch who := provider(definition); who {
		case providerSimulated, providerAWS:
			t.providers[kind.Name] = who
			return nil
		case providerRunner: // which no definition names
		}
		if kind.Custom() { // a runner starts, describes and stops its jobs
			r, err := parseRunner(definition, dir)
			if err != nil {
				return fmt.Errorf("%w, simulated, aws", err)
			}
			t.runners[name], t.providers[name] = r, providerRunner
			return nil
		}
		return fmt.Errorf("%q is not usable for an action%s; allowed: simulated, aws", Hidden(definition),
			similar.DidYouMean(definition, []string{string(providerSimulated), string(providerAWS)}))
	}
	resource, _ := fdl.ParseResource(name)
	switch {
	case definition == string(providerSimulated):
		return notSimulated(name, resource)
	case (resource.Operation != "" || flow.IsIntegration(name) || name == flow.Objects) && definition == string(providerAWS):
		t.runners[name] = operationOnAWS{}
		return nil
	case name == flow.Objects:
		path, ok := strings.CutPrefix(definition, "dir:")
		if !ok || path == "" {
			return fmt.Errorf("%q is not usable for objects of S3; allowed: dir:FOLDER, with a folder for each bucket, or aws", Hidden(definition))
		}
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		t.AddObjects(objects.Folder(path))
		return nil
	}
	r, err := parseRunner(definition, dir)
	if err == nil {
		t.runners[name] = r
	}
	return err
}

// notSimulated returns the error for a name that is not an action of jobs.
func notSimulated(name string, resource flow.Resource) error {
	var actions []string
	for _, kind := range jobs.Kinds() {
		if kind.StartOp != "" {
			actions = append(actions, kind.Action())
		}
	}
	meant := similar.DidYouMean(name, actions)
	if resource.Operation != "" && meant == "" {
		return fmt.Errorf("operation %q is not simulated; allowed: aws, exec:COMMAND, http(s)://HOST/PATH, lambda:FUNCTION", name)
	}
	return fmt.Errorf("%q is no action that starts a job%s; see waitless jobs list", name, meant)
}

// AddFunction makes a function of this process the runner of a function. It returns at once, so a
// worker awaits it: with one worker, the calls have one order.
func (t *Functions) AddFunction(name string, call func(machine.Call) token.Outcome) {
	t.runners[name] = inProcess(call)
}

// inProcess is the runner of a function of this process.
type inProcess func(machine.Call) token.Outcome

func (f inProcess) call(_ context.Context, call machine.Call, _ time.Time) (token.Outcome, error) {
	return f(call), nil
}

func (inProcess) timeLimit(context.Context) time.Duration { return 0 }

// With returns the tasks with these Lambda functions.
func (t *Functions) With(lambdas Lambdas) *Functions {
	of := *t
	of.runners = make(map[string]runner, len(t.runners))
	for name, r := range t.runners {
		if f, ok := r.(*lambdaFunction); ok {
			r = &lambdaFunction{f.name, f.endpoint, lambdas.Lambda(f.name, f.endpoint)}
		}
		of.runners[name] = r
	}
	return &of
}

// NeedLambdas reports whether Lambda functions are called, and whether one of
// them is on AWS, and not at an endpoint of its own.
func (t *Functions) NeedLambdas() (any, onAWS bool) {
	for _, r := range t.runners {
		if f, ok := r.(*lambdaFunction); ok {
			any, onAWS = true, onAWS || f.endpoint == ""
		}
	}
	return any, onAWS
}

// NeedRegion reports whether a region of AWS is required: for jobs, and for functions without an
// ARN.
func (t *Functions) NeedRegion() bool {
	return t.NeedAWS() || slices.ContainsFunc(slices.Collect(maps.Values(t.runners)), func(r runner) bool {
		f, ok := r.(*lambdaFunction)
		return ok && f.endpoint == "" && !strings.HasPrefix(f.name, "arn:")
	})
}

// provider returns the provider of a kind of jobs, "" for none. No tasks have none.
func (t *Functions) provider(kind string) provider {
	if t == nil {
		return ""
	}
	return t.providers[kind]
}

// NeedAWS reports whether jobs are started, or operations called, on AWS.
func (t *Functions) NeedAWS() bool {
	return t.NeedJobs() || slices.Contains(slices.Collect(maps.Values(t.runners)), runner(operationOnAWS{}))
}

// NeedJobs reports whether jobs are started on AWS.
func (t *Functions) NeedJobs() bool {
	return slices.Contains(slices.Collect(maps.Values(t.providers)), providerAWS)
}

// TaskName returns the name of a resource's function in definitions, or the action that starts a
// job or is an operation: "batch:SubmitJob".
func TaskName(resource flow.Resource) string {
	if resource.Operation != "" {
		return resource.Operation
	}
	if kind, ok := jobs.Find(resource.Kind); ok {
		return action(kind)
	}
	return resource.Function
}

// TaskNames returns all names of a resource in definitions, the preferred one first. A queue, a
// topic and the job of a machine also have their own names, and a function of a service
// "service/function".
func TaskNames(resource flow.Resource) []string {
	switch {
	case resource.Service != "":
		return []string{resource.Service + "/" + resource.Function, resource.Function}
	case resource.Kind == "": // a search of the kinds of jobs takes longer than a call of a built-in function
		return []string{TaskName(resource)}
	}
	if name := resource.Sync(); name != "" {
		return []string{name, TaskName(resource)}
	}
	if place, ok := jobs.MessagePlace(resource.Text); ok {
		return []string{place, TaskName(resource)}
	}
	return []string{TaskName(resource)}
}

// Ambiguous returns the functions of a flow that several services have, with their names: "run"
// with "s1/run" and "s2/run".
func Ambiguous(flow *flow.Flow) map[string][]string {
	of := map[string][]string{}
	for _, task := range flow.Tasks() {
		if task.Resource.Service == "" {
			continue
		}
		names := TaskNames(task.Resource)
		if function := task.Resource.Function; !slices.Contains(of[function], names[0]) {
			of[function] = append(of[function], names[0])
		}
	}
	maps.DeleteFunc(of, func(_ string, names []string) bool { return len(names) == 1 })
	return of
}

func action(kind jobs.Kind) string { return kind.Service + ":" + kind.StartOp }

// Resolve returns an error for each function of a flow without a runner, with the first step that
// calls it.
func (t *Functions) Resolve(def *flow.Flow) []error {
	var missing []error
	seen := map[string]bool{}
	for step, task := range def.Tasks() {
		// A call may compute its function, and an activity have workers elsewhere.
		// AWS's sample expects another form of result than the built-in functions have.
		_, isOwn := t.runnerOf(task.Resource)
		isKnown := isOwn || t.knows(task.Resource) && (!def.IsMachine || !slices.Contains(sampleFunctions, task.Resource.Function))
		if task.Resource.Subflow || task.Resource.Text == "" || task.Resource.Activity || isKnown {
			continue
		}
		if names := TaskNames(task.Resource); !seen[names[0]] {
			seen[names[0]] = true
			missing = append(missing, t.unknown(def, step, task.Resource, names))
		}
	}
	if step := def.UsesObjects(); step != nil && t.runners[flow.Objects] == nil {
		missing = append(missing, &UnknownFunctionError{Function: flow.Objects, Step: step.Name, Position: step.Position, Known: t.names()})
	}
	return missing
}

// unknown returns the error for a resource with these names that has no runner.
func (t *Functions) unknown(flow *flow.Flow, step *flow.Step, resource flow.Resource, names []string) error {
	unknown := &UnknownFunctionError{
		Function: TaskName(resource), IsAction: resource.Kind != "", IsOperation: resource.Operation != "",
		Step: step.Name, Position: step.Position, Known: t.names(),
	}
	if flow.IsMachine {
		unknown.Known = slices.DeleteFunc(unknown.Known, func(name string) bool { return t.runners[name] == nil && slices.Contains(sampleFunctions, name) })
	}
	switch {
	case resource.Kind != "" && len(names) > 1:
		unknown.Place = names[0]
	case len(Ambiguous(flow)[unknown.Function]) > 0:
		unknown.Function = names[0]
	}
	return unknown
}

func (t *Functions) knows(resource flow.Resource) bool {
	if _, isDefined := t.runnerOf(resource); isDefined {
		return true
	}
	if resource.Kind != "" {
		return t.provider(resource.Kind) != ""
	}
	if resource.Operation != "" {
		return false
	}
	_, isBuiltIn := simulated.Lookup(resource.Function)
	return isBuiltIn
}

func (t *Functions) names() []string {
	names := slices.Concat(slices.Collect(maps.Keys(t.runners)), simulated.Names())
	slices.Sort(names)
	return slices.Compact(names)
}

// UnknownFunctionError reports a function without a runner.
type UnknownFunctionError struct {
	Function string
	IsAction bool // it is one, and starts a job
	// IsOperation reports that it is an action that calls an operation.
	IsOperation bool
	Place       string        // the queue or the topic that it sends to, if it names one
	Step        string        // the first step that calls it
	Position    flow.Position // of that step
	Known       []string      // the existing functions
}

func (e *UnknownFunctionError) Error() string {
	switch {
	case e.Place != "":
		return fmt.Sprintf("step %s: no runner for %q (%s=exec:COMMAND, http(s)://... or lambda:..., or %s=simulated or aws)",
			e.Step, e.Place, e.Place, e.Function)
	case e.Function == flow.Objects:
		return fmt.Sprintf("step %s: no runner for objects of S3 (s3=dir:FOLDER, with a folder for each bucket, or s3=aws)", e.Step)
	case e.IsAction && jobs.IsCustom(e.Function):
		return fmt.Sprintf("step %s: no runner for action %q (simulated, aws, exec:COMMAND, http(s)://... or lambda:...)", e.Step, e.Function)
	case e.IsAction:
		return fmt.Sprintf("step %s: no runner for action %q (simulated or aws)", e.Step, e.Function)
	case e.IsOperation:
		return fmt.Sprintf("step %s: no runner for operation %q (aws, exec:COMMAND, http(s)://... or lambda:...)", e.Step, e.Function)
	}
	return fmt.Sprintf("step %s: no runner for function %q%s", e.Step, e.Function, similar.MeantOrKnown(e.Function, e.Known))
}

// operationOnAWS is the runner of an operation that AWS carries out. [Functions.Call] knows how.
type operationOnAWS struct{}

func (operationOnAWS) call(context.Context, machine.Call, time.Time) (token.Outcome, error) {
	return token.Outcome{}, errors.New("an operation is called by its tasks")
}

func (operationOnAWS) timeLimit(context.Context) time.Duration { return 0 }

// onAWS calls an operation on AWS.
func (t *Functions) onAWS(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if t.callOperation == nil {
		return token.Failure(token.ErrorFunctionNotFound, "nothing calls "+call.Resource.Operation+" on AWS here"), nil
	}
	output, err := t.callOperation(ctx, []byte(call.Input.JSON()))
	switch {
	case err == nil:
		return engine.ParseReply(output, "operation "+call.Resource.Operation), nil
	case ctx.Err() != nil:
		return token.Outcome{}, ctx.Err()
	}
	return failedJob(call, err), nil
}

// TimeLimits implements [engine.Caller]. Built-in functions return at once.
func (t *Functions) TimeLimits(ctx context.Context, flow *flow.Flow) (map[string]time.Duration, error) {
	var limits map[string]time.Duration
	for _, task := range flow.Tasks() {
		if r, ok := t.runnerOf(task.Resource); ok {
			if limits == nil {
				limits = make(map[string]time.Duration)
			}
			limits[task.Resource.Text] = r.timeLimit(ctx)
		}
	}
	return limits, nil
}

// runnerOf returns the runner that the user defined for a function, a queue or a topic. An action
// that starts a job has a provider instead.
func (t *Functions) runnerOf(resource flow.Resource) (runner, bool) {
	if len(t.runners) == 0 {
		return nil, false
	}
	names := TaskNames(resource)
	if resource.Kind != "" {
		names = names[:len(names)-1] // the last one is the action
	}
	for _, name := range names {
		if r, ok := t.runners[name]; ok {
			return r, true
		}
	}
	return nil, false
}

// classOf returns the class of a call. Of the built-in functions, only calls of AWS services await
// a server.
func (t *Functions) classOf(call machine.Call) callClass {
	r, ok := t.runnerOf(call.Resource)
	switch {
	case !ok && !call.Input.Get("kind").IsMissing() && (t.NeedAWS() || t.provider(call.Input.Get("kind").Text()) == providerRunner):
		return classRemote
	case !ok:
		return classBuiltIn
	}
	switch r.(type) {
	case command:
		return classCommand
	case inProcess, objectsIn:
		return classBuiltIn
	}
	return classRemote
}

// Call implements [engine.Caller].
func (t *Functions) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if r, ok := t.runnerOf(call.Resource); ok {
		if _, isOnAWS := r.(operationOnAWS); isOnAWS {
			return t.onAWS(ctx, call)
		}
		waiting := call.Input.Get("token").Text()
		if call.Resource.OfService() { // the runner gets the message or the params, not the input of StartJob or CallService
			call.Input = call.Input.Get("params")
		}
		if c, isCommand := r.(command); isCommand {
			c.output = t.output
			r = c
		}
		outcome, err := r.call(ctx, call, t.clock.Now())
		outcome.Thrown = outcome.Thrown && !call.Resource.OfService() // whose runner reports an error of the service
		if call.Resource.Sync() != "" && err == nil && !outcome.Failed() && t.endJob != nil {
			return t.endJob(ctx, waiting, outcome)
		}
		return outcome, err
	}
	function, ok := simulated.Lookup(call.Resource.Function)
	if !ok {
		return token.Failure(token.ErrorFunctionNotFound, (&UnknownFunctionError{
			Function: TaskName(call.Resource), IsOperation: call.Resource.Operation != "", Step: call.Step, Known: t.names(),
		}).Error()), nil
	}
	if t.callJobs != nil && !call.Input.Get("kind").IsMissing() {
		if outcome, ok, err := t.callJobs(ctx, call); ok {
			return outcome, err
		}
	}
	if call.Resource.Function == functionStart || call.Resource.Function == functionSubmit {
		var names []string
		for _, m := range call.Input.Members() {
			if m.Value.Kind() != value.KindNull {
				names = append(names, m.Key)
			}
		}
		if err := jobs.CheckWithoutKind(names); err != nil { // as [jobs.ParseStart] does
			return failedJob(call, err), nil
		}
	}
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	output, err := function(call.Input, t.clock.Now(), random)
	if err != nil {
		return failedJob(call, err), nil
	}
	return token.Success(output), nil
}
