package fnf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// startExecution starts an execution of the latest definition. If an execution with the name has
// not ended, the response is that execution, whatever its input. If it has ended, or reports to
// another token than requested, the name is in use.
func (h handler) startExecution(ctx context.Context, given parameters) (object, error) {
	request := engine.StartRequest{Execution: cmp.Or(given["ExecutionName"], engine.NewName())}
	if text := given["Input"]; text != "" {
		input, err := value.ParseJSON([]byte(text))
		if err != nil {
			return nil, invalid("InvalidArgument", "the Input cannot be read: "+err.Error())
		}
		request.Input = input
	}
	if text := given["CallbackFnFTaskToken"]; text != "" {
		verified, err := h.verify(ctx, text)
		if err != nil {
			return nil, err
		}
		request.Reports = verified.Handle()
	}
	definitions, err := h.definitions(ctx, given["FlowName"])
	if err != nil {
		return nil, err
	}
	request.Flow = definitions[0].Flow
	result, err := h.Executions.Start(ctx, request)
	if err != nil {
		return nil, err
	}
	state, err := h.Executions.Describe(ctx, engine.NewID(request.Flow.Name, request.Execution))
	if err != nil {
		return nil, err
	}
	reportsElsewhere := request.Reports != "" && (state.Parent == nil || state.Parent.Handle != request.Reports)
	if result != engine.StartedNew && (state.Status.Final() || reportsElsewhere) {
		return nil, invalid("ExecutionAlreadyExists", fmt.Sprintf("Execution '%s' of flow '%s' already exists", state.Execution, state.Flow.Name))
	}
	return h.execution(ctx, state)
}

// orNotThere returns err, or, for [engine.ErrNotFound], an error that tells whether the flow
// exists.
func (h handler) orNotThere(ctx context.Context, given parameters, err error) error {
	if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	if _, err := h.definitions(ctx, given["FlowName"]); err != nil {
		return err
	}
	message := fmt.Sprintf("Execution '%s' of flow '%s' does not exist", given["ExecutionName"], given["FlowName"])
	return refused(http.StatusNotFound, "ExecutionNotExists", message)
}

// id returns the id of the execution that a request names.
func (p parameters) id() engine.ID { return engine.NewID(p["FlowName"], p["ExecutionName"]) }

// stopExecution requests the end of an execution. If the execution has ended, it changes nothing:
// the request may have met the end.
func (h handler) stopExecution(ctx context.Context, given parameters) (object, error) {
	if err := given.checkFailure(); err != nil {
		return nil, err
	}
	err := h.Executions.Stop(ctx, given.id(), given["Error"], given["Cause"])
	if err != nil && engine.CodeOf(err) != engine.CodeConflict {
		return nil, h.orNotThere(ctx, given, err)
	}
	return h.describeExecution(ctx, given)
}

func (h handler) describeExecution(ctx context.Context, given parameters) (object, error) {
	wait, err := given.number("WaitTimeSeconds", 0, int(maxWait/time.Second), 0)
	if err != nil {
		return nil, err
	}
	state, err := h.Executions.Describe(ctx, given.id())
	if err == nil && wait > 0 && !state.Status.Final() {
		state, err = h.awaitEnd(ctx, given.id(), time.Duration(wait)*time.Second)
	}
	if err != nil {
		return nil, h.orNotThere(ctx, given, err)
	}
	return h.execution(ctx, state)
}

func instant(t time.Time) string { return t.UTC().Format(machine.TimeFormat) }

// execution returns the execution as it is shown, in which every token is masked.
func (h handler) execution(ctx context.Context, state machine.State) (object, error) {
	text, err := h.Catalog.FlowText(ctx, state.Flow)
	if err != nil && !errors.Is(err, engine.ErrNotFound) { // the definition of a deleted flow is not shown
		return nil, err
	}
	shown := metadataOf(state)
	shown["FlowDefinition"], shown["Input"], shown["Output"] = string(text), shownValue(state.Input), ""
	if !state.Output.IsMissing() {
		shown["Output"] = shownValue(state.Output)
	}
	return shown, nil
}

func metadataOf(state machine.State) object {
	shown := object{
		"FlowName": state.Flow.Name, "Name": state.Execution, "Status": string(state.Status), "StartedTime": instant(state.Started), "StoppedTime": "",
	}
	if state.Status.Final() {
		shown["StoppedTime"] = instant(state.At)
	}
	return shown
}

// shownValue returns the value as JSON with masked tokens.
func shownValue(v value.Value) string { return token.MaskJSON(v.JSON()) }

// fullPage is the size in bytes at which a page is full: a response of a Lambda function has at
// most 6 MB.
const fullPage = 2 << 20

func (h handler) maxResponse() int { return cmp.Or(h.MaxResponse, math.MaxInt) }

// fullPage returns the size at which a page is full, so that a response has room for one more
// entry.
func (h handler) fullPage() int { return min(fullPage, h.maxResponse()/3) }

// executionHistory returns a page of the history. The token of the next page is the id that its
// first event has at least.
func (h handler) executionHistory(ctx context.Context, given parameters) (object, error) {
	limit, err := given.number("Limit", 1, 999, 60)
	if err != nil {
		return nil, err
	}
	first, err := given.number("NextToken", 1, math.MaxInt, 1)
	if err != nil {
		return nil, err
	}
	state, err := h.Executions.Describe(ctx, given.id())
	if err != nil {
		return nil, h.orNotThere(ctx, given, err)
	}
	flow, err := h.Executions.Flow(ctx, state.Flow)
	if err != nil {
		return nil, err
	}
	shown, size := []machine.HistoryEvent{}, 0
	page, err := h.Executions.HistoryFrom(ctx, given.id(), first, func(event machine.Event) bool {
		rendered, escaped := event.RenderWithin(flow, h.maxResponse())
		rendered.EventDetail, rendered.Iterations = token.MaskJSON(rendered.EventDetail), nil
		shown = append(shown, rendered)
		size += escaped
		return len(shown) == limit || size >= h.fullPage()
	})
	if last := len(shown) - 1; size > h.maxResponse() && last > 0 {
		shown, page.More = shown[:last], true
	}
	response := object{"Events": shown}
	if page.More && len(shown) > 0 {
		response["NextToken"] = strconv.Itoa(shown[len(shown)-1].EventID + 1)
	}
	return response, err
}

// listing is a request for a list of executions.
type listing struct {
	of       engine.Selection
	prefix   string
	limit    int
	status   machine.Status
	metadata bool // without definition, input and output
}

func listingOf(given parameters) (l listing, err error) {
	l = listing{
		of: engine.Selection{Flow: given["FlowName"]}, prefix: given["ExecutionNamePrefix"], status: machine.Status(given["Status"]),
		metadata: strings.EqualFold(given["MetadataOnly"], "true"),
	}
	if l.status != "" {
		if !slices.Contains(machine.Statuses, l.status) {
			return l, invalid("InvalidArgument", fmt.Sprintf("this Status is unknown; allowed: one of %v", machine.Statuses))
		}
		l.of.Statuses = []machine.Status{l.status}
	}
	if l.limit, err = given.number("Limit", 1, 99, 60); err != nil {
		return l, err
	}
	if l.of.Since, err = given.instant("StartedTimeBegin"); err != nil {
		return l, err
	}
	end, err := given.instant("StartedTimeEnd")
	if !end.IsZero() {
		l.of.Before = end.Add(1) // an execution that started at the end belongs to the list
	}
	return l, err
}

const (
	// lookups is how many executions are read at once.
	lookups = 25
	// mostLookups bounds the executions that are read for a page, also if few are shown.
	mostLookups = 200
)

// listExecutions returns executions, the latest start first. A page may be short or empty and not
// be the last one.
func (h handler) listExecutions(ctx context.Context, given parameters) (object, error) {
	l, err := listingOf(given)
	if err != nil {
		return nil, err
	}
	if _, err := h.definitions(ctx, l.of.Flow); err != nil {
		return nil, err
	}
	p := page{handler: h, listing: l, executions: []object{}, next: given["NextToken"]}
	for looked := 0; looked < mostLookups && !p.full; looked += lookups {
		if err := p.read(ctx); err != nil {
			return nil, err
		}
	}
	response := object{"Executions": p.executions}
	if p.next != "" {
		response["NextToken"] = p.next
	}
	return response, nil
}

// page is a page of a list under way.
type page struct {
	handler
	listing

	executions []object
	size       int
	next       string // the token of the next page
	full       bool   // no more executions are read
}

// read adds some of the executions at next.
func (p *page) read(ctx context.Context) error {
	ids, next, err := p.Catalog.Executions(ctx, p.of, p.next, min(lookups, p.limit-len(p.executions)))
	if err != nil {
		return err
	}
	for i, id := range ids {
		if err := p.add(ctx, id); err != nil {
			return err
		}
		if p.size >= p.fullPage() && i < len(ids)-1 { // the next page begins in between
			p.full = true
			_, p.next, err = p.Catalog.Executions(ctx, p.of, p.next, i+1)
			return err
		}
	}
	p.next, p.full = next, next == "" || p.size >= p.fullPage() || len(p.executions) == p.limit
	return nil
}

// add adds an execution if it belongs to the list. It omits an execution that is damaged or of a
// newer release.
func (p *page) add(ctx context.Context, id engine.ID) error {
	state, err := p.Executions.Describe(ctx, id)
	switch {
	case errors.Is(err, machine.ErrDamaged), machine.NeedsNewerRelease(err):
		p.Log.ErrorContext(ctx, "execution left out", "execution", id.String(), "error", err.Error())
		return nil
	case err != nil:
		return err
	case p.status != "" && state.Status != p.status, !strings.HasPrefix(state.Execution, p.prefix):
		return nil
	}
	shown := metadataOf(state)
	if !p.metadata {
		most := p.maxResponse() / lookups
		state.Input, state.Output = machine.Within(state.Input, most), machine.Within(state.Output, most)
		if shown, err = p.execution(ctx, state); err != nil {
			return err
		}
	}
	p.executions = append(p.executions, shown)
	p.size += shown.size()
	return nil
}
