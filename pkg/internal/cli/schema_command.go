package cli

import (
	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/fdl"
)

func schemaCommand(c Command) *cobra.Command {
	cmd := helpOf("schema", arguments(0, 0))
	cmd.RunE = func(*cobra.Command, []string) error { return c.out().Text(string(fdl.Schema())) }
	return cmd
}
