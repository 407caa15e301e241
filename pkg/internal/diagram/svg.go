package diagram

import (
	"cmp"
	"fmt"
	"html"
	"strings"
)

// The size of a cell in pixels. A character is 7.2 pixels wide in the font of [Style].
const (
	cellWidth  = 8
	cellHeight = 16
)

// Style is the style sheet of the drawings, for a page that holds them. It follows the reader's
// choice of light and dark.
const Style = `.flow{--ink:#1f2328;--soft:#59636e;--line:#818b98;--paper:#fff;--run:#0969da;--wait:#9a6700;--done:#1a7f37;--fail:#cf222e;` +
	`font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media(prefers-color-scheme:dark){.flow{--ink:#e6edf3;--soft:#9198a1;--line:#6e7781;--paper:#0d1117;--run:#4493f8;--wait:#d29922;--done:#3fb950;--fail:#f85149}}
.flow text{fill:var(--ink);text-anchor:middle}
.flow .label,.flow .detail{fill:var(--soft)}
.flow .label{paint-order:stroke;stroke:var(--paper);stroke-width:4px}
.flow .frame>text{text-anchor:start;paint-order:stroke;stroke:var(--paper);stroke-width:10px}
.flow rect{fill:var(--paper);stroke:var(--line);stroke-width:1.5px}
.flow .frame>rect{fill:none;stroke-dasharray:5 4}
.flow .edge{fill:none;stroke:var(--line);stroke-width:1.5px}
.flow .head{fill:var(--line)}
.flow .pending rect{stroke:var(--line)}
.flow .running>rect{stroke:var(--run);stroke-width:3px}
.flow .waiting>rect{stroke:var(--wait);stroke-width:3px}
.flow .succeeded>rect{stroke:var(--done);stroke-width:2.5px}
.flow .failed>rect{stroke:var(--fail);stroke-width:3px}
.flow .before>rect{stroke:var(--soft);stroke-dasharray:2 3}
`

// SVG draws a picture for a page that has [Style].
func (p Picture) SVG() string { return p.svg("") }

// File draws a picture as a file of its own.
func (p Picture) File() string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + p.svg("<style>"+Style+"</style>\n")
}

func (p Picture) svg(style string) string {
	var out strings.Builder
	width, height, role := (p.Width+2)*cellWidth, (p.Height+1)*cellHeight, "img"
	if p.Link != nil {
		role = "group" // readers do not see the links inside of an image
	}
	title := html.EscapeString(p.Title)
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="%s" aria-label="%s" width="%d" height="%d" viewBox="%d %d %d %d">`+"\n",
		role, title, width, height, -cellWidth, -cellHeight/2, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n%s", title, style)
	for _, e := range p.Edges {
		out.WriteString(e.svg())
	}
	for _, b := range p.Boxes {
		out.WriteString(b.svg(p.Link))
	}
	for _, l := range p.Labels {
		at := Point{l.X + len([]rune(l.Text))/2, l.Y}.middle()
		fmt.Fprintf(&out, `<text class="label" x="%d" y="%d">%s</text>`+"\n", at.X, at.Y+4, html.EscapeString(l.Text))
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// middle is the point in pixels.
func (p Point) middle() Point {
	return Point{p.X*cellWidth + cellWidth/2, p.Y*cellHeight + cellHeight/2}
}

// svg draws the way, with round corners, and its head.
func (e Edge) svg() string {
	const radius = 6
	points := make([]Point, len(e.Points))
	for i, p := range e.Points {
		points[i] = p.middle()
	}
	var d strings.Builder
	fmt.Fprintf(&d, "M%d %d", points[0].X, points[0].Y)
	for i, p := range points[1 : len(points)-1] {
		before, after := towards(p, points[i], radius), towards(p, points[i+2], radius)
		fmt.Fprintf(&d, "L%d %dQ%d %d %d %d", before.X, before.Y, p.X, p.Y, after.X, after.Y)
	}
	end := points[len(points)-1]
	fmt.Fprintf(&d, "L%d %d", end.X, end.Y-radius)
	return fmt.Sprintf(`<path class="edge" d="%s"/><path class="head" d="M%d %dl-4 -8h8z"/>`+"\n", d.String(), end.X, end.Y)
}

// towards is the point at a distance from p on the line to another one, at most in its middle.
func towards(p, other Point, distance int) Point {
	dx, dy := other.X-p.X, other.Y-p.Y
	distance = min(distance, max(dx, -dx, dy, -dy)/2) //nolint:mnd // the middle
	return Point{p.X + cmp.Compare(dx, 0)*distance, p.Y + cmp.Compare(dy, 0)*distance}
}

func (b Box) svg(link func(step string) string) string {
	at, end := Point{b.X, b.Y}.middle(), Point{b.X + b.W - 1, b.Y + b.H - 1}.middle()
	class, round := string(b.State.Status), 5
	switch {
	case b.Frame:
		class += " frame"
	case b.Step == nil:
		class, round = "terminal", cellHeight
	}
	data, before, after := "", "", "" // data names the step, for tests and scripts
	if b.Step != nil {
		data = ` data-step="` + html.EscapeString(b.Step.Name) + `"`
	}
	if b.Step != nil && link != nil {
		before, after = `<a href="`+html.EscapeString(link(b.Step.Name))+`">`, "</a>"
	}
	var out strings.Builder
	fmt.Fprintf(&out, `%s<g class="%s"%s><rect x="%d" y="%d" width="%d" height="%d" rx="%d"/>`,
		before, strings.TrimSpace(class), data, at.X, at.Y, end.X-at.X, end.Y-at.Y, round)
	for i, text := range b.Lines {
		x, y := (at.X+end.X)/2, at.Y+(i+1)*cellHeight+4 //nolint:mnd // the middle, and the height of a letter
		class := "name"
		switch {
		case b.Frame:
			x, y = at.X+2*cellWidth, at.Y+4 //nolint:mnd // on the border
		case i > 0:
			class = "detail"
		}
		fmt.Fprintf(&out, `<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, html.EscapeString(text))
	}
	out.WriteString("</g>" + after + "\n")
	return out.String()
}
