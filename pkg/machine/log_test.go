package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// encode is an item that stands alone, and decode reads one.
func encode(s machine.State, events []machine.Event) []byte {
	item, _ := machine.Encode(value.Origin{}, s, events)
	return item
}

func decode(item []byte) (machine.State, []machine.Event, error) {
	return machine.Decode(value.Origin{}, item)
}

// itemLog keeps the items of one log, as an engine would.
type itemLog struct {
	id     machine.ID
	items  [][]byte
	family *family
}

// family are the logs of an execution and its lanes, and the values that were loaded.
type family struct {
	logs  map[string]*itemLog
	known map[value.Ref]value.Value
}

// join makes the log one of the family.
func (l *itemLog) join(f *family) {
	l.family = f
	f.logs[l.place(0).Log] = l
}

func (l *itemLog) known() map[value.Ref]value.Value {
	if l.family == nil {
		l.join(&family{map[string]*itemLog{}, map[value.Ref]value.Value{}})
	}
	return l.family.known
}

func (l *itemLog) place(seq int) value.Origin {
	return machine.ItemOrigin(l.id, uint64(seq))
}

// next is what the next item would be.
func (l *itemLog) next(s machine.State, events []machine.Event) []byte {
	item, _ := machine.Encode(l.place(len(l.items)), s, events)
	return item
}

// put appends an item and reads it back.
func (l *itemLog) put(s machine.State, events []machine.Event) (machine.State, []machine.Event, error) {
	l.items = append(l.items, l.next(s, events))
	last := len(l.items) - 1
	return machine.Decode(l.place(last), l.items[last])
}

// ask asks the machine until nothing is missing.
func (l *itemLog) ask(t *testing.T, env machine.Env, question func(machine.Env) (machine.Next, error)) (machine.Next, error) {
	t.Helper()
	for {
		env.Loaded = l.known()
		next, err := question(env)
		if err != nil || len(next.Load) == 0 {
			return next, err
		}
		if next.Changed || len(next.Events) > 0 || len(next.Commands) > 0 || len(next.Unmapped) > 0 {
			t.Error("there is more than what is missing")
		}
		l.load(t, next.Load)
	}
}

func (l *itemLog) load(t *testing.T, refs []value.Ref) {
	t.Helper()
	for _, ref := range refs {
		if _, known := l.known()[ref]; known {
			t.Fatalf("%v is missing and was given", ref)
		}
		log := l.family.logs[ref.Log]
		_, numbered, err := machine.DecodeValues(log.place(int(ref.Seq)), log.items[ref.Seq])
		if err != nil {
			t.Fatal(err)
		}
		v, ok := numbered(ref.Number)
		if !ok {
			t.Fatalf("%v leads nowhere", ref)
		}
		l.known()[ref] = v
	}
}

func (l *itemLog) complete(t *testing.T, v value.Value) value.Value {
	t.Helper()
	for {
		lookup := value.Lookup{Known: l.known()}
		whole := lookup.Complete(v)
		if len(lookup.Load) == 0 {
			return whole
		}
		l.load(t, lookup.Load)
	}
}

// compared compares values by their content, wherever it is held.
func (l *itemLog) compared(t *testing.T) cmp.Option {
	t.Helper()
	return cmp.Comparer(func(a, b value.Value) bool {
		return a.IsMissing() == b.IsMissing() && l.complete(t, a).JSON() == l.complete(t, b).JSON()
	})
}
