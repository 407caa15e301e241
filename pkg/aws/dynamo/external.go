package dynamo

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// WaitsIndex is the name of the index that lists the waits of external recipients, and job events
// that match no wait. Its attributes are x and t, as in [ExecutionsIndex]. For a wait, t is the
// instant when it was opened, then its handle; for an event, the end of the job, then a hash of the
// job's key. It projects nothing, because closing a token would then be two writes.
const WaitsIndex = "Waits"

// Open implements [resume.ExternalWaits]. It is one write, and one of the index.
func (w *Waits) Open(ctx context.Context, handle string, wait resume.ExternalWait) (resume.ExternalWait, error) {
	after, _, err := w.update(ctx, tokenKey(handle), update{
		op:         "open an external wait",
		expression: "SET f = :wait, x = :shard, t = :age, expires = :expires",
		condition:  "attribute_not_exists(f)",
		values: attributes{
			":wait": binaryOf(wait.Encode()), ":expires": expiryOf(wait.Expires),
			":shard": shardKey(int(crc32.ChecksumIEEE([]byte(handle)) % LeastShards)), ":age": binaryOf(orderKey(wait.Opened, handle)),
		},
	})
	if err != nil {
		return resume.ExternalWait{}, err
	}
	return decodeWait(after)
}

// ExternalWait implements [resume.ExternalWaits].
func (w *Waits) ExternalWait(ctx context.Context, handle string) (resume.ExternalWait, token.Record, error) {
	found, err := w.get(ctx, "read an external wait", tokenKey(handle))
	if err != nil {
		return resume.ExternalWait{}, token.Record{}, err
	}
	wait, err := decodeWait(found)
	if err != nil {
		return resume.ExternalWait{}, token.Record{}, err
	}
	record, err := decodeRecord(found)
	return wait, record, err
}

// Deliver implements [resume.ExternalWaits].
func (w *Waits) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	after, _, err := w.update(ctx, tokenKey(handle), update{
		op:         "note a delivery",
		expression: "SET d = :delivery REMOVE x, t",
		condition:  "attribute_exists(f) AND attribute_not_exists(d)",
		values:     attributes{":delivery": textValue(string(delivery))},
	})
	if err != nil {
		return err
	}
	_, err = decodeWait(after)
	return err
}

// List implements [resume.ExternalWaits]. A new wait may be missing for a moment; each listed wait
// is read consistently.
func (w *Waits) List(ctx context.Context, after string, limit int) ([]resume.ExternalWait, error) {
	last, err := w.ageOf(ctx, after)
	if err != nil {
		return nil, err
	}
	entries := w.index(dynamodb.QueryInput{IndexName: aws.String(WaitsIndex), Limit: limitOf(limit)}, attributes{}, append(last, 0), lastPlace, LeastShards)
	var waits []resume.ExternalWait
	for len(waits) < limit {
		page, err := oldest(ctx, entries, limit-len(waits))
		var listed []resume.ExternalWait
		if err == nil {
			listed, err = w.undelivered(ctx, page)
		}
		if err != nil {
			return nil, w.wrap("list external waits", err)
		}
		if waits = append(waits, listed...); len(page) == 0 {
			break
		}
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
	return orderKey(wait.Opened, handle), nil
}

// oldest returns at most limit entries of the index.
func oldest(ctx context.Context, entries *indexReader, limit int) (page []attributes, err error) {
	for len(page) < limit {
		next, err := entries.next(ctx)
		if err != nil || next == nil {
			return page, err
		}
		page = append(page, next...)
	}
	return page, nil
}

// itemsOf returns the items of those entries, by their keys.
func (w *Waits) itemsOf(ctx context.Context, entries []attributes) (map[string]attributes, error) {
	keys := make([]attributes, len(entries))
	for i, entry := range entries {
		keys[i] = attributes{attrKey: entry[attrKey]}
	}
	found := map[string]attributes{}
	return found, w.batch(ctx, keys, func(each attributes) error {
		found[textOf(each[attrKey])] = each
		return nil
	})
}

// undelivered returns the waits of those entries that are still not delivered.
func (w *Waits) undelivered(ctx context.Context, entries []attributes) ([]resume.ExternalWait, error) {
	found, err := w.itemsOf(ctx, entries)
	if err != nil {
		return nil, err
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

// decodeWait reads the wait from the attributes of its token.
func decodeWait(item attributes) (resume.ExternalWait, error) {
	stored, ok := item[attrWait]
	if !ok {
		return resume.ExternalWait{}, resume.ErrNoWait
	}
	handle := strings.TrimPrefix(textOf(item[attrKey]), "T")
	wait, err := resume.DecodeExternalWait(handle, bytesOf(stored))
	if err != nil {
		return resume.ExternalWait{}, fmt.Errorf("table Waits: wait %s: %w", handle, err)
	}
	wait.Delivery = resume.Delivery(textOf(item[attrSent]))
	return wait, nil
}
