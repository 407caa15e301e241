package local

import (
	"bytes"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Kinds of keys of stores whose list had no status and no flow. Some of them do not know when an execution ended.
const (
	keyOldList       = 's' // place: flow and status
	keyOldUnfinished = 'u' // execution: nothing
)

// adopt lists the executions of such a store, and those that ended with their end, from which they are kept for their
// retention. It is done once.
func (s *KeyedStore) adopt() (err error) {
	for _, kind := range []byte{keyOldList, keyOldUnfinished} { // what nothing is known of was only unfinished
		for more := true; more && err == nil; {
			more, err = s.adoptPage(kind)
		}
	}
	return err
}

func (s *KeyedStore) adoptPage(kind byte) (more bool, err error) {
	var changes []Entry
	executions := 0
	for key := range s.db.Entries(startingWith([]byte{kind}), &err) {
		if len(key) < 1+idSize {
			return false, damaged("the list of executions")
		}
		listed, err := s.adopted(engine.ID(key[len(key)-idSize:]))
		if err != nil {
			return false, err
		}
		changes = append(append(changes, listed...), Entry{bytes.Clone(key), nil})
		if executions++; executions == recoveryPage {
			break
		}
	}
	if err != nil || executions == 0 {
		return false, err
	}
	return executions == recoveryPage, s.db.Commit(changes...)
}

// adopted returns the entries of an execution.
func (s *KeyedStore) adopted(id engine.ID) ([]Entry, error) {
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
