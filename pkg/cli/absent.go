package cli

import (
	"sync"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// absences remembers which missing sources were reported.
type absences struct{ told sync.Map }

// news returns the mappings that were not reported before.
func (a *absences) news(of engine.Absences) (news []machine.UnmappedSource) {
	for _, mapping := range of.Mappings {
		if _, known := a.told.LoadOrStore([2]any{of.Flow, mapping}, true); !known {
			news = append(news, mapping)
		}
	}
	return news
}
