package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"sort"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Position is a place in the history of an execution: for each of its logs, how far it was read.
// Events that lanes record later follow it, although events of other logs with greater ids were
// read before. The zero Position is the begin.
type Position struct {
	seq   uint64     // of the first item that was not read whole
	skip  int        // how many of its events were read
	ended bool       // all events of the log were read, there are no more
	lanes []Position // of the fork that the log waits for; nil if none was read
}

const (
	// maxFollowed is the maximum number of logs that a [Position] is in. Lanes beyond it are read
	// after others ended, so neither the position nor the reads of a page grow with nested forks.
	maxFollowed = 200
	// maxForks is the maximum number of forks of a position that is read: a few bytes make room for
	// the lanes of one.
	maxForks = 2 * maxFollowed
	// maxPageReads bounds the reads of a page. It exceeds maxFollowed, so that each page goes on.
	// It also exceeds the number of lanes without events between two events: the lanes of one fork
	// at each level. So a page of [Client.HistoryFrom] has events if there are any.
	maxPageReads = 2 * maxFollowed
	// itemsAtOnce is how many items are read at once.
	itemsAtOnce = 25
)

// HistoryPage is a part of a history.
type HistoryPage struct {
	// Events have the ids of the API and complete values. As for [Client.Describe], a text takes
	// the place of a value that cannot be read. The events of a fork's lanes follow the event that
	// entered the fork, lane by lane, as recorded when the page was read.
	Events []machine.Event
	// Next is the position after the events.
	Next Position
	// More reports that the page was full before all events were read.
	More bool
	// Ended reports that the execution has ended, and that Events has the last event.
	Ended bool
}

// History returns the history of an execution so far. The error has [CodeNotFound] if the execution
// does not exist.
func (c *Client) History(ctx context.Context, id ID) (events []machine.Event, err error) {
	page := HistoryPage{More: true}
	for page.More && err == nil {
		page, err = c.HistoryAfter(ctx, id, page.Next, func(machine.Event) bool { return false })
		events = append(events, page.Events...)
	}
	return events, err
}

// HistoryAfter returns the events after a position, until full reports that the page ends with an
// event.
func (c *Client) HistoryAfter(ctx context.Context, id ID, after Position, full func(machine.Event) bool) (HistoryPage, error) {
	h := historyReader{core: &c.core, loader: c.core.newValueLoader(), isFull: full, followed: after.logs()}
	next, err := h.read(ctx, id, after, machine.Numbering{}, nil)
	op := "read the history of execution " + id.String()
	switch {
	case err != nil:
		return HistoryPage{}, wrap(op, err)
	case next.seq+uint64(next.skip) == 0: //nolint:gosec // a number of events
		return HistoryPage{}, &Error{CodeNotFound, op, ErrNotFound}
	}
	return HistoryPage{Events: h.events, Next: next, More: h.full, Ended: next.ended}, nil
}

// logs counts the logs that the position is in.
func (p Position) logs() int {
	if p.ended || p.isBegin() {
		return 0
	}
	n := 1
	for _, lane := range p.lanes {
		n += lane.logs()
	}
	return n
}

// String returns the position as a text of a few bytes for each log that it is in.
func (p Position) String() string {
	var e value.Encoder
	p.encode(&e)
	return base64.RawURLEncoding.EncodeToString(e.Bytes())
}

// encode writes 0 and their number in place of lanes that ended, and leaves out the last ones if
// they were not read.
func (p Position) encode(e *value.Encoder) {
	e.Uint(p.seq + 1)
	e.Uint(uint64(p.skip)) //nolint:gosec // a number of events
	e.Uint(uint64(len(p.lanes)))
	if len(p.lanes) == 0 {
		return
	}
	lanes := p.lanes
	for len(lanes) > 0 && lanes[len(lanes)-1].isBegin() {
		lanes = lanes[:len(lanes)-1]
	}
	e.Uint(uint64(len(lanes)))
	for len(lanes) > 0 {
		ended := slices.IndexFunc(lanes, func(lane Position) bool { return !lane.ended })
		switch {
		case ended < 0:
			ended = len(lanes)
			fallthrough
		case ended > 0:
			e.Uint(0)
			e.Uint(uint64(ended))
			lanes = lanes[ended:]
		default:
			lanes[0].encode(e)
			lanes = lanes[1:]
		}
	}
}

func (p Position) isBegin() bool { return p.seq == 0 && p.skip == 0 && !p.ended }

// ParsePosition reads what [Position.String] wrote, and "" as the begin.
func ParsePosition(text string) (p Position, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return p, err
	}
	d := value.NewDecoder(data)
	forks := 0
	p.decode(d, d.Uint(), &forks)
	if forks > maxForks || d.Err() != nil || d.Rest() > 0 {
		return Position{}, errors.New("it is damaged")
	}
	return p, nil
}

// decode reads what encode wrote after its first number, and counts the forks.
func (p *Position) decode(d *value.Decoder, first uint64, forks *int) {
	p.seq, p.skip = first-1, int(d.Uint()) //nolint:gosec // as it was written
	count := min(d.Uint(), machine.MaxLanes)
	if count == 0 {
		return
	}
	if *forks++; *forks > maxForks {
		return
	}
	p.lanes = make([]Position, count)
	for i, end := 0, int(min(d.Uint(), count)); i < end && d.Err() == nil; i++ {
		first := d.Uint()
		if first > 0 {
			p.lanes[i].decode(d, first, forks)
			continue
		}
		for ended := d.Uint(); ended > 0 && i < end; ended-- {
			p.lanes[i].ended = true
			i++
		}
		i--
	}
}

// HistoryFrom returns the events from an id of the API on, which need not be the id of an event,
// until full reports that the page ends with an event. It reads no events before that.
func (c *Client) HistoryFrom(ctx context.Context, id ID, first int, full func(machine.Event) bool) (HistoryPage, error) {
	before, err := c.positionBefore(ctx, id, first)
	if err != nil {
		return HistoryPage{}, wrap("read the history of execution "+id.String(), err)
	}
	return c.HistoryAfter(ctx, id, before, full)
}

// positionBefore returns the position after all events with ids of the API less than id.
func (c *Client) positionBefore(ctx context.Context, execution ID, id int) (p Position, err error) {
	latest, err := c.core.Log.Latest(ctx, execution)
	if errors.Is(err, ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.seq = uint64(sort.Search(int(latest.Seq), func(seq int) bool { //nolint:gosec // a number of items
		var state machine.State
		if err == nil {
			state, _, err = c.core.decodeItem(ctx, execution, uint64(seq)) //nolint:gosec // from 0 on
		}
		return state.LastID() >= id
	}))
	if err != nil {
		return p, err
	}
	state, events, err := c.core.decodeItem(ctx, execution, p.seq)
	if err != nil {
		return p, err
	}
	last := state.LastID()
	if w := state.Waiting; w.Fork() != nil {
		last = w.Fork().FirstID
	}
	if p.skip = max(0, len(events)-(last-id+1)); p.skip >= len(events) {
		p.seq, p.skip = p.seq+1, 0
	} else if p.seq > 0 {
		state, _, err = c.core.decodeItem(ctx, execution, p.seq-1)
	}
	if w := state.Waiting; err == nil && p.seq > 0 && w.Fork() != nil {
		err = c.positionInLanes(ctx, &p, execution, w, id)
	}
	return p, err
}

// positionInLanes is [Client.positionBefore] for the lanes of a fork that was entered before.
func (c *Client) positionInLanes(ctx context.Context, p *Position, parent ID, w *machine.Waiting, id int) (err error) {
	p.lanes = make([]Position, w.Fork().Lanes)
	for i, lane := range lanesOf(parent, w.Attempt.Number, w.Fork().Lanes) {
		first := w.Fork().FirstID + i*w.Fork().Block + 1
		if p.lanes[i].ended = id >= first+w.Fork().Block; id > first && !p.lanes[i].ended {
			p.lanes[i], err = c.positionBefore(ctx, lane.ID(), id)
		}
	}
	return err
}

// decodeItem reads an item of a log that has it.
func (c *core) decodeItem(ctx context.Context, id ID, seq uint64) (machine.State, []machine.Event, error) {
	items, err := c.Log.Items(ctx, id, seq, 1)
	if err != nil || len(items) == 0 {
		return machine.State{}, nil, err
	}
	state, events, err := machine.Decode(items[0].origin(), items[0].Body)
	return state, events, decoded(items[0], err)
}

// historyReader reads a page.
type historyReader struct {
	*core
	loader   valueLoader
	isFull   func(machine.Event) bool
	full     bool
	reads    int
	followed int
	events   []machine.Event
}

// read reads the events of a log and of its lanes after a position, and returns the position after
// them. Numbering and around describe the log's first event. The item before the position says what
// its lanes are, and how the next events are numbered.
func (h *historyReader) read(ctx context.Context, id ID, p Position, numbering machine.Numbering, around []int) (Position, error) {
	r := logReader{historyReader: h, id: id, Position: p, numbering: numbering, before: machine.State{Around: around}}
	for begin := r.seq - min(r.seq, 1); !h.full && !r.ended; begin = r.seq {
		items, err := h.Log.Items(ctx, id, begin, itemsAtOnce)
		if err != nil {
			return p, err
		}
		h.reads++
		for _, item := range items {
			if err := r.readItem(ctx, item); err != nil || h.full || r.blocked {
				return r.Position, err
			}
		}
		if len(items) < itemsAtOnce {
			break
		}
	}
	return r.Position, nil
}

// logReader reads a log.
type logReader struct {
	*historyReader
	Position
	id        ID
	numbering machine.Numbering // of the next event
	before    machine.State     // the state before the next item
	blocked   bool              // lanes have not ended, and their events come first
}

// readItem reads the events of an item after the position, and the events of the lanes that it
// waits for.
func (r *logReader) readItem(ctx context.Context, item Item) error {
	state, events, err := machine.Decode(item.origin(), item.Body)
	if err != nil {
		return decoded(item, err)
	}
	if item.Seq >= r.seq {
		if err := r.add(ctx, item, events, state.Waiting.Fork()); err != nil || r.full {
			return err
		}
		r.seq, r.skip = item.Seq+1, 0
		if w := r.before.Waiting; w == nil || state.Waiting == nil || w.Attempt != state.Waiting.Attempt {
			r.lanes = nil
		}
	}
	r.before, r.numbering = state, state.Numbering()
	if w := state.Waiting; w.Fork() != nil {
		return r.readLanes(ctx, w)
	}
	r.ended = state.Status.Final()
	return nil
}

// add adds the events of an item that were not read, until the page is full. The last one may enter
// the fork.
func (r *logReader) add(ctx context.Context, item Item, events []machine.Event, fork *machine.ForkWait) error {
	for i, event := range machine.WithForkIndexes(r.before.ForkIndexes(), events) {
		numbered := r.numbering.Number(event)
		if i < r.skip {
			continue
		}
		if err := r.loader.show(ctx, &numbered.Input, &numbered.Local, &numbered.Output); err != nil {
			return err
		}
		if numbered.Log, numbered.Number = item.Execution, event.ID; event.Lanes > 0 && fork != nil {
			numbered.Items = fork.Items
		}
		r.events = append(r.events, numbered)
		r.skip = i + 1
		if r.full = r.isFull(numbered); r.full {
			break
		}
	}
	return nil
}

// readLanes reads the lanes of the fork that the log waits for.
func (r *logReader) readLanes(ctx context.Context, w *machine.Waiting) (err error) {
	if len(r.lanes) != w.Fork().Lanes { // another length is forged
		r.lanes = make([]Position, w.Fork().Lanes)
	}
	for i, lane := range lanesOf(r.id, w.Attempt.Number, w.Fork().Lanes) {
		p := &r.lanes[i]
		if r.full = r.full || r.reads >= maxPageReads; r.full {
			return nil
		}
		isNew := p.isBegin()
		if p.ended || isNew && r.followed >= maxFollowed {
			r.blocked = r.blocked || !p.ended
			continue
		}
		if *p, err = r.read(ctx, lane.ID(), *p, r.numbering.Lane(i), r.before.ForkIndexes()); err != nil {
			return err
		}
		switch {
		case isNew && !p.ended: // also if it has not begun
			r.followed++
		case !isNew && p.ended:
			r.followed--
		}
		r.blocked = r.blocked || !p.ended
	}
	return nil
}
