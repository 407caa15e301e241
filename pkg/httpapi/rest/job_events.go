package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// JobEvents lists job events, and handles one again.
type JobEvents interface {
	// List returns a page of at most limit events, the latest first. The pages have at least the
	// events that match no wait. After is the text next of the previous page; for any other text
	// the error is [resume.ErrPage].
	List(ctx context.Context, after string, limit int) (JobEventPage, error)

	// Replay handles an event again as if it had just arrived. The error is [ErrNoEvent] if it is
	// not kept.
	Replay(ctx context.Context, id string) (JobEventResult, error)
}

// ErrNoEvent is the error for an id that no stored job event has.
var ErrNoEvent = errors.New("no job event is kept with this id; an event that matches no wait is kept for a day")

// JobEventPage is a page of job events.
type JobEventPage struct {
	Events []JobEvent `json:"events"`
	Next   string     `json:"next,omitempty"` // left out on the last page
}

// JobEvent is a job event that is kept.
type JobEvent struct {
	ID string `json:"id"`
	// Time is when the job ended; of an event that arrived since the process of a local store
	// began, when it arrived.
	Time time.Time `json:"time"`
	// Result is matched, parked until its job has a waiter, ignored, or failed, and Problem says
	// why.
	Result  string `json:"result"`
	Problem string `json:"problem,omitempty"`
	// Kind, Account, Region and Name identify the job.
	Kind    string `json:"kind,omitempty"`
	Account string `json:"account,omitempty"`
	Region  string `json:"region,omitempty"`
	Name    string `json:"name,omitempty"`
	// Status is success or failed, or running if the service is asked how the job ended. Error is
	// the error of a failed job.
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	// Executions waited for the job, FLOW/EXECUTION each, if it was matched.
	Executions []string `json:"executions,omitempty"`
	// Text is the event, left out if it is large or kept by a stack.
	Text string `json:"text,omitempty"`
}

// The results of job events.
const (
	EventAccepted = "accepted"
	EventIgnored  = "ignored"
	EventMatched  = "matched"
	EventParked   = "parked"
	EventFailed   = "failed"
)

// IsUnmatched reports whether no wait was found for the event, or it failed.
func (e JobEvent) IsUnmatched() bool { return e.Result == EventParked || e.Result == EventFailed }

// Key returns the key of the job.
func (e JobEvent) Key() jobs.Key {
	return jobs.Key{Kind: e.Kind, Account: e.Account, Region: e.Region, Name: e.Name}
}

// JobEventResult is the result of a job event.
type JobEventResult struct {
	// Result is accepted, if a token waits for the job; parked, if none does; or ignored, if it
	// does not report the end of a job of a known kind.
	Result string `json:"result"`
	// Executions waited for the job, FLOW/EXECUTION each, as far as they are known.
	Executions []string `json:"executions,omitempty"`
}

// Replay names an event to handle again.
type Replay struct {
	ID string `json:"id"`
}

// UnmatchedEvents are the job events of a store that match no wait. It implements [JobEvents]. All
// fields are required.
type UnmatchedEvents struct {
	Events resume.UnmatchedEvents
	// Record returns the stored record of a job; see [resume.Rendezvous].
	Record func(ctx context.Context, key jobs.Key) (resume.JobRecord, error)
	// Token returns the record of a token that waits for a job; see [resume.TokenStore].
	Token func(ctx context.Context, handle string) (token.Record, error)
	// Handle handles the stored end of a job again, or has another function do it; see
	// [resume.JobObserver.Replay].
	Handle func(ctx context.Context, key jobs.Key) error
}

// List implements [JobEvents].
func (u UnmatchedEvents) List(ctx context.Context, after string, limit int) (JobEventPage, error) {
	found, next, err := u.Events.Unmatched(ctx, after, limit)
	page := JobEventPage{Events: []JobEvent{}, Next: next}
	for _, e := range found {
		page.Events = append(page.Events, JobEvent{
			ID: e.Key.ID(), Time: e.End.At.UTC(), Result: EventParked,
			Kind: e.Key.Kind, Account: e.Key.Account, Region: e.Key.Region, Name: e.Key.Name, Status: string(e.End.Status), Error: e.End.Error,
		})
	}
	return page, err
}

// Replay implements [JobEvents]. An event is kept after a waiter was bound to its job. It is also
// handled if no token is open: the process that closed one may have died before it sent the wake.
func (u UnmatchedEvents) Replay(ctx context.Context, id string) (JobEventResult, error) {
	key, ok := jobs.ParseKey(id)
	if !ok {
		return JobEventResult{}, ErrNoEvent
	}
	record, err := u.Record(ctx, key)
	switch {
	case err != nil:
		return JobEventResult{}, err
	case record.End == nil:
		return JobEventResult{}, ErrNoEvent
	case record.IsUnmatched():
		return JobEventResult{Result: EventParked}, nil
	}
	for _, waiter := range record.Waiters {
		waiting, err := u.Token(ctx, waiter.Handle)
		switch {
		case err != nil:
			return JobEventResult{}, err
		case waiting.Open():
			return JobEventResult{Result: EventAccepted}, u.Handle(ctx, key)
		}
	}
	return JobEventResult{Result: EventParked}, u.Handle(ctx, key)
}

// eventsAtOnce is how many job events a page has.
const eventsAtOnce = 100

var errNoJobEvents = notFound("no job events are kept here")

func (h handler) listJobEvents(r *http.Request) (int, any, error) {
	if h.JobEvents == nil {
		return 0, nil, errNoJobEvents
	}
	page, err := h.JobEvents.List(r.Context(), r.URL.Query().Get("after"), eventsAtOnce)
	if errors.Is(err, resume.ErrPage) {
		err = errPageToken
	}
	return http.StatusOK, page, err
}

func (h handler) replayJobEvent(r *http.Request) (int, any, error) {
	var form Replay
	if err := h.readJSON(r, &form, "id"); err != nil {
		return 0, nil, err
	}
	audit.Name(r.Context(), form.ID)
	switch {
	case h.JobEvents == nil:
		return 0, nil, errNoJobEvents
	case form.ID == "":
		return 0, nil, invalid("the body has no id; GET /job-events lists the ids of events")
	}
	result, err := h.JobEvents.Replay(r.Context(), form.ID)
	if errors.Is(err, ErrNoEvent) {
		err = notFound("replay job event %q: %s", form.ID, err)
	}
	return http.StatusOK, result, err
}
