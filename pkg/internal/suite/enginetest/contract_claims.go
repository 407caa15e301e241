package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// shareCases are rules 27 to 29 and 33: lanes that claim their items.
var shareCases = []ruleCase{
	{"rule 27: with no more items than lanes nothing is claimed", func(b *fixture) {
		lanes := b.share(2, taskText("A"))
		b.answer("A", `{}`)
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "write 0 of lane 0", "join lane 0: 1")
	}},
	{"rule 27: a lane claims before the commit of its result, and a second time after it", func(b *fixture) {
		lanes := b.share(4, taskText("A"))
		b.answer("A", `{}`, `{}`, `{}`)
		b.advance(lanes[1])
		b.wantTrace("read of lane 1", "read", "call A", "claim 1 of lane 1: 2-3", "call A", "write 0 of lane 1", "claim 2 of lane 1: 3-4",
			"call A", "write 1 of lane 1", "join lane 1: 1")
		b.wantDistinct("the keys", b.keys, 3)
	}},
	{"rule 27: a lane without items ends", func(b *fixture) {
		lanes := b.share(3, taskText("A"))
		b.answer("A", `{}`, `{}`, `{}`)
		b.advance(lanes[0])
		b.trace = nil
		b.advance(lanes[1])
		b.wantTrace("read of lane 1", "read", "call A", "claim 1 of lane 1: refused", "write 0 of lane 1", "join lane 1: 2", "wake joined in 0s")
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 27: an item that waits holds up no other", func(b *fixture) {
		lanes := b.share(4, callbackText())
		b.answer("Ask", `{}`, `{}`, `{}`, `{}`)
		b.advance(lanes[0])
		b.advance(lanes[1])
		b.trace = nil
		b.advance(b.closeOf(lanes[1], success))
		b.wantTrace("read of lane 1", "look: closed by hand", "claim 1 of lane 1: 2-3", "write 2 of lane 1", "call Ask", "write 3 of lane 1")
		b.advance(b.closeOf(lanes[1], success))
		b.trace = nil
		b.advance(b.closeOf(lanes[1], success))
		b.wantTrace("read of lane 1", "look: closed by hand", "write 6 of lane 1", "join lane 1: 1")
	}},
	{"rule 27: a lane gets the claim whose answer was lost", func(b *fixture) {
		lanes := b.share(4, callbackText())
		b.answer("Ask", `{}`, `{}`)
		b.advance(lanes[0])
		b.trace, b.claimFaults = nil, failedClaims
		wake := b.closeOf(lanes[0], success)
		b.wantError(wake, engine.CodeInternal)
		b.wantTrace(append([]string{"read of lane 0", "look: closed by hand"}, slices.Repeat([]string{"claim 1 of lane 0: failed"}, 4)...)...)
		b.advance(wake)
		b.wantTrace("read of lane 0", "look: closed by hand", "claim 1 of lane 0: 2-3", "write 2 of lane 0", "call Ask", "write 3 of lane 0")
	}},
	{"rule 29: who comes to a lane between two items leaves it to the worker that may live", func(b *fixture) {
		lanes := b.share(6, taskText("A"))
		b.answer("A", `{}`, `{}`)
		b.claimFaults = append([]Fault{NoFault}, failedClaims...)
		b.wantError(lanes[0], engine.CodeInternal)
		b.wantTrace(append([]string{"read of lane 0", "read", "call A", "claim 1 of lane 0: 2-3", "call A", "write 0 of lane 0"},
			slices.Repeat([]string{"claim 2 of lane 0: failed"}, 4)...)...)
		b.wantPutBack(lanes[0], after(time.Minute))
		b.wantTrace("read of lane 0")
		b.answer("A", `{}`, `{}`, `{}`)
		b.at(time.Minute)
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "claim 2 of lane 0: 3-4", "call A", "write 1 of lane 0", "claim 3 of lane 0: 4-5", "call A",
			"write 2 of lane 0", "claim 4 of lane 0: 5-6", "call A", "write 3 of lane 0", "join lane 0: 1")
	}},
	{"rule 29: a claim that fails is made again at once", func(b *fixture) {
		for _, fault := range []Fault{LoseAnswer, LoseWrite} {
			b.claimFaults = append(b.claimFaults, fault, NoFault)
		}
		lanes := b.share(4, taskText("A"))
		b.answer("A", `{}`, `{}`, `{}`)
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "claim 1 of lane 0: failed", "claim 1 of lane 0: 2-3", "call A", "write 0 of lane 0",
			"claim 2 of lane 0: failed", "claim 2 of lane 0: 3-4", "call A", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"rule 29: a worker with a result that the log lacks goes on at once", func(b *fixture) {
		lanes := b.share(4, taskText("A"))
		b.answer("A", `{}`, `{}`)
		rival := b.rival()
		rival.Joins = &oneClaim{Joins: rival.Joins}
		b.log.BeforeAppend(func() { _, _ = rival.Advance(b.t.Context(), lanes[0]) })
		b.answer("A", `{}`)
		b.advance(lanes[0])
		b.wantTrace("read of lane 0", "read", "call A", "claim 1 of lane 0: 2-3", "call A", "write 0 of lane 0: refused", "read of lane 0",
			"claim 2 of lane 0: 3-4", "call A", "write 1 of lane 0", "join lane 0: 1")
	}},
	{"rule 27: a worker whose claim is stale loads again", func(b *fixture) {
		lanes := b.share(6, callbackText())
		b.answer("Ask", `{}`)
		b.advance(lanes[0])
		wake := b.closeOf(lanes[0], success)
		b.trace = nil
		b.beforeClaim = func() {
			b.advanceBy(b.rival(), wake)
			b.advanceBy(b.rival(), b.closeOf(lanes[0], success))
		}
		b.advance(wake)
		b.wantTrace("read of lane 0", "look: closed by hand", "claim 1 of lane 0: refused", "read of lane 0", "read of lane 0")
	}},
	{"rule 27: a log that lacks the last claim of its lane is damaged", func(b *fixture) {
		lanes := b.share(6, taskText("A"))
		lane := lanes[0].Lane
		for number := range 2 {
			claim := engine.ClaimRequest{Lane: 0, Number: number + 1, Size: 1, First: 2, Items: 6, Expires: after(time.Hour)}
			if _, err := b.store.Claim(b.t.Context(), engine.ForkID{Log: lane.Parent, Attempt: lane.Attempt}, claim); err != nil {
				b.t.Fatal(err)
			}
		}
		b.answer("A", `{}`)
		b.wantError(lanes[0], engine.CodeDefect)
	}},
	{"rule 20: a lane between two items is stopped", func(b *fixture) {
		lanes := b.share(6, taskText("A"))
		b.answer("A", `{}`, `{}`)
		b.claimFaults = append([]Fault{NoFault}, failedClaims...)
		b.wantError(lanes[0], engine.CodeInternal)
		b.wakes = []engine.Wake{b.stop()}
		b.drain()
		b.wantEnd(machine.StatusStopped, "Enough")
	}},
	{"rule 27: a claim has the items of a second at the pace of the last ones, half of an equal part at most", func(b *fixture) {
		lanes := b.share(100, taskText("A"))
		at := time.Duration(0)
		takes := func(d time.Duration, times int) {
			for range times {
				b.script("A", answer{outcome: token.Success(value.Object()), during: func() { at += d; b.at(at) }})
			}
		}
		takes(100*time.Millisecond, 1)   // 10 items a second
		takes(10*time.Millisecond, 10)   // 100 items a second, and 88 are left
		takes(1500*time.Millisecond, 22) // less than one item a second
		b.script("A", answer{err: errStopped})
		b.wantError(lanes[0], engine.CodeInternal)
		claims := slices.DeleteFunc(b.trace, func(line string) bool { return !strings.HasPrefix(line, "claim") })
		if want := []string{"claim 1 of lane 0: 2-12", "claim 2 of lane 0: 12-34", "claim 3 of lane 0: 34-35"}; !slices.Equal(claims, want) {
			b.t.Errorf("the claims are %q, want %q", claims, want)
		}
	}},
	{"rule 27: workers that claim other sizes run each item once", func(b *fixture) {
		const items = 60
		var list, want []string
		for i := range items {
			list, want = append(list, strconv.Itoa(i)), append(want, fmt.Sprintf(`{"n":%d}`, i))
		}
		b.shareOf(`{"list":[`+strings.Join(list, ",")+`]}`, taskText("A", "inputMappings: [{target: n, source: $input.one}]"), outputsText)
		called := map[string]int{}
		b.Caller = tasksFunc(func(call machine.Call) (token.Outcome, error) {
			called[call.Input.JSON()]++
			b.at(b.Now().Add(time.Duration(len(called)%7) * time.Second).Sub(epoch))
			b.Limits.ClaimTime = time.Duration(1+len(called)%5) * 10 * time.Second // as another release may
			return token.Success(call.Input), nil
		})
		b.drain()
		b.wantOutput(`{"all":[` + strings.Join(want, ",") + `]}`)
		for _, item := range want {
			if called[item] != 1 {
				b.t.Errorf("item %s ran %d times", item, called[item])
			}
		}
	}},
	{"rule 28: a lane with a full log retires, and the other one runs the rest", func(b *fixture) {
		b.Limits.Events = 60
		lanes := b.share(12, taskText("A"))
		for range 12 {
			b.answer("A", `{}`)
		}
		b.advance(lanes[0])
		if joined := b.trace[len(b.trace)-1]; joined != "join lane 0: 1" || !slices.Contains(b.trace, "claim 5 of lane 0: 8-8") {
			b.t.Errorf("the engine did %q", b.trace)
		}
		b.wakes = lanes[1:]
		b.drain()
		b.wantSucceeded()
	}},
	{"rule 28: the claim of a lane that retired stays in the record", func(b *fixture) {
		b.Limits.Events = 60
		lanes := b.share(12, taskText("A"))
		for range 7 {
			b.answer("A", `{}`)
		}
		b.advance(lanes[0])
		lane := lanes[0].Lane
		record, err := b.store.Joined(b.t.Context(), engine.ForkID{Log: lane.Parent, Attempt: lane.Attempt})
		if claim := record.Claims[0]; err != nil || claim.Number != 5 || claim.Len() != 0 {
			b.t.Errorf("the claim is %+v, error %v", claim, err)
		}
	}},
	{"rule 18: items are left after all lanes retired, so the fork fails", func(b *fixture) {
		b.Limits.Events = 60
		lanes := b.share(40, taskText("A"))
		for range 40 {
			b.answer("A", `{}`)
		}
		b.wakes = lanes
		b.drain()
		b.wantEnd(machine.StatusFailed, machine.ErrorEventLimit)
	}},
	{"outputs are in the order of the elements, whichever lane ran them", func(b *fixture) {
		b.shareOf(`{"list":[0,1,2,3,4,5,6]}`, callbackText(), outputsText)
		lanes := b.takeAll()
		for range 7 {
			b.answer("Ask", `{}`)
		}
		b.advance(lanes[0])
		b.advance(lanes[1])
		for i := 1; i < 7; i++ { // the first element is the last to end
			b.advance(b.closeOf(lanes[1], token.Success(object(b.t, fmt.Sprintf(`{"n":%d}`, i)))))
		}
		b.wakes = []engine.Wake{b.closeOf(lanes[0], token.Success(object(b.t, `{"n":0}`)))}
		b.drain()
		b.wantOutput(`{"all":[{"n":0},{"n":1},{"n":2},{"n":3},{"n":4},{"n":5},{"n":6}]}`)
	}},
	{"rule 33: the record is raised to the claims of lanes before they are rearmed", func(b *fixture) {
		lanes := b.share(6, callbackText())
		for range 4 {
			b.answer("Ask", `{}`)
		}
		b.advance(lanes[0])
		b.advance(b.closeOf(lanes[0], success))
		lane := lanes[0].Lane
		fork := engine.ForkID{Log: lane.Parent, Attempt: lane.Attempt}
		record, err := b.store.Joined(b.t.Context(), fork)
		if err == nil { // as in a backup that was made before the claim
			err = b.store.Raise(b.t.Context(), fork, record, engine.JoinRecord{Cursor: 2, Claims: map[int]engine.Claim{}}, after(time.Hour))
		}
		if err != nil {
			b.t.Fatal(err)
		}
		b.at(time.Hour)
		b.trace, b.wakes = nil, nil
		b.advance(b.wakeOf(machine.CauseRearm))
		b.wantTrace("read", "no request to stop", "0 joined", "read of lane 0", "read of lane 1", "raise the cursor to 3",
			"wake timer of lane 0 in 0s", "wake timer of lane 1 in 0s")
		b.trace = nil
		b.advance(lanes[1])
		b.advance(b.closeOf(lanes[1], success))
		if !slices.Contains(b.trace, "claim 1 of lane 1: 3-4") {
			b.t.Errorf("the engine did %q", b.trace)
		}
	}},
	{"rule 18: the wake of a failed lane that finds all joined leaves the end to the wake of the join", func(b *fixture) {
		b.script("A", answer{outcome: token.Failure("No", "")})
		_, lanes := b.fork(taskText("A"), taskText("B"))
		b.answer("B", `{}`)
		b.advance(lanes[0])
		failed := b.take()
		b.advance(lanes[1])
		b.trace = nil
		b.advance(failed)
		b.wantTrace("read", "2 joined", "wake joined in 0s")
		b.drain()
		b.wantEnd(machine.StatusFailed, "No")
	}},
}

// share enters a foreach over so many elements with two lanes, and returns the start wakes of the
// lanes.
func (b *fixture) share(items int, steps string) []engine.Wake {
	b.t.Helper()
	b.shareOf(`{"list":[`+strings.Repeat("1,", items-1)+`1]}`, steps, "")
	return b.takeAll()
}

func (b *fixture) shareOf(input, steps, outputs string) {
	b.t.Helper()
	text := "  - type: foreach\n    name: Each\n    maxConcurrency: 2\n    inputMappings: [{target: list, source: $input.list}]\n" +
		"    iterationMapping: {collection: $.list, item: one}\n    steps:\n" + indented(indented(steps)) + outputs
	b.wantStart(b.request(flowHead+text, input), engine.StartedNew)
	b.advance(b.take())
	b.trace = nil
}

// failedClaims are the faults of a claim that is made in vain.
var failedClaims = []Fault{LoseAnswer, LoseAnswer, LoseAnswer, LoseAnswer}

// oneClaim is a record of which a worker gets one claim.
type oneClaim struct {
	engine.Joins
	claimed bool
}

func (o *oneClaim) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	if o.claimed {
		return engine.JoinRecord{}, ErrFault
	}
	o.claimed = true
	return o.Joins.Claim(ctx, fork, claim)
}
