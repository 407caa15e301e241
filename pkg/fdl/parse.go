package fdl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

// Parse reads a definition in YAML or JSON and reports all its problems, in the order of their
// positions. The flow is nil if one of them is an error; the others are warnings. Parse does not
// panic.
func Parse(text []byte) (*Flow, Problems) {
	p := &parser{names: map[string]Position{}, functions: map[string]calledFunction{}}
	if root := p.read(text); root != nil {
		p.documentFrom(root)
		p.resolveJumps()
		p.firstSteps()
		p.unreached()
	}
	p.flow.Extensions.sort()
	p.flow.Extensions = slices.Compact(p.flow.Extensions).limited()
	p.reportRefs()
	p.problems.sort()
	problems := slices.Compact(p.problems) // a problem that an alias repeats is reported once
	if len(problems.Errors()) > 0 {
		return nil, problems.limited()
	}
	return &p.flow, problems.limited()
}

// documentFrom reads the flow, unless the document is in another language.
func (p *parser) documentFrom(root *node) {
	if d := dialectOf(root); d != nil {
		p.otherLanguage(root, d)
		return
	}
	p.flowFrom(root)
}

// parser builds a flow from nodes and collects problems.
type parser struct {
	reader
	flow  Flow
	names map[string]Position
	jumps []jump
	// functions are those that tasks call, by their names.
	functions map[string]calledFunction
	// forks are the parallel and foreach steps around what is being read.
	forks int
	// firsts are problems of first steps that count unless a goto leads to the step.
	firsts []first
}

func (p *parser) warn(at Position, message string) {
	p.problems = append(p.problems, Problem{Position: at, Severity: SeverityWarning, Message: message})
}

// The fields, in the order in which messages list them.
var (
	flowFields           = []string{"version", "type", "name", "steps", "inputMappings", "outputMappings", "timeoutSeconds"}
	stepFields           = []string{"type", "name", "end", "inputMappings", "outputMappings"}
	endingFields         = []string{"type", "name", "inputMappings", "outputMappings"}
	branchFields         = []string{"condition", "steps", "goto"}
	defaultFields        = []string{"steps", "goto"}
	parallelBranchFields = []string{"steps"}
	iterationFields      = []string{"collection", "item", "index"}
	mappingFields        = []string{"target", "source"}
	policyFields         = []string{"errors", "intervalSeconds", "maxIntervalSeconds", "maxAttempts", "multiplier"}
	catchFields          = []string{"errors", "goto", "steps"}
	pollFields           = []string{"condition", "intervalSeconds", "backoffRate", "maxAttempts"}
)

// kindFields are the fields of each type of step beside the common ones.
var kindFields = map[string][]string{
	"task": slices.Concat([]string{"resourceArn", "action", "serviceParams", "pattern", "timeoutSeconds", "retry", "catch", "errorMappings"},
		pollFields, []string{"heartbeatSeconds", "atMostOnce", "signed"}),
	"pass":     {},
	"wait":     {"duration", "timestamp"},
	"choice":   {"choices", "default"},
	"parallel": {"branches"},
	"foreach":  {"iterationMapping", "steps", "maxConcurrency"},
	"succeed":  {},
	"fail":     {"error", "cause"},
}

var stepTypes = []string{"task", "pass", "wait", "choice", "parallel", "foreach", "succeed", "fail"}

func (p *parser) flowFrom(root *node) {
	f, ok := p.fields(root, "a flow", flowFields)
	if !ok {
		return
	}
	p.flow.Version = p.version(f.required("version"))
	p.oneOf(f.required("type"), "flow type", "flow")
	p.flow.Name = p.name(f.optional("name"), "flow name")
	p.flow.Input = p.mappings(f, "inputMappings")
	p.flow.Output = p.mappings(f, "outputMappings")
	p.flow.Timeout = p.seconds(f.optional("timeoutSeconds"), "timeoutSeconds")
	p.flow.Steps = p.steps(f.required("steps"), nil)
	p.flowSources(f)
}

var versions = []string{"v1", "v1beta1"}

// version reads the version of the language. Vendors' examples also have v1.0, which the vendor's
// service rejects.
func (p *parser) version(n *node) string {
	if n == nil {
		return ""
	}
	if n.kind == nodeScalar && slices.Contains([]string{"v1.0", "v1.0.0", "1", "1.0"}, n.scalar.Text()) {
		p.problem(n.pos, "version %s is unknown; write \"version: v1\" (allowed: %s)", n.describe(), strings.Join(versions, ", "))
		return ""
	}
	return p.oneOf(n, "version", versions...)
}

// fields are the fields of a mapping whose names were checked.
type fields struct {
	parser *parser
	node   *node
	where  string // "a task step", for messages
	values map[string]*node
}

// fields checks that n is a mapping with allowed fields only.
func (p *parser) fields(n *node, where string, allowed []string) (fields, bool) {
	f := fields{parser: p, node: n, where: where, values: map[string]*node{}}
	if n.kind != nodeMapping {
		p.unfit(n, where, "a mapping with the fields "+strings.Join(allowed, ", "))
		return f, false
	}
	for _, e := range n.entries {
		if slices.Contains(allowed, e.key) {
			f.values[e.key] = e.value
		} else {
			p.unknownField(e, where, allowed)
		}
	}
	f.addMeant(allowed)
	return f, true
}

// addMeant uses a misspelt field as the one that it means, so that its problems are reported, too,
// and the field is not reported as missing.
func (f fields) addMeant(allowed []string) {
	for _, e := range f.node.entries {
		if meant := closest(e.key, allowed); meant != "" && f.values[meant] == nil && !slices.Contains(allowed, e.key) {
			f.values[meant] = e.value
		}
	}
}

func (p *parser) unknownField(e entry, where string, allowed []string) {
	hint := DidYouMean(e.key, allowed)
	if hint == "" {
		hint = belongsElsewhere(e.key)
	}
	p.problem(e.pos, "field %q is unknown in %s%s (allowed: %s)", shortened(e.key), where, hint, strings.Join(allowed, ", "))
}

// belongsElsewhere returns a hint at the element that has the field.
func belongsElsewhere(field string) string {
	switch field {
	case "goto":
		return "; it belongs to a branch of a choice step or to an entry of a task step's catch"
	case "condition":
		return "; it belongs to a branch of a choice step, or to a task step with \"pattern: waitForCondition\""
	case "errors":
		return "; it belongs to a policy of a task step's retry or to an entry of its catch"
	case "maxIntervalSeconds", "multiplier":
		return "; it belongs to a policy of a task step's retry"
	case "target", "source":
		return "; it belongs to a mapping"
	case "collection", "item", "index":
		return "; it belongs to the iterationMapping of a foreach step"
	}
	for _, stepType := range stepTypes {
		if slices.Contains(kindFields[stepType], field) {
			return "; it belongs to a " + stepType + " step"
		}
	}
	return ""
}

func (f fields) optional(name string) *node { return f.values[name] }

func (f fields) required(name string) *node {
	n := f.values[name]
	if n == nil {
		f.missing("%s has no field %q, which is required", f.where, name)
	}
	return n
}

// missing reports a missing field, if all fields were read.
func (f fields) missing(format string, args ...any) {
	if !f.node.partial {
		f.parser.problem(f.node.pos, format, args...)
	}
}

// either returns the one of two fields that is set. It reports both and neither, and returns nil
// twice.
func (f fields) either(first, second string) (a, b *node) {
	a, b = f.optional(first), f.optional(second)
	switch {
	case a != nil && b != nil:
		f.parser.problem(later(a.pos, b.pos), `%s has both %q and %q; write one of them`, f.where, first, second)
		return nil, nil
	case a == nil && b == nil:
		f.missing(`%s has neither %q nor %q; write one of them`, f.where, first, second)
	}
	return a, b
}

// unfit reports a value that is not allowed.
func (p *parser) unfit(n *node, what, allowed string) {
	if n.kind != nodeUnreadable {
		p.problem(n.pos, "%s is %s; allowed: %s", what, n.describe(), allowed)
	}
}

// oneOf returns the text of n if it is allowed, or the allowed text that a misspelt one means. A
// missing n was reported before.
func (p *parser) oneOf(n *node, what string, allowed ...string) string {
	if n == nil {
		return ""
	}
	text, ok := n.text()
	switch {
	case !ok:
		p.unfit(n, what, strings.Join(allowed, ", "))
	case !slices.Contains(allowed, text):
		p.problem(n.pos, "%s %q is unknown%s (allowed: %s)", what, shortened(text), DidYouMean(text, allowed), strings.Join(allowed, ", "))
		return closest(text, allowed)
	}
	return text
}

// text returns the text of n, and false if n is not a text.
func (n *node) text() (text string, ok bool) {
	if n.kind != nodeScalar || n.scalar.Kind() != value.KindString {
		return "", false
	}
	return n.scalar.Text(), true
}

// text returns the text of n and reports other values.
func (p *parser) text(n *node, what, allowed string) (text string, ok bool) {
	if text, ok = n.text(); !ok {
		p.unfit(n, what, allowed)
	}
	return text, ok
}

func (p *parser) optionalText(n *node, what string) string {
	if n == nil {
		return ""
	}
	text, _ := p.text(n, what, "text; a number or a boolean is one in quotes")
	return text
}

// validName does not check the length: {0,127} would compile into as many states whenever a process
// starts.
var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// MaxName is the maximum length of a name, the vendor's limit.
const MaxName = 128

// ValidName reports whether name is valid for a flow, an execution or a step: a letter or "_", then
// up to 127 letters, digits, "_" and "-".
func ValidName(name string) bool { return len(name) <= MaxName && validName.MatchString(name) }

// nameRule is [ValidName] in words.
const nameRule = `a letter or "_", then letters, digits, "_" and "-", 128 characters at most`

// name returns the text of n and reports invalid names.
func (p *parser) name(n *node, what string) string {
	if n == nil {
		return ""
	}
	name, ok := n.text()
	switch {
	case len(name) > MaxName:
		p.problem(n.pos, "%s %q has %d bytes and the limit is %d; shorten it", what, shortened(name), len(name), MaxName)
	case !ok || !ValidName(name):
		p.unfit(n, what, nameRule)
	}
	return name
}

func (p *parser) boolean(n *node, what string) bool {
	if n == nil {
		return false
	}
	if n.scalar.Kind() != value.KindBool {
		p.unfit(n, what, "true, false")
	}
	return n.scalar.IsTrue()
}

// items are the elements of a list.
func (p *parser) items(n *node, what, allowed string) []*node {
	if n.kind != nodeSequence {
		p.unfit(n, what, allowed)
	}
	return n.items
}

// someItems are the elements of a list that may not be empty.
func (p *parser) someItems(n *node, what, allowed string) []*node {
	items := p.items(n, what, allowed)
	if n.kind == nodeSequence && len(items) == 0 {
		p.problem(n.pos, "%s is an empty list; allowed: %s, at least one", what, allowed)
	}
	return items
}

// mappings returns nil for a missing list.
func (p *parser) mappings(f fields, name string) expr.Mappings {
	n := f.optional(name)
	if n == nil {
		return nil
	}
	var list []expr.Mapping
	seen := map[string]Position{}
	for _, item := range p.items(n, name, "a list of mappings, each with a target and a source") {
		if m, ok := p.mapping(item, seen); ok {
			list = append(list, m)
		}
	}
	return expr.NewMappings(list...)
}

func (p *parser) mapping(n *node, seen map[string]Position) (m expr.Mapping, ok bool) {
	f, ok := p.fields(n, "a mapping", mappingFields)
	if !ok {
		return m, false
	}
	target, source := f.required("target"), f.required("source")
	if source != nil {
		m.Source = p.source(source)
	}
	if target == nil {
		return m, false
	}
	if m.Target, ok = p.text(target, "target", "text; a number or a boolean is one in quotes"); !ok {
		return m, false
	}
	if first, repeated := seen[m.Target]; repeated {
		p.problem(target.pos, "target %q is mapped twice; it stands first at %s", shortened(m.Target), first)
		return m, false
	}
	seen[m.Target] = target.pos
	return m, source != nil
}

func (p *parser) source(n *node) expr.Source {
	v := n.value()
	source, err := expr.ParseSource(v)
	text, isText := n.text()
	_, isPath := source.Path()
	switch {
	case err != nil:
		p.syntaxProblem(n, err, rootMeant(text))
	case v.TooDeep():
		p.problem(n.pos, "source has %d levels of arrays and objects and the limit is %d; write what is inside as a text", v.Levels(), value.MaxLevels)
	case isText && !isPath && strings.HasPrefix(text, "$"):
		p.warn(n.pos, "source "+n.describe()+" is a constant, because it does not begin with $input, $local or $context"+rootMeant(text))
	case !isPath:
		p.pathsInside(n)
	}
	return source
}

// rootInText is a root of a path in the middle of a text.
var rootInText = regexp.MustCompile(`\$(?:input|local|context)\b`)

// pathsInside warns of a constant with a path inside, which is not replaced by its value.
func (p *parser) pathsInside(n *node) {
	for _, e := range n.entries {
		p.pathsInside(e.value)
	}
	for _, item := range n.items {
		p.pathsInside(item)
	}
	text, ok := n.text()
	place := rootInText.FindStringIndex(text)
	if !ok || place == nil {
		return
	}
	p.warn(p.placeIn(n, utf8.RuneCountInString(text[:place[0]])), fmt.Sprintf(
		"text %q is a constant: no path is replaced inside of a text, a list or an object; map the path to a target of its own, and join the values in a function",
		shortened(text)))
}

// rootMeant suggests a root for a source like "$locla.x" or "$.x".
func rootMeant(text string) string {
	root, rest := text, ""
	if i := strings.IndexAny(text, ".["); i >= 0 {
		root, rest = text[:i], shortened(text[i:])
	}
	roots := []string{"$input", "$local", "$context"}
	switch {
	case root == "$":
		return fmt.Sprintf("; did you mean %q or %q?", "$input"+rest, "$local"+rest)
	case slices.Contains(roots, root):
		return ""
	}
	return DidYouMean(root, roots)
}

// syntaxProblem reports an error in a path or a condition at its position.
func (p *parser) syntaxProblem(n *node, err error, hint string) {
	at := n.pos
	if syntax, ok := err.(*expr.SyntaxError); ok { //nolint:errorlint // expr returns it unwrapped
		at = p.placeIn(n, syntax.Offset)
	}
	p.problem(at, "%s%s", err, hint)
}
