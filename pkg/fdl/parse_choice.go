package fdl

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
)

func (p *parser) choice(step *flow.Step, f *fields) *flow.Choice {
	if f.get("choices") == nil && f.get("default") == nil {
		f.missing(`a choice step has neither "choices" nor "default"; write one of them, or both`)
	}
	items := f.items("choices")
	choice := &flow.Choice{Branches: make([]flow.Branch, len(items))} // gotos are filled in later
	for i, item := range items {
		p.branch(&choice.Branches[i], item, "branch", step)
	}
	if n := f.get("default"); n != nil {
		choice.Default = &flow.Branch{}
		p.branch(choice.Default, n, "default", step)
	}
	return choice
}

func (p *parser) branch(branch *flow.Branch, n *document.Node, element string, choice *flow.Step) {
	if f := p.fields(n, element); f != nil {
		branch.Condition, branch.Text = f.condition("condition")
		branch.Steps = p.steps(f, choice)
		p.jump(f, choice, &branch.Goto)
	}
}

// jump records a goto, if there is one. Its target is stored in to.
func (p *parser) jump(f *fields, from *flow.Step, to **flow.Step) {
	if target := f.text("goto"); target != "" {
		p.jumps = append(p.jumps, jump{at: f.get("goto").Pos, from: from, target: target, to: to})
	}
}

// jump is a goto. Its target is looked up when all steps are known.
type jump struct {
	at     flow.Position
	from   *flow.Step // the choice or task that carries it
	target string
	to     **flow.Step
}

// resolveJumps stores the targets of the gotos. It reports each goto that leads to no step of its
// series.
func (p *parser) resolveJumps() {
	names := map[*flow.Series][]string{} // of the steps that a goto may lead to
	lost := 0
	for _, j := range p.jumps {
		target, exists := p.names[j.target]
		series := j.from.Series
		if exists && target.step.Series == series {
			*j.to = target.step
			continue
		}
		if names[series] == nil {
			names[series] = []string{}
			for _, s := range series.Steps {
				if p.names[s.Name].step == s { // does not repeat another name
					names[series] = append(names[series], s.Name)
				}
			}
		}
		lost++
		why := "leads to no step"
		if exists {
			why = fmt.Sprintf("leads to the step at %s, which is not in the list of step %q", target.at, j.from.Name)
		} else if lost <= mostMeant {
			why += similar.DidYouMean(j.target, names[series])
		}
		listed := strings.Join(names[series][:min(len(names[series]), mostListed)], ", ")
		if more := len(names[series]) - mostListed; more > 0 {
			listed += fmt.Sprintf(" and %d more", more)
		}
		p.Problem(j.at, "goto %q %s (allowed: %s)", document.Shortened(j.target), why, listed)
	}
}

const (
	// mostMeant is how many gotos get a suggestion. Comparing many names with many others takes
	// long, and a flow with more lost gotos has another mistake.
	mostMeant = 20
	// mostListed keeps many problems with many names readable.
	mostListed = 30
)
