package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
)

// largeDir has the large values of the store, a directory for each execution. In the database each
// of them would be written several times.
const largeDir = "values"

// withExpiry ends the names of files that begin with their expiry. Earlier releases wrote files
// without.
const withExpiry = ".value"

// expirySize is the size of the expiry of a large value, in seconds since 1970. The file begins
// with it.
const expirySize = 8

// StoreValue implements [engine.LargeValues]. Only the owner of the store can read the file.
func (s *Store) StoreValue(ctx context.Context, name string, data []byte, expires time.Time) error {
	file, err := s.largeFile(ctx, name)
	if err != nil {
		return err
	}
	defer s.db.leave()
	expiry := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix())) //nolint:gosec // as it is read
	return largeError("store", name, s.writeLarge(file+withExpiry, expiry, data))
}

// writeLarge writes a file, durably. The directory of the execution may have been made by a writer
// that has not synced it yet, or died before.
func (s *Store) writeLarge(file string, expiry, data []byte) error {
	dir := s.fs.PathDir(file)
	s.storing.RLock()
	defer s.storing.RUnlock()
	if err := s.fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := s.fs.Create(file, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(expiry)
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Sync(), f.Close(), syncDir(s.fs, dir), syncDir(s.fs, s.fs.PathDir(dir)))
}

// LoadValue implements [engine.LargeValues].
func (s *Store) LoadValue(ctx context.Context, name string) ([]byte, error) {
	file, err := s.largeFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer s.db.leave()
	skip := expirySize
	f, err := s.fs.Open(file+withExpiry, vfs.SequentialReadsOption)
	if errors.Is(err, os.ErrNotExist) {
		skip = 0
		f, err = s.fs.Open(file, vfs.SequentialReadsOption)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, engine.ErrNotFound
	}
	if err != nil {
		return nil, largeError("read", name, err)
	}
	data, err := io.ReadAll(f)
	if err == nil && len(data) < skip {
		err = io.ErrUnexpectedEOF
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, largeError("read", name, err)
	}
	return data[skip:], nil
}

// largeFile returns the file of a value. The caller must leave the database then.
func (s *Store) largeFile(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("large value %q: invalid name", name)
	}
	_, err := s.db.Enter()
	return s.fs.PathJoin(s.path, largeDir, name), err
}

// HasValues implements [store.ValueFiles].
func (s *Store) HasValues(log engine.ID) bool {
	_, err := s.fs.Stat(s.valuesOf(log))
	return !errors.Is(err, os.ErrNotExist)
}

// RemoveValues implements [store.ValueFiles]. A directory that is empty then is removed.
func (s *Store) RemoveValues(log engine.ID, expires time.Time) error {
	dir := s.valuesOf(log)
	names, err := s.fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, s.removeValue(s.fs.PathJoin(dir, name), expires))
	}
	if err != nil {
		return fmt.Errorf("remove the large values of execution %s: %w", log, err)
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	if names, err = s.fs.List(dir); err != nil || len(names) > 0 {
		return err
	}
	return s.fs.Remove(dir)
}

// removeValue removes a file with this expiry. A file that is too short is being written, or was
// cut short by a crash.
func (s *Store) removeValue(file string, expires time.Time) error {
	if !strings.HasSuffix(file, withExpiry) {
		return s.fs.Remove(file)
	}
	f, err := s.fs.Open(file)
	if err != nil {
		return err
	}
	var expiry [expirySize]byte
	_, err = io.ReadFull(f, expiry[:])
	if isShort := f.Close() != nil || err != nil; isShort || binary.BigEndian.Uint64(expiry[:]) != uint64(expires.Unix()) { //nolint:gosec // as it was written
		return nil
	}
	return s.fs.Remove(file)
}

func (s *Store) valuesOf(log engine.ID) string { return s.fs.PathJoin(s.path, largeDir, log.String()) }

func largeError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &engine.Error{Code: engine.CodeInternal, Op: op + " large value " + name, Err: err}
}
