package advise

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// What a wait on a job takes, however long the job runs.
const (
	jobWrites, jobReads, jobEvents = 6, 3, eventsOfWaiter
)

// pollingLoops returns the findings about the loops that poll, and the tasks of endless ones.
func pollingLoops(def *flow.Flow, nodes nodes, prices Prices) (findings []Finding, endless []string) {
	forks := map[*flow.Step][]polled{}
	for _, l := range loops(def.Steps, started, 1) {
		p := asPoll(&l)
		if p.maxPolls == 0 {
			endless = append(endless, l.task.Name)
		}
		forks[l.fork] = append(forks[l.fork], p)
	}
	for fork, polls := range forks {
		if fork != nil && pollsInAll(fork, polls) {
			findings = append(findings, parallelPolls(fork, polls, nodes, prices))
			continue
		}
		for _, p := range polls {
			findings = append(findings, p.finding(nodes, prices))
		}
	}
	return findings, endless
}

func (p polled) finding(nodes nodes, prices Prices) Finding {
	loop := p.figures()
	replaced, instead := p.instead(nodes)
	f := Finding{
		Position: p.steps[0].Position, Rule: PollingLoop, Step: p.task.Name, Replaces: replaced, Instead: written(instead...), Loop: loop,
		Found: fmt.Sprintf("%s are a polling loop, in which each call of %s adds %d events to the history. After %d calls the history has its "+
			"maximum of %d events, and the execution fails with %s",
			listed(stepNames(p.steps)), p.task.Name, loop.Events, loop.Polls, machine.DefaultEvents, machine.ErrorEventLimit),
	}
	loop.MaxPolls = p.maxPolls
	now := fmt.Sprintf("instead of %d events, %s and %s for each poll", loop.Events, flow.Count(loop.Writes, "write"), flow.Count(loop.Messages, "message"))
	if _, _, ok := p.job(); ok {
		f.Saves = fmt.Sprintf("the polls: the job's event resumes the step, with %d events, %d writes and %d reads however long the job runs, %s. "+
			"On AWS a million of these jobs cost about %s, and a million polls %s. A job that fails, fails the step with Job.Failed, which its catch sees",
			jobEvents, jobWrites, jobReads, now, prices.Jobs, prices.Polls)
		return f
	}
	f.Saves = fmt.Sprintf("history: the wait adds %d events in all, and a poll takes 1 write and 1 message, %s. On AWS a million polls cost %s. "+
		"Each poll gets the same input", eventsOfCall, now, prices.Polls) + p.warnings()
	return f
}

// instead is the steps to write, and the names of those that they replace.
func (p polled) instead(nodes nodes) (replaced []string, steps []*yaml.Node) {
	replaced = stepNames(p.steps)
	if starter, kind, ok := p.job(); ok {
		return append([]string{starter.Name}, replaced...), p.asJob(starter, kind, nodes)
	}
	return replaced, p.asCondition(nodes)
}

func stepNames(steps []*flow.Step) []string {
	var names []string
	for _, step := range steps {
		names = append(names, step.Name)
	}
	return names
}

// listed is "A", "A and B", "A, B and C".
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// warnings say where the step that polls differs from the loop.
func (p polled) warnings() (text string) {
	if p.maxPolls > 0 {
		text += ": maxAttempts counts them, and " + p.counted + " keeps its value after the first poll"
	}
	if names := stepNames(p.leftOut()); len(names) > 0 {
		text += ", and nothing else happens between two polls: " + listed(names) + " would have to be part of the function"
	}
	if names := p.fedBack(); len(names) > 0 {
		text += fmt.Sprintf(". In the loop %s may get another %s in each turn: if it does, keep the loop, and start a new execution from time to time",
			p.task.Name, listed(names))
	}
	if asksAboutJobs(p.task) {
		text += ". If it is a job of AWS, one step with its action and \"pattern: sync\" needs no polls"
	}
	return text
}

// leftOut returns the steps of a turn that are not to be written.
func (p polled) leftOut() (steps []*flow.Step) {
	for _, b := range p.back {
		steps = append(steps, b.Steps...)
	}
	return slices.DeleteFunc(steps, func(step *flow.Step) bool { return is[*flow.Wait](step) || step == p.task })
}

// fedBack returns what the task reads of the turn before: what a step set before the loop, or what it
// returned itself.
func (p polled) fedBack() (names []string) {
	for _, m := range fdl.DataOf(p.task).Input {
		path, _ := m.Source.Path()
		local, isLocal := strings.CutPrefix(path.String(), "$local.")
		_, isOwn := sourceOf(fdl.DataOf(p.task).Output, local)
		_, isSetBefore := p.setBefore(local)
		if isLocal && local != p.counted && (isOwn || isSetBefore) {
			names = append(names, local)
		}
	}
	return names
}
