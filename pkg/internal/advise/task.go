package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// taskRule is a rule about tasks, and its texts: %s in found stands for the names of the steps.
type taskRule struct {
	rule                  Rule
	found, instead, saves string
	applies               func(step *flow.Step, task *flow.Task, isEndless bool) bool
}

// neverEnds is how a wait without a limit ends.
const neverEnds = "; 90 days later the execution ends as TimedOut, which no retry and no catch sees"

// timesOut is how a wait with a limit ends.
const timesOut = "months of waiting: when the time is over, the step fails with " + machine.ErrorTaskTimeout + ", which its retry and its catch see"

var taskRules = []taskRule{
	{
		CallbackWithoutDeadline, "no timeoutSeconds and no heartbeatSeconds in %s: a callback may never come" + neverEnds,
		`Add timeoutSeconds: 86400, or how long the sender may take; or heartbeatSeconds, if it sends heartbeats.`, timesOut,
		func(_ *flow.Step, t *flow.Task, isEndless bool) bool {
			return isEndless && t.Pattern == flow.PatternWaitForCallback && !t.Resource.Subflow
		},
	},
	{
		SubflowWithoutTimeout, "no timeoutSeconds in %s: a sub-flow may never end" + neverEnds,
		`Add timeoutSeconds: 86400, or how long the sub-flow may take.`, timesOut + `, and with "pattern: sync" the sub-flow is stopped`,
		func(_ *flow.Step, t *flow.Task, isEndless bool) bool { return isEndless && t.Resource.Subflow },
	},
	{
		TaskWithoutTimeout, "no timeoutSeconds in %s, so " + machine.ErrorTaskTimeout + " never comes: a job, a condition or a call may never end" + neverEnds,
		`Add timeoutSeconds: 86400, or how long the job or the condition may take in all, or one attempt of a call; for a condition maxAttempts does it, too.`,
		timesOut,
		func(_ *flow.Step, t *flow.Task, isEndless bool) bool {
			isAwaited := t.Pattern != flow.PatternWaitForCallback && !t.Resource.Subflow
			isHandled := slices.ContainsFunc(t.Retry, func(r flow.Retry) bool { return slices.Contains(r.Errors, machine.ErrorTaskTimeout) }) ||
				slices.ContainsFunc(t.Catch, func(c flow.Catch) bool { return slices.Contains(c.Errors, machine.ErrorTaskTimeout) })
			return isEndless && isAwaited || t.Timeout == 0 && t.Heartbeat == 0 && isHandled
		},
	},
	{
		RetryWithoutIdempotency, "a retry calls the function of %s again after an error of a call that may have done its work: its effect may happen twice",
		`Map $context.execution.name and $context.step.name in the step's inputMappings, so the function can store them with its result and return that ` +
			`result to a repeated call. In a foreach also map the index of the iteration, in a loop a value that differs in each turn.`,
		"repeated work: what is mapped is the same in each retry. $context.task.idempotencyKey is new in each retry, and the same when one attempt is " +
			"delivered twice",
		// The start of a job is idempotent as far as its service allows, a sub-flow as far as its
		// name is, and a poll or a question changes nothing.
		func(step *flow.Step, t *flow.Task, _ bool) bool {
			isSafe := t.Pattern == flow.PatternWaitForCondition || t.Resource.Kind != "" || t.Resource.Subflow || asksAboutJobs(step) || t.AtMostOnce
			return !isSafe && !tellsCallsApart(step) && slices.ContainsFunc(t.Retry, func(r flow.Retry) bool {
				return r.MaxAttempts > 0 && slices.ContainsFunc(r.Errors, func(name string) bool { return !slices.Contains(notBegun, name) })
			})
		},
	},
	{
		ErrorSwallowed, "a catch of every error (FnF.ALL) without errorMappings in %s: no step after it can know what went wrong, a mistake in a name included",
		`Add errorMappings with the sources $local.error and $local.cause.`,
		"a search through the history: the steps that handle the error read its name and its cause, and so does the output",
		func(step *flow.Step, _ *flow.Task, _ bool) bool { return swallows(step) },
	},
}

// aboutTasks returns the findings about tasks, and about a flow in which one of them or a loop is
// endless.
func aboutTasks(def *flow.Flow, endless map[*flow.Step]bool) (findings []Finding) {
	byRule := map[Rule][]*flow.Step{}
	var waiting []string
	for step, task := range def.Tasks() {
		isEndless := false // only the longest time of an execution ends the task's wait
		switch task.Pattern {
		case flow.PatternWaitForCallback:
			isEndless = task.Heartbeat == 0
		case flow.PatternSync:
			isEndless = !task.Resource.IsFunction()
		case flow.PatternWaitForCondition:
			isEndless = task.Poll.MaxAttempts == 0
		case flow.PatternRequestResponse: // a function has a time limit of its own
		}
		isEndless = isEndless && task.Timeout == 0 && def.Timeout == 0
		if isEndless || endless[step] {
			waiting = append(waiting, step.Name)
		}
		for _, r := range taskRules {
			if r.applies(step, task, isEndless) {
				byRule[r.rule] = append(byRule[r.rule], step)
			}
		}
	}
	for _, step := range def.All {
		if step.IsFork() && swallows(step) {
			byRule[ErrorSwallowed] = append(byRule[ErrorSwallowed], step)
		}
	}
	if def.Timeout == 0 && len(waiting) > 0 {
		findings = append(findings, Finding{
			Position: flow.Position{Line: 1, Column: 1}, Rule: FlowWithoutTimeout, Steps: waiting,
			Found:   fmt.Sprintf("the flow has no timeoutSeconds, and %s may wait forever: an execution stays open for 90 days", listed(waiting)),
			Instead: `Add timeoutSeconds: 604800 to the flow: a week, or how long an execution may take in all.`,
			Saves:   "months in which an execution that cannot go on stays open: it ends as TimedOut after the time that you set",
		})
	}
	for _, r := range taskRules {
		if steps := byRule[r.rule]; len(steps) > 0 {
			found := strings.Replace(r.found, "%s", listed(names(steps)), 1)
			findings = append(findings, Finding{
				Position: steps[0].Position, Rule: r.rule, Steps: names(steps), Found: found, Instead: r.instead, Saves: r.saves,
			})
		}
	}
	return findings
}

// swallows reports whether a catch of the step leaves no trace of any error.
func swallows(step *flow.Step) bool {
	return len(fdl.DataOf(step).Errors) == 0 &&
		slices.ContainsFunc(step.Handlers().Catch, func(c flow.Catch) bool { return slices.Contains(c.Errors, fdl.ErrorAll) })
}

// notBegun are errors of calls that did not reach the function.
var notBegun = []string{
	token.ErrorExhausted, token.ErrorThrottled, token.ErrorFunctionNotFound, token.ErrorAccessDenied, token.ErrorInvalidArgument, token.ErrorUnreachable,
}

// keys are parts of the context by which a function tells a repeated call from a new one.
var keys = []string{"$context", "$context.task", "$context.task.idempotencyKey", "$context.execution", "$context.execution.name"}

// keysOfAttempt lists the keys that are different in each iteration of a foreach.
var keysOfAttempt = keys[:3]

// tellsCallsApart reports whether the function gets a key, and in a foreach also an input that the
// iterations do not have in common.
func tellsCallsApart(step *flow.Step) bool {
	input := fdl.DataOf(step).Input
	reads := func(paths []string) bool {
		return slices.ContainsFunc(input, func(m expr.Mapping) bool {
			path, ok := m.Source.Path()
			return ok && slices.Contains(paths, path.String())
		})
	}
	inForeach := false
	for owner := step.Series.Owner; owner != nil; owner = owner.Series.Owner {
		inForeach = inForeach || is[*flow.Foreach](owner)
	}
	return reads(keys) && (!inForeach || reads(keysOfAttempt) || input.Uses(expr.RootInput))
}
