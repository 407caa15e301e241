package disk

import (
	"bytes"
	"context"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Record implements [engine.TokenStore].
func (s *Store) Record(ctx context.Context, handle string) (token.Record, error) {
	return read(ctx, s, operation{name: "read a token's record"}, func() (token.Record, error) {
		stripe := s.stripeOfHandle(handle)
		stripe.RLock()
		defer stripe.RUnlock()
		record, _, err := s.record(handle)
		return record, err
	})
}

// record returns a record and its stored form, which is nil for a new record.
func (s *Store) record(handle string) (token.Record, []byte, error) {
	stored, ok, err := s.get(recordKey(handle))
	if err != nil || !ok {
		return token.Record{}, nil, err
	}
	record, err := token.DecodeRecord(stored)
	return record, stored, err
}

func recordKey(handle string) []byte { return append([]byte{keyRecord}, handle...) }

// Close implements [engine.TokenStore]. To close the store, use [Store.Shut].
func (s *Store) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return s.change(ctx, "close a token", handle, closing.Apply)
}

// Begin implements [engine.TokenStore].
func (s *Store) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	return s.change(ctx, "begin a call", handle, beginning.Apply)
}

// Reply implements [engine.TokenStore].
func (s *Store) Reply(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	return s.change(ctx, "record a reply", handle, answering.Apply)
}

// Beat implements [resume.TokenStore].
func (s *Store) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return s.change(ctx, "record a heartbeat", handle, func(r token.Record) token.Record { return r.Beat(at) })
}

// Poll implements [resume.TokenStore].
func (s *Store) Poll(ctx context.Context, handle string, polling token.PollOp) (token.Record, error) {
	return s.change(ctx, "record a poll", handle, polling.Apply)
}

// change changes the record of a token in one step and returns it.
func (s *Store) change(
	ctx context.Context, op, handle string, apply func(token.Record) token.Record,
) (record token.Record, err error) {
	err = s.step(ctx, op, handle, func() ([]change, error) {
		before, stored, err := s.record(handle)
		if err != nil {
			return nil, err
		}
		record = apply(before)
		encoded := record.Encode()
		if bytes.Equal(encoded, stored) {
			return nil, nil
		}
		return []change{{recordKey(handle), encoded}}, nil
	})
	if err != nil {
		return token.Record{}, err
	}
	return record, nil
}

// step makes the changes that follow from what is stored of a token or of a job, in one step. It
// returns when what was read and written is durable.
func (s *Store) step(ctx context.Context, op, of string, changes func() ([]change, error)) error {
	return s.do(ctx, operation{name: op}, func() error {
		stripe := s.stripeOfHandle(of)
		stripe.Lock()
		defer stripe.Unlock()
		made, err := changes()
		if err != nil || len(made) == 0 {
			return err
		}
		return s.commits.commit(made...)
	})
}
