package store

import (
	"context"
	"errors"
	"time"
)

// Activities keeps the activities of Step Functions.
type Activities interface {
	// Activities returns when each activity was created, by name.
	Activities(ctx context.Context) (map[string]time.Time, error)

	// CreateActivity creates an activity unless it exists. It returns when that was.
	CreateActivity(ctx context.Context, name string, at time.Time) (time.Time, error)

	// DeleteActivity deletes an activity if it exists.
	DeleteActivity(ctx context.Context, name string) error
}

// Activities implements [Activities].
func (s *Keyed) Activities(ctx context.Context) (map[string]time.Time, error) {
	return read(ctx, s, operation{name: "list activities"}, func() (map[string]time.Time, error) {
		var err error
		all := map[string]time.Time{}
		for key, text := range s.db.Entries(startingWith([]byte{keyActivity}), &err) {
			var at time.Time
			if err := at.UnmarshalBinary(text); err != nil {
				return nil, err
			}
			all[string(key[1:])] = at
		}
		return all, err
	})
}

// CreateActivity implements [Activities].
func (s *Keyed) CreateActivity(ctx context.Context, name string, at time.Time) (time.Time, error) {
	key := append([]byte{keyActivity}, name...)
	err := s.step(ctx, operation{name: "create activity " + name}, key, func() ([]Entry, error) {
		before, ok, err := s.db.Get(key)
		if ok {
			return nil, errors.Join(err, at.UnmarshalBinary(before))
		}
		text, failed := at.MarshalBinary()
		err = errors.Join(err, failed)
		return []Entry{{key, text}}, err
	})
	return at, err
}

// DeleteActivity implements [Activities].
func (s *Keyed) DeleteActivity(ctx context.Context, name string) error {
	key := append([]byte{keyActivity}, name...)
	return s.step(ctx, operation{name: "delete activity " + name}, key, func() ([]Entry, error) { return []Entry{{key, nil}}, nil })
}
