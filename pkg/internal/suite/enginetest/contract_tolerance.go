package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// toleranceCases are rule 32: failed items that their fork tolerates.
var toleranceCases = []ruleCase{
	{"rule 32: a failed item is committed, then reported, then its lane goes on", func(b *fixture) {
		lanes := b.tolerate(4, 1, taskText("A"))
		b.replies("Broken", "", "")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "report 1 of lane 0", "claim 1 of lane 0: 2-3", "call A",
			"write 1 of lane 0", "claim 2 of lane 0: 3-4", "call A", "write 2 of lane 0", "join lane 0: 1")
		b.replies("")
		b.advance(lanes[1])
		b.drain()
		b.wantOutput(`{"all":[{"cause":"step A[0]: why","error":"Broken"},{},{},{}]}`)
	}},
	{"rule 32: a fork with too many failed items fails", func(b *fixture) {
		lanes := b.tolerate(6, 1, taskText("A"))
		b.replies("Broken", "Broken")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "report 1 of lane 0", "claim 1 of lane 0: 2-3", "call A",
			"write 1 of lane 0", "report 2 of lane 0", "write 2 of lane 0", "join lane 0: 1", "wake lane-failed in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorTolerance)
		if _, state := b.latest(); state.Cause != "step Each: 2 of 6 iterations failed and the limit is 1" {
			b.t.Errorf("the cause is %q", state.Cause)
		}
	}},
	{"rule 32: the failed items of all lanes count", func(b *fixture) {
		lanes := b.tolerate(4, 1, callbackText())
		b.answer("Ask", `{}`, `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.trace = nil
		b.answer("Ask", `{}`)
		b.advance(b.closeOf(lanes[1], token.Failure("No", "")))
		b.wantTrace("read of lane 1", "look: closed by hand", "write 2 of lane 1", "report 1 of lane 1", "claim 1 of lane 1: 2-3",
			"write 3 of lane 1", "call Ask", "write 4 of lane 1")
		b.advance(b.closeOf(lanes[0], token.Failure("No", "")))
		b.wantTrace("read of lane 0", "look: closed by hand", "write 2 of lane 0", "report 1 of lane 0", "write 3 of lane 0", "join lane 0: 1",
			"wake lane-failed in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorTolerance)
	}},
	{"rule 32: if all items may fail nothing is reported, and results share a commit", func(b *fixture) {
		lanes := b.tolerate(2, 2, taskText("A"))
		b.replies("Broken")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: 1")
		b.replies("Broken")
		b.advance(lanes[1])
		b.drain()
		b.wantOutput(`{"all":[{"cause":"step A[0]: why","error":"Broken"},{"cause":"step A[1]: why","error":"Broken"}]}`)
	}},
	{"rule 32: if no item may fail a failed one fails its lane", func(b *fixture) {
		lanes := b.tolerate(2, 0, taskText("A"))
		b.replies("Broken")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: 1", "wake lane-failed in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, "Broken")
	}},
	{"rules 14 and 32: one item of a fork that tolerates failures runs in a lane", func(b *fixture) {
		lanes := b.tolerate(1, 1, taskText("A"))
		b.replies("Broken")
		b.advance(lanes[0])
		b.drain()
		b.wantOutput(`{"all":[{"cause":"step A[0]: why","error":"Broken"}]}`)
	}},
	{"rules 29 and 32: a report whose answer was lost is made again, and counts once", func(b *fixture) {
		lanes := b.tolerate(4, 1, taskText("A"))
		b.replies("Broken")
		b.claimFaults = []Fault{LoseAnswer}
		b.wantError(lanes[0], engine.CodeInternal)
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "report 1 of lane 0: failed")
		b.wantPutBack(lanes[0], after(time.Minute))
		b.wantTrace("read of lane 0")
		b.at(time.Minute)
		b.replies("", "")
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "report 1 of lane 0", "claim 1 of lane 0: 2-3", "call A", "write 1 of lane 0",
			"claim 2 of lane 0: 3-4", "call A", "write 2 of lane 0", "join lane 0: 1")
	}},
	{"rule 22: a call that follows a report is left to a timer if the worker's time does not last", func(b *fixture) {
		lanes := b.tolerate(4, 1, taskText("A"))
		late := &timeLeft{b.t.Context(), time.Hour}
		b.script("A", answer{outcome: token.Failure("Broken", "why"), during: func() { late.left = machine.DefaultDirect }})
		if _, err := b.Advance(late, lanes[0]); err != nil {
			b.t.Fatal(err)
		}
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "report 1 of lane 0", "claim 1 of lane 0: 2-3",
			"wake timer of lane 0 in 0s", "write 1 of lane 0")
	}},
	{"rule 21: a defect of a lane fails a fork that tolerates failures", func(b *fixture) {
		lanes := b.tolerate(4, 3, callbackText())
		b.answer("Ask", `{}`)
		b.advance(lanes[0])
		closed := b.closeOf(lanes[0], success)
		flows := b.Flows
		b.Flows = lostFlows{flows}
		closed.Receives = 5
		b.advance(closed)
		b.Flows = flows
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorInternal)
	}},
	{"rule 31: a fork of which too many items failed is tried again with a record of its own", func(b *fixture) {
		lanes := b.tolerate(3, 1, taskText("A"), "retry: [{errors: [FnF.ToleranceExceeded], intervalSeconds: 0, maxAttempts: 1}]")
		b.replies("Broken", "Broken")
		b.advance(lanes[0])
		b.replies("Broken", "", "")
		b.drain()
		b.wantOutput(`{"all":[{"cause":"step A[0]: why","error":"Broken"},{},{}]}`)
	}},
	{"rule 20: a lane that reports is stopped", func(b *fixture) {
		lanes := b.tolerate(4, 1, taskText("A"))
		b.replies("Broken")
		b.claimFaults = []Fault{LoseAnswer}
		b.wantError(lanes[0], engine.CodeInternal)
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 15: recovery reports again", func(b *fixture) {
		lanes := b.tolerate(4, 1, taskText("A"))
		b.replies("Broken")
		b.claimFaults = []Fault{LoseWrite}
		b.wantError(lanes[0], engine.CodeInternal)
		b.restart()
		b.replies("", "", "")
		b.trace = nil
		for _, wake := range b.takeAll() {
			b.advance(wake)
		}
		if !slices.Contains(b.trace, "report 1 of lane 0") {
			b.t.Errorf("the engine did %q", b.trace)
		}
		b.drain()
		b.wantOutput(`{"all":[{"cause":"step A[0]: why","error":"Broken"},{},{},{}]}`)
	}},
	{"rule 33: the record is raised to the failed items of lanes before they are rearmed", func(b *fixture) {
		lanes := b.tolerate(6, 2, callbackText())
		b.answer("Ask", `{}`, `{}`, `{}`, `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.advance(b.closeOf(lanes[0], token.Failure("No", "")))
		b.advance(b.closeOf(lanes[0], token.Failure("No", "")))
		lane := lanes[0].Lane
		fork := engine.ForkID{Log: lane.Parent, Attempt: lane.Attempt}
		record, err := b.store.Joined(b.t.Context(), fork)
		if older := record; err == nil { // as in a backup that was made before the report
			older.Failures = map[int]int{0: 1}
			err = b.store.Raise(b.t.Context(), fork, record, older, after(time.Hour))
		}
		if err != nil {
			b.t.Fatal(err)
		}
		b.at(time.Hour)
		b.wakes = nil
		b.advance(b.wakeOf(machine.CauseRearm))
		if record, err = b.store.Joined(b.t.Context(), fork); err != nil || record.Failures[0] != 2 {
			b.t.Errorf("the record is %+v, error %v", record, err)
		}
	}},
	{"rule 12: a redrive runs the failed items again, and keeps the other results", func(b *fixture) {
		lanes := b.tolerate(4, 1, taskText("A"))
		b.replies("", "Broken", "Broken")
		b.advance(lanes[0])
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorTolerance)
		wake := b.redrive(engine.RedriveRequest{})
		b.replies("", "", "Broken")
		b.wakes = []engine.Wake{wake}
		b.drain()
		b.wantRedriven(machine.StatusSucceeded, `{"all":[{},{},{"cause":"step A[2]: why","error":"Broken"},{}]}`)
	}},
	{"tolerated failures: the stack of an older format refuses the flow", func(b *fixture) {
		b.WriteFormat = 1
		b.tolerate(1, 1, taskText("A"))
		b.wantEnd(machine.StatusFailed, machine.ErrorInvalidArgument)
	}},
}

// tolerate enters a foreach over so many elements with two lanes, of which so many elements may
// fail, and returns the start wakes of the lanes. The other lines are more fields of the foreach.
func (b *fixture) tolerate(items, most int, steps string, lines ...string) []engine.Wake {
	b.t.Helper()
	fields := strings.Join(append([]string{fmt.Sprintf("maxToleratedFailures: %d", most)}, lines...), "\n    ")
	b.shareOf(`{"list":[`+strings.Repeat("1,", items-1)+`1]}`, steps, "    "+fields+"\n"+outputsText)
	return b.takeAll()
}

// replies scripts the next replies of the function A: {}, or the failures with these names.
func (b *fixture) replies(failures ...string) {
	for _, failure := range failures {
		outcome := token.Success(value.Object())
		if failure != "" {
			outcome = token.Failure(failure, "why")
		}
		b.script("A", answer{outcome: outcome})
	}
}
