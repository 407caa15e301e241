package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// StartRequest asks for an execution.
type StartRequest struct {
	Flow      machine.FlowRef
	Execution string      // the name; see [flow.ValidExecution]
	Input     value.Value // an object; Missing means {}
	// Reports is the handle of the token of a step that the end of the execution closes, "" for
	// none. It has no effect if an execution with the same name exists.
	Reports string
	// Notify selects the notices of the execution. Without a target, the configuration's Notify
	// applies. It has no effect if an execution with the same name exists.
	Notify machine.Notify
	// Trace is the trace context of the request, nil for none. It has no effect if [Config] has no
	// Traces.
	Trace *machine.Trace
	// Redriven is what [Client.Redrive] returns, nil for an execution that begins with the first
	// step.
	Redriven *machine.Redriven
	series   []machine.Series // with Redriven; see [machine.RedrivePoint]
	results  *machine.Results // with Redriven; see [machine.RedrivePoint]
	left     time.Time        // with Redriven: the start of the execution that it goes on from
}

// StartResult is the result of a start.
type StartResult uint8

// The answers to a start.
const (
	// StartedNew: the execution is new.
	StartedNew StartResult = iota
	// StartedSame: it was started before with the same definition and input.
	StartedSame
	// StartedDifferent: an execution with the same name but another definition or input exists;
	// nothing was started.
	StartedDifferent
)

// Start accepts an execution. It sends the wake before it puts item 0, so that an accepted
// execution always begins (rule 12). A repeated start sends the wake again.
func (c *Client) Start(ctx context.Context, request StartRequest) (StartResult, error) {
	op := fmt.Sprintf("start %s/%s", request.Flow.Name, request.Execution)
	if request.Input.IsMissing() {
		request.Input = value.Object()
	}
	if err := check(request); err != nil {
		return 0, &Error{CodeInvalid, op, err}
	}
	parent, err := request.parent()
	if err == nil {
		err = c.checkNotify(request.Notify)
	}
	if err != nil {
		return 0, &Error{CodeInvalid, op, err}
	}
	if err := c.core.checkPaused(ctx, request.Flow.Name); err != nil {
		return 0, wrap(op, err)
	}
	if request.Notify.Target == "" { // the setting of the flow, or else the default
		if _, err = c.core.Flows.Flow(ctx, request.Flow); err == nil { // first: a store may read both at once
			request.Notify, err = c.core.Flows.NotifyOf(ctx, request.Flow)
		}
		if err != nil {
			return 0, wrap(op, err)
		}
		request.Notify = cmp.Or(request.Notify, c.core.Notify)
	}
	request.Trace = c.traceOf(request)
	switch _, err := c.core.accept(ctx, request, parent, time.Time{}); {
	case err == nil:
		return StartedNew, nil
	case !errors.Is(err, ErrConflict):
		return 0, wrap(op, err)
	}
	return c.compareStart(ctx, op, NewID(request.Flow.Name, request.Execution), request)
}

// parent returns the step to which the end of the execution is reported, nil for none.
func (r StartRequest) parent() (*machine.Parent, error) {
	if r.Reports == "" {
		return nil, nil
	}
	id, ok := token.HandleID(r.Reports)
	if !ok || id.Flags&token.FlagExternal != 0 {
		return nil, errors.New("the token for the end of the execution is not that of a step of a flow")
	}
	return &machine.Parent{Log: id.Execution, Handle: r.Reports, Depth: 1}, nil
}

// accept sends the wake of a start and puts item 0 (rule 12). The parent is set for a sub-flow, and
// nil for other executions. A start that is due later has the wake of the start as its timer. The
// error is a conflict if an execution with the same name exists.
func (c *core) accept(ctx context.Context, request StartRequest, parent *machine.Parent, due time.Time) (machine.State, error) {
	flow, err := c.Flows.Flow(ctx, request.Flow) // says how long the execution may take, and so how long it is kept
	if err != nil {
		return machine.State{}, err
	}
	if !flow.Values.Any && request.Input.Kind() != value.KindObject {
		return machine.State{}, &Error{CodeInvalid, "", fmt.Errorf("the input is %s; allowed: an object", request.Input.Kind())}
	}
	now := c.Now()
	id := NewID(request.Flow.Name, request.Execution)
	state, events := machine.New(request.Flow, flow, request.Execution, request.Input, now, c.Limits)
	state.Parent, state.Notify, state.Trace = parent, request.Notify, request.Trace
	state.Redriven, state.Series, state.Results = request.Redriven, request.series, request.results
	wake := Wake{Execution: id, Cause: machine.CauseStart, Due: now, Sent: now, Flow: request.Flow.Name}
	if due.After(now) {
		wake.Due = due
		state.Timer = machine.Timer{Tag: machine.CauseStart, Due: due}
	}
	item := Item{Execution: id, Nonce: c.NewNonce()}
	parts, _ := c.encode(&item, state, events)
	if err := checkSize(item); err != nil {
		return machine.State{}, &Error{CodeInvalid, "", err}
	}
	if err := c.storeParts(ctx, parts, c.Limits.LastExpiry(state, flow)); err != nil {
		return machine.State{}, err
	}
	if err := c.Wakes.Send(ctx, wake); err != nil {
		return machine.State{}, err
	}
	if err := c.put(ctx, item); err != nil {
		return machine.State{}, err
	}
	c.Observer.Committed(id, state, events)
	return state, nil
}

// CheckName returns an error unless the text is a valid name of an execution.
func CheckName(name string) error {
	if size := utf8.RuneCountInString(name); size > flow.MaxName {
		return fmt.Errorf("the execution's name %.20q... has %d characters and the limit is %d; shorten it", name, size, flow.MaxName)
	}
	if !flow.ValidExecution(name) {
		return fmt.Errorf("name %q is no execution name; allowed: %s", name, flow.ExecutionNames)
	}
	return nil
}

// NewName returns a random name for an execution.
func NewName() string {
	const length = 16 // 80 bits
	return "run-" + strings.ToLower(rand.Text()[:length])
}

func check(request StartRequest) error {
	if err := CheckName(request.Execution); err != nil {
		return err
	}
	if request.Input.TooDeep() {
		return fmt.Errorf("the input has %d levels of arrays and objects and the limit is %d; pass what is inside as a text",
			request.Input.Levels(), value.MaxLevels)
	}
	return nil
}

func (c *Client) compareStart(ctx context.Context, op string, id ID, request StartRequest) (StartResult, error) {
	first, err := c.core.firstState(ctx, id)
	if err == nil {
		loader := c.core.newValueLoader()
		err = loader.fill(ctx, &first.Input)
	}
	switch {
	case err != nil:
		return 0, wrap(op, err)
	case first.Flow == request.Flow && value.Equal(first.Input, request.Input) && sameRedrive(first, request):
		return StartedSame, nil
	}
	return StartedDifferent, nil
}

// firstState returns the first state of an execution; its input may be held by reference.
func (c *core) firstState(ctx context.Context, id ID) (machine.State, error) {
	items, err := c.Log.Items(ctx, id, 0, 1)
	if err == nil && len(items) == 0 {
		err = &Error{CodeInternal, "read item 0", errors.New("the log has other items of the execution, and not this one")}
	}
	if err != nil {
		return machine.State{}, err
	}
	return decodeState(items[0])
}

// Stop requests the end of an execution. The first request stays. The error has [CodeConflict] if
// the execution has ended, and [CodeNotFound] if it does not exist.
func (c *Client) Stop(ctx context.Context, id ID, name, cause string) error {
	state, err := c.Describe(ctx, id)
	if err != nil {
		return err
	}
	op := "stop execution " + state.Flow.Name + "/" + state.Execution
	if state.Status.Final() {
		return &Error{CodeConflict, "", fmt.Errorf("the execution ended before, with the status %s", state.Status)}
	}
	if err := c.core.sendWake(ctx, id, machine.CauseStop); err != nil { // before the request (rule 12)
		return wrap(op, err)
	}
	kept := token.Outcome{Error: name, Cause: cause}.Cut()
	return wrap(op, c.core.Stops.RequestStop(ctx, id, StopRequest{Error: kept.Error, Cause: kept.Cause}, state.Expires))
}

// Describe returns the state of an execution with complete input and output. If a value cannot be
// read because a large value is missing or damaged, a text with the reason replaces it. The error
// has [CodeNotFound] if the execution does not exist.
func (c *Client) Describe(ctx context.Context, id ID) (machine.State, error) {
	state, err := c.describe(ctx, id)
	if err != nil {
		return state, err
	}
	loader := c.core.newValueLoader()
	return state, loader.show(ctx, &state.Input, &state.Output)
}

// describe returns the state of an execution; its values may be held by reference.
func (c *Client) describe(ctx context.Context, id ID) (machine.State, error) {
	item, err := c.core.Log.Latest(ctx, id)
	if err != nil {
		return machine.State{}, wrap("describe execution "+id.String(), err)
	}
	state, err := decodeState(item)
	if err != nil {
		return machine.State{}, err
	}
	if state.Input.IsMissing() { // the item of a defect is small, see [machine.Abandon]
		first, err := c.core.firstState(ctx, id)
		if err != nil && CodeOf(err) != CodeDefect {
			return state, wrap("read the input of execution "+id.String(), err)
		}
		state.Input = first.Input
	}
	return state, nil
}

// Status returns the status of an execution. The error has [CodeNotFound] if the execution does not
// exist.
func (c *Client) Status(ctx context.Context, id ID) (machine.Status, error) {
	item, err := c.core.Log.Latest(ctx, id)
	if err != nil {
		return "", wrap("read the status of execution "+id.String(), err)
	}
	head, err := machine.StatusOf(item.Body)
	return head.Status, err
}

// Waits lists the open waits in the logs of an execution.
type Waits struct {
	// States holds the states that wait for something other than lanes: the execution's own state,
	// or the states of its lanes. Lanes that have not begun or have ended are left out.
	States []machine.State
	Unread int // how many lanes were not read; some of them may have lanes, too
	// Items is the number of branches or iterations of the step that the execution waits for, 0 if
	// it is not known, or if not all of its lanes were read. Done of them have ended, and Running
	// have begun and not ended. Failed of those that have ended failed, which the step tolerates.
	Items, Done, Running, Failed int
}

// Waiting returns the open waits of an execution and its lanes. It reads as many lanes as most
// says, and of a fork with more lanes only those that have not ended.
func (c *Client) Waiting(ctx context.Context, state machine.State, most int) (Waits, error) {
	r := waitingReader{core: &c.core, left: most}
	err := r.add(ctx, state)
	return r.Waits, wrap("read the lanes of execution "+state.ID().String(), err)
}

// waitingReader collects what waits.
type waitingReader struct {
	*core
	Waits
	left int // how many lanes it may read
}

func (r *waitingReader) add(ctx context.Context, state machine.State) error {
	waiting := state.Waiting
	switch {
	case waiting == nil:
		return nil
	case waiting.Fork() == nil:
		r.States = append(r.States, state)
		return nil
	}
	had := state.Results
	if had != nil && state.Lane == nil {
		had = &machine.Results{Step: had.Step, Done: had.Done}
		loader := r.newValueLoader()
		if err := loader.fill(ctx, &had.Done); err != nil {
			return err
		}
	}
	lanes := lanesOf(state.ID(), waiting.Attempt.Number, waiting.Fork().Lanes)
	if len(lanes) > r.left {
		record, _, err := r.joined(ctx, state.ID(), waiting)
		if err != nil {
			return err
		}
		lanes = record.missing(state.ID(), waiting)
	}
	for i, lane := range lanes {
		if r.left == 0 {
			r.Unread += len(lanes) - i
			return nil
		}
		r.left--
		inside, err := r.latestState(ctx, lane.ID())
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			r.count(lane, inside, state, had)
			err = r.add(ctx, inside)
		}
		if err != nil {
			return err
		}
	}
	if state.Lane == nil && r.Unread == 0 && len(lanes) == waiting.Fork().Lanes {
		r.Items = waiting.Fork().Items + had.DoneBefore(math.MaxInt)
		r.Done += had.DoneBefore(math.MaxInt)
	}
	return nil
}

// count adds the items of a lane, except for nested lanes.
func (r *waitingReader) count(lane machine.Lane, inside, parent machine.State, had *machine.Results) {
	if parent.Lane != nil {
		return
	}
	done, running := lane.ItemsDone(inside, parent.Waiting.Fork().Items, had)
	r.Done += done
	if running {
		r.Running++
	}
	if inside.Tolerance != nil {
		r.Failed += inside.Tolerance.Failed
	}
}

// Submission returns the response of the function that received the token for which an execution or
// a lane waits. It is missing if the latest item of the log does not have it.
func (c *Client) Submission(ctx context.Context, log ID) (reply value.Value, err error) {
	item, err := c.core.Log.Latest(ctx, log)
	var events []machine.Event
	if err == nil {
		_, events, err = machine.Decode(item.origin(), item.Body)
	}
	for _, e := range events {
		if e.Type == machine.TaskSubmitted {
			reply = e.Output
		}
	}
	return reply, wrap("read what "+log.String()+" submitted", err)
}

// Flow returns a definition.
func (c *Client) Flow(ctx context.Context, flow machine.FlowRef) (*flow.Flow, error) {
	return c.core.Flows.Flow(ctx, flow)
}

// Newest returns the newest definition of a name that is listed. The error has [CodeNotFound] if
// there is none.
func (c *Client) Newest(ctx context.Context, name string) (machine.FlowRef, error) {
	return c.core.Flows.Newest(ctx, name)
}

// PutFlow stores a definition; see [Flows].
func (c *Client) PutFlow(ctx context.Context, name string, text []byte) (machine.FlowRef, error) {
	if c.core.Check != nil {
		if _, _, err := ParseFlow(name, text, c.core.Check); err != nil {
			return machine.FlowRef{}, err
		}
	}
	return c.core.Flows.Put(ctx, name, text)
}

// Token returns the text of the token that an execution of the flow waits for. ok is false if no
// caller outside can close the token, or if its key is gone.
func (c *Client) Token(flow *flow.Flow, state machine.State) (text string, ok bool) {
	return machine.Token(c.core.Keys, flow, state)
}

// TokenText returns the text of the token with that handle. ok is false if its key is gone.
func (c *Client) TokenText(handle string) (text string, ok bool) {
	return c.core.Keys.SignAgain(handle)
}

// TokenRecord returns the stored record of the token.
func (c *Client) TokenRecord(ctx context.Context, handle string) (token.Record, error) {
	return c.core.TokenStore.Record(ctx, handle)
}
