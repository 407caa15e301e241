package diagram

import (
	"cmp"
	"slices"

	"github.com/waitless/waitless/pkg/flow"
)

// route is a jump with the row in which it leaves.
type route struct {
	jump
	row int
}

// span is how far a step of a series reaches on each side, in its rows.
type span struct{ from, to, left, right int }

// lane is a column beside a series, in which the routes to one target run.
type lane struct {
	target   *flow.Step
	isBack   bool
	from, to int // rows
	column   int // from the column of the series, to the side
	routes   []route
}

// routes leads jumps to their targets. A series is left at its end in the lane.
func (b *block) routes(routes []route, meets map[*flow.Step]int, spans []span) {
	for _, lane := range lanesOf(routes, meets, spans) {
		column, meet := lane.column, meets[lane.target]
		if lane.isBack {
			column = -column
		}
		b.left, b.right = max(b.left, -column), max(b.right, column)
		for _, r := range lane.routes {
			w := r.to(Point{r.x(), r.row}, Point{column, r.row})
			if lane.target == nil {
				b.exits = append(b.exits, w)
			} else {
				b.finish(w.to(Point{column, meet}), lane.target, meet)
			}
		}
	}
}

// lanesOf returns the lanes, each as near to the series as the steps and the lanes beside its rows
// allow. Short ones come first.
func lanesOf(routes []route, meets map[*flow.Step]int, spans []span) []*lane {
	var lanes []*lane
	for _, r := range routes {
		meet := meets[r.target]
		isBack := meet < r.row
		i := slices.IndexFunc(lanes, func(l *lane) bool { return l.target == r.target && l.isBack == isBack })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, &lane{target: r.target, isBack: isBack, from: meet, to: meet})
		}
		lanes[i].routes = append(lanes[i].routes, r)
		lanes[i].from, lanes[i].to = min(lanes[i].from, r.row), max(lanes[i].to, r.row)
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int { return cmp.Compare(a.to-a.from, b.to-b.from) })
	for i, l := range lanes {
		for _, s := range spans {
			switch {
			case s.from > l.to || l.from > s.to:
			case l.isBack:
				l.column = max(l.column, s.left)
			default:
				l.column = max(l.column, s.right)
			}
		}
		for l.column += apart; slices.ContainsFunc(lanes[:i], l.isNear); {
			l.column++
		}
	}
	return lanes
}

// isNear reports whether two lanes would touch.
func (l *lane) isNear(other *lane) bool {
	distance := l.column - other.column
	return l.isBack == other.isBack && max(distance, -distance) < apart && l.from <= other.to && other.from <= l.to
}
