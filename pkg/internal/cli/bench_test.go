package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
)

// slowCall is how long a slow call takes.
const slowCall = 5 * time.Second

// BenchmarkWaitBesideSlowCalls measures how late a wait of 1 s ends beside 64
// executions with a call of 5 s. The process is the shipped `waitless dev` with its
// default settings, and the instants are those of the history. The budget is 50 ms.
//
//	go test -run '^$' -bench WaitBesideSlowCalls ./pkg/internal/cli
func BenchmarkWaitBesideSlowCalls(b *testing.B) {
	for _, form := range []string{"http", "exec"} {
		b.Run(form, func(b *testing.B) {
			s := newStress(b)
			s.tasks = []string{"slow=" + s.functions.URL + "/slow"}
			if form == "exec" {
				s.tasks = []string{fmt.Sprintf("slow=exec:sh -c 'sleep %v; echo {}'", slowCall.Seconds())}
			}
			s.begin()
			s.putFlow("testdata/flows/slow.yaml", "slow")
			s.putFlow("testdata/flows/nap.yaml", "nap")
			var latest time.Duration
			rounds := 0
			for b.Loop() {
				rounds++
				latest = max(latest, s.napBesideSlowCalls(rounds))
			}
			b.ReportMetric(float64(latest.Milliseconds()), "ms-late")
			b.ReportMetric(0, "ns/op") // is how long the wait takes
		})
	}
}

// napBesideSlowCalls returns how late the wait ends.
func (s *stress) napBesideSlowCalls(round int) time.Duration {
	s.t.Helper()
	const slow = 64
	for i := range slow {
		s.start("slow", fmt.Sprintf("slow-%d-%d", round, i))
	}
	name := fmt.Sprintf("nap-%d", round)
	s.start("nap", name)
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		execution, err := s.client.Execution(s.t.Context(), "nap", name, false)
		if err != nil || time.Since(begun) > stressPatience {
			s.t.Fatalf("%s is %s, error %v", name, execution.Status, err)
		}
		if execution.Status == machine.StatusSucceeded {
			break
		}
	}
	events, _, err := s.client.History(s.t.Context(), "nap", name, "", false, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return instantOf(s.t, events[len(events)-1]).Sub(instantOf(s.t, events[0])) - time.Second
}

func (s *stress) start(flow, name string) {
	s.t.Helper()
	if _, _, err := s.client.Start(s.t.Context(), flow, rest.Start{Name: name}); err != nil {
		s.t.Fatal(err)
	}
}

func instantOf(tb testing.TB, event machine.HistoryEvent) time.Time {
	tb.Helper()
	at, err := time.Parse(machine.TimeFormat, event.Time)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}
