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
