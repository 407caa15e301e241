// Package objects reads the items of a Map in the Amazon States Language from objects of S3, and
// writes the results of a Map to such objects.
//
// This package is not an API and may change between releases.
package objects

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/waitless/waitless/pkg/value"
)

// Store keeps objects in buckets.
type Store interface {
	// Get returns the content of an object.
	Get(ctx context.Context, bucket, key string) (io.ReadCloser, error)
	// List returns the objects with a prefix behind a key, in the order of their keys: all, or so
	// many that the list is not empty.
	List(ctx context.Context, bucket, prefix, after string) ([]Object, error)
	// Put stores an object.
	Put(ctx context.Context, bucket, key string, content []byte) error
}

// Object describes an object.
type Object struct {
	Key, ETag, StorageClass string
	Size                    int64
	Modified                time.Time
}

// maxItems is the most bytes of all items together: the largest value of an execution.
const maxItems = 6 << 20

// Call reads items, if the request has the parameters of a reader as its member "read", or writes
// results, if it has the parameters of a writer as "write".
func Call(ctx context.Context, store Store, request value.Value) (value.Value, error) {
	if target := request.Get("write"); !target.IsMissing() {
		return write(ctx, store, request, target)
	}
	most, _ := request.Get("most").Int64()
	r := reader{most: int(most), format: request.Get("format").Text()}
	if r.most < 0 {
		return value.Null(), errors.New("field MaxItems must be positive")
	}
	from := request.Get("read")
	bucket, key := from.Get("Bucket").Text(), from.Get("Key").Text()
	if bucket == "" || r.format != "" && key == "" {
		return value.Null(), errors.New("the parameters Bucket and Key are not both texts")
	}
	if r.format == "" {
		err := r.list(ctx, store, bucket, from.Get("Prefix").Text())
		return value.Array(r.items...), err
	}
	content, err := store.Get(ctx, bucket, key)
	if err != nil {
		return value.Null(), err
	}
	defer content.Close() //nolint:errcheck // reading failed, or is complete
	switch r.format {
	case "CSV":
		err = r.csv(content, request.Get("headers"), request.Get("delimiter").Text())
	default:
		err = r.json(content, r.format == "JSON")
	}
	if err != nil {
		return value.Null(), fmt.Errorf("s3://%s/%s: %w", bucket, key, err)
	}
	return value.Array(r.items...), nil
}

// reader collects items.
type reader struct {
	format string
	most   int // 0 for all
	items  []value.Value
	size   int
}

// add adds an item and reports whether these are all that are wanted.
func (r *reader) add(item value.Value) (full bool, err error) {
	r.items = append(r.items, item)
	if r.size += item.Size() + 1; r.size > maxItems {
		return true, fmt.Errorf("the first %d items have more than %d bytes; write MaxItems, or split the object", len(r.items), maxItems)
	}
	return len(r.items) == r.most, nil
}

// list reads a list of objects as Step Functions shows them.
func (r *reader) list(ctx context.Context, store Store, bucket, prefix string) error {
	after := ""
	for {
		found, err := store.List(ctx, bucket, prefix, after)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, o := range found {
			full, err := r.add(value.Object(
				value.Member{Key: "Etag", Value: value.String(o.ETag)}, value.Member{Key: "Key", Value: value.String(o.Key)},
				value.Member{Key: "LastModified", Value: value.Int(o.Modified.Unix())}, value.Member{Key: "Size", Value: value.Int(o.Size)},
				value.Member{Key: "StorageClass", Value: value.String(o.StorageClass)},
			))
			if full || err != nil {
				return err
			}
			after = o.Key
		}
	}
}

// json reads an array, one element after the other, or values that follow one another.
func (r *reader) json(content io.Reader, isArray bool) error {
	decoder := json.NewDecoder(content)
	if isArray {
		if first, err := decoder.Token(); err != nil || first != json.Delim('[') {
			return errors.Join(fmt.Errorf("it begins with %v; allowed: an array", first), err)
		}
	}
	for decoder.More() {
		var text json.RawMessage
		err := decoder.Decode(&text)
		item := value.Missing()
		if err == nil {
			item, err = value.ParseJSON(text)
		}
		if err != nil {
			return fmt.Errorf("item %d: %w", len(r.items)+1, err)
		}
		if full, err := r.add(item); full || err != nil {
			return err
		}
	}
	if !isArray {
		return nil
	}
	_, err := decoder.Token()
	return err
}

const byteOrderMark = "\uFEFF" // which spreadsheets write

// csv reads an object from each row. Without headers, the first row has them. Columns without a
// header are left out, and missing ones are empty.
func (r *reader) csv(content io.Reader, headers value.Value, delimiter string) error {
	text := bufio.NewReader(content)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // is in its buffer
	}
	rows := csv.NewReader(text)
	rows.FieldsPerRecord, rows.LazyQuotes, rows.Comma = -1, true, rune((delimiter + ",")[0])
	var names []string
	for _, name := range headers.Members() {
		names = append(names, name.Value.Text())
	}
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case names == nil:
			names = row
			continue
		}
		members := make([]value.Member, len(names))
		for i, name := range names {
			members[i] = value.Member{Key: name, Value: value.String("")}
			if i < len(row) {
				members[i].Value = value.String(row[i])
			}
		}
		if full, err := r.add(value.Object(members...)); full || err != nil {
			return err
		}
	}
}
