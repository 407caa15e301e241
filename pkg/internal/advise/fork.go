package advise

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
)

// pollsInAll reports whether each lane of a fork has one of the loops.
func pollsInAll(fork *flow.Step, polls []polled) bool {
	return !slices.ContainsFunc(lanes(fork), func(lane []*flow.Step) bool {
		return !slices.ContainsFunc(polls, func(p polled) bool { return isIn(p.choice, lane) })
	})
}

// isIn reports whether a step is one of steps, or inside one of them.
func isIn(step *flow.Step, steps []*flow.Step) bool {
	return slices.ContainsFunc(steps, func(s *flow.Step) bool {
		inWay := func(way *flow.Branch) bool { return isIn(step, way.Steps) }
		inLane := func(lane []*flow.Step) bool { return isIn(step, lane) }
		return s == step || slices.ContainsFunc(ways(s), inWay) || slices.ContainsFunc(lanes(s), inLane)
	})
}

// parallelPolls is the finding about a fork whose lanes all poll.
func parallelPolls(fork *flow.Step, polls []polled, nodes nodes, prices Prices) Finding {
	node := nodes.step(fork)
	var tasks []string
	events, writes, messages := 0, 0, 0
	for _, p := range polls {
		replaced, instead := p.instead(nodes)
		splice(node, replaced, instead)
		tasks = append(tasks, p.task.Name)
		figures := p.figures()
		events, writes, messages = max(events, figures.Events), max(writes, figures.Writes), max(messages, figures.Messages)
	}
	where := "branch"
	if is[*flow.Foreach](fork) {
		where = "iteration"
	}
	return Finding{
		Position: fork.Position, Rule: ParallelPolls, Step: fork.Name, Replaces: []string{fork.Name}, Instead: written(node),
		Found: fmt.Sprintf("%s polls in each %s, with loops around %s: each poll of each %s takes up to %d events, %s and %s",
			fork.Name, where, listed(tasks), where, events, flow.Count(writes, "write"), flow.Count(messages, "message")),
		Saves: fmt.Sprintf("what a poll takes, once for each %s: a step that waits for a condition takes 1 write and 1 message for each poll, and %d events "+
			"in all; one that waits for the event of its job takes none. On AWS a million polls cost %s", where, eventsOfCall, prices.Polls),
	}
}

// splice writes other steps in place of those with names, in the series below node that has them.
func splice(node *yaml.Node, names []string, instead []*yaml.Node) {
	isNamed := func(step *yaml.Node) bool {
		name := field(step, "name")
		return name != nil && field(step, "type") != nil && slices.Contains(names, name.Value)
	}
	if at := slices.IndexFunc(node.Content, isNamed); at >= 0 && node.Kind == yaml.SequenceNode {
		rest := slices.DeleteFunc(slices.Clone(node.Content[at:]), isNamed)
		node.Content = slices.Concat(node.Content[:at], instead, rest)
		return
	}
	for _, child := range inside(node) {
		splice(child, names, instead)
	}
}
