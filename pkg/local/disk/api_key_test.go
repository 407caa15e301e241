package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/local/disk"
)

func TestAPIKeyIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Shut() })
	key, err := store.APIKey()
	if err != nil || len(key) < 24 {
		t.Fatalf("key of %d bytes, %v", len(key), err)
	}
	if again, err := store.APIKey(); err != nil || again != key {
		t.Errorf("another time it is another key: %v", err)
	}
	file := filepath.Join(dir, disk.APIKeyFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file %+v, %v", info, err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.APIKey(); err == nil || !strings.Contains(err.Error(), "chmod go=") {
		t.Errorf("a key that others may read: %v", err)
	}
	if err := os.WriteFile(file, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.APIKey(); err == nil || !strings.Contains(err.Error(), "at least 24") {
		t.Errorf("a short key: %v", err)
	}
}
