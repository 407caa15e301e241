package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
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
	// version is that of the messages that this release writes.
	version = 1
	// messageLimit is the greatest message that SQS takes.
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
	Resource  string        `json:"resource"`
	Limit     time.Duration `json:"limit,omitempty"` // in nanoseconds
	Handle    string        `json:"handle"`
	// Await and AtMostOnce are those of [engine.Task].
	Await      bool            `json:"await,omitempty"`
	AtMostOnce bool            `json:"atMostOnce,omitempty"`
	Input      json.RawMessage `json:"input"`
}

func encode(task engine.Task) (string, error) {
	call := task.Call
	body, err := json.Marshal(message{
		version, call.Flow.Name, call.Flow.Hash, call.Execution, call.Step, call.Attempt.Step, call.Attempt.Number,
		call.Resource.Text, call.Limit, task.Handle, task.Await, task.AtMostOnce, json.RawMessage(call.Input.JSON()),
	})
	if err != nil {
		return "", err
	}
	// The two characters of JSON that SQS does not take.
	text := strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(string(body))
	if len(text) > messageLimit {
		return "", fmt.Errorf("it takes %d bytes and the limit is %d: pass on a key of large data, and not the data", len(text), messageLimit)
	}
	return text, nil
}

// decode reads what encode wrote. A message of a newer release is an
// [*engine.Error] with [engine.CodeTooNew], any other [engine.CodeInvalid].
func decode(body string) (engine.Task, error) {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil && m.Version <= version {
		return engine.Task{}, invalid(errors.New("it is not the JSON of a task"))
	}
	if m.Version > version {
		return engine.Task{}, &engine.Error{Code: engine.CodeTooNew, Op: decoding, Err: fmt.Errorf("it has version %d and the limit is %d", m.Version, version)}
	}
	resource, err := fdl.ParseResource(m.Resource)
	if err != nil {
		return engine.Task{}, invalid(err)
	}
	input, err := expr.ParseJSON(m.Input)
	if err != nil {
		return engine.Task{}, invalid(err)
	}
	if m.Version < version || m.Handle == "" {
		return engine.Task{}, invalid(errors.New("it has no version or no handle"))
	}
	return engine.Task{Handle: m.Handle, Await: m.Await, AtMostOnce: m.AtMostOnce, Call: machine.Call{
		Attempt: machine.Attempt{Step: m.Index, Number: m.Attempt}, Flow: machine.Flow{Name: m.Flow, Hash: m.Hash},
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
	Run func(ctx context.Context, task engine.Task) (engine.Verdict, error)
}

// Handle handles one batch. What is no task is dropped; a task of a newer
// release comes again.
func (r *Receiver) Handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	var groups [][]queue.Work
	for _, m := range queue.Messages(event) {
		groups = append(groups, []queue.Work{r.work(m)})
	}
	return r.Receiver.Handle(ctx, groups), nil
}

func (r *Receiver) work(m queue.Message) queue.Work {
	task, err := decode(m.Body)
	if err != nil {
		return queue.Unreadable(m, engine.CodeOf(err) == engine.CodeTooNew, err)
	}
	do := func(ctx context.Context) (time.Time, error) {
		verdict, err := r.Run(ctx, task)
		return verdict.PutBack, err
	}
	return queue.Work{Message: m, Do: do, Attrs: attrs(task)}
}

func attrs(task engine.Task) []slog.Attr {
	call := task.Call
	return []slog.Attr{
		slog.String("execution", engine.NewID(call.Flow.Name, call.Execution).String()),
		slog.String("step", call.Step), slog.Int("attempt", call.Attempt.Number),
	}
}
