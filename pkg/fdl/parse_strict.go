package fdl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
)

// strict adds a problem that only strict mode reports.
func (p *parser) strict(at Position, format string, args ...any) {
	p.flow.Extensions = append(p.flow.Extensions, strictProblem(at, format, args...))
}

func strictProblem(at Position, format string, args ...any) Problem {
	return Problem{Position: at, Severity: SeverityStrict, Message: lineBreaks.Replace(fmt.Sprintf(format, args...))}
}

// extensionsOf reports the fields of a task that FDL does not have.
func (p *parser) extensionsOf(task *Task, f fields) {
	if n := f.optional("pattern"); task.Poll != nil && n != nil {
		p.strict(n.pos, "pattern \"waitForCondition\" is an extension: FDL polls with a wait, a task and a choice")
	}
	for _, field := range []string{"heartbeatSeconds", "atMostOnce", "signed"} {
		if n := f.optional(field); n != nil {
			p.strict(n.pos, "%s is an extension: a task of FDL has no such field", field)
		}
	}
	if n := f.optional("action"); n != nil && task.Resource.Kind != "" {
		p.strict(n.pos, "action %s is an extension: FDL has no services of AWS", task.Resource.Text)
	}
	if n := f.optional("resourceArn"); n != nil && strings.HasPrefix(task.Resource.Text, "arn:") {
		p.strict(n.pos, "resource %s is an extension: FDL has no resources of AWS", shortened(task.Resource.Text))
	}
}

// paths calls each with every path that is a source in a list of mappings.
func paths(list *node, each func(at Position, path expr.Path)) {
	if list == nil {
		return
	}
	for _, item := range list.items {
		if n := item.get("source"); n != nil {
			source, err := expr.ParseSource(n.value())
			if path, ok := source.Path(); ok && err == nil {
				each(n.pos, path)
			}
		}
	}
}

// flowSources checks the sources of the flow's mappings.
func (p *parser) flowSources(f fields) {
	inContext := func(at Position, path expr.Path) { p.contextSource(at, path, nil) }
	paths(f.optional("inputMappings"), func(at Position, path expr.Path) {
		inContext(at, path)
		if path.Root() == expr.RootLocal {
			p.strict(at, "source %s is missing: no step has run yet, so the target is left out", path)
		}
	})
	paths(f.optional("outputMappings"), inContext)
}

// stepSources checks the sources of a step's mappings.
func (p *parser) stepSources(step *Step, f fields) {
	inContext := func(at Position, path expr.Path) { p.contextSource(at, path, step) }
	paths(f.optional("inputMappings"), inContext)
	paths(f.optional("outputMappings"), func(at Position, path expr.Path) {
		inContext(at, path)
		if slices.Contains([]string{"pass", "wait", "succeed"}, step.Kind.Type()) && isInLocal(path) {
			p.strict(at, "source %s is missing: a %s step has an empty $local, so the target is left out", path, step.Kind.Type())
		}
		if slices.Contains([]string{"parallel", "foreach"}, step.Kind.Type()) && strings.HasPrefix(path.String(), "$local.") {
			p.strict(at, "source %s is missing: $local of a %s step is a list, so the target is left out; did you mean %q?",
				path, step.Kind.Type(), strings.Replace(path.String(), "$local", "$local[*]", 1))
		}
	})
	paths(f.optional("errorMappings"), func(at Position, path expr.Path) {
		inContext(at, path)
		if isInLocal(path) && path.String() != "$local.error" && path.String() != "$local.cause" {
			p.strict(at, "source %s is missing: $local of errorMappings has error and cause, so the target is left out%s", path, errorMeant(path))
		}
	})
}

// errorMeant suggests the error for the name that the vendor's manual once gives it.
func errorMeant(path expr.Path) string {
	if path.String() == "$local.code" {
		return `; did you mean "$local.error"?`
	}
	return ""
}

// isInLocal reports whether the path leads into $local, which itself is there.
func isInLocal(path expr.Path) bool {
	return path.Root() == expr.RootLocal && path.String() != string(expr.RootLocal)
}

// contextPaths are the paths that $context has. Below the last one is the execution's input.
var contextPaths = []string{
	"$context.flow.name", "$context.flow.id", "$context.execution.name", "$context.execution.startedTime",
	"$context.step.name", "$context.step.eventId", "$context.task.token", callbackURL, idempotencyKey, executionInput,
}

const (
	idempotencyKey = "$context.task.idempotencyKey"
	executionInput = "$context.execution.input"
)

// mayBeInContext reports whether $context may have what the path selects.
func mayBeInContext(path string) bool {
	for _, known := range contextPaths {
		if path == known || strings.HasPrefix(known, path+".") {
			return true
		}
	}
	rest, ok := strings.CutPrefix(path, executionInput)
	return ok && strings.ContainsRune(".[", rune(rest[0]))
}

// contextSource checks a path into $context. The step is nil for the flow.
func (p *parser) contextSource(at Position, path expr.Path, step *Step) {
	text := path.String()
	if path.Root() != expr.RootContext {
		return
	}
	if !mayBeInContext(text) {
		p.warn(at, fmt.Sprintf("source %s is missing: $context does not have it, so the target is left out%s (allowed: %s)",
			shortened(text), DidYouMean(text, contextPaths), strings.Join(contextPaths, ", ")))
		return
	}
	if text == callbackURL || text == idempotencyKey {
		p.strict(at, "%s is an extension: $context of FDL does not have it", text)
	}
	if why := notInContext(text, step); why != "" {
		p.strict(at, "source %s is missing: %s, so the target is left out", text, why)
	}
}

// notInContext returns why a value of $context is missing here, "" if it is not.
func notInContext(text string, step *Step) string {
	ofTask := strings.HasPrefix(text, "$context.task")
	if step == nil {
		if ofTask || strings.HasPrefix(text, "$context.step") {
			return "the mappings of the flow belong to no step"
		}
		return ""
	}
	task, isTask := step.Kind.(*Task)
	switch {
	case ofTask && !isTask:
		return "a " + step.Kind.Type() + " step is not a task"
	case (text == "$context.task.token" || text == callbackURL) && task.Pattern != PatternWaitForCallback:
		return "the task needs \"pattern: waitForCallback\""
	}
	return ""
}

// first is a problem of a first step, if the series always begins with it.
type first struct {
	step    *Step
	problem Problem
}

// atBegin checks what the first step of a series maps from $local, which is still empty.
func (p *parser) atBegin(step *Step, n *node) {
	paths(n.get("inputMappings"), func(at Position, path expr.Path) {
		if isInLocal(path) {
			p.firsts = append(p.firsts, first{step, strictProblem(at,
				"source %s is missing: $local is empty at the first step, so the target is left out", path)})
		}
	})
}

// firstSteps reports the problems of first steps, unless a goto leads to the step.
func (p *parser) firstSteps() {
	targets := map[*Step]bool{}
	for _, j := range p.jumps {
		targets[*j.to] = true
	}
	for _, f := range p.firsts {
		if !targets[f.step] {
			p.flow.Extensions = append(p.flow.Extensions, f.problem)
		}
	}
}
