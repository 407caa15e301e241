package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Database keeps values by key, in the order of the keys. Callers may keep the values it returns,
// and may not change the values they gave to it.
type Database interface {
	// Get returns a value, and whether the key exists.
	Get(key []byte) (value []byte, ok bool, err error)

	// Last returns the last entry of each range, the zero Entry for an empty range.
	Last(ranges ...Range) ([]Entry, error)

	// Entries yields the keys of a range and their values, in order. Both are valid until the next
	// iteration. It stops at an error, which it stores in err.
	Entries(of Range, err *error) iter.Seq2[[]byte, []byte]

	// Commit makes the changes, all or none. If it returns nil they are durable; after an error
	// they may or may not have been made. Unless begun is nil, another commit is expected to follow
	// soon and share the sync, and Commit calls begun once no later commit can be durable without
	// this one.
	Commit(begun func(), changes ...Entry) error

	// Enter begins a use of the database, which stays open until leave is called.
	Enter() (leave func(), err error)
}

// Entry is a key and its value. As a change it deletes the key if the value is nil.
type Entry struct{ Key, Value []byte }

// Range has the keys from Lower on, up to but without Upper.
type Range struct{ Lower, Upper []byte }

// Keyed keeps logs, flows, tokens, and the records of jobs in a [Database]. It implements the Store
// of package local. Data that a method acknowledged or returned is durable in the database. The
// zero Keyed is empty and keeps everything in memory.
type Keyed struct {
	db         Database
	generation uint64
	keys       token.Keys // of a store in memory
	flows      engine.ParsedFlows
	newestOf   memo[string, machine.FlowRef]         // by name
	presets    memo[machine.FlowRef, machine.Notify] // what executions notify whose start names no target
	joins      waitingJoins
	// running has the keys of the list of executions that have not ended. In a database on a disk,
	// a search there would pass each key that was deleted, until tables are merged.
	running Database
	files   ValueFiles // nil if large values are in the database
	// reclaimable is how many bytes were removed since the last RemovedBytes.
	reclaimable atomic.Int64
	roots       roots
	paused      pausedFlows
	removed     atomic.Bool // whether a key of the kind keyRemoved may exist
	removals    atomic.Uint64

	prepared sync.Once
	stripes  []stripe
	seed     maphash.Seed
}

// Memory is a store that lives as long as the process. The zero Memory is empty and ready.
type Memory struct{ Keyed }

// stripe orders calls for one execution or one record. A write holds it until the write is durable,
// so that no reader sees data that a crash could undo.
type stripe struct {
	sync.RWMutex
	// latest has the last items of the stripe's executions that were written last, as many as have
	// the stripe's part of latestSize together, but at least one. They save most reads of the log.
	latest []engine.Item
	size   int
	// record is the last token record that was written, after so many removals. It saves reading
	// the outcome that a closer has just stored.
	record   Entry
	removals uint64
	// applied is the token record that is being written by [Keyed.CloseEarly].
	applied atomic.Pointer[Entry]
}

// latestSize is how many bytes of latest items all stripes keep: enough for about 100,000
// executions that wait.
const latestSize = 48 << 20

// itemSize is about the size of an item in memory without its body.
const itemSize = 100

// find returns the index of an execution's last item, -1 if it is not known.
func (s *stripe) find(execution engine.ID) int {
	return slices.IndexFunc(s.latest, func(item engine.Item) bool { return item.Execution == execution })
}

// keep stores the last item of an execution, and drops the items that were written longest ago.
func (s *stripe) keep(item engine.Item, most int) {
	s.forget(item.Execution)
	s.latest = append(s.latest, item)
	s.size += itemSize + len(item.Body)
	dropped := 0
	for ; s.size > most && dropped < len(s.latest)-1; dropped++ {
		s.size -= itemSize + len(s.latest[dropped].Body)
	}
	s.latest = slices.Delete(s.latest, 0, dropped)
}

// forget drops the last item of an execution.
func (s *stripe) forget(execution engine.ID) {
	if i := s.find(execution); i >= 0 {
		s.size -= itemSize + len(s.latest[i].Body)
		s.latest = slices.Delete(s.latest, i, i+1)
	}
}

// Prefixes of the keys, one a kind.
const (
	keyItem       = 'i' // execution, number: nonce and body of an item
	keyList       = 'a' // status, flow, instant of the start, latest first, execution: nothing; see list
	keyNotice     = 'o' // execution, id: a notice to its target, and why it was given up; without an id if the end was not told yet
	keyEnded      = 'e' // instant of the end, execution: nothing; for what is removed some time after that
	keyRemoved    = 'z' // log: when its tokens expire, and whether files are left of it
	keyFlow       = 'f' // hash, name: text of a definition
	keyListed     = 'l' // name, hash: when the flow was put; deleted with the flow
	keyNewest     = 'd' // name: hash of the newest definition that is listed
	keyPreset     = 'p' // name, hash: what executions of a listed definition notify whose start names no target
	keyRecord     = 'r' // handle: record of a token
	keyStop       = 'x' // execution: the request to stop it
	keyJoin       = 'n' // log, attempt: the join record of a fork
	keyJob        = 'j' // key of a job: its waiters and the latest end that was seen
	keyJobExpiry  = 'k' // second, key of a job: the instant of the end that expires
	keyAwaited    = 'b' // key of a job: nothing; set by a waiter, deleted when none is left
	keyLarge      = 'v' // name: a large value
	keyDescendant = 'h' // execution: the root that counts it, until it ends
	keyRoot       = 'w' // root: the request to stop its descendants
	keyPaused     = 'q' // name of a paused flow: nothing
	keySchedule   = 'c' // flow, name: text of a schedule
	keyActivity   = 'y' // name of an activity: when it was created
	keyGeneration = 'g' // nothing: how often the store was opened
)

// The numbers of stripes. For a database they are much larger than the number of writes in flight,
// so that two of them rarely meet.
const (
	databaseStripes = 1 << 12
	memoryStripes   = 1 << 8
)

// Use gives the zero Keyed a database, and increments its generation.
func (s *Keyed) Use(db Database) error {
	s.db = db
	s.prepared.Do(s.prepare)
	before, ok, err := s.db.Get([]byte{keyGeneration})
	if err != nil {
		return err
	}
	size := 1
	if ok {
		s.generation, size = binary.Uvarint(before)
	}
	if size <= 0 {
		return damaged("the number of its openings")
	}
	for range s.db.Entries(startingWith([]byte{keyRemoved}), &err) {
		s.removed.Store(true)
		break
	}
	if err != nil {
		return err
	}
	if err := s.adopt(); err != nil {
		return err
	}
	s.running = newMemory()
	for key, rest := range s.db.Entries(startingWith(runningKeys), &err) {
		_ = s.running.Commit(nil, Entry{bytes.Clone(key), bytes.Clone(rest)}) // memory does not fail
	}
	if err != nil {
		return err
	}
	for key := range s.db.Entries(startingWith([]byte{keyPaused}), &err) {
		s.paused.set(string(key[1:]), true)
	}
	if err := errors.Join(err, s.learnRoots()); err != nil {
		return err
	}
	s.generation++
	return s.db.Commit(nil, Entry{[]byte{keyGeneration}, binary.AppendUvarint(nil, s.generation)})
}

// prepare makes the parts that the zero Keyed lacks.
func (s *Keyed) prepare() {
	stripes := databaseStripes
	if s.db == nil {
		s.db, s.keys, stripes = newMemory(), NewKeys(), memoryStripes
		s.running = s.db
	}
	s.stripes, s.seed = make([]stripe, stripes), maphash.MakeSeed()
}

// Generation returns how many processes have opened the database, this one included; 0 for a store
// in memory. Workers of earlier generations are dead.
func (s *Keyed) Generation() uint64 { return s.generation }

// Keys returns the keys that sign the tokens of the executions of a store in memory.
func (s *Keyed) Keys() token.Keys {
	s.prepared.Do(s.prepare)
	return s.keys
}

// NewKeys returns random keys.
func NewKeys() token.Keys {
	secret := make([]byte, token.SecretSize)
	_, _ = rand.Read(secret) // never fails
	return token.Keys{Current: token.Key{ID: 1, Secret: secret}}
}

// damaged reports that a stored form differs from the data that the store wrote.
func damaged(what string) error {
	return fmt.Errorf("%s is damaged; restore a copy of the store's directory", what)
}

// operation names a call in its error.
type operation struct {
	name      string
	execution engine.ID // zero if the call concerns no single execution
}

func (o operation) String() string {
	if o.execution == (engine.ID{}) {
		return o.name
	}
	return o.name + " of execution " + o.execution.String()
}

// do makes a call on the open database. Its error has a code, or comes from ctx.
func (s *Keyed) do(ctx context.Context, op operation, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.prepared.Do(s.prepare)
	leave, err := s.db.Enter()
	if err == nil {
		defer leave()
		err = call()
	}
	if err == nil || engine.CodeOf(err) != engine.CodeInternal {
		return err
	}
	return &engine.Error{Code: engine.CodeInternal, Op: op.String(), Err: err}
}

// read is [Keyed.do] for a call with a result.
func read[T any](ctx context.Context, s *Keyed, op operation, call func() (T, error)) (T, error) {
	var result T
	err := s.do(ctx, op, func() (err error) {
		result, err = call()
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
}

// step makes the changes that depend on the stored value of a key, in one step. It returns when all
// data that it read and wrote is durable.
func (s *Keyed) step(ctx context.Context, op operation, key []byte, changes func() ([]Entry, error)) error {
	return s.stepEarly(ctx, op, key, nil, changes)
}

// stepEarly is step, and calls applied, unless that is nil, as [Keyed.CloseEarly] does.
func (s *Keyed) stepEarly(ctx context.Context, op operation, key []byte, applied func(), changes func() ([]Entry, error)) error {
	return s.do(ctx, op, func() error {
		stripe := s.stripeOf(key)
		stripe.Lock()
		defer stripe.Unlock()
		made, err := changes()
		if err != nil || len(made) == 0 {
			return err
		}
		first, removals := made[0], s.removals.Load()
		if first.Key[0] == keyRecord {
			stripe.record = Entry{} // the write may be made in spite of an error
		}
		if err := s.commit(stripe, applied, made); err != nil {
			return err
		}
		if first.Key[0] == keyRecord && len(first.Value) <= rememberedRecord {
			stripe.record, stripe.removals = first, removals
		}
		return nil
	})
}

// commit makes the changes, and calls applied, unless that is nil, when later commits cannot be
// durable without them. The stripe is held.
func (s *Keyed) commit(stripe *stripe, applied func(), changes []Entry) error {
	if applied == nil {
		return s.db.Commit(nil, changes...)
	}
	defer stripe.applied.Store(nil)
	return s.db.Commit(func() {
		stripe.applied.Store(&changes[0])
		applied()
	}, changes...)
}

// rememberedRecord is the largest record that a stripe keeps in memory, in bytes.
const rememberedRecord = 2 << 10

func (s *Keyed) stripeOf(key []byte) *stripe {
	return &s.stripes[maphash.Bytes(s.seed, key)%uint64(len(s.stripes))]
}

// form is how the records of a kind are stored.
type form[T any] struct {
	unknown T // the record of an unknown key
	decode  func([]byte) (T, error)
	encode  func(T) []byte // nil for what is not stored
	// index returns what changes with a record; nil means nothing else does.
	index func(key []byte, before, after T) []Entry
}

// find returns a record and its stored form, nil for an unknown key. A stripe is held.
func (f form[T]) find(s *Keyed, key []byte) (record T, stored []byte, err error) {
	return f.found(s.db.Get(key))
}

// findOwn is find for a key under a stripe that the caller holds.
func (f form[T]) findOwn(s *Keyed, key []byte) (record T, stored []byte, err error) {
	return f.found(s.stripeOf(key).get(s, key))
}

func (f form[T]) found(stored []byte, ok bool, err error) (T, []byte, error) {
	if err != nil || !ok {
		return f.unknown, nil, err
	}
	record, err := f.decode(stored)
	return record, stored, err
}

// get returns the value of a key of the stripe, from memory if it can. The stripe is held.
func (s *stripe) get(store *Keyed, key []byte) (value []byte, ok bool, err error) {
	if bytes.Equal(s.record.Key, key) && s.removals == store.removals.Load() {
		return s.record.Value, true, nil
	}
	return store.db.Get(key)
}

// read returns a record.
func (f form[T]) read(ctx context.Context, s *Keyed, op string, key []byte) (T, error) {
	return read(ctx, s, operation{name: op}, func() (T, error) {
		stripe := s.stripeOf(key)
		stripe.RLock()
		defer stripe.RUnlock()
		record, _, err := f.findOwn(s, key)
		return record, err
	})
}

// change changes a record in one step and returns it.
func (f form[T]) change(ctx context.Context, s *Keyed, op string, key []byte, apply func(T) T) (after T, err error) {
	return f.changeEarly(ctx, s, op, key, nil, apply)
}

// changeEarly is change, and calls applied, unless that is nil, as [Keyed.CloseEarly] does.
func (f form[T]) changeEarly(
	ctx context.Context, s *Keyed, op string, key []byte, applied func(), apply func(T) T,
) (after T, err error) {
	err = s.stepEarly(ctx, operation{name: op}, key, applied, func() ([]Entry, error) {
		before, stored, err := f.findOwn(s, key)
		if err != nil {
			return nil, err
		}
		after = apply(before)
		encoded := f.encode(after)
		if bytes.Equal(encoded, stored) {
			return nil, nil
		}
		changes := append(make([]Entry, 0, 2), Entry{key, encoded})
		if f.index != nil {
			changes = append(changes, f.index(key, before, after)...)
		}
		return changes, nil
	})
	if err != nil {
		return *new(T), err
	}
	return after, nil
}
