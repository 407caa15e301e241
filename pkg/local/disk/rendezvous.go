package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

// keptMeeting is what is known of a job, and until when at least.
type keptMeeting struct {
	resume.Meeting
	expires time.Time
}

// meetingFormat is the format number of a stored meeting; the parts in it have
// numbers of their own.
const meetingFormat = 1

func (k keptMeeting) isEmpty() bool { return len(k.Waiters) == 0 && k.End == nil }

func (k keptMeeting) encode() []byte {
	var e value.Encoder
	e.Uint(meetingFormat)
	e.Time(k.expires)
	var end []byte
	if k.End != nil {
		end = resume.EncodeEnd(*k.End)
	}
	e.Text(string(end))
	e.Uint(uint64(len(k.Waiters)))
	for _, waiter := range k.Waiters {
		e.Text(waiter.Handle)
		e.Text(string(waiter.Encode()))
	}
	return e.Bytes()
}

// decodeMeeting reads what encode wrote.
func decodeMeeting(data []byte) (keptMeeting, error) {
	k, err := parseMeeting(data)
	return k, damaged(err)
}

func parseMeeting(data []byte) (k keptMeeting, err error) {
	d := value.NewDecoder(data)
	format := d.Uint()
	k.expires = d.Time()
	if stored := d.Text(); stored != "" {
		end, err := resume.DecodeEnd([]byte(stored))
		if err != nil {
			return keptMeeting{}, err
		}
		k.End = &end
	}
	for range d.Count() {
		waiter, err := resume.DecodeWaiter(d.Text(), []byte(d.Text()))
		if err != nil {
			return keptMeeting{}, err
		}
		k.Waiters = append(k.Waiters, waiter)
	}
	if d.Err() != nil || d.Rest() > 0 || format != meetingFormat {
		return keptMeeting{}, resume.ErrDamaged
	}
	return k, nil
}

func jobKey(key jobs.Key) []byte {
	var e value.Encoder
	resume.EncodeKey(&e, key)
	return append([]byte{keyJob}, e.Bytes()...)
}

// awaitedKey lists a job for as long as somebody may wait for it.
func awaitedKey(job []byte) []byte { return append([]byte{keyAwaited}, job[1:]...) }

// parseJobKey is the job that a key is of.
func parseJobKey(key []byte) (jobs.Key, error) {
	d := value.NewDecoder(key[1:])
	job := resume.DecodeKey(d)
	if d.Err() != nil || d.Rest() > 0 {
		return jobs.Key{}, fmt.Errorf("the key of a job: %w", damaged(resume.ErrDamaged))
	}
	return job, nil
}

// damaged says what a person can do about an error of a stored form.
func damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; restore a copy of the store's directory, or upgrade waitless", err)
}

// Bind implements [resume.Rendezvous].
func (s *Store) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (resume.Meeting, error) {
	return s.meet(ctx, "bind a token to job "+key.Name, key, func(known keptMeeting) keptMeeting {
		if expires.After(known.expires) {
			known.expires = expires
		}
		return keptMeeting{known.Bound(waiter), known.expires}
	})
}

// Note implements [resume.Rendezvous].
func (s *Store) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.Meeting, error) {
	return s.meet(ctx, "note the end of job "+key.Name, key, func(known keptMeeting) keptMeeting {
		if known.expires.IsZero() {
			known.expires = expires
		}
		return keptMeeting{known.Noted(end), known.expires}
	})
}

// Release implements [resume.Rendezvous].
func (s *Store) Release(ctx context.Context, key jobs.Key, handles []string) error {
	_, err := s.meet(ctx, "release those who waited for job "+key.Name, key, func(known keptMeeting) keptMeeting {
		return keptMeeting{known.Released(handles), known.expires}
	})
	return err
}

// meet changes what is known of a job in one step and answers it.
func (s *Store) meet(
	ctx context.Context, op string, key jobs.Key, apply func(keptMeeting) keptMeeting,
) (met resume.Meeting, err error) {
	job := jobKey(key)
	err = s.step(ctx, op, string(job), func() ([]change, error) {
		known, stored, err := s.meeting(job)
		if err != nil {
			return nil, err
		}
		after := apply(known)
		met = after.Meeting
		encoded := after.encode()
		if after.isEmpty() && stored == nil || bytes.Equal(encoded, stored) {
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

// meeting reads a meeting and the form it is stored in, nil when there is none.
func (s *Store) meeting(job []byte) (keptMeeting, []byte, error) {
	stored, ok, err := s.get(job)
	if err != nil || !ok {
		return keptMeeting{}, nil, err
	}
	known, err := decodeMeeting(stored)
	return known, stored, err
}

// Waiting are those who wait for jobs with tokens that are open, each as the
// poll that asks for its job, without its number and instant: at most limit of
// them, those behind the given one; the zero Poll begins. It is for the time
// before anything is written, when no poll of an earlier process is left, and
// takes jobs from the list that nobody waits for any more.
func (s *Store) Waiting(ctx context.Context, after resume.Poll, limit int) (polls []resume.Poll, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do("look for those who wait for jobs", func() error {
		var over []change
		if polls, over, err = s.waiting(after, limit); err != nil || len(over) == 0 {
			return err
		}
		return s.commits.commit(over...)
	})
	if err != nil {
		return nil, err
	}
	return polls, nil
}

// waiting are a page of polls, and what takes the jobs between them from the
// list.
func (s *Store) waiting(after resume.Poll, limit int) (polls []resume.Poll, over []change, err error) {
	found, err := s.db.NewIter(&pebble.IterOptions{LowerBound: awaitedKey(jobKey(after.Key)), UpperBound: []byte{keyAwaited + 1}})
	if err != nil {
		return nil, nil, explain(err)
	}
	for valid := found.First(); valid && err == nil && len(polls) < limit; valid = found.Next() {
		var those []resume.Poll
		if those, err = s.waitingFor(found.Key()[1:]); err == nil && len(those) == 0 {
			over = append(over, change{bytes.Clone(found.Key()), nil})
		}
		polls = append(polls, slices.DeleteFunc(those, func(poll resume.Poll) bool {
			return poll.Key == after.Key && poll.Waiter.Handle <= after.Waiter.Handle
		})...)
	}
	if err := errors.Join(err, found.Close()); err != nil { // also what ended the loop
		return nil, nil, err
	}
	return polls[:min(limit, len(polls))], over, nil
}

// waitingFor are those who wait for a job with tokens that are open.
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
		if !record.Open() {
			continue
		}
		deadline, err := s.deadlineOf(waiter.Handle)
		if err != nil {
			return nil, err
		}
		polls = append(polls, resume.Poll{Key: key, JobID: waiter.JobID, Waiter: waiter, Deadline: deadline})
	}
	return polls, nil
}

// deadlineOf is that of a wait of somebody else's engine; an engine of ours sees
// to its own.
func (s *Store) deadlineOf(handle string) (time.Time, error) {
	wait, err := s.foreignWait(handle)
	if errors.Is(err, resume.ErrNoWait) {
		return time.Time{}, nil
	}
	return wait.Deadline, err
}
