package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
)

func (c Command) jobEventsCommand() *cobra.Command {
	return group(helpOf("job-events", nil), c.jobEventsSendCommand())
}

func (c Command) jobEventsSendCommand() *cobra.Command {
	return c.remote(helpOf("job-events send", arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		event, err := c.readEvent(ctx, args[0])
		if err != nil {
			return view.Result{}, err
		}
		sent, err := a.SendEvent(ctx, event)
		if err != nil {
			return view.Result{}, eventError(err)
		}
		text := view.Line("%s", sent.Result)
		if sent.Result == target.EventIgnored {
			text = "ignored: it does not report the end of a job of a known kind\n"
		}
		return view.Result{Form: "job-event", JSON: sent, Text: text}, nil
	})
}

func (c Command) readEvent(ctx context.Context, file string) (event []byte, err error) {
	if file == "-" {
		event, err = c.readStdin(ctx)
	} else {
		event, err = os.ReadFile(file) //nolint:gosec // G304: the user names the file
	}
	switch {
	case ctx.Err() != nil:
		return nil, view.Interrupted("nothing was sent")
	case err != nil:
		return nil, view.Usage(file+": "+reasonOf(err), "waitless job-events send FILE, or - for standard input")
	case !json.Valid(event):
		return nil, view.Usage(file+" is no JSON; allowed: an event as EventBridge delivers it", "waitless job-events send event.json")
	}
	return bytes.ReplaceAll(event, []byte("{time}"), []byte(time.Now().UTC().Format(time.RFC3339))), nil
}

// eventError returns an error of the API about an event as it is shown.
func eventError(err error) error {
	var refused *rest.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Status {
	case http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden:
		why := "the API takes no job events: on AWS the services send their own to the event bus"
		if refused.Code != engine.CodeInternal && refused.Status != http.StatusNotFound { // dev itself says so
			why = refused.Message
		}
		return view.Usage(why, "waitless dev, and --store DIR")
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return view.Usage(refused.Message, "waitless job-events send event.json")
	}
	return view.Internal(refused.Message, "the same again, while waitless run or waitless dev works on the store")
}
