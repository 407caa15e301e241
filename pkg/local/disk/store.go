package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/token"
)

// Store is a [store.Keyed] in a directory. Data that a method acknowledged or returned survives the
// end of the process and of the machine.
//
// One process at a time has a store open. After a failed write every call returns that error,
// because the state of the disk is unknown until the next [Open].
type Store struct {
	store.Keyed
	db   *database
	fs   vfs.FS
	path string // of its directory
	// storing is held for reading while a large value is stored, for writing to remove a directory.
	storing sync.RWMutex
	keys    token.Keys
	// lock keeps other processes out.
	lock io.Closer
}

// Tidy implements [store.Remover]. It also frees the space of removed data.
func (s *Store) Tidy(ctx context.Context, now time.Time) error {
	if err := s.Keyed.Tidy(ctx, now); err != nil {
		return err
	}
	leave, err := s.db.Enter()
	if err != nil {
		return failedTo("return the space of removed executions", err)
	}
	defer leave()
	// Once a quarter of the store was removed, all tables are rewritten, so each removed byte costs
	// a few written ones. Less than that is reclaimed when tables are merged.
	const share = 4
	removed := s.db.removed.Add(int64(s.RemovedBytes()))
	if removed == 0 || uint64(removed) < s.db.pebble.Metrics().DiskSpaceUsage()/share { //nolint:gosec // never negative
		return nil
	}
	s.db.removed.Store(0)
	return s.db.commits.failure.guard(func() error { return s.db.pebble.Compact(ctx, []byte{0}, []byte{0xff}, false) })
}

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
	s, err := open(dir)
	if err != nil {
		return nil, failedTo("open store "+dir, err)
	}
	return s, nil
}

// failedTo returns the error of an operation on a store, with the remedy for an error of the file
// system.
func failedTo(op string, err error) error {
	if fix := remedy(err); fix != "" && !errors.Is(err, errKept) {
		err = invalid("%w; %s, or use another directory", err, fix)
	}
	return &engine.Error{Code: engine.CodeOf(err), Op: op, Err: err}
}

func open(dir string) (*Store, error) {
	path, err := filepath.Abs(dir)
	if err == nil {
		err = makeDir(path)
	}
	if err != nil {
		return nil, &engine.Error{Code: engine.CodeInvalid, Err: err}
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	s, err := openLocked(path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	// The number is for error messages; the store works without it.
	_ = os.WriteFile(filepath.Join(path, holderFile), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
	return s, nil
}

// lockDir keeps other processes out of the directory of a store until the lock is closed.
func lockDir(path string) (io.Closer, error) {
	lock, err := privateFS{vfs.Default}.Lock(filepath.Join(path, lockFile))
	if file := (*os.PathError)(nil); errors.As(err, &file) || errors.Is(err, os.ErrPermission) { // the file is not even open
		return nil, invalid("%w", err)
	}
	if err != nil {
		return nil, &engine.Error{Code: engine.CodeConflict, Err: fmt.Errorf(
			"it is in use, by another process (pid %d) or by this one (%w); wait for its end or stop it, or use another directory", Holder(path), err)}
	}
	return lock, nil
}

// invalid reports that the directory cannot be used.
func invalid(format string, args ...any) error {
	return &engine.Error{Code: engine.CodeInvalid, Err: fmt.Errorf(format, args...)}
}

// openLocked opens a store under its lock, which the caller holds.
func openLocked(path string) (*Store, error) {
	// A store of a newer release is rejected before it is opened, and a new one is numbered.
	format := filepath.Join(path, formatFile)
	_, err := readFormat(format)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(path, dataDir)); err == nil {
			return nil, invalid("file %s is missing; restore it, or use another directory", format)
		}
		err = writePrivate(format, fmt.Appendf(nil, "%d\n", storeFormat))
	}
	if err != nil {
		return nil, err
	}
	file := filepath.Join(path, keysFile)
	keys, err := readKeys(file)
	isMissing := errors.Is(err, os.ErrNotExist)
	if err != nil && !isMissing {
		return nil, invalid("%w", err)
	}
	s, err := openData(privateFS{vfs.Default}, path)
	if err != nil {
		return nil, err
	}
	s.keys = keys
	if isMissing {
		if err := s.makeKeys(file); err != nil {
			_ = s.Shut() // repeats the error
			return nil, err
		}
	}
	return s, nil
}

// openData opens the database of the store in the directory.
func openData(fs vfs.FS, path string) (*Store, error) {
	failure := newFailure()
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
		db, err = pebble.Open(fs.PathJoin(path, dataDir), options)
		return err
	})
	if err != nil {
		return nil, explainOpen(err)
	}
	commits := &committer{db: db, queue: make(chan *commit, mostTogether), ended: make(chan struct{}), failure: failure}
	go commits.run()
	s := &Store{db: &database{pebble: db, commits: commits}, fs: fs, path: path, lock: io.NopCloser(nil)}
	s.db.leave = s.db.gate.RUnlock
	s.UseFiles(s)
	err = errors.Join(fs.MkdirAll(fs.PathJoin(path, largeDir), 0o700), syncDir(fs, path))
	if err := cmp.Or(err, s.Use(s.db)); err != nil {
		_ = s.Shut() // repeats the error
		return nil, err
	}
	return s, nil
}

// memTableSize is how much is written before it is sorted into a file.
const memTableSize = 32 << 20

// bitsPerKey is the size of a filter: one look-up in a hundred reads in vain.
const bitsPerKey = 10

// Shut waits for the calls under way and releases the store for other processes. Later calls return
// an error.
func (s *Store) Shut() error {
	s.db.gate.Lock()
	defer s.db.gate.Unlock()
	if s.db.closed {
		return nil
	}
	s.db.closed = true
	c := s.db.commits
	close(c.queue)
	err := c.failure.guard(func() (err error) {
		<-c.ended
		if c.wrote {
			// Tables have a known length and checksum, while a log that was cut short looks like a
			// complete one.
			err = c.db.Flush()
		}
		return errors.Join(err, c.db.Close())
	})
	return errors.Join(err, s.lock.Close())
}

// Keys returns the keys that sign the tokens of the store's executions.
func (s *Store) Keys() token.Keys { return s.keys }

// readFormat reads the format of a store, and rejects the format of a newer release.
func readFormat(file string) (int, error) {
	text, err := os.ReadFile(file) //nolint:gosec // G304: a fixed name in the store that the user chose
	if err != nil {
		return 0, err
	}
	format, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || format < 1:
		return 0, invalid("file %s says %q; allowed: a format number", file, text)
	case format > storeFormat:
		return format, &engine.Error{Code: engine.CodeTooNew, Err: fmt.Errorf(
			"it has format %d and this release reads formats up to %d; upgrade waitless, or use another directory", format, storeFormat)}
	}
	return format, nil
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
	return syncDir(vfs.Default, filepath.Dir(file))
}

func syncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
