package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"github.com/waitless/waitless/pkg/aws/scheduler"
)

type client func(*awsscheduler.CreateScheduleInput) error

func (c client) CreateSchedule(
	_ context.Context, input *awsscheduler.CreateScheduleInput, _ ...func(*awsscheduler.Options),
) (*awsscheduler.CreateScheduleOutput, error) {
	return nil, c(input)
}

func TestASchedule(t *testing.T) {
	t.Parallel()
	whole := time.Date(2026, 1, 31, 11, 0, 0, 0, time.FixedZone("", 3600))
	for at, want := range map[time.Time]string{
		whole:                   "at(2026-01-31T10:00:00)",
		whole.Add(1):            "at(2026-01-31T10:00:01)",
		whole.Add(-1):           "at(2026-01-31T10:00:00)",
		whole.Add(-time.Second): "at(2026-01-31T09:59:59)",
	} {
		var got *awsscheduler.CreateScheduleInput
		fake := client(func(input *awsscheduler.CreateScheduleInput) error {
			got = input
			return nil
		})
		g := &scheduler.Group{Name: "group", QueueARN: "arn:queue", RoleARN: "arn:role", DeadLettersARN: "arn:letters", Client: fake}
		if err := g.At(t.Context(), "name", at, "body"); err != nil {
			t.Fatal(err)
		}
		if *got.ScheduleExpression != want || got.ScheduleExpressionTimezone != nil {
			t.Errorf("%s is %s, want %s", at, *got.ScheduleExpression, want)
		}
		if got.ActionAfterCompletion != types.ActionAfterCompletionDelete || got.FlexibleTimeWindow.Mode != types.FlexibleTimeWindowModeOff {
			t.Errorf("it stays behind or is vague: %+v", got)
		}
		if *got.Target.DeadLetterConfig.Arn != "arn:letters" {
			t.Errorf("what cannot be delivered goes to %+v", got.Target.DeadLetterConfig)
		}
		if *got.Name != "name" || *got.GroupName != "group" || *got.Target.Arn != "arn:queue" || *got.Target.RoleArn != "arn:role" || *got.Target.Input != "body" {
			t.Errorf("it is %+v with target %+v", got, got.Target)
		}
	}
}

func TestANameThatIsTakenIsTheSameMessage(t *testing.T) {
	t.Parallel()
	throttled := &types.ThrottlingException{}
	for refusal, want := range map[error]error{&types.ConflictException{}: nil, throttled: throttled} {
		g := &scheduler.Group{Client: client(func(*awsscheduler.CreateScheduleInput) error { return refusal })}
		if err := g.At(t.Context(), "name", time.Now(), "body"); !errors.Is(err, want) {
			t.Errorf("%v became %v", refusal, err)
		}
	}
}

// repeating keeps the schedules by name.
type repeating struct {
	schedules map[string]*awsscheduler.UpdateScheduleInput
}

func (r repeating) CreateSchedule(
	ctx context.Context, input *awsscheduler.CreateScheduleInput, _ ...func(*awsscheduler.Options),
) (*awsscheduler.CreateScheduleOutput, error) {
	if r.schedules[*input.Name] != nil {
		return nil, &types.ConflictException{}
	}
	_, err := r.put(ctx, &awsscheduler.UpdateScheduleInput{
		Name: input.Name, GroupName: input.GroupName, ScheduleExpression: input.ScheduleExpression, StartDate: input.StartDate,
		ScheduleExpressionTimezone: input.ScheduleExpressionTimezone, FlexibleTimeWindow: input.FlexibleTimeWindow, Target: input.Target,
	})
	return nil, err
}

func (r repeating) put(_ context.Context, input *awsscheduler.UpdateScheduleInput) (*awsscheduler.UpdateScheduleOutput, error) {
	r.schedules[*input.Name] = input
	return nil, nil
}

func (r repeating) UpdateSchedule(
	ctx context.Context, input *awsscheduler.UpdateScheduleInput, _ ...func(*awsscheduler.Options),
) (*awsscheduler.UpdateScheduleOutput, error) {
	return r.put(ctx, input)
}

func (r repeating) DeleteSchedule(
	_ context.Context, input *awsscheduler.DeleteScheduleInput, _ ...func(*awsscheduler.Options),
) (*awsscheduler.DeleteScheduleOutput, error) {
	if r.schedules[*input.Name] == nil {
		return nil, &types.ResourceNotFoundException{}
	}
	delete(r.schedules, *input.Name)
	return nil, nil
}

func TestRepeatedMessages(t *testing.T) {
	t.Parallel()
	kept := repeating{schedules: map[string]*awsscheduler.UpdateScheduleInput{}}
	r := scheduler.Repeater{Client: kept, Group: &scheduler.Group{Name: "group", QueueARN: "arn:queue", RoleARN: "arn:role", DeadLettersARN: "arn:letters"}}
	from := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	for _, m := range []scheduler.Repeated{{"cron(0 0 * * ? *)", "UTC", time.Time{}, "a"}, {"rate(5 minutes)", "UTC", from, "b"}} {
		if err := r.Set(t.Context(), "name", m); err != nil {
			t.Fatal(err)
		}
		got := kept.schedules["name"]
		if *got.ScheduleExpression != m.Expression || *got.ScheduleExpressionTimezone != m.Zone || *got.Target.Input != m.Body || *got.GroupName != "group" {
			t.Errorf("%+v is %+v", m, got)
		}
		if (got.StartDate == nil) != m.From.IsZero() || got.StartDate != nil && !got.StartDate.Equal(from) {
			t.Errorf("%+v begins %v", m, got.StartDate)
		}
		if *got.Target.Arn != "arn:queue" || *got.Target.RoleArn != "arn:role" || *got.Target.DeadLetterConfig.Arn != "arn:letters" {
			t.Errorf("the target is %+v", got.Target)
		}
	}
	for range 2 {
		if err := r.Remove(t.Context(), "name"); err != nil || len(kept.schedules) > 0 {
			t.Errorf("left %v, %v", kept.schedules, err)
		}
	}
}
