package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/httpapi/rest"
)

func jobEventsCommand(c Command) *cobra.Command {
	return group(helpOf("job-events", nil), jobEventsSendCommand(c), jobEventsListCommand(c), jobEventsReplayCommand(c))
}

func jobEventsListCommand(c Command) *cobra.Command {
	var all bool
	cmd := helpOf("job-events list", arguments(0, 0))
	cmd.Flags().BoolVar(&all, "all", false, "also events that a wait matched, and those that were ignored")
	return c.remote(cmd, func(ctx context.Context, a *target.Client, _ []string) (view.Result, error) {
		events, err := a.JobEvents(ctx)
		if err != nil {
			return view.Result{}, eventError(err)
		}
		if !all {
			events = slices.DeleteFunc(events, func(e target.ReceivedEvent) bool { return !e.IsUnmatched() })
		}
		rows := [][]string{}
		for _, e := range events {
			rows = append(rows, []string{strconv.Itoa(e.ID), e.Time.UTC().Format(time.RFC3339), e.Result, cmp.Or(e.Kind, "-"), cmp.Or(e.Name, e.Problem, "-")})
		}
		text := view.Columns(rows)
		if len(rows) == 0 {
			text = "no unmatched job events\n"
		}
		return view.Result{Form: "job-events", JSON: map[string]any{"events": append([]target.ReceivedEvent{}, events...)}, Text: text}, nil
	})
}

func jobEventsReplayCommand(c Command) *cobra.Command {
	return c.remote(helpOf("job-events replay", arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		events, err := a.JobEvents(ctx)
		if err != nil {
			return view.Result{}, eventError(err)
		}
		i := slices.IndexFunc(events, func(e target.ReceivedEvent) bool { return strconv.Itoa(e.ID) == args[0] })
		if i < 0 || events[i].Text == "" {
			return view.Result{}, view.Usage(
				"the process keeps no job event "+strconv.Quote(args[0])+", or its text is too large to be kept", "waitless job-events list --all",
			)
		}
		return c.sendEvent(ctx, a, []byte(events[i].Text))
	})
}

func jobEventsSendCommand(c Command) *cobra.Command {
	return c.remote(helpOf("job-events send", arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		event, err := c.readEvent(ctx, args[0])
		if err != nil {
			return view.Result{}, err
		}
		return c.sendEvent(ctx, a, event)
	})
}

func (Command) sendEvent(ctx context.Context, a *target.Client, event []byte) (view.Result, error) {
	sent, err := a.SendEvent(ctx, event)
	if err != nil {
		return view.Result{}, eventError(err)
	}
	text := view.Line("%s", sent.Result)
	if sent.Result == target.EventIgnored {
		text = "ignored: it does not report the end of a job of a known kind\n"
	}
	return view.Result{Form: "job-event", JSON: sent, Text: text}, nil
}

func (c Command) readEvent(ctx context.Context, file string) ([]byte, error) {
	event, err := c.readFile(ctx, file, file, "waitless job-events send FILE, or - for standard input")
	if err == nil && !json.Valid(event) {
		err = view.Usage(file+" is no JSON; allowed: an event as EventBridge delivers it", "waitless job-events send event.json")
	}
	return bytes.ReplaceAll(event, []byte("{time}"), []byte(time.Now().UTC().Format(time.RFC3339))), err
}

// eventError returns an error of the API about an event as it is shown. An API without the route is that of a stack,
// or the gateway before it responds.
func eventError(err error) error {
	var refused *rest.Error
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Status == http.StatusNotFound || isGateways(refused) {
		return view.Usage("the API takes no job events: on AWS the services send their own to the event bus", "waitless dev, and --store DIR")
	}
	f := apiFailure(refused)
	f.Try = "waitless job-events send event.json, while waitless run or waitless dev works on the store"
	return f
}
