package enginetest

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// ForkLoad is an execution for a benchmark that is nothing but a fork.
type ForkLoad struct {
	Name  string
	Flow  string // a definition
	Input value.Value
	Calls int // of the function echo, one for each item
}

// ForkLoads returns the executions of the benchmarks of forks.
func ForkLoads() []ForkLoad {
	return []ForkLoad{
		{"foreach-100", forkFlow(nestedForeach(1)), listOf(100), 100},
		{"foreach-10000", forkFlow(nestedForeach(1)), listOf(10_000), 10_000},
		{"parallel-100", forkFlow(echoesInParallel(100)), value.Object(), 100},
		{"nested-10x10x10", forkFlow(nestedForeach(3)), listOf(10), 1000},
	}
}

func forkFlow(steps string) string { return flowHead + indented(steps) }

func listOf(items int) value.Value {
	list := make([]value.Value, items)
	for i := range list {
		list[i] = value.Int(int64(i % 10)) // 10,000 of them are less than the limit of a step's data
	}
	return value.Object(value.Member{Key: "list", Value: value.Array(list...)})
}

// echo is a step that calls a built-in function.
const echo = `- type: task
  name: Call%d
  resourceArn: acs:fc:::services/any/functions/echo
  inputMappings: [{target: one, source: $input.one}]
`

// nestedForeach returns a step with so many levels of foreach over the same list.
func nestedForeach(levels int) string {
	if levels == 0 {
		return fmt.Sprintf(echo, 0)
	}
	return fmt.Sprintf(`- type: foreach
  name: Each%d
  inputMappings: [{target: list, source: $input.list}]
  iterationMapping: {collection: $.list, item: one}
  steps:
%s`, levels, indented(nestedForeach(levels-1)))
}

func echoesInParallel(branches int) string {
	text := "- type: parallel\n  name: Fork\n  branches:\n"
	for i := range branches {
		text += "    - steps:\n" + indented(indented(indented(fmt.Sprintf(echo, i))))
	}
	return text
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
