package view

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// NewLogger returns the log of dev: one record a line, in the format "text" or "json". A quiet log
// has warnings and errors only.
func NewLogger(out io.Writer, format string, quiet bool) (*slog.Logger, error) {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	switch format {
	case "text":
		return slog.New(&lineHandler{out: out, level: level, mu: &sync.Mutex{}}), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: harmlessAttr})), nil
	}
	return nil, Usage(fmt.Sprintf("--log-format is %q; allowed: text, json", format), "--log-format text")
}

// LongestLogged is how many bytes of a value the log shows.
const LongestLogged = 500

// harmlessAttr masks and bounds the texts of the JSON log. Errors and causes come from flows and
// functions, so they may hold tokens, and orders to a terminal.
func harmlessAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(Printable(bounded(a.Value.String())))
	}
	return a
}

// bounded returns the begin of a text, with its tokens masked.
func bounded(text string) string {
	text = token.MaskAll(text)
	if len(text) <= LongestLogged {
		return text
	}
	end := LongestLogged
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// messageColumn is the length of the usual messages, after which the attributes begin.
const messageColumn = len("waiting for a callback")

// lineHandler writes records as lines for people: the instant, the level, the message, and the
// attributes as key=value.
type lineHandler struct {
	out   io.Writer
	level slog.Level
	attrs string // of every record
	mu    *sync.Mutex
}

// Enabled implements [slog.Handler].
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements [slog.Handler].
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	fmt.Fprintf(&line, "%s %-5s %-*s%s", r.Time.Local().Format("2006-01-02 15:04:05.000"), r.Level, messageColumn, Printable(r.Message), h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(attrText(a))
		return true
	})
	line.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, line.String())
	return err
}

// WithAttrs implements [slog.Handler].
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	of := *h
	for _, a := range attrs {
		of.attrs += attrText(a)
	}
	return &of
}

// WithGroup implements [slog.Handler]. Groups are not shown.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

func attrText(a slog.Attr) string {
	text := bounded(a.Value.Resolve().String())
	if a.Value.Kind() == slog.KindTime {
		text = a.Value.Time().Local().Format(time.RFC3339)
	}
	if text == "" || strings.ContainsFunc(text, needsQuotes) {
		text = strconv.Quote(text)
	}
	return " " + a.Key + "=" + text
}

func needsQuotes(r rune) bool { return r == ' ' || r == '"' || r == '=' || !unicode.IsPrint(r) }

// ExecutionLog logs what happens to executions: start, end, failed attempts, retries, and callbacks
// and jobs that are waited for. It implements [engine.Observer].
type ExecutionLog struct {
	Log *slog.Logger
	// Flow returns a definition that the engine just used, which is in memory.
	Flow func(context.Context, machine.FlowRef) (*fdl.Flow, error)
}

// Calling implements [engine.Observer].
func (*ExecutionLog) Calling(machine.Call, time.Time) {}

// Committed implements [engine.Observer].
func (l *ExecutionLog) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	flow, err := l.Flow(context.Background(), state.Flow)
	if err != nil {
		return // the engine reports it
	}
	log := &committedLog{l.Log.Handler().WithAttrs([]slog.Attr{slog.String("execution", state.Flow.Name+"/"+state.Execution)}), flow, state}
	for _, e := range events {
		log.event(e)
	}
	if w := state.Waiting; w != nil && w.For == machine.WaitingForRetry && len(events) > 0 {
		log.record(slog.LevelInfo, state.At, "retry scheduled", log.step(w.Attempt.Step), slog.Int("retry", sum(w.Retried)), slog.Time("at", w.Due))
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// committedLog logs one commit.
type committedLog struct {
	slog.Handler
	flow  *fdl.Flow
	state machine.State
}

func (l *committedLog) record(level slog.Level, at time.Time, message string, attrs ...slog.Attr) {
	ctx := context.Background()
	if !l.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(at, level, message, 0)
	r.AddAttrs(attrs...)
	_ = l.Handle(ctx, r) // a log that cannot be written is not an error
}

func (l *committedLog) step(index int) slog.Attr {
	return slog.String("step", l.flow.All[index].Name)
}

func (l *committedLog) event(e machine.Event) {
	switch e.Type {
	case machine.ExecutionStarted:
		l.record(slog.LevelInfo, e.At, "execution started")
	case machine.ExecutionSucceeded:
		l.record(slog.LevelInfo, e.At, "execution succeeded", l.took(e))
	case machine.ExecutionStopped:
		l.record(slog.LevelInfo, e.At, "execution stopped", append(failureAttrs(e.Error, e.Cause), l.took(e))...)
	case machine.ExecutionFailed:
		l.record(slog.LevelWarn, e.At, "execution failed", append(failureAttrs(l.state.Error, l.state.Cause), l.took(e))...)
	case machine.ExecutionTimedOut:
		l.record(slog.LevelWarn, e.At, "execution timed out", append(failureAttrs(e.Error, e.Cause), l.took(e))...)
	case machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		l.record(slog.LevelWarn, e.At, "attempt failed", l.failure(e)...)
	case machine.StepFailed:
		if _, isTask := l.flow.All[e.Step].Kind.(*fdl.Task); !isTask { // whose attempt said it
			l.record(slog.LevelWarn, e.At, "step failed", l.failure(e)...)
		}
	case machine.TaskSubmitted:
		l.submitted(e)
	case machine.TaskSucceeded:
		l.closed(e)
	case machine.StepEntered, machine.StepStarted, machine.StepSucceeded, machine.StepExited, machine.TaskScheduled, machine.TaskStarted,
		machine.BranchEntered, machine.BranchExited, machine.IterationEntered, machine.IterationExited:
	}
}

func (l *committedLog) took(e machine.Event) slog.Attr {
	return slog.Float64("seconds", float64(e.At.Sub(l.state.Started).Round(time.Millisecond).Milliseconds())/1000) //nolint:mnd // milliseconds of a second
}

func (l *committedLog) failure(e machine.Event) []slog.Attr {
	attrs := append([]slog.Attr{l.step(e.Step)}, failureAttrs(e.Error, causeIn(l.flow, e))...)
	if e.ClosedBy != "" {
		attrs = append(attrs, slog.String("closedBy", string(e.ClosedBy)))
	}
	return attrs
}

func failureAttrs(name, cause string) []slog.Attr {
	var attrs []slog.Attr
	if name != "" {
		attrs = append(attrs, slog.String("error", name))
	}
	if cause != "" {
		attrs = append(attrs, slog.String("cause", cause))
	}
	return attrs
}

// submitted logs that a callback, or the end of a job, is waited for.
func (l *committedLog) submitted(e machine.Event) {
	message, attrs := "waiting for a callback", []slog.Attr{l.step(e.Step)}
	if WaitsForJob(l.flow, e.Step) {
		message = "waiting for a job"
		if e.Output.IsComplete() && e.Output.Get("job_id").Kind() == value.KindString {
			attrs = append(attrs, slog.String("job", e.Output.Get("job_id").Text()))
		}
	}
	if w := l.state.Waiting; w != nil && w.Attempt.Step == e.Step && !w.Deadline.IsZero() {
		attrs = append(attrs, slog.Time("until", w.Deadline))
	}
	l.record(slog.LevelInfo, e.At, message, attrs...)
}

// closed logs the success of a callback or of a job. Other tasks have inner tokens, or none.
func (l *committedLog) closed(e machine.Event) {
	task, isTask := l.flow.All[e.Step].Kind.(*fdl.Task)
	if !isTask || e.ClosedBy == "" {
		return
	}
	message := "callback succeeded"
	switch task.Pattern {
	case fdl.PatternWaitForCallback:
	case fdl.PatternSync:
		message = "job succeeded"
	case fdl.PatternRequestResponse, fdl.PatternWaitForCondition:
		return
	}
	l.record(slog.LevelInfo, e.At, message, l.step(e.Step), slog.String("closedBy", string(e.ClosedBy)))
}
