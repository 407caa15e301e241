// Package diagram draws flows: for a terminal, as SVG, and as text for Mermaid.
//
// [Of] places everything once, in cells: a cell is one character of a terminal and a rectangle in
// SVG. Steps that follow one another stand below one another. The branches of a choice, of a
// parallel and of a catch stand side by side. A goto runs beside the steps of its series: on the
// left to an earlier step, on the right to a later one. So no line crosses a box.
package diagram

import "github.com/waitless/waitless/pkg/flow"

// Picture is a drawing of a flow: each part has a place.
type Picture struct {
	// Title is the name of the flow or of the execution.
	Title string
	// Width and Height are in cells. All parts lie within.
	Width, Height int
	// Boxes are the steps, each behind the box that it stands in, then start and end.
	Boxes []Box
	Edges []Edge
	// Labels are the texts of edges.
	Labels []Label
	// Link returns the address to which the box of a step leads. If it is nil, boxes have no links.
	Link func(step string) string
}

// Box is a step, the start, or the end of the flow.
type Box struct {
	Step *flow.Step // nil for start and end
	// X and Y are the column and the row of the upper left corner.
	X, Y, W, H int
	// Lines are the texts inside: name and detail. A frame has one, on its upper border.
	Lines []string
	// Frame says that the steps of a parallel or of a foreach stand in the box.
	Frame bool
	State State
}

// Edge is the way from a box to another one.
type Edge struct {
	// From and To are steps. A nil From is the start of the flow, a nil To the end. An edge of a
	// frame leads from it into its first steps, and from its last steps back to it.
	From, To *flow.Step
	// Points are the corners of the way: the first lies on the border of From, the last on the
	// border of To. Two neighbors have the same column or the same row.
	Points []Point
	// Label is the condition or the errors under which the flow goes this way, whole; "" for
	// always.
	Label string
}

// Point is a cell.
type Point struct{ X, Y int }

// Label is the text of an edge, shortened.
type Label struct {
	Point // of the first character
	Text  string
}

// State is the current or last state of a step in an execution.
type State struct {
	Status Status
	Note   string // such as "attempt 2", may be empty
}

// Status is the status of a step in an execution.
type Status string

// The statuses of steps. A picture of a flow without an execution has none.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Waiting   Status = "waiting" // for a timer, a callback, a job or a sub-flow
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Before    Status = "before" // an earlier execution ran it, from which this one was redriven
)
