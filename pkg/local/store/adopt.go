package store

import (
	"bytes"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Kinds of keys of stores with a list that had no status and no flow. Some of them do not know when
// an execution ended.
const (
	keyOldList       = 's' // place: flow and status
	keyOldUnfinished = 'u' // execution: nothing
)

// adopt lists the executions of such a store, and the ended ones with their end; their retention
// counts from that end. It is done once.
func (s *Keyed) adopt() (err error) {
	for _, kind := range []byte{keyOldList, keyOldUnfinished} { // what nothing is known of was only unfinished
		for of := startingWith([]byte{kind}); of.Lower != nil && err == nil; {
			of.Lower, err = s.adoptPage(of)
		}
	}
	return err
}

// pageSize is how many executions are adopted, and how many notices are read, at once.
const pageSize = 1000

// adoptPage adopts the first executions of a range, and returns where the next page begins, nil
// after the last one: a search from the beginning would pass each key that was deleted.
func (s *Keyed) adoptPage(of Range) (next []byte, err error) {
	var changes []Entry
	executions := 0
	for key := range s.db.Entries(of, &err) {
		if len(key) < 1+idSize {
			return nil, damaged("the list of executions")
		}
		if executions++; executions > pageSize {
			next = bytes.Clone(key)
			break
		}
		listed, err := s.adopted(engine.ID(key[len(key)-idSize:]))
		if err != nil {
			return nil, err
		}
		changes = append(append(changes, listed...), Entry{bytes.Clone(key), nil})
	}
	if err != nil || executions == 0 {
		return nil, err
	}
	return next, s.db.Commit(nil, changes...)
}

// adopted returns the entries of an execution.
func (s *Keyed) adopted(id engine.ID) ([]Entry, error) {
	last, err := s.db.Last(logOf(id, 0))
	if err != nil || last[0].Key == nil {
		return nil, err
	}
	latest, err := decodeItem(last[0].Key, last[0].Value)
	if err != nil {
		return nil, err
	}
	head, err := machine.StatusOf(latest.Body)
	isFinal := err == nil && head.Status.Final()
	first := engine.Item{Execution: id}
	changes := listChanges(first, s.headOf(latest), isFinal)
	if isFinal {
		changes = append(changes, Entry{endedKey(endOf(latest)), []byte{}})
	}
	return changes, nil
}
