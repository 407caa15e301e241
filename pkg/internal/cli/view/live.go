package view

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// liveView draws a table of the steps over and over in place. The cursor
// stands below the table whenever nothing is being written, so the program may
// end at any time and leave the terminal as it was.
type liveView struct {
	file  *os.File
	clock *local.Clock
	color bool

	mu       sync.Mutex
	progress *progress
	drawn    []line    // the last frame
	width    int       // of the terminal when it was drawn
	last     time.Time // when it was drawn
	closed   bool
	redraw   *time.Timer // nil before the first frame, and when time is virtual: each event is drawn, nothing between
}

// drawInterval is how often the running times are drawn anew.
const drawInterval = 100 * time.Millisecond

// Calling implements [engine.Observer].
func (v *liveView) Calling(call machine.Call, at time.Time) {
	v.update(func() { v.progress.calling(call, at) }, call.Place != "")
}

// Committed implements [engine.Observer].
func (v *liveView) Committed(id engine.ID, state machine.State, events []machine.Event) {
	v.update(func() { v.progress.committed(id, state, events) }, state.Lane != nil && !state.Status.Final())
}

// Say writes the text in the place of the last frame, and the next frame goes
// below it.
func (v *liveView) Say(text string) {
	v.update(func() {
		width, _ := terminalSize(v.file)
		erased := redraw(v.drawn, nil, width, v.color)
		_, _ = v.file.WriteString(erased + text + "\n") // a view that cannot be written is not an error
		v.drawn, v.width = nil, 0
	}, false)
}

// Told implements [Steps]. The last frame cuts causes at the width of the terminal.
func (*liveView) Told(string) bool { return false }

func (v *liveView) Close(interrupted bool) {
	v.update(func() {
		if interrupted {
			v.progress.interrupted(v.clock.Now())
		}
		v.width = 0 // draw in any case: typed text goes away, as ^C does
		v.closed = true
	}, false)
}

// update changes the progress and draws it over the last frame. The first change says that there is
// an execution, so nothing is drawn before it. One of many changes is not drawn if the last frame
// is young.
func (v *liveView) update(change func(), isOneOfMany bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	change()
	if isOneOfMany && time.Since(v.last) < drawInterval {
		return // the next frame shows it
	}
	v.last = time.Now()
	width, height := terminalSize(v.file)
	lines := frame(v.progress, v.clock.Now(), width, height-1)
	if width != v.width || !slices.Equal(lines, v.drawn) {
		_, _ = v.file.WriteString(redraw(v.drawn, lines, width, v.color)) // a view that cannot be written is not an error
		v.drawn, v.width = lines, width
	}
	switch {
	case v.closed || v.clock.IsVirtual():
	case v.redraw == nil:
		v.redraw = time.AfterFunc(drawInterval, func() { v.update(func() {}, false) })
	default:
		v.redraw.Reset(drawInterval)
	}
}

// terminalSize returns the size of a terminal, or the usual size when it does not tell.
func terminalSize(file *os.File) (width, height int) {
	width, height, _ = term.GetSize(int(file.Fd()))
	return cmp.Or(max(width, 0), 80), cmp.Or(max(height, 0), 24)
}

// redraw returns the text that replaces old by lines on a terminal.
//
// A line is erased before it is written: erasing the rest after it would take the last character of
// a line as wide as the terminal.
func redraw(old, lines []line, width int, color bool) string {
	var out strings.Builder
	up := 0
	for _, l := range old { // a terminal that became narrower since has broken the long ones
		up += max(1, (cells(l.text)+width-1)/width)
	}
	if up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	for _, l := range lines {
		out.WriteString("\r\x1b[K" + l.paint(color) + "\n")
	}
	out.WriteString("\x1b[J")
	return out.String()
}
