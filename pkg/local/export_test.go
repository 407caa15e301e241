package local

import (
	"context"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpenOn opens a store on a file system of a test's own. It has no token keys.
func OpenOn(fs vfs.FS) (*DiskStore, error) { return openData(fs, "store", "open store test") }

// OnDisk is the file system that [Open] uses.
func OnDisk() vfs.FS { return privateFS{vfs.Default} }

// Flush writes what is in memory into tables.
func (s *DiskStore) Flush() error { return s.db.Flush() }

// Recovered sends the wakes of what an earlier process left, as the first run
// does.
func (s *System) Recovered(ctx context.Context) error { return s.recover(ctx) }
