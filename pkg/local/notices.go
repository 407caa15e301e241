package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/RaduBerinde/btreemap"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
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

const (
	// healthyAtOnce limits the notices in flight to targets that accepted their last notice or got
	// none yet, failingAtOnce to the others. So targets that fail delay only each other.
	healthyAtOnce, failingAtOnce = 128, 32
	// targetAtOnce is how many notices are sent at once to one target. A target that failed gets
	// one.
	targetAtOnce = 8
	// failingPatience is the time limit of a notice to a target that failed. Every fullTryEvery-th
	// failure in a row is followed by a notice without it, so that a slow target can recover.
	failingPatience = 5 * time.Second
	fullTryEvery    = 4
)

// notices sends the notices of the store. It implements [engine.Notices].
//
// Memory holds only where a notice is and when its turn comes. The notice itself is read for each
// try.
type notices struct {
	system *System
	ready  chan struct{} // has a signal if there may be more to send

	mu               sync.Mutex
	pending          map[noticeKey]*pendingNotice
	targets          map[string]*noticeTarget // of pending notices
	healthy, failing noticeLine
	order            int // counts turns
}

type noticeKey struct {
	execution engine.ID
	id        string
}

// pendingNotice is to be sent, or is being sent.
type pendingNotice struct {
	noticeKey

	target *noticeTarget
	tries  int
	again  bool // the engine repeated it while it was being sent
}

// noticeTarget is a host, or another target.
type noticeTarget struct {
	name     string
	waiting  *btreemap.BTreeMap[turn, *pendingNotice]
	sending  int
	last     time.Time // when a notice was last sent
	failures int       // in a row
	line     *noticeLine
	place    turn // in line
}

// noticeLine has the targets that may get a notice when their turn comes. The target that waited
// longest is first.
type noticeLine struct {
	free    int // how many more notices may be sent at once
	targets *btreemap.BTreeMap[turn, *noticeTarget]
}

func newNotices(system *System) *notices {
	const degree = 16
	line := func(free int) noticeLine {
		return noticeLine{free, btreemap.New[turn, *noticeTarget](degree, turn.compare)}
	}
	return &notices{
		system: system, ready: make(chan struct{}, 1), pending: map[noticeKey]*pendingNotice{}, targets: map[string]*noticeTarget{},
		healthy: line(healthyAtOnce), failing: line(failingAtOnce),
	}
}

// Notify implements [engine.Notices].
func (n *notices) Notify(ctx context.Context, notice engine.Notice) error {
	stored, err := n.system.config.Store.AddNotice(ctx, store.Notice{Notice: notice, Since: n.system.config.Clock.Now()})
	if err == nil {
		n.add(stored)
	}
	return err
}

// take takes over what earlier runs left: it adds the notices that were not sent, and sends the
// wakes of executions with a committed end that was not reported. The living process tells of the
// ends of its own generation.
func (n *notices) take(ctx context.Context) error {
	for stored, err := range pages(func(after store.Notice, limit int) ([]store.Notice, error) {
		return n.system.config.Store.Notices(ctx, after, limit)
	}) {
		if err == nil && stored.ID == "" {
			err = n.system.reportEndAgain(ctx, stored.Execution)
		}
		if err != nil {
			return err
		}
		n.add(stored)
	}
	return nil
}

func (s *System) reportEndAgain(ctx context.Context, execution engine.ID) error {
	item, err := s.config.Store.Latest(ctx, execution)
	if errors.Is(err, engine.ErrNotFound) { // it was removed meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	state, err := item.State()
	if generation := s.config.Store.Generation(); err == nil && generation > 0 && state.Generation == generation {
		return nil
	}
	return s.recoverOne(ctx, item)
}

// begin sends notices beside the workers until the run ends. A store without generations, and a
// virtual clock, have what earlier runs left taken over before the workers begin.
func (n *notices) begin(r *run, all *sync.WaitGroup) error {
	if n.system.config.Notices != nil {
		all.Go(func() { n.sendAll(r.ctx, all) })
	}
	if n.system.config.Clock.IsVirtual() || n.system.config.Store.Generation() == 0 {
		return n.take(r.ctx)
	}
	n.system.queue.inBackground(func() {
		if err := n.take(r.ctx); err != nil {
			r.stop(err) // no effect after the end of the run: the next one goes on
		}
	})
	return nil
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

// add has a stored notice sent at once, unless it is pending or was given up.
func (n *notices) add(stored store.Notice) {
	if n.system.config.Notices == nil || stored.ID == "" || stored.Failure != "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := noticeKey{stored.Execution, stored.ID}
	if p := n.pending[key]; p != nil {
		p.again = true
		return
	}
	name := stored.Target
	if parsed, err := url.Parse(name); err == nil && parsed.Host != "" {
		name = parsed.Host
	}
	if n.targets[name] == nil {
		const degree = 16
		n.targets[name] = &noticeTarget{name: name, waiting: btreemap.New[turn, *pendingNotice](degree, turn.compare)}
	}
	p := &pendingNotice{noticeKey: key, target: n.targets[name]}
	n.pending[key] = p
	n.wait(p, time.Now())
}

// wait gives a notice its turn at the instant. n.mu is held.
func (n *notices) wait(p *pendingNotice, at time.Time) {
	n.order++
	p.target.waiting.ReplaceOrInsert(turn{at, n.order}, p)
	n.arrange(p.target)
}

// arrange gives a target its place in line after a change, or forgets it. n.mu is held.
func (n *notices) arrange(t *noticeTarget) {
	if t.line != nil {
		t.line.targets.Delete(t.place)
		t.line = nil
	}
	line, atOnce := &n.healthy, targetAtOnce
	if t.failures > 0 {
		line, atOnce = &n.failing, 1
	}
	first, _, ok := t.waiting.Min()
	switch {
	case !ok && t.sending == 0:
		delete(n.targets, t.name)
	case ok && t.sending < atOnce:
		n.order++
		t.line, t.place = line, turn{first.at, n.order}
		if t.last.After(first.at) { // targets with notices that are overdue take turns
			t.place.at = t.last
		}
		line.targets.ReplaceOrInsert(t.place, t)
	}
	select {
	case n.ready <- struct{}{}:
	default: // there is a signal
	}
}

// sendAll sends each notice in its turn, until ctx ends.
func (n *notices) sendAll(ctx context.Context, all *sync.WaitGroup) {
	for ctx.Err() == nil {
		try, pause := n.next(time.Now())
		if try == nil {
			await(ctx, pause, n.ready)
			continue
		}
		all.Go(func() {
			next, err := n.try(ctx, *try)
			if err != nil && ctx.Err() == nil {
				n.system.warn(err)
			}
			n.tried(*try, next)
		})
	}
}

// noticeTry is one try to send a notice.
type noticeTry struct {
	*pendingNotice

	line  *noticeLine   // of the target
	limit time.Duration // 0 means that of the sender
}

// next returns the try that has its turn. Without one it returns how long to wait at most, 0 for no
// limit.
func (n *notices) next(now time.Time) (try *noticeTry, pause time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range []*noticeLine{&n.healthy, &n.failing} {
		place, target, ok := line.targets.Min()
		if !ok || line.free == 0 {
			continue
		}
		if ahead := place.at.Sub(now); ahead > 0 {
			if pause == 0 || ahead < pause {
				pause = min(ahead, longestPause)
			}
			continue
		}
		_, p, _ := target.waiting.DeleteMin()
		try = &noticeTry{pendingNotice: p, line: line}
		if target.failures%fullTryEvery != 0 {
			try.limit = failingPatience
		}
		line.free--
		target.sending++
		target.last, p.again = now, false
		n.arrange(target)
		return try, 0
	}
	return nil, pause
}

// try sends a notice once and settles it if the target accepted it or its time is over. Next is
// when it is sent again, zero for never. The error comes from the store.
func (n *notices) try(ctx context.Context, try noticeTry) (next time.Time, err error) {
	config := n.system.config
	stored, err := config.Store.Notice(ctx, try.execution, try.id)
	if err != nil || stored.ID == "" || stored.Failure != "" { // it was removed with its execution
		return next, err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if try.limit > 0 {
		limited, cancel = context.WithTimeout(ctx, try.limit)
	}
	err = config.Notices.Send(limited, stored.Notice)
	cancel()
	if err != nil && ctx.Err() != nil {
		return time.Now(), nil //nolint:nilerr // the next run sends it
	}
	pause, age := n.judge(try, err), config.Clock.Now().Sub(stored.Since)
	switch {
	case err == nil:
		return next, config.Store.SettleNotice(ctx, stored)
	case errors.Is(err, ErrTargetGone), age+pause > engine.NoticePatience:
		config.Notices.GaveUp(stored.Notice, err)
		stored.Failure = fmt.Sprintf("given up after %s: %s", age.Round(time.Second), err)
		return next, config.Store.SettleNotice(ctx, stored)
	}
	return time.Now().Add(pause), nil
}

// judge notes whether a target responded, and returns the pause before the next try. 410 is a
// response.
func (n *notices) judge(try noticeTry, err error) (pause time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	try.tries++
	if try.target.failures++; err == nil || errors.Is(err, ErrTargetGone) {
		try.target.failures = 0
	}
	return engine.NoticePause(try.tries)
}

// tried gives a notice its next turn, or forgets it.
func (n *notices) tried(try noticeTry, next time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	try.line.free++
	try.target.sending--
	switch {
	case !next.IsZero():
		n.wait(try.pendingNotice, next)
	case try.again: // after it was settled, perhaps
		try.tries = 0
		n.wait(try.pendingNotice, time.Now())
	default:
		delete(n.pending, try.noticeKey)
		n.arrange(try.target)
	}
}
