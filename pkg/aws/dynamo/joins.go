package dynamo

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
)

// Attributes of a join record. With 100 lanes it is under 1 KB, so an update is one write unit.
const (
	attrEnds   = "j" // the lanes that ended: lane * laneUnit + the number of the lane's last item
	attrFailed = "l" // the lane that failed first
)

// laneUnit is more than the items that a log can have.
const laneUnit = 1_000_000_000

// Join implements [engine.Joins]. It takes a second write if the record is one of an execution that
// had the same name and has expired, and DynamoDB has not deleted it.
func (l *Log) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	one := strconv.FormatUint(uint64(end.Lane)*laneUnit+end.Seq, 10) //nolint:gosec // never negative
	change := update{op: "join a lane of execution " + fork.Log.String(), values: item{
		":end": &types.AttributeValueMemberNS{Value: []string{one}}, ":expires": expiryOf(end.Expires), ":now": secondOf(l.now()),
	}}
	kept, expired := change, change
	kept.expression, kept.condition = "ADD j :end SET expires = :expires", notExpired
	expired.expression, expired.condition = "SET j = :end, expires = :expires REMOVE l", "expires <= :now"
	if end.Failed {
		change.values[":lane"] = numberValue(int64(end.Lane))
		kept.expression += ", l = if_not_exists(l, :lane)"
		expired.expression = "SET j = :end, expires = :expires, l = :lane"
	}
	after, err := l.updateFirst(ctx, joinKey(fork), kept, expired)
	return l.joinRecord(after), err
}

// Joined implements [engine.Joins].
func (l *Log) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	found, err := l.get(ctx, "read the joins of execution "+fork.Log.String(), joinKey(fork))
	return l.joinRecord(found), err
}

// joinRecord reads a record, which is empty if it has expired.
func (l *Log) joinRecord(attributes item) engine.JoinRecord {
	record := engine.NewJoinRecord()
	ends, ok := attributes[attrEnds].(*types.AttributeValueMemberNS)
	if expires, _ := numberOf(attributes[attrExpires]); !ok || expires <= l.now().Unix() {
		return record
	}
	record.Joined = make(map[int]uint64, len(ends.Value))
	for _, text := range ends.Value {
		if end, err := strconv.ParseUint(text, 10, 64); err == nil {
			record.Joined[int(end/laneUnit)] = end % laneUnit
		}
	}
	if failed, ok := numberOf(attributes[attrFailed]); ok {
		record.Failed = int(failed)
	}
	return record
}

// joinKey returns a key with a partition of its own, because the partition of a log has only items
// of the log.
func joinKey(fork engine.ForkID) item {
	partition := binary.BigEndian.AppendUint32(fork.Log[:], uint32(fork.Attempt)) //nolint:gosec // the number of an event
	return item{attrPartition: binaryOf(partition), attrSort: binaryOf([]byte{0})}
}
