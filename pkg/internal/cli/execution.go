package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// execution is one execution that a command starts, and shows until it ends.
type execution struct {
	command Command
	options runOptions
	place   target.Place // where it is, as flags and environment say
	file    flowFile
	// subflows are the sub-flows that the flow starts.
	subflows subflows
	name     string
	input    value.Value
	clock    *local.Clock
	api      *target.Client // of the stack or of the process that runs it
	steps    view.Steps
	told     sync.Map     // the tokens with printed instructions
	asked    atomic.Int32 // how many of them are of branches and iterations

	// Of the run in this process.
	system *local.System // nil if another process runs it
	keys   token.Keys
	stop   func()
	// family are its sub-flows. Left are the sub-flows that had to stop, and had not when the run
	// ended.
	family  family
	ending  sync.WaitGroup
	left    []machine.ExecutionRef
	leftErr error
	// over is set when the execution has ended in virtual time. Later counts the sub-flows that
	// began after that.
	over  atomic.Bool
	later atomic.Int32
	cut   context.CancelCauseFunc // ends a run in virtual time if its sub-flows have no end
}

// title names the execution to people.
func (e *execution) title() string { return e.file.name() + "/" + e.name }

func (e *execution) is(id engine.ID) bool { return id == engine.NewID(e.file.name(), e.name) }

func (e *execution) isCallOf(call machine.Call) bool {
	return e.is(engine.NewID(call.Flow.Name, call.Execution))
}

// failure returns an error about the execution.
func (e *execution) failure(exit int, why, try string) *view.Failure {
	return &view.Failure{Exit: exit, What: e.title(), Why: why, Try: try}
}

// show shows the steps of the execution from now on.
func (e *execution) show() {
	e.steps = e.command.out().NewSteps(view.StepsConfig{
		Title: e.title(), Flow: e.file.flow, Clock: e.clock, Silent: e.options.json,
		Plain: e.command.Getenv("TERM") == "dumb", Color: e.command.setting("NO_COLOR") == "",
	})
}

// start puts the flow and starts the execution, unless it was started before.
func (e *execution) start(ctx context.Context) (begun rest.Execution, isNew bool, err error) {
	if err := e.putSubflows(ctx); err != nil {
		return begun, false, err
	}
	if err := e.canStart(ctx); err != nil {
		return begun, false, err
	}
	flow := e.file.stored
	if flow.Hash == "" || e.options.skipTime { // a store in memory has no flows yet
		flow, err = e.api.PutFlow(ctx, e.file.name(), e.file.text, e.name)
	}
	if err == nil && e.options.name != "" && !e.options.flags.Changed("input") {
		known, err := e.api.Execution(ctx, flow.Name, e.name, e.system != nil)
		switch { // a name alone stands for the existing execution
		case err != nil:
		case known.Input.Kind() == value.KindObject || e.file.flow != nil && e.file.flow.Values.Any && !known.Input.IsMissing():
			e.input = known.Input
		case known.Hash == flow.Hash: // the input is missing, or too large for the response
			begun = known
		}
	}
	if err == nil && begun.Name == "" {
		begun, isNew, err = e.api.Start(ctx, flow.Name, rest.Start{
			Name: e.name, Hash: flow.Hash, Input: e.input, Notify: e.options.notify.Target, NotifyWaits: e.options.notify.Waits,
		})
	}
	if err == nil && !isNew && begun.Status.Final() && e.steps != nil {
		e.steps.Say(e.title() + " ended before; this is its history and its result")
	}
	return begun, isNew, e.startError(err, flow.Name)
}

// startError returns the error of a start with the fix, if the API refused it.
func (e *execution) startError(err error, flow string) error {
	refused, ok := errors.AsType[*rest.Error](err)
	switch {
	case ok && refused.Code == engine.CodePaused:
		return view.Usage(refused.Message, "waitless flows resume "+flow)
	case ok && refused.Status == http.StatusConflict:
		return view.Usage("execution "+e.title()+" exists with another definition or input", "--name ANOTHER-NAME")
	}
	return err
}

// follow starts the execution that another process runs, and shows it until it ends.
func (e *execution) follow(ctx context.Context) error {
	e.show()
	if _, _, err := e.start(ctx); err != nil {
		return err
	}
	var events []machine.Event
	var state machine.State
	var after string
	var err error
	if !e.place.OnStack() {
		e.api, err = e.command.opener().Follow(ctx, e.place)
	}
	for isLast := false; err == nil && !isLast; {
		isLast = e.api.Idle // without a process that holds the store, nothing changes any more
		asked, before := time.Now(), len(events)
		state, events, after, err = e.look(ctx, events, after)
		isLast = isLast || state.Status.Final()
		if err == nil && !isLast && !e.api.Idle && len(events) == before {
			err = e.api.Wait(ctx, asked)
		}
	}
	e.steps.Close(ctx.Err() != nil)
	again := "waitless history " + e.title() + " --follow" + e.place.Flags()
	switch {
	case ctx.Err() != nil:
		return e.failure(view.ExitInterrupted, "interrupted; it continues; show it with: "+again, "")
	case err != nil:
		return err
	case !state.Status.Final():
		return e.failure(view.ExitInternal, "the process that held the store ended", "waitless dev, then "+again)
	}
	return e.report(ctx, state, events)
}

// look shows the events after the events before, and returns all. It waits for new events for a
// while; if there are none, the returned state says only that the execution has not ended.
func (e *execution) look(
	ctx context.Context, before []machine.Event, after string,
) (state machine.State, events []machine.Event, later string, err error) {
	history, later, err := e.api.History(ctx, e.file.name(), e.name, after, false, e.api.News)
	if err != nil || len(history) == 0 && later != "" {
		return machine.State{Status: machine.StatusRunning}, before, later, err
	}
	now, err := e.api.Execution(ctx, e.file.name(), e.name, false)
	if err == nil && now.Status.Final() && later != "" { // it ended after the history was read
		var rest []machine.HistoryEvent
		rest, later, err = e.api.History(ctx, e.file.name(), e.name, later, false, 0)
		history = append(history, rest...)
	}
	if err != nil {
		return state, before, after, err
	}
	state = machine.State{ // as much of it as the API tells
		Flow: machine.FlowRef{Name: now.Flow, Hash: now.Hash}, Execution: now.Name, Status: now.Status, Input: now.Input, Error: now.Error, Cause: now.Cause,
		FailedStep: now.FailedStep,
	}
	state.Started, _ = time.Parse(machine.TimeFormat, now.StartedTime)
	state.At, _ = time.Parse(machine.TimeFormat, now.StoppedTime) // the zero instant before the end
	if now.Output != nil {
		state.Output = *now.Output
	}
	if events, err = parsedEvents(e.file.flow, history); err != nil {
		return state, events, later, err
	}
	e.steps.Committed(engine.ID{}, state, events)
	e.family.see(e.file.flow, events)
	isAsked := slices.ContainsFunc(events, func(e machine.Event) bool { return e.Type == machine.TaskSubmitted })
	if isAsked && !e.options.json && e.asked.Load() <= mostAsked {
		open, err := e.api.Tokens(ctx, e.file.name(), e.name, true)
		if err != nil {
			return state, events, later, err
		}
		for _, t := range open {
			place := ""
			if len(open) > 1 {
				place = e.title() + "/" + t.Place()
			}
			e.sayHowToAnswer(t.Token, place, t.Question)
		}
	}
	return state, append(before, events...), later, nil
}

// parsedEvents returns the events of a history that the API returned. With an error it returns the
// events before it.
func parsedEvents(flow *flow.Flow, history []machine.HistoryEvent) (events []machine.Event, err error) {
	for _, h := range history {
		event, err := h.Parse(flow)
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
	return events, nil
}

// mostAsked is how many callbacks of branches and iterations are told of.
const mostAsked = 3

// sayHowToAnswer prints the command for a second terminal. It names one of several callbacks by its
// place, FLOW/EXECUTION/STEP.
func (e *execution) sayHowToAnswer(text, place string, asked *machine.Question) {
	if _, known := e.told.LoadOrStore(text, true); known {
		return
	}
	if place != "" {
		switch told := e.asked.Add(1); {
		case told == mostAsked+1:
			e.steps.Say("more callbacks are waited for:\n  waitless tokens list" + e.place.Flags())
			return
		case told > mostAsked:
			return
		}
		text = "'" + place + "'"
	}
	say, outcome := "", ` --output '{"key":"value"}'`
	if asked != nil {
		say = question(asked) + "\n"
		if asked.Choices != nil {
			outcome = " --choice LABEL"
		}
	}
	e.steps.Say(say + "report the outcome from another terminal:\n  waitless tokens succeed " + text + outcome + e.place.Flags())
}

// runHere runs the execution to its end in this process: in memory when time is virtual, else in
// the store, where it goes on if it was begun before.
func (e *execution) runHere(ctx context.Context) (err error) {
	config, err := e.config(ctx)
	if err != nil {
		return err
	}
	memory := &store.Memory{}
	lists := target.Lists(memory)
	config.Store = memory
	if !e.options.skipTime {
		store, err := e.command.opener().Hold(ctx, e.place.Store,
			"waitless start "+e.file.path+", which leaves it to that one, or --store ANOTHER-DIR")
		if err != nil {
			return err
		}
		defer target.Shut(store, e.place.Store, &err)
		lists, config.Store = store, store
	}
	e.show()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	e.keys, e.stop = config.Store.Keys(), e.endWith(serving, stop)
	e.system = local.New(config)
	e.api = &target.Client{Client: target.InProcess(e.system, lists)}
	_, isNew, err := e.start(ctx)
	if err == nil && !isNew { // show the events before this process took it over
		var state machine.State
		var events []machine.Event
		state, events, err = e.read(ctx, true)
		e.Committed(engine.NewID(e.file.name(), e.name), state, events)
	}
	if err != nil {
		return err
	}
	err = e.serve(ctx, serving, lists)
	e.ending.Wait()
	e.steps.Close(ctx.Err() != nil)
	again := "continue it with: " + e.again()
	switch {
	case ctx.Err() != nil && e.options.skipTime:
		return e.failure(view.ExitInterrupted, "interrupted; with --skip-time the store is in memory, so the execution is gone", "")
	case ctx.Err() != nil:
		return e.failure(view.ExitInterrupted, "interrupted; "+again, "")
	case err != nil && e.options.skipTime:
		return err
	case err != nil && serving.Err() == nil:
		return e.failure(view.ExitInternal, err.Error(), "correct that, then "+again)
	}
	unended := e.noteUnended(ctx)
	if err := e.finish(ctx); err != nil { // also prints how the execution ended
		return err
	}
	return unended
}

// config returns the configuration of the run's system, except its store.
func (e *execution) config(ctx context.Context) (config local.Config, err error) {
	tasks, err := e.command.resolveTasks(e.file, e.subflows, e.clock, e.options.tasks)
	if err != nil {
		return config, err
	}
	script, err := e.file.script(e.options.skipTime, e.subflows.flow(e.file))
	if err != nil {
		return config, view.Usage(err.Error(), "correct "+e.file.scriptPath())
	}
	if config, err = e.command.configOf(ctx, e.clock, tasks); err != nil {
		return config, err
	}
	config.Script, config.Observer, config.Output, config.Warn = script, e, e.showOutput, e.warnOfJob
	var told reportedSources
	config.Unmapped = func(of engine.UnmappedSources) {
		if !e.is(engine.NewID(of.Flow.Name, of.Execution)) {
			return
		}
		for _, m := range told.news(of) {
			e.say(fmt.Sprintf("warning: %s: source %s of %s is missing, so the target %s is left out", m.Place(), m.Source, m.Mappings, m.Target))
		}
	}
	return config, e.command.limitConcurrency(e.options.flags, &config)
}

// serve works on the execution in memory until ctx ends, nothing goes on, or more than [mostLater]
// sub-flows began after the end; or on the store until serving ends.
func (e *execution) serve(ctx, serving context.Context, lists target.Lists) error {
	if e.options.skipTime {
		ctx, e.cut = context.WithCancelCause(ctx)
		defer e.cut(nil)
		err := e.system.Run(ctx)
		if errors.Is(err, errEndless) {
			e.steps.Say(fmt.Sprintf("%s ended, and %d sub-flows began after that: the others are left out; a flow may start itself without an end",
				e.title(), mostLater))
			return nil
		}
		return err
	}
	end, err := target.ServeSocket(serving, e.place.Store, target.Handler(e.system, lists, target.Unfired(lists), slog.New(slog.DiscardHandler), "run"))
	if err != nil {
		return fmt.Errorf("serve store %s: %w", e.place.Store, err)
	}
	defer end()
	return e.system.Serve(serving)
}

// again returns the command that continues the execution.
func (e *execution) again() string {
	again := "waitless run " + e.file.argument() + " --name " + e.name + e.options.Flags()
	if e.command.named {
		again += " --config " + e.command.path
	}
	for _, text := range e.options.source.template.vars {
		again += " --var '" + text + "'"
	}
	for _, flag := range e.options.subflows {
		again += " --subflow " + flag
	}
	for _, task := range e.options.tasks {
		name, definition, _ := strings.Cut(task, "=")
		again += " --task '" + name + "=" + local.Hidden(definition) + "'"
	}
	return again
}

// Calling implements [engine.Observer] for the execution that this process runs.
func (e *execution) Calling(call machine.Call, at time.Time) {
	if e.isCallOf(call) {
		e.steps.Calling(call, at)
	}
}

// Committed implements [engine.Observer]. It ends the run with the execution.
func (e *execution) Committed(id engine.ID, state machine.State, events []machine.Event) {
	if !e.is(engine.NewID(state.Flow.Name, state.Execution)) {
		e.committedBelow(state, events)
		return
	}
	e.steps.Committed(id, state, events)
	e.family.see(e.file.flow, events)
	e.family.waits(state)
	e.ask(e.file.flow, state, events)
	if state.Status.Final() && state.Lane == nil {
		e.stop()
	}
}

// committedBelow says how to report the outcome of a callback that a sub-flow waits for, and counts
// the sub-flows that begin after the end of the execution.
func (e *execution) committedBelow(state machine.State, events []machine.Event) {
	begins := slices.ContainsFunc(events, func(e machine.Event) bool { return e.Type == machine.ExecutionStarted })
	if begins && e.over.Load() && e.later.Add(1) > mostLater {
		e.cut(errEndless)
	}
	if !e.family.has(state) || state.Waiting == nil {
		return
	}
	e.family.waits(state)
	if flow, err := e.system.Client.Flow(context.Background(), state.Flow); err == nil { // else the engine reports the same error
		e.ask(flow, state, events)
	}
}

// ask says how to report the outcome of a callback for which the state waits since the events.
func (e *execution) ask(flow *flow.Flow, state machine.State, events []machine.Event) {
	text, ok := machine.Token(e.keys, flow, state)
	if !ok || !state.Waiting.Submitted() || len(events) == 0 || e.options.skipTime {
		return
	}
	step, place := flow.All[state.Waiting.Attempt.Step], ""
	if title := state.Flow.Name + "/" + state.Execution; state.Lane != nil || title != e.title() {
		place = title + "/" + machine.StepIn(step.Name, machine.Iterations(step, state.ForkIndexes()))
	}
	asked, _ := e.system.Client.Question(context.Background(), flow, state) // else only the question is not shown
	e.sayHowToAnswer(text, place, asked)
}

// say shows a text of the flow or of its functions beside the steps.
func (e *execution) say(text string) { e.steps.Say(view.Printable(token.MaskAll(text))) }

// showOutput shows the error output of commands of the execution.
func (e *execution) showOutput(call machine.Call, text string) {
	if e.isCallOf(call) {
		for line := range strings.Lines(text) {
			e.say(call.Step + ": " + strings.TrimRight(line, "\r\n"))
		}
	}
}

func (e *execution) warnOfJob(err error) { e.say("job: " + err.Error() + "; Waitless asks again") }

// read returns the execution as the system of this process has it, perhaps with its events.
func (e *execution) read(ctx context.Context, withEvents bool) (state machine.State, events []machine.Event, err error) {
	id := engine.NewID(e.file.name(), e.name)
	if state, err = e.system.Client.Describe(ctx, id); err == nil && withEvents {
		events, err = e.system.Client.History(ctx, id)
	}
	return state, events, err
}

// finish prints the outcome of the execution.
func (e *execution) finish(ctx context.Context) error {
	state, events, err := e.read(ctx, e.options.json)
	if err != nil {
		return err
	}
	return e.report(ctx, state, events)
}

// report prints the result of an execution, or returns why it has no output.
func (e *execution) report(ctx context.Context, state machine.State, events []machine.Event) (err error) {
	// The events of lanes were read later than others with greater ids.
	slices.SortFunc(events, func(a, b machine.Event) int { return cmp.Compare(a.ID, b.ID) })
	switch {
	case e.options.json:
		err = e.command.out().JSON("run", runReportOf(e.file.flow, state, events))
	case state.Status == machine.StatusSucceeded:
		err = e.command.out().Text(view.HarmlessJSON(state.Output.JSON()) + "\n")
	}
	switch {
	case err != nil || state.Status == machine.StatusSucceeded:
		return err
	case !state.Status.Final():
		return e.waiting(ctx, state)
	}
	f := e.failure(view.ExitFailed, token.MaskAll(view.EndText(state, e.steps.Told)), "waitless history "+e.title()+e.options.Flags())
	if child := e.family.failedWith(state.Error); child != "" {
		f.Why += "; that is the error of sub-flow " + child
		f.Try = "waitless history " + child + e.options.Flags()
	}
	switch {
	case e.options.json:
		f.Try = ""
	case e.options.skipTime:
		f.Try = "add --json to see the whole history"
	}
	return f
}

// waiting is the error for an execution that only a person can make go on. Its
// tokens are listed masked: they are gone with the store in memory.
func (e *execution) waiting(ctx context.Context, at machine.State) error {
	tokens, err := e.api.Tokens(ctx, "", "", false)
	if err != nil {
		return err
	}
	f := e.failure(view.ExitWaiting, "waits for an outcome", "leave out --skip-time, to wait for the outcome")
	switch w := at.Waiting; {
	case w.Fork() != nil:
		of, err := e.api.Execution(ctx, e.file.name(), e.name, false)
		if err != nil {
			return err
		}
		f.Why = "step " + state(of) + "; no script reports the outcomes"
	case w != nil:
		what := "a callback, and no script reports its outcome"
		switch child := w.Child(); {
		case child != nil:
			what = "sub-flow " + child.Flow + "/" + child.Execution + ", and no script reports an outcome there"
		case view.WaitsForJob(e.file.flow, w.Attempt.Step):
			what = "its job, and no script reports its end"
		}
		f.Why = fmt.Sprintf("step %s waits for %s", e.file.flow.All[w.Attempt.Step].Name, what)
	}
	shown := tokens[:min(len(tokens), mostTokens)]
	f.Lines = strings.Split(strings.TrimSuffix(view.Columns(tokenRows(shown)), "\n"), "\n")
	if more := len(tokens) - len(shown); more > 0 {
		f.Lines = append(f.Lines, fmt.Sprintf("and %d more", more))
	}
	if !e.file.isStored() {
		f.Try = "report the outcome in " + e.file.scriptPath() + ", as events/callback/script.yaml does, or " + f.Try
	}
	return f
}

// mostTokens is how many open tokens are listed at the end of a run.
const mostTokens = 10

// reportedSources remembers which missing sources were reported.
type reportedSources struct{ told sync.Map }

// news returns the mappings that were not reported before.
func (a *reportedSources) news(of engine.UnmappedSources) (news []machine.UnmappedSource) {
	for _, mapping := range of.Mappings {
		if _, known := a.told.LoadOrStore([2]any{of.Flow, mapping}, true); !known {
			news = append(news, mapping)
		}
	}
	return news
}
