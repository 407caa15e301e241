package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// Dollars a million on AWS, us-east-1: what is measured of one poll with full
// batches of messages and with idle pollers, DynamoDB's write, SQS's message, and
// a wait on a job that its event ends.
const (
	pollBatched, pollIdle = 1.3, 2.3
	writeDollars          = 0.625
	messageDollars        = 0.4
	eventWait             = 8
)

// What a wait on a job takes, however long the job does.
const (
	jobWrites, jobReads, jobEvents = 6, 3, eventsOfWaiter
)

// pollingLoops are the loops of the flow that poll, and the tasks of those that
// nothing ends.
func pollingLoops(flow *fdl.Flow) (findings []Finding, endless []string) {
	const started = 1 // event of the execution
	for _, l := range loops(flow.Steps, started, 1) {
		p := asPoll(&l)
		if p.maxPolls == 0 {
			endless = append(endless, l.task.Name)
		}
		findings = append(findings, p.finding())
	}
	return findings, endless
}

func (p polled) finding() Finding {
	figures := p.loop.figures()
	figures.MaxPolls = p.maxPolls
	f := Finding{
		Position: p.loop.steps[0].Position, Rule: PollingLoop, Step: p.loop.task.Name, Replaces: stepNames(p.loop.steps),
		Found: p.found(figures), Loop: figures,
	}
	if starter, kind, ok := p.loop.job(); ok {
		f.Replaces = append([]string{starter.Name}, f.Replaces...)
		f.Instead = written(p.asSync(starter, kind))
		f.Saves = savedBySync(figures)
		return f
	}
	f.Instead = written(p.steps())
	f.Saves = p.saved(figures)
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

func (p polled) found(f *Loop) string {
	every, lasts, most := "again and again", "", ""
	if f.Interval > 0 {
		every = "every " + f.Interval.String()
		lasts = " (" + (time.Duration(f.Polls) * f.Interval).String() + ")"
	}
	if p.maxPolls > 0 {
		most = fmt.Sprintf(", %s at most", counted(p.maxPolls, "time"))
	}
	return fmt.Sprintf("%s are a polling loop: %s is called %s%s. Each poll adds %d events to the history; after %d polls%s it holds the %d "+
		"that it may, and the execution fails with FnF.EventLimitExceeded",
		listed(stepNames(p.loop.steps)), p.loop.task.Name, every, most, f.Events, f.Polls, lasts, historyLimit)
}

// dollars are those of so many polls.
func (f *Loop) dollars(polls float64) string {
	more := float64(f.Writes-1)*writeDollars + float64(f.Messages-1)*messageDollars
	low, high := polls*(pollBatched+more), polls*(pollIdle+more)
	if low < 10 {
		return fmt.Sprintf("$%.1f to $%.1f", low, high)
	}
	return fmt.Sprintf("$%.0f to $%.0f", low, high)
}

// each is what a poll takes on AWS.
func (f *Loop) each() string {
	return counted(f.Writes, "write") + " of DynamoDB and " + counted(f.Messages, "message") + " of SQS"
}

func (p polled) saved(f *Loop) string {
	one := &Loop{Writes: 1, Messages: 1}
	text := fmt.Sprintf("what fills the history: the wait adds %d events in all, and not %d a poll. ", eventsOfCall, f.Events)
	if f.each() == one.each() {
		text += fmt.Sprintf("On AWS a poll goes on to take %s, %s a million, and the call of the function. ", one.each(), one.dollars(1))
	} else {
		text += fmt.Sprintf("On AWS a poll takes %s instead of %s: %s a million instead of %s, beside the call of the function. ",
			one.each(), f.each(), one.dollars(1), f.dollars(1))
	}
	return text + "Each poll gets the same input" + p.uncounted() + p.leftOut() + p.fedBack() + p.movedTargets() + p.alternative(f)
}

// movedTargets says where gotos of other steps lead whose target is there no more.
func (p polled) movedTargets() string {
	written := p.steps()
	stays := func(target *fdl.Step) bool {
		return slices.ContainsFunc(written, func(s noted) bool { return s.step.Name == target.Name })
	}
	var names []string
	for _, step := range p.loop.siblings {
		if step == p.loop.choice || step == p.loop.task || slices.Contains(p.loop.steps, step) && !stays(step) {
			continue
		}
		for _, target := range gotos(step) {
			if slices.Contains(p.loop.steps, target) && !stays(target) {
				names = append(names, target.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ". Let the other gotos to " + listed(slices.Compact(names)) + " lead to " + written[0].step.Name
}

// fedBack warns of a task that goes on where it was in the turn before: it reads
// what a step set before the loop, and what it puts out itself.
func (p polled) fedBack() string {
	var names []string
	for _, m := range p.loop.task.Input {
		path, _ := m.Source.Path()
		local, isLocal := strings.CutPrefix(path.String(), "$local.")
		_, isOwn := sourceOf(p.loop.task.Output, local)
		if isLocal && local != p.counted && (isOwn || p.loop.isSetBefore(local)) {
			names = append(names, local)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(". In the loop %s may get another %s in each turn: if it does, stay with the loop, and begin a new execution now and then",
		p.loop.task.Name, listed(names))
}

// uncounted says what becomes of the loop's own count of its polls.
func (p polled) uncounted() string {
	if p.maxPolls == 0 {
		return ""
	}
	return ": maxAttempts counts them, and " + p.counted + " stays what it is after the first"
}

// leftOut names what a turn does besides and the steps to write do not.
func (p polled) leftOut() string {
	var names []string
	for _, b := range p.loop.back {
		for _, step := range b.Steps {
			if _, isWait := step.Kind.(*fdl.Wait); !isWait && step != p.loop.task {
				names = append(names, step.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", and nothing else is done between two polls: " + listed(names) + " would have to be part of the function"
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// alternative is what needs no poll at all, if the loop asks about a job.
func (p polled) alternative(f *Loop) string {
	if !asksAboutJobs(p.loop.task) {
		return ""
	}
	var actions []string
	for _, kind := range jobs.Kinds() {
		if hasEvents(kind) {
			actions = append(actions, kind.Service+":"+kind.Start)
		}
	}
	return ". If the job is one of AWS, one step with its action (" + strings.Join(actions, ", ") + ") and \"pattern: sync\" needs no poll at all: " + byEvent(f)
}

func savedBySync(f *Loop) string {
	return "the polls: " + byEvent(f) + ". A job that fails, fails the step with Job.Failed, which its catch sees"
}

// byEvent compares a wait that a job's event ends with one that polls.
func byEvent(f *Loop) string {
	interval := f.Interval
	if interval == 0 {
		interval = time.Minute
	}
	polls := int(time.Hour / interval)
	return fmt.Sprintf("the job's event resumes it, with %d events, %d writes and %d reads however long the job takes, about $%d for a million jobs. "+
		"Polled every %s, a job of an hour takes %d polls, and %s for a million jobs",
		jobEvents, jobWrites, jobReads, eventWait, interval, polls, f.dollars(float64(polls)))
}

func asksAboutJobs(step *fdl.Step) bool {
	function := step.Kind.(*fdl.Task).Resource.Function // the task of a loop is one
	return function == "GetJobStatus" || function == "CheckJob"
}

// hasEvents: a service tells of the ends of such jobs.
func hasEvents(kind jobs.Kind) bool { return kind.Source != "" }

// job is the step that starts the job which the loop asks about, and its kind.
// Not ok: the flow does not tell which job of AWS it is, if it is one.
func (l *loop) job() (starter *fdl.Step, kind jobs.Kind, ok bool) {
	if !asksAboutJobs(l.task) {
		return nil, kind, false
	}
	for _, step := range slices.Backward(l.earlier) {
		task, isTask := step.Kind.(*fdl.Task)
		if !isTask || task.Resource.Function != fdl.StartJob && task.Resource.Function != "SubmitJob" {
			continue
		}
		name := task.Resource.Kind
		for _, mappings := range []expr.Mappings{step.Input, l.task.Input} {
			if value, isConstant := constantOf(mappings, "kind"); name == "" && isConstant {
				name = value.Text()
			}
		}
		kind, ok = jobs.Find(name)
		return step, kind, ok && hasEvents(kind)
	}
	return nil, kind, false
}

// constantOf is what a target gets, if it is no path.
func constantOf(mappings expr.Mappings, target string) (v value.Value, ok bool) {
	for _, m := range mappings {
		if _, isPath := m.Source.Path(); m.Target == target && !isPath {
			return m.Source.Eval(&expr.Scope{}), true
		}
	}
	return v, false
}

// asSync is the step that starts the job, waiting for its end.
func (p polled) asSync(starter *fdl.Step, kind jobs.Kind) series {
	step, notes := *starter, notes{"timeoutSeconds": "how long the job may take"}
	task := *step.Kind.(*fdl.Task) // who starts a job is a task
	task.Pattern, task.AtMostOnce = fdl.PatternSync, false
	if task.Resource.Kind == "" {
		task.Resource = fdl.Resource{Text: kind.Service + ":" + kind.Start, Kind: kind.Name, Function: fdl.StartJob}
		task.Params = expr.Template{}
		if params, ok := constantOf(step.Input, "params"); ok {
			task.Params, _ = expr.ParseTemplate(params) // else it has none
		} else {
			notes["serviceParams"] = "the members of what \"params\" is now, with constants and paths like $.key"
		}
		step.Input = nil
	}
	if task.Timeout == 0 {
		task.Timeout = day
	}
	failed := p.exit(`"failed"`)
	if failed == nil && p.exit(`"success"`) != nil {
		failed = p.rest.Default
	}
	if failed != nil && failed.Goto != nil {
		task.Catch = append([]fdl.Catch{{Errors: []string{"Job.Failed"}, Steps: failed.Steps, Goto: failed.Goto}}, task.Catch...)
	}
	step.Kind = &task
	instead := series{{&step, notes}}
	if goesOn := p.goesOn(); goesOn != nil {
		instead = append(instead, noted{goesOn, nil})
	}
	return instead
}

// exit is the branch that leaves the loop when the job has that status.
func (p polled) exit(status string) *fdl.Branch {
	for i, b := range p.rest.Branches {
		if strings.Contains(b.Condition.String(), "== "+status) {
			return &p.rest.Branches[i]
		}
	}
	return nil
}

// goesOn is the choice that leads where the loop does when the job has succeeded,
// nil when that is what comes next.
func (p polled) goesOn() *fdl.Step {
	succeeded := p.exit(`"success"`)
	if succeeded == nil {
		succeeded = p.rest.Default
	}
	p.rest = fdl.Choice{Default: succeeded}
	return p.choice()
}
