package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// waitFormat is the format number of a stored foreign wait; what the wait itself
// says has a number of its own.
const waitFormat = 1

func encodeWait(wait resume.ForeignWait) []byte {
	var e value.Encoder
	e.Uint(waitFormat)
	e.Text(string(wait.Delivery))
	e.Text(string(wait.Encode()))
	return e.Bytes()
}

// decodeWait reads what encodeWait wrote.
func decodeWait(handle string, data []byte) (resume.ForeignWait, error) {
	d := value.NewDecoder(data)
	format, delivery, stored := d.Uint(), d.Text(), d.Text()
	wait, err := resume.DecodeForeignWait(handle, []byte(stored))
	if err != nil || d.Err() != nil || d.Rest() > 0 || format != waitFormat {
		return resume.ForeignWait{}, fmt.Errorf("foreign wait %s: %w", handle, damaged(resume.ErrDamaged))
	}
	wait.Delivery = resume.Delivery(delivery)
	return wait, nil
}

func waitKey(handle string) []byte { return append([]byte{keyWait}, handle...) }

// unsentHead is how many bytes of a key are before the handle.
const unsentHead = 1 + 8

// unsentKey sorts by the instant when the wait was opened, before 1970 too.
func unsentKey(wait resume.ForeignWait) []byte {
	key := binary.BigEndian.AppendUint64([]byte{keyUnsent}, uint64(wait.Opened.UnixNano())^1<<63)
	return append(key, wait.Handle...)
}

// Open implements [resume.ForeignWaits]. It opens a wait; the function [Open]
// opens a store.
func (s *Store) Open(ctx context.Context, handle string, wait resume.ForeignWait) (there resume.ForeignWait, err error) {
	err = s.step(ctx, "open a foreign wait", handle, func() ([]change, error) {
		there, err = s.foreignWait(handle)
		if !errors.Is(err, resume.ErrNoWait) {
			return nil, err
		}
		there = wait
		there.Handle, there.Delivery = handle, ""
		return []change{{waitKey(handle), encodeWait(there)}, {unsentKey(there), []byte{}}}, nil
	})
	if err != nil {
		return resume.ForeignWait{}, err
	}
	return there, nil
}

// ForeignWait implements [resume.ForeignWaits].
func (s *Store) ForeignWait(ctx context.Context, handle string) (wait resume.ForeignWait, record token.Record, err error) {
	if err := ctx.Err(); err != nil {
		return resume.ForeignWait{}, token.Record{}, err
	}
	err = s.do("read a foreign wait", func() error {
		stripe := s.stripeOfHandle(handle)
		stripe.RLock()
		defer stripe.RUnlock()
		if wait, err = s.foreignWait(handle); err == nil {
			record, _, err = s.record(handle)
		}
		return err
	})
	if err != nil {
		return resume.ForeignWait{}, token.Record{}, err
	}
	return wait, record, nil
}

// foreignWait reads a wait; its token's stripe is held.
func (s *Store) foreignWait(handle string) (resume.ForeignWait, error) {
	stored, ok, err := s.get(waitKey(handle))
	switch {
	case err != nil:
		return resume.ForeignWait{}, err
	case !ok:
		return resume.ForeignWait{}, resume.ErrNoWait
	}
	return decodeWait(handle, stored)
}

// Deliver implements [resume.ForeignWaits].
func (s *Store) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	return s.step(ctx, "note a delivery", handle, func() ([]change, error) {
		wait, err := s.foreignWait(handle)
		if err != nil || wait.Delivery != "" {
			return nil, err
		}
		wait.Delivery = delivery
		return []change{{waitKey(handle), encodeWait(wait)}, {unsentKey(wait), nil}}, nil
	})
}

// List implements [resume.ForeignWaits].
func (s *Store) List(ctx context.Context, after string, limit int) (waits []resume.ForeignWait, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do("list foreign waits", func() error {
		waits, err = s.unsent(after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return waits, nil
}

func (s *Store) unsent(after string, limit int) (waits []resume.ForeignWait, err error) {
	bounds := &pebble.IterOptions{LowerBound: []byte{keyUnsent}, UpperBound: []byte{keyUnsent + 1}}
	if after != "" {
		last, err := s.durableWait(after)
		if err != nil {
			return nil, fmt.Errorf("after %s: %w", after, err)
		}
		bounds.LowerBound = append(unsentKey(last), 0)
	}
	found, err := s.db.NewIter(bounds)
	if err != nil {
		return nil, explain(err)
	}
	for valid := found.First(); valid && err == nil && len(waits) < limit; valid = found.Next() {
		var wait resume.ForeignWait
		if wait, err = s.durableWait(string(found.Key()[min(unsentHead, len(found.Key())):])); err == nil && wait.Delivery == "" {
			waits = append(waits, wait)
		}
	}
	if err := errors.Join(err, found.Close()); err != nil { // also what ended the loop
		return nil, err
	}
	return waits, nil
}

// durableWait reads a wait when whoever writes it is done.
func (s *Store) durableWait(handle string) (resume.ForeignWait, error) {
	stripe := s.stripeOfHandle(handle)
	stripe.RLock()
	defer stripe.RUnlock()
	return s.foreignWait(handle)
}
