package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// sized is an object of so many bytes.
func sized(bytes int) value.Value {
	frame := len(`{"large":""}`)
	return value.Object(value.Member{Key: "large", Value: value.String(strings.Repeat("x", bytes-frame))})
}

// distinct is an object of about so many bytes in small members, whose keys no
// other one has.
func distinct(number, size int) value.Value {
	const member = len(`"k00_00000":7,`)
	var members []value.Member
	for i := range size / member {
		members = append(members, value.Member{Key: fmt.Sprintf("k%02d_%05d", number, i), Value: value.Int(7)})
	}
	return value.Object(members...)
}

// wideFlow is a flow whose series keeps what so many calls answer.
func wideFlow(calls int) string {
	text := "version: v1\ntype: flow\noutputMappings: [{target: done, source: true}]\nsteps:\n"
	for i := range calls {
		text += fmt.Sprintf("  - {type: task, name: Wide%d, resourceArn: 'acs:fc:::services/test/functions/Wide', inputMappings: [{target: none, source: 1}]}\n", i)
	}
	return text
}

// runWide runs an execution whose calls answer with so many bytes in small members,
// to its end.
func (b *fixture) runWide(sizes ...int) machine.State {
	b.t.Helper()
	request := b.request(wideFlow(len(sizes)), "")
	request.Execution = fmt.Sprint("wide-", len(b.nonces))
	b.answers = map[string][]answer{}
	for call, size := range sizes {
		b.script("Wide", answer{outcome: token.Success(distinct(call, size))})
	}
	b.wantStart(request, engine.StartedNew)
	for len(b.wakes) > 0 {
		b.advance(b.take())
	}
	b.trace = nil
	state, err := b.Describe(b.t.Context(), engine.NewID(flowName, request.Execution))
	if err != nil || !state.Status.Final() {
		b.t.Fatalf("it is %s, error %v", state.Status, err)
	}
	return state
}

// sizeCases are the borders of sizes (rule 13), in the store at hand.
var sizeCases = []ruleCase{
	{"rule 13: the largest answer to a submission and the largest outcome fit into one item", func(b *fixture) {
		b.Limits.Data = machine.MaxData
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: token.Success(sized(machine.MaxReply))})
		b.rerun(task)
		if r, err := b.store.Record(b.t.Context(), task.Handle); err != nil || r.Reply == nil || r.Reply.Size() != machine.MaxReply {
			b.t.Errorf("the answer is not kept, error %v", err)
		}
		b.wakes = nil // that of the answer is lost, so both come with the outcome
		b.advance(b.close(token.Success(sized(machine.MaxData))))
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionFailed")
		b.wantEnd(machine.StatusFailed, machine.ErrorDataLimit)
	}},
	{"rule 13: of an answer to a submission that is larger the runner keeps that there is one", func(b *fixture) {
		b.Limits.Data = machine.MaxData
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: token.Success(sized(machine.MaxReply + 1))})
		b.rerun(task)
		if r, err := b.store.Record(b.t.Context(), task.Handle); err != nil || r.Reply == nil || !r.Reply.IsMissing() {
			b.t.Errorf("the record is %+v, error %v", r, err)
		}
	}},
	{"rule 13: the largest answer of a call passes, and one byte more fails the step at once", func(b *fixture) {
		for extra, want := range []machine.Status{machine.StatusSucceeded, machine.StatusFailed} {
			b.Limits.Data = machine.MaxData
			largest := (machine.MaxData - len("{}")) / 2 // it is local, and the same again output
			request := b.request(taskFlow("First"), "{}")
			request.Execution = fmt.Sprint("largest-and-", extra)
			b.script("First", answer{outcome: token.Success(sized(largest + extra))})
			b.wantStart(request, engine.StartedNew)
			b.trace = nil
			b.advance(b.take())
			b.wantTrace("read", "call First", "write 1")
			state, err := b.Describe(b.t.Context(), engine.NewID(flowName, request.Execution))
			b.trace = nil
			if err != nil || state.Status != want || want == machine.StatusFailed && state.Error != machine.ErrorDataLimit {
				b.t.Errorf("%d bytes: %s %s, error %v", largest+extra, state.Status, state.Error, err)
			}
		}
	}},
	{"rule 13: a series that keeps more than an item holds fails in the step that is left, and nothing is called then", func(b *fixture) {
		const keeps = 480_000
		for _, tt := range []struct{ calls, limit int }{{40, 0}, {6, machine.MaxData}} {
			b.Limits.Data = tt.limit
			state := b.runWide(slices.Repeat([]int{keeps / tt.calls}, tt.calls)...)
			made := tt.calls - len(b.answers["Wide"])
			if state.Error != machine.ErrorDataLimit || !strings.Contains(state.Cause, "the limit of a log item") || made < tt.calls/2 || made == tt.calls {
				b.t.Errorf("%d of %d calls, %s %s: %s", made, tt.calls, state.Status, state.Error, state.Cause)
			}
		}
	}},
	{"rule 13: around the border of an item every one fits, or the step fails", func(b *fixture) {
		b.Limits.Data = machine.MaxData
		ends := map[string]int{}
		for size := 99_000; size < 109_000; size += 1_000 {
			ends[b.runWide(120_000, 80_000, size, 100).Error]++
		}
		if len(ends) != 2 || ends[""] == 0 || ends[machine.ErrorDataLimit] == 0 {
			b.t.Errorf("the ends are %v", ends)
		}
	}},
	{"rule 13: steps that make more than an item holds go on in the next one", func(b *fixture) {
		b.Limits.Data = machine.MaxData
		var text strings.Builder
		text.WriteString("version: v1\ntype: flow\nsteps:\n")
		for i := range 20 {
			fmt.Fprintf(&text, "  - {type: pass, name: P%d, outputMappings: [{target: k%d, source: %d}]}\n", i, i, i)
		}
		var members []value.Member
		for i := range 10_000 {
			members = append(members, value.Member{Key: fmt.Sprintf("m%05d", i), Value: value.Int(7)})
		}
		request := b.request(text.String(), "")
		request.Input = value.Object(members...)
		b.wantStart(request, engine.StartedNew)
		wakes := 0
		for wake := b.take(); ; wake = b.takeTimer() {
			wakes++
			b.advance(wake)
			if _, state := b.latest(); state.Status.Final() {
				break
			}
		}
		b.trace = nil
		b.wantSucceeded()
		if wakes < 10 {
			b.t.Errorf("%d wakes", wakes)
		}
	}},
}
