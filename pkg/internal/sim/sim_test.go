package sim_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/sim"
)

var (
	seed      = flag.Uint64("seed", 0, "TestSeed: the seed to replay")
	only      = flag.String("only", "", "the one invariant to look at, for the mutants")
	from      = flag.Uint64("from", 0, "the fixed seed to begin with, for the mutants")
	first     = flag.Uint64("first", 0, "a seed to begin with, for the mutants")
	randomFor = flag.Duration("random", 0, "TestRandomSeeds: for how long, divided among the processors")
)

// fixedSeeds are run every time, from 1 on. When a change of the draws leaves a mutant uncaught,
// make the draws meaner before adding seeds. The older ones try nothing again, fewer have one
// execution and clocks that agree, forkless ones have no forks, the logs of long-lived ones do not
// expire early, those before redriven are not redriven, the queue of those before kept loses
// nothing, no wake of those before undead is dead-lettered, no sweep finds what those before
// unswept lost, no foreach of those before tolerant tolerates failures, none up to flowsOnly is a
// machine, and their runs stay what they were.
const (
	fixedSeeds = 25_000
	static     = 20_450
	unhandled  = 21_650
	tolerant   = 23_000
	flowsOnly  = 24_000
	olderSeeds = 6000
	fewerSeeds = 10_000
	forkless   = 14_000
	awaited    = 15_500
	longLived  = 16_350
	redriven   = 16_750
	quiet      = 17_250
	kept       = 17_450
	undead     = 17_850
	unswept    = 18_250
	shortSeeds = 500 // of the older, of those with tries, of those with more, of those with forks, and of those with logs that expire early
)

// foundSeeds are those that found a bug at random.
var foundSeeds = []uint64{
	17499538623866078349, // a doubled submission failed after the other one was answered, and closed the token without a wake
	9570096514316722496,  // a forged timer was sent again for an hour
	14767138297267000095, // four refused commits of one step left a timer each; this check allowed for none
	994707099913403840,   // who gave up closed the token and died; this check took the next worker for hasty
	98684,                // a wake that means nothing made a call in the place of a late timer, for looking at the time limit
	33513,                // a wake that was sent again looked at the time limit, too, failed and stayed: each became two
	2221348,              // a start was doubled four times, and each worker sent a timer; this check allowed for less
	85416,                // a forged wake was doubled four times and deleted slowly; this check allowed for less
	11711136517920986538, // a flow was drawn that was too large for a definition
	5458613562334482803,  // the clock of a process was a day ahead, and a named job was taken for an earlier one, for ever
	17442187291691015178, // a wake that was sent again looked at the time limit, too: twenty thousand messages
	5878955314809585714,  // a lane committed its results once more after it had lost the race, with its timer
	10937103020851281506, // a commit was lost before a call waited for its turn, and the results before it with it
	5871707532226729030,  // sixteen lanes start the same sub-flow; this check allowed for one
	4591992846440312081,  // a lost commit was made again with the first of its results, and the others were forgotten
	6736987660678747006,  // the same before a timer, for want of time
	13644554456983776706, // a start was delivered twice, ended a lane with the result of another wake, and its join failed
	2107626250208089654,  // a sub-flow looked at the token of its parent after its own end; this check took that for a look at its log
	5854259472150329717,  // four lanes within a lane failed at once, and each stopped all lanes; this check allowed for one
	5792266512246065403,  // a poll in an item was lost, and repeated with another key after more polls of the item before
	11455724946230459931, // no bug: the wake of a lane's end is lost with its process, and no other fixed seed catches the mutant of that
}

func TestFixedSeeds(t *testing.T) {
	t.Parallel()
	if *first > 0 {
		run(t, *first)
	}
	for _, seed := range foundSeeds {
		run(t, seed)
	}
	for seed := max(*from, 1); seed <= fixedSeeds; seed++ {
		if testing.Short() && !isShort(seed) {
			continue
		}
		run(t, seed)
	}
}

// isShort reports whether the fixed seed is one of the first of its kind.
func isShort(seed uint64) bool {
	kinds := []uint64{0, olderSeeds, fewerSeeds, forkless, awaited, longLived, redriven, quiet, undead, unswept, static, unhandled, tolerant, flowsOnly}
	return slices.ContainsFunc(kinds, func(first uint64) bool {
		return first < seed && seed <= first+shortSeeds
	})
}

// TestRandomSeeds is for CI: other seeds every time.
func TestRandomSeeds(t *testing.T) {
	t.Parallel()
	if *randomFor == 0 {
		t.Skip("without -random no other seeds than the fixed ones; `make test` gives it a minute")
	}
	var seeds atomic.Int64
	processors := runtime.GOMAXPROCS(0)
	end := time.Now().Add(*randomFor / time.Duration(processors))
	for processor := range processors {
		t.Run(fmt.Sprint(processor), func(t *testing.T) {
			t.Parallel()
			for ; time.Now().Before(end); seeds.Add(1) {
				run(t, rand.Uint64())
			}
		})
	}
	t.Cleanup(func() { t.Logf("%d seeds", seeds.Load()) })
}

// run runs a seed, and one in four twice, except for a mutant: the same seed gives
// the same trace.
func run(t *testing.T, seed uint64) {
	t.Helper()
	report := sim.Run(seed)
	for _, v := range report.Violations {
		if *only == "" || *only == string(v.Invariant) {
			t.Fatalf("seed %d: %s\nmake sim SEED=%d shows how", seed, v, seed)
		}
	}
	if *only != "" || seed%4 != 3 { // those with jobs, some of which have two executions
		return
	}
	if again := sim.Run(seed); !bytes.Equal(report.Trace, again.Trace) {
		t.Fatalf("seed %d: trace: the second run differs from the first", seed)
	}
}

// TestSeed replays one seed and shows its trace.
func TestSeed(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		t.Skip("without -seed there is nothing to replay; `make sim SEED=n` gives it one")
	}
	report := sim.Run(*seed)
	if _, err := os.Stdout.Write(report.Trace); err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Errorf("seed %d: %s", *seed, v)
	}
}
