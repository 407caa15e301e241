package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Tasks sends long calls to a queue. It implements [engine.TaskQueue].
type Tasks struct{ Target Queue }

// taskPayload is an [engine.Task].
type taskPayload struct {
	Flow       string        `json:"flow"`
	Hash       string        `json:"hash"`
	Execution  string        `json:"execution"`
	Log        string        `json:"log,omitempty"`   // of a lane
	Place      string        `json:"place,omitempty"` // in the items of forks
	Step       string        `json:"step"`
	Iteration  string        `json:"iteration,omitempty"`
	Index      int           `json:"index"`
	Attempt    int           `json:"attempt"`
	Poll       int           `json:"poll,omitempty"`
	Resource   string        `json:"resource"`
	Limit      time.Duration `json:"limit,omitempty"` // in nanoseconds, as TimeLimit
	TimeLimit  time.Duration `json:"timeLimit,omitempty"`
	Handle     string        `json:"handle"`
	Await      bool          `json:"await,omitempty"`
	AtMostOnce bool          `json:"atMostOnce,omitempty"`
	MAC        string        `json:"mac,omitempty"`
	AnyValue   bool          `json:"anyValue,omitempty"` // the rules for the result, as MaxValue
	MaxValue   int           `json:"maxValue,omitempty"`
	// LambdaErrors says that the result has the errors of Lambda.
	LambdaErrors bool            `json:"lambdaErrors,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	LargeInput   []byte          `json:"largeInput,omitempty"` // in place of Input
	// Traceparent and Tracestate are headers for the function.
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
}

// Queue implements [engine.TaskQueue].
func (t *Tasks) Queue(ctx context.Context, task engine.Task) error {
	call, log := task.Call, ""
	if call.Resource.Activity {
		return &engine.Error{Code: engine.CodeNotFound, Err: fmt.Errorf(
			"step %s: %s: a stack has no activities; use .waitForTaskToken with a queue, or waitless dev", call.Step, call.Resource.Text)}
	}
	if call.Log != engine.NewID(call.Flow.Name, call.Execution) {
		log = call.Log.String()
	}
	err := t.Target.send(ctx, kindTask, taskPayload{
		Flow: call.Flow.Name, Hash: call.Flow.Hash, Execution: call.Execution, Log: log, Place: call.Place, Step: call.Step, Iteration: call.Iteration,
		Index: call.Attempt.Step, Attempt: call.Attempt.Number, Poll: call.Attempt.Poll, Resource: call.Resource.Text, Limit: call.Limit,
		TimeLimit: task.TimeLimit, Handle: task.Handle, Await: task.Await, AtMostOnce: task.AtMostOnce, MAC: task.MAC,
		AnyValue: call.Values.Any, MaxValue: call.Values.Each, LambdaErrors: call.Values.LambdaErrors,
		Input: json.RawMessage(call.Input.JSON()), LargeInput: []byte(task.LargeInput),
		Traceparent: call.Traceparent, Tracestate: call.Tracestate,
	})
	if err != nil {
		return fmt.Errorf("queue a call of step %s: %w", call.Step, err)
	}
	return nil
}

func (p taskPayload) task() (engine.Task, error) {
	if p.Handle == "" {
		return engine.Task{}, errHandle
	}
	resource, err := fdl.ParseResource(p.Resource)
	if err != nil {
		return engine.Task{}, err
	}
	input, err := value.ParseJSON(p.Input)
	if err != nil {
		return engine.Task{}, err
	}
	if len(p.LargeInput) > 0 {
		input = value.Missing()
	}
	log := engine.NewID(p.Flow, p.Execution)
	if p.Log != "" {
		if log, err = parseID(p.Log); err != nil {
			return engine.Task{}, err
		}
	}
	return engine.Task{
		Handle: p.Handle, Await: p.Await, AtMostOnce: p.AtMostOnce, TimeLimit: p.TimeLimit, MAC: p.MAC,
		LargeInput: string(p.LargeInput),
		Call: machine.Call{
			Attempt: machine.Attempt{Step: p.Index, Number: p.Attempt, Poll: p.Poll}, Flow: machine.FlowRef{Name: p.Flow, Hash: p.Hash},
			Log: log, Place: p.Place, Execution: p.Execution, Step: p.Step, Iteration: p.Iteration, Resource: resource, Input: input, Limit: p.Limit,
			Values:      flow.Values{Any: p.AnyValue, Each: p.MaxValue, LambdaErrors: p.LambdaErrors},
			Traceparent: p.Traceparent, Tracestate: p.Tracestate,
		},
	}, nil
}

// endPayload is how an execution ended.
type endPayload struct {
	Flow      string         `json:"flow"`
	Hash      string         `json:"hash"`
	Execution string         `json:"execution"`
	Status    machine.Status `json:"status"`
	Error     string         `json:"error,omitempty"`
	Cause     string         `json:"cause,omitempty"`
	Started   time.Time      `json:"started"`
	At        time.Time      `json:"at"`
}

// Ends sends ends of executions to a queue. The receiver of the queue publishes them, so the sender
// does not link a client for that. It implements [engine.Ends].
type Ends struct{ Target Queue }

// Ended implements [engine.Ends].
func (e *Ends) Ended(ctx context.Context, execution engine.ID, s machine.State) error {
	err := e.Target.send(ctx, kindEnd, endPayload{s.Flow.Name, s.Flow.Hash, s.Execution, s.Status, s.Error, s.Cause, s.Started, s.At})
	if err != nil {
		return fmt.Errorf("queue the end of execution %s: %w", execution, err)
	}
	return nil
}

// TaskHandlers handle messages of the task, delivery and notice queues. All fields but the queues
// are required.
type TaskHandlers struct {
	// DeliveryQueue and NoticeQueue are URLs. A delivery, a heartbeat, an end or a notice from
	// another queue is discarded: other functions may send to that queue. An empty URL means any
	// queue.
	DeliveryQueue, NoticeQueue string
	// Keys check the MACs of deliveries, heartbeats, ends and notices.
	Keys resume.KeySource
	// Run makes the call and closes the token.
	Run func(ctx context.Context, task engine.Task) (engine.Disposition, error)
	// Ends publishes the ends of executions.
	Ends engine.Ends
	// Deliver and Heartbeat are the methods Deliver and Beat of [resume.Deliveries].
	Deliver   func(ctx context.Context, handle string, sent time.Time) (retryAt time.Time, err error)
	Heartbeat func(ctx context.Context, handle string) error
	// Notify sends a notice to its target. It is sent again after an error, unless that is
	// [ErrDiscard].
	Notify func(ctx context.Context, notice engine.Notice) error
	Now    func() time.Time
}

// DecodeTasks decodes tasks, ends, deliveries, heartbeats and notices.
func DecodeTasks(h TaskHandlers) Decode {
	return kinds{
		kindTask: payloadOf(h.run), kindNotice: only(h.NoticeQueue, authentic(h.Keys, h.notify)),
		kindDelivery:  only(h.DeliveryQueue, authentic(h.Keys, h.deliver)),
		kindHeartbeat: only(h.DeliveryQueue, authentic(h.Keys, h.heartbeat)),
		kindEnd:       only(h.DeliveryQueue, authentic(h.Keys, h.publish)),
	}.decode
}

// only makes a decoder of payloads that accepts messages of one queue.
func only[T any](url string, work func(m Message, payload T) (Work, error)) func(Message, json.RawMessage) (Work, error) {
	return payloadOf(func(m Message, payload T) (Work, error) {
		if url != "" && m.url != url {
			return Work{}, errors.New("another queue has messages of this kind")
		}
		return work(m, payload)
	})
}

func (h TaskHandlers) run(m Message, p taskPayload) (Work, error) {
	task, err := p.task()
	task.Receives = m.Receives
	do := func(ctx context.Context) (time.Time, error) {
		disposition, err := h.Run(ctx, task)
		if errors.Is(err, token.ErrForged) {
			err = discard(err)
		}
		return disposition.RetryAt, err
	}
	return Work{Do: do, Attrs: []slog.Attr{
		slog.String("execution", engine.NewID(p.Flow, p.Execution).String()), slog.String("step", p.Step), slog.Int("attempt", p.Attempt),
	}}, err
}

func (h TaskHandlers) publish(_ Message, p endPayload) (Work, error) {
	id := engine.NewID(p.Flow, p.Execution)
	state := machine.State{
		Flow: machine.FlowRef{Name: p.Flow, Hash: p.Hash}, Execution: p.Execution,
		Status: p.Status, Error: p.Error, Cause: p.Cause, Started: p.Started, At: p.At,
	}
	do := func(ctx context.Context) (time.Time, error) { return time.Time{}, h.Ends.Ended(ctx, id, state) }
	return Work{Do: brief(do), Attrs: []slog.Attr{slog.String("execution", id.String()), slog.String("ended", string(p.Status))}}, nil
}

// deliveryLimit bounds one delivery, so that a hanging delivery does not delay the others of its
// batch.
const deliveryLimit = 30 * time.Second

// brief bounds the work by deliveryLimit.
func brief(do func(context.Context) (time.Time, error)) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		limited, cancel := context.WithTimeout(ctx, deliveryLimit)
		defer cancel()
		return do(limited)
	}
}
