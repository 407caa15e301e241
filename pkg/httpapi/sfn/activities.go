package sfn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// Activities has the activities and the tasks that wait for their workers.
type Activities interface {
	// Activities returns when each activity was created, by name.
	Activities(ctx context.Context) (map[string]time.Time, error)
	// CreateActivity creates an activity unless it exists. It returns when that was.
	CreateActivity(ctx context.Context, name string, at time.Time) (time.Time, error)
	// DeleteActivity deletes an activity if it exists.
	DeleteActivity(ctx context.Context, name string) error
	// TakeTask gives a task to a worker, with the text of its token. It waits until ctx ends, and
	// returns "" without a task.
	TakeTask(ctx context.Context, activity, worker string) (text string, input value.Value, err error)
}

// pollLimit is how long a worker waits for a task. API Gateway ends a request after 30 seconds.
const pollLimit = 25 * time.Second

func (h handler) createActivity(ctx context.Context, r request) (object, error) {
	if h.Activities == nil {
		return nil, errNoActivities
	}
	if !flow.ValidName(r.Name) {
		return nil, errName
	}
	created, err := h.Activities.CreateActivity(ctx, r.Name, h.Now())
	return object{"activityArn": h.arn("activity", r.Name), "creationDate": seconds(created)}, err
}

var errNoActivities = invalid("UnknownOperationException", "a stack has no activities; use .waitForTaskToken with a queue, or waitless dev")

func (h handler) deleteActivity(ctx context.Context, r request) (object, error) {
	name, _, err := h.activity(ctx, r)
	if err == nil || errors.Is(err, errActivity) {
		err = h.Activities.DeleteActivity(ctx, name)
	}
	return object{}, err
}

func (h handler) describeActivity(ctx context.Context, r request) (object, error) {
	name, created, err := h.activity(ctx, r)
	return object{"activityArn": r.ActivityArn, "name": name, "creationDate": seconds(created)}, err
}

func (h handler) listActivities(ctx context.Context, r request) (object, error) {
	if h.Activities == nil {
		return nil, errNoActivities
	}
	all, err := h.Activities.Activities(ctx)
	if err != nil {
		return nil, err
	}
	list, names := []object{}, slices.Sorted(maps.Keys(all))
	for _, name := range names {
		list = append(list, object{"activityArn": h.arn("activity", name), "name": name, "creationDate": seconds(all[name])})
	}
	return r.page("activities", list, names)
}

// activityTask waits for a task. Without one the response is empty.
func (h handler) activityTask(ctx context.Context, r request) (object, error) {
	name, _, err := h.activity(ctx, r)
	if err != nil {
		return nil, err
	}
	if h.MayWait != nil && !h.MayWait(ctx) {
		return nil, invalid("ActivityWorkerLimitExceeded", "too many requests wait; try again later")
	}
	waiting, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	text, input, err := h.Activities.TakeTask(waiting, name, r.WorkerName)
	if err != nil || text == "" {
		return object{}, err
	}
	return object{"taskToken": text, "input": input.JSON()}, nil
}

var errActivity = invalid("ActivityDoesNotExist", "there is no such activity; create it with CreateActivity")

// activity returns the name of the activity of a request, and when it was created.
func (h handler) activity(ctx context.Context, r request) (name string, created time.Time, err error) {
	if h.Activities == nil {
		return "", created, errNoActivities
	}
	names, err := h.named("activityArn", r.ActivityArn, "activity", 1)
	if err != nil {
		return "", created, err
	}
	all, err := h.Activities.Activities(ctx)
	created, ok := all[names[0]]
	if err == nil && !ok {
		err = errActivity
	}
	return names[0], created, err
}
