package fdl

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
)

// checkSources checks the sources of the mappings of a step, or of the flow if step is nil.
func (p *parser) checkSources(f *fields, step *flow.Step) {
	for _, s := range f.sources {
		if s.root == expr.RootContext {
			p.contextSource(s, step)
		}
		if why := s.notInLocal(step); why != "" {
			p.strict(s.at, "source %s is missing: %s, so the target is left out", s.path, why)
		}
		if s.path == string(expr.RootLocal) && s.list == "outputMappings" && step != nil && hasNoLocal(step) {
			p.warn(s.at, "source $local is always empty: a %s step has no local value; its input is $input", step.Kind.Type())
		}
		if step != nil && s.list == "inputMappings" && s.isInLocal() {
			p.locals = append(p.locals, localSource{s, step})
		}
	}
}

// isInLocal reports whether the path leads into $local, which itself is there.
func (s pathSource) isInLocal() bool {
	return s.root == expr.RootLocal && s.path != string(expr.RootLocal)
}

// notInLocal returns why a value of $local is always missing, "" if it may be there.
func (s pathSource) notInLocal(step *flow.Step) string {
	switch {
	case step == nil && s.list == "inputMappings" && s.root == expr.RootLocal:
		return "no step has run yet"
	case step == nil || !s.isInLocal():
		return ""
	case s.list == "errorMappings" && s.path != "$local.error" && s.path != "$local.cause":
		return "$local of errorMappings has error and cause"
	case s.list != "outputMappings":
		return ""
	}
	stepType := step.Kind.Type()
	switch {
	case hasNoLocal(step):
		return "a " + stepType + " step has no local value (its input is $input)"
	case step.IsFork() && strings.HasPrefix(s.path, "$local."):
		return "$local of a " + stepType + " step is a list"
	}
	return ""
}

// hasNoLocal reports whether the local value of the step is always empty.
func hasNoLocal(step *flow.Step) bool {
	return slices.Contains([]string{"pass", "wait", "succeed"}, step.Kind.Type())
}

// contextPaths are the paths that $context has. Below the last one is the execution's input.
var contextPaths = []string{
	"$context.flow.name", "$context.flow.id", "$context.execution.name", "$context.execution.startedTime",
	"$context.step.name", "$context.step.eventId", "$context.task.token", callbackURL, idempotencyKey, executionInput,
}

const (
	callbackURL    = "$context.task.callbackUrl" // where the outcome of a task is reported
	idempotencyKey = "$context.task.idempotencyKey"
	executionInput = "$context.execution.input"
)

// contextSource checks a path into $context. The step is nil for the flow.
func (p *parser) contextSource(s pathSource, step *flow.Step) {
	text := s.path
	isKnown := slices.ContainsFunc(contextPaths, func(known string) bool { return text == known || strings.HasPrefix(known, text+".") })
	if !isKnown && !strings.HasPrefix(text, executionInput+".") && !strings.HasPrefix(text, executionInput+"[") {
		p.warn(s.at, "source %s is missing: $context does not have it, so the target is left out%s (allowed: %s)",
			document.Shortened(text), p.didYouMean(text, contextPaths), strings.Join(contextPaths, ", "))
		return
	}
	if text == callbackURL || text == idempotencyKey {
		p.strict(s.at, "%s is an extension: $context of FDL does not have it", text)
	}
	if why := notInContext(text, step); why != "" {
		p.strict(s.at, "source %s is missing: %s, so the target is left out", text, why)
	}
}

// notInContext returns why a value of $context is missing here, "" if it is not.
func notInContext(text string, step *flow.Step) string {
	ofTask := strings.HasPrefix(text, "$context.task")
	if step == nil {
		if ofTask || strings.HasPrefix(text, "$context.step") {
			return "the mappings of the flow belong to no step"
		}
		return ""
	}
	task, isTask := step.Kind.(*flow.Task)
	switch {
	case ofTask && !isTask:
		return "a " + step.Kind.Type() + " step is not a task"
	case (text == "$context.task.token" || text == callbackURL) && task.Pattern != flow.PatternWaitForCallback:
		return "the task needs \"pattern: waitForCallback\""
	}
	return ""
}

// localSource is a source in $local that a step maps to its input.
type localSource struct {
	pathSource

	step *flow.Step
}

// firstSteps reports sources in $local at the first step of a series, where it is still empty,
// unless a goto leads to the step. The steps of a catch begin with the results of errorMappings.
func (p *parser) firstSteps() {
	targets := map[*flow.Step]bool{}
	for _, j := range p.jumps {
		targets[*j.to] = true
	}
	for _, s := range p.locals {
		series := s.step.Series
		if series.Steps[0] == s.step && !series.InCatch && !targets[s.step] {
			p.strict(s.at, "source %s is missing: $local is empty at the first step, so the target is left out", s.path)
		}
	}
}
