package fdl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
)

// Parse reads a definition in YAML or JSON. The flow is nil when the problems
// have an error; otherwise they are warnings or none. Problems come in the
// order of their places, all at once. Parse never panics.
func Parse(text []byte) (*Flow, Problems) {
	p := &parser{}
	if root := p.read(text); root != nil {
		p.flowFrom(root)
		p.resolveGotos()
	}
	p.problems.sort()
	if len(p.problems.Errors()) > 0 {
		return nil, p.problems
	}
	return &p.flow, p.problems
}

// parser builds a flow from nodes and collects problems on the way.
type parser struct {
	reader
	flow  Flow
	names map[string]Position
	gotos []jump
}

func (p *parser) warn(at Position, message string) {
	p.problems = append(p.problems, Problem{Position: at, Severity: SeverityWarning, Message: message})
}

// The fields, in the order in which messages list them.
var (
	flowFields   = []string{"version", "type", "name", "steps", "inputMappings", "outputMappings"}
	stepFields   = []string{"type", "name", "end", "inputMappings", "outputMappings"}
	endingFields = []string{"type", "name", "inputMappings", "outputMappings"}
	branchFields = []string{"condition", "steps", "goto"}
)

// kindFields are the fields of each type of step beside the common ones.
var kindFields = map[string][]string{
	"task":    {"resourceArn", "pattern"},
	"pass":    {},
	"wait":    {"duration", "timestamp"},
	"choice":  {"choices", "default"},
	"succeed": {},
	"fail":    {"error", "cause"},
}

var stepTypes = []string{"task", "pass", "wait", "choice", "succeed", "fail"}

// What FDL has and this release does not run: said so, instead of "unknown".
var (
	laterTypes      = []string{"parallel", "foreach"}
	laterFlowFields = []string{"timeoutSeconds"}
	laterTaskFields = []string{
		"action", "serviceParams", "timeoutSeconds", "retry", "catch", "errorMappings", "heartbeatSeconds", "atMostOnce", "signed",
	}
	laterPatterns = []string{"waitForCallback", "sync", "waitForCondition"}
)

func (p *parser) flowFrom(root *node) {
	f, ok := p.fields(root, "a flow", flowFields, laterFlowFields)
	if !ok {
		return
	}
	p.names = map[string]Position{}
	p.flow.Version = p.oneOf(f.required("version"), "version", "v1", "v1beta1")
	p.oneOf(f.required("type"), "flow type", "flow")
	p.flow.Name = p.name(f.optional("name"), "flow name")
	p.flow.Input = p.mappings(f.optional("inputMappings"))
	p.flow.Output = p.mappings(f.optional("outputMappings"))
	p.flow.Steps = p.steps(f.required("steps"))
}

// fields are the fields of a mapping whose names were checked.
type fields struct {
	parser *parser
	at     Position
	where  string // "a task step", for messages
	values map[string]*node
}

// fields checks that n is a mapping and has no field but the allowed ones.
func (p *parser) fields(n *node, where string, allowed, later []string) (fields, bool) {
	f := fields{parser: p, at: n.pos, where: where, values: map[string]*node{}}
	if n.kind != nodeMapping {
		p.problem(n.pos, "found %s where %s belongs; allowed fields: %s", n.describe(), where, strings.Join(allowed, ", "))
		return f, false
	}
	for _, e := range n.entries {
		switch {
		case slices.Contains(allowed, e.key):
			f.values[e.key] = e.value
		case slices.Contains(later, e.key):
			p.problem(e.pos, "field %q of %s is not supported yet; allowed: %s", e.key, where, strings.Join(allowed, ", "))
		default:
			p.unknownField(e, where, allowed)
		}
	}
	return f, true
}

func (p *parser) unknownField(e entry, where string, allowed []string) {
	hint := DidYouMean(e.key, allowed)
	if hint == "" {
		hint = belongsElsewhere(e.key)
	}
	p.problem(e.pos, "field %q is unknown in %s%s (allowed: %s)", e.key, where, hint, strings.Join(allowed, ", "))
}

// belongsElsewhere names the types of steps that do have the field.
func belongsElsewhere(field string) string {
	for _, stepType := range stepTypes {
		if slices.Contains(kindFields[stepType], field) {
			return "; it belongs to a " + stepType + " step"
		}
	}
	switch field {
	case "goto", "condition":
		return "; it belongs to a branch of a choice step"
	case "target", "source":
		return "; it belongs to a mapping"
	}
	return ""
}

func (f fields) optional(name string) *node { return f.values[name] }

func (f fields) required(name string) *node {
	n := f.values[name]
	if n == nil {
		f.parser.problem(f.at, "%s has no field %q, which is required", f.where, name)
	}
	return n
}

// oneOf is the text of n when it is one of the allowed ones. A missing n was
// reported before.
func (p *parser) oneOf(n *node, what string, allowed ...string) string {
	if n == nil {
		return ""
	}
	text, ok := p.text(n, what)
	if ok && !slices.Contains(allowed, text) {
		p.problem(n.pos, "%s %q is unknown%s (allowed: %s)", what, text, DidYouMean(text, allowed), strings.Join(allowed, ", "))
	}
	return text
}

func (p *parser) text(n *node, what string) (string, bool) {
	if n.kind != nodeScalar || n.scalar.Kind() != expr.KindString {
		p.problem(n.pos, "%s is %s; allowed: text", what, n.describe())
		return "", false
	}
	return n.scalar.Text(), true
}

func (p *parser) optionalText(n *node, what string) string {
	if n == nil {
		return ""
	}
	text, _ := p.text(n, what)
	return text
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// ValidName reports whether a flow, an execution or a step may be named so: a
// letter or "_" first, then up to 127 letters, digits, "_" and "-".
func ValidName(name string) bool { return validName.MatchString(name) }

// name is the text of n when it is a valid name, else empty.
func (p *parser) name(n *node, what string) string {
	if n == nil {
		return ""
	}
	name, ok := p.text(n, what)
	if ok && !ValidName(name) {
		p.problem(n.pos, `%s %q is no name; a name begins with a letter or "_" and goes on with letters, digits, "_" and "-", 128 characters at most`, what, name)
		return ""
	}
	return name
}

func (p *parser) boolean(n *node, what string) bool {
	if n == nil {
		return false
	}
	if n.scalar.Kind() != expr.KindBool {
		p.problem(n.pos, "%s is %s; allowed: true, false", what, n.describe())
	}
	return n.scalar.IsTrue()
}

// items are the elements of a list.
func (p *parser) items(n *node, what string) []*node {
	if n.kind != nodeSequence {
		p.problem(n.pos, "%s is %s; allowed: a list", what, n.describe())
		return nil
	}
	return n.items
}

// mappings is nil for a list that the flow does not have.
func (p *parser) mappings(n *node) expr.Mappings {
	if n == nil {
		return nil
	}
	var list []expr.Mapping
	seen := map[string]Position{}
	for _, item := range p.items(n, "a list of mappings") {
		if m, ok := p.mapping(item, seen); ok {
			list = append(list, m)
		}
	}
	return expr.NewMappings(list...)
}

func (p *parser) mapping(n *node, seen map[string]Position) (m expr.Mapping, ok bool) {
	f, ok := p.fields(n, "a mapping", []string{"target", "source"}, nil)
	if !ok {
		return m, false
	}
	target, source := f.required("target"), f.required("source")
	if target == nil || source == nil {
		return m, false
	}
	m.Target, ok = p.text(target, "target of a mapping")
	if first, repeated := seen[m.Target]; ok && repeated {
		p.problem(target.pos, "target %q is mapped twice; it stands first at %s", m.Target, first)
		return m, false
	}
	seen[m.Target] = target.pos
	m.Source = p.source(source)
	return m, ok
}

func (p *parser) source(n *node) expr.Source {
	source, err := expr.ParseSource(n.value())
	if err != nil {
		p.syntaxProblem(n, err)
	}
	if _, isPath := source.Path(); !isPath && strings.HasPrefix(n.scalar.Text(), "$") {
		p.warn(n.pos, `source `+n.describe()+` is taken as it stands, since it begins with none of $input, $local, $context`+rootMeant(n.scalar.Text()))
	}
	return source
}

// rootMeant suggests a root for a text like "$locla.x" or "$.x".
func rootMeant(text string) string {
	root, _, _ := strings.Cut(text, ".")
	if root == "$" {
		return `; did you mean "$input` + text[1:] + `" or "$local` + text[1:] + `"?`
	}
	return DidYouMean(root, []string{"$input", "$local", "$context"})
}

// syntaxProblem reports what is wrong with a path or condition where it stands.
func (p *parser) syntaxProblem(n *node, err error) {
	at := n.pos
	if syntax, ok := err.(*expr.SyntaxError); ok && n.textColumn > 0 { //nolint:errorlint // expr returns it unwrapped
		at.Column = n.textColumn + syntax.Offset
	}
	p.problem(at, "%s", err)
}
