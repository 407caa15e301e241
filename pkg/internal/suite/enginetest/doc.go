// Package enginetest has the suites that every adapter of package engine must pass: [Log], [Flows],
// [Outcomes], [Stops], [Joins], [Wakes] and [Tasks] for the ports; [Definitions] and [Index] for
// the lists that the APIs show; [Contract] for the engine over a store, rule by rule; [Crashes] and
// [Interleavings] for workers that die or meet; [Rearms] for queues that lose their messages.
//
// A suite takes a constructor and runs one subtest for each case, so that the output of two stores
// can be compared. An adapter's own tests do not repeat what a suite checks.
//
// The cases of [Contract] work on a fixture: an engine with fakes around it. Its words:
//
//	begin, take, takeTask   start an execution; take the oldest wake or task that was sent
//	advance, rerun          apply a wake; run a task; fail unless the message is to be deleted
//	wantPutBack             apply a wake; fail unless its message is to be delivered again then
//	answer, script          set the next results of a function
//	at                      set the clock to an instant after the epoch
//	rival                   another worker on the same store, which leaves no trace
//	close, beat, stop       what callers from outside do; the result is the wake that they sent
//	ask, slow, long, begun  bring an execution to a waiting token, a queued submission, a queued call,
//	                        or a call whose runner died
//	wantTrace               compare the effects since the last comparison: reads, writes, wakes, calls
package enginetest

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Store is what an engine keeps its executions in, and what the suites need to
// play those who send heartbeats. That its outcomes are kept as they should
// be is for resumetest to check.
type Store interface { //nolint:interfacebloat // the ports of one store
	engine.Log
	engine.Flows
	Records
	engine.Stops
	engine.Joins
	engine.Descendants
	engine.Index
	engine.Pauses
}

// epoch is when every case begins. It has a nanosecond part, which stores must
// keep.
var epoch = time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)

// testCase is one named case over an S.
type testCase[S any] struct {
	name string
	run  func(c on[S])
}

// on is what a case is run on, and the test that it reports to.
type on[S any] struct {
	t  *testing.T
	it S
}

// runCases runs each case in parallel, on an S of its own.
func runCases[S any](t *testing.T, open func(t *testing.T) S, cases []testCase[S]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(on[S]{t, open(t)})
		})
	}
}
