package wakes

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Receiver hands the wakes of a queue to Advance: executions side by side, the
// wakes of one execution one after the other, since two at once would only
// race each other. The log gets one line a wake.
type Receiver struct {
	queue.Receiver
	// Advance is [engine.Worker.Advance].
	Advance func(ctx context.Context, wake engine.Wake) (engine.Disposition, error)
}

// Handle handles one batch. What is no wake is dropped; a wake of a newer
// release comes again.
func (r *Receiver) Handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	var groups [][]queue.Work
	group := map[engine.ID]int{} // of an execution
	for _, m := range queue.Messages(event) {
		wake, err := Decode(m.Body)
		if err != nil {
			groups = append(groups, []queue.Work{queue.Unreadable(m, engine.CodeOf(err) == engine.CodeTooNew, err)})
			continue
		}
		wake.Receives = m.Receives
		i, ok := group[wake.Execution]
		if !ok {
			i = len(groups)
			group[wake.Execution] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r.work(m, wake))
	}
	return r.Receiver.Handle(ctx, groups), nil
}

func (r *Receiver) work(m queue.Message, wake engine.Wake) queue.Work {
	var verdict engine.Disposition
	return queue.Work{
		Message: m,
		Do: func(ctx context.Context) (putBack time.Time, err error) {
			verdict, err = r.Advance(ctx, wake)
			return verdict.RetryAt, err
		},
		Attrs: []slog.Attr{slog.String("execution", wake.Execution.String()), slog.String("cause", kindOf(wake))},
		After: func() []slog.Attr { return attrsOf(verdict) },
	}
}

// attrsOf is what a log line tells of a verdict: of mappings that left something
// out the texts of the flow, and no value.
func attrsOf(verdict engine.Disposition) []slog.Attr {
	attrs := []slog.Attr{slog.Int("early_looks", verdict.EarlyLooks)}
	if verdict.Absent == nil {
		return attrs
	}
	absent := make([]string, len(verdict.Absent.Mappings))
	for i, a := range verdict.Absent.Mappings {
		absent[i] = a.String()
	}
	return append(attrs, slog.Any("absent", absent))
}

// kindOf is what a log line says of a cause.
func kindOf(wake engine.Wake) string {
	switch {
	case wake.Cause == machine.CauseStart || wake.Cause == machine.CauseStop:
		return wake.Cause
	case wake.Seq > 0:
		return "timer"
	}
	return "token"
}
