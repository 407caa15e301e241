package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// WaitsIndex is the name of the index that lists the waits of external recipients. Its attributes are x and t, as in
// [ExecutionsIndex]; t is the instant when the wait was opened, then its handle. It projects nothing, because closing a token
// would then be two writes.
const WaitsIndex = "Waits"

// Open implements [resume.ExternalWaits]. It is one write, and one of the index.
func (w *Waits) Open(ctx context.Context, handle string, wait resume.ExternalWait) (resume.ExternalWait, error) {
	after, _, err := w.update(ctx, tokenKey(handle), update{
		op:         "open an external wait",
		expression: "SET f = :wait, x = :shard, t = :age, expires = :expires",
		condition:  "attribute_not_exists(f)",
		values: item{
			":wait": binaryOf(wait.Encode()), ":expires": expiryOf(wait.Expires),
			":shard": shardKey(shardOf(handle)), ":age": binaryOf(ageKey(handle, wait)),
		},
	})
	if err != nil {
		return resume.ExternalWait{}, err
	}
	return decodeWait(after)
}

// shardOf spreads waits over the index.
func shardOf(handle string) int { return int(crc32.ChecksumIEEE([]byte(handle)) % shards) }

func ageKey(handle string, wait resume.ExternalWait) []byte {
	return append(startKey(wait.Opened), handle...)
}

// ExternalWait implements [resume.ExternalWaits].
func (w *Waits) ExternalWait(ctx context.Context, handle string) (resume.ExternalWait, token.Record, error) {
	found, err := w.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &w.table, Key: tokenKey(handle), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return resume.ExternalWait{}, token.Record{}, waitsError("read an external wait", err)
	}
	wait, err := decodeWait(found.Item)
	if err != nil {
		return resume.ExternalWait{}, token.Record{}, err
	}
	record, err := decodeRecord(found.Item)
	return wait, record, err
}

// Deliver implements [resume.ExternalWaits].
func (w *Waits) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	after, _, err := w.update(ctx, tokenKey(handle), update{
		op:         "note a delivery",
		expression: "SET d = :delivery REMOVE x, t",
		condition:  "attribute_exists(f) AND attribute_not_exists(d)",
		values:     item{":delivery": textValue(string(delivery))},
	})
	if err != nil {
		return err
	}
	_, err = decodeWait(after)
	return err
}

// List implements [resume.ExternalWaits]. A new wait may be missing for a moment; each listed wait is read consistently.
func (w *Waits) List(ctx context.Context, after string, limit int) ([]resume.ExternalWait, error) {
	last, err := w.ageOf(ctx, after)
	if err != nil {
		return nil, err
	}
	var waits []resume.ExternalWait
	for len(waits) < limit {
		page, err := w.oldest(ctx, last, limit-len(waits))
		if err != nil || len(page) == 0 {
			return waits, err
		}
		listed, err := w.undelivered(ctx, page)
		if err != nil {
			return nil, err
		}
		waits, last = append(waits, listed...), bytesOf(page[len(page)-1][attrStart])
	}
	return waits, nil
}

// ageOf is where the wait stands in the index, or stood before its delivery.
func (w *Waits) ageOf(ctx context.Context, handle string) ([]byte, error) {
	if handle == "" {
		return nil, nil
	}
	wait, _, err := w.ExternalWait(ctx, handle)
	if err != nil {
		return nil, fmt.Errorf("list external waits after %s: %w", handle, err)
	}
	return ageKey(handle, wait), nil
}

// oldest returns at most limit entries of the index, after the last one.
func (w *Waits) oldest(ctx context.Context, last []byte, limit int) ([]item, error) {
	var entries []item
	for shard := range shards {
		input := &dynamodb.QueryInput{
			TableName: &w.table, IndexName: aws.String(WaitsIndex), Limit: limitOf(limit),
			KeyConditionExpression:    aws.String("x = :x"),
			ExpressionAttributeValues: item{":x": shardKey(shard)},
		}
		if last != nil {
			*input.KeyConditionExpression += " AND t > :t"
			input.ExpressionAttributeValues[":t"] = binaryOf(last)
		}
		page, err := w.client.Query(ctx, input) // one is enough: entries are small
		if err != nil {
			return nil, waitsError("list external waits", err)
		}
		entries = append(entries, page.Items...)
	}
	slices.SortFunc(entries, func(a, b item) int { return bytes.Compare(bytesOf(a[attrStart]), bytesOf(b[attrStart])) })
	return entries[:min(len(entries), int(*limitOf(limit)))], nil
}

// undelivered returns the waits of those entries that are still not delivered.
func (w *Waits) undelivered(ctx context.Context, entries []item) ([]resume.ExternalWait, error) {
	found := map[string]item{}
	for some := range slices.Chunk(entries, mostKeys) {
		if err := w.collect(ctx, some, found); err != nil {
			return nil, waitsError("list external waits", err)
		}
	}
	var waits []resume.ExternalWait
	for _, entry := range entries {
		wait, err := decodeWait(found[textOf(entry[attrKey])])
		switch {
		case errors.Is(err, resume.ErrNoWait): // it expired
		case err != nil:
			return nil, err
		case wait.Delivery == "":
			waits = append(waits, wait)
		}
	}
	return waits, nil
}

// mostKeys is how many items DynamoDB reads in one call.
const mostKeys = 100

// collect reads the items of those entries, by their keys.
func (w *Waits) collect(ctx context.Context, entries []item, found map[string]item) error {
	keys := make([]item, len(entries))
	for i, entry := range entries {
		keys[i] = item{attrKey: entry[attrKey]}
	}
	left := map[string]types.KeysAndAttributes{w.table: {Keys: keys, ConsistentRead: aws.Bool(true)}}
	for try := 0; len(left) > 0; try++ { // DynamoDB returns a part of large items, and none of a throttled table
		if try > 0 {
			if err := pause(ctx, try); err != nil {
				return err
			}
		}
		page, err := w.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left})
		if err != nil {
			return err
		}
		for _, each := range page.Responses[w.table] {
			found[textOf(each[attrKey])] = each
		}
		left = page.UnprocessedKeys
	}
	return nil
}

// longestPause is the longest pause between two requests to a throttled table.
const longestPause = 5 * time.Second

// pause waits longer with each try.
func pause(ctx context.Context, try int) error {
	d, err := retry.NewExponentialJitterBackoff(longestPause).BackoffDelay(try, nil)
	if err != nil {
		return err
	}
	return engine.Sleep(ctx, d)
}

// decodeWait reads the wait from the attributes of its token.
func decodeWait(attributes item) (resume.ExternalWait, error) {
	stored, ok := attributes[attrWait]
	if !ok {
		return resume.ExternalWait{}, resume.ErrNoWait
	}
	handle := strings.TrimPrefix(textOf(attributes[attrKey]), "T")
	wait, err := resume.DecodeExternalWait(handle, bytesOf(stored))
	if err != nil {
		return resume.ExternalWait{}, fmt.Errorf("table Waits: wait %s: %w", handle, err)
	}
	wait.Delivery = resume.Delivery(textOf(attributes[attrSent]))
	return wait, nil
}
