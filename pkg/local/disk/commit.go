package disk

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/local/store"
)

// committer groups commits: one write and one sync of the disk for all that arrived during the one
// before.
//
// Only its goroutine writes to the database. A failed write can block it for ever; callers learn of
// it from failure.
type committer struct {
	db      *pebble.DB
	queue   chan *commit
	ended   chan struct{}
	failure *failure
	// wrote is whether anything was written, known when ended is closed.
	wrote bool
	// together has memory for the commits that share a write.
	together []*commit
}

// commit is a set of changes that are made atomically.
type commit struct {
	changes  []store.Entry
	followed bool // another commit is expected to follow
	done     chan error
}

// longestPatience is how long a commit that is expected to be followed waits for the other one.
const longestPatience = time.Millisecond

// mostTogether bounds how many commits share a sync, and so the memory of their batch.
const mostTogether = 512

// commits that were made, for others.
var commits = sync.Pool{New: func() any { return &commit{done: make(chan error, 1)} }}

func (c *committer) run() {
	defer close(c.ended)
	var pace pace
	for first := range c.queue {
		together := c.collect(first, pace)
		begin := time.Now()
		err := c.write(together)
		c.wrote = true
		pace.took = time.Since(begin)
		alone := 0 // the process that waits for a commit that was expected to be followed also waits for the other one
		for _, each := range together {
			if !each.followed {
				alone++
			}
		}
		for _, each := range together {
			each.done <- err
		}
		pace.inFlight = alone + len(c.queue)
		clear(together)
	}
}

// pace describes the last write: how long it took, and how many writers were in it or waited for
// the next one.
type pace struct {
	took     time.Duration
	inFlight int
}

// collect returns first and what else is in the queue. It waits a little for the writers of the
// last write: without that, they and the others would take turns, and each sync would serve half of
// them.
func (c *committer) collect(first *commit, pace pace) []*commit {
	together := append(c.together[:0], first)
	defer func() { c.together = together }()
	wanted, wait := min(pace.inFlight, mostTogether), pace.took/4
	if wanted <= 1 && first.followed {
		wanted, wait = 2, min(pace.took, longestPatience) // the other one saves a write
	}
	if wanted <= 1 {
		return together
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	for len(together) < wanted {
		select {
		case next, ok := <-c.queue:
			if !ok {
				return together
			}
			together = append(together, next)
		case <-patience.C:
			return together
		}
	}
	return together
}

// write makes the changes of the commits. After an error no others are made, which may follow from
// these.
func (c *committer) write(together []*commit) (err error) {
	defer func() {
		if err != nil {
			err = c.failure.set(err)
		}
	}()
	defer c.failure.recoverInto(&err)
	if err := c.failure.get(); err != nil {
		return err
	}
	batch := c.db.NewBatch()
	for _, each := range together {
		for _, change := range each.changes {
			if change.Value == nil {
				err = batch.Delete(change.Key, nil)
			} else {
				err = batch.Set(change.Key, change.Value, nil)
			}
			if err != nil {
				return err
			}
		}
	}
	return errors.Join(batch.Commit(pebble.Sync), batch.Close())
}

// failure is the first error after which the database must not be used. It is also the database's
// logger, which receives fatal errors.
type failure struct {
	mu       sync.Mutex
	err      error
	happened chan struct{} // closed when err is set
}

func newFailure() *failure { return &failure{happened: make(chan struct{})} }

// set records err unless an error was recorded before, and returns the recorded one.
func (f *failure) set(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = explain(err)
		close(f.happened)
	}
	return f.err
}

func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// guard makes a call from which the database may never return.
func (f *failure) guard(call func() error) error {
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() { ended <- err }()
		defer f.recoverInto(&err)
		err = call()
	}()
	select {
	case err := <-ended:
		return err
	case <-f.happened:
		return f.get()
	}
}

// recoverInto is deferred around calls of the database, which panics at some errors of the disk.
func (f *failure) recoverInto(err *error) {
	switch problem := recover().(type) {
	case nil:
	case error:
		*err = f.set(problem)
	default:
		*err = f.set(fmt.Errorf("%v", problem))
	}
}

// background receives errors of background work. Tables that cannot be written would block later
// writes for ever.
func (f *failure) background(err error) {
	if !errors.Is(err, pebble.ErrCancelledCompaction) && !errors.Is(err, pebble.ErrClosed) {
		_ = f.set(err)
	}
}

// Infof implements [pebble.Logger].
func (f *failure) Infof(string, ...any) {}

// Errorf implements [pebble.Logger]. Such errors are also returned.
func (f *failure) Errorf(string, ...any) {}

// Fatalf implements [pebble.Logger]. It must not return, and its caller may hold locks, so the
// goroutine stays here until the process ends.
func (f *failure) Fatalf(format string, args ...any) {
	_ = f.set(fmt.Errorf(format, args...))
	select {}
}
