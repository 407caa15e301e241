package machine

import (
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
)

// Format is the format number of what [Encode] writes.
const Format = 1

// FormatError says that a log item has a format that this release does not
// read. Nothing may be concluded from such an item.
type FormatError struct{ Found uint64 }

func (e *FormatError) Error() string {
	return fmt.Sprintf("machine: log item has format %d and this release reads format %d; upgrade waitless", e.Found, Format)
}

// ErrDamaged says that a log item is not what [Encode] wrote.
var ErrDamaged = errors.New("machine: log item is damaged")

// Encode writes the state and the events that led to it from the state before.
// Values that both share are written once.
func Encode(s State, events []Event) []byte {
	e := &encoder{}
	e.Uint(Format)
	e.state(s)
	e.Uint(uint64(len(events)))
	at := s.At
	for _, event := range events {
		e.event(event, at)
		at = event.At
	}
	return e.Bytes()
}

// Decode reads what [Encode] wrote. The error is a [*FormatError] or
// [ErrDamaged].
func Decode(data []byte) (State, []Event, error) {
	d := &decoder{*expr.NewDecoder(data)}
	if format := d.Uint(); d.Err() == nil && format != Format {
		return State{}, nil, &FormatError{format}
	}
	s := d.state()
	events := make([]Event, d.Count())
	at := s.At
	for i := range events {
		events[i] = d.event(at)
		at = events[i].At
	}
	if d.Err() != nil || d.Rest() > 0 || s.Status == "" {
		return State{}, nil, ErrDamaged
	}
	return s, events, nil
}

var statusCodes = []Status{StatusStarting, StatusRunning, StatusSucceeded, StatusFailed}

type encoder struct{ expr.Encoder }

// instant writes t; the zero time is 0, which no execution meets.
func (e *encoder) instant(t time.Time) {
	if t.IsZero() {
		e.Int(0)
		return
	}
	e.Int(t.UnixNano())
}

func (e *encoder) state(s State) {
	for i, status := range statusCodes {
		if s.Status == status {
			e.Uint(uint64(i))
		}
	}
	e.Text(s.Flow.Name)
	e.Text(s.Flow.Hash)
	e.Text(s.Execution)
	e.instant(s.Started)
	e.instant(s.At)
	e.Uint(uint64(s.Events)) //nolint:gosec // counts up from 0
	e.Value(s.Input)
	e.Uint(uint64(len(s.Scopes)))
	for _, scope := range s.Scopes {
		e.Int(int64(scope.Choice))
		e.Int(int64(scope.Branch))
		e.Value(scope.Input)
		e.Value(scope.Local)
	}
	e.waiting(s.Waiting)
	e.Text(s.Timer.Tag)
	e.instant(s.Timer.Due)
	e.Value(s.Output)
	e.Text(s.Error)
	e.Text(s.Cause)
	e.Text(s.By)
}

func (e *encoder) waiting(w *Waiting) {
	if w == nil {
		e.Uint(0)
		return
	}
	e.Uint(1 + uint64(w.For))
	e.Int(int64(w.Attempt.Step))
	e.Int(int64(w.Attempt.Number))
	e.Value(w.Input)
	e.instant(w.Due)
	e.Text(w.By)
	e.instant(w.Since)
}

// flags of an event: which of its parts are there.
const (
	hasInput = 1 << iota
	hasLocal
	hasOutput
	hasError
	hasUntil
)

func (event Event) flags() uint64 {
	return flag(hasInput, !event.Input.IsMissing()) | flag(hasLocal, !event.Local.IsMissing()) | flag(hasOutput, !event.Output.IsMissing()) |
		flag(hasError, event.Error != "") | flag(hasUntil, !event.Until.IsZero())
}

func flag(bit uint64, set bool) uint64 {
	if set {
		return bit
	}
	return 0
}

// event writes an event; before is the instant of the one before it.
func (e *encoder) event(event Event, before time.Time) {
	flags := event.flags()
	e.Uint(uint64(event.Type))
	e.Uint(flags)
	e.Int(int64(event.ID))
	e.Int(int64(event.ID - event.By))
	e.Int(int64(event.Step))
	e.Int(int64(event.At.Sub(before)))
	for _, v := range []expr.Value{event.Input, event.Local, event.Output} {
		if !v.IsMissing() {
			e.Value(v)
		}
	}
	if flags&hasError != 0 {
		e.Text(event.Error)
		e.Text(event.Cause)
	}
	if flags&hasUntil != 0 {
		e.instant(event.Until)
	}
}

type decoder struct{ expr.Decoder }

func (d *decoder) instant() time.Time {
	if nanos := d.Int(); nanos != 0 {
		return time.Unix(0, nanos).UTC()
	}
	return time.Time{}
}

func (d *decoder) state() State {
	var s State
	if code := d.Uint(); code < uint64(len(statusCodes)) {
		s.Status = statusCodes[code]
	}
	s.Flow = Flow{d.Text(), d.Text()}
	s.Execution = d.Text()
	s.Started, s.At = d.instant(), d.instant()
	s.Events = int(d.Uint()) //nolint:gosec // what was written was an int
	s.Input = d.Value()
	s.Scopes = d.scopes()
	s.Waiting = d.waiting()
	s.Timer = Timer{d.Text(), d.instant()}
	s.Output = d.Value()
	s.Error, s.Cause, s.By = d.Text(), d.Text(), d.Text()
	return s
}

func (d *decoder) scopes() []Scope {
	count := d.Count()
	if count == 0 {
		return nil
	}
	scopes := make([]Scope, count)
	for i := range scopes {
		scopes[i] = Scope{int(d.Int()), int(d.Int()), d.Value(), d.Value()}
	}
	return scopes
}

func (d *decoder) waiting() *Waiting {
	kind := d.Uint()
	if kind == 0 {
		return nil
	}
	return &Waiting{
		For: WaitingFor(kind - 1), Attempt: Attempt{int(d.Int()), int(d.Int())}, Input: d.Value(), //nolint:gosec // checked when applied
		Due: d.instant(), By: d.Text(), Since: d.instant(),
	}
}

func (d *decoder) event(before time.Time) Event {
	event := Event{Type: EventType(d.Uint())} //nolint:gosec // an unknown type shows as Unknown
	flags := d.Uint()
	event.ID = int(d.Int())
	event.By = event.ID - int(d.Int())
	event.Step = int(d.Int())
	event.At = before.Add(time.Duration(d.Int()))
	for flag, v := range []*expr.Value{&event.Input, &event.Local, &event.Output} {
		if flags&(1<<flag) != 0 {
			*v = d.Value()
		}
	}
	if flags&hasError != 0 {
		event.Error, event.Cause = d.Text(), d.Text()
	}
	if flags&hasUntil != 0 {
		event.Until = d.instant()
	}
	return event
}
