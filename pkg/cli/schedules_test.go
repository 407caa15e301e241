package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/schedule"
)

// dev fires the latest instant that was due while no process ran, and the next dev does not fire it again.
func TestDevFiresSchedules(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	begun := time.Now().UTC().Add(-150 * time.Second)
	putSchedule(t, env["WAITLESS_STORE"], schedule.Schedule{Flow: "callback", Name: "often", Cron: "@every 1m", Enabled: true, Modified: begun})
	due := begun.Truncate(time.Second).Add(2 * time.Minute).Format("20060102T150405Z")
	for range 2 {
		d := startDev(t, program(t), env)
		d.until(`"(often-`+due+`)"`, "list", "--json")
		if got := d.do("list", "--json"); strings.Count(got, `"often-`) != 1 {
			t.Errorf("listed %s", got)
		}
		if exit := d.interrupt(); exit != ExitInterrupted {
			t.Errorf("exit %d: %s", exit, d.stderr.String())
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
