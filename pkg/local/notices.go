package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// NoticeSender sends notices to the targets of executions.
type NoticeSender interface {
	// Send sends a notice. It is repeated after an error, unless that is [ErrTargetGone].
	Send(ctx context.Context, notice engine.Notice) error
	// GaveUp is called when a notice is not sent any more.
	GaveUp(notice engine.Notice, why error)
}

// ErrTargetGone means that a target wants no more notices.
var ErrTargetGone = errors.New("the target is gone")

// noticesAtOnce is how many notices are sent at once.
const noticesAtOnce = 16

// notices sends the notices of the store. It implements [engine.Notices].
type notices struct {
	system *System
	turns  chan struct{}
	all    sync.WaitGroup

	mu      sync.Mutex
	sending map[string]bool // by id
}

// Notify implements [engine.Notices].
func (n *notices) Notify(ctx context.Context, notice engine.Notice) error {
	stored, err := n.system.config.Store.AddNotice(ctx, StoredNotice{Notice: notice, Since: n.system.config.Clock.Now()})
	if err == nil {
		n.begin(n.system.run.Load(), stored)
	}
	return err
}

func (s *System) storedNotices(ctx context.Context) iter.Seq2[StoredNotice, error] {
	return pages(func(after StoredNotice, limit int) ([]StoredNotice, error) {
		return s.config.Store.Notices(ctx, after, limit)
	})
}

// reportEndsAgain sends the wakes of executions whose end was committed and not told.
func (s *System) reportEndsAgain(ctx context.Context) error {
	for stored, err := range s.storedNotices(ctx) {
		var item engine.Item
		if err == nil && stored.ID == "" {
			if item, err = s.config.Store.Latest(ctx, stored.Execution); err == nil {
				err = s.recoverOne(ctx, item)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resume begins to send the notices that earlier runs left.
func (n *notices) resume(r *run) error {
	for stored, err := range n.system.storedNotices(r.ctx) {
		if err != nil {
			return err
		}
		n.begin(r, stored)
	}
	return nil
}

// begin sends a notice beside the workers, unless that is under way.
func (n *notices) begin(r *run, stored StoredNotice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.system.config.Notices == nil || stored.ID == "" || stored.Failure != "" || n.sending[stored.ID] || r.ctx.Err() != nil {
		return
	}
	n.sending[stored.ID] = true
	n.all.Go(func() {
		if err := n.deliver(r.ctx, stored); err != nil && r.ctx.Err() == nil {
			n.system.warn(err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.sending, stored.ID)
	})
}

// Undelivered returns why notices of an execution were given up.
func (s *System) Undelivered(ctx context.Context, execution engine.ID) (failures []string, err error) {
	list, err := s.config.Store.NoticesOf(ctx, execution)
	for _, stored := range list {
		if stored.Failure != "" {
			failures = append(failures, stored.Failure)
		}
	}
	return failures, err
}

// deliver sends a notice until the target accepts it, or until its time is over. The error is that of the store.
func (n *notices) deliver(ctx context.Context, stored StoredNotice) error {
	config := n.system.config
	for try := 1; ; try++ {
		pause, err := engine.NoticePause(try), n.send(ctx, stored.Notice)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the next run sends it
		case err == nil:
			return config.Store.SettleNotice(ctx, stored)
		case errors.Is(err, ErrTargetGone), config.Clock.Now().Sub(stored.Since)+pause > engine.NoticePatience:
			config.Notices.GaveUp(stored.Notice, err)
			stored.Failure = fmt.Sprintf("given up after %s: %s", config.Clock.Now().Sub(stored.Since).Round(time.Second), err)
			return config.Store.SettleNotice(ctx, stored)
		}
		_ = engine.Sleep(ctx, pause) // the loop notices the end of ctx
	}
}

func (n *notices) send(ctx context.Context, notice engine.Notice) error {
	select {
	case n.turns <- struct{}{}:
		defer func() { <-n.turns }()
		return n.system.config.Notices.Send(ctx, notice)
	case <-ctx.Done():
		return ctx.Err()
	}
}
