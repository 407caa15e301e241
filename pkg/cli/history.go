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
	Flow      string        `json:"flow"`
	Execution string        `json:"execution"`
	Events    []eventReport `json:"events"`
}

// eventReport is one event of a history, and a line of history --follow --json; schema/event.json describes that.
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

func historyCommand(c Command) *cobra.Command {
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
		return c.history(ctx, a, flow, name, o)
	})
	return cmd
}

// history prints the events so far; with --follow also those until the execution ends. With --json alone they are
// one JSON object.
func (c Command) history(ctx context.Context, a *target.Client, flow, name string, o historyOptions) error {
	for after := 0; ; {
		e, err := a.Execution(ctx, flow, name, false) // before the events: if it had ended, they are all
		var events []machine.HistoryEvent
		if err == nil {
			events, err = a.History(ctx, flow, name, after, o.unmask)
		}
		switch {
		case err != nil && o.follow && ctx.Err() != nil:
			return view.Interrupted("the execution continues")
		case err != nil:
			return executionError(ctx, a, flow+"/"+name, err)
		case o.json && !o.follow:
			report := historyReport{Flow: flow, Execution: name, Events: []eventReport{}}
			for _, e := range events {
				report.Events = append(report.Events, eventReportOf(e))
			}
			return c.out().JSON("history", report)
		}
		if err := c.printEvents(events, o.json); err != nil || e.Status.Final() || !o.follow {
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

func (c Command) printEvents(events []machine.HistoryEvent, asJSON bool) error {
	for _, e := range events {
		if asJSON {
			if err := c.out().JSONLine("event", eventReportOf(e)); err != nil {
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
