package view

import (
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
	drawn    []line // the last frame
	width    int    // of the terminal when it was drawn

	ticking sync.Once
	stop    chan struct{} // nil when time is virtual: each event is drawn, nothing between
	stopped sync.WaitGroup
}

// drawInterval is how often the running times are drawn anew.
const drawInterval = 100 * time.Millisecond

func newLiveView(file *os.File, p *progress, clock *local.Clock, color bool) *liveView {
	v := &liveView{file: file, progress: p, clock: clock, color: color}
	if !clock.IsVirtual() {
		v.stop = make(chan struct{})
	}
	return v
}

func (v *liveView) keepDrawing() {
	ticker := time.NewTicker(drawInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			v.update(func() {})
		case <-v.stop:
			return
		}
	}
}

// Calling implements [engine.Observer].
func (v *liveView) Calling(call machine.Call, at time.Time) {
	v.update(func() { v.progress.calling(call, at) })
}

// Committed implements [engine.Observer]. The first call says that there is an
// execution, so nothing is drawn before it.
func (v *liveView) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	v.update(func() { v.progress.committed(state, events) })
	if v.stop != nil {
		v.ticking.Do(func() { v.stopped.Go(v.keepDrawing) })
	}
}

// say writes the text in the place of the last frame, and the next frame goes
// below it.
func (v *liveView) Say(text string) {
	v.update(func() {
		width, _ := size(v.file)
		erased := redraw(v.drawn, nil, width, v.color)
		_, _ = v.file.WriteString(erased + text + "\n") // a view that cannot be written is not an error
		v.drawn, v.width = nil, 0
	})
}

func (v *liveView) Close(interrupted bool) {
	if v.stop != nil {
		close(v.stop)
		v.stopped.Wait()
	}
	v.update(func() {
		if interrupted {
			v.progress.interrupted(v.clock.Now())
		}
		v.width = 0 // draw in any case: what was typed meanwhile, ^C for one, goes away
	})
}

// update changes the progress and draws it over the last frame.
func (v *liveView) update(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
	width, height := size(v.file)
	lines := frame(v.progress, v.clock.Now(), width, height-1)
	if width == v.width && slices.Equal(lines, v.drawn) {
		return
	}
	_, _ = v.file.WriteString(redraw(v.drawn, lines, width, v.color)) // a view that cannot be written is not an error
	v.drawn, v.width = lines, width
}

// size is the size of a terminal, or what is usual when it does not tell.
func size(file *os.File) (width, height int) {
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	if err != nil || height <= 0 {
		height = 24
	}
	return width, height
}

// redraw is what to write to a terminal to have lines in the place of old.
//
// A line is erased before it is written: erasing the rest after it would take
// the last character of a line as wide as the terminal.
func redraw(old, lines []line, width int, color bool) string {
	var out strings.Builder
	if up := rowsOf(old, width); up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	for _, l := range lines {
		out.WriteString("\r\x1b[K" + l.paint(color) + "\n")
	}
	out.WriteString("\x1b[J")
	return out.String()
}

// rowsOf is how many rows of the terminal the lines take. When it became
// narrower since they were written it has broken the long ones.
func rowsOf(lines []line, width int) int {
	rows := 0
	for _, l := range lines {
		rows += max(1, (cells(l.text)+width-1)/width)
	}
	return rows
}
