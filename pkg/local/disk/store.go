package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// Store keeps logs, flows, tokens, and what is known of jobs in a directory. It implements
// [local.Store]. What a method acknowledged or returned survives the end of the process and of the
// machine.
//
// One process at a time has a store open. After a failed write every call returns that error,
// because the state of the disk is unknown until the next [Open].
type Store struct {
	path string // of its directory
	keys token.Keys
	// generation counts the openings of the store.
	generation uint64
	db         *pebble.DB
	commits    *committer
	// lock keeps other processes out.
	lock io.Closer

	// gate is held for reading by every call, and for writing by Shut.
	gate   sync.RWMutex
	closed bool

	stripes [stripeCount]stripe
	seed    maphash.Seed

	flows engine.ParsedFlows
	// listing is held while the list of flows changes, until the change is durable.
	listing sync.Mutex
}

// stripe orders calls for one execution or one token. A write holds it until it is durable, so that
// no reader sees what a crash could undo.
type stripe struct {
	sync.RWMutex
	// latest is the last item of one of the stripe's executions, or has no Body. It saves most reads
	// of the log.
	latest engine.Item
}

// stripeCount is much larger than the number of writes in flight, so that two of them rarely meet, and
// small as a number of items in memory.
const stripeCount = 1 << 12

// storeFormat is the format number of the store as a whole. It changes when an older release would
// misread or damage a store. Items and records have numbers of their own.
const storeFormat = 1

// Names in a store's directory.
const (
	formatFile = "format"
	lockFile   = "lock"
	keysFile   = "token.key"
	holderFile = "pid"
	dataDir    = "data"
)

// Open opens the store in dir and creates the directory if it is absent. Its errors have codes:
//   - [engine.CodeConflict]: another process has the store open
//   - [engine.CodeTooNew]: a newer release wrote the store, which stays untouched
//   - [engine.CodeInvalid]: the directory cannot be used
func Open(dir string) (*Store, error) {
	op := "open store " + dir
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, &engine.Error{Code: engine.CodeInvalid, Op: op, Err: err}
	}
	if err := makeDir(path); err != nil {
		return nil, &engine.Error{Code: engine.CodeInvalid, Op: op, Err: err}
	}
	lock, err := privateFS{vfs.Default}.Lock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, &engine.Error{Code: engine.CodeConflict, Op: op, Err: fmt.Errorf(
			"it is in use, by another process%s or by this one (%w); wait for its end or stop it, or use another directory", named(Holder(path)), err)}
	}
	s, err := openLocked(path, op)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	// The number is for error messages; the store works without it.
	_ = os.WriteFile(filepath.Join(path, holderFile), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
	return s, nil
}

// openLocked opens a store whose lock is held.
func openLocked(path, op string) (*Store, error) {
	if err := checkFormat(path, op); err != nil {
		return nil, err
	}
	file := filepath.Join(path, keysFile)
	keys, err := readKeys(file)
	isMissing := errors.Is(err, os.ErrNotExist)
	if err != nil && !isMissing {
		return nil, &engine.Error{Code: engine.CodeInvalid, Op: op, Err: err}
	}
	s, err := openData(privateFS{vfs.Default}, filepath.Join(path, dataDir), op)
	if err != nil {
		return nil, err
	}
	s.path, s.keys = path, keys
	if isMissing {
		if err := s.makeKeys(file, op); err != nil {
			return nil, errors.Join(err, s.Shut())
		}
	}
	return s, nil
}

// openData opens the database of the store.
func openData(fs vfs.FS, dir, op string) (*Store, error) {
	failure := newFailure(op)
	options := &pebble.Options{
		FS: guardedFS{fs, failure}, Logger: failure,
		FormatMajorVersion: pebble.FormatNewest,
		// Writes come in bursts of small items; fewer, larger tables need fewer look-ups. Memory is
		// allocated as it fills.
		MemTableSize: memTableSize,
		// Enough for the latest items of 100,000 executions and for the two tables in memory, which
		// count against it.
		CacheSize:     64<<20 + 2*memTableSize,
		EventListener: &pebble.EventListener{BackgroundError: failure.background, DataCorruption: func(pebble.DataCorruptionInfo) {}},
	}
	for i := range options.Levels {
		// Most look-ups of tokens, and all of first items, find nothing.
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(bitsPerKey)
	}
	var db *pebble.DB
	err := failure.guard(func() (err error) {
		db, err = pebble.Open(dir, options)
		return err
	})
	if err != nil {
		return nil, &engine.Error{Code: engine.CodeInternal, Op: op, Err: explainOpen(err)}
	}
	s := &Store{
		db: db, commits: newCommitter(db, failure), lock: io.NopCloser(nil),
		seed: maphash.MakeSeed(),
	}
	if err := s.do(context.Background(), operation{name: op}, s.takeOver); err != nil {
		return nil, errors.Join(err, s.Shut())
	}
	return s, nil
}

// takeOver increments the generation.
func (s *Store) takeOver() error {
	before, ok, err := s.get([]byte{keyGeneration})
	if err != nil {
		return err
	}
	size := 1
	if ok {
		s.generation, size = binary.Uvarint(before)
	}
	if size <= 0 {
		return damagedStore(errors.New("the number of its openings cannot be read"))
	}
	s.generation++
	return s.commits.commit(change{[]byte{keyGeneration}, binary.AppendUvarint(nil, s.generation)})
}

// Generation returns how many processes have opened the store, this one included. Workers of earlier
// generations are dead.
func (s *Store) Generation() uint64 { return s.generation }

// memTableSize is how much is written before it is sorted into a file.
const memTableSize = 32 << 20

// bitsPerKey is the size of a filter: one look-up in a hundred reads in vain.
const bitsPerKey = 10

// explainOpen is explain for opening the database: an error that is not the system's means damage.
func explainOpen(err error) error {
	if system := syscall.Errno(0); errors.As(err, &system) {
		return explain(err)
	}
	return damagedStore(err)
}

// damagedStoreError says that files of the store are not what was written.
type damagedStoreError struct{ err error }

// Error has the first line of the database's error.
func (e *damagedStoreError) Error() string {
	what, _, _ := strings.Cut(e.err.Error(), "\n")
	return fmt.Sprintf("the store is damaged (%s); restore a copy of the directory", what)
}

// Unwrap returns the database's error.
func (e *damagedStoreError) Unwrap() error { return e.err }

func damagedStore(err error) error {
	if known := (*damagedStoreError)(nil); errors.As(err, &known) {
		return err
	}
	return &damagedStoreError{err}
}

// explain adds to an error of the storage what the user can do.
func explain(err error) error {
	if errors.Is(err, errSeeToDisk) {
		return err // it is explained already
	}
	switch {
	case pebble.IsCorruptionError(err), errors.Is(err, os.ErrNotExist):
		return damagedStore(err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w; the store belongs to another user", err)
	}
	return fmt.Errorf("%w; %w", err, errSeeToDisk)
}

// errSeeToDisk says what to do if a disk fails.
var errSeeToDisk = errors.New("what was acknowledged is kept: see to the disk, then open the store again")

// Shut waits for the calls under way and releases the store for other processes. Later calls return
// an error.
func (s *Store) Shut() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.commits.close(s.db.Close)
	return errors.Join(err, s.lock.Close())
}

// Keys returns the keys that sign the tokens of the store's executions.
func (s *Store) Keys() token.Keys { return s.keys }

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

// do makes a call on the open store. Its error has a code, or is that of ctx.
func (s *Store) do(ctx context.Context, op operation, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.call(call)
	if err == nil || engine.CodeOf(err) != engine.CodeInternal {
		return err
	}
	return &engine.Error{Code: engine.CodeInternal, Op: op.String(), Err: err}
}

// read is [Store.do] for a call with a result.
func read[T any](ctx context.Context, s *Store, op operation, call func() (T, error)) (T, error) {
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

func (s *Store) call(call func() error) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return errClosed
	}
	if err := s.commits.failure.get(); err != nil {
		return err
	}
	err := call()
	if pebble.IsCorruptionError(err) {
		return damagedStore(err)
	}
	return err
}

var errClosed = errors.New("the store is closed")

// useFilters makes look-ups use filters on the lowest level too, where most keys are.
var useFilters = &pebble.IterOptions{UseL6Filters: true}

// get returns a copy of a value, and whether the key exists.
func (s *Store) get(key []byte) (value []byte, ok bool, err error) {
	found, err := s.db.NewIter(useFilters)
	if err != nil {
		return nil, false, explain(err)
	}
	if found.SeekPrefixGE(key) && bytes.Equal(found.Key(), key) {
		value, err = found.ValueAndErr()
		value, ok = append([]byte{}, value...), err == nil
	}
	if err := errors.Join(err, found.Close()); err != nil {
		return nil, false, explain(err)
	}
	return value, ok, nil
}

// entries yields the keys from lower on, up to but without upper, and their values, in order. Both
// are valid until the next iteration. It stops at an error, which it stores in err.
func (s *Store) entries(lower, upper []byte, err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		found, opened := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if opened != nil {
			*err = explain(opened)
			return
		}
		var failed error
		for valid := found.First(); valid; valid = found.Next() {
			var value []byte
			if value, failed = found.ValueAndErr(); failed != nil || !yield(found.Key(), value) {
				break
			}
		}
		if failed = errors.Join(failed, found.Close()); failed != nil && *err == nil { // Close also returns what ended the loop
			*err = explain(failed)
		}
	}
}

// prefix returns the bounds of all keys of a kind.
func prefix(kind byte) (lower, upper []byte) { return []byte{kind}, []byte{kind + 1} }

func (s *Store) stripeOf(id engine.ID) *stripe {
	return &s.stripes[binary.LittleEndian.Uint16(id[:])%stripeCount] // an id is a hash
}

func (s *Store) stripeOfHandle(handle string) *stripe {
	return &s.stripes[maphash.String(s.seed, handle)%stripeCount]
}

// Prefixes of the keys, one a kind.
const (
	keyItem       = 'i' // execution, number: nonce and body of an item
	keyStarted    = 's' // instant of the start, latest first, execution: flow and status, for the list
	keyUnfinished = 'u' // execution: nothing; deleted with its terminal item
	keyFlow       = 'f' // hash, name: text of a definition
	keyListed     = 'l' // name, hash: when the flow was put; deleted with the flow
	keyRecord     = 'r' // handle: record of a token
	keyStop       = 'x' // execution: the request to stop it
	keyJoin       = 'n' // log, attempt: the join record of a fork
	keyJob        = 'j' // key of a job: its waiters and the latest end that was seen
	keyAwaited    = 'b' // key of a job: nothing; set by a waiter, deleted by a restart that finds none
	keyGeneration = 'g' // nothing: how often the store was opened
)

// checkFormat rejects a store of a newer release before it is opened, and numbers a new one.
func checkFormat(path, op string) error {
	file := filepath.Join(path, formatFile)
	text, err := os.ReadFile(file) //nolint:gosec // G304: a fixed name in the store that the user chose
	if errors.Is(err, os.ErrNotExist) {
		return numberStore(path, file, op)
	}
	if err != nil {
		return &engine.Error{Code: engine.CodeInternal, Op: op, Err: err}
	}
	format, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || format < 1:
		return &engine.Error{Code: engine.CodeInvalid, Op: op, Err: fmt.Errorf("file %s says %q; allowed: a format number", file, text)}
	case format > storeFormat:
		return &engine.Error{Code: engine.CodeTooNew, Op: op, Err: fmt.Errorf(
			"it has format %d and this release reads formats up to %d; upgrade waitless, or use another directory", format, storeFormat)}
	}
	return nil
}

func numberStore(path, file, op string) error {
	if _, err := os.Stat(filepath.Join(path, dataDir)); err == nil {
		return &engine.Error{Code: engine.CodeInvalid, Op: op, Err: fmt.Errorf("file %s is missing; restore it, or use another directory", file)}
	}
	if err := writePrivate(file, fmt.Appendf(nil, "%d\n", storeFormat)); err != nil {
		return &engine.Error{Code: engine.CodeInternal, Op: op, Err: err}
	}
	return nil
}

// newSuffix ends the names of unfinished files.
const newSuffix = ".new"

// writePrivate replaces a file atomically and durably. Only its owner can read it.
func writePrivate(file string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+newSuffix) // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(file))
}

func syncDir(path string) error {
	dir, err := vfs.Default.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
