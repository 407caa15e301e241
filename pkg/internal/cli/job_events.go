package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// mostEvents is how many job events are listed unless --limit says otherwise.
const mostEvents = 100

func jobEventsListCommand(c Command) *cobra.Command {
	var all bool
	limit := mostEvents
	cmd := helpOf("job-events list", arguments(0, 0))
	cmd.Flags().BoolVar(&all, "all", false, "also events that a wait matched, and those that were ignored; a stack lists neither")
	cmd.Flags().IntVar(&limit, "limit", mostEvents, "how many; 0 means all")
	return c.remote(cmd, func(ctx context.Context, a *target.Client, _ []string) (view.Result, error) {
		if limit < 0 {
			return view.Result{}, view.Usage("--limit is "+strconv.Itoa(limit)+"; allowed: 0 or more", "--limit 100")
		}
		events, more := []rest.JobEvent{}, false
		for after, isLast := "", false; !isLast && !more; {
			page, err := a.JobEvents(ctx, after)
			if err != nil {
				return view.Result{}, eventError(err)
			}
			for _, e := range page.Events {
				switch {
				case !all && !e.IsUnmatched():
				case limit > 0 && len(events) == limit:
					more = true
				default:
					events = append(events, e)
				}
			}
			after, isLast = page.Next, page.Next == ""
		}
		text := ""
		switch {
		case more:
			text = "there are more; --limit 0 lists all\n"
		case len(events) == 0:
			text = "no unmatched job events\n"
		}
		var rows [][]string
		for _, e := range events {
			about := []string{cmp.Or(e.Kind, "-"), cmp.Or(e.Name, e.Problem, "-")}
			if e.ID == e.Key().ID() { // the id of an event that a store keeps names the job
				about = []string{e.Status, e.Error}
			}
			rows = append(rows, append([]string{e.ID, e.Time.UTC().Format(time.RFC3339), e.Result}, about...))
		}
		report := map[string]any{"events": events, "more": more}
		return view.Result{Form: "job-events", JSON: report, Rows: rows, Text: text}, nil
	})
}

func jobEventsCommand(c Command) *cobra.Command {
	replay := c.remote(helpOf("job-events replay", arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		result, err := a.ReplayJobEvent(ctx, args[0])
		if refused, ok := errors.AsType[*rest.Error](err); ok && refused.Code == engine.CodeNotFound {
			return view.Result{}, view.Usage(refused.Message, "waitless job-events list --all")
		}
		return sentEvent(result, err)
	})
	send := c.remote(helpOf("job-events send", arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		event, err := c.readFile(ctx, args[0], args[0], "waitless job-events send FILE, or - for standard input")
		if err == nil && !json.Valid(event) {
			err = view.Usage(args[0]+" is no JSON; allowed: an event as EventBridge delivers it", "waitless job-events send event.json")
		}
		if err != nil {
			return view.Result{}, err
		}
		event = bytes.ReplaceAll(event, []byte("{time}"), []byte(time.Now().UTC().Format(time.RFC3339)))
		return sentEvent(a.SendEvent(ctx, event))
	})
	return group(helpOf("job-events", nil), send, jobEventsListCommand(c), replay)
}

// sentEvent returns the result of a command that sent an event.
func sentEvent(sent rest.JobEventResult, err error) (view.Result, error) {
	if err != nil {
		return view.Result{}, eventError(err)
	}
	text := view.Line("%s", sent.Result)
	switch sent.Result {
	case rest.EventIgnored:
		text = "ignored: it does not report the end of a job of a known kind\n"
	case rest.EventParked:
		text = "parked: no token waits for the job; `waitless rearm` binds the waits of steps to their jobs again\n"
	case rest.EventAccepted:
		if len(sent.Executions) > 0 {
			text = view.Line("accepted: the job of %s", strings.Join(sent.Executions, ", "))
		}
	}
	return view.Result{Form: "job-event", JSON: sent, Text: text}, nil
}

// eventError returns an error of the API about an event as it is shown. An API without the route
// belongs to a stack, or to the gateway before it responds.
func eventError(err error) error {
	refused, ok := errors.AsType[*rest.Error](err)
	if !ok {
		return err
	}
	if refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed || isGateways(refused) {
		return view.Usage("the API takes no job events: on AWS the services send their own to the event bus", "waitless dev, and --store DIR")
	}
	f := apiFailure(refused)
	f.Try = "waitless job-events send event.json, while waitless run or waitless dev works on the store"
	if refused.Code == engine.CodeInvalid { // the same event stays wrong
		f.Try = "waitless docs jobs"
	}
	return f
}
