package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// Attributes of a job's item. Each waiter has an attribute of its own: a map would have to exist
// before the first waiter.
const (
	attrEnd      = "e" // the latest end that was seen
	attrEndAt    = "s" // its instant, in nanoseconds since 1970
	waiterPrefix = "w" // and a handle
)

// Bind implements [resume.Rendezvous]. It takes a second write if an earlier wait expires later. It
// removes an unmatched event from the index.
func (w *Waits) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (resume.JobRecord, error) {
	change := update{
		op: "bind a token to job " + key.Name, names: map[string]string{"#w": waiterPrefix + waiter.Handle},
		values: attributes{":waiter": binaryOf(resume.Encode(waiter)), ":expires": expiryOf(expires)},
	}
	later, earlier := change, change
	later.expression, later.condition = "SET #w = :waiter, expires = :expires REMOVE x, t", "attribute_not_exists(expires) OR expires <= :expires"
	earlier.expression, earlier.condition = "SET #w = :waiter REMOVE x, t", "expires > :expires"
	return jobRecordOf(w.updateFirst(ctx, jobKey(key), later, earlier))
}

// Note implements [resume.Rendezvous]. It takes a second write if the job's item has expired and
// DynamoDB has not deleted it, and one more, with one of the index, to list an event that matches
// no wait.
func (w *Waits) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.JobRecord, error) {
	after, err := w.note(ctx, key, end, expires)
	record, err := jobRecordOf(after, err)
	if err != nil || !record.IsUnmatched() {
		return record, err
	}
	return record, w.listUnmatched(ctx, key, *record.End, after)
}

// note stores the end, unless a later one is stored, and returns the item as it then is.
func (w *Waits) note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (after attributes, err error) {
	now := w.now()
	change := update{op: "note the end of job " + key.Name, values: attributes{
		":end": binaryOf(resume.Encode(end)), ":at": nanosecondOf(end.At), ":expires": expiryOf(expires), ":now": secondOf(now),
	}}
	kept, expired := change, change
	kept.expression = "SET e = :end, s = :at, expires = if_not_exists(expires, :expires)"
	kept.condition = "(attribute_not_exists(s) OR s <= :at) AND (attribute_not_exists(expires) OR expires >= :now)"
	expired.expression, expired.condition = "SET e = :end, s = :at, expires = :expires", "expires < :now"
	for { // again only if the expiry changed between the two
		after, ok, err := w.update(ctx, jobKey(key), kept)
		if second, expires := numberOf(after[attrExpires]); err != nil || ok || !expires || second >= now.Unix() {
			return after, err
		}
		if after, ok, err = w.update(ctx, jobKey(key), expired); err != nil || ok {
			return after, err
		}
	}
}

// JobRecord implements [resume.Rendezvous].
func (w *Waits) JobRecord(ctx context.Context, key jobs.Key) (resume.JobRecord, error) {
	return jobRecordOf(w.get(ctx, "read what waits for job "+key.Name, jobKey(key)))
}

// Release implements [resume.Rendezvous].
func (w *Waits) Release(ctx context.Context, key jobs.Key, handles []string) error {
	const together = 100 // an expression has a limit of 4 KB
	for some := range slices.Chunk(handles, together) {
		names, paths := map[string]string{}, make([]string, len(some))
		for i, handle := range some {
			paths[i] = "#" + strconv.Itoa(i)
			names[paths[i]] = waiterPrefix + handle
		}
		if _, _, err := w.update(ctx, jobKey(key), update{
			op:         "release those who waited for job " + key.Name,
			expression: "REMOVE " + strings.Join(paths, ", "), names: names,
			condition: "attribute_exists(k)", // or it would make an item that never expires
		}); err != nil {
			return err
		}
	}
	return nil
}

// jobPrefix begins the key of a job's item.
const jobPrefix = "J"

func jobKey(key jobs.Key) attributes { return attributes{attrKey: textValue(jobPrefix + key.ID())} }

// jobRecordOf decodes the attributes of a job's item.
func jobRecordOf(item attributes, err error) (resume.JobRecord, error) {
	var m resume.JobRecord
	if err != nil {
		return m, err
	}
	for name, value := range item {
		if !strings.HasPrefix(name, waiterPrefix) {
			continue
		}
		waiter, err := resume.Decode[resume.Waiter](bytesOf(value))
		if err != nil {
			return resume.JobRecord{}, jobError(item, err)
		}
		m.Waiters = append(m.Waiters, waiter)
	}
	slices.SortFunc(m.Waiters, func(a, b resume.Waiter) int { return strings.Compare(a.Handle, b.Handle) })
	if value, ok := item[attrEnd]; ok {
		end, err := resume.Decode[jobs.Sighting](bytesOf(value))
		if err != nil {
			return resume.JobRecord{}, jobError(item, err)
		}
		m.End = &end
	}
	return m, nil
}

func jobError(item attributes, err error) error {
	return fmt.Errorf("table Waits: item %s: %w", textOf(item[attrKey]), err)
}
