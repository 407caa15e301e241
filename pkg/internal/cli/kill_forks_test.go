package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// killPatience is how long a process may take until it ends or is killed.
var killPatience = flag.Duration("patience", time.Minute, "TestKilledAtEveryGap: the longest that a process may take")

// killForks is what a story with lanes or a sub-flow has in addition.
type killForks struct {
	items  int    // of the foreach
	lanes  int    // that may be at work when a process is killed
	starts string // the step that starts the sub-flow
	child  string // the flow of that
	lasts  bool   // its log is kept for a moment at first
	caught string // the fork that fails, is tried again twice, and is caught
}

// triesOfCaught is how often a fork that is tried again twice runs.
const triesOfCaught = 3

// killsInForks is how often each gap of such a story is hit, in two executions: there are more
// processes than lanes.
const killsInForks = killsOfOne + 1

var (
	inLanes   = &killForks{items: 4, lanes: 3, starts: "Child", child: "child"}
	inCaught  = &killForks{lanes: 3, caught: "Sides"}
	inSubflow = &killForks{lanes: 1, starts: "Child", child: "waiting", lasts: true}

	forks        = killStory{flow: "forks", ends: machine.StatusSucceeded, asked: answersAllOpen, forks: inLanes}
	forksStopped = killStory{flow: "forks", ends: machine.StatusStopped, asked: stops, forks: inLanes}
	caught       = killStory{flow: "caught", ends: machine.StatusSucceeded, forks: inCaught}
	lasting      = killStory{flow: "lasting", ends: machine.StatusSucceeded, clock: ahead(time.Minute), forks: inSubflow}
)

// forkGaps are the gaps of lanes and sub-flows that one process comes to for certain.
var forkGaps = []killGap{
	{rule: "15", gap: "receive > commit fork", story: forks},
	{rule: "15", gap: "commit fork > send lanes", story: forks},
	{rule: "15", gap: "send lanes > send last lane", story: forks},
	{rule: "15", gap: "send last lane > delete", story: forks},
	{rule: "7", gap: "find pending > send lanes", story: forks, after: []string{"commit fork > send lanes"}},
	{rule: "7", gap: "find pending > hold back", story: forks, after: []string{"commit token > hold back"}},

	{rule: "17", gap: "commit end > join", story: forks},
	{rule: "17", gap: "join > delete", story: forks},
	{rule: "17", gap: "join > send join", story: forks},
	{rule: "17", gap: "send join > delete", story: forks},

	{rule: "19", gap: "commit ending > send lanes", story: forksStopped},

	{rule: "27", gap: "receive > claim", story: forks},
	{rule: "27", gap: "claim > commit call", story: forks},
	{rule: "27", gap: "claim > commit end", story: forks},

	{rule: "30", gap: "receive > commit closing", story: caught},
	{rule: "30", gap: "commit closing > send lanes", story: caught},
	{rule: "30", gap: "send last lane > delete", story: caught, after: []string{"commit closing > send lanes"}},
	{rule: "31", gap: "join > send join", story: caught},
	{rule: "31", gap: "receive > commit fork", story: caught, after: []string{"commit closing > send lanes"}},

	{rule: "24", gap: "commit token > hold back", story: forks},
	{rule: "24", gap: "hold back > send sub-flow", story: forks},
	{rule: "24", gap: "send sub-flow > commit sub-flow", story: forks},
	{rule: "24", gap: "commit sub-flow > release", story: forks},
	{rule: "24", gap: "release > commit submitted", story: forks},
	{rule: "25", gap: "commit end > close by sub-flow", story: forks},
	{rule: "25", gap: "close by sub-flow > send wake to other", story: forks},
	{rule: "25", gap: "send wake to other > delete", story: forks},

	{rule: "3", gap: "receive > extend", story: lasting},
	{rule: "3", gap: "extend > send timer", story: lasting},
	{rule: "3", gap: "send timer > commit wait", story: lasting},

	{rule: "10", gap: "close by hand > see outcome", story: callbacks},
}

// args returns the arguments of a run.
func (f *killForks) args() []string {
	if f == nil || f.child == "" {
		return nil
	}
	input, _ := json.Marshal(map[string][]int{"items": make([]int, f.items)}) // numbers
	return []string{"--input", string(input), "--subflow", f.child + "=" + filepath.Join("testdata/kill", f.child+".yaml")}
}

// killsAtGap returns how often each gap of the story is hit.
func (f *killForks) killsAtGap() int {
	if f == nil {
		return killsAtGap
	}
	return killsInForks
}

// answersAllOpen answers each open token: a run names only some of them.
func answersAllOpen(v *victim, _ string) {
	got := doWith(v.t, "", v.env(), "tokens", "list", v.flow+"/"+v.name, "--unmask", "--json")
	var list struct{ Tokens []struct{ Token string } }
	if got.exit != view.ExitSucceeded || json.Unmarshal([]byte(got.stdout), &list) != nil {
		return // the process was killed, and the next one shows its tokens again
	}
	for _, open := range list.Tokens {
		v.tokens = append(v.tokens, open.Token)
		answersAndRepeats(v, open.Token)
	}
}

// lanesAtOnce returns how many calls may be lost with a process.
func (f *killForks) lanesAtOnce() int {
	if f == nil {
		return 1
	}
	return f.lanes
}

// placeOf names the step, branch or iteration of an event, "" for the execution.
func placeOf(e eventReport) string {
	if e.Step == "" {
		return ""
	}
	place := e.Step
	if len(e.Iterations) > 0 {
		place += fmt.Sprint(e.Iterations)
	}
	if ofItem(e) {
		var detail struct{ Index int }
		_ = json.Unmarshal([]byte(e.Detail.JSON()), &detail) // a wrong index meets another event
		place += fmt.Sprintf(" item %d", detail.Index)
	}
	return place
}

// ofItem reports whether the event enters or leaves a branch or an iteration.
func ofItem(e eventReport) bool {
	return strings.HasPrefix(e.Type, "Branch") || strings.HasPrefix(e.Type, "Iteration")
}

// checkIDs checks the order of the history. Ids only grow and begin with 1. The event that caused
// an event has a lower id, and is not later. Each lane of a fork has a block of ids, so an id is
// left out only where a block ends: before the first event of a lane, and before the fork ends.
func (v *victim) checkIDs(history []eventReport) {
	v.t.Helper()
	byID, last := map[int]eventReport{}, 0
	for _, e := range history {
		cause, known := byID[e.By]
		opens := strings.HasSuffix(e.Type, "Entered") && ofItem(e)
		closes := cause.Type == machine.StepEntered.String() || cause.Type == machine.StepStarted.String() // the fork
		switch {
		case e.ID <= last, e.ID != last+1 && (v.forks == nil || !opens && !closes):
			v.t.Errorf("%s/%s: after event %d comes %d: %s of %q", v.flow, v.name, last, e.ID, e.Type, placeOf(e))
		case !known && e.ID > 1:
			v.t.Errorf("%s/%s: event %d is caused by %d, which does not come before it", v.flow, v.name, e.ID, e.By)
		case e.Time < cause.Time:
			v.t.Errorf("%s/%s: event %d is of %s, and its cause %d of %s", v.flow, v.name, e.ID, e.Time, e.By, cause.Time)
		}
		byID[e.ID], last = e, e.ID
	}
}

// observe reads the history between two processes. An event that was shown stays as it is, with its
// id.
func (v *victim) observe() {
	v.t.Helper()
	if v.forks == nil {
		return
	}
	if history, ok := v.shownHistory(); ok {
		v.compareShown(history)
	}
}

// compareShown compares a history with those shown before.
func (v *victim) compareShown(history []eventReport) {
	v.t.Helper()
	now := map[int]string{}
	for _, e := range history {
		text, err := json.Marshal(e)
		if err != nil {
			v.t.Fatal(err)
		}
		now[e.ID] = string(text)
	}
	for id, before := range v.shownEvents {
		if now[id] != before {
			v.t.Errorf("%s/%s: event %d was %s, and is %q after %d kills", v.flow, v.name, id, before, now[id], v.kills)
		}
	}
	v.shownEvents = now
}

// checkForks checks what a story with lanes and a sub-flow has in addition: each item was done, the
// execution started one sub-flow, and no item of a log expires before the others.
func (v *victim) checkForks(history []eventReport) {
	v.t.Helper()
	if v.forks == nil {
		return
	}
	v.compareShown(history)
	left := 0
	for _, e := range history {
		if e.Type == machine.IterationExited.String() {
			left++
		}
	}
	if v.halted {
		return
	}
	if left != v.forks.items {
		v.t.Errorf("%s/%s: %d of %d items were left", v.flow, v.name, left, v.forks.items)
	}
	if v.forks.caught != "" {
		if tries := slices.Max(v.forks.triesOf(history)); tries != triesOfCaught {
			v.t.Errorf("%s/%s: the fork ran %d times, want %d", v.flow, v.name, tries, triesOfCaught)
		}
		return
	}
	got := doWith(v.t, "", v.env(), "list", "--flow", v.forks.child, "--prefix", v.name, "--json")
	var list struct {
		Executions []struct{ Status machine.Status }
	}
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
		v.t.Fatalf("%v: %+v", err, got)
	}
	if len(list.Executions) != 1 || list.Executions[0].Status != machine.StatusSucceeded {
		v.t.Errorf("%s/%s: it has other sub-flows than one that succeeded: %+v", v.flow, v.name, list)
	}
	if v.forks.lasts {
		v.checkExpiry()
	}
}

// expiryFile is where the log notes when items expire.
func (v *victim) expiryFile() string { return filepath.Join(v.dir, v.name+"-expiry") }

// checkExpiry checks that each item of a log is kept as long as the last one.
func (v *victim) checkExpiry() {
	v.t.Helper()
	lines, err := os.ReadFile(v.expiryFile())
	if err != nil {
		v.t.Fatal(err)
	}
	logs, lasts := map[string]map[int]int64{}, map[string]int{}
	for line := range strings.Lines(string(lines)) {
		var log string
		var seq int
		var expires int64
		if _, err := fmt.Sscan(line, &log, &seq, &expires); err != nil {
			v.t.Fatal(err)
		}
		if logs[log] == nil {
			logs[log] = map[int]int64{}
		}
		logs[log][seq], lasts[log] = expires, max(lasts[log], seq)
	}
	for log, items := range logs {
		for seq, expires := range items {
			if last := items[lasts[log]]; expires < last {
				v.t.Errorf("%s/%s: item %d of log %s expires %s before item %d", v.flow, v.name, seq, log, time.Duration(last-expires), lasts[log])
			}
		}
	}
}

// triesOf returns for each event the try of the fork that is caught, 0 for an event outside of it.
func (f *killForks) triesOf(history []eventReport) []int {
	tries, try := make([]int, len(history)), 0
	for i, e := range history {
		if f != nil && f.caught != "" && e.Step == f.caught && !ofItem(e) {
			switch e.Type {
			case machine.StepEntered.String():
				try = 1
				continue
			case machine.StepStarted.String():
				try++
			default:
				try = 0
			}
		}
		tries[i] = try
	}
	return tries
}
