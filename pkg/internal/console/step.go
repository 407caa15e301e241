package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// mostLinks is how many entries of a step, or iterations of it, its panel names.
const mostLinks = 20

// mostJSON is how many bytes of the events the panel has as JSON. The file has all.
const mostJSON = 64 << 10

// stepData is the panel of a step and shows one entry.
type stepData struct {
	Name, Status, Resource string // Name has the iterations around the step
	Entered, Ended, Took   string
	Input, Output          string // as indented JSON
	Error, Cause           string
	Attempts               []attempt
	Wait                   *wait  // it is open
	Subflow                string // for which the step waits, FLOW/EXECUTION
	Others                 []link // the other entries and iterations; the open and the failed ones come first
	Hidden                 int    // those that are not named
	Data                   string // the address of the events as JSON
	JSON                   string // the events
	All                    string // the address of the page without the panel
}

// attempt is an attempt of a task.
type attempt struct {
	Key                  string // idempotency key, "" if the history does not tell it
	Began, Took, Result  string
	Error, Cause, Closer string
	Pause                string // until the next attempt
	Polls                int
	ended                time.Time
}

// entry is the events of one entry of a step.
type entry struct {
	name   string
	events []machine.HistoryEvent
}

// status returns the status that a bar of the entry has.
func (e entry) status(hasEnded bool) string {
	switch last := e.events[len(e.events)-1].Type; {
	case last == "StepExited":
		return "succeeded"
	case last == "StepFailed" || hasEnded:
		return "failed"
	case last == "TaskSubmitted" || last == "StepStarted" || last == "TaskFailed" || last == "TaskTimedOut" || last == "TaskSubmitFailed":
		return "waiting"
	}
	return "running"
}

// entriesOf returns the entries of a step. The name may have its iterations. The events are in the
// order of ids.
func entriesOf(history []machine.HistoryEvent, step string) (entries []*entry) {
	last := map[string]*entry{}
	for _, h := range history {
		name := machine.StepIn(h.StepName, h.Iterations)
		if h.StepName == "" || h.StepName != step && name != step {
			continue
		}
		if h.Type == "StepEntered" {
			last[name] = &entry{name: name}
			entries = append(entries, last[name])
		}
		if e := last[name]; e != nil {
			e.events = append(e.events, h)
		}
	}
	return entries
}

// stepPath is the address of the page of an execution with the panel of a step. Entered is the id
// of the event that entered it, 0 for any.
func (d executionData) stepPath(r *http.Request, step string, entered int) string {
	query := url.Values{"step": {step}}
	if entered > 0 {
		query.Set("entered", strconv.Itoa(entered))
	}
	if r.FormValue("all") != "" {
		query.Set("all", "1")
	}
	return d.Path + "?" + query.Encode() + "#step"
}

// chosen returns the entry that the parameters step and entered name: without the latter the last
// one that failed, or else waits, runs or succeeded. It returns nil without entries.
func chosen(r *http.Request, entries []*entry, hasEnded bool) (of *entry) {
	rank := map[string]int{"succeeded": 1, "running": 2, "waiting": 3, "failed": 4}
	id, _ := strconv.Atoi(r.FormValue("entered"))
	for _, e := range entries {
		if e.events[0].EventID == id {
			return e
		}
		if of == nil || rank[e.status(hasEnded)] >= rank[of.status(hasEnded)] {
			of = e
		}
	}
	return of
}

// addStep adds the panel of the step that the request names, and returns the events of the entry.
// The history is in the order of ids. Without a definition the panel names no function.
func (c *console) addStep(r *http.Request, d *executionData, definition *flow.Flow, history []machine.HistoryEvent) (events []machine.HistoryEvent) {
	entries := entriesOf(history, r.FormValue("step"))
	e := chosen(r, entries, d.Ended)
	if e == nil {
		d.NoStep = r.FormValue("step")
		return history
	}
	s := &stepData{Name: e.name, Status: e.status(d.Ended), All: d.Path}
	query := url.Values{"step": {e.name}, "entered": {strconv.Itoa(e.events[0].EventID)}}
	s.Data = d.Path + "/events?" + query.Encode()
	if text, err := json.MarshalIndent(e.events, "", "  "); err == nil {
		s.JSON = indented(string(text), mostJSON)
	}
	for _, other := range entries {
		if other == e {
			continue
		}
		at := link{d.stepPath(r, other.name, other.events[0].EventID), other.name + " " + other.status(d.Ended)}
		if len(s.Others) < mostLinks {
			s.Others = append(s.Others, at)
		} else {
			s.Hidden++
		}
	}
	s.addEvents(e.events, d.Ended)
	s.addKeys(d.Execution, definition, history, e)
	for i, w := range d.Waits {
		if w.Place() == e.name && w.Flow == d.Flow && w.Execution == d.Name && s.Status != "succeeded" && s.Status != "failed" {
			s.Wait = &d.Waits[i]
		}
	}
	if w := d.Waiting; w != nil {
		for _, one := range append([]rest.Waiting{*w}, w.Inside...) {
			if machine.StepIn(one.Step, one.Iterations) == e.name {
				s.Subflow = one.Subflow
			}
		}
	}
	d.Step = s
	return e.events
}

// addEvents adds the data in the events of the entry.
func (s *stepData) addEvents(events []machine.HistoryEvent, hasEnded bool) {
	s.Entered = events[0].Time
	for _, h := range events {
		detail, _ := value.ParseJSON([]byte(h.EventDetail))
		at := instantOf(h.Time)
		text := func(member string) string { return detail.Get(member).Text() }
		last := &attempt{}
		if n := len(s.Attempts); n > 0 {
			last = &s.Attempts[n-1]
		}
		switch h.Type {
		case "StepEntered":
			s.Input = indented(detail.Get("input").JSON(), mostValue)
		case "TaskScheduled":
			s.Resource = text("resourceArn") + text("action")
			if !last.ended.IsZero() {
				last.Pause = coarse(between(last.ended, at))
			}
			result := "open"
			if hasEnded {
				result = "ended with the execution"
			}
			s.Attempts = append(s.Attempts, attempt{Began: h.Time, Result: result})
		case "TaskSucceeded", "TaskFailed", "TaskTimedOut", "TaskSubmitFailed":
			polls, _ := detail.Get("polls").Int64()
			last.Polls = int(polls)
			last.Took, last.ended, last.Result = coarse(between(instantOf(last.Began), at)), at, "failed"
			if last.Error, last.Cause, last.Closer = text("error"), text("cause"), text("closedBy"); h.Type == "TaskSucceeded" {
				last.Result = "succeeded"
			}
		case "StepExited", "StepFailed":
			s.Ended, s.Took = h.Time, coarse(between(instantOf(s.Entered), at))
			s.Error, s.Cause = text("error"), text("cause")
			if output := detail.Get("output"); !output.IsMissing() {
				s.Output = indented(output.JSON(), mostValue)
			}
		}
	}
}

// addKeys adds the idempotency keys of the attempts. Behind a fork the ids of a history do not
// tell them, and a step that polls has a key for each poll.
func (s *stepData) addKeys(of rest.Execution, definition *flow.Flow, history []machine.HistoryEvent, e *entry) {
	if definition == nil {
		return
	}
	tasks, forks := map[string]*flow.Step{}, map[string]bool{}
	for _, step := range definition.All {
		forks[step.Name] = step.IsFork()
		if task, ok := step.Kind.(*flow.Task); ok && task.Poll == nil && len(machine.ForksAround(step)) == 0 {
			tasks[step.Name] = step
		}
	}
	step := tasks[e.events[0].StepName]
	fork := slices.IndexFunc(history, func(h machine.HistoryEvent) bool { return forks[h.StepName] })
	n := 0
	for _, h := range e.events {
		if h.Type != "TaskScheduled" {
			continue
		}
		if step != nil && (fork < 0 || h.EventID < history[fork].EventID) {
			call := machine.Call{Attempt: machine.Attempt{Number: h.EventID}, Flow: machine.FlowRef{Name: of.Flow}, Execution: of.Name, Step: step.Name}
			s.Attempts[n].Key = call.Key()
		}
		n++
	}
}

// stepEvents responds with the events of one entry of a step, or of the execution, as a file of
// JSON. Tokens are masked.
func (c *console) stepEvents(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	history, _, err := c.History(r.Context(), r.PathValue("flow"), name, "", false, 0)
	if err != nil {
		http.Error(w, "the history cannot be read", http.StatusNotFound)
		return
	}
	slices.SortFunc(history, func(a, b machine.HistoryEvent) int { return cmp.Compare(a.EventID, b.EventID) })
	if step := r.FormValue("step"); step != "" {
		e := chosen(r, entriesOf(history, step), true)
		if e == nil {
			http.Error(w, "the execution has not entered this step", http.StatusNotFound)
			return
		}
		history = e.events
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="events.json"`)
	_ = json.NewEncoder(w).Encode(history)
}
