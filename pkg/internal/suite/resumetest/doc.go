// Package resumetest holds the suites of package resume: [Outcomes],
// [Rendezvous] and [ExternalWaits] for its stores, and [Tokens] and [Jobs] for its
// use cases over a store. What package engine asks of the same store besides has
// a suite of its own there.
//
// A suite takes a constructor and runs one sub-test a case, each on an empty
// store.
package resumetest

import (
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// epoch is when every case begins. It has a nanosecond part, which stores must
// keep.
var epoch = time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)

var (
	success = token.Outcome{Output: object("status", "ok"), Choice: "Yes"}
	another = token.Success(object("status", "late"))
	failure = token.Failure("Broken", "it is \"broken\", \x00 é\n")
)

func object(key, text string) value.Value {
	return value.Object(value.Member{Key: key, Value: value.String(text)})
}

// on is what a case is run on, and the test that it reports to.
type on struct {
	t     *testing.T
	store resume.TokenStore
}

// together runs f(0) to f(n-1), all at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}

func sameRecord(a, b token.Record) bool {
	if a.Open() != b.Open() || a.ClosedBy != b.ClosedBy || !a.ClosedAt.Equal(b.ClosedAt) || !a.LastBeat.Equal(b.LastBeat) {
		return false
	}
	return a.Open() || token.Same(*a.Outcome, *b.Outcome) && a.Outcome.Choice == b.Outcome.Choice
}
