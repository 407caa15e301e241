package sim

import (
	"maps"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// keptSeeds are the fixed ones from before the queue of wakes lost its messages, and lossSeeds
// those in which it does.
const keptSeeds, lossSeeds = 17_450, 17_850

// drawsLoss reports whether the queue of wakes loses all messages once in a seed's run.
func drawsLoss(seed uint64) bool {
	return seed > keptSeeds && (seed <= lossSeeds || seed > outageSeeds && seed%32 == 9)
}

// rearmPatience is how long after a loss the executions are rearmed: closers that sent their wakes
// before have closed their tokens then.
const rearmPatience = time.Minute

// beginLoss has the queue of wakes lose all messages, and clients rearm all executions.
func (w *world) beginLoss() {
	w.after(w.between(0, 2*time.Minute), func() {
		w.lose()
		for _, each := range w.worlds {
			w.after(rearmPatience, each.rearm)
		}
	})
}

// lose has the queue of wakes lose all messages.
func (w *world) lose() {
	w.note("all wakes are lost")
	w.losses++
	for _, each := range w.worlds {
		each.failed += 2 // their messages come again later, and then wait for the workers that may live
	}
}

// drawsRestore reports whether the tables are restored from a backup once in a seed's run, in which
// the join records are one change older than the logs.
func drawsRestore(seed uint64) bool { return drawsForeach(seed) && seed%8 == 2 }

// beginRestore has the tables be restored. Nothing runs and no message is under way then, and
// clients rearm all executions. The store of one process has no such backup.
func (w *world) beginRestore() {
	if w.alone && w.tolerates {
		return
	}
	w.changesLeft = 1 + w.rand.IntN(6)
	if w.tolerates {
		w.changesLeft = (w.changesLeft + 2) / 3 //nolint:mnd // fewer items fail than are claimed
	}
}

// countChange begins the restore soon after a claim, or after a report of failed items where there
// are some.
func (w *world) countChange() {
	if w.changesLeft--; w.changesLeft != 0 {
		return
	}
	older := map[*world]map[engine.ForkID]engine.JoinRecord{}
	for _, each := range w.worlds {
		if older[each] = each.store.older; w.tolerates { // also what changes until then is missing
			older[each] = maps.Clone(each.store.older)
		}
	}
	w.after(w.between(0, 300*time.Millisecond), func() {
		w.lose()
		w.restores++
		for _, each := range w.worlds {
			maps.Copy(each.store.joins, older[each])
			each.rearm()
		}
	})
}

// rearm has a client rearm the execution, and again after an error.
func (w *world) rearm() {
	w.act(0, kindClient, time.Hour, func(a *actor) {
		if _, err := a.client().Rearm(a.ctx, []engine.ID{w.id}, engine.RearmRequest{}); err != nil || a.dead {
			w.after(time.Second, w.rearm)
		}
	})
}
