package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/fdl"
)

// Parse is [fdl.Parse] for flows that are to run. Steps that the machine does not run yet are errors.
func Parse(text []byte) (*fdl.Flow, fdl.Problems) {
	flow, problems := fdl.Parse(text)
	if flow == nil {
		return nil, problems
	}
	var later fdl.Problems
	for _, step := range flow.All {
		switch step.Kind.(type) {
		case *fdl.Parallel, *fdl.Foreach:
			later = append(later, fdl.Problem{
				Position: step.Position, Message: fmt.Sprintf("step type %q is coming with a later release, and this one does not run it", step.Kind.Type()),
			})
		case *fdl.Task, *fdl.Pass, *fdl.Wait, *fdl.Choice, *fdl.Succeed, *fdl.Fail:
		}
	}
	if len(later) > 0 {
		return nil, later
	}
	return flow, problems
}
