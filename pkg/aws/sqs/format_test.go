package sqs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Messages are in the queues while one release replaces another one.
func TestFormOfAllMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	lane := machine.Lane{Parent: engine.NewID("flow", "one"), Attempt: 7, Index: 3, Count: 25}
	state := machine.State{
		Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Status: machine.StatusFailed, Error: "E", Cause: "why",
		Started: now, At: now.Add(1),
	}
	wakes := sqs.NewWakes(sqs.WakesConfig{Queue: f.queue(), Now: f.Now})
	err := errors.Join(
		wakes.Send(t.Context(), engine.Wake{Execution: engine.NewID("flow", "run"), Cause: machine.CauseStart, Due: now, Sent: now, Seq: 4}),
		wakes.Send(t.Context(), engine.Wake{Execution: lane.ID(), Lane: &lane, Cause: machine.CauseStart, Due: now, Sent: now}),
		f.tasks().Queue(t.Context(), someTask(t, value.Object(value.Member{Key: "a", Value: value.String("b")}))),
		(&sqs.Ends{Target: f.queue()}).Ended(t.Context(), state.ID(), state),
		f.deliveries().Send(t.Context(), token.ID{}, handle, now),
		f.deliveries().SendBeat(t.Context(), handle, now),
		polls(f).Send(t.Context(), somePoll()),
		(&sqs.Notices{Target: f.queue()}).Notify(t.Context(), someNotice()),
	)
	firing, firingErr := sqs.EncodeFiring(schedule.Schedule{Flow: "f", Name: "nightly"}, "<minute>", 30)
	if err := errors.Join(err, firingErr); err != nil {
		t.Fatal(err)
	}
	releasetest.Stored(t, "testdata/messages.v1.txt", strings.Join(append(f.bodies, firing), "\n")+"\n")
}

func TestFormOfReplays(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	if err := polls(f).Replay(t.Context(), somePoll().Key); err != nil {
		t.Fatal(err)
	}
	releasetest.Stored(t, "testdata/replay.v1.txt", strings.Join(f.bodies, "\n")+"\n")
}
