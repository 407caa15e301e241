package machine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestKept(t *testing.T) {
	t.Parallel()
	call := machine.Call{Step: "Convert", Input: value.Object(text("a", strings.Repeat("x", 60)))}
	small, large := value.Object(whole("pages", 3)), value.Object(text("b", strings.Repeat("x", 60)))
	for name, tt := range map[string]struct {
		outcome token.Outcome
		failure string
	}{
		"a success":                              {token.Success(small), ""},
		"one that is too large beside the input": {token.Success(large), machine.ErrorDataLimit},
		"a failure":                              {token.Failure("Broken", "why"), "Broken"},
		"one with a long name and cause":         {token.Failure(strings.Repeat("e", 1000), strings.Repeat("c", 10000)), strings.Repeat("e", 256)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := machine.Kept(machine.Limits{Data: 100}, call, tt.outcome)
			if got.Error != tt.failure || len(got.Cause) > 4096 || !got.Failed() && !value.Equal(got.Output, tt.outcome.Output) {
				t.Errorf("it is %.200q, %d bytes of cause, %s", got.Error, len(got.Cause), got.Output)
			}
		})
	}
}

// TestApplyWithoutKeysReturnsKeysError: their lack is told from a damaged state.
func TestApplyWithoutKeysReturnsKeysError(t *testing.T) {
	t.Parallel()
	flow := parseFlow(t, `
version: v1
type: flow
steps:
  - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback}
`)
	_, err := machine.Apply(machine.Env{Flow: flow, Cause: machine.CauseStart}, starting(0, 0), machine.Started{At: epoch.Add(time.Second)})
	var missing *machine.KeysError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "token key 0 has the length 0") {
		t.Errorf("error %v", err)
	}
}

func TestCauseReplyIsNotTheHandle(t *testing.T) {
	t.Parallel()
	if cause := machine.CauseReply("AQE"); cause == "AQE" || cause == machine.CauseReply("AQF") {
		t.Errorf("it is %q", cause)
	}
}

// TestATokenOutlivesItsWait: a callback without a time limit is valid for as long as the log was
// kept when the step began, so a time limit that a parameter raises later does not count while the
// step waits for it.
func TestATokenOutlivesItsWait(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	env := machine.Env{Keys: keys, Cause: "wake", Tag: "t", Flow: parseFlow(t, `
version: v1
type: flow
steps:
  - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback}
`)}
	env.Limits = machine.Limits{Duration: 90 * day, Retention: 30 * day, ShortLife: 2 * day}
	begun, _ := machine.New(machine.FlowRef{Name: "flow"}, env.Flow, "run", value.Object(), epoch, env.Limits)
	waits := mustApply(t, env, begun, machine.Started{At: epoch}).State
	id, ok := token.HandleID(waits.Waiting.Handle())
	if !ok {
		t.Fatal("no token")
	}
	for name, tt := range map[string]struct {
		now  machine.Limits
		want time.Duration
	}{
		"as before":        {env.Limits, 90 * day},
		"a longer time":    {machine.Limits{Duration: 366 * day, Retention: 30 * day, ShortLife: 2 * day}, 90 * day},
		"longer kept":      {machine.Limits{Duration: 90 * day, Retention: 365 * day, ShortLife: 2 * day}, 90 * day},
		"both":             {machine.Limits{Duration: 366 * day, Retention: 365 * day, ShortLife: 2 * day}, 60 * day},
		"a shorter time":   {machine.Limits{Duration: 9 * day, Retention: 30 * day, ShortLife: 2 * day}, 9 * day},
		"kept for shorter": {machine.Limits{Duration: 90 * day, Retention: 15 * day, ShortLife: 2 * day}, 90 * day},
	} {
		end := tt.now.EndsAt(waits, env.Flow)
		if got := end.Sub(epoch); got != tt.want || id.Expires.Before(end) {
			t.Errorf("%s: it ends after %s, want %s; its token is valid for %s", name, got, tt.want, id.Expires.Sub(epoch))
		}
	}
}

// TestALargeOutcomeOutlivesItsToken: where a log may be kept for longer later, its token's large
// outcome is, too.
func TestALargeOutcomeOutlivesItsToken(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	limits := machine.Limits{Duration: 90 * day, Retention: 30 * day}
	if got := limits.TokenPartExpiry(epoch.Add(day), epoch); !got.Equal(epoch.Add(day)) {
		t.Errorf("a log that is not kept longer: %s", got)
	}
	limits.ShortLife = 2 * day
	for token, want := range map[time.Duration]time.Duration{32 * day: 120 * day, 200 * day: 200 * day} {
		if got := limits.TokenPartExpiry(epoch.Add(token), epoch).Sub(epoch); got != want {
			t.Errorf("a token that is valid for %s: %s, want %s", token, got, want)
		}
	}
}
