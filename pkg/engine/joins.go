package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// ForkID names a fork: an attempt of a step that waits for lanes.
type ForkID struct {
	Log     ID // of the lanes' parent
	Attempt int
}

// LaneEnd is the end of a lane.
type LaneEnd struct {
	Lane   int    // 0, 1, 2, ...
	Seq    uint64 // of its terminal item
	Failed bool
	// Retired says that the lane left items to others because its log is full. The record keeps its
	// claim then (rule 28).
	Retired bool
	// Expires is when the execution is deleted.
	Expires time.Time
}

// NoLane stands for no lane in [JoinRecord.Failed].
const NoLane = -1

// JoinRecord has the lanes of a fork that have ended, and the items that lanes claimed.
type JoinRecord struct {
	Joined map[int]uint64 // the number of its terminal item by lane
	Failed int            // the first lane that failed, [NoLane] for none
	// Cursor is the first item that no lane has, perhaps after the last item. It is 0 before the
	// first claim.
	Cursor int
	// Claims has the last claim of each lane that has not joined, or that retired.
	Claims map[int]Claim
	// Failures has the number of failed items by lane, of a fork that tolerates some.
	Failures map[int]int
}

// Claim is the items of one claim of a lane. The last ones may not exist.
type Claim struct {
	Number int // of the lane's claims, from 1 on
	machine.Range
}

// ClaimRequest asks for the next items of a fork for a lane (rule 27).
type ClaimRequest struct {
	Lane   int
	Number int // of the lane's claims, from 1 on
	Size   int // the most items, at most [machine.MostClaimed]; 0 retires the lane
	// First is the first item that is to be claimed, and Items the number of all items, at most a
	// million.
	First, Items int
	// Expires is when the execution is deleted.
	Expires time.Time
}

// FailureReport says how many items of a lane have failed (rule 32).
type FailureReport struct {
	Lane    int
	Failed  int // items in the committed log
	Expires time.Time
}

// NewJoinRecord returns the record of a fork in which no lane has ended.
func NewJoinRecord() JoinRecord { return JoinRecord{Failed: NoLane} }

// With returns the record with another end. The first failed lane stays.
func (r JoinRecord) With(end LaneEnd) JoinRecord {
	if r.Joined = maps.Clone(r.Joined); r.Joined == nil {
		r.Joined = map[int]uint64{}
	}
	r.Joined[end.Lane] = end.Seq
	if end.Failed && r.Failed == NoLane {
		r.Failed = end.Lane
	}
	if !end.Retired {
		r.Claims = maps.Clone(r.Claims)
		delete(r.Claims, end.Lane)
	}
	return r
}

// WithClaim returns the record with a claim. It stays as it is if the lane has made that claim or a
// later one, if no item is left, or if a lane has failed.
func (r JoinRecord) WithClaim(c ClaimRequest) JoinRecord {
	from := max(r.Cursor, c.First)
	if r.Claims[c.Lane].Number >= c.Number || from >= c.Items || r.Failed != NoLane {
		return r
	}
	if r.Claims = maps.Clone(r.Claims); r.Claims == nil {
		r.Claims = map[int]Claim{}
	}
	r.Cursor = from + c.Size
	r.Claims[c.Lane] = Claim{c.Number, machine.Range{From: from, To: r.Cursor}}
	return r
}

// WithFailures returns the record with the failed items of a lane. Their number never becomes
// lower.
func (r JoinRecord) WithFailures(report FailureReport) JoinRecord {
	if r.Failures[report.Lane] < report.Failed {
		if r.Failures = maps.Clone(r.Failures); r.Failures == nil {
			r.Failures = map[int]int{}
		}
		r.Failures[report.Lane] = report.Failed
	}
	return r
}

// RaisedTo returns the record with the claims and the failed items in the states of lanes that it
// lacks: in a restored backup the record may be older than the logs (rule 33).
func (r JoinRecord) RaisedTo(lanes []machine.State) JoinRecord {
	r.Claims = maps.Clone(r.Claims)
	for _, lane := range lanes {
		if lane.Tolerance != nil {
			r = r.WithFailures(FailureReport{Lane: lane.Lane.Index, Failed: lane.Tolerance.Failed})
		}
		if lane.Share == nil || len(lane.Share.Ranges) == 1 {
			continue
		}
		last := Claim{len(lane.Share.Ranges) - 1, lane.Share.Ranges[len(lane.Share.Ranges)-1]}
		if r.Cursor = max(r.Cursor, last.To); last.Number > r.Claims[lane.Lane.Index].Number {
			if r.Claims == nil {
				r.Claims = map[int]Claim{}
			}
			r.Claims[lane.Lane.Index] = last
		}
	}
	return r
}

// Joins keeps the join records of forks. The lanes of a fork join from many processes at once.
type Joins interface {
	// Join adds the end of a lane to the record in one step and returns the record after it. The
	// same end again changes nothing. The store may delete the record after it expired. After an
	// error the end may or may not be stored.
	Join(ctx context.Context, fork ForkID, end LaneEnd) (JoinRecord, error)

	// Joined returns the record, as of no earlier than the call.
	Joined(ctx context.Context, fork ForkID) (JoinRecord, error)

	// Claim adds a claim to the record in one step, as [JoinRecord.WithClaim], and returns the
	// record after it. After an error the claim may or may not be stored.
	Claim(ctx context.Context, fork ForkID, claim ClaimRequest) (JoinRecord, error)

	// Report adds failed items to the record in one step, as [JoinRecord.WithFailures], and returns
	// the record after it. After an error they may or may not be stored.
	Report(ctx context.Context, fork ForkID, report FailureReport) (JoinRecord, error)

	// Raise replaces the cursor, the claims and the failed items of the record before. The error is
	// [ErrConflict] if the store has another record. After any other error they may or may not be
	// replaced.
	Raise(ctx context.Context, fork ForkID, before, after JoinRecord, expires time.Time) error
}

// missing returns the lanes that have not joined.
func (r JoinRecord) missing(parent ID, waiting *machine.Waiting) []machine.Lane {
	return slices.DeleteFunc(lanesOf(parent, waiting.Attempt.Number, waiting.Fork().Lanes), func(lane machine.Lane) bool {
		_, joined := r.Joined[lane.Index]
		return joined
	})
}

// Encode returns the record for a store.
func (r JoinRecord) Encode() []byte {
	var e value.Encoder
	e.Int(int64(r.Failed))
	e.Uint(uint64(len(r.Joined)))
	for _, lane := range slices.Sorted(maps.Keys(r.Joined)) { // the same record has the same bytes
		e.Uint(uint64(lane)) //nolint:gosec // never negative
		e.Uint(r.Joined[lane])
	}
	if r.Cursor == 0 && len(r.Failures) == 0 { // release 0.1.0 has neither
		return e.Bytes()
	}
	e.Uint(uint64(r.Cursor)) //nolint:gosec // never negative
	e.Uint(uint64(len(r.Claims)))
	for _, lane := range slices.Sorted(maps.Keys(r.Claims)) {
		claim := r.Claims[lane]
		for _, n := range []int{lane, claim.Number, claim.From, claim.To} {
			e.Uint(uint64(n)) //nolint:gosec // never negative
		}
	}
	for _, lane := range slices.Sorted(maps.Keys(r.Failures)) {
		e.Uint(uint64(lane))             //nolint:gosec // never negative
		e.Uint(uint64(r.Failures[lane])) //nolint:gosec // never negative
	}
	return e.Bytes()
}

// DecodeJoinRecord reads what [JoinRecord.Encode] wrote.
func DecodeJoinRecord(stored []byte) (JoinRecord, error) {
	d := value.NewDecoder(stored)
	r := JoinRecord{Failed: int(d.Int()), Joined: map[int]uint64{}}
	for range d.Count() {
		lane := int(d.Uint()) //nolint:gosec // as it was written
		r.Joined[lane] = d.Uint()
	}
	if d.Err() != nil || d.Rest() == 0 {
		return r, d.Err()
	}
	number := func() int { return int(d.Uint()) } //nolint:gosec // as it was written
	r.Cursor, r.Claims = number(), map[int]Claim{}
	for range d.Count() {
		r.Claims[number()] = Claim{number(), machine.Range{From: number(), To: number()}}
	}
	for d.Err() == nil && d.Rest() > 0 {
		r = r.WithFailures(FailureReport{Lane: number(), Failed: number()})
	}
	return r, d.Err()
}
