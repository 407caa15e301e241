package fdl

import "slices"

// dialect is another language or form that a document may be written in. Its signs are
// fields of the root that FDL does not have.
type dialect struct {
	signs []string
	what  string
}

// dialects are recognized in this order.
var dialects = []dialect{
	{
		signs: []string{"SpecVersion"},
		what:  "this flow is written in the newer language of CloudFlow (SpecVersion, States)",
	},
	{
		signs: []string{"StartAt", "States"},
		what:  "this flow is written in the Amazon States Language (StartAt, States)",
	},
	{
		signs: []string{"ROSTemplateFormatVersion", "AWSTemplateFormatVersion", "Resources"},
		what:  "this is a template of a deployment (Resources), and the flow is the text of a Definition in it",
	},
}

// dialectOf is the other language that the document is written in, nil if none is recognized.
func dialectOf(root *node) *dialect {
	if root.get("steps") != nil {
		return nil
	}
	for i, d := range dialects {
		if slices.ContainsFunc(d.signs, func(field string) bool { return root.get(field) != nil }) {
			return &dialects[i]
		}
	}
	return nil
}

// otherLanguage reports a document in another language once, in place of everything that FDL does
// not know in it.
func (p *parser) otherLanguage(root *node, d *dialect) {
	p.problems, p.refs = nil, nil
	p.problem(root.pos, "%s; Waitless runs FDL v1, which begins with \"version: v1\" and \"type: flow\": see waitless docs language", d.what)
}
