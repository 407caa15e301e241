package disk

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/local/store"
)

// OpenOn opens a store on a file system of a test's own. Its token keys are not kept.
func OpenOn(fs vfs.FS) (*Store, error) {
	s, err := openData(fs, "store")
	if err == nil {
		s.keys = store.NewKeys()
	}
	return s, err
}

// OnDisk is the file system that [Open] uses.
func OnDisk() vfs.FS { return privateFS{vfs.Default} }

// FailedTo is the error of an operation on a store.
func FailedTo(op string, err error) error { return failedTo(op, err) }

// Flush writes what is in memory into tables.
func (s *Store) Flush() error { return s.db.pebble.Flush() }

// Damage overwrites every value under a prefix, and answers how many.
func (s *Store) Damage(prefix byte, value []byte) (damaged int, err error) {
	found, err := s.db.pebble.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
	if err != nil {
		return 0, err
	}
	for valid := found.First(); valid; valid = found.Next() {
		if err := s.db.pebble.Set(found.Key(), value, pebble.Sync); err != nil {
			return damaged, err
		}
		damaged++
	}
	return damaged, found.Close()
}

// KeysByKind returns how many keys there are of each kind.
func (s *Store) KeysByKind(tb testing.TB) map[byte]int {
	tb.Helper()
	kinds := map[byte]int{}
	var err error
	for key := range s.db.Entries(store.Range{Lower: []byte{0}, Upper: []byte{0xff}}, &err) {
		kinds[key[0]]++
	}
	if err != nil {
		tb.Fatal(err)
	}
	return kinds
}

// DeleteLog deletes the items of a log, as if they had expired before anything read them.
func (s *Store) DeleteLog(id [12]byte) (err error) {
	lower := append([]byte{'i'}, id[:]...)
	for key := range s.db.Entries(store.Range{Lower: []byte{'a'}, Upper: []byte{'b'}}, &err) {
		if bytes.HasSuffix(key, id[:]) {
			err = errors.Join(err, s.db.pebble.Delete(key, pebble.Sync))
		}
	}
	return errors.Join(err, s.db.pebble.DeleteRange(lower, append(bytes.Clone(lower), bytes.Repeat([]byte{0xff}, 9)...), pebble.Sync))
}
