package enginetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// testNotify is the target of the cases and stories.
var testNotify = machine.Notify{Target: "https://example.org/hook?key=secret", Waits: true}

// noticeCases are about what the target of an execution is told.
var noticeCases = []ruleCase{
	{"rule 7: a target is told of the end after the terminal item, and once", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(taskFlow("Only"))
		b.answer("Only", `{"paid":true}`)
		b.at(time.Second)
		b.advance(start)
		b.wantTrace("read", "call Only", "write 1", "notice execution.ended")
		n.want(0, testID, true, `{"data":{"execution":"run","flow":"sample","output":{"paid":true},"startedTime":"2026-01-31T10:00:00.123Z",`+
			`"status":"Succeeded","stoppedTime":"2026-01-31T10:00:01.123Z"},"timestamp":"2026-01-31T10:00:01.123Z","type":"execution.ended"}`)
	}},
	// rules: NO-2
	{"rule 7: a target that was not told is told again once the worker cannot live, the same", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(taskFlow("Only"))
		b.answer("Only", `{"text":"`+strings.Repeat("x", 5000)+`"}`) // held by reference
		n.fails = 1
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "call Only", "write 1", "notice execution.ended: failed")
		b.at(59 * time.Second)
		b.wantPutBack(start, after(time.Minute))
		b.wantTrace("read")
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "notice execution.ended")
		if n.got[0] != n.got[1] || !strings.Contains(n.got[0].Body, "xxxx") {
			b.t.Errorf("told\n%+v, then\n%+v", n.got[0], n.got[1])
		}
	}},
	{"rule 7: a target that cannot be told does not keep the end from Ends", func(b *fixture) {
		n := b.notices()
		b.Ends = &told{b, 0}
		start := b.beginNotified(taskFlow("Only"))
		b.answer("Only", `{}`)
		n.fails = 1
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "call Only", "write 1", "notice execution.ended: failed", "told Succeeded")
	}},
	{"rule 7: without a target the end costs what it did", func(b *fixture) {
		b.notices()
		start := b.begin(taskFlow("Only"))
		b.answer("Only", `{}`)
		b.advance(start)
		b.wantTrace("read", "call Only", "write 1")
		b.advance(start)
		b.wantTrace("read")
	}},
	{"rule 5: a target is told of a wait before the function is called, and again if the worker died", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(flowHead + callbackText("timeoutSeconds: 600"))
		b.script("Ask", answer{err: errStopped})
		b.wantError(start, engine.CodeInternal)
		b.wantTrace("read", "wake timer in 10m0s", "write 1", "notice execution.waiting", "call Ask: stopped")
		b.answer("Ask", `{}`)
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: open", "notice execution.waiting", "call Ask", "write 2")
		if n.got[0] != n.got[1] {
			b.t.Errorf("told\n%+v, then\n%+v", n.got[0], n.got[1])
		}
		n.want(0, testID, false, `{"data":{"execution":"run","flow":"sample","startedTime":"2026-01-31T10:00:00.123Z","status":"Running",`+
			`"step":"Ask","until":"2026-01-31T10:10:00.123Z"},"timestamp":"2026-01-31T10:00:00.123Z","type":"execution.waiting"}`)
	}},
	{"rule 5: a target that asks for ends only is not told of a wait", func(b *fixture) {
		n := b.notices()
		request := b.request(askFlow, "")
		request.Notify = machine.Notify{Target: testNotify.Target}
		b.wantStart(request, engine.StartedNew)
		b.answer("Ask", `{}`)
		b.advance(b.take())
		if len(n.got) > 0 {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	{"rule 14: a target is told of the waits of lanes", func(b *fixture) {
		n := b.notices()
		b.askInLanes()
		if len(n.got) != 2 || n.got[0].ID == n.got[1].ID || n.got[0].Execution != testID || n.got[1].Execution != testID {
			b.t.Fatalf("told %+v", n.got)
		}
		for i, notice := range n.got {
			if want := fmt.Sprintf(`"step":"Ask[%d]"`, i); !strings.Contains(notice.Body, want) {
				b.t.Errorf("notice %d is %s, want %s", i, notice.Body, want)
			}
		}
	}},
	{"rule 13: a failure by a defect is told to the target, also after damage", func(b *fixture) {
		n := b.notices()
		start := b.beginNotified(taskFlow("Only"))
		b.appendBody(1, []byte{machine.Format, 0xff})
		start.Receives = 5
		b.advance(start)
		if len(n.got) != 1 || !strings.Contains(n.got[0].Body, `"status":"Failed"`) {
			b.t.Errorf("told %+v", n.got)
		}
	}},
	{"rule 7: the next process tells the target of an end at once", func(b *fixture) {
		n := b.notices()
		b.Generation = 1
		start := b.beginNotified(taskFlow("Only"))
		b.answer("Only", `{}`)
		n.fails = 1
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.Generation = 2
		item, state := b.latest()
		b.trace = nil
		if err := b.Recover(b.t.Context(), item, state); err != nil {
			b.t.Fatal(err)
		}
		b.advance(b.take())
		b.wantTrace("wake start in 0s", "read", "notice execution.ended")
	}},
	// rules: NO-11
	{"rule 12: a large output is not told", func(b *fixture) {
		n := b.notices()
		b.Limits.Data = 1 << 20
		start := b.beginNotified(taskFlow("Only"))
		b.answer("Only", `{"text":"`+strings.Repeat("x", 33<<10)+`"}`)
		b.advance(start)
		if body := n.got[0].Body; strings.Contains(body, "output") || !strings.Contains(body, "Succeeded") {
			b.t.Errorf("told %.2000s", body)
		}
	}},
	// rules: NO-15
	{"rule 12: the target of the start precedes that of the flow", func(b *fixture) {
		flow := b.request(onlyText, "").Flow
		for i, tt := range []struct{ start, flow, want string }{{"a", "f", "a"}, {"", "f", "f"}, {"", "", ""}} {
			if err := b.client().SetNotify(b.t.Context(), flow, machine.Notify{Target: tt.flow}); err != nil {
				b.t.Fatal(err)
			}
			request := engine.StartRequest{Flow: flow, Execution: fmt.Sprint("run", i), Notify: machine.Notify{Target: tt.start}}
			if _, err := b.Start(b.t.Context(), request); err != nil {
				b.t.Fatal(err)
			}
			state, err := b.Describe(b.t.Context(), engine.NewID(flow.Name, request.Execution))
			if err != nil || state.Notify.Target != tt.want {
				b.t.Errorf("%+v: the target is %q, error %v", tt, state.Notify.Target, err)
			}
		}
		if err := b.client().SetNotify(b.t.Context(), flow, machine.Notify{Waits: true}); engine.CodeOf(err) != engine.CodeInvalid {
			b.t.Errorf("waits without a target: error %v", err)
		}
	}},
	{"rule 12: a start with an invalid target is rejected", func(b *fixture) {
		for _, notify := range []machine.Notify{{Waits: true}, {Target: "https://example.org/" + strings.Repeat("x", 2048)}} {
			request := b.request(onlyText, "")
			request.Notify = notify
			if _, err := b.Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodeInvalid || strings.Contains(err.Error(), "example") {
				b.t.Errorf("error %v", err)
			}
		}
		b.wantTrace()
	}},
}

// beginNotified is begin for an execution that has a target.
func (b *fixture) beginNotified(flow string) engine.Wake {
	b.t.Helper()
	request := b.request(flow, "")
	request.Notify = testNotify
	b.wantStart(request, engine.StartedNew)
	b.wantTrace("wake start in 0s", "write 0")
	return b.take()
}

// askInLanes starts an execution with two lanes, each of which waits for a callback that its target
// is told of.
func (b *fixture) askInLanes() {
	b.t.Helper()
	request := b.request(flowHead+"  - type: foreach\n    name: Each\n    iterationMapping: {collection: $.list, item: one}\n    steps:\n"+
		strings.ReplaceAll("\n"+callbackText(), "\n", "\n    ")[1:], `{"list":[1,2]}`)
	request.Notify = testNotify
	b.wantStart(request, engine.StartedNew)
	b.answer("Ask", `{}`)
	b.answer("Ask", `{}`)
	b.drain()
}

// notified notes what targets are told.
type notified struct {
	b     *fixture
	got   []engine.Notice
	fails int
}

func (b *fixture) notices() *notified {
	n := &notified{b: b}
	b.Notices = n
	return n
}

// Notify implements [engine.Notices].
func (n *notified) Notify(_ context.Context, notice engine.Notice) error {
	n.got = append(n.got, notice)
	body, err := value.ParseJSON([]byte(notice.Body))
	if err != nil {
		return err
	}
	kind := body.Get("type")
	if n.fails > 0 {
		n.fails--
		n.b.note("notice %s: failed", kind.Text())
		return ErrFault
	}
	n.b.note("notice %s", kind.Text())
	return nil
}

func (n *notified) want(i int, id engine.ID, ended bool, body string) {
	n.b.t.Helper()
	if i >= len(n.got) {
		n.b.t.Fatalf("%d notices", len(n.got))
	}
	got := n.got[i]
	if got.Execution != id || got.Ended != ended || got.Body != body || got.Target != testNotify.Target || strings.Contains(got.ID, ".") {
		n.b.t.Errorf("told\n%+v, want\n%s", got, body)
	}
}

// checkNotices: the target was told of the end, and of a wait before its function was called, each
// time the same.
func (w *storyWorld) checkNotices(state machine.State) error {
	if w.notify.Target == "" {
		return nil
	}
	bodies, ended := map[string]string{}, false
	for _, notice := range w.notices {
		if before, ok := bodies[notice.ID]; ok && before != notice.Body {
			return fmt.Errorf("notice %s is %s, and was %s", notice.ID, notice.Body, before)
		}
		bodies[notice.ID] = notice.Body
		ended = ended || notice.Ended && strings.Contains(notice.Body, string(state.Status))
	}
	for key, calls := range w.calls {
		if calls[0].function == "Ask" && bodies[fmt.Sprintf("wait-%s-%d", key, state.Started.UnixMilli())] == "" {
			return fmt.Errorf("step Ask was called and the target was not told: %v", bodies)
		}
	}
	if !ended {
		return fmt.Errorf("the execution is %s and the target was not told", state.Status)
	}
	return nil
}
