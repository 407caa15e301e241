package asl

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// The members of the local value of a series, and of the value that a fork gives to its items.
const (
	keyData  = "data"  // the current value
	keyVars  = "vars"  // the variables, left out if there are none
	keyItems = "items" // of a Map
	keyItem  = "item"  // of an iteration, or the Item of the context object
	keyIndex = "index" // of an iteration
	keyChild = "child" // of a Map in mode DISTRIBUTED that the states are in, with these members
	keyLabel = "label"
	keyRun   = "run" // its name
	// keyTarget is where the results of a Map go, and keyMachine the name of its machine.
	keyTarget  = "target"
	keyMachine = "machine"
)

// around says which series a state is in.
type around uint8

const (
	inMachine around = iota
	inBranch
	inIteration
)

// data is the data flow of a state. It implements [flow.Data].
type data struct {
	exitData

	state     string
	around    around
	iteration *mapData // of the iterations that the state is in, if any
	isTask    bool

	fixed     value.Value // Result of a Pass, missing without one
	input     pathField
	params    *template
	work      func(e *evaluation, v value.Value) (value.Value, error) // of the effective input; nil for v
	result    func(f *flow.Frame) value.Value                         // nil if the state has no result but its input
	selector  *template
	output    pathField
	isQuery   bool       // the state has JSONata
	choices   []exitData // of the rules of a Choice
	catches   []exitData
	limits    []*source // of a Task that computes its time limit or its heartbeat
	reads     bool      // Enter reads the context object
	keepsNone bool      // the result is not used

	single *SingleState // nil for a state of a machine
}

// exitData are the fields with which a state, a rule of a Choice or an entry of a Catch ends.
type exitData struct {
	placed   resultPath
	produced *template // Output of JSONata
	assign   *template
}

// source computes a field.
type source struct {
	expression
	name, text string // of the field
}

// pathField is the value of InputPath or OutputPath.
type pathField struct {
	*path
	null bool
}

// of returns the selected value. Without a path that is v, and for null an empty object.
func (p pathField) of(e *evaluation, v value.Value) (value.Value, error) {
	switch {
	case p.null:
		return value.Object(), nil
	case p.path == nil:
		return v, nil
	}
	return p.eval(e.with(v))
}

// evaluation returns the values that expressions of the state read.
func (d *data) evaluation(f *flow.Frame, source string) *evaluation {
	e := &evaluation{frame: f, lookup: f.Lookup, task: d.isTask, query: d.isQuery, source: source}
	local, input := f.Lookup.Open(f.Outer.Local), f.Outer.Input
	if d.single != nil {
		e.single, e.vars = d.single, d.single.Variables
	}
	if d.around != inMachine {
		input = f.Lookup.Open(input)
		e.vars, e.item, e.child = input.Get(keyVars), input.Get(keyItem), input.Get(keyChild)
	}
	switch d.around {
	case inMachine:
		e.data = input
	case inBranch:
		e.data = input.Get(keyData)
	case inIteration:
		e.data, e.item = e.item, value.Missing()
		switch m := d.iteration; {
		case m.givesItem():
			element := f.Lookup.Open(e.data)
			e.data, e.item = element.Get(keyData), element.Get(keyItem)
		case m.readsItem:
			e.item = itemOf(input.Get(keyIndex), e.data)
		}
		if label := d.iteration.label; label != "" {
			e.child = value.Object(value.Member{Key: keyLabel, Value: value.String(label)}, value.Member{Key: keyRun, Value: input.Get(keyRun)},
				value.Member{Key: keyIndex, Value: input.Get(keyIndex)}, value.Member{Key: keyData, Value: e.data})
		}
	}
	if current := local.Get(keyData); !current.IsMissing() {
		e.data = current
	}
	if own := local.Get(keyVars); !own.IsMissing() {
		e.vars = value.Merge(f.Lookup.Open(e.vars), f.Lookup.Open(own))
	}
	return e
}

// Enter implements [flow.Data].
func (d *data) Enter(f *flow.Frame) flow.Entry {
	e := d.evaluation(f, "enter")
	entry := flow.Entry{Input: e.data}
	var err error
	if entry.Work, err = d.begin(e); err != nil {
		entry.Failure = d.fail(err)
	}
	return entry
}

func (d *data) begin(e *evaluation) (value.Value, error) {
	v, err := d.input.of(e, e.data)
	e.note("afterInputPath", v, err)
	for _, limit := range d.limits {
		if err == nil {
			_, err = limit.seconds(e)
		}
	}
	if err == nil && d.params != nil {
		v, err = d.params.eval(e.with(v))
		e.note("afterArguments", v, err)
	}
	e.note("afterParameters", v, err)
	if err == nil && d.work != nil {
		return d.work(e.with(v), v)
	}
	return v, err
}

// Leave implements [flow.Data].
func (d *data) Leave(f *flow.Frame) flow.Exit {
	e := d.evaluation(f, "leave")
	exit, err := d.end(e)
	if err != nil {
		exit.Failure = d.fail(err)
	}
	return exit
}

func (d *data) end(e *evaluation) (exit flow.Exit, err error) {
	if d.isQuery {
		chosen, output := d.chosen(e), e.data
		if d.result != nil {
			e.result = d.result(e.frame)
			output = e.result
			e.note("result", output, nil)
		}
		return chosen.exit(e, output)
	}
	if d.result == nil {
		if exit.Output, err = d.input.of(e, e.data); err != nil {
			return exit, err
		}
		if exit.Local, err = e.assigned(d.chosen(e).assign, exit.Output); err != nil {
			return exit, err
		}
		exit.Output, err = d.output.of(e, exit.Output)
		return exit, err
	}
	result := d.result(e.frame)
	e.note("result", result, nil)
	if exit.Local, err = e.assigned(d.assign, result); err != nil {
		return exit, err
	}
	if d.selector != nil {
		if result, err = d.selector.eval(e.with(result)); err != nil {
			return exit, err
		}
	}
	e.note("afterResultSelector", result, nil)
	if exit.Output, err = d.placed.place(e, result); err == nil {
		e.note("afterResultPath", exit.Output, nil)
		exit.Output, err = d.output.of(e, exit.Output)
	}
	return exit, err
}

// chosen returns the fields of the state, or of the rule of a Choice that its work names.
func (d *data) chosen(e *evaluation) exitData {
	if d.choices != nil {
		if rule, ok := e.lookup.Complete(e.frame.Input).Get(keyIndex).Int64(); ok && rule < int64(len(d.choices)) {
			return d.choices[rule]
		}
	}
	return d.exitData
}

// exit returns the end of a state with JSONata, with an output that Output replaces.
func (x exitData) exit(e *evaluation, output value.Value) (exit flow.Exit, err error) {
	if exit.Local, err = e.assigned(x.assign, e.data); err == nil && x.produced != nil {
		output, err = x.produced.eval(e)
	}
	exit.Output = output
	return exit, err
}

// assigned returns the variables that the template assigns from a current value, missing for none.
func (e *evaluation) assigned(t *template, data value.Value) (value.Value, error) {
	if t == nil {
		return value.Missing(), nil
	}
	return t.eval(e.with(data))
}

// Caught implements [flow.Data].
func (d *data) Caught(f *flow.Frame, entry int, failure token.Outcome) (exit flow.Exit) {
	e, c := d.evaluation(f, "caught"), d.catches[entry]
	name, cause := value.String(failure.Error), value.String(failure.Cause)
	if failure.Error == errorFailed {
		name = value.Null()
		if failure.Cause == "" {
			cause = value.Null()
		}
	}
	output := value.Object(value.Member{Key: "Error", Value: name}, value.Member{Key: "Cause", Value: cause})
	var err error
	if d.isQuery {
		e.errorOutput = output
		exit, err = c.exit(e, output)
	} else if exit.Local, err = e.assigned(c.assign, output); err == nil {
		exit.Output, err = c.placed.place(e, output)
	}
	if err != nil {
		exit.Failure = d.fail(err)
	}
	return exit
}

// ReadsResult implements [flow.Data].
func (d *data) ReadsResult() bool { return !d.keepsNone }

// ReadsAttempt implements [flow.Data].
func (d *data) ReadsAttempt() bool { return d.reads }

// machineData is the data flow of a machine. It implements [flow.Data].
type machineData struct{}

func (machineData) Enter(f *flow.Frame) flow.Entry { return flow.Entry{Input: f.Input} }

func (machineData) Leave(f *flow.Frame) flow.Exit {
	current := f.Lookup.Open(f.Local).Get(keyData)
	if current.IsMissing() {
		current = f.Input
	}
	return flow.Exit{Output: current}
}

func (machineData) Caught(*flow.Frame, int, token.Outcome) flow.Exit { return flow.Exit{} }
func (machineData) ReadsResult() bool                                { return true }
func (machineData) ReadsAttempt() bool                               { return false }

// join implements [flow.Flow.Join].
func join(lookup *value.Lookup, local value.Value, exit flow.Exit) value.Value {
	vars := lookup.Open(local).Get(keyVars)
	if !exit.Local.IsMissing() {
		vars = value.Merge(lookup.Open(vars), lookup.Open(exit.Local))
	}
	members := []value.Member{{Key: keyData, Value: exit.Output}}
	if !vars.IsMissing() {
		members = append(members, value.Member{Key: keyVars, Value: vars})
	}
	return value.ObjectFrom(members)
}

// resultPath is where a result goes in the input of a state.
type resultPath struct {
	text    string
	discard bool
	keys    []refKey // none for the whole
}

type refKey struct {
	key   string
	index int // -1 for a key
}

// place returns the input of the state with the result in it.
func (p resultPath) place(e *evaluation, result value.Value) (value.Value, error) {
	if p.discard {
		return e.data, nil
	}
	return p.set(e, e.data, p.keys, result)
}

func (p resultPath) set(e *evaluation, in value.Value, keys []refKey, result value.Value) (value.Value, error) {
	if len(keys) == 0 {
		return result, nil
	}
	in = e.lookup.Open(in)
	next, at := keys[0], in.Get(keys[0].key)
	if next.index >= 0 {
		at = in.At(next.index)
	}
	missing := at.IsMissing() || at.Kind() == value.KindNull
	if missing && len(keys) > 1 {
		at = value.Object()
	}
	inner, err := p.set(e, at, keys[1:], result)
	switch {
	case err != nil || len(e.lookup.Load) > 0:
		return value.Null(), err
	case next.index < 0 && in.Kind() == value.KindObject:
		return value.Merge(in, value.Object(value.Member{Key: next.key, Value: inner})), nil
	case next.index >= 0 && in.Kind() == value.KindArray && next.index < in.Len():
		list := slices.Clone(in.Members())
		list[next.index].Value = inner
		return value.ArrayFrom(list), nil
	}
	return value.Value{}, &stateError{errorResultPath, "ResultPath " + p.text + " does not fit into the input, which is " + value.Shown(e.lookup.Complete(e.data))}
}

// sharedWith returns the members of a fork's work that each of its items reads.
func sharedWith(e *evaluation, members ...value.Member) value.Value {
	if !e.child.IsMissing() {
		members = append(members, value.Member{Key: keyChild, Value: e.child})
	}
	if e.lookup.Open(e.vars).Len() > 0 {
		members = append(members, value.Member{Key: keyVars, Value: e.vars})
	}
	return value.Object(members...)
}

// branchWork is the work of a Parallel.
func branchWork(e *evaluation, v value.Value) (value.Value, error) {
	return sharedWith(e, value.Member{Key: keyData, Value: v}, value.Member{Key: keyItem, Value: e.item}), nil
}

// itemOutputs returns the outputs of the items of a fork.
func itemOutputs(f *flow.Frame) value.Value {
	list := f.Lookup.Open(f.Local)
	outputs := make([]value.Value, list.Len())
	for i := range outputs {
		item := f.Lookup.Open(list.At(i))
		outputs[i] = cmp.Or(item.Get(keyData), value.Null())
		if failure := item.Get("error"); !failure.IsMissing() { // which the Map tolerates
			outputs[i] = value.Object(value.Member{Key: "Error", Value: failure}, value.Member{Key: "Cause", Value: item.Get("cause")})
		}
	}
	return value.Array(outputs...)
}

// mapData are the fields of a Map.
type mapData struct {
	items    pathField
	list     *template // Items
	selector *template
	atOnce   *source
	written  int64 // MaxConcurrency, unless it is computed
	// readsItem says that a state inside reads the Item of the context object. With a selector each
	// item then has it beside the input of the iteration.
	readsItem bool
	// tolerance has the constants, and mostFailed and mostShare compute others.
	tolerance             flow.Tolerance
	mostFailed, mostShare *source
	// label is set for a Map in mode DISTRIBUTED: its iterations are children.
	label   string
	batcher *batcher
	reader  *itemReader
	writer  *resultWriter
	most    int // iterations at once, if the Map sets no limit
}

// givesItem reports whether the element of an iteration has the Item beside the input.
func (m *mapData) givesItem() bool { return m.readsItem && m.selector != nil && m.batcher == nil }

// itemOf returns the Item of the context object.
func itemOf(index, item value.Value) value.Value {
	return value.Object(value.Member{Key: "Index", Value: index}, value.Member{Key: "Value", Value: item})
}

// work returns the work of a Map, which has its items or the request that reads them.
func (m *mapData) work(e *evaluation, v value.Value) (value.Value, error) {
	if m.reader != nil && e.single == nil {
		return m.reader.request(e)
	}
	list, err := m.items.of(e, v)
	if m.list != nil {
		list, err = m.list.eval(e)
	}
	if e.single != nil && !e.single.Items.IsMissing() {
		list, err = e.single.Items, nil
	}
	if err != nil {
		return list, err
	}
	list = e.lookup.Open(list)
	if list.Kind() != value.KindArray && len(e.lookup.Load) == 0 {
		if m.list != nil {
			if q, ok := m.list.computed.(*query); ok {
				return list, e.fault("%s: %s is %s; allowed: an array", q.field, q.excerpt(), value.Shown(list))
			}
		}
		return list, e.fault("the items are %s; allowed: an array", value.Shown(list))
	}
	return m.workOf(e, list)
}

// workOf returns the work of a Map with these items.
func (m *mapData) workOf(e *evaluation, list value.Value) (_ value.Value, err error) {
	e.note("afterItemsPath", list, nil)
	e.note("maxConcurrency", value.Int(m.written), nil)
	if m.selector != nil {
		if list, err = m.selected(e, list); err != nil {
			return list, err
		}
		e.note("afterItemSelector", list, nil)
	}
	if m.batcher != nil {
		if list, err = m.batcher.batches(e, list); err != nil {
			return list, err
		}
	}
	members := []value.Member{{Key: keyItems, Value: list}}
	if m.atOnce != nil {
		atOnce, err := m.concurrency(e)
		if err != nil {
			return list, err
		}
		members = append(members, value.Member{Key: keyAtOnce, Value: value.Int(atOnce)})
	}
	if m.mostFailed != nil || m.mostShare != nil || e.single != nil {
		tolerated, err := m.tolerated(e, list.Len())
		if err != nil {
			return list, err
		}
		members = append(members, value.Member{Key: keyTolerated, Value: value.Int(int64(tolerated))})
	}
	if m.writer != nil {
		target, err := m.writer.params.eval(e)
		if err != nil {
			return list, err
		}
		members = append(members, value.Member{Key: keyTarget, Value: target}, value.Member{Key: keyMachine, Value: value.String(e.frame.Context().Flow)})
	}
	if m.label != "" { // children do not see the variables around them
		return value.Object(members...), nil
	}
	return sharedWith(e, members...), nil
}

// selected returns the inputs of the iterations.
func (m *mapData) selected(e *evaluation, list value.Value) (value.Value, error) {
	elements := make([]value.Member, list.Len())
	for i := range elements {
		inner := e.with(e.data)
		inner.context = value.Missing()
		inner.item = itemOf(value.Int(int64(i)), list.At(i))
		v, err := m.selector.eval(inner)
		if err != nil {
			return v, err
		}
		if m.givesItem() {
			v = value.Object(value.Member{Key: keyData, Value: v}, value.Member{Key: keyItem, Value: inner.item})
		}
		elements[i].Value = v
	}
	return value.ArrayFrom(elements), nil
}

// The members of a Map's work with the number of iterations that run at once, and with the number
// that may fail.
const (
	keyAtOnce    = "atOnce"
	keyTolerated = "tolerated"
)

func (m *mapData) concurrency(e *evaluation) (int64, error) {
	n, err := m.atOnce.whole(e)
	e.note("maxConcurrency", value.Int(n), err)
	return int64(m.lanes(int(min(n, flow.MaxConcurrency)))), err
}

// tolerated returns how many of so many items may fail.
func (m *mapData) tolerated(e *evaluation, items int) (int, error) {
	tolerance := m.tolerance
	if m.mostFailed != nil {
		n, err := m.mostFailed.whole(e)
		if err != nil {
			return 0, err
		}
		tolerance.Count = new(int(min(n, maxAttempts)))
	}
	if m.mostShare != nil {
		v, err := m.mostShare.number(e)
		if err != nil {
			return 0, err
		}
		share, err := strconv.ParseFloat(v.Text(), 64)
		if (v.Kind() != value.KindNumber || err != nil || share < 0 || share > 100) && len(e.lookup.Load) == 0 {
			return 0, e.fault("%s: %s is %s; allowed: a number from 0 to 100", m.mostShare.name, m.mostShare.text, value.Shown(v))
		}
		tolerance.Percentage = &share
	}
	if tolerance.Count != nil {
		e.note("toleratedFailureCount", value.Int(int64(*tolerance.Count)), nil)
	}
	if tolerance.Percentage != nil {
		v, _ := value.Number(strconv.FormatFloat(*tolerance.Percentage, 'f', -1, 64)) // is finite
		e.note("toleratedFailurePercentage", v, nil)
	}
	if tolerance.IsSet() {
		e.note(SeenTolerated, value.Int(int64(tolerance.Of(items))), nil)
	}
	return tolerance.Of(items), nil
}

// number returns the value of a field with a number. With JSONPath a text counts, too.
func (s *source) number(e *evaluation) (value.Value, error) {
	v, err := s.eval(e)
	if err != nil {
		return v, err
	}
	v = e.lookup.Complete(v)
	if number, isNumber := value.Number(v.Text()); isNumber && !e.query {
		v = number
	}
	return v, nil
}

// whole returns the value of a field with a whole number from 0.
func (s *source) whole(e *evaluation) (int64, error) {
	v, err := s.number(e)
	if err != nil {
		return 0, err
	}
	n, ok := v.Int64()
	if (!ok || n < 0) && len(e.lookup.Load) == 0 {
		return 0, e.fault("%s: %s is %s; allowed: a whole number from 0", s.name, s.text, value.Shown(v))
	}
	return n, nil
}

// defaultLanes is how many iterations of a Map run at once if it sets no limit.
const defaultLanes = 40

func (m *mapData) lanes(maxConcurrency int) int {
	return min(cmp.Or(maxConcurrency, m.most), flow.MaxConcurrency)
}
