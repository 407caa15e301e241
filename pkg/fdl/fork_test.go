package fdl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

const forks = `- type: parallel
  name: Both
  inputMappings: [{target: a, source: $input.a}]
  branches:
    - steps:
        - {type: pass, name: A1}
        - type: choice
          name: A2
          choices: [{condition: $.x, goto: A1}]
    - steps:
        - type: foreach
          name: Each
          iterationMapping: {collection: $.names, item: name, index: n}
          maxConcurrency: 7
          outputMappings: [{target: all, source: "$local[*].x"}]
          steps:
            - {type: wait, name: B1, duration: $.name}
            - {type: pass, name: B2, end: true}
- type: foreach
  name: Last
  iterationMapping: {collection: "$.pages[0].rows", item: row}
  steps: [{type: succeed, name: C1}]
`

func TestParseForks(t *testing.T) {
	t.Parallel()
	def := parse(t, flowOf(forks))
	parallel, foreach := kindOf[*flow.Parallel](t, def), kindOf[*flow.Foreach](t, &flow.Flow{Steps: def.Steps[1:]})
	each, _ := parallel.Branches[1][0].Kind.(*flow.Foreach)
	if got := fmt.Sprintln(each.Collection, each.Item, each.Index, each.MaxConcurrency); got != "$.names name n 7\n" {
		t.Errorf("the inner foreach has %s", got)
	}
	if got := fmt.Sprintln(foreach.Collection, foreach.Item, foreach.Index, foreach.MaxConcurrency); got != "$.pages[0].rows row  100\n" {
		t.Errorf("the outer foreach has %s", got)
	}
	if len(fdl.DataOf(def.Steps[0]).Input) != 1 || len(fdl.DataOf(parallel.Branches[1][0]).Output) != 1 {
		t.Error("mappings are missing")
	}
	owners := []string{"Both:", "A1:Both", "A2:Both", "Each:Both", "B1:Each", "B2:Each", "Last:", "C1:Last"}
	for i, step := range def.All {
		owner := ""
		if step.Series.Owner != nil {
			owner = step.Series.Owner.Name
		}
		if got := step.Name + ":" + owner; got != owners[i] || step.Index != i {
			t.Errorf("step %d is %s with index %d, want %s", i, got, step.Index, owners[i])
		}
	}
	for _, series := range [][]*flow.Step{def.Steps, parallel.Branches[0], parallel.Branches[1], each.Steps, foreach.Steps} {
		if got := names(series[0].Series.Steps); got != names(series) {
			t.Errorf("the series of %s is %s", names(series), got)
		}
	}
}

// nestedForks are parallel steps in one another, each in a choice of the one before.
func nestedForks(depth int) string {
	text := "{type: pass, name: A}"
	for i := range depth {
		text = fmt.Sprintf("{type: choice, name: C%d, choices: [{condition: $.x, steps: [{type: parallel, name: P%d, branches: [{steps: [%s]}]}]}]}", i, i, text)
	}
	return flowOf("- " + text)
}

// branches are those of a parallel, each with one step.
func branches(number int) string {
	var b strings.Builder
	for i := range number {
		fmt.Fprintf(&b, "{steps: [{type: pass, name: B%d}]}, ", i)
	}
	return "branches: [" + b.String() + "]"
}

// rules: PA-1 PA-2 PA-3 PA-4 FE-1 FE-2 FE-3 FE-4 FE-5
func TestProblemsOfForks(t *testing.T) {
	t.Parallel()
	parse(t, nestedForks(flow.MaxForks))
	parse(t, flowOf("- {type: parallel, name: A, "+branches(flow.MaxBranches)+"}"))
	const steps, mapping = ", steps: [{type: pass, name: B}]", "iterationMapping: {collection: $.a, item: b}"
	for _, tt := range []struct {
		name, step string
		want       []string // each the begin of a problem
	}{
		{"no branches", "parallel", []string{`4:3: a parallel step has no field "branches", which is required`}},
		{"an empty list", "parallel, branches: []", []string{`4:39: branches is an empty list; allowed: a list of branches, each with steps, at least one`}},
		{"a branch that is a step", "parallel, branches: [{type: pass, name: B}]", []string{
			`4:40: a branch of a parallel has no field "steps", which is required`,
			`4:41: field "type" is unknown in a branch of a parallel (allowed: steps)`,
			`4:53: field "name" is unknown in a branch of a parallel (allowed: steps)`,
		}},
		{"a branch that is a text", "parallel, branches: [x]", []string{`4:40: a branch of a parallel is text "x"; allowed: a mapping with the fields steps`}},
		{"no steps in a branch", "parallel, branches: [{steps: []}]", []string{`4:48: steps is an empty list; allowed: a list of steps, at least one`}},
		{"too many branches", "parallel, " + branches(101), []string{`4:39: branches has 101 branches and the limit is 100; use foreach`}},
		{"a goto out of a branch", "parallel, branches: [{steps: [{type: choice, name: B, choices: [{condition: $.a, goto: A}]}]}]", []string{
			`4:106: goto "A" leads to the step at 4:10, which is not in the list of step "B" (allowed: B)`,
		}},
		{"a goto into another branch", "parallel, branches: [{steps: [{type: choice, name: B, default: {goto: C}, choices: [{condition: $.a}]}]}, " +
			"{steps: [{type: pass, name: C}]}]", []string{`4:89: goto "C" leads to the step at 4:153, which is not in the list of step "B" (allowed: B)`}},
		{"a name of another branch", "parallel, branches: [{steps: [{type: pass, name: B}]}, {steps: [{type: pass, name: B}]}]", []string{
			`4:102: step name "B" is repeated; it stands first at 4:68`,
		}},
		{"no mapping", "foreach" + steps, []string{`4:3: a foreach step has no field "iterationMapping", which is required`}},
		{"no steps", "foreach, " + mapping, []string{`4:3: a foreach step has no field "steps", which is required`}},
		{"a mapping without fields", "foreach, iterationMapping: {}" + steps, []string{
			`4:46: the iterationMapping of a foreach has no field "collection", which is required`,
			`4:46: the iterationMapping of a foreach has no field "item", which is required`,
		}},
		{"a mapping as of steps", "foreach, iterationMapping: [{target: a, source: $.b}]" + steps, []string{
			`4:46: the iterationMapping of a foreach is a list; allowed: a mapping with the fields collection, item, index`,
		}},
		{"a list in place of a path", "foreach, iterationMapping: {collection: [1], item: b}" + steps, []string{
			`4:59: collection is a list; allowed: a path like $.names to a list in the step's input`,
		}},
		{"a path of a mapping", "foreach, iterationMapping: {collection: $input.names, item: b}" + steps, []string{
			`4:59: path $input.names: found "$input" where a path belongs; a path here begins with $, like $.key; did you mean "$.names"?`,
		}},
		{"keys that are no texts", "foreach, iterationMapping: {collection: $.a, item: '', index: 1}" + steps, []string{
			`4:70: item is text ""; allowed: the key of the item in the input of an iteration`,
			`4:81: index is number 1; allowed: the key of the index in the input of an iteration`,
		}},
		{"one key for both", "foreach, iterationMapping: {collection: $.a, item: b, index: b}" + steps, []string{
			`4:80: index "b" is also the key of the item; use another key`,
		}},
		{"a field of the mapping on the step", "foreach, item: b, " + mapping + steps, []string{
			`4:28: field "item" is unknown in a foreach step; it belongs to the iterationMapping of a foreach (allowed`,
		}},
		{"a misspelt field", "foreach, iterationMaping: {colection: 1, item: b}" + steps, []string{
			`4:28: field "iterationMaping" is unknown in a foreach step; did you mean "iterationMapping"?`,
			`4:46: field "colection" is unknown in the iterationMapping of a foreach; did you mean "collection"?`,
			`4:57: collection is number 1; allowed: a path`,
		}},
		{"nothing at once", "foreach, maxConcurrency: 0, " + mapping + steps, []string{`4:44: maxConcurrency is number 0; allowed: a whole number from 1 to 100`}},
		{"too much at once", "foreach, maxConcurrency: 101, " + mapping + steps, []string{
			`4:44: maxConcurrency is number 101; allowed: a whole number from 1 to 100`,
		}},
		{"a mistake in each branch", "parallel, branches: [{steps: [{type: wait, name: B}]}, " +
			"{steps: [{type: foreach, name: C, steps: [{type: pas, name: D}]}]}]", []string{
			`4:49: a wait step has neither "duration" nor "timestamp"; write one of them`,
			`4:83: a foreach step has no field "iterationMapping", which is required`,
			`4:123: step type "pas" is unknown; did you mean "pass"?`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantProblems(t, flowOf("- {name: A, type: "+tt.step+"}"), tt.want)
		})
	}
	wantProblems(t, nestedForks(flow.MaxForks+1), []string{`4:384: parallel and foreach are nested more than 3 deep; split the flow`})
}

// rules: PA-5 PA-6 FE-6 FE-7
func TestWarningsOfForks(t *testing.T) {
	t.Parallel()
	wantWarnings(t, `- {type: foreach, name: A, iterationMapping: {collection: $.a, item: b}, steps: [{type: fail, name: B}]}
- {type: parallel, name: C, branches: [{steps: [{type: pass, name: D}]}, {steps: [{type: fail, name: E}]}]}
- {type: pass, name: F}
`, `6:3: warning: step "F" is never reached`)
	flow := parse(t, flowOf(`- type: foreach
  name: A
  maxConcurrency: 1
  iterationMapping: {collection: $.a, item: b}
  steps: [{type: pass, name: B, inputMappings: [{target: x, source: $local.y}]}]
  outputMappings: [{target: x, source: $local.y}, {target: y, source: "$local[0]"}]
`))
	want := `flow.yaml:6:19: strict: maxConcurrency is an extension: a foreach of FDL always runs up to 100 iterations at once
flow.yaml:8:69: strict: source $local.y is missing: $local is empty at the first step, so the target is left out
flow.yaml:9:40: strict: source $local.y is missing: $local of a foreach step is a list, so the target is left out
`
	if got := lines(flow.Extensions); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
