package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
)

// largeDir has the large values of the store, a directory for each execution. In the database each of them
// would be written several times.
const largeDir = "values"

// makeLargeDir makes the directory for large values, durably.
func (s *Store) makeLargeDir() error {
	return errors.Join(s.fs.MkdirAll(s.fs.PathJoin(s.path, largeDir), 0o700), syncDir(s.fs, s.path))
}

// StoreValue implements [engine.LargeValues]. Only the owner of the store can read the file. Nothing
// deletes executions or their values.
func (s *Store) StoreValue(ctx context.Context, name string, data []byte, _ time.Time) error {
	file, err := s.largeFile(ctx, name)
	if err != nil {
		return err
	}
	defer s.db.leave()
	return largeError("store", name, s.writeLarge(file, data))
}

// writeLarge writes a file, durably. The directory of the execution may have been made by a writer that has not synced
// it yet, or died before.
func (s *Store) writeLarge(file string, data []byte) error {
	dir := s.fs.PathDir(file)
	if err := s.fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := s.fs.Create(file, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(s.fs, dir), syncDir(s.fs, s.fs.PathDir(dir)))
}

// LoadValue implements [engine.LargeValues].
func (s *Store) LoadValue(ctx context.Context, name string) ([]byte, error) {
	file, err := s.largeFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer s.db.leave()
	f, err := s.fs.Open(file, vfs.SequentialReadsOption)
	if errors.Is(err, os.ErrNotExist) {
		return nil, engine.ErrNotFound
	}
	if err != nil {
		return nil, largeError("read", name, err)
	}
	data, err := io.ReadAll(f)
	return data, largeError("read", name, errors.Join(err, f.Close()))
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

func largeError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &engine.Error{Code: engine.CodeInternal, Op: op + " large value " + name, Err: err}
}
