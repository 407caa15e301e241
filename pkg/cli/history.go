package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// historyReport is the JSON of history; schema/history.json describes it.
type historyReport struct {
	Schema    string        `json:"schema"` // "waitless.history/1"
	Flow      string        `json:"flow"`
	Execution string        `json:"execution"`
	Events    []eventReport `json:"events"`
}

// eventLine is a line of history --follow --json; schema/event.json describes it.
type eventLine struct {
	Schema string `json:"schema"` // "waitless.event/1"
	eventReport
}

// eventReport is one event of a history.
type eventReport struct {
	ID     int         `json:"id"`
	By     int         `json:"by,omitempty"` // the id of the event that caused this one
	Type   string      `json:"type"`
	Step   string      `json:"step,omitempty"`
	Time   string      `json:"time"`
	Detail value.Value `json:"detail"`
}

// eventReportOf is an event of the API as the commands report it.
func eventReportOf(e machine.HistoryEvent) eventReport {
	detail, err := value.ParseJSON([]byte(e.EventDetail))
	if err != nil { // masking made two keys of an object the same
		detail = value.String(e.EventDetail)
	}
	return eventReport{ID: e.EventID, By: e.ScheduleEventID, Type: e.Type, Step: e.StepName, Time: e.Time, Detail: detail}
}

// historyOptions are the flags of history.
type historyOptions struct {
	remoteOptions
	follow, unmask bool
}

func (c Command) historyCommand() *cobra.Command {
	var o historyOptions
	cmd := helpOf("history", arguments(1, 1))
	o.register(cmd)
	cmd.Flags().BoolVar(&o.follow, "follow", false, "continue until the execution ends")
	cmd.Flags().BoolVar(&o.unmask, "unmask", false, "show the tokens that the history holds")
	cmd.RunE = c.onTarget(&o.remoteOptions, func(ctx context.Context, a *target.Client, args []string) error {
		flow, name, err := names(args[0])
		if err != nil {
			return err
		}
		if o.json && !o.follow {
			return c.reportHistory(ctx, a, flow, name, o)
		}
		return c.followHistory(ctx, a, flow, name, o)
	})
	return cmd
}

// reportHistory prints the history as one JSON object.
func (c Command) reportHistory(ctx context.Context, a *target.Client, flow, name string, o historyOptions) error {
	events, _, err := o.eventsAfter(ctx, a, flow, name, 0)
	if err != nil {
		return executionError(ctx, a, flow+"/"+name, err)
	}
	report := historyReport{Schema: "waitless.history/1", Flow: flow, Execution: name, Events: make([]eventReport, len(events))}
	for i, e := range events {
		report.Events[i] = eventReportOf(e)
	}
	return c.out().JSON(report)
}

// followHistory prints the events so far; with --follow also those until the execution ends.
func (c Command) followHistory(ctx context.Context, a *target.Client, flow, name string, o historyOptions) error {
	for after := 0; ; {
		events, ended, err := o.eventsAfter(ctx, a, flow, name, after)
		switch {
		case err != nil && o.follow && ctx.Err() != nil:
			return view.Interrupted("the execution continues")
		case err != nil:
			return executionError(ctx, a, flow+"/"+name, err)
		}
		if err := c.printEvents(events, o.json); err != nil || ended || !o.follow {
			return err
		}
		if len(events) > 0 {
			after = events[len(events)-1].EventID
		}
		if err := engine.Sleep(ctx, a.Interval); err != nil {
			return view.Interrupted("the execution continues")
		}
	}
}

// eventsAfter returns the events after one. Ended reports whether the execution had ended before they
// were read: then they are all.
func (o historyOptions) eventsAfter(
	ctx context.Context, a *target.Client, flow, name string, after int,
) (events []machine.HistoryEvent, ended bool, err error) {
	e, err := a.Execution(ctx, flow, name, false)
	if err != nil {
		return nil, false, err
	}
	events, err = a.History(ctx, flow, name, after, o.unmask)
	return events, e.Status.Final(), err
}

func (c Command) printEvents(events []machine.HistoryEvent, asJSON bool) error {
	for _, e := range events {
		if asJSON {
			if err := c.out().JSONLine(eventLine{"waitless.event/1", eventReportOf(e)}); err != nil {
				return err
			}
			continue
		}
		text := fmt.Sprintf("%4d  %s  %-18s %s", e.EventID, view.LocalTime(e.Time), e.Type, e.StepName)
		if e.EventDetail != "{}" {
			text += "  " + view.HarmlessJSON(e.EventDetail)
		}
		if err := c.out().Text(c.out().Cut(view.Printable(strings.TrimRight(text, " ")) + "\n")); err != nil {
			return err
		}
	}
	return nil
}
