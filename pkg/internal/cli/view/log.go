package view

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// NewLogger returns the log of dev: one record a line, in the format "text" or "json". A quiet log
// has warnings and errors only.
func NewLogger(out io.Writer, format string, quiet bool) (*slog.Logger, error) {
	options := &slog.HandlerOptions{ReplaceAttr: harmlessAttr}
	if quiet {
		options.Level = slog.LevelWarn
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, Usage(fmt.Sprintf("--log-format is %q; allowed: text, json", format), "--log-format text")
}

// longestLogged is how many bytes of a value the log shows.
const longestLogged = 500

// harmlessAttr masks and bounds the texts of the log. Errors and causes come from flows and
// functions, so they may hold tokens, and orders to a terminal. Instants are in the time zone of
// the user.
func harmlessAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() { //nolint:exhaustive // the others have no text
	case slog.KindString, slog.KindAny:
		text := token.MaskAll(a.Value.String())
		if end := longestLogged; len(text) > end {
			for end > 0 && !utf8.RuneStart(text[end]) {
				end--
			}
			text = text[:end] + "…"
		}
		a.Value = slog.StringValue(Printable(text))
	case slog.KindTime:
		a.Value = slog.TimeValue(a.Value.Time().Local())
	}
	return a
}

// ExecutionLog logs the events of executions: start, end, failed attempts, retries, and awaited
// callbacks and jobs. It implements [engine.Observer].
type ExecutionLog struct {
	Log *slog.Logger
	// Flow returns a definition that the engine just used, which is in memory.
	Flow func(context.Context, machine.FlowRef) (*flow.Flow, error)
}

// messages are the log messages of most events.
var messages = map[machine.EventType]struct {
	level slog.Level
	text  string
}{
	machine.ExecutionStarted:   {slog.LevelInfo, "execution started"},
	machine.ExecutionSucceeded: {slog.LevelInfo, "execution succeeded"},
	machine.ExecutionStopped:   {slog.LevelInfo, "execution stopped"},
	machine.ExecutionFailed:    {slog.LevelWarn, "execution failed"},
	machine.ExecutionTimedOut:  {slog.LevelWarn, "execution timed out"},
	machine.TaskFailed:         {slog.LevelWarn, "attempt failed"},
	machine.TaskSubmitFailed:   {slog.LevelWarn, "attempt failed"},
	machine.TaskTimedOut:       {slog.LevelWarn, "attempt failed"},
	machine.StepFailed:         {slog.LevelWarn, "step failed"},
	machine.TaskSubmitted:      {slog.LevelInfo, "waiting for a callback"},
	machine.TaskSucceeded:      {slog.LevelInfo, "callback succeeded"},
}

// Calling implements [engine.Observer].
func (*ExecutionLog) Calling(machine.Call, time.Time) {}

// Committed implements [engine.Observer].
func (l *ExecutionLog) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	flow, err := l.Flow(context.Background(), state.Flow)
	if err != nil {
		return // the engine reports it
	}
	for _, e := range events {
		message, ok := messages[e.Type]
		switch {
		case !ok:
			continue
		case e.Step == machine.NoStep:
		case e.Type == machine.StepFailed && isTask(flow, e.Step): // the attempt reports it
			continue
		case e.Type == machine.TaskSucceeded && !endsLater(flow, e): // the end of the step reports it
			continue
		case WaitsForJob(flow, e.Step):
			message.text = strings.Replace(message.text, "callback", "job", 1)
		case waitsForChild(flow, e.Step):
			message.text = strings.Replace(message.text, "callback", "sub-flow", 1)
		}
		l.record(state, e.At, message.level, message.text, attrsOf(flow, state, e)...)
	}
	if w := state.Waiting; w != nil && w.For == machine.WaitingForRetry && len(events) > 0 {
		retries := 0
		for _, n := range w.Retried {
			retries += n
		}
		step := flow.All[w.Attempt.Step]
		l.record(state, state.At, slog.LevelInfo, "retry scheduled",
			slog.String("step", machine.StepIn(step.Name, machine.Iterations(step, state.ForkIndexes()))), slog.Int("retry", retries), slog.Time("at", w.Due))
	}
}

// endsLater reports whether the event closed a task that waited for its outcome.
func endsLater(def *flow.Flow, e machine.Event) bool {
	task, ok := def.All[e.Step].Kind.(*flow.Task)
	return ok && e.ClosedBy != "" && (task.Pattern == flow.PatternWaitForCallback || task.Pattern == flow.PatternSync)
}

// attrsOf returns the attributes of an event, empty where it has none.
func attrsOf(flow *flow.Flow, state machine.State, e machine.Event) []slog.Attr {
	if e.Step == machine.NoStep {
		attrs := []slog.Attr{slog.String("error", state.Error), slog.String("cause", state.Cause)}
		if e.Type != machine.ExecutionStarted {
			milliseconds := e.At.Sub(state.Started).Round(time.Millisecond).Milliseconds()
			attrs = append(attrs, slog.Float64("seconds", float64(milliseconds)/1000)) //nolint:mnd // milliseconds of a second
		}
		return attrs
	}
	step := flow.All[e.Step]
	attrs := []slog.Attr{
		slog.String("step", machine.StepIn(step.Name, machine.Iterations(step, e.ForkIndexes))),
		slog.String("error", e.Error), slog.String("cause", causeIn(flow, e)), slog.String("closedBy", string(e.ClosedBy)),
	}
	if e.Type == machine.TaskSubmitted && WaitsForJob(flow, e.Step) {
		attrs = append(attrs, slog.String("job", jobID(e)))
	}
	if w := state.Waiting; e.Type == machine.TaskSubmitted && w != nil && w.Attempt.Step == e.Step && !w.Deadline.IsZero() {
		attrs = append(attrs, slog.Time("until", w.Deadline))
	}
	return attrs
}

// record logs a message at an instant, with the attributes that have a value.
func (l *ExecutionLog) record(state machine.State, at time.Time, level slog.Level, message string, attrs ...slog.Attr) {
	ctx, handler := context.Background(), l.Log.Handler()
	if !handler.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(at, level, message, 0)
	r.AddAttrs(slog.String("execution", state.Flow.Name+"/"+state.Execution))
	r.AddAttrs(slices.DeleteFunc(attrs, func(a slog.Attr) bool { return a.Value.Equal(slog.StringValue("")) })...)
	_ = handler.Handle(ctx, r) // a log that cannot be written is not an error
}
