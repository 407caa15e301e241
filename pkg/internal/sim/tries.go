package sim

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// olderSeeds are the fixed ones from before there was anything to try again.
// They, and those that were found by then, go on as they did.
const olderSeeds = 6000

// drawsTries reports whether tasks of a seed's run may be tried again, or poll,
// and its flow have a time limit.
func drawsTries(seed uint64) bool {
	switch seed % 8 {
	case 0, 5, 7: // those that were found
		return false
	}
	return seed > olderSeeds
}

// drawsMore reports whether a seed's run has two executions, and processes whose
// clocks differ.
func drawsMore(seed uint64) bool {
	switch seed % 8 {
	case 3, 6:
		return seed > fewerSeeds
	}
	return false
}

// drawsTurns reports whether calls of a seed's run have to wait for their turn.
func drawsTurns(seed uint64) bool { return seed%8 == 2 && seed > fewerSeeds }

// fewerSeeds are the fixed ones from before runs had more.
const fewerSeeds = 10_000

// thrown is the type of what a function throws.
const thrown = "SimThrown"

// errorLists are what policies and entries ask for.
var errorLists = []string{
	"[FnF.ALL]", "[Sim.CallFailed]", "[FC." + thrown + ", Sim.Down]", "[FC.FunctionError, Sim.CallFailed]",
	"[FnF.TaskTimeout, FnF.TaskInterrupted]", "[Sim.Brought, FnF.ConditionNotMet]",
}

func (w *world) drawErrors() string { return errorLists[w.rand.IntN(len(errorLists))] }

// drawTry adds a task that may be tried again, or that polls.
func (w *world) drawTry(f *flowDraft) {
	switch w.rand.IntN(10) {
	case 9:
		w.drawRoom(f)
	case 0, 1:
		w.tried(f, functionCall)
	case 2:
		w.tried(f, functionCall, "atMostOnce: true")
	case 3:
		w.tried(f, functionLong, w.drawLong()...)
	case 4, 5:
		w.tried(f, functionSubmit, w.drawCallback()...)
	case 6:
		w.tried(f, functionSlow, w.drawCallback()...)
	default:
		w.tried(f, []string{functionPoll, functionPoll, functionSlowPoll}[w.rand.IntN(3)], w.drawPoll()...)
	}
}

// tried adds a task with policies, and with entries that catch what they leave.
func (w *world) tried(f *flowDraft, function string, lines ...string) {
	lines = append(lines, w.drawPolicies()...)
	if !w.chance(2) {
		f.task(function, lines...)
		return
	}
	after := fmt.Sprintf("After%d", f.steps+1)
	entry := fmt.Sprintf("{errors: %s, goto: %s}", w.drawErrors(), after)
	if w.chance(3) {
		entry += fmt.Sprintf(", {errors: [FnF.ALL], goto: %s, steps: [{type: task, name: Mend%d, resourceArn: %s}]}", after, f.steps+1, resourceOf(functionCall))
	}
	lines = append(lines, "catch: ["+entry+"]", "errorMappings: [{target: error, source: $local.error}]")
	f.task(function, lines...)
	f.pass(after)
}

// drawRoom adds steps whose outputs are more than one item of the log has room for,
// so that a timer which is due at once goes on with them. A definition has no room
// for more than three times as many.
func (w *world) drawRoom(f *flowDraft) {
	switch {
	case w.forks && len(f.text) > 100_000:
		f.task(functionCall)
		return
	case len(f.text) > 300_000:
		return
	}
	f.step("wait", fmt.Sprintf("duration: %d", w.rand.IntN(3)))
	for i := range 5 {
		f.step("pass", "inputMappings: [{target: n, source: $local.n}]",
			fmt.Sprintf("outputMappings: [{target: large, source: %s}]", strings.Repeat(string(rune('a'+i)), 20_000)))
	}
	f.step("pass", "outputMappings: [{target: large, source: none}]")
}

// drawPolicies is the line of a task's policies, if it has any.
func (w *world) drawPolicies() []string {
	var policies []string
	for range w.rand.IntN(3) {
		policies = append(policies, fmt.Sprintf("{errors: %s, intervalSeconds: %d, maxIntervalSeconds: %d, multiplier: %s, maxAttempts: %d}",
			w.drawErrors(), w.rand.IntN(5), 5+w.rand.IntN(20), []string{"1", "1.5", "2"}[w.rand.IntN(3)], w.rand.IntN(4)))
	}
	if policies == nil {
		return nil
	}
	return []string{"retry: [" + strings.Join(policies, ", ") + "]"}
}

// drawInnerPolicies is the member of a nested task for its policies, empty for
// none.
func (w *world) drawInnerPolicies() string {
	if !w.tries {
		return ""
	}
	return ", retry: [{errors: [FnF.ALL], intervalSeconds: 1}]"
}

func (w *world) drawPoll() []string {
	lines := []string{"pattern: waitForCondition", `condition: $.status == "done"`, fmt.Sprintf("intervalSeconds: %d", 1+w.rand.IntN(10))}
	if w.chance(2) {
		lines = append(lines, "backoffRate: 1.5")
	}
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("maxAttempts: %d", 1+w.rand.IntN(4)))
	}
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("timeoutSeconds: %d", 2+w.rand.IntN(60)))
	}
	return lines
}

// drawTimeLimit is the line of a flow's time limit, empty for none.
func (w *world) drawTimeLimit() string {
	if !w.tries || !w.chance(3) {
		return ""
	}
	return fmt.Sprintf("timeoutSeconds: %d\n", 1+w.rand.IntN(120))
}

// failure is that of a function, of one kind when nothing is tried again.
func (w *world) failure() token.Outcome {
	cause, kind := fmt.Sprintf("call %d", w.answers), 0
	if w.tries {
		kind = w.rand.IntN(3)
	}
	switch kind {
	case 1:
		return token.Failure("Sim.Down", cause)
	case 2:
		return token.Thrown(thrown, cause)
	}
	return token.Failure("Sim.CallFailed", cause)
}

// status is what a function says of what it was asked for.
func (w *world) status(function string) string {
	if (function == functionPoll || function == functionSlowPoll) && w.answers < w.mostRunning() && w.chance(2) {
		return running
	}
	return "done"
}

// running is the status that polls wait to be over.
const running = "running"

// mostRunning is after how many outcomes everything is done.
func (w *world) mostRunning() int {
	if w.tries {
		return 40
	}
	return 12
}

// meets reports whether an answer meets the condition that polls wait for.
func meets(answer token.Outcome) bool {
	return !answer.Failed() && !value.Equal(answer.Output.Get("status"), value.String(running))
}
