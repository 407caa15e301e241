package sqs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/telemetry"
)

// Notices sends notices to a queue. The receiver of the queue sends them to their targets. It
// implements [engine.Notices].
type Notices struct{ Target Queue }

// noticePayload is an [engine.Notice].
type noticePayload struct {
	Execution string `json:"execution"`
	ID        string `json:"id"`
	Target    string `json:"target"`
	Body      string `json:"body"`
	Ended     bool   `json:"ended,omitempty"`
}

// Notify implements [engine.Notices].
func (n *Notices) Notify(ctx context.Context, notice engine.Notice) error {
	payload := noticePayload{notice.Execution.String(), notice.ID, notice.Target, notice.Body, notice.Ended}
	if err := n.Target.send(ctx, kindNotice, payload); err != nil {
		return fmt.Errorf("queue a notice: %w", err)
	}
	return nil
}

// notify returns the work of a notice. After an error the message is hidden for longer each time;
// the queue moves it to the dead letters after about a day.
func (h TaskHandlers) notify(m Message, p noticePayload) (Work, error) {
	execution, err := parseID(p.Execution)
	notice := engine.Notice{Execution: execution, ID: p.ID, Target: p.Target, Body: p.Body, Ended: p.Ended}
	do := func(ctx context.Context) (time.Time, error) { return time.Time{}, h.Notify(ctx, notice) }
	return Work{Do: brief(do), Pause: engine.NoticePause(m.Receives), Failures: telemetry.DeliveryFailures, Attrs: []slog.Attr{
		slog.String("execution", p.Execution), slog.String("notice", p.ID), slog.String("target", engine.ShownTarget(p.Target)),
	}}, err
}
