package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

func (c Command) jobEventsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "job-events",
		Short:   "Tell of the ends of jobs",
		Long:    "On AWS the services tell of the ends of jobs themselves. On one machine it is you who tells.",
		Example: "  waitless job-events send event.json",
	}, c.jobEventsSendCommand())
}

// jobEventReport is the JSON of job-events send; schema/job-event.json describes
// it.
type jobEventReport struct {
	Schema string `json:"schema"` // "waitless.job-event/1"
	jobEventAnswer
}

// jobEventAnswer says what became of a job event.
type jobEventAnswer struct {
	Result string `json:"result"` // taken or ignored
}

const (
	eventTaken   = "taken"
	eventIgnored = "ignored"
)

func (c Command) jobEventsSendCommand() *cobra.Command {
	var o storeOptions
	cmd := &cobra.Command{
		Use: "send FILE", Short: "Tell of the end of a job",
		Long: "Hand a job event, as EventBridge delivers it, to whoever works on the store: each step that waits for its job\n" +
			"goes on. FILE is - for standard input; in its texts {time} stands for now. Not for a stack: AWS takes no event that\n" +
			"claims to be of one of its services.",
		Example: "  waitless job-events send event.json", Args: arguments(1, 1),
	}
	o.register(cmd)
	cmd.RunE = c.onStore(&o, func(ctx context.Context, a *api, args []string) error {
		event, err := c.readEvent(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := sendEvent(ctx, a.Client, event)
		if err != nil {
			return eventError(err)
		}
		if o.json {
			return c.out().JSON(jobEventReport{"waitless.job-event/1", answer})
		}
		if answer.Result == eventIgnored {
			return c.out().Text("ignored: it tells of no end of a job of a known kind\n")
		}
		return c.out().Line("%s", answer.Result)
	})
	return cmd
}

func (c Command) readEvent(ctx context.Context, file string) (event []byte, err error) {
	if file == "-" {
		event, err = c.readStdin(ctx)
	} else {
		event, err = os.ReadFile(file) //nolint:gosec // G304: the user names the file
	}
	switch {
	case ctx.Err() != nil:
		return nil, failure.Interrupted("nothing was sent")
	case err != nil:
		return nil, failure.Usage(file+": "+reasonOf(err), "waitless job-events send FILE, or - for standard input")
	case !json.Valid(event):
		return nil, failure.Usage(file+" is no JSON; allowed: an event as EventBridge delivers it", "waitless job-events send event.json")
	}
	return bytes.ReplaceAll(event, []byte("{time}"), []byte(time.Now().UTC().Format(time.RFC3339))), nil
}

// eventPath is where job events are posted.
const eventPath = "/job-events"

// sendEvent posts an event to whoever works on a store.
func sendEvent(ctx context.Context, client *rest.Client, event []byte) (answer jobEventAnswer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.Base+eventPath, bytes.NewReader(event))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.HTTP.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxEvent))
	if err != nil {
		return answer, err
	}
	if response.StatusCode != http.StatusOK {
		refused := rest.Error{Status: response.StatusCode}
		if json.Unmarshal(text, &refused) != nil || refused.Message == "" {
			refused.Message = fmt.Sprintf("the API answered %d and no JSON of its own", response.StatusCode)
		}
		return answer, &refused
	}
	return answer, json.Unmarshal(text, &answer)
}

// eventError is what went wrong, as the program shows it.
func eventError(err error) error {
	var refused *rest.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Status {
	case http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden:
		why := "the API takes no job events: on AWS the services send their own to the event bus"
		if refused.Code != "" && refused.Status != http.StatusNotFound { // dev itself says so
			why = refused.Message
		}
		return failure.Usage(why, "waitless dev, and --store DIR")
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return failure.Usage(refused.Message, "waitless job-events send event.json")
	}
	return failure.Internal(refused.Message, "the same again, while waitless run or waitless dev works on the store")
}

// maxEvent is the largest job event: EventBridge's limit of one.
const maxEvent = 1 << 20

// observer takes job events.
type observer func(ctx context.Context, event []byte) error

// jobEventHandler takes job events by POST.
func jobEventHandler(observe observer, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, answer := takeEvent(w, r, observe, log)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // the caller is gone
	})
}

// eventRefusal is why an event was not taken.
type eventRefusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func takeEvent(w http.ResponseWriter, r *http.Request, observe observer, log *slog.Logger) (int, any) {
	event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		return http.StatusRequestEntityTooLarge, eventRefusal{"Invalid", resume.RequestTooLarge(r.ContentLength, maxEvent).What}
	}
	err = observe(r.Context(), event)
	var service *resume.ServiceError
	switch {
	case err == nil:
		return http.StatusOK, jobEventAnswer{eventTaken}
	case errors.Is(err, jobs.ErrNoEnd):
		return http.StatusOK, jobEventAnswer{eventIgnored}
	case errors.Is(err, resume.ErrNoEvent):
		return http.StatusBadRequest, eventRefusal{"Invalid", err.Error()}
	case errors.As(err, &service):
		return http.StatusBadGateway, eventRefusal{"Internal", "the service that was to confirm it answered " + service.Error()}
	}
	log.ErrorContext(r.Context(), "job event failed", "error", token.MaskAll(err.Error()))
	return http.StatusInternalServerError, eventRefusal{"Internal", "something inside failed; see the log"}
}
