package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/waitless/waitless/pkg/flow"
)

// line is one line of a frame.
type line struct {
	text  string
	phase phase // of its step; the step's mark has a color
}

const (
	indent = "  "
	gap    = "  "
)

// phases has for each phase the mark, its color, and the text of a step in it: [1] is the time
// since the step was entered, [2] the time left, [3] the end of that time.
var phases = [...]struct{ mark, color, detail string }{
	phasePending:  {"·", "", ""},
	phaseRunning:  {"▸", "\x1b[36m", "%[1]s"},
	phaseWaiting:  {"◷", "\x1b[33m", "%[2]s left, until %[3]s"},
	phaseCallback: {"◷", "\x1b[33m", "waits for a callback, %[1]s"},
	phaseJob:      {"◷", "\x1b[33m", "waits for its job, %[1]s"},
	phaseChild:    {"◷", "\x1b[33m", "waits for its sub-flow, %[1]s"},
	phaseRetry:    {"◷", "\x1b[33m", "tries again in %[2]s"},
	phasePoll:     {"◷", "\x1b[33m", "polls again in %[2]s"},
	phaseDone:     {"✓", "\x1b[32m", "%[1]s"},
	phaseFailed:   {"✗", "\x1b[31m", "%[1]s"},
}

// paint returns the line with its colour, if wanted.
func (l line) paint(color bool) string {
	p := phases[l.phase]
	if !color || p.color == "" {
		return l.text
	}
	return strings.Replace(l.text, p.mark, p.color+p.mark+"\x1b[0m", 1)
}

// frame returns the progress as at most height lines of at most width cells, at least one.
func frame(p *progress, now time.Time, width, height int) []line {
	if !p.ended.IsZero() {
		now = p.ended
	}
	shown := p.shown(min(max(height-1, 0), len(p.steps)))
	column := 0
	for _, step := range p.flow.All {
		column = max(column, depth(step)*len(indent)+cells(step.Name))
	}
	column = min(column, width/2)   //nolint:mnd // half is for the detail
	tail := "  " + string(p.status) // it stays behind a title that is too long
	if !p.started.IsZero() {
		tail += "  " + elapsed(now.Sub(p.started))
	}
	switch n := len(shown); {
	case n == 0 || n == len(p.steps):
	case shown[n-1]-shown[0] >= n:
		tail += fmt.Sprintf("  %d of %d steps", n, len(p.steps))
	default:
		tail += fmt.Sprintf("  steps %d to %d of %d", shown[0]+1, shown[n-1]+1, len(p.steps))
	}
	lines := []line{{text: cut(strings.TrimLeft(cut(p.title, width-cells(tail))+tail, " "), width)}}
	for _, i := range shown {
		// A nested step stands further to the right, but its name keeps half of the column.
		s, step := p.step(i, now), p.flow.All[i]
		nesting := strings.Repeat(indent, min(depth(step), column/2/len(indent)))
		room := column - len(nesting)
		name := runewidth.FillRight(cut(step.Name, room), room)
		text := indent + nesting + phases[s.phase].mark + " " + name + gap + s.detail(now)
		lines = append(lines, line{cut(strings.TrimRight(text, " "), width), s.phase})
	}
	return lines
}

// shown returns the steps of a frame with so much room: the steps around the one where something
// happens. At the end, the steps that failed go before them, and then the steps around these.
func (p *progress) shown(room int) (steps []int) {
	var parents, window []int
	for i := range p.steps {
		if p.ended.IsZero() || p.step(i, p.ended).phase != phaseFailed {
			continue
		}
		steps = append(steps, i)
		for step := p.flow.All[i]; step.Series != nil && step.Series.Owner != nil; step = step.Series.Owner {
			parents = append(parents, step.Series.Owner.Index)
		}
	}
	first := min(max(p.current-room/2, 0), len(p.steps)-room)
	for i := range room {
		window = append(window, first+i)
	}
	for _, i := range slices.Concat(parents, window) {
		if !slices.Contains(steps, i) {
			steps = append(steps, i)
		}
	}
	steps = steps[:room]
	slices.Sort(steps)
	return steps
}

// depth returns how deep a step is nested in others.
func depth(step *flow.Step) (n int) {
	for ; step.Series != nil && step.Series.Owner != nil; step = step.Series.Owner {
		n++
	}
	return n
}

// detail returns the text of a step beside its name.
func (s stepProgress) detail(now time.Time) string {
	text := s.note
	if said := phases[s.phase].detail; text == "" && said != "" {
		end := now
		if !s.left.IsZero() {
			end = s.left
		}
		text = fmt.Sprintf(said, elapsed(end.Sub(s.entered)), elapsed(s.until.Sub(now)), instant(s.until, now))
	}
	switch hasIterations := s.phase != phasePending && s.in == nil && s.iterations > 0; {
	case hasIterations && s.items > s.iterations:
		text += fmt.Sprintf(", %d of %s ended", s.iterations, flow.Count(s.items, "iteration"))
	case hasIterations:
		text += fmt.Sprintf(", %s ended", flow.Count(s.iterations, "iteration"))
	}
	if s.phase != phasePending && s.in == nil && s.tolerated > 0 {
		text += fmt.Sprintf(", %d failed", s.tolerated)
	}
	if s.attempt > 1 {
		text += fmt.Sprintf(", attempt %d", s.attempt)
	}
	return text
}

// instant returns a time of day on the user's clock, with the date if that is not the date of now.
func instant(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// elapsed returns a duration to a tenth of a second: "20.0s", "1m05.0s".
func elapsed(d time.Duration) string {
	tenths := max(d, 0).Round(100 * time.Millisecond)
	minutes := int(tenths.Minutes())
	seconds := (tenths % time.Minute).Seconds()
	switch {
	case minutes == 0:
		return fmt.Sprintf("%.1fs", seconds)
	case minutes < 60:
		return fmt.Sprintf("%dm%04.1fs", minutes, seconds)
	default:
		return fmt.Sprintf("%dh%02dm%02ds", minutes/60, minutes%60, int(seconds))
	}
}

// cells returns the width of text on a terminal.
func cells(text string) int { return runewidth.StringWidth(text) }

// cut shortens text to width cells.
func cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return runewidth.Truncate(text, width, "…")
}
