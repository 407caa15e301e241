package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/token"
)

// JobEvents keeps the latest job events that a process got, and accepts more. A stack has none: its
// services send them to the event bus of the account.
type JobEvents interface {
	// JobEvents returns a page of the events, the latest first. The first page has the events that
	// arrived since the process began.
	JobEvents(ctx context.Context, after string) (rest.JobEventPage, error)
	SendEvent(ctx context.Context, event []byte) (rest.JobEventResult, error)
}

// jobEventsData is the data of the page of the job events.
type jobEventsData struct {
	Served          bool
	Events          []jobEvent
	Text, TextError string // of the form
	Error           string
}

// jobEvent is an event in the list.
type jobEvent struct {
	rest.JobEvent

	At        string // its instant
	Indented  string // its text, with tokens masked
	Waited    []link // the executions
	CanReplay bool
}

// link is a link to another page.
type link struct{ Path, Text string }

func (c *console) jobEventsPage(r *http.Request, d jobEventsData, status int) (page, error) {
	p := page{Title: "Job events", Template: "job_events", Status: status}
	if d.Served = c.JobEvents != nil; !d.Served {
		p.Data, p.Static = d, true
		return p, nil
	}
	received, err := c.JobEvents.JobEvents(r.Context(), "")
	for _, e := range received.Events {
		text := token.MaskAll(indented(e.Text, mostDetails/len(received.Events)))
		shown := jobEvent{JobEvent: e, At: e.Time.UTC().Format(time.RFC3339), Indented: text, CanReplay: e.Text != ""}
		for _, name := range e.Executions {
			flow, execution, _ := strings.Cut(name, "/")
			shown.Waited = append(shown.Waited, link{executionPath(flow, execution), name})
		}
		shown.Text = ""
		d.Events = append(d.Events, shown)
	}
	p.Data = d
	return p, err
}

// sendJobEvent sends the event of the form, or one of the list again.
func (c *console) sendJobEvent(r *http.Request) (page, error) {
	if c.JobEvents == nil {
		return page{}, errNoPage
	}
	d := jobEventsData{Text: r.PostFormValue("event")}
	text := []byte(strings.ReplaceAll(d.Text, "{time}", c.Now().UTC().Format(time.RFC3339)))
	if id := r.PostFormValue("replay"); id != "" {
		received, err := c.JobEvents.JobEvents(r.Context(), "")
		i := slices.IndexFunc(received.Events, func(e rest.JobEvent) bool { return e.ID == id && e.Text != "" })
		switch {
		case i >= 0:
			text = []byte(received.Events[i].Text)
		case err != nil:
			return page{}, err
		default:
			return page{}, &rest.Error{Status: http.StatusNotFound, Message: "this event is not kept any longer"}
		}
	} else if !json.Valid(text) {
		d.TextError = "this is no JSON; allowed: an event as EventBridge delivers it"
		return c.jobEventsPage(r, d, http.StatusUnprocessableEntity)
	}
	if _, err := c.JobEvents.SendEvent(r.Context(), text); err != nil {
		d.Error = token.MaskAll(err.Error())
		return c.jobEventsPage(r, d, http.StatusUnprocessableEntity)
	}
	return page{Location: "/job-events"}, nil
}
