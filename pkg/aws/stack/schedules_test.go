package stack_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// The vendor's client makes a schedule of EventBridge Scheduler. The emulator never fires, so the
// test puts into the queue what Scheduler would, twice: one execution starts. The message without
// the nonce of the schedule starts none.
func TestSchedules(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const definition = "version: v1\ntype: flow\nsteps: [{type: pass, name: A, outputMappings: [{target: a, source: $input.payload.a}]}]\n"
	named := map[string]any{"FlowName": "scheduled", "ScheduleName": "s"}
	created := map[string]any{"FlowName": "scheduled", "ScheduleName": "s", "CronExpression": "0 0 2 * * *", "Payload": `{"a":7}`}
	changed := map[string]any{"FlowName": "scheduled", "ScheduleName": "s", "CronExpression": "CRON_TZ=Asia/Tokyo 0 30 9 * * 1-5"}
	lines := s.vendor(t,
		vendorCall{"CreateFlow", map[string]any{"Name": "scheduled", "Definition": definition, "Description": "d", "Type": "FDL"}},
		vendorCall{"CreateSchedule", created}, vendorCall{"CreateSchedule", created}, vendorCall{"UpdateSchedule", changed}, vendorCall{"DescribeSchedule", named})
	if len(lines) != 5 || !strings.HasPrefix(lines[2], "ScheduleAlreadyExists 409") || !strings.Contains(lines[4], "Asia/Tokyo") {
		t.Fatalf("got %q", lines)
	}
	found := s.firings(t)
	if len(found) != 1 || *found[0].ScheduleExpression != "cron(30 9 ? * 2-6 *)" || *found[0].ScheduleExpressionTimezone != "Asia/Tokyo" {
		t.Fatalf("the schedules are %+v", found)
	}
	at := time.Now().UTC()
	body := strings.Replace(*found[0].Target.Input, scheduler.ScheduledTime, at.Format(time.RFC3339Nano), 1)
	if *found[0].Target.Arn == "" || body == *found[0].Target.Input {
		t.Fatalf("the target is %+v", found[0].Target)
	}
	nonce := regexp.MustCompile(`,"nonce":"[A-Z2-7]{26,}"`)
	forged := nonce.ReplaceAllString(body, "")
	if forged == body {
		t.Fatalf("%s has no nonce", body)
	}
	s.send(t, forged)
	if line := s.logLine(t, `"flow":"scheduled","schedule":"s"`); !strings.Contains(line, "is not authentic") || !strings.Contains(line, `"outcome":"discarded"`) {
		t.Errorf("a firing without the nonce: %s", line)
	}
	s.send(t, body, body)
	execution := "s-" + at.Format("20060102T150405Z")
	shown := s.awaitExecution(t, "scheduled", execution)
	if !strings.Contains(shown, `\"a\":7`) || !strings.Contains(shown, `"Status":"Succeeded"`) {
		t.Errorf("described %s", shown)
	}
	lines = s.vendor(t, vendorCall{"ListExecutions", map[string]any{"FlowName": "scheduled"}},
		vendorCall{"DeleteFlow", map[string]any{"Name": "scheduled"}}, vendorCall{"DescribeSchedule", named})
	if strings.Count(lines[0], `"Name":"s-`) != 1 || !strings.HasPrefix(lines[2], "FlowNotExists 404") {
		t.Errorf("got %q", lines)
	}
	if left := s.firings(t); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// The command manages the schedules that the vendor's client does.
func TestSchedulesOfTheCommand(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	s.check(t, view.ExitSucceeded, "polling", "flows", "put", "events/polling/flow.yaml")
	s.check(t, view.ExitSucceeded, "polling/s  0 0 2 * * *  next", "schedules", "put", "polling/s", "--cron", "0 0 2 * * *", "--payload", `{"a":7}`)
	s.check(t, view.ExitSucceeded, "polling/s  @every 1h  next", "schedules", "put", "polling/s", "--cron", "@every 1h")
	s.check(t, view.ExitSucceeded, "polling/s  @every 1h  next", "schedules", "list", "--flow", "polling")
	found := s.firings(t)
	if len(found) != 1 || *found[0].ScheduleExpression != "rate(60 minutes)" || !strings.Contains(*found[0].Target.Input, "polling") {
		t.Errorf("the schedules are %+v", found)
	}
	s.check(t, view.ExitSucceeded, "polling/s is deleted", "schedules", "delete", "polling/s")
	if left := s.firings(t); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// firings returns what the schedules of flows are at EventBridge Scheduler.
func (s stack) firings(t *testing.T) (all []*awsscheduler.GetScheduleOutput) {
	t.Helper()
	client, group := awsscheduler.NewFromConfig(emulator.Config(t)), aws.String(s.resources["Timers"])
	listed, err := client.ListSchedules(t.Context(), &awsscheduler.ListSchedulesInput{GroupName: group, NamePrefix: aws.String("schedule-")})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range listed.Schedules {
		one, err := client.GetSchedule(t.Context(), &awsscheduler.GetScheduleInput{GroupName: group, Name: found.Name})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// awaitExecution describes an execution that starts soon, at its end.
func (s stack) awaitExecution(t *testing.T, flow, execution string) string {
	t.Helper()
	describe := vendorCall{"DescribeExecution", map[string]any{"FlowName": flow, "ExecutionName": execution, "WaitTimeSeconds": 9}}
	for begun := time.Now(); ; {
		if got := s.vendor(t, describe)[0]; strings.HasPrefix(got, "{") || time.Since(begun) > time.Minute {
			return got
		}
	}
}
