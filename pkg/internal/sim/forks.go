package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// forklessSeeds are the fixed ones from before flows had forks, and forkedSeeds the last of those
// that all may have some.
const (
	forklessSeeds = 14_000
	forkedSeeds   = 20_000
	// staticSeeds are the fixed ones from before lanes claimed their items, and claimedSeeds the last
	// of those in which all do.
	staticSeeds  = 20_450
	claimedSeeds = 21_650
	// handledSeeds are the last of those in which all flows begin with a fork that is caught or tried
	// again.
	handledSeeds = 23_000
	// toleratedSeeds are the last of those in which all flows begin with a foreach that tolerates
	// failures.
	toleratedSeeds = 24_000
)

// drawsClaims reports whether lanes claim their items in a seed's run.
func drawsClaims(seed uint64) bool {
	return seed > staticSeeds && (seed <= toleratedSeeds || seed&(1<<4) != 0)
}

// drawsTolerance reports whether each foreach of a seed's run may tolerate failures.
func drawsTolerance(seed uint64) bool {
	return seed > handledSeeds && (seed <= toleratedSeeds || seed&(1<<4|1<<6|1<<10) == 1<<4|1<<6|1<<10) && !drawsShortLife(seed)
}

// drawsHandlers reports whether forks of a seed's run may be caught or tried again.
func drawsHandlers(seed uint64) bool {
	drawn := seed <= handledSeeds || seed <= toleratedSeeds && seed&2 != 0 || seed > toleratedSeeds && seed&(1<<4|1<<5|1<<7) == 1<<4|1<<7
	return seed > claimedSeeds && drawn && !drawsShortLife(seed)
}

// drawsHandled reports whether the flow of a seed's run begins with such a fork.
func drawsHandled(seed uint64) bool { return drawsHandlers(seed) && seed <= handledSeeds }

// drawsForeach reports whether the flow of a seed's run begins with a foreach whose lanes claim.
func drawsForeach(seed uint64) bool {
	claims := seed > staticSeeds && seed <= claimedSeeds || seed > handledSeeds && seed <= toleratedSeeds
	return claims && !drawsShortLife(seed)
}

// drawsForks reports whether the flow of a seed's run may have forks: half of them, without those
// that were found before.
func drawsForks(seed uint64) bool {
	drawn := seed <= forkedSeeds || drawsForeach(seed) || drawsHandled(seed) || slices.Contains([]uint64{1, 2, 5, 6, 7, 11, 14}, seed%16)
	return seed > forklessSeeds && !drawsShortLife(seed) && drawn
}

// mostItems is how many items all forks of a flow may have together, each as often as it may run.
const mostItems = 16

// drawAnyFork adds a fork, at times in a choice or a catch.
func (w *world) drawAnyFork(f *flowDraft) {
	if w.chance(4) {
		w.drawForkInside(f)
		return
	}
	w.drawFork(f)
}

// drawFork adds a fork of few lanes, none, or one.
func (w *world) drawFork(f *flowDraft) {
	room := mostItems / f.times
	if f.forks == flow.MaxForks || room < 2 {
		f.task(functionCall)
		return
	}
	f.forks++
	if w.chance(2) {
		w.drawParallel(f, 1+w.rand.IntN(min(room, 5)))
	} else {
		w.drawForeach(f, w.rand.IntN(min(room, mostCollected)+1))
	}
	f.forks--
}

func (w *world) drawParallel(f *flowDraft, branches int) {
	handlers, after := w.drawHandlers(f)
	defer after()
	f.step("parallel", append(append(w.drawOutputs(), handlers...), "branches:")...)
	f.times *= branches
	for range branches {
		f.text += f.indent + "    - steps:\n"
		w.drawInside(f, "      ")
	}
	f.times /= branches
}

// drawClaims adds a foreach with more items than lanes, or a fork in a lane of a fork.
func (w *world) drawClaims(f *flowDraft) {
	if w.tolerates {
		w.failing = 2 + w.rand.IntN(3)
		f.forks++
		w.drawForeachOf(f, 2+w.rand.IntN(5), 1+w.rand.IntN(3))
		f.forks--
		return
	}
	if !w.restored && w.chance(4) {
		w.drawNested(f)
		return
	}
	f.forks++
	items := []int{3, 4, 5, mostShared}[w.rand.IntN(4)]
	w.drawForeachOf(f, items, 2+w.rand.IntN(2))
	f.forks--
}

// drawNested adds a fork of calls, of which some fail, in a lane of a fork.
func (w *world) drawNested(f *flowDraft) {
	branch := func(indent string, draw func()) {
		f.text += f.indent + "    - steps:\n"
		f.indent += indent
		draw()
		f.indent = strings.TrimSuffix(f.indent, indent)
	}
	call := func() { f.task(functionCall) }
	f.step("parallel", "branches:")
	branch("      ", func() {
		handlers, after := w.drawHandlers(f)
		f.step("parallel", append(handlers, "branches:")...)
		branch("      ", call)
		branch("      ", call)
		after()
	})
	branch("      ", call)
	w.failing, w.nested = 2, true
}

// drawHandled adds a fork that is caught or tried again: calls beside a step of any kind, items
// that lanes claim, or a fork in a lane of a fork.
func (w *world) drawHandled(f *flowDraft) {
	w.failing = 2 + w.rand.IntN(3)
	switch w.rand.IntN(4) {
	case 0:
		w.drawNested(f)
		return
	case 1:
		f.forks++
		w.drawForeachOf(f, 3+w.rand.IntN(3), 2)
		f.forks--
		return
	}
	handlers, after := w.drawHandlers(f)
	f.step("parallel", append(append(w.drawOutputs(), handlers...), "branches:")...)
	f.forks++
	f.times *= 2
	for i := range 2 + w.rand.IntN(2) {
		f.text += f.indent + "    - steps:\n"
		f.indent += "      "
		if i == 0 || w.chance(2) {
			f.task(functionCall)
		} else {
			w.drawStep(f)
		}
		f.indent = strings.TrimSuffix(f.indent, "      ")
	}
	f.times /= 2
	f.forks--
	after()
}

// drawHandlers returns the lines of a fork with its retry and catch, and what adds the step after
// it. Its policies name every error.
func (w *world) drawHandlers(f *flowDraft) (lines []string, after func()) {
	if !w.handled || w.chance(5) {
		return nil, func() {}
	}
	times := 1
	if w.chance(2) {
		times += 1 + w.rand.IntN(2)
		lines = append(lines, fmt.Sprintf("retry: [{errors: [FnF.ALL], intervalSeconds: %d, multiplier: 1, maxAttempts: %d}]", 3*w.rand.IntN(2), times-1))
	}
	f.times *= times
	if lines != nil && w.chance(2) {
		return lines, func() { f.times /= times }
	}
	name := fmt.Sprintf("Caught%d", f.steps+1)
	return append(lines, "catch:", "  - errors: [FnF.ALL]", "    goto: "+name), func() {
		f.times /= times
		f.pass(name)
	}
}

func (w *world) drawForeach(f *flowDraft, items int) { w.drawForeachOf(f, items, 0) }

// drawForeachOf adds a foreach that runs so many items at once, any number for 0.
func (w *world) drawForeachOf(f *flowDraft, items, atOnce int) {
	lines := append(w.drawOutputs(), fmt.Sprintf("iterationMapping: {collection: %s, item: x, index: i}", collected(items)))
	switch {
	case atOnce > 0:
		lines = append(lines, fmt.Sprintf("maxConcurrency: %d", atOnce))
	case w.chance(2):
		lines = append(lines, fmt.Sprintf("maxConcurrency: %d", 1+w.rand.IntN(4)))
	}
	switch {
	case !w.tolerates || w.chance(8):
	case w.chance(4):
		lines = append(lines, fmt.Sprintf("maxToleratedFailurePercentage: %d", w.rand.IntN(101)))
	default:
		lines = append(lines, fmt.Sprintf("maxToleratedFailures: %d", w.rand.IntN(items+1)))
	}
	handlers, after := w.drawHandlers(f)
	defer after()
	f.step("foreach", append(append(lines, handlers...), "steps:")...)
	if atOnce > 0 && (w.restored || w.chance(2)) { // short calls, which lanes claim several at once
		f.indent += "  "
		f.task(functionCall)
		f.indent = strings.TrimSuffix(f.indent, "  ")
		return
	}
	f.times *= max(items, 1)
	w.drawInside(f, "  ")
	f.times /= max(items, 1)
}

// drawInside adds the steps inside of a step.
func (w *world) drawInside(f *flowDraft, indent string) {
	f.indent += indent
	for range 1 + w.rand.IntN(4)/3 {
		w.drawPart(f)
	}
	f.indent = strings.TrimSuffix(f.indent, indent)
}

// drawOutputs is the line for the outputs of the lanes, if they are used.
func (w *world) drawOutputs() []string {
	if w.chance(2) {
		return nil
	}
	return []string{"outputMappings: [{target: all, source: $local}]"}
}

// drawForkInside adds a fork in a choice, or in what catches a failure.
func (w *world) drawForkInside(f *flowDraft) {
	if w.chance(2) {
		f.step("choice", "choices:", `  - condition: $.i2[0] == 0`, "    steps:")
	} else {
		after := fmt.Sprintf("After%d", f.steps+1)
		f.task(functionCall, "catch:", "  - errors: [FnF.ALL]", "    goto: "+after, "    steps:")
		defer func() { f.pass(after) }()
	}
	f.indent += "      "
	w.drawFork(f)
	f.indent = strings.TrimSuffix(f.indent, "      ")
}

// mostCollected is the most items of a collection, but for that of lanes that claim several items at
// once.
const mostCollected, mostShared = 7, 14

func collected(items int) string { return fmt.Sprintf("$.i%d", items) }

// input is that of the execution: collections, of which one has large items.
func (w *world) input() value.Value {
	if !w.forks {
		return value.Object()
	}
	var members []value.Member
	sizes := []int{0, 1, 2, 3, 4, 5, 6, mostCollected}
	if w.claims {
		sizes = append(sizes, mostShared)
	}
	for _, size := range sizes {
		items := make([]value.Value, size)
		for i := range items {
			items[i] = value.Int(int64(i))
			if size == mostCollected {
				items[i] = value.String(strings.Repeat(fmt.Sprint(i), 300))
			}
		}
		members = append(members, value.Member{Key: fmt.Sprintf("i%d", size), Value: value.Array(items...)})
	}
	return value.Object(members...)
}

// hasItems reports whether the step is a fork.
func (f flowDraft) hasItems(index int) bool {
	if index < 0 {
		return false
	}
	_, isParallel := f.parsed.All[index].Kind.(*flow.Parallel)
	_, isForeach := f.parsed.All[index].Kind.(*flow.Foreach)
	return isParallel || isForeach
}

// life is a context that ends with the life of a worker. The engine asks how long that is in real
// time, so it is half a second away from each whole one.
type life struct {
	context.Context
	a *actor
}

// Deadline implements [context.Context].
func (l life) Deadline() (time.Time, bool) {
	left := l.a.dies - l.a.world.now
	return time.Now().Add(left.Truncate(time.Second) + time.Second/2), true
}
