package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// Pauses keeps the names of paused flows: their executions do not start, and do not continue except
// to end.
type Pauses interface {
	// SetPaused pauses the flow, or resumes it.
	SetPaused(ctx context.Context, flow string, paused bool) error

	// Paused reports whether the flow is paused, as of the instant asOf or later. The store may
	// cache the result.
	Paused(ctx context.Context, flow string, asOf time.Time) (bool, error)
}

// pausePatience is how long a worker or a client relies on the paused flows that it read. No two
// clocks differ by as much.
const pausePatience = 10 * time.Second

// isPaused reports whether a flow is paused. The answer may be some seconds old.
func (c *core) isPaused(ctx context.Context, flow string) (bool, error) {
	if c.Pauses == nil || flow == "" {
		return false, nil
	}
	return c.Pauses.Paused(ctx, flow, c.Now().Add(-pausePatience))
}

// pauseDiscards reports whether the wake may be discarded because its flow is paused. After a flow
// is resumed, each of its executions is rearmed, which makes up for the wake if the flow was paused
// after the wake was sent.
func (c *core) pauseDiscards(ctx context.Context, wake Wake, flow string) (bool, error) {
	now := c.Now()
	paused, err := c.isPaused(ctx, flow)
	if err != nil || !paused {
		return false, err
	}
	asOf := wake.Sent.Add(pausePatience)
	if asOf.After(now) {
		asOf = now
	}
	return c.Pauses.Paused(ctx, flow, asOf)
}

// checkPaused returns an error with [CodePaused] if the flow is paused.
func (c *core) checkPaused(ctx context.Context, flow string) error {
	paused, err := c.isPaused(ctx, flow)
	if err == nil && paused {
		err = &Error{CodePaused, "", fmt.Errorf("flow %q is paused; resume it with \"waitless flows resume %s\"", flow, flow)}
	}
	return err
}

// Pause pauses a flow. Executions of it do not start: their start has [CodePaused]. Running
// executions do not continue until [Client.Resume], except that a stop ends them. Tokens can be
// closed. Deadlines and time limits pass, and are applied after Resume. Other processes know of a
// pause within ten seconds. The error has [CodeNotFound] if no definition is listed; else Pause
// returns the newest one.
func (c *Client) Pause(ctx context.Context, flow string) (machine.FlowRef, error) {
	newest, err := c.core.Flows.Newest(ctx, flow)
	if err == nil {
		err = c.core.Pauses.SetPaused(ctx, flow, true)
	}
	return newest, wrap("pause flow "+flow, err)
}

// Resume lets a paused flow go on. Then rearm each of its executions that has not ended (see
// [Client.Rearm]): their wakes were discarded. It may be repeated. The error has [CodeNotFound] if
// the flow is not paused and no definition is listed.
func (c *Client) Resume(ctx context.Context, flow string) error {
	op := "resume flow " + flow
	if paused, err := c.IsPaused(ctx, flow, c.core.Now()); err != nil || !paused {
		if err == nil {
			_, err = c.core.Flows.Newest(ctx, flow)
		}
		return wrap(op, err)
	}
	return wrap(op, c.core.Pauses.SetPaused(ctx, flow, false))
}

// IsPaused reports whether a flow is paused, as of the instant asOf or later.
func (c *Client) IsPaused(ctx context.Context, flow string, asOf time.Time) (bool, error) {
	return c.core.Pauses.Paused(ctx, flow, asOf)
}
