package token

import (
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/value"
)

// Record is the stored state of a token, under its handle. The zero Record is the record of an open
// token without a heartbeat.
type Record struct {
	// Outcome is nil while the token is open. It never changes afterwards.
	Outcome *Outcome
	// ClosedBy and ClosedAt record the closer and the instant of the close.
	ClosedBy Closer
	ClosedAt time.Time
	// LastBeat is the instant of the latest heartbeat, zero without one.
	LastBeat time.Time
	// BegunBy is the mark of the runner that began a call which must not be made
	// twice, empty before. BegunAt is when, and BegunIn is the generation of its
	// process, 0 where several processes work together.
	BegunBy string
	BegunAt time.Time
	BegunIn uint64
	// PolledJob and Polled are the job and the number of the latest reconcile poll
	// that is known to be sent.
	PolledJob string
	Polled    int
	// Reply is the reply of the function that got the token, nil while it is unknown. It is kept
	// only for a function that the task queue called.
	Reply *value.Value
}

// Open reports whether the token has no outcome yet.
func (r Record) Open() bool { return r.Outcome == nil }

// Closer is the party that closes a token.
type Closer string

// The closers.
const (
	ClosedByHand      Closer = "hand"      // a person or a program that has the token
	ClosedByCallback  Closer = "callback"  // a request to the callback URL
	ClosedByEvent     Closer = "event"     // the event of the job
	ClosedByReconcile Closer = "reconcile" // a reconcile poll of the job, or StartJob for a waiter that took another caller's run
	ClosedByTask      Closer = "task"      // the function that was called
	ClosedBySubmit    Closer = "submit"    // the submission of the task, which failed
	ClosedByDeadline  Closer = "deadline"  // the time limit of the task
	ClosedByHeartbeat Closer = "heartbeat" // a missed heartbeat
	ClosedByChild     Closer = "sub-flow"  // the end of the sub-flow
	ClosedByStop      Closer = "stop"      // the end of the execution
)

const (
	// CloseTime limits how long a request may take to close a token, from the wake that it sends
	// before.
	CloseTime = 5 * time.Second
	// WakePatience is the age, by the sender's clock, at which a wake that finds its token open is
	// discarded. A younger wake is sent again, because the token may be about to be closed.
	WakePatience = 2 * CloseTime
)

// CloseOp closes a token.
type CloseOp struct {
	Outcome Outcome
	By      Closer
	At      time.Time
	// UnlessBeatAfter, unless zero, rejects the operation if a heartbeat came after
	// that instant.
	UnlessBeatAfter time.Time
}

// Apply returns the record after the operation, which a store does in one atomic
// step. The record does not change if the token is closed, if a heartbeat came after
// UnlessBeatAfter, or if the operation reports a failed submission although the record
// has the reply to one: another call of the function was successful.
func (c CloseOp) Apply(r Record) Record {
	late := !c.UnlessBeatAfter.IsZero() && r.LastBeat.After(c.UnlessBeatAfter)
	submitted := c.By == ClosedBySubmit && r.Reply != nil
	if !r.Open() || late || submitted {
		return r
	}
	r.Outcome, r.ClosedBy, r.ClosedAt = new(c.Outcome), c.By, c.At
	return r
}

// BeginOp begins the call of the token's function, which must not be made twice.
type BeginOp struct {
	By string // a unique mark of the runner
	At time.Time
	In uint64 // the generation of the process
}

// Apply returns the record after the operation, which a store does in one atomic
// step. The first runner begins the call, unless it has had a result before. A
// runner that finds its own mark in the record makes the call.
func (b BeginOp) Apply(r Record) Record {
	if r.Open() && r.Reply == nil && r.BegunBy == "" {
		r.BegunBy, r.BegunAt, r.BegunIn = b.By, b.At, b.In
	}
	return r
}

// ReplyOp records the reply of the function that got the token.
type ReplyOp struct{ Reply value.Value }

// Apply returns the record after the operation, which a store does in one atomic
// step. The first reply stays, and a closed token needs none.
func (a ReplyOp) Apply(r Record) Record {
	if r.Open() && r.Reply == nil {
		r.Reply = new(a.Reply)
	}
	return r
}

// PollOp records that a reconcile poll of a job was sent.
type PollOp struct {
	Job    string
	Number int
}

// Apply returns the record after the operation, which a store does in one atomic
// step. A closed token needs no polls.
func (p PollOp) Apply(r Record) Record {
	if r.Open() {
		r.PolledJob, r.Polled = p.Job, p.Number
	}
	return r
}

// OvertakenIn reports whether the record shows that a later poll of the same job was sent.
func (p PollOp) OvertakenIn(r Record) bool { return r.PolledJob == p.Job && r.Polled > p.Number }

// Beat returns the record after a heartbeat at that instant. A closed token and a
// later heartbeat stay as they are.
func (r Record) Beat(at time.Time) Record {
	if r.Open() && at.After(r.LastBeat) {
		r.LastBeat = at
	}
	return r
}

// Same reports whether two outcomes are equal: in their outputs, or in error and
// cause.
func Same(a, b Outcome) bool {
	if a.Failed() || b.Failed() {
		return a.Error == b.Error && a.Cause == b.Cause && a.Thrown == b.Thrown
	}
	return value.Equal(a.Output, b.Output)
}

// Parts of a stored record.
const (
	hasOutcome = 1 << iota
	hasBegun
	hasReply
	isThrown // the outcome's error is the type of an exception
	hasPolled
	hasChoice
	allParts = hasOutcome | hasBegun | hasReply | isThrown | hasPolled | hasChoice
)

// Encode returns the record in the form that stores keep.
func (r Record) Encode() []byte {
	var head, body value.Encoder
	var parts uint64
	if !r.Open() {
		parts |= hasOutcome
		if r.Outcome.Thrown {
			parts |= isThrown
		}
		body.Text(string(r.ClosedBy))
		body.Time(r.ClosedAt)
		body.Text(r.Outcome.Error)
		body.Text(r.Outcome.Cause)
		body.Value(r.Outcome.Output)
		if r.Outcome.Choice != "" {
			parts |= hasChoice
			body.Text(r.Outcome.Choice)
		}
	}
	if r.BegunBy != "" {
		parts |= hasBegun
		body.Text(r.BegunBy)
		body.Time(r.BegunAt)
		body.Uint(r.BegunIn)
	}
	if r.Reply != nil {
		parts |= hasReply
		body.Value(*r.Reply)
	}
	if r.Polled > 0 {
		parts |= hasPolled
		body.Text(r.PolledJob)
		body.Int(int64(r.Polled))
	}
	head.Uint(recordFormat)
	head.Time(r.LastBeat)
	head.Uint(parts)
	return append(head.Bytes(), body.Bytes()...)
}

const recordFormat = 1

// ErrDamaged says that bytes are not the output of [Record.Encode].
var ErrDamaged = errors.New("token: record is damaged")

// ErrNewer says that a newer release wrote a record.
var ErrNewer = errors.New("token: record is of a newer release")

// DecodeRecord reads the output of [Record.Encode]. The error is [ErrNewer] or [ErrDamaged].
func DecodeRecord(data []byte) (Record, error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	r := Record{LastBeat: d.Time()}
	parts := d.Uint()
	isNewer := d.Err() == nil && (format > recordFormat || parts > allParts)
	if parts&hasOutcome != 0 {
		r.ClosedBy, r.ClosedAt = Closer(d.Text()), d.Time()
		r.Outcome = &Outcome{Error: d.Text(), Cause: d.Text(), Output: d.Value(), Thrown: parts&isThrown != 0}
		if parts&hasChoice != 0 {
			r.Outcome.Choice = d.Text()
		}
	}
	if parts&hasBegun != 0 {
		r.BegunBy, r.BegunAt, r.BegunIn = d.Text(), d.Time(), d.Uint()
	}
	if parts&hasReply != 0 {
		r.Reply = new(d.Value())
	}
	if parts&hasPolled != 0 {
		r.PolledJob, r.Polled = d.Text(), int(d.Int())
	}
	isPart := parts&(isThrown|hasChoice) != 0 // of an outcome
	switch {
	case isNewer:
		return Record{}, ErrNewer
	case d.Err() != nil, d.Rest() > 0, format != recordFormat, isPart && r.Open():
		return Record{}, ErrDamaged
	}
	return r, nil
}
