package diagram

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/waitless/waitless/pkg/flow"
)

const (
	// gap is how many rows lie above a step: one in which the ways to it meet, and the arrow.
	gap = 2
	// apart is how many columns lie between blocks that stand side by side, and between lanes.
	apart = 2
	// longest is how many columns a text may take.
	longest = 30

	endText = "end"
)

// Of places the steps of a flow. The states are the states of an execution by the index of the
// step; nil draws the flow alone.
func Of(flow *flow.Flow, title string, states map[int]State) Picture {
	l := layout{states}
	b := l.series(flow.Steps)
	start := Box{X: -3, Y: 0, W: 7, H: 3, Lines: []string{"start"}}
	b.move(0, start.H)
	entry := way{points: []Point{{0, start.H - 1}}}
	b.enter(entry)
	b.boxes = append(b.boxes, start)
	b.left, b.right = max(b.left, 3), max(b.right, 3)
	if len(b.exits) > 0 {
		row := b.height + start.H
		for _, exit := range b.exits {
			b.finish(exit, nil, row)
		}
		b.boxes = append(b.boxes, Box{X: -2, Y: row + gap, W: 5, H: 3, Lines: []string{endText}})
		b.height += gap + 3
	}
	b.move(b.left, 0)
	return Picture{Title: title, Width: b.left + b.right + 1, Height: b.height + start.H, Boxes: b.boxes, Edges: b.edges, Labels: b.labels}
}

type layout struct{ states map[int]State }

// block is a part of a flow with its own coordinates: a step, or a series. It is entered in column
// 0.
type block struct {
	left, right int // columns on each side of column 0
	height      int
	boxes       []Box
	edges       []Edge
	labels      []Label
	// first is the step that an edge into the block leads to, nil for an empty series.
	first *flow.Step
	// exits are the ways that leave the block at its lower end.
	exits []way
	// jumps are the ways that go on with a given step of the series around the block.
	jumps []jump
}

// way is an edge with an open end. It goes on downwards from its last point.
type way struct {
	from   *flow.Step
	label  string
	points []Point
}

func (w way) x() int { return w.points[len(w.points)-1].X }

// to returns the way with further corners.
func (w way) to(points ...Point) way {
	w.points = slices.Concat(w.points, points)
	return w
}

// jump is a way to a step of the series. A nil target is the end of the series.
type jump struct {
	way
	target *flow.Step
}

// move changes the place of all that is in the block. Its extent stays.
func (b *block) move(dx, dy int) {
	for i := range b.boxes {
		b.boxes[i].X, b.boxes[i].Y = b.boxes[i].X+dx, b.boxes[i].Y+dy
	}
	for i := range b.labels {
		b.labels[i].X, b.labels[i].Y = b.labels[i].X+dx, b.labels[i].Y+dy
	}
	for _, e := range b.edges {
		movePoints(e.Points, dx, dy)
	}
	for _, w := range b.exits {
		movePoints(w.points, dx, dy)
	}
	for _, j := range b.jumps {
		movePoints(j.points, dx, dy)
	}
}

func movePoints(points []Point, dx, dy int) {
	for i := range points {
		points[i].X, points[i].Y = points[i].X+dx, points[i].Y+dy
	}
}

// add puts the drawing of a part into the block. Exits and jumps of the part stay its own.
func (b *block) add(part block) {
	b.boxes = append(b.boxes, part.boxes...)
	b.edges = append(b.edges, part.edges...)
	b.labels = append(b.labels, part.labels...)
}

// finish ends a way at the step with the row of meeting.
func (b *block) finish(w way, to *flow.Step, row int) {
	w = w.to(Point{w.x(), row}, Point{0, row}, Point{0, row + gap})
	b.edges = append(b.edges, Edge{From: w.from, To: to, Points: corners(w.points), Label: w.label})
}

// enter ends a way at the first step of a series that was moved below it, or makes it an exit of an
// empty series. The way ends in the column in which the series is entered.
func (b *block) enter(w way) {
	if b.first == nil {
		b.exits = []way{w}
		return
	}
	i := slices.IndexFunc(b.boxes, func(box Box) bool { return box.Step == b.first })
	w = w.to(Point{w.x(), b.boxes[i].Y})
	b.edges = append(b.edges, Edge{From: w.from, To: b.first, Points: corners(w.points), Label: w.label})
}

// corners leaves out points between others on a line.
func corners(points []Point) []Point {
	kept := points[:1:1]
	for i, p := range points[1:] {
		last := kept[len(kept)-1]
		if p == last {
			continue
		}
		if rest := points[i+2:]; len(rest) > 0 && (last.X == p.X && p.X == rest[0].X || last.Y == p.Y && p.Y == rest[0].Y) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// step places one step, with its content.
func (l layout) step(step *flow.Step) block {
	switch kind := step.Kind.(type) {
	case *flow.Choice:
		return l.choice(step, kind)
	case *flow.Task:
		return l.caught(step, l.single(step))
	case *flow.Parallel:
		return l.caught(step, l.fork(step, kind.Branches))
	case *flow.Foreach:
		return l.caught(step, l.fork(step, [][]*flow.Step{kind.Steps}))
	case *flow.Pass, *flow.Wait, *flow.Succeed, *flow.Fail:
	}
	return l.single(step)
}

// single places a step without the parts that its type adds.
func (l layout) single(step *flow.Step) block {
	box := l.box(step)
	b := block{left: -box.X, right: box.W + box.X - 1, height: box.H, boxes: []Box{box}, first: step}
	if _, fails := step.Kind.(*flow.Fail); !fails {
		b.exits = []way{{from: step, points: []Point{{0, box.H - 1}}}}
	}
	return b
}

// box is the box of a step that holds no other steps, in the middle of column 0.
func (l layout) box(step *flow.Step) Box {
	box := Box{Step: step, State: l.states[step.Index], Lines: []string{shortened(step.Name)}}
	if l.states != nil {
		box.Lines[0] = marks[box.State.Status] + " " + box.Lines[0]
	}
	if detail := cmp.Or(box.State.Note, detail(step)); detail != "" {
		box.Lines = append(box.Lines, shortened(detail))
	}
	const borders = 4
	for _, text := range box.Lines {
		box.W = max(box.W, runewidth.StringWidth(text)+borders)
	}
	box.W += 1 - box.W%2 // so that it has a middle
	box.H, box.X = len(box.Lines)+2, -(box.W / 2)
	return box
}

// marks tell the statuses apart without color.
var marks = map[Status]string{"": "·", Pending: "·", Running: "▸", Waiting: "◷", Succeeded: "✓", Failed: "✗", Before: "«"}

// branch is a series that stands beside others.
type branch struct {
	block
	label  string
	next   *flow.Step
	column int // of its entry
}

func (l layout) branch(steps []*flow.Step, label string, to *flow.Step) branch {
	b := branch{block: l.series(steps), label: label, next: to}
	half := (runewidth.StringWidth(shortened(label)) + 1) / 2
	b.left, b.right = max(b.left, half), max(b.right, half)
	return b
}

// beside gives branches their columns, from one on to the right, and returns the column behind
// them.
func beside(branches []branch, from int) (behind int) {
	for i := range branches {
		branches[i].column = from + branches[i].left
		from += branches[i].left + branches[i].right + 1 + apart
	}
	return from - apart
}

// choice places the branches below the box.
func (l layout) choice(step *flow.Step, choice *flow.Choice) block {
	var branches []branch
	for _, entry := range choice.Branches {
		branches = append(branches, l.branch(entry.Steps, entry.Text, entry.Goto))
	}
	if choice.Default != nil {
		branches = append(branches, l.branch(choice.Default.Steps, "default", choice.Default.Goto))
	} else {
		branches = append(branches, l.branch(nil, "otherwise", nil))
	}
	beside(branches, 0)
	middle := (branches[0].column + branches[len(branches)-1].column) / 2
	b := l.single(step)
	b.exits = nil
	bar := b.height
	b.height = bar + 2
	for _, branch := range branches {
		branch.column -= middle
		b.attach(branch, way{from: step, points: []Point{{0, bar - 1}, {0, bar}, {branch.column, bar}}}, bar+1)
	}
	return b
}

// attach puts a branch into the block. A way leads to it, along a label in the row before its
// series.
func (b *block) attach(part branch, entry way, row int) {
	text := shortened(part.label)
	entry.label = part.label
	part.move(part.column, row+1)
	part.enter(entry.to(Point{part.column, row}))
	b.add(part.block)
	if text != "" {
		b.labels = append(b.labels, Label{Point{part.column - runewidth.StringWidth(text)/2, row}, text})
	}
	b.left, b.right = max(b.left, part.left-part.column), max(b.right, part.right+part.column)
	b.height = max(b.height, row+1+part.height)
	for _, exit := range part.exits {
		if part.next == nil {
			b.exits = append(b.exits, exit)
		} else {
			b.jumps = append(b.jumps, jump{exit, part.next})
		}
	}
}

// caught places the branches of a step's catches on the right of its block.
func (l layout) caught(step *flow.Step, b block) block {
	var branches []branch
	for _, entry := range step.Handlers().Catch {
		branches = append(branches, l.branch(entry.Steps, strings.Join(entry.Errors, ", "), entry.Goto))
	}
	edge := b.right
	beside(branches, edge+1+apart)
	for _, branch := range branches {
		b.attach(branch, way{from: step, points: []Point{{edge, 1}, {branch.column, 1}}}, 2)
	}
	return b
}

// fork places branches in a frame. Their ways lead from its upper border to its lower border.
func (l layout) fork(step *flow.Step, series [][]*flow.Step) block {
	var branches []branch
	for _, steps := range series {
		branches = append(branches, l.branch(steps, "", nil))
	}
	title := strings.Join(l.box(step).Lines, ": ")
	const inside = 1 + apart // the border and the space between it and the blocks
	width := max(beside(branches, inside)+inside-1, runewidth.StringWidth(title)+4)
	width += 1 - width%2
	middle := width / 2
	b := block{left: middle, right: middle, first: step}
	for _, branch := range branches {
		branch.column -= middle
		b.attach(branch, way{from: step, points: []Point{{branch.column, 0}}}, 0)
	}
	b.height += gap
	for _, exit := range b.exits {
		exit = exit.to(Point{exit.x(), b.height - 1})
		b.edges = append(b.edges, Edge{From: exit.from, To: step, Points: corners(exit.points), Label: exit.label})
	}
	frame := Box{Step: step, X: -middle, W: width, H: b.height, Frame: true, Lines: []string{title}, State: l.states[step.Index]}
	b.boxes = slices.Insert(b.boxes, 0, frame)
	b.exits = []way{{from: step, points: []Point{{0, b.height - 1}}}}
	return b
}

// series places steps below one another, and the gotos between them at the sides.
func (l layout) series(steps []*flow.Step) block {
	var b block
	var open []way // to the next step
	meets := map[*flow.Step]int{}
	var routes []route
	var spans []span
	for i, step := range steps {
		part := l.step(step)
		meets[step] = b.height
		for _, w := range open {
			b.finish(w, step, b.height)
		}
		part.move(0, b.height+gap)
		b.add(part)
		b.left, b.right = max(b.left, part.left), max(b.right, part.right)
		spans = append(spans, span{b.height, b.height + gap + part.height, part.left, part.right})
		b.height += gap + part.height
		var out []route
		open, out = leave(part, step, i == len(steps)-1)
		at := map[*flow.Step]int{} // each target has a row of its own below the step
		for j := range out {
			row, ok := at[out[j].target]
			if !ok {
				row = b.height
				at[out[j].target] = row
				b.height++
			}
			out[j].row = row
		}
		routes = append(routes, out...)
	}
	if len(steps) > 0 {
		b.first = steps[0]
	}
	b.exits = open
	meets[nil] = b.height
	b.routes(routes, meets, spans)
	return b
}

// leave returns the ways to the next step, and the ways to other steps of the series or to its end.
func leave(part block, step *flow.Step, isLast bool) (next []way, out []route) {
	_, succeeds := step.Kind.(*flow.Succeed)
	ends := (step.End || succeeds) && !isLast
	for _, exit := range part.exits {
		if ends {
			out = append(out, route{jump: jump{exit, nil}})
		} else {
			next = append(next, exit)
		}
	}
	for _, j := range part.jumps {
		if j.target == step.Next && !isLast && !ends {
			next = append(next, j.way)
		} else {
			out = append(out, route{jump: j})
		}
	}
	return next, out
}
