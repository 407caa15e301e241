// Package bounded reads the texts that a user names, and stops at a limit: a device or a pipe may
// have no end.
package bounded

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxText is the limit of a text in bytes. Definitions and inputs have lower limits, so their
// readers report these first.
const MaxText = 8 << 20

// ReadAll reads r to its end, or until ctx ends: it then returns the error of ctx. It fails for a
// text of more than [MaxText] bytes.
func ReadAll(ctx context.Context, r io.Reader) ([]byte, error) {
	return await(ctx, func() ([]byte, error) { return read(r) })
}

// ReadFile is [ReadAll] of a file. The file may be a pipe or a device, for the user names it.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	return await(ctx, func() ([]byte, error) {
		file, err := os.Open(path) //nolint:gosec // G304: the user names the file
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was read from
		return read(file)
	})
}

// ReadRegular reads a file that another file names or that stands in a folder. It fails for a pipe,
// which it does not open: that could wait without end.
func ReadRegular(files fs.FS, name string) ([]byte, error) {
	switch info, err := fs.Stat(files, name); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was read from
	return read(file)
}

func read(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err == nil && len(text) > MaxText {
		return nil, fmt.Errorf("it has more than %d MiB, the limit of a text", MaxText>>20)
	}
	return text, err
}

// await returns the result of a read that no context can end, or the error of ctx.
func await(ctx context.Context, read func() ([]byte, error)) (text []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = read()
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
