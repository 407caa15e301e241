package disk_test

import (
	"syscall"
	"testing"
)

// refuseMemory skips a benchmark of durable writes where the folder is in
// memory, and a sync costs nothing.
func refuseMemory(b *testing.B, dir string) {
	b.Helper()
	const tmpfs = 0x01021994
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		b.Fatal(err)
	}
	if stat.Type == tmpfs {
		b.Skipf("%s is a tmpfs, where nothing is durable; set TMPDIR to a folder on a disk", dir)
	}
}
