package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
)

func (a *api) putSchedule(flow, name string, form rest.ScheduleForm) rest.Schedule {
	a.t.Helper()
	s, err := a.PutSchedule(a.t.Context(), flow, name, form)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

func TestScheduleIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("f", onePass)
	const path, form, shown = "/flows/f/schedules/s", `{"cron":"0 0 12 * * *","payload":{"a":1}}`,
		`{"cron":"0 0 12 * * *","payload":{"a":1},"enabled":true,"flow":"f","schedule":"s",` +
			`"createdTime":"2026-01-31T10:00:00.000Z","modifiedTime":"2026-01-31T10:00:00.000Z","nextTime":"2026-01-31T12:00:00.000Z"}`
	disabled := strings.Replace(shown[:strings.Index(shown, `,"nextTime"`)]+"}", `"enabled":true`, `"enabled":false`, 1)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodPut, path, form, 201, shown},
		{http.MethodGet, path, "", 200, shown},
		{http.MethodPut, path, form, 200, shown},
		{http.MethodGet, "/schedules", "", 200, `{"schedules":[` + shown + `]}`},
		{http.MethodPut, path, `{"cron":"@every 5m","description":"d","enabled":false}`, 200, `{"cron":"@every 5m","description":"d","enabled":false,` +
			`"flow":"f","schedule":"s","createdTime":"2026-01-31T10:00:00.000Z","modifiedTime":"2026-01-31T10:00:00.000Z"}`},
		{http.MethodPut, path, form, 200, shown},
		{http.MethodPost, path + "/disable", "", 200, disabled},
		{http.MethodPost, path + "/disable", "", 200, disabled},
		{http.MethodPost, path + "/enable", "", 200, shown},
		{http.MethodDelete, path, "", 200, shown},
		{http.MethodGet, "/schedules", "", 200, `{"schedules":[]}`},
	} {
		if status, body := a.request(tt.method, tt.path, tt.body); status != tt.status || strings.TrimSpace(body) != tt.want {
			t.Errorf("%s %s: %d %s; want %d %s", tt.method, tt.path, status, body, tt.status, tt.want)
		}
	}
}

// The same schedule again is no change: otherwise a deployment that puts it each time would begin
// its interval again.
func TestTheSameScheduleAgainChangesNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("f", onePass)
	every := rest.ScheduleForm{Cron: "@every 1h"}
	first := a.putSchedule("f", "s", every)
	a.now = a.now.Add(50 * time.Minute)
	if again := a.putSchedule("f", "s", every); again.ModifiedTime != first.ModifiedTime || again.NextTime != "2026-01-31T11:00:00.000Z" {
		t.Errorf("put again: %+v", again)
	}
	every.Description = "changed"
	if changed := a.putSchedule("f", "s", every); changed.ModifiedTime == first.ModifiedTime || changed.NextTime != "2026-01-31T11:50:00.000Z" {
		t.Errorf("changed: %+v", changed)
	}
}

func TestSchedulesThatAreRejected(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	a := newAPI(t)
	a.put("f", onePass)
	for _, tt := range []struct {
		method, path, body string
		status             int
		part               string
	}{
		{http.MethodPut, "/flows/none/schedules/s", `{"cron":"@every 5m"}`, 404, `there is no flow \"none\"`},
		{http.MethodPut, "/flows/f/schedules/s", `{}`, 400, `the cron expression \"\"`},
		{http.MethodPut, "/flows/f/schedules/s", `{"cron":"* * * * *"}`, 400, "@every 5m"},
		{http.MethodPut, "/flows/f/schedules/s", `{"cron":"@every 5m","cronn":1}`, 400, "unknown field"},
		{http.MethodPut, "/flows/f/schedules/a%2Fb", `{"cron":"@every 5m"}`, 400, "the name of a schedule begins"},
		{http.MethodPut, "/flows/f/schedules/" + strings.Repeat("s", 112), `{"cron":"@every 5m"}`, 400, "111 characters"},
		{http.MethodPut, "/flows/f/schedules/s", `{"cron":"@every 5m","payload":"` + strings.Repeat("x", 40_000) + `"}`, 400, "allowed: at most 512 and"},
		{http.MethodPut, "/flows/f/schedules/s", `{"cron":"@every 5m","payload":` + deep + `}`, 400, "100 levels"},
		{http.MethodGet, "/flows/f/schedules/s", "", 404, "there is no schedule f/s"},
		{http.MethodDelete, "/flows/f/schedules/s", "", 404, "there is no schedule f/s"},
		{http.MethodPost, "/flows/f/schedules/s/disable", "", 404, "there is no schedule f/s"},
		{http.MethodPost, "/flows/f/schedules/s/enable", "", 404, "there is no schedule f/s"},
		{http.MethodGet, "/schedules?after=f", "", 400, "page token"},
	} {
		if status, body := a.request(tt.method, tt.path, tt.body); status != tt.status || !strings.Contains(body, tt.part) {
			t.Errorf("%s %.60s: %d %.300s; want %d %s", tt.method, tt.path, status, body, tt.status, tt.part)
		}
	}
}

func TestSchedulesAreListedInPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.config.MaxResponse = 3 * 2000
	a.serve()
	want := []string{}
	for _, flow := range []string{"f", "f-1"} {
		a.put(flow, onePass)
		for i := range 5 {
			form := rest.ScheduleForm{Cron: "@every 1h", Payload: object(t, `{"a":"`+strings.Repeat("x", 800)+`"}`)}
			s := a.putSchedule(flow, fmt.Sprintf("s%d", i), form)
			want = append(want, s.Flow+"/"+s.Name)
		}
	}
	for flow, want := range map[string][]string{"": want, "f": want[:5], "none": nil} {
		list, err := a.Schedules(t.Context(), flow)
		var got []string
		for _, s := range list {
			got = append(got, s.Flow+"/"+s.Name)
		}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("of flow %q: %q, %v; want %q", flow, got, err, want)
		}
	}
	if _, body := a.request(http.MethodGet, "/schedules", ""); len(body) > a.config.MaxResponse || !strings.Contains(body, `"next":"f/s1"`) {
		t.Errorf("the first page has %d bytes: %s", len(body), body)
	}
}

// A schedule of a deleted flow would start nothing.
func TestDeletedFlowsHaveNoSchedules(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", "{}")
	a.putSchedule("callback", "s", rest.ScheduleForm{Cron: "@every 1h"})
	_, err := a.DeleteFlow(t.Context(), "callback")
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "is in use")
	if _, err := a.Schedule(t.Context(), "callback", "s"); err != nil {
		t.Errorf("the flow was not deleted, and its schedule: %v", err)
	}
	if _, err := a.Stop(t.Context(), "callback", "one", rest.Failure{}); err != nil {
		t.Fatal(err)
	}
	a.run()
	if _, err := a.DeleteFlow(t.Context(), "callback"); err != nil {
		t.Fatal(err)
	}
	if left, err := a.Schedules(t.Context(), ""); err != nil || len(left) > 0 {
		t.Errorf("left %+v, %v", left, err)
	}
}
