package cli

import (
	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/fdl"
)

func (c Command) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of flows, for editors",
		Long: "Print the JSON Schema (draft-07) of flows. Editors with the YAML language server complete and check a flow that\n" +
			"begins with this line, where the schema is in the file flow.schema.json beside it:\n\n" +
			"  # yaml-language-server: $schema=flow.schema.json\n\n" +
			"What a schema cannot express, like conditions, paths and gotos, `waitless validate` checks.",
		Example: "  waitless schema",
		Args:    arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return c.out().Text(string(fdl.Schema())) },
	}
}
