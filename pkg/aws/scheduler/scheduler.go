// Package scheduler puts messages into an SQS queue at an instant, or again and again, with
// schedules of EventBridge Scheduler.
//
// This package is not an API and may change between releases.
package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
)

// Client is the part of a Scheduler client that this package uses.
type Client interface {
	CreateSchedule(ctx context.Context, input *scheduler.CreateScheduleInput, options ...func(*scheduler.Options)) (*scheduler.CreateScheduleOutput, error)
}

// Group is a group of schedules for one queue. All fields are required.
type Group struct {
	Client   Client
	Name     string // of the group
	QueueARN string
	RoleARN  string // the role that may send to both queues
	// DeadLettersARN is the queue for messages that Scheduler could not deliver within a day.
	DeadLettersARN string
}

// atUTC is the form of an instant in Scheduler: whole seconds, in UTC by default.
const atUTC = "at(2006-01-02T15:04:05)"

// At puts the body into the queue no earlier than at, which is rounded up to seconds. The schedule
// then deletes itself. If the name exists, At returns nil: it is the same message.
func (g *Group) At(ctx context.Context, name string, at time.Time, body string) error {
	expression := at.Add(time.Second - 1).Truncate(time.Second).UTC().Format(atUTC)
	_, err := g.Client.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &g.Name,
		ScheduleExpression:    &expression,
		FlexibleTimeWindow:    &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Target:                g.target(body),
	})
	if _, exists := errors.AsType[*types.ConflictException](err); exists {
		return nil
	}
	return err
}

// RepeatingClient is the part of a Scheduler client that repeated messages use.
type RepeatingClient interface {
	Client
	UpdateSchedule(ctx context.Context, input *scheduler.UpdateScheduleInput, options ...func(*scheduler.Options)) (*scheduler.UpdateScheduleOutput, error)
	DeleteSchedule(ctx context.Context, input *scheduler.DeleteScheduleInput, options ...func(*scheduler.Options)) (*scheduler.DeleteScheduleOutput, error)
}

// Repeated is a message that is put into the queue again and again.
type Repeated struct {
	Expression, Zone string    // as EventBridge Scheduler has them
	From             time.Time // when it begins; zero means at once
	Body             string    // [ScheduledTime] in it is replaced by the instant that is due
}

// ScheduledTime stands for the instant that is due, as in 2026-01-31T10:00:00Z.
const ScheduledTime = "<aws.scheduler.scheduled-time>"

// Repeater sets repeated messages. All fields are required.
type Repeater struct {
	Client RepeatingClient
	Group  *Group // its client is not used
}

// Set puts the message into the queue repeatedly, and replaces the message with the same name.
func (r Repeater) Set(ctx context.Context, name string, m Repeated) error {
	var from *time.Time
	if !m.From.IsZero() {
		from = &m.From
	}
	input := scheduler.CreateScheduleInput{
		Name: &name, GroupName: &r.Group.Name, ScheduleExpression: &m.Expression, ScheduleExpressionTimezone: &m.Zone, StartDate: from,
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff}, Target: r.Group.target(m.Body),
	}
	_, err := r.Client.CreateSchedule(ctx, &input)
	if _, exists := errors.AsType[*types.ConflictException](err); !exists {
		return err
	}
	update := scheduler.UpdateScheduleInput(input)
	_, err = r.Client.UpdateSchedule(ctx, &update)
	return err
}

// Remove ends the message with the name, if it exists.
func (r Repeater) Remove(ctx context.Context, name string) error {
	_, err := r.Client.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &name, GroupName: &r.Group.Name})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return nil
	}
	return err
}

// target returns the queue as the target of a schedule.
func (g *Group) target(body string) *types.Target {
	return &types.Target{Arn: &g.QueueARN, RoleArn: &g.RoleARN, Input: &body, DeadLetterConfig: &types.DeadLetterConfig{Arn: &g.DeadLettersARN}}
}
