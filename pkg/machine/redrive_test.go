package machine_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// redrive checks that the events lead to the series that are open outside of forks, and to the step
// that waits or that has the fork around it.
func (w *walk) redrive() {
	w.t.Helper()
	s := w.state
	if s.Lane != nil {
		return
	}
	point := w.findRedrive(w.first, w.events)
	step := w.flow.All[s.Waiting.Attempt.Step]
	last := w.lastOf(machine.StepEntered, machine.StepFailed, machine.StepExited)
	runsAgain := w.notEntered() == 1 && last.Type != machine.StepExited
	if runsAgain {
		step = w.flow.All[last.Step] // which entry of its catch, or which branch, follows is not in the events
	}
	step = append(machine.ForksAround(step), step)[0]
	series := slices.Clone(s.Series)
	if fork := slices.IndexFunc(series, func(s machine.Series) bool { return s.Owner.Kind == machine.OwnerFork }); fork >= 0 {
		series = series[:fork]
	}
	if point.Step != step || len(point.Series) != len(series) && !runsAgain {
		w.t.Fatalf("a redrive goes on from %+v in %d series, want %s in %d", point.Step, len(point.Series), step.Name, len(series))
	}
	if runsAgain {
		return
	}
	for i, owner := range series {
		switch caught := owner.Owner.Kind == machine.OwnerCatch; {
		case i == 0: // mapped again from the input of the execution
			series[i].Input = value.Missing()
		case caught && w.flow.All[owner.Owner.Step].Data.ReadsAttempt(): // a retry has another event id or token
			series[i].Input, point.Series[i].Input = value.Missing(), value.Missing()
		}
	}
	if diff := cmp.Diff(series, point.Series, w.log.compared(w.t)); diff != "" {
		w.t.Errorf("a redrive goes on from %s in other series:\n%s", step.Name, diff)
	}
	w.note("redrive in a series", len(series) > 1)
}

// results checks that the events of a log that runs the items of a fork lead to the outputs of those
// that have ended.
func (w *walk) results() {
	w.t.Helper()
	i := slices.IndexFunc(w.state.Series, func(s machine.Series) bool { return s.Owner.Kind == machine.OwnerFork })
	if i < 0 {
		return
	}
	fork := w.state.Series[i]
	var want []value.Value
	for _, list := range w.log.complete(w.t, fork.Local).Members() {
		for _, output := range list.Value.Members() {
			want = append(want, output.Value)
		}
	}
	point := machine.RedrivePoint{Step: w.flow.All[fork.Owner.Step]}
	for {
		load := point.AddResults(w.flow, [][]machine.Event{w.events[fork.Entered:]}, w.log.known())
		if len(load) == 0 {
			break
		}
		w.log.load(w.t, load)
	}
	left := 0
	for _, e := range w.events[fork.Entered:] {
		if e.Step == point.Step.Index && (e.Type == machine.BranchExited || e.Type == machine.IterationExited) {
			left++
		}
	}
	if left == 0 {
		return
	}
	if n := point.Results.DoneBefore(math.MaxInt); n != left {
		w.t.Errorf("%d items have results, want %d", n, left)
	}
	if machine.NeedsOutputs(w.flow, machine.Attempt{Step: point.Step.Index}) {
		if diff := cmp.Diff(value.Array(want...), point.Results.Outputs, w.log.compared(w.t)); diff != "" {
			w.t.Errorf("the items of %s have other results:\n%s", point.Step.Name, diff)
		}
		w.note("results with outputs", true)
	}
	w.note("results", true)
}

// goOn redrives an execution that ended, and continues the walk with the redrive. It reports
// whether there is one.
func (w *walk) goOn() bool {
	w.t.Helper()
	ended := w.state
	if ended.Lane != nil || ended.Status == machine.StatusSucceeded || ended.Redriven != nil && ended.Redriven.Count == 2 {
		return false
	}
	found := w.findRedrive(w.first, w.events)
	point, err := found.In(w.flow, w.flow)
	if err != nil {
		return false
	}
	for i, series := range point.Series {
		point.Series[i].Input, point.Series[i].Local = w.detached(series.Input), w.detached(series.Local)
	}
	state, events := machine.New(ended.Flow, w.flow, ended.RedriveName(), w.detached(ended.Input), ended.At, machine.Limits{})
	state.Redriven, state.Series = point.Redriven(ended), point.Series
	w.log, w.events, w.last, w.open = &itemLog{id: state.ID()}, nil, machine.Event{}, nil
	w.log.known()
	for _, series := range point.Series {
		if series.Owner.Kind == machine.OwnerChoice {
			w.open = append(w.open, series.Owner.Step)
		}
	}
	w.state, events, _ = w.log.put(state, events)
	w.first = w.state
	w.history(events)
	w.apply(machine.Started{At: ended.At})
	w.note("redriven", true)
	w.note("redriven in a series", len(point.Series) > 1)
	if point.Step != nil && !slices.ContainsFunc(w.events, func(e machine.Event) bool {
		return e.Type == machine.StepEntered && e.Step == point.Step.Index || e.Type == machine.ExecutionFailed || e.Type == machine.ExecutionTimedOut
	}) && w.notEntered() == 0 {
		w.t.Errorf("the redrive did not enter %s", point.Step.Name)
	}
	return true
}

func (w *walk) detached(v value.Value) value.Value {
	w.t.Helper()
	return value.Detached(w.log.complete(w.t, v))
}

func (w *walk) lastOf(types ...machine.EventType) (last machine.Event) {
	for _, e := range w.events {
		if slices.Contains(types, e.Type) && len(machine.ForksAround(w.flow.All[e.Step])) == 0 {
			last = e
		}
	}
	return last
}

func (w *walk) findRedrive(first machine.State, events []machine.Event) machine.RedrivePoint {
	w.t.Helper()
	for {
		point, load, err := machine.FindRedrive(w.flow, first, events, "", w.log.known())
		switch {
		case err != nil:
			w.t.Fatal(err)
		case len(load) == 0:
			return point
		}
		w.log.load(w.t, load)
	}
}

func TestRedriveName(t *testing.T) {
	t.Parallel()
	long := string(slices.Repeat([]byte("n"), flow.MaxName))
	for _, tt := range []struct {
		name     string
		redriven *machine.Redriven
		want     string
	}{
		{"run", nil, "run-redrive"},
		{"run-redrive", nil, "run-redrive-redrive"},
		{"run-redrive", &machine.Redriven{From: "run", Count: 1}, "run-redrive-2"},
		{"run-redrive-2", &machine.Redriven{From: "run-redrive", Count: 2}, "run-redrive-3"},
		{"other", &machine.Redriven{From: "run", Count: 1}, "other-redrive-2"},
		{long, nil, long[:len(long)-8] + "-redrive"},
	} {
		if got := (machine.State{Execution: tt.name, Redriven: tt.redriven}).RedriveName(); got != tt.want || !flow.ValidName(got) {
			t.Errorf("%.20s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
