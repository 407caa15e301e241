// Command waitless runs and checks flows. See package cli.
package main

import (
	"os"
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/cmd/compose"
)

// garbage is the growth of the heap, in percent, after which the collector runs. Executions make much garbage and keep little:
// with Go's default of 100 the collector takes a fifth of the time (BenchmarkDurablePolling).
const garbage = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	command := cli.System()
	command.Stores, command.AWS = compose.Stores{}, compose.Loader(config.LoadDefaultConfig).Open
	os.Exit(command.Main())
}
