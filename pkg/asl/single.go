package asl

import (
	"cmp"
	"slices"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// SingleState is a state that runs without its machine: the first step of a flow in which every
// state that it leads to succeeds at once.
type SingleState struct {
	Flow *flow.Flow
	// Context is the context object, and Variables are the variables before the state.
	Context, Variables value.Value
	// Items are the items of a Map with an ItemReader.
	Items value.Value
	// Constant reports whether the state is a Pass with a Result.
	Constant bool
	// Unserved has the features of the state that only a mock can stand for.
	Unserved flow.Problems
	// Inside has the names of the states of its branches or iterations.
	Inside []string

	// Seen has the values of the data flow by their names in TestState's inspectionData.
	Seen map[string]value.Value
	// Failure is the failure of the state if its data could not be computed.
	Failure token.Outcome
}

// defaultState is the name of a state without a machine.
const defaultState = "StateName"

// ParseState reads the named state of a machine, or a state alone if name is "". It reports the
// problems that Parse reports, except features that are not served.
func ParseState(text []byte, name string) (*SingleState, flow.Problems) {
	single := &SingleState{Seen: map[string]value.Value{}}
	p := newParser(single)
	n := p.Read(text)
	switch root := n; {
	case n == nil || !p.checkJSON(text):
	case name == "" && n.Get("States") != nil:
		p.Problem(n.Pos, "the definition is a machine; name the state in stateName")
	case name != "":
		p.machine(root)
		p.checkVariables()
		if n = stateNamed(root.Get("States"), name); n == nil && len(p.Problems) == 0 {
			p.Problem(root.Pos, "the machine has no state %q", document.Shortened(name))
		}
		if len(p.Problems) == 0 {
			whole := p
			p, single.Unserved = newParser(single), nil
			p.Reader, p.language = whole.Reader, whole.language
		}
	}
	if len(p.Problems) > 0 {
		return nil, p.Problems.Reported()
	}
	s := &seriesParser{parser: p, series: &flow.Series{}, steps: map[string]*flow.Step{}}
	s.read(document.Entry{Key: cmp.Or(name, defaultState), Pos: n.Pos, Value: n})
	for _, step := range p.flow.All[min(1, len(p.flow.All)):] {
		single.Inside = append(single.Inside, step.Name)
	}
	for _, j := range s.jumps {
		next, ok := j.at.Text()
		if p.state = j.state; !ok || next == "" {
			p.unfit(j.at, j.field, "the name of a state")
		}
		*j.to = &flow.Step{Index: len(p.flow.All), Name: next, Series: s.series, End: true, Kind: &flow.Succeed{}, Data: &data{state: next}}
		p.flow.All = append(p.flow.All, *j.to)
	}
	if len(p.Problems) > 0 {
		return nil, p.Problems.Reported()
	}
	d, _ := p.flow.All[0].Data.(*data)
	p.flow.Life = 250 * life // longer than a wait, which ends at once
	p.flow.Steps, single.Constant, d.single = s.series.Steps, !d.fixed.IsMissing(), single
	single.Flow = &p.flow
	return single, nil
}

// stateNamed finds a state in an object of states or inside of them, nil for none.
func stateNamed(states *document.Node, name string) *document.Node {
	if found := states.Get(name); found != nil || states == nil {
		return found
	}
	for _, e := range states.Entries {
		inner := []*document.Node{e.Value.Get("ItemProcessor"), e.Value.Get("Iterator")}
		if branches := e.Value.Get("Branches"); branches != nil {
			inner = append(inner, branches.Items...)
		}
		for _, n := range inner {
			if found := stateNamed(n.Get("States"), name); found != nil {
				return found
			}
		}
	}
	return nil
}

// Mock makes a call of a function named "mock" stand for the task, the branches or the iterations.
func (t *SingleState) Mock() {
	step := t.Flow.All[0]
	d, _ := step.Data.(*data)
	d.isTask, d.result = true, func(f *flow.Frame) value.Value { return f.Local }
	step.Kind = &flow.Task{Resource: flow.Resource{Text: "mock", Function: "mock"}, Handlers: *step.Handlers()}
}

// SeenTolerated names the number of items of a Map that may fail.
const SeenTolerated = "tolerated"

// note keeps a value of the data flow of a single state, unless it could not be computed. States
// with JSONata have no paths and no Parameters, and others no Arguments.
func (e *evaluation) note(name string, v value.Value, err error) {
	ofPaths := []string{"afterInputPath", "afterParameters", "afterItemsPath"}
	if e.single == nil || err != nil || e.query && slices.Contains(ofPaths, name) || !e.query && name == "afterArguments" {
		return
	}
	e.single.Seen[name] = e.lookup.Complete(v)
}

// fail returns the failure of the state for an error of an expression.
func (d *data) fail(err error) token.Outcome {
	failure := failureOf(d.state, err)
	if d.single != nil {
		d.single.Failure = failure
	}
	return failure
}
