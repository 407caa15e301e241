// Package advise looks at a flow that is valid for what could be written better:
// loops that poll, waits without an end, retries that may do a thing twice, and
// errors that nobody sees. It is pure: a flow in, findings out.
//
// This package may change between releases.
package advise

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
)

// Rule says what kind of thing was found.
type Rule string

// The rules.
const (
	// PollingLoop: a wait, a call and a goto back ask until an answer is there.
	PollingLoop Rule = "polling-loop"
	// TaskWithoutTimeout: a task may take any time.
	TaskWithoutTimeout Rule = "task-without-timeout"
	// CallbackWithoutDeadline: a callback may never come.
	CallbackWithoutDeadline Rule = "callback-without-deadline"
	// RetryWithoutIdempotency: what a function does can happen twice.
	RetryWithoutIdempotency Rule = "retry-without-idempotency"
	// ErrorSwallowed: every error is caught, and no step can know which.
	ErrorSwallowed Rule = "error-swallowed"
	// FlowWithoutTimeout: something in the flow may wait for ever, and so the
	// execution.
	FlowWithoutTimeout Rule = "flow-without-timeout"
)

// Finding is one thing that could be written better.
type Finding struct {
	fdl.Position
	Rule Rule
	// Step is the name of the step that it is about, empty for the whole flow.
	Step string
	// Found says what there is, and what comes of it.
	Found string
	// Instead is YAML to write in the place of the steps that Replaces names, which
	// stand in one series; for the whole flow its fields.
	Instead  string
	Replaces []string
	// Saves says what is better then.
	Saves string
	// Loop has the figures of a polling loop, nil for other rules.
	Loop *Loop
}

// Loop is what a polling loop costs.
type Loop struct {
	// Events are those that one poll adds to the history, and Polls is how many
	// there are until it is full.
	Events, Polls int
	// Writes and Messages are what one poll takes of DynamoDB and of SQS.
	Writes, Messages int
	// Interval is between two polls, 0 when the input of the execution decides.
	Interval time.Duration
	// MaxPolls is how many polls the flow makes before it gives up, 0 when it does
	// not.
	MaxPolls int
}

// Flow is what there is to advise about a flow, in the order of its text.
func Flow(flow *fdl.Flow) []Finding {
	findings, endless := pollingLoops(flow)
	for _, step := range flow.All {
		task, ok := step.Kind.(*fdl.Task)
		if !ok {
			continue
		}
		if flow.Timeout == 0 && isEndless(task) {
			endless = append(endless, step.Name)
			findings = append(findings, withoutEnd(step, task))
		}
		findings = append(findings, aboutErrors(step, task)...)
	}
	if flow.Timeout == 0 && len(endless) > 0 {
		findings = append(findings, flowWithoutTimeout(flow, endless))
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return findings
}

func finding(rule Rule, step *fdl.Step, instead *fdl.Step, notes notes) Finding {
	return Finding{Position: step.Position, Rule: rule, Step: step.Name, Replaces: []string{step.Name}, Instead: written(series{{instead, notes}})}
}
