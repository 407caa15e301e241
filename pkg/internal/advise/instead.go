package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
)

// pollPrice is the price of a million polls.
const pollPrice = "On AWS a million polls cost $1.3 to $2.3 (" + PricesOf + ")"

// mostEvents is the limit of events of the log in which a step runs.
func mostEvents(step *flow.Step) int {
	if len(machine.ForksAround(step)) > 0 {
		return machine.DefaultLaneEvents
	}
	return machine.DefaultEvents
}

func (p polled) finding() Finding {
	turn := p.turn()
	interval, _ := p.interval()
	room := mostEvents(p.steps[0]) - machine.EventsReserve - p.depth - p.before - eventsOf(turn[:p.index]...)
	events := eventsOf(turn...)
	figures := &Loop{Task: p.task.Name, Events: events, Polls: max(0, room)/events + 1, Seconds: interval.Seconds(), MaxPolls: p.maxPolls}
	f := Finding{Position: p.steps[0].Position, Rule: PollingLoop, Steps: names(p.steps), Loop: figures}
	where := ""
	if is[*flow.Foreach](p.fork) {
		where = " in each iteration of " + p.fork.Name
	}
	f.Found = fmt.Sprintf("%s are a polling loop%s: each call of %s adds %d events to the history, and after %d calls the execution fails with %s",
		listed(names(p.steps)), where, p.task.Name, figures.Events, figures.Polls, machine.ErrorEventLimit)
	if starter, kind, ok := p.job(); ok {
		task, _ := starter.Kind.(*flow.Task)
		var fields []string
		if task.Resource.Kind == "" {
			fields = append(fields, fmt.Sprintf("action: %s:%s with serviceParams", kind.Service, kind.StartOp))
		}
		fields = append(fields, "pattern: sync")
		if task.Timeout == 0 {
			fields = append(fields, "timeoutSeconds: 86400")
		}
		f.Instead = fmt.Sprintf("Write %s in %s, and remove %s. A failed job fails the step with Job.Failed: catch it, and go where %s goes then.",
			listed(fields), starter.Name, listed(names(p.steps)), p.choice.Name)
		f.Saves = "the polls: the job's event resumes the step, with 6 events, 6 writes and 3 reads however long the job runs. " + pollPrice +
			", and a million of these jobs about $8"
		return f
	}
	f.Instead = p.asCondition()
	f.Saves = fmt.Sprintf("history: the wait adds %d events in all, and a poll takes 1 write and 1 message. ", eventsOfCall) + pollPrice
	return f
}

// asCondition says how the task waits for the condition, and how that differs from the loop.
func (p polled) asCondition() string {
	condition, interval, limit := "a condition that holds when nothing is left to wait for", "intervalSeconds", "timeoutSeconds: 86400"
	if p.known {
		condition = fmt.Sprintf("condition: '%s'", p.until)
	}
	if d, ok := p.interval(); ok {
		interval = fmt.Sprintf("intervalSeconds: %d", min(max(d, time.Second), flow.MaxInterval)/time.Second)
	}
	if p.maxPolls > 0 {
		limit = fmt.Sprintf("maxAttempts: %d", p.maxPolls)
		switch {
		case p.giveUp != nil && p.giveUp.Goto != nil:
			limit += " and a catch of FnF.ConditionNotMet that goes to " + p.giveUp.Goto.Name
		case p.after != nil:
			limit += " and a catch of FnF.ConditionNotMet that goes to " + p.after.Name
		}
	}
	place := "in"
	if p.index >= len(p.steps) {
		place = "before " + p.choice.Name + ", in"
	}
	text := fmt.Sprintf(`Write pattern: waitForCondition, %s, %s and %s %s %s, and remove `, condition, interval, limit, place, p.task.Name)
	if waits := slices.DeleteFunc(slices.Clone(p.steps), func(s *flow.Step) bool { return !is[*flow.Wait](s) || s == p.firstWait() }); len(waits) > 0 {
		text += strings.Join(names(waits), ", ") + " and "
	}
	if text += "the way back of " + p.choice.Name + "."; len(p.rest) == 0 {
		text = strings.Replace(text, "the way back of ", "", 1)
	}
	text += " Each poll gets the same input"
	if p.maxPolls > 0 {
		text += ", so " + p.counted + " keeps its value"
	}
	var between []*flow.Step
	for _, b := range p.back {
		between = append(between, slices.DeleteFunc(slices.Clone(b.Steps), func(s *flow.Step) bool { return is[*flow.Wait](s) || s == p.task })...)
	}
	if len(between) > 0 {
		text += ", and nothing else happens between two polls: " + listed(names(between)) + " would have to be part of the function"
	}
	if fed := p.fedBack(); len(fed) > 0 {
		text += fmt.Sprintf(". If %s gets another %s in each turn, keep the loop, and start a new execution from time to time", p.task.Name, listed(fed))
	}
	if asksAboutJobs(p.task) {
		text += ". A job of AWS needs no polls: write its action with pattern: sync"
	}
	return text + "."
}

// fedBack returns the names that the task reads from the turn before: names that a step set before
// the loop, or that the task returned itself.
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

// job returns the step that starts the job which the loop polls, and the job's kind. It returns
// false if the flow does not tell which job of AWS it is, if it is one.
func (l *loop) job() (starter *flow.Step, kind jobs.Kind, ok bool) {
	if !asksAboutJobs(l.task) {
		return nil, kind, false
	}
	for _, step := range slices.Backward(l.earlier) {
		task, isTask := step.Kind.(*flow.Task)
		if !isTask || task.Resource.Function != flow.StartJob && task.Resource.Function != "SubmitJob" {
			continue
		}
		name := task.Resource.Kind
		for _, mappings := range []expr.Mappings{fdl.DataOf(step).Input, fdl.DataOf(l.task).Input} {
			if value, isConstant := constantOf(mappings, "kind"); name == "" && isConstant {
				name = value.Text()
			}
		}
		kind, ok = jobs.Find(name)
		return step, kind, ok && kind.HasEvents()
	}
	return nil, kind, false
}

// asksAboutJobs reports whether the task calls a function that describes jobs.
func asksAboutJobs(step *flow.Step) bool {
	task, _ := step.Kind.(*flow.Task)
	return task.Resource.Function == "GetJobStatus" || task.Resource.Function == "CheckJob"
}
