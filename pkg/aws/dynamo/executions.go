package dynamo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// ExecutionsIndex is the name of the index that lists executions.
const ExecutionsIndex = "Executions"

// Attributes of the index.
const (
	attrShard  = "x"
	attrStart  = "t" // instant of the start, then the id: both entries of an execution stand together
	attrFlow   = "f"
	attrStatus = "u" // [machine.StatusRunning] in the entry of the first item
)

// shards is over how many partitions the index is spread: DynamoDB takes a
// thousand writes a second in each, and those beyond hold up the table.
const shards = 8

// addEntry has the item listed.
func addEntry(attributes item, execution engine.ID, head machine.Head) {
	if head.Flow.Name == "" || head.Started.IsZero() { // a log that nothing is known of
		return
	}
	status := head.Status
	if !status.Final() {
		status = machine.StatusRunning
	}
	attributes[attrShard] = shardKey(int(execution[0]) % shards) // an id is a hash
	attributes[attrStart] = binaryOf(append(startKey(head.Started), execution[:]...))
	attributes[attrFlow] = textValue(head.Flow.Name)
	attributes[attrStatus] = textValue(string(status))
}

func shardKey(shard int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(shard)}
}

// startKey sorts by the instant, before 1970 too.
func startKey(start time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(start.UnixNano())^1<<63)
}

// Executions implements the index of the management API. It may lag behind the log by
// a moment.
func (l *Log) Executions(ctx context.Context, flow string, status machine.Status, after string, limit int) (ids []engine.ID, next string, err error) {
	before, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil {
		return nil, "", &engine.Error{Code: engine.CodeInvalid, Op: "list executions", Err: fmt.Errorf(
			"invalid page token %q: use `next` of the previous page", after)}
	}
	readers := make([]*shardReader, shards)
	for shard := range readers {
		readers[shard] = &shardReader{log: l, input: l.shardQuery(shard, flow, before, limit)}
	}
	for passed := 0; ; passed++ {
		newest, err := newestOf(ctx, readers)
		switch {
		case err != nil:
			return nil, "", logError("list executions", err)
		case newest == nil:
			return ids, "", nil
		case len(ids) == limit, passed == mostPassed:
			return ids, base64.RawURLEncoding.EncodeToString(before), nil
		}
		entry := newest.take()
		before = entry.key
		if status == "" || entry.status == status {
			ids = append(ids, entry.execution)
		}
	}
}

// mostPassed is how many executions are looked at for a page, whose status few
// may have: to look at them all may take longer than a request.
const mostPassed = 1000

// newestOf is the reader whose next entry is the latest start, nil when all are
// at their end.
func newestOf(ctx context.Context, readers []*shardReader) (newest *shardReader, err error) {
	for _, r := range readers {
		if err := r.fill(ctx); err != nil {
			return nil, err
		}
		if len(r.entries) > 0 && (newest == nil || bytes.Compare(r.entries[0].key, newest.entries[0].key) > 0) {
			newest = r
		}
	}
	return newest, nil
}

func (l *Log) shardQuery(shard int, flow string, before []byte, limit int) *dynamodb.QueryInput {
	input := &dynamodb.QueryInput{
		TableName: &l.table, IndexName: aws.String(ExecutionsIndex), ScanIndexForward: aws.Bool(false),
		Limit:                     limitOf(2*limit + 1), // two entries for what has ended, and whether there are more
		KeyConditionExpression:    aws.String("x = :x"),
		FilterExpression:          aws.String("(" + notExpired + ")"),
		ExpressionAttributeValues: item{":x": shardKey(shard), ":now": secondOf(l.now())},
	}
	if len(before) > 0 {
		*input.KeyConditionExpression += " AND t < :t"
		input.ExpressionAttributeValues[":t"] = binaryOf(before)
	}
	if flow != "" {
		*input.FilterExpression += " AND f = :f"
		input.ExpressionAttributeValues[":f"] = textValue(flow)
	}
	return input
}

// shardReader reads one partition of the index, the latest start first.
type shardReader struct {
	log     *Log
	input   *dynamodb.QueryInput
	entries []entry // read, and not returned yet
	ended   bool    // nothing is left to read
}

// entry is one of the index.
type entry struct {
	key       []byte
	execution engine.ID
	status    machine.Status
}

// fill reads on until the next execution is there with all of its entries.
func (r *shardReader) fill(ctx context.Context) error {
	for !r.ended && !r.complete() {
		page, err := r.log.client.Query(ctx, r.input)
		if err != nil {
			return err
		}
		for _, attributes := range page.Items {
			e, err := decodeEntry(attributes)
			if err != nil {
				return err
			}
			r.entries = append(r.entries, e)
		}
		r.input.ExclusiveStartKey = page.LastEvaluatedKey
		r.ended = len(page.LastEvaluatedKey) == 0
	}
	return nil
}

// complete: an entry of the execution after it, or both of its own, are there.
func (r *shardReader) complete() bool { return len(r.entries) > 1 }

// take is the next execution. That it ended is said by one of its two entries.
func (r *shardReader) take() entry {
	first, rest := r.entries[0], r.entries[1:]
	if len(rest) > 0 && bytes.Equal(rest[0].key, first.key) {
		if rest[0].status.Final() {
			first = rest[0]
		}
		rest = rest[1:]
	}
	r.entries = rest
	return first
}

func decodeEntry(attributes item) (entry, error) {
	execution := bytesOf(attributes[attrPartition])
	if len(execution) != len(engine.ID{}) {
		return entry{}, fmt.Errorf("index %s: an entry is of no execution", ExecutionsIndex)
	}
	return entry{bytesOf(attributes[attrStart]), engine.ID(execution), machine.Status(textOf(attributes[attrStatus]))}, nil
}
