// Package schedules manages the schedules of flows on a stack: EventBridge Scheduler sends the
// interpreter a message at each instant.
//
// This package is not an API and may change between releases.
package schedules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/schedule/cron"
)

// NewManager returns what manages the schedules of a store.
func NewManager(p *parts.Parts, store schedule.Store) cron.Manager {
	repeater := scheduler.Repeater{Client: awsscheduler.NewFromConfig(p.Bounded), Group: &scheduler.Group{
		Name: p.Text("WAITLESS_TIMERS"), QueueARN: p.Text("WAITLESS_WAKE_QUEUE_ARN"), RoleARN: p.Text("WAITLESS_TIMER_ROLE"),
		DeadLettersARN: p.Text("WAITLESS_DEAD_LETTERS"),
	}}
	return cron.Manager{Store: store, Trigger: triggers{repeater}, Now: time.Now}
}

// triggers are schedules of EventBridge Scheduler that send firings to the interpreter. They
// implement [cron.Trigger].
type triggers struct{ scheduler.Repeater }

// Set implements [cron.Trigger].
func (t triggers) Set(ctx context.Context, s schedule.Schedule, e cron.Expression) error {
	body, err := sqs.EncodeFiring(s, scheduler.ScheduledTime, e.Second())
	if err != nil {
		return err
	}
	m := scheduler.Repeated{Body: body}
	m.Expression, m.Zone, m.From = e.EventBridge(s.Modified, time.Now())
	return t.Repeater.Set(ctx, triggerName(s.Flow, s.Name), m)
}

// Remove implements [cron.Trigger].
func (t triggers) Remove(ctx context.Context, flow, name string) error {
	return t.Repeater.Remove(ctx, triggerName(flow, name))
}

// triggerName returns the name of a trigger: names of flows and schedules are longer than Scheduler
// accepts.
func triggerName(flow, name string) string {
	sum := sha256.Sum256([]byte(flow + "/" + name))
	return "schedule-" + hex.EncodeToString(sum[:20])
}
