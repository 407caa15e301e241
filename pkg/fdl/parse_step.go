package fdl

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

// steps reads a series that begins with an empty $local. The owner is nil for the flow.
func (p *parser) steps(n *node, owner *Step) []*Step {
	series := p.series(n, owner)
	if len(series) > 0 {
		p.atBegin(series[0], n.items[0])
	}
	return series
}

// series reads steps that run one after the other.
func (p *parser) series(n *node, owner *Step) []*Step {
	if n == nil {
		return nil
	}
	items := p.someItems(n, "steps", "a list of steps")
	series := make([]*Step, 0, len(items))
	for _, item := range items {
		if step := p.step(item); step != nil {
			series = append(series, step)
		}
	}
	all := &Series{Steps: series, Owner: owner}
	for i, step := range series {
		step.Series = all
		if i > 0 {
			series[i-1].Next = step
		}
	}
	return series
}

func (p *parser) step(n *node) *Step {
	if n.kind != nodeMapping {
		p.unfit(n, "a step", "a mapping with the fields type and name")
		return nil
	}
	step := &Step{Position: n.pos, Index: len(p.flow.All)}
	p.flow.All = append(p.flow.All, step)
	stepType := p.stepType(n)
	if stepType == "" {
		step.Name = p.stepName(n.get("name")) // a goto may well name it
		return step
	}
	f := p.stepFields(n, stepType)
	step.Name = p.stepName(f.required("name"))
	step.End = p.boolean(f.optional("end"), "end")
	step.Input = p.mappings(f, "inputMappings")
	step.Output = p.mappings(f, "outputMappings")
	step.Kind = p.kind(stepType, step, f)
	p.stepSources(step, f)
	return step
}

func (p *parser) stepFields(n *node, stepType string) fields {
	f, _ := p.fields(n, "a "+stepType+" step", fieldsOfStep(stepType))
	return f
}

// stepType is the type of the step, which decides what its fields are; empty
// when it has none, so that its fields mean nothing.
func (p *parser) stepType(n *node) string {
	value := typeOf(n)
	if value == nil {
		f := fields{parser: p, node: n}
		f.missing(`a step has no field "type", which is required (allowed: %s)`, strings.Join(stepTypes, ", "))
		return ""
	}
	return p.oneOf(value, "step type", stepTypes...)
}

// typeOf is the value of field "type" or of a misspelt one, which is reported
// with the other fields.
func typeOf(n *node) *node {
	if value := n.get("type"); value != nil {
		return value
	}
	for _, e := range n.entries {
		if closest(e.key, []string{"type"}) != "" {
			return e.value
		}
	}
	return nil
}

func (p *parser) stepName(n *node) string {
	name := p.name(n, "step name")
	if name == "" {
		return ""
	}
	if first, repeated := p.names[name]; repeated {
		p.problem(n.pos, "step name %q is repeated; it stands first at %s, and names are unique in the whole flow, nested steps included",
			shortened(name), first)
	} else {
		p.names[name] = n.pos
	}
	return name
}

func (p *parser) kind(stepType string, step *Step, f fields) Kind {
	switch stepType {
	case "task":
		return p.task(step, f)
	case "wait":
		return p.wait(f)
	case "choice":
		return p.choice(step, f)
	case "parallel":
		return p.parallel(step, f)
	case "foreach":
		return p.foreach(step, f)
	case "succeed":
		return &Succeed{}
	case "fail":
		return &Fail{Error: p.optionalText(f.optional("error"), "error"), Cause: p.optionalText(f.optional("cause"), "cause")}
	}
	return &Pass{}
}

func (p *parser) wait(f fields) *Wait {
	switch duration, timestamp := f.either("duration", "timestamp"); {
	case duration != nil:
		return p.waitDuration(duration)
	case timestamp != nil:
		return p.waitTimestamp(timestamp)
	}
	return &Wait{}
}

func (p *parser) waitDuration(n *node) *Wait {
	if path, ok := p.selfPath(n); ok {
		return &Wait{Mode: WaitDurationPath, Path: path}
	}
	duration, ok := ParseDuration(n.value())
	if !ok {
		p.unfit(n, "duration", fmt.Sprintf("whole seconds from 0 to %d (two days), or a path like $.seconds", int(MaxWait/time.Second)))
	}
	return &Wait{Mode: WaitDuration, Duration: duration}
}

func (p *parser) waitTimestamp(n *node) *Wait {
	if path, ok := p.selfPath(n); ok {
		return &Wait{Mode: WaitTimestampPath, Path: path}
	}
	instant, ok := ParseTimestamp(n.value())
	if !ok {
		p.unfit(n, "timestamp", "an instant like 2026-01-31T10:00:00Z (RFC 3339), or a path like $.instant")
	}
	return &Wait{Mode: WaitTimestamp, Timestamp: instant}
}

// selfPath returns the path of n and whether n looks like one. A broken path was reported.
func (p *parser) selfPath(n *node) (expr.Path, bool) {
	text, ok := n.text()
	if !ok || !strings.HasPrefix(text, string(expr.RootSelf)) {
		return expr.Path{}, false
	}
	path, err := expr.ParsePath(text, expr.RootSelf)
	if err != nil {
		p.syntaxProblem(n, err, selfMeant(text))
	}
	return path, true
}

// selfMeant suggests a path for one that is written as in a mapping.
func selfMeant(text string) string {
	for _, root := range []expr.Root{expr.RootInput, expr.RootLocal} {
		if rest, ok := strings.CutPrefix(text, string(root)+"."); ok {
			return fmt.Sprintf("; did you mean %q?", "$."+shortened(rest))
		}
	}
	return ""
}

// ParseDuration returns the duration of a wait in whole seconds, and false unless v is a whole
// number from 0 to [MaxWait].
func ParseDuration(v value.Value) (d time.Duration, ok bool) {
	seconds, ok := v.Int64()
	if !ok || seconds < 0 || seconds > int64(MaxWait/time.Second) {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// timestampForm rejects what time.Parse accepts: an hour of one digit, a comma before the fraction,
// and zones of more than a day.
var timestampForm = regexp.MustCompile(`^[^T]+T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseTimestamp returns the instant of a text in RFC 3339, in UTC.
func ParseTimestamp(v value.Value) (t time.Time, ok bool) {
	if v.Kind() != value.KindString || !timestampForm.MatchString(v.Text()) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	return t.UTC(), err == nil
}
