package fnf_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/schedule/cron"
)

// schedule makes a request about a schedule of the flow f.
func (m *managed) schedule(action, name string, more map[string]string) response {
	m.t.Helper()
	given := map[string]string{"Action": action, "FlowName": "f", "ScheduleName": name}
	maps.Copy(given, more)
	return m.call(given)
}

// members returns the members of a response that is a success.
func (a response) members(t *testing.T) map[string]any {
	t.Helper()
	a.want(t, 200, "")
	var members map[string]any
	if err := json.Unmarshal([]byte(a.text), &members); err != nil {
		t.Fatal(err)
	}
	return members
}

func TestScheduleIsManaged(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	created := m.schedule("CreateSchedule", "nightly", map[string]string{
		"body:CronExpression": "0 0 2 * * *", "body:Payload": `{"a": 1}`, "body:Description": "d",
	}).members(t)
	want := map[string]any{
		"ScheduleName": "nightly", "Description": "d", "CronExpression": "0 0 2 * * *", "Payload": `{"a": 1}`, "Enable": true,
		"CreatedTime": "2026-01-31T10:00:00.000Z", "LastModifiedTime": "2026-01-31T10:00:00.000Z", "ScheduleId": created["ScheduleId"],
	}
	wantMembers(t, created, want)
	wantMembers(t, m.schedule("DescribeSchedule", "nightly", nil).members(t), want)
	m.clock = func() time.Time { return now.Add(time.Second) }
	want["Enable"], want["LastModifiedTime"] = false, "2026-01-31T10:00:01.000Z"
	wantMembers(t, m.schedule("UpdateSchedule", "nightly", map[string]string{"Enable": "False"}).members(t), want)
	m.clock = func() time.Time { return now }
	want["Enable"], want["CronExpression"], want["Payload"], want["LastModifiedTime"] = true, "@every 5m", "", "2026-01-31T10:00:00.000Z"
	changes := map[string]string{"body:CronExpression": "@every 5m", "Enable": "true", "Payload": ""}
	wantMembers(t, m.schedule("UpdateSchedule", "nightly", changes).members(t), want)
	m.schedule("CreateSchedule", "other", map[string]string{"CronExpression": "@every 1h", "Enable": "false"}).want(t, 200, "")
	first := m.want("ListSchedules FlowName=f Limit=1")
	wantMembers(t, first["Schedules"].([]any)[0].(map[string]any), want)
	second := m.want("ListSchedules FlowName=f Limit=1 NextToken=" + first["NextToken"].(string))
	wantMembers(t, second["Schedules"].([]any)[0].(map[string]any), map[string]any{"ScheduleName": "other", "Enable": false})
	if second["NextToken"] != nil || len(second["Schedules"].([]any)) != 1 {
		t.Errorf("the second page is %v", second)
	}
	m.schedule("DeleteSchedule", "nightly", nil).want(t, 200, "")
	m.schedule("DescribeSchedule", "nightly", nil).want(t, 404, "ScheduleNotExists")
	again := m.schedule("CreateSchedule", "nightly", map[string]string{"CronExpression": "@every 1h"}).members(t)
	if again["ScheduleId"] == "" || created["ScheduleId"] == "" {
		t.Errorf("no ids: %v, %v", again, created)
	}
	m.want("DeleteFlow Name=f")
	if left, err := m.Schedules(t.Context(), "", ""); err != nil || len(left) > 0 {
		t.Errorf("left with the deleted flow: %v, %v", left, err)
	}
}

func TestRejectionsOfSchedules(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	every := map[string]string{"CronExpression": "@every 5m"}
	m.schedule("CreateSchedule", "a", every).want(t, 200, "")
	m.schedule("CreateSchedule", "a", every).want(t, 409, "ScheduleAlreadyExists")
	for _, action := range []string{"UpdateSchedule", "DescribeSchedule", "DeleteSchedule"} {
		m.schedule(action, "none", nil).want(t, 404, "ScheduleNotExists")
		m.schedule(action, "", nil).want(t, 400, "MissingRequiredParams")
		m.schedule(action, "a", map[string]string{"FlowName": "none"}).want(t, 404, "FlowNotExists")
	}
	m.schedule("CreateSchedule", "b", map[string]string{"CronExpression": "@every 5m", "FlowName": "none"}).want(t, 404, "FlowNotExists")
	m.schedule("CreateSchedule", "b", nil).want(t, 400, "MissingRequiredParams")
	m.request("ListSchedules FlowName=none").want(t, 404, "FlowNotExists")
	m.request("ListSchedules FlowName=f Limit=1001").want(t, 400, "InvalidArgument")
	for part, changes := range map[string]map[string]string{
		`"@every 5s": the interval`:  {"CronExpression": "@every 5s"},
		"neither true nor false":     {"Enable": "yes"},
		"the payload cannot be read": {"Payload": "{"},
		"the payload has 32768":      {"Payload": `"` + strings.Repeat("x", 32<<10-2) + `"`},
		"the description has 513":    {"Description": strings.Repeat("x", 513)},
		`ScheduleName begins with`:   {"ScheduleName": "1"},
		"111 characters at most":     {"ScheduleName": strings.Repeat("x", 112)},
	} {
		given := map[string]string{"CronExpression": "@every 5m"}
		maps.Copy(given, changes)
		a := m.schedule("CreateSchedule", "b", given)
		a.want(t, 400, "InvalidArgument")
		if !strings.Contains(a.body.Message, part) {
			t.Errorf("message %q; want %q", a.body.Message, part)
		}
	}
	m.schedule("CreateSchedule", strings.Repeat("x", schedule.MaxName), every).want(t, 200, "")
}

// busySchedules is a store in which another request changes a schedule first.
type busySchedules struct{ schedule.Store }

func (b busySchedules) SetSchedule(ctx context.Context, entry schedule.Entry, before string) error {
	other := schedule.Entry{Flow: entry.Flow, Name: entry.Name, Text: `{"Cron":"@every 1m","Description":"after ` + strconv.Itoa(len(before)) + `"}`}
	if err := b.Store.SetSchedule(ctx, other, before); err != nil {
		return err
	}
	return b.Store.SetSchedule(ctx, entry, before)
}

func TestConcurrentChangesOfSchedules(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	m.config.Schedules.Store = busySchedules{m.Memory}
	m.api = fnf.Handler(m.config)
	m.schedule("CreateSchedule", "a", map[string]string{"CronExpression": "@every 5m"}).want(t, 409, "ScheduleAlreadyExists")
	m.schedule("UpdateSchedule", "a", map[string]string{"CronExpression": "@every 5m"}).want(t, 409, "ConcurrentUpdateError")
	m.schedule("DeleteSchedule", "a", nil).want(t, 409, "ConcurrentUpdateError")
}

// A schedule of the API starts executions of the newest definition, one an instant.
func TestScheduleStartsExecutions(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", strings.ReplaceAll(onePass, "$input.a", "$input.payload.a"))
	starter := schedule.Starter{Store: m, Newest: m.Newest, Start: m.system.Start}
	later := now.Add(5 * time.Minute)
	runner := cron.NewRunner(starter, func() time.Time { return later }, slog.New(slog.DiscardHandler))
	m.schedule("CreateSchedule", "s", map[string]string{"CronExpression": "@every 5m", "body:Payload": `{"a":7}`}).want(t, 200, "")
	runner.FireDue(t.Context())
	stored, err := m.config.Schedules.List(t.Context(), "f", "s")
	if err != nil {
		t.Fatal(err)
	}
	due := schedule.Firing{Flow: "f", Name: "s", Nonce: stored[0].Nonce, At: later}
	if err := starter.Fire(t.Context(), due); err != nil {
		t.Error(err)
	}
	m.run()
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=s-20260131T100500Z"), map[string]any{
		"Status": "Succeeded", "Output": `{"a":7}`,
		"Input": `{"payload":{"a":7},"triggerName":"s","triggerTime":"2026-01-31T10:05:00.000Z"}`,
	})
	if ids, _, err := m.Executions(t.Context(), engine.Selection{Flow: "f"}, "", 9); err != nil || len(ids) != 1 {
		t.Errorf("executions %v, %v", ids, err)
	}
	for _, name := range []string{"none", "s"} {
		due.Name, due.At = name, now.Add(-time.Minute)
		if err := starter.Fire(t.Context(), due); !errors.Is(err, schedule.ErrNotDue) || !schedule.IsFinal(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if schedule.IsFinal(&engine.Error{Code: engine.CodeInternal}) {
		t.Error("an internal error is final")
	}
}
