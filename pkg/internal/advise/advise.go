// Package advise looks at a valid flow for what could be written better: loops that poll, waits
// without an end, retries that may do a thing twice, and errors that no step sees. It is pure: a
// flow and its text in, findings out.
//
// This package may change between releases.
package advise

import (
	"slices"

	"github.com/waitless/waitless/pkg/flow"
)

// Rule names a kind of finding.
type Rule string

// The rules.
const (
	// PollingLoop: a wait, a call and a goto back repeat until the result is final.
	PollingLoop Rule = "polling-loop"
	// ParallelPolls: each lane of a parallel or a foreach has a polling loop.
	ParallelPolls Rule = "parallel-polls"
	// IndexLoop: a function is called with a list and an index until the list ends.
	IndexLoop Rule = "index-loop"
	// TaskWithoutTimeout: a task may take any time.
	TaskWithoutTimeout Rule = "task-without-timeout"
	// CallbackWithoutDeadline: a callback may never come.
	CallbackWithoutDeadline Rule = "callback-without-deadline"
	// SubflowWithoutTimeout: a sub-flow may never end.
	SubflowWithoutTimeout Rule = "subflow-without-timeout"
	// RetryWithoutIdempotency: a function may do its work twice.
	RetryWithoutIdempotency Rule = "retry-without-idempotency"
	// ErrorSwallowed: every error is caught, and no step can know which.
	ErrorSwallowed Rule = "error-swallowed"
	// FlowWithoutTimeout: a step may wait forever, and so may the execution.
	FlowWithoutTimeout Rule = "flow-without-timeout"
)

// Finding is one thing that could be written better.
type Finding struct {
	flow.Position
	Rule Rule `json:"rule"`
	// Step is the name of the step, empty for the whole flow.
	Step string `json:"step,omitempty"`
	// Found says what the flow does, and its consequence.
	Found string `json:"found"`
	// Instead is YAML to write in place of the steps that Replaces names, which stand in one
	// series. It keeps the comments of these steps. For the whole flow it is the flow's fields.
	Replaces []string `json:"replaces"`
	Instead  string   `json:"instead"`
	// Saves says what improves.
	Saves string `json:"saves"`
	// Loop has the figures of a polling loop, nil for other rules.
	Loop *Loop `json:"loop,omitempty"`
}

// Loop is what a polling loop costs.
type Loop struct {
	// Events is how many events one poll adds to the history.
	Events int `json:"eventsPerPoll"`
	// Writes and Messages are the writes of DynamoDB and the messages of SQS of one poll.
	Writes   int `json:"writesPerPoll"`
	Messages int `json:"messagesPerPoll"`
	// Polls is how many polls fill the history.
	Polls int `json:"pollsToLimit"`
	// Seconds are between two polls, 0 if the input of the execution decides.
	Seconds float64 `json:"intervalSeconds,omitempty"`
	// MaxPolls is after how many polls the flow gives up, 0 for never.
	MaxPolls int `json:"maxPolls,omitempty"`
}

// Prices are those of a million polls and of a million waits on jobs, with their region and date.
type Prices struct{ Polls, Jobs string }

// Flow returns what there is to advise about a flow, in the order of its text.
func Flow(flow *flow.Flow, text []byte, prices Prices) []Finding {
	nodes := stepNodes(text)
	findings, endless := pollingLoops(flow, nodes, prices)
	findings = append(findings, indexLoops(flow, nodes)...)
	for step, task := range flow.Tasks() {
		a := taskAdvice{step, task, nodes, stepsAround(flow, step)}
		if flow.Timeout == 0 && a.isEndless() {
			endless = append(endless, step.Name)
			findings = append(findings, a.withoutEnd())
		}
		findings = append(findings, a.aboutErrors()...)
	}
	if flow.Timeout == 0 && len(endless) > 0 {
		findings = append(findings, flowWithoutTimeout(flow, endless))
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Compare(b.Position) })
	return findings
}
