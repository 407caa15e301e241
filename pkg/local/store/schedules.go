package store

import (
	"bytes"
	"context"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/schedule"
)

// scheduleKey returns the key of a schedule, or the common prefix of the keys of all schedules of a
// flow, or of all flows.
func scheduleKey(flow, name string) []byte {
	key := []byte{keySchedule}
	for _, part := range []string{flow, name} {
		if part != "" {
			key = append(append(key, part...), 0)
		}
	}
	return key
}

// Schedules implements [schedule.Store].
func (s *Keyed) Schedules(ctx context.Context, flow, name string) ([]schedule.Entry, error) {
	return read(ctx, s, operation{name: "list schedules"}, func() (list []schedule.Entry, err error) {
		for key, text := range s.db.Entries(startingWith(scheduleKey(flow, name)), &err) {
			flow, name, _ := bytes.Cut(key[1:], []byte{0})
			list = append(list, schedule.Entry{Flow: string(flow), Name: string(bytes.TrimSuffix(name, []byte{0})), Text: string(text)})
		}
		return list, err
	})
}

// SetSchedule implements [schedule.Store].
func (s *Keyed) SetSchedule(ctx context.Context, entry schedule.Entry, before string) error {
	key := scheduleKey(entry.Flow, entry.Name)
	return s.step(ctx, operation{name: "set schedule " + entry.Flow + "/" + entry.Name}, key, func() ([]Entry, error) {
		text, _, err := s.db.Get(key)
		if err == nil && string(text) != before {
			err = engine.ErrConflict
		}
		if err != nil || entry.Text == "" {
			return []Entry{{key, nil}}, err
		}
		return []Entry{{key, []byte(entry.Text)}}, nil
	})
}
