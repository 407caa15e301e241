package cli

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/telemetry"
)

// countedLog is a log that counts its commits.
type countedLog struct {
	engine.Observer

	counts telemetry.Executions
}

// Committed implements [engine.Observer].
func (l countedLog) Committed(id engine.ID, state machine.State, events []machine.Event) {
	l.Observer.Committed(id, state, events)
	l.counts.Committed(id, state, events)
}

// countedNotices counts notices that could not be sent.
type countedNotices struct {
	local.NoticeSender

	totals *telemetry.Totals
}

// Send implements [local.NoticeSender].
func (n countedNotices) Send(ctx context.Context, notice engine.Notice) error {
	err := n.NoticeSender.Send(ctx, notice)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		n.totals.Add(telemetry.DeliveryFailures, "", 1)
	}
	return err
}
