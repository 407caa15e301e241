package cron

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/value"
)

// Trigger tells when schedules are due. [Runner] implements it.
type Trigger interface {
	// Set begins to tell when the schedule is due, as it is now. It replaces an earlier Set.
	Set(ctx context.Context, s schedule.Schedule, e Expression) error
	// Remove ends that. Removing a schedule that was not set has no effect.
	Remove(ctx context.Context, flow, name string) error
}

// Unfired is a [Trigger] for a process that fires no schedules. The process that does reads the
// store when it begins.
type Unfired struct{}

// Set implements [Trigger].
func (Unfired) Set(context.Context, schedule.Schedule, Expression) error { return nil }

// Remove implements [Trigger].
func (Unfired) Remove(context.Context, string, string) error { return nil }

// Manager creates, changes, deletes and lists schedules. All fields are required.
//
// Each change sets the trigger first and the stored schedule then. If a process dies in between,
// the caller gets no success and repeats the request. The store decides which schedule fires. A
// caller with a refused change sets the trigger again, to the stored schedule.
type Manager struct {
	Store   schedule.Store
	Trigger Trigger
	Now     func() time.Time
}

// List returns the schedule of a flow with that name, or all schedules of the flow if the name is
// empty.
func (m Manager) List(ctx context.Context, flow, name string) ([]schedule.Schedule, error) {
	entries, err := m.Store.Schedules(ctx, flow, name)
	if err != nil {
		return nil, err
	}
	list := make([]schedule.Schedule, len(entries))
	for i, entry := range entries {
		if list[i], err = entry.Schedule(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Create stores a schedule and returns it. If there is a schedule with the name, the error is
// [engine.ErrConflict]; if the schedule is not valid, it has [engine.CodeInvalid].
func (m Manager) Create(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	switch found, err := m.Store.Schedules(ctx, s.Flow, s.Name); {
	case err != nil:
		return s, err
	case len(found) > 0:
		return s, engine.ErrConflict
	}
	s.Created = m.Now()
	return m.set(ctx, s, "")
}

// Update changes a schedule and returns it. If it does not exist, the error is
// [engine.ErrNotFound]; if another request changed it meanwhile, [engine.ErrConflict]. If change
// changes nothing, intervals do not begin again.
func (m Manager) Update(ctx context.Context, flow, name string, change func(*schedule.Schedule) error) (s schedule.Schedule, err error) {
	entry, err := m.find(ctx, flow, name)
	if err == nil {
		s, err = entry.Schedule()
	}
	before := s
	if err == nil {
		err = change(&s)
	}
	switch {
	case err != nil:
		return s, err
	case s == before:
		return s, m.trigger(ctx, s)
	}
	return m.set(ctx, s, entry.Text)
}

func (m Manager) find(ctx context.Context, flow, name string) (schedule.Entry, error) {
	found, err := m.Store.Schedules(ctx, flow, name)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return schedule.Entry{}, err
	}
	return found[0], nil
}

// set stores a schedule and replaces the entry with the text before.
func (m Manager) set(ctx context.Context, s schedule.Schedule, before string) (schedule.Schedule, error) {
	if err := check(s); err != nil {
		return s, &engine.Error{Code: engine.CodeInvalid, Err: err}
	}
	s.Modified = m.Now()
	if s.Nonce == "" {
		s.Nonce = rand.Text()
	}
	entry, err := s.Entry()
	if err == nil {
		err = m.trigger(ctx, s)
	}
	if err == nil {
		err = m.Store.SetSchedule(ctx, entry, before)
	}
	return s, m.restore(ctx, s.Flow, s.Name, err)
}

// trigger sets or removes the trigger of a schedule.
func (m Manager) trigger(ctx context.Context, s schedule.Schedule) error {
	expression, err := Parse(s.Cron)
	switch {
	case err != nil:
		return err
	case !s.Enabled:
		return m.Trigger.Remove(ctx, s.Flow, s.Name)
	}
	return m.Trigger.Set(ctx, s, expression)
}

// restore returns the error of a change. After a conflict it sets the trigger by the schedule that
// is stored.
func (m Manager) restore(ctx context.Context, flow, name string, err error) error {
	if !errors.Is(err, engine.ErrConflict) {
		return err
	}
	stored, failed := m.find(ctx, flow, name)
	if errors.Is(failed, engine.ErrNotFound) {
		return errors.Join(err, m.Trigger.Remove(ctx, flow, name))
	}
	s, damaged := stored.Schedule()
	if failed == nil && damaged == nil {
		failed = m.trigger(ctx, s)
	}
	return errors.Join(err, failed, damaged)
}

// Delete deletes a schedule. If it does not exist, the error is [engine.ErrNotFound].
func (m Manager) Delete(ctx context.Context, flow, name string) error {
	entry, err := m.find(ctx, flow, name)
	if err == nil {
		err = m.Trigger.Remove(ctx, flow, name)
	}
	if err == nil {
		before := entry.Text
		entry.Text = ""
		err = m.Store.SetSchedule(ctx, entry, before)
	}
	if errors.Is(err, engine.ErrConflict) {
		if _, err := m.find(ctx, flow, name); errors.Is(err, engine.ErrNotFound) { // the response was lost, or another request deleted it
			return nil
		}
	}
	return m.restore(ctx, flow, name, err)
}

// DeleteAll deletes the schedules of a flow.
func (m Manager) DeleteAll(ctx context.Context, flow string) error {
	entries, err := m.Store.Schedules(ctx, flow, "")
	for _, entry := range entries {
		if err == nil {
			err = m.Delete(ctx, flow, entry.Name)
		}
		if errors.Is(err, engine.ErrNotFound) { // another request deleted it
			err = nil
		}
	}
	return err
}

// Limits of a schedule, in bytes. The payload is a part of the input of a step.
const (
	maxDescription = 512
	maxPayload     = machine.DefaultData - 1<<10
)

func check(s schedule.Schedule) error {
	if !flow.ValidName(s.Name) || len(s.Name) > schedule.MaxName {
		return fmt.Errorf(`the name of a schedule begins with a letter or "_" and goes on with letters, digits, "_" and "-", %d characters at most`, schedule.MaxName)
	}
	if len(s.Description) > maxDescription || len(s.Payload) > maxPayload {
		return fmt.Errorf("the description has %d bytes and the payload has %d; allowed: at most %d and %d",
			len(s.Description), len(s.Payload), maxDescription, maxPayload)
	}
	if s.Payload != "" {
		payload, err := value.ParseJSON([]byte(s.Payload))
		if err != nil {
			return fmt.Errorf("the payload cannot be read: %w", err)
		}
		if levels := payload.Levels(); levels >= value.MaxLevels { // the input around it is one more
			return fmt.Errorf("the payload has %d levels of arrays and objects; allowed: at most %d", levels, value.MaxLevels-1)
		}
	}
	_, err := Parse(s.Cron)
	return err
}
