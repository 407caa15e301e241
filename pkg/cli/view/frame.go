package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
)

// line is one line of a frame.
type line struct {
	text  string
	color string // of the mark, empty for none
}

// Before the name of a step: as much as it is nested, the mark of its phase, a
// space.
const (
	indent = "  "
	// rowPrefix is the cells of all that at the top level.
	rowPrefix = 4
)

// paint is the line with its colour, if wanted.
func (l line) paint(color bool) string {
	start := len(l.text) - len(strings.TrimLeft(l.text, " "))
	end := strings.IndexByte(l.text[start:], ' ') + start
	if !color || l.color == "" || end <= start {
		return l.text
	}
	return l.text[:start] + l.color + l.text[start:end] + "\x1b[0m" + l.text[end:]
}

// marks of the phases, and the colours that they have.
var marks = [...]struct{ mark, color string }{
	phasePending:  {"·", ""},
	phaseRunning:  {"▸", "\x1b[36m"},
	phaseWaiting:  {"◷", "\x1b[33m"},
	phaseCallback: {"◷", "\x1b[33m"},
	phaseJob:      {"◷", "\x1b[33m"},
	phaseRetry:    {"◷", "\x1b[33m"},
	phasePoll:     {"◷", "\x1b[33m"},
	phaseDone:     {"✓", "\x1b[32m"},
	phaseFailed:   {"✗", "\x1b[31m"},
}

// frame is the progress as lines of at most width cells, at most height of
// them but one at least. When there are more steps it shows those around the
// one where something happens.
func frame(p *progress, now time.Time, width, height int) []line {
	if !p.ended.IsZero() {
		now = p.ended
	}
	lines := []line{{text: p.head(now, width)}}
	first, last, marked := p.window(height - len(lines))
	if marked && first > 0 {
		lines = append(lines, hidden(first, "above", width))
	}
	t := p.table(width)
	for i := first; i < last; i++ {
		lines = append(lines, t.row(p, i, now))
	}
	if marked && last < len(p.steps) {
		lines = append(lines, hidden(len(p.steps)-last, "below", width))
	}
	return lines
}

func hidden(steps int, where string, width int) line {
	return line{text: cut(fmt.Sprintf("%s⋮ %s %s", indent, Count(steps, "step"), where), width)}
}

// head is the first line: of a name that is too long it keeps what follows.
func (p *progress) head(now time.Time, width int) string {
	tail := "  " + string(p.status)
	if !p.started.IsZero() {
		tail += "  " + elapsed(now.Sub(p.started))
	}
	return cut(strings.TrimLeft(cut(p.title, width-cells(tail))+tail, " "), width)
}

// window is the range of steps that height lines have room for, and whether
// lines say how many are left out, above or below or both.
func (p *progress) window(height int) (first, last int, marked bool) {
	n := len(p.steps)
	height = max(height, 0)
	if n <= height {
		return 0, n, false
	}
	if height <= 2 {
		first = min(p.current, n-height)
		return first, first + height, false
	}
	room := height - 2
	switch first = p.current - room/2; {
	case first <= 1:
		return 0, height - 1, true
	case first+room >= n-1:
		return n - height + 1, n, true
	}
	return first, first + room, true
}

// table is how the rows of a frame are laid out.
type table struct {
	width int
	name  int  // cells of the names
	room  int  // cells beside them, 0 in a terminal too narrow for more than names
	typed bool // whether there is room for the types of the steps
}

const (
	gap = "  "
	// typeColumn is the longest type and a gap.
	typeColumn = len("succeed" + gap)
	// usualDetail is what ought to fit beside a type.
	usualDetail = len("10.0s left, until 10:00:20, attempt 2")
	// namesOnly is the width below which names need all of it.
	namesOnly = 30
)

func (p *progress) table(width int) table {
	longest := 0
	for i := range p.steps {
		longest = max(longest, p.depths[i]*len(indent)+cells(p.flow.All[i].Name))
	}
	if width < namesOnly {
		return table{width: width, name: max(width-rowPrefix, 0)}
	}
	t := table{width: width, name: min(longest, width/2)}
	t.room = width - rowPrefix - t.name - len(gap)
	if t.typed = t.room >= typeColumn+usualDetail; t.typed {
		t.room -= typeColumn
	}
	return t
}

func (t table) row(p *progress, step int, now time.Time) line {
	s := p.steps[step]
	// A nested step stands further to the right, but its name keeps half of the column.
	nesting := strings.Repeat(indent, min(p.depths[step], t.name/2/len(indent)))
	name := t.name - len(nesting)
	text := indent + nesting + marks[s.phase].mark + " " + runewidth.FillRight(cut(p.flow.All[step].Name, name), name)
	if t.typed {
		text += fmt.Sprintf("%s%-*s", gap, typeColumn-len(gap), p.flow.All[step].Kind.Type())
	}
	if t.room > 0 {
		text += gap + s.detail(now, t.room)
	}
	return line{text: cut(strings.TrimRight(text, " "), t.width), color: marks[s.phase].color}
}

// detail is what is said of a step beside its name, in at most room cells.
func (s stepProgress) detail(now time.Time, room int) string {
	attempt, times := "", ""
	if s.attempt > 1 {
		attempt, times = fmt.Sprintf(", attempt %d", s.attempt), fmt.Sprintf(", ×%d", s.attempt)
	}
	switch s.phase {
	case phaseRunning:
		took := elapsed(now.Sub(s.entered))
		return fit(room, took+attempt, took+times, took)
	case phaseWaiting:
		left, until := elapsed(s.until.Sub(now)), instant(s.until, now)
		return fit(room, left+" left, until "+until+attempt, "until "+until+attempt, "until "+until+times, "until "+until, until, until[:len(until)-len(":00")])
	case phaseCallback:
		since := elapsed(now.Sub(s.entered))
		return fit(room, "waits for a callback, "+since+attempt, "callback, "+since+times, "callback")
	case phaseJob:
		since := elapsed(now.Sub(s.entered))
		return fit(room, "waits for its job, "+since+attempt, "its job, "+since+times, "its job")
	case phaseRetry:
		left := elapsed(s.until.Sub(now))
		return fit(room, "tries again in "+left+attempt, "again in "+left+times, "again in "+left, "again")
	case phasePoll:
		left := elapsed(s.until.Sub(now))
		return fit(room, "polls again in "+left+attempt, "polls in "+left+times, "polls in "+left, "polls")
	case phaseDone:
		if s.next != "" {
			return fit(room, "goes to "+s.next+attempt, "goes to "+s.next+times, "goes to "+s.next, "to "+s.next)
		}
		took := elapsed(s.left.Sub(s.entered))
		return fit(room, took+attempt, took+times, took)
	case phaseFailed:
		why := Printable(token.MaskAll(Because(s.err, s.cause)))
		return fit(room, why+attempt, why)
	case phasePending:
	}
	return ""
}

// fit is the first of texts that has at most room cells, or what room there is
// of the last.
func fit(room int, texts ...string) string {
	for _, text := range texts {
		if cells(text) <= room {
			return text
		}
	}
	return cut(texts[len(texts)-1], room)
}

// instant is a time of day as the user's clock shows it, with the date when it
// is another than that of now.
func instant(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// cells is the width of text on a terminal.
func cells(text string) int { return runewidth.StringWidth(text) }

// cut shortens text to width cells.
func cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return runewidth.Truncate(text, width, "…")
}

// depths are how deep the steps are nested in branches of choices.
func depths(flow *fdl.Flow) []int {
	all := make([]int, len(flow.All))
	for _, step := range flow.All {
		choice, ok := step.Kind.(*fdl.Choice)
		if !ok {
			continue
		}
		branches := choice.Branches
		if choice.Default != nil {
			branches = append(branches[:len(branches):len(branches)], *choice.Default)
		}
		for _, branch := range branches {
			for _, inner := range branch.Steps {
				all[inner.Index] = all[step.Index] + 1
			}
		}
	}
	return all
}
