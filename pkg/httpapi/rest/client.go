package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Client calls the API. Errors that the API returned are of type [*Error]; after any other error
// the request may or may not have been handled.
type Client struct {
	// Base is the address of the API: "http://127.0.0.1:8080". For a socket its host is any text.
	Base string
	// HTTP makes the requests.
	HTTP *http.Client
}

// PutFlow puts a definition. With the name of an execution that is to be started with it, the
// definition is not stored if that is not possible.
func (c *Client) PutFlow(ctx context.Context, name string, definition []byte, execution string) (flow Flow, err error) {
	return flow, c.Do(ctx, http.MethodPut, path("flows", name)+query("execution", execution), definition, &flow)
}

// SetNotify sets the notification target of a definition. It applies to executions that are started
// without a target.
func (c *Client) SetNotify(ctx context.Context, of Flow, notify machine.Notify) (flow Flow, err error) {
	return flow, c.Do(ctx, http.MethodPut, path("flows", of.Name, "notify"), Start{Hash: of.Hash, Notify: notify.Target, NotifyWaits: notify.Waits}, &flow)
}

// Flows lists definitions by name, of each name the latest first. An empty
// name means all.
func (c *Client) Flows(ctx context.Context, name string) ([]Flow, error) {
	var list flowList
	err := c.get(ctx, "/flows", false, &list, "flow", name)
	return list.Flows, err
}

// Flow returns a flow with its definition: the latest definition, or the one with the hash prefix
// hash.
func (c *Client) Flow(ctx context.Context, name, hash string) (flow Flow, err error) {
	return flow, c.get(ctx, path("flows", name), false, &flow, "hash", hash)
}

// DeleteFlow deletes the definitions of a name and returns them.
func (c *Client) DeleteFlow(ctx context.Context, name string) ([]Flow, error) {
	var list flowList
	err := c.Do(ctx, http.MethodDelete, path("flows", name), nil, &list)
	return list.Flows, err
}

// Start starts an execution. IsNew is false if it was started before with the same definition and
// input.
func (c *Client) Start(ctx context.Context, flow string, start Start) (execution Execution, isNew bool, err error) {
	status, err := c.send(ctx, http.MethodPost, path("flows", flow, "executions"), start, &execution)
	return execution, status == http.StatusCreated, err
}

// Redrive starts an execution that goes on where another one failed, was stopped or timed out.
// IsNew is false if it was redriven before in the same way.
func (c *Client) Redrive(ctx context.Context, flow, name string, redrive Redrive) (execution Execution, isNew bool, err error) {
	status, err := c.send(ctx, http.MethodPost, path("flows", flow, "executions", name, "redrive"), redrive, &execution)
	return execution, status == http.StatusCreated, err
}

// Rerun starts an execution with the flow and the input of another one. IsNew is as for
// [Client.Start].
func (c *Client) Rerun(ctx context.Context, flow, name string, rerun Redrive) (execution Execution, isNew bool, err error) {
	status, err := c.send(ctx, http.MethodPost, path("flows", flow, "executions", name, "rerun"), rerun, &execution)
	return execution, status == http.StatusCreated, err
}

// Rearm sends messages again that may be lost, for one page of executions and of waits of external
// engines.
func (c *Client) Rearm(ctx context.Context, rearm Rearm) (page RearmedPage, err error) {
	return page, c.Do(ctx, http.MethodPost, "/rearm", rearm, &page)
}

// JobEvents returns a page of job events, the latest first: those after next of the previous page,
// or "" for the first one.
func (c *Client) JobEvents(ctx context.Context, after string) (page JobEventPage, err error) {
	return page, c.get(ctx, "/job-events", false, &page, "after", after)
}

// ReplayJobEvent has a job event handled again.
func (c *Client) ReplayJobEvent(ctx context.Context, id string) (result JobEventResult, err error) {
	return result, c.Do(ctx, http.MethodPost, "/job-events/replay", Replay{id}, &result)
}

// Filter selects executions. The zero Filter selects all.
type Filter struct {
	Flow     string
	Statuses []machine.Status // none means all
	// Since and Before bound the instant of the start; zero means without a bound. It is not Before
	// itself.
	Since, Before time.Time
	Prefix        string // of the name
	Limit         int    // how many of the latest; 0 means all
}

// EachExecutions calls f with one page of executions after the other, the latest start first. More
// reports whether there are executions beyond the limit.
func (c *Client) EachExecutions(ctx context.Context, filter Filter, f func([]Execution) error) (more bool, err error) {
	for left, after := filter.Limit, ""; ; {
		if filter.Limit > 0 {
			filter.Limit = left + 1 // one more than is shown
		}
		found, next, err := c.ExecutionsPage(ctx, filter, after)
		if err != nil {
			return false, err
		}
		shown := found
		if filter.Limit > 0 {
			shown = shown[:min(left, len(shown))]
			left -= len(shown)
		}
		if err := f(shown); err != nil {
			return false, err
		}
		more, after = len(shown) < len(found), next
		if more || after == "" {
			return more, nil
		}
	}
}

// ExecutionsPage lists one page of executions, the latest start first: those after a position, or
// "" for the first page. Next is the position of the next page, or "" on the last one.
func (c *Client) ExecutionsPage(ctx context.Context, filter Filter, after string) (executions []Execution, next string, err error) {
	parameters := []string{"flow", filter.Flow, "since", instant(filter.Since), "before", instant(filter.Before), "prefix", filter.Prefix, "after", after}
	for _, status := range filter.Statuses {
		parameters = append(parameters, "status", string(status))
	}
	if filter.Limit > 0 {
		parameters = append(parameters, "limit", strconv.Itoa(filter.Limit))
	}
	var p page
	err = c.get(ctx, "/executions", false, &p, parameters...)
	return p.Executions, p.Next, err
}

// Executions lists executions, the latest start first.
func (c *Client) Executions(ctx context.Context, filter Filter) (all []Execution, err error) {
	_, err = c.EachExecutions(ctx, filter, func(page []Execution) error {
		all = append(all, page...)
		return nil
	})
	return all, err
}

// Execution describes one. With unmask its tokens are whole, which needs a right of its own.
func (c *Client) Execution(ctx context.Context, flow, name string, unmask bool) (execution Execution, err error) {
	return execution, c.get(ctx, path("flows", flow, "executions", name), unmask, &execution)
}

// History returns the history of an execution so far, or, with the later of the last call as after,
// the events since then. Later is empty once the history has ended. If there is no new event, the
// call waits for up to wait seconds; on AWS it cannot wait. Unmask is as for [Client.Execution].
func (c *Client) History(
	ctx context.Context, flow, name, after string, unmask bool, wait int,
) (events []machine.HistoryEvent, later string, err error) {
	seconds := ""
	if wait > 0 {
		seconds = strconv.Itoa(wait)
	}
	for next, more := after, true; more && err == nil; more = next != "" {
		var p page
		err = c.get(ctx, path("flows", flow, "executions", name, "history"), unmask, &p, "after", next, "wait", seconds)
		events, next, later, seconds = append(events, p.Events...), p.Next, p.Later, ""
	}
	return events, later, err
}

// Stop requests the end of an execution.
func (c *Client) Stop(ctx context.Context, flow, name string, why Failure) (execution Execution, err error) {
	return execution, c.Do(ctx, http.MethodPost, path("flows", flow, "executions", name, "stop"), why, &execution)
}

// StopDescendants is [Client.Stop] for an execution and all sub-flows that descend from it. It may
// have ended.
func (c *Client) StopDescendants(ctx context.Context, flow, name string, why Failure) (execution Execution, err error) {
	return execution, c.Do(ctx, http.MethodPost, path("flows", flow, "executions", name, "stop"), Stop{why, true}, &execution)
}

// PauseFlow pauses a flow: its executions do not start, and do not continue except to end.
func (c *Client) PauseFlow(ctx context.Context, flow string) (paused Flow, err error) {
	return paused, c.Do(ctx, http.MethodPost, path("flows", flow, "pause"), nil, &paused)
}

// ResumeFlow lets a paused flow go on. It rearms its executions that have not ended, and returns
// their number. An interrupted call may be repeated.
func (c *Client) ResumeFlow(ctx context.Context, flow string) (rearmed int, err error) {
	for form, more := (Rearm{}), true; more && err == nil; more = form.After != "" {
		var page RearmedPage
		err = c.Do(ctx, http.MethodPost, path("flows", flow, "resume"), form, &page)
		form.After = page.Next
		rearmed += len(page.Rearmed)
	}
	return rearmed, err
}

// PutSchedule creates a schedule, or replaces its settings.
func (c *Client) PutSchedule(ctx context.Context, flow, name string, form ScheduleForm) (s Schedule, err error) {
	return s, c.Do(ctx, http.MethodPut, path("flows", flow, "schedules", name), form, &s)
}

// Schedules lists the schedules of a flow, or all of them if the name is empty.
func (c *Client) Schedules(ctx context.Context, flow string) (all []Schedule, err error) {
	for next, more := "", true; more && err == nil; more = next != "" {
		var p page
		err = c.get(ctx, "/schedules", false, &p, "flow", flow, "after", next)
		all, next = append(all, p.Schedules...), p.Next
	}
	return all, err
}

// Schedule returns a schedule.
func (c *Client) Schedule(ctx context.Context, flow, name string) (s Schedule, err error) {
	return s, c.get(ctx, path("flows", flow, "schedules", name), false, &s)
}

// EnableSchedule makes a schedule start executions again.
func (c *Client) EnableSchedule(ctx context.Context, flow, name string) (s Schedule, err error) {
	return s, c.Do(ctx, http.MethodPost, path("flows", flow, "schedules", name, "enable"), nil, &s)
}

// DisableSchedule keeps a schedule, which then starts nothing.
func (c *Client) DisableSchedule(ctx context.Context, flow, name string) (s Schedule, err error) {
	return s, c.Do(ctx, http.MethodPost, path("flows", flow, "schedules", name, "disable"), nil, &s)
}

// DeleteSchedule deletes a schedule and returns it.
func (c *Client) DeleteSchedule(ctx context.Context, flow, name string) (s Schedule, err error) {
	return s, c.Do(ctx, http.MethodDelete, path("flows", flow, "schedules", name), nil, &s)
}

// Tokens lists all open tokens, or the tokens that the execution waits for. Unmask is as for
// [Client.Execution].
func (c *Client) Tokens(ctx context.Context, flow, execution string, unmask bool) (tokens []Token, err error) {
	for next, more := "", true; more && err == nil; more = next != "" {
		var found []Token
		found, next, err = c.tokensPage(ctx, unmask, "flow", flow, "execution", execution, "after", next)
		tokens = append(tokens, found...)
	}
	return tokens, err
}

// WaitsPage returns one page of the open tokens, including tokens of jobs: after a position, or ""
// for the first page. Next is the position of the next page, or "" on the last page. Unmask is as
// for [Client.Execution].
func (c *Client) WaitsPage(ctx context.Context, flow, execution, after string, unmask bool) (tokens []Token, next string, err error) {
	return c.tokensPage(ctx, unmask, "flow", flow, "execution", execution, "after", after, "jobs", "true")
}

func (c *Client) tokensPage(ctx context.Context, unmask bool, parameters ...string) (tokens []Token, next string, err error) {
	var p page
	err = c.get(ctx, "/tokens", unmask, &p, parameters...)
	return p.Tokens, p.Next, err
}

// Token describes a token by its text, or by the handle of an external wait.
func (c *Client) Token(ctx context.Context, text string) (t Token, err error) {
	return t, c.get(ctx, path("tokens", text), false, &t)
}

// Succeed closes a token with an output. Name the token by its text or by the handle of an external
// wait. Without either, name it FLOW/EXECUTION or FLOW/EXECUTION/STEP, with STEP as in
// [Token.Place]. First is false if the token was closed with another outcome, which t shows. If the
// execution never waited for a callback, the error is an [*Error] with [engine.CodeConflict].
func (c *Client) Succeed(ctx context.Context, token string, output value.Value) (t Token, first bool, err error) {
	return c.report(ctx, token, "success", output)
}

// Choose closes a token with the output of a choice of its step; see [Client.Succeed].
func (c *Client) Choose(ctx context.Context, token, label string) (t Token, first bool, err error) {
	return c.report(ctx, token, "success", nil, "choice", label)
}

// Fail closes a token with a failure; see [Client.Succeed].
func (c *Client) Fail(ctx context.Context, token string, failure Failure) (t Token, first bool, err error) {
	return c.report(ctx, token, "failure", failure)
}

// Heartbeat keeps a token open; see [Client.Succeed]. First is false if it is closed, as t shows.
func (c *Client) Heartbeat(ctx context.Context, token string) (t Token, first bool, err error) {
	return c.report(ctx, token, "heartbeat", nil)
}

func (c *Client) report(ctx context.Context, token, end string, body any, parameters ...string) (t Token, first bool, err error) {
	where := path("tokens", token, end)
	if flow, rest, ok := strings.Cut(token, "/"); ok {
		execution, step, _ := strings.Cut(rest, "/")
		where = path("flows", flow, "executions", execution, "token", end)
		parameters = append(parameters, "step", step)
	}
	where += query(parameters...)
	status, err := c.send(ctx, http.MethodPost, where, body, &t)
	return t, status == http.StatusOK, err
}

func path(elements ...string) string {
	joined := ""
	for _, e := range elements {
		joined += "/" + url.PathEscape(e)
	}
	return joined
}

// query returns the parameters that have a value, as the end of an address.
func query(namesAndValues ...string) string {
	parameters := url.Values{}
	for pair := range slices.Chunk(namesAndValues, 2) {
		if pair[1] != "" {
			parameters.Add(pair[0], pair[1])
		}
	}
	return "?" + parameters.Encode()
}

// get reads the resource at a path into out.
func (c *Client) get(ctx context.Context, where string, unmask bool, out any, parameters ...string) error {
	method := http.MethodGet
	if unmask {
		method, where = http.MethodPost, where+"/reveal"
	}
	return c.Do(ctx, method, where+query(parameters...), nil, out)
}

// Do sends a request of this API, or of another API of the server. A body of bytes is sent as it
// is, any other as JSON.
func (c *Client) Do(ctx context.Context, method, where string, body, out any) error {
	_, err := c.send(ctx, method, where, body, out)
	return err
}

// maxResponse is the largest response that is read: a history of 25,000 events with their values.
const maxResponse = 256 << 20

func (c *Client) send(ctx context.Context, method, where string, body, out any) (status int, err error) {
	content, ok := body.([]byte)
	if !ok && body != nil {
		if content, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Base+where, bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	response, err := c.HTTP.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the URL, which may have a token
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	content, err = io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return response.StatusCode, err
	}
	return response.StatusCode, decode(response.StatusCode, content, out)
}

// external explains a response that is not of this API, but of a gateway or proxy before it.
func external(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the API refused the request (%d): it came without credentials, or they have no right to it", status)
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return fmt.Sprintf("the API redirected the request (%d), and redirects are not followed", status)
	case http.StatusTooManyRequests:
		return "the API has too many requests (429); try again later"
	}
	return fmt.Sprintf("the API responded with %d and no JSON of its own", status)
}

// decode reads a response. A conflict without a code is not an error: the response describes the
// closed token.
func decode(status int, content []byte, out any) error {
	if status >= http.StatusMultipleChoices {
		refused := Error{Status: status}
		if err := json.Unmarshal(content, &refused); err != nil || (refused.Code == "" && status != http.StatusConflict) {
			return &Error{status, engine.CodeInternal, external(status)}
		}
		if refused.Code != "" {
			return &refused
		}
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("read the response of the API: %w", err)
	}
	return nil
}
