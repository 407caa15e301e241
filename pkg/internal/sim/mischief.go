package sim

import (
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// defect is a definition that cannot be had for a while, or never again.
type defect struct{ from, to time.Duration }

func (d defect) drawn() bool                    { return d.to > 0 }
func (d defect) strikes(now time.Duration) bool { return d.from <= now && now < d.to }

func (w *world) drawDefect() defect {
	oneIn, latest := 16, 2*time.Minute
	if w.allPatterns {
		oneIn, latest = 8, 20*time.Second
	}
	if !w.chance(oneIn) {
		return defect{}
	}
	from := w.between(0, latest)
	if w.chance(2) {
		return defect{from, from + w.between(time.Second, 5*time.Minute)}
	}
	return defect{from, 1 << 62}
}

// poisonReceives is from which receive on a defect is the execution's failure.
const poisonReceives = 5

// checkGivenUp: who met a defect seldom leaves the execution to others. What
// another one who met it often closed the token with is an outcome to him.
func (a *actor) checkGivenUp(item engine.Item) {
	if a.kind == kindWorker && a.receives >= poisonReceives {
		a.world.defectTold = true // to the lanes, and to the log that waits for this one
	}
	if a.kind != kindWorker || a.world.abandons > 0 || !a.world.defect.drawn() || a.world.defectTold {
		return
	}
	state, _, err := machine.Decode(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
	if err == nil && state.Error == machine.ErrorInternal {
		a.world.violate(GivenUp, "a defect that was met %d times ends the execution", a.receives)
	}
}

// answeredFor is how long after an answer was kept a worker may act that looked
// before.
const answeredFor = 4 * slowness

// checkUnanswered: what was answered is not asked for again.
func (w *world) checkUnanswered(handle string, invariant Invariant, what string) {
	if at, ok := w.answered[handle]; ok && w.now > at+answeredFor {
		w.violate(invariant, "%s %s after its answer was kept", what, w.now-at)
	}
}

// beginMischief has processes end and wakes be forged.
func (w *world) beginMischief() {
	if w.more && w.chance(2) || w.chance(6) {
		w.beginAlone()
		for range 1 + w.rand.IntN(3) {
			at := w.between(0, 3*time.Minute)
			w.after(at, w.restart)
			if w.chance(3) {
				w.after(at-w.between(0, time.Second), func() { w.stop(0) })
			}
		}
	}
	if w.chance(6) {
		for range 1 + w.rand.IntN(4) {
			w.after(w.between(0, 2*time.Minute), w.forge)
		}
	}
}

// beginAlone has one process at a time. Where a run has more than others, the
// clocks of the processes differ.
func (w *world) beginAlone() {
	w.alone = true
	if w.more {
		w.offsets = []time.Duration{w.drawOffset()}
	}
}

// drawOffset is how far the clock of a process is ahead.
func (w *world) drawOffset() time.Duration {
	return []time.Duration{0, 0, 2 * time.Hour, 24 * time.Hour, -time.Hour}[w.rand.IntN(5)]
}

// wentBack is by how much clocks went back from one process to the next.
func (w *world) wentBack() (back time.Duration) {
	for i := 1; i < len(w.offsets); i++ {
		back += max(w.offsets[i-1]-w.offsets[i], 0)
	}
	return back
}

// restart ends the process, with everything that it has in its memory, and
// begins the next one a little later.
func (w *world) restart() {
	w.generation++
	if w.offsets != nil {
		w.offsets = append(w.offsets, w.drawOffset())
	}
	for _, each := range w.worlds {
		each.failed++
		each.live = 0
	}
	w.note("the process ends")
	generation := w.generation
	w.after(w.between(time.Millisecond, 10*time.Second), func() {
		if generation == w.generation {
			for _, each := range w.worlds {
				each.recover()
			}
		}
	})
}

// recover has the new process send the wakes that are lost. One that fails at
// that is begun again.
func (w *world) recover() {
	w.act(0, kindWorker, time.Hour, func(a *actor) {
		a.note("takes over")
		a.recovers = true
		latest, err := w.own().latest(present)
		if err != nil {
			return // nothing was started
		}
		w.pollAgain(a)
		if err := a.worker().Recover(a.ctx, latest, w.own().last()); (err != nil || a.dead) && a.generation == w.generation {
			w.restart()
		}
	})
}

// forge sends a forged wake. It may say anything.
func (w *world) forge() {
	l := w.drawLog()
	wake := engine.Wake{
		Execution: l.id, Lane: l.forgedLane(), Cause: l.forgedCause(),
		Due:  w.clock().Add(w.between(-time.Minute, time.Minute)),
		Sent: w.clock().Add([]time.Duration{-2 * time.Hour, 0, 5 * time.Second, 24 * time.Hour}[w.rand.IntN(4)]),
		Seq:  []uint64{0, 1, 3, uint64(len(l.items)), 1 << 40}[w.rand.IntN(5)],
	}
	w.forged++
	w.copies[l.causeOf(wake)]++
	w.note("a %s is forged", l.wakeName(wake))
	l.send(wake)
}

// drawLog is the execution's own log, or that of any lane.
func (w *world) drawLog() *log {
	if !w.forks {
		return w.own()
	}
	return w.store.order[w.rand.IntN(len(w.store.order))]
}

// forgedLane is the lane whose log it is, none, or a lane that there is not.
func (l *log) forgedLane() *machine.Lane {
	if l.lane == nil || l.chance(3) {
		return nil
	}
	lane := *l.lane
	if l.chance(4) {
		lane.Index += lane.Count
	}
	return &lane
}

// forgedCause is one that is known, one that was once, or nonsense.
func (l *log) forgedCause() string {
	state := l.last()
	if l.awaiting != nil && l.chance(3) {
		return machine.CauseParent
	}
	if l.forks && l.chance(3) && forLanes(state) {
		attempt, nonce := state.Waiting.Attempt.Number, []string{"", "forged"}[l.rand.IntN(2)]
		return []string{machine.CauseJoined(attempt, nonce), machine.CauseLaneFailed(attempt, nonce)}[l.rand.IntN(2)]
	}
	switch l.rand.IntN(7) {
	case 0:
		return machine.CauseStart
	case 1:
		return machine.CauseStop
	case 2:
		return state.Timer.Tag
	case 3:
		if waiting := state.Waiting; waiting != nil {
			return waiting.By
		}
	case 4:
		if waiting := state.Waiting; waiting != nil {
			return waiting.Handle()
		}
	case 5:
		if waiting := state.Waiting; waiting != nil {
			return machine.CauseReply(waiting.Handle())
		}
	}
	return "forged"
}
