package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestFormOfStore: a store of the recorded release has these keys and values.
func TestFormOfStore(t *testing.T) {
	t.Parallel()
	db, s := store.NewDatabase(), &store.Keyed{}
	if err := errors.Join(s.Use(db), fill(t, s)); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	kinds := map[byte]bool{}
	var err error
	for key, stored := range db.Entries(store.Range{Lower: []byte{0}, Upper: []byte{0xff}}, &err) {
		if key[0] == 'l' {
			stored = fmt.Appendf(nil, "an instant in %d bytes", len(stored)) // of the call
		}
		fmt.Fprintf(&lines, "%q %q\n", key, stored)
		kinds[key[0]] = true
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range "iaoeflrdpxnjkcg" {
		if !kinds[byte(kind)] {
			t.Errorf("no key of the kind %c is stored", kind)
		}
	}
	releasetest.Stored(t, "testdata/store.v1.txt", lines.String())
}

// fill stores an entry of each kind at instants that do not change.
func fill(t *testing.T, s *store.Keyed) error {
	t.Helper()
	at := time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)
	execution, handle, ctx := engine.NewID("flow", "run"), "EQEBhandle", t.Context()
	appendStarted(t, s, "flow", "run", machine.StatusRunning, time.Hour)
	appendStarted(t, s, "flow", "ended", machine.StatusSucceeded, time.Minute)
	flow, putErr := s.Put(ctx, "flow", []byte("version: v1\ntype: flow\nsteps: [{type: succeed, name: A}]\n"))
	key := jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: "arn:job"}
	_, closeErr := s.Close(ctx, handle, token.CloseOp{By: token.ClosedByHand, At: at, Outcome: token.Outcome{Output: value.String("ok")}})
	_, joinErr := s.Join(ctx, engine.ForkID{Log: execution, Attempt: 3}, engine.LaneEnd{Lane: 1, Seq: 4, Failed: true, Expires: at})
	_, bindErr := s.Bind(ctx, key, resume.Waiter{Handle: handle, Run: jobs.Run{BeginText: "run", Since: at}, JobID: "id"}, at)
	_, noteErr := s.Note(ctx, jobs.Key{Kind: "dms-task", Name: "other"}, jobs.Sighting{Status: jobs.StatusFailed, At: at, Error: "E"}, at)
	notice := engine.Notice{Execution: execution, ID: "end-1", Target: "https://example.org", Body: "{}", Ended: true}
	_, noticeErr := s.AddNotice(ctx, store.Notice{Notice: notice, Since: at})
	return errors.Join(
		putErr, closeErr, joinErr, bindErr, noteErr, noticeErr,
		s.SetNotify(ctx, flow, machine.Notify{Target: "https://example.org"}),
		s.RequestStop(ctx, execution, engine.StopRequest{Error: "Operator", Cause: "enough"}, at),
		s.SetSchedule(ctx, schedule.Entry{Flow: "flow", Name: "nightly", Text: "text"}, ""),
	)
}
