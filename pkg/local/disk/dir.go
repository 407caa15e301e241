package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
)

// Check returns an error unless dir holds a store that only this user can read and write: one with
// [engine.CodeNotFound] if it holds no store, one with [engine.CodeInvalid] if it belongs to
// another user, or others have rights to it. A user who can write there can put a socket there,
// too.
func Check(dir string) error {
	op := "open store " + dir
	if !isStore(dir) {
		return &engine.Error{Code: engine.CodeNotFound, Op: op, Err: errors.New("there is no store")}
	}
	if err := checkPrivate(dir); err != nil {
		return &engine.Error{Code: engine.CodeInvalid, Op: op, Err: err}
	}
	return nil
}

// Inspect reads the store in dir and returns its format. It writes nothing. Its errors have the
// codes of [Open].
func Inspect(dir string) (format int, err error) {
	if format, err = inspect(dir); err != nil {
		return format, failedTo("read store "+dir, err)
	}
	return format, nil
}

func inspect(dir string) (format int, err error) {
	lock, err := lockDir(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if format, err = readFormat(filepath.Join(dir, formatFile)); err != nil {
		return format, err
	}
	if _, err := os.Stat(filepath.Join(dir, keysFile)); err != nil {
		return format, invalid("token keys: %w; %s", err, restoreKeys(filepath.Join(dir, keysFile)))
	}
	return format, inspectData(vfs.Default, dir)
}

// inspectData opens the database of the store without writing to it.
func inspectData(fs vfs.FS, path string) error {
	failure := newFailure()
	err := failure.guard(func() error {
		db, err := pebble.Open(fs.PathJoin(path, dataDir), &pebble.Options{FS: guardedFS{fs, failure}, Logger: failure, ReadOnly: true})
		if err != nil {
			return err
		}
		return db.Close()
	})
	if err != nil {
		return explainOpen(err)
	}
	return nil
}

// Holder returns the id of the process that opened the store in dir last, 0 if it is unknown.
func Holder(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, holderFile)) //nolint:gosec // G304: a fixed name in the store that the user chose
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// isStore reports whether the directory holds a store or a part of one.
func isStore(dir string) bool {
	for _, name := range []string{formatFile, dataDir} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// makeDir creates the directory of a store for its owner only, or checks an existing one.
func makeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if isStore(path) {
		return checkPrivate(path)
	}
	if err := checkEmpty(path); err != nil {
		return err
	}
	if err := checkPrivate(path); err != nil {
		return errors.New("a new store needs a directory that only you may open, such as a new one: " + filepath.Join(path, "waitless"))
	}
	return nil
}

// checkEmpty rejects a directory with other files: a mistyped name must not put a store among them.
func checkEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		// An Open that was killed before it numbered the store leaves these.
		name := entry.Name()
		unfinished := strings.HasPrefix(name, formatFile+".") && strings.HasSuffix(name, newSuffix)
		if name != lockFile && !unfinished {
			return fmt.Errorf("it is no store and holds other files, %s among them; use a new or an empty directory", name)
		}
	}
	return nil
}

// checkPrivate rejects a file or directory that others may open or that another user owns: stores
// hold the inputs of executions.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (id %d); use a store of your own", path, owner)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("others may open %s (mode %04o); take their rights away: chmod go= %s", path, mode, path)
	}
	return nil
}
