// Command waitless runs and checks flows. See package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/waitless/waitless/pkg/cli"
)

// garbage is the growth of the heap, in percent, after which the collector
// runs. Executions make much garbage and keep little: with Go's own 100 a
// fifth of the time is the collector's (BenchmarkDurablePolling).
const garbage = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := cli.System().Run(ctx)
	stop()
	os.Exit(code)
}
