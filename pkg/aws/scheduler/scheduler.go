// Package scheduler puts messages into an SQS queue at an instant, with one-time schedules of EventBridge Scheduler.
//
// This package may change between releases.
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

// At puts the body into the queue no earlier than at, which is rounded up to seconds. The schedule then deletes itself. If the
// name exists, At returns nil: it is the same message.
func (g *Group) At(ctx context.Context, name string, at time.Time, body string) error {
	expression := ceil(at).UTC().Format(atUTC)
	_, err := g.Client.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &g.Name,
		ScheduleExpression:    &expression,
		FlexibleTimeWindow:    &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Target:                &types.Target{Arn: &g.QueueARN, RoleArn: &g.RoleARN, Input: &body, DeadLetterConfig: &types.DeadLetterConfig{Arn: &g.DeadLettersARN}},
	})
	if _, exists := errors.AsType[*types.ConflictException](err); exists {
		return nil
	}
	return err
}

func ceil(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}
