package fdl

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
)

func (p *parser) choice(step *Step, f fields) *Choice {
	choice := &Choice{}
	if n := f.required("choices"); n != nil {
		items := p.items(n, "choices")
		if n.kind == nodeSequence && len(items) == 0 {
			p.problem(n.pos, "choices is an empty list; a choice has at least one branch")
		}
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
	f, ok := p.fields(n, "a branch of a choice", branchFields, nil)
	if !ok {
		return
	}
	if condition := f.required("condition"); condition != nil {
		branch.Condition = p.condition(condition)
	}
	p.branchBody(branch, f, choice)
}

func (p *parser) defaultBranch(branch *Branch, n *node, choice *Step) {
	f, ok := p.fields(n, "the default of a choice", []string{"steps", "goto"}, nil)
	if ok {
		p.branchBody(branch, f, choice)
	}
}

func (p *parser) branchBody(branch *Branch, f fields, choice *Step) {
	branch.Steps = p.steps(f.optional("steps"))
	if n := f.optional("goto"); n != nil {
		if target, ok := p.text(n, "goto"); ok {
			p.gotos = append(p.gotos, jump{at: n.pos, from: choice, target: target, to: &branch.Goto})
		}
	}
}

func (p *parser) condition(n *node) expr.Condition {
	text, ok := p.text(n, "condition")
	if !ok {
		return expr.Condition{}
	}
	condition, err := expr.ParseCondition(text)
	if err != nil {
		p.syntaxProblem(n, err)
	}
	return condition
}

// jump is a goto whose target is looked up when all steps are known.
type jump struct {
	at     Position
	from   *Step // the step that carries it
	target string
	to     **Step
	// siblings are the steps that it may go to.
	siblings []*Step
}

// siblings tells the jumps that came since begin, if a step of series carries
// them, where they may go.
func (p *parser) siblings(begin int, series []*Step) {
	for i := begin; i < len(p.gotos); i++ {
		for _, step := range series {
			if p.gotos[i].from == step {
				p.gotos[i].siblings = series
			}
		}
	}
}

func (p *parser) resolveGotos() {
	for _, j := range p.gotos {
		var names []string
		for _, step := range j.siblings {
			if step.Name == j.target {
				*j.to = step
			}
			names = append(names, step.Name)
		}
		if *j.to == nil {
			p.problem(j.at, "goto %q %s (allowed: %s)", j.target, p.missed(j, names), strings.Join(names, ", "))
		}
	}
}

func (p *parser) missed(j jump, names []string) string {
	if at, exists := p.names[j.target]; exists {
		return fmt.Sprintf("leads to the step at %s, which is no sibling of step %q", at, j.from.Name)
	}
	return "leads to no step" + DidYouMean(j.target, names)
}
