package fdl

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// Parse reads a definition in YAML or JSON and reports all its problems, in the order of their
// positions. The flow is nil if one of them is an error; the others are warnings. Checks add
// problems, and run although an error may leave the flow incomplete. Parse does not panic.
func Parse(text []byte, checks ...flow.Check) (*flow.Flow, flow.Problems) {
	p := &parser{flow: flow.Flow{Matches: matches, Join: join}, names: map[string]named{}, functions: map[string]calledFunction{}}
	if root := p.Read(text); root != nil {
		p.flowFrom(root)
		p.resolveJumps()
		p.firstSteps()
		if len(p.Problems.Errors()) == 0 { // else its gotos may be incomplete
			p.completes(p.flow.Steps)
		}
	}
	for _, check := range checks {
		if check != nil {
			p.Problems = append(p.Problems, check(&p.flow)...)
		}
	}
	p.flow.Extensions = p.flow.Extensions.Reported()
	if problems := p.Problems.Reported(); len(problems.Errors()) > 0 {
		return nil, problems
	}
	return &p.flow, p.Problems.Reported()
}

// parser builds a flow from nodes and collects problems.
type parser struct {
	document.Reader
	flow  flow.Flow
	names map[string]named
	jumps []jump
	// functions are the functions that tasks call, by their names.
	functions map[string]calledFunction
	// forks counts the parallel and foreach steps around the step being read.
	forks int
	// locals are the sources in the input of steps that read $local.
	locals []localSource
	// suggested is how many problems had a suggestion, or could have had one.
	suggested int
}

func (p *parser) flowFrom(root *document.Node) {
	if p.isOtherLanguage(root) || p.isNoFlow(root) {
		return
	}
	f := p.fields(root, "flow")
	if f == nil {
		return
	}
	p.flow.Version = f.oneOf("version", "version")
	f.oneOf("type", "flow type")
	p.flow.Name = f.nameOf("flow name")
	p.flow.Data = &Data{Input: f.mappings("inputMappings"), Output: f.mappings("outputMappings")}
	p.flow.Timeout = f.seconds("timeoutSeconds", 0)
	p.flow.Steps = p.steps(f, nil)
	p.checkSources(f, nil)
}

const runsFDL = `; Waitless runs FDL v1, which begins with "version: v1" and "type: flow": see waitless docs language`

// otherLanguages are languages that a document may be written in by mistake. Their signs are fields
// of the root that FDL does not have.
var otherLanguages = []struct {
	signs []string
	what  string
}{
	{[]string{"SpecVersion"}, "this flow is written in the newer language of CloudFlow (SpecVersion, States)" + runsFDL},
	{[]string{"StartAt", "States"}, "this flow is written in the Amazon States Language (StartAt, States)" + runsFDL},
	{
		[]string{"ROSTemplateFormatVersion", "AWSTemplateFormatVersion", "Resources"},
		"this is a template of a deployment (Resources); read its flow with --import",
	},
	{[]string{"edition", "services"}, "this is a project of Serverless Devs (services); read its flow with --import"},
}

// isOtherLanguage reports a document in another language once, in place of everything that FDL does
// not know in it.
func (p *parser) isOtherLanguage(root *document.Node) bool {
	if root.Get("steps") != nil {
		return false
	}
	for _, other := range otherLanguages {
		if slices.ContainsFunc(other.signs, func(field string) bool { return root.Get(field) != nil }) {
			p.Problems = nil
			p.Problem(root.Pos, "%s", other.what)
			return true
		}
	}
	return false
}

// isNoFlow reports a document without any field that flows must have. Settings and links name files
// by path, so the document may be a secret: the only problem has no excerpt of it.
func (p *parser) isNoFlow(root *document.Node) bool {
	flow := findElement("flow")
	isRequired := func(e document.Entry) bool {
		return slices.Contains(flow.required, cmp.Or(similar.Closest(e.Key, flow.keys), e.Key))
	}
	if root.Kind == document.Unreadable || root.Partial || slices.ContainsFunc(root.Entries, isRequired) {
		return false
	}
	p.Problems = nil
	allowed := "a mapping with the fields " + strings.Join(flow.keys, ", ")
	switch {
	case root.Kind == document.Mapping:
		p.Problem(root.Pos, "a flow has none of the fields %s, which are required", strings.Join(flow.required, ", "))
	case root.Kind == document.Scalar && root.Scalar.Kind() != value.KindNull:
		p.Problem(root.Pos, "a flow is a text; allowed: %s", allowed)
	default:
		p.unfit(root, flow.title, allowed)
	}
	return true
}

// unfit reports a value that is not allowed.
func (p *parser) unfit(n *document.Node, what, allowed string) {
	if n.Kind != document.Unreadable {
		p.Problem(n.Pos, "%s is %s; allowed: %s", what, n.Describe(), allowed)
	}
}

func (p *parser) tooDeep(n *document.Node, what string, v value.Value) {
	p.Problem(n.Pos, "%s has %d levels of arrays and objects and the limit is %d; write what is inside as a text", what, v.Levels(), value.MaxLevels)
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
func (p *parser) oneOf(n *document.Node, what string, allowed []string) string {
	if n == nil {
		return ""
	}
	text, ok := n.Text()
	switch {
	case !ok:
		p.unfit(n, what, namesOf(allowed))
	case !slices.Contains(allowed, text):
		p.Problem(n.Pos, "%s %q is unknown%s (allowed: %s)", what, document.Shortened(text), p.didYouMean(text, allowed), namesOf(allowed))
		return p.closest(text, allowed)
	}
	return text
}

// didYouMean is [similar.DidYouMean] for the first [flow.MaxProblems] problems. More are not
// reported, and comparing names takes long.
func (p *parser) didYouMean(found string, names []string) string {
	p.suggested++
	if p.closest(found, names) == "" {
		return ""
	}
	return similar.DidYouMean(found, names)
}

// closest is [similar.Closest] for the same problems.
func (p *parser) closest(found string, names []string) string {
	if p.suggested > flow.MaxProblems {
		return ""
	}
	return similar.Closest(found, names)
}

var notInName = compiled(`[^A-Za-z0-9_-]+`)

// AsName returns a valid name that is made of any text: other characters become "-".
func AsName(text string) string {
	name := notInName().ReplaceAllString(text, "-")
	if name == "" || !flow.ValidName(name[:1]) {
		name = "_" + name
	}
	return name[:min(len(name), flow.MaxName)]
}

// compiled compiles a pattern when it is first used: at the start of a process it would cost even
// commands and functions that read no flow.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// warn reports a problem that does not keep the flow from running.
func (p *parser) warn(at flow.Position, format string, args ...any) {
	p.Problems = append(p.Problems, flow.NewProblem(flow.SeverityWarning, at, format, args...))
}

// strict adds a problem that only strict mode reports.
func (p *parser) strict(at flow.Position, format string, args ...any) {
	p.flow.Extensions = append(p.flow.Extensions, flow.NewProblem(flow.SeverityStrict, at, format, args...))
}

// rootInText is a root of a path in the middle of a text, also in the spelling of other languages:
// $.name, ${input.name}.
var rootInText = compiled(`\$(?:input|local|context)\b|\$\.[A-Za-z_]|[{$]\{\s*(?:input|local|context)\.[A-Za-z_]`)

// pathsInside warns of a constant with a path inside, which is not replaced by its value.
func (p *parser) pathsInside(n *document.Node) {
	for _, inside := range n.Inside() {
		p.pathsInside(inside)
	}
	text, ok := n.Text()
	place := rootInText().FindStringIndex(text)
	if !ok || place == nil {
		return
	}
	p.warn(p.PlaceIn(n, utf8.RuneCountInString(text[:place[0]])),
		"text %q is a constant: no path is replaced inside of a text, a list or an object; map the path to a target of its own, and join the values in a function",
		document.Shortened(text))
}

// fileEndings are the endings of names like input.json, which are not paths.
var fileEndings = []string{
	"bin", "csv", "gz", "html", "jpg", "json", "jsonl", "log", "md", "mp3", "mp4", "parquet", "pdf", "png", "tar", "tsv", "txt",
	"xlsx", "xml", "yaml", "yml", "zip",
}

// pathMeant returns the path that the text means in the spelling of another language, "" for none:
// $input.name for input.name, {{input.name}} and ${input.name}.
func pathMeant(text string) string {
	inside := text
	if found := inBraces().FindStringSubmatch(text); found != nil {
		inside = found[1]
	} else if slices.Contains(fileEndings, text[strings.LastIndex(text, ".")+1:]) {
		return ""
	}
	end := strings.IndexAny(inside, ".[")
	if end < 0 || !slices.Contains(expr.MappingRoots, expr.Root("$"+inside[:end])) {
		return ""
	}
	if _, err := expr.ParsePath("$"+inside, expr.MappingRoots...); err != nil {
		return ""
	}
	return "$" + inside
}

// inBraces matches a text that is one value in the templates of another language.
var inBraces = compiled(`^[{$]\{\s*\$?([^{}]*?)\s*\}\}?$`)

// rootMeant suggests a path for a source like "$locla.x", "$.x" or "input.x".
func rootMeant(text string) string {
	if meant := pathMeant(text); meant != "" {
		return fmt.Sprintf("; did you mean %q?", document.Shortened(meant))
	}
	root, rest := text, ""
	if i := strings.IndexAny(text, ".["); i >= 0 {
		root, rest = text[:i], document.Shortened(text[i:])
	}
	roots := []string{"$input", "$local", "$context"}
	switch {
	case root == "$":
		return fmt.Sprintf("; did you mean %q or %q?", "$input"+rest, "$local"+rest)
	case slices.Contains(roots, root):
		return ""
	}
	return similar.DidYouMean(root, roots)
}

// syntaxProblem reports an error in a path or a condition at its position.
func (p *parser) syntaxProblem(n *document.Node, err error, hint string) {
	at := n.Pos
	if syntax, ok := err.(*expr.SyntaxError); ok { //nolint:errorlint // expr returns it unwrapped
		at = p.PlaceIn(n, syntax.Offset)
	}
	p.Problem(at, "%s%s", err, hint)
}
