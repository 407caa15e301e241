package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// mostLanesRead is the most lanes of an execution that are read to find out whether it is overdue.
// It is enough for a fork and for another fork in its first lane.
const mostLanesRead = 2 * machine.MaxLanes

// otherLanes is the time after which a reader that cannot read all lanes begins with another lane.
const otherLanes = 15 * time.Minute

// due finds the earliest instant at which an execution continues without a signal from outside, or
// reaches its time limit. It also reads the lanes.
type due struct {
	*core
	now   time.Time
	at    time.Time // the earliest of all, zero for none
	lanes []machine.State
	left  int // how many lanes may be read
}

// dueAt reads when an execution or lane is due.
func (c *core) dueAt(ctx context.Context, s machine.State, now time.Time) (due, error) {
	d := due{core: c, now: now, left: mostLanesRead}
	err := d.add(ctx, s)
	if err == nil && !s.Status.Final() {
		err = d.addTimeLimit(ctx, s)
	}
	return d, err
}

// overdue returns the time since the instant; 0 if it is in the future.
func (d *due) overdue() time.Duration {
	if d.at.IsZero() {
		return 0
	}
	return max(0, d.now.Sub(d.at))
}

func (d *due) earlier(at time.Time) {
	if d.at.IsZero() || at.Before(d.at) {
		d.at = at
	}
}

// dead adds the instant at which a worker is certainly dead that had something to do at the instant
// since.
func (d *due) dead(since time.Time) { d.earlier(since.Add(defaultWorkerDeadAfter)) }

// add adds the instants of an execution or lane, and of all that it waits for.
func (d *due) add(ctx context.Context, s machine.State) error {
	if s.Status.Final() {
		return nil
	}
	if s.Timer.Tag != "" && s.Status != machine.StatusStarting {
		d.earlier(s.Timer.Due)
	}
	if s.Status == machine.StatusStarting {
		d.dead(later(s.Started, s.Timer.Due))
	}
	entered, pending := pendingEntry(s)
	switch w := s.Waiting; {
	case s.Ending != nil:
		d.dead(s.Ending.Since)
	case s.StopsLanes(), pending && slices.Contains(Needs(s), "submit"):
		d.dead(entered.Since)
	case w.Fork() != nil:
		return d.addLanes(ctx, s.ID(), w)
	case w.Child() != nil:
		return d.addChild(ctx, w.Child().ID())
	}
	return nil
}

// addChild adds the latest instant at which a sub-flow that ended reports that.
func (d *due) addChild(ctx context.Context, id ID) error {
	child, err := d.latestState(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), CodeOf(err) == CodeDefect, CodeOf(err) == CodeTooNew:
		return nil
	case err == nil && child.Status.Final():
		d.dead(child.At)
	}
	return err
}

// addLanes adds the instants of the lanes of a fork. The fork continues when all lanes have ended
// or one has failed.
func (d *due) addLanes(ctx context.Context, id ID, w *machine.Waiting) error {
	lanes, ended, last := lanesOf(id, w.Attempt.Number, w.Fork().Lanes), 0, w.Since
	first := int(d.now.Unix()/int64(otherLanes.Seconds())) % len(lanes)
	for _, lane := range slices.Concat(lanes[first:], lanes[:first]) {
		if d.left == 0 {
			return nil
		}
		d.left--
		s, err := d.latestState(ctx, lane.ID())
		switch {
		case errors.Is(err, ErrNotFound), CodeOf(err) == CodeDefect: // the wake that begins or ends it is lost
			d.dead(w.Since)
		case CodeOf(err) == CodeTooNew: // for a worker of that release
		case err != nil:
			return err
		case !s.Status.Final():
			d.lanes = append(d.lanes, s)
			if err := d.add(ctx, s); err != nil {
				return err
			}
		default:
			ended++
			if last = later(last, s.At); s.Status == machine.StatusFailed {
				d.dead(s.At)
			}
		}
	}
	if ended == len(lanes) {
		d.dead(last)
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// addTimeLimit adds the time limit of an execution. A lane has none of its own (rule 23).
func (d *due) addTimeLimit(ctx context.Context, s machine.State) error {
	if s.Lane != nil || d.now.Before(d.Limits.EndsAt(s, nil)) {
		return nil
	}
	flow, err := d.Flows.Flow(ctx, s.Flow)
	if errors.Is(err, ErrNotFound) || CodeOf(err) == CodeInvalid { // any wake ends the execution (rule 13)
		flow, err = nil, nil
	}
	d.earlier(d.Limits.EndsAt(s, flow))
	return err
}

// latestState returns the state in the latest item of a log.
func (c *core) latestState(ctx context.Context, id ID) (machine.State, error) {
	item, err := c.Log.Latest(ctx, id)
	if err != nil {
		return machine.State{}, err
	}
	return decodeState(item)
}
