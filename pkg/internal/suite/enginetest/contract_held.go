package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// heldCases are about large values, which are written once and then held by
// reference.
var heldCases = []ruleCase{
	{"values by reference: an input of 5 KB is written once, and a small member of it costs no read", func(b *fixture) {
		timer := b.pauseLarge()
		for poll := range 3 {
			b.at(time.Duration(poll+1) * 10 * time.Second)
			b.answer("Poll", running)
			b.advance(timer)
			b.wantTrace("read", "call Poll", "wake timer in 10s", fmt.Sprintf("write %d", poll+2))
			b.wantInput("Poll", `{"delay":60}`)
			timer = b.take()
		}
		b.at(time.Minute)
		b.answer("Poll", succeeded)
		b.advance(timer)
		b.wantTrace("read", "call Poll", "write 5")
		b.wantSucceeded()
		b.wantWrittenOnce(6)
	}},
	{"values by reference: an input of many members is written once, too", func(b *fixture) {
		for _, shape := range []struct{ members, size, most int }{{12, 400, 1000}, {20, 240, 1300}, {60, 80, 2400}} {
			items := b.pollMany(shape.members, strings.Repeat("m", shape.size))
			for _, item := range items[1:] {
				if len(item.Body) > shape.most {
					b.t.Errorf("%d members of %d bytes: item %d has %d bytes, want %d at most", shape.members, shape.size, item.Seq, len(item.Body), shape.most)
				}
			}
		}
	}},
	{"values by reference: a large value that is needed is read, once a wake", func(b *fixture) {
		b.answer("First", `{"first":1}`)
		b.wantStart(b.request(taskFlow("First")+waitText("Pause", 10)+taskText("Second")+taskText("Third"), largeInput), engine.StartedNew)
		b.wantTrace("wake start in 0s", "write 0")
		b.advance(b.take())
		b.wantTrace("read", "call First", "wake timer in 10s", "write 1")
		b.answer("Second", `{}`)
		b.answer("Third", `{}`)
		b.at(10 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "read items", "call Second", "write 2", "call Third", "write 3")
		for _, function := range []string{"Second", "Third"} {
			b.wantInput(function, strings.Replace(largeInput, `"delay":60,`, `"delay":60,"first":1,`, 1))
		}
		b.wantWrittenOnce(4)
	}},
	{"values by reference: a large answer is written once, also by the worker that brought it", func(b *fixture) {
		b.answer("First", largeInput)
		b.answer("Second", `{}`)
		b.answer("Third", `{}`)
		b.advance(b.begin(taskFlow("First", "Second", "Third")))
		b.wantTrace("read", "call First", "write 1", "call Second", "write 2", "call Third", "write 3")
		b.wantInput("Third", largeInput)
		b.wantWrittenOnce(4)
	}},
	{"values by reference: refused and the same state found, the result is used for the same input", func(b *fixture) {
		b.script("First", answer{err: errStopped})
		b.wantStart(b.request(taskFlow("First", "Second"), largeInput), engine.StartedNew)
		start := b.take()
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.answer("First", `{}`)
		b.script("Second", answer{err: errStopped})
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.at(time.Minute)
		b.answer("Second", `{}`)
		b.log.FailAppends(LoseWrite)
		b.advance(start)
		b.wantTrace("read", "read items", "call Second", "write 2: failed", "read items", "read", "write 2")
		b.wantSucceeded()
		b.wantWrittenOnce(3)
	}},
	{"values by reference: state and history show them complete", func(b *fixture) {
		b.pauseLarge()
		state, err := b.Describe(b.t.Context(), testID)
		if err != nil || state.Input.JSON() != largeInput {
			b.t.Errorf("the input is %.80s, error %v", state.Input, err)
		}
		history, err := b.History(b.t.Context(), testID)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, event := range history {
			if event.Type == machine.StepEntered && event.Step < 2 && event.Input.JSON() != largeInput {
				b.t.Errorf("event %d has the input %.80s", event.ID, event.Input)
			}
		}
		b.trace = nil
	}},
	{"values by reference: the same start is compared with all of the input", func(b *fixture) {
		b.pauseLarge()
		flow := strings.Replace(pollFlow, "    name: Poll\n", "    name: Poll\n"+delayMapping, 1)
		b.wantStart(b.request(flow, largeInput), engine.StartedSame)
		b.wantStart(b.request(flow, strings.Replace(largeInput, "x", "y", 1)), engine.StartedDifferent)
		b.trace = nil
	}},
}

// largeInput is an object of 5 KB with a small member.
var largeInput = `{"delay":60,"payload":"` + strings.Repeat("x", 5000) + `"}`

const delayMapping = "    inputMappings: [{target: delay, source: $input.delay}]\n"

// pauseLarge leads an execution of a polling flow with a large input, of which
// Poll gets a small member, to its wait and gives its timer.
func (b *fixture) pauseLarge() engine.Wake {
	b.t.Helper()
	b.answer("Begin", `{}`)
	flow := strings.Replace(pollFlow, "    name: Poll\n", "    name: Poll\n"+delayMapping, 1)
	b.wantStart(b.request(flow, largeInput), engine.StartedNew)
	b.wantTrace("wake start in 0s", "write 0")
	b.advance(b.take())
	b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1")
	b.wantInput("Begin", largeInput)
	return b.take()
}

// pollMany runs an execution with an input of so many members to its end, and
// gives its items. No poll reads what is held.
func (b *fixture) pollMany(members int, v string) []engine.Item {
	b.t.Helper()
	list := []value.Member{{Key: "delay", Value: value.Int(60)}}
	for i := range members {
		list = append(list, value.Member{Key: fmt.Sprintf("k%d", i), Value: value.String(v)})
	}
	flow := strings.Replace(pollFlow, "    name: Poll\n", "    name: Poll\n"+delayMapping, 1)
	request := engine.StartRequest{Flow: put(b.t, b.store, flowName, flow), Execution: fmt.Sprintf("run-%d", members), Input: value.Object(list...)}
	b.at(0)
	b.answer("Begin", `{}`)
	b.answer("Poll", running, running, succeeded)
	b.wantStart(request, engine.StartedNew)
	b.advance(b.take())
	for _, after := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second} {
		b.trace = nil
		b.at(after)
		b.advance(b.take())
		if slices.Contains(b.trace, "read items") {
			b.t.Errorf("%d members: a poll reads items: %q", members, b.trace)
		}
	}
	b.trace = nil
	items, err := b.store.Items(b.t.Context(), engine.NewID(flowName, request.Execution), 0, 100)
	if err != nil || len(items) != 5 {
		b.t.Fatalf("%d items, error %v", len(items), err)
	}
	return items
}

// wantInput compares the input of the last call of a function.
func (b *fixture) wantInput(function, want string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := b.inputs[function]; !value.Equal(got, object(b.t, want)) {
		b.t.Errorf("%s was called with %.80s, want %.80s", function, got, want)
	}
}

// wantWrittenOnce looks at all items: one holds the large text, and the others
// stay small.
func (b *fixture) wantWrittenOnce(count int) {
	b.t.Helper()
	items, err := b.store.Items(b.t.Context(), testID, 0, count+1)
	if err != nil || len(items) != count {
		b.t.Fatalf("%d items, error %v, want %d", len(items), err, count)
	}
	text, written := strings.Repeat("x", 5000), 0
	for _, item := range items {
		if n := strings.Count(string(item.Body), text); n > 0 {
			written += n
		} else if most := 1000; len(item.Body) > most {
			b.t.Errorf("item %d has %d bytes, want %d at most", item.Seq, len(item.Body), most)
		}
	}
	if written != 1 {
		b.t.Errorf("the text is in the log %d times", written)
	}
}
