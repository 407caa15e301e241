package disk

import "github.com/cockroachdb/pebble/v2/vfs"

// OpenOn opens a store on a file system of a test's own. It has no token keys.
func OpenOn(fs vfs.FS) (*Store, error) { return openData(fs, "store", "open store test") }

// OnDisk is the file system that [Open] uses.
func OnDisk() vfs.FS { return privateFS{vfs.Default} }

// Flush writes what is in memory into tables.
func (s *Store) Flush() error { return s.db.Flush() }
