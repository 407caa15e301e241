package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

func flowKey(flow machine.FlowRef) []byte {
	return fmt.Appendf(nil, "%c%s/%s", keyFlow, flow.Hash, flow.Name)
}

func newestKey(name string) []byte { return append([]byte{keyNewest}, name...) }

func listedKey(flow machine.FlowRef) []byte {
	return fmt.Appendf(nil, "%c%s\x00%s", keyListed, flow.Name, flow.Hash)
}

func presetKey(flow machine.FlowRef) []byte {
	return fmt.Appendf(nil, "%c%s\x00%s", keyPreset, flow.Name, flow.Hash)
}

// SetNotify implements [engine.Flows].
func (s *Keyed) SetNotify(ctx context.Context, flow machine.FlowRef, notify machine.Notify) error {
	var entry []byte // nil deletes it
	if notify.Target != "" {
		entry, _ = json.Marshal(notify) // it has a text
	}
	return s.stepFlow(ctx, "set what flow "+flow.Name+" notifies", flow, func() ([]Entry, error) {
		_, listed, err := s.db.Get(listedKey(flow))
		if err == nil && !listed {
			err = engine.UnknownFlow(flow)
		}
		return []Entry{{presetKey(flow), entry}}, err
	})
}

// NotifyOf implements [engine.Flows].
func (s *Keyed) NotifyOf(ctx context.Context, flow machine.FlowRef) (machine.Notify, error) {
	return readFlow(ctx, s, flow.Name, &s.presets, flow, func() (machine.Notify, error) { return s.preset(flow) })
}

func (s *Keyed) preset(flow machine.FlowRef) (notify machine.Notify, err error) {
	entry, ok, err := s.db.Get(presetKey(flow))
	if ok && err == nil && json.Unmarshal(entry, &notify) != nil {
		err = damaged("what a flow notifies")
	}
	return notify, err
}

// Put implements [engine.Flows].
func (s *Keyed) Put(ctx context.Context, name string, text []byte) (machine.FlowRef, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.FlowRef{}, err
	}
	err = s.stepFlow(ctx, "put flow "+name, flow, func() ([]Entry, error) {
		hash, err := s.newest(name)
		if err != nil || string(hash) == flow.Hash {
			return nil, err
		}
		entry, err := s.newEntry(flow, string(hash))
		return []Entry{{flowKey(flow), bytes.Clone(text)}, {listedKey(flow), entry}, {presetKey(flow), nil}, {newestKey(name), []byte(flow.Hash)}}, err
	})
	if err != nil {
		return machine.FlowRef{}, err
	}
	s.flows.Put(flow, parsed, len(text))
	return flow, nil
}

// Flow implements [engine.Flows].
func (s *Keyed) Flow(ctx context.Context, ref machine.FlowRef) (*flow.Flow, error) {
	if parsed := s.flows.Get(ref); parsed != nil {
		return parsed, nil
	}
	return read(ctx, s, operation{name: "read flow " + ref.Name}, func() (*flow.Flow, error) {
		text, ok, err := s.db.Get(flowKey(ref))
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, engine.UnknownFlow(ref)
		}
		_, parsed, err := engine.ParseFlow(ref.Name, text)
		if err == nil {
			s.flows.Put(ref, parsed, len(text))
		}
		return parsed, err
	})
}

// newEntry returns the entry of a definition on the list when it becomes the newest of its name. An
// entry that is listed keeps its properties. The hash identifies the newest definition before.
func (s *Keyed) newEntry(flow machine.FlowRef, newest string) ([]byte, error) {
	before, err := s.listed(machine.FlowRef{Name: flow.Name, Hash: newest})
	if err != nil {
		return nil, err
	}
	own, err := s.listed(flow)
	at := engine.BecomesNewest(before.Created, time.Now())
	return append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())), own.Properties...), err
}

// newest returns the hash of the newest definition of a name, empty for none. The list has it for a
// name under which an earlier release stored all definitions.
func (s *Keyed) newest(name string) ([]byte, error) {
	hash, ok, err := s.db.Get(newestKey(name))
	if ok || err != nil {
		return hash, err
	}
	list, err := s.definitions(name)
	if err != nil || len(list) == 0 || name == "" {
		return nil, err
	}
	return []byte(list[0].Flow.Hash), nil
}

// Newest implements [engine.Flows].
func (s *Keyed) Newest(ctx context.Context, name string) (machine.FlowRef, error) {
	return readFlow(ctx, s, name, &s.newestOf, name, func() (machine.FlowRef, error) {
		hash, err := s.newest(name)
		if err != nil {
			return machine.FlowRef{}, err
		}
		return engine.Newest(name, string(hash))
	})
}

// instantSize is the size of an instant on the list. The properties of the definition follow it.
const instantSize = 8

// Definitions implements [engine.Catalog].
func (s *Keyed) Definitions(ctx context.Context, name string) ([]engine.Definition, error) {
	return read(ctx, s, operation{name: "list flows"}, func() ([]engine.Definition, error) { return s.definitions(name) })
}

// definitions lists the definitions of a name, or of all names if it is empty.
func (s *Keyed) definitions(name string) (list []engine.Definition, err error) {
	prefix := []byte{keyListed}
	if name != "" {
		prefix = fmt.Appendf(prefix, "%s\x00", name)
	}
	var ofName engine.Definition
	for key, entry := range s.db.Entries(startingWith(prefix), &err) {
		flow, hash, _ := bytes.Cut(key[1:], []byte{0})
		definition, err := decodeDefinition(machine.FlowRef{Name: string(flow), Hash: string(hash)}, entry)
		if err == nil && len(hash) == 0 { // the first entry of its name
			ofName = definition
			continue
		}
		if ofName.Flow.Name == definition.Flow.Name {
			definition.OfName = ofName.Properties
		}
		if err == nil {
			definition.Notify, err = s.preset(definition.Flow)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, definition)
	}
	engine.SortDefinitions(list)
	return list, err
}

// listed returns a definition as it is listed. A definition that is not listed has no Flow.
func (s *Keyed) listed(flow machine.FlowRef) (engine.Definition, error) {
	entry, listed, err := s.db.Get(listedKey(flow))
	if err != nil || !listed {
		return engine.Definition{}, err
	}
	return decodeDefinition(flow, entry)
}

func decodeDefinition(flow machine.FlowRef, entry []byte) (engine.Definition, error) {
	if len(entry) < instantSize {
		return engine.Definition{}, damaged("the list of flows")
	}
	return engine.Definition{
		Flow:       flow,
		Created:    time.Unix(0, int64(binary.BigEndian.Uint64(entry))).UTC(), //nolint:gosec // as it was written
		Properties: string(entry[instantSize:]),
	}, nil
}

// FlowText implements [engine.Catalog].
func (s *Keyed) FlowText(ctx context.Context, flow machine.FlowRef) ([]byte, error) {
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

// SetProperties implements [engine.Catalog].
func (s *Keyed) SetProperties(ctx context.Context, flow machine.FlowRef, before, properties string) error {
	key := listedKey(flow)
	op := operation{name: "set the properties of flow " + flow.Name}
	return s.step(ctx, op, newestKey(flow.Name), func() ([]Entry, error) {
		entry, listed, err := s.db.Get(key)
		if flow.Hash == "" && !listed {
			entry, listed = make([]byte, instantSize), true
		}
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

// DeleteFlow implements [engine.Catalog]. The text stays: executions of it
// may not have ended, and histories name its steps.
func (s *Keyed) DeleteFlow(ctx context.Context, flow machine.FlowRef) error {
	return s.stepFlow(ctx, "delete flow "+flow.Name, flow, func() ([]Entry, error) {
		changes := []Entry{{listedKey(flow), nil}, {presetKey(flow), nil}}
		hash, err := s.newest(flow.Name)
		if err != nil || string(hash) != flow.Hash {
			return changes, err
		}
		list, err := s.definitions(flow.Name)
		if len(list) > 1 {
			return append(changes, Entry{newestKey(flow.Name), []byte(list[1].Flow.Hash)}), err
		}
		return append(changes, Entry{newestKey(flow.Name), nil}, Entry{listedKey(machine.FlowRef{Name: flow.Name}), nil}), err
	})
}

// stepFlow changes the stored data of the flow's name, which nothing reads meanwhile.
func (s *Keyed) stepFlow(ctx context.Context, op string, flow machine.FlowRef, changes func() ([]Entry, error)) error {
	return s.step(ctx, operation{name: op}, newestKey(flow.Name), func() ([]Entry, error) {
		s.newestOf.forget(flow.Name)
		s.presets.forget(flow)
		return changes()
	})
}

// readFlow reads what each start needs of the flows of a name, from memory if it can.
func readFlow[K comparable, V any](ctx context.Context, s *Keyed, name string, known *memo[K, V], key K, find func() (V, error)) (V, error) {
	return read(ctx, s, operation{name: "read flow " + name}, func() (V, error) {
		stripe := s.stripeOf(newestKey(name))
		stripe.RLock()
		defer stripe.RUnlock()
		return known.get(key, find)
	})
}

// mostKnown bounds the entries of a memo.
const mostKnown = 1 << 12

// memo caches the results of lookups.
type memo[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]V
}

func (m *memo[K, V]) get(key K, find func() (V, error)) (V, error) {
	m.mu.RLock()
	v, ok := m.known[key]
	m.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := find()
	if err != nil {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) == mostKnown {
		m.known = map[K]V{}
	}
	m.known[key] = v
	return v, nil
}

func (m *memo[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}
