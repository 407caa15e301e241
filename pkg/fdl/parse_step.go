package fdl

import (
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// steps reads steps that run one after the other. The owner is nil for the flow.
func (p *parser) steps(f *fields, owner *flow.Step) []*flow.Step {
	var all []*flow.Step
	series := &flow.Series{Owner: owner, InCatch: f.name == "entry"}
	for _, item := range f.items("steps") {
		step := p.step(item, series)
		if step == nil {
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].Next = step
		}
		all = append(all, step)
	}
	series.Steps = all
	return all
}

func (p *parser) step(n *document.Node, series *flow.Series) *flow.Step {
	if n.Kind != document.Mapping {
		p.unfit(n, "a step", "a mapping with the fields type and name")
		return nil
	}
	step := &flow.Step{Position: n.Pos, Index: len(p.flow.All), Series: series}
	p.flow.All = append(p.flow.All, step)
	types, typeNode := stepTypes(), n.Get("type")
	for i := 0; typeNode == nil && i < len(n.Entries); i++ { // a misspelt field is reported with the other fields
		if similar.Closest(n.Entries[i].Key, []string{"type"}) != "" {
			typeNode = n.Entries[i].Value
		}
	}
	stepType := "" // decides the fields
	switch {
	case typeNode == nil:
		f := fields{parser: p, node: n}
		f.missing(`a step has no field "type", which is required (allowed: %s)`, strings.Join(types, ", "))
	case typeNode.Scalar.Text() == "flow":
		p.Problem(typeNode.Pos, `step type "flow" is unknown; a sub-flow is a task with "resourceArn: acs:fnf:::flow/NAME" (allowed: %s)`, strings.Join(types, ", "))
	default:
		stepType = p.oneOf(typeNode, "step type", types)
	}
	if stepType == "" {
		name := &fields{element: findElement("pass"), parser: p, values: []document.Entry{{Key: "name", Value: n.Get("name")}}}
		p.nameStep(step, name) // a goto may well name it
		return step
	}
	f := p.fields(n, stepType)
	p.nameStep(step, f)
	step.End = f.boolean("end")
	data := &Data{Input: f.mappings("inputMappings"), Output: f.mappings("outputMappings")}
	step.Data = data
	step.Kind = p.kind(step, f)
	data.isFork = step.IsFork()
	p.checkSources(f, step)
	return step
}

// named is a step with the place of its name.
type named struct {
	step *flow.Step
	at   flow.Position
}

func (p *parser) nameStep(step *flow.Step, f *fields) {
	step.Name = f.nameOf("step name")
	if step.Name == "" {
		return
	}
	at := f.get("name").Pos
	if first, repeated := p.names[step.Name]; repeated {
		p.Problem(at, "step name %q is repeated; it stands first at %s, and names are unique in the whole flow, nested steps included",
			document.Shortened(step.Name), first.at)
		return
	}
	p.names[step.Name] = named{step, at}
}

func (p *parser) kind(step *flow.Step, f *fields) flow.Kind {
	switch f.name {
	case "task":
		return p.task(step, f)
	case "wait":
		return p.wait(f)
	case "choice":
		return p.choice(step, f)
	case "parallel":
		return p.parallel(step, f)
	case "foreach":
		leave := p.fork(step)
		foreach := &flow.Foreach{MaxConcurrency: int(f.whole("maxConcurrency", flow.MaxConcurrency))}
		if n := f.get("iterationMapping"); n != nil {
			if mapping := p.fields(n, "iterationMapping"); mapping != nil {
				mapping.iterations(foreach)
			}
		}
		foreach.Steps = p.steps(f, step)
		leave()
		if f.get("maxToleratedFailures") != nil {
			foreach.Tolerance.Count = new(int(f.whole("maxToleratedFailures", 0)))
		}
		if f.get("maxToleratedFailurePercentage") != nil {
			foreach.Tolerance.Percentage = new(f.number("maxToleratedFailurePercentage", 0))
		}
		p.failures(&foreach.Handlers, anyError, step, f)
		return foreach
	case "succeed":
		return &flow.Succeed{}
	case "fail":
		return &flow.Fail{Error: f.text("error"), Cause: f.text("cause")}
	}
	return &flow.Pass{}
}

func (p *parser) wait(f *fields) *flow.Wait {
	wait := &flow.Wait{Most: MaxWait}
	switch duration, timestamp := f.either("duration", "timestamp"); {
	case duration != nil:
		if path, ok := p.selfPath(duration); ok {
			wait.Mode, wait.Path = flow.WaitDurationPath, path
			return wait
		}
		wait.Duration = read(f, "duration", 0, func(v value.Value) (time.Duration, bool) { return flow.ParseDuration(v, MaxWait) })
	case timestamp != nil:
		if path, ok := p.selfPath(timestamp); ok {
			wait.Mode, wait.Path = flow.WaitTimestampPath, path
			return wait
		}
		wait.Mode = flow.WaitTimestamp
		wait.Timestamp = read(f, "timestamp", time.Time{}, flow.ParseTimestamp)
	}
	return wait
}

// selfPath returns the path of n and whether n looks like one. A broken path was reported.
func (p *parser) selfPath(n *document.Node) (expr.Path, bool) {
	text, ok := n.Text()
	if !ok || !strings.HasPrefix(text, string(expr.RootSelf)) {
		return expr.Path{}, false
	}
	path, err := expr.ParsePath(text, expr.RootSelf)
	if err != nil {
		p.syntaxProblem(n, err, selfMeant(text))
	}
	return path, true
}

// selfMeant suggests a path in place of a path that is written as in a mapping.
func selfMeant(text string) string {
	for _, root := range []expr.Root{expr.RootInput, expr.RootLocal} {
		if rest, ok := strings.CutPrefix(text, string(root)+"."); ok {
			return fmt.Sprintf("; did you mean %q?", "$."+document.Shortened(rest))
		}
	}
	return ""
}

// MaxWait is the longest time that a wait step may take, as the vendor documents it.
const MaxWait = 48 * time.Hour
