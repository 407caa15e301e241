package bounded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endless is a reader without an end. It counts what was read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestReadAllStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	var source endless
	if _, err := ReadAll(t.Context(), &source); err == nil || !strings.Contains(err.Error(), "more than 8 MiB") || source.read > MaxText+1 {
		t.Errorf("%d bytes read, %v", source.read, err)
	}
	if text, err := ReadAll(t.Context(), bytes.NewReader(make([]byte, MaxText))); err != nil || len(text) != MaxText {
		t.Errorf("at the limit: %d bytes, %v", len(text), err)
	}
}

func TestReadAllEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, never := io.Pipe()
	defer never.Close() //nolint:errcheck // never fails
	if _, err := ReadAll(ctx, silent); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(t.Context(), path); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadFile(t.Context(), path+"-none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if text, err := ReadRegular(os.DirFS(filepath.Dir(path)), "a"); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadRegular(os.DirFS(filepath.Dir(path)), "."); err == nil {
		t.Error("a folder was read")
	}
}
