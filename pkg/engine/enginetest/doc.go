// Package enginetest holds the suites that every adapter of package engine
// passes: [Log], [Flows], [Outcomes], [Wakes] and [Tasks] for the ports,
// [Contract] for the engine over a store, rule by rule, and [Crashes] and
// [Interleavings] for what happens when workers die or meet.
//
// A suite takes a constructor and runs one sub-test a case, so that the
// outputs of two stores can be compared side by side. What a suite checks, an
// adapter's own tests do not repeat.
//
// This package may change between releases.
package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// Store is what an engine keeps its executions in, and what the suites need to
// play those who send heartbeats. That its outcomes are kept as they should
// be is for resumetest to check.
type Store interface {
	engine.Log
	engine.Flows
	engine.TokenStore
	engine.Stops

	// Beat notes a heartbeat, as [token.Record.Beat] says, and answers the
	// record after it.
	Beat(ctx context.Context, handle string, at time.Time) (token.Record, error)
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
