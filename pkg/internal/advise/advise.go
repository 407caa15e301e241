// Package advise looks at a valid flow for what could be written better: loops that poll or never
// pause, waits without an end, retries that may do a thing twice, and errors that no step sees. It
// is pure: a flow in, findings out.
package advise

import (
	"strings"

	"github.com/waitless/waitless/pkg/flow"
)

// Rule names a kind of finding.
type Rule string

// The rules, in the order of the findings.
const (
	// PollingLoop: a wait, a call and a goto back repeat until the result is final.
	PollingLoop Rule = "polling-loop"
	// LoopWithoutPause: steps repeat at once until the history is full, because nothing in them
	// ends the loop.
	LoopWithoutPause Rule = "loop-without-pause"
	// IndexLoop: a function is called with a list and an index until the list ends.
	IndexLoop Rule = "index-loop"
	// FlowWithoutTimeout: a step may wait forever, and so may the execution.
	FlowWithoutTimeout Rule = "flow-without-timeout"
	// CallbackWithoutDeadline: a callback may never come.
	CallbackWithoutDeadline Rule = "callback-without-deadline"
	// SubflowWithoutTimeout: a sub-flow may never end.
	SubflowWithoutTimeout Rule = "subflow-without-timeout"
	// TaskWithoutTimeout: a task may take any time.
	TaskWithoutTimeout Rule = "task-without-timeout"
	// RetryWithoutIdempotency: a function may do its work twice.
	RetryWithoutIdempotency Rule = "retry-without-idempotency"
	// ErrorSwallowed: every error is caught, and no step can know which.
	ErrorSwallowed Rule = "error-swallowed"
)

// Finding says what could be written better in some steps.
type Finding struct {
	flow.Position // of the first step, or of the flow

	Rule Rule `json:"rule"`
	// Steps are the names of the steps, in the order of the text.
	Steps []string `json:"steps"`
	// Found describes the finding in the steps, and its consequence.
	Found string `json:"found"`
	// Instead says what to write.
	Instead string `json:"instead"`
	// Saves says what improves.
	Saves string `json:"saves"`
	// Loop has the figures of a polling loop, nil for other rules.
	Loop *Loop `json:"loop,omitempty"`
}

// Loop holds the cost of a polling loop.
type Loop struct {
	// Task is the step that polls.
	Task string `json:"task"`
	// Events is how many events one poll adds to the history.
	Events int `json:"eventsPerPoll"`
	// Polls is how many polls fill the history.
	Polls int `json:"pollsToLimit"`
	// Seconds are between two polls, 0 if the input of the execution decides.
	Seconds float64 `json:"intervalSeconds,omitempty"`
	// MaxPolls is after how many polls the flow gives up, 0 for never.
	MaxPolls int `json:"maxPolls,omitempty"`
}

// Flow returns what there is to advise about a flow: a finding for each loop, and one for each
// other rule. There is nothing to advise about a machine in the Amazon States Language, because the
// findings suggest FDL.
func Flow(def *flow.Flow) []Finding {
	if def.IsMachine {
		return nil
	}
	var findings []Finding
	endless := map[*flow.Step]bool{}
	for _, l := range loops(def.Steps, started, 1) {
		p := asPoll(&l)
		findings, endless[l.task] = append(findings, p.finding()), p.maxPolls == 0
	}
	for _, step := range def.All {
		if f, ok := withoutPause(step); ok {
			findings = append(findings, f)
		}
	}
	for _, step := range def.All {
		if x, ok := indexedBy(step); ok {
			findings = append(findings, x.finding())
		}
	}
	return append(findings, aboutTasks(def, endless)...)
}

// names returns the names of steps.
func names(steps []*flow.Step) []string {
	found := make([]string, len(steps))
	for i, step := range steps {
		found[i] = step.Name
	}
	return found
}

// listed is "A", "A and B", "A, B and C".
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
