package rest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// page is one response with a part of a list. A response of a Lambda function has at most 6 MB.
type page struct {
	Executions []Execution            `json:"executions,omitzero"`
	Schedules  []Schedule             `json:"schedules,omitzero"`
	Tokens     []Token                `json:"tokens,omitzero"`
	Events     []machine.HistoryEvent `json:"events,omitzero"`
	// Next is the parameter after of the next page, empty on the last one.
	Next string `json:"next,omitempty"`
	// Later is the parameter after for the events to come, on the last page of a history that has
	// not ended.
	Later string `json:"later,omitempty"`
	// position is that after the events.
	position string
}

// errPageToken is the error for a parameter after that is not from an earlier page.
var errPageToken = invalid("invalid page token: use next of the previous page")

const (
	// fullPage is the size in bytes at which a page is full.
	fullPage = 2 << 20
	// lookups is how many executions are read before a page may end.
	lookups = 25
	// mostLookups bounds the executions that are read for a page, also if few have the status.
	mostLookups = 200
)

// each calls f with the executions of the page after, in groups of at most atOnce, until f reports
// that the page is full. Next is the parameter after of the next page.
func (h handler) each(
	ctx context.Context, of engine.Selection, after string, atOnce int, f func(engine.ID) (full bool, err error),
) (next string, err error) {
	for looked := 0; ; looked += atOnce {
		ids, behind, err := h.Catalog.Executions(ctx, of, after, atOnce)
		if err != nil {
			return "", err
		}
		full := looked+atOnce >= mostLookups
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
	query, now := r.URL.Query(), time.Now()
	of, limit, err := selectionOf(query)
	if err != nil {
		return 0, nil, err
	}
	p, size := page{Executions: []Execution{}}, 0
	add := func(id engine.ID) (full bool, err error) {
		state, err := h.Engine.Describe(r.Context(), id)
		hasStatus := len(of.Statuses) == 0 || slices.Contains(of.Statuses, state.Status) // the index may lag behind
		e, isWanted := Execution{}, hasStatus && strings.HasPrefix(state.Execution, query.Get("prefix"))
		if err == nil && isWanted {
			if e, err = h.withWaiting(r.Context(), state, listedLanes); err == nil {
				err = h.addPaused(r.Context(), &e, now)
			}
		}
		switch {
		case h.unreadable(r, id, err):
			return false, nil
		case err != nil:
			return false, err
		case isWanted:
			// A page that is nearly full gets the values of up to lookups more executions, in half
			// of the response. Values for which a page with others has no room are left out.
			most := h.maxResponse() / 2 / (2 * lookups)
			e.Input = machine.Within(e.Input, most)
			if e.Output != nil {
				output := machine.Within(*e.Output, most)
				e.Output = &output
				size += output.Size()
			}
			e.noteLeftOut()
			p.Executions = append(p.Executions, e)
			size += baseSize + e.Input.Size() + len(e.Cause)
		}
		return size >= h.fullPage() || len(p.Executions) >= limit, nil
	}
	p.Next, err = h.each(r.Context(), of, query.Get("after"), min(lookups, limit), add)
	return http.StatusOK, p, err
}

// selectionOf returns the executions that a request selects, and how many a page has at most.
func selectionOf(query url.Values) (of engine.Selection, limit int, err error) {
	of.Flow, limit = query.Get("flow"), mostLookups
	if of.Statuses, err = ParseStatuses(query["status"]...); err != nil {
		return of, 0, err
	}
	if text := query.Get("limit"); query.Has("limit") {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return of, 0, invalid("limit is %q; allowed: a number from 1 on", text)
		}
	}
	for name, at := range map[string]*time.Time{"since": &of.Since, "before": &of.Before} {
		if text := query.Get(name); query.Has(name) {
			if *at, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return of, 0, invalid("%s is %q; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339)", name, text)
			}
		}
	}
	return of, limit, nil
}

// running selects the executions of a flow that have not ended.
func running(flow string) engine.Selection {
	return engine.Selection{Flow: flow, Statuses: []machine.Status{machine.StatusRunning}}
}

// StatusNames returns the names of all statuses.
func StatusNames() (names []string) {
	for _, status := range machine.Statuses {
		names = append(names, string(status))
	}
	return names
}

// ParseStatuses reads names of statuses in capital or small letters. A text has one name, or
// several with commas between them. The error lists the known names.
func ParseStatuses(texts ...string) (found []machine.Status, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	statuses := StatusNames()
	for name := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(statuses, func(s string) bool { return strings.EqualFold(s, name) })
		switch {
		case name == "":
			return nil, invalid(`status is ""; allowed: %s`, strings.Join(statuses, ", "))
		case i < 0:
			return nil, invalid("unknown status %q%s; allowed: %s", name, similar.DidYouMean(name, statuses), strings.Join(statuses, ", "))
		}
		found = append(found, machine.Statuses[i])
	}
	return found, nil
}

// unreadable reports whether the execution is damaged or of a newer release, and logs it. The list
// then leaves it out.
func (h handler) unreadable(r *http.Request, id engine.ID, err error) bool {
	if code := engine.CodeOf(err); code != engine.CodeDefect && code != engine.CodeTooNew {
		return false
	}
	h.Log.ErrorContext(r.Context(), "execution left out", "execution", id.String(), "error", err.Error())
	return true
}

func (h handler) maxResponse() int { return cmp.Or(h.MaxResponse, math.MaxInt) }

// fullPage returns the size at which a page is full, so that a response has room for one more
// event, or for more executions.
func (h handler) fullPage() int { return min(fullPage, h.maxResponse()/3) }

// baseSize is about the size of an execution or an event without its values.
const baseSize = 300

// openTokens lists the open tokens of all executions that have not ended, or of the named one. With
// the parameter jobs, it also lists the tokens of their jobs, which only the job's end closes.
func (h handler) openTokens(r *http.Request) (int, any, error) {
	query, p := r.URL.Query(), page{Tokens: []Token{}}
	flow, execution, after := query.Get("flow"), query.Get("execution"), query.Get("after")
	add := func(id engine.ID) (full bool, err error) {
		open, err := h.openTokensOf(r, id)
		p.Tokens = append(p.Tokens, open...)
		return false, err
	}
	var err error
	externalAfter, isExternal := strings.CutPrefix(after, externalPage)
	switch {
	case execution != "":
		_, err = add(engine.NewID(flow, execution))
		err = orNoExecution(flow, execution, err)
	case isExternal && h.External != nil:
		err = h.externalTokens(r, externalAfter, &p)
	default:
		p.Next, err = h.each(r.Context(), running(flow), after, lookups, add)
		if p.Next == "" && flow == "" && h.External != nil {
			p.Next = externalPage
		}
	}
	return http.StatusOK, p, err
}

// openTokensOf returns the open tokens of an execution and of its lanes, with what their records
// hold. A damaged execution has none.
func (h handler) openTokensOf(r *http.Request, id engine.ID) (open []Token, err error) {
	l, err := h.load(r.Context(), id)
	var waiting engine.Waits
	if err == nil {
		waiting, err = h.Engine.Waiting(r.Context(), l.State, math.MaxInt)
	}
	if h.unreadable(r, id, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, state := range waiting.States {
		in := loaded{state, l.flow}
		t, ok := h.tokenOf(in)
		if !ok && r.URL.Query().Has("jobs") {
			t, ok, err = h.jobOf(r.Context(), in)
		}
		var record token.Record
		if ok && err == nil {
			record, err = h.Engine.TokenRecord(r.Context(), state.Waiting.Handle())
		}
		if ok && err == nil && record.Open() {
			t.Question, err = h.questionOf(r.Context(), l.flow, state)
			open = append(open, recordOf(t, record))
		}
		if err != nil && !h.unreadable(r, id, err) {
			return nil, err
		}
	}
	return open, nil
}

// questionOf returns the question of a step. If a large value is missing or damaged, it returns a
// prompt with the reason instead.
func (h handler) questionOf(ctx context.Context, flow *flow.Flow, state machine.State) (*machine.Question, error) {
	question, err := h.Engine.Question(ctx, flow, state)
	if engine.CodeOf(err) == engine.CodeDefect {
		return &machine.Question{Prompt: "left out: " + err.Error()}, nil
	}
	return question, err
}

// externalPage begins the parameter after of pages with waits of external engines. These pages
// follow the pages of executions.
const externalPage = "external:"

// externalTokens adds the open tokens of the waits after the handle.
func (h handler) externalTokens(r *http.Request, after string, p *page) error {
	waits, err := h.External.List(r.Context(), after, lookups)
	if errors.Is(err, resume.ErrNoWait) {
		return errPageToken
	}
	if err != nil {
		return err
	}
	for _, wait := range waits {
		record, err := h.Engine.TokenRecord(r.Context(), wait.Handle)
		if err != nil {
			return err
		}
		if record.Open() {
			p.Tokens = append(p.Tokens, recordOf(h.externalToken(wait), record))
		}
	}
	if len(waits) == lookups {
		p.Next = externalPage + waits[lookups-1].Handle
	}
	return nil
}

// externalToken returns the token of a wait. If its key is gone, the text is the masked handle.
func (h handler) externalToken(wait resume.ExternalWait) Token {
	text, ok := h.Engine.TokenText(wait.Handle)
	if !ok {
		text = token.Mask(wait.Handle)
	}
	return Token{
		Token: text, Recipient: string(wait.Recipient), Handle: wait.Handle, Kind: wait.Job.Kind, Job: wait.Job.Name,
		Since: instant(wait.Opened), Deadline: instant(wait.Deadline),
	}
}
