package local

import (
	"bytes"
	"slices"
)

// Each start and each first change of a token looks for what cannot be there, and a search in vain costs a database as much
// as a write. So stripes know the hashes of the executions and token records that may be stored.

// stored has the hashes of keys that may be stored.
type stored struct {
	hashes  []uint32 // the upper halves; the lower ones are nearly the same in a stripe
	tooMany bool     // any key may be stored
}

// mostStored bounds the hashes of a stripe: those of all stripes take 64 MB.
const mostStored = 1 << 12

// note notes that a key is stored, or about to be.
func (s *stored) note(hash uint64) {
	if !s.mayHave(hash) {
		s.hashes = append(s.hashes, uint32(hash>>32))
	}
	if len(s.hashes) > mostStored {
		*s = stored{tooMany: true}
	}
}

func (s *stored) mayHave(hash uint64) bool {
	return s.tooMany || slices.Contains(s.hashes, uint32(hash>>32))
}

// isNew reports whether an execution other than a lane, or the key of a token record, is certainly not stored. Its stripe is
// held.
func (s *KeyedStore) isNew(stripe *stripe, key []byte) bool {
	return s.learned.Load() && !stripe.stored.mayHave(s.hashOf(key))
}

// noteStored is note for a key whose stripe is not held.
func (s *KeyedStore) noteStored(key []byte) {
	stripe := s.stripeOf(key)
	stripe.Lock()
	defer stripe.Unlock()
	stripe.stored.note(s.hashOf(key))
}

// learnPage is how many keys are read in one use of the database.
const learnPage = 1 << 12

// learn notes what earlier processes stored, except executions that have not ended. What is more than a page is read while
// the store is in use: writers note their keys themselves. After an error, all keys may be stored.
func (s *KeyedStore) learn() {
	left := []Range{startingWith(list{}.prefix()), startingWith([]byte{keyRecord})}
	left = s.learnSome(left)
	if len(left) == 0 {
		return
	}
	go func() {
		for len(left) > 0 {
			left = s.learnSome(left)
		}
	}()
}

// learnSome notes keys of the first range, and returns what is left. Of executions the key has the id at its end.
func (s *KeyedStore) learnSome(of []Range) (left []Range) {
	leave, err := s.db.Enter()
	if err != nil {
		return nil
	}
	defer leave()
	count := 0
	for key := range s.db.Entries(of[0], &err) {
		if count++; count > learnPage {
			of[0].Lower = bytes.Clone(key)
			return of
		}
		if key[0] == keyList {
			key = key[max(len(key)-idSize, 0):]
		}
		s.noteStored(key)
	}
	switch {
	case err != nil:
		return nil
	case len(of) == 1:
		s.learned.Store(true)
	}
	return of[1:]
}
