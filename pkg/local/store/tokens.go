package store

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var tokenForm = form[token.Record]{decode: token.DecodeRecord, encode: token.Record.Encode}

func recordKey(handle string) []byte { return append([]byte{keyRecord}, handle...) }

// changeRecord changes the record of a token, unless the execution was removed.
func (s *Keyed) changeRecord(ctx context.Context, op, handle string, apply func(token.Record) token.Record) (token.Record, error) {
	return s.changeRecordEarly(ctx, op, handle, nil, apply)
}

func (s *Keyed) changeRecordEarly(
	ctx context.Context, op, handle string, applied func(), apply func(token.Record) token.Record,
) (token.Record, error) {
	if gone, ok, err := s.removedRecord(ctx, handle); ok || err != nil {
		return apply(gone), err
	}
	return tokenForm.changeEarly(ctx, s, op, recordKey(handle), applied, apply)
}

// Record implements [engine.TokenStore].
func (s *Keyed) Record(ctx context.Context, handle string) (token.Record, error) {
	if gone, ok, err := s.removedRecord(ctx, handle); ok || err != nil {
		return gone, err
	}
	return tokenForm.read(ctx, s, "read a token's record", recordKey(handle))
}

// Close implements [engine.TokenStore].
func (s *Keyed) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return s.changeRecord(ctx, "close a token", handle, closing.Apply)
}

// CloseEarly is Close, and calls applied when only [Keyed.RecordEarly] sees the outcome: a worker
// goes on from it while it becomes durable, and both may share a sync of the disk. Applied may be
// called without that if the record does not change, or not at all.
//
// The worker's commits follow in the log of the database. If the process or the machine dies:
//   - before the outcome is durable, nothing of the worker is. The closer got no response, and
//     requests, which read the record or the execution, saw neither. The token is open.
//   - between the two, the token is closed, and the next process sends its wake.
//   - after both, the execution has gone on.
//
// If the outcome cannot be written, neither can the commits after it: the store is to be opened
// again. A worker calls functions that depend on an outcome after its commit (rule 2), so after the
// outcome is durable.
func (s *Keyed) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (token.Record, error) {
	return s.changeRecordEarly(ctx, "close a token", handle, applied, closing.Apply)
}

// RecordEarly is Record for workers: it also returns an outcome that is being written. Its
// consequences may be committed, and must not be shown or done elsewhere before the outcome is
// durable.
func (s *Keyed) RecordEarly(ctx context.Context, handle string) (token.Record, error) {
	s.prepared.Do(s.prepare)
	key := recordKey(handle)
	if applied := s.stripeOf(key).applied.Load(); applied != nil && bytes.Equal(applied.Key, key) {
		return token.DecodeRecord(applied.Value)
	}
	return s.Record(ctx, handle)
}

// Begin implements [engine.TokenStore].
func (s *Keyed) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	return s.changeRecord(ctx, "begin a call", handle, beginning.Apply)
}

// Reply implements [engine.TokenStore].
func (s *Keyed) Reply(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	return s.changeRecord(ctx, "record a reply", handle, answering.Apply)
}

// Beat implements [resume.TokenStore].
func (s *Keyed) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return s.changeRecord(ctx, "record a heartbeat", handle, func(r token.Record) token.Record { return r.Beat(at) })
}

// Poll implements [resume.TokenStore].
func (s *Keyed) Poll(ctx context.Context, handle string, polling token.PollOp) (token.Record, error) {
	return s.changeRecord(ctx, "record a poll", handle, polling.Apply)
}

var stopForm = form[*engine.StopRequest]{
	decode: func(stored []byte) (*engine.StopRequest, error) {
		d := value.NewDecoder(stored)
		return &engine.StopRequest{Error: d.Text(), Cause: d.Text()}, d.Err()
	},
	encode: func(request *engine.StopRequest) []byte {
		var e value.Encoder
		e.Text(request.Error)
		e.Text(request.Cause)
		return e.Bytes()
	},
}

// RequestStop implements [engine.Stops].
func (s *Keyed) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, _ time.Time) error {
	_, err := stopForm.change(ctx, s, "request a stop", idKey(keyStop, execution), func(first *engine.StopRequest) *engine.StopRequest {
		return cmp.Or(first, &request)
	})
	return err
}

// StopRequest implements [engine.Stops].
func (s *Keyed) StopRequest(ctx context.Context, execution engine.ID) (request engine.StopRequest, ok bool, err error) {
	found, err := stopForm.read(ctx, s, "read a request to stop", idKey(keyStop, execution))
	if err != nil || found == nil {
		return engine.StopRequest{}, false, err
	}
	return *found, true, nil
}
