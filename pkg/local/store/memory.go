package store

import (
	"bytes"
	"iter"
	"sync"

	"github.com/RaduBerinde/btreemap"
)

// memory is a [Database] that lives as long as the process.
type memory struct {
	mu     sync.RWMutex
	values *btreemap.BTreeMap[[]byte, []byte]
}

func newMemory() *memory {
	const degree = 16
	return &memory{values: btreemap.New[[]byte, []byte](degree, bytes.Compare)}
}

// Enter implements [Database].
func (m *memory) Enter() (leave func(), err error) { return func() {}, nil }

// Get implements [Database].
func (m *memory) Get(key []byte) (value []byte, ok bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, value, ok = m.values.Get(key)
	return bytes.Clone(value), ok, nil
}

// Last implements [Database].
func (m *memory) Last(ranges ...Range) ([]Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	last := make([]Entry, len(ranges))
	for i, of := range ranges {
		for key, value := range m.values.Descend(btreemap.LT(of.Upper), btreemap.GE(of.Lower)) {
			last[i] = Entry{key, bytes.Clone(value)}
			break
		}
	}
	return last, nil
}

// Entries implements [Database]. It holds no lock while an entry is used.
func (m *memory) Entries(of Range, _ *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for from := btreemap.GE(of.Lower); ; {
			key, value, ok := m.first(from, of.Upper)
			if !ok || !yield(key, value) {
				return
			}
			from = btreemap.GT(key)
		}
	}
}

func (m *memory) first(from btreemap.LowerBound[[]byte], upper []byte) (key, value []byte, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for key, value := range m.values.Ascend(from, btreemap.LT(upper)) {
		return key, value, true
	}
	return nil, nil, false
}

// Commit implements [Database].
func (m *memory) Commit(begun func(), changes ...Entry) error {
	m.apply(changes)
	if begun != nil {
		begun()
	}
	return nil
}

func (m *memory) apply(changes []Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, change := range changes {
		if change.Value == nil {
			m.values.Delete(change.Key)
		} else {
			m.values.ReplaceOrInsert(change.Key, change.Value)
		}
	}
}
