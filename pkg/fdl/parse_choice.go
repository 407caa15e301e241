package fdl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
)

func (p *parser) choice(step *Step, f fields) *Choice {
	choice := &Choice{}
	if n := f.required("choices"); n != nil {
		items := p.someItems(n, "choices", "a list of branches")
		choice.Branches = make([]Branch, len(items))
		for i, item := range items {
			p.branch(&choice.Branches[i], item, step)
		}
	}
	if n := f.optional("default"); n != nil {
		choice.Default = &Branch{}
		p.defaultBranch(choice.Default, n, step)
	}
	return choice
}

func (p *parser) branch(branch *Branch, n *node, choice *Step) {
	f, ok := p.fields(n, "a branch of a choice", branchFields)
	if !ok {
		return
	}
	if condition := f.required("condition"); condition != nil {
		branch.Condition = p.condition(condition)
	}
	p.branchBody(branch, f, choice)
}

func (p *parser) defaultBranch(branch *Branch, n *node, choice *Step) {
	f, ok := p.fields(n, "the default of a choice", defaultFields)
	if ok {
		p.branchBody(branch, f, choice)
	}
}

func (p *parser) branchBody(branch *Branch, f fields, choice *Step) {
	branch.Steps = p.steps(f.optional("steps"), choice)
	p.jump(f.optional("goto"), choice, "choice", &branch.Goto)
}

// jump records a goto, if there is one. Its target is stored in to.
func (p *parser) jump(n *node, from *Step, stepType string, to **Step) {
	if n == nil {
		return
	}
	if target, ok := p.text(n, "goto", "the name of a step in the same list as the "+stepType); ok {
		p.jumps = append(p.jumps, jump{at: n.pos, from: from, target: target, to: to})
	}
}

func (p *parser) condition(n *node) expr.Condition {
	text, ok := p.text(n, "condition", `text like $.status == "success"`)
	if !ok {
		return expr.Condition{}
	}
	condition, err := expr.ParseCondition(text)
	if err != nil {
		p.syntaxProblem(n, err, "")
	}
	return condition
}

// jump is a goto whose target is looked up when all steps are known.
type jump struct {
	at     Position
	from   *Step // the choice or task that carries it
	target string
	to     **Step
}

func (p *parser) resolveJumps() {
	lost := 0
	for _, j := range p.jumps {
		siblings := j.from.Series.Steps
		if i := slices.IndexFunc(siblings, func(s *Step) bool { return s.Name == j.target }); i >= 0 {
			*j.to = siblings[i]
			continue
		}
		lost++
		p.lost(j, siblings, lost <= mostMeant)
	}
}

// mostMeant is how many gotos get a suggestion. Comparing many names with many others takes long,
// and a flow with more lost gotos has another mistake.
const mostMeant = 20

func (p *parser) lost(j jump, siblings []*Step, suggest bool) {
	var names []string
	seen := map[string]bool{"": true}
	for _, s := range siblings {
		if !seen[s.Name] {
			names = append(names, s.Name)
		}
		seen[s.Name] = true
	}
	why := "leads to no step"
	if at, exists := p.names[j.target]; exists {
		why = fmt.Sprintf("leads to the step at %s, which is not in the list of step %q", at, j.from.Name)
	} else if suggest {
		why += DidYouMean(j.target, names)
	}
	p.problem(j.at, "goto %q %s (allowed: %s)", shortened(j.target), why, listed(names))
}

// listed returns the first names, so that many problems with many names stay readable.
func listed(names []string) string {
	const most = 30
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
