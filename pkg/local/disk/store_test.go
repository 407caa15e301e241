package disk_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// filledStore is the directory of a store with an execution in it.
func filledStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, waitHour, "one")
	p.runUntil(t, waits)
	return dir
}

func TestDiskStoreIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are no modes there")
	}
	dir := filledStore(t)
	openDisk(t, dir)
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // pebble takes what it needs no more away beside us
		}
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, error %v", files, err)
	}
}

// openFails opens a store and finds the words in the error.
func openFails(t *testing.T, dir string, code engine.Code, words ...string) {
	t.Helper()
	store, err := disk.Open(dir)
	if err == nil {
		t.Error("the store was opened", store.Shut())
		return
	}
	if got := engine.CodeOf(err); got != code {
		t.Errorf("the error has code %s, want %s: %v", got, code, err)
	}
	for _, word := range append(words, dir) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		code  engine.Code
		words []string
	}{
		{"a store of a newer release", write("format", "2\n"), engine.CodeTooNew, []string{"format 2", "up to 1", "upgrade"}},
		{"a format that is no number", write("format", "one\n"), engine.CodeInvalid, []string{"format", "one"}},
		{"a store without its format", remove("format"), engine.CodeInvalid, []string{"format is missing"}},
		{"token keys that others may read", mode("token.key", 0o644), engine.CodeInvalid, []string{"token.key", "0644", "chmod"}},
		{"token keys that are too short", write("token.key", "1 00ff\n"), engine.CodeInvalid, []string{"2 bytes", "restore"}},
		{"token keys that are no keys", write("token.key", "1 secret\n"), engine.CodeInvalid, []string{"line 1", "hexadecimal"}},
		{
			"a token key with more behind it", write("token.key", "1 "+strings.Repeat("00", 32)+" 00\n"), engine.CodeInvalid,
			[]string{"line 1", "hexadecimal"},
		},
		{
			"a token key that is damaged behind its first bytes", write("token.key", "1 "+strings.Repeat("00", 32)+"xy"+strings.Repeat("00", 32)+"\n"),
			engine.CodeInvalid, []string{"line 1", "hexadecimal"},
		},
		{"token keys without an id", write("token.key", "00ff\n"), engine.CodeInvalid, []string{"line 1", "id"}},
		{"two token keys of one id", write("token.key", "1 "+strings.Repeat("00", 32)+"\n1 "+strings.Repeat("11", 32)+"\n"), engine.CodeInvalid, []string{"id 1"}},
		{"a directory that others may open", mode(".", 0o750), engine.CodeInvalid, []string{"0750", "chmod"}},
		{"a damaged manifest", overwrite("data/MANIFEST-*"), engine.CodeInternal, []string{"damaged", "restore"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filledStore(t)
			c.spoil(t, dir)
			before := contents(t, dir)
			openFails(t, dir, c.code, c.words...)
			if c.code == engine.CodeTooNew && contents(t, dir) != before {
				t.Error("the store was touched")
			}
		})
	}
}

func write(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func mode(name string, mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if runtime.GOOS == "windows" {
			t.Skip("rights are no modes there")
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// overwrite makes garbage of the files that match.
func overwrite(pattern string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if err := os.WriteFile(file, bytes.Repeat([]byte("garbage"), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// contents is all that is in the files of a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestDamagedTableIsAnError(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	item := engine.Item{Execution: engine.NewID("flow", "one"), Nonce: "n", Body: bytes.Repeat([]byte("body"), 1000)}
	if err := store.Append(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	if err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	overwrite("data/*.sst")(t, dir)
	store, err := disk.Open(dir)
	if err == nil {
		_, err = store.Latest(t.Context(), item.Execution)
		_ = store.Shut() // fails too, or not
	}
	if engine.CodeOf(err) != engine.CodeInternal {
		t.Errorf("error %v", err)
	}
}

func TestOneProcessHasTheStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	if os.Getenv(otherProcess) != "" {
		t.Skip("this is the other process")
	}
	store := openDisk(t, dir)
	openFails(t, dir, engine.CodeConflict, "in use")
	if out := openElsewhere(t, dir); !strings.Contains(out, "in use, by another process") || !strings.Contains(out, "Conflict") {
		t.Errorf("the other process says %s", out)
	}
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	if out := openElsewhere(t, dir); !strings.Contains(out, "opened") {
		t.Errorf("the other process says %s", out)
	}
}

// A store whose lock cannot be opened is not in use.
func TestALockThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.MkdirAll(filepath.Join(dir, "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	openFails(t, dir, engine.CodeInvalid, "is a directory")
	if _, err := disk.Inspect(dir); engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("error %v", err)
	}
}

func TestErrorsOfTheFileSystemSayTheRemedy(t *testing.T) {
	t.Parallel()
	for cause, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "free space on its disk, or use another directory",
		syscall.EDQUOT: "free space on its disk, or use another directory",
		syscall.EROFS:  "mount its file system for writing, or use another directory",
		syscall.EACCES: "run as its owner, or use another directory",
		syscall.EPERM:  "run as its owner, or use another directory",
	} {
		err := disk.FailedTo("open store here", &os.PathError{Op: "open", Path: "here/lock", Err: cause})
		if engine.CodeOf(err) != engine.CodeInvalid || err.Error() != "open store here: open here/lock: "+cause.Error()+"; "+want {
			t.Errorf("%d: %v", cause, err)
		}
	}
}

// otherProcess tells a copy of the test's program which store to open.
const otherProcess = "WAITLESS_TEST_STORE"

func openElsewhere(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOtherProcess$", "-test.v")
	cmd.Env = append(os.Environ(), otherProcess+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestOtherProcess is the other process of TestOneProcessHasTheStore.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(otherProcess)
	if dir == "" {
		t.Skip("it is for a process of its own, which TestOneProcessHasTheStore starts")
	}
	store, err := disk.Open(dir)
	if err != nil {
		t.Logf("%s: %v", engine.CodeOf(err), err)
		return
	}
	t.Log("opened")
	if err := store.Shut(); err != nil {
		t.Error(err)
	}
}

func TestTokenKeysStay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	id := token.ID{Execution: engine.NewID("flow", "one"), Number: 1, Expires: epoch}
	store := openDisk(t, dir)
	text := store.Keys().Sign(id)
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	if again := openDisk(t, dir).Keys().Sign(id); again != text {
		t.Error("the key is another one after a restart")
	}
	if another := openDisk(t, filepath.Join(t.TempDir(), "store")).Keys().Sign(id); another == text {
		t.Error("two stores have the same key")
	}
}

func TestPreviousKeyVerifies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	id := token.ID{Execution: engine.NewID("flow", "one"), Number: 1, Expires: epoch}
	store := openDisk(t, dir)
	text := store.Keys().Sign(id)
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "token.key")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write("token.key", "2 "+strings.Repeat("5a", token.SecretSize)+"\n"+string(before))(t, dir)
	keys := openDisk(t, dir).Keys()
	if _, _, err := keys.Verify(text, epoch.Add(-1)); err != nil || keys.Sign(id) == text {
		t.Errorf("error %v", err)
	}
}

func TestShutStoreReturnsAnError(t *testing.T) {
	t.Parallel()
	store := openDisk(t, filepath.Join(t.TempDir(), "store"))
	for range 2 {
		if err := store.Shut(); err != nil {
			t.Fatal(err)
		}
	}
	_, latest := store.Latest(t.Context(), engine.ID{})
	_, items := store.Items(t.Context(), engine.ID{}, 0, 1)
	_, unfinished := store.Unfinished(t.Context())
	_, flow := store.Flow(t.Context(), machine.FlowRef{Name: "flow"})
	_, put := store.Put(t.Context(), "flow", []byte(passOnly))
	_, record := store.Record(t.Context(), "handle")
	_, beat := store.Beat(t.Context(), "handle", epoch)
	_, closing := store.Close(t.Context(), "handle", token.CloseOp{Outcome: answered})
	for i, err := range []error{latest, items, unfinished, flow, put, record, beat, closing, store.Append(t.Context(), engine.Item{})} {
		if engine.CodeOf(err) != engine.CodeInternal || !strings.Contains(err.Error(), "closed") {
			t.Errorf("call %d: error %v", i, err)
		}
	}
}

func TestFlowsAndOutcomesSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	flow, err := store.Put(t.Context(), "flow", []byte(passOnly))
	if err != nil {
		t.Fatal(err)
	}
	closed, err := store.Close(t.Context(), "handle", token.CloseOp{Outcome: answered, By: token.ClosedByHand, At: epoch})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	store = openDisk(t, dir)
	if found, err := store.Flow(t.Context(), flow); err != nil || found.Steps[0].Name != "Only" {
		t.Errorf("the flow is %+v, error %v", found, err)
	}
	if again, err := store.Record(t.Context(), "handle"); err != nil || !bytes.Equal(again.Encode(), closed.Encode()) {
		t.Errorf("the record is %+v, error %v; want %+v", again, err, closed)
	}
}

func TestDiskStoreRefusesGaps(t *testing.T) {
	t.Parallel()
	store := openDisk(t, filepath.Join(t.TempDir(), "store"))
	err := store.Append(t.Context(), engine.Item{Seq: 1})
	if engine.CodeOf(err) != engine.CodeInternal || !strings.Contains(err.Error(), "item 1 would leave a gap after 0 items") {
		t.Errorf("error %v", err)
	}
	if err := store.Append(t.Context(), engine.Item{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Append(t.Context(), engine.Item{Seq: 2}); err == nil || !strings.Contains(err.Error(), "item 2 would leave a gap after 1 items") {
		t.Errorf("error %v", err)
	}
}

// A directory that holds something else is left as it is.
func TestOpenLeavesOtherDirectoriesAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "letters")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write("letter", "hello")(t, dir)
	before := contents(t, dir)
	openFails(t, dir, engine.CodeInvalid, "no store", "letter", "an empty directory")
	if contents(t, dir) != before {
		t.Error("the directory was touched")
	}
}

// What was begun and not finished is finished.
func TestOpenFinishesAStoreThatWasBegun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write("lock", "")(t, dir)
	write("format.123.new", "")(t, dir)
	if err := openDisk(t, dir).Shut(); err != nil {
		t.Error(err)
	}
}

// A table that is cut short is found when a store that was shut is opened.
func TestAStoreThatWasShutIsInTables(t *testing.T) {
	t.Parallel()
	dir := filledStore(t)
	tables, err := filepath.Glob(filepath.Join(dir, "data", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	if err := os.Truncate(tables[0], 100); err != nil {
		t.Fatal(err)
	}
	openFails(t, dir, engine.CodeInternal, "damaged", "100", "restore a copy")
}
