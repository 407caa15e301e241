package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// Put implements [engine.Flows].
func (s *Store) Put(ctx context.Context, name string, text []byte) (machine.Flow, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.Flow{}, err
	}
	if s.isListed(flow) {
		return flow, nil
	}
	if err := ctx.Err(); err != nil {
		return machine.Flow{}, err
	}
	err = s.do("put flow "+name, func() error {
		s.listing.Lock()
		defer s.listing.Unlock()
		created, listed, err := s.get(listedKey(flow))
		if err != nil {
			return err
		}
		if !listed {
			created = binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		}
		// What is there already may not be durable yet, so it is written again.
		if err := s.commits.commit(change{flowKey(flow), bytes.Clone(text)}, change{listedKey(flow), created}); err != nil {
			return err
		}
		s.flows.Put(flow, parsed, len(text))
		s.keepListed(flow)
		return nil
	})
	if err != nil {
		return machine.Flow{}, err
	}
	return flow, nil
}

func flowKey(flow machine.Flow) []byte {
	return fmt.Appendf(nil, "%c%s/%s", keyFlow, flow.Hash, flow.Name)
}

// Flow implements [engine.Flows].
func (s *Store) Flow(ctx context.Context, flow machine.Flow) (*fdl.Flow, error) {
	if parsed := s.flows.Get(flow); parsed != nil {
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
		if _, parsed, err = engine.ParseFlow(flow.Name, text); err == nil {
			s.flows.Put(flow, parsed, len(text))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return parsed, nil
}

// isListed reports whether the flow is on the list, durably.
func (s *Store) isListed(flow machine.Flow) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed[flow]
}

func (s *Store) keepListed(flow machine.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed[flow] = true
}

func (s *Store) forgetListed(flow machine.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listed, flow)
}

// instantSize is the size of an instant on the list.
const instantSize = 8

var errDamagedList = errors.New("the list of flows is damaged; restore a copy of the store's directory")

func listedKey(flow machine.Flow) []byte {
	return fmt.Appendf(nil, "%c%s\x00%s", keyListed, flow.Name, flow.Hash)
}

// Definitions implements the list of flows of the management API.
func (s *Store) Definitions(ctx context.Context, name string) (list []engine.Definition, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do("list flows", func() error {
		list, err = s.definitions(name)
		return err
	})
	return list, err
}

func (s *Store) definitions(name string) ([]engine.Definition, error) {
	bounds := &pebble.IterOptions{LowerBound: []byte{keyListed}, UpperBound: []byte{keyListed + 1}}
	if name != "" {
		bounds.LowerBound = fmt.Appendf(nil, "%c%s\x00", keyListed, name)
		bounds.UpperBound = fmt.Appendf(nil, "%c%s\x01", keyListed, name)
	}
	found, err := s.db.NewIter(bounds)
	if err != nil {
		return nil, explain(err)
	}
	var list []engine.Definition
	for valid := found.First(); valid; valid = found.Next() {
		flow, hash, _ := bytes.Cut(found.Key()[1:], []byte{0})
		created, err := found.ValueAndErr()
		switch {
		case err != nil:
			return nil, errors.Join(explain(err), found.Close())
		case len(created) != instantSize:
			return nil, errors.Join(errDamagedList, found.Close())
		}
		list = append(list, engine.Definition{
			Flow:    machine.Flow{Name: string(flow), Hash: string(hash)},
			Created: time.Unix(0, int64(binary.BigEndian.Uint64(created))).UTC(), //nolint:gosec // as it was written
		})
	}
	if err := found.Close(); err != nil { // also what ended the loop
		return nil, explain(err)
	}
	engine.SortDefinitions(list)
	return list, nil
}

// FlowText implements the list of flows of the management API.
func (s *Store) FlowText(ctx context.Context, flow machine.Flow) (text []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do("read flow "+flow.Name, func() error {
		_, listed, err := s.get(listedKey(flow))
		if err == nil && listed {
			text, listed, err = s.get(flowKey(flow))
		}
		if err == nil && !listed {
			return engine.UnknownFlow(flow)
		}
		return err
	})
	return text, err
}

// DeleteFlow implements the list of flows of the management API. The text
// stays: executions of it may not have ended, and histories name its steps.
func (s *Store) DeleteFlow(ctx context.Context, flow machine.Flow) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.do("delete flow "+flow.Name, func() error {
		s.listing.Lock()
		defer s.listing.Unlock()
		s.forgetListed(flow) // even if the commit fails: nobody knows then
		return s.commits.commit(change{listedKey(flow), nil})
	})
}
