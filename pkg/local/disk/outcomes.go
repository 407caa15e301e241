package disk

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Put implements [engine.Flows].
func (s *Store) Put(ctx context.Context, name string, text []byte) (machine.Flow, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.Flow{}, err
	}
	if s.knownFlow(flow) != nil {
		return flow, nil
	}
	if err := ctx.Err(); err != nil {
		return machine.Flow{}, err
	}
	err = s.do("put flow "+name, func() error { return s.commits.commit(change{flowKey(flow), bytes.Clone(text)}) })
	if err != nil {
		return machine.Flow{}, err
	}
	s.keepFlow(flow, parsed)
	return flow, nil
}

func flowKey(flow machine.Flow) []byte {
	return fmt.Appendf(nil, "%c%s/%s", keyFlow, flow.Hash, flow.Name)
}

// Flow implements [engine.Flows].
func (s *Store) Flow(ctx context.Context, flow machine.Flow) (*fdl.Flow, error) {
	if parsed := s.knownFlow(flow); parsed != nil {
		return parsed, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var parsed *fdl.Flow
	err := s.do("read flow "+flow.Name, func() error {
		text, ok, err := s.get(flowKey(flow))
		switch {
		case err != nil:
			return err
		case !ok:
			return engine.UnknownFlow(flow)
		}
		_, parsed, err = engine.ParseFlow(flow.Name, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.keepFlow(flow, parsed)
	return parsed, nil
}

func (s *Store) knownFlow(flow machine.Flow) *fdl.Flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flows[flow]
}

func (s *Store) keepFlow(flow machine.Flow, parsed *fdl.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flows[flow] = parsed
}

// Record implements [engine.Outcomes].
func (s *Store) Record(ctx context.Context, handle string) (record token.Record, err error) {
	if err := ctx.Err(); err != nil {
		return token.Record{}, err
	}
	err = s.do("read a token's record", func() error {
		stripe := s.stripeOfHandle(handle)
		stripe.RLock()
		defer stripe.RUnlock()
		record, _, err = s.record(handle)
		return err
	})
	return record, err
}

// record reads a record and the form it is stored in, nil when there is none.
func (s *Store) record(handle string) (token.Record, []byte, error) {
	stored, ok, err := s.get(recordKey(handle))
	if err != nil || !ok {
		return token.Record{}, nil, err
	}
	record, err := token.DecodeRecord(stored)
	return record, stored, err
}

func recordKey(handle string) []byte { return append([]byte{keyRecord}, handle...) }

// Close implements [engine.Outcomes]. It closes a token; [Store.Shut] ends
// the use of the store.
func (s *Store) Close(ctx context.Context, handle string, closing token.Closing) (token.Record, error) {
	return s.change(ctx, "close a token", handle, closing.Apply)
}

// Begin implements [engine.Outcomes].
func (s *Store) Begin(ctx context.Context, handle string, beginning token.Beginning) (token.Record, error) {
	return s.change(ctx, "begin a call", handle, beginning.Apply)
}

// Answer implements [engine.Outcomes].
func (s *Store) Answer(ctx context.Context, handle string, answering token.Answering) (token.Record, error) {
	return s.change(ctx, "keep an answer", handle, answering.Apply)
}

// Beat implements [resume.Outcomes].
func (s *Store) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return s.change(ctx, "note a heartbeat", handle, func(r token.Record) token.Record { return r.Beat(at) })
}

// change changes the record of a token in one step and answers it. The answer
// waits until what it says is durable, also when somebody else changed it.
func (s *Store) change(
	ctx context.Context, op, handle string, apply func(token.Record) token.Record,
) (record token.Record, err error) {
	if err := ctx.Err(); err != nil {
		return token.Record{}, err
	}
	err = s.do(op, func() error {
		stripe := s.stripeOfHandle(handle)
		stripe.Lock()
		defer stripe.Unlock()
		before, stored, err := s.record(handle)
		if err != nil {
			return err
		}
		record = apply(before)
		encoded := record.Encode()
		if bytes.Equal(encoded, stored) {
			return nil
		}
		return s.commits.commit(change{recordKey(handle), encoded})
	})
	if err != nil {
		return token.Record{}, err
	}
	return record, nil
}
