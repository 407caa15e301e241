package target

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// EventPath is where job events are posted.
const EventPath = "/job-events"

// SendEvent posts a job event to the process that works on a store.
func (c *Client) SendEvent(ctx context.Context, event []byte) (result rest.JobEventResult, err error) {
	return result, c.Do(ctx, http.MethodPost, EventPath, event, &result)
}

// maxEvent is the largest job event: EventBridge's limit of one.
const maxEvent = 1 << 20

// storedEvents are the job events that a system's store keeps.
func storedEvents(system *local.System) rest.JobEvents {
	return rest.UnmatchedEvents{Events: system, Record: system.JobRecord, Token: system.TokenRecord, Handle: system.Replay}
}

// eventLog accepts job events and keeps the latest ones in memory. It implements [rest.JobEvents]:
// those events have numbers as ids.
type eventLog struct {
	system *local.System
	stored rest.JobEvents
	log    *slog.Logger

	mu     sync.Mutex
	events []rest.JobEvent // the latest last
	last   int             // id
}

// The log keeps so many events, and texts up to so many bytes.
const (
	keptEvents = 100
	keptText   = 64 << 10
)

// storedPage is the prefix of the positions of pages of events that the store keeps.
const storedPage = "stored"

// List implements [rest.JobEvents]. The first page has the events since the process began. It marks
// an event as matched if its job got a waiter after the event was parked; a wait that ended before
// the event came does not count. Further pages have the other events in the store.
func (l *eventLog) List(ctx context.Context, after string, limit int) (rest.JobEventPage, error) {
	arrived := l.latest()
	if after == "" {
		for i, e := range arrived {
			if e.Result != rest.EventParked {
				continue
			}
			if handles := l.waitersSince(ctx, e); len(handles) > 0 {
				arrived[i].Result, arrived[i].Executions = rest.EventMatched, l.executions(ctx, handles)
			}
		}
		return rest.JobEventPage{Events: arrived, Next: storedPage}, ctx.Err()
	}
	place, ok := strings.CutPrefix(after, storedPage)
	if !ok {
		return rest.JobEventPage{}, resume.ErrPage
	}
	page, err := l.stored.List(ctx, place, limit)
	page.Events = slices.DeleteFunc(page.Events, func(stored rest.JobEvent) bool {
		return slices.ContainsFunc(arrived, func(e rest.JobEvent) bool { return e.Key() == stored.Key() })
	})
	if page.Next != "" {
		page.Next = storedPage + page.Next
	}
	return page, err
}

// waitersSince returns the handles of the tokens that wait for the job of an event, or waited for
// it when it came.
func (l *eventLog) waitersSince(ctx context.Context, e rest.JobEvent) (handles []string) {
	record, err := l.system.JobRecord(ctx, e.Key())
	if err != nil {
		return nil
	}
	for _, waiter := range record.Waiters {
		closed, err := l.system.TokenRecord(ctx, waiter.Handle)
		if err == nil && (closed.Open() || closed.ClosedAt.After(e.Time)) {
			handles = append(handles, waiter.Handle)
		}
	}
	return handles
}

// Replay implements [rest.JobEvents].
func (l *eventLog) Replay(ctx context.Context, id string) (rest.JobEventResult, error) {
	if _, err := strconv.Atoi(id); err != nil {
		return l.stored.Replay(ctx, id)
	}
	events := l.latest()
	i := slices.IndexFunc(events, func(e rest.JobEvent) bool { return e.ID == id })
	if i < 0 || events[i].Text == "" {
		return rest.JobEventResult{}, rest.ErrNoEvent
	}
	result, refused := l.accept(ctx, []byte(events[i].Text))
	if refused != nil {
		return result, refused
	}
	return result, nil
}

// latest returns the events, the latest first.
func (l *eventLog) latest() []rest.JobEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := append([]rest.JobEvent{}, l.events...)
	slices.Reverse(events)
	return events
}

// accept observes an event and keeps it. Refused is the response for an event that cannot be used.
func (l *eventLog) accept(ctx context.Context, event []byte) (result rest.JobEventResult, refused *rest.Error) {
	job, handles, err := l.system.Observe(ctx, event)
	e := rest.JobEvent{Time: time.Now(), Kind: job.Kind, Account: job.Account, Region: job.Region, Name: job.Name, Text: string(event)}
	var service *resume.ServiceError
	switch {
	case err == nil:
		result.Result, e.Result = rest.EventParked, rest.EventParked
		if len(handles) > 0 {
			result = rest.JobEventResult{Result: rest.EventAccepted, Executions: l.executions(ctx, handles)}
			e.Result, e.Executions = rest.EventMatched, result.Executions
		}
	case errors.Is(err, jobs.ErrNoEnd):
		result.Result, e.Result = rest.EventIgnored, rest.EventIgnored
	case errors.Is(err, resume.ErrUnusableEvent):
		refused = &rest.Error{Status: http.StatusBadRequest, Code: engine.CodeInvalid, Message: err.Error()}
	case errors.As(err, &service):
		message := "the service that was to confirm it answered " + service.Error()
		refused = &rest.Error{Status: http.StatusBadGateway, Code: engine.CodeInternal, Message: message}
	default:
		l.log.ErrorContext(ctx, "job event failed", "error", token.MaskAll(err.Error()))
		refused = &rest.Error{Status: http.StatusInternalServerError, Code: engine.CodeInternal, Message: "something inside failed; see the log"}
	}
	if refused != nil {
		e.Result, e.Problem = rest.EventFailed, refused.Message
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID = strconv.Itoa(l.last)
	if len(e.Text) > keptText {
		e.Text = ""
	}
	l.events = append(l.events[max(0, len(l.events)+1-keptEvents):], e)
	return result, refused
}

// executions returns the names of the executions that have these tokens.
func (l *eventLog) executions(ctx context.Context, handles []string) (names []string) {
	for _, handle := range handles {
		id, _ := token.HandleID(handle)
		if state, err := l.system.Client.Describe(ctx, id.Execution); err == nil {
			names = append(names, state.Flow.Name+"/"+state.Execution)
		}
	}
	return names
}
