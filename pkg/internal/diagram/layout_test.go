package diagram_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
)

// TestPlacesOfRandomFlows checks what makes a picture readable for flows of every shape.
func TestPlacesOfRandomFlows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		text := machinetest.RandomFlow(seed, true)
		checkPicture(t, fmt.Sprint("seed ", seed), parsed(t, text), text)
	}
}

func TestPlacesOfFlows(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../suite/machinetest/flows/*.yaml")
	examples, _ := filepath.Glob("../../../events/*/flow.yaml")
	if paths = append(paths, examples...); err != nil || len(paths) < 40 {
		t.Fatalf("%d flows: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if flow, _ := fdl.Parse(text); flow != nil { // some are templates
			checkPicture(t, path, flow, string(text))
		}
	}
}

func parsed(t *testing.T, text string) *flow.Flow {
	t.Helper()
	flow, problems := fdl.Parse([]byte(text))
	if flow == nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	return flow
}

func checkPicture(t *testing.T, name string, def *flow.Flow, text string) {
	t.Helper()
	p := diagram.Of(def, name, nil)
	if p.Terminal(nil) != diagram.Of(def, name, nil).Terminal(nil) {
		t.Errorf("%s: two pictures of one flow differ", name)
	}
	var wrong []string
	for _, check := range []func(diagram.Picture, *flow.Flow) string{boxesOfSteps, boxesApart, endsAtBoxes, clearOfBoxes, linesApart, labelsReadable} {
		if found := check(p, def); found != "" {
			wrong = append(wrong, found)
		}
	}
	if len(wrong) > 0 {
		t.Fatalf("%s: %s\n%s\n%s", name, strings.Join(wrong, "; "), p.Terminal(nil), text)
	}
}

// boxesOfSteps wants a box for each step, and an edge to each.
func boxesOfSteps(p diagram.Picture, def *flow.Flow) string {
	boxes, entered := map[*flow.Step]int{}, map[*flow.Step]bool{}
	for _, b := range p.Boxes {
		boxes[b.Step]++
	}
	for _, e := range p.Edges {
		entered[e.To] = true
	}
	for _, step := range def.All {
		if boxes[step] != 1 {
			return fmt.Sprintf("step %s has %d boxes", step.Name, boxes[step])
		}
		if before := previous(step); before != nil && !entered[step] && before.Next == step && goesOn(before) {
			return fmt.Sprintf("no edge leads to step %s", step.Name)
		}
	}
	return ""
}

func previous(step *flow.Step) *flow.Step {
	for _, before := range step.Series.Steps {
		if before.Next == step {
			return before
		}
	}
	return nil
}

// goesOn reports whether a step is followed by the next one for sure.
func goesOn(step *flow.Step) bool {
	switch step.Kind.(type) {
	case *flow.Pass, *flow.Wait, *flow.Task, *flow.Parallel, *flow.Foreach:
		return !step.End
	case *flow.Choice, *flow.Succeed, *flow.Fail:
	}
	return false
}

func boxesApart(p diagram.Picture, _ *flow.Flow) string {
	for i, a := range p.Boxes {
		if a.X < 0 || a.Y < 0 || a.X+a.W > p.Width || a.Y+a.H > p.Height {
			return fmt.Sprintf("box %v lies outside of the picture", a.Lines)
		}
		for _, b := range p.Boxes[:i] {
			overlap := a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
			isNested := b.Frame && within(a, b) || a.Frame && within(b, a)
			if overlap && !isNested {
				return fmt.Sprintf("boxes %v and %v overlap", a.Lines, b.Lines)
			}
		}
	}
	return ""
}

// within reports whether a box lies inside of the border of another one.
func within(a, b diagram.Box) bool {
	return a.X > b.X && a.Y > b.Y && a.X+a.W < b.X+b.W && a.Y+a.H < b.Y+b.H
}

func onBorder(at diagram.Point, b diagram.Box) bool {
	inside := at.X > b.X && at.Y > b.Y && at.X < b.X+b.W-1 && at.Y < b.Y+b.H-1
	return covers(b, at) && !inside
}

func covers(b diagram.Box, at diagram.Point) bool {
	return at.X >= b.X && at.Y >= b.Y && at.X < b.X+b.W && at.Y < b.Y+b.H
}

// boxOf returns the box of a step, or that of start or end.
func boxOf(p diagram.Picture, step *flow.Step, terminal string) diagram.Box {
	for _, b := range p.Boxes {
		if b.Step == step && (step != nil || b.Lines[0] == terminal) {
			return b
		}
	}
	return diagram.Box{}
}

func endsAtBoxes(p diagram.Picture, _ *flow.Flow) string {
	for _, e := range p.Edges {
		from, to := boxOf(p, e.From, "start"), boxOf(p, e.To, "end")
		if !onBorder(e.Points[0], from) || !onBorder(e.Points[len(e.Points)-1], to) {
			return fmt.Sprintf("the edge from %v to %v ends elsewhere: %v", from.Lines, to.Lines, e.Points)
		}
	}
	return ""
}

// cells are those of an edge without its two ends, and whether it runs along the row there.
func cells(e diagram.Edge) map[diagram.Point][2]bool {
	all := map[diagram.Point][2]bool{}
	for i, to := range e.Points[1:] {
		for at := e.Points[i]; ; at = (diagram.Point{X: at.X + sign(to.X-at.X), Y: at.Y + sign(to.Y-at.Y)}) {
			along := all[at]
			along[0], along[1] = along[0] || e.Points[i].Y == to.Y, along[1] || e.Points[i].X == to.X
			if all[at] = along; at == to {
				break
			}
		}
	}
	delete(all, e.Points[0])
	delete(all, e.Points[len(e.Points)-1])
	return all
}

func sign(n int) int { return min(1, max(-1, n)) }

func clearOfBoxes(p diagram.Picture, _ *flow.Flow) string {
	for _, e := range p.Edges {
		for i, to := range e.Points[1:] {
			if from := e.Points[i]; from.X != to.X && from.Y != to.Y {
				return fmt.Sprintf("the edge %v is not along columns and rows", e.Points)
			}
		}
		for at := range cells(e) {
			for _, b := range p.Boxes {
				if covers(b, at) && (!b.Frame || onBorder(at, b)) {
					return fmt.Sprintf("the edge %v meets box %v at %v", e.Points, b.Lines, at)
				}
			}
		}
	}
	return ""
}

// linesApart wants that edges with different ends cross, and do not run along one another.
func linesApart(p diagram.Picture, _ *flow.Flow) string {
	type place struct {
		at      diagram.Point
		alongIs int
	}
	users := map[place]diagram.Edge{}
	for _, e := range p.Edges {
		for at, along := range cells(e) {
			for i := range along {
				other, used := users[place{at, i}]
				switch {
				case !along[i]:
				case !used:
					users[place{at, i}] = e
				case other.From != e.From && other.To != e.To:
					return fmt.Sprintf("the edges %v and %v run along one another at %v", other.Points, e.Points, at)
				}
			}
		}
	}
	return ""
}

func labelsReadable(p diagram.Picture, _ *flow.Flow) string {
	texts := map[diagram.Point]string{}
	for _, l := range p.Labels {
		for i := range len([]rune(l.Text)) {
			at := diagram.Point{X: l.X + i, Y: l.Y}
			if other := texts[at]; other != "" || at.X < 0 || at.X >= p.Width {
				return fmt.Sprintf("label %q lies on %q or outside", l.Text, other)
			}
			texts[at] = l.Text
			for _, b := range p.Boxes {
				if covers(b, at) && (!b.Frame || onBorder(at, b)) {
					return fmt.Sprintf("label %q lies on box %v", l.Text, b.Lines)
				}
			}
		}
	}
	return ""
}
