package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// EventResult says what became of a job event.
type EventResult struct {
	Result string `json:"result"` // accepted or ignored
}

// The results.
const (
	EventAccepted = "accepted"
	EventIgnored  = "ignored"
)

// EventPath is where job events are posted.
const EventPath = "/job-events"

// SendEvent posts a job event to the process that works on a store.
func (c *Client) SendEvent(ctx context.Context, event []byte) (result EventResult, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+EventPath, bytes.NewReader(event))
	if err != nil {
		return result, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.HTTP.Do(request)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxEvent))
	if err != nil {
		return result, err
	}
	if response.StatusCode != http.StatusOK {
		refused := rest.Error{Status: response.StatusCode}
		if json.Unmarshal(text, &refused) != nil || refused.Message == "" {
			refused.Message = fmt.Sprintf("the API responded with %d and no JSON of its own", response.StatusCode)
		}
		return result, &refused
	}
	return result, json.Unmarshal(text, &result)
}

// maxEvent is the largest job event: EventBridge's limit of one.
const maxEvent = 1 << 20

// observer accepts job events.
type observer func(ctx context.Context, event []byte) error

// jobEventHandler accepts job events by POST.
func jobEventHandler(observe observer, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, result := acceptEvent(w, r, observe, log)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(result) // the caller is gone
	})
}

// eventRefusal is why an event was rejected.
type eventRefusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func acceptEvent(w http.ResponseWriter, r *http.Request, observe observer, log *slog.Logger) (int, any) {
	event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		return http.StatusRequestEntityTooLarge, eventRefusal{"Invalid", resume.RequestTooLarge(r.ContentLength, maxEvent).What}
	}
	err = observe(r.Context(), event)
	var service *resume.ServiceError
	switch {
	case err == nil:
		return http.StatusOK, EventResult{EventAccepted}
	case errors.Is(err, jobs.ErrNoEnd):
		return http.StatusOK, EventResult{EventIgnored}
	case errors.Is(err, resume.ErrUnusableEvent):
		return http.StatusBadRequest, eventRefusal{"Invalid", err.Error()}
	case errors.As(err, &service):
		return http.StatusBadGateway, eventRefusal{"Internal", "the service that was to confirm it answered " + service.Error()}
	}
	log.ErrorContext(r.Context(), "job event failed", "error", token.MaskAll(err.Error()))
	return http.StatusInternalServerError, eventRefusal{"Internal", "something inside failed; see the log"}
}
