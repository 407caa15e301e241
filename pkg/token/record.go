package token

import (
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/value"
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
	// BegunBy is the mark of who begins the call that must not be made twice,
	// empty while nobody did; BegunAt is when, BegunIn the generation of the process
	// in which, 0 where several work together.
	BegunBy string
	BegunAt time.Time
	BegunIn uint64
	// PolledJob and Polled are the job and the number of the latest reconcile poll
	// that is known to be sent, empty while none is noted.
	PolledJob string
	Polled    int
	// Answer is what the function answered that was told of the token, nil while
	// nobody knows. It is kept here only when the function was called for by the
	// task queue.
	Answer *value.Value
}

// Open reports whether the token waits for its outcome.
func (r Record) Open() bool { return r.Outcome == nil }

// Closer is what closes a token.
type Closer string

// The closers.
const (
	ClosedByHand      Closer = "hand"      // a person or program, with the token
	ClosedByCallback  Closer = "callback"  // whoever has the callback URL
	ClosedByEvent     Closer = "event"     // the event of the job
	ClosedByReconcile Closer = "reconcile" // the answer to how the job is
	ClosedByTask      Closer = "task"      // the function that was called
	ClosedBySubmit    Closer = "submit"    // the attempt to submit the task, which failed
	ClosedByDeadline  Closer = "deadline"  // the time limit of the task
	ClosedByHeartbeat Closer = "heartbeat" // a heartbeat that did not come
	ClosedByStop      Closer = "stop"      // the end of the execution
)

// CloseOp is the attempt to close a token.
type CloseOp struct {
	Outcome Outcome
	By      Closer
	At      time.Time
	// UnlessBeatAfter, unless zero, refuses the closing when a heartbeat came
	// after that instant.
	UnlessBeatAfter time.Time
}

// Apply is the record after the closing. It is what every store does in one
// atomic step: the first outcome stays, a newer heartbeat keeps the token open,
// and so does an answer to the submission, which another call for it may fail
// as often as it likes.
func (c CloseOp) Apply(r Record) Record {
	late := !c.UnlessBeatAfter.IsZero() && r.LastBeat.After(c.UnlessBeatAfter)
	answered := c.By == ClosedBySubmit && r.Answer != nil
	if !r.Open() || late || answered {
		return r
	}
	outcome := c.Outcome
	r.Outcome, r.ClosedBy, r.ClosedAt = &outcome, c.By, c.At
	return r
}

// BeginOp is the attempt to begin the call that brings the outcome, or has it
// brought, and must not be made twice.
type BeginOp struct {
	By string // a mark that nobody else has
	At time.Time
	In uint64 // the generation of the process
}

// Apply is the record after the beginning. It is what every store does in one
// atomic step: the first one stays, and there is none once the call has led to
// something. Whoever finds the own mark in the record makes the call.
func (b BeginOp) Apply(r Record) Record {
	if r.Open() && r.Answer == nil && r.BegunBy == "" {
		r.BegunBy, r.BegunAt, r.BegunIn = b.By, b.At, b.In
	}
	return r
}

// ReplyOp brings what the function answered that was told of the token.
type ReplyOp struct{ Answer value.Value }

// Apply is the record after the answering. It is what every store does in one
// atomic step: the first answer stays, and a closed token needs none.
func (a ReplyOp) Apply(r Record) Record {
	if r.Open() && r.Answer == nil {
		answer := a.Answer
		r.Answer = &answer
	}
	return r
}

// PollOp notes that a reconcile poll of a job was sent.
type PollOp struct {
	Job    string
	Number int
}

// Apply returns the record after the polling. Every store does it in one atomic
// step. A closed token needs no polls.
func (p PollOp) Apply(r Record) Record {
	if r.Open() {
		r.PolledJob, r.Polled = p.Job, p.Number
	}
	return r
}

// Follows reports whether the poll after this one is known to be sent.
func (p PollOp) Follows(r Record) bool { return r.PolledJob == p.Job && r.Polled > p.Number }

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
		return a.Error == b.Error && a.Cause == b.Cause && a.Thrown == b.Thrown
	}
	return value.Equal(a.Output, b.Output)
}

// Parts of a stored record. A record without the later two has the bytes that
// it had before there were any.
const (
	hasOutcome = 1 << iota
	hasBegun
	hasAnswer
	isThrown // the outcome's error is the type of an exception
	hasPolled
	allParts = hasOutcome | hasBegun | hasAnswer | isThrown | hasPolled
)

func (r Record) parts() uint64 {
	var parts uint64
	if !r.Open() {
		parts |= hasOutcome
	}
	if !r.Open() && r.Outcome.Thrown {
		parts |= isThrown
	}
	if r.BegunBy != "" {
		parts |= hasBegun
	}
	if r.Answer != nil {
		parts |= hasAnswer
	}
	if r.Polled > 0 {
		parts |= hasPolled
	}
	return parts
}

// Encode is the record in the form that stores keep.
func (r Record) Encode() []byte {
	var e value.Encoder
	e.Uint(recordFormat)
	e.Time(r.LastBeat)
	e.Uint(r.parts())
	if !r.Open() {
		e.Text(string(r.ClosedBy))
		e.Time(r.ClosedAt)
		e.Text(r.Outcome.Error)
		e.Text(r.Outcome.Cause)
		e.Value(r.Outcome.Output)
	}
	if r.BegunBy != "" {
		e.Text(r.BegunBy)
		e.Time(r.BegunAt)
		e.Uint(r.BegunIn)
	}
	if r.Answer != nil {
		e.Value(*r.Answer)
	}
	if r.Polled > 0 {
		e.Text(r.PolledJob)
		e.Int(int64(r.Polled))
	}
	return e.Bytes()
}

const recordFormat = 1

// ErrDamaged says that bytes are not what [Record.Encode] wrote.
var ErrDamaged = errors.New("token: record is damaged or of a newer release")

// DecodeRecord reads what [Record.Encode] wrote.
func DecodeRecord(data []byte) (Record, error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	r := Record{LastBeat: d.Time()}
	parts := d.Uint()
	if parts&hasOutcome != 0 {
		r.ClosedBy, r.ClosedAt = Closer(d.Text()), d.Time()
		r.Outcome = &Outcome{Error: d.Text(), Cause: d.Text(), Output: d.Value(), Thrown: parts&isThrown != 0}
	}
	if parts&hasBegun != 0 {
		r.BegunBy, r.BegunAt, r.BegunIn = d.Text(), d.Time(), d.Uint()
	}
	if parts&hasAnswer != 0 {
		answer := d.Value()
		r.Answer = &answer
	}
	if parts&hasPolled != 0 {
		r.PolledJob, r.Polled = d.Text(), int(d.Int())
	}
	thrownOpen := parts&isThrown != 0 && r.Open()
	if d.Err() != nil || d.Rest() > 0 || format != recordFormat || parts > allParts || thrownOpen {
		return Record{}, ErrDamaged
	}
	return r, nil
}
