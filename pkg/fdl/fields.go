package fdl

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/value"
)

// fields are the fields of a mapping in the definition. Their names were checked. A method that
// reads a field reports a value that is not allowed, and returns the zero value for it and for a
// missing field.
type fields struct {
	element

	parser *parser
	node   *document.Node
	values []document.Entry
	// sources are the paths in its mappings.
	sources []pathSource
}

// pathSource is the path that a mapping reads.
type pathSource struct {
	list string // the field with the mappings
	at   flow.Position
	root expr.Root
	path string
}

// fields reads an element. It reports fields that are not allowed or missing. It returns nil if n
// is not a mapping.
func (p *parser) fields(n *document.Node, name string) *fields {
	f := &fields{element: findElement(name), parser: p, node: n}
	if n.Kind != document.Mapping {
		p.unfit(n, f.title, "a mapping with the fields "+strings.Join(f.keys, ", "))
		return nil
	}
	f.values = slices.Clip(n.Entries)
	for _, e := range n.Entries {
		if f.schemas[e.Key] != nil {
			if why := f.schemas[e.Key].Get("x-extension"); why != nil {
				f.parser.strict(e.Value.Pos, "%s is an extension: %s", e.Key, why.Scalar.Text())
			}
		} else {
			f.unknownField(e)
		}
	}
	for _, name := range f.required {
		f.require(name)
	}
	return f
}

// get returns the value of a field, nil for none.
func (f *fields) get(name string) *document.Node { return document.Find(f.values, name) }

// unknownField reports a field. A misspelt field is used under the name that it resembles: its
// problems are reported, too, and the field is not reported as missing.
func (f *fields) unknownField(e document.Entry) {
	meant := f.parser.closest(e.Key, f.keys)
	if other := otherWords[e.Key]; slices.Contains(f.keys, other) {
		meant = other
	}
	hint := ""
	if meant != "" {
		hint = "; did you mean " + strconv.Quote(meant) + "?"
	}
	if inSeconds := e.Key + "Seconds"; slices.Contains(f.keys, inSeconds) { // as timeout, of other languages
		hint = "; did you mean " + strconv.Quote(inSeconds) + ", a number of seconds?"
	}
	if hint == "" {
		var titles []string // of the elements that have the field
		for _, of := range elements() {
			if of.schemas[e.Key] != nil {
				titles = append(titles, of.title)
			}
		}
		const many = 4
		if len(titles) > 0 && len(titles) < many {
			hint = "; it belongs to " + strings.Join(titles, " or ")
		}
	}
	f.parser.Problem(e.Pos, "field %q is unknown in %s%s (allowed: %s)", document.Shortened(e.Key), f.title, hint, strings.Join(f.keys, ", "))
	if meant != "" && f.get(meant) == nil {
		f.values = append(f.values, document.Entry{Key: meant, Pos: e.Pos, Value: e.Value})
	}
}

// otherWords are fields of other languages, with FDL's names for them.
var otherWords = map[string]string{"errorCode": "error", "errorMessage": "cause"}

func (f *fields) require(name string) {
	if f.get(name) == nil {
		f.missing("%s has no field %q, which is required", f.title, name)
	}
}

// missing reports a missing field, if all fields were read.
func (f *fields) missing(format string, args ...any) {
	if !f.node.Partial {
		f.parser.Problem(f.node.Pos, format, args...)
	}
}

// either returns the one of two fields that is set. It reports both and neither, and returns nil
// twice.
func (f *fields) either(first, second string) (a, b *document.Node) {
	a, b = f.get(first), f.get(second)
	switch {
	case a != nil && b != nil:
		f.parser.Problem(slices.MaxFunc([]flow.Position{a.Pos, b.Pos}, flow.Position.Compare), `%s has both %q and %q; write one of them`, f.title, first, second)
		return nil, nil
	case a == nil && b == nil:
		f.missing(`%s has neither %q nor %q; write one of them`, f.title, first, second)
	}
	return a, b
}

// unfit reports the value of a field.
func (f *fields) unfit(name string) { f.parser.unfit(f.get(name), name, f.allowed(name)) }

// oneOf returns a text that the schema lists.
func (f *fields) oneOf(name, what string) string {
	return f.parser.oneOf(f.get(name), what, f.names(name))
}

// read returns the value of a field as a T, or otherwise.
func read[T any](f *fields, name string, otherwise T, as func(value.Value) (T, bool)) T {
	n := f.get(name)
	if n == nil {
		return otherwise
	}
	v, ok := as(n.Value())
	if !ok {
		f.unfit(name)
		return otherwise
	}
	return v
}

// text returns a text that is not empty, unless the schema allows that.
func (f *fields) text(name string) string {
	return read(f, name, "", func(v value.Value) (string, bool) {
		return v.Text(), v.Kind() == value.KindString && (v.Text() != "" || f.schemas[name].Get("minLength") == nil)
	})
}

// key returns the key of a value, and warns of a key that is written as a path.
func (f *fields) key(name string) string {
	key := f.text(name)
	if rest, ok := strings.CutPrefix(key, "$"); ok {
		hint := ""
		for _, root := range []string{".", "input.", "local."} {
			rest = strings.TrimPrefix(rest, root)
		}
		if rest != "" {
			hint = "; did you mean " + strconv.Quote(document.Shortened(rest)) + "?"
		}
		f.parser.warn(f.get(name).Pos, "%s %q is a key and not a path%s", name, document.Shortened(key), hint)
	}
	return key
}

func (f *fields) boolean(name string) bool {
	return read(f, name, false, func(v value.Value) (bool, bool) { return v.IsTrue(), v.Kind() == value.KindBool })
}

// whole returns a whole number within the limits of the schema, or otherwise.
func (f *fields) whole(name string, otherwise int64) int64 {
	return read(f, name, otherwise, func(v value.Value) (int64, bool) {
		number, ok := v.Int64()
		return number, ok && number >= f.limit(name, "minimum") && number <= f.limit(name, "maximum")
	})
}

func (f *fields) seconds(name string, otherwise int64) time.Duration {
	return time.Duration(f.whole(name, otherwise)) * time.Second
}

// number returns a number within the limits of the schema, or otherwise.
func (f *fields) number(name string, otherwise float64) float64 {
	return read(f, name, otherwise, func(v value.Value) (float64, bool) {
		number, err := strconv.ParseFloat(v.Text(), 64)
		isBelow := f.schemas[name].Get("maximum") == nil || number <= float64(f.limit(name, "maximum"))
		return number, v.Kind() == value.KindNumber && err == nil && number >= float64(f.limit(name, "minimum")) && isBelow
	})
}

// nameOf returns the name of a flow or a step.
func (f *fields) nameOf(what string) string {
	n := f.get("name")
	if n == nil {
		return ""
	}
	name, ok := n.Text()
	switch {
	case len(name) > flow.MaxName:
		f.parser.Problem(n.Pos, "%s %q has %d bytes and the limit is %d; shorten it", what, document.Shortened(name), len(name), flow.MaxName)
	case !ok || !flow.ValidName(name):
		f.parser.unfit(n, what, f.allowed("name"))
	}
	return name
}

func (f *fields) condition(name string) (condition flow.Condition, text string) {
	if text = f.text(name); text == "" {
		return nil, ""
	}
	parsed, err := expr.ParseCondition(text)
	if err != nil {
		f.parser.syntaxProblem(f.get(name), err, "")
		return nil, ""
	}
	return parsed, parsed.String()
}

// items returns the elements of a list, which may be empty only if the schema allows that.
func (f *fields) items(name string) []*document.Node {
	n := f.get(name)
	switch {
	case n == nil:
		return nil
	case n.Kind != document.Sequence:
		f.unfit(name)
	case len(n.Items) == 0 && f.schemas[name].Get("minItems") != nil:
		f.parser.Problem(n.Pos, "%s is an empty list; allowed: %s, at least one", name, f.allowed(name))
	}
	return n.Items
}

// errorNames reads the errors of a policy or an entry of a task that calls the resource.
func (f *fields) errorNames(resource flow.Resource) []string {
	var names []string
	for _, item := range f.items("errors") {
		name, ok := item.Text()
		if !ok {
			f.parser.unfit(item, "an error name", "text, like FnF.TaskTimeout, or FnF.ALL for every error")
			continue
		}
		names = append(names, name)
		f.parser.checkErrorName(item, name, resource)
	}
	return names
}

// mappings returns nil for a missing list.
func (f *fields) mappings(name string) expr.Mappings {
	if f.get(name) == nil {
		return nil
	}
	var list []expr.Mapping
	seen := map[string]flow.Position{}
	for _, item := range f.items(name) {
		m := f.parser.fields(item, "mapping")
		if m == nil {
			continue
		}
		source := f.source(name, m.get("source"))
		target := m.key("target")
		n := m.get("target")
		if n == nil || n.Scalar.Kind() != value.KindString {
			continue // was reported
		}
		if first, repeated := seen[target]; repeated {
			f.parser.Problem(n.Pos, "target %q is mapped twice; it stands first at %s", document.Shortened(target), first)
		}
		seen[target] = n.Pos
		list = append(list, expr.Mapping{Target: target, Source: source})
	}
	return expr.NewMappings(list...)
}

// source reads the source of a mapping in that list.
func (f *fields) source(list string, n *document.Node) expr.Template {
	if n == nil {
		return expr.Template{}
	}
	p, v := f.parser, n.Value()
	source, err := expr.ParseSource(v)
	text, isText := n.Text()
	path, isPath := source.Path()
	switch {
	case err != nil:
		p.syntaxProblem(n, err, rootMeant(text))
	case v.TooDeep():
		p.tooDeep(n, "source", v)
	case isPath:
		f.sources = append(f.sources, pathSource{list, n.Pos, path.Root(), path.String()})
	case isText && (strings.HasPrefix(text, "$") || pathMeant(text) != ""):
		p.warn(n.Pos, "source %s is a constant, because it does not begin with $input, $local or $context%s", n.Describe(), rootMeant(text))
	default:
		p.pathsInside(n)
	}
	return source
}
