package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Format is the newest format number that [Encode] writes and [Decode] reads. It writes format 1
// unless a state has something that release 0.1.0 does not know.
const Format = 2

// formatOfShares is the first format with lanes that claim their items, and with forks that close.
const formatOfShares = 2

// format returns the oldest format that has all of the state.
func (s *State) format() uint64 {
	fork := s.Waiting.Fork()
	if s.Share != nil || s.Results != nil || s.Tolerance != nil || fork != nil && (fork.First > 0 || fork.Tolerated > 0 || fork.Closing != nil) {
		return formatOfShares
	}
	return 1
}

// ErrDamaged reports that a log item is not what [Encode] wrote.
var ErrDamaged = errors.New("machine: log item is damaged")

// FormatError reports that a log item has a format that this release does not read. Nothing may be
// concluded from such an item.
type FormatError struct{ Found uint64 }

func (e *FormatError) Error() string {
	return fmt.Sprintf("machine: log item has format %d and this release reads formats up to %d; upgrade waitless", e.Found, Format)
}

// NeedsNewerRelease reports whether only a newer release reads an item.
func NeedsNewerRelease(err error) bool {
	_, ok := errors.AsType[*FormatError](err)
	return ok
}

// ItemOrigin is the item of a log that [Encode] writes and [Decode] reads.
func ItemOrigin(execution ID, seq uint64) value.Origin {
	return value.Origin{Log: string(execution[:]), Seq: seq}
}

// Encode writes the state and the events that led to it from the state before. A value that both
// share is written once, and a large value that stands in an earlier item is written as a
// reference. Large reports that a large value was written in full: later items must get it by
// reading this one.
func Encode(origin value.Origin, s State, events []Event) (item []byte, large bool) {
	return EncodeWith(&value.Encoder{Origin: origin}, s, events)
}

// EncodeWith is [Encode] with an encoder that has the origin and has written nothing. If it keeps
// the largest values apart from the item, their parts must be stored before the item.
func EncodeWith(enc *value.Encoder, s State, events []Event) (item []byte, large bool) {
	c := &coder{enc: enc, format: s.format()}
	enc.Uint(c.format)
	c.state(&s)
	c.events(&events, s.At)
	return sealed(enc.Bytes()), enc.WroteLarge()
}

// sealed returns the item with a checksum, without which a flipped bit in a text or a number would
// go unnoticed.
func sealed(item []byte) []byte {
	s := append(make([]byte, 0, len(item)+checksumSize), item...)
	return binary.LittleEndian.AppendUint32(s, crc32.Checksum(item, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const checksumSize = 4

// unsealed returns what sealed was given.
func unsealed(data []byte) (item []byte, ok bool) {
	size := len(data) - checksumSize
	if size < 0 {
		return nil, false
	}
	return data[:size], binary.LittleEndian.Uint32(data[size:]) == crc32.Checksum(data[:size], castagnoli)
}

// Decode reads what [Encode] wrote. Large values that stand in earlier items are references, see
// [value.Lookup]. The error is a [*FormatError] or [ErrDamaged].
func Decode(origin value.Origin, data []byte) (State, []Event, error) {
	c, s, err := open(origin, data)
	if err != nil {
		return State{}, nil, err
	}
	var events []Event
	if c.events(&events, s.At); c.damaged() || c.dec.Rest() > 0 {
		return State{}, nil, ErrDamaged
	}
	return s, events, nil
}

// DecodeState is [Decode] without the events.
func DecodeState(origin value.Origin, data []byte) (State, error) {
	_, s, err := open(origin, data)
	return s, err
}

// DecodeValues returns the state of an item, and its values by the numbers that references to them
// have.
func DecodeValues(origin value.Origin, data []byte) (s State, numbered func(uint32) (value.Value, bool), err error) {
	c, s, err := open(origin, data)
	if err != nil {
		return State{}, nil, err
	}
	var events []Event
	if c.events(&events, s.At); c.dec.Err() != nil {
		return State{}, nil, ErrDamaged
	}
	return s, c.dec.Numbered, nil
}

// open reads the state of an item. The format is checked first, because another one may have its
// checksum elsewhere.
func open(origin value.Origin, data []byte) (*coder, State, error) {
	format, size, err := formatOf(data)
	if err != nil {
		return nil, State{}, err
	}
	item, ok := unsealed(data)
	if !ok || size > len(item) {
		return nil, State{}, ErrDamaged
	}
	c := &coder{dec: value.NewDecoderAt(origin, item[size:]), format: format}
	var s State
	if c.state(&s); c.damaged() {
		return nil, State{}, ErrDamaged
	}
	return c, s, nil
}

// formatOf checks the format and returns it and the number of its bytes.
func formatOf(item []byte) (format uint64, size int, err error) {
	format, size = binary.Uvarint(item)
	switch {
	case size <= 0:
		return 0, 0, ErrDamaged
	case format == 0 || format > Format:
		return 0, 0, &FormatError{format}
	}
	return format, size, nil
}

// StatusOf returns the head of what [Encode] wrote with no more than Status, Lane and Notified. It
// reads no more than those, so it finds no damage behind them.
func StatusOf(data []byte) (Head, error) { return decodeHead(data, false) }

// Head is what every item of a log has of the execution.
type Head struct {
	Status    Status
	Lane      bool // the log is that of a lane
	Notified  bool // the execution reports its end
	Flow      FlowRef
	Execution string
	Started   time.Time
	Expires   time.Time
}

// HeadOf returns the head of what [Encode] wrote. It reads no more than that, so it finds no damage
// behind it.
func HeadOf(data []byte) (Head, error) { return decodeHead(data, true) }

func decodeHead(data []byte, whole bool) (Head, error) {
	_, size, err := formatOf(data)
	if err != nil {
		return Head{}, err
	}
	var h Head
	c := &coder{dec: value.NewDecoder(data[size:])}
	if whole {
		c.head(&h)
	} else {
		c.status(&h)
	}
	if c.damaged() {
		return Head{}, ErrDamaged
	}
	return h, nil
}

// EndedAt returns the instant of the item that ended an execution. It reads no more than that, so
// it finds no damage behind it.
func EndedAt(data []byte) (time.Time, error) {
	_, size, err := formatOf(data)
	if err != nil {
		return time.Time{}, err
	}
	c := &coder{dec: value.NewDecoder(data[size:])}
	var h Head
	var s State
	c.head(&h)
	c.parents(&s)
	c.time(&s.At)
	if h.Lane || !h.Status.Final() || c.damaged() {
		return time.Time{}, ErrDamaged
	}
	return s.At, nil
}

// OwnersOf returns a state with the lane that owns the item's log, or with the parent of a sub-flow
// and the execution's Notify, as far as the item has them. It reads nothing else, so it finds no
// damage behind them.
func OwnersOf(log ID, data []byte) (owners State, ok bool) {
	_, size, err := formatOf(data)
	if err != nil {
		return State{}, false
	}
	c := &coder{dec: value.NewDecoder(data[size:])}
	var h Head
	var s State
	if c.head(&h); h.Lane {
		c.lane(&s.Lane)
	} else {
		c.parents(&s)
	}
	if s.Flow, s.Execution = h.Flow, h.Execution; c.damaged() || s.ID() != log {
		return State{}, false
	}
	return State{Lane: s.Lane, Parent: s.Parent, Notify: s.Notify}, true
}

// coder encodes or decodes: one description of the format serves both. An encoding coder changes
// nothing that it is given, and a decoding one fills it.
type coder struct {
	enc     *value.Encoder // nil to decode
	dec     *value.Decoder
	format  uint64
	strange bool // the decoder met a value that no encoder writes
	forked  bool // ids are reserved
	child   bool // the execution is a sub-flow
	told    bool // the execution reports its end
	redrive bool // the execution goes on where another one ended
	failed  bool // a step failed the execution
	traced  bool // the execution has a trace context
	sampled bool // which is sampled
}

func (c *coder) damaged() bool { return c.dec.Err() != nil || c.strange }

func (c *coder) text(s *string) {
	if c.enc != nil {
		c.enc.Text(*s)
		return
	}
	*s = c.dec.Text()
}

func (c *coder) time(t *time.Time) {
	if c.enc != nil {
		c.enc.Time(*t)
		return
	}
	*t = c.dec.Time()
}

func (c *coder) value(v *value.Value) {
	if c.enc != nil {
		c.enc.Value(*v)
		return
	}
	*v = c.dec.Value()
}

// signed codes a number that may be negative.
func signed[T int | time.Duration](c *coder, i *T) {
	if c.enc != nil {
		c.enc.Int(int64(*i))
		return
	}
	*i = T(c.dec.Int())
}

// number codes a number from 0 to most.
func number[T int | uint64 | ~uint8](c *coder, n *T, most T) {
	if c.enc != nil {
		c.enc.Uint(uint64(*n))
		return
	}
	u := c.dec.Uint()
	if u > uint64(most) {
		c.strange, u = true, 0
	}
	*n = T(u)
}

func (c *coder) count(n *int) { number(c, n, math.MaxInt32) }

// length codes the length of a list and makes the list to decode into, nil if it is empty.
func length[T any](c *coder, list *[]T) {
	if c.enc != nil {
		c.enc.Uint(uint64(len(*list)))
		return
	}
	if n := c.dec.Count(); n > 0 {
		*list = make([]T, n)
	}
}

// optional codes whether there is a value, makes it to decode into, and reports whether there is
// one.
func optional[T any](c *coder, p **T) bool {
	var is uint8
	if *p != nil {
		is = 1
	}
	if number(c, &is, 1); is == 1 && *p == nil {
		*p = new(T)
	}
	return is == 1
}

// status codes the status, and whether the log is a lane's, whether ids are reserved, whether the
// execution is a sub-flow, whether it reports its end, whether it was redriven, whether a step
// failed it and whether it is traced, so that other logs are not larger.
func (c *coder) status(h *Head) {
	code := max(slices.Index(Statuses, h.Status), 0)
	if h.Lane {
		code += len(Statuses)
	}
	if c.forked {
		code += 2 * len(Statuses)
	}
	if c.child {
		code += 4 * len(Statuses)
	}
	if h.Notified {
		code += 8 * len(Statuses)
	}
	if c.redrive {
		code += 16 * len(Statuses)
	}
	if c.failed {
		code += 32 * len(Statuses)
	}
	if c.traced {
		code += 64 * len(Statuses)
	}
	number(c, &code, 128*len(Statuses)-1)
	h.Status = Statuses[code%len(Statuses)]
	flags := code / len(Statuses)
	h.Lane, c.forked, c.child, h.Notified = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	c.told, c.redrive, c.failed, c.traced = h.Notified, flags&16 != 0, flags&32 != 0, flags&64 != 0
}

func (c *coder) statusText(s *Status) {
	code := max(slices.Index(Statuses, *s), 0)
	number(c, &code, len(Statuses)-1)
	*s = Statuses[code]
}

func (c *coder) head(h *Head) {
	c.status(h)
	c.text(&h.Flow.Name)
	c.text(&h.Flow.Hash)
	c.text(&h.Execution)
	c.time(&h.Started)
	c.time(&h.Expires)
}

func (c *coder) state(s *State) {
	h := Head{s.Status, s.Lane != nil, s.Notify.Target != "", s.Flow, s.Execution, s.Started, s.Expires}
	c.forked, c.child, c.redrive, c.failed, c.traced = s.Reserved > 0, s.Parent != nil, s.Redriven != nil, s.FailedStep != "", s.Trace != nil
	c.head(&h)
	s.Status, s.Flow, s.Execution, s.Started, s.Expires = h.Status, h.Flow, h.Execution, h.Started, h.Expires
	c.setExpires(h.Expires)
	if h.Lane {
		c.lane(&s.Lane)
		number(c, &s.FirstID, math.MaxInt)
		length(c, &s.Around)
		for i := range s.Around {
			c.count(&s.Around[i])
		}
		if c.format >= formatOfShares && optional(c, &s.Share) {
			c.share(s.Share)
		}
		if c.format >= formatOfShares && optional(c, &s.Tolerance) {
			for _, n := range []*int{&s.Tolerance.Items, &s.Tolerance.Most, &s.Tolerance.Failed, &s.Tolerance.Last} {
				c.count(n)
			}
		}
	}
	c.parents(s)
	c.time(&s.At)
	c.count(&s.Events)
	c.value(&s.Input)
	c.series(&s.Series)
	c.waiting(&s.Waiting)
	c.text(&s.Timer.Tag)
	c.time(&s.Timer.Due)
	if optional(c, &s.Ending) {
		c.ending(s.Ending)
	}
	c.value(&s.Output)
	c.text(&s.Error)
	c.text(&s.Cause)
	c.text(&s.By)
	c.generation(s)
	c.count(&s.Polls)
	if c.failed {
		c.text(&s.FailedStep)
	}
	if c.format >= formatOfShares && optional(c, &s.Results) {
		c.count(&s.Results.Step)
		c.value(&s.Results.Done)
		c.value(&s.Results.Outputs)
	}
}

// setExpires lets values of other logs of the execution be references: all logs of an execution
// expire together.
func (c *coder) setExpires(expires time.Time) {
	switch {
	case expires.IsZero(): // not known
	case c.enc != nil:
		c.enc.Origin.Expires = expires.UnixNano()
	default:
		c.dec.SetExpires(expires.UnixNano())
	}
}

func (c *coder) lane(lane **Lane) {
	if c.enc == nil {
		*lane = &Lane{}
	}
	l := *lane
	c.id(&l.Parent)
	c.count(&l.Attempt)
	c.count(&l.Index)
	c.count(&l.Count)
}

// share codes each range by its distance from the one before, which is never negative.
func (c *coder) share(s *Share) {
	c.count(&s.Items)
	length(c, &s.Ranges)
	c.strange = c.strange || len(s.Ranges) == 0
	end := 0
	for i := range s.Ranges {
		r := s.Ranges[i]
		gap, size := r.From-end, r.Len()
		c.count(&gap)
		c.count(&size)
		if c.enc == nil {
			s.Ranges[i] = Range{end + gap, end + gap + size}
		}
		end = s.Ranges[i].To
	}
	c.time(&s.Since)
	c.flag(&s.Retired)
}

func (c *coder) flag(is *bool) {
	code := 0
	if *is {
		code = 1
	}
	if number(c, &code, 1); c.enc == nil {
		*is = code == 1
	}
}

func (c *coder) id(id *ID) {
	text := string(id[:])
	c.text(&text)
	if len(text) != len(id) {
		c.strange = true
	} else if c.enc == nil {
		*id = ID([]byte(text))
	}
}

func (c *coder) parents(s *State) {
	if c.forked {
		number(c, &s.Reserved, math.MaxInt)
	}
	if c.child {
		c.parent(&s.Parent)
	}
	if c.told {
		c.notify(&s.Notify)
	}
	if c.redrive {
		c.redriven(&s.Redriven)
	}
	if c.traced {
		c.trace(&s.Trace)
	}
	c.sampled = s.Trace.Sampled()
}

func (c *coder) redriven(redriven **Redriven) {
	if c.enc == nil {
		*redriven = &Redriven{}
	}
	c.text(&(*redriven).From)
	c.count(&(*redriven).Count)
	c.text(&(*redriven).Step)
}

func (c *coder) notify(n *Notify) {
	c.text(&n.Target)
	c.flag(&n.Waits)
	c.strange = c.strange || n.Target == ""
}

func (c *coder) parent(parent **Parent) {
	if c.enc == nil {
		*parent = &Parent{}
	}
	p := *parent
	c.id(&p.Log)
	c.text(&p.Key)
	c.text(&p.Handle)
	c.count(&p.Depth)
}

// generation codes the number of the process that ended the execution. Until then that is 0, and
// the number holds the root and the generation of a descendant: release 0.1.0 reads and keeps it,
// and compares [Parent] as a whole.
func (c *coder) generation(s *State) {
	descends := s.Parent != nil && !s.Status.Final()
	code := s.Generation
	if descends && s.Parent.Generation > 0 {
		root := binary.BigEndian.Uint64(s.Parent.Root[:8])
		code = root>>8<<8 | uint64(min(s.Parent.Generation, math.MaxUint8))
	}
	number(c, &code, math.MaxUint64)
	if c.enc != nil {
		return
	}
	if s.Generation = code; descends && code > 0 {
		s.Parent.Generation, s.Generation = int(code&math.MaxUint8), 0
		binary.BigEndian.PutUint64(s.Parent.Root[:8], code>>8<<8)
	}
}

func (c *coder) series(series *[]Series) {
	length(c, series)
	for i := range *series {
		one := &(*series)[i]
		number(c, &one.Owner.Kind, OwnerItem)
		signed(c, &one.Owner.Step)
		signed(c, &one.Owner.Branch)
		c.value(&one.Input)
		c.value(&one.Local)
		if one.Owner.Kind == OwnerFork || one.Owner.Kind == OwnerItem {
			c.count(&one.Entered)
			if c.sampled {
				c.time(&one.Since)
			}
		}
	}
}

func (c *coder) ending(ending *Ending) {
	c.statusText(&ending.Status)
	c.text(&ending.Error)
	c.text(&ending.Cause)
	c.entry(&ending.Entry)
}

func (c *coder) entry(entry *Entry) {
	c.text(&entry.By)
	c.time(&entry.Since)
	number(c, &entry.Generation, math.MaxUint64)
}

func (c *coder) waiting(waiting **Waiting) {
	if !optional(c, waiting) {
		return
	}
	w := *waiting
	code := c.waitingFor(w)
	signed(c, &w.Attempt.Step)
	signed(c, &w.Attempt.Number)
	c.count(&w.Attempt.Poll)
	c.value(&w.Input)
	c.time(&w.Due)
	c.entry(&w.Entry)
	c.time(&w.Deadline)
	length(c, &w.Retried)
	for i := range w.Retried {
		c.count(&w.Retried[i])
	}
	c.count(&w.Polls)
	token := w.Token()
	if optional(c, &token) != (w.Token() != nil) {
		c.strange = true
		return
	}
	if token != nil {
		c.text(&token.Handle)
		c.time(&token.Beat)
		number(c, &token.Phase, TokenSubmitted)
	}
	if code == waitingForChild {
		c.text(&token.Child.Flow)
		c.text(&token.Child.Execution)
	}
	if fork := w.Fork(); fork != nil {
		c.count(&fork.Lanes)
		number(c, &fork.FirstID, math.MaxInt)
		number(c, &fork.Block, math.MaxInt)
		if code != waitingForLanes {
			c.count(&fork.Items)
			c.strange = c.strange || fork.Items == 0 && code != waitingForStops
		}
		if code >= waitingForShares {
			c.count(&fork.First)
			c.strange = c.strange || fork.First == 0 && code == waitingForShares
		}
		if code >= waitingForStops {
			c.count(&fork.Tolerated)
			c.strange = c.strange || fork.Tolerated == 0 && code == waitingForTolerated
		}
		if code == waitingForStops {
			c.text(&fork.Closing.Error)
			c.text(&fork.Closing.Cause)
		}
	}
	if c.sampled {
		c.time(&w.Began)
	}
}

// The numbers in the place of a [SimpleWait] for other waits. Items of earlier releases do not have
// the number of a fork's items.
const (
	waitingForToken     = 3
	waitingForLanes     = 7
	waitingForChild     = 8  // a token that the end of a sub-flow closes
	waitingForParts     = 9  // lanes, with the number of items
	waitingForShares    = 11 // lanes that claim their items
	waitingForStops     = 12 // lanes that are being stopped because one failed
	waitingForTolerated = 14 // lanes of which some items may fail
)

// waitingFor codes the wait of the step, and makes the value to decode into.
func (c *coder) waitingFor(w *Waiting) (code uint8) {
	switch wait := w.For.(type) {
	case SimpleWait:
		code = uint8(wait)
	case *TokenWait:
		code = waitingForToken
		if wait.Child != nil {
			code = waitingForChild
		}
	case *ForkWait:
		code = waitingForLanes
		if wait.Items > 0 {
			code = waitingForParts
		}
		if wait.First > 0 {
			code = waitingForShares
		}
		if wait.Tolerated > 0 {
			code = waitingForTolerated
		}
		if wait.Closing != nil {
			code = waitingForStops
		}
	}
	most := uint8(waitingForParts)
	if c.format >= formatOfShares {
		most = waitingForTolerated
	}
	number(c, &code, most)
	if c.enc != nil {
		return code
	}
	switch w.For = SimpleWait(code); code {
	case waitingForToken:
		w.For = &TokenWait{}
	case waitingForChild:
		w.For = &TokenWait{Child: &ExecutionRef{}}
	case waitingForLanes, waitingForParts, waitingForShares, waitingForTolerated:
		w.For = &ForkWait{}
	case waitingForStops:
		w.For = &ForkWait{Closing: &token.Outcome{}}
	}
	return code
}

func (c *coder) events(events *[]Event, at time.Time) {
	length(c, events)
	for i := range *events {
		event := (*events)[i] // a copy: an encoder changes nothing
		c.event(&event, at)
		if c.enc == nil {
			(*events)[i] = event
		}
		at = event.At
	}
}

// The flags of an event: which of its parts follow.
const (
	hasInput = 1 << iota
	hasLocal
	hasOutput
	hasError
	hasUntil
	hasCloser
	hasPolls
	hasLanes
)

func (e *Event) flags() int {
	flags := 0
	for i, has := range []bool{
		!e.Input.IsMissing(), !e.Local.IsMissing(), !e.Output.IsMissing(), e.Error != "" || e.Cause != "", !e.Until.IsZero(), e.ClosedBy != "", e.Polls > 0,
		e.Lanes > 0,
	} {
		if has {
			flags |= 1 << i
		}
	}
	return flags
}

// event codes an event; before is the instant of the event before it.
func (c *coder) event(e *Event, before time.Time) {
	flags, back, later := e.flags(), e.ID-e.By, e.At.Sub(before)
	number(c, &e.Type, math.MaxUint8)
	number(c, &flags, 2*hasLanes-1)
	signed(c, &e.ID)
	signed(c, &back)
	signed(c, &e.Step)
	signed(c, &later)
	e.By, e.At = e.ID-back, before.Add(later)
	for flag, v := range []*value.Value{&e.Input, &e.Local, &e.Output} {
		if flags&(1<<flag) != 0 {
			c.value(v)
		}
	}
	if flags&hasError != 0 {
		c.text(&e.Error)
		c.text(&e.Cause)
	}
	if flags&hasUntil != 0 {
		c.time(&e.Until)
	}
	if flags&hasCloser != 0 {
		c.text((*string)(&e.ClosedBy))
	}
	if flags&hasPolls != 0 {
		c.count(&e.Polls)
	}
	if flags&hasLanes != 0 {
		c.count(&e.Lanes)
		number(c, &e.Block, math.MaxInt)
	}
	if e.Type.ofItem() {
		c.count(&e.Index)
	}
}
