package asl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// The fields of states, by their types, without the commonFields.
var stateFields = map[string]string{ //nolint:gosec // Credentials is a field
	"Pass":     "Next End InputPath OutputPath Parameters Result ResultPath Assign",
	"Task":     "Next End InputPath OutputPath Parameters ResultSelector ResultPath Assign Resource Retry Catch Credentials " + limitFields,
	"Choice":   "InputPath OutputPath Choices Default Assign",
	"Wait":     "Next End InputPath OutputPath Seconds SecondsPath Timestamp TimestampPath Assign",
	"Succeed":  "InputPath OutputPath",
	"Fail":     "Error ErrorPath Cause CausePath",
	"Parallel": "Next End InputPath OutputPath Parameters ResultSelector ResultPath Assign Branches Retry Catch",
	"Map": "Next End InputPath OutputPath ResultSelector ResultPath Assign ItemsPath ItemSelector Parameters ItemProcessor Iterator MaxConcurrency " +
		"MaxConcurrencyPath Retry Catch ToleratedFailureCount ToleratedFailureCountPath ToleratedFailurePercentage ToleratedFailurePercentagePath " +
		distributedFields,
}

// The fields of states with JSONata.
var queryFields = map[string]string{ //nolint:gosec // Credentials is a field
	"Pass":     "Next End Output Assign",
	"Task":     "Next End Arguments Output Assign Resource Retry Catch Credentials TimeoutSeconds HeartbeatSeconds",
	"Choice":   "Output Choices Default Assign",
	"Wait":     "Next End Output Seconds Timestamp Assign",
	"Succeed":  "Output",
	"Fail":     "Error Cause",
	"Parallel": "Next End Arguments Output Assign Branches Retry Catch",
	"Map": "Next End Items ItemSelector ItemProcessor Iterator MaxConcurrency Output Assign Retry Catch ToleratedFailureCount " +
		"ToleratedFailurePercentage " + distributedFields,
}

const (
	commonFields      = "Type Comment QueryLanguage "
	limitFields       = "TimeoutSeconds TimeoutSecondsPath HeartbeatSeconds HeartbeatSecondsPath"
	distributedFields = "ItemReader ItemBatcher ResultWriter Label"
)

// stateOf reads a state.
func (s *seriesParser) stateOf(step *flow.Step, n *document.Node) {
	d := &data{state: step.Name, around: s.around, iteration: s.iteration}
	step.Data, step.Kind = d, &flow.Pass{}
	stateType, types := n.Get("Type"), slices.Sorted(maps.Keys(stateFields))
	if stateType == nil {
		s.Problem(n.Pos, "%s: field \"Type\" is missing, which is required (allowed: %s)", s.place(), strings.Join(types, ", "))
		return
	}
	name, _ := stateType.Text()
	fields, known := stateFields[name]
	if !known {
		s.Problem(stateType.Pos, "%s: Type is %s%s", s.place(), described(stateType), similar.MeantOrKnown(name, types))
		return
	}
	outer := s.isQuery
	defer func() { s.isQuery = outer }()
	s.isQuery = s.queryLanguage(n, s.language) == languageQuery
	if d.isQuery = s.isQuery; s.isQuery {
		fields = queryFields[name]
	}
	s.fields(n, "a state of type "+name, strings.Fields(commonFields+fields)...)
	s.dataOf(d, n)
	switch name {
	case "Pass":
		s.pass(d, n)
	case "Task":
		step.Kind = s.task(step, d, n)
	case "Choice":
		step.Kind = s.choice(d, n)
	case "Wait":
		step.Kind = s.wait(d, n)
	case "Succeed":
		step.Kind = &flow.Succeed{}
	case "Fail":
		step.Kind = s.fail(d, n)
	case "Parallel":
		step.Kind = s.parallel(step, d, n)
	case "Map":
		step.Kind = s.forMap(step, d, n)
	}
	if handlers := step.Handlers(); handlers != nil {
		handlers.Retry = s.retry(step, n)
		s.catch(step, handlers, d, n)
	}
	if strings.HasPrefix(fields, "Next") {
		s.next(step, n)
	}
}

// next reads Next and End.
func (s *seriesParser) next(step *flow.Step, n *document.Node) {
	next, end := n.Get("Next"), n.Get("End")
	if end != nil && end.Scalar.Kind() != value.KindBool {
		s.unfit(end, "End", "true or false")
		return
	}
	step.End = end != nil && end.Scalar.IsTrue()
	switch {
	case next != nil && step.End:
		s.Problem(next.Pos, "%s: it has both Next and End; write one of them", s.place())
	case next != nil:
		s.jumps = append(s.jumps, jump{next, step.Name, "Next", &step.Next, 0})
	case !step.End && !n.Partial:
		s.Problem(n.Pos, "%s: it has neither Next nor End; write \"Next\": STATE, or \"End\": true", s.place())
	}
}

// dataOf reads the fields of the data flow that states of several types have.
func (p *parser) dataOf(d *data, n *document.Node) {
	p.contextRead = false
	d.input = p.pathField(n, "InputPath")
	if n.Get("Type").Scalar.Text() != "Map" {
		d.params = p.templateOf(n, p.argumentsField())
	}
	d.reads = p.contextRead
	d.selector = p.templateOf(n, "ResultSelector")
	d.placed = p.resultPath(n)
	d.output = p.pathField(n, "OutputPath")
	p.resultRead, p.hasResult = false, slices.Contains([]string{"Task", "Parallel", "Map"}, n.Get("Type").Scalar.Text())
	d.assign, d.produced = p.assign(n), p.produced(n)
	p.hasResult = false
	d.keepsNone = d.placed.discard && d.assign == nil && d.selector == nil || d.produced != nil && !p.resultRead
}

// argumentsField is the field with the input of a task or a fork.
func (p *parser) argumentsField() string {
	if p.isQuery {
		return "Arguments"
	}
	return "Parameters"
}

// produced reads Output of a state with JSONata, of a rule or of an entry of Catch.
func (p *parser) produced(n *document.Node) *template {
	if !p.isQuery {
		return nil
	}
	return p.templateOf(n, "Output")
}

// assign reads the variables that a state, a rule or an entry of Catch assigns.
func (p *parser) assign(n *document.Node) *template {
	field := n.Get("Assign")
	if field == nil {
		return nil
	}
	if field.Kind != document.Mapping {
		p.unfit(field, "Assign", `an object with variables, like {"total.$": "$.total"}`)
		return nil
	}
	for _, e := range field.Entries {
		name := e.Key
		if !p.isQuery {
			name = strings.TrimSuffix(name, ".$")
		}
		if name == "" || len([]rune(name)) > maxName || strings.IndexFunc(name, func(c rune) bool { return !isNameRune(c) }) >= 0 || name == "states" ||
			name[0] >= '0' && name[0] <= '9' {
			p.Problem(e.Pos, "%s: variable %q has no valid name; allowed: letters, digits and \"_\", no digit first, up to %d, and not \"states\"",
				p.place(), document.Shortened(name), maxName)
		}
		p.assigned[name] = true
		p.assigns = append(p.assigns, assignment{e.Pos, p.state, name, p.scope})
	}
	return p.templateOf(n, "Assign")
}

// resultPath reads a path of names and indices.
func (p *parser) resultPath(n *document.Node) resultPath {
	field := n.Get("ResultPath")
	if field == nil {
		return resultPath{}
	}
	if field.Kind == document.Scalar && field.Scalar.Kind() == value.KindNull {
		return resultPath{discard: true}
	}
	text, ok := field.Text()
	s := &scanner{text: text}
	keys, plain := s.reference()
	if !ok || s.err != nil || !plain {
		p.unfit(field, "ResultPath", `null, or a path of names and indices from "$", like "$.order.id"`)
	}
	return resultPath{text: text, keys: keys}
}

// reference reads "$" with names and indices as a whole text.
func (s *scanner) reference() (keys []refKey, ok bool) {
	if !s.take("$") {
		return nil, false
	}
	for s.err == nil && s.at < len(s.text) {
		switch {
		case s.take("."):
			keys = append(keys, refKey{s.takeWhile(isKeyRune), -1})
			if keys[len(keys)-1].key == "" {
				return nil, false
			}
		case s.take("['"), s.take(`["`):
			s.at--
			keys = append(keys, refKey{s.quoted(), -1})
			s.expect("]")
		case s.take("["):
			index := s.number()
			if index == nil || *index < 0 {
				return nil, false
			}
			keys = append(keys, refKey{"", *index})
			s.expect("]")
		default:
			return nil, false
		}
	}
	return keys, true
}

func (p *parser) pass(d *data, n *document.Node) {
	if p.isQuery {
		return
	}
	d.result = func(f *flow.Frame) value.Value { return f.Input }
	if result := n.Get("Result"); result != nil {
		constant := result.Value()
		d.fixed = constant
		d.result = func(*flow.Frame) value.Value { return constant }
	}
}

func (s *seriesParser) choice(d *data, n *document.Node) *flow.Choice {
	field := s.required(n, "Choices")
	if field == nil {
		return &flow.Choice{}
	}
	items := s.list(field, "Choices", "rules")
	choice := &flow.Choice{Branches: make([]flow.Branch, len(items))}
	rules := make([]rule, len(items))
	for i, item := range items {
		branch := &choice.Branches[i]
		branch.Condition, branch.Text = chosen(i), conditionText(item)
		if s.isQuery {
			rules[i] = s.condition(item)
		} else {
			rules[i] = s.rule(item, "Next", "Assign")
		}
		d.choices = append(d.choices, exitData{produced: s.produced(item), assign: s.assign(item)})
		if next := item.Get("Next"); next != nil {
			s.jumps = append(s.jumps, jump{next, s.state, "Next", &branch.Goto, 0})
		} else if item.Kind == document.Mapping && !item.Partial {
			s.Problem(item.Pos, "%s: a rule has no Next; write the state that follows", s.place())
		}
	}
	if otherwise := n.Get("Default"); otherwise != nil {
		choice.Default = &flow.Branch{}
		s.jumps = append(s.jumps, jump{otherwise, s.state, "Default", &choice.Default.Goto, 0})
	}
	d.work = choiceWork(rules, choice.Default != nil)
	return choice
}

// conditionText returns a rule as one line.
func conditionText(n *document.Node) string {
	var parts []string
	variable := n.Get("Variable")
	for _, e := range n.Entries {
		switch e.Key {
		case "Variable", "Next", "Comment", "Assign", "Output":
		case "Condition":
			text, _ := queryText(e.Value.Scalar.Text())
			parts = append(parts, strings.TrimSpace(text))
		case "Not":
			parts = append(parts, "not ("+conditionText(e.Value)+")")
		case "And", "Or":
			var inner []string
			for _, item := range e.Value.Items {
				inner = append(inner, conditionText(item))
			}
			parts = append(parts, "("+strings.Join(inner, " "+strings.ToLower(e.Key)+" ")+")")
		default:
			text := e.Key + " " + e.Value.Value().JSON()
			if variable != nil {
				text = variable.Scalar.Text() + " " + text
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

// onlyOne returns the only field of names that is set. It reports several fields, and a missing
// field if required.
func (p *parser) onlyOne(n *document.Node, required bool, names ...string) *document.Entry {
	var found *document.Entry
	for i, e := range n.Entries {
		if !slices.Contains(names, e.Key) {
			continue
		}
		if found != nil {
			p.Problem(e.Pos, "%s: it has both %s and %s; write one of them", p.place(), found.Key, e.Key)
			return found
		}
		found = &n.Entries[i]
	}
	if found == nil && required && !n.Partial {
		p.Problem(n.Pos, "%s: it has none of %s; write one of them", p.place(), strings.Join(names, ", "))
	}
	return found
}

func (p *parser) wait(d *data, n *document.Node) *flow.Wait {
	wait := &flow.Wait{Most: maxWait}
	found := p.onlyOne(n, true, "Seconds", "SecondsPath", "Timestamp", "TimestampPath")
	if found == nil {
		return wait
	}
	wait.Text, _ = found.Value.Text()
	const instants = "an instant like 2026-01-31T10:00:00Z (RFC 3339)"
	isTimestamp := strings.HasPrefix(found.Key, "Timestamp")
	switch from := p.sourceOf(found); {
	case from != nil && isTimestamp:
		wait.Mode, wait.Path = flow.WaitTimestampPath, memberPath(keyEnd)
		d.work = waitWork(from, instants, func(v value.Value) bool {
			_, ok := flow.ParseTimestamp(v)
			return ok
		})
	case from != nil:
		wait.Mode, wait.Path = flow.WaitDurationPath, memberPath(keyEnd)
		d.work = waitWork(from, fmt.Sprintf("a whole number of seconds from 0 to %d", maxWait/time.Second), func(v value.Value) bool {
			_, ok := flow.ParseDuration(v, maxWait)
			return ok
		})
	case isTimestamp:
		wait.Mode = flow.WaitTimestamp
		var ok bool
		if wait.Timestamp, ok = flow.ParseTimestamp(found.Value.Scalar); !ok {
			p.unfit(found.Value, "Timestamp", instants)
		}
	default:
		wait.Duration = p.seconds(n, "Seconds", 0)
		if limit := cmp.Or(p.flow.Timeout, life); wait.Duration >= limit {
			p.warn(found.Value.Pos, "it waits for %d seconds, and the machine ends after %d; write fewer, or raise TimeoutSeconds of the machine",
				wait.Duration/time.Second, limit/time.Second)
		}
	}
	return wait
}

// keyEnd is the member of a Wait's work with the end of the wait.
const keyEnd = "end"

// memberPath selects a member of the work of a state.
func memberPath(key string) expr.Path {
	p, _ := expr.ParsePath("$."+key, expr.RootSelf) // is valid
	return p
}

// waitWork returns the work of a Wait that computes its end.
func waitWork(from *source, allowed string, fits func(v value.Value) bool) func(e *evaluation, v value.Value) (value.Value, error) {
	return func(e *evaluation, _ value.Value) (value.Value, error) {
		v, err := from.eval(e)
		if err != nil {
			return v, err
		}
		v = e.lookup.Complete(v)
		if !fits(v) && len(e.lookup.Load) == 0 {
			return v, e.fault("%s: %s is %s; allowed: %s", from.name, from.text, value.Shown(v), allowed)
		}
		return value.Object(value.Member{Key: keyEnd, Value: v}), nil
	}
}

func (p *parser) fail(d *data, n *document.Node) *flow.Fail {
	fail := &flow.Fail{Error: p.text(n, "Error"), Cause: p.text(n, "Cause")}
	parts := map[string]expression{"error": constant{value.String(fail.Error)}, "cause": constant{value.String(fail.Cause)}}
	p.onlyOne(n, false, "Error", "ErrorPath")
	p.onlyOne(n, false, "Cause", "CausePath")
	for key, name := range map[string]string{"error": "Error", "cause": "Cause"} {
		if field := n.Get(name + "Path"); field != nil {
			parts[key], fail.Computed = p.expression(field, name+"Path"), true
		} else if field := n.Get(name); field != nil {
			if from := p.queryOf(field, name); from != nil {
				parts[key], fail.Computed = from, true
			}
		}
	}
	if !fail.Computed {
		return fail
	}
	d.work = func(e *evaluation, _ value.Value) (value.Value, error) {
		members := make([]value.Member, 0, len(parts))
		for _, key := range []string{"error", "cause"} {
			v, err := parts[key].eval(e)
			if err != nil {
				return v, err
			}
			if v = e.lookup.Complete(v); v.Kind() != value.KindString && len(e.lookup.Load) == 0 {
				return v, e.fault("the %s is %s; allowed: a text", key, value.Shown(v))
			}
			members = append(members, value.Member{Key: key, Value: v})
		}
		return value.Object(members...), nil
	}
	return fail
}

// fork enters a state that runs others side by side and returns the function that leaves it. It
// reports the first state that is nested too deeply.
func (p *parser) fork(step *flow.Step) (leave func()) {
	if p.forks++; p.forks == flow.MaxForks+1 {
		p.Problem(step.Position, "%s: Parallel and Map are nested more than %d deep; put the inner ones into a machine of their own", p.place(), flow.MaxForks)
	}
	outer := p.scope
	p.lastScope++
	p.scope = append(slices.Clip(p.scope), scope{p.state, p.lastScope})
	return func() {
		p.forks--
		p.scope = outer
	}
}

func (s *seriesParser) parallel(step *flow.Step, d *data, n *document.Node) *flow.Parallel {
	defer s.fork(step)()
	d.work, d.result = branchWork, itemOutputs
	parallel := &flow.Parallel{}
	field := s.required(n, "Branches")
	if field == nil {
		return parallel
	}
	items := s.list(field, "Branches", "objects with StartAt and States")
	if len(items) > flow.MaxBranches {
		s.Problem(field.Pos, "%s: Branches has %d branches and the limit is %d; use a Map, or put several states into one branch",
			s.place(), len(items), flow.MaxBranches)
	}
	for _, item := range items {
		if item.Kind != document.Mapping {
			s.unfit(item, "a branch", "an object with StartAt and States")
			continue
		}
		s.fields(item, "a branch", "Comment", "StartAt", "States", "QueryLanguage")
		parallel.Branches = append(parallel.Branches, s.inner(item, step, inBranch))
	}
	return parallel
}

// inner reads the states of a branch or of the iterations of a Map.
func (p *parser) inner(n *document.Node, step *flow.Step, in around) []*flow.Step {
	outer := p.scope
	p.lastScope++
	p.scope = append(slices.Clip(p.scope), scope{p.state, p.lastScope})
	defer func() { p.scope = outer }()
	return p.states(n, step, in)
}

func (s *seriesParser) forMap(step *flow.Step, d *data, n *document.Node) *flow.Foreach {
	defer s.fork(step)()
	m := &mapData{items: s.pathField(n, "ItemsPath"), most: defaultLanes}
	s.onlyOne(n, false, "ItemSelector", "Parameters")
	if m.selector = s.templateOf(n, "ItemSelector"); m.selector == nil {
		m.selector = s.templateOf(n, "Parameters")
	}
	if s.isQuery {
		m.list = s.templateOf(n, "Items")
	}
	d.work, d.result = m.work, itemOutputs
	foreach := &flow.Foreach{Collection: memberPath(keyItems), Text: "$", Item: keyItem, Index: keyIndex}
	s.distributed(m, d, foreach, n)
	foreach.MaxConcurrency = m.lanes(0)
	if at := s.onlyOne(n, false, "MaxConcurrency", "MaxConcurrencyPath"); at != nil {
		if m.atOnce = s.sourceOf(at); m.atOnce != nil {
			foreach.AtOnce = memberPath(keyAtOnce)
		} else {
			m.written = s.whole(n, "MaxConcurrency", 0, maxAttempts, 0)
			if foreach.MaxConcurrency = m.lanes(int(min(m.written, flow.MaxConcurrency))); m.written > flow.MaxConcurrency && m.label != "" {
				s.warn(at.Value.Pos, "MaxConcurrency is %d, and at most %d children run at once", m.written, flow.MaxConcurrency)
			}
		}
	}
	foreach.Tolerance = s.tolerance(m, n)
	if m.items.path != nil {
		foreach.Text = m.items.text
	}
	if list := n.Get("Items"); s.isQuery && list != nil {
		text, isQuery := queryText(list.Scalar.Text())
		if !isQuery {
			text = list.Value().JSON()
		}
		foreach.Text = strings.TrimSpace(text)
	}
	if processor := s.onlyOne(n, true, "ItemProcessor", "Iterator"); processor != nil {
		outer, read := s.iteration, s.itemRead
		s.iteration, s.itemRead = m, false
		foreach.Steps = s.processor(processor, step, m)
		m.readsItem = s.itemRead
		s.iteration, s.itemRead = outer, read || m.readsItem
	}
	return foreach
}

// tolerance reads how many items of a Map may fail.
func (s *seriesParser) tolerance(m *mapData, n *document.Node) flow.Tolerance {
	if at := s.onlyOne(n, false, "ToleratedFailureCount", "ToleratedFailureCountPath"); at != nil {
		if m.mostFailed = s.sourceOf(at); m.mostFailed == nil {
			m.tolerance.Count = new(int(s.whole(n, "ToleratedFailureCount", 0, maxAttempts, 0)))
		}
	}
	if at := s.onlyOne(n, false, "ToleratedFailurePercentage", "ToleratedFailurePercentagePath"); at != nil {
		if m.mostShare = s.sourceOf(at); m.mostShare == nil {
			share, err := strconv.ParseFloat(at.Value.Scalar.Text(), 64)
			if at.Value.Scalar.Kind() != value.KindNumber || err != nil || share < 0 || share > 100 {
				s.unfit(at.Value, at.Key, "a number from 0 to 100")
			}
			m.tolerance.Percentage = &share
		}
	}
	if m.mostFailed == nil && m.mostShare == nil {
		return m.tolerance
	}
	return flow.Tolerance{Path: memberPath(keyTolerated)}
}

func (s *seriesParser) processor(e *document.Entry, step *flow.Step, m *mapData) []*flow.Step {
	n := e.Value
	if n.Kind != document.Mapping {
		s.unfit(n, e.Key, "an object with StartAt and States")
		return nil
	}
	s.fields(n, e.Key, "Comment", "StartAt", "States", "ProcessorConfig", "QueryLanguage")
	if m.label == "" {
		return s.inner(n, step, inIteration)
	}
	state, read, assigned, assigns := s.state, s.parser.read, s.assigned, s.assigns // children have variables of their own
	s.parser.read, s.assigned, s.assigns = nil, map[string]bool{}, nil
	steps := s.inner(n, step, inIteration)
	s.checkVariables()
	s.state, s.parser.read, s.assigned, s.assigns = state, read, assigned, assigns
	return steps
}
