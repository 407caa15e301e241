package target

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
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
	return result, c.Do(ctx, http.MethodPost, EventPath, event, &result)
}

// ReceivedEvent is a job event that arrived since the process began.
type ReceivedEvent struct {
	ID   int       `json:"id"`
	Time time.Time `json:"time"`
	// Result is what became of it: matched, parked until its job has a waiter, or ignored; or failed, and Problem says why.
	Result  string `json:"result"`
	Problem string `json:"problem,omitempty"`
	// Kind and Name are those of the job.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	// Executions waited for the job, FLOW/EXECUTION each, if it was matched.
	Executions []string `json:"executions,omitempty"`
	// Text is the event, left out if it is large.
	Text string `json:"text,omitempty"`
}

// IsUnmatched reports whether no wait was found for the event, or it failed.
func (e ReceivedEvent) IsUnmatched() bool { return e.Result == eventParked || e.Result == eventFailed }

// What became of events, beside EventIgnored.
const (
	eventMatched = "matched"
	eventParked  = "parked"
	eventFailed  = "failed"
)

type receivedEvents struct {
	Events []ReceivedEvent `json:"events"`
}

// JobEvents returns the latest job events that the process got, the latest first. A stack has none: its services send them to the
// event bus.
func (c *Client) JobEvents(ctx context.Context) ([]ReceivedEvent, error) {
	var received receivedEvents
	return received.Events, c.Do(ctx, http.MethodGet, EventPath, nil, &received)
}

// maxEvent is the largest job event: EventBridge's limit of one.
const maxEvent = 1 << 20

// eventLog accepts job events and keeps the latest ones in memory.
type eventLog struct {
	system *local.System
	log    *slog.Logger

	mu     sync.Mutex
	events []ReceivedEvent // the latest last
	last   int             // id
}

// The log keeps so many events, and texts up to so many bytes.
const (
	keptEvents = 100
	keptText   = 64 << 10
)

// latest returns the events, the latest first.
func (l *eventLog) latest() []ReceivedEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := slices.Clone(l.events)
	slices.Reverse(events)
	return events
}

// keep adds an event.
func (l *eventLog) keep(e ReceivedEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID = l.last
	if len(e.Text) > keptText {
		e.Text = ""
	}
	l.events = append(l.events[max(0, len(l.events)+1-keptEvents):], e)
}

// accept handles a request with a job event.
func (l *eventLog) accept(r *http.Request) (int, any) {
	event, err := resume.ReadBody(r.Body, r.ContentLength, maxEvent)
	if err != nil {
		return http.StatusRequestEntityTooLarge, rest.Error{Code: engine.CodeInvalid, Message: err.Error()}
	}
	job, handles, err := l.system.Observe(r.Context(), event)
	status, body := l.response(r, err)
	e := ReceivedEvent{Time: time.Now(), Kind: job.Kind, Name: job.Name, Text: string(event)}
	switch result := body.(type) {
	case rest.Error:
		e.Result, e.Problem = eventFailed, result.Message
	case EventResult:
		e.Result = result.Result
		if result.Result == EventAccepted {
			e.Result, e.Executions = eventParked, l.executions(r, handles)
		}
		if len(handles) > 0 {
			e.Result = eventMatched
		}
	}
	l.keep(e)
	return status, body
}

// executions returns the names of the executions that have these tokens.
func (l *eventLog) executions(r *http.Request, handles []string) (names []string) {
	for _, handle := range handles {
		id, _ := token.HandleID(handle)
		if state, err := l.system.Client.Describe(r.Context(), id.Execution); err == nil {
			names = append(names, state.Flow.Name+"/"+state.Execution)
		}
	}
	return names
}

// response is that for an event that was observed with err.
func (l *eventLog) response(r *http.Request, err error) (int, any) {
	var service *resume.ServiceError
	switch {
	case err == nil:
		return http.StatusOK, EventResult{EventAccepted}
	case errors.Is(err, jobs.ErrNoEnd):
		return http.StatusOK, EventResult{EventIgnored}
	case errors.Is(err, resume.ErrUnusableEvent):
		return http.StatusBadRequest, rest.Error{Code: engine.CodeInvalid, Message: err.Error()}
	case errors.As(err, &service):
		return http.StatusBadGateway, rest.Error{Code: engine.CodeInternal, Message: "the service that was to confirm it answered " + service.Error()}
	}
	l.log.ErrorContext(r.Context(), "job event failed", "error", token.MaskAll(err.Error()))
	return http.StatusInternalServerError, rest.Error{Code: engine.CodeInternal, Message: "something inside failed; see the log"}
}
