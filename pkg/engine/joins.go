package engine

import (
	"context"
	"maps"
	"slices"
	"time"

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
	// Expires is when the execution is deleted.
	Expires time.Time
}

// NoLane stands for no lane in [JoinRecord.Failed].
const NoLane = -1

// JoinRecord has the lanes of a fork that have ended.
type JoinRecord struct {
	Joined map[int]uint64 // the number of its terminal item by lane
	Failed int            // the first lane that failed, [NoLane] for none
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
	return r, d.Err()
}
