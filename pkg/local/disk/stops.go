package disk

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/value"
)

// RequestStop implements [engine.Stops].
func (s *Store) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, _ time.Time) error {
	return s.step(ctx, "request a stop", execution.String(), func() ([]change, error) {
		_, ok, err := s.get(stopKey(execution))
		if err != nil || ok {
			return nil, err
		}
		var e value.Encoder
		e.Text(request.Error)
		e.Text(request.Cause)
		return []change{{stopKey(execution), e.Bytes()}}, nil
	})
}

// StopRequest implements [engine.Stops].
func (s *Store) StopRequest(ctx context.Context, execution engine.ID) (request engine.StopRequest, ok bool, err error) {
	request, err = read(ctx, s, operation{name: "read a request to stop"}, func() (engine.StopRequest, error) {
		stripe := s.stripeOfHandle(execution.String())
		stripe.RLock()
		defer stripe.RUnlock()
		var stored []byte
		if stored, ok, err = s.get(stopKey(execution)); err != nil || !ok {
			return engine.StopRequest{}, err
		}
		d := value.NewDecoder(stored)
		return engine.StopRequest{Error: d.Text(), Cause: d.Text()}, d.Err()
	})
	return request, ok && err == nil, err
}

func stopKey(execution engine.ID) []byte { return append([]byte{keyStop}, execution[:]...) }
