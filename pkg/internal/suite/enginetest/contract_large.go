package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// largeValues notes what the engine does with large values, and keeps them in the store at hand, or
// in memory beside a store that keeps none.
type largeValues struct {
	*fixture
	fails int  // how many of the next stores fail
	slow  bool // loads end without a value
	gone  bool // nothing is found
	// expired is an execution whose values are deleted.
	expired engine.ID
	flip    bool // a bit of what is found is another one
	mu      sync.Mutex
	memory  map[string][]byte
}

// withLarge gives the engine a store for large values, and the highest limit.
func (b *fixture) withLarge() *largeValues {
	values := &largeValues{fixture: b, memory: map[string][]byte{}}
	b.LargeValues, b.Limits.Data = values, machine.MaxLargeData
	return values
}

func (l *largeValues) StoreValue(ctx context.Context, name string, data []byte, expires time.Time) error {
	if l.fails > 0 {
		l.fails--
		l.note("store a value: failed")
		return ErrFault
	}
	l.note("store a value")
	execution, _, _ := strings.Cut(name, "/")
	if len(execution) != len(testID.String()) || !expires.After(l.Now()) || bytes.Contains(data, []byte("xxxxxxxx")) {
		l.t.Errorf("value %s expires at %s, or is not encrypted", name, expires)
	}
	if store, ok := l.store.(engine.LargeValues); ok {
		return store.StoreValue(ctx, name, data, expires)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory[name] = bytes.Clone(data)
	return nil
}

func (l *largeValues) LoadValue(ctx context.Context, name string) (data []byte, err error) {
	l.note("load a value")
	l.mu.Lock()
	defer l.mu.Unlock()
	store, ok := l.store.(engine.LargeValues)
	switch {
	case l.slow:
		return nil, context.DeadlineExceeded
	case l.gone, strings.HasPrefix(name, l.expired.String()):
		return nil, engine.ErrNotFound
	case ok:
		data, err = store.LoadValue(ctx, name)
	case l.memory[name] == nil:
		return nil, engine.ErrNotFound
	default:
		data = bytes.Clone(l.memory[name])
	}
	if l.flip && len(data) > 0 {
		data[len(data)/2] ^= 1
	}
	return data, err
}

// largeSize is near the highest limit: a step has its input and its output.
const largeSize = machine.MaxLargeData/2 - 100

// wantSmallItems looks at all items: what is large is elsewhere.
func (b *fixture) wantSmallItems(count int) {
	b.t.Helper()
	items, err := b.store.Items(b.t.Context(), testID, 0, count+1)
	if err != nil || len(items) != count {
		b.t.Fatalf("%d items, error %v, want %d", len(items), err, count)
	}
	for _, item := range items {
		if most := 1000; len(item.Body) > most {
			b.t.Errorf("item %d has %d bytes, want %d at most", item.Seq, len(item.Body), most)
		}
	}
}

// startLarge starts an execution with an input of 3 MB, which has a small member.
func (b *fixture) startLarge(flow string) engine.StartRequest {
	b.t.Helper()
	request := b.request(flow, "{}")
	request.Input = value.Merge(sized(largeSize), object(b.t, `{"delay":60}`))
	b.wantStart(request, engine.StartedNew)
	b.wantTrace("store a value", "wake start in 0s", "write 0")
	return request
}

// largeCases are about values that are larger than an item of the log.
//
// rules: Z-12 Z-13
var largeCases = []ruleCase{
	{"large values: an input of 3 MB is stored once, before its item, and a small member of it costs no read", func(b *fixture) {
		b.withLarge()
		b.startLarge(strings.Replace(taskFlow("First"), "    name: First\n", "    name: First\n"+delayMapping, 1) + waitText("Pause", 10))
		b.answer("First", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "call First", "wake timer in 10s", "write 1")
		b.wantInput("First", `{"delay":60}`)
		b.at(10 * time.Second)
		b.advance(b.take())
		b.wantTrace("read", "write 2")
		b.wantSucceeded()
		b.wantSmallItems(3)
	}},
	{"large values: one that is needed is loaded once a wake", func(b *fixture) {
		b.withLarge()
		b.startLarge(taskFlow("First", "Second"))
		b.answer("First", `{}`)
		b.answer("Second", `{}`)
		b.advance(b.take())
		b.wantTrace("read", "load a value", "call First", "write 1", "call Second", "write 2")
		if size := b.inputs["Second"].Size(); size < largeSize {
			b.t.Errorf("Second has an input of %d bytes", size)
		}
		b.wantSmallItems(3)
	}},
	{"large values: a result is stored before its item, and this worker need not load it", func(b *fixture) {
		b.withLarge()
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		b.answer("Second", `{}`)
		b.advance(b.begin(taskFlow("First", "Second")))
		b.wantTrace("read", "call First", "store a value", "write 1", "call Second", "write 2")
		if got := b.inputs["Second"]; !value.Equal(got, sized(largeSize)) {
			b.t.Errorf("Second has an input of %d bytes", got.Size())
		}
		b.wantSmallItems(3)
	}},
	{"large values: state and history show them complete, and the same start is compared with all of the input", func(b *fixture) {
		b.withLarge()
		request := b.startLarge(taskFlow("First"))
		b.script("First", answer{outcome: token.Success(sized(1 << 20))})
		b.advance(b.take())
		state, err := b.Describe(b.t.Context(), testID)
		if err != nil || !value.Equal(state.Input, request.Input) || !value.Equal(state.Output, sized(1<<20)) {
			b.t.Errorf("the input has %d bytes and the output %d, error %v", state.Input.Size(), state.Output.Size(), err)
		}
		history, err := b.History(b.t.Context(), testID)
		if last := len(history) - 1; err != nil || !value.Equal(history[last].Output, sized(1<<20)) {
			b.t.Errorf("the history ends without the output, error %v", err)
		}
		b.wantStart(request, engine.StartedSame)
		request.Input = sized(largeSize)
		b.wantStart(request, engine.StartedDifferent)
	}},
	{"large values, rule 4: one that cannot be stored is stored again, and no call is repeated", func(b *fixture) {
		b.withLarge().fails = 2
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		b.advance(b.begin(taskFlow("First")))
		b.wantTrace("read", "call First", "store a value: failed", "read", "store a value: failed", "read", "store a value", "write 1")
		b.wantSucceeded()
	}},
	{"large values, rule 4: one that cannot be stored at all loses nothing", func(b *fixture) {
		values := b.withLarge()
		values.fails = 10
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		start := b.begin(taskFlow("First"))
		b.wantError(start, engine.CodeInternal)
		if item, _ := b.latest(); item.Seq != 0 {
			b.t.Errorf("item %d is there", item.Seq)
		}
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		b.advance(start)
		b.wantSucceeded()
	}},
	{"large values, rule 12: an input that cannot be stored starts nothing", func(b *fixture) {
		b.withLarge().fails = 1
		request := b.request(taskFlow("First"), "{}")
		request.Input = sized(largeSize)
		if _, err := b.Start(b.t.Context(), request); engine.CodeOf(err) != engine.CodeInternal {
			b.t.Errorf("error %v", err)
		}
		b.wantTrace("store a value: failed")
	}},
	{"large values, rule 4: a worker that dies between the value and its item leaves a part without a reference", func(b *fixture) {
		b.withLarge()
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		start := b.begin(taskFlow("First"))
		ctx, die := context.WithCancel(b.t.Context())
		b.log.BeforeAppend(die)
		if _, err := b.Advance(ctx, start); err == nil {
			b.t.Error("the worker did not die")
		}
		b.trace = b.trace[:min(4, len(b.trace))] // it tries in vain until it gives up
		b.wantTrace("read", "call First", "store a value", "write 1: failed")
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		b.advance(start)
		b.wantTrace("read", "call First", "store a value", "write 1")
		b.wantSucceeded()
	}},
	{"large values, rule 4: refused, the result is stored under another name", func(b *fixture) {
		b.withLarge()
		b.script("First", answer{outcome: token.Success(sized(largeSize))})
		start := b.begin(taskFlow("First"))
		b.log.FailAppends(Refuse)
		b.advance(start)
		b.wantTrace("read", "call First", "store a value", "write 1: refused", "read", "store a value", "write 1")
		b.wantSucceeded()
		if state, err := b.Describe(b.t.Context(), testID); err != nil || !value.Equal(state.Output, sized(largeSize)) {
			b.t.Errorf("the output has %d bytes, error %v", state.Output.Size(), err)
		}
	}},
	{"large values, rule 13: one that is gone or damaged is a defect that names it, and no call gets a hollow input", func(b *fixture) {
		for text, spoil := range map[string]func(*largeValues){
			"missing": func(l *largeValues) { l.gone = true },
			"damaged": func(l *largeValues) { l.flip = true },
		} {
			values := b.withLarge()
			request := b.request(taskFlow("First"), "{}")
			request.Execution, request.Input = text, sized(largeSize)
			b.wantStart(request, engine.StartedNew)
			b.trace = nil
			spoil(values)
			start := b.take()
			start.Receives = 4
			b.wantError(start, engine.CodeDefect)
			start.Receives = 5
			b.advance(start)
			state, err := b.Describe(b.t.Context(), start.Execution)
			if state.Status != machine.StatusFailed || state.Error != machine.ErrorInternal ||
				!strings.Contains(state.Cause, "read large value "+start.Execution.String()+"/") || !strings.Contains(state.Cause, text) {
				b.t.Errorf("%s: %s %s (%s), error %v", text, state.Status, state.Error, state.Cause, err)
			}
			history, historyErr := b.History(b.t.Context(), start.Execution)
			if err != nil || historyErr != nil {
				b.t.Fatalf("%s: described with error %v, history with %v", text, err, historyErr)
			}
			for _, shown := range []value.Value{state.Input, history[0].Input} {
				if !strings.HasPrefix(shown.JSON(), `"left out: read large value `) || !strings.Contains(shown.JSON(), text) {
					b.t.Errorf("%s: the input is %.200s", text, shown.JSON())
				}
			}
			if _, err := b.client().Rerun(b.t.Context(), start.Execution, "again", false); engine.CodeOf(err) != engine.CodeDefect {
				b.t.Errorf("%s: started again with a hollow input, error %v", text, err)
			}
		}
	}},
	{"large values, rule 13: one that cannot be read in time is no defect, however often, and nothing is lost", func(b *fixture) {
		values := b.withLarge()
		b.startLarge(taskFlow("First"))
		start := b.take()
		start.Receives, values.slow = 99, true
		b.wantError(start, engine.CodeInternal)
		if _, err := b.Describe(b.t.Context(), testID); !errors.Is(err, context.DeadlineExceeded) {
			b.t.Errorf("described without its input, error %v", err)
		}
		values.slow = false
		b.answer("First", `{}`)
		b.advance(start)
		b.wantSucceeded()
	}},
	{"large values, rule 13: a process without a store for them is no defect, however often", func(b *fixture) {
		b.withLarge()
		b.startLarge(taskFlow("First"))
		start := b.take()
		start.Receives = 99
		values := b.LargeValues
		b.LargeValues = nil
		b.wantError(start, engine.CodeInternal)
		b.LargeValues = values
		b.answer("First", `{}`)
		b.advance(start)
		b.wantSucceeded()
	}},
	{"large values: a queued call has a large input, and its large result is kept apart from the token's record", func(b *fixture) {
		b.withLarge()
		b.limits = map[string]time.Duration{"First": time.Hour}
		b.startLarge(taskFlow("First"))
		b.advance(b.take())
		b.wantTrace("read", "load a value", "write 1", "queue First", "write 2") // the task refers to what is stored
		task := b.takeTask()
		if !task.Call.Input.IsMissing() || task.LargeInput == "" || len(task.LargeInput) > 1000 {
			b.t.Errorf("the message has an input of %d bytes and a reference of %d", task.Call.Input.Size(), len(task.LargeInput))
		}
		b.script("First", answer{outcome: token.Success(value.String(sized(1 << 20).JSON()))})
		b.rerun(task)
		b.wantTrace("look: open", "load a value", "call First", "store a value", "close by task: closed by task", "wake token in 0s")
		if got := b.inputs["First"].Size(); got < largeSize {
			b.t.Errorf("First has an input of %d bytes", got)
		}
		record, err := b.store.Record(b.t.Context(), task.Handle)
		if err != nil || len(record.Encode()) > 1000 {
			b.t.Errorf("the record has %d bytes, error %v", len(record.Encode()), err)
		}
		b.advance(b.take())
		if state, err := b.Describe(b.t.Context(), testID); err != nil || !value.Equal(state.Output, sized(1<<20)) {
			b.t.Errorf("%s %s: the output has %d bytes, error %v", state.Status, state.Error, state.Output.Size(), err)
		}
	}},
	{"large values, rule 13: a queued call whose input is gone fails its step on the fifth delivery", func(b *fixture) {
		for name, flow := range map[string]string{"plain": longFlow, "atMostOnce": longOnceFlow} {
			values := b.withLarge()
			b.limits = map[string]time.Duration{"Long": time.Hour}
			request := b.request(flow, "{}")
			request.Execution, request.Input = name, sized(largeSize)
			b.wantStart(request, engine.StartedNew)
			b.advance(b.take())
			task := b.takeTask()
			values.gone = true
			task.Receives = 4
			if _, err := b.RunTask(b.t.Context(), task); engine.CodeOf(err) != engine.CodeDefect {
				b.t.Errorf("%s: the fourth delivery: error %v", name, err)
			}
			if record, err := b.store.Record(b.t.Context(), task.Handle); err != nil || !record.Open() || record.BegunBy != "" {
				b.t.Errorf("%s: after the fourth delivery the record is %+v, error %v", name, record, err)
			}
			task.Receives = 5
			b.rerun(task)
			b.advance(b.take())
			state, err := b.Describe(b.t.Context(), engine.NewID(flowName, name))
			if state.Status != machine.StatusFailed || state.Error != machine.ErrorInternal || !strings.Contains(state.Cause, "it is missing") {
				b.t.Errorf("%s: %s %s (%s), error %v", name, state.Status, state.Error, state.Cause, err)
			}
		}
	}},
	{"large values, rule 13: a queued call that was begun is not failed for its input", func(b *fixture) {
		values := b.withLarge()
		b.limits = map[string]time.Duration{"Long": time.Hour}
		b.startLarge(longOnceFlow)
		b.advance(b.take())
		task := b.takeTask()
		b.script("Long", answer{err: errStopped})
		b.wantTaskFails(task)
		values.gone = true
		task.Receives = 99
		b.wantTaskPutBack(task, after(begunFor))
	}},
	{"large values: the reference in a task is covered by its MAC", func(b *fixture) {
		b.withLarge()
		b.limits = map[string]time.Duration{"First": time.Hour}
		b.startLarge(taskFlow("First"))
		b.advance(b.take())
		task := b.takeTask()
		task.LargeInput = strings.ToUpper(task.LargeInput)
		if _, err := b.RunTask(b.t.Context(), task); !errors.Is(err, token.ErrForged) {
			b.t.Errorf("error %v", err)
		}
	}},
	{"large values, rules 24 and 25: a sub-flow has a large input and a large output", func(b *fixture) {
		b.withLarge()
		b.Limits.Data = machine.MaxLargeData
		start := b.withChild(taskFlow("A"), awaited, named)
		b.advance(start)
		b.script("A", answer{outcome: token.Success(sized(1 << 20))})
		for len(b.wakes) > 0 {
			b.advance(b.takeFirst())
		}
		b.wantSucceeded()
		record, err := b.store.Record(b.t.Context(), b.child().Parent.Handle)
		if err != nil || record.Open() || len(record.Encode()) > 1000 {
			b.t.Errorf("the record is %.100v, error %v", record, err)
		}
	}},
	{"large values, rule 13: a janitor reports the large output of a sub-flow", func(b *fixture) {
		b.withLarge()
		b.advance(b.withChild(taskFlow("A"), awaited, named))
		b.script("A", answer{outcome: token.Success(sized(1 << 20))})
		child := b.takeFirst()
		b.sendFails = 1
		b.wantError(child, engine.CodeInternal)
		b.at(workerDeadAfter)
		b.abandon(child, engine.AbandonedWake)
		b.drain()
		b.wantSucceeded()
	}},
	{"large values, rules 24 and 25: a sub-flow and its parent have values of their own, so either may expire first", func(b *fixture) {
		values := b.withLarge()
		put(b.t, b.Flows, "child", taskFlow("A")+waitText("Pause", 10))
		request := b.request(flowHead+subflowText(awaited, named), "{}")
		request.Input = sized(1 << 20)
		b.wantStart(request, engine.StartedNew)
		b.script("A", answer{outcome: token.Success(value.Object(value.Member{Key: "result", Value: sized(1 << 20)}))})
		b.drain()
		b.wantSucceeded()
		for kept, expired := range map[engine.ID]engine.ID{testID: childID, childID: testID} {
			values.expired = expired
			state, err := b.Describe(b.t.Context(), kept)
			if err != nil || !value.Equal(state.Input, sized(1<<20)) || state.Output.Get("result").Size() < 1<<20 {
				b.t.Errorf("%s: the input has %d bytes and the output %d, error %v", state.Flow.Name, state.Input.Size(), state.Output.Size(), err)
			}
			if _, err := b.History(b.t.Context(), kept); err != nil {
				b.t.Errorf("%s: %v", state.Flow.Name, err)
			}
		}
	}},
	{"large values: the iterations of a large list read it once a lane, and their large outputs come together", func(b *fixture) {
		b.withLarge()
		request := b.request(flowHead+"  - type: foreach\n    name: Each\n    maxConcurrency: 2\n"+
			"    iterationMapping: {collection: $.list, item: item}\n"+
			"    outputMappings: [{target: results, source: $local}]\n    steps:\n"+
			"      - {type: pass, name: Keep, outputMappings: [{target: kept, source: $input.item}]}\n", "{}")
		var list []value.Value
		for i := range 10 {
			list = append(list, value.String(fmt.Sprint(i, strings.Repeat("x", 50_000))))
		}
		request.Input = value.Object(value.Member{Key: "list", Value: value.Array(list...)})
		b.wantStart(request, engine.StartedNew)
		for len(b.wakes) > 0 {
			b.advance(b.takeFirst())
		}
		b.wantSucceeded()
		state, err := b.Describe(b.t.Context(), testID)
		if err != nil {
			b.t.Fatal(err)
		}
		results := state.Output.Get("results")
		for i := range list {
			if !value.Equal(results.At(i).Get("kept"), list[i]) {
				b.t.Errorf("result %d has %d bytes", i, results.At(i).Size())
			}
		}
	}},
}

// takeFirst takes the wake that was sent first.
func (b *fixture) takeFirst() engine.Wake {
	b.mu.Lock()
	defer b.mu.Unlock()
	return first(&b.wakes)
}
