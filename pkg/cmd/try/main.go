// Command try is waitless without AWS and without the durable store, so that it builds quickly: it
// checks flows, and runs them with --skip-time. See package cli.
package main

import (
	"os"

	"github.com/waitless/waitless/pkg/internal/cli"
	_ "github.com/waitless/waitless/pkg/internal/collector"
)

func main() { os.Exit(cli.System().Main()) }
