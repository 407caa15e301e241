package enginetest

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// commitCases are rule 4: writes that are refused, or whose answer is lost.
var commitCases = []ruleCase{
	{"rule 4: refused with our own nonce it was written", func(b *fixture) {
		b.log.FailAppends(NoFault, RepeatWrite)
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1: refused", "call Second", "write 2")
	}},
	{"rule 4: an answer lost after the write is looked up", func(b *fixture) {
		b.log.FailAppends(NoFault, LoseAnswer)
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1: failed", "read items", "call Second", "write 2")
	}},
	{"rule 4: an answer lost with its look-up is found by the next read", func(b *fixture) {
		b.log.FailAppends(NoFault, LoseAnswer)
		b.beforeSecondWrite(func() { b.log.FailReads(1) })
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1: failed", "read items: failed", "read", "call Second", "write 2")
	}},
	{"rule 4: the answer of the last write lost", func(b *fixture) {
		b.log.FailAppends(NoFault, NoFault, LoseAnswer)
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1", "call Second", "write 2: failed", "read items")
	}},
	{"rule 4: a timer whose commit lost its answer is not sent again", func(b *fixture) {
		b.log.FailAppends(NoFault, LoseAnswer)
		b.answer("Begin", `{}`)
		b.advance(b.begin(pollFlow))
		b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1: failed", "read items")
	}},
	{"rule 4: a lost write is made again and no call with it", func(b *fixture) {
		b.log.FailAppends(NoFault, LoseWrite)
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1: failed", "read items", "read", "write 1", "call Second", "write 2")
	}},
	{"rule 4: a lost write and a failing read, and still no call is made again", func(b *fixture) {
		b.log.FailAppends(NoFault, LoseWrite)
		b.beforeSecondWrite(func() { b.log.FailReads(2) })
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1: failed", "read items: failed", "read: failed", "read", "write 1", "call Second", "write 2")
	}},
	{"rule 4: refused and the same state found, the results are used and the timer is a new one", func(b *fixture) {
		b.log.FailAppends(NoFault, Refuse)
		b.answer("Begin", `{}`)
		b.advance(b.begin(pollFlow))
		b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1: refused", "read", "wake timer in 10s", "write 1")
		b.wantDistinct("the tags", b.tags, 2)
		_, state := b.latest()
		b.at(10 * time.Second)
		for _, timer := range b.wakes {
			if timer.Cause != state.Timer.Tag {
				b.advance(timer)
				b.wantTrace("read")
			}
		}
	}},
	{"rule 4: refused because a rival was faster, there is nothing to do", func(b *fixture) {
		b.answer("Begin", `{}`)
		start := b.begin(pollFlow)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), start) })
		b.advance(start)
		b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1: refused", "read")
		_, state := b.latest()
		if !slices.ContainsFunc(b.wakes, func(w engine.Wake) bool { return w.Cause == state.Timer.Tag }) {
			b.t.Errorf("the live timer %q was never sent", state.Timer.Tag)
		}
	}},
	{"rule 4: refused because a rival ended the execution, there is nothing to do", func(b *fixture) {
		timer := b.pause()
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), timer) })
		b.advance(timer)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2: refused", "read")
		b.wantSucceeded()
		b.at(20 * time.Second)
		b.advance(b.take()) // the timer of the commit that was refused
		b.wantTrace("read")
	}},
	{"rule 4: refused because a rival came to its next call, ask 7", func(b *fixture) {
		b.answer("First", `{}`)
		start := b.begin(taskFlow("First", "Second"))
		b.log.BeforeAppend(func() { _, _ = b.rival("Second").Advance(b.t.Context(), start) })
		b.wantPutBack(start, epoch.Add(time.Minute))
		b.wantTrace("read", "call First", "write 1: refused", "read")
	}},
	{"rule 4: ten tries at most, each with a fresh nonce, and one call", func(b *fixture) {
		b.answer("First", `{}`)
		start := b.begin(taskFlow("First"))
		b.log.FailAppends(slices.Repeat([]Fault{Refuse}, 10)...)
		b.wantError(start, engine.CodeConflict)
		b.wantTrace(slices.Concat([]string{"read", "call First", "write 1: refused"},
			slices.Repeat([]string{"read", "write 1: refused"}, 9))...)
		b.wantDistinct("the nonces", b.nonces, 11)
		if b.pauses != 9 {
			b.t.Errorf("%d pauses, want 9", b.pauses)
		}
	}},
	{"rule 4: the tenth try may win", func(b *fixture) {
		b.answer("First", `{}`)
		start := b.begin(taskFlow("First"))
		b.log.FailAppends(slices.Repeat([]Fault{Refuse}, 9)...)
		b.advance(start)
		b.wantSucceeded()
	}},
	{"rule 4: the nonce is fresh for every put", func(b *fixture) {
		b.log.FailAppends(NoFault, LoseWrite, LoseAnswer, Refuse)
		b.twoTasks()
		b.wantDistinct("the nonces", b.nonces, 5)
	}},
}

// twoTasks runs a flow of two tasks to its end, each called once.
func (b *fixture) twoTasks() {
	b.t.Helper()
	b.answer("First", `{"first":1}`)
	b.answer("Second", `{"second":2}`)
	b.advance(b.begin(taskFlow("First", "Second")))
	b.wantSucceeded()
}

// beforeSecondWrite runs f before the second put of the case, which is item 1.
func (b *fixture) beforeSecondWrite(f func()) {
	b.log.BeforeAppend(func() {})
	b.log.BeforeAppend(f)
}

func (b *fixture) advanceBy(rival *roles, w engine.Wake) {
	b.t.Helper()
	if verdict, err := rival.Advance(b.t.Context(), w); err != nil || !verdict.RetryAt.IsZero() {
		b.t.Errorf("the rival: verdict %+v, error %v", verdict, err)
	}
}

// busy is the error of a call that found no room.
var busy = &engine.BusyError{Outcome: token.Failure(token.ErrorExhausted, "no room")}

// wantRoomLater applies a wake or a task whose call finds no room: it comes back after 1 to 60 s.
func (b *fixture) wantRoomLater(receives int, run func() (engine.Disposition, error)) {
	b.t.Helper()
	verdict, err := run()
	longest := min(time.Minute, 2*time.Second<<(receives-1))
	if pause := verdict.RetryAt.Sub(b.Now()); err != nil || pause < longest/2 || pause > longest {
		b.t.Fatalf("put back after %s, error %v; want %s to %s", pause, err, longest/2, longest)
	}
}

// pendingCases are rule 7: a wake that entered something unresolved.
var pendingCases = []ruleCase{
	{"a call that finds no room fails nothing: its wake waits", func(b *fixture) {
		start := b.begin(taskFlow("First"))
		for receives := 1; receives <= 8; receives++ {
			b.script("First", answer{err: busy})
			start.Receives = receives
			b.wantRoomLater(receives, func() (engine.Disposition, error) { return b.Advance(b.t.Context(), start) })
			b.wantTrace("read", "call First: stopped")
		}
		b.answer("First", `{}`)
		b.advance(start)
		b.wantTrace("read", "call First", "write 1")
		b.wantSucceeded()
	}},
	{"a second call that finds no room loses no result", func(b *fixture) {
		start := b.begin(taskFlow("First", "Second"))
		b.answer("First", `{"first":1}`)
		b.script("Second", answer{err: busy})
		b.wantRoomLater(1, func() (engine.Disposition, error) { return b.Advance(b.t.Context(), start) })
		b.wantTrace("read", "call First", "write 1", "call Second: stopped")
		b.at(time.Minute)
		b.answer("Second", `{}`)
		b.advance(start)
		b.wantTrace("read", "call Second", "write 2")
		b.wantSucceeded()
	}},
	{"a call that must not be repeated fails if it finds no room", func(b *fixture) {
		b.script("Once", answer{err: busy})
		b.advance(b.begin(flowHead + taskText("Once", atMostOnce)))
		if _, state := b.latest(); state.Error != token.ErrorExhausted {
			b.t.Errorf("the execution is %s with %s", state.Status, state.Error)
		}
	}},
	{"a submission that finds no room is made later", func(b *fixture) {
		b.script("Ask", answer{err: busy})
		start := b.begin(flowHead + callbackText())
		b.wantRoomLater(1, func() (engine.Disposition, error) { return b.Advance(b.t.Context(), start) })
		b.at(time.Minute)
		b.answer("Ask", `{}`)
		b.advance(start)
		if w := b.waiting(); !w.Submitted() {
			b.t.Errorf("the execution waits for %+v", w)
		}
	}},
	{"a queued call that finds no room is made later", func(b *fixture) {
		_, task := b.slow(flowHead + callbackText())
		b.script("Ask", answer{err: busy})
		b.wantRoomLater(1, func() (engine.Disposition, error) { return b.RunTask(b.t.Context(), task) })
		b.answer("Ask", `{}`)
		b.wantTaskPutBack(task, time.Time{})
	}},
	{"rule 7: young, it is put back until 60 s after and nothing is repeated", func(b *fixture) {
		start := b.interrupt()
		for _, at := range []time.Duration{0, time.Second, time.Minute - time.Nanosecond} {
			b.at(at)
			b.wantPutBack(start, epoch.Add(time.Minute))
			b.wantTrace("read")
		}
	}},
	{"rule 7: from 60 s on the pending call is made", func(b *fixture) {
		start := b.interrupt()
		b.at(time.Minute)
		b.answer("Second", `{}`)
		b.advance(start)
		b.wantTrace("read", "call Second", "write 2")
		b.wantSucceeded()
	}},
	{"rule 7: the age is that of the entering, not of the execution", func(b *fixture) {
		b.script("First", answer{outcome: success, during: func() { b.at(9 * time.Second) }})
		b.script("Second", answer{err: errStopped})
		start := b.begin(taskFlow("First", "Second"))
		b.wantError(start, engine.CodeInternal)
		b.at(time.Minute)
		b.wantPutBack(start, epoch.Add(69*time.Second))
		b.at(69 * time.Second)
		b.answer("Second", `{}`)
		b.advance(start)
		b.wantSucceeded()
	}},
	{"rule 7: the age is that of the try, not of the first one", func(b *fixture) {
		start := b.begin(taskFlow("First", "Second"))
		b.script("First", answer{outcome: success, during: func() {
			b.at(5 * time.Second)
			_, _ = b.rival("Second").Advance(b.t.Context(), start)
			b.at(65 * time.Second)
		}})
		b.answer("Second", `{}`)
		b.advance(start)
		b.wantTrace("read", "call First", "write 1: refused", "read", "call Second", "write 2")
	}},
	{"rule 7: what a timer entered, its wake finishes", func(b *fixture) {
		start := b.begin("version: v1\ntype: flow\nsteps:\n" + waitText("Pause", 10) + taskText("First") + taskText("Second"))
		b.advance(start)
		timer := b.take()
		b.at(10 * time.Second)
		b.answer("First", `{}`)
		b.script("Second", answer{err: errStopped})
		b.wantError(timer, engine.CodeInternal)
		b.wantTrace("read", "wake timer in 10s", "write 1", "read", "call First", "write 2", "call Second: stopped")
		b.wantPutBack(timer, epoch.Add(70*time.Second))
		b.wantTrace("read")
		b.advance(start) // is not the cause
		b.wantTrace("read")
		b.at(70 * time.Second)
		b.answer("Second", `{}`)
		b.advance(timer)
		b.wantTrace("read", "call Second", "write 3")
	}},
	{"rule 7: a pending call that was made by another is over", func(b *fixture) {
		start := b.interrupt()
		b.at(time.Minute)
		b.advanceBy(b.rival(), start)
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 7: two workers make the pending call, one result counts", func(b *fixture) {
		start := b.interrupt()
		b.at(time.Minute)
		b.answer("Second", `{}`)
		b.log.BeforeAppend(func() { b.advanceBy(b.rival(), start) })
		b.advance(start)
		b.wantTrace("read", "call Second", "write 2: refused", "read")
		b.wantSucceeded()
	}},
	{"rule 7: the worker that has the result at hand goes on", func(b *fixture) {
		b.log.FailAppends(NoFault, NoFault, LoseWrite, Refuse)
		b.twoTasks()
		b.wantTrace("read", "call First", "write 1", "call Second", "write 2: failed", "read items", "read", "write 2: refused", "read", "write 2")
	}},
	{"rule 7: a second worker beside the one that calls repeats nothing", func(b *fixture) {
		b.answer("First", `{}`)
		start := b.begin(taskFlow("First", "Second"))
		b.script("Second", answer{outcome: success, during: func() {
			verdict, err := b.rival().Advance(b.t.Context(), start)
			if err != nil || !verdict.RetryAt.Equal(epoch.Add(time.Minute)) {
				b.t.Errorf("the second worker: verdict %+v, error %v", verdict, err)
			}
		}})
		b.advance(start)
		b.wantTrace("read", "call First", "write 1", "call Second", "write 2")
	}},
	{"rule 7: the pending call is cut again and again and made at last", func(b *fixture) {
		start := b.interrupt()
		for range 3 {
			b.at(time.Minute)
			b.script("Second", answer{err: errStopped})
			b.wantError(start, engine.CodeInternal)
			b.wantTrace("read", "call Second: stopped")
		}
		b.answer("Second", `{}`)
		b.advance(start)
		b.wantTrace("read", "call Second", "write 2")
	}},
}
