package machine_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

func TestRest(t *testing.T) {
	t.Parallel()
	const noTimer = -1
	at := time.Unix(1000, 0)
	submitted := func(phase machine.TokenPhase) *machine.Waiting {
		return &machine.Waiting{For: &machine.TokenWait{Phase: phase}}
	}
	timer := &machine.Waiting{For: machine.WaitingForInstant}
	for name, tt := range map[string]struct {
		waiting *machine.Waiting
		due     time.Duration
		change  func(*machine.State)
		until   time.Duration // 0 for no rest
		token   bool
	}{
		"start":                         {nil, noTimer, nil, 0, false},
		"timer":                         {timer, time.Hour, nil, time.Hour, false},
		"short timer":                   {timer, 9 * time.Second, nil, 0, false},
		"ending":                        {timer, time.Hour, func(s *machine.State) { s.Ending = &machine.Ending{} }, 0, false},
		"stopped":                       {timer, time.Hour, func(s *machine.State) { s.Status = machine.StatusStopped }, 0, false},
		"call":                          {&machine.Waiting{For: machine.WaitingForCall}, time.Hour, nil, 0, false},
		"lanes":                         {&machine.Waiting{For: &machine.ForkWait{}}, time.Hour, nil, 0, false},
		"token":                         {submitted(machine.TokenSubmitted), time.Hour, nil, time.Hour, true},
		"token whose function is told":  {submitted(machine.TokenToSubmit), time.Hour, nil, 0, false},
		"token with little time":        {submitted(machine.TokenSubmitted), time.Second, nil, 0, false},
		"token without a limit in time": {submitted(machine.TokenSubmitted), noTimer, nil, 1<<63 - 1 - time.Duration(at.UnixNano()), true},
	} {
		s := machine.State{Status: machine.StatusRunning, At: at, Waiting: tt.waiting}
		if tt.due != noTimer {
			s.Timer = machine.Timer{Tag: "tag", Due: at.Add(tt.due)}
		}
		if tt.change != nil {
			tt.change(&s)
		}
		want := machine.Rest(0)
		if tt.until > 0 {
			want = machine.Rest(at.UnixNano() + int64(tt.until))
		}
		if got := s.Rest(); got&^1 != want&^1 || got.AwaitsToken() != tt.token {
			t.Errorf("%s: rest %d, awaits a token: %t; want %d, %t", name, got, got.AwaitsToken(), want, tt.token)
		}
	}
}
