package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// view shows an execution while it runs.
type view interface {
	engine.Observer
	// say shows a text that stays, above what changes.
	say(text string)
	// close shows the end, of the execution or because the program was
	// interrupted; nothing is shown after it.
	close(interrupted bool)
}

// view is the live view on a terminal and plain lines elsewhere; nothing with
// --json, whose reader is a program.
func (e *execution) view() view {
	if e.options.json {
		return silent{}
	}
	p := newProgress(e.title(), e.file.flow)
	file, _ := e.command.Stderr.(*os.File)
	if !isTerminal(e.command.Stderr) || e.command.Getenv("TERM") == "dumb" {
		return &plainView{out: e.command.Stderr, flow: e.file.flow, progress: p}
	}
	return newLiveView(file, p, e.clock, e.options.skipTime, e.command.setting("NO_COLOR") == "")
}

// isTerminal reports whether what is written there is shown on a terminal.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

type silent struct{}

func (silent) Calling(machine.Call, time.Time)                     {}
func (silent) Committed(engine.ID, machine.State, []machine.Event) {}
func (silent) say(string)                                          {}
func (silent) close(bool)                                          {}
