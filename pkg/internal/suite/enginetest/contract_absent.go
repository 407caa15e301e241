package enginetest

import (
	"slices"

	"github.com/waitless/waitless/pkg/engine"
)

// leavingOut is a pass and two tasks, each of which leaves a target out.
const leavingOut = flowHead + "  - {type: pass, name: Look, inputMappings: [{target: a, source: $local.a}]}\n" +
	"  - {type: task, name: First, resourceArn: \"acs:fc:::services/s/functions/First\", outputMappings: [{target: first, source: $local.none}]}\n" +
	"  - {type: task, name: Second, resourceArn: \"acs:fc:::services/s/functions/Second\", outputMappings: [{target: second, source: $local.none}]}\n"

// What the steps of leavingOut leave out.
const (
	lookAbsent   = "step Look: inputMappings: a <- $local.a"
	firstAbsent  = "step First: outputMappings: first <- $local.none"
	secondAbsent = "step Second: outputMappings: second <- $local.none"
)

// absentCases are about what a worker reports of mappings with an absent source:
// what it committed, and that once.
var absentCases = []ruleCase{
	{"rule 4: what was left out is told with the commit", func(b *fixture) {
		b.answer("First", `{}`)
		b.answer("Second", `{}`)
		b.wantAbsent(b.begin(leavingOut), "", lookAbsent, firstAbsent, secondAbsent)
	}},
	{"rule 4: what was left out is told once after lost races", func(b *fixture) {
		b.log.FailAppends(NoFault, Refuse, LoseWrite, NoFault, LoseAnswer)
		b.answer("First", `{}`)
		b.answer("Second", `{}`)
		b.wantAbsent(b.begin(leavingOut), "", lookAbsent, firstAbsent, secondAbsent)
	}},
	{"rule 7: what was committed before a worker stopped is told, and the rest by who goes on", func(b *fixture) {
		b.answer("First", `{}`)
		b.script("Second", answer{err: errStopped})
		start := b.begin(leavingOut)
		b.wantAbsent(start, engine.CodeInternal, lookAbsent, firstAbsent)
		b.at(workerDeadAfter)
		b.answer("Second", `{}`)
		b.wantAbsent(start, "", secondAbsent)
		b.wantAbsent(start, "")
	}},
	{"rule 4: what was left out and not committed is not told", func(b *fixture) {
		b.script("First", answer{err: errStopped})
		b.wantAbsent(b.begin(leavingOut), engine.CodeInternal)
	}},
}

// wantAbsent applies a wake and compares what the result reports of mappings.
func (b *fixture) wantAbsent(w engine.Wake, code engine.Code, want ...string) {
	b.t.Helper()
	verdict, err := b.Advance(b.t.Context(), w)
	if err != nil && engine.CodeOf(err) != code || err == nil && code != "" {
		b.t.Fatalf("advance: error %v, want code %q", err, code)
	}
	var told []string
	if verdict.Unmapped != nil {
		if id := engine.NewID(verdict.Unmapped.Flow.Name, verdict.Unmapped.Execution); id != w.Execution {
			b.t.Errorf("told of execution %s/%s", verdict.Unmapped.Flow.Name, verdict.Unmapped.Execution)
		}
		for _, m := range verdict.Unmapped.Mappings {
			told = append(told, m.String())
		}
	}
	if !slices.Equal(told, want) {
		b.t.Errorf("told %q, want %q", told, want)
	}
}
