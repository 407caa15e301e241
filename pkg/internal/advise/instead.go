package advise

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
)

// A day is the time limit that is suggested for what may take any time.
const day = 24 * time.Hour

// unknownCondition is suggested if the condition cannot be told from the choice.
const unknownCondition = "$.done"

// asCondition is the steps to write instead of the loop: its task waits for the condition.
func (p polled) asCondition(nodes nodes) (instead []*yaml.Node) {
	first := p.firstWait()
	for i, step := range p.turn() {
		node := nodes.step(step)
		switch {
		case step == first:
			annotate(node, "type", "once, before the first poll")
		case is[*flow.Wait](step), step == p.choice, i >= len(p.steps) && step != p.task:
			continue
		case step == p.task:
			p.poll(node, nodes)
		default:
			annotate(node, "type", "once; was in each turn")
		}
		instead = append(instead, node)
	}
	if choice := p.remaining(nodes); choice != nil {
		instead = append(instead, choice)
	} else if p.choice.End {
		set(instead[len(instead)-1], "end", scalar(true), "")
	}
	return instead
}

// poll makes the task the step that polls.
func (p polled) poll(node *yaml.Node, nodes nodes) {
	remove(node, "timeoutSeconds", "heartbeatSeconds", "atMostOnce", "signed", "prompt", "choices")
	set(node, "pattern", scalar("waitForCondition"), "")
	if p.known {
		set(node, "condition", scalar(p.until.String()), "$ is what "+p.task.Name+" returns")
	} else {
		set(node, "condition", scalar(unknownCondition), "what your function returns when there is nothing left to wait for")
	}
	if interval, ok := p.interval(); ok {
		set(node, "intervalSeconds", seconds(min(max(interval, time.Second), flow.MaxInterval)), "")
	} else {
		set(node, "intervalSeconds", seconds(time.Minute), "a number; your wait takes it from its input")
	}
	if p.maxPolls == 0 {
		set(node, "timeoutSeconds", seconds(day), "how long it may take in all")
	} else {
		set(node, "maxAttempts", scalar(p.maxPolls), "")
	}
	p.catch(node, nodes)
}

// catch leads where the loop leads when it gives up. It loses the entries whose target is gone.
func (p polled) catch(node *yaml.Node, nodes nodes) {
	var kept []*yaml.Node
	task, _ := p.task.Kind.(*flow.Task)
	for i, entry := range elements(node, "catch") {
		if !p.isGone(task.Catch[i].Goto) {
			kept = append(kept, entry)
		}
	}
	switch branch := p.branch(p.giveUp, nodes); {
	case p.maxPolls == 0:
	case len(branch.Content) > 0:
		kept = append([]*yaml.Node{catching("FnF.ConditionNotMet", branch)}, kept...)
	case p.after != nil:
		kept = append([]*yaml.Node{catching("FnF.ConditionNotMet", mapping("goto", scalar(p.after.Name)))}, kept...)
	}
	if remove(node, "catch"); len(kept) > 0 {
		set(node, "catch", list(kept...), "")
	}
}

// isGone reports whether the step is one of the loop that is not to be written.
func (p polled) isGone(step *flow.Step) bool {
	return slices.Contains(p.steps, step) && (is[*flow.Wait](step) && step != p.firstWait() || step == p.choice)
}

// branch is what a branch of the loop's choice does, as the members of a mapping.
func (p polled) branch(b *flow.Branch, nodes nodes) *yaml.Node {
	step := nodes.step(p.choice)
	all := elements(step, "choices")
	if otherwise := field(step, "default"); otherwise != nil {
		all = append(all, otherwise)
	}
	i := slices.Index(ways(p.choice), b)
	if i < 0 || i >= len(all) {
		return mapping()
	}
	remove(all[i], "condition")
	return all[i]
}

// remaining is what remains of the loop's choice, nil if nothing does.
func (p polled) remaining(nodes nodes) *yaml.Node {
	step := nodes.step(p.choice)
	var choices []*yaml.Node
	for _, b := range p.rest {
		branch := p.branch(b, nodes)
		branch.Content = append(mapping("condition", scalar(b.Text)).Content, branch.Content...)
		choices = append(choices, branch)
	}
	if p.otherwise == nil || len(choices) == 0 {
		remove(step, "default")
	}
	if len(choices) == 0 {
		next := p.otherwise
		goesOn := next == nil || len(next.Steps) == 0 && (next.Goto == nil || next.Goto == p.after)
		if goesOn && fdl.DataOf(p.choice).Output == nil {
			return nil
		}
		always := mapping("condition", scalar("true"))
		always.Content = append(always.Content, p.branch(next, nodes).Content...)
		choices = append(choices, always)
	}
	set(step, "choices", list(choices...), "")
	if inputs := field(step, "inputMappings"); inputs != nil {
		inputs.Content = slices.DeleteFunc(inputs.Content, func(m *yaml.Node) bool {
			target := field(m, "target")
			return target != nil && target.Value == p.counter
		})
	}
	return step
}

// job returns the step that starts the job which the loop polls, and the job's kind. It returns false if
// the flow does not tell which job of AWS it is, if it is one.
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

// asJob is the steps to write instead of the start of a job and the loop: the start waits for the end.
func (p polled) asJob(starter *flow.Step, kind jobs.Kind, nodes nodes) []*yaml.Node {
	step := nodes.step(starter)
	task, _ := starter.Kind.(*flow.Task)
	if task.Resource.Kind == "" {
		useAction(step, kind)
	}
	remove(step, "atMostOnce")
	set(step, "pattern", scalar("sync"), "")
	if task.Timeout == 0 {
		set(step, "timeoutSeconds", seconds(day), "")
	}
	annotate(step, "timeoutSeconds", "how long the job may take")
	failed, succeeded := p.exit("failed"), p.exit("success")
	if failed == nil && succeeded != nil {
		failed = p.otherwise
	}
	if failed != nil && failed.Goto != nil {
		caught := catching("Job.Failed", p.branch(failed, nodes))
		set(step, "catch", list(append([]*yaml.Node{caught}, elements(step, "catch")...)...), "")
	}
	if succeeded != nil {
		p.otherwise = succeeded
	}
	p.rest = nil
	if choice := p.remaining(nodes); choice != nil {
		return []*yaml.Node{step, choice}
	}
	return []*yaml.Node{step}
}

// useAction makes a step that calls StartJob one with the action of the job's service.
func useAction(step *yaml.Node, kind jobs.Kind) {
	params, note := mapping(), "the members of what \"params\" is now, with constants and paths like $.key"
	for _, m := range elements(step, "inputMappings") {
		source := field(m, "source")
		if target := field(m, "target"); target != nil && target.Value == "params" && source != nil && source.Kind == yaml.MappingNode {
			params, note = source, ""
		}
	}
	remove(step, "resourceArn", "inputMappings")
	set(step, "action", scalar(kind.Service+":"+kind.StartOp), "")
	set(step, "serviceParams", params, note)
}

// exit is the branch that leaves the loop when the job has that status.
func (p polled) exit(status string) *flow.Branch {
	for _, b := range p.rest {
		for _, term := range conditionOf(b).Terms() {
			if _, operator, with, ok := term.Comparison(); ok && operator == "==" && with.Text() == status {
				return b
			}
		}
	}
	return nil
}
