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
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Client calls the API. Errors that the API returned are of type [*Error]; after any other error the
// request may or may not have been handled.
type Client struct {
	// Base is the address of the API: "http://127.0.0.1:8080". For a socket its host is any text.
	Base string
	// HTTP makes the requests.
	HTTP *http.Client
}

// PutFlow puts a definition.
func (c *Client) PutFlow(ctx context.Context, name string, definition []byte) (flow Flow, err error) {
	return flow, c.Do(ctx, http.MethodPut, path("flows", name), definition, &flow)
}

// PutFlowFor is [Client.PutFlow] for a start that follows: the definition is not stored if an execution of
// that name could not be started with it.
func (c *Client) PutFlowFor(ctx context.Context, name string, definition []byte, execution string) (flow Flow, err error) {
	return flow, c.Do(ctx, http.MethodPut, path("flows", name)+"?"+url.Values{"execution": {execution}}.Encode(), definition, &flow)
}

// Flows lists definitions by name, of each name the latest first. An empty
// name means all.
func (c *Client) Flows(ctx context.Context, name string) ([]Flow, error) {
	var list flowList
	err := c.Do(ctx, http.MethodGet, "/flows?"+url.Values{"flow": {name}}.Encode(), nil, &list)
	return list.Flows, err
}

// Flow returns a flow with its definition: the latest, or the one whose hash begins with hash.
func (c *Client) Flow(ctx context.Context, name, hash string) (flow Flow, err error) {
	return flow, c.Do(ctx, http.MethodGet, path("flows", name)+"?"+url.Values{"hash": {hash}}.Encode(), nil, &flow)
}

// DeleteFlow deletes the definitions of a name and returns them.
func (c *Client) DeleteFlow(ctx context.Context, name string) ([]Flow, error) {
	var list flowList
	err := c.Do(ctx, http.MethodDelete, path("flows", name), nil, &list)
	return list.Flows, err
}

// Start starts an execution. IsNew is false if it was started before with the same definition and input.
func (c *Client) Start(ctx context.Context, flow string, start Start) (execution Execution, isNew bool, err error) {
	status, err := c.send(ctx, http.MethodPost, path("flows", flow, "executions"), start, &execution)
	return execution, status == http.StatusCreated, err
}

// Filter selects executions. The zero Filter selects all.
type Filter struct {
	Flow     string
	Statuses []machine.Status // none means all
	Since    time.Time        // of the start; zero means from the first one on
	Limit    int              // how many of the latest; 0 means all
}

func (f Filter) query() url.Values {
	query := url.Values{}
	for key, value := range map[string]string{"flow": f.Flow, "since": instant(f.Since)} {
		if value != "" {
			query.Set(key, value)
		}
	}
	for _, status := range f.Statuses {
		query.Add("status", string(status))
	}
	return query
}

// EachExecutions calls f with one page of executions after the other, the latest start first. More
// reports whether there are executions beyond the limit.
func (c *Client) EachExecutions(ctx context.Context, filter Filter, f func([]Execution) error) (more bool, err error) {
	query := filter.query()
	for left := filter.Limit; ; {
		if filter.Limit > 0 {
			query.Set("limit", strconv.Itoa(left+1)) // one more than is shown
		}
		var p page
		if err := c.Do(ctx, http.MethodGet, "/executions?"+query.Encode(), nil, &p); err != nil {
			return false, err
		}
		shown := p.Executions
		if filter.Limit > 0 {
			shown = shown[:min(left, len(shown))]
			left -= len(shown)
		}
		if err := f(shown); err != nil {
			return false, err
		}
		switch {
		case len(shown) < len(p.Executions):
			return true, nil
		case p.Next == "":
			return false, nil
		}
		query.Set("after", p.Next)
	}
}

// Executions lists executions, the latest start first. An empty flow or status
// means all; a status may be several with commas between them.
func (c *Client) Executions(ctx context.Context, flow string, status machine.Status) (all []Execution, err error) {
	filter := Filter{Flow: flow}
	if status != "" {
		filter.Statuses = []machine.Status{status}
	}
	_, err = c.EachExecutions(ctx, filter, func(page []Execution) error {
		all = append(all, page...)
		return nil
	})
	return all, err
}

// Execution describes one, with its tokens masked.
func (c *Client) Execution(ctx context.Context, flow, name string) (execution Execution, err error) {
	return execution, c.Do(ctx, http.MethodGet, path("flows", flow, "executions", name), nil, &execution)
}

// RevealExecution is [Client.Execution] with whole tokens. It needs a right of its own.
func (c *Client) RevealExecution(ctx context.Context, flow, name string) (execution Execution, err error) {
	return execution, c.Do(ctx, http.MethodPost, path("flows", flow, "executions", name, "reveal"), nil, &execution)
}

// History returns the history of an execution after the event with the id after, with its tokens masked.
func (c *Client) History(ctx context.Context, flow, name string, after int) ([]machine.HistoryEvent, error) {
	return c.history(ctx, http.MethodGet, path("flows", flow, "executions", name, "history"), after)
}

// RevealHistory is [Client.History] with whole tokens. It needs a right of its own.
func (c *Client) RevealHistory(ctx context.Context, flow, name string, after int) ([]machine.HistoryEvent, error) {
	return c.history(ctx, http.MethodPost, path("flows", flow, "executions", name, "history", "reveal"), after)
}

func (c *Client) history(ctx context.Context, method, where string, after int) ([]machine.HistoryEvent, error) {
	query := url.Values{"after": {strconv.Itoa(after)}}
	return pages(ctx, c, method, where, query, func(p page) []machine.HistoryEvent { return p.Events })
}

// Stop requests the end of an execution.
func (c *Client) Stop(ctx context.Context, flow, name string, why Failure) (execution Execution, err error) {
	return execution, c.Do(ctx, http.MethodPost, path("flows", flow, "executions", name, "stop"), why, &execution)
}

// Tokens lists the open tokens. With unmask their texts are whole, which needs a right of its own.
func (c *Client) Tokens(ctx context.Context, unmask bool) ([]Token, error) {
	method, where := tokensRoute(unmask)
	return pages(ctx, c, method, where, url.Values{}, func(p page) []Token { return p.Tokens })
}

// OpenToken returns the token that an execution waits for; unmask is as for [Client.Tokens]. Ok is
// false if it waits for none.
func (c *Client) OpenToken(ctx context.Context, flow, execution string, unmask bool) (t Token, ok bool, err error) {
	var list page
	method, where := tokensRoute(unmask)
	query := url.Values{"flow": {flow}, "execution": {execution}}
	err = c.Do(ctx, method, where+"?"+query.Encode(), nil, &list)
	if err != nil || len(list.Tokens) == 0 {
		return t, false, err
	}
	return list.Tokens[0], true, nil
}

func tokensRoute(unmask bool) (method, where string) {
	if unmask {
		return http.MethodPost, "/tokens/reveal"
	}
	return http.MethodGet, "/tokens"
}

// Token describes a token by its text.
func (c *Client) Token(ctx context.Context, text string) (t Token, err error) {
	return t, c.Do(ctx, http.MethodGet, path("tokens", text), nil, &t)
}

// Succeed closes a token with an output. First is false if the token was closed with another outcome,
// which t shows.
func (c *Client) Succeed(ctx context.Context, text string, output value.Value) (t Token, first bool, err error) {
	return c.close(ctx, path("tokens", text, "success"), output)
}

// Fail closes a token with a failure; see [Client.Succeed].
func (c *Client) Fail(ctx context.Context, text string, failure Failure) (t Token, first bool, err error) {
	return c.close(ctx, path("tokens", text, "failure"), failure)
}

// Heartbeat keeps a token open. First is false if it is closed, as t shows.
func (c *Client) Heartbeat(ctx context.Context, text string) (t Token, first bool, err error) {
	return c.close(ctx, path("tokens", text, "heartbeat"), nil)
}

// Step names the step of an execution that waits for a callback.
type Step struct {
	Flow, Execution string
	// Name is needed only where several steps may wait; empty means the one that does.
	Name string
}

func (s Step) path(end string) string {
	where := path("flows", s.Flow, "executions", s.Execution, "token", end)
	if s.Name != "" {
		where += "?" + url.Values{"step": {s.Name}}.Encode()
	}
	return where
}

// SucceedStep closes the token that an execution waits for, without its text; see [Client.Succeed]. If
// the execution never waited for a callback, the error is an [*Error] with [engine.CodeConflict].
func (c *Client) SucceedStep(ctx context.Context, step Step, output value.Value) (t Token, first bool, err error) {
	return c.close(ctx, step.path("success"), output)
}

// FailStep is [Client.SucceedStep] with a failure.
func (c *Client) FailStep(ctx context.Context, step Step, failure Failure) (t Token, first bool, err error) {
	return c.close(ctx, step.path("failure"), failure)
}

// HeartbeatStep keeps the token open that an execution waits for; see [Client.SucceedStep].
func (c *Client) HeartbeatStep(ctx context.Context, step Step) (t Token, first bool, err error) {
	return c.close(ctx, step.path("heartbeat"), nil)
}

func (c *Client) close(ctx context.Context, where string, body any) (t Token, first bool, err error) {
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

// Do sends a request that the API of a server has beside this one. A body of bytes is sent as it is, any other as JSON.
func (c *Client) Do(ctx context.Context, method, where string, body, out any) error {
	_, err := c.send(ctx, method, where, body, out)
	return err
}

// maxResponse is the largest response that is read: a history of 5,000 events with their values.
const maxResponse = 256 << 20

func (c *Client) send(ctx context.Context, method, where string, body, out any) (status int, err error) {
	content, err := contentOf(body)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Base+where, bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return 0, hidden(err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	content, err = io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return response.StatusCode, err
	}
	return response.StatusCode, decode(response.StatusCode, content, out)
}

// hidden returns why a request failed, without its URL, which may have a token.
func hidden(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// contentOf returns the body of a request: bytes as they are, anything else as JSON.
func contentOf(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	return json.Marshal(body)
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

// decode reads a response. A conflict without a code is no error: a closed token responds with what it
// holds.
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
