// Command waitless runs and checks flows. See package cli.
package main

import (
	"os"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/internal/cli"
	_ "github.com/waitless/waitless/pkg/internal/collector"
	"github.com/waitless/waitless/pkg/internal/compose"
)

func main() {
	command := cli.System()
	command.Stores, command.AWS = compose.Stores{}, compose.Loader(config.LoadDefaultConfig).Open
	command.CheckOperation = catalogue.CheckOperation
	command.Check, command.CheckStart, command.Right = catalogue.Check, catalogue.CheckStart, catalogue.Right
	os.Exit(command.Main())
}
