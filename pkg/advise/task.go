package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// taskAdvice looks at one task.
type taskAdvice struct {
	step  *fdl.Step
	task  *fdl.Task
	nodes nodes
}

// isEndless reports whether only the longest time of an execution ends the task's wait.
func (a taskAdvice) isEndless() bool {
	switch task := a.task; task.Pattern {
	case fdl.PatternWaitForCallback:
		return task.Timeout == 0 && task.Heartbeat == 0
	case fdl.PatternSync:
		return task.Timeout == 0
	case fdl.PatternWaitForCondition:
		return task.Timeout == 0 && task.Poll.MaxAttempts == 0
	case fdl.PatternRequestResponse: // a function has a time limit of its own
	}
	return false
}

// limited suggests a time limit.
func (a taskAdvice) limited(rule Rule, limit time.Duration, note string) Finding {
	node := a.nodes.step(a.step)
	set(node, "timeoutSeconds", seconds(limit), note)
	return finding(rule, a.step, node)
}

// withoutEnd is the finding about a task that is endless.
func (a taskAdvice) withoutEnd() Finding {
	rule, what, note := TaskWithoutTimeout, "a job that never ends, or never began", "how long the job may take"
	switch a.task.Pattern {
	case fdl.PatternWaitForCallback:
		rule, what, note = CallbackWithoutDeadline, "a callback that never comes", "how long the sender may take; or heartbeatSeconds, if it sends heartbeats"
	case fdl.PatternWaitForCondition:
		what, note = "a condition that is never met", "how long it may take in all; or maxAttempts"
	case fdl.PatternSync, fdl.PatternRequestResponse:
	}
	f := a.limited(rule, day, note)
	f.Found = fmt.Sprintf("%s waits for %s: 90 days later the execution ends as TimedOut, which no retry and no catch sees", a.step.Name, what)
	f.Saves = "months of waiting: when the time is over, the step fails with " + machine.ErrorTaskTimeout + ", which its retry and its catch see"
	return f
}

// flowWithoutTimeout is the finding about a flow in which these steps are endless.
func flowWithoutTimeout(flow *fdl.Flow, steps []string) Finding {
	slices.Sort(steps)
	steps = slices.Compact(steps)
	return Finding{
		Position: fdl.Position{Line: 1, Column: 1}, Rule: FlowWithoutTimeout,
		Found:   fmt.Sprintf("the flow has no timeoutSeconds, and %s may wait forever: an execution stays open for 90 days", listed(steps)),
		Instead: "version: " + flow.Version + "\ntype: flow\ntimeoutSeconds: 604800 # a week, or how long an execution may take in all\n",
		Saves:   "months in which an execution that cannot go on stays open: it ends as TimedOut after the time that you set",
	}
}

// aboutErrors returns the findings about what the task does when an attempt fails.
func (a taskAdvice) aboutErrors() []Finding {
	var findings []Finding
	if a.expectsTimeout() && a.task.Timeout == 0 && a.task.Heartbeat == 0 {
		findings = append(findings, a.timeoutNeverComes())
	}
	if errors, calls := a.repeatedAfter(); calls > 1 && a.changesThings() && !a.task.AtMostOnce && !readsKey(a.step.Input) {
		findings = append(findings, a.withoutIdempotency(errors, calls))
	}
	catchesAll := slices.ContainsFunc(a.task.Catch, func(c fdl.Catch) bool { return slices.Contains(c.Errors, fdl.ErrorAll) })
	if catchesAll && len(a.task.ErrorMappings) == 0 {
		findings = append(findings, a.errorSwallowed())
	}
	return findings
}

// expectsTimeout reports whether a retry or a catch is for the end of a time limit.
func (a taskAdvice) expectsTimeout() bool {
	return slices.ContainsFunc(a.task.Retry, func(r fdl.Retry) bool { return slices.Contains(r.Errors, machine.ErrorTaskTimeout) }) ||
		slices.ContainsFunc(a.task.Catch, func(c fdl.Catch) bool { return slices.Contains(c.Errors, machine.ErrorTaskTimeout) })
}

func (a taskAdvice) timeoutNeverComes() Finding {
	limit := day
	if a.task.Pattern == fdl.PatternRequestResponse {
		limit = time.Minute
	}
	f := a.limited(TaskWithoutTimeout, limit, "how long one attempt may take")
	f.Found = a.step.Name + " retries or catches " + machine.ErrorTaskTimeout + " and has no timeoutSeconds, so that error comes late or never"
	f.Saves = "the time that an attempt which hangs would go on waiting"
	return f
}

// notBegun are errors of calls that did not reach the function.
var notBegun = []string{
	"FC.ResourceExhausted", "FC.ResourceThrottled", "FC.FunctionNotFound", "FC.ServiceNotFound", "FC.AccessDenied", "FC.InvalidArgument", "FC.Unreachable",
}

// repeatedAfter returns the errors after which a function is called again that may have done its
// work, and how often it may be called in all.
func (a taskAdvice) repeatedAfter() (errors []string, calls int) {
	calls = 1
	if a.task.Pattern == fdl.PatternWaitForCondition {
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
// as its service allows, and a question changes nothing.
func (a taskAdvice) changesThings() bool { return a.task.Resource.Kind == "" && !asksAboutJobs(a.step) }

// keys are parts of the context by which a function tells a repeated call from a new one.
var keys = []string{"$context", "$context.task", "$context.task.idempotencyKey", "$context.execution", "$context.execution.name"}

func readsKey(mappings expr.Mappings) bool {
	return slices.ContainsFunc(mappings, func(m expr.Mapping) bool {
		path, ok := m.Source.Path()
		return ok && slices.Contains(keys, path.String())
	})
}

func (a taskAdvice) withoutIdempotency(errors []string, calls int) Finding {
	node, note := a.nodes.step(a.step), ""
	inputs := field(node, "inputMappings")
	if inputs == nil {
		inputs, note = list(), "and one for each key that the function reads: with inputMappings it gets no others"
	}
	inputs.Content = append(inputs.Content, mapped("executionName", "$context.execution.name"), mapped("stepName", "$context.step.name"))
	set(node, "inputMappings", inputs, note)
	f := finding(RetryWithoutIdempotency, a.step, node)
	f.Found = fmt.Sprintf("%s is called again after %s, when the call before may have done its work: what %s does can happen up to %d times",
		a.step.Name, strings.ReplaceAll(listed(errors), " and ", " or "), a.task.Resource.Function, calls)
	f.Saves = "repeated work: executionName and stepName are the same in each retry, so the function can store them with its result, " +
		"and return that result to a repeated call. In a loop, also map a value that differs in each iteration. $context.task.idempotencyKey is new in each retry, " +
		"and the same when one attempt is delivered twice"
	return f
}

func (a taskAdvice) errorSwallowed() Finding {
	node := a.nodes.step(a.step)
	set(node, "errorMappings", list(mapped("error", "$local.error"), mapped("cause", "$local.cause")), "")
	f := finding(ErrorSwallowed, a.step, node)
	f.Found = a.step.Name + " catches every error (FnF.ALL) without errorMappings: no step after it can know what went wrong, a mistake in a name included"
	f.Saves = "a search through the history: the steps that handle the error read its name and its cause, and so does the output"
	return f
}
