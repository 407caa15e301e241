package flow

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
)

// CheckKinds returns the problems of the custom kinds that the tasks of a flow name and that are
// not declared, in the order of their positions. Where says where kinds are declared, for the
// message.
func (f *Flow) CheckKinds(declared []string, where string) Problems {
	var problems Problems
	for _, task := range f.Tasks() {
		if name := task.Resource.Kind; jobs.IsCustom(name) && !slices.Contains(declared, name) {
			problems = append(problems, NewProblem(SeverityError, task.At, "kind %q is not declared in %s%s (declared: %s)",
				name, where, similar.DidYouMean(name, declared), strings.Join(declared, ", ")))
		}
	}
	return problems.Reported()
}
