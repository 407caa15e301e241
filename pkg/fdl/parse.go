package fdl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

// Parse reads a definition in YAML or JSON and reports all its problems, in the order of their
// positions. The flow is nil if one of them is an error; the others are warnings. Parse does not
// panic.
func Parse(text []byte) (*Flow, Problems) {
	p := &parser{names: map[string]named{}, functions: map[string]calledFunction{}}
	if root := p.read(text); root != nil {
		p.flowFrom(root)
		p.resolveJumps()
		p.firstSteps()
		p.unreached()
	}
	p.flow.Extensions.sort()
	p.flow.Extensions = slices.Compact(p.flow.Extensions).limited()
	p.problems.sort()
	problems := slices.Compact(p.problems) // a problem that an alias repeats is reported once
	if len(problems.Errors()) > 0 {
		return nil, problems.limited()
	}
	return &p.flow, problems.limited()
}

// parser builds a flow from nodes and collects problems.
type parser struct {
	reader
	flow  Flow
	names map[string]named
	jumps []jump
	// functions are those that tasks call, by their names.
	functions map[string]calledFunction
	// forks are the parallel and foreach steps around what is being read.
	forks int
	// locals are the sources in the input of steps that read $local.
	locals []localSource
}

func (p *parser) flowFrom(root *node) {
	if p.isOtherLanguage(root) {
		return
	}
	f := p.fields(root, "flow")
	if f == nil {
		return
	}
	p.flow.Version = f.oneOf("version", "version")
	f.oneOf("type", "flow type")
	p.flow.Name = f.nameOf("flow name")
	p.flow.Input = f.mappings("inputMappings")
	p.flow.Output = f.mappings("outputMappings")
	p.flow.Timeout = f.seconds("timeoutSeconds", 0)
	p.flow.Steps = p.steps(f, nil)
	p.checkSources(f, nil)
}

// otherLanguages are those that a document may be written in. Their signs are fields of the root
// that FDL does not have.
var otherLanguages = []struct {
	signs []string
	what  string
}{
	{[]string{"SpecVersion"}, "this flow is written in the newer language of CloudFlow (SpecVersion, States)"},
	{[]string{"StartAt", "States"}, "this flow is written in the Amazon States Language (StartAt, States)"},
	{
		[]string{"ROSTemplateFormatVersion", "AWSTemplateFormatVersion", "Resources"},
		"this is a template of a deployment (Resources); read its flow with --import",
	},
	{[]string{"edition", "services"}, "this is a project of Serverless Devs (services); read its flow with --import"},
}

// isOtherLanguage reports a document in another language once, in place of everything that FDL does
// not know in it.
func (p *parser) isOtherLanguage(root *node) bool {
	if root.get("steps") != nil {
		return false
	}
	for _, other := range otherLanguages {
		if slices.ContainsFunc(other.signs, func(field string) bool { return root.get(field) != nil }) {
			p.problems = nil
			p.problem(root.pos, "%s; Waitless runs FDL v1, which begins with \"version: v1\" and \"type: flow\": see waitless docs language", other.what)
			return true
		}
	}
	return false
}

// unfit reports a value that is not allowed.
func (p *parser) unfit(n *node, what, allowed string) {
	if n.kind != nodeUnreadable {
		p.problem(n.pos, "%s is %s; allowed: %s", what, n.describe(), allowed)
	}
}

func (p *parser) tooDeep(n *node, what string, v value.Value) {
	p.problem(n.pos, "%s has %d levels of arrays and objects and the limit is %d; write what is inside as a text", what, v.Levels(), value.MaxLevels)
}

// namesOf lists the allowed names. Only the actions are too many for a line.
func namesOf(allowed []string) string {
	const most = 20
	if len(allowed) > most {
		return "those of waitless jobs list, and operations: waitless docs actions"
	}
	return strings.Join(allowed, ", ")
}

// oneOf returns the text of n if it is allowed, or the allowed text that a misspelt one means. A
// missing n was reported before.
func (p *parser) oneOf(n *node, what string, allowed []string) string {
	if n == nil {
		return ""
	}
	text, ok := n.text()
	switch {
	case !ok:
		p.unfit(n, what, namesOf(allowed))
	case !slices.Contains(allowed, text):
		p.problem(n.pos, "%s %q is unknown%s (allowed: %s)", what, shortened(text), DidYouMean(text, allowed), namesOf(allowed))
		return Closest(text, allowed)
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

// MaxName is the maximum length of a name, the vendor's limit.
const MaxName = 128

// ValidName reports whether name is valid for a flow, an execution or a step: a letter or "_", then
// up to 127 letters, digits, "_" and "-".
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// compiled compiles a pattern when it is first used: at the start of a process it would cost even
// commands and functions that read no flow.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// warn reports what does not keep the flow from running.
func (p *parser) warn(at Position, format string, args ...any) {
	p.problems = append(p.problems, newProblem(SeverityWarning, at, format, args...))
}

// strict adds a problem that only strict mode reports.
func (p *parser) strict(at Position, format string, args ...any) {
	p.flow.Extensions = append(p.flow.Extensions, newProblem(SeverityStrict, at, format, args...))
}

// rootInText is a root of a path in the middle of a text.
var rootInText = compiled(`\$(?:input|local|context)\b`)

// pathsInside warns of a constant with a path inside, which is not replaced by its value.
func (p *parser) pathsInside(n *node) {
	for _, inside := range n.inside() {
		p.pathsInside(inside)
	}
	text, ok := n.text()
	place := rootInText().FindStringIndex(text)
	if !ok || place == nil {
		return
	}
	p.warn(p.placeIn(n, utf8.RuneCountInString(text[:place[0]])),
		"text %q is a constant: no path is replaced inside of a text, a list or an object; map the path to a target of its own, and join the values in a function",
		shortened(text))
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
