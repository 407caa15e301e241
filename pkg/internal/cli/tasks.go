package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
)

const taskUsage = "the runner of a function: NAME=exec:COMMAND, NAME=http(s)://HOST/PATH or NAME=lambda:FUNCTION[@ENDPOINT]; " +
	"or of the jobs of an action: ACTION=simulated|aws; may be given several times"

// tryTask is the advice when a task cannot be used.
const tryTask = "--task NAME=exec:COMMAND"

// resolveTasks finds every function of the flow and of the given sub-flows before anything starts.
// If other sub-flows are stored, they may use any function.
func (c Command) resolveTasks(file flowFile, below subflows, clock *local.Clock, definitions []string) (*local.Functions, error) {
	byName, err := splitTasks(definitions)
	if err != nil {
		return nil, err
	}
	flow, anyMay := below.flow(file), len(below.stored) > 0
	functions := taskNamesOf(flow)
	if err := checkTasks(flow, functions, byName); err != nil && !anyMay {
		return nil, err
	}
	tasks, err := c.newTasks(clock, byName, func(name string) bool {
		return anyMay || slices.Contains(functions, name) || startsAnyKind(functions, name)
	})
	switch {
	case err != nil:
		return nil, err
	case tasks.NeedJobs() && clock.IsVirtual():
		return nil, view.Usage("jobs on AWS take real time, which --skip-time does not wait for", "--task ACTION=simulated, or leave out --skip-time")
	}
	if missing := tasks.Resolve(file.flow); len(missing) > 0 {
		return nil, unknownFunctions("the flow", file.path, missing, "waitless run "+file.path)
	}
	for _, one := range below.given {
		if missing := tasks.Resolve(one.file.flow); len(missing) > 0 {
			return nil, unknownFunctions("sub-flow "+one.name, one.file.path, missing, tryMoreTasks)
		}
	}
	return tasks, nil
}

// tryMoreTasks is the advice if a function of a sub-flow has no runner.
const tryMoreTasks = "the same command with"

// newTasks makes the runners of --task, and the file's runners for other names that wanted reports
// as needed.
func (c Command) newTasks(clock *local.Clock, byName map[string]string, wanted func(name string) bool) (*local.Functions, error) {
	tasks, err := local.NewFunctions(clock, byName)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		err = errors.Join(err, c.checkOperation(name, byName[name]))
	}
	if err != nil {
		lines := strings.Split(err.Error(), "\n")
		f := view.Usage(flow.Count(len(lines), "task")+" cannot be used", tryTask+", or --task ACTION=simulated")
		f.Lines = lines
		return nil, f
	}
	problems := c.taskProblems(tasks, func(name string) bool {
		_, function, ofService := strings.Cut(name, "/")
		isGiven := byName[name] != "" || ofService && byName[function] != ""
		return !isGiven && wanted(name)
	}, c.checkOperation)
	if len(problems) == 0 {
		return tasks, nil
	}
	f := view.Usage(flow.Count(len(problems), "task")+" of "+c.path+" cannot be used", "correct "+c.path+", or "+tryTask+", which takes precedence")
	for _, p := range problems {
		f.Lines = append(f.Lines, p.Format(c.path))
	}
	return nil, f
}

// checkOperation rejects a runner of an unknown operation, which no flow can call, and the runner
// `aws` of a custom kind without a Lambda function.
func (c Command) checkOperation(name, definition string) error {
	if kind, _ := c.kinds.Find(name); jobs.IsCustom(name) && definition == "aws" && kind.Function == "" {
		return fmt.Errorf("task %s: the kind has no Lambda function; write its ARN as function of %s in %s of %s, or another runner",
			name, name, kindsKey, cmp.Or(c.path, settingsFile))
	}
	_, isJob := jobs.ForAction(name)
	resource, _ := fdl.ParseResource(name)
	isOperation := resource.Operation != "" || flow.IsIntegration(name)
	if isJob || definition == "simulated" || !isOperation || c.CheckOperation == nil {
		return nil
	}
	if err := c.CheckOperation(name); err != nil {
		return fmt.Errorf("task %s: %w", name, err)
	}
	return nil
}

// serviceFunction is a function with its service: "shop/charge".
var serviceFunction = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-][^/:\s]*/[^/:\s]+$`) })

// splitTasks splits the values of --task.
func splitTasks(definitions []string) (map[string]string, error) {
	byName := map[string]string{}
	for _, definition := range definitions {
		name, value, ok := strings.Cut(definition, "=")
		if !ok || name == "" || strings.Contains(name, "/") && !serviceFunction().MatchString(name) { // then it is a URL
			return nil, view.Usage(fmt.Sprintf("--task %q has no name and \"=\" before the command", local.Hidden(definition)), tryTask)
		}
		if _, twice := byName[name]; twice {
			return nil, view.Usage(fmt.Sprintf("--task %s is given twice", name), tryTask+", once for each function")
		}
		byName[name] = value
	}
	return byName, nil
}

// checkTasks rejects a task that is not for one function of the flow: a name mistyped would leave
// the built-in function in its place.
func checkTasks(flow *flow.Flow, functions []string, byName map[string]string) error {
	ambiguous := local.Ambiguous(flow)
	for name := range byName {
		if several := ambiguous[name]; len(several) > 0 {
			return view.Usage(fmt.Sprintf("--task %s: the flow calls %s", name, strings.Join(several, " and ")),
				"--task "+strings.Join(several, "=exec:COMMAND --task ")+"=exec:COMMAND")
		}
		if slices.Contains(functions, name) || startsAnyKind(functions, name) {
			continue
		}
		return view.Usage(fmt.Sprintf("--task %s: the flow does not call it%s (called: %s)",
			name, similar.DidYouMean(name, functions), cmp.Or(strings.Join(functionsOf(flow), ", "), "none")), tryTask)
	}
	return nil
}

// startsAnyKind: the kind of the job that one of the functions starts or asks
// for is in its input, so name may be an action that no step of the flow names.
func startsAnyKind(functions []string, name string) bool {
	_, isAction := jobs.ForAction(name)
	return isAction && slices.ContainsFunc([]string{"StartJob", "GetJobStatus", "SubmitJob", "CheckJob"}, func(function string) bool {
		return slices.Contains(functions, function)
	})
}

// taskNamesOf are the names that tasks may have for the functions that a flow
// calls, for the actions that it takes, and for objects of S3.
func taskNamesOf(def *flow.Flow) (names []string) {
	for _, task := range def.Tasks() {
		if !task.Resource.Subflow {
			names = append(names, local.TaskNames(task.Resource)...)
		}
	}
	if def.UsesObjects() != nil {
		names = append(names, flow.Objects)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// functionsOf are these names as messages list them: with a service only where
// the function alone may be one of several.
func functionsOf(flow *flow.Flow) []string {
	ambiguous := local.Ambiguous(flow)
	return slices.DeleteFunc(taskNamesOf(flow), func(name string) bool {
		return strings.Contains(name, "/") != (len(ambiguous[path.Base(name)]) > 0)
	})
}

// unknownFunctions is the error for functions of a flow, at a path, that have no runner. Try is the
// advice, without the tasks.
func unknownFunctions(of, path string, missing []error, try string) error {
	f := view.Usage(flow.Count(len(missing), "function")+" of "+of+" without a runner", try)
	for _, err := range missing {
		if unknown, ok := errors.AsType[*local.UnknownFunctionError](err); ok {
			f.Lines = append(f.Lines, inFlow(flow.Problem{Position: unknown.Position, Message: unknown.Error()}, path))
			f.Try += " --task " + view.TaskDefinition(unknown)
		}
	}
	return f
}
