package cli

import (
	"fmt"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// absences remembers which missing sources were reported.
type absences struct {
	mu   sync.Mutex
	told map[absence]bool
}

// absence is a mapping of a definition.
type absence struct {
	flow    machine.FlowRef
	mapping machine.UnmappedSource
}

// news returns the mappings that were not reported before.
func (a *absences) news(of engine.Absences) []machine.UnmappedSource {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told = map[absence]bool{}
	}
	var news []machine.UnmappedSource
	for _, mapping := range of.Mappings {
		if one := (absence{of.Flow, mapping}); !a.told[one] {
			a.told[one] = true
			news = append(news, mapping)
		}
	}
	return news
}

// warnOfAbsent shows what mappings of the execution leave out.
func (e *execution) warnOfAbsent(v view.Steps) func(engine.Absences) {
	var told absences
	return func(of engine.Absences) {
		if engine.NewID(of.Flow.Name, of.Execution) != e.id {
			return
		}
		for _, m := range told.news(of) {
			v.Say(view.Printable(token.MaskAll(fmt.Sprintf("warning: %s: source %s of %s is missing, so the target %s is left out",
				m.Place(), m.Source, m.Mappings, m.Target))))
		}
	}
}

// showOutput shows the error output of commands of the execution.
func (e *execution) showOutput(v view.Steps) func(machine.Call, string) {
	return func(call machine.Call, text string) {
		if engine.NewID(call.Flow.Name, call.Execution) != e.id {
			return
		}
		var shown []string
		for line := range strings.Lines(text) {
			shown = append(shown, call.Step+": "+view.Printable(token.MaskAll(strings.TrimRight(line, "\r\n"))))
		}
		v.Say(strings.Join(shown, "\n"))
	}
}

// logOutput logs the error output of commands.
func (s *server) logOutput(call machine.Call, text string) {
	s.log.Info("output", "execution", call.Flow.Name+"/"+call.Execution, "step", call.Step, "text", token.MaskAll(text))
}

// logAbsent logs what mappings leave out, each of a definition once.
func (s *server) logAbsent() func(engine.Absences) {
	var told absences
	return func(of engine.Absences) {
		for _, m := range told.news(of) {
			s.log.Warn("source of a mapping is missing", "execution", of.Flow.Name+"/"+of.Execution, "mapping", m.String())
		}
	}
}
