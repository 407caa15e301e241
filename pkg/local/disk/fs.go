package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// privateFS creates files for their owner only.
type privateFS struct{ vfs.FS }

// Unwrap implements [vfs.FS].
func (p privateFS) Unwrap() vfs.FS { return p.FS }

// Create implements [vfs.FS].
func (p privateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.Create(name, category)
	return private(name, f, err)
}

// OpenReadWrite implements [vfs.FS].
func (p privateFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	f, err := p.FS.OpenReadWrite(name, category, options...)
	return private(name, f, err)
}

// Lock implements [vfs.FS].
func (p privateFS) Lock(name string) (io.Closer, error) {
	f, err := p.FS.Lock(name)
	return private(name, f, err)
}

// MkdirAll implements [vfs.FS].
func (p privateFS) MkdirAll(dir string, _ os.FileMode) error { return p.FS.MkdirAll(dir, 0o700) }

// private removes the rights of others from a file that was just opened.
func private[F io.Closer](name string, f F, err error) (F, error) {
	if err != nil {
		return f, err
	}
	if err := os.Chmod(name, 0o600); err != nil {
		return *new(F), errors.Join(err, f.Close())
	}
	return f, nil
}

// guardedFS hides failed writes from the database, which would panic or end the process. The write
// never returns, and failure reports the error to all who wait.
type guardedFS struct {
	vfs.FS
	failure *failure
}

// Unwrap implements [vfs.FS].
func (g guardedFS) Unwrap() vfs.FS { return g.FS }

// Create implements [vfs.FS].
func (g guardedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.Create(name, category)
	if err == nil && filepath.Ext(name) == ".log" {
		f = &zeroedFile{File: f}
	}
	return g.guarded(f, err)
}

// OpenReadWrite implements [vfs.FS].
func (g guardedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.OpenReadWrite(name, category, options...)
	return g.guarded(f, err)
}

// ReuseForWrite implements [vfs.FS]. Only write-ahead logs are used again. Their reader tells old
// data by its number.
func (g guardedFS) ReuseForWrite(before, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.ReuseForWrite(before, name, category)
	if err != nil {
		return g.guarded(f, err)
	}
	info, err := f.Stat()
	if err != nil {
		return g.guarded(f, err)
	}
	return g.guarded(&zeroedFile{File: f, zeroed: info.Size()}, nil)
}

// OpenDir implements [vfs.FS].
func (g guardedFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	return g.guarded(f, err)
}

// Rename implements [vfs.FS].
func (g guardedFS) Rename(before, name string) error {
	return g.failure.stay(g.FS.Rename(before, name))
}

func (g guardedFS) guarded(f vfs.File, err error) (vfs.File, error) {
	if err := g.failure.stay(err); err != nil {
		return nil, err
	}
	return guardedFile{f, g.failure}, nil
}

type guardedFile struct {
	vfs.File
	failure *failure
}

// Write implements [vfs.File].
func (g guardedFile) Write(p []byte) (int, error) {
	n, err := g.File.Write(p)
	return n, g.failure.stay(err)
}

// WriteAt implements [vfs.File].
func (g guardedFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := g.File.WriteAt(p, at)
	return n, g.failure.stay(err)
}

// Sync implements [vfs.File].
func (g guardedFile) Sync() error { return g.failure.stay(g.File.Sync()) }

// SyncData implements [vfs.File].
func (g guardedFile) SyncData() error { return g.failure.stay(g.File.SyncData()) }

// SyncTo implements [vfs.File].
func (g guardedFile) SyncTo(length int64) (bool, error) {
	whole, err := g.File.SyncTo(length)
	return whole, g.failure.stay(err)
}

// zeroedFile writes zeros ahead of the data. A sync of data that replaces zeros writes the data
// only; a sync of data that extends the file, or fills reserved space, also writes metadata and
// takes half as long again.
//
// It is for the write-ahead log, because the log's reader stops at zeros.
type zeroedFile struct {
	vfs.File
	written, zeroed int64
}

// Write implements [vfs.File].
func (z *zeroedFile) Write(p []byte) (int, error) {
	for z.written+int64(len(p)) > z.zeroed {
		n, err := z.WriteAt(zeros[:], z.zeroed)
		z.zeroed += int64(n)
		if err != nil {
			return 0, err
		}
	}
	n, err := z.File.Write(p)
	z.written += int64(n)
	return n, err
}

// Preallocate implements [vfs.File] and does nothing: the zeros allocate the space.
func (z *zeroedFile) Preallocate(int64, int64) error { return nil }

// zeros are written at once: many commits long, so that few commits wait for them, and short enough
// for a short run.
var zeros [256 << 10]byte

// stay records an error of the disk and then never returns. That a file exists or does not exist is
// a result, not an error.
func (f *failure) stay(err error) error {
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
		return err
	}
	_ = f.set(err)
	select {}
}
