package enginetest

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// sized is an object of so many bytes.
func sized(bytes int) expr.Value {
	frame := len(`{"large":""}`)
	return expr.Object(expr.Member{Key: "large", Value: expr.String(strings.Repeat("x", bytes-frame))})
}

// sizeCases are the borders of sizes (rule 13), in the store at hand.
var sizeCases = []ruleCase{
	{"rule 13: the largest answer to a submission and the largest outcome fit into one item", func(b *bench) {
		b.Limits.Data = machine.MaxData
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: token.Success(sized(machine.MaxAnswer))})
		b.rerun(task)
		if r, err := b.store.Record(b.t.Context(), task.Handle); err != nil || r.Answer == nil || r.Answer.Size() != machine.MaxAnswer {
			b.t.Errorf("the answer is not kept, error %v", err)
		}
		b.wakes = nil // that of the answer is lost, so both come with the outcome
		b.advance(b.close(token.Success(sized(machine.MaxData))))
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionFailed")
		b.wantEnd(machine.StatusFailed, machine.ErrorDataLimit)
	}},
	{"rule 13: of an answer to a submission that is larger the runner keeps that there is one", func(b *bench) {
		b.Limits.Data = machine.MaxData
		_, task := b.slow(askFlow)
		b.script("Ask", answer{outcome: token.Success(sized(machine.MaxAnswer + 1))})
		b.rerun(task)
		if r, err := b.store.Record(b.t.Context(), task.Handle); err != nil || r.Answer == nil || !r.Answer.IsMissing() {
			b.t.Errorf("the record is %+v, error %v", r, err)
		}
	}},
	{"rule 13: the largest answer of a call passes, and one byte more fails the step at once", func(b *bench) {
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
			state, err := b.Describe(b.t.Context(), engine.NewID(benchFlow, request.Execution))
			b.trace = nil
			if err != nil || state.Status != want || want == machine.StatusFailed && state.Error != machine.ErrorDataLimit {
				b.t.Errorf("%d bytes: %s %s, error %v", largest+extra, state.Status, state.Error, err)
			}
		}
	}},
	{"rule 13: steps that make more than an item holds go on in the next one", func(b *bench) {
		b.Limits.Data = machine.MaxData
		var text strings.Builder
		text.WriteString("version: v1\ntype: flow\nsteps:\n")
		for i := range 20 {
			fmt.Fprintf(&text, "  - {type: pass, name: P%d, outputMappings: [{target: k%d, source: %d}]}\n", i, i, i)
		}
		var members []expr.Member
		for i := range 10_000 {
			members = append(members, expr.Member{Key: fmt.Sprintf("m%05d", i), Value: expr.Int(7)})
		}
		request := b.request(text.String(), "")
		request.Input = expr.Object(members...)
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
