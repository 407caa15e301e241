package templates

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
)

// Import returns the definition of a flow with values in place of placeholders, and with resources
// in place of !Ref and !GetAtt. File is the text of [Flow.File], or of a flow without a template.
func (f Flow) Import(file []byte, vars map[string]string) (Filled, flow.Problems) {
	i := importing{values: vars, given: vars, text: string(file), isFilled: len(vars) > 0, isRead: map[string]bool{}}
	text, outer := file, func(at flow.Position) flow.Position { return at }
	var replaces *yaml.Node
	if t := f.template; t != nil {
		i.template, i.values, i.text = t, maps.Clone(t.values), i.text+"\n"+t.text
		maps.Copy(i.values, vars)
		i.isFilled = i.isFilled || t.isProject
	}
	if f.template != nil && f.File == "" {
		var problem string
		text, replaces, problem = i.definition(f.definition)
		if isOfAWS(f.Kind) {
			problem = strings.Replace(problem, ", Fn::Replace", "", 1) // a function of ROS
		}
		outer = f.template.outside(f.definition, string(text))
		if problem != "" {
			return Filled{Text: file, outer: outer}, flow.Problems{{Position: outer(flow.Position{Line: 1, Column: 1}), Message: problem}}
		}
	}
	by := rules{pattern: never(), ref: i.ref}
	switch {
	case replaces != nil:
		pattern, values := i.template.replaced(replaces)
		by.pattern, by.replace = pattern, func(found string) (value, problem string) {
			name, _, function := call(child(replaces, found))
			if function == "Ref" {
				i.names = append(i.names, name)
			}
			if values[found] == "" {
				return found, i.noValue(found, name)
			}
			return values[found], ""
		}
	case isOfAWS(f.Kind):
		maps.Copy(i.values, f.template.of(f.substitutions))
		i.isFilled = true
		by.pattern, by.replace = placeholder(), i.fillKnown
	case i.isFilled:
		by.pattern, by.replace = placeholder(), i.fill
	}
	filled, problems := substitute(text, by)
	for n := range problems {
		problems[n].Position = outer(problems[n].Position)
	}
	filled.outer, filled.Names, filled.Read = outer, i.names, i.read
	filled.isFilled = i.isFilled || replaces != nil
	if f.template != nil {
		filled.Names = append(filled.Names, f.template.names...)
	}
	return filled, problems
}

// never matches nothing.
var never = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s\S]`) })

// importing is the import of one flow.
type importing struct {
	template *template // nil for a flow in a file of its own
	values   map[string]string
	given    map[string]string // the entries of values that the template does not have
	text     string            // of the definition and of the template
	isFilled bool              // placeholders have values
	names    []string
	read     []string
	isRead   map[string]bool // the texts of read
	words    map[string]bool // of text, nil until the first hint
	hints    int
}

// definition returns the text of a definition that stands in the template, and the mapping of
// Fn::Replace.
func (i *importing) definition(node *yaml.Node) (text []byte, replaces *yaml.Node, problem string) {
	inside, mapping, function := call(node)
	switch {
	case function == "" && node.Kind == yaml.ScalarNode:
		return []byte(inside), nil, ""
	case function == "Fn::Sub":
		i.isFilled = true
		maps.Copy(i.values, i.template.of(mapping))
		return []byte(inside), nil, ""
	case function == "Fn::Join":
		if text, ok := joined(node); ok {
			i.isFilled = true
			return []byte(text), nil, ""
		}
		return nil, nil, "a part of Fn::Join is not known; allowed: a text, Ref, Fn::GetAtt, Fn::ImportValue, Fn::Join, and Fn::Sub with a text alone"
	case function == "Fn::Replace":
		return []byte(inside), mapping, ""
	case child(node, "Bucket") != nil:
		return nil, nil, "the definition is an object in S3; download it, and use the file in place of the template"
	case function == "Ref":
		i.names = append(i.names, inside)
		if value, known := i.values[inside]; known {
			return []byte(value), nil, ""
		}
		return nil, nil, i.noValue("parameter "+inside, inside)
	}
	if child(node, "States") != nil {
		toBlocks(node)
	}
	if child(node, "steps") != nil || child(node, "States") != nil {
		text, err := yaml.Dump(node)
		if err == nil {
			return text, nil, ""
		}
	}
	return nil, nil, "the definition is neither a text nor a flow; allowed: a text, Fn::Sub, Fn::Join, Fn::Replace or Ref"
}

// toBlocks writes a machine without braces, in which "${Name}" would need quotes.
func toBlocks(node *yaml.Node) {
	node.Style &^= yaml.FlowStyle
	for _, inside := range node.Content {
		toBlocks(inside)
	}
}

// fill returns the value of a placeholder.
func (i *importing) fill(found string) (value, problem string) {
	name, isName := nameIn(found)
	if isName {
		i.names = append(i.names, name)
	}
	value, known := valueOf(found, i.values)
	if !known {
		problem = fmt.Sprintf("placeholder %s has no value%s (give --var %s=VALUE, or write ${!%s} for the text %s)",
			found, i.hint(name), name, name, found)
	}
	return value, problem
}

// fillKnown returns the value of a placeholder. Without a value it stays: a machine may have it in
// place of a function.
func (i *importing) fillKnown(found string) (value, problem string) {
	if name, isName := nameIn(found); isName {
		i.names = append(i.names, name)
	}
	value, _ = valueOf(found, i.values)
	return value, ""
}

// replaced returns the parts that Fn::Replace replaces, and their values. A value may hold other
// parts, which are replaced once.
func (t *template) replaced(mapping *yaml.Node) (*regexp.Regexp, map[string]string) {
	var parts []string
	values := map[string]string{}
	for part, node := range entries(mapping) {
		parts = append(parts, regexp.QuoteMeta(part))
		values[part] = t.textOf(node)
	}
	if len(parts) == 0 {
		return never(), nil
	}
	pattern, own := regexp.MustCompile(strings.Join(parts, "|")), maps.Clone(values)
	for part, value := range own {
		values[part] = pattern.ReplaceAllStringFunc(value, func(inside string) string {
			if inside == part {
				return inside
			}
			return cmp.Or(own[inside], inside)
		})
	}
	return pattern, values
}

// ref returns the resource, or the value, that a tag names.
func (i *importing) ref(tag, text string) (value, problem string) {
	defer func() {
		said := tag + " " + text + " is " + value
		if problem == "" && !i.isRead[said] {
			i.read, i.isRead[said] = append(i.read, said), true
		}
	}()
	name := strings.ReplaceAll(text, "/", "")
	service, function, isPath := strings.Cut(text, "/")
	switch {
	case tag == "!Ref" && isPath && service == "flow":
		return "acs:fnf:::flow/" + cmp.Or(i.values[function+".Name"], function), ""
	case tag == "!Ref" && isPath && (i.template == nil || slices.Contains(i.template.functions, text)):
		return arnOf(service, function), ""
	case tag == "!Ref" && isPath:
		return "", fmt.Sprintf("!Ref %s names no function of the template%s", text, similar.DidYouMean(text, i.template.functions))
	}
	i.names = append(i.names, name)
	if value, known := i.values[name]; known {
		return value, ""
	}
	return "", i.noValue(tag+" "+text, name)
}

func (i *importing) noValue(what, name string) string {
	return fmt.Sprintf("%s has no value%s (give --var %s=VALUE)", what, i.hint(name), name)
}

// word matches a possible name.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(name) })

// hint suggests a name in place of a name without a value: another name, or this name in place of a
// variable that nothing refers to. It stops at as many names as [fdl.Parse] reports problems.
func (i *importing) hint(name string) string {
	if i.hints++; i.hints > flow.MaxProblems {
		return ""
	}
	if i.words == nil {
		i.words = map[string]bool{}
		for _, found := range word().FindAllString(i.text, -1) {
			i.words[found] = true
		}
	}
	var used, unused []string
	for _, known := range slices.Sorted(maps.Keys(i.values)) {
		if _, isGiven := i.given[known]; isGiven && !i.words[known] {
			unused = append(unused, known)
		} else {
			used = append(used, known)
		}
	}
	if variable := similar.Closest(name, unused); variable != "" {
		return fmt.Sprintf("; variable %q, which nothing refers to, may be mistyped", variable)
	}
	return similar.DidYouMean(name, used)
}

// outside returns how places of a definition become places of the template that has its text.
func (t *template) outside(node *yaml.Node, text string) func(flow.Position) flow.Position {
	if _, _, function := call(node); function != "" {
		if !isCall(node) {
			node = node.Content[1]
		}
		isScalar := func(item *yaml.Node) bool { return item.Kind == yaml.ScalarNode }
		if i := slices.IndexFunc(node.Content, isScalar); i >= 0 {
			node = node.Content[i]
		}
	}
	begin := flow.Position{Line: node.Line, Column: node.Column}
	if node.Style&yaml.LiteralStyle == 0 {
		return func(flow.Position) flow.Position { return begin }
	}
	lines, inner := strings.Split(t.text, "\n"), strings.Split(text, "\n")
	return func(at flow.Position) flow.Position {
		line := node.Line + at.Line
		if line > len(lines) || at.Line > len(inner) {
			return begin
		}
		return flow.Position{Line: line, Column: at.Column + indentation(lines[line-1]) - indentation(inner[at.Line-1])}
	}
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
