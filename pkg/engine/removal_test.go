package engine_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

func TestRemovalOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	ended := machine.State{Status: machine.StatusSucceeded, Started: at}
	awaited, started := ended, ended
	awaited.Parent, started.Parent = &machine.Parent{Handle: "handle"}, &machine.Parent{}
	waitsSince := func(since time.Time) *machine.State {
		return &machine.State{Status: machine.StatusRunning, Waiting: &machine.Waiting{Entry: machine.Entry{Since: since}}}
	}
	outcome := token.Success(machine.State{}.Output)
	closed := token.Record{Outcome: &outcome}
	for name, c := range map[string]struct {
		state  machine.State
		parent *machine.State
		record token.Record
		want   engine.Removal
	}{
		"an execution that runs":                             {state: machine.State{Status: machine.StatusRunning}, want: engine.Keep},
		"an execution that has not begun":                    {state: machine.State{Status: machine.StatusStarting}, want: engine.Keep},
		"an execution that ended":                            {state: ended, want: engine.Remove},
		"a sub-flow whose parent waits for its end":          {state: awaited, parent: waitsSince(at), want: engine.ReportAgain},
		"a sub-flow that has reported its end":               {state: awaited, parent: waitsSince(at), record: closed, want: engine.Remove},
		"a sub-flow whose parent has ended":                  {state: awaited, parent: &machine.State{Status: machine.StatusStopped}, want: engine.Remove},
		"a sub-flow whose parent is gone":                    {state: awaited, want: engine.Remove},
		"a sub-flow that was started by the present attempt": {state: started, parent: waitsSince(at), want: engine.Keep},
		"a sub-flow that an earlier attempt started":         {state: started, parent: waitsSince(at.Add(1)), want: engine.Remove},
	} {
		if got := engine.RemovalOf(c.state, c.parent, c.record); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
