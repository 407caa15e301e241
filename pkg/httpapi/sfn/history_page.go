package sfn

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// known is an event of the engine that later events may follow. An event follows the one before it
// in its log, and the first event of a lane the event of its fork.
type known struct {
	id, end int // end is the last id of the lanes
	// shown is its id in the history, or the id of the event before it if the API has no type.
	shown int
	// evaluated is the id that an EvaluationFailed behind it follows, if evaluates.
	evaluated int
	evaluates bool
}

// checkpoint is a place from which a history can be rendered: the id of the engine's next event,
// the last id before it, and the events that it may follow.
type checkpoint struct {
	from, last int
	known      []known
}

// pageToken says where a page goes on: a hash of the history and its order, the first id that the
// page has, in reverse order the last one, and the checkpoints from which it may be rendered.
type pageToken struct {
	of, bound   int
	checkpoints []checkpoint
}

// maxCheckpoints bounds a token: the checkpoints of a history in reverse order.
const maxCheckpoints = 32

func (t pageToken) String() string {
	var e value.Encoder
	put := func(numbers ...int) {
		for _, n := range numbers {
			e.Int(int64(n))
		}
	}
	put(t.of, t.bound, len(t.checkpoints))
	for _, c := range t.checkpoints {
		put(c.from, c.last, len(c.known))
		for _, k := range c.known {
			evaluated := -1
			if k.evaluates {
				evaluated = k.evaluated
			}
			put(k.id, k.end-k.id, k.shown, evaluated)
		}
	}
	return base64.RawURLEncoding.EncodeToString(e.Bytes())
}

func parsePageToken(text string) (t pageToken, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, errPageToken
	}
	d := value.NewDecoder(data)
	next := func() int { return int(d.Int()) }
	t.of, t.bound = next(), next()
	for range min(next(), maxCheckpoints) {
		c := checkpoint{from: next(), last: next()}
		for range min(next(), flow.MaxForks+1) {
			k := known{id: next(), end: next(), shown: next(), evaluated: next()}
			k.end += k.id
			k.evaluates = k.evaluated >= 0
			c.known = append(c.known, k)
		}
		t.checkpoints = append(t.checkpoints, c)
	}
	if d.Err() != nil || d.Rest() > 0 || t.bound < 1 {
		return t, errPageToken
	}
	return t, nil
}

// resume goes on from a checkpoint.
func (h *history) resume(c checkpoint) {
	h.events, h.ids, h.sizes, h.size = []object{}, nil, nil, 0
	h.entered, h.last, h.known = nil, c.last, slices.Clone(c.known)
}

// executionHistory returns a page of the history.
func (h handler) executionHistory(ctx context.Context, r request) (object, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	token, of := pageToken{}, int(crc32.ChecksumIEEE(fmt.Appendf(nil, "%s %t", r.ExecutionArn, r.ReverseOrder)))
	if r.NextToken != "" {
		token, err = parsePageToken(r.NextToken)
		if err == nil && token.of != of {
			err = errPageToken
		}
		if err != nil {
			return nil, err
		}
	}
	id, state, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	flow, err := h.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return nil, err
	}
	collected := newHistory(flow, h.Region, r.IncludeExecutionData != nil && !*r.IncludeExecutionData, h.largestValue())
	collected.runs = h.arn("mapRun", state.Flow.Name)
	read := h.nextEvents
	if r.ReverseOrder {
		read = h.lastEvents
	}
	events, next, err := read(ctx, id, &collected, token, limit)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(events, func(a, b object) int { // the ids of a lane follow all ids of the lane before
		return cmp.Compare(a["timestamp"].(float64), b["timestamp"].(float64)) //nolint:forcetypeassert // of [seconds]
	})
	for _, e := range events {
		if started, ok := e["executionStartedEventDetails"].(object); ok {
			m, err := h.read(ctx, state.Flow.Name)
			if err != nil {
				return nil, err
			}
			started["roleArn"] = m.RoleArn
		}
	}
	if r.ReverseOrder {
		slices.Reverse(events)
	}
	response := object{"events": events}
	if next.of = of; next.bound > 0 {
		response["nextToken"] = next.String()
	}
	return response, nil
}

// historyFrom reads events from an id on, until full reports that the page ends with an event. It
// skips the children of Maps in mode DISTRIBUTED: there may be very many.
func (h handler) historyFrom(
	ctx context.Context, id engine.ID, first int, page *history, full func(machine.Event) bool,
) (read engine.HistoryPage, err error) {
	for isFull := false; first > 0 && !isFull && err == nil; {
		from := first
		first = 0
		read, err = h.Executions.HistoryFrom(ctx, id, from, func(e machine.Event) bool {
			isFull = full(e)
			if step := page.stepOf(e); e.Lanes > 0 && step.MapRun() != nil {
				first = e.ID + e.Lanes*e.Block + 1
			}
			return isFull || first > 0
		})
	}
	return read, err
}

// nextEvents returns events from an id on, and where the next page begins.
func (h handler) nextEvents(
	ctx context.Context, id engine.ID, page *history, token pageToken, limit int,
) (events []object, next pageToken, err error) {
	first := 1
	if len(token.checkpoints) > 0 {
		page.resume(token.checkpoints[0])
		first = token.checkpoints[0].from
	}
	read, err := h.historyFrom(ctx, id, first, page, func(e machine.Event) bool {
		page.add(e)
		for len(page.ids) > 0 && page.ids[0] < token.bound { // is on the page before
			page.size -= page.sizes[0]
			page.events, page.ids, page.sizes = page.events[1:], page.ids[1:], page.sizes[1:]
		}
		return len(page.ids) >= limit || page.size >= h.fullPage()
	})
	if more := len(page.ids) > limit; more || read.More {
		page.ids, page.events = page.ids[:min(limit, len(page.ids))], page.events[:min(limit, len(page.ids))]
		next.bound, next.checkpoints = page.ids[len(page.ids)-1]+1, []checkpoint{page.from}
	}
	return page.events, next, err
}

// lastEvents returns the events up to an id, and where the page before them ends. The first page
// reads the whole history, and leaves checkpoints for the pages after it.
func (h handler) lastEvents(
	ctx context.Context, id engine.ID, page *history, token pageToken, limit int,
) (events []object, next pageToken, err error) {
	begins, checkpoints, most := checkpoint{from: 1}, token.checkpoints, math.MaxInt
	if token.bound > 0 {
		most = token.bound
	}
	if n := len(checkpoints); n > 0 {
		begins = checkpoints[n-1]
	}
	page.resume(begins)
	count, spacing := 0, limit
	_, err = h.historyFrom(ctx, id, begins.from, page, func(e machine.Event) bool {
		page.add(e)
		if count++; most == math.MaxInt && count%spacing == 0 {
			if checkpoints = append(checkpoints, page.from); len(checkpoints) > maxCheckpoints {
				spacing *= 2
				for i := range len(checkpoints) / 2 {
					checkpoints[i] = checkpoints[2*i+1]
				}
				checkpoints = checkpoints[:len(checkpoints)/2]
			}
		}
		return len(page.ids) > 0 && page.ids[len(page.ids)-1] >= most
	})
	end, found := slices.BinarySearch(page.ids, most)
	if found {
		end++
	}
	begin := end
	for size := 0; begin > 0 && end-begin < limit && size < h.fullPage(); begin-- {
		size += page.sizes[begin-1]
	}
	if begin > 0 || begins.last > 0 {
		next.bound = begins.last
		if begin > 0 {
			next.bound = page.ids[begin-1]
		}
		next.checkpoints = slices.DeleteFunc(checkpoints, func(c checkpoint) bool { return c.last >= next.bound })
	}
	return page.events[begin:end], next, err
}
