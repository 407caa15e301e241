package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/value"
)

// isEndless: nothing but the longest time of an execution ends the task's wait.
func isEndless(task *fdl.Task) bool {
	switch task.Pattern {
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

// What a wait without a limit comes to.
const (
	notForEver = "90 days later the execution ends as TimedOut, which no retry and no catch sees"
	withLimit  = "months of waiting: the step fails with FnF.TaskTimeout when the time is over, which its retry and its catch see"
)

// withoutEnd is the finding about a task that is endless.
func withoutEnd(step *fdl.Step, task *fdl.Task) Finding {
	limited, limitedTask := *step, *task
	limitedTask.Timeout = day
	limited.Kind = &limitedTask
	rule, what, note := TaskWithoutTimeout, "a job that never ends, or never began", "how long the job may take"
	switch task.Pattern {
	case fdl.PatternWaitForCallback:
		rule, what, note = CallbackWithoutDeadline, "a callback that never comes", "how long they may take; or heartbeatSeconds, if they send heartbeats"
	case fdl.PatternWaitForCondition:
		what, note = "a condition that is never met", "how long it may take in all; or maxAttempts"
	case fdl.PatternSync, fdl.PatternRequestResponse:
	}
	f := finding(rule, step, &limited, notes{"timeoutSeconds": note})
	f.Found = fmt.Sprintf("%s waits for %s: %s", step.Name, what, notForEver)
	f.Saves = withLimit
	return f
}

// flowWithoutTimeout is the finding about a flow in which these steps are endless.
func flowWithoutTimeout(flow *fdl.Flow, steps []string) Finding {
	slices.Sort(steps)
	steps = slices.Compact(steps)
	return Finding{
		Position: fdl.Position{Line: 1, Column: 1}, Rule: FlowWithoutTimeout,
		Found:   fmt.Sprintf("the flow has no timeoutSeconds, and %s may wait for ever: an execution stays open for 90 days", listed(steps)),
		Instead: "version: " + flow.Version + "\ntype: flow\ntimeoutSeconds: 604800 # a week, or how long an execution may take in all\n",
		Saves:   "months in which an execution that went astray stays open: it ends as TimedOut when you say so, whatever it waits for",
	}
}

// aboutErrors are the findings about what becomes of attempts that fail.
func aboutErrors(step *fdl.Step, task *fdl.Task) []Finding {
	var findings []Finding
	if waitsInVain(task) {
		findings = append(findings, timeoutNeverComes(step, task))
	}
	if errors, calls := repeatedAfter(task); calls > 1 && changesThings(step, task) && !task.AtMostOnce && !readsKey(step.Input) {
		findings = append(findings, withoutIdempotency(step, task, errors, calls))
	}
	if catchesAll(task) && len(task.ErrorMappings) == 0 {
		findings = append(findings, errorSwallowed(step, task))
	}
	return findings
}

// waitsInVain: a policy or an entry is for a time limit that the task lacks.
func waitsInVain(task *fdl.Task) bool {
	named := slices.ContainsFunc(task.Retry, func(r fdl.Retry) bool { return slices.Contains(r.Errors, "FnF.TaskTimeout") }) ||
		slices.ContainsFunc(task.Catch, func(c fdl.Catch) bool { return slices.Contains(c.Errors, "FnF.TaskTimeout") })
	return named && task.Timeout == 0 && task.Heartbeat == 0
}

func timeoutNeverComes(step *fdl.Step, task *fdl.Task) Finding {
	limited, limitedTask := *step, *task
	limitedTask.Timeout = day
	if task.Pattern == fdl.PatternRequestResponse {
		limitedTask.Timeout = callLimit
	}
	limited.Kind = &limitedTask
	f := finding(TaskWithoutTimeout, step, &limited, notes{"timeoutSeconds": "how long one attempt may take"})
	f.Found = step.Name + " retries or catches FnF.TaskTimeout and has no timeoutSeconds, so that error comes late or never"
	f.Saves = "the time that an attempt which hangs would go on waiting"
	return f
}

// callLimit is the limit that is suggested for a call.
const callLimit = day / 24 / 60

// notBegun are errors of calls that did not reach the function.
var notBegun = []string{"FC.ResourceExhausted", "FC.ResourceThrottled", "FC.FunctionNotFound", "FC.ServiceNotFound", "FC.AccessDenied", "FC.InvalidArgument",
	"FC.Unreachable"}

// repeatedAfter are the errors after which a function is called again that may
// have done its work, and how often it may be called in all.
func repeatedAfter(task *fdl.Task) (errors []string, calls int) {
	calls = 1
	if task.Pattern == fdl.PatternWaitForCondition {
		return nil, calls // it is called again and again anyway
	}
	for _, policy := range task.Retry {
		doubtful := slices.DeleteFunc(slices.Clone(policy.Errors), func(name string) bool { return slices.Contains(notBegun, name) })
		if len(doubtful) > 0 && policy.MaxAttempts > 0 {
			errors, calls = append(errors, doubtful...), calls+policy.MaxAttempts
		}
	}
	slices.Sort(errors)
	return slices.Compact(errors), calls
}

// changesThings: the function is one of the user's own, or may be. Jobs have what
// keeps their start from being repeated, and asking for one changes nothing.
func changesThings(step *fdl.Step, task *fdl.Task) bool {
	return task.Resource.Kind == "" && !asksAboutJobs(step)
}

// keys are parts of the context by which a function tells a repeated call from a
// new one.
var keys = []string{"$context", "$context.task", "$context.task.idempotencyKey", "$context.execution", "$context.execution.name"}

func readsKey(mappings expr.Mappings) bool {
	return slices.ContainsFunc(mappings, func(m expr.Mapping) bool {
		path, ok := m.Source.Path()
		return ok && slices.Contains(keys, path.String())
	})
}

func withoutIdempotency(step *fdl.Step, task *fdl.Task, errors []string, calls int) Finding {
	keyed := *step
	keyed.Input = expr.NewMappings(append(slices.Clone(step.Input),
		mapped("executionName", "$context.execution.name"), mapped("stepName", "$context.step.name"))...)
	notes := notes{}
	if step.Input == nil {
		notes["inputMappings"] = "and one for each key that the function reads: with inputMappings it gets no others"
	}
	f := finding(RetryWithoutIdempotency, step, &keyed, notes)
	f.Found = fmt.Sprintf("%s is called again after %s, when the call before may have done its work: what %s does can happen twice, and up to %d times",
		step.Name, strings.ReplaceAll(listed(errors), " and ", " or "), task.Resource.Function, calls)
	f.Saves = "what is done twice: executionName and stepName are the same in each retry, so the function can keep them with what it did, " +
		"and answer a repeated call with that; in a loop map what tells its turns apart, too. $context.task.idempotencyKey is new in each retry, " +
		"and the same when one attempt is delivered twice"
	return f
}

func mapped(target, path string) expr.Mapping {
	source, _ := expr.ParseSource(value.String(path)) // a path of ours
	return expr.Mapping{Target: target, Source: source}
}

func catchesAll(task *fdl.Task) bool {
	return slices.ContainsFunc(task.Catch, func(c fdl.Catch) bool { return slices.Contains(c.Errors, fdl.ErrorAll) })
}

func errorSwallowed(step *fdl.Step, task *fdl.Task) Finding {
	seen, seenTask := *step, *task
	seenTask.ErrorMappings = expr.NewMappings(mapped("error", "$local.error"), mapped("cause", "$local.cause"))
	seen.Kind = &seenTask
	f := finding(ErrorSwallowed, step, &seen, nil)
	f.Found = step.Name + " catches every error (FnF.ALL) without errorMappings: no step after it can know what went wrong, a mistake in a name included"
	f.Saves = "the search through the history: the steps that handle the error read its name and its cause, and so does the output"
	return f
}
