package fnf

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

const (
	// maxWait is the vendor's limit of WaitTimeSeconds.
	maxWait = time.Minute
	// LongestPolling is how long a state is read again and again for one request. The function that
	// does it costs as long as it waits, and API Gateway gives up after 30 s.
	LongestPolling = 20 * time.Second
	// firstPause and longestPause bound the intervals of these reads.
	firstPause, longestPause = 250 * time.Millisecond, 4 * time.Second
	// maxWaiting is how many requests wait at once without Pause, so that connections are left for
	// others. The response to any more comes at once.
	maxWaiting = 64
	// writePatience is how long a client may take to read a response.
	writePatience = time.Minute
)

// awaitEnd returns the state of an execution after its end, or after that time. It may return
// earlier.
func (h handler) awaitEnd(ctx context.Context, id engine.ID, wait time.Duration) (machine.State, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if h.MayWait != nil && !h.MayWait(ctx) {
		return h.Executions.Describe(ctx, id)
	}
	if h.Await != nil && h.Pause != nil {
		defer h.Pause(ctx)()
		return h.Await(waiting, id)
	}
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return h.Executions.Describe(ctx, id)
	}
	if h.Await != nil {
		return h.Await(waiting, id)
	}
	polling, cancel := context.WithTimeout(waiting, LongestPolling)
	defer cancel()
	return engine.AwaitEnd(polling, firstPause, longestPause, func(ctx context.Context) (machine.State, error) { return h.Executions.Describe(ctx, id) })
}
