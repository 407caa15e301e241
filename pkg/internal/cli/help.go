package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpText has a section for each command: its usage, a summary, a description and examples.
//
//go:embed help.txt
var helpText string

// helpOf returns the command with the help in the named section.
func helpOf(name string, args cobra.PositionalArgs) *cobra.Command {
	for rest := helpText; rest != ""; {
		_, rest, _ = strings.Cut(rest, "-- "+name)
		argument, text, _ := strings.Cut(rest, " --\n")
		if argument != strings.ToUpper(argument) {
			continue
		}
		text, _, _ = strings.Cut(text, "\n-- ")
		usage := name + argument
		text, example, _ := strings.Cut(text, "\nExamples:\n")
		short, long, _ := strings.Cut(text, "\n")
		return &cobra.Command{
			Use: usage[strings.LastIndexByte(name, ' ')+1:], Short: short, Long: strings.TrimSpace(long), Example: strings.TrimRight(example, "\n"), Args: args,
		}
	}
	panic("no help for " + name)
}
