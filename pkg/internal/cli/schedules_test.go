package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/schedule"
)

// dev fires the latest instant that was due while no process ran, and the next dev does not fire it
// again.
func TestDevFiresSchedules(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	begun := time.Now().UTC().Add(-150 * time.Minute)
	putSchedule(t, env["WAITLESS_STORE"], schedule.Schedule{Flow: "callback", Name: "often", Cron: "@every 1h", Enabled: true, Modified: begun})
	due := begun.Truncate(time.Second).Add(2 * time.Hour).Format("20060102T150405Z")
	for range 2 {
		d := startDev(t, program(t), env)
		d.until(`"(often-`+due+`)"`, "list", "--json")
		if got := d.do("list", "--json"); strings.Count(got, `"often-`) != 1 {
			t.Errorf("listed %s", got)
		}
		if exit := d.interrupt(); exit != view.ExitInterrupted {
			t.Errorf("exit %d: %s", exit, d.stderr.String())
		}
	}
}

// dev fires a schedule at the instant that another command puts: it does not look at its store only
// once in a minute.
func TestDevFiresASchedulePutMeanwhile(t *testing.T) {
	t.Parallel()
	env, begun, real := inStore(t), time.Date(2026, 1, 31, 10, 0, 52, 0, time.UTC), time.Now()
	now := func() time.Time { return begun.Add(time.Since(real)) }
	if got := doWith(t, "", env, "flows", "put", "testdata/flows/pass.yaml"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	dev := inBackgroundAt(t, now, env, "dev", "--listen", "127.0.0.1:0")
	awaitWorker(t, env)
	got := doWith(t, "", env, "schedules", "put", "pass/s", "--cron", "0 * * * * *", "--payload", `{"n":7}`)
	if got.exit != view.ExitSucceeded || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	dev.awaits(`msg="execution started" execution=pass/s-20260131T100[1-9]00Z`)
	if got := doWith(t, "", env, "list", "--flow", "pass", "--json"); !strings.Contains(got.stdout, `"n": 7`) {
		t.Errorf("%+v", got)
	}
}

// put replaces the whole schedule, and says what was lost.
func TestSchedulesPutSaysWhatItRemoves(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "flows", "put", "testdata/flows/pass.yaml"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	put := []string{"schedules", "put", "pass/s", "--cron", "@every 1h"}
	if got := doWith(t, "", env, append(put, "--payload", `{"n":7}`, "--description", "hourly")...); strings.Contains(got.stderr, "removed") {
		t.Errorf("%+v", got)
	}
	got := doWith(t, "", env, put...)
	for _, want := range []string{`removed its payload {"n":7}`, `removed its description "hourly"`} {
		if got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, want) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if got := doWith(t, "", env, put...); strings.Contains(got.stderr, "removed") || strings.Contains(got.stderr, "enabled") {
		t.Errorf("%+v", got)
	}
	if got := doWith(t, "", env, append(put, "--disabled")...); strings.Contains(got.stderr, "enabled it") {
		t.Errorf("%+v", got)
	}
	got = doWith(t, "", env, put...)
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, "enabled it; put it with --disabled to keep it disabled") {
		t.Errorf("%+v", got)
	}
}

func TestSchedulesAreManaged(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for _, tt := range []struct{ args, want string }{
		{"flows put testdata/flows/pass.yaml", "pass  "},
		{"schedules list", "no schedules\n"},
		{"schedules put pass/s --cron 0_0_2_1_1_* --payload {\"n\":7} --description often", "  often\n  payload {\"n\":7}\n"},
		{"schedules put pass/off --cron @every_5m --disabled", "pass/off  @every 5m  disabled\n"},
		{"schedules enable pass/off", "pass/off  @every 5m  next 20"},
		{"schedules disable pass/off", "pass/off  @every 5m  disabled\n"},
		{"schedules disable pass/s", "pass/s  0 0 2 1 1 *  disabled\n  often\n  payload {\"n\":7}\n"},
		{"schedules enable pass/s", "pass/s  0 0 2 1 1 *  next 20"},
		{"schedules disable pass/none", "there is no schedule pass/none\ntry: waitless schedules list"},
		{"schedules list", "pass/off  @every 5m    disabled\npass/s    0 0 2 1 1 *  next 20"},
		{"schedules list --flow none", "there is no flow \"none\""},
		{"schedules show pass/s", "payload {\"n\":7}\n"},
		{"schedules put pass/s", "--cron is missing: put replaces the whole schedule\ntry: --cron '@every 5m', or waitless schedules disable FLOW/SCHEDULE\n"},
		{"schedules put pass/s --cron 0_0", "the cron expression \"0 0\": "},
		{"schedules put none/s --cron @every_5m", "there is no flow \"none\"\ntry: waitless schedules list, or waitless flows list"},
		{"schedules put pass --cron @every_5m", "\"pass\" is not a schedule; allowed: FLOW/SCHEDULE"},
		{"schedules put pass/s --cron @every_5m --payload 7", "--payload is a number; allowed: an object"},
		{"schedules show pass/none", "there is no schedule pass/none"},
		{"__complete schedules show ", "pass/off\t@every 5m\npass/s\t0 0 2 1 1 *\n:4\n"},
		{"schedules delete pass/s", "pass/s is deleted\n"},
		{"flows delete pass", "pass is deleted"},
		{"schedules list", "no schedules\n"},
	} {
		args := strings.Split(tt.args, " ")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		if strings.HasPrefix(tt.args, "__") {
			args[0] = "__complete"
		}
		got := doWith(t, "", env, args...)
		if failed := got.exit != view.ExitSucceeded; !strings.Contains(got.stdout+got.stderr, tt.want) ||
			failed && got.stdout != "" || tt.want == "" && got.stdout != "" {
			t.Errorf("%s: %+v; want %q", tt.args, got, tt.want)
		}
	}
}

// putSchedule stores a schedule and its flow.
func putSchedule(t *testing.T, dir string, s schedule.Schedule) {
	t.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(callbackFlow)
	if err == nil {
		_, err = store.Put(t.Context(), s.Flow, text)
	}
	entry, wrong := s.Entry()
	if err == nil && wrong == nil {
		err = store.SetSchedule(t.Context(), entry, "")
	}
	if shut := store.Shut(); err != nil || wrong != nil || shut != nil {
		t.Fatal(err, wrong, shut)
	}
}
