package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/aws/tasks/deliveries"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Queue is a queue of long calls. It implements [engine.TaskQueue]. All fields
// are required.
type Queue struct {
	Client queue.Sender
	URL    string
}

// Queue implements [engine.TaskQueue].
func (q *Queue) Queue(ctx context.Context, task engine.Task) error {
	op := fmt.Sprintf("queue a call of step %s", task.Call.Step)
	body, err := encode(task)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if err := queue.Send(ctx, q.Client, q.URL, body, 0); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

const (
	// version is that of the tasks that this release writes, but for polls, which
	// the release before would all make with one key.
	version        = 1
	versionOfPolls = 2
	// messageLimit is the size in bytes of the largest message that SQS accepts.
	messageLimit = 1 << 20
)

// message is a task in the queue.
type message struct {
	Version   int           `json:"v"`
	Flow      string        `json:"flow"`
	Hash      string        `json:"hash"`
	Execution string        `json:"execution"`
	Step      string        `json:"step"`
	Index     int           `json:"index"`
	Attempt   int           `json:"attempt"`
	Poll      int           `json:"poll,omitempty"`
	Resource  string        `json:"resource"`
	Limit     time.Duration `json:"limit,omitempty"` // in nanoseconds
	Handle    string        `json:"handle"`
	// Await and AtMostOnce are those of [engine.Task].
	Await      bool                 `json:"await,omitempty"`
	AtMostOnce bool                 `json:"atMostOnce,omitempty"`
	TimeLimit  time.Duration        `json:"timeLimit,omitempty"`
	MAC        string               `json:"mac,omitempty"`
	Input      json.RawMessage      `json:"input,omitempty"`
	Ended      *ended               `json:"ended,omitempty"`
	Delivery   *deliveries.Delivery `json:"delivery,omitempty"` // when the message asks for that and for no call
}

// ended is how the execution of the message ended, when it tells of that and of
// no call.
type ended struct {
	Status  machine.Status `json:"status"`
	Error   string         `json:"error,omitempty"`
	Cause   string         `json:"cause,omitempty"`
	Started time.Time      `json:"started"`
	At      time.Time      `json:"at"`
}

// Ended implements [engine.Ends]: the end goes through the queue to whoever
// tells others of it, so that the sender needs no client for that.
func (q *Queue) Ended(ctx context.Context, execution engine.ID, state machine.State) error {
	body, err := write(message{
		Version: version, Flow: state.Flow.Name, Hash: state.Flow.Hash, Execution: state.Execution,
		Ended: &ended{state.Status, state.Error, state.Cause, state.Started, state.At},
	})
	if err == nil {
		err = queue.Send(ctx, q.Client, q.URL, body, 0)
	}
	if err != nil {
		return fmt.Errorf("queue the end of execution %s: %w", execution, err)
	}
	return nil
}

// write returns the text of a message. Only the two characters of JSON that SQS
// rejects are escaped: an escape takes up to six times the room.
func write(m message) (string, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return "", err
	}
	text := strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(strings.TrimSuffix(body.String(), "\n"))
	if len(text) > messageLimit {
		return "", &engine.Error{Code: engine.CodeInvalid, Op: "write the message", Err: fmt.Errorf(
			"it has %d bytes and the limit of SQS is %d: pass a reference to large data, not the data", len(text), messageLimit)}
	}
	return text, nil
}

func encode(task engine.Task) (string, error) {
	call := task.Call
	return write(message{
		Version: versionOf(call), Flow: call.Flow.Name, Hash: call.Flow.Hash, Execution: call.Execution, Step: call.Step,
		Index: call.Attempt.Step, Attempt: call.Attempt.Number, Poll: call.Attempt.Poll, Resource: call.Resource.Text, Limit: call.Limit,
		Handle: task.Handle, Await: task.Await, AtMostOnce: task.AtMostOnce, TimeLimit: task.TimeLimit, MAC: task.MAC, Input: json.RawMessage(call.Input.JSON()),
	})
}

func versionOf(call machine.Call) int {
	if call.Attempt.Poll > 0 {
		return versionOfPolls
	}
	return version
}

// read reads a message. One of a newer release is an [*engine.Error] with
// [engine.CodeTooNew], what is none has [engine.CodeInvalid].
func read(body string) (message, error) {
	var m message
	err := json.Unmarshal([]byte(body), &m)
	least, limit := version, versionOfPolls
	if m.Delivery != nil {
		least, limit = deliveries.Version, deliveries.Version
	}
	switch {
	case m.Version > limit:
		return m, &engine.Error{Code: engine.CodeTooNew, Op: decoding, Err: fmt.Errorf("it has version %d and the limit is %d", m.Version, limit)}
	case err != nil:
		return m, invalid(errors.New("it is not the JSON of a task"))
	case m.Version < least:
		return m, invalid(fmt.Errorf("it has version %d", m.Version))
	}
	return m, nil
}

func (m message) task() (engine.Task, error) {
	resource, err := fdl.ParseResource(m.Resource)
	if err != nil {
		return engine.Task{}, invalid(err)
	}
	input, err := value.ParseJSON(m.Input)
	if err != nil {
		return engine.Task{}, invalid(err)
	}
	if m.Handle == "" {
		return engine.Task{}, invalid(errors.New("it has no handle"))
	}
	return engine.Task{Handle: m.Handle, Await: m.Await, AtMostOnce: m.AtMostOnce, TimeLimit: m.TimeLimit, MAC: m.MAC, Call: machine.Call{
		Attempt: machine.Attempt{Step: m.Index, Number: m.Attempt, Poll: m.Poll}, Flow: machine.Flow{Name: m.Flow, Hash: m.Hash},
		Execution: m.Execution, Step: m.Step, Resource: resource, Input: input, Limit: m.Limit,
	}}, nil
}

const decoding = "read a task's message"

func invalid(err error) error {
	return &engine.Error{Code: engine.CodeInvalid, Op: decoding, Err: err}
}

// Receiver hands the tasks of a queue to Run, side by side. The log gets one
// line a task.
type Receiver struct {
	queue.Receiver
	// Run makes the call and closes the token.
	Run func(ctx context.Context, task engine.Task) (engine.Disposition, error)
	// Ends is told of the executions that ended; nil for nobody.
	Ends engine.Ends
	// Deliver is [resume.Deliveries.Deliver]; nil where nobody else's engine is
	// served, whose deliveries then wait for whoever serves it.
	Deliver func(ctx context.Context, handle string, sent time.Time) (putBack time.Time, err error)
	// Beat is [resume.Deliveries.Beat], nil as Deliver is.
	Beat func(ctx context.Context, handle string) error
}

// Handle handles one batch. What is no task is dropped; a task of a newer
// release comes again.
func (r *Receiver) Handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	return r.HandleEach(ctx, event, r.work), nil
}

func (r *Receiver) work(m queue.Message) queue.Work {
	parsed, err := read(m.Body)
	if err == nil && parsed.Ended != nil {
		return r.tell(m, parsed)
	}
	if err == nil && parsed.Delivery != nil {
		return r.deliver(m, *parsed.Delivery)
	}
	var task engine.Task
	if err == nil {
		task, err = parsed.task()
	}
	if err != nil {
		return queue.Unreadable(m, engine.CodeOf(err) == engine.CodeTooNew, err)
	}
	do := func(ctx context.Context) (time.Time, error) {
		verdict, err := r.Run(ctx, task)
		if errors.Is(err, token.ErrForged) {
			err = queue.Drop(err)
		}
		return verdict.RetryAt, err
	}
	return queue.Work{Message: m, Do: do, Attrs: attrs(task)}
}

// beatLife is how long a heartbeat is worth handing on. An older one would feign
// that whoever sent it is alive.
const beatLife = time.Minute

// deliveryLimit bounds one delivery, so that one that hangs does not hold up the
// others of its batch for as long as the task runner lives.
const deliveryLimit = 30 * time.Second

// brief does the work within deliveryLimit.
func brief(do func(context.Context) (time.Time, error)) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		limited, cancel := context.WithTimeout(ctx, deliveryLimit)
		defer cancel()
		return do(limited)
	}
}

// deliver hands an outcome, or a heartbeat, to whoever waits.
func (r *Receiver) deliver(m queue.Message, asked deliveries.Delivery) queue.Work {
	if err := asked.Check(); err != nil {
		return queue.Unreadable(m, false, err)
	}
	attrs := []slog.Attr{slog.String("delivery", token.Mask(asked.Handle))}
	if age := r.Now().Sub(asked.Sent); asked.Beat && age > beatLife {
		return queue.Work{Message: m, Dropped: fmt.Errorf("the heartbeat is %s old and the limit is %s", age.Round(time.Second), beatLife), Attrs: attrs}
	}
	do := func(ctx context.Context) (time.Time, error) {
		switch {
		case asked.Beat && r.Beat != nil:
			return time.Time{}, r.Beat(ctx, asked.Handle)
		case !asked.Beat && r.Deliver != nil:
			return r.Deliver(ctx, asked.Handle, asked.Sent)
		}
		return time.Time{}, errors.New("this task runner delivers nothing")
	}
	return queue.Work{Message: m, Do: brief(do), Attrs: attrs}
}

// tell passes on the end of an execution.
func (r *Receiver) tell(m queue.Message, end message) queue.Work {
	id := engine.NewID(end.Flow, end.Execution)
	state := machine.State{
		Flow: machine.Flow{Name: end.Flow, Hash: end.Hash}, Execution: end.Execution,
		Status: end.Ended.Status, Error: end.Ended.Error, Cause: end.Ended.Cause, Started: end.Ended.Started, At: end.Ended.At,
	}
	do := func(ctx context.Context) (time.Time, error) {
		if r.Ends == nil {
			return time.Time{}, nil
		}
		return time.Time{}, r.Ends.Ended(ctx, id, state)
	}
	return queue.Work{Message: m, Do: brief(do), Attrs: []slog.Attr{slog.String("execution", id.String()), slog.String("ended", string(state.Status))}}
}

func attrs(task engine.Task) []slog.Attr {
	call := task.Call
	return []slog.Attr{
		slog.String("execution", engine.NewID(call.Flow.Name, call.Execution).String()),
		slog.String("step", call.Step), slog.Int("attempt", call.Attempt.Number),
	}
}
