// Package schedule starts executions of flows at the instants of schedules.
//
// A [Store] keeps schedules. Something else tells a [Starter] that a schedule is due: EventBridge
// Scheduler on AWS, a cron.Runner in one process. The name of an execution is made of the schedule
// and the instant, so an instant that is told twice starts one execution.
//
// This package is not an API and may change between releases.
package schedule

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Schedule says when executions of a flow start, and with which input.
type Schedule struct {
	Flow        string `json:"-"`
	Name        string `json:"-"`
	Cron        string // see cron.Parse
	Description string `json:",omitempty"`
	Payload     string `json:",omitempty"` // JSON; empty for none
	Enabled     bool
	Created     time.Time
	// Modified is when the schedule changed last. Instants before it are not due any more.
	Modified time.Time
	// Fired is the latest instant that a process has started the execution of, zero for none.
	Fired time.Time `json:",omitzero"`
	// Nonce is in each [Firing], which has no other proof of its sender. It stays the same over
	// changes. A schedule that release 0.1.0 stored has none until it is changed.
	Nonce string `json:",omitempty"`
}

// Firing says that a schedule is due at an instant.
type Firing struct {
	Flow, Name, Nonce string
	At                time.Time
}

// Entry is a schedule as it is stored. The text of an existing entry is not empty.
type Entry struct{ Flow, Name, Text string }

// Store keeps schedules.
type Store interface {
	// Schedules returns the entries of a flow with that name, in the order of flows and names. An
	// empty name means all schedules of the flow, an empty flow all schedules.
	Schedules(ctx context.Context, flow, name string) ([]Entry, error)

	// SetSchedule replaces the entry if its text is before. An empty text means that the entry does
	// not exist; not both texts are empty. If the text is another one, the error is
	// [engine.ErrConflict].
	SetSchedule(ctx context.Context, entry Entry, before string) error
}

// Entry returns the form in which the schedule is stored.
func (s Schedule) Entry() (Entry, error) {
	text, err := json.Marshal(s)
	return Entry{s.Flow, s.Name, string(text)}, err
}

// Schedule returns the schedule of an entry.
func (e Entry) Schedule() (s Schedule, err error) {
	if err := json.Unmarshal([]byte(e.Text), &s); err != nil {
		return s, fmt.Errorf("schedule %s/%s is damaged: %w", e.Flow, e.Name, err)
	}
	s.Flow, s.Name = e.Flow, e.Name
	return s, nil
}

// timeInName is the form of an instant in the name of an execution.
const timeInName = "-20060102T150405Z"

// MaxName is the length of the longest name of a schedule: the name of an execution has an instant
// behind it.
const MaxName = flow.MaxName - len(timeInName)

// Execution returns the name of the execution of an instant.
func (s Schedule) Execution(at time.Time) string { return s.Name + at.UTC().Format(timeInName) }

// Input returns the input of the execution of an instant.
func (s Schedule) Input(at time.Time) (value.Value, error) {
	payload := value.Missing()
	if s.Payload != "" {
		var err error
		if payload, err = value.ParseJSON([]byte(s.Payload)); err != nil {
			return payload, err
		}
	}
	return value.Object(
		value.Member{Key: "payload", Value: payload},
		value.Member{Key: "triggerName", Value: value.String(s.Name)},
		value.Member{Key: "triggerTime", Value: value.String(at.UTC().Format(machine.TimeFormat))},
	), nil
}

// Starter starts the executions of schedules that are due. All fields are required.
type Starter struct {
	Store  Store
	Newest func(ctx context.Context, flow string) (machine.FlowRef, error)
	Start  func(ctx context.Context, request engine.StartRequest) (engine.StartResult, error)
}

// ErrNotDue says that nothing is to be started: the schedule was deleted, disabled or changed after
// the instant.
var ErrNotDue = errors.New("the schedule was deleted, disabled or changed after this instant")

// IsFinal reports whether a retry of [Starter.Fire] after this error has no chance: the schedule
// does not ask for the execution any more, something else fired it, or the execution cannot be
// started.
func IsFinal(err error) bool {
	switch engine.CodeOf(err) { //nolint:exhaustive // the others may pass
	case engine.CodeNotFound, engine.CodeInvalid, engine.CodePaused, engine.CodeDefect:
		return true
	}
	return errors.Is(err, ErrNotDue) || errors.Is(err, token.ErrForged)
}

// Fire starts the execution of a schedule that is due. It returns [ErrNotDue] if the schedule does
// not ask for it any more, and [token.ErrForged] if the firing does not have the nonce of the
// schedule.
func (s Starter) Fire(ctx context.Context, due Firing) error {
	found, err := s.Store.Schedules(ctx, due.Flow, due.Name)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return ErrNotDue
	}
	current, err := found[0].Schedule()
	if err != nil {
		return err
	}
	switch {
	case current.Nonce != "" && subtle.ConstantTimeCompare([]byte(due.Nonce), []byte(current.Nonce)) == 0:
		return token.ErrForged
	case !current.Enabled || due.At.Before(current.Modified):
		return ErrNotDue
	}
	input, err := current.Input(due.At)
	if err != nil {
		return &engine.Error{Code: engine.CodeInvalid, Op: "read the payload of schedule " + due.Flow + "/" + due.Name, Err: err}
	}
	flow, err := s.Newest(ctx, due.Flow)
	if err != nil {
		return err
	}
	// If an execution with the name exists, an earlier call started it for this instant.
	_, err = s.Start(ctx, engine.StartRequest{Flow: flow, Execution: current.Execution(due.At), Input: input})
	return err
}
