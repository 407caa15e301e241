package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/local/store"
)

// database is the [store.Database] on a disk.
type database struct {
	pebble  *pebble.DB
	commits *committer

	// gate is held for reading by every call, and for writing by Shut.
	gate   sync.RWMutex
	leave  func() // unlocks it
	closed bool

	removed atomic.Int64 // bytes of entries that were removed, and may still take space
}

var errClosed = errors.New("the store is closed")

// Enter implements [store.Database].
func (d *database) Enter() (leave func(), err error) {
	d.gate.RLock()
	err = d.commits.failure.get()
	if d.closed {
		err = errClosed
	}
	if err != nil {
		d.gate.RUnlock()
		return nil, err
	}
	return d.leave, nil
}

// useFilters makes look-ups use filters on the lowest level too, where most keys are.
var useFilters = &pebble.IterOptions{UseL6Filters: true}

// Get implements [store.Database].
func (d *database) Get(key []byte) (value []byte, ok bool, err error) {
	found, err := d.pebble.NewIter(useFilters)
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

// Last implements [store.Database].
func (d *database) Last(ranges ...store.Range) ([]store.Entry, error) {
	found, err := d.pebble.NewIter(nil)
	if err != nil {
		return nil, explain(err)
	}
	last := make([]store.Entry, len(ranges))
	for i, of := range ranges {
		if !found.SeekLT(of.Upper) || bytes.Compare(found.Key(), of.Lower) < 0 {
			continue
		}
		var value []byte
		if value, err = found.ValueAndErr(); err != nil {
			break
		}
		last[i] = store.Entry{Key: bytes.Clone(found.Key()), Value: bytes.Clone(value)}
	}
	if err := errors.Join(err, found.Close()); err != nil { // Close also returns what ended a search
		return nil, explain(err)
	}
	return last, nil
}

// Entries implements [store.Database].
func (d *database) Entries(of store.Range, err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		found, opened := d.pebble.NewIter(&pebble.IterOptions{LowerBound: of.Lower, UpperBound: of.Upper})
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

// Commit implements [store.Database]. Commits become durable in the order in which they began.
// After an error the changes may or may not have been made.
func (d *database) Commit(begun func(), changes ...store.Entry) error {
	own, failure := commits.Get().(*commit), d.commits.failure
	own.changes, own.followed = changes, begun != nil
	select {
	case d.commits.queue <- own:
	case <-failure.happened:
	}
	if begun != nil {
		begun()
	}
	select {
	case err := <-own.done:
		own.changes = nil
		commits.Put(own)
		return err
	case <-failure.happened:
		return failure.get()
	}
}

// explainOpen is explain for opening the database: an error that is not the system's means damage.
func explainOpen(err error) error {
	if system := syscall.Errno(0); errors.As(err, &system) {
		return explain(err)
	}
	return damagedStore(err)
}

// damagedStoreError says that files of the store differ from the written data.
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

// explain adds the remedy to an error of the storage.
func explain(err error) error {
	if errors.Is(err, errKept) {
		return err // it is explained already
	}
	if pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) {
		return damagedStore(err)
	}
	return fmt.Errorf("%w; %w: %s, then open the store again", err, errKept, cmp.Or(remedy(err), "see to the disk"))
}

var errKept = errors.New("what was acknowledged is kept")

// remedy returns the user's remedy for an error of the file system, "" for an unknown one.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on its disk"
	case errors.Is(err, syscall.EROFS):
		return "mount its file system for writing"
	case errors.Is(err, os.ErrPermission):
		return "run as its owner"
	}
	return ""
}
