package machine

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// ErrDamaged says that a log item is not what [Encode] wrote.
var ErrDamaged = errors.New("machine: log item is damaged")

// Place is the item of a log that [Encode] writes and [Decode] reads.
func Place(execution ID, seq uint64) value.Origin {
	return value.Origin{Log: string(execution[:]), Seq: seq}
}

// Encode writes the state and the events that led to it from the state before.
// Values that both share are written once, and large ones that stand in an
// earlier item not at all. Large tells that one was written here: what is put
// in a later item must come from reading this one.
func Encode(place value.Origin, s State, events []Event) (item []byte, large bool) {
	e := &encoder{value.Encoder{Place: place}}
	e.Uint(Format)
	e.state(s)
	e.Uint(uint64(len(events)))
	at := s.At
	for _, event := range events {
		e.event(event, at)
		at = event.At
	}
	return sealed(e.Bytes()), e.WroteLarge()
}

// sealed appends the checksum, without which a flipped bit in a text or a
// number would go unnoticed.
func sealed(item []byte) []byte {
	return binary.LittleEndian.AppendUint32(item, crc32.Checksum(item, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const checksumSize = 4

// unsealed is what was given to sealed.
func unsealed(data []byte) (item []byte, ok bool) {
	size := len(data) - checksumSize
	if size < 0 {
		return nil, false
	}
	return data[:size], binary.LittleEndian.Uint32(data[size:]) == crc32.Checksum(data[:size], castagnoli)
}

// Decode reads what [Encode] wrote. Large values that stand in earlier items are
// held there; see [value.Lookup]. The error is a [*FormatError] or [ErrDamaged].
func Decode(place value.Origin, data []byte) (State, []Event, error) {
	d, s, err := open(place, data)
	if err != nil {
		return State{}, nil, err
	}
	events := d.events(s.At)
	if d.Err() != nil || d.strange || d.Rest() > 0 {
		return State{}, nil, ErrDamaged
	}
	return s, events, nil
}

// DecodeState is [Decode] without the events.
func DecodeState(place value.Origin, data []byte) (State, error) {
	_, s, err := open(place, data)
	return s, err
}

// DecodeValues gives the values of an item by their numbers, as references to
// them have it.
func DecodeValues(place value.Origin, data []byte) (numbered func(uint32) (value.Value, bool), err error) {
	d, s, err := open(place, data)
	if err != nil {
		return nil, err
	}
	if d.events(s.At); d.Err() != nil {
		return nil, ErrDamaged
	}
	return d.Numbered, nil
}

// open reads the state of an item.
func open(place value.Origin, data []byte) (*decoder, State, error) {
	// The format goes first: another one may have its checksum elsewhere.
	body, err := cutFormat(data)
	if err != nil {
		return nil, State{}, err
	}
	item, ok := unsealed(data)
	size := len(data) - len(body)
	if !ok || size > len(item) {
		return nil, State{}, ErrDamaged
	}
	d := &decoder{Decoder: *value.NewDecoderAt(place, item[size:])}
	s := d.state()
	if d.Err() != nil || d.strange {
		return nil, State{}, ErrDamaged
	}
	return d, s, nil
}

// statusCodes are the statuses by their stored numbers.
var statusCodes = []Status{StatusStarting, StatusRunning, StatusSucceeded, StatusFailed, StatusStopped, StatusTimedOut}

// StatusOf is the status in what [Encode] wrote. It reads no more than that,
// so it finds no damage behind it.
func StatusOf(data []byte) (Status, error) {
	body, err := cutFormat(data)
	if err != nil {
		return "", err
	}
	d := &decoder{Decoder: *value.NewDecoder(body)}
	status := d.status()
	if d.Err() != nil || d.strange {
		return "", ErrDamaged
	}
	return status, nil
}

// Head is what every item of an execution's log says of the execution.
type Head struct {
	Status    Status
	Flow      Flow
	Execution string
	Started   time.Time
	Expires   time.Time
}

// HeadOf is the head of what [Encode] wrote. It reads no more than that, so it
// finds no damage behind it.
func HeadOf(data []byte) (Head, error) {
	body, err := cutFormat(data)
	if err != nil {
		return Head{}, err
	}
	d := &decoder{Decoder: *value.NewDecoder(body)}
	h := Head{Status: d.status(), Flow: Flow{Name: d.Text(), Hash: d.Text()}, Execution: d.Text(), Started: d.Time(), Expires: d.Time()}
	if d.Err() != nil || d.strange {
		return Head{}, ErrDamaged
	}
	return h, nil
}

type encoder struct{ value.Encoder }

func (e *encoder) status(status Status) {
	e.Uint(uint64(max(slices.Index(statusCodes, status), 0)))
}

func (e *encoder) state(s State) {
	e.status(s.Status)
	e.Text(s.Flow.Name)
	e.Text(s.Flow.Hash)
	e.Text(s.Execution)
	e.Time(s.Started)
	e.Time(s.Expires)
	e.Time(s.At)
	e.Uint(uint64(s.Events)) //nolint:gosec // counts up from 0
	e.Value(s.Input)
	e.Uint(uint64(len(s.Scopes)))
	for _, scope := range s.Scopes {
		e.Uint(uint64(scope.Owner.Kind))
		e.Int(int64(scope.Owner.Step))
		e.Int(int64(scope.Owner.Branch))
		e.Value(scope.Input)
		e.Value(scope.Local)
	}
	e.waiting(s.Waiting)
	e.Text(s.Timer.Tag)
	e.Time(s.Timer.Due)
	e.ending(s.Ending)
	e.Value(s.Output)
	e.Text(s.Error)
	e.Text(s.Cause)
	e.Text(s.By)
	e.Uint(s.Generation)
	e.count(s.Polls)
}

func (e *encoder) count(n int) { e.Uint(uint64(n)) } //nolint:gosec // counts up from 0

func (e *encoder) ending(ending *Ending) {
	if ending == nil {
		e.Uint(0)
		return
	}
	e.Uint(1)
	e.status(ending.Status)
	e.Text(ending.Error)
	e.Text(ending.Cause)
	e.entry(ending.Entry)
}

func (e *encoder) entry(entry Entry) {
	e.Text(entry.By)
	e.Time(entry.Since)
	e.Uint(entry.Generation)
}

func (e *encoder) waiting(w *Waiting) {
	if w == nil {
		e.Uint(0)
		return
	}
	e.Uint(1 + uint64(w.For))
	e.Int(int64(w.Attempt.Step))
	e.Int(int64(w.Attempt.Number))
	e.Value(w.Input)
	e.Time(w.Due)
	e.entry(w.Entry)
	e.Time(w.Deadline)
	e.count(len(w.Retried))
	for _, retries := range w.Retried {
		e.count(retries)
	}
	e.count(w.Attempt.Poll)
	e.count(w.Polls)
	if w.For == WaitingForToken {
		e.Text(w.Token.Handle)
		e.Time(w.Token.Beat)
		e.Uint(uint64(w.Token.Phase))
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
)

func (event Event) flags() uint64 {
	return flag(hasInput, !event.Input.IsMissing()) | flag(hasLocal, !event.Local.IsMissing()) | flag(hasOutput, !event.Output.IsMissing()) |
		flag(hasError, event.Error != "" || event.Cause != "") | flag(hasUntil, !event.Until.IsZero()) |
		flag(hasCloser, event.ClosedBy != "") | flag(hasPolls, event.Polls > 0)
}

func flag(bit uint64, set bool) uint64 {
	if set {
		return bit
	}
	return 0
}

// event writes an event; before is the instant of the one before it.
func (e *encoder) event(event Event, before time.Time) {
	flags := event.flags()
	e.Uint(uint64(event.Type))
	e.Uint(flags)
	e.Int(int64(event.ID))
	e.Int(int64(event.ID - event.By))
	e.Int(int64(event.Step))
	e.Int(int64(event.At.Sub(before)))
	for _, v := range []value.Value{event.Input, event.Local, event.Output} {
		if !v.IsMissing() {
			e.Value(v)
		}
	}
	if flags&hasError != 0 {
		e.Text(event.Error)
		e.Text(event.Cause)
	}
	if flags&hasUntil != 0 {
		e.Time(event.Until)
	}
	if flags&hasCloser != 0 {
		e.Text(string(event.ClosedBy))
	}
	if flags&hasPolls != 0 {
		e.count(event.Polls)
	}
}

// decoder notes in strange that it met something that no encoder writes.
type decoder struct {
	value.Decoder
	strange bool
}

// number reads a count of things that happened.
func (d *decoder) number() int { return d.upTo(math.MaxInt32) }

// upTo reads a number that is not above most.
func (d *decoder) upTo(most int) int {
	u := d.Uint()
	if u > uint64(most) { //nolint:gosec // never negative
		d.strange = true
		return 0
	}
	return int(u) //nolint:gosec // not above an int
}

func (d *decoder) state() State {
	var s State
	s.Status = d.status()
	s.Flow = Flow{d.Text(), d.Text()}
	s.Execution = d.Text()
	s.Started, s.Expires, s.At = d.Time(), d.Time(), d.Time()
	s.Events = d.number()
	s.Input = d.Value()
	s.Scopes = d.scopes()
	s.Waiting = d.waiting()
	s.Timer = Timer{d.Text(), d.Time()}
	s.Ending = d.ending()
	s.Output = d.Value()
	s.Error, s.Cause, s.By, s.Generation = d.Text(), d.Text(), d.Text(), d.Uint()
	s.Polls = d.number()
	return s
}

func (d *decoder) scopes() []Scope {
	count := d.Count()
	if count == 0 {
		return nil
	}
	scopes := make([]Scope, count)
	for i := range scopes {
		if d.Err() != nil {
			return nil
		}
		scopes[i] = Scope{Owner{OwnerKind(d.upTo(int(OwnerCatch))), int(d.Int()), int(d.Int())}, d.Value(), d.Value()} //nolint:gosec // checked
	}
	return scopes
}

func (d *decoder) status() Status {
	return statusCodes[d.upTo(len(statusCodes)-1)]
}

func (d *decoder) ending() *Ending {
	if d.upTo(1) == 0 {
		return nil
	}
	return &Ending{Status: d.status(), Error: d.Text(), Cause: d.Text(), Entry: d.entry()}
}

func (d *decoder) entry() Entry {
	return Entry{By: d.Text(), Since: d.Time(), Generation: d.Uint()}
}

func (d *decoder) waiting() *Waiting {
	kind := d.upTo(1 + int(WaitingForRoom))
	if kind == 0 {
		return nil
	}
	w := &Waiting{
		For: WaitingFor(kind - 1), Attempt: Attempt{Step: int(d.Int()), Number: int(d.Int())}, Input: d.Value(), //nolint:gosec // checked
		Due: d.Time(), Entry: d.entry(), Deadline: d.Time(),
	}
	if policies := d.Count(); policies > 0 {
		w.Retried = make([]int, policies)
		for i := range w.Retried {
			w.Retried[i] = d.number()
		}
	}
	w.Attempt.Poll, w.Polls = d.number(), d.number()
	if w.For == WaitingForToken {
		w.Token = &TokenWait{Handle: d.Text(), Beat: d.Time(), Phase: TokenPhase(d.upTo(int(TokenSubmitted)))} //nolint:gosec // checked
	}
	return w
}

func (d *decoder) events(at time.Time) []Event {
	events := make([]Event, d.Count())
	for i := range events {
		if d.Err() != nil {
			return nil
		}
		events[i] = d.event(at)
		at = events[i].At
	}
	return events
}

func (d *decoder) event(before time.Time) Event {
	event := Event{Type: EventType(d.upTo(math.MaxUint8))} //nolint:gosec // checked
	flags := d.upTo(2*hasPolls - 1)
	event.ID = int(d.Int())
	event.By = event.ID - int(d.Int())
	event.Step = int(d.Int())
	event.At = before.Add(time.Duration(d.Int()))
	for flag, v := range []*value.Value{&event.Input, &event.Local, &event.Output} {
		if flags&(1<<flag) != 0 {
			*v = d.Value()
		}
	}
	if flags&hasError != 0 {
		event.Error, event.Cause = d.Text(), d.Text()
	}
	if flags&hasUntil != 0 {
		event.Until = d.Time()
	}
	if flags&hasCloser != 0 {
		event.ClosedBy = token.Closer(d.Text())
	}
	if flags&hasPolls != 0 {
		event.Polls = d.number()
	}
	return event
}
