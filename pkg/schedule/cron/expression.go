// Package cron manages schedules with cron expressions, and fires them in one process.
//
// This package is not an API and may change between releases.
package cron

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones by name, also where the system has none: on Lambda, on Windows

	library "github.com/netresearch/go-cron"
)

// Expression says at which instants a schedule is due. It is made by [Parse].
type Expression struct {
	every time.Duration        // 0 unless it is an interval
	spec  library.SpecSchedule // of instants of the calendar
	zone  string               // by name
}

const help = `; allowed: "second minute hour day-of-month month day-of-week" like "0 30 9 * * 1-5", CRON_TZ=Asia/Shanghai before it, or "@every 5m"`

// Parse reads a cron expression of six fields, or an interval as "@every 1h30m". The granularity is
// a minute: the first field is one number, and an interval is a number of minutes. The time zone is
// UTC unless CRON_TZ= names another.
func Parse(text string) (e Expression, err error) {
	if interval, ok := strings.CutPrefix(text, "@every "); ok {
		e.every, err = time.ParseDuration(strings.TrimSpace(interval))
		if err != nil || e.every < time.Minute || e.every%time.Minute != 0 || e.every > longestInterval {
			e, err = Expression{}, errors.New("the interval is not a number of whole minutes from 1m to 8760h")
		}
	} else {
		e, err = parseSpec(text)
	}
	if err != nil {
		err = fmt.Errorf("the cron expression %.60q: %w%s", text, err, help)
	}
	return e, err
}

// longestInterval keeps intervals within the limit of EventBridge Scheduler.
const longestInterval = 365 * 24 * time.Hour

const fields = library.Second | library.Minute | library.Hour | library.Dom | library.Month | library.Dow

// star is set in the bits of a field that is "*" or "?".
const star = 1 << 63

func parseSpec(text string) (e Expression, err error) {
	e.zone = "UTC"
	words, zone := strings.Fields(text), ""
	if before, _, found := strings.Cut(text, " "); found && strings.Contains(before, "TZ=") {
		_, e.zone, _ = strings.Cut(before, "=")
		words, zone = words[1:], before+" "
	} else {
		text = "CRON_TZ=UTC " + text
	}
	if len(words) == 5 {
		return e, fmt.Errorf("five fields, without the second: write %.60q", zone+"0 "+strings.Join(words, " "))
	}
	if len(words) == 1 && strings.HasPrefix(words[0], "@") {
		return e, errors.New(`write the fields: each day is "0 0 0 * * *"`)
	}
	parsed, err := library.MustNewParser(fields).Parse(text)
	if err != nil {
		return e, err
	}
	spec, ok := parsed.(*library.SpecSchedule)
	switch {
	case e.zone == "Local":
		return e, errors.New("the time zone has no name")
	case !ok || bits.OnesCount64(spec.Second) != 1:
		return e, errors.New("the first field, the second, is not one number")
	case spec.Dom&star == 0 && spec.Dow&star == 0:
		return e, errors.New("both days of the month and days of the week; use * for one of them")
	case spec.Next(time.Unix(0, 0)).IsZero():
		return e, errors.New("there is no such day")
	}
	e.spec = *spec
	return e, nil
}

// Next returns the first instant after that one. Intervals are counted from begin.
func (e Expression) Next(begin, after time.Time) time.Time {
	if e.every == 0 {
		return e.spec.Next(after).UTC()
	}
	first := e.first(begin).UTC()
	if after.Before(first) {
		return first
	}
	return after.Add(e.every - after.Sub(first)%e.every).UTC()
}

// first returns the end of the first interval.
func (e Expression) first(begin time.Time) time.Time { return begin.Truncate(time.Second).Add(e.every) }

// Latest returns the latest instant that is not after until, zero if it is not after begin.
func (e Expression) Latest(begin, until time.Time) time.Time {
	var latest time.Time
	if e.every > 0 {
		latest = until.Add(-(until.Sub(e.first(begin)) % e.every)).UTC()
	} else {
		latest = e.spec.Prev(until.Truncate(time.Second).Add(time.Second)).UTC()
	}
	if !latest.After(begin) || latest.After(until) {
		return time.Time{}
	}
	return latest
}

// Second returns in which second of its minute an instant is due.
func (e Expression) Second() int {
	if e.every > 0 {
		return 0
	}
	return bits.TrailingZeros64(e.spec.Second)
}

// EventBridge returns the expression and the time zone for EventBridge Scheduler, which also has a
// granularity of a minute. From is the earliest first instant after now: zero means at once.
// Intervals are counted from it.
func (e Expression) EventBridge(begin, now time.Time) (expression, zone string, from time.Time) {
	if e.every == time.Minute {
		return "rate(1 minute)", "UTC", e.Next(begin, now)
	}
	if e.every > 0 {
		return fmt.Sprintf("rate(%d minutes)", e.every/time.Minute), "UTC", e.Next(begin, now)
	}
	dom, dow := list(e.spec.Dom, 0), list(e.spec.Dow, 1) // where Sunday is 1
	if dow == "*" {
		dow = "?"
	} else {
		dom = "?"
	}
	return fmt.Sprintf("cron(%s %s %s %s %s *)", list(e.spec.Minute, 0), list(e.spec.Hour, 0), dom, list(e.spec.Month, 0), dow), e.zone, time.Time{}
}

// list returns the numbers of a field, each plus more, in ranges: 0,5,10-12.
func list(field uint64, more int) string {
	if field&star != 0 {
		return "*"
	}
	var parts []string
	for field != 0 {
		first := bits.TrailingZeros64(field)
		count := bits.TrailingZeros64(^(field >> first))
		part := strconv.Itoa(first + more)
		if count > 1 {
			part += "-" + strconv.Itoa(first+count-1+more)
		}
		parts, field = append(parts, part), field&^((1<<count-1)<<first)
	}
	return strings.Join(parts, ",")
}
