package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
)

// What a wait on a job takes, however long the job runs.
const (
	jobWrites, jobReads, jobEvents = 6, 3, eventsOfWaiter
)

// pollingLoops returns the findings about the loops that poll, and the tasks of endless ones.
func pollingLoops(flow *fdl.Flow, nodes nodes, prices Prices) (findings []Finding, endless []string) {
	const started = 1 // event of the execution
	for _, l := range loops(flow.Steps, started, 1) {
		p := asPoll(&l)
		if p.maxPolls == 0 {
			endless = append(endless, l.task.Name)
		}
		findings = append(findings, p.finding(nodes, prices))
	}
	return findings, endless
}

func (p polled) finding(nodes nodes, prices Prices) Finding {
	cost := cost{p.figures(), prices}
	cost.MaxPolls = p.maxPolls
	f := Finding{
		Position: p.steps[0].Position, Rule: PollingLoop, Step: p.task.Name, Replaces: stepNames(p.steps), Found: p.found(cost.Loop), Loop: cost.Loop,
	}
	if starter, kind, ok := p.job(); ok {
		f.Replaces = append([]string{starter.Name}, f.Replaces...)
		f.Instead = written(p.asJob(starter, kind, nodes)...)
		f.Saves = "the polls: " + cost.byEvent() + ". A job that fails, fails the step with Job.Failed, which its catch sees"
		return f
	}
	instead := p.asCondition(nodes)
	f.Instead = written(instead...)
	f.Saves = cost.saved() + ". Each poll gets the same input" + p.uncounted() + p.leftOut() + p.fedBack() + p.movedTargets(instead) + p.alternative(cost)
	return f
}

func stepNames(steps []*fdl.Step) []string {
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

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p polled) found(f *Loop) string {
	every, lasts, most := "again and again", "", ""
	if f.Interval > 0 {
		every = "every " + f.Interval.String()
		lasts = " (" + (time.Duration(f.Polls) * f.Interval).String() + ")"
	}
	if p.maxPolls > 0 {
		most = fmt.Sprintf(", at most %s", counted(p.maxPolls, "time"))
	}
	return fmt.Sprintf("%s are a polling loop: %s is called %s%s. Each poll adds %d events to the history. After %d polls%s the history has its "+
		"maximum of %d events, and the execution fails with %s",
		listed(stepNames(p.steps)), p.task.Name, every, most, f.Events, f.Polls, lasts, machine.DefaultEvents, machine.ErrorEventLimit)
}

// cost is the figures of a loop with prices.
type cost struct {
	*Loop
	Prices
}

// dollars is the price of a million times so many polls of these writes and messages.
func (c cost) dollars(polls float64, writes, messages int) string {
	more := float64(writes-1)*c.Write + float64(messages-1)*c.Message
	digits := 0
	if polls*(c.PollLow+more) < 10 {
		digits = 1
	}
	return fmt.Sprintf("$%.*f to $%.*f", digits, polls*(c.PollLow+more), digits, polls*(c.PollHigh+more))
}

// each is what a poll takes on AWS.
func each(writes, messages int) string {
	return counted(writes, "write") + " of DynamoDB and " + counted(messages, "message") + " of SQS"
}

func (c cost) saved() string {
	text := fmt.Sprintf("history: the wait adds %d events in all, instead of %d for each poll. ", eventsOfCall, c.Events)
	before, after := each(c.Writes, c.Messages), each(1, 1)
	million := c.dollars(1, 1, 1) + " a million"
	if before == after {
		text += "On AWS a poll still takes " + after + " (" + million
	} else {
		text += "On AWS a poll takes " + after + " instead of " + before + " (" + million + " instead of " + c.dollars(1, c.Writes, c.Messages)
	}
	return text + ", " + c.Region + ", " + c.Date + ") and the call of the function"
}

// byEvent compares a wait that a job's event ends with one that polls.
func (c cost) byEvent() string {
	interval := c.Interval
	if interval == 0 {
		interval = time.Minute
	}
	polls := int(time.Hour / interval)
	return fmt.Sprintf("the job's event resumes the step, with %d events, %d writes and %d reads however long the job runs, about $%.0f for a million jobs "+
		"(%s, %s). Polled every %s, a job of an hour takes %d polls, and %s for a million jobs",
		jobEvents, jobWrites, jobReads, c.JobWait, c.Region, c.Date, interval, polls, c.dollars(float64(polls), c.Writes, c.Messages))
}

// uncounted says what becomes of the loop's own count of its polls.
func (p polled) uncounted() string {
	if p.maxPolls == 0 {
		return ""
	}
	return ": maxAttempts counts them, and " + p.counted + " keeps its value after the first poll"
}

// leftOut names the steps of a turn that are not to be written.
func (p polled) leftOut() string {
	var names []string
	for _, b := range p.back {
		for _, step := range b.Steps {
			if !is[*fdl.Wait](step) && step != p.task {
				names = append(names, step.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", and nothing else happens between two polls: " + listed(names) + " would have to be part of the function"
}

// fedBack warns of a task that goes on from the turn before: it reads what a step set before the
// loop, or what it returned itself.
func (p polled) fedBack() string {
	var names []string
	for _, m := range p.task.Input {
		path, _ := m.Source.Path()
		local, isLocal := strings.CutPrefix(path.String(), "$local.")
		_, isOwn := sourceOf(p.task.Output, local)
		_, isSetBefore := p.setBefore(local)
		if isLocal && local != p.counted && (isOwn || isSetBefore) {
			names = append(names, local)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(". In the loop %s may get another %s in each turn: if it does, keep the loop, and start a new execution from time to time",
		p.task.Name, listed(names))
}

// movedTargets says where gotos of other steps lead whose target is gone.
func (p polled) movedTargets(instead []*yaml.Node) string {
	var names []string
	stays := func(step *fdl.Step) bool {
		return slices.ContainsFunc(instead, func(n *yaml.Node) bool { return field(n, "name").Value == step.Name })
	}
	for _, step := range p.siblings {
		if step == p.choice || step == p.task || slices.Contains(p.steps, step) && !stays(step) {
			continue
		}
		for _, target := range gotos(step) {
			if slices.Contains(p.steps, target) && !stays(target) {
				names = append(names, target.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ". Let the other gotos to " + listed(slices.Compact(names)) + " lead to " + field(instead[0], "name").Value
}

// alternative is a step without polls, if the loop asks about a job.
func (p polled) alternative(c cost) string {
	if !asksAboutJobs(p.task) {
		return ""
	}
	var actions []string
	for _, kind := range jobs.Kinds() {
		if kind.Source != "" {
			actions = append(actions, kind.Service+":"+kind.StartOp)
		}
	}
	return ". If it is a job of AWS, one step with its action (" + strings.Join(actions, ", ") + ") and \"pattern: sync\" needs no polls: " + c.byEvent()
}
