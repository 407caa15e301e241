package diagram

import (
	"cmp"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Terminal draws a picture with characters. The function paint colors the parts of a step with a
// status; nil colors nothing. The text ends with a new line.
func (p Picture) Terminal(paint func(Status, string) string) string {
	c := make(canvas, p.Height)
	for y := range c {
		c[y] = make([]cell, p.Width)
	}
	for _, e := range p.Edges {
		for i, to := range e.Points[1:] { // along a column or a row
			from := e.Points[i]
			dx, dy := cmp.Compare(to.X-from.X, 0), cmp.Compare(to.Y-from.Y, 0)
			for from != to {
				next := Point{from.X + dx, from.Y + dy}
				c[from.Y][from.X].lines |= direction(dx, dy)
				c[next.Y][next.X].lines |= direction(-dx, -dy)
				from = next
			}
		}
	}
	for _, box := range p.Boxes {
		c.box(box)
	}
	for _, e := range p.Edges {
		from, next, to := e.Points[0], e.Points[1], e.Points[len(e.Points)-1]
		c[from.Y][from.X].lines |= direction(cmp.Compare(next.X-from.X, 0), cmp.Compare(next.Y-from.Y, 0))
		c[to.Y-1][to.X] = cell{char: '▼'}
	}
	for _, l := range p.Labels {
		c.text(l.X, l.Y, l.Text, "")
	}
	return c.String(paint)
}

// The directions in which lines leave a cell are bits.
const (
	up = 1 << iota
	down
	left
	right
)

// lines are the characters of lines by their directions.
var lines = [16]rune{
	0: ' ', up: '│', down: '│', left: '─', right: '─', up | down: '│', left | right: '─',
	up | right: '└', up | left: '┘', down | right: '┌', down | left: '┐',
	up | down | right: '├', up | down | left: '┤', left | right | down: '┬', left | right | up: '┴', up | down | left | right: '┼',
}

type cell struct {
	char   rune // 0 shows the lines
	lines  int
	status Status
	behind bool // is the second half of the character before it
}

type canvas [][]cell

func direction(dx, dy int) int {
	switch {
	case dx < 0:
		return left
	case dx > 0:
		return right
	case dy < 0:
		return up
	}
	return down
}

// box draws the border over the edges that end there, and clears the inside of a box that is no
// frame.
func (c canvas) box(b Box) {
	for y := b.Y; y < b.Y+b.H; y++ {
		for x := b.X; x < b.X+b.W; x++ {
			border := b.border(x, y)
			switch {
			case border != 0:
				c[y][x] = cell{lines: border, status: b.State.Status}
			case !b.Frame:
				c[y][x] = cell{status: b.State.Status}
			}
		}
	}
	if b.Frame {
		c.text(b.X+2, b.Y, b.Lines[0], b.State.Status)
		return
	}
	for i, text := range b.Lines {
		c.text(b.X+(b.W-runewidth.StringWidth(text))/2, b.Y+1+i, text, b.State.Status)
	}
}

// border returns the lines of the border in a cell, 0 inside.
func (b Box) border(x, y int) (lines int) {
	if x == b.X || x == b.X+b.W-1 {
		lines = up | down
	}
	if y == b.Y || y == b.Y+b.H-1 {
		lines |= left | right
	}
	if y == b.Y {
		lines &^= up
	}
	if y == b.Y+b.H-1 {
		lines &^= down
	}
	if x == b.X {
		lines &^= left
	}
	if x == b.X+b.W-1 {
		lines &^= right
	}
	return lines
}

func (c canvas) text(x, y int, text string, status Status) {
	for _, char := range text {
		width := runewidth.RuneWidth(char)
		if width == 0 || x < 0 || x+width > len(c[y]) {
			continue
		}
		c[y][x] = cell{char: char, status: status}
		if width > 1 {
			c[y][x+1] = cell{behind: true, status: status}
		}
		x += width
	}
}

func (c canvas) String(paint func(Status, string) string) string {
	var text strings.Builder
	for _, row := range c {
		for len(row) > 0 && row[len(row)-1] == (cell{status: row[len(row)-1].status}) {
			row = row[:len(row)-1]
		}
		for len(row) > 0 {
			n := 1
			for n < len(row) && row[n].status == row[0].status {
				n++
			}
			part := ""
			for _, c := range row[:n] {
				switch {
				case c.behind:
				case c.char != 0:
					part += string(c.char)
				default:
					part += string(lines[c.lines])
				}
			}
			if paint != nil && row[0].status != "" {
				part = paint(row[0].status, part)
			}
			text.WriteString(part)
			row = row[n:]
		}
		text.WriteByte('\n')
	}
	return text.String()
}
