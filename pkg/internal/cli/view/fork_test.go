package view

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

const forkFlow = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    steps:
      - type: parallel
        name: Both
        branches:
          - steps:
              - {type: wait, name: Pause, duration: 2}
          - steps:
              - type: choice
                name: Which
                choices:
                  - condition: $.one == 17
                    steps: [{type: fail, name: Bad, error: Unlucky, cause: why}]
`

// runFork runs the flow over a list of numbers from 0 on.
func runFork(t *testing.T, items int, observer engine.Observer) machine.State {
	t.Helper()
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	s := local.New(local.Config{Store: &store.Memory{}, Clock: clock, Observer: observer})
	flow, err := s.Client.PutFlow(t.Context(), "f", []byte(forkFlow))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range items {
		list = append(list, strconv.Itoa(i))
	}
	input, err := value.ParseJSON([]byte(`{"list":[` + strings.Join(list, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "e", Input: input}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	id := engine.NewID("f", "e")
	state, err := s.Client.Describe(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func parsedFork(t *testing.T) *flow.Flow {
	t.Helper()
	flow, err := fdl.Parse([]byte(forkFlow))
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

// Lines name iterations, and those of a long foreach are few.
func TestPlainViewOfManyIterations(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	state := runFork(t, 16, &plainView{out: out, title: "f/e", flow: parsedFork(t)})
	if state.Status != machine.StatusSucceeded {
		t.Fatalf("the execution is %s: %s", state.Status, state.Cause)
	}
	for text, want := range map[string]int{
		"Pause[0] waits": 1, "Pause[9] waits": 1, "Pause[10]": 0, "Each 10 iterations ended\n": 1, "Each 16 iterations ended\n": 1, "iterations ended\n": 2,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q stands %d times, want %d, in\n%s", text, got, want, out)
		}
	}
}

// A failure is shown in each iteration, and the end of the execution names the step and the
// iteration.
func TestFailedIterationIsNamed(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	flow := parsedFork(t)
	shown := &plainView{out: out, title: "f/e", flow: flow}
	state := runFork(t, 30, shown)
	untold := func(string) bool { return false }
	if text := EndText(state, shown.Told); text != "failed with Unlucky in step Bad[17]" || strings.Count(out.String()+text, "why") != 1 {
		t.Errorf("the end is %q, and the cause is not shown once:\n%s", text, out)
	}
	if text := EndText(state, untold); text != "failed with Unlucky in step Bad[17]: why" {
		t.Errorf("the end is %q", text)
	}
	if !strings.Contains(out.String(), "Bad[17] failed: Unlucky: why\n") {
		t.Errorf("the lines are\n%s", out)
	}
}

// The table has one line a step, which counts.
func TestLiveViewOfManyIterations(t *testing.T) {
	t.Parallel()
	flow := parsedFork(t)
	p := newProgress("f/e", flow)
	state := runFork(t, 16, observed{p})
	now := state.At
	var shown []string
	for _, l := range frame(p, now, 80, 20) {
		shown = append(shown, l.text)
	}
	want := []string{
		"f/e  Succeeded  2.0s", "  ✓ Each       2.0s, 16 iterations ended", "    ✓ Both     16 done", "      ✓ Pause  16 done",
		"      ✓ Which  16 done", "      · Bad",
	}
	if got := strings.Join(shown, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("shown is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A lane whose step is committed as entered, and which then calls its function, is one lane.
func TestLiveViewCountsALaneOnce(t *testing.T) {
	t.Parallel()
	def := parsedFork(t)
	p := newProgress("f/e", def)
	pause := slices.IndexFunc(def.All, func(step *flow.Step) bool { return step.Name == "Pause" })
	lane := func(i int) engine.ID { return engine.NewID("f", "e"+strconv.Itoa(i)) }
	call := func(i int) machine.Call { return machine.Call{Log: lane(i), Attempt: machine.Attempt{Step: pause}} }
	running := machine.State{Status: machine.StatusRunning, Lane: &machine.Lane{}}
	for i := range 10 {
		if i < 7 {
			p.committed(lane(i), running, []machine.Event{{Type: machine.StepEntered, Step: pause}})
		}
		if i > 1 {
			p.calling(call(i), time.Now())
		}
	}
	if note := p.step(pause, time.Now()).note; note != "10 now" {
		t.Errorf("shown is %q", note)
	}
	p.committed(lane(3), running, []machine.Event{{Type: machine.StepExited, Step: pause}})
	if note := p.step(pause, time.Now()).note; note != "9 now, 1 done" {
		t.Errorf("after one ended, shown is %q", note)
	}
}

// A step of a foreach says how many of its attempts run, wait for a callback, and pause before
// another attempt, also if the events come without the ids of lanes.
func TestLiveViewSaysWhatIterationsWaitFor(t *testing.T) {
	t.Parallel()
	def := parsedFork(t)
	work := slices.IndexFunc(def.All, func(step *flow.Step) bool { return step.Name == "Pause" })
	for name, id := range map[string]func(i int) engine.ID{
		"by lanes":      func(i int) engine.ID { return engine.NewID("f", "e"+strconv.Itoa(i)) },
		"without an id": func(int) engine.ID { return engine.ID{} },
	} {
		p := newProgress("f/e", def)
		p.committed(engine.NewID("f", "e"), machine.State{Status: machine.StatusRunning, Waiting: &machine.Waiting{For: &machine.ForkWait{Items: 9}}},
			[]machine.Event{{Type: machine.StepEntered}, {Type: machine.IterationExited}})
		commit := func(i int, types ...machine.EventType) {
			var events []machine.Event
			for _, e := range types {
				events = append(events, machine.Event{Type: e, Step: work, ForkIndexes: []int{i}})
			}
			p.committed(id(i), machine.State{Status: machine.StatusRunning, Lane: &machine.Lane{}}, events)
		}
		want := func(note string) {
			t.Helper()
			if got := p.step(work, time.Now()).note; got != note {
				t.Errorf("%s: shown is %q, want %q", name, got, note)
			}
		}
		commit(1, machine.StepEntered, machine.TaskScheduled)
		commit(2, machine.StepEntered, machine.TaskScheduled, machine.TaskSubmitted)
		commit(3, machine.StepEntered, machine.TaskScheduled, machine.TaskFailed)
		want("1 now, 1 waiting for an outcome, 1 to be tried again")
		commit(3, machine.TaskScheduled)
		want("2 now, 1 waiting for an outcome")
		commit(3, machine.TaskFailed, machine.StepFailed)
		want("1 now, 1 waiting for an outcome, 1 failed")
		if got := p.step(0, time.Now()).detail(time.Now()); !strings.HasSuffix(got, ", 1 of 9 iterations ended") {
			t.Errorf("%s: the foreach is shown as %q", name, got)
		}
		p.committed(engine.NewID("f", "e"), machine.State{Status: machine.StatusFailed}, nil)
		want("1 failed, 2 stopped")
	}
}

// Iterations that fail and are tolerated are counted, on a terminal and in lines.
func TestViewsCountToleratedFailures(t *testing.T) {
	t.Parallel()
	def := parsedFork(t)
	p, out := newProgress("f/e", def), &bytes.Buffer{}
	plain := &plainView{out: out, flow: def}
	state := machine.State{Status: machine.StatusRunning, Waiting: &machine.Waiting{For: &machine.ForkWait{Items: 30}}}
	events := []machine.Event{{Type: machine.StepEntered}}
	for i := range 20 {
		e := machine.Event{Type: machine.IterationExited, Index: i}
		if i%7 == 0 {
			e.Error = "Broken"
		}
		events = append(events, e)
	}
	p.committed(engine.NewID("f", "e"), state, events)
	plain.Committed(engine.NewID("f", "e"), state, events)
	if got := p.step(0, time.Now()).detail(time.Now()); !strings.HasSuffix(got, ", 20 of 30 iterations ended, 3 failed") {
		t.Errorf("the foreach is shown as %q", got)
	}
	if got := out.String(); !strings.Contains(got, "Each 10 iterations ended, 2 failed\n") || !strings.Contains(got, "Each 20 iterations ended, 3 failed\n") {
		t.Errorf("the lines are\n%s", got)
	}
	p.committed(engine.NewID("f", "e"), state, []machine.Event{{Type: machine.StepStarted}}) // is tried again
	if got := p.step(0, time.Now()).detail(time.Now()); strings.Contains(got, "failed") {
		t.Errorf("the next attempt is shown as %q", got)
	}
}

// observed is a progress that observes an engine.
type observed struct{ *progress }

func (o observed) Calling(call machine.Call, at time.Time) { o.calling(call, at) }

func (o observed) Committed(id engine.ID, state machine.State, events []machine.Event) {
	o.committed(id, state, events)
}
