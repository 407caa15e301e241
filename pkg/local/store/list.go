package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// placeSize is the size of a place in the list: the instant of the start, latest first, and the
// execution.
const placeSize = 8 + idSize

// A list is a part of the list of executions: the executions of one flow or of all flows, with one
// status or with any. Its keys are the status and the flow, both empty for all, then the place.
//
// Each execution is in two lists that never change, for all executions and for its flow, and in the
// list for its flow and status. The list of a status consists of the lists of all flows in turn: it
// costs no write, and a search in each flow.
type list struct {
	flow   string
	status machine.Status
}

func (l list) prefix() []byte { return l.key(nil) }

// key returns the key of a place in the list.
func (l list) key(place []byte) []byte {
	const lengths = 2 * binary.MaxVarintLen16
	key := append(make([]byte, 0, 1+lengths+len(l.status)+len(l.flow)+len(place)), keyList)
	return append(appendText(appendText(key, string(l.status)), l.flow), place...)
}

func listOfStatus(status machine.Status) []byte { return appendText([]byte{keyList}, string(status)) }

// runningKeys begins the keys of executions that have not ended.
var runningKeys = listOfStatus(machine.StatusRunning)

// runningEntry returns the entry of an execution in the list of unfinished executions. Its value is
// the rest, empty for none: it only tells what to handle first, so it is not written when the rest
// is over.
func (s *Keyed) runningEntry(item engine.Item) Entry {
	head := s.headOf(item)
	entry := list{head.Flow.Name, machine.StatusRunning}.add(placeOf(item.Execution, head.Started))
	if item.Rest != 0 {
		entry.Value = binary.BigEndian.AppendUint64(nil, uint64(item.Rest)) //nolint:gosec // as it is read
	}
	return entry
}

// noteRunning repeats committed changes of the list of executions that have not ended in memory.
func (s *Keyed) noteRunning(changes []Entry) {
	if s.running == s.db {
		return
	}
	for _, change := range changes[1:] { // the first one is of the item
		if bytes.HasPrefix(change.Key, runningKeys) {
			_ = s.running.Commit(nil, change) // memory does not fail
		}
	}
}

// appendText appends a text and its length, as the encoder of values does.
func appendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

func placeOf(execution engine.ID, started time.Time) []byte {
	return append(placeAt(started.UnixNano()), execution[:]...)
}

// placeAt returns the common prefix of the places of executions that started at this instant in
// nanoseconds since 1970.
func placeAt(started int64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, placeSize), ^(uint64(started) ^ 1<<63)) //nolint:gosec // the bits
}

// add returns the entry of an execution.
func (l list) add(place []byte) Entry { return Entry{l.key(place), []byte{}} }

// remove returns the change that takes an execution off.
func (l list) remove(place []byte) Entry { return Entry{l.key(place), nil} }

// listChanges returns the changes of the list for an execution with its first or its last item. An
// execution is listed when it ends if its first item does not tell its start.
func listChanges(item engine.Item, head machine.Head, isFinal bool) (changes []Entry) {
	place, flow := placeOf(item.Execution, head.Started), head.Flow.Name
	running := list{flow, machine.StatusRunning}.add(place)
	changes = make([]Entry, 0, 3) //nolint:mnd // as many as an item usually has
	if item.Seq == 0 && (flow != "" || isFinal) || head.Started.Equal(unknownStart) && isFinal {
		changes = append(changes, list{}.add(place), list{flow: flow}.add(place))
	}
	if !isFinal {
		return append(changes, running)
	}
	if item.Seq > 0 {
		changes = append(changes, Entry{running.Key, nil})
	}
	return append(changes, list{flow, head.Status}.add(place))
}

// removeListed returns the changes that take an execution that has ended off the list.
func removeListed(execution engine.ID, head machine.Head) []Entry {
	place := placeOf(execution, head.Started)
	return []Entry{list{}.remove(place), list{flow: head.Flow.Name}.remove(place), list{head.Flow.Name, head.Status}.remove(place)}
}

// unknownStart is the start of an execution if no item tells it.
var unknownStart = time.Unix(0, 0)

// headOf returns the head of an item. An item that ends a damaged execution may lack the start. The
// head then has the start from the first item, if it can be read.
func (s *Keyed) headOf(item engine.Item) machine.Head {
	head, err := machine.HeadOf(item.Body)
	if err == nil && !head.Started.IsZero() {
		return head
	}
	key := itemKey(item.Execution, 0)
	if value, ok, err := s.db.Get(key); err == nil && ok {
		if first, err := decodeItem(key, value); err == nil {
			known, _ := machine.HeadOf(first.Body)
			head.Started, head.Flow = known.Started, known.Flow
		}
	}
	if head.Started.IsZero() {
		head.Started = unknownStart
	}
	return head
}

// Executions implements [engine.Index]. It reads the entries of the page and the one behind it, of
// each status a few, and without a flow a few of each flow. A page token is the last place of the
// page.
func (s *Keyed) Executions(
	ctx context.Context, of engine.Selection, after string, limit int,
) (ids []engine.ID, next string, err error) {
	first, last := of.Starts()
	if first > last {
		return nil, "", nil
	}
	p := listPage{from: placeAt(last), until: placeAt(first - 1), limit: limit}
	if after != "" {
		last, err := hex.DecodeString(after)
		if err != nil || len(last) != placeSize {
			err := fmt.Errorf("invalid page token %q: use next of the previous page", after)
			return nil, "", &engine.Error{Code: engine.CodeInvalid, Op: "list executions", Err: err}
		}
		p.from = slices.MaxFunc([][]byte{p.from, append(last, 0)}, bytes.Compare)
	}
	err = s.do(ctx, operation{name: "list executions"}, func() error { return p.readAll(s, of) })
	if err != nil {
		return nil, "", err
	}
	for i, place := range p.places {
		if i == limit {
			return ids, hex.EncodeToString(p.places[i-1]), nil
		}
		ids = append(ids, engine.ID(place[8:]))
	}
	return ids, "", nil
}

// listPage is a page of executions, and the place of one more.
type listPage struct {
	from   []byte // the least place
	until  []byte // no place of the page is as great
	limit  int
	places [][]byte
}

// readAll adds the places of the selected executions: the executions of each status from its own
// list.
func (p *listPage) readAll(s *Keyed, of engine.Selection) (err error) {
	statuses := of.Indexed()
	if len(statuses) == 0 {
		return p.read(s.db, list{flow: of.Flow}.prefix())
	}
	for i := 0; i < len(statuses) && err == nil; i++ {
		db := s.db
		if statuses[i] == machine.StatusRunning {
			db = s.running
		}
		if of.Flow == "" {
			err = p.readFlows(db, listOfStatus(statuses[i]))
		} else {
			err = p.read(db, list{of.Flow, statuses[i]}.prefix())
		}
	}
	return err
}

// read adds the places behind a prefix, as far as they belong to the page.
func (p *listPage) read(db Database, prefix []byte) (err error) {
	known := len(p.places)
	for key := range db.Entries(Range{slices.Concat(prefix, p.from), slices.Concat(prefix, p.until)}, &err) {
		place := key[len(prefix):]
		if len(place) != placeSize {
			return damaged("the list of executions")
		}
		if known > p.limit && bytes.Compare(place, p.places[p.limit]) > 0 {
			break
		}
		if p.places = append(p.places, bytes.Clone(place)); len(p.places)-known > p.limit {
			break
		}
	}
	slices.SortFunc(p.places, bytes.Compare)
	p.places = p.places[:min(len(p.places), p.limit+1)]
	return err
}

// readFlows adds the places of each flow with a status.
func (p *listPage) readFlows(db Database, status []byte) (err error) {
	for of := startingWith(status); err == nil; {
		var flow []byte
		for key := range db.Entries(of, &err) {
			if len(key) < placeSize {
				return damaged("the list of executions")
			}
			flow = bytes.Clone(key[:len(key)-placeSize])
			break
		}
		if flow == nil {
			break
		}
		if err == nil {
			err = p.read(db, flow)
		}
		of.Lower = startingWith(flow).Upper
	}
	return err
}
