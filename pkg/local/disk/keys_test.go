package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
)

// waitingStore is a store in which a step waits for a callback, and its token.
func waitingStore(t *testing.T) (dir, text string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, callbackTask, "one")
	p.runToEnd(t)
	p.shut(t)
	return dir, p.token
}

func TestOpenFailsWithoutTheKeysOfOpenTokens(t *testing.T) {
	t.Parallel()
	dir, text := waitingStore(t)
	file := filepath.Join(dir, "token.key")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	remove("token.key")(t, dir)
	for range 2 { // the refused open made no key
		openFails(t, dir, engine.CodeInvalid, "token.key", "missing", "tokens signed with it are open", "restore", "echo new >")
	}
	write("token.key", string(before))(t, dir)
	p := begin(t, dir, later)
	if _, _, err := resumetest.Close(t.Context(), p.Tokens, text, answered); err != nil {
		t.Error(err)
	}
}

func TestOpenMakesNewKeysOnRequest(t *testing.T) {
	t.Parallel()
	dir, text := waitingStore(t)
	write("token.key", "new\n")(t, dir)
	p := begin(t, dir, later)
	if _, _, err := resumetest.Close(t.Context(), p.Tokens, text, answered); err == nil {
		t.Error("a token of the keys before is accepted")
	}
	keys := p.store.Keys()
	p.shut(t)
	if again := openDisk(t, dir).Keys(); string(again.Current.Secret) != string(keys.Current.Secret) {
		t.Error("the new keys were not kept")
	}
}

func TestOpenMakesMissingKeysWithoutOpenTokens(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, oneTask, "one")
	p.runToEnd(t)
	p.want(t, machine.StatusSucceeded, "", 0)
	p.shut(t)
	remove("token.key")(t, dir)
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Shut(); err != nil {
		t.Error(err)
	}
}
