package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// taskAdvice looks at one task.
type taskAdvice struct {
	step   *flow.Step
	task   *flow.Task
	nodes  nodes
	around []*flow.Step // forks and choices around the step, the outermost first
}

func stepsAround(def *flow.Flow, step *flow.Step) []*flow.Step {
	return slices.DeleteFunc(slices.Clone(def.All), func(s *flow.Step) bool {
		return is[*flow.Task](s) || s == step || !isIn(step, []*flow.Step{s})
	})
}

func foreachesOf(steps []*flow.Step) []*flow.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s *flow.Step) bool { return !is[*flow.Foreach](s) })
}

// isEndless reports whether only the longest time of an execution ends the task's wait.
func (a taskAdvice) isEndless() bool {
	switch task := a.task; task.Pattern {
	case flow.PatternWaitForCallback:
		return task.Timeout == 0 && task.Heartbeat == 0
	case flow.PatternSync:
		return task.Timeout == 0 && !task.Resource.IsFunction()
	case flow.PatternWaitForCondition:
		return task.Timeout == 0 && task.Poll.MaxAttempts == 0
	case flow.PatternRequestResponse: // a function has a time limit of its own
	}
	return false
}

// finding suggests one step instead of itself.
func (a taskAdvice) finding(rule Rule, instead *yaml.Node, found, saves string) Finding {
	return Finding{
		Position: a.step.Position, Rule: rule, Step: a.step.Name, Replaces: []string{a.step.Name},
		Instead: written(instead), Found: a.step.Name + " " + found, Saves: saves,
	}
}

// with returns the step with a field, and a comment on it.
func (a taskAdvice) with(name string, value *yaml.Node, note string) *yaml.Node {
	node := a.nodes.step(a.step)
	set(node, name, value, note)
	return node
}

// withoutEnd is the finding about a task that is endless.
func (a taskAdvice) withoutEnd() Finding {
	rule, what, note := TaskWithoutTimeout, "a job that never ends, or never began", "how long the job may take"
	saves := "months of waiting: when the time is over, the step fails with " + machine.ErrorTaskTimeout + ", which its retry and its catch see"
	switch {
	case a.task.Resource.Subflow:
		rule, what, note = SubflowWithoutTimeout, "a sub-flow, which may have no time limit of its own", "how long the sub-flow may take"
		if a.task.Pattern == flow.PatternSync {
			saves += ", and the sub-flow is stopped"
		}
	case a.task.Pattern == flow.PatternWaitForCallback:
		rule, what, note = CallbackWithoutDeadline, "a callback that never comes", "how long the sender may take; or heartbeatSeconds, if it sends heartbeats"
	case a.task.Pattern == flow.PatternWaitForCondition:
		what, note = "a condition that is never met", "how long it may take in all; or maxAttempts"
	}
	return a.finding(rule, a.with("timeoutSeconds", seconds(day), note),
		fmt.Sprintf("waits for %s: 90 days later the execution ends as TimedOut, which no retry and no catch sees", what),
		saves)
}

// flowWithoutTimeout is the finding about a flow in which these steps are endless.
func flowWithoutTimeout(def *flow.Flow, steps []string) Finding {
	slices.Sort(steps)
	steps = slices.Compact(steps)
	return Finding{
		Position: flow.Position{Line: 1, Column: 1}, Rule: FlowWithoutTimeout, Replaces: []string{},
		Found:   fmt.Sprintf("the flow has no timeoutSeconds, and %s may wait forever: an execution stays open for 90 days", listed(steps)),
		Instead: "version: " + def.Version + "\ntype: flow\ntimeoutSeconds: 604800 # a week, or how long an execution may take in all\n",
		Saves:   "months in which an execution that cannot go on stays open: it ends as TimedOut after the time that you set",
	}
}

// aboutErrors returns the findings about what the task does when an attempt fails.
func (a taskAdvice) aboutErrors() []Finding {
	var findings []Finding
	if a.expectsTimeout() && a.task.Timeout == 0 && a.task.Heartbeat == 0 {
		findings = append(findings, a.timeoutNeverComes())
	}
	if errors, calls := a.repeatedAfter(); calls > 1 && a.changesThings() && !a.task.AtMostOnce && !a.tellsCallsApart() {
		findings = append(findings, a.withoutIdempotency(errors, calls))
	}
	catchesAll := slices.ContainsFunc(a.task.Catch, func(c flow.Catch) bool { return slices.Contains(c.Errors, fdl.ErrorAll) })
	if catchesAll && len(fdl.DataOf(a.step).Errors) == 0 {
		findings = append(findings, a.errorSwallowed())
	}
	return findings
}

// expectsTimeout reports whether a retry or a catch is for the end of a time limit.
func (a taskAdvice) expectsTimeout() bool {
	return slices.ContainsFunc(a.task.Retry, func(r flow.Retry) bool { return slices.Contains(r.Errors, machine.ErrorTaskTimeout) }) ||
		slices.ContainsFunc(a.task.Catch, func(c flow.Catch) bool { return slices.Contains(c.Errors, machine.ErrorTaskTimeout) })
}

func (a taskAdvice) timeoutNeverComes() Finding {
	limit := day
	if a.task.Pattern == flow.PatternRequestResponse {
		limit = time.Minute
	}
	return a.finding(TaskWithoutTimeout, a.with("timeoutSeconds", seconds(limit), "how long one attempt may take"),
		"retries or catches "+machine.ErrorTaskTimeout+" and has no timeoutSeconds, so that error comes late or never",
		"the time that an attempt which hangs would go on waiting")
}

// notBegun are errors of calls that did not reach the function.
var notBegun = []string{
	token.ErrorExhausted, token.ErrorThrottled, token.ErrorFunctionNotFound, token.ErrorAccessDenied, token.ErrorInvalidArgument, token.ErrorUnreachable,
}

// repeatedAfter returns the errors after which a function is called again that may have done its
// work, and how often it may be called in all.
func (a taskAdvice) repeatedAfter() (errors []string, calls int) {
	calls = 1
	if a.task.Pattern == flow.PatternWaitForCondition {
		return nil, calls // it is called again and again anyway
	}
	for _, policy := range a.task.Retry {
		doubtful := slices.DeleteFunc(slices.Clone(policy.Errors), func(name string) bool { return slices.Contains(notBegun, name) })
		if len(doubtful) > 0 && policy.MaxAttempts > 0 {
			errors, calls = append(errors, doubtful...), calls+policy.MaxAttempts
		}
	}
	slices.Sort(errors)
	return slices.Compact(errors), calls
}

// changesThings reports whether a repeated call may do harm. The start of a job is idempotent as far
// as its service allows, that of a sub-flow as far as its name does, and a question changes nothing.
func (a taskAdvice) changesThings() bool {
	return a.task.Resource.Kind == "" && !a.task.Resource.Subflow && !asksAboutJobs(a.step)
}

// keys are parts of the context by which a function tells a repeated call from a new one.
var keys = []string{"$context", "$context.task", "$context.task.idempotencyKey", "$context.execution", "$context.execution.name"}

// keysOfAttempt are those that are different in each iteration of a foreach.
var keysOfAttempt = keys[:3]

// tellsCallsApart reports whether the function gets a key, and in a foreach also what the iterations
// do not have in common.
func (a taskAdvice) tellsCallsApart() bool {
	input := fdl.DataOf(a.step).Input
	return readsAny(input, keys) && (len(foreachesOf(a.around)) == 0 || readsAny(input, keysOfAttempt) || readsInput(input))
}

func readsAny(mappings expr.Mappings, paths []string) bool {
	return slices.ContainsFunc(mappings, func(m expr.Mapping) bool {
		path, ok := m.Source.Path()
		return ok && slices.Contains(paths, path.String())
	})
}

func readsInput(mappings expr.Mappings) bool { return mappings.Uses(expr.RootInput) }

func (a taskAdvice) withoutIdempotency(errors []string, calls int) Finding {
	before, note := field(a.nodes.step(a.step), "inputMappings"), ""
	if before == nil {
		before, note = list(), "and one for each key that the function reads: with inputMappings it gets no others"
	}
	inputs := append(before.Content, mapped("executionName", "$context.execution.name"), mapped("stepName", "$context.step.name"))
	same := "executionName and stepName"
	for _, name := range a.indexes() {
		inputs = append(inputs, mapped(name, "$input."+name))
		same = strings.Replace(same, " and ", ", ", 1) + " and " + name
	}
	instead := a.with("inputMappings", list(inputs...), note)
	f := a.finding(RetryWithoutIdempotency, instead,
		fmt.Sprintf("is called again after %s, when the call before may have done its work: what %s does can happen up to %d times",
			strings.ReplaceAll(listed(errors), " and ", " or "), a.task.Resource.Function, calls),
		"repeated work: "+same+" are the same in each retry, so the function can store them with its result, "+
			"and return that result to a repeated call. In a loop, also map a value that differs in each turn. $context.task.idempotencyKey is new in each retry, "+
			"and the same when one attempt is delivered twice")
	if fork := a.withIndexes(instead); fork != nil {
		f.Replaces, f.Instead = []string{field(fork, "name").Value}, written(fork)
	}
	return f
}

// indexOf is the input that has the index of an iteration, or may have it.
func indexOf(foreach *flow.Step) (name string, exists bool) {
	kind, _ := foreach.Kind.(*flow.Foreach)
	return cmp.Or(kind.Index, kind.Item+"Index"), kind.Index != ""
}

// indexes are the inputs that tell the iterations around the task apart.
func (a taskAdvice) indexes() []string { return indexesOf(a.around) }

func indexesOf(steps []*flow.Step) (names []string) {
	for _, foreach := range foreachesOf(steps) {
		if name, _ := indexOf(foreach); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// lost returns the indexes of the foreaches around a step that its inputMappings keep from the steps in
// it.
func (a taskAdvice) lost(place int) []string {
	mappings := field(a.nodes.step(a.around[place]), "inputMappings")
	if mappings == nil {
		return nil
	}
	return slices.DeleteFunc(indexesOf(a.around[:place]), func(name string) bool {
		return slices.ContainsFunc(mappings.Content, func(m *yaml.Node) bool {
			target := field(m, "target")
			return target != nil && target.Value == name
		})
	})
}

// withIndexes returns the outermost step around the task that keeps an index from it, with the task in
// it and with the indexes. It returns nil if all indexes reach the task.
func (a taskAdvice) withIndexes(step *yaml.Node) *yaml.Node {
	var outermost *yaml.Node
	parts := nodes{}
	for place, s := range a.around {
		lost, without := a.lost(place), false
		if is[*flow.Foreach](s) {
			_, exists := indexOf(s)
			without = !exists
		}
		if outermost == nil && (without || len(lost) > 0) {
			outermost = a.nodes.step(s)
			splice(outermost, []string{a.step.Name}, []*yaml.Node{step})
			parts.collect(outermost)
		}
		node := parts[s.Name]
		if node == nil {
			continue
		}
		if without {
			name, _ := indexOf(s)
			iteration := field(node, "iterationMapping")
			iteration.Content = append(iteration.Content, scalar("index"), scalar(name))
		}
		for _, name := range lost {
			mappings := field(node, "inputMappings")
			mappings.Content = append(mappings.Content, mapped(name, "$input."+name))
		}
	}
	return outermost
}

func (a taskAdvice) errorSwallowed() Finding {
	mappings := list(mapped("error", "$local.error"), mapped("cause", "$local.cause"))
	return a.finding(ErrorSwallowed, a.with("errorMappings", mappings, ""),
		"catches every error (FnF.ALL) without errorMappings: no step after it can know what went wrong, a mistake in a name included",
		"a search through the history: the steps that handle the error read its name and its cause, and so does the output")
}
