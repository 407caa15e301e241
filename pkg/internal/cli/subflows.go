package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/local"
)

const subflowUsage = "the definition of a sub-flow: NAME=FILE; may be given several times (default: the setting flows, else what is stored)"

// subflows are the flows that a flow starts, directly or through another flow.
type subflows struct {
	// given are the definitions that --subflow and the settings name, in the order in which they
	// are found.
	given []subflow
	// stored are the first steps that start other flows, by the names of those.
	stored map[string]storedSubflow
}

type subflow struct {
	name string
	file flowFile
}

type storedSubflow struct {
	path string // of the definition
	step *flow.Step
}

// readSubflows reads the definitions of the sub-flows of a flow.
func (c Command) readSubflows(ctx context.Context, file flowFile, flags []string, t templateFlags) (subflows, error) {
	paths, err := c.subflowPaths(flags)
	found := subflows{stored: map[string]storedSubflow{}}
	if err != nil {
		return found, err
	}
	if err := c.addSubflows(ctx, &found, subflow{file.name(), file}, paths, t); err != nil {
		return found, err
	}
	// A step that takes the name of its sub-flow from a path may start any of the files.
	isFromPath := func(r flow.Resource) bool { return r.Flow == "" }
	startsAny := slices.ContainsFunc(found.given, func(s subflow) bool { return startsFlow(s.file.flow, isFromPath) })
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if isGiven := slices.ContainsFunc(found.given, func(s subflow) bool { return s.name == name }); startsAny && !isGiven {
			if err := c.addFile(ctx, &found, name, paths[name], paths, t); err != nil {
				return found, err
			}
		}
	}
	found.given = found.given[1:] // without the flow itself
	var given []string
	for _, one := range found.given {
		given = append(given, one.name)
	}
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, "=")
		if !slices.Contains(given, name) {
			started := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(found.stored)), given...)))
			return found, view.Usage(fmt.Sprintf("--subflow %s: no step starts it%s", name, similar.DidYouMean(name, started)), "leave it out, or correct the name")
		}
	}
	return found, nil
}

// subflowPaths returns the files of --subflow and of the settings by the names of the flows.
func (c Command) subflowPaths(flags []string) (map[string]string, error) {
	paths := map[string]string{}
	for name, path := range c.flows {
		paths[name] = c.beside(path)
	}
	given := map[string]bool{}
	for _, flag := range flags {
		name, path, ok := strings.Cut(flag, "=")
		if !ok || path == "" || !flow.ValidName(name) {
			return nil, view.Usage(fmt.Sprintf("--subflow %q; allowed: the name of a flow, \"=\" and a file", flag), "--subflow payment=payment.yaml")
		}
		if given[name] {
			return nil, view.Usage("--subflow "+name+" is given twice", "give one file for each sub-flow")
		}
		paths[name], given[name] = path, true
	}
	return paths, nil
}

// addSubflows adds a flow and the sub-flows that it starts.
func (c Command) addSubflows(ctx context.Context, found *subflows, flow subflow, paths map[string]string, t templateFlags) error {
	found.given = append(found.given, flow)
	for step, task := range flow.file.flow.Tasks() {
		name := task.Resource.Flow
		isGiven := slices.ContainsFunc(found.given, func(s subflow) bool { return s.name == name })
		if _, isStored := found.stored[name]; name == "" || isGiven || isStored {
			continue
		}
		path := paths[name]
		if path == "" && slices.Contains(flow.file.others, name) {
			path = flow.file.template
		}
		if path == "" {
			found.stored[name] = storedSubflow{flow.file.path, step}
			continue
		}
		if err := c.addFile(ctx, found, name, path, paths, t); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds the definition of a sub-flow and the sub-flows that it starts. The values of --var
// apply to all flows of the command.
func (c Command) addFile(ctx context.Context, found *subflows, name, path string, paths map[string]string, flags templateFlags) error {
	file, _, err := c.readValid(ctx, path, name, flags)
	if failure, ok := errors.AsType[*view.Failure](err); ok && len(failure.Lines) == 0 { // else its lines name the file
		failure.Why = fmt.Sprintf("the definition of sub-flow %s, %s: %s", name, path, failure.Why)
	}
	if err == nil {
		err = c.warn(file)
	}
	if err != nil {
		return err
	}
	return c.addSubflows(ctx, found, subflow{name, file}, paths, flags)
}

// flow returns the steps of the flow and of the given definitions. The functions of all of them are
// needed.
func (s subflows) flow(file flowFile) *flow.Flow {
	all := &flow.Flow{All: slices.Clone(file.flow.All), Values: file.flow.Values}
	for _, one := range s.given {
		all.All = append(all.All, one.file.flow.All...)
	}
	return all
}

// putSubflows stores the definitions of sub-flows that were given, and checks that the others are
// stored.
func (e *execution) putSubflows(ctx context.Context) error {
	for _, one := range e.subflows.given {
		if _, err := e.api.PutFlow(ctx, one.name, one.file.text, ""); err != nil {
			return err
		}
	}
	if len(e.subflows.stored) == 0 {
		return nil
	}
	names, err := flowNames(ctx, e.api)
	if err != nil {
		return err
	}
	var lines []string
	for name, starts := range e.subflows.stored {
		if slices.Contains(names, name) {
			continue
		}
		problem := flow.Problem{Position: starts.step.Position, Message: fmt.Sprintf("step %s starts flow %q, which is not stored%s",
			starts.step.Name, name, similar.DidYouMean(name, names))}
		lines = append(lines, inFlow(problem, starts.path))
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	f := view.Usage(flow.Count(len(lines), "sub-flow")+" without a definition", "--subflow NAME=FILE, or flows: in "+settingsFile+", or waitless flows put FILE")
	f.Lines = lines
	return f
}

// canStart returns an error if a function of a stored sub-flow has no runner here.
func (e *execution) canStart(ctx context.Context) error {
	if e.system == nil || len(e.subflows.stored) == 0 {
		return nil
	}
	err := e.system.CanStart(ctx, e.file.flow, e.file.name(), e.name)
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		return err
	}
	f := view.Usage("sub-flows cannot run here", tryMoreTasks)
	for _, err := range all.Unwrap() {
		f.Lines = append(f.Lines, err.Error())
		if unknown, ok := errors.AsType[*local.UnknownFunctionError](err); ok {
			f.Try += " --task " + view.TaskDefinition(unknown)
		}
	}
	if f.Try == tryMoreTasks { // flows are missing, and the lines say how to put them
		f.Try = ""
	}
	return f
}

// addStored adds the definitions of sub-flows that only the store has, and of the flows that they
// start: a run in memory has flows of its own.
func (c Command) addStored(ctx context.Context, found *subflows, where target.Place) (err error) {
	if len(found.stored) == 0 || c.Stores.Check(where.Store) != nil {
		return nil // without a store, the sub-flows have no definition
	}
	a, err := c.opener().Open(ctx, where)
	if err != nil {
		return err
	}
	defer a.Close(&err)
	missing := map[string]bool{}
	isNext := func(name string) bool { return !missing[name] }
	for {
		names := slices.Sorted(maps.Keys(found.stored)) // a definition may add to them
		i := slices.IndexFunc(names, isNext)
		if i < 0 {
			return nil
		}
		flow, err := a.Flow(ctx, names[i], "")
		if refused, ok := errors.AsType[*rest.Error](err); ok && refused.Code == engine.CodeNotFound {
			missing[names[i]] = true
			continue
		}
		file := flowFile{path: "flow " + names[i], text: []byte(flow.Definition), stored: flow}
		if err == nil {
			err = (&template{}).parse(&file)
		}
		if err == nil && file.flow == nil {
			err = file.invalid()
		}
		if err != nil {
			return err
		}
		delete(found.stored, names[i])
		if err := c.addSubflows(ctx, found, subflow{names[i], file}, nil, templateFlags{}); err != nil {
			return err
		}
	}
}
