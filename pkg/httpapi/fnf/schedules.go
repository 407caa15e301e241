package fnf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/schedule"
)

// changeSchedule applies the parameters of a request to a schedule.
func changeSchedule(s *schedule.Schedule, given parameters) error {
	for name, field := range map[string]*string{"CronExpression": &s.Cron, "Description": &s.Description, "Payload": &s.Payload} {
		if text, ok := given[name]; ok {
			*field = text
		}
	}
	switch strings.ToLower(given["Enable"]) {
	case "":
	case "true", "false":
		s.Enabled = strings.EqualFold(given["Enable"], "true")
	default:
		return invalid("InvalidArgument", "Enable is neither true nor false")
	}
	return nil
}

// shownSchedule returns a schedule in the form of the API.
func shownSchedule(s schedule.Schedule) object {
	return object{
		"ScheduleId": uuid(fmt.Sprintf("%s/%s %d", s.Flow, s.Name, s.Created.UnixNano())), "ScheduleName": s.Name, "Description": s.Description,
		"CronExpression": s.Cron, "Payload": s.Payload, "Enable": s.Enabled, "CreatedTime": instant(s.Created), "LastModifiedTime": instant(s.Modified),
	}
}

// createSchedule creates a schedule of a flow that exists. It is enabled unless the request says
// otherwise.
func (h handler) createSchedule(ctx context.Context, given parameters) (object, error) {
	if _, err := h.definitions(ctx, given["FlowName"]); err != nil {
		return nil, err
	}
	s := schedule.Schedule{Flow: given["FlowName"], Name: given["ScheduleName"], Enabled: true}
	if err := changeSchedule(&s, given); err != nil {
		return nil, err
	}
	s, err := h.Schedules.Create(ctx, s)
	if errors.Is(err, engine.ErrConflict) {
		err = refused(http.StatusConflict, "ScheduleAlreadyExists", fmt.Sprintf("Schedule '%s' of flow '%s' already exists", s.Name, s.Flow))
	}
	return shownSchedule(s), err
}

func (h handler) updateSchedule(ctx context.Context, given parameters) (object, error) {
	s, err := h.Schedules.Update(ctx, given["FlowName"], given["ScheduleName"], func(s *schedule.Schedule) error { return changeSchedule(s, given) })
	return shownSchedule(s), h.ofSchedule(ctx, given, err)
}

func (h handler) deleteSchedule(ctx context.Context, given parameters) (object, error) {
	return object{}, h.ofSchedule(ctx, given, h.Schedules.Delete(ctx, given["FlowName"], given["ScheduleName"]))
}

func (h handler) describeSchedule(ctx context.Context, given parameters) (object, error) {
	found, err := h.Schedules.List(ctx, given["FlowName"], given["ScheduleName"])
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return nil, h.ofSchedule(ctx, given, err)
	}
	return shownSchedule(found[0]), nil
}

// ofSchedule returns the error of an action on a schedule as the API has it.
func (h handler) ofSchedule(ctx context.Context, given parameters, err error) error {
	switch {
	case errors.Is(err, engine.ErrConflict):
		return refused(http.StatusConflict, "ConcurrentUpdateError", "another request changes the schedule; try again")
	case !errors.Is(err, engine.ErrNotFound):
		return err
	}
	if _, err := h.definitions(ctx, given["FlowName"]); err != nil {
		return err
	}
	return refused(http.StatusNotFound, "ScheduleNotExists", fmt.Sprintf("Schedule '%s' of flow '%s' does not exist", given["ScheduleName"], given["FlowName"]))
}

// listSchedules returns schedules of a flow by name. The token of the next page is the name of the
// last schedule.
func (h handler) listSchedules(ctx context.Context, given parameters) (object, error) {
	limit, err := given.number("Limit", 1, 1000, 60)
	if err != nil {
		return nil, err
	}
	if _, err := h.definitions(ctx, given["FlowName"]); err != nil {
		return nil, err
	}
	all, err := h.Schedules.List(ctx, given["FlowName"], "")
	if err != nil {
		return nil, err
	}
	list, size := []object{}, 0
	for _, s := range all {
		if cmp.Compare(s.Name, given["NextToken"]) <= 0 {
			continue
		}
		if len(list) == limit || size >= h.fullPage() {
			return object{"Schedules": list, "NextToken": list[len(list)-1]["ScheduleName"]}, nil
		}
		shown := shownSchedule(s)
		list, size = append(list, shown), size+shown.size()
	}
	return object{"Schedules": list}, nil
}
