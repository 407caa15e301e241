package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// jobRecordForm lists a job that has more waiters.
var jobRecordForm = form[resume.JobRecord]{decode: decodeJobRecord, encode: encodeJobRecord, index: listWaiters}

func encodeJobRecord(m resume.JobRecord) []byte {
	if len(m.Waiters) == 0 && m.End == nil {
		return nil
	}
	return resume.Encode(m)
}

func decodeJobRecord(data []byte) (resume.JobRecord, error) {
	m, err := resume.Decode[resume.JobRecord](data)
	if err != nil {
		return m, errDamagedJob
	}
	return m, nil
}

var errDamagedJob = fmt.Errorf("%w; restore a copy of the store's directory, or upgrade waitless", resume.ErrDamaged)

func listWaiters(key []byte, before, after resume.JobRecord) []Entry {
	if len(after.Waiters) <= len(before.Waiters) {
		return nil
	}
	return []Entry{{awaitedKey(key), []byte{}}}
}

func jobKey(key jobs.Key) []byte {
	var e value.Encoder
	resume.EncodeKey(&e, key)
	return append([]byte{keyJob}, e.Bytes()...)
}

// awaitedKey returns the key that lists a job while it may have waiters.
func awaitedKey(job []byte) []byte { return append([]byte{keyAwaited}, job[1:]...) }

// Bind implements [resume.Rendezvous]. The store keeps a waiter until it is released, or for a day
// after its token was closed.
func (s *Keyed) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, _ time.Time) (resume.JobRecord, error) {
	return s.changeJobRecord(ctx, "bind a token to", key, func(m resume.JobRecord) resume.JobRecord { return m.Bound(waiter) })
}

// Note implements [resume.Rendezvous]. An end that nothing waits for is removed some time after it
// expires.
func (s *Keyed) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.JobRecord, error) {
	noting := jobRecordForm
	noting.index = func(job []byte, _, after resume.JobRecord) []Entry {
		return []Entry{jobExpiry(job, after.End.At, expires)}
	}
	return noting.change(ctx, s, "record the end of job "+key.Name, jobKey(key), func(m resume.JobRecord) resume.JobRecord { return m.Noted(end) })
}

const (
	day        = 24 * time.Hour
	secondSize = 8
)

// jobExpiry returns the entry that has the end of a job expire.
func jobExpiry(job []byte, end, expires time.Time) Entry {
	key := binary.BigEndian.AppendUint64([]byte{keyJobExpiry}, uint64(expires.Unix())) //nolint:gosec // after 1970
	return Entry{append(key, job[1:]...), binary.BigEndian.AppendUint64(nil, uint64(end.UnixNano()))}
}

// expireJobs removes the ends of jobs that have expired, and the waiters of jobs after their tokens
// were closed a day ago or expired. An end with other waiters is looked at again a day later.
func (s *Keyed) expireJobs(ctx context.Context, now time.Time) error {
	var due, awaited []Entry
	err := s.do(ctx, operation{name: "list expired ends of jobs"}, func() (err error) {
		for key, end := range s.db.Entries(Range{[]byte{keyJobExpiry}, jobExpiry([]byte{keyJob}, now, now).Key}, &err) {
			due = append(due, Entry{bytes.Clone(key), bytes.Clone(end)})
		}
		for key := range s.db.Entries(startingWith([]byte{keyAwaited}), &err) {
			awaited = append(awaited, Entry{Key: bytes.Clone(key)})
		}
		return err
	})
	for _, entry := range awaited {
		err = errors.Join(err, s.expireWaiters(ctx, append([]byte{keyJob}, entry.Key[1:]...), now))
	}
	for _, entry := range due {
		job := append([]byte{keyJob}, entry.Key[1+secondSize:]...)
		err = errors.Join(err, s.step(ctx, operation{name: "expire the end of a job"}, job, func() ([]Entry, error) {
			record, _, err := jobRecordForm.find(s, job)
			changes := []Entry{{entry.Key, nil}}
			switch end := record.End; {
			case err != nil || end == nil || !bytes.Equal(jobExpiry(job, end.At, now).Value, entry.Value): // it has a later end
			case len(record.Waiters) > 0:
				changes = append(changes, jobExpiry(job, end.At, now.Add(day)))
			default:
				changes = append(changes, Entry{job, nil})
			}
			return changes, err
		}))
	}
	return err
}

// expireWaiters releases the waiters of a job that are over. The last waiter is removed with the
// record if the end in it is a day old.
func (s *Keyed) expireWaiters(ctx context.Context, job []byte, now time.Time) error {
	over, isEmpty, err := s.waitersOver(ctx, job, now)
	if err != nil || len(over) == 0 && !isEmpty {
		return err
	}
	return s.step(ctx, operation{name: "expire the waiters of a job"}, job, func() ([]Entry, error) {
		record, _, err := jobRecordForm.find(s, job)
		left := record.Released(over)
		switch {
		case err != nil:
			return nil, err
		case len(left.Waiters) > 0:
			return []Entry{{job, encodeJobRecord(left)}}, nil
		case len(record.Waiters) == 0:
			return []Entry{{awaitedKey(job), nil}}, nil
		case left.End != nil && now.Sub(left.End.At) < day: // without its waiters it would count as unmatched
			return nil, nil
		}
		return []Entry{{job, nil}, {awaitedKey(job), nil}}, nil
	})
}

// waitersOver returns the waiters of a job after their tokens were closed a day ago or expired. It
// excludes waiters that still have to stop their job. isEmpty reports whether it has no waiters.
// The event of the job may come until then.
func (s *Keyed) waitersOver(ctx context.Context, job []byte, now time.Time) (over []string, isEmpty bool, err error) {
	record, err := jobRecordForm.read(ctx, s, "read the waiters of a job", job)
	for _, waiter := range record.Waiters {
		known, failed := s.Record(ctx, waiter.Handle)
		id, isHandle := token.HandleID(waiter.Handle)
		stops := waiter.StopJob && known.ClosedBy == token.ClosedByStop
		isClosed := failed == nil && !known.Open() && !stops && now.Sub(known.ClosedAt) >= day
		if isClosed || isHandle && !now.Before(id.Expires) {
			over = append(over, waiter.Handle)
			continue
		}
		err = errors.Join(err, failed)
	}
	return over, err == nil && len(record.Waiters) == 0, err
}

// JobRecord implements [resume.Rendezvous].
func (s *Keyed) JobRecord(ctx context.Context, key jobs.Key) (resume.JobRecord, error) {
	return jobRecordForm.read(ctx, s, "read what waits for job "+key.Name, jobKey(key))
}

// Release implements [resume.Rendezvous].
func (s *Keyed) Release(ctx context.Context, key jobs.Key, handles []string) error {
	_, err := s.changeJobRecord(ctx, "release the waiters of", key, func(m resume.JobRecord) resume.JobRecord { return m.Released(handles) })
	return err
}

func (s *Keyed) changeJobRecord(
	ctx context.Context, what string, key jobs.Key, apply func(resume.JobRecord) resume.JobRecord,
) (resume.JobRecord, error) {
	return jobRecordForm.change(ctx, s, what+" job "+key.Name, jobKey(key), apply)
}

// Waiting returns who waits for jobs with tokens that are open, and who is to stop the job because
// the token was closed by a stop. Each is the poll that asks for its job, without its number and
// instant: at most limit, those behind the given one. The zero Poll begins. Call it before anything
// is written, when no poll of an earlier process is left.
func (s *Keyed) Waiting(ctx context.Context, after resume.Poll, limit int) ([]resume.Poll, error) {
	return read(ctx, s, operation{name: "list the waiters of jobs"}, func() (polls []resume.Poll, err error) {
		for key := range s.db.Entries(Range{awaitedKey(jobKey(after.Key)), []byte{keyAwaited + 1}}, &err) {
			if len(polls) >= limit {
				break
			}
			found, err := s.waitingFor(append([]byte{keyJob}, key[1:]...))
			if err != nil {
				return nil, err
			}
			polls = append(polls, slices.DeleteFunc(found, func(poll resume.Poll) bool {
				return poll.Key == after.Key && poll.Waiter.Handle <= after.Waiter.Handle
			})...)
		}
		return polls[:min(limit, len(polls))], err
	})
}

// waitingFor returns who needs the polls of a job; see [Keyed.Waiting].
func (s *Keyed) waitingFor(job []byte) (polls []resume.Poll, err error) {
	d := value.NewDecoder(job[1:])
	key := resume.DecodeKey(d)
	if d.Err() != nil || d.Rest() > 0 {
		return nil, fmt.Errorf("the key of a job: %w", errDamagedJob)
	}
	known, _, err := jobRecordForm.find(s, job)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", key.Name, err)
	}
	for _, waiter := range known.Waiters {
		record, _, err := tokenForm.find(s, recordKey(waiter.Handle))
		if err != nil {
			return nil, err
		}
		if record.Open() || waiter.StopJob && record.ClosedBy == token.ClosedByStop {
			polls = append(polls, resume.Poll{Key: key, Waiter: waiter})
		}
	}
	return polls, nil
}
