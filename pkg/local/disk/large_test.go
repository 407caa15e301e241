package disk_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
)

// slowFS is a file system whose first sync of the directory of large values begins, but does not
// end before it is released.
type slowFS struct {
	vfs.FS
	first          atomic.Bool
	begun, release chan struct{}
}

// OpenDir implements [vfs.FS].
func (s *slowFS) OpenDir(name string) (vfs.File, error) {
	if strings.HasSuffix(name, "values") && s.first.CompareAndSwap(false, true) {
		close(s.begun)
		<-s.release
	}
	return s.FS.OpenDir(name)
}

// Two writers store the first large values of an execution. The one that did not make the directory
// is durable too, also before the other one has synced it.
func TestALargeValueBesideTheFirstOneSurvivesACrash(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	slow := &slowFS{FS: mem, begun: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(slow.release) })
	defer release() // before the store is closed
	store := openOn(t, slow)
	values := map[string]string{"one": strings.Repeat("1", 1000), "two": strings.Repeat("2", 1000)}
	name := func(last string) string { return engine.NewID("flow", "run").String() + "/" + last }
	put := func(last string) {
		if err := store.StoreValue(t.Context(), name(last), []byte(values[last]), time.Now()); err != nil {
			t.Error(err)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); put("one") }()
	select {
	case <-slow.begun:
	case <-ended:
		t.Fatal("the directory of large values is not synced")
	case <-time.After(patience):
		t.Fatal("the first write does not begin")
	}
	put("two")
	after := openOn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	if data, err := after.LoadValue(t.Context(), name("two")); err != nil || string(data) != values["two"] {
		t.Errorf("after the crash it has %d bytes, error %v", len(data), err)
	}
	release()
	within(t, ended, "the end of the first write")
	after = openOn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	if data, err := after.LoadValue(t.Context(), name("one")); err != nil || string(data) != values["one"] {
		t.Errorf("after the sync it has %d bytes, error %v", len(data), err)
	}
}
