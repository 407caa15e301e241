// Command failpoints is the program for the tests that kill it: it reports every gap between two
// effects of the engine, and its clock may be ahead or behind. See package failpoints.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/cmd/compose"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/token"
)

// offset is the environment variable for how far the clock is ahead.
const offset = "WAITLESS_FAILPOINTS_CLOCK"

func main() {
	command := cli.System()
	command.Stores, command.AWS = compose.Stores{}, compose.Loader(config.LoadDefaultConfig).Open
	command.Now, command.Roles = clock(os.Getenv(offset)), local.Roles{
		Worker:     func(c engine.WorkerConfig) (local.Worker, error) { return failpoints.NewWorker(c) },
		TaskRunner: func(c engine.TaskRunnerConfig) (local.TaskRunner, error) { return failpoints.NewTaskRunner(c) },
		Store:      func(s local.Store) local.Store { return store{s} },
	}
	os.Exit(command.Main())
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
		return s.Store.CloseEarly(ctx, handle, op, applied)
	})
}

func (s store) RequestStop(ctx context.Context, id engine.ID, request engine.StopRequest, expires time.Time) error {
	return failpoints.Stops{Stops: s.Store}.RequestStop(ctx, id, request, expires)
}
