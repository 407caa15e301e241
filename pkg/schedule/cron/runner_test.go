package cron_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/token"
)

// fixture is a manager and a runner over schedules in memory. It keeps what was started, in the
// order of starts.
type fixture struct {
	*testing.T

	now     time.Time
	entries map[string]schedule.Entry
	manager cron.Manager
	runner  *cron.Runner
	started []string
	fails   error // of starts
	log     bytes.Buffer
	racing  func() // is called before the next change of an entry
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, now: at(t, "2026-01-31T10:00:30"), entries: map[string]schedule.Entry{}}
	f.restart()
	return f
}

// restart makes a new process on the store.
func (f *fixture) restart() {
	now := func() time.Time { return f.now }
	newest := func(_ context.Context, flow string) (machine.FlowRef, error) { return machine.FlowRef{Name: flow}, nil }
	f.runner = cron.NewRunner(schedule.Starter{Store: f, Newest: newest, Start: f.start}, now, slog.New(slog.NewTextHandler(&f.log, nil)))
	f.manager = cron.Manager{Store: f, Trigger: f.runner, Now: now}
}

func (f *fixture) start(_ context.Context, request engine.StartRequest) (engine.StartResult, error) {
	if f.fails == nil {
		f.started = append(f.started, request.Flow.Name+"/"+request.Execution+" "+request.Input.JSON())
	}
	return engine.StartedNew, f.fails
}

func (f *fixture) Schedules(_ context.Context, flow, name string) (list []schedule.Entry, err error) {
	for _, entry := range f.entries {
		if (flow == "" || entry.Flow == flow) && (name == "" || entry.Name == name) {
			list = append(list, entry)
		}
	}
	slices.SortFunc(list, func(a, b schedule.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (f *fixture) SetSchedule(_ context.Context, entry schedule.Entry, before string) error {
	if race := f.racing; race != nil {
		f.racing = nil
		race()
	}
	key := entry.Flow + "/" + entry.Name
	if f.entries[key].Text != before {
		return engine.ErrConflict
	}
	if f.entries[key] = entry; entry.Text == "" {
		delete(f.entries, key)
	}
	return nil
}

func (f *fixture) create(name, expression string) {
	f.Helper()
	s := schedule.Schedule{Flow: "f", Name: name, Cron: expression, Payload: `{"a":1}`, Enabled: true}
	if _, err := f.manager.Create(f.Context(), s); err != nil {
		f.Fatal(err)
	}
}

// update changes the schedule a.
func (f *fixture) update(change func(*schedule.Schedule)) {
	f.Helper()
	_, err := f.manager.Update(f.Context(), "f", "a", func(s *schedule.Schedule) error {
		change(s)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// fireAt fires what is due, and compares the names of the executions that were started and the
// pause.
func (f *fixture) fireAt(instant string, pause time.Duration, want ...string) {
	f.Helper()
	f.now, f.started = at(f.T, instant), nil
	got := f.runner.FireDue(f.Context())
	var names []string
	for _, started := range f.started {
		name, _, _ := strings.Cut(started, " ")
		names = append(names, name)
	}
	if !slices.Equal(names, want) || got != pause {
		f.Errorf("%s: started %q, pause %s; want %q, %s", instant, names, got, want, pause)
	}
}

func TestSchedulesAreFired(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("a", "0 */5 * * * *")
	f.create("b", "@every 2m")
	f.fireAt("2026-01-31T10:00:30", time.Minute)
	f.fireAt("2026-01-31T10:02:29", time.Second)
	f.fireAt("2026-01-31T10:02:30", time.Minute, "f/b-20260131T100230Z")
	f.fireAt("2026-01-31T10:02:30", time.Minute)
	f.fireAt("2026-01-31T10:05:00", time.Minute, "f/a-20260131T100500Z", "f/b-20260131T100430Z")
	f.fireAt("2026-01-31T10:10:00", 30*time.Second, "f/a-20260131T101000Z", "f/b-20260131T100830Z")
	if want := `f/a-20260131T101000Z {"payload":{"a":1},"triggerName":"a","triggerTime":"2026-01-31T10:10:00.000Z"}`; f.started[0] != want {
		t.Errorf("started %s; want %s", f.started[0], want)
	}
}

// Of the instants that no process saw the latest is fired, once, and none that is over a day old.
func TestMissedInstants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("a", "0 0 * * * *")
	f.create("old", "0 0 0 15 * *")
	f.restart()
	f.fireAt("2026-02-16T00:30:00", time.Minute, "f/a-20260216T000000Z")
	f.restart()
	f.fireAt("2026-02-16T00:30:00", time.Minute)
	f.restart()
	f.fireAt("2026-03-15T23:30:00", time.Minute, "f/a-20260315T230000Z", "f/old-20260315T000000Z")
}

// An instant that was fired while the clock was ahead does not stop the schedule until then. A
// clock that is set back by less fires no instant again.
func TestAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("a", "0 0 * * * *")
	f.fireAt("2027-06-01T00:00:00", time.Minute, "f/a-20270601T000000Z")
	f.fireAt("2026-01-31T12:00:00", time.Minute, "f/a-20260131T120000Z")
	f.fireAt("2026-01-31T11:59:00", time.Minute)
	f.fireAt("2026-01-31T12:00:00", time.Minute)
	f.fireAt("2026-01-31T13:00:00", time.Minute, "f/a-20260131T130000Z")
}

// A change of a schedule, and the time in which it was disabled, leaves nothing to make up for.
func TestChangedSchedules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("a", "0 0 * * * *")
	f.now = at(t, "2026-01-31T11:00:01")
	f.update(func(s *schedule.Schedule) { s.Cron = "0 0/30 * * * *" })
	f.fireAt("2026-01-31T11:29:59", time.Second)
	f.update(func(s *schedule.Schedule) { s.Enabled = false })
	f.fireAt("2026-01-31T12:10:00", time.Minute)
	f.update(func(s *schedule.Schedule) { s.Enabled = true })
	f.fireAt("2026-01-31T12:10:00", time.Minute)
	f.fireAt("2026-01-31T12:30:00", time.Minute, "f/a-20260131T123000Z")
	if err := f.manager.Delete(t.Context(), "f", "a"); err != nil {
		t.Fatal(err)
	}
	f.fireAt("2026-01-31T13:00:00", time.Minute)
}

// A start that fails is tried again, unless it would fail again.
func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("a", "0 0 * * * *")
	f.fails = errors.New("no disk")
	f.fireAt("2026-01-31T11:00:00", 10*time.Second)
	f.fails = nil
	f.fireAt("2026-01-31T11:00:10", time.Minute, "f/a-20260131T110000Z")
	f.fails = &engine.Error{Code: engine.CodeInvalid, Op: "start", Err: errors.New("no runner")}
	f.fireAt("2026-01-31T12:00:00", time.Minute)
	f.fails = nil
	f.fireAt("2026-01-31T12:00:10", time.Minute)
	if log := f.log.String(); !strings.Contains(log, "no disk") || !strings.Contains(log, "no runner") {
		t.Errorf("logged %s", log)
	}
	f.racing = func() { f.update(func(s *schedule.Schedule) { s.Description = "other" }) }
	f.fireAt("2026-01-31T13:00:00", 0, "f/a-20260131T130000Z")
	f.fireAt("2026-01-31T13:00:00", time.Minute)
}

// A firing without the nonce of the schedule starts nothing. The nonce stays over changes, so that
// a trigger that a process set before it died is valid.
func TestForgedFirings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("a", "0 0 * * * *")
	f.create("b", "0 0 * * * *")
	nonceOf := func(name string) string {
		t.Helper()
		stored, err := f.manager.List(t.Context(), "f", name)
		if err != nil || len(stored) != 1 {
			t.Fatalf("%s: %+v, %v", name, stored, err)
		}
		return stored[0].Nonce
	}
	own := nonceOf("a")
	f.update(func(s *schedule.Schedule) { s.Description = "changed" })
	if again := nonceOf("a"); again != own || len(own) < 26 || nonceOf("b") == own {
		t.Errorf("the nonces are %q, %q after a change, and %q of another schedule", own, again, nonceOf("b"))
	}
	due := schedule.Firing{Flow: "f", Name: "a", At: f.now}
	for name, nonce := range map[string]string{"none": "", "another one": nonceOf("b"), "a part": own[1:]} {
		if due.Nonce = nonce; !errors.Is(f.runner.Fire(t.Context(), due), token.ErrForged) {
			t.Errorf("%s: accepted", name)
		}
	}
	if len(f.started) > 0 || !schedule.IsFinal(token.ErrForged) {
		t.Errorf("started %q", f.started)
	}
	due.Nonce = own
	if err := f.runner.Fire(t.Context(), due); err != nil || len(f.started) != 1 {
		t.Errorf("started %q, %v", f.started, err)
	}
}

// A schedule of release 0.1.0 has no nonce, nor have its firings. It gets one with its next change,
// and none by the same again: a firing without one may be on its way.
func TestFiringsOfTheFirstRelease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const text = `{"Cron":"0 0 * * * *","Enabled":true,"Created":"2026-01-31T09:00:00Z","Modified":"2026-01-31T09:00:00Z"}`
	f.entries["f/a"] = schedule.Entry{Flow: "f", Name: "a", Text: text}
	f.update(func(s *schedule.Schedule) { s.Enabled = true })
	due := schedule.Firing{Flow: "f", Name: "a", At: at(t, "2026-01-31T10:00:00")}
	if err := f.runner.Fire(t.Context(), due); err != nil || len(f.started) != 1 {
		t.Errorf("started %q, %v", f.started, err)
	}
	f.update(func(s *schedule.Schedule) { s.Description = "changed" })
	if due.At = at(t, "2026-01-31T11:00:00"); !errors.Is(f.runner.Fire(t.Context(), due), token.ErrForged) {
		t.Error("accepted after a change")
	}
}

func TestRunFollowsTheClockAndChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		begin := time.Now()
		f.runner.Now = func() time.Time { return f.now.Add(time.Since(begin)) }
		f.manager.Now = f.runner.Now
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.runner.Run(ctx)
		synctest.Wait()
		f.create("a", "@every 1m")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if len(f.started) != 1 {
			t.Errorf("started %q", f.started)
		}
		cancel()
		synctest.Wait()
	})
}

// triggers keeps what the manager sets.
type triggers struct{ set map[string]string }

func (tr triggers) Set(_ context.Context, s schedule.Schedule, _ cron.Expression) error {
	tr.set[s.Name] = s.Cron
	return nil
}

func (tr triggers) Remove(_ context.Context, _, name string) error {
	delete(tr.set, name)
	return nil
}

// The trigger is that of the stored schedule, also after changes that were refused.
func TestTriggersFollowTheStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	set := triggers{map[string]string{}}
	f.manager.Trigger = set
	want := func(what, expression string) {
		t.Helper()
		if set.set["a"] != expression {
			t.Errorf("%s: the trigger is %q; want %q", what, set.set["a"], expression)
		}
	}
	f.create("a", "@every 1m")
	want("created", "@every 1m")
	other := func(expression string) func() {
		return func() { f.update(func(s *schedule.Schedule) { s.Cron, s.Enabled = expression, true }) }
	}
	for expression, change := range map[string]func() error{
		"@every 2m": func() error {
			_, err := f.manager.Update(t.Context(), "f", "a", func(s *schedule.Schedule) error { s.Cron = "@every 9m"; return nil })
			return err
		},
		"@every 3m": func() error {
			_, err := f.manager.Update(t.Context(), "f", "a", func(s *schedule.Schedule) error { s.Enabled = false; return nil })
			return err
		},
		"@every 4m": func() error { return f.manager.Delete(t.Context(), "f", "a") },
	} {
		f.racing = other(expression)
		if err := change(); !errors.Is(err, engine.ErrConflict) {
			t.Errorf("%s: %v", expression, err)
		}
		want("overtaken", expression)
	}
	f.update(func(s *schedule.Schedule) { s.Enabled = false })
	want("disabled", "")
	f.racing = func() { delete(f.entries, "f/a") }
	if _, err := f.manager.Update(t.Context(), "f", "a", func(s *schedule.Schedule) error { s.Enabled = true; return nil }); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("deleted meanwhile: %v", err)
	}
	want("deleted meanwhile", "")
	if err := f.manager.Delete(t.Context(), "f", "a"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("deleted before: %v", err)
	}
	f.create("a", "@every 1m")
	f.racing = func() { delete(f.entries, "f/a") } // also what a client sees that repeats its request
	if err := f.manager.Delete(t.Context(), "f", "a"); err != nil {
		t.Errorf("deleted by a request without a response: %v", err)
	}
	f.create("a", "@every 1m")
	if err := f.manager.DeleteAll(t.Context(), "f"); err != nil || len(f.entries) > 0 {
		t.Errorf("left %v, %v", f.entries, err)
	}
	want("deleted with the flow", "")
}
