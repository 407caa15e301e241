package rest

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/value"
)

// ScheduleForm has the settings of a schedule.
type ScheduleForm struct {
	Cron string `json:"cron"` // see [cron.Parse]
	// Payload is the member payload in the input of executions.
	Payload     value.Value `json:"payload,omitzero"`
	Description string      `json:"description,omitempty"`
	Enabled     *bool       `json:"enabled,omitempty"` // nil means true
}

// Schedule starts executions of a flow at the instants of a cron expression.
type Schedule struct {
	ScheduleForm

	Flow         string `json:"flow"`
	Name         string `json:"schedule"`
	CreatedTime  string `json:"createdTime"`
	ModifiedTime string `json:"modifiedTime"`
	// NextTime is when it is due next, left out while it is disabled.
	NextTime string `json:"nextTime,omitempty"`
}

// applyTo replaces the settings of a schedule.
func (f ScheduleForm) applyTo(s *schedule.Schedule) {
	s.Cron, s.Description, s.Enabled, s.Payload = f.Cron, f.Description, f.Enabled == nil || *f.Enabled, ""
	if !f.Payload.IsMissing() {
		s.Payload = f.Payload.JSON()
	}
}

func (h handler) shownSchedule(s schedule.Schedule) (shown Schedule, err error) {
	shown = Schedule{ScheduleForm{s.Cron, value.Missing(), s.Description, &s.Enabled}, s.Flow, s.Name, instant(s.Created), instant(s.Modified), ""}
	if s.Payload != "" {
		if shown.Payload, err = value.ParseJSON([]byte(s.Payload)); err != nil {
			return shown, err
		}
	}
	expression, err := cron.Parse(s.Cron)
	if err == nil && s.Enabled {
		shown.NextTime = instant(expression.Next(s.Modified, h.Schedules.Now()))
	}
	return shown, err
}

// listSchedules returns schedules in the order of flows and names.
func (h handler) listSchedules(r *http.Request) (int, any, error) {
	query, p, size := r.URL.Query(), page{Schedules: []Schedule{}}, 0
	afterFlow, afterName, isPage := strings.Cut(query.Get("after"), "/")
	if query.Has("after") && !isPage {
		return 0, nil, errPageToken
	}
	all, err := h.Schedules.List(r.Context(), query.Get("flow"), "")
	if err != nil {
		return 0, nil, err
	}
	last := ""
	for _, s := range all {
		if cmp.Or(cmp.Compare(s.Flow, afterFlow), cmp.Compare(s.Name, afterName)) <= 0 {
			continue
		}
		if size >= h.fullPage() {
			p.Next = last
			break
		}
		shown, err := h.shownSchedule(s)
		if err != nil {
			return 0, nil, err
		}
		size += baseSize + len(s.Cron) + len(s.Payload) + len(s.Description)
		p.Schedules, last = append(p.Schedules, shown), s.Flow+"/"+s.Name
	}
	return http.StatusOK, p, nil
}

func namedSchedule(r *http.Request) (flow, name string) {
	return r.PathValue("flow"), r.PathValue("schedule")
}

// putSchedule creates the schedule, or replaces its settings. The same settings again change
// nothing.
func (h handler) putSchedule(r *http.Request) (int, any, error) {
	var form ScheduleForm
	err := h.readJSON(r, &form, "cron", "payload", "description", "enabled")
	if err == nil {
		_, err = h.definitions(r)
	}
	if err != nil {
		return 0, nil, err
	}
	flow, name := namedSchedule(r)
	status := http.StatusOK
	s, err := h.Schedules.Update(r.Context(), flow, name, func(s *schedule.Schedule) error {
		form.applyTo(s)
		return nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		status, s = http.StatusCreated, schedule.Schedule{Flow: flow, Name: name}
		form.applyTo(&s)
		s, err = h.Schedules.Create(r.Context(), s)
	}
	if err != nil {
		return 0, nil, ofSchedule(flow, name, err)
	}
	shown, err := h.shownSchedule(s)
	return status, shown, err
}

func (h handler) showSchedule(r *http.Request) (int, any, error) {
	flow, name := namedSchedule(r)
	found, err := h.Schedules.List(r.Context(), flow, name)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return 0, nil, ofSchedule(flow, name, err)
	}
	shown, err := h.shownSchedule(found[0])
	return http.StatusOK, shown, err
}

// enableSchedule returns what enables a schedule, or disables it, and leaves the rest as it is.
func (h handler) enableSchedule(enabled bool) func(*http.Request) (int, any, error) {
	return func(r *http.Request) (int, any, error) {
		flow, name := namedSchedule(r)
		s, err := h.Schedules.Update(r.Context(), flow, name, func(s *schedule.Schedule) error {
			s.Enabled = enabled
			return nil
		})
		if err != nil {
			return 0, nil, ofSchedule(flow, name, err)
		}
		shown, err := h.shownSchedule(s)
		return http.StatusOK, shown, err
	}
}

// deleteSchedule deletes the schedule and responds with the deleted schedule.
func (h handler) deleteSchedule(r *http.Request) (int, any, error) {
	status, deleted, err := h.showSchedule(r)
	if err != nil {
		return 0, nil, err
	}
	flow, name := namedSchedule(r)
	return status, deleted, ofSchedule(flow, name, h.Schedules.Delete(r.Context(), flow, name))
}

// ofSchedule returns the error of a request for a schedule, with its name.
func ofSchedule(flow, name string, err error) error {
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return notFound("there is no schedule %s/%s", flow, name)
	case errors.Is(err, engine.ErrConflict):
		return conflict("another request changes schedule %s/%s; try again", flow, name)
	}
	return err
}
