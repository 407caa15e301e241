package asl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

// The limits of the language.
const (
	maxValue    = 256 << 10 // bytes of a value
	maxName     = 80        // characters of the name of a state
	maxSeconds  = 99_999_999
	maxDelay    = 31_622_400 // seconds, of MaxDelaySeconds
	maxAttempts = 99_999_999
	// life is how long an execution may take if its machine has no TimeoutSeconds: a year.
	life = 366 * 24 * time.Hour
	// maxWait is the longest wait: as many seconds as 32 bits have.
	maxWait  = (1<<31 - 1) * time.Second
	maxPause = maxWait // between attempts
)

// Is reports whether a text is meant to be in this language: whether it has a field that only its
// machines have. Other texts are cheap to tell.
func Is(text []byte) bool {
	if !strings.Contains(string(text), "StartAt") && !strings.Contains(string(text), "States") {
		return false
	}
	root := (&document.Reader{}).Read(text)
	if root == nil || root.Get("steps") != nil || root.Get("SpecVersion") != nil || root.Get("Resources") != nil {
		return false
	}
	return root.Get("StartAt") != nil || root.Get("States") != nil
}

// Parse reads a machine in JSON or YAML and reports all its problems, in the order of their
// positions. The flow is nil if one of them is an error; the others are warnings. Checks add
// problems, and run although an error may leave the flow incomplete. Parse does not panic.
func Parse(text []byte, checks ...flow.Check) (*flow.Flow, flow.Problems) {
	p := newParser(nil)
	if len(bytes.TrimSpace(text)) == 0 {
		p.coded("MISSING_DESCRIPTION", flow.Position{Line: 1, Column: 1}, "the machine is empty; it begins with StartAt and States")
	} else if root := p.Read(text); root != nil && p.checkJSON(text) {
		p.machine(root)
		p.checkVariables()
	}
	for _, check := range checks {
		if check != nil {
			p.Problems = append(p.Problems, check(&p.flow)...)
		}
	}
	problems := append(p.Problems, p.warnings...).Reported()
	if len(problems.Errors()) > 0 {
		return nil, problems
	}
	return &p.flow, problems
}

// newParser returns a parser of a machine, or of a single state if that is not nil.
func newParser(single *SingleState) *parser {
	p := &parser{names: map[string]flow.Position{}, assigned: map[string]bool{}, single: single, language: languagePath}
	p.flow = flow.Flow{
		IsMachine: true, Data: machineData{}, Matches: matches, Join: join, Named: named, PlainCauses: true, Life: life,
		Values: flow.Values{Any: true, Each: maxValue, LambdaErrors: true},
	}
	return p
}

// unserved reports a feature of the language that is not served, unless a single state is read: a
// mock may stand for it.
func (p *parser) unserved(at flow.Position, format string, args ...any) {
	if p.single != nil {
		p.single.Unserved = append(p.single.Unserved, flow.NewProblem(flow.SeverityError, at, format, args...))
		return
	}
	p.Problem(at, format, args...)
}

// checkJSON reports a text in braces that YAML allows and JSON does not. Step Functions has JSON.
func (p *parser) checkJSON(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return true
	}
	syntax, isWrong := errors.AsType[*json.SyntaxError](json.Unmarshal(text, new(json.RawMessage)))
	if isWrong {
		before := text[:max(syntax.Offset-1, 0)]
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		at := flow.Position{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(line)}
		p.coded("INVALID_JSON_DESCRIPTION", at, "the machine begins with { and is not JSON: %s; for YAML write it without the braces around", syntax)
	}
	return !isWrong
}

// parser builds a flow from nodes and collects problems.
type parser struct {
	document.Reader

	flow     flow.Flow
	warnings flow.Problems
	names    map[string]flow.Position // of all states
	state    string                   // the state that is read, "" outside
	around   around                   // of its series
	forks    int                      // around it
	// read and assigned are the variables that states read and assign.
	read     []variableRead
	assigned map[string]bool
	assigns  []assignment
	paths    []pathRead // in fields whose value the states before a state make
	// scope has the forks and branches around the state, the outermost first. A state does not
	// assign variables of an outer scope, unless the fork around it assigns them, which is later.
	scope     []scope
	lastScope int
	// contextRead is set once an expression reads the context object, and itemRead once an
	// expression reads its item of a Map.
	contextRead, itemRead bool
	iteration             *mapData // of the states that are read, nil outside of a Map
	// isQuery says that the state has JSONata, and language is the one of states that name none.
	isQuery  bool
	language string
	// resultRead is set once an expression reads $states.result, and hasResult says that it has a
	// value.
	resultRead, hasResult bool
	inCatch               bool // in an entry of a Catch
	single                *SingleState
}

type variableRead struct {
	at          flow.Position
	state, name string
	isQuery     bool
	scope       []scope
}

// place names the state that is read, for messages.
func (p *parser) place() string {
	if p.state == "" {
		return "the machine"
	}
	return "state " + strconv.Quote(document.Shortened(p.state))
}

// unfit reports a value that is not allowed.
func (p *parser) unfit(n *document.Node, what, allowed string) {
	if n.Kind != document.Unreadable {
		p.Problem(n.Pos, "%s: %s is %s; allowed: %s", p.place(), what, described(n), allowed)
	}
}

// described is [document.Node.Describe] in the words of JSON.
func described(n *document.Node) string {
	return strings.NewReplacer("a mapping", "an object", "a list", "an array").Replace(n.Describe())
}

// coded reports a problem that has a code of its own.
func (p *parser) coded(code string, at flow.Position, format string, args ...any) {
	p.Problem(at, format, args...)
	p.Problems[len(p.Problems)-1].Code = code
}

// The state to which a name leads is missing, or a state to which no name leads.
const codeTarget = "MISSING_TRANSITION_TARGET"

func (p *parser) warn(at flow.Position, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	p.warnings = append(p.warnings, flow.NewProblem(flow.SeverityWarning, at, "%s: %s", p.place(), message))
}

func (p *parser) noteReads(n *document.Node, r reads) {
	p.contextRead = p.contextRead || r.context
	p.itemRead = p.itemRead || r.item
	for _, name := range r.variables {
		p.read = append(p.read, variableRead{n.Pos, p.state, name, false, p.scope})
	}
}

// assignment is a variable that a state assigns in a scope.
type assignment struct {
	at          flow.Position
	state, name string
	scope       []scope
}

// scope is a fork, or a branch of it.
type scope struct {
	fork   string
	number int // of all scopes
}

// checkVariables reports reads of variables that no state assigns, and assignments to variables of
// a scope around the state.
func (p *parser) checkVariables() {
	names := slices.Sorted(maps.Keys(p.assigned))
	callable := slices.Concat(names, jsonata.Functions(), slices.Sorted(maps.Keys(queryFunctions())))
	scopes := map[string][][]scope{}
	for _, a := range p.assigns {
		scopes[a.name] = append(scopes[a.name], a.scope)
		isOuter := func(b assignment) bool {
			return b.name == a.name && len(b.scope) < len(a.scope) && slices.Equal(b.scope, a.scope[:len(b.scope)]) &&
				!slices.ContainsFunc(a.scope, func(s scope) bool { return s.fork == b.state })
		}
		if i := slices.IndexFunc(p.assigns, isOuter); i >= 0 {
			p.state = a.state
			p.Problem(a.at, "%s: variable %q belongs to the states around, where state %q assigns it; use another name", p.place(), a.name, p.assigns[i].state)
		}
	}
	for _, r := range p.read {
		p.state = r.state
		if p.assigned[r.name] {
			isAround := func(around []scope) bool {
				return len(around) <= len(r.scope) && slices.Equal(around, r.scope[:len(around)])
			}
			if !slices.ContainsFunc(scopes[r.name], isAround) {
				p.warn(r.at, "only states of another branch or iteration assign variable $%s, so it has no value here", r.name)
			}
			continue
		}
		if r.name == "states" {
			p.Problem(r.at, "%s: $states belongs to JSONata; with JSONPath write \"$\" for the input and \"$$\" for the context object", p.place())
			continue
		}
		if r.isQuery {
			p.warn(r.at, "no state assigns variable $%s, so it has no value%s", r.name, similar.DidYouMean(r.name, callable))
			continue
		}
		p.Problem(r.at, "%s: no state assigns variable $%s%s", p.place(), r.name, similar.DidYouMean(r.name, names))
	}
}

func (p *parser) machine(root *document.Node) {
	if root.Kind != document.Mapping {
		p.unfit(root, "the definition", "an object with the fields StartAt and States")
		return
	}
	p.fields(root, "a machine", "Comment", "StartAt", "States", "TimeoutSeconds", "Version", "QueryLanguage")
	if n := root.Get("Version"); n != nil && n.Scalar.Text() != "1.0" {
		p.unfit(n, "Version", `"1.0"`)
	}
	p.flow.Timeout = p.seconds(root, "TimeoutSeconds", 1)
	p.language = p.queryLanguage(root, languagePath)
	p.flow.Steps = p.states(root, nil, inMachine)
}

// The languages of expressions.
const (
	languagePath  = "JSONPath"
	languageQuery = "JSONata"
)

// queryLanguage returns the language of expressions of a machine or a state.
func (p *parser) queryLanguage(n *document.Node, otherwise string) string {
	field := n.Get("QueryLanguage")
	if field == nil {
		return otherwise
	}
	switch language, _ := field.Text(); {
	case language == languageQuery || language == languagePath && otherwise == languagePath:
		return language
	case language == languagePath:
		p.Problem(field.Pos, "%s: QueryLanguage is JSONPath, and the machine has JSONata; only a machine with JSONPath has states of both", p.place())
	default:
		p.unfit(field, "QueryLanguage", `"JSONPath" or "JSONata"`)
	}
	return otherwise
}

// fields reports fields that a mapping must not have.
func (p *parser) fields(n *document.Node, title string, allowed ...string) {
	for _, e := range n.Entries {
		if slices.Contains(allowed, e.Key) {
			if e.Key == "Comment" {
				p.text(n, e.Key)
			}
			continue
		}
		hint := similar.DidYouMean(e.Key, allowed)
		if hint == "" {
			hint = p.elsewhere(e.Key, allowed)
		}
		p.Problem(e.Pos, "%s: field %q is unknown in %s%s (allowed: %s)", p.place(), document.Shortened(e.Key), title, hint, strings.Join(allowed, ", "))
	}
}

// elsewhere says that a field belongs to the other language of expressions, and which allowed field
// has its place.
func (p *parser) elsewhere(field string, allowed []string) string {
	of, own, twins := languageQuery, languagePath, map[string]string{
		"Arguments": "Parameters", "Output": "ResultSelector Parameters OutputPath", "Condition": "Variable", "Items": "ItemsPath",
	}[field]
	if p.isQuery {
		of, own, twins = languagePath, languageQuery, map[string]string{
			"Parameters": "Arguments ItemSelector Output", "InputPath": "$states.input", "OutputPath": "Output", "ResultPath": "Output", "ResultSelector": "Output",
			"Result": "Output", "Variable": "Condition", "And": "Condition", "Or": "Condition", "Not": "Condition", "ItemsPath": "Items",
		}[field]
		if twins == "" {
			twins, _ = strings.CutSuffix(field, "Path")
		}
	}
	for _, twin := range strings.Fields(twins) {
		if slices.Contains(allowed, twin) || strings.HasPrefix(twin, "$") {
			return "; it belongs to " + of + "; with " + own + " write " + twin
		}
	}
	return ""
}

// states reads the states of a machine, a branch or the iterations of a Map, and returns the first
// one before the others, which stand in the order of the text.
func (p *parser) states(n *document.Node, owner *flow.Step, in around) []*flow.Step {
	outer := p.around
	defer func() { p.around = outer }()
	p.around = in
	first, mapping := p.required(n, "StartAt"), p.required(n, "States")
	if mapping == nil {
		return nil
	}
	if mapping.Kind != document.Mapping || len(mapping.Entries) == 0 {
		p.unfit(mapping, "States", "an object with a state, like {\"Wait\": {\"Type\": \"Wait\", ...}}")
		return nil
	}
	entries := slices.Clone(mapping.Entries)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Key
	}
	if first != nil {
		i := slices.Index(names, first.Scalar.Text())
		if i < 0 {
			p.coded(codeTarget, first.Pos, "%s: StartAt is %s, which is no state of this object%s", p.place(), described(first),
				similar.MeantOrKnown(first.Scalar.Text(), names))
		} else {
			start := entries[i]
			entries = slices.Insert(slices.Delete(entries, i, i+1), 0, start)
		}
	}
	s := &seriesParser{parser: p, series: &flow.Series{Owner: owner}, names: names, steps: map[string]*flow.Step{}}
	for _, e := range entries {
		s.read(e)
	}
	s.connect()
	return s.series.Steps
}

// required returns a field, and reports that it is missing.
func (p *parser) required(n *document.Node, name string) *document.Node {
	field := n.Get(name)
	if field == nil && !n.Partial {
		p.Problem(n.Pos, "%s: field %q is missing, which is required", p.place(), name)
	}
	return field
}

// seriesParser reads the states of one States object.
type seriesParser struct {
	*parser

	series *flow.Series
	names  []string
	steps  map[string]*flow.Step
	jumps  []jump
}

// jump is a name of a state to go to. The state is stored in to.
type jump struct {
	at    *document.Node
	state string // that has it
	field string
	to    **flow.Step
	// caught is the number of the entry of Catch, from 1 on, that has it.
	caught int
}

func (s *seriesParser) read(e document.Entry) {
	outer := s.state
	defer func() { s.state = outer }()
	s.state = e.Key
	if size := utf8.RuneCountInString(e.Key); size == 0 || size > maxName {
		s.Problem(e.Pos, "%s: the name has %d characters; allowed: 1 to %d", s.place(), size, maxName)
	}
	if first, repeated := s.parser.names[e.Key]; !repeated {
		s.parser.names[e.Key] = e.Pos
	} else {
		s.coded("DUPLICATE_STATE_NAME", e.Pos, "%s: the name is repeated; it stands first at %s, and names are unique in the whole machine", s.place(), first)
	}
	if e.Value.Kind != document.Mapping {
		s.unfit(e.Value, "a state", "an object with the field Type")
		return
	}
	step := &flow.Step{Position: e.Pos, Index: len(s.flow.All), Name: e.Key, Series: s.series}
	s.flow.All = append(s.flow.All, step)
	s.series.Steps = append(s.series.Steps, step)
	s.steps[e.Key] = step
	s.stateOf(step, e.Value)
}

// connect looks the names of states up. It reports states to which no other leads, and a series
// without an end, and warns of ways that lead nowhere.
func (s *seriesParser) connect() {
	outer, targets, leaves := s.state, map[string]bool{}, map[string]bool{}
	for _, j := range s.jumps {
		name, _ := j.at.Text()
		s.state = j.state
		targets[name] = targets[name] || name != j.state
		*j.to = s.steps[name]
		leaves[j.state] = leaves[j.state] || *j.to != nil
		if _, isText := j.at.Text(); !isText {
			s.unfit(j.at, j.field, "the name of a state: "+strings.Join(s.names, ", "))
			continue
		}
		if _, exists := s.parser.names[name]; *j.to != nil || slices.Contains(s.names, name) {
			continue
		} else if exists {
			s.coded(codeTarget, j.at.Pos, "%s: %s is %q, which is in another States object; allowed: %s", s.place(), j.field, name, strings.Join(s.names, ", "))
			continue
		}
		s.coded(codeTarget, j.at.Pos, "%s: %s is %s, which is no state%s", s.place(), j.field, described(j.at), similar.MeantOrKnown(name, s.names))
	}
	hasEnd := len(s.series.Steps) == 0
	for i, step := range s.series.Steps {
		hasEnd = hasEnd || step.End || !leaves[step.Name]
		if s.state = step.Name; i > 0 && !targets[step.Name] {
			s.coded(codeTarget, step.Position, "%s: no state leads to it; name it in a Next, or remove it", s.place())
		}
	}
	if s.state = outer; !hasEnd {
		s.coded("MISSING_END_STATE", s.series.Steps[0].Position,
			"%s: no state ends it; write \"End\": true into the last state, or let a state lead to a Succeed or a Fail", s.place())
	}
	if len(s.Problems.Errors()) == 0 {
		s.checkWays()
	}
}

// list returns the items of an array that is not empty.
func (p *parser) list(n *document.Node, what, of string) []*document.Node {
	switch {
	case n.Kind != document.Sequence:
		p.unfit(n, what, "an array of "+of)
	case len(n.Items) == 0:
		p.Problem(n.Pos, "%s: %s is empty; write at least one of the %s", p.place(), what, of)
	}
	return n.Items
}

// whole returns a whole number from least to most, or otherwise for a missing one.
func (p *parser) whole(n *document.Node, name string, least, most, otherwise int64) int64 {
	field := n.Get(name)
	if field == nil {
		return otherwise
	}
	number, ok := field.Scalar.Int64()
	if !ok || number < least || number > most || field.Kind != document.Scalar {
		p.unfit(field, name, "a whole number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
		return otherwise
	}
	return number
}

func (p *parser) seconds(n *document.Node, name string, least int64) time.Duration {
	return time.Duration(p.whole(n, name, least, maxSeconds, 0)) * time.Second
}

// text returns a text, "" for a missing one.
func (p *parser) text(n *document.Node, name string) string {
	field := n.Get(name)
	if field == nil {
		return ""
	}
	text, ok := field.Text()
	if !ok {
		p.unfit(field, name, "a text")
	}
	return text
}

// pathOf reads a path, nil for none.
func (p *parser) pathOf(n *document.Node, what string) *path {
	if n == nil {
		return nil
	}
	text, ok := n.Text()
	if !ok {
		p.unfit(n, what, `a path like "$.order.id"`)
		return &path{}
	}
	parsed, reads, err := parsePath(text)
	if err != nil {
		p.Problem(n.Pos, "%s: %s: %s; allowed: a path like \"$.order.id\"", p.place(), what, err)
		return &path{}
	}
	p.noteReads(n, reads)
	p.paths = append(p.paths, pathRead{n.Pos, p.state, what, parsed})
	return parsed
}

// pathField reads InputPath, OutputPath or ItemsPath.
func (p *parser) pathField(n *document.Node, name string) pathField {
	field := n.Get(name)
	if field != nil && field.Kind == document.Scalar && field.Scalar.Kind() == value.KindNull {
		return pathField{null: true}
	}
	return pathField{path: p.pathOf(field, name)}
}

// isQueryText reports whether a text of the state is a JSONata expression.
func (p *parser) isQueryText(text string) bool {
	_, ok := queryText(text)
	return ok && p.isQuery
}

// queryOf reads the expression of a text in a state with JSONata, nil for anything else.
func (p *parser) queryOf(n *document.Node, field string) expression {
	text, _ := n.Text()
	if !p.isQueryText(text) {
		if p.isQuery && strings.HasPrefix(text, queryBegin) != strings.HasSuffix(text, queryEnd) {
			p.Problem(n.Pos, "%s: %s is %s, which is no whole expression; write \"{%% ... %%}\", without spaces around", p.place(), field, described(n))
		}
		return nil
	}
	text, _ = queryText(text)
	return p.query(n, text, field)
}

// sourceOf reads a field that has a path, or an expression of JSONata. It returns nil for a
// constant.
func (p *parser) sourceOf(e *document.Entry) *source {
	text, _ := e.Value.Text()
	s := &source{name: e.Key, text: text}
	if strings.HasSuffix(e.Key, "Path") {
		s.expression = p.pathOf(e.Value, e.Key)
	} else if s.expression = p.queryOf(e.Value, e.Key); s.expression == nil {
		return nil
	}
	return s
}

// templateOf reads a template, nil for none.
func (p *parser) templateOf(n *document.Node, name string) *template {
	field := n.Get(name)
	if field == nil {
		return nil
	}
	t := p.template(field, name)
	return &t
}
