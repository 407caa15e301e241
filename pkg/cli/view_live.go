package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// liveView draws a table of the steps over and over in place.
type liveView struct {
	file  *os.File
	clock *local.Clock
	color bool

	mu       sync.Mutex
	progress *progress
	drawn    int // lines of the last frame

	stop    chan struct{} // nil when time is virtual: each event is drawn, nothing between
	stopped sync.WaitGroup
}

// drawInterval is how often the running times are drawn anew.
const drawInterval = 100 * time.Millisecond

func newLiveView(file *os.File, p *progress, clock *local.Clock, virtual, color bool) *liveView {
	v := &liveView{file: file, progress: p, clock: clock, color: color}
	if !virtual {
		v.stop = make(chan struct{})
		v.stopped.Go(v.keepDrawing)
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
func (v *liveView) Calling(call machine.CallTask, at time.Time) {
	v.update(func() { v.progress.calling(call, at) })
}

// Committed implements [engine.Observer].
func (v *liveView) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	v.update(func() { v.progress.committed(state, events) })
}

func (v *liveView) close() {
	if v.stop != nil {
		close(v.stop)
		v.stopped.Wait()
	}
	v.update(func() {})
}

// update changes the progress and draws it over the last frame.
func (v *liveView) update(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
	width, height, err := term.GetSize(int(v.file.Fd()))
	if err != nil || width <= 0 {
		width, height = 80, 24
	}
	lines := frame(v.progress, v.clock.Now(), width, height-1, v.color)
	var out strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", v.drawn)
	}
	for _, line := range lines {
		out.WriteString("\r" + line + "\x1b[K\n")
	}
	out.WriteString("\x1b[J")
	v.drawn = len(lines)
	_, _ = v.file.WriteString(out.String()) // a view that nobody reads is no error
}

// frame is the progress as lines of at most width cells, at most height of
// them. It shows the part of the steps where something happens.
func frame(p *progress, now time.Time, width, height int, color bool) []string {
	if !p.ended.IsZero() {
		now = p.ended
	}
	head := p.title + "  " + string(p.status)
	if !p.started.IsZero() {
		head += "  " + elapsed(now.Sub(p.started))
	}
	lines := []string{cut(head, width)}
	first, last := window(p, height-len(lines))
	longest := 0
	for _, s := range p.flow.All {
		longest = max(longest, len(s.Name))
	}
	for i := first; i < last; i++ {
		lines = append(lines, row(p, i, now, width, min(longest, width/2), color))
	}
	return lines
}

// window is the range of steps that fits into height lines and has the step
// where something happens.
func window(p *progress, height int) (first, last int) {
	n := len(p.steps)
	if height < 1 || n <= height {
		return 0, n
	}
	active := 0
	for i, s := range p.steps {
		if s.phase == phaseRunning || s.phase == phaseWaiting || s.phase == phaseFailed {
			active = i
		}
	}
	first = min(max(active-height/2, 0), n-height)
	return first, first + height
}

// marks of the phases, and the colours that they have.
var marks = [...]struct{ mark, color string }{
	phasePending: {"·", ""},
	phaseRunning: {"▸", "\x1b[36m"},
	phaseWaiting: {"◷", "\x1b[33m"},
	phaseDone:    {"✓", "\x1b[32m"},
	phaseFailed:  {"✗", "\x1b[31m"},
}

func row(p *progress, i int, now time.Time, width, nameWidth int, color bool) string {
	s := p.steps[i]
	mark := marks[s.phase]
	name := runewidth.FillRight(cut(p.flow.All[i].Name, nameWidth), nameWidth)
	text := strings.TrimRight(name+"  "+s.detail(p.flow.All[i].Kind.Type(), now), " ")
	text = cut(text, width-4)
	if color && mark.color != "" {
		return "  " + mark.color + mark.mark + "\x1b[0m " + text
	}
	return "  " + mark.mark + " " + text
}

// detail is what is said of a step beside its name.
func (s stepProgress) detail(stepType string, now time.Time) string {
	var parts []string
	switch s.phase {
	case phasePending:
		return stepType
	case phaseRunning:
		parts = append(parts, elapsed(now.Sub(s.entered)))
	case phaseWaiting:
		left := max(s.until.Sub(now), 0)
		parts = append(parts, elapsed(left)+" left, until "+s.until.Local().Format(time.TimeOnly))
	case phaseDone:
		parts = append(parts, elapsed(s.left.Sub(s.entered)))
	case phaseFailed:
		parts = append(parts, s.err)
	}
	if s.attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", s.attempt))
	}
	return fmt.Sprintf("%-7s %s", stepType, strings.Join(parts, ", "))
}

// cut shortens text to width cells.
func cut(text string, width int) string { return runewidth.Truncate(text, max(width, 1), "…") }
