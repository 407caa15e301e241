package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// unmatchedShards is the first of the partitions of [WaitsIndex] that list events. Those before are
// of external waits.
const unmatchedShards = MostShards

// unmatchedPlace is the size of the place of an event in the index: an instant, and as much of a
// hash.
const unmatchedPlace = 16

// listUnmatched adds a job, with its item, to the index. If a waiter is bound at the
// same moment, the reader of the index reads the item and omits the job.
func (w *Waits) listUnmatched(ctx context.Context, key jobs.Key, end jobs.Sighting, item attributes) error {
	id := key.ID()
	hash := sha256.Sum256([]byte(id))
	place := orderKey(end.At, hash[:])[:unmatchedPlace]
	if bytes.Equal(placeOf(item), place) {
		return nil
	}
	shard := unmatchedShards + int(crc32.ChecksumIEEE([]byte(id))%LeastShards)
	_, _, err := w.update(ctx, jobKey(key), update{
		op: "list the unmatched event of job " + key.Name, expression: "SET x = :shard, t = :place",
		condition: "attribute_exists(k)", // or it would make an item that never expires
		values:    attributes{":shard": shardKey(shard), ":place": binaryOf(place)},
	})
	return err
}

// Unmatched implements [resume.UnmatchedEvents]. Each listed event is read consistently.
func (w *Waits) Unmatched(ctx context.Context, after string, limit int) (events []resume.UnmatchedEvent, next string, err error) {
	last := lastPlace
	if after != "" {
		place, err := base64.RawURLEncoding.DecodeString(after)
		if err != nil || len(place) != unmatchedPlace {
			return nil, "", resume.ErrPage
		}
		last = justBefore(place)
	}
	query := dynamodb.QueryInput{IndexName: aws.String(WaitsIndex), Limit: limitOf(limit), ScanIndexForward: aws.Bool(false)}
	entries := w.indexFrom(unmatchedShards, query, attributes{}, []byte{0}, last, LeastShards)
	for len(events) < limit {
		page, err := oldest(ctx, entries, limit-len(events))
		if err != nil {
			return nil, "", w.wrap("list unmatched job events", err)
		}
		if len(page) == 0 {
			return events, "", nil
		}
		listed, err := w.unmatchedOf(ctx, page)
		if err != nil {
			return nil, "", w.wrap("list unmatched job events", err)
		}
		events = append(events, listed...)
		next = base64.RawURLEncoding.EncodeToString(placeOf(page[len(page)-1]))
	}
	return events, next, nil
}

// unmatchedOf returns the events of those entries that still match no wait.
func (w *Waits) unmatchedOf(ctx context.Context, entries []attributes) (events []resume.UnmatchedEvent, err error) {
	found, err := w.itemsOf(ctx, entries)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		id := textOf(entry[attrKey])
		item := found[id]
		second, expires := numberOf(item[attrExpires])
		record, err := jobRecordOf(item, nil)
		if err != nil {
			return nil, err
		}
		key, ok := jobs.ParseKey(strings.TrimPrefix(id, jobPrefix))
		if ok && record.IsUnmatched() && (!expires || second >= w.now().Unix()) {
			events = append(events, resume.UnmatchedEvent{Key: key, End: *record.End})
		}
	}
	return events, nil
}
