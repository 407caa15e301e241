package fdl

import (
	"strings"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
)

// The limits of a callback's question.
const (
	MaxPrompt  = 4096 // characters
	MaxChoices = 20
	MaxLabel   = 80 // characters
)

// question reads the question for the person who reports the outcome of a callback.
func (p *parser) question(task *flow.Task, f *fields) {
	task.Prompt = f.prompt()
	if n := f.get("prompt"); n != nil && task.Signed {
		p.warn(n.Pos, "prompt is on no page, because signed callbacks have none; tokens list and notices have it")
	}
	items := f.items("choices")
	if len(items) > MaxChoices {
		p.Problem(f.get("choices").Pos, "choices has %d choices and the limit is %d; a page with so many buttons cannot be read", len(items), MaxChoices)
	}
	seen := map[string]flow.Position{}
	for _, item := range items {
		choice := p.fields(item, "callbackChoice")
		if choice == nil {
			continue
		}
		text := choice.text("label")
		label := strings.TrimSpace(text)
		if label == "" && text != "" {
			choice.unfit("label")
		} else if label != "" {
			at := choice.get("label").Pos
			choice.shortEnough("label", label, MaxLabel)
			if first, repeated := seen[label]; repeated {
				p.Problem(at, "label %q is repeated; it stands first at %s, and the labels of a step differ", document.Shortened(label), first)
			} else {
				seen[label] = at
			}
		}
		task.Choices = append(task.Choices, flow.CallbackChoice{Label: label, Output: choice.output()})
	}
}

func (f *fields) prompt() expr.Text {
	text := f.text("prompt")
	if text == "" {
		return expr.Text{}
	}
	p, n := f.parser, f.get("prompt")
	f.shortEnough("prompt", text, MaxPrompt)
	prompt, err := expr.ParseText(text)
	if err != nil {
		p.syntaxProblem(n, err, "")
		return prompt
	}
	if place := bareValue().FindStringSubmatchIndex(text); place != nil {
		path := document.Shortened(text[place[2]:place[3]])
		p.warn(p.PlaceIn(n, utf8.RuneCountInString(text[:place[2]])), "prompt has the text %s and not a value; write ${%s} for the value", path, path)
	}
	return prompt
}

// bareValue matches a path from the step's input that is not in braces.
var bareValue = compiled(`(?:^|[^{])(\$\.[A-Za-z_][A-Za-z0-9_]*)`)

func (f *fields) shortEnough(name, text string, most int) {
	if size := utf8.RuneCountInString(text); size > most {
		f.parser.Problem(f.get(name).Pos, "%s has %d characters and the limit is %d; shorten it", name, size, most)
	}
}

// output returns the output of a choice. Its paths have the form of paths in service parameters.
func (f *fields) output() expr.Template {
	n := f.get("output")
	switch {
	case n == nil: // was reported
		return expr.Template{}
	case n.Kind != document.Mapping:
		f.unfit("output")
		return expr.Template{}
	}
	f.parser.paramPaths(n)
	output := n.Value()
	if output.TooDeep() {
		f.parser.tooDeep(n, "output", output)
	}
	template, _ := expr.ParseTemplate(output) // a mistake in it was reported
	return template
}
