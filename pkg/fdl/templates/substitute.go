package templates

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// rules say how parts of a document's scalars are replaced.
type rules struct {
	// pattern matches the parts of a scalar that are replaced.
	pattern *regexp.Regexp
	// replace returns the text in place of a part, or a problem.
	replace func(part string) (text, problem string)
	// ref returns the text in place of a text with the tag !Ref or !GetAtt, or a problem. If it is
	// nil, tags stay.
	ref func(tag, text string) (result, problem string)
}

// edit replaces the bytes from start to end of the text.
type edit struct {
	start, end int
	text       string
	// at is the position of start. The other two are lengths in characters.
	at             flow.Position
	before, behind int
}

// substitution replaces parts of a document's scalars.
type substitution struct {
	rules

	text     string
	lines    []int        // where the lines begin
	sought   place        // the last place that offset returned
	counted  place        // the last place that position returned
	nodes    []*yaml.Node // of the document, in the order of the text
	meant    []scalar     // the nodes after the edits
	edits    []edit
	problems flow.Problems
}

// scalar is the intended state of a node.
type scalar struct {
	text    string
	changed bool
	isText  bool // and not a number or a boolean
}

func substitute(text []byte, by rules) (Filled, flow.Problems) {
	s := &substitution{rules: by, text: strings.TrimPrefix(string(text), "\uFEFF")}
	var readable bool
	if s.nodes, readable = load(s.text); !readable {
		if json.Valid(text) {
			s.report(flow.Position{Line: 1, Column: 1}, `the definition has pairs of escapes like \ud83d\ude00; write the character itself`)
		}
		return Filled{Text: text}, s.problems
	}
	s.lines = []int{0}
	for i, c := range []byte(s.text) {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	for i, node := range s.nodes {
		s.node(i, node)
	}
	if len(s.problems) > 0 {
		return Filled{Text: text}, s.problems
	}
	slices.SortFunc(s.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	done := 0
	for i, e := range s.edits {
		out.WriteString(s.text[done:e.start] + e.text)
		done = e.end
		s.edits[i].at = s.position(e.start)
		s.edits[i].before = utf8.RuneCountInString(s.text[e.start:e.end])
		s.edits[i].behind = utf8.RuneCountInString(e.text)
	}
	out.WriteString(s.text[done:])
	filled := Filled{Text: []byte(out.String()), edits: s.edits}
	s.compare(filled)
	return filled, s.problems
}

// load returns the nodes of a document in the order of the text. Aliases are not followed. A
// placeholder without quotes may stand inside of braces, where YAML reads it as a mapping.
func load(text string) (nodes []*yaml.Node, readable bool) {
	var documents []yaml.Node
	err := yaml.Load([]byte(text), &documents, yaml.WithAllDocuments())
	unmasked := strings.NewReplacer()
	if err != nil && placeholder().MatchString(text) {
		// Characters for private use stand for the braces, so that no position changes.
		masked := placeholder().ReplaceAllStringFunc(text, strings.NewReplacer("{", "\uE000", "}", "\uE001").Replace)
		unmasked = strings.NewReplacer("\uE000", "{", "\uE001", "}")
		documents = nil
		err = yaml.Load([]byte(masked), &documents, yaml.WithAllDocuments())
	}
	if err != nil {
		return nil, false
	}
	var walk func(*yaml.Node)
	walk = func(node *yaml.Node) {
		node.Value = unmasked.Replace(node.Value)
		nodes = append(nodes, node)
		for _, child := range node.Content {
			walk(child)
		}
	}
	for i := range documents {
		walk(&documents[i])
	}
	return nodes, true
}

func (s *substitution) report(at flow.Position, format string, args ...any) {
	s.problems = append(s.problems, flow.Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

// place is a position with its offset. Counting goes on from the last place: a line may have many
// nodes.
type place struct {
	flow.Position

	offset int
}

// offset returns where a node begins.
func (s *substitution) offset(node *yaml.Node) int {
	if node.Line < 1 || node.Line > len(s.lines) {
		return len(s.text)
	}
	at := s.sought
	if node.Line != at.Line || node.Column < at.Column {
		at = s.beginOf(node.Line)
	}
	for ; at.Column < node.Column; at.Column++ {
		_, size := utf8.DecodeRuneInString(s.text[at.offset:])
		at.offset += size
	}
	s.sought = at
	return at.offset
}

func (s *substitution) beginOf(line int) place {
	return place{flow.Position{Line: line, Column: 1}, s.lines[line-1]}
}

// position is the reverse of offset.
func (s *substitution) position(offset int) flow.Position {
	line, found := slices.BinarySearch(s.lines, offset)
	if found {
		line++
	}
	at := s.counted
	if line != at.Line || offset < at.offset {
		at = s.beginOf(line)
	}
	at.Column += utf8.RuneCountInString(s.text[at.offset:offset])
	at.offset = offset
	s.counted = at
	return at.Position
}

// node decides how a node changes.
func (s *substitution) node(i int, node *yaml.Node) {
	meant := scalar{text: node.Value, isText: isText(node)}
	defer func() { s.meant = append(s.meant, meant) }()
	if s.ref != nil && node.Kind == yaml.ScalarNode && slices.Contains(refTags, node.Tag) {
		meant = s.refNode(node)
		return
	}
	parts := 0
	if node.Kind == yaml.ScalarNode {
		parts = len(s.pattern.FindAllStringIndex(node.Value, -1))
	}
	if parts == 0 {
		return
	}
	begin, end := s.offset(node), len(s.text)
	if i+1 < len(s.nodes) {
		end = max(s.offset(s.nodes[i+1]), begin)
	}
	places := s.pattern.FindAllStringIndex(s.text[begin:end], parts)
	if len(places) < parts {
		s.report(s.position(begin), "a placeholder in %q is written with escapes; write it as it is", node.Value)
		return
	}
	var edits []edit
	ok, changes := true, false
	for _, place := range places {
		start, end := begin+place[0], begin+place[1]
		text, problem := s.replace(s.text[start:end])
		if problem != "" {
			s.report(s.position(start), "%s", problem)
			ok = false
		}
		edits = append(edits, edit{start: start, end: end, text: text})
		changes = changes || text != s.text[start:end]
	}
	if !ok || !changes {
		return
	}
	next := 0
	meant.changed = true
	meant.text = s.pattern.ReplaceAllStringFunc(node.Value, func(string) string { next++; return edits[next-1].text })
	_, isNumber := value.Number(meant.text)
	isOther := isNumber || meant.text == "true" || meant.text == "false"
	meant.isText = node.Style != 0 || edits[0].end-edits[0].start != len(node.Value) || !isOther
	s.edits = append(s.edits, s.quoted(node, begin, meant, edits)...)
}

// refTags are the tags that name resources.
var refTags = []string{"!Ref", "!GetAtt"}

// refNode replaces a node with a tag.
func (s *substitution) refNode(node *yaml.Node) scalar {
	begin := s.offset(node)
	rest := strings.TrimLeft(strings.TrimPrefix(s.text[begin:], node.Tag), " ")
	text, problem := s.ref(node.Tag, node.Value)
	for _, written := range []string{node.Value, "'" + node.Value + "'", `"` + node.Value + `"`} {
		if problem == "" && strings.HasPrefix(rest, written) && strings.HasPrefix(s.text[begin:], node.Tag) {
			e := edit{start: begin, end: len(s.text) - len(rest) + len(written), text: text}
			if !isPlain(text) {
				e.text = quote(text)
			}
			s.edits = append(s.edits, e)
			return scalar{text: text, changed: true, isText: true}
		}
	}
	s.report(s.position(begin), "%s", cmp.Or(problem, node.Tag+" stands on several lines, or with escapes; write it on one line"))
	return scalar{text: node.Value}
}

// quoted writes edits as the style of the node asks for. A text without quotes gets some in JSON,
// and where it would read as another thing.
func (s *substitution) quoted(node *yaml.Node, begin int, meant scalar, edits []edit) []edit {
	switch {
	case node.Style&yaml.DoubleQuotedStyle != 0:
		for i := range edits {
			edits[i].text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(edits[i].text)
		}
	case node.Style&yaml.SingleQuotedStyle != 0:
		for i := range edits {
			edits[i].text = strings.ReplaceAll(edits[i].text, "'", "''")
		}
	case node.Style == 0 && meant.isText && (strings.HasPrefix(strings.TrimSpace(s.text), "{") || !isPlain(meant.text)) &&
		strings.HasPrefix(s.text[begin:], node.Value):
		return []edit{{start: begin, end: begin + len(node.Value), text: quote(meant.text)}}
	}
	return edits
}

// quote returns a text as both YAML and JSON have it in double quotes.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// plainText matches texts that need no quotes where one with a placeholder has none, unless they
// read as another thing than a text.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_/$]([A-Za-z0-9_/$.:=+@{}*-]*[A-Za-z0-9_/$.=+@{}*-])?$`)
})

func isPlain(text string) bool {
	if !plainText().MatchString(text) {
		return false
	}
	nodes, _ := load(text)
	return isText(nodes[len(nodes)-1])
}

// isText reports whether a scalar reads as a text.
func isText(node *yaml.Node) bool {
	if _, isNumber := value.Number(node.Value); node.Style == 0 && isNumber {
		return false
	}
	return node.Style != 0 || !slices.Contains([]string{"!!null", "!!bool", "!!int", "!!float"}, node.ShortTag())
}

// compare reports scalars that do not have the meant text in the result.
func (s *substitution) compare(filled Filled) {
	nodes, readable := load(string(filled.Text))
	other := false
	for i, node := range s.nodes {
		meant, isMeant := s.meant[i], false
		if readable && len(nodes) == len(s.nodes) {
			got := nodes[i]
			isMeant = got.Kind == node.Kind && len(got.Content) == len(node.Content) && got.Value == meant.text && got.Anchor == node.Anchor &&
				(!meant.changed || isText(got) == meant.isText)
		}
		switch {
		case isMeant:
		case meant.changed:
			s.report(s.position(s.offset(node)), "the value of a placeholder cannot stand in this text; write the text in double quotes")
		default:
			other = true
		}
	}
	if other && len(s.problems) == 0 {
		s.report(flow.Position{Line: 1, Column: 1},
			"the values of placeholders change another part of the definition; write texts with placeholders in double quotes")
	}
}

// Position returns where a place of the filled text is in the text with placeholders.
func (f Filled) Position(at flow.Position) flow.Position {
	before, longer := at, 0
	for _, e := range f.edits {
		if e.at.Line != at.Line || at.Column < e.at.Column+longer {
			continue
		}
		if at.Column < e.at.Column+longer+e.behind {
			before = e.at
			break
		}
		longer += e.behind - e.before
		before.Column = at.Column - longer
	}
	if f.outer == nil {
		return before
	}
	return f.outer(before)
}
