package view

import (
	"io"
	"os"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
)

// Steps shows the steps of one execution while it runs.
type Steps interface {
	engine.Observer
	// Say shows a text that stays, above the steps.
	Say(text string)
	// Told reports whether a line that stays shows the cause of a failure whole.
	Told(cause string) bool
	// Close shows the end of the execution, or that the program was interrupted. Nothing is shown
	// after it.
	Close(interrupted bool)
}

// StepsConfig says how steps are shown.
type StepsConfig struct {
	Title  string // of the execution
	Flow   *flow.Flow
	Clock  *local.Clock
	Silent bool // show nothing: a program reads the result
	Plain  bool // show lines also on a terminal
	Color  bool
}

// NewSteps returns a live view on a terminal, and a view that prints lines elsewhere.
func (p Printer) NewSteps(c StepsConfig) Steps {
	file, _ := p.Err.(*os.File)
	switch {
	case c.Silent:
		return &plainView{out: io.Discard, title: c.Title, flow: c.Flow}
	case c.Plain || !IsTerminal(p.Err):
		return &plainView{out: p.Err, title: c.Title, flow: c.Flow}
	}
	return &liveView{file: file, progress: newProgress(c.Title, c.Flow), clock: c.Clock, color: c.Color}
}
