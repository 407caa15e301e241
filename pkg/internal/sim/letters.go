package sim

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// outageSeeds are the last of the fixed seeds in whose runs all have an outage.
const outageSeeds = 18_250

// drawsOutage reports whether workers cannot do something for a long time in a seed's run, so that
// wakes are dead-lettered.
func drawsOutage(seed uint64) bool {
	return seed > lossSeeds && (seed <= outageSeeds || seed%32 == 21 || seed <= sweptSeeds && seed%2 == 1)
}

const (
	// mostFailures is how often a wake fails until it is dead-lettered.
	mostFailures = 6
	// mostReplays is how often the janitor sends a dead-lettered wake again. After that it abandons
	// what the wake continues.
	mostReplays = 2
	// janitorPause is the pause between two runs of the janitor.
	janitorPause = 15 * time.Minute
)

// outage is a time in which one kind of effects of workers fails.
type outage struct {
	from, to time.Duration
	effect   string // how its name begins; "" means all
}

func (o outage) drawn() bool { return o.to > 0 }

// strikes reports whether the effect of the actor fails because of the outage.
func (o outage) strikes(a *actor, effect string) bool {
	now := a.world.now
	return a.kind == kindWorker && o.from <= now && now < o.to && strings.HasPrefix(effect, o.effect)
}

// drawOutage draws an outage for a run whose wakes are in a queue. Most do not end in time for the
// replays.
func (w *world) drawOutage() {
	if w.alone {
		return
	}
	w.outage = outage{from: w.between(0, time.Minute), to: never, effect: []string{"", "send", "join", "close token", "call"}[w.rand.IntN(5)]}
	if w.chance(4) {
		w.outage.to = w.outage.from + w.between(time.Minute, time.Hour)
	}
	w.note("workers fail at %q from %s to %s", w.outage.effect, w.outage.from, w.outage.to)
}

// isDead reports whether the queue gives the message up.
func (w *world) isDead(m *message) bool {
	return m.wake != nil && w.outage.drawn() && m.failures >= mostFailures
}

// bury moves the message to the dead letters, where the janitor finds it.
func (w *world) bury(m *message) {
	if m.deleted {
		return
	}
	m.deleted = true
	w.live--
	w.note("%s is dead-lettered", m.name)
	w.after(w.between(0, janitorPause), func() { w.clean(m) })
}

// clean has the janitor handle a dead letter, and again in the next run if it was not deleted.
func (w *world) clean(m *message) {
	w.act(0, kindJanitor, time.Minute, func(a *actor) {
		a.log, a.causes = w.logOf(m.wake.Execution), m.causes
		if handled, err := a.handleLetter(m); a.dead || err != nil || !handled {
			w.failed++
			w.copies[m.causes[0]]++ // a letter that is handled again may be replayed again
			w.after(janitorPause, func() { w.clean(m) })
		}
	})
}

// handleLetter replays the letter, or abandons what depends on it, and deletes it.
func (a *actor) handleLetter(m *message) (handled bool, err error) {
	a.note("finds %s among the dead letters", m.name)
	if m.replays < mostReplays {
		err = a.effect("replay "+m.name, func() error {
			again := *m
			again.deleted, again.failures, again.receives, again.replays = false, 0, 0, m.replays+1
			a.world.post(&again, 0)
			return nil
		})
		if err != nil {
			return false, err
		}
		return true, a.effect("delete the letter", func() error { return nil })
	}
	a.world.abandons++
	early := len(a.log.items) > 0 && a.log.dueInside() > a.world.now+lateness
	abandoned, err := a.janitor().Abandon(a.ctx, *m.wake, errors.New("its wake cannot be applied"))
	switch {
	case err != nil && !a.isFault(err):
		a.world.violate(Broken, "%s: %s", a.name, err)
		return true, nil
	case early && abandoned == engine.AbandonedExecution && isRearm(*m.wake) && !a.world.defect.drawn():
		a.log.violate(GivenUp, "a dead wake of a sweep ends it, although its own messages can continue it")
		return true, nil
	case err != nil || abandoned == engine.AbandonedNot:
		return false, err
	}
	return true, a.effect("delete the letter", func() error { return nil })
}

func isRearm(wake engine.Wake) bool { return strings.HasPrefix(wake.Cause, machine.CauseRearm) }

func (*actor) isFault(err error) bool {
	return slices.ContainsFunc([]error{errFault, errDied, engine.ErrConflict}, func(fault error) bool { return errors.Is(err, fault) })
}

// janitor is a janitor, as worker.
func (a *actor) janitor() *engine.Janitor {
	return must(engine.NewJanitor(engine.Config{
		Log: logs{a}, Wakes: a.wakes(), Flows: flows{a}, TokenStore: outcomes{a}, Stops: stops{a}, Joins: joins{a}, Descendants: roots{a}, Notices: notices{a},
		Now: a.clock, NewNonce: a.world.freshText, Limits: a.world.limits, Observer: observer{a}, WriteFormat: a.world.writeFormat,
	}))
}

// mayGiveUp reports whether an execution of the run may end because the engine gave it up.
func (w *world) mayGiveUp() bool { return w.defect.drawn() || w.abandons > 0 }
