package fdl_test

import (
	"fmt"

	"github.com/waitless/waitless/pkg/fdl"
)

func ExampleParse() {
	flow, problems := fdl.Parse([]byte(`
version: v1
type: flow
steps:
  - {type: pass, name: Begin}
  - {type: wait, name: Rest, duration: 60}
`))
	fmt.Println(len(problems), len(flow.Steps), flow.Steps[1].Name, flow.Steps[1].Kind.Type())

	flow, problems = fdl.Parse([]byte("version: v1\ntype: flow\nsteps:\n  - {type: wiat, name: Rest, duration: 60}\n"))
	fmt.Println(flow == nil)
	for _, problem := range problems {
		fmt.Println(problem.Format("flow.yaml"))
	}
	// Output:
	// 0 2 Rest wait
	// true
	// flow.yaml:4:12: step type "wiat" is unknown; did you mean "wait"? (allowed: task, pass, wait, choice, parallel, foreach, succeed, fail)
}
