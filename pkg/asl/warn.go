package asl

import (
	"maps"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// warnOf warns about a state that was read before.
func (p *parser) warnOf(state string, at flow.Position, format string, args ...any) {
	outer := p.state
	defer func() { p.state = outer }()
	p.state = state
	p.warn(at, format, args...)
}

// checkWays warns of states that StartAt does not lead to, and of states that lead to no end.
func (s *seriesParser) checkWays() {
	next, before := map[*flow.Step][]*flow.Step{}, map[*flow.Step][]*flow.Step{}
	ends := map[*flow.Step]bool{} // also where a name is wrong
	for _, j := range s.jumps {
		from, to := s.steps[j.state], *j.to
		if ends[from] = ends[from] || to == nil; to != nil {
			next[from], before[to] = append(next[from], to), append(before[to], from)
		}
	}
	for _, step := range s.series.Steps {
		choice, isChoice := step.Kind.(*flow.Choice)
		if len(next[step]) == 0 || step.End || isChoice && choice.Default == nil {
			ends[step] = true
		}
	}
	run := reached(next, s.series.Steps[:min(1, len(s.series.Steps))])
	stop := reached(before, slices.DeleteFunc(slices.Clone(s.series.Steps), func(step *flow.Step) bool { return !ends[step] }))
	warned := false
	for _, step := range s.series.Steps {
		switch {
		case !run[step]:
			s.warnOf(step.Name, step.Position, "StartAt does not lead to it, so it never runs; let a state that runs lead to it, or remove it")
		case !stop[step] && !warned: // the states behind it do not either
			warned = true
			s.warnOf(step.Name, step.Position, "the states behind it lead to no end, so they run in a circle until one fails or the limit of events is reached; "+
				"let a Choice lead to a state with \"End\": true")
		}
	}
	s.checkPaths(run)
}

// reached returns the steps to which the first ones lead, with these.
func reached(next map[*flow.Step][]*flow.Step, first []*flow.Step) map[*flow.Step]bool {
	found := map[*flow.Step]bool{}
	for open := first; len(open) > 0; open = open[1:] {
		if step := open[0]; !found[step] {
			found[step] = true
			open = append(open[:len(open):len(open)], next[step]...)
		}
	}
	return found
}

// checkErrors warns of names in an entry of Retry or Catch that match nothing. The names of the
// entries before it are in before.
func (p *parser) checkErrors(step *flow.Step, n *document.Node, before []string) {
	for _, item := range n.Get("ErrorEquals").Inside() {
		switch name, _ := item.Text(); {
		case name == errorRuntime:
			p.warn(item.Pos, "no entry handles %s; remove it", name)
		case slices.Contains(before, name):
			p.warn(item.Pos, "an entry before it has error %q, too, so this one never matches; remove it", name)
		case slices.Contains(before, errorTaskFailed) && name != errorTimeout && name != errorAll:
			p.warn(item.Pos, "an entry before it has %s, which matches error %q, too; move this entry before it", errorTaskFailed, name)
		case !p.mayFail(step, name):
			p.warn(item.Pos, "the state never fails with error %q%s; remove it, or write an error that it may have", document.Shortened(name),
				similar.DidYouMean(name, errorNames))
		}
	}
}

// mayFail reports whether a state may have the error. The states inside of a fork are the last ones
// that were read.
func (p *parser) mayFail(step *flow.Step, name string) bool {
	inside := p.flow.All[step.Index:]
	has := func(fits func(s *flow.Step) bool) bool { return slices.ContainsFunc(inside, fits) }
	switch name {
	case errorNoChoice:
		return has(func(s *flow.Step) bool { choice, ok := s.Kind.(*flow.Choice); return ok && choice.Default == nil })
	case errorBranchFailed:
		return has(func(s *flow.Step) bool { return s.Kind.Type() == "parallel" })
	case errorTolerated, errorItemReader, errorResultWriter:
		return has(func(s *flow.Step) bool { return s.Kind.Type() == "foreach" })
	case errorQuery:
		return has(func(s *flow.Step) bool { d, ok := s.Data.(*data); return ok && d.isQuery })
	case errorHeartbeat:
		return has(func(s *flow.Step) bool {
			task, ok := s.Kind.(*flow.Task)
			return ok && (task.Heartbeat > 0 || task.Beat != nil)
		})
	}
	isOwn := strings.HasPrefix(name, "States.") // of the language, not of a function
	return isOwn && slices.Contains(errorNames, name) || has(func(s *flow.Step) bool {
		fail, ok := s.Kind.(*flow.Fail)
		return ok && (fail.Computed || fail.Error == name) || !isOwn && s.Kind.Type() == "task"
	})
}

// pathRead is a path in a field of a state.
type pathRead struct {
	at    flow.Position
	state string
	field string
	path  expression
}

// members are the names of members that a value has at most; nil if nothing is known.
type members map[string]bool

// checkPaths warns of paths to a member that no state before can have made. It follows the names of
// members from state to state, until the input of no state grows.
func (s *seriesParser) checkPaths(run map[*flow.Step]bool) {
	inputs := map[*flow.Step]members{} // of the states that were met
	open := s.series.Steps[:min(1, len(s.series.Steps))]
	for _, first := range open {
		inputs[first] = nil // is not known
	}
	for ; len(open) > 0; open = open[1:] {
		d, in := open[0].Data.(*data), inputs[open[0]]
		for _, j := range s.jumps {
			if j.state != open[0].Name || *j.to == nil {
				continue
			}
			made := d.outputMembers(open[0], in)
			if j.caught > 0 && !d.isQuery {
				made = d.catches[j.caught-1].placed.members(in, members{"Error": true, "Cause": true})
			}
			old, met := inputs[*j.to]
			if made = maps.Clone(made); made != nil {
				maps.Copy(made, old)
			}
			if !met || old != nil && (made == nil || len(made) > len(old)) {
				inputs[*j.to], open = made, append(slices.Clip(open), *j.to)
			}
		}
	}
	for _, read := range s.paths {
		step := s.steps[read.state]
		if step == nil || !run[step] || read.field == "OutputPath" {
			continue
		}
		choice, isChoice := step.Kind.(*flow.Choice)
		if isChoice && slices.ContainsFunc(choice.Branches, func(b flow.Branch) bool { return strings.Contains(b.Text, "IsPresent") }) {
			continue
		}
		in := inputs[step]
		if read.field != "InputPath" {
			in = step.Data.(*data).input.members(in)
		}
		s.checkPath(read, in)
	}
}

// members returns the names of the selected value.
func (p pathField) members(in members) members {
	switch {
	case p.null:
		return members{}
	case p.path != nil && (p.root != rootData || len(p.segments) > 0):
		return nil
	}
	return in
}

// members returns the names of the input of a state with the result in it.
func (at resultPath) members(in, result members) members {
	switch {
	case at.discard || len(at.keys) > 0 && in == nil:
		return in
	case len(at.keys) == 0:
		return result
	}
	made := maps.Clone(in)
	made[at.keys[0].key] = true
	return made
}

// names returns the names of the value of a template, or otherwise without a template.
func (t *template) names(otherwise members) members {
	switch {
	case t == nil:
		return otherwise
	case t.computed != nil, t.isArray, t.members == nil && t.constant.Kind() != value.KindObject:
		return nil
	}
	made := members{}
	for _, m := range t.members {
		made[m.key] = true
	}
	for _, m := range t.constant.Members() {
		made[m.Key] = true
	}
	return made
}

// outputMembers returns the names of the output of a state.
func (d *data) outputMembers(step *flow.Step, in members) members {
	if d.isQuery {
		return nil
	}
	effective := d.input.members(in)
	var result members
	switch kind := step.Kind.(type) {
	case *flow.Pass:
		result = d.params.names(effective)
		if d.fixed.Kind() == value.KindObject {
			result = (&template{constant: d.fixed}).names(nil)
		} else if !d.fixed.IsMissing() {
			result = nil
		}
	case *flow.Parallel, *flow.Foreach, *flow.Succeed, *flow.Fail: // lists, or no state behind
	case *flow.Choice, *flow.Wait:
		return d.output.members(effective)
	case *flow.Task:
		if kind.Integration == lambdaInvoke {
			result = members{"ExecutedVersion": true, "Payload": true, "StatusCode": true, "SdkHttpMetadata": true, "SdkResponseMetadata": true, "LogResult": true}
		}
	}
	return d.output.members(d.placed.members(in, d.selector.names(result)))
}

// checkPath warns of a path to a member that the value cannot have.
func (s *seriesParser) checkPath(read pathRead, in members) {
	switch e := read.path.(type) {
	case *call:
		for _, arg := range e.args {
			read.path = arg
			s.checkPath(read, in)
		}
	case *path:
		if in == nil || e.root != rootData || len(e.segments) == 0 || !e.segments[0].single() {
			return
		}
		key, ok := strings.CutPrefix(e.segments[0].text, "['")
		if key = strings.TrimSuffix(key, "']"); ok && !in[key] {
			names := slices.Sorted(maps.Keys(in))
			s.warnOf(read.state, read.at, "%s: path %s leads to no value: no state before makes %q%s", read.field, e.text, key, similar.MeantOrKnown(key, names))
		}
	}
}
