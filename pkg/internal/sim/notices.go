package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// quietSeeds are the fixed ones from before executions had targets, and noticeSeeds the last of
// those that all have one.
const quietSeeds, noticeSeeds = 17_250, 17_450

// drawsNotices reports whether the executions of a seed's run have targets.
func drawsNotices(seed uint64) bool {
	return seed > quietSeeds && (seed <= noticeSeeds || seed%16 == 5)
}

// noticed is what the target of an execution was told, and what it was to be told.
type noticed struct {
	bodies map[string]string // by the id of the notice
	ended  bool
	waits  map[string]bool // by the keys of calls that wait for a callback
}

// target returns the target of the world's execution.
func (w *world) target() machine.Notify {
	if !w.notifies {
		return machine.Notify{}
	}
	return machine.Notify{Target: "https://example.org/", Waits: true}
}

// notices is what the engine tells targets.
type notices struct{ a *actor }

// Notify implements [engine.Notices].
func (n notices) Notify(_ context.Context, notice engine.Notice) error {
	w := n.a.world
	return n.a.effect("notify "+strings.SplitAfter(notice.ID, "-")[0], func() error {
		if notice.Execution != w.id {
			w.violate(Astray, "a notice for %s", notice.Execution)
		}
		if before, ok := w.noticed.bodies[notice.ID]; ok && before != notice.Body {
			w.violate(Untold, "notice %s is %s, and was %s", notice.ID, notice.Body, before)
		}
		w.noticed.bodies[notice.ID] = notice.Body
		w.noticed.ended = w.noticed.ended || notice.Ended
		return nil
	})
}

// noteWait notes a call whose step waits for a callback.
func (w *world) noteWait(call machine.Call) {
	state := w.own().last()
	task, isTask := w.flow.parsed.All[call.Attempt.Step].Kind.(*flow.Task)
	if state.Notify.Waits && isTask && task.Pattern == flow.PatternWaitForCallback {
		w.noticed.waits[fmt.Sprintf("wait-%s-%d", call.Key(), state.Started.UnixMilli())] = true
	}
}

// checkNoticed: the target was told of the end, and of each wait whose function was called.
func (w *world) checkNoticed(state machine.State) {
	if state.Notify.Target == "" {
		return
	}
	if state.Status.Final() && !w.noticed.ended {
		w.violate(Untold, "the execution ended, and its target was not told")
	}
	for id := range w.noticed.waits {
		if w.noticed.bodies[id] == "" {
			w.violate(Untold, "a function was called, and notice %s was not sent", id)
		}
	}
}
