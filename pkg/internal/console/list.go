package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// listed is how many executions a page of the list has.
const listed = 50

// searchTime is for how long a search reads pages before it offers to go on.
const searchTime = time.Second

// listData is the data of the list of executions.
type listData struct {
	Flow, Status, Since, Before, Name string // the filter
	Flows                             []string
	Statuses                          []string
	Spans                             []span
	Executions                        []rest.Execution
	// Older is the address of the next page, Newest the address of the first page, "" for none.
	Older, Newest string
	// Partial says that a search ended before it found a page full.
	Partial bool
}

// span is a time that a user can choose.
type span struct{ Value, Text string }

var spans = []span{{"", "any time"}, {"1h", "the last hour"}, {"24h", "the last day"}, {"168h", "the last 7 days"}, {"720h", "the last 30 days"}}

// executionPath is the path of the page of an execution.
func executionPath(flow, name string) string {
	return "/executions/" + url.PathEscape(flow) + "/" + url.PathEscape(name)
}

// list shows a page of the executions that the parameters select.
func (c *console) list(r *http.Request) (page, error) {
	query := r.URL.Query()
	d := listData{
		Flow: query.Get("flow"), Status: query.Get("status"), Since: query.Get("since"), Before: query.Get("before"), Name: strings.TrimSpace(query.Get("name")),
		Statuses: rest.StatusNames(), Spans: spans,
	}
	filter, err := rest.Filter{Flow: d.Flow, Prefix: d.Name, Limit: listed}, error(nil)
	if d.Status != "" {
		if filter.Statuses, err = rest.ParseStatuses(d.Status); err != nil {
			return page{}, err
		}
	}
	if d.Since != "" {
		ago, err := time.ParseDuration(d.Since)
		if err != nil || ago < 0 {
			return page{}, &rest.Error{Status: http.StatusBadRequest, Message: "since is not a time like 24h"}
		}
		filter.Since = c.Now().Add(-ago)
	}
	if d.Before != "" {
		if filter.Before, err = time.ParseInLocation("2006-01-02T15:04", d.Before, time.Local); err != nil {
			return page{}, &rest.Error{Status: http.StatusBadRequest, Message: "before is not a time like 2026-01-31T10:00"}
		}
	}
	if d.Flows, err = c.flowNames(r); err != nil {
		return page{}, err
	}
	next, err := c.search(r, filter, &d)
	if next != "" {
		query.Set("after", next)
		d.Older = "/executions?" + query.Encode()
	}
	if query.Del("after"); r.FormValue("after") != "" {
		d.Newest = "/executions?" + query.Encode()
	}
	return page{Title: "Executions", Template: "list", Data: d}, err
}

// flowNames returns the names of the flows.
func (c *console) flowNames(r *http.Request) (names []string, err error) {
	flows, err := c.Flows.Flows(r.Context(), "")
	for _, f := range flows {
		if len(names) == 0 || names[len(names)-1] != f.Name {
			names = append(names, f.Name)
		}
	}
	return names, err
}

// search reads pages until one is full, and returns the position behind them.
func (c *console) search(r *http.Request, filter rest.Filter, d *listData) (next string, err error) {
	next = r.FormValue("after")
	for end := c.Now().Add(searchTime); ; {
		var found []rest.Execution
		if found, next, err = c.ExecutionsPage(r.Context(), filter, next); err != nil {
			return "", err
		}
		d.Executions = append(d.Executions, found...)
		isFull := next == "" || len(d.Executions) >= listed
		if d.Partial = !isFull && c.Now().After(end); isFull || d.Partial {
			return next, nil
		}
	}
}

// noteOf returns the note of a list beside the status of an execution.
func noteOf(e rest.Execution) string {
	switch w := e.Waiting; {
	case e.Blocked != "":
		return "cannot continue: " + e.Blocked
	case e.FailedStep != "" && !e.Status.Final():
		failed := e.FailedStep + " failed; "
		e.FailedStep = ""
		return failed + noteOf(e)
	case e.FailedStep != "":
		return e.FailedStep + " failed: " + strings.Trim(e.Error+": "+strings.TrimPrefix(e.Cause, "step "+e.FailedStep+": "), ": ")
	case e.Error != "" || e.Cause != "":
		return strings.Trim(e.Error+": "+e.Cause, ": ")
	case w == nil:
		return ""
	case w.Subflow != "":
		return w.Step + " waits for " + w.Subflow
	case w.Until != "":
		return w.Step + " waits for " + w.What() + " until " + localTime(w.Until)
	default:
		return w.Step + " waits for " + w.What()
	}
}
