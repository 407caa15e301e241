package token

import (
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/expr"
)

// Record is what is kept of a token, under its handle. The zero Record is that
// of a token which nobody has closed and no heartbeat has reached.
type Record struct {
	// Outcome is nil while the token is open. Once there it stays.
	Outcome *Outcome
	// ClosedBy says what brought the outcome.
	ClosedBy Closer
	// ClosedAt is when.
	ClosedAt time.Time
	// LastBeat is the instant of the latest heartbeat, zero when there was none.
	LastBeat time.Time
}

// Open reports whether the token waits for its outcome.
func (r Record) Open() bool { return r.Outcome == nil }

// Closer is what closes a token.
type Closer string

// The closers.
const (
	ClosedByHand      Closer = "hand"      // a person or program, with the token
	ClosedByTask      Closer = "task"      // the function that was called
	ClosedBySubmit    Closer = "submit"    // the attempt to submit the task, which failed
	ClosedByDeadline  Closer = "deadline"  // the time limit of the task
	ClosedByHeartbeat Closer = "heartbeat" // a heartbeat that did not come
	ClosedByStop      Closer = "stop"      // the end of the execution
)

// Closing is the attempt to close a token.
type Closing struct {
	Outcome Outcome
	By      Closer
	At      time.Time
	// UnlessBeatAfter, unless zero, refuses the closing when a heartbeat came
	// after that instant.
	UnlessBeatAfter time.Time
}

// Apply is the record after the closing. It is what every store does in one
// atomic step: the first outcome stays, and a newer heartbeat keeps the token
// open.
func (c Closing) Apply(r Record) Record {
	late := !c.UnlessBeatAfter.IsZero() && r.LastBeat.After(c.UnlessBeatAfter)
	if !r.Open() || late {
		return r
	}
	outcome := c.Outcome
	r.Outcome, r.ClosedBy, r.ClosedAt = &outcome, c.By, c.At
	return r
}

// Beat is the record after a heartbeat at that instant: a closed token and a
// later heartbeat stay as they are.
func (r Record) Beat(at time.Time) Record {
	if r.Open() && at.After(r.LastBeat) {
		r.LastBeat = at
	}
	return r
}

// Same reports whether two outcomes say the same: the same output, or the same
// error and cause.
func Same(a, b Outcome) bool {
	if a.Failed() || b.Failed() {
		return a.Error == b.Error && a.Cause == b.Cause
	}
	return expr.Equal(a.Output, b.Output)
}

// Encode is the record in the form that stores keep.
func (r Record) Encode() []byte {
	var e expr.Encoder
	e.Uint(recordFormat)
	e.Time(r.LastBeat)
	if r.Open() {
		e.Uint(0)
		return e.Bytes()
	}
	e.Uint(1)
	e.Text(string(r.ClosedBy))
	e.Time(r.ClosedAt)
	e.Text(r.Outcome.Error)
	e.Text(r.Outcome.Cause)
	e.Value(r.Outcome.Output)
	return e.Bytes()
}

const recordFormat = 1

// ErrDamaged says that bytes are not what [Record.Encode] wrote.
var ErrDamaged = errors.New("token: record is damaged or of a newer release")

// DecodeRecord reads what [Record.Encode] wrote.
func DecodeRecord(data []byte) (Record, error) {
	d := expr.NewDecoder(data)
	format := d.Uint()
	r := Record{LastBeat: d.Time()}
	closed := d.Uint()
	if closed == 1 {
		r.ClosedBy, r.ClosedAt = Closer(d.Text()), d.Time()
		r.Outcome = &Outcome{Error: d.Text(), Cause: d.Text(), Output: d.Value()}
	}
	if d.Err() != nil || d.Rest() > 0 || format != recordFormat || closed > 1 {
		return Record{}, ErrDamaged
	}
	return r, nil
}
