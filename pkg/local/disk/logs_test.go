package disk_test

import (
	"bytes"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
)

// logsFS counts the write-ahead logs that are used again, and the bytes that logs reserve.
type logsFS struct {
	vfs.FS
	reused, reserved *atomic.Int64
}

// Create implements [vfs.FS].
func (l logsFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.Create(name, category)
	if err != nil || filepath.Ext(name) != ".log" {
		return f, err
	}
	return logFile{f, l.reserved}, nil
}

// ReuseForWrite implements [vfs.FS].
func (l logsFS) ReuseForWrite(before, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	l.reused.Add(1)
	f, err := l.FS.ReuseForWrite(before, name, category)
	return logFile{f, l.reserved}, err
}

type logFile struct {
	vfs.File
	reserved *atomic.Int64
}

// Fd implements [vfs.File]. The database reserves space for files that have a number.
func (logFile) Fd() uintptr { return 0 }

// Preallocate implements [vfs.File].
func (l logFile) Preallocate(offset, length int64) error {
	l.reserved.Add(length)
	return l.File.Preallocate(offset, length)
}

// A write-ahead log that is used again takes as much space as it needs, and loses nothing in a
// crash: less and more than it had before is written to it.
func TestReusedLogsReserveNothing(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	fs := logsFS{mem, new(atomic.Int64), new(atomic.Int64)}
	store := openOn(t, fs)
	id := engine.NewID("flow", "one")
	seq := uint64(0)
	const kilobyte = 1000
	for _, size := range []int{1, 1, 600, 1, 600, 300, 1, 900} {
		for range 3 {
			item := engine.Item{Execution: id, Seq: seq, Nonce: "0123456789abcdef", Body: bytes.Repeat([]byte{'a' + byte(seq)}, size*kilobyte)}
			if err := store.Append(t.Context(), item); err != nil {
				t.Fatal(err)
			}
			after := openOn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
			if latest, err := after.Latest(t.Context(), id); err != nil || latest.Seq != seq || !bytes.Equal(latest.Body, item.Body) {
				t.Errorf("after a crash it has item %d of %d bytes, error %v; want item %d of %d bytes", latest.Seq, len(latest.Body), err, seq, len(item.Body))
			}
			seq++
		}
		if err := store.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if fs.reused.Load() == 0 || fs.reserved.Load() != 0 {
		t.Errorf("%d logs were used again, and logs reserved %d bytes", fs.reused.Load(), fs.reserved.Load())
	}
}
