package diagram

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// Mermaid writes a picture as a flow chart of Mermaid, which places the steps itself.
func (p Picture) Mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart TD\n")
	m := mermaid{&out, p, map[*flow.Step]Box{}}
	for _, b := range p.Boxes {
		if b.Step != nil {
			m.boxes[b.Step] = b
		}
	}
	m.line(1, `start(["start"])`)
	m.steps(1, nil)
	if p.Boxes[len(p.Boxes)-1].Lines[0] == endText {
		m.line(1, `done(["end"])`)
	}
	for _, e := range p.Edges {
		m.edge(e)
	}
	m.classes()
	return out.String()
}

// around is the fork next to a step, nil for none.
func around(step *flow.Step) *flow.Step {
	if forks := machine.ForksAround(step); len(forks) > 0 {
		return forks[len(forks)-1]
	}
	return nil
}

type mermaid struct {
	out     *strings.Builder
	picture Picture
	boxes   map[*flow.Step]Box
}

func (m mermaid) line(depth int, text string) {
	m.out.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// steps writes the steps with the given nearest fork, nil for none.
func (m mermaid) steps(depth int, fork *flow.Step) {
	for _, b := range m.picture.Boxes {
		switch {
		case b.Step == nil || around(b.Step) != fork:
		case b.Frame:
			m.line(depth, fmt.Sprintf(`subgraph %s["%s"]`, id(b.Step), quoted(b.Lines[0])))
			m.steps(depth+1, b.Step)
			m.line(depth, "end")
		default:
			open, shut := "[", "]"
			if _, is := b.Step.Kind.(*flow.Choice); is {
				open, shut = "{{", "}}"
			}
			m.line(depth, fmt.Sprintf(`%s%s"%s"%s`, id(b.Step), open, quoted(strings.Join(b.Lines, "\n")), shut))
		}
	}
}

// edge leaves out edges between a frame and its content, which Mermaid cannot draw.
func (m mermaid) edge(e Edge) {
	if e.From != nil && e.From.IsFork() && e.To != nil && around(e.To) == e.From || e.To != nil && e.From != nil && around(e.From) == e.To {
		return
	}
	from, to, label := "start", "done", ""
	if e.From != nil {
		from = id(e.From)
	}
	if e.To != nil {
		to = id(e.To)
	}
	if e.Label != "" {
		label = `|"` + quoted(shortened(e.Label)) + `"|`
	}
	m.line(1, from+" -->"+label+" "+to)
}

// classes color steps by their status.
func (m mermaid) classes() {
	for _, class := range []struct {
		status Status
		style  string
	}{
		{Running, "stroke:#0969da,stroke-width:3px"}, {Waiting, "stroke:#9a6700,stroke-width:3px"},
		{Succeeded, "stroke:#1a7f37,stroke-width:2px"}, {Failed, "stroke:#cf222e,stroke-width:3px"},
		{Before, "stroke-dasharray:2 3"},
	} {
		var ids []string
		for _, b := range m.picture.Boxes {
			if b.State.Status == class.status {
				ids = append(ids, id(b.Step))
			}
		}
		if len(ids) > 0 {
			m.line(1, fmt.Sprintf("classDef %s %s", class.status, class.style))
			m.line(1, fmt.Sprintf("class %s %s", strings.Join(ids, ","), class.status))
		}
	}
}

func id(step *flow.Step) string { return fmt.Sprint("s", step.Index) }

// quoted escapes a text inside of quotes, by the codes that Mermaid has for characters.
func quoted(text string) string {
	return strings.NewReplacer(`#`, "#35;", `"`, "#34;", "<", "#60;", ">", "#62;", "&", "#38;", "\n", "<br/>", "`", "#96;").Replace(text)
}
