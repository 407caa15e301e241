package enginetest

import (
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
)

// questionCases are about what a callback asks.
var questionCases = []ruleCase{
	// rules: B-19 B-20 B-21
	{"rule 5: a question costs no write, and is the same for the notice, the client and the history", func(b *fixture) {
		n := b.notices()
		text := strings.Repeat("x", 5000) // held by reference
		definition := flowHead + callbackText("timeoutSeconds: 600", `prompt: "Is ${$.text} ${$.n}?"`, "choices: [{label: Yes, output: {n: $.n}}]")
		request := b.request(definition, `{"n":7,"text":"`+text+`"}`)
		request.Notify = testNotify
		b.wantStart(request, engine.StartedNew)
		b.wantTrace("wake start in 0s", "write 0")
		b.answer("Ask", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "wake timer in 10m0s", "write 1", "notice execution.waiting", "call Ask", "write 2")
		question := `"question":{"choices":["Yes"],"prompt":"Is ` + text + ` 7?"}`
		if len(n.got) != 1 || !strings.Contains(n.got[0].Body, question) {
			b.t.Errorf("told %+v", n.got)
		}
		handle := b.waiting().Handle()
		b.at(time.Minute)
		b.trace = nil
		wait, ok, err := b.client().WaitFor(b.t.Context(), testID, handle)
		if err != nil || !ok || wait.Flow != "sample" || wait.Execution != executionName || wait.Step != "Ask" || !wait.Since.Equal(after(0)) ||
			!wait.Deadline.Equal(after(10*time.Minute)) || wait.Question.Prompt != "Is "+text+" 7?" || wait.Question.Outputs[0].JSON() != `{"n":7}` {
			b.t.Errorf("it waits for %+v, ok=%t, %v", wait, ok, err)
		}
		b.wantTrace("read", "read items")
		b.wantNoWait(testID, handle+"x")
		b.wantNoWait(engine.ID{1}, handle)
		b.advance(b.close(token.Success(object(b.t, `{}`))))
		b.wantNoWait(testID, handle)
		history, err := b.History(b.t.Context(), testID)
		if flow, _ := fdl.Parse([]byte(definition)); err != nil || !strings.Contains(history[1].Detail(flow.All[0]).JSON(), question) {
			b.t.Errorf("history %+v, %v", history, err)
		}
	}},
	{"rule 5: a callback that asks nothing is read without its input", func(b *fixture) {
		b.ask(flowHead + callbackText())
		wait, ok, err := b.client().WaitFor(b.t.Context(), testID, b.waiting().Handle())
		if err != nil || !ok || wait.Question != nil || !wait.Deadline.IsZero() {
			b.t.Errorf("it waits for %+v, ok=%t, %v", wait, ok, err)
		}
	}},
}

// wantNoWait wants that no step waits for the token.
func (b *fixture) wantNoWait(log engine.ID, handle string) {
	b.t.Helper()
	if wait, ok, err := b.client().WaitFor(b.t.Context(), log, handle); ok || err != nil {
		b.t.Errorf("%s waits for %+v, %v", log, wait, err)
	}
	b.trace = nil
}
