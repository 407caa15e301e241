package cli

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

const (
	// killsAtGap is how often each gap is hit.
	killsAtGap = 5
	// killsOfOne is how often one execution is killed in the gap: then it has to
	// come to its end, and the next one is started.
	killsOfOne = 2
	// killsAtRandom is how often a process is killed at a random instant.
	killsAtRandom = 50
)

// killStory is a flow of testdata/kill and who takes part in it.
type killStory struct {
	flow string
	ends machine.Status
	// once are the steps with atMostOnce: after a kill it is unknown whether they
	// made their calls, and the execution may fail for that.
	once []string
	// clock is how far ahead the clock is that a process finds after so many
	// kills; nil for not at all.
	clock func(kills int) time.Duration
	// asked is what a client does that sees a token.
	asked func(v *victim, token string)
	// order keeps what happens side by side in one order.
	order killOrder
	// forks is nil for a flow without lanes and sub-flows.
	forks *killForks
}

var (
	shortCalls   = killStory{flow: "calls", ends: machine.StatusSucceeded}
	aWait        = killStory{flow: "wait", ends: machine.StatusSucceeded, clock: ahead(time.Minute)}
	twoWaits     = killStory{flow: "waits", ends: machine.StatusSucceeded, clock: ahead(time.Minute)}
	poller       = killStory{flow: "poller", ends: machine.StatusSucceeded, clock: ahead(time.Minute)}
	onceEach     = killStory{flow: "once-each", ends: machine.StatusSucceeded, once: []string{"First", "Second", "Third"}, order: begunLate}
	onceLast     = killStory{flow: "once-last", ends: machine.StatusSucceeded, once: []string{"Last"}, order: begunLate}
	longCalls    = killStory{flow: "long", ends: machine.StatusSucceeded, order: acceptedLate}
	longOnce     = killStory{flow: "long-once", ends: machine.StatusSucceeded, once: []string{"Only"}, order: begunLate}
	callbacks    = killStory{flow: "callbacks", ends: machine.StatusSucceeded, asked: answersAndRepeats}
	closedLate   = killStory{flow: "callbacks", ends: machine.StatusSucceeded, asked: answersAndRepeats, order: toldLate}
	callbackOnce = killStory{flow: "callback-once", ends: machine.StatusFailed, once: []string{"Ask"}}
	slow         = killStory{flow: "slow-callbacks", ends: machine.StatusSucceeded, asked: answersAndRepeats, order: acceptedLate}
	slowOnce     = killStory{flow: "slow-once", ends: machine.StatusSucceeded, asked: answersAndRepeats, once: []string{"Ask"}, order: begunLate}
	refused      = killStory{flow: "refused", ends: machine.StatusFailed}
	slowRefused  = killStory{flow: "slow-refused", ends: machine.StatusFailed, order: acceptedLate}
	deadline     = killStory{flow: "deadline", ends: machine.StatusFailed, clock: ahead(time.Minute)}
	heartbeat    = killStory{flow: "heartbeat", ends: machine.StatusFailed, clock: ahead(2 * time.Second), asked: beatsOnce}
	stopped      = killStory{flow: "stopped", ends: machine.StatusStopped, asked: stops}
	outrun       = killStory{flow: "stopped", ends: machine.StatusStopped, asked: stopsOrAnswers}
	everything   = killStory{flow: "everything", ends: machine.StatusSucceeded, asked: answersAndRepeats}
)

var (
	// acceptedLate holds a task back until a commit records that it was queued. begunLate does so
	// for a call with atMostOnce.
	acceptedLate = accepted("take task > long call", "commit queued > delete")
	begunLate    = accepted("take task > begin", "commit queued > delete")
	// toldLate holds a wake back until the closer of its token, or the client that starts the
	// execution, has its response. A worker sees an outcome before that.
	toldLate = killOrder{gap: "receive > send timer", after: []string{"commit start > answer", "close by hand > answer"}}
)

// accepted names the order in which a task is accepted: it is recorded that it was queued, or found
// that it was before.
func accepted(gap, recorded string) killOrder {
	return killOrder{gap: gap, after: []string{recorded, "queue > delete"}}
}

// ahead is a clock that each process finds ahead by so much more.
func ahead(step time.Duration) func(int) time.Duration {
	return func(kills int) time.Duration { return time.Duration(kills) * step }
}

// answersAndRepeats answers a token after saying again what was said of the one
// before, as some do to be sure. A client that was told of the outcome leaves it to
// the execution to go on.
func answersAndRepeats(v *victim, token string) {
	if n := len(v.tokens); n > 1 {
		v.answer(v.tokens[n-2])
	}
	if _, ok := v.told[token]; !ok {
		v.answer(token)
	}
}

// beatsOnce sends a heartbeat to each process.
func beatsOnce(v *victim, token string) {
	doWith(v.t, "", v.env(), "tokens", "heartbeat", token)
}

// stops stops the execution, until told that it is being stopped.
func stops(v *victim, _ string) {
	if !v.halted {
		v.stop()
	}
}

// stopsOrAnswers stops the execution. When the first process is dead, a client
// closes the token before the next one begins.
func stopsOrAnswers(v *victim, token string) {
	stops(v, token)
	v.betweenRuns = func() { v.answer(token) }
}

// killGap is a gap between two effects and the story that comes to it.
type killGap struct {
	rule  string // of the engine's contract
	gap   string // as package failpoints names it
	story killStory
	// after is the gap in which a process has to be killed first, for a gap that
	// only who takes over comes to; of several, one process after the other.
	after []string
}

// killGaps are all gaps of the engine's contract that one process comes to for
// certain. Claimed calls are not among them: the task queue makes all calls with
// atMostOnce in one process, and package sim and the stack's tests have the gaps of
// claims. A refused commit (rule 4) needs two workers on one execution, which
// wakes in one queue never have; package enginetest has its gaps.
var killGaps = []killGap{
	{rule: "1", gap: "receive > delete", story: twoWaits, after: []string{"commit start > answer"}},

	{rule: "2", gap: "receive > call", story: shortCalls},
	{rule: "2", gap: "call > commit call", story: shortCalls},
	{rule: "2", gap: "call > commit end", story: shortCalls},
	{rule: "2", gap: "call > commit token", story: longCalls},
	{rule: "2", gap: "call > send timer", story: aWait},
	{rule: "2", gap: "receive > commit call", story: longCalls},
	{rule: "2", gap: "receive > commit end", story: longOnce},
	{rule: "2", gap: "receive > commit token", story: longCalls},

	{rule: "3", gap: "receive > send timer", story: twoWaits},
	{rule: "3", gap: "send timer > commit wait", story: aWait},
	{rule: "3", gap: "send timer > commit token", story: callbacks},
	{rule: "3", gap: "send timer > commit submitted", story: heartbeat},

	{rule: "4", gap: "commit call > call", story: shortCalls},

	{rule: "5", gap: "commit token > submission", story: callbacks},
	{rule: "5", gap: "submission > commit submitted", story: callbacks},
	{rule: "5", gap: "submission > commit submitted", story: callbackOnce},
	{rule: "5", gap: "submission > close by submit", story: refused},
	{rule: "5", gap: "close by submit > commit end", story: refused},
	{rule: "5", gap: "commit token > queue", story: longCalls},
	{rule: "5", gap: "queue > commit queued", story: longCalls},
	{rule: "5", gap: "take task > long call", story: longCalls},
	{rule: "5", gap: "long call > close by task", story: longCalls},
	{rule: "5", gap: "long call > close by task", story: longOnce},
	{rule: "5", gap: "commit token > queue", story: slow},
	{rule: "5", gap: "queue > commit queued", story: slow},
	{rule: "5", gap: "take task > long call", story: slow},
	{rule: "5", gap: "long call > keep answer", story: slow},
	{rule: "5", gap: "long call > keep answer", story: slowOnce},
	{rule: "5", gap: "keep answer > send wake", story: slow},
	{rule: "5", gap: "receive > commit submitted", story: slow},
	{rule: "5", gap: "long call > close by submit", story: slowRefused},
	{rule: "5", gap: "close by submit > send wake", story: slowRefused},
	{rule: "5", gap: "take task > begin", story: longOnce},
	{rule: "5", gap: "begin > long call", story: longOnce},
	{rule: "5", gap: "begin > long call", story: onceEach},
	{rule: "5", gap: "long call > close by task", story: onceLast},
	{rule: "5", gap: "begin > close by task", story: longOnce, after: []string{"begin > long call"}},
	{rule: "5", gap: "begin > close by task", story: slowOnce, after: []string{"begin > long call"}},

	{rule: "6", gap: "commit end > delete", story: shortCalls},
	{rule: "6", gap: "commit wait > delete", story: aWait},
	{rule: "6", gap: "commit submitted > delete", story: callbacks},
	{rule: "6", gap: "commit queued > delete", story: longCalls},
	{rule: "6", gap: "commit queued > delete", story: slow},
	{rule: "6", gap: "send wake > delete task", story: longCalls},

	{rule: "7", gap: "find pending > put back", story: callbacks},
	{rule: "7", gap: "find pending > call", story: longCalls, after: []string{"commit call > call"}},
	{rule: "7", gap: "find pending > submission", story: callbacks, after: []string{"commit token > submission"}},
	{rule: "7", gap: "find pending > queue", story: longCalls, after: []string{"commit token > queue"}},
	{rule: "7", gap: "find pending > queue", story: slow, after: []string{"commit queued > delete"}},
	{rule: "7", gap: "queue > delete", story: longCalls, after: []string{"commit queued > delete"}},
	{rule: "7", gap: "queue > delete", story: slow, after: []string{"commit queued > delete"}},
	{rule: "7", gap: "find pending > commit call", story: longCalls, after: []string{"receive > commit call"}},
	{rule: "7", gap: "find pending > commit token", story: longCalls, after: []string{"close by task > send wake"}},
	{rule: "7", gap: "find pending > commit submitted", story: slow, after: []string{"keep answer > send wake"}},
	{rule: "7", gap: "find pending > commit end", story: refused, after: []string{"close by submit > commit end"}},
	{rule: "7", gap: "find pending > commit end", story: slowRefused, after: []string{"close by submit > send wake"}},
	{rule: "7", gap: "find pending > send timer", story: closedLate, after: []string{"close by hand > answer"}},
	{rule: "7", gap: "find pending > close by task", story: callbackOnce, after: []string{"commit token > submission"}},
	{rule: "7", gap: "close by task > commit end", story: callbackOnce, after: []string{"commit token > submission"}},
	{rule: "7", gap: "find pending > close by stop", story: stopped, after: []string{"commit ending > close by stop"}},

	{rule: "9", gap: "receive > close by deadline", story: deadline},
	{rule: "9", gap: "close by deadline > commit end", story: deadline},
	{rule: "9", gap: "receive > close by heartbeat", story: heartbeat},
	{rule: "9", gap: "close by heartbeat > send timer", story: heartbeat},
	{rule: "9", gap: "close by heartbeat > commit end", story: heartbeat},
	{rule: "9", gap: "receive > commit ending", story: stopped},
	{rule: "9", gap: "commit ending > close by stop", story: outrun},
	{rule: "9", gap: "close by stop > commit end", story: outrun},

	{rule: "10", gap: "send wake > close by hand", story: callbacks},
	{rule: "10", gap: "close by hand > answer", story: callbacks},
	{rule: "10", gap: "close by task > send wake", story: longCalls},

	// Between two of these gaps the machine passes a state, or begins and ends it.
	{rule: "2", gap: "receive > call", story: poller},
	{rule: "2", gap: "call > send timer", story: poller},
	{rule: "3", gap: "send timer > commit wait", story: poller},
	{rule: "6", gap: "commit wait > delete", story: poller},
	{rule: "2", gap: "call > commit call", story: poller},
	{rule: "4", gap: "commit call > call", story: poller},
	{rule: "2", gap: "call > commit end", story: poller},
	{rule: "6", gap: "commit end > delete", story: poller},

	{rule: "12", gap: "send start > commit start", story: shortCalls},
	{rule: "12", gap: "commit start > answer", story: shortCalls},
	{rule: "12", gap: "send stop > keep stop", story: stopped},
	{rule: "12", gap: "keep stop > answer", story: stopped},
}

// A wake of a start, a stop or a token that finds nothing, and goes on its way
// again, is not in the table: one process holds it back until there is
// something to find. Package enginetest has these cases.

// killGapsByChance need a wake that comes twice and late at once: a task that
// is queued again when its answer was kept just now, or its token closed; or the
// wake of an attempt whose token waits, and that was queued before. Or they need a
// machine so busy that a short call takes long: then it is committed while it runs.
var killGapsByChance = []string{
	"take task > send wake", "begin > send wake", "find pending > delete",
	"commit call > send timer", "commit call > commit token", "commit call > commit call", "commit call > commit end",
}

// killCount is what the parts of a test found together.
type killCount struct {
	mu           sync.Mutex
	met          []string // gaps
	metByChance  []string // gaps of stories with lanes
	hits         []string // a line each
	kills, calls int
}

func (c *killCount) meet(gap string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.met, gap) {
		c.met = append(c.met, gap)
	}
}

// meetByChance is meet for a story with lanes: in which order they work, and so which gaps a
// process comes to, differs from run to run.
func (c *killCount) meetByChance(gap string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.metByChance, gap) {
		c.metByChance = append(c.metByChance, gap)
	}
}

func (c *killCount) add(kills, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills += kills
	c.calls += calls
}

func (c *killCount) hit(at killGap, hits int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits = append(c.hits, fmt.Sprintf("rule %-2s %-32s %d hits in %s", at.rule, at.gap, hits, at.story.flow))
}

// TestKilledAtEveryGap kills the command in every gap between two effects of
// the engine, several times each, and starts it again until its execution is
// over: see [victim.check] for what has to hold then. A gap that was never
// reached fails it, and so does one that the table lacks and that a story without
// lanes comes to.
func TestKilledAtEveryGap(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts some eight hundred processes")
	}
	lookAt(t, "testdata/failpoints/main.go") // which no test is built with
	lookAt(t, "../../engine/failpoints/failpoints.go")
	var count killCount
	t.Cleanup(func() { count.report(t) }) // when all are through
	for _, at := range slices.Concat(killGaps, forkGaps) {
		t.Run(at.gap+" in "+at.story.flow, func(t *testing.T) {
			t.Parallel()
			killAt(t, at, &count)
		})
	}
}

// report prints what was hit, and fails the test for gaps at which no process was
// killed.
func (c *killCount) report(t *testing.T) {
	t.Helper()
	for _, gap := range c.met {
		if !slices.Contains(killGapsByChance, gap) && !isKillGap(gap) {
			t.Errorf("gap %q is not in the table: no process is killed there", gap)
		}
	}
	c.metByChance = slices.DeleteFunc(c.metByChance, isKillGap)
	t.Logf("in lanes and not in the table: %q", c.metByChance)
	slices.Sort(c.hits)
	for _, line := range c.hits {
		t.Log(line)
	}
	t.Logf("%d rows, %d kills, %d calls", len(c.hits), c.kills, c.calls)
}

// mostMisses is the number of executions after which a gap cannot be reached.
const mostMisses = 10

// isKillGap reports whether processes are killed in the gap.
func isKillGap(gap string) bool {
	return slices.ContainsFunc(slices.Concat(killGaps, forkGaps), func(g killGap) bool { return g.gap == gap })
}

func killAt(t *testing.T, at killGap, count *killCount) {
	t.Helper()
	dir, hits, misses, most := newDir(t), 0, 0, at.story.forks.killsAtGap()
	program := *killProgram
	if program == "" {
		program = watched.program(t)
	}
	for run := 1; hits < most; run++ {
		v := newVictim(t, program, dir, fmt.Sprintf("run-%d", run), at.story)
		if v.met = count.meet; at.story.forks != nil {
			v.met = count.meetByChance
		}
		for _, first := range at.after {
			if !v.run(first, 0) {
				t.Fatalf("gap %q was never reached", first)
			}
		}
		here := v.killIn(at.gap, min(killsOfOne, most-hits))
		hits += here
		count.add(v.kills, v.check())
		if here == 0 {
			misses++ // a slow machine may hand the execution over before
		}
		if misses == mostMisses {
			t.Fatalf("gap %q was never reached", at.gap)
		}
	}
	count.hit(at, hits)
}

// killIn kills processes in the gap, so many at most, then lets the execution
// come to its end. It answers how many were killed.
func (v *victim) killIn(gap string, most int) (hits int) {
	v.t.Helper()
	for v.run(gap, 0) {
		if hits++; hits == most {
			v.run("", 0)
			break
		}
	}
	return hits
}

// TestKilledAtRandom kills the command as it is shipped at random instants,
// while it works on three executions of each kind of step, and one with lanes.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts some sixty processes")
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	kills, calls, executions := 0, 0, 0
	for kills < killsAtRandom {
		batch := newBatch(t)
		killed := 0
		for _, v := range batch {
			for pause := randomPause(random); v.run("", pause); pause = randomPause(random) {
				if killed++; kills+killed >= killsAtRandom {
					v.run("", 0)
					break
				}
			}
		}
		kills += killed
		for _, v := range batch {
			v.kills = killed // each may have been at work whenever one was killed
			calls += v.check()
			executions++
		}
	}
	t.Logf("seed %d: %d kills, %d calls of %d executions", seed, kills, calls, executions)
}

// randomPause is at most about as long as a process takes for all steps but the
// one that waits.
func randomPause(random *rand.Rand) time.Duration {
	return 1 + time.Duration(random.Int64N(int64(250*time.Millisecond)))
}

// newBatch are executions of one store: the first one is not started yet, the
// others wait for a worker.
func newBatch(t *testing.T) []*victim {
	t.Helper()
	dir := newDir(t)
	var batch []*victim
	for i, story := range []killStory{everything, everything, everything, forks} {
		v := newVictim(t, program(t), dir, fmt.Sprint("execution-", i), story)
		if i > 0 {
			args := []string{"start", filepath.Join("testdata/kill", v.flow+".yaml"), "--name", v.name}
			if got := doWith(t, "", v.env(), append(args, v.forks.args()...)...); got.exit != view.ExitSucceeded {
				t.Fatalf("start: %+v", got)
			}
		}
		batch = append(batch, v)
	}
	return batch
}
