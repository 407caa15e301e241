package disk

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

// meetingFormat is the format number of a stored meeting. Its parts have numbers of their own.
const meetingFormat = 1

func encodeMeeting(m local.Meeting) []byte {
	var e value.Encoder
	e.Uint(meetingFormat)
	e.Time(m.Expires)
	var end []byte
	if m.End != nil {
		end = resume.EncodeEnd(*m.End)
	}
	e.Text(string(end))
	e.Uint(uint64(len(m.Waiters)))
	for _, waiter := range m.Waiters {
		e.Text(waiter.Handle)
		e.Text(string(waiter.Encode()))
	}
	return e.Bytes()
}

// decodeMeeting reads what encodeMeeting wrote.
func decodeMeeting(data []byte) (m local.Meeting, err error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	m.Expires = d.Time()
	if stored := d.Text(); stored != "" {
		end, err := resume.DecodeEnd([]byte(stored))
		if err != nil {
			return m, damaged(err)
		}
		m.End = &end
	}
	for range d.Count() {
		waiter, err := resume.DecodeWaiter(d.Text(), []byte(d.Text()))
		if err != nil {
			return m, damaged(err)
		}
		m.Waiters = append(m.Waiters, waiter)
	}
	if d.Err() != nil || d.Rest() > 0 || format != meetingFormat {
		return m, damaged(resume.ErrDamaged)
	}
	return m, nil
}

func jobKey(key jobs.Key) []byte {
	var e value.Encoder
	resume.EncodeKey(&e, key)
	return append([]byte{keyJob}, e.Bytes()...)
}

// awaitedKey returns the key that lists a job while it may have waiters.
func awaitedKey(job []byte) []byte { return append([]byte{keyAwaited}, job[1:]...) }

// parseJobKey reads the job of a key.
func parseJobKey(key []byte) (jobs.Key, error) {
	d := value.NewDecoder(key[1:])
	job := resume.DecodeKey(d)
	if d.Err() != nil || d.Rest() > 0 {
		return jobs.Key{}, fmt.Errorf("the key of a job: %w", damaged(resume.ErrDamaged))
	}
	return job, nil
}

// damaged adds to an error of a stored form what the user can do.
func damaged(err error) error {
	return fmt.Errorf("%w; restore a copy of the store's directory, or upgrade waitless", err)
}

// Bind implements [resume.Rendezvous].
func (s *Store) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (resume.Meeting, error) {
	return s.meet(ctx, "bind a token to job "+key.Name, key, func(m local.Meeting) local.Meeting { return m.Bound(waiter, expires) })
}

// Note implements [resume.Rendezvous].
func (s *Store) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.Meeting, error) {
	return s.meet(ctx, "record the end of job "+key.Name, key, func(m local.Meeting) local.Meeting { return m.Noted(end, expires) })
}

// Release implements [resume.Rendezvous].
func (s *Store) Release(ctx context.Context, key jobs.Key, handles []string) error {
	_, err := s.meet(ctx, "release the waiters of job "+key.Name, key, func(m local.Meeting) local.Meeting { return m.Released(handles) })
	return err
}

// meet changes what is known of a job in one step and returns it.
func (s *Store) meet(
	ctx context.Context, op string, key jobs.Key, apply func(local.Meeting) local.Meeting,
) (met resume.Meeting, err error) {
	job := jobKey(key)
	err = s.step(ctx, op, string(job), func() ([]change, error) {
		known, stored, err := s.meeting(job)
		if err != nil {
			return nil, err
		}
		after := apply(known)
		met = after.Meeting
		encoded := encodeMeeting(after)
		if after.IsEmpty() && stored == nil || bytes.Equal(encoded, stored) {
			return nil, nil
		}
		changes := []change{{job, encoded}}
		if len(after.Waiters) > len(known.Waiters) {
			changes = append(changes, change{awaitedKey(job), []byte{}})
		}
		return changes, nil
	})
	if err != nil {
		return resume.Meeting{}, err
	}
	return met, nil
}

// meeting returns a meeting and its stored form, which is nil for an unknown job.
func (s *Store) meeting(job []byte) (local.Meeting, []byte, error) {
	stored, ok, err := s.get(job)
	if err != nil || !ok {
		return local.Meeting{}, nil, err
	}
	known, err := decodeMeeting(stored)
	return known, stored, err
}

// Waiting returns who waits for jobs with tokens that are open, each as the poll that asks for its
// job, without its number and instant: at most limit, those behind the given one. The zero Poll
// begins. Call it before anything is written, when no poll of an earlier process is left. It takes
// jobs without waiters off the list.
func (s *Store) Waiting(ctx context.Context, after resume.Poll, limit int) ([]resume.Poll, error) {
	return read(ctx, s, operation{name: "list the waiters of jobs"}, func() ([]resume.Poll, error) {
		polls, over, err := s.waiting(after, limit)
		if err != nil || len(over) == 0 {
			return polls, err
		}
		return polls, s.commits.commit(over...)
	})
}

// waiting returns a page of polls, and what takes jobs without waiters off the list.
func (s *Store) waiting(after resume.Poll, limit int) (polls []resume.Poll, over []change, err error) {
	_, upper := prefix(keyAwaited)
	for key := range s.entries(awaitedKey(jobKey(after.Key)), upper, &err) {
		if len(polls) >= limit {
			break
		}
		found, err := s.waitingFor(key[1:])
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			over = append(over, change{bytes.Clone(key), nil})
		}
		polls = append(polls, slices.DeleteFunc(found, func(poll resume.Poll) bool {
			return poll.Key == after.Key && poll.Waiter.Handle <= after.Waiter.Handle
		})...)
	}
	return polls[:min(limit, len(polls))], over, err
}

// waitingFor returns who waits for a job with tokens that are open.
func (s *Store) waitingFor(encodedKey []byte) (polls []resume.Poll, err error) {
	job := append([]byte{keyJob}, encodedKey...)
	key, err := parseJobKey(job)
	if err != nil {
		return nil, err
	}
	known, _, err := s.meeting(job)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", key.Name, err)
	}
	for _, waiter := range known.Waiters {
		record, _, err := s.record(waiter.Handle)
		if err != nil {
			return nil, err
		}
		if record.Open() {
			polls = append(polls, resume.Poll{Key: key, JobID: waiter.JobID, Waiter: waiter})
		}
	}
	return polls, nil
}
