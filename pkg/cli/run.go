package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// runOptions are the flags of run.
type runOptions struct {
	source   flowSource
	input    string
	hasInput bool // --input was given
	name     string
	tasks    []string
	placeFlags
	atOnce   concurrency
	skipTime bool
	json     bool
}

const taskUsage = "the runner of a function: NAME=exec:COMMAND, NAME=http(s)://HOST/PATH or NAME=lambda:FUNCTION[@ENDPOINT]; " +
	"or of the jobs of an action: ACTION=simulated|aws; may be given several times"

func (c Command) runCommand() *cobra.Command {
	var options runOptions
	cmd := helpOf("run", options.source.arguments)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options.source.take(args)
		options.hasInput = cmd.Flags().Changed("input")
		return c.run(cmd.Context(), options)
	}
	flags := cmd.Flags()
	options.source.register(flags)
	flags.StringVar(&options.input, "input", "{}", "the input: a JSON object, @FILE or - for standard input")
	flags.StringVar(&options.name, "name", "", "the name of the execution; an existing one continues (default: a new name)")
	options.register(flags)
	flags.StringArrayVar(&options.tasks, "task", nil, taskUsage)
	options.atOnce.register(flags)
	flags.BoolVar(&options.skipTime, "skip-time", false,
		"skip waits: run in memory and in virtual time from WAITLESS_NOW or now; script.yaml beside the flow reports outcomes")
	flags.BoolVar(&options.json, "json", false, "print one JSON object about the execution (see: waitless help json)")
	return cmd
}

func (c Command) run(ctx context.Context, options runOptions) error {
	where, err := c.placeOfRun(options)
	if err != nil {
		return err
	}
	file, err := c.readSource(ctx, options.source, where)
	if err != nil {
		return err
	}
	if err := c.warn(file); err != nil {
		return err
	}
	input, err := c.input(ctx, options.input)
	if err != nil {
		return err
	}
	clock, err := c.clock(options.skipTime)
	if err != nil {
		return err
	}
	e := &execution{command: c, file: file, clock: clock, options: options, place: where}
	if e.name, err = nameOrNew(options.name); err != nil {
		return err
	}
	a, err := e.runElsewhere(ctx)
	if err != nil {
		return err
	}
	if a != nil {
		return e.followThere(ctx, a, input)
	}
	if e.tasks, err = c.resolveTasks(file, clock, options.tasks); err != nil {
		return err
	}
	if e.script, err = file.script(options.skipTime); err != nil {
		return view.Usage(err.Error(), "correct "+file.scriptPath())
	}
	return e.run(ctx, input)
}

// placeOfRun is where to run. Functions of one's own and virtual time are for
// this process, whatever the environment says.
func (c Command) placeOfRun(options runOptions) (target.Place, error) {
	here := options.skipTime || len(options.tasks) > 0
	switch {
	case here && options.OnStack():
		return target.Place{}, view.Usage("--skip-time and --task are for a run in this process, and not on a stack",
			"waitless run FLOW"+options.Flags())
	case options.skipTime && options.Store != "" && options.source.stored == "":
		return target.Place{}, view.Usage("--skip-time keeps the execution in memory, so --store has no effect", "leave out --skip-time or --store")
	case here && options.Store == "":
		return target.Place{Store: c.storeDir("")}, nil
	}
	return c.locate(options.Place)
}

// input reads the value of --input.
func (c Command) input(ctx context.Context, text string) (value.Value, error) {
	return c.readObject(ctx, "--input", text)
}

// readObject reads a flag whose value is a JSON object, @FILE or - for
// standard input.
func (c Command) readObject(ctx context.Context, flag, text string) (value.Value, error) {
	try := flag + ` '{"delay":20}', ` + flag + " @input.json, or " + flag + " - to read standard input"
	data := []byte(text)
	var err error
	switch {
	case text == "-":
		data, err = c.readStdin(ctx)
	case strings.HasPrefix(text, "@"):
		data, err = os.ReadFile(text[1:])
	}
	switch {
	case ctx.Err() != nil:
		return value.Value{}, view.Interrupted("nothing was started")
	case err != nil:
		return value.Value{}, view.Usage(flag+" "+text+": "+reasonOf(err), try)
	}
	v, err := value.ParseJSON(bytes.TrimPrefix(data, []byte("\uFEFF"))) // with which some editors begin a file
	switch {
	case err != nil:
		if isFileName(text) {
			try = flag + " @" + text
		}
		return v, view.Usage(flag+" is "+err.Error(), try)
	case v.Kind() != value.KindObject:
		return v, view.Usage(flag+" is "+v.Kind().String()+"; allowed: an object", try)
	}
	return v, nil
}

// isFileName reports whether a text that is not JSON names a file.
func isFileName(text string) bool {
	if text == "-" || strings.HasPrefix(text, "@") {
		return false
	}
	_, err := os.Stat(text)
	return err == nil || strings.HasSuffix(text, ".json")
}

// readStdin reads until the end or until ctx ends, whose error it then answers.
func (c Command) readStdin(ctx context.Context) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(c.Stdin)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c Command) clock(skipTime bool) (*local.Clock, error) {
	if !skipTime {
		return local.NewClock(c.Now), nil
	}
	text := c.Getenv("WAITLESS_NOW")
	if text == "" {
		return local.NewVirtualClock(time.Now()), nil
	}
	start, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, view.Usage(fmt.Sprintf("WAITLESS_NOW is %q; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339)", text), "unset WAITLESS_NOW")
	}
	return local.NewVirtualClock(start), nil
}

// tryTask is what to try when a task cannot be used.
const tryTask = "--task NAME=exec:COMMAND"

// resolveTasks finds every function of the flow before anything starts.
func (c Command) resolveTasks(file flowFile, clock *local.Clock, definitions []string) (*local.Tasks, error) {
	byName, err := parseTasks(file.flow, definitions)
	if err != nil {
		return nil, err
	}
	tasks, err := local.NewTasks(clock, byName)
	if err != nil {
		return nil, unusableTasks(err, byName)
	}
	functions := taskNamesOf(file.flow)
	err = c.addTasks(tasks, func(name string) bool {
		return !isGiven(byName, name) && (slices.Contains(functions, name) || startsAnyKind(functions, name))
	})
	if err != nil {
		return nil, err
	}
	if tasks.NeedAWS() && clock.IsVirtual() {
		return nil, view.Usage("jobs on AWS take real time, which --skip-time does not wait for", "--task ACTION=simulated, or leave out --skip-time")
	}
	if missing := unknownFunctions(file, tasks.Resolve(file.flow)); missing != nil {
		return nil, missing
	}
	return tasks, nil
}

// isGiven reports whether the command line defines the task, or the function that
// it names with a service.
func isGiven(byName map[string]string, name string) bool {
	_, function, ofService := strings.Cut(name, "/")
	return byName[name] != "" || ofService && byName[function] != ""
}

// parseTasks splits the values of --task. Each must be for another function of
// the flow: a name mistyped would leave the built-in function in its place.
func parseTasks(flow *fdl.Flow, definitions []string) (map[string]string, error) {
	byName := map[string]string{}
	names, ambiguous := taskNamesOf(flow), local.Ambiguous(flow)
	for _, definition := range definitions {
		name, value, err := splitTask(definition, byName)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) && !startsAnyKind(names, name) {
			return nil, view.Usage(fmt.Sprintf("--task %s: the flow calls no function %q%s (called: %s)",
				name, name, didYouMean(name, names), listed(functionsOf(flow))), tryTask)
		}
		if several := ambiguous[name]; len(several) > 0 {
			return nil, view.Usage(fmt.Sprintf("--task %s: the flow calls %s", name, strings.Join(several, " and ")),
				"--task "+strings.Join(several, "=exec:COMMAND --task ")+"=exec:COMMAND")
		}
		byName[name] = value
	}
	return byName, nil
}

// serviceFunction is a function with its service: "shop/charge".
var serviceFunction = regexp.MustCompile(`^[A-Za-z0-9_-][^/:\s]*/[^/:\s]+$`)

// splitTask takes a value of --task apart, whose name none before it has.
func splitTask(definition string, before map[string]string) (name, value string, err error) {
	name, value, ok := strings.Cut(definition, "=")
	if !ok || name == "" || strings.Contains(name, "/") && !serviceFunction.MatchString(name) { // then it is a URL
		return "", "", view.Usage(fmt.Sprintf("--task %q has no name and \"=\" before the command", local.Hidden(definition)), tryTask)
	}
	if _, twice := before[name]; twice {
		return "", "", view.Usage(fmt.Sprintf("--task %s is given twice", name), tryTask+", once for each function")
	}
	return name, value, nil
}

// startsAnyKind: the kind of the job that one of the functions starts or asks
// for is in its input, so name may be an action that no step of the flow names.
func startsAnyKind(functions []string, name string) bool {
	_, isAction := jobs.ForAction(name)
	return isAction && slices.ContainsFunc([]string{"StartJob", "GetJobStatus", "SubmitJob", "CheckJob"}, func(function string) bool {
		return slices.Contains(functions, function)
	})
}

// taskNamesOf are the names that tasks may have for the functions that a flow
// calls, and for the actions that it takes, in the order of its text.
func taskNamesOf(flow *fdl.Flow) []string {
	var names []string
	for _, step := range flow.All {
		if task, ok := step.Kind.(*fdl.Task); ok {
			names = append(names, local.TaskNames(task.Resource)...)
		}
	}
	return unique(names)
}

// functionsOf are these names as messages list them: with a service only where
// the function alone may be one of several.
func functionsOf(flow *fdl.Flow) []string {
	ambiguous := local.Ambiguous(flow)
	return slices.DeleteFunc(taskNamesOf(flow), func(name string) bool {
		_, function, ofService := strings.Cut(name, "/")
		if ofService {
			return len(ambiguous[function]) == 0
		}
		return len(ambiguous[name]) > 0
	})
}

// unique are the names without repetitions, each where it stands first.
func unique(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		was := seen[name]
		seen[name] = true
		return was
	})
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// unusableTasks is the error for definitions that local refuses, each of which
// is a line.
func unusableTasks(err error, definitions map[string]string) error {
	try := tryTask
	for name := range definitions {
		if _, isAction := jobs.ForAction(name); isAction {
			try = "--task " + name + "=simulated"
		}
	}
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) || len(several.Unwrap()) == 1 {
		return view.Usage(err.Error(), try)
	}
	f := &view.Failure{Exit: ExitUsage, Why: view.Count(len(several.Unwrap()), "task") + " cannot be used", Try: try}
	for _, one := range several.Unwrap() {
		f.Lines = append(f.Lines, one.Error())
	}
	return f
}

func unknownFunctions(file flowFile, missing []error) error {
	if len(missing) == 0 {
		return nil
	}
	f := &view.Failure{Exit: ExitUsage, Why: view.Count(len(missing), "function") + " of the flow is not known"}
	if len(missing) > 1 {
		f.Why = view.Count(len(missing), "function") + " of the flow are not known"
	}
	for _, err := range missing {
		var unknown *local.UnknownFunctionError
		if errors.As(err, &unknown) {
			f.Lines = append(f.Lines, fdl.Problem{Position: unknown.Position, Message: unknown.Error()}.Format(file.path))
			f.Try += " --task " + view.TaskDefinition(unknown)
		}
	}
	f.Try = "waitless run " + file.path + f.Try
	return f
}

// execution is one execution that run starts and follows.
type execution struct {
	command Command
	file    flowFile
	tasks   *local.Tasks
	clock   *local.Clock
	script  *local.Script
	options runOptions
	place   target.Place // where it is, as flags and environment say
	name    string
	system  *local.System
	client  *rest.Client // of the system in memory
	id      engine.ID
}

// steps shows the steps of the execution.
func (e *execution) steps() view.Steps {
	return e.command.out().NewSteps(view.StepsConfig{
		Title: e.title(), Flow: e.file.flow, Clock: e.clock, Silent: e.options.json,
		Plain: e.command.Getenv("TERM") == "dumb", Color: e.command.setting("NO_COLOR") == "",
	})
}

// title names the execution to people.
func (e *execution) title() string { return e.file.name() + "/" + e.name }

// run runs the execution to its end: in memory when time is virtual, else in
// the store, where it goes on if it was begun before.
func (e *execution) run(ctx context.Context, input value.Value) error {
	if e.options.skipTime {
		return e.runInMemory(ctx, input)
	}
	return e.runInStore(ctx, input)
}

func (e *execution) runInMemory(ctx context.Context, input value.Value) error {
	store := &local.MemoryStore{}
	steps := e.steps()
	config, err := e.config(ctx)
	if err != nil {
		return err
	}
	config.Store, config.Observer, config.Script, config.Absent = store, steps, e.script, e.warnOfAbsent(steps)
	config.Output = e.showOutput(steps)
	e.system = local.New(config)
	e.client = target.InProcess(e.system, store)
	if _, err := e.start(ctx, store, input); err != nil {
		return err
	}
	err = e.system.Run(ctx)
	steps.Close(ctx.Err() != nil)
	switch {
	case ctx.Err() != nil:
		return &view.Failure{Exit: ExitInterrupted, What: e.title(), Why: "interrupted; " + "with --skip-time the store is in memory, so the execution is gone"}
	case err != nil:
		return err
	}
	return e.finish(ctx)
}

func (e *execution) runInStore(ctx context.Context, input value.Value) (err error) {
	store, err := e.command.opener().Hold(ctx, e.place.Store,
		"waitless start "+e.file.path+", which leaves it to that one, or --store ANOTHER-DIR")
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Shut(); err == nil && closeErr != nil {
			err = fmt.Errorf("close store %s: %w", e.place.Store, closeErr)
		}
	}()
	ended := &ending{Steps: e.steps(), execution: e, keys: store.Keys()}
	config, err := e.config(ctx)
	if err != nil {
		return err
	}
	config.Store, config.Keys, config.Observer, config.Absent = store, store.Keys(), ended, e.warnOfAbsent(ended)
	config.Output = e.showOutput(ended)
	config.Warn = func(err error) {
		ended.Say("job: " + view.Printable(token.MaskAll(err.Error())) + "; Waitless asks again")
	}
	e.system = local.New(config)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended.stop = stop
	answer, err := e.start(ctx, store, input)
	if err != nil {
		return err
	}
	if err := e.catchUp(ctx, answer, ended); err != nil {
		return err
	}
	return e.serve(ctx, serving, store, ended)
}

// config is what the system of the run is made of, but for its store.
func (e *execution) config(ctx context.Context) (local.Config, error) {
	config, err := e.command.configOf(ctx, e.clock, e.tasks)
	if err != nil {
		return config, err
	}
	return config, e.options.atOnce.apply(e.command, &config)
}

// serve works on the store until the execution has ended, which ends serving,
// or ctx does.
func (e *execution) serve(ctx, serving context.Context, store target.Store, ended *ending) error {
	end, err := target.ServeSocket(serving, e.place.Store, target.Handler(e.system, store, slog.New(slog.DiscardHandler), "run"))
	if err != nil {
		return fmt.Errorf("serve store %s: %w", e.place.Store, err)
	}
	err = e.system.Serve(serving)
	end()
	ended.Close(ctx.Err() != nil)
	switch {
	case ctx.Err() != nil:
		return &view.Failure{Exit: ExitInterrupted, What: e.title(), Why: "interrupted; " + "continue it with: " + e.again()}
	case serving.Err() == nil:
		return &view.Failure{Exit: ExitInternal, What: e.title(), Why: err.Error(), Try: "correct that, then continue it with: " + e.again()}
	}
	return e.finish(ctx)
}

// again returns the command that continues the execution.
func (e *execution) again() string {
	again := "waitless run " + e.file.path + " --name " + e.name + e.options.Flags()
	if e.options.config != "" {
		again += " --config " + e.options.config
	}
	for _, task := range e.options.tasks {
		name, definition, _ := strings.Cut(task, "=")
		again += " --task '" + name + "=" + local.Hidden(definition) + "'"
	}
	return again
}

// start puts the flow and starts the execution.
func (e *execution) start(ctx context.Context, flows engine.Flows, input value.Value) (engine.StartResult, error) {
	flow, _, err := engine.ParseFlow(e.file.name(), e.file.text)
	if err != nil {
		return 0, err
	}
	e.id = engine.NewID(flow.Name, e.name)
	if begun, err := e.system.Describe(ctx, e.id); err == nil {
		if begun.Flow != flow {
			return 0, e.startedDifferent()
		}
		if !e.options.hasInput {
			input = begun.Input // an execution that is only named is the one that exists
		}
	}
	if _, err := flows.Put(ctx, flow.Name, e.file.text); err != nil {
		return 0, err
	}
	answer, err := e.system.Start(ctx, engine.StartRequest{Flow: flow, Execution: e.name, Input: input})
	switch {
	case err != nil:
		return 0, startError(e.file.path, e.name, err)
	case answer == engine.StartedDifferent:
		return 0, e.startedDifferent()
	}
	return answer, nil
}

func (e *execution) startedDifferent() error {
	return view.Usage("execution "+e.title()+" exists with another definition or input", "--name ANOTHER-NAME")
}

// catchUp shows what happened to an execution before this process took it
// over, and that it is over if it is.
func (e *execution) catchUp(ctx context.Context, answer engine.StartResult, ended *ending) error {
	if answer == engine.StartedNew {
		return nil
	}
	state, err := e.system.Describe(ctx, e.id)
	if err != nil {
		return err
	}
	events, err := e.system.History(ctx, e.id)
	if err != nil {
		return err
	}
	if state.Status.Final() {
		ended.Say(e.alreadyEnded())
	}
	ended.Committed(e.id, state, events)
	return nil
}

// alreadyEnded says that the command starts nothing.
func (e *execution) alreadyEnded() string {
	return e.title() + " ended before; this is its history and its result"
}

// ending shows one execution of a store and ends the run with it.
type ending struct {
	view.Steps
	execution *execution
	keys      token.Keys
	stop      context.CancelFunc
}

// Calling implements [engine.Observer].
func (o *ending) Calling(call machine.Call, at time.Time) {
	if engine.NewID(call.Flow.Name, call.Execution) == o.execution.id {
		o.Steps.Calling(call, at)
	}
}

// Committed implements [engine.Observer].
func (o *ending) Committed(id engine.ID, state machine.State, events []machine.Event) {
	if id != o.execution.id {
		return
	}
	o.Steps.Committed(id, state, events)
	if text, ok := machine.Token(o.keys, o.execution.file.flow, state); ok && state.Waiting.Submitted() && len(events) > 0 {
		o.Say(howToAnswer(text, o.execution.place))
	}
	if state.Status.Final() {
		o.stop()
	}
}

// howToAnswer is what a second terminal has to be told.
func howToAnswer(text string, p target.Place) string {
	return "report the outcome from another terminal:\n  waitless tokens succeed " + text + ` --output '{"key":"value"}'` + p.Flags()
}

func startError(path, name string, err error) error {
	var coded *engine.Error
	if errors.As(err, &coded) && coded.Code == engine.CodeInvalid {
		try := "waitless run " + path + " --help"
		if !fdl.ValidName(name) {
			try = "waitless run " + path + " --name my-run"
		}
		return view.Usage(coded.Err.Error(), try)
	}
	return err
}

// finish prints what became of the execution.
func (e *execution) finish(ctx context.Context) error {
	state, err := e.system.Describe(ctx, e.id)
	if err != nil {
		return err
	}
	events, err := e.system.History(ctx, e.id)
	if err != nil {
		return err
	}
	return e.report(ctx, state, events)
}

// report prints the result of an execution, or returns why it has no output.
func (e *execution) report(ctx context.Context, state machine.State, events []machine.Event) (err error) {
	switch {
	case e.options.json:
		err = e.command.out().JSON(runReportOf(e.file.flow, state, events))
	case state.Status == machine.StatusSucceeded:
		err = e.command.out().Text(view.HarmlessJSON(state.Output.JSON()) + "\n")
	}
	switch {
	case err != nil || state.Status == machine.StatusSucceeded:
		return err
	case !state.Status.Final():
		return e.waiting(ctx, state)
	}
	return e.failed(state, events)
}

// waiting is the error for an execution that only a person can make go on. Its
// tokens are listed masked: they are gone with the store in memory.
func (e *execution) waiting(ctx context.Context, state machine.State) error {
	tokens, err := e.client.Tokens(ctx, "", "", false)
	if err != nil {
		return err
	}
	f := &view.Failure{Exit: ExitWaiting, What: e.title(), Why: "waits for an outcome"}
	if state.Waiting != nil {
		what := "a callback, and no script reports its outcome"
		if view.WaitsForJob(e.file.flow, state.Waiting.Attempt.Step) {
			what = "its job, and no script reports its end"
		}
		f.Why = fmt.Sprintf("step %s waits for %s", e.file.flow.All[state.Waiting.Attempt.Step].Name, what)
	}
	f.Lines = strings.Split(strings.TrimSuffix(view.Columns(tokenRows(tokens)), "\n"), "\n")
	f.Try = "leave out --skip-time, to wait for the outcome"
	if !e.file.isStored() {
		f.Try = "report the outcome in " + e.file.scriptPath() + ", as events/callback/script.yaml does, or " + f.Try
	}
	return f
}

func (e *execution) failed(state machine.State, events []machine.Event) error {
	f := &view.Failure{Exit: ExitFailed, What: e.title(), Why: token.MaskAll(view.EndText(e.file.flow, state, events))}
	switch {
	case e.options.json:
	case e.options.skipTime:
		f.Try = "add --json to see the whole history"
	default:
		f.Try = "waitless history " + e.title() + e.options.Flags()
	}
	return f
}
