package dynamo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Log is table Log. It implements [engine.Log], [engine.Flows] and [engine.Joins], and lists
// executions.
type Log struct {
	table
	flows   engine.ParsedFlows
	presets sync.Map // by [machine.FlowRef]: the [preset] that was read last
	shards  int      // of the index of executions
}

// NewLog returns the table with the name. Items expire according to now.
func NewLog(client *dynamodb.Client, name string, now func() time.Time) *Log {
	return &Log{table: table{client, "Log", name, now}, shards: LeastShards}
}

// Spread sets the number of partitions of the index of executions, [LeastShards] to [MostShards],
// and returns the table. All workers must use the same number. It may be raised; a lower one hides
// executions until they have expired.
func (l *Log) Spread(shards int) *Log {
	l.shards = shards
	return l
}

// Attributes of table Log. Each byte of a name is paid for with each item.
const (
	attrPartition = "p"
	attrSort      = "s"
	attrNonce     = "n"
	attrBody      = "b"
)

// seqSize is the size of an item's number as a sort key.
const seqSize = 8

// Latest implements [engine.Log].
func (l *Log) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	found, err := l.query(ctx, 1, &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("p = :p"),
		ExpressionAttributeValues: attributes{":p": binaryOf(execution[:])},
		ScanIndexForward:          aws.Bool(false),
	})
	switch {
	case err != nil:
		return engine.Item{}, l.wrap("read the log of execution "+execution.String(), err)
	case len(found) == 0:
		return engine.Item{}, engine.ErrNotFound
	}
	return decodeItem(found[0])
}

// Items implements [engine.Log].
func (l *Log) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	found, err := l.query(ctx, limit, &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("p = :p AND s >= :s"),
		ExpressionAttributeValues: attributes{":p": binaryOf(execution[:]), ":s": seqKey(from)},
	})
	if err != nil {
		return nil, l.wrap("read the log of execution "+execution.String(), err)
	}
	items := make([]engine.Item, len(found))
	for i, item := range found {
		if items[i], err = decodeItem(item); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// Get implements [engine.Log]. It is one request for 100 items or 16 MB.
func (l *Log) Get(ctx context.Context, keys ...engine.ItemKey) (map[engine.ItemKey]engine.Item, error) {
	wanted := make([]attributes, len(keys))
	for i, key := range keys {
		wanted[i] = attributes{attrPartition: binaryOf(key.Execution[:]), attrSort: seqKey(key.Seq)}
	}
	found := make(map[engine.ItemKey]engine.Item, len(keys))
	err := l.batch(ctx, wanted, func(item attributes) error {
		if expires, ok := numberOf(item[attrExpires]); ok && expires <= l.now().Unix() {
			return nil
		}
		read, err := decodeItem(item)
		found[read.Key()] = read
		return err
	})
	return found, l.wrap("read items of executions", err)
}

// query reads at most limit items that have not expired, consistently.
func (l *Log) query(ctx context.Context, limit int, input *dynamodb.QueryInput) ([]attributes, error) {
	input.TableName, input.ConsistentRead = &l.name, aws.Bool(true)
	input.FilterExpression = aws.String(notExpired)
	input.ExpressionAttributeValues[":now"] = secondOf(l.now())
	input.Limit = limitOf(limit)
	var found []attributes
	for {
		page, err := l.client.Query(ctx, input)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
		if len(found) >= limit || len(page.LastEvaluatedKey) == 0 {
			return found[:min(limit, len(found))], nil
		}
		// The page was full, or its items have expired: many items of an older log may remain after
		// its name became free again.
		input.ExclusiveStartKey, input.Limit = page.LastEvaluatedKey, nil
	}
}

// An expired item is ignored at once, also by a put.
const (
	notExpired      = "attribute_not_exists(expires) OR expires > :now"
	absentOrExpired = "attribute_not_exists(s) OR expires <= :now"
)

// Append implements [engine.Log]. It does not check for a gap, which would take a read: the engine
// continues from the latest item.
func (l *Log) Append(ctx context.Context, put engine.Item) error {
	op := "append to the log of execution " + put.Execution.String()
	existing, ok, err := l.put(ctx, op, l.encodeItem(put), absentOrExpired, attributes{":now": secondOf(l.now())})
	if err == nil && !ok {
		err = &engine.ConflictError{Nonce: textOf(existing[attrNonce])}
	}
	return err
}

// extendedTogether is how many items are extended at the same time.
const extendedTogether = 16

// Extend implements [engine.Log].
func (l *Log) Extend(ctx context.Context, expires time.Time, keys ...engine.ItemKey) error {
	for some := range slices.Chunk(keys, extendedTogether) {
		errs := make([]error, len(some))
		var all sync.WaitGroup
		for i, key := range some {
			all.Go(func() { errs[i] = l.extend(ctx, expires, key) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) extend(ctx context.Context, expires time.Time, key engine.ItemKey) error {
	change := update{
		op: "extend the log of execution " + key.Execution.String(), expression: "SET expires = :expires", condition: "expires > :now",
		values: attributes{":expires": expiryOf(expires), ":now": secondOf(l.now())},
	}
	_, ok, err := l.update(ctx, attributes{attrPartition: binaryOf(key.Execution[:]), attrSort: seqKey(key.Seq)}, change)
	if err == nil && !ok {
		err = l.wrap(change.op, fmt.Errorf("item %d has expired", key.Seq))
	}
	return err
}

// encodeItem returns the item with the attributes that the table derives from its body. A body that
// [machine.Encode] did not write does not expire and is not listed.
func (l *Log) encodeItem(put engine.Item) attributes {
	item := attributes{
		attrPartition: binaryOf(put.Execution[:]),
		attrSort:      seqKey(put.Seq),
		attrNonce:     textValue(put.Nonce),
		attrBody:      binaryOf(put.Body),
	}
	head, err := machine.HeadOf(put.Body)
	if err != nil {
		return item
	}
	if !head.Expires.IsZero() {
		item[attrExpires] = expiryOf(head.Expires)
	}
	if !head.Lane && (put.Seq == 0 || head.Status.Final()) {
		l.addEntry(item, put.Execution, head)
	}
	return item
}

func decodeItem(item attributes) (engine.Item, error) {
	execution, seq := bytesOf(item[attrPartition]), bytesOf(item[attrSort])
	if len(execution) != len(engine.ID{}) || len(seq) != seqSize {
		return engine.Item{}, errors.New("table Log: an item has no key of a log item")
	}
	return engine.Item{
		Execution: engine.ID(execution), Seq: binary.BigEndian.Uint64(seq),
		Nonce: textOf(item[attrNonce]), Body: bytesOf(item[attrBody]),
	}, nil
}

func seqKey(seq uint64) types.AttributeValue {
	return binaryOf(binary.BigEndian.AppendUint64(nil, seq))
}
