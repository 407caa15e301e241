package cli

import (
	"cmp"
	"encoding/json"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
)

// declare keeps the custom kinds of the file. Whole is the node with the nodes of the kinds.
func (s *settings) declare(whole yaml.Node, kinds map[string]yaml.Node) (problems flow.Problems) {
	declared := map[string]jobs.Declaration{}
	for name, node := range kinds {
		var members any
		loading := node.Load(&members, yaml.WithUniqueKeys(false))
		text, encoding := json.Marshal(members)
		d, err := jobs.ParseDeclaration(name, text)
		if err = cmp.Or(loading, encoding, err); err == nil {
			_, err = jobs.NewTable(map[string]jobs.Declaration{name: d})
		}
		if err != nil {
			problems = append(problems, flow.Problem{Position: positionOf(node), Message: err.Error()})
		}
		declared[name] = d
	}
	if len(problems) > 0 {
		return problems
	}
	table, err := jobs.NewTable(declared)
	if err != nil { // each is right by itself
		return flow.Problems{{Position: positionOf(whole), Message: err.Error()}}
	}
	s.kinds = table
	return nil
}

// checkFlow returns the problems of a flow that package fdl cannot find: the problems of
// [Command.Check], and custom kinds that the file with settings does not declare although it
// declares others.
func (c Command) checkFlow(def *flow.Flow) flow.Problems {
	var problems flow.Problems
	if c.Check != nil {
		problems = c.Check(def)
	}
	if c.settings == nil || len(c.kinds.Custom()) == 0 {
		return problems
	}
	var declared []string
	for _, kind := range c.kinds.Custom() {
		declared = append(declared, kind.Name)
	}
	return append(problems, def.CheckKinds(declared, kindsKey+" of "+c.path)...)
}
