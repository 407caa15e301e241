package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/schedule/cron"
)

// triggers are schedules of EventBridge Scheduler that send firings to the interpreter. They implement [cron.Trigger].
type triggers struct{ scheduler.Repeater }

// Set implements [cron.Trigger].
func (t triggers) Set(ctx context.Context, s schedule.Schedule, e cron.Expression) error {
	body, err := sqs.EncodeFiring(s.Flow, s.Name, scheduler.ScheduledTime, e.Second())
	if err != nil {
		return err
	}
	m := scheduler.Repeated{Body: body}
	m.Expression, m.Zone, m.From = e.EventBridge(s.Modified)
	return t.Repeater.Set(ctx, triggerName(s.Flow, s.Name), m)
}

// Remove implements [cron.Trigger].
func (t triggers) Remove(ctx context.Context, flow, name string) error {
	return t.Repeater.Remove(ctx, triggerName(flow, name))
}

// triggerName returns the name of a trigger: names of flows and schedules are longer than Scheduler accepts.
func triggerName(flow, name string) string {
	sum := sha256.Sum256([]byte(flow + "/" + name))
	return "schedule-" + hex.EncodeToString(sum[:20])
}
