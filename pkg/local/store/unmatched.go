package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

// Unmatched implements [resume.UnmatchedEvents]. Each page reads all ends of jobs that have not
// expired: one machine has few.
func (s *Keyed) Unmatched(ctx context.Context, after string, limit int) (events []resume.UnmatchedEvent, next string, err error) {
	last, err := hex.DecodeString(after)
	if err != nil || after != "" && len(last) <= secondSize {
		return nil, "", resume.ErrPage
	}
	all, err := read(ctx, s, operation{name: "list unmatched job events"}, s.unmatched)
	if err != nil {
		return nil, "", err
	}
	for _, each := range all {
		switch {
		case after != "" && bytes.Compare(each.place, last) <= 0:
		case len(events) == limit:
			return events, next, nil
		default:
			events, next = append(events, each.event), hex.EncodeToString(each.place)
		}
	}
	return events, "", nil
}

// unmatchedEnd is an event at its place in the list: the end of the job, then the key.
type unmatchedEnd struct {
	place []byte
	event resume.UnmatchedEvent
}

// unmatched returns the jobs that have an end and no waiter, the latest end first.
func (s *Keyed) unmatched() (all []unmatchedEnd, err error) {
	var noted [][]byte
	for key := range s.db.Entries(startingWith([]byte{keyJobExpiry}), &err) {
		noted = append(noted, append([]byte{keyJob}, key[1+secondSize:]...))
	}
	slices.SortFunc(noted, bytes.Compare)
	for _, job := range slices.CompactFunc(noted, bytes.Equal) { // an event that was delivered twice has two entries
		record, _, err := jobRecordForm.find(s, job)
		if err != nil {
			return nil, err
		}
		if record.IsUnmatched() {
			event := resume.UnmatchedEvent{Key: resume.DecodeKey(value.NewDecoder(job[1:])), End: *record.End}
			all = append(all, unmatchedEnd{append(placeAt(event.End.At.UnixNano()), job[1:]...), event})
		}
	}
	slices.SortFunc(all, func(a, b unmatchedEnd) int { return bytes.Compare(a.place, b.place) })
	return all, err
}
