package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Without the parameter all, a page shows so many events and rows.
const (
	mostEvents = 200
	mostRows   = 200
)

// A page shows so many bytes of an input or an output, of all events together, and at least of each
// event.
const (
	mostValue   = 512 << 10
	mostDetails = 4 << 20
	leastDetail = 1 << 10
)

// executionData is the data of the page of an execution.
type executionData struct {
	rest.Execution

	Path, Note    string
	Ended         bool
	Took          string // between its start and its end, or now
	Input, Output string // as indented JSON
	Graph         template.HTML
	Lanes         []bar
	Events        []event
	Hidden        int // events that are not shown
	HiddenLanes   int
	Waits         []wait
	All           string // the address that shows all
	Step          *stepData
	NoStep        string // the step that the request names, if it has not begun
}

// event is one event of a history.
type event struct {
	machine.HistoryEvent

	Offset string // from the start of the execution
	Detail string // as indented JSON
	Error  string // with its cause, of an event that has one
}

// show shows one execution.
func (c *console) show(r *http.Request) (page, error) {
	flow, name := r.PathValue("flow"), r.PathValue("name")
	history, later, err := c.History(r.Context(), flow, name, "", false, 0)
	if err != nil {
		return page{}, err
	}
	e, err := c.Execution(r.Context(), flow, name, false) // after the history: it may be newer, and the stream reports the missing events
	if err != nil {
		return page{}, err
	}
	d := executionData{
		Execution: e, Path: executionPath(flow, name), Note: noteOf(e), Ended: e.Status.Final(), Input: indented(e.Input.JSON(), mostValue),
	}
	if e.Output != nil {
		d.Output = indented(e.Output.JSON(), mostValue)
	}
	d.All = d.Path + "?all=1"
	if !d.Ended {
		tokens, _, err := c.WaitsPage(r.Context(), flow, name, "", false)
		if err != nil {
			return page{}, err
		}
		below, err := rest.Below(r.Context(), e, c.Execution, func(ctx context.Context, flow, name string) ([]rest.Token, error) {
			tokens, _, err := c.WaitsPage(ctx, flow, name, "", false)
			return tokens, err
		})
		if err != nil {
			c.Log.WarnContext(r.Context(), "the waits of sub-flows cannot be read", "error", err.Error())
		}
		for _, t := range append(tokens, below...) {
			d.Waits = append(d.Waits, waitOf(t))
		}
	}
	slices.SortFunc(history, func(a, b machine.HistoryEvent) int { return cmp.Compare(a.EventID, b.EventID) })
	c.addHistory(r, &d, history)
	p := page{Title: flow + "/" + name, Template: "execution", Data: d, Static: later == ""}
	if later != "" {
		p.Live = d.Path + "/live?" + url.Values{"after": {later}}.Encode()
	}
	return p, nil
}

// addHistory adds the graph, the bars and the events. Without a definition that this program can
// read there is no graph.
func (c *console) addHistory(r *http.Request, d *executionData, history []machine.HistoryEvent) {
	start, now := instantOf(d.StartedTime), c.Now()
	if d.Ended {
		now = instantOf(d.StoppedTime)
	}
	d.Took = coarse(now.Sub(start))
	flow := c.definition(r, d.Execution)
	if flow != nil {
		events := parsed(flow, history)
		picture := diagram.Of(flow, d.Flow+"/"+d.Name, StatesOf(r.Context(), c, flow, d.Execution, events))
		picture.Link = func(step string) string { return d.stepPath(r, step, 0) }
		d.Graph = template.HTML(picture.SVG()) //nolint:gosec // it escapes
		d.Lanes = barsOf(flow, events, start, now, d.Ended, func(step string, entered int) string { return d.stepPath(r, step, entered) })
	}
	if r.FormValue("step") != "" {
		history = c.addStep(r, d, flow, history)
	}
	// The ids of a lane follow the ids of the lane before. Bars are in the order of ids, events in
	// the order of time.
	slices.SortStableFunc(history, func(a, b machine.HistoryEvent) int { return cmp.Compare(a.Time, b.Time) })
	if r.FormValue("all") == "" {
		d.Hidden, d.HiddenLanes = max(0, len(history)-mostEvents), max(0, len(d.Lanes)-mostRows)
		history, d.Lanes = history[d.Hidden:], d.Lanes[:len(d.Lanes)-d.HiddenLanes]
	}
	most := max(mostDetails/max(len(history), 1), leastDetail)
	for _, h := range history {
		e := event{HistoryEvent: h, Offset: "+" + coarse(instantOf(h.Time).Sub(start)), Detail: indented(h.EventDetail, most)}
		if strings.Contains(h.EventDetail, `"error":`) {
			detail, _ := value.ParseJSON([]byte(h.EventDetail))
			e.Error = strings.Trim(detail.Get("error").Text()+": "+detail.Get("cause").Text(), ": ")
		}
		d.Events = append(d.Events, e)
	}
}

// StatesOf returns the states of the steps of an execution with the events. For a redrive it marks
// the steps that the earlier execution ran, unless that execution was deleted.
func StatesOf(ctx context.Context, from Executions, flow *flow.Flow, e rest.Execution, events []machine.Event) map[int]diagram.State {
	states, err := diagram.States(flow, events), error(nil)
	for most := 20; e.RedrivenFrom != "" && err == nil && most > 0; most-- {
		var history []machine.HistoryEvent
		if history, _, err = from.History(ctx, e.Flow, e.RedrivenFrom, "", false, 0); err == nil {
			slices.SortFunc(history, func(a, b machine.HistoryEvent) int { return cmp.Compare(a.EventID, b.EventID) })
			diagram.AddBefore(states, flow, e.RedrivenFrom, parsed(flow, history), e.RedrivenStep)
			e, err = from.Execution(ctx, e.Flow, e.RedrivenFrom, false)
		}
	}
	return states
}

// definition returns the definition that an execution runs, nil if it cannot be read.
func (c *console) definition(r *http.Request, e rest.Execution) *flow.Flow {
	stored, err := c.Flow(r.Context(), e.Flow, e.Hash)
	if err != nil {
		return nil
	}
	flow, _ := language.Parse([]byte(stored.Definition))
	return flow
}

// parsed returns the events that the program understands.
func parsed(flow *flow.Flow, history []machine.HistoryEvent) (events []machine.Event) {
	for _, h := range history {
		if e, err := h.Parse(flow); err == nil {
			events = append(events, e)
		}
	}
	return events
}

// indented returns JSON with a line for each member, cut off after most bytes. A text stays in one
// line if white space would make it several times as large.
func indented(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		return fmt.Sprintf("%s... %d bytes more", text[:most], len(text)-most)
	}
	const times, slack = 4, 1 << 10
	var out bytes.Buffer
	if v, err := value.ParseJSON([]byte(text)); err != nil || v.TooDeep() || json.Indent(&out, []byte(text), "", "  ") != nil ||
		out.Len() > times*len(text)+slack {
		return text
	}
	return out.String()
}

// stopForm asks before an execution is stopped.
func (c *console) stopForm(r *http.Request) (page, error) {
	flow, name := r.PathValue("flow"), r.PathValue("name")
	d := map[string]string{"Flow": flow, "Name": name, "Path": executionPath(flow, name)}
	return page{Title: "Stop " + flow + "/" + name + "?", Template: "stop", Data: d, Static: true}, nil
}

// stop stops an execution, and shows it.
func (c *console) stop(r *http.Request) (page, error) {

	flow, name := r.PathValue("flow"), r.PathValue("name")
	_, err := c.Stop(r.Context(), flow, name, failureOf(r))
	return page{Location: executionPath(flow, name)}, err
}

// failureOf reads the fields of a failure.
func failureOf(r *http.Request) rest.Failure {
	return rest.Failure{Error: strings.TrimSpace(r.PostFormValue("error")), Cause: r.PostFormValue("cause")}
}

// between returns the time between two instants, at least 0.
func between(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }
