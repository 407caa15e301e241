package enginetest

import (
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var success = token.Success(value.Object())

// timerCases are rule 8: timers on arrival.
var timerCases = []ruleCase{
	{"rule 8: a timer that comes early is sent again without a read", func(b *fixture) {
		timer := b.pause()
		for _, at := range []time.Duration{0, 9 * time.Second, 10*time.Second - time.Nanosecond} {
			b.at(at)
			b.advance(timer)
			b.wantTrace("wake timer in " + (10*time.Second - at).String())
			if again := b.take(); !sameWake(again, timer) {
				b.t.Errorf("it was sent again as %+v, want %+v", again, timer)
			}
		}
	}},
	{"rule 8: the live timer with another due is sent again for the right one", func(b *fixture) {
		timer := b.pause()
		forged := timer
		forged.Due = epoch
		b.advance(forged)
		b.wantTrace("read", "wake timer in 10s")
		if again := b.take(); !sameWake(again, timer) {
			b.t.Errorf("it was sent again as %+v, want %+v", again, timer)
		}
	}},
	{"rule 8: a timer whose commit is on its way is sent again after 1 s, for an hour at most", func(b *fixture) {
		b.pause()
		ahead := engine.Wake{Execution: testID, Cause: "ahead", Due: epoch, Sent: epoch, Seq: 2}
		for _, at := range []time.Duration{0, time.Second, time.Minute, time.Hour - time.Nanosecond} {
			b.at(at)
			b.advance(ahead)
			b.wantTrace("read", "wake timer in 1s")
			want := ahead
			want.Due = b.Now().Add(time.Second)
			if again := b.take(); !sameWake(again, want) {
				b.t.Errorf("it was sent again as %+v, want %+v", again, want)
			}
		}
		b.at(time.Hour)
		b.advance(ahead)
		b.wantTrace("read")
	}},
	{"rule 8: a timer whose commit came at last applies", func(b *fixture) {
		b.answer("Begin", `{}`)
		start := b.begin("version: v1\ntype: flow\nsteps:\n" + taskText("Begin") + waitText("Pause", 1))
		b.log.BeforeAppend(func() {
			timer := b.take()
			b.at(time.Second)
			b.advance(timer)
			b.at(2 * time.Second)
		})
		b.advance(start)
		b.wantTrace("read", "call Begin", "wake timer in 1s", "read", "wake timer in 1s", "write 1")
		b.advance(b.take())
		b.wantTrace("read", "write 2")
		b.wantSucceeded()
	}},
	{"rule 8: a stale timer is dropped", func(b *fixture) {
		first := b.pause()
		b.at(10 * time.Second)
		b.answer("Poll", running)
		b.advance(first)
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2")
		b.advance(first)
		b.wantTrace("read")
	}},
	{"rule 8: a timer of an execution that is gone is dropped", func(b *fixture) {
		b.advance(engine.Wake{Execution: testID, Cause: "gone", Due: epoch, Sent: epoch, Seq: 3})
		b.wantTrace("read")
	}},
	{"rule 8: a timer delivered twice applies once", func(b *fixture) {
		timer := b.pause()
		b.at(10 * time.Second)
		b.answer("Poll", succeeded)
		b.advance(timer)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 2", "read")
	}},
}

// startCases are rule 12.
var startCases = []ruleCase{
	{"rule 12: the wake goes out before item 0", func(b *fixture) {
		b.wantStart(b.request(onlyText, `{"a":1}`), engine.StartedNew)
		b.wantTrace("wake start in 0s", "write 0")
		want := engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch}
		if w := b.take(); !sameWake(w, want) {
			b.t.Errorf("the wake is %+v, want %+v", w, want)
		}
		if _, state := b.latest(); state.Status != machine.StatusStarting || state.Input.JSON() != `{"a":1}` {
			b.t.Errorf("the execution is %s with input %s", state.Status, state.Input)
		}
	}},
	// rules: F-6
	{"rule 12: without an input it is an empty object", func(b *fixture) {
		b.begin(onlyText)
		if _, state := b.latest(); state.Input.JSON() != `{}` {
			b.t.Errorf("the input is %s", state.Input)
		}
	}},
	{"rule 12: a wake that finds nothing is sent again after 1 s until it is 30 s old", func(b *fixture) {
		start := engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch}
		for _, at := range []time.Duration{0, time.Second, 30*time.Second - time.Nanosecond} {
			b.at(at)
			b.advance(start)
			b.wantTrace("read", "wake start in 1s")
			want := start
			want.Due = b.Now().Add(time.Second)
			if again := b.take(); !sameWake(again, want) {
				b.t.Errorf("it was sent again as %+v, want %+v", again, want)
			}
		}
		b.at(30 * time.Second)
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 12: a start whose wake was not sent writes nothing", func(b *fixture) {
		b.sendFails = 1
		if _, err := b.Start(b.t.Context(), b.request(onlyText, "")); engine.CodeOf(err) != engine.CodeInternal {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace("wake start in 0s: failed")
	}},
	{"rule 12: the same start again sends the wake again", func(b *fixture) {
		request := b.request(onlyText, `{"a":1,"b":2}`)
		b.wantStart(request, engine.StartedNew)
		b.wantTrace("wake start in 0s", "write 0")
		first := b.take()
		request.Input = object(b.t, `{"b":2,"a":1}`)
		b.wantStart(request, engine.StartedSame)
		b.wantTrace("wake start in 0s", "write 0: refused", "read items")
		b.advance(first)
		b.wantTrace("read", "write 1")
		b.advance(b.take())
		b.wantTrace("read")
		b.wantStart(request, engine.StartedSame)
		b.wantTrace("wake start in 0s", "write 0: refused", "read items")
	}},
	{"rule 12: a start with another input or flow is different", func(b *fixture) {
		b.wantStart(b.request(onlyText, `{"a":1}`), engine.StartedNew)
		b.wantStart(b.request(onlyText, `{"a":2}`), engine.StartedDifferent)
		b.wantStart(b.request(onlyText, ""), engine.StartedDifferent)
		b.wantStart(b.request(otherText, `{"a":1}`), engine.StartedDifferent)
		if _, state := b.latest(); state.Input.JSON() != `{"a":1}` {
			b.t.Errorf("the input is %s", state.Input)
		}
	}},
	{"rule 12: a start whose answer was lost is new", func(b *fixture) {
		b.log.FailAppends(LoseAnswer)
		b.wantStart(b.request(onlyText, ""), engine.StartedNew)
		b.wantTrace("wake start in 0s", "write 0: failed", "read items")
	}},
	{"rule 12: a start whose answer was lost is new although the execution went on", func(b *fixture) {
		request := b.request(onlyText, "")
		b.log.FailAppends(LoseAnswer)
		b.log.AfterAppend(func() { b.advanceBy(b.rival(), b.take()) })
		b.wantStart(request, engine.StartedNew)
		b.wantSucceeded()
	}},
	{"rule 12: a start whose write was lost is an error and can be repeated", func(b *fixture) {
		request := b.request(onlyText, "")
		b.log.FailAppends(LoseWrite)
		if _, err := b.Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodeInternal {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace("wake start in 0s", "write 0: failed", "read items")
		b.wantStart(request, engine.StartedNew)
	}},
	{"rule 12: of 16 starts at once one is new and each sent a wake", func(b *fixture) {
		request := b.request(onlyText, "")
		const starts = 16
		var answers [starts]engine.StartResult
		var errs [starts]error
		together(starts, func(i int) { answers[i], errs[i] = b.Start(b.t.Context(), request) })
		count := map[engine.StartResult]int{}
		for i, answer := range answers {
			if errs[i] != nil {
				b.t.Error(errs[i])
			}
			count[answer]++
		}
		if count[engine.StartedNew] != 1 || count[engine.StartedSame] != starts-1 || len(b.wakes) != starts {
			b.t.Errorf("%d new, %d same, %d wakes", count[engine.StartedNew], count[engine.StartedSame], len(b.wakes))
		}
	}},
	{"rule 12: a request without meaning has no effect", func(b *fixture) {
		valid := b.request(onlyText, "")
		for _, change := range []func(*engine.StartRequest){
			func(r *engine.StartRequest) { r.Execution = "" },
			func(r *engine.StartRequest) { r.Execution = "a/b" },
			func(r *engine.StartRequest) { r.Execution = "a b" },
			func(r *engine.StartRequest) { r.Input = value.Null() },
			func(r *engine.StartRequest) { r.Input = value.Array() },
		} {
			request := valid
			change(&request)
			if _, err := b.Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodeInvalid {
				b.t.Errorf("start %q with %s: error %v", request.Execution, request.Input.JSON(), err)
			}
		}
		b.wantTrace()
	}},
}

// readCases are what is read beside the loop, and items that cannot be read.
var readCases = []ruleCase{
	{"format: an execution of a newer release is never dropped", func(b *fixture) {
		b.appendBody(0, newerBody())
		for _, w := range []engine.Wake{
			{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch},
			{Execution: testID, Cause: "tag", Due: epoch, Sent: epoch, Seq: 7},
		} {
			b.at(24 * time.Hour)
			b.wantError(w, engine.CodeTooNew)
			b.wantTrace("read")
		}
		if _, err := b.Describe(b.t.Context(), testID); engine.CodeOf(err) != engine.CodeTooNew {
			b.t.Errorf("describe: %v", err)
		}
		if _, err := b.History(b.t.Context(), testID); engine.CodeOf(err) != engine.CodeTooNew {
			b.t.Errorf("history: %v", err)
		}
		if _, err := b.Start(b.t.Context(), b.request(onlyText, "")); engine.CodeOf(err) != engine.CodeTooNew {
			b.t.Errorf("start: %v", err)
		}
	}},
	{"format: an execution that a newer release took over meanwhile is left to it", func(b *fixture) {
		b.answer("Begin", `{}`)
		start := b.begin(pollFlow)
		b.log.BeforeAppend(func() { b.appendBody(1, newerBody()) })
		b.wantError(start, engine.CodeTooNew)
		b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1: refused", "read")
	}},
	{"format: a damaged item is an error and nothing is written", func(b *fixture) {
		b.appendBody(0, []byte{machine.Format, 0xff})
		b.wantError(engine.Wake{Execution: testID, Cause: machine.CauseStart, Due: epoch, Sent: epoch}, engine.CodeDefect)
		b.wantTrace("read")
	}},
	{"reads: an execution that does not exist is not found", func(b *fixture) {
		if _, err := b.Describe(b.t.Context(), testID); engine.CodeOf(err) != engine.CodeNotFound {
			b.t.Errorf("describe: %v", err)
		}
		if _, err := b.History(b.t.Context(), testID); engine.CodeOf(err) != engine.CodeNotFound {
			b.t.Errorf("history: %v", err)
		}
	}},
	{"reads: a history of many items is whole and in order", func(b *fixture) {
		timer := b.pause()
		const turns = 120 // more than a page of items
		for turn := 1; turn <= turns; turn++ {
			b.at(time.Duration(turn) * 10 * time.Second)
			b.answer("Poll", running)
			b.advance(timer)
			timer = b.take()
		}
		history, err := b.History(b.t.Context(), testID)
		state, describeErr := b.Describe(b.t.Context(), testID)
		if err != nil || describeErr != nil || len(history) != state.Events {
			b.t.Fatalf("%d events of %d, errors %v, %v", len(history), state.Events, err, describeErr)
		}
		wantNumbered(b.t, history)
	}},
}

func wantNumbered(t *testing.T, history []machine.Event) {
	t.Helper()
	for i, event := range history {
		if event.ID != i+1 {
			t.Fatalf("event %d has the id %d", i+1, event.ID)
		}
	}
}

// newerBody is an item of a release to come.
func newerBody() []byte {
	return slices.Concat([]byte{machine.Format + 1}, []byte("an unknown format"))
}

// appendBody puts an item behind the engine's back.
func (b *fixture) appendBody(seq uint64, body []byte) {
	b.t.Helper()
	if err := b.store.Append(b.t.Context(), engine.Item{Execution: testID, Seq: seq, Nonce: "newer", Body: body}); err != nil {
		b.t.Fatal(err)
	}
}
