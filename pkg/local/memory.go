package local

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// MemoryStore keeps logs, flows, tokens, and what is known of jobs as long as the process lives. It
// implements [Store]. The zero MemoryStore is empty and ready.
type MemoryStore struct {
	mu      sync.RWMutex
	logs    map[engine.ID][]engine.Item
	flows   map[machine.FlowRef]definition
	stops   map[engine.ID]engine.StopRequest
	joins   map[engine.ForkID]engine.JoinRecord
	records map[string][]byte // by handle, encoded so that callers share nothing

	meetings map[jobs.Key]Meeting
}

// definition is a definition that was put.
type definition struct {
	flow    *fdl.Flow
	text    []byte
	created time.Time // zero if it was deleted
}

// Latest implements [engine.Log].
func (m *MemoryStore) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	if err := ctx.Err(); err != nil {
		return engine.Item{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	log := m.logs[execution]
	if len(log) == 0 {
		return engine.Item{}, engine.ErrNotFound
	}
	return copyOf(log[len(log)-1]), nil
}

// Append implements [engine.Log].
func (m *MemoryStore) Append(ctx context.Context, item engine.Item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	log := m.logs[item.Execution]
	size := uint64(len(log))
	switch {
	case item.Seq < size:
		return &engine.ConflictError{Nonce: log[item.Seq].Nonce}
	case item.Seq > size:
		return GapError(item, size)
	}
	if m.logs == nil {
		m.logs = make(map[engine.ID][]engine.Item)
	}
	m.logs[item.Execution] = append(log, copyOf(item))
	return nil
}

// GapError returns the error for an item that is not the next one of its log.
func GapError(item engine.Item, size uint64) error {
	return &engine.Error{
		Code: engine.CodeInternal, Op: "append to the log of execution " + item.Execution.String(),
		Err: fmt.Errorf("item %d would leave a gap after %d items", item.Seq, size),
	}
}

// Items implements [engine.Log].
func (m *MemoryStore) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	log := m.logs[execution]
	log = log[min(from, uint64(len(log))):]
	items := make([]engine.Item, 0, min(limit, len(log)))
	for _, item := range log[:min(limit, len(log))] {
		items = append(items, copyOf(item))
	}
	return items, nil
}

// Executions implements the index of the management API. It reads every log and leaves out executions
// that cannot be read.
func (m *MemoryStore) Executions(_ context.Context, flow string, status machine.Status, after string, limit int) (ids []engine.ID, next string, err error) {
	var last Place
	if after != "" {
		if last, err = ParsePlace(after); err != nil {
			return nil, "", err
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var places []Place
	for id, log := range m.logs {
		head, err := machine.HeadOf(log[len(log)-1].Body)
		place := Place{head.Started, id}
		if err == nil && isListed(head, flow, status) && (after == "" || last.compare(place) < 0) {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, Place.compare)
	if len(places) > limit {
		places = places[:limit]
		next = places[limit-1].String()
	}
	for _, place := range places {
		ids = append(ids, place.ID)
	}
	return ids, next, nil
}

// isListed reports whether an execution has the flow and the status. Empty ones mean all, and Running
// means not ended.
func isListed(head machine.Head, flow string, status machine.Status) bool {
	if !head.Status.Final() {
		head.Status = machine.StatusRunning
	}
	return (flow == "" || head.Flow.Name == flow) && (status == "" || head.Status == status)
}

// RequestStop implements [engine.Stops].
func (m *MemoryStore) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, _ time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stops == nil {
		m.stops = make(map[engine.ID]engine.StopRequest)
	}
	if _, ok := m.stops[execution]; !ok {
		m.stops[execution] = request
	}
	return nil
}

// StopRequest implements [engine.Stops].
func (m *MemoryStore) StopRequest(ctx context.Context, execution engine.ID) (engine.StopRequest, bool, error) {
	if err := ctx.Err(); err != nil {
		return engine.StopRequest{}, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	request, ok := m.stops[execution]
	return request, ok, nil
}

// Join implements [engine.Joins].
func (m *MemoryStore) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	if err := ctx.Err(); err != nil {
		return engine.JoinRecord{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	record := m.joined(fork).With(end)
	if m.joins == nil {
		m.joins = make(map[engine.ForkID]engine.JoinRecord)
	}
	m.joins[fork] = record
	return record, nil
}

// Joined implements [engine.Joins].
func (m *MemoryStore) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	if err := ctx.Err(); err != nil {
		return engine.JoinRecord{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.joined(fork), nil
}

// joined returns a record, which never changes. m.mu is held.
func (m *MemoryStore) joined(fork engine.ForkID) engine.JoinRecord {
	if record, ok := m.joins[fork]; ok {
		return record
	}
	return engine.NewJoinRecord()
}

// copyOf returns a copy, so that callers and store share no memory.
func copyOf(item engine.Item) engine.Item {
	item.Body = bytes.Clone(item.Body)
	return item
}

// Put implements [engine.Flows].
func (m *MemoryStore) Put(_ context.Context, name string, text []byte) (machine.FlowRef, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.FlowRef{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flows == nil {
		m.flows = make(map[machine.FlowRef]definition)
	}
	if m.flows[flow].created.IsZero() {
		m.flows[flow] = definition{parsed, bytes.Clone(text), time.Now()}
	}
	return flow, nil
}

// Flow implements [engine.Flows].
func (m *MemoryStore) Flow(_ context.Context, flow machine.FlowRef) (*fdl.Flow, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found, ok := m.flows[flow]
	if !ok {
		return nil, engine.UnknownFlow(flow)
	}
	return found.flow, nil
}

// Definitions implements the list of flows of the management API.
func (m *MemoryStore) Definitions(_ context.Context, name string) ([]engine.Definition, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []engine.Definition
	for flow, d := range m.flows {
		if !d.created.IsZero() && (name == "" || flow.Name == name) {
			list = append(list, engine.Definition{Flow: flow, Created: d.created})
		}
	}
	engine.SortDefinitions(list)
	return list, nil
}

// FlowText implements the list of flows of the management API.
func (m *MemoryStore) FlowText(_ context.Context, flow machine.FlowRef) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := m.flows[flow]
	if found.created.IsZero() {
		return nil, engine.UnknownFlow(flow)
	}
	return bytes.Clone(found.text), nil
}

// DeleteFlow implements the list of flows of the management API.
func (m *MemoryStore) DeleteFlow(_ context.Context, flow machine.FlowRef) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.flows[flow]; ok {
		found.created = time.Time{}
		m.flows[flow] = found
	}
	return nil
}

// Record implements [engine.TokenStore].
func (m *MemoryStore) Record(ctx context.Context, handle string) (token.Record, error) {
	return m.record(ctx, handle, func(r token.Record) token.Record { return r })
}

// Close implements [engine.TokenStore].
func (m *MemoryStore) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return m.record(ctx, handle, closing.Apply)
}

// Begin implements [engine.TokenStore].
func (m *MemoryStore) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	return m.record(ctx, handle, beginning.Apply)
}

// Reply implements [engine.TokenStore].
func (m *MemoryStore) Reply(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	return m.record(ctx, handle, answering.Apply)
}

// Beat implements [resume.TokenStore].
func (m *MemoryStore) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return m.record(ctx, handle, func(r token.Record) token.Record { return r.Beat(at) })
}

// Poll implements [resume.TokenStore].
func (m *MemoryStore) Poll(ctx context.Context, handle string, polling token.PollOp) (token.Record, error) {
	return m.record(ctx, handle, polling.Apply)
}

// record changes the record of a token in one step and returns it.
func (m *MemoryStore) record(ctx context.Context, handle string, change func(token.Record) token.Record) (token.Record, error) {
	if err := ctx.Err(); err != nil {
		return token.Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recordOf(handle)
	if err != nil {
		return r, err
	}
	changed := change(r)
	if changed == r { // reading stores nothing
		return r, nil
	}
	if m.records == nil {
		m.records = make(map[string][]byte)
	}
	m.records[handle] = changed.Encode()
	return changed, nil
}

// recordOf returns the record of a token. m.mu is held.
func (m *MemoryStore) recordOf(handle string) (token.Record, error) {
	stored, ok := m.records[handle]
	if !ok {
		return token.Record{}, nil
	}
	return token.DecodeRecord(stored)
}
