package dynamo

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Attributes of a join record. With 99 lanes it is under 1 KB, so an update is one write unit. With
// failed items of all lanes it is under 2 KB. Names of lanes are numbers: the claim of lane 7 is 7,
// and the number of its failed items f7.
const (
	attrEnds   = "j" // the lanes that ended: lane * laneUnit + the number of the lane's last item
	attrFailed = "l" // the lane that failed first
	attrCursor = "c" // the first item that no lane has
	// attrFailures, before the number of a lane, is the number of its failed items.
	attrFailures = "f"
)

// Units of a claim, which is number * claimUnit + size * itemUnit + the first item. Only the first
// item comes from the record, so one update claims. A record has up to a hundred, so the name of
// the attribute is no more than the number of the lane.
const (
	itemUnit  = 1_000_000
	claimUnit = (machine.MostClaimed + 1) * itemUnit
)

// laneUnit is more than the items that a log can have.
const laneUnit = 1_000_000_000

// Join implements [engine.Joins].
func (l *Log) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	one := strconv.FormatUint(uint64(end.Lane)*laneUnit+end.Seq, 10) //nolint:gosec // never negative
	ends := &types.AttributeValueMemberNS{Value: []string{one}}
	change := update{
		op: "join a lane of execution " + fork.Log.String(), expression: "ADD j :end SET expires = :expires", condition: notExpired,
		values: attributes{":end": ends, ":expires": expiryOf(end.Expires)},
	}
	begun := attributes{attrEnds: ends}
	if end.Failed {
		begun[attrFailed] = numberValue(int64(end.Lane))
		change.values[":lane"] = begun[attrFailed]
		change.expression += ", l = if_not_exists(l, :lane)"
	}
	if !end.Retired {
		change.expression += " REMOVE #claim"
		change.names = map[string]string{"#claim": claimOf(end.Lane)}
	}
	return l.changeJoins(ctx, fork, change, begun)
}

// Claim implements [engine.Joins]. DynamoDB returns the record of a refused claim.
func (l *Log) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	number := int64(claim.Number) * claimUnit
	base := number + int64(claim.Size)*itemUnit
	return l.changeJoins(ctx, fork, update{
		op:         "claim items of execution " + fork.Log.String(),
		expression: "SET #claim = if_not_exists(c, :first) + :base, c = if_not_exists(c, :first) + :size, expires = :expires",
		condition: "(" + notExpired + ") AND (attribute_not_exists(#claim) OR #claim < :number) AND (attribute_not_exists(c) OR c < :items) " +
			"AND attribute_not_exists(l)",
		names: map[string]string{"#claim": claimOf(claim.Lane)},
		values: attributes{
			":first": numberValue(int64(claim.First)), ":base": numberValue(base), ":size": numberValue(int64(claim.Size)),
			":number": numberValue(number), ":items": numberValue(int64(claim.Items)), ":expires": expiryOf(claim.Expires),
		},
	}, attributes{
		attrCursor: numberValue(int64(claim.First + claim.Size)), claimOf(claim.Lane): numberValue(base + int64(claim.First)),
	})
}

// changeJoins changes a record, unless the condition refuses that, and returns the record then. It
// takes a second write if the record is one of an execution that had the same name and has expired,
// and DynamoDB has not deleted it: then begun is the record.
func (l *Log) changeJoins(ctx context.Context, fork engine.ForkID, change update, begun attributes) (engine.JoinRecord, error) {
	maps.Copy(begun, joinKey(fork))
	begun[attrExpires] = change.values[":expires"]
	for {
		change.values[":now"] = secondOf(l.now())
		after, ok, err := l.update(ctx, joinKey(fork), change)
		if expires, has := numberOf(after[attrExpires]); err != nil || ok || !has || expires > l.now().Unix() {
			return l.joinRecord(after), err
		}
		if _, ok, err = l.put(ctx, change.op, begun, "expires <= :now", attributes{":now": change.values[":now"]}); err != nil || ok {
			return l.joinRecord(begun), err
		}
	}
}

// Report implements [engine.Joins]. DynamoDB returns the record if it has the failed items.
func (l *Log) Report(ctx context.Context, fork engine.ForkID, report engine.FailureReport) (engine.JoinRecord, error) {
	failed, name := numberValue(int64(report.Failed)), failuresOf(report.Lane)
	return l.changeJoins(ctx, fork, update{
		op:         "report failed items of execution " + fork.Log.String(),
		expression: "SET " + name + " = :failed, expires = :expires",
		condition:  "(" + notExpired + ") AND (attribute_not_exists(" + name + ") OR " + name + " < :failed)",
		values:     attributes{":failed": failed, ":expires": expiryOf(report.Expires)},
	}, attributes{name: failed})
}

// Raise implements [engine.Joins].
func (l *Log) Raise(ctx context.Context, fork engine.ForkID, before, after engine.JoinRecord, expires time.Time) error {
	change := update{
		op: "raise the joins of execution " + fork.Log.String(), expression: "SET c = :cursor, expires = :expires",
		condition: "(" + notExpired + ")", names: map[string]string{},
		values: attributes{":cursor": numberValue(int64(after.Cursor)), ":expires": expiryOf(expires), ":now": secondOf(l.now())},
	}
	require := func(attribute, value string, number int64) {
		if number == 0 {
			change.condition += " AND attribute_not_exists(" + attribute + ")"
			return
		}
		change.condition += " AND " + attribute + " = " + value
		change.values[value] = numberValue(number)
	}
	require(attrCursor, ":before", int64(before.Cursor))
	for lane, claim := range after.Claims {
		if claim == before.Claims[lane] {
			continue
		}
		name := claimOf(lane)
		require("#"+name, ":was"+name, numberOfClaim(before.Claims[lane]))
		change.expression += fmt.Sprintf(", #%s = :%s", name, name)
		change.names["#"+name], change.values[":"+name] = name, numberValue(numberOfClaim(claim))
	}
	if len(change.names) == 0 {
		change.names = nil
	}
	for lane, failed := range after.Failures {
		if name := failuresOf(lane); failed != before.Failures[lane] {
			require(name, ":was"+name, int64(before.Failures[lane]))
			change.expression += fmt.Sprintf(", %s = :%s", name, name)
			change.values[":"+name] = numberValue(int64(failed))
		}
	}
	_, ok, err := l.update(ctx, joinKey(fork), change)
	if err == nil && !ok {
		err = engine.ErrConflict
	}
	return err
}

// Joined implements [engine.Joins].
func (l *Log) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	found, err := l.get(ctx, "read the joins of execution "+fork.Log.String(), joinKey(fork))
	return l.joinRecord(found), err
}

// joinRecord reads a record, which is empty if it has expired.
func (l *Log) joinRecord(item attributes) engine.JoinRecord {
	record := engine.NewJoinRecord()
	if expires, _ := numberOf(item[attrExpires]); expires <= l.now().Unix() {
		return record
	}
	record.Joined = map[int]uint64{}
	if ends, ok := item[attrEnds].(*types.AttributeValueMemberNS); ok {
		for _, text := range ends.Value {
			if end, err := strconv.ParseUint(text, 10, 64); err == nil {
				record.Joined[int(end/laneUnit)] = end % laneUnit
			}
		}
	}
	if failed, ok := numberOf(item[attrFailed]); ok {
		record.Failed = int(failed)
	}
	if cursor, ok := numberOf(item[attrCursor]); ok {
		record.Cursor = int(cursor)
	}
	for name, value := range item {
		lane, err := strconv.Atoi(strings.TrimPrefix(name, attrFailures))
		number, ok := numberOf(value)
		switch isFailures := strings.HasPrefix(name, attrFailures); {
		case err != nil || !ok:
		case isFailures:
			record = record.WithFailures(engine.FailureReport{Lane: lane, Failed: int(number)})
		default:
			if record.Claims == nil {
				record.Claims = map[int]engine.Claim{}
			}
			from, size := int(number%itemUnit), int(number%claimUnit/itemUnit)
			record.Claims[lane] = engine.Claim{Number: int(number / claimUnit), Range: machine.Range{From: from, To: from + size}}
		}
	}
	return record
}

// failuresOf returns the name of the attribute for the failed items of a lane.
func failuresOf(lane int) string { return attrFailures + strconv.Itoa(lane) }

// claimOf returns the name of the attribute for the claim of a lane.
func claimOf(lane int) string { return strconv.Itoa(lane) }

func numberOfClaim(c engine.Claim) int64 {
	return int64(c.Number)*claimUnit + int64(c.Len())*itemUnit + int64(c.From)
}

// joinKey returns a key with a partition of its own, because the partition of a log has only items
// of the log.
func joinKey(fork engine.ForkID) attributes {
	partition := binary.BigEndian.AppendUint32(fork.Log[:], uint32(fork.Attempt)) //nolint:gosec // the number of an event
	return attributes{attrPartition: binaryOf(partition), attrSort: binaryOf([]byte{0})}
}
