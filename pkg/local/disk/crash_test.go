package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func openOn(t *testing.T, fs vfs.FS) *disk.Store {
	t.Helper()
	store, err := disk.OpenOn(fs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Shut() }) // answers what a test broke
	return store
}

// promises is what a store has acknowledged: it has to hold for ever.
type promises struct {
	mu      sync.Mutex
	items   map[engine.ID]uint64    // by execution, how many items it has at least
	records map[string]token.Record // of closed tokens
	waits   map[int]*waitPromises   // by writer
	errs    []error                 // what writers ended with
}

func newPromises() *promises {
	return &promises{items: map[engine.ID]uint64{}, records: map[string]token.Record{}, waits: map[int]*waitPromises{}}
}

// copy is what was promised up to now.
func (p *promises) copy() *promises {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := newPromises()
	for id, count := range p.items {
		now.items[id] = count
	}
	for handle, record := range p.records {
		now.records[handle] = record
	}
	for writer, waits := range p.waits {
		now.waits[writer] = waits.copy()
	}
	return now
}

func (p *promises) item(id engine.ID, seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items[id] = max(p.items[id], seq+1)
}

func (p *promises) record(handle string, record token.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records[handle] = record
}

func crashID(writer int) engine.ID { return engine.NewID("crash", fmt.Sprint(writer)) }

// crashRest is the rest of an item: most have another one than the item before.
func crashRest(seq uint64) machine.Rest { return machine.Rest(seq % 4) }

func crashItem(id engine.ID, seq uint64) engine.Item {
	body := bytes.Repeat(fmt.Appendf(nil, "%s %d;", id, seq), 1+int(seq%20))
	return engine.Item{Execution: id, Seq: seq, Nonce: fmt.Sprintf("%s-%d", id, seq), Body: body, Rest: crashRest(seq)}
}

// write appends items and closes tokens until there are so many, ctx ends, or the store fails. As a
// worker does, it appends an item while the outcome from which the item follows is written.
func (p *promises) write(ctx context.Context, store *disk.Store, writer int, most uint64) {
	id := crashID(writer)
	durable := func() error { return nil }
	defer func() { _ = durable() }() // it fails if ctx ends
	for seq := uint64(0); seq < most && ctx.Err() == nil; seq++ {
		err := store.Append(ctx, crashItem(id, seq))
		err = errors.Join(err, durable())
		durable = func() error { return nil }
		if err == nil {
			p.item(id, seq)
			durable, err = p.close(ctx, store, fmt.Sprintf("%s-%d", id, seq))
		}
		if err != nil && ctx.Err() == nil {
			p.mu.Lock()
			p.errs = append(p.errs, err)
			p.mu.Unlock()
			return
		}
	}
}

// close closes a token, and returns when workers see the outcome.
func (p *promises) close(ctx context.Context, store *disk.Store, handle string) (durable func() error, err error) {
	applied, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		op := token.CloseOp{Outcome: token.Success(value.String(handle)), By: token.ClosedByHand, At: epoch}
		record, err := store.CloseEarly(ctx, handle, op, func() { close(applied) })
		if err == nil {
			p.record(handle, record)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return func() error { return nil }, err
	case <-applied:
	}
	if record, err := store.RecordEarly(ctx, handle); err == nil && record.Open() {
		err = fmt.Errorf("record %s is open for workers", handle)
		return func() error { return <-ended }, err
	}
	return func() error { return <-ended }, nil
}

// read asks for what writers are at: what a reader was told holds as well.
func (p *promises) read(ctx context.Context, store *disk.Store, writer int) {
	id := crashID(writer)
	for ctx.Err() == nil {
		latest, err := store.Latest(ctx, id)
		if err != nil {
			continue
		}
		p.item(id, latest.Seq)
		handle := fmt.Sprintf("%s-%d", id, latest.Seq)
		if record, err := store.Record(ctx, handle); err == nil && !record.Open() {
			p.record(handle, record)
		}
	}
}

// check: what was promised is there, and logs are without gaps or damage.
func (p *promises) check(t *testing.T, store *disk.Store) {
	t.Helper()
	rests := map[engine.ID]machine.Rest{}
	list, err := store.Unfinished(t.Context())
	if err != nil {
		t.Error(err)
	}
	for _, unfinished := range list {
		rests[unfinished.Execution] = unfinished.Rest
	}
	for id, count := range p.items {
		items, err := store.Items(t.Context(), id, 0, 1<<20)
		if err != nil || uint64(len(items)) < count {
			t.Errorf("execution %s has %d items, error %v; acknowledged were %d", id, len(items), err, count)
		}
		if rest, ok := rests[id]; !ok || len(items) > 0 && rest != crashRest(uint64(len(items)-1)) {
			t.Errorf("execution %s with %d items has rest %d, listed: %t", id, len(items), rest, ok)
		}
		for i, item := range items {
			if want := crashItem(id, uint64(i)); item.Seq != want.Seq || item.Nonce != want.Nonce || !bytes.Equal(item.Body, want.Body) {
				t.Errorf("item %d of execution %s is not as it was put", i, id)
			}
			if i == 0 {
				continue
			}
			if before, err := store.Record(t.Context(), items[i-1].Nonce); err != nil || before.Open() {
				t.Errorf("item %d of execution %s is there, the outcome from which it follows is not: error %v", i, id, err)
			}
		}
	}
	for handle, want := range p.records {
		got, err := store.Record(t.Context(), handle)
		if err != nil || !bytes.Equal(got.Encode(), want.Encode()) {
			t.Errorf("record %s is %+v, error %v; acknowledged was %+v", handle, got, err, want)
		}
	}
	p.checkWaits(t, store)
}

// TestAcknowledgedSurvivesACrash cuts the power at random instants: what was
// not synced is lost in part or as a whole.
func TestAcknowledgedSurvivesACrash(t *testing.T) {
	t.Parallel()
	const writers, crashes, mostItems = 8, 20, 500 // which bounds how long the checks take
	fs := vfs.NewCrashableMem()
	store := openOn(t, errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isSync(op) {
			time.Sleep(time.Millisecond) // so that others may look at what is not synced
		}
		return nil
	})))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	promised := newPromises()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { promised.write(ctx, store, i, mostItems) })
		all.Go(func() { promised.read(ctx, store, i) })
		all.Go(func() { promised.wait(ctx, store, i, mostItems) })
	}
	random := rand.New(rand.NewPCG(1, 2))
	for crash := range crashes {
		time.Sleep(time.Duration(random.IntN(5_000)) * time.Microsecond)
		if crash%5 == 4 {
			if err := store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		before := promised.copy() // what comes later may be lost
		lost := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: crash % 3 * 50, RNG: random})
		before.forgetTaken(promised.copy())
		before.check(t, openOn(t, lost))
		if t.Failed() {
			t.Fatalf("that was crash %d", crash)
		}
	}
	cancel()
	all.Wait()
	bindings := 0
	for _, waits := range promised.waits {
		bindings += waits.bindings
	}
	t.Logf("%d tokens were closed, %d waiters bound", len(promised.records), bindings)
	if len(promised.errs) > 0 || len(promised.records) < crashes || bindings < crashes {
		t.Errorf("%d tokens were closed, %d waiters bound, errors %v", len(promised.records), bindings, promised.errs)
	}
}

// TestDiskFailure: every write after an instant fails, as on a full disk.
// All calls then answer with an error, soon, and what was acknowledged is
// there when the disk is seen to.
func TestDiskFailure(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(errorfs.Op) bool{
		"writes":           func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite },
		"syncs":            isSync,
		"writes of logs":   func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") },
		"writes of tables": func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst") },
		"new files":        func(op errorfs.Op) bool { return op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite },
		"the manifest": func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "MANIFEST")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failDisk(t, fails)
		})
	}
}

func isSync(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
}

func failDisk(t *testing.T, fails func(errorfs.Op) bool) {
	t.Helper()
	var full atomic.Bool
	mem := vfs.NewCrashableMem()
	store := openOn(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && fails(op) {
			return syscall.ENOSPC
		}
		return nil
	})))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	promised := newPromises()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { promised.write(ctx, store, i, 1<<40) })
		all.Go(func() { promised.wait(ctx, store, i, 1<<40) })
	}
	time.Sleep(20 * time.Millisecond)
	full.Store(true)
	go func() { _ = store.Flush() }() // tables are written now and then
	all.Wait()
	if len(promised.errs) != 2*8 {
		t.Fatalf("%d of 16 writers were told of an error: %v", len(promised.errs), promised.errs)
	}
	for _, err := range promised.errs {
		if engine.CodeOf(err) != engine.CodeInternal || !strings.Contains(err.Error(), "no space left on device") ||
			!strings.Contains(err.Error(), "free space on its disk, then open the store again") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := store.Latest(t.Context(), crashID(0)); err == nil {
		t.Error("a read is answered, although it is unknown what the disk has")
	}
	if err := store.Shut(); err == nil {
		t.Error("shut: no error")
	}
	promised.check(t, openOn(t, mem.CrashClone(vfs.CrashCloneCfg{})))
}

// TestOpenOnAFullDisk ends with an error, and does not hang.
func TestOpenOnAFullDisk(t *testing.T) {
	t.Parallel()
	for after := range 40 {
		var ops atomic.Int64
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && ops.Add(1) > int64(after) {
				return syscall.ENOSPC
			}
			return nil
		}))
		store, err := disk.OpenOn(fs)
		if err == nil { // so much the first opening writes
			if _, err = store.Put(t.Context(), "flow", []byte(passOnly)); err == nil {
				t.Errorf("after %d writes: no error", after)
			}
			_ = store.Shut()
			continue
		}
		if engine.CodeOf(err) != engine.CodeInternal || !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "no space left") {
			t.Errorf("after %d writes: error %v", after, err)
		}
		if strings.Count(err.Error(), "then open the store again") > 1 {
			t.Errorf("after %d writes, what to do is said twice: %v", after, err)
		}
	}
}
