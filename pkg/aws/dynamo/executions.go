package dynamo

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// ExecutionsIndex is the name of the index that lists executions.
const ExecutionsIndex = "Executions"

// Attributes of the index. The place of both entries of an execution is its start, then its id.
const (
	attrFlow   = "f"
	attrStatus = "u" // [machine.StatusRunning] in the entry of the first item
)

// addEntry has the item listed.
func (l *Log) addEntry(item attributes, execution engine.ID, head machine.Head) {
	if head.Flow.Name == "" || head.Started.IsZero() { // a log that nothing is known of
		return
	}
	status := head.Status
	if !status.Final() {
		status = machine.StatusRunning
	}
	item[attrShard] = shardKey(int(execution[0]) % l.shards) // an id is a hash
	item[attrOrder] = binaryOf(orderKey(head.Started, execution[:]))
	item[attrFlow] = textValue(head.Flow.Name)
	item[attrStatus] = textValue(string(status))
}

// Executions implements [engine.Index]. It may lag behind the log by
// a moment.
func (l *Log) Executions(ctx context.Context, of engine.Selection, after string, limit int) (ids []engine.ID, next string, err error) {
	before, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil {
		return nil, "", &engine.Error{Code: engine.CodeInvalid, Op: "list executions", Err: fmt.Errorf(
			"invalid page token %q: use `next` of the previous page", after)}
	}
	first, last := of.Starts()
	from, to := placeAt(first), append(placeAt(last), lastID...)
	if after != "" && bytes.Compare(before, to) <= 0 {
		to = justBefore(before)
	}
	if bytes.Compare(from, to) > 0 {
		return nil, "", nil
	}
	wanted, entries := of.Indexed(), l.executions(of.Flow, from, to, limit)
	for passed := 0; ; passed++ {
		found, err := entries.next(ctx)
		switch {
		case err != nil:
			return nil, "", l.wrap("list executions", err)
		case found == nil:
			return ids, "", nil
		case len(ids) == limit, passed == mostPassed:
			return ids, base64.RawURLEncoding.EncodeToString(before), nil
		}
		execution := bytesOf(found[0][attrPartition])
		if len(execution) != len(engine.ID{}) {
			return nil, "", l.wrap("list executions", errors.New("an entry is of no execution"))
		}
		before = placeOf(found[0])
		if len(wanted) == 0 || slices.Contains(wanted, statusOf(found)) {
			ids = append(ids, engine.ID(execution))
		}
	}
}

// mostPassed is the greatest number of index entries read for a page. If few executions have the
// requested status, reading all entries may take longer than a request.
const mostPassed = 1000

// lastID is greater than the ids of executions.
var lastID = bytes.Repeat([]byte{math.MaxUint8}, len(engine.ID{}))

// executions reads the index, the latest start first.
func (l *Log) executions(flow string, from, to []byte, limit int) *indexReader {
	query := dynamodb.QueryInput{
		IndexName: aws.String(ExecutionsIndex), ScanIndexForward: aws.Bool(false),
		Limit:            limitOf(2*limit + 1), // two entries for each ended execution, and one to detect more
		FilterExpression: aws.String("(" + notExpired + ")"),
	}
	values := attributes{":now": secondOf(l.now())}
	if flow != "" {
		*query.FilterExpression += " AND f = :f"
		values[":f"] = textValue(flow)
	}
	entries := l.index(query, values, from, to, l.shards)
	entries.ahead = 1
	return entries
}

// statusOf returns the status of an execution. One of its two entries says that it ended.
func statusOf(entries []attributes) (status machine.Status) {
	for _, entry := range entries {
		if status = machine.Status(textOf(entry[attrStatus])); status.Final() {
			return status
		}
	}
	return status
}
