package rest

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Flow names a definition that was put.
type Flow struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // SHA-256 of the text, hexadecimal
	// CreatedTime is when it was put first; the response to a put lacks it.
	CreatedTime string `json:"createdTime,omitempty"`
	// Notify is the target that executions notify if their start does not name one, with secret
	// parts removed.
	Notify string `json:"notify,omitempty"`
	// Paused says that executions do not start, and do not continue. Lists of flows have it.
	Paused bool `json:"paused,omitempty"`
	// Definition is the text, in the response with one flow.
	Definition string `json:"definition,omitempty"`
}

// Start requests an execution.
type Start struct {
	// Name is random if it is left out; a request that is sent twice then starts two executions.
	Name string `json:"name,omitempty"`
	// Hash names the definition; the latest one if it is left out.
	Hash  string      `json:"hash,omitempty"`
	Input value.Value `json:"input,omitzero"` // an object; {} if it is left out
	// Notify is a URL that is told of the end, and with NotifyWaits of each wait for a callback. It
	// may be a secret.
	Notify      string `json:"notify,omitempty"`
	NotifyWaits bool   `json:"notifyWaits,omitempty"`
}

// Redrive requests an execution that continues where another execution ended, or one repeating it
// from the start.
type Redrive struct {
	// Name is the name of the new execution. The default is derived for a redrive, as in
	// "run-redrive", and random for a rerun.
	Name string `json:"name,omitempty"`
	// From is the step to continue from; the failed step if it is omitted. A rerun has none.
	From string `json:"from,omitempty"`
	// Newest says that the execution has the newest definition of the flow, not the definition of
	// the old execution.
	Newest bool `json:"newest,omitempty"`
}

// Execution is an execution as it is now.
//
// If the descendants of a removed execution are stopped, only Flow and Name of the execution are
// known.
type Execution struct {
	Flow    string         `json:"flow"`
	Hash    string         `json:"hash,omitempty"`
	Name    string         `json:"execution"`
	Status  machine.Status `json:"status,omitempty"`
	Input   value.Value    `json:"input,omitzero"`
	Output  *value.Value   `json:"output,omitempty"`
	LeftOut []string       `json:"leftOut,omitempty"` // "input", "output": the members that hold the reason of their omission
	Error   string         `json:"error,omitempty"`
	Cause   string         `json:"cause,omitempty"`
	// FailedStep has the index of each iteration around the step, as in "Ask[3]". An execution has
	// it before its end while it stops the other branches or iterations.
	FailedStep  string `json:"failedStep,omitempty"`
	StartedTime string `json:"startedTime,omitempty"`
	StoppedTime string `json:"stoppedTime,omitempty"`
	// RedrivenFrom is the name of the execution that it continues, omitted if it was not redriven.
	// RedrivenStep is the step that it begins with, omitted if that execution had not run a step.
	RedrivenFrom string `json:"redrivenFrom,omitempty"`
	RedrivenStep string `json:"redrivenStep,omitempty"`
	// Parent is FLOW/EXECUTION of the step that started it. RedrivenAs is the name of its redrive,
	// if the redrive has the default name. Both are omitted in lists, and for deleted executions.
	Parent     string `json:"parent,omitempty"`
	RedrivenAs string `json:"redrivenAs,omitempty"`
	// TraceID is the id of the trace, left out for an execution that is not traced.
	TraceID string `json:"traceId,omitempty"`
	// Waiting describes its wait, omitted after its end.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Blocked is why the worker cannot continue it, left out when it can.
	Blocked string `json:"blocked,omitempty"`
	// Paused says that it does not continue because its flow is paused. Lists and
	// [Client.Execution] have it.
	Paused bool `json:"paused,omitempty"`
	// Notify is the target that is notified of the end, with secret parts removed.
	Notify string `json:"notify,omitempty"`
	// Undelivered is why notices were given up, one text each.
	Undelivered []string `json:"undelivered,omitempty"`
}

// Waiting describes the wait of an execution.
type Waiting struct {
	Step string `json:"step"`
	// Iterations has the index of each iteration around the step, the outermost first.
	Iterations []int  `json:"iterations,omitempty"`
	For        string `json:"for"`             // "call", "instant", "callback", "job", "retry", "poll", "lanes", "sub-flow"
	Since      string `json:"since"`           // instant
	Until      string `json:"until,omitempty"` // the end of a wait or a pause, the deadline of a callback or a job
	// Subflow is the execution that the step waits for, FLOW/EXECUTION, if For is "sub-flow".
	Subflow string `json:"subflow,omitempty"`
	// Queued reports whether the call has not begun: it waits until fewer calls run.
	Queued bool `json:"queued,omitempty"`
	// OutcomeStored reports whether the outcome of the callback or job is known, and is applied
	// once the execution is no longer blocked.
	OutcomeStored bool `json:"outcomeStored,omitempty"`
	// Inside has the waits of the first branches or iterations, if For is "lanes". Others is the
	// number of further waits. More reports whether some of them are branches or iterations of
	// which only is known that they have not ended; others may be inside of them.
	Inside []Waiting `json:"inside,omitempty"`
	Others int       `json:"others,omitempty"`
	More   bool      `json:"more,omitempty"`
	// Progress counts the branches or iterations, if For is "lanes". It is omitted in lists, while
	// they are stopped, and if there are more lanes than this response reads.
	Progress *Progress `json:"progress,omitempty"`
	// Question is the step's question to the person who reports its outcome. It is omitted in
	// lists.
	Question *machine.Question `json:"question,omitempty"`
	// Job is the job that the step waits for. It is omitted in lists.
	Job *AwaitedJob `json:"job,omitempty"`
}

var article = map[string]string{
	"call": "a call", "instant": "an instant", "callback": "a callback", "job": "its job", "retry": "its next attempt", "poll": "its next poll",
	"lanes": "its branches or iterations", "sub-flow": "its sub-flow",
}

// What describes the step's wait in words: "its job", "sub-flow payment/one".
func (w Waiting) What() string {
	if w.Subflow != "" {
		return "sub-flow " + w.Subflow
	}
	return article[w.For]
}

// Subflows returns the sub-flows that the step and the branches or iterations in Inside wait for,
// FLOW/EXECUTION each.
func (w Waiting) Subflows() (names []string) {
	for _, one := range append([]Waiting{w}, w.Inside...) {
		if one.Subflow != "" {
			names = append(names, one.Subflow)
		}
	}
	return names
}

// AwaitedJob is the job that a step waits for. If its start is not recorded, it has only the kind.
type AwaitedJob struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	// Key is the ARN of the job, or the equivalent of its kind.
	Key string `json:"key,omitempty"`
	// Account is the account that the step names, left out if it names none.
	Account string `json:"account,omitempty"`
}

// Progress is how many branches or iterations of a step there are, have ended, have begun and not
// ended, and have not begun.
type Progress struct {
	Items    int `json:"items"`
	Done     int `json:"done"`
	Failed   int `json:"failed,omitempty"` // those of Done that failed, which the step tolerates
	Running  int `json:"running"`          // those that wait included
	NotBegun int `json:"notBegun"`
	// Waiting has the running ones that wait for something other than a call.
	Waiting []WaitingItems `json:"waiting,omitempty"`
}

// WaitingItems counts the branches or iterations that wait in the same step for the same.
type WaitingItems struct {
	Step  string `json:"step"`
	For   string `json:"for"` // as in [Waiting]
	Items int    `json:"items"`
}

// String returns "3 of 9 done (1 failed), 1 running, 2 waiting in Ask for a callback, 3 not begun",
// as far as there are such branches or iterations.
func (p Progress) String() string {
	running, waiting := p.Running, ""
	for _, w := range p.Waiting {
		running -= w.Items
		waiting += fmt.Sprintf(", %d waiting in %s for %s", w.Items, w.Step, article[w.For])
	}
	text := fmt.Sprintf("%d of %d done", p.Done, p.Items)
	if p.Failed > 0 {
		text += fmt.Sprintf(" (%d failed)", p.Failed)
	}
	if running > 0 {
		text += fmt.Sprintf(", %d running", running)
	}
	if text += waiting; p.NotBegun > 0 {
		text += fmt.Sprintf(", %d not begun", p.NotBegun)
	}
	return text
}

// Token is a token as it is now.
type Token struct {
	// Token is the text, which is masked except in responses that reveal it.
	Token     string `json:"token"`
	Flow      string `json:"flow,omitempty"`
	Execution string `json:"execution,omitempty"`
	Step      string `json:"step,omitempty"`
	// Iterations has the index of each iteration around the step, the outermost first.
	Iterations []int `json:"iterations,omitempty"`
	// Recipient is the external engine that waits; a step of a flow has a flow, an execution and a
	// step instead. Handle names its token in requests of this API, without the text.
	Recipient string `json:"recipient,omitempty"` // step-functions, durable-function
	Handle    string `json:"handle,omitempty"`
	// Kind is the kind of the job that closes the token by its end, and Job its ARN or the kind's
	// equivalent. Both are omitted if a callback closes the token. The token of a step that waits
	// for a job has no text.
	Kind     string `json:"kind,omitempty"`
	Job      string `json:"job,omitempty"`
	Since    string `json:"since,omitempty"`
	Deadline string `json:"deadline,omitempty"`
	// HeartbeatSeconds is how long the step waits for a heartbeat, left out if heartbeats change
	// nothing.
	HeartbeatSeconds int `json:"heartbeatSeconds,omitempty"`
	// Question is the step's question to the person who reports its outcome, in lists of open
	// tokens.
	Question *machine.Question `json:"question,omitempty"`
	Open     bool              `json:"open"`
	Output   *value.Value      `json:"output,omitempty"`
	Error    string            `json:"error,omitempty"`
	Cause    string            `json:"cause,omitempty"`
	ClosedBy string            `json:"closedBy,omitempty"` // hand, callback, event, reconcile, task, submit, deadline, heartbeat, stop
	ClosedAt string            `json:"closedTime,omitempty"`
	LastBeat string            `json:"lastHeartbeat,omitempty"`
}

// Failure is the error of a failing task or of a stop.
type Failure struct {
	Error string `json:"error"`
	Cause string `json:"cause"`
}

// Stop requests the end of an execution.
type Stop struct {
	Failure
	// Descendants asks for the end of everything that descends from the execution, too. The
	// execution may have ended.
	Descendants bool `json:"descendants,omitempty"`
}

// Error is the response to a rejected request.
type Error struct {
	Status  int         `json:"-"` // of HTTP
	Code    engine.Code `json:"code"`
	Message string      `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(machine.TimeFormat)
}

func executionOf(state machine.State) Execution {
	e := Execution{
		Flow: state.Flow.Name, Hash: state.Flow.Hash, Name: state.Execution, Status: state.Status, Input: state.Input,
		Error: state.Error, Cause: state.Cause, FailedStep: state.FailedStep, StartedTime: instant(state.Started),
	}
	if state.Trace != nil {
		e.TraceID = state.Trace.ID.String()
	}
	if state.Redriven != nil {
		e.RedrivenFrom, e.RedrivenStep = state.Redriven.From, state.Redriven.Step
	}
	if state.Notify.Target != "" {
		e.Notify = engine.ShownTarget(state.Notify.Target)
	}
	if state.Status.Final() {
		e.StoppedTime = instant(state.At)
	}
	if !state.Output.IsMissing() {
		e.Output = &state.Output
	}
	e.noteLeftOut()
	return e
}

// noteLeftOut notes which values were left out. An input of a state machine may be a text.
func (e *Execution) noteLeftOut() {
	e.LeftOut = nil
	if machine.IsLeftOut(e.Input) {
		e.LeftOut = append(e.LeftOut, "input")
	}
	if e.Output != nil && machine.IsLeftOut(*e.Output) {
		e.LeftOut = append(e.LeftOut, "output")
	}
}

// waitsFor returns the kind of a wait. A long call waits for an internal token, and is shown as a
// call.
func waitsFor(def *flow.Flow, w *machine.Waiting) string {
	task, isTask := def.All[w.Attempt.Step].Kind.(*flow.Task)
	switch {
	case w.For == machine.WaitingForInstant, w.For == machine.WaitingForNextLogItem, w.IsBetweenItems(): // these come at once
		return "instant"
	case w.For == machine.WaitingForRetry:
		return "retry"
	case w.For == machine.WaitingForPoll:
		return "poll"
	case w.Fork() != nil:
		return "lanes"
	case w.Token() != nil && isTask && task.Pattern == flow.PatternWaitForCallback:
		return "callback"
	case w.Child() != nil:
		return "sub-flow"
	case w.Token() != nil && isTask && task.Pattern == flow.PatternSync && task.Resource.Kind != "":
		return "job"
	}
	return "call"
}

// recordOf adds the state and the outcome in the token's record.
func recordOf(t Token, record token.Record) Token {
	t.Open, t.LastBeat = record.Open(), instant(record.LastBeat)
	if record.Open() {
		return t
	}
	t.Error, t.Cause = record.Outcome.Error, record.Outcome.Cause
	t.ClosedBy, t.ClosedAt = string(record.ClosedBy), instant(record.ClosedAt)
	if !record.Outcome.Failed() {
		t.Output = &record.Outcome.Output
	}
	return t
}
