package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// largeDir has the large values of the store, a directory for each execution. In the database each of them
// would be written several times.
const largeDir = "values"

// StoreValue implements [engine.LargeValues]. Only the owner of the store can read the file. Nothing
// deletes executions or their values.
func (s *Store) StoreValue(ctx context.Context, name string, data []byte, _ time.Time) error {
	file, err := s.largeFile(ctx, name)
	if err != nil {
		return err
	}
	defer s.db.leave()
	err = makeDurable(filepath.Dir(file))
	if err == nil {
		err = writePrivate(file, data)
	}
	return largeError("store", name, err)
}

// LoadValue implements [engine.LargeValues].
func (s *Store) LoadValue(ctx context.Context, name string) ([]byte, error) {
	file, err := s.largeFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer s.db.leave()
	data, err := os.ReadFile(file) //nolint:gosec // G304: the engine makes the names
	if errors.Is(err, os.ErrNotExist) {
		return nil, engine.ErrNotFound
	}
	return data, largeError("read", name, err)
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
	return filepath.Join(s.path, largeDir, name), err
}

// makeDurable makes the directory of an execution's values.
func makeDurable(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	return errors.Join(syncDir(parent), syncDir(filepath.Dir(parent)))
}

func largeError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &engine.Error{Code: engine.CodeInternal, Op: op + " large value " + name, Err: err}
}
