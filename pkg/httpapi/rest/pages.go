package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// page is one answer to a request for a list. Lambda answers with 6 MB at most,
// so a list comes in as many pages as it takes.
type page struct {
	Executions []Execution            `json:"executions,omitzero"`
	Tokens     []Token                `json:"tokens,omitzero"`
	Events     []machine.HistoryEvent `json:"events,omitzero"`
	// Next is the "after" of the page behind this one, empty at the end.
	Next string `json:"next,omitempty"`
}

const (
	// fullPage is from how many bytes on a page takes up nothing more.
	fullPage = 2 << 20
	// lookups is how many executions are looked up before a page may end. With
	// the greatest input and output they have 2 MB.
	lookups = 25
	// mostLookups keeps a page whose status few have from taking too long.
	mostLookups = 200
)

// each calls f with the executions behind the text after until f says that the
// page is full. Next is what gives the page behind it.
func (h handler) each(
	ctx context.Context, flow string, status machine.Status, after string, f func(engine.ID) (full bool, err error),
) (next string, err error) {
	for looked := 0; ; looked += lookups {
		ids, behind, err := h.Index.Executions(ctx, flow, status, after, lookups)
		if err != nil {
			return "", err
		}
		full := looked+lookups >= mostLookups
		for _, id := range ids {
			enough, err := f(id)
			if err != nil {
				return "", err
			}
			full = full || enough
		}
		if full || behind == "" {
			return behind, nil
		}
		after = behind
	}
}

func (h handler) list(r *http.Request) (int, any, error) {
	query := r.URL.Query()
	status := machine.Status(query.Get("status"))
	indexed := status
	if status != "" && !status.Final() {
		indexed = machine.StatusRunning
	}
	p, size := page{Executions: []Execution{}}, 0
	next, err := h.each(r.Context(), query.Get("flow"), indexed, query.Get("after"), func(id engine.ID) (bool, error) {
		e, err := h.execution(r.Context(), id)
		if h.damaged(r, id, err) || (err == nil && status != "" && e.Status != status) {
			return false, nil
		}
		p.Executions = append(p.Executions, e)
		size += sizeOf(e)
		return size >= fullPage, err
	})
	p.Next = next
	return http.StatusOK, p, err
}

// damaged: one execution that cannot be read keeps nobody from the others.
func (h handler) damaged(r *http.Request, id engine.ID, err error) bool {
	if !errors.Is(err, machine.ErrDamaged) {
		return false
	}
	h.Log.ErrorContext(r.Context(), "execution left out", "execution", id.String(), "error", err.Error())
	return true
}

func sizeOf(body any) int {
	text, _ := json.Marshal(body) // as it is answered
	return len(text)
}

// openTokens reads the latest items of the executions that have not ended, or
// of the one that is named.
func (h handler) openTokens(r *http.Request) (int, any, error) {
	query := r.URL.Query()
	p := page{Tokens: []Token{}}
	add := func(id engine.ID) (full bool, err error) {
		t, ok, err := h.openToken(r.Context(), id)
		if !ok || err != nil {
			if h.damaged(r, id, err) {
				err = nil
			}
			return false, err
		}
		if query.Get("unmask") != "true" {
			t.Token = token.Mask(t.Token)
		}
		p.Tokens = append(p.Tokens, t)
		return false, nil
	}
	if query.Get("execution") != "" {
		_, err := add(engine.NewID(query.Get("flow"), query.Get("execution")))
		return http.StatusOK, p, err
	}
	if after, ok := strings.CutPrefix(query.Get("after"), foreignPage); ok && h.Foreign != nil {
		err := h.foreignTokens(r, after, &p)
		return http.StatusOK, p, err
	}
	next, err := h.each(r.Context(), query.Get("flow"), machine.StatusRunning, query.Get("after"), add)
	if next == "" && query.Get("flow") == "" && h.Foreign != nil {
		next = foreignPage
	}
	p.Next = next
	return http.StatusOK, p, err
}

// foreignPage begins the "after" of the pages that have the waits of somebody
// else's engine, behind those of our executions.
const foreignPage = "foreign:"

// foreignTokens adds the open tokens of the waits behind the handle.
func (h handler) foreignTokens(r *http.Request, after string, p *page) error {
	waits, err := h.Foreign.List(r.Context(), after, lookups)
	if errors.Is(err, resume.ErrNoWait) {
		return invalid("after is no page; allowed: what the page before gave")
	}
	if err != nil {
		return err
	}
	for _, wait := range waits {
		record, err := h.Engine.Outcomes.Record(r.Context(), wait.Handle)
		if err != nil {
			return err
		}
		if record.Open() {
			p.Tokens = append(p.Tokens, recordOf(h.foreignToken(wait, r.URL.Query().Get("unmask") == "true"), record))
		}
	}
	if len(waits) == lookups {
		p.Next = foreignPage + waits[lookups-1].Handle
	}
	return nil
}

func (h handler) foreignToken(wait resume.ForeignWait, unmask bool) Token {
	text, ok := h.Engine.Keys.SignAgain(wait.Handle)
	if !ok || !unmask {
		text = token.Mask(wait.Handle)
	}
	return Token{
		Token: text, Recipient: string(wait.Recipient), Job: wait.Job.Name, Since: instant(wait.Opened), Deadline: instant(wait.Deadline),
	}
}

// historyPage renders the events behind the one with the id after, as many as
// an answer holds.
func historyPage(flow *fdl.Flow, history []machine.Event, after int) page {
	p, size := page{Events: []machine.HistoryEvent{}}, 0
	for _, e := range history {
		if e.ID <= after {
			continue
		}
		if size >= fullPage {
			p.Next = strconv.Itoa(p.Events[len(p.Events)-1].EventID)
			break
		}
		rendered := e.Render(flow)
		p.Events = append(p.Events, rendered)
		size += sizeOf(rendered)
	}
	return p
}

// pages reads a list to its end.
func pages[T any](ctx context.Context, c *Client, where string, query url.Values, of func(page) []T) (all []T, err error) {
	for {
		var p page
		if err := c.do(ctx, http.MethodGet, where+"?"+query.Encode(), nil, &p); err != nil {
			return all, err
		}
		all = append(all, of(p)...)
		if p.Next == "" {
			return all, nil
		}
		query.Set("after", p.Next)
	}
}
