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
	code := cli.System().Run(ctx)
	stop()
	os.Exit(code)
}
