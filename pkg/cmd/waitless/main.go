// Command waitless runs and checks flows. See package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/waitless/waitless/pkg/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := cli.System().Run(ctx)
	stop()
	os.Exit(code)
}
