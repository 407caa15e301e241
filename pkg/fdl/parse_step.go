package fdl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
)

// steps reads one series.
func (p *parser) steps(n *node) []*Step {
	if n == nil {
		return nil
	}
	items := p.items(n, "steps")
	if n.kind == nodeSequence && len(items) == 0 {
		p.problem(n.pos, "steps is an empty list; a series has at least one step")
	}
	begin := len(p.gotos)
	series := make([]*Step, 0, len(items))
	for _, item := range items {
		step := p.step(item)
		if step == nil {
			continue
		}
		if len(series) > 0 {
			series[len(series)-1].Next = step
		}
		series = append(series, step)
	}
	p.siblings(begin, series)
	return series
}

func (p *parser) step(n *node) *Step {
	stepType, ok := p.stepType(n)
	if !ok {
		return nil
	}
	common := stepFields
	if stepType == "succeed" || stepType == "fail" {
		common = endingFields
	}
	var later []string
	if stepType == "task" {
		later = laterTaskFields
	}
	f, _ := p.fields(n, "a "+stepType+" step", slices.Concat(common, kindFields[stepType]), later)
	step := &Step{Position: n.pos, Index: len(p.flow.All)}
	p.flow.All = append(p.flow.All, step)
	step.Name = p.stepName(f)
	step.End = p.boolean(f.optional("end"), "end")
	step.Input = p.mappings(f.optional("inputMappings"))
	step.Output = p.mappings(f.optional("outputMappings"))
	step.Kind = p.kind(stepType, step, f)
	return step
}

// stepType is the type of the step, which decides what its fields are. Not ok:
// it has no valid one, and so its fields mean nothing.
func (p *parser) stepType(n *node) (string, bool) {
	if n.kind != nodeMapping {
		p.problem(n.pos, "found %s where a step belongs; a step is a mapping with the fields type and name", n.describe())
		return "", false
	}
	i := slices.IndexFunc(n.entries, func(e entry) bool { return e.key == "type" })
	if i < 0 {
		p.problem(n.pos, `a step has no field "type", which is required%s (allowed: %s)`, typeMeant(n), strings.Join(stepTypes, ", "))
		return "", false
	}
	value := n.entries[i].value
	if slices.Contains(laterTypes, value.scalar.Text()) {
		p.problem(value.pos, "step type %q is not supported yet; allowed: %s", value.scalar.Text(), strings.Join(stepTypes, ", "))
		return "", false
	}
	found := p.oneOf(value, "step type", stepTypes...)
	return found, slices.Contains(stepTypes, found)
}

// typeMeant finds a misspelt field "type".
func typeMeant(n *node) string {
	for _, e := range n.entries {
		if DidYouMean(e.key, []string{"type"}) != "" {
			return fmt.Sprintf("; did you write %q for it?", e.key)
		}
	}
	return ""
}

func (p *parser) stepName(f fields) string {
	n := f.required("name")
	name := p.name(n, "step name")
	if name == "" {
		return ""
	}
	if first, repeated := p.names[name]; repeated {
		p.problem(n.pos, "step name %q is repeated; it stands first at %s, and names are unique in the whole flow, nested steps included", name, first)
	} else {
		p.names[name] = n.pos
	}
	return name
}

func (p *parser) kind(stepType string, step *Step, f fields) Kind {
	switch stepType {
	case "task":
		return p.task(f)
	case "wait":
		return p.wait(f)
	case "choice":
		return p.choice(step, f)
	case "succeed":
		return &Succeed{}
	case "fail":
		return &Fail{Error: p.optionalText(f.optional("error"), "error"), Cause: p.optionalText(f.optional("cause"), "cause")}
	}
	return &Pass{}
}

func (p *parser) task(f fields) *Task {
	task := &Task{}
	if n := f.optional("pattern"); n != nil {
		p.pattern(n)
	}
	n := f.required("resourceArn")
	if n == nil {
		return task
	}
	text, ok := p.text(n, "resourceArn")
	if !ok {
		return task
	}
	var err error
	if task.Resource, err = ParseResource(text); err != nil {
		p.problem(n.pos, "%s", err)
	}
	return task
}

func (p *parser) pattern(n *node) {
	const only = "requestResponse"
	if slices.Contains(laterPatterns, n.scalar.Text()) {
		p.problem(n.pos, "pattern %q is not supported yet; allowed: %s", n.scalar.Text(), only)
		return
	}
	p.oneOf(n, "pattern", only)
}

func (p *parser) wait(f fields) *Wait {
	duration, timestamp := f.optional("duration"), f.optional("timestamp")
	switch {
	case duration != nil && timestamp != nil:
		p.problem(timestamp.pos, `%s has both "duration" and "timestamp"; write one of them`, f.where)
	case duration != nil:
		return p.waitDuration(duration)
	case timestamp != nil:
		return p.waitTimestamp(timestamp)
	default:
		p.problem(f.at, `%s has neither "duration" nor "timestamp"; write one of them`, f.where)
	}
	return &Wait{}
}

func (p *parser) waitDuration(n *node) *Wait {
	if path, ok := p.selfPath(n); ok {
		return &Wait{Mode: WaitDurationPath, Path: path}
	}
	duration, ok := ParseDuration(n.value())
	if !ok {
		p.problem(n.pos, "duration is %s; allowed: whole seconds from 0 to %d, or a path like $.seconds", n.describe(), int(MaxWait/time.Second))
	}
	return &Wait{Mode: WaitDuration, Duration: duration}
}

func (p *parser) waitTimestamp(n *node) *Wait {
	if path, ok := p.selfPath(n); ok {
		return &Wait{Mode: WaitTimestampPath, Path: path}
	}
	instant, ok := ParseTimestamp(n.value())
	if !ok {
		p.problem(n.pos, "timestamp is %s; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339), or a path like $.instant", n.describe())
	}
	return &Wait{Mode: WaitTimestamp, Timestamp: instant}
}

// selfPath is the path that n writes. Ok means that it looks like one; a
// broken one was reported.
func (p *parser) selfPath(n *node) (expr.Path, bool) {
	if n.scalar.Kind() != expr.KindString || !strings.HasPrefix(n.scalar.Text(), string(expr.RootSelf)) {
		return expr.Path{}, false
	}
	path, err := expr.ParsePath(n.scalar.Text(), expr.RootSelf)
	if err != nil {
		p.syntaxProblem(n, err)
	}
	return path, true
}

// ParseDuration is the duration of a wait given in whole seconds. Not ok: v is
// no whole number from 0 to [MaxWait].
func ParseDuration(v expr.Value) (d time.Duration, ok bool) {
	seconds, ok := v.Int64()
	if !ok || seconds < 0 || seconds > int64(MaxWait/time.Second) {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// ParseTimestamp is the instant that a text writes as RFC 3339, in UTC.
func ParseTimestamp(v expr.Value) (t time.Time, ok bool) {
	if v.Kind() != expr.KindString {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	return t.UTC(), err == nil
}
