package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/schedule/cron"
)

const form = "2006-01-02T15:04:05"

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(form, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

// The cases begin at 10:00:30 of a Saturday, the last day of a month.
func TestInstants(t *testing.T) {
	t.Parallel()
	begin := at(t, "2026-01-31T10:00:30")
	for text, want := range map[string]struct{ next, eventBridge string }{
		"0 * * * * *":                            {"2026-01-31T10:01:00 2026-01-31T10:02:00", "cron(* * * * ? *) UTC"},
		"30 9 * * * *":                           {"2026-01-31T10:09:30 2026-01-31T11:09:30", "cron(9 * * * ? *) UTC"},
		"0 */20 * * * *":                         {"2026-01-31T10:20:00 2026-01-31T10:40:00", "cron(0,20,40 * * * ? *) UTC"},
		"0 30 9-11,13 * * 1-5":                   {"2026-02-02T09:30:00 2026-02-02T10:30:00", "cron(30 9-11,13 ? * 2-6 *) UTC"},
		"0 0 0 * * 7":                            {"2026-02-01T00:00:00 2026-02-08T00:00:00", "cron(0 0 ? * 1 *) UTC"},
		"0 0 10 1 * ?":                           {"2026-02-01T10:00:00 2026-03-01T10:00:00", "cron(0 10 1 * ? *) UTC"},
		"0 0 0 29 FEB *":                         {"2028-02-29T00:00:00 2032-02-29T00:00:00", "cron(0 0 29 2 ? *) UTC"},
		"CRON_TZ=Asia/Shanghai 0 0 4 * * *":      {"2026-01-31T20:00:00 2026-02-01T20:00:00", "cron(0 4 * * ? *) Asia/Shanghai"},
		"CRON_TZ=Europe/Berlin 0 30 2 28,30 3 *": {"2026-03-28T01:30:00 2026-03-30T00:30:00", "cron(30 2 28,30 3 ? *) Europe/Berlin"},
		"@every 1m":                              {"2026-01-31T10:01:30 2026-01-31T10:02:30", "rate(1 minute) UTC 2026-01-31T10:01:30"},
		"@every 1h30m":                           {"2026-01-31T11:30:30 2026-01-31T13:00:30", "rate(90 minutes) UTC 2026-01-31T11:30:30"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			e, err := cron.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			first := e.Next(begin, begin)
			second := e.Next(begin, first)
			if got := first.Format(form) + " " + second.Format(form); got != want.next {
				t.Errorf("next: %s; want %s", got, want.next)
			}
			if first.Second() != e.Second() && !strings.HasPrefix(text, "@") {
				t.Errorf("second %d; want %d", e.Second(), first.Second())
			}
			latest := []time.Time{e.Latest(begin, first.Add(-1)), e.Latest(begin, first), e.Latest(begin, second.Add(-1)), e.Latest(begin, second)}
			if !latest[0].IsZero() || !latest[1].Equal(first) || !latest[2].Equal(first) || !latest[3].Equal(second) {
				t.Errorf("latest: %v", latest)
			}
			expression, zone, from := e.EventBridge(begin, begin)
			got := expression + " " + zone
			if !from.IsZero() {
				got += " " + from.Format(form)
			}
			if got != want.eventBridge {
				t.Errorf("EventBridge: %s; want %s", got, want.eventBridge)
			}
			if _, _, later := e.EventBridge(begin, first); !later.IsZero() && !later.Equal(second) {
				t.Errorf("EventBridge, set again: from %v; want %v", later, second)
			}
		})
	}
}

func TestExpressionsThatAreRejected(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"":                                `the cron expression "": `,
		"* * * * *":                       `five fields, without the second: write "0 * * * * *"`,
		"CRON_TZ=Asia/Tokyo  0 9 * * 1-5": `write "CRON_TZ=Asia/Tokyo 0 0 9 * * 1-5"`,
		"* * * *":                         "6 fields",
		"* * * * * *":                     "the second, is not one number",
		"0,30 * * * * *":                  "the second, is not one number",
		"0 60 * * * *":                    "60",
		"0 0 0 1 * MON":                   "use * for one of them",
		"0 0 0 30 2 *":                    "there is no such day",
		"CRON_TZ=Nowhere 0 0 0 * * *":     "Nowhere",
		"CRON_TZ=Local 0 0 0 * * *":       "the time zone has no name",
		"CRON_TZ= 0 0 0 * * *":            "empty timezone",
		"CRON_TZ=UTC":                     "",
		"@daily":                          `write the fields: each day is "0 0 0 * * *"`,
		"@every 30s":                      "whole minutes",
		"@every 90s":                      "whole minutes",
		"@every -5m":                      "whole minutes",
		"@every 8761h":                    "whole minutes",
		"@every":                          "",
		strings.Repeat("0", 5000):         "",
	} {
		_, err := cron.Parse(text)
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "@every 5m") || len(err.Error()) > 300 {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// An instant that the change to summer time leaves out is not fired, as by EventBridge Scheduler.
func TestHourThatDoesNotExist(t *testing.T) {
	t.Parallel()
	e, err := cron.Parse("CRON_TZ=Europe/Berlin 0 30 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Latest(at(t, "2026-03-28T02:00:00"), at(t, "2026-03-29T12:00:00")); !got.IsZero() {
		t.Errorf("latest %v", got)
	}
}
