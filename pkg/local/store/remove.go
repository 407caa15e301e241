package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Remover removes executions that have ended.
type Remover interface {
	// EndedBefore returns executions that ended before an instant, the earliest end first: at most
	// limit of them, from those behind the given one on. The zero Ended begins.
	EndedBefore(ctx context.Context, before time.Time, after Ended, limit int) ([]Ended, error)
	// Remove removes an execution that has ended, with its lanes and tokens, in one step. Its name
	// is free then. Another execution stays. Its tokens stay closed until they expire.
	Remove(ctx context.Context, ended Ended) error
	// Tidy finishes removals that a crash cut short, and forgets tokens and ends of jobs that have
	// expired. It returns disk space if enough was removed.
	Tidy(ctx context.Context, now time.Time) error
}

// Ended is the end of an execution.
type Ended struct {
	At        time.Time
	Execution engine.ID
}

// ValueFiles keeps large values of a store in files, which it cannot remove in one step with the
// rest.
type ValueFiles interface {
	// HasValues reports whether there may be values with names that begin with the log.
	HasValues(log engine.ID) bool
	// RemoveValues removes the values that were stored with this expiry. Others are of an execution
	// that was started since under the same name.
	RemoveValues(log engine.ID, expires time.Time) error
}

// RemovedBytes returns how many bytes were removed since its last call.
func (s *Keyed) RemovedBytes() int { return int(s.reclaimable.Swap(0)) }

// UseFiles has large values in files.
func (s *Keyed) UseFiles(files ValueFiles) { s.files = files }

const endedSize = 1 + 8 + idSize

func endedKey(ended Ended) []byte {
	key := binary.BigEndian.AppendUint64([]byte{keyEnded}, uint64(ended.At.UnixNano())^1<<63)
	return append(key, ended.Execution[:]...)
}

// endOf returns the end of an execution by its last item. An execution that cannot be read ended
// long ago.
func endOf(item engine.Item) Ended {
	at, err := machine.EndedAt(item.Body)
	if err != nil {
		at = time.Unix(0, 0)
	}
	return Ended{at.UTC(), item.Execution}
}

// EndedBefore implements [Remover].
func (s *Keyed) EndedBefore(ctx context.Context, before time.Time, after Ended, limit int) ([]Ended, error) {
	lower := []byte{keyEnded}
	if after != (Ended{}) {
		lower = append(endedKey(after), 0)
	}
	return read(ctx, s, operation{name: "list ended executions"}, func() (list []Ended, err error) {
		for key := range s.db.Entries(Range{lower, endedKey(Ended{At: before})}, &err) {
			if len(key) != endedSize {
				return nil, damaged("the list of ended executions")
			}
			nanoseconds := int64(binary.BigEndian.Uint64(key[1:]) ^ 1<<63) //nolint:gosec // as it was written
			list = append(list, Ended{time.Unix(0, nanoseconds).UTC(), engine.ID(key[1+8:])})
			if len(list) == limit {
				break
			}
		}
		return list, err
	})
}

// Remove implements [Remover].
func (s *Keyed) Remove(ctx context.Context, ended Ended) error {
	op := operation{"remove the log", ended.Execution}
	logs, err := read(ctx, s, op, func() ([]engine.ID, error) { return s.logsOf(ended.Execution) })
	if err != nil {
		return err
	}
	for _, lane := range logs[1:] {
		stripe := s.stripeOf(lane[:])
		stripe.Lock()
		stripe.forget(lane)
		stripe.Unlock()
	}
	r := removal{Keyed: s}
	err = s.step(ctx, op, ended.Execution[:], func() ([]Entry, error) {
		stripe := s.stripeOf(ended.Execution[:])
		latest, err := s.latest(stripe, ended.Execution)
		r.changes = append(r.changes, Entry{endedKey(ended), nil})
		if errors.Is(err, engine.ErrNotFound) || err == nil && endOf(latest) != ended {
			return r.changes, nil // the entry is of an earlier execution of that name
		}
		stripe.forget(ended.Execution)
		head := s.headOf(latest)
		r.expires = head.Expires
		r.changes = append(r.changes, removeListed(ended.Execution, head)...)
		for _, log := range logs {
			if err == nil {
				err = r.add(log)
			}
		}
		return r.changes, err
	})
	s.removals.Add(1)
	if err != nil {
		return err
	}
	return s.do(ctx, op, func() error { return r.removeFiles() })
}

// logsOf returns an execution and all of its lanes. The lanes of an execution that has ended have
// joined.
func (s *Keyed) logsOf(id engine.ID) (logs []engine.ID, err error) {
	logs = []engine.ID{id}
	for i := 0; i < len(logs) && err == nil; i++ {
		for key, entry := range s.db.Entries(ofLog(keyJoin, logs[i]), &err) {
			record, err := engine.DecodeJoinRecord(entry)
			if err != nil {
				return nil, err
			}
			attempt := binary.BigEndian.Uint64(key[1+idSize:])
			for lane := range record.Joined {
				logs = append(logs, machine.Lane{Parent: logs[i], Attempt: int(attempt), Index: lane}.ID()) //nolint:gosec // as it was written
			}
		}
	}
	return logs, err
}

// ofLog returns the range of a kind's keys that begin with a log.
func ofLog(kind byte, log engine.ID) Range {
	return startingWith(idKey(kind, log))
}

// startingWith returns the range of the keys that begin with the prefix.
func startingWith(prefix []byte) Range {
	behind := bytes.Clone(prefix)
	for i := len(behind) - 1; ; i-- {
		if behind[i]++; behind[i] != 0 {
			return Range{prefix, behind[:i+1]}
		}
	}
}

// removal collects the keys that are deleted with an execution.
type removal struct {
	*Keyed
	changes []Entry
	expires time.Time
	files   []engine.ID // logs with values in files
	size    int
	tokens  bool // whether the log of the latest add waited for tokens
}

// add adds all data of the store about a log.
func (r *removal) add(log engine.ID) (err error) {
	r.tokens = false
	r.addAll(ofLog(keyItem, log), &err, r.addRecord)
	hasFiles := r.Keyed.files != nil && r.Keyed.files.HasValues(log)
	if hasFiles {
		r.files = append(r.files, log)
	}
	if hasFiles || r.tokens {
		r.removed.Store(true)
		r.changes = append(r.changes, Entry{idKey(keyRemoved, log), removedMark{r.expires, hasFiles}.encode()})
	}
	values := startingWith(largeKey(log.String() + "/"))
	for _, of := range []Range{ofLog(keyJoin, log), ofLog(keyStop, log), ofLog(keyNotice, log), values} {
		r.addAll(of, &err, nil)
	}
	return err
}

// addRecord adds the record of the token for which the log waited at an item.
func (r *removal) addRecord(key, value []byte) {
	item, err := decodeItem(key, value)
	if err != nil {
		return
	}
	state, err := item.State()
	if err == nil && state.Waiting.Token() != nil {
		r.tokens = true
		r.changes = append(r.changes, Entry{recordKey(state.Waiting.Handle()), nil})
	}
}

// addAll adds the keys of a range, and calls each for them unless it is nil.
func (r *removal) addAll(of Range, failed *error, each func(key, value []byte)) {
	var err error
	for key, value := range r.db.Entries(of, &err) {
		if each != nil {
			each(key, bytes.Clone(value))
		}
		r.size += len(key) + len(value)
		r.changes = append(r.changes, Entry{bytes.Clone(key), nil})
	}
	*failed = errors.Join(*failed, err)
}

// removeFiles removes the values in files, after the rest.
func (r *removal) removeFiles() error {
	r.reclaimable.Add(int64(r.size))
	for _, log := range r.files {
		if err := r.removeValues(log, removedMark{r.expires, true}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Keyed) removeValues(log engine.ID, mark removedMark) error {
	if err := s.files.RemoveValues(log, mark.expires); err != nil {
		return err
	}
	return s.db.Commit(nil, Entry{idKey(keyRemoved, log), removedMark{expires: mark.expires}.encode()})
}

// removedMark is what stays of a log until its tokens expire.
type removedMark struct {
	expires time.Time
	files   bool // may be left
}

const (
	withoutFiles = iota
	withFiles
)

func (m removedMark) encode() []byte {
	files := byte(withoutFiles)
	if m.files {
		files = withFiles
	}
	return append(binary.BigEndian.AppendUint64(nil, uint64(m.expires.Unix())), files) //nolint:gosec // as it is read
}

func decodeRemovedMark(stored []byte) (removedMark, error) {
	if len(stored) != 8+1 {
		return removedMark{}, damaged("the mark of a removed execution")
	}
	second := int64(binary.BigEndian.Uint64(stored)) //nolint:gosec // as it was written
	return removedMark{time.Unix(second, 0), stored[8] == withFiles}, nil
}

// removedRecord returns the record of a token of an execution that was removed. ok is false for
// other tokens, also of a later execution with the same name.
func (s *Keyed) removedRecord(ctx context.Context, handle string) (record token.Record, ok bool, err error) {
	id, isHandle := token.HandleID(handle)
	if !isHandle || !s.removed.Load() {
		return record, false, nil
	}
	err = s.do(ctx, operation{"read a token's record", id.Execution}, func() error {
		stored, found, err := s.db.Get(idKey(keyRemoved, id.Execution))
		if err != nil || !found {
			return err
		}
		mark, err := decodeRemovedMark(stored)
		if err != nil || id.Expires.After(mark.expires) {
			return err
		}
		isLatest, err := s.isOfLatest(id)
		ok = err == nil && !isLatest
		return err
	})
	if ok {
		outcome := token.Failure(machine.ErrorStopped, "the execution has ended, and was removed from the store")
		record = token.Record{Outcome: &outcome, ClosedBy: token.ClosedByStop}
	}
	return record, ok, err
}

// isOfLatest reports whether the token is of the execution that the log is of now: tokens expire
// with theirs.
func (s *Keyed) isOfLatest(id token.ID) (bool, error) {
	stripe := s.stripeOf(id.Execution[:])
	stripe.RLock()
	defer stripe.RUnlock()
	latest, err := s.latest(stripe, id.Execution)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil && s.headOf(latest).Expires.Unix() == id.Expires.Unix(), err
}

// Tidy implements [Remover].
func (s *Keyed) Tidy(ctx context.Context, now time.Time) error {
	if err := s.expireJobs(ctx, now); err != nil {
		return err
	}
	return s.do(ctx, operation{name: "finish removals"}, func() (err error) {
		var expired []Entry
		var notRemoved error
		for key, stored := range s.db.Entries(startingWith([]byte{keyRemoved}), &err) {
			mark, failed := decodeRemovedMark(stored)
			if failed == nil && mark.files && s.files != nil {
				failed = s.removeValues(engine.ID(key[1:]), mark)
			}
			if failed == nil && mark.expires.Before(now) {
				expired = append(expired, Entry{bytes.Clone(key), nil})
			}
			notRemoved = errors.Join(notRemoved, failed)
		}
		if len(expired) > 0 && err == nil {
			err = s.db.Commit(nil, expired...)
		}
		return errors.Join(err, notRemoved)
	})
}
