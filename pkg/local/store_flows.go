package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

func flowKey(flow machine.FlowRef) []byte {
	return fmt.Appendf(nil, "%c%s/%s", keyFlow, flow.Hash, flow.Name)
}

func listedKey(flow machine.FlowRef) []byte {
	return fmt.Appendf(nil, "%c%s\x00%s", keyListed, flow.Name, flow.Hash)
}

// Put implements [engine.Flows].
func (s *KeyedStore) Put(ctx context.Context, name string, text []byte) (machine.FlowRef, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.FlowRef{}, err
	}
	key := listedKey(flow)
	err = s.step(ctx, operation{name: "put flow " + name}, key, func() ([]Entry, error) {
		list, err := s.definitions(name)
		if err != nil {
			return nil, err
		}
		at, properties, ok := engine.BecomesNewest(flow, list, time.Now())
		if !ok {
			return nil, nil
		}
		created := binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano()))
		return []Entry{{flowKey(flow), bytes.Clone(text)}, {key, append(created, properties...)}}, nil
	})
	if err != nil {
		return machine.FlowRef{}, err
	}
	s.flows.Put(flow, parsed, len(text))
	return flow, nil
}

// Flow implements [engine.Flows].
func (s *KeyedStore) Flow(ctx context.Context, flow machine.FlowRef) (*fdl.Flow, error) {
	if parsed := s.flows.Get(flow); parsed != nil {
		return parsed, nil
	}
	return read(ctx, s, operation{name: "read flow " + flow.Name}, func() (*fdl.Flow, error) {
		text, ok, err := s.db.Get(flowKey(flow))
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, engine.UnknownFlow(flow)
		}
		_, parsed, err := engine.ParseFlow(flow.Name, text)
		if err == nil {
			s.flows.Put(flow, parsed, len(text))
		}
		return parsed, err
	})
}

// Newest implements [engine.Flows].
func (s *KeyedStore) Newest(ctx context.Context, name string) (machine.FlowRef, error) {
	list, err := s.Definitions(ctx, name)
	if err != nil {
		return machine.FlowRef{}, err
	}
	return engine.Newest(name, list)
}

// instantSize is the size of an instant on the list. The properties of the definition follow it.
const instantSize = 8

// Definitions implements the list of flows of the management API.
func (s *KeyedStore) Definitions(ctx context.Context, name string) ([]engine.Definition, error) {
	return read(ctx, s, operation{name: "list flows"}, func() ([]engine.Definition, error) { return s.definitions(name) })
}

// definitions lists those of a name, of all names if it is empty.
func (s *KeyedStore) definitions(name string) (list []engine.Definition, err error) {
	listed := Range{[]byte{keyListed}, []byte{keyListed + 1}}
	if name != "" {
		listed = Range{fmt.Appendf(nil, "%c%s\x00", keyListed, name), fmt.Appendf(nil, "%c%s\x01", keyListed, name)}
	}
	for key, entry := range s.db.Entries(listed, &err) {
		if len(entry) < instantSize {
			return nil, damaged("the list of flows")
		}
		flow, hash, _ := bytes.Cut(key[1:], []byte{0})
		list = append(list, engine.Definition{
			Flow:       machine.FlowRef{Name: string(flow), Hash: string(hash)},
			Created:    time.Unix(0, int64(binary.BigEndian.Uint64(entry))).UTC(), //nolint:gosec // as it was written
			Properties: string(entry[instantSize:]),
		})
	}
	engine.SortDefinitions(list)
	return list, err
}

// FlowText implements the list of flows of the management API.
func (s *KeyedStore) FlowText(ctx context.Context, flow machine.FlowRef) ([]byte, error) {
	return read(ctx, s, operation{name: "read flow " + flow.Name}, func() (text []byte, err error) {
		_, listed, err := s.db.Get(listedKey(flow))
		if err == nil && listed {
			text, listed, err = s.db.Get(flowKey(flow))
		}
		if err == nil && !listed {
			return nil, engine.UnknownFlow(flow)
		}
		return text, err
	})
}

// SetProperties implements the list of flows of the 2019-03-15 API.
func (s *KeyedStore) SetProperties(ctx context.Context, flow machine.FlowRef, before, properties string) error {
	key := listedKey(flow)
	return s.step(ctx, operation{name: "set the properties of flow " + flow.Name}, key, func() ([]Entry, error) {
		entry, listed, err := s.db.Get(key)
		switch {
		case err != nil:
			return nil, err
		case !listed:
			return nil, engine.UnknownFlow(flow)
		case len(entry) < instantSize:
			return nil, damaged("the list of flows")
		case string(entry[instantSize:]) != before:
			return nil, engine.ErrConflict
		}
		return []Entry{{key, append(bytes.Clone(entry[:instantSize]), properties...)}}, nil
	})
}

// DeleteFlow implements the list of flows of the management API. The text stays: executions of it
// may not have ended, and histories name its steps.
func (s *KeyedStore) DeleteFlow(ctx context.Context, flow machine.FlowRef) error {
	return s.step(ctx, operation{name: "delete flow " + flow.Name}, listedKey(flow), func() ([]Entry, error) {
		return []Entry{{listedKey(flow), nil}}, nil
	})
}
