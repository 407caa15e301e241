// Command failpoints is the program for the tests that kill it: it reports every gap between two
// effects of the engine, and its clock may be ahead or behind. See package failpoints.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/internal/cli"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// offset is the environment variable for how far the clock is ahead.
const offset = "WAITLESS_FAILPOINTS_CLOCK"

// expiry is the environment variable for the file in which the log notes when its items expire. With it, the log of
// a sub-flow is kept for a moment at first.
const expiry = "WAITLESS_FAILPOINTS_EXPIRY"

func main() {
	command := cli.System()
	command.Stores, command.AWS = compose.Stores{}, compose.Loader(config.LoadDefaultConfig).Open
	command.Now, command.Roles = clock(os.Getenv(offset)), local.Roles{
		Worker:     newWorker,
		TaskRunner: func(c engine.Config) (local.TaskRunner, error) { return failpoints.NewTaskRunner(c) },
		Store:      func(s local.Store) local.Store { return store{s} },
	}
	os.Exit(command.Main())
}

func newWorker(c engine.Config) (local.Worker, error) {
	if file := os.Getenv(expiry); file != "" {
		c.Limits.ShortLife = time.Millisecond
		c.Log = expiring{c.Log, file}
	}
	return failpoints.NewWorker(c)
}

func clock(ahead string) func() time.Time {
	if ahead == "" {
		return time.Now
	}
	d, err := time.ParseDuration(ahead)
	if err != nil {
		panic(err)
	}
	return func() time.Time { return time.Now().Add(d) }
}

// store reports the gaps around starts, stops and closings.
type store struct{ local.Store }

func (s store) Append(ctx context.Context, item engine.Item) error {
	return failpoints.Log{Log: s.Store}.Append(ctx, item)
}

func (s store) Close(ctx context.Context, handle string, op token.CloseOp) (token.Record, error) {
	return failpoints.TokenStore{TokenStore: s.Store}.Close(ctx, handle, op)
}

func (s store) CloseEarly(ctx context.Context, handle string, op token.CloseOp, applied func()) (token.Record, error) {
	return failpoints.TokenStore{TokenStore: s.Store}.Closing(handle, op, func() (token.Record, error) {
		return s.Store.CloseEarly(ctx, handle, op, failpoints.Applied(handle, op, applied))
	})
}

func (s store) RequestStop(ctx context.Context, id engine.ID, request engine.StopRequest, expires time.Time) error {
	return failpoints.Stops{Stops: s.Store}.RequestStop(ctx, id, request, expires)
}

// expiring is a log that notes when its items expire, as a store does that deletes them by their expiry: a line each,
// of which the last one of an item counts.
type expiring struct {
	engine.Log
	file string
}

func (l expiring) Append(ctx context.Context, item engine.Item) error {
	state, _, err := machine.Decode(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
	if err != nil {
		return err
	}
	if err := l.Log.Append(ctx, item); err != nil {
		return err
	}
	l.note(state.Expires, item.Key())
	return nil
}

func (l expiring) Extend(ctx context.Context, expires time.Time, keys ...engine.ItemKey) error {
	if err := l.Log.Extend(ctx, expires, keys...); err != nil {
		return err
	}
	l.note(expires, keys...)
	return nil
}

func (l expiring) note(expires time.Time, keys ...engine.ItemKey) {
	file, err := os.OpenFile(l.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = file.Close() }() // each line is written at once
	for _, key := range keys {
		if _, err := fmt.Fprintf(file, "%s %d %d\n", key.Execution, key.Seq, expires.UnixNano()); err != nil {
			panic(err)
		}
	}
}
