package enginetest

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// expiryCases are when the items of a log expire where most executions are short: at first an hour
// after the start, and the retention of two hours after that.
var expiryCases = []ruleCase{
	{"expiry: a short execution is kept for the short life and the retention", func(b *fixture) {
		b.shortLife()
		b.answer("First", `{"pause":3600}`)
		b.advance(b.begin(pauseFlow))
		b.wantTrace("read", "call First", "wake timer in 1h0m0s", "write 1")
		b.at(time.Hour)
		b.advance(b.take())
		b.wantTrace("read", "write 2")
		b.wantSucceeded()
		b.wantExpiry(3 * time.Hour)
	}},
	{"expiry: before an item that waits longer, the items before it are kept longer, once", func(b *fixture) {
		b.shortLife()
		b.answer("First", `{"pause":3601}`)
		b.advance(b.begin(pauseFlow + waitText("Again", 3600)))
		b.wantTrace("read", "call First", "read items", "keep 12h0m0s 0", "wake timer in 1h0m1s", "write 1")
		b.at(time.Hour + time.Second)
		b.advance(b.take())
		b.wantTrace("read", "wake timer in 1h0m0s", "write 2")
		b.wantExpiry(12 * time.Hour)
	}},
	{"expiry: an execution that ends later than expected is kept longer", func(b *fixture) {
		b.shortLife()
		b.answer("First", `{"pause":3600}`)
		b.advance(b.begin(pauseFlow))
		b.trace = nil
		b.at(time.Hour + time.Minute)
		b.advance(b.take())
		b.wantTrace("read", "read items", "keep 12h0m0s 0 1", "write 2")
		b.wantExpiry(12 * time.Hour)
	}},
	{"expiry: after a worker that died in between, the next one extends the log again", func(b *fixture) {
		b.shortLife()
		b.answer("First", `{"pause":3601}`, `{"pause":3601}`)
		start := b.begin(pauseFlow)
		b.log.FailAppends(LoseWrite)
		b.advance(start)
		b.wantTrace("read", "call First", "read items", "keep 12h0m0s 0", "wake timer in 1h0m1s", "write 1: failed", "read items",
			"read", "read items", "keep 12h0m0s 0", "wake timer in 1h0m1s", "write 1")
	}},
	{"expiry: a token without a deadline is valid for the whole time that the execution may take", func(b *fixture) {
		b.shortLife()
		b.ask(askFlow)
		b.wantTokenExpiry(12 * time.Hour)
	}},
	{"expiry: a token with a deadline is valid for the retention after it", func(b *fixture) {
		b.shortLife()
		b.ask(flowHead + callbackText("timeoutSeconds: 3600"))
		b.wantTokenExpiry(3 * time.Hour)
	}},
	{"expiry: a token whose deadline is later extends the log before it is made", func(b *fixture) {
		b.shortLife()
		b.at(time.Minute)
		b.answer("Ask", `{}`)
		b.advance(b.begin(flowHead + waitText("Pause", 60) + callbackText("timeoutSeconds: 3600")))
		b.at(2*time.Minute + time.Second)
		b.trace = nil
		b.advance(b.take())
		b.wantTrace("read", "read items", fmt.Sprintf("keep %s 0 1", 12*time.Hour+time.Minute), "wake timer in 1h0m0s", "write 2", "call Ask", "write 3")
		b.wantTokenExpiry(12*time.Hour + time.Minute)
	}},
	{"expiry: a long call without a time limit extends the log", func(b *fixture) {
		b.shortLife()
		b.limits = map[string]time.Duration{"First": time.Hour}
		b.advance(b.begin(taskFlow("First")))
		b.wantTokenExpiry(12 * time.Hour)
	}},
	{"expiry: polls that met no condition are not kept longer", func(b *fixture) {
		b.shortLife()
		timer := b.polling(conditionFlow)
		for _, at := range []time.Duration{time.Minute, time.Hour} {
			b.at(at)
			b.answer("Poll", running)
			b.advance(timer)
			timer = b.take()
		}
		b.wantTrace("read", "call Poll", "wake timer in 10s", "write 2",
			"read", "call Poll", "read items", "keep 12h0m0s 0 1", "wake timer in 10s", "write 3")
	}},
	{"expiry: the logs of a flow with forks expire together, as it was fixed at the start", func(b *fixture) {
		b.shortLife()
		b.begin(flowHead + "  - {type: foreach, name: All, iterationMapping: {collection: $.all, item: one}, steps: [{type: pass, name: Each}]}\n")
		b.wantExpiry(12 * time.Hour)
	}},
	{"expiry: the time limit of a flow bounds how long it is kept", func(b *fixture) {
		b.shortLife()
		b.begin(limitedAsk)
		b.wantExpiry(2*time.Hour + 30*time.Second)
	}},
}

// pauseFlow waits for as long as its function says.
var pauseFlow = taskFlow("First") + "  - {type: wait, name: Pause, inputMappings: [{target: pause, source: $local.pause}], duration: $.pause}\n"

func (b *fixture) shortLife() {
	b.Limits.Duration, b.Limits.Retention, b.Limits.ShortLife = 10*time.Hour, 2*time.Hour, time.Hour
}

func (b *fixture) wantExpiry(want time.Duration) {
	b.t.Helper()
	if _, state := b.latest(); !state.Expires.Equal(after(want)) {
		b.t.Errorf("the log is kept for %s, want %s", state.Expires.Sub(epoch), want)
	}
}

// wantTokenExpiry compares the expiry of the log and of the token that it waits for.
func (b *fixture) wantTokenExpiry(want time.Duration) {
	b.t.Helper()
	b.wantExpiry(want)
	w := b.waiting()
	if w.Token() == nil {
		b.t.Fatalf("the execution waits for %+v", w)
	}
	if id, _ := token.HandleID(w.Handle()); !id.Expires.Equal(after(want).Truncate(time.Second)) {
		b.t.Errorf("the token is valid for %s, want %s", id.Expires.Sub(epoch), want)
	}
}
