package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func adviseCommand(c Command) *cobra.Command {
	var flags templateFlags

	cmd := c.plain(helpOf("advise", arguments(1, 1)), func(ctx context.Context, args []string) (view.Result, error) {
		path := args[0]
		file, t, err := c.readValid(ctx, path, "", flags)
		if err == nil {
			err = t.checkUsed()
		}
		if err == nil {
			err = c.warn(file)
		}
		if err != nil {
			return view.Result{}, err
		}
		findings := advise.Flow(file.flow)
		texts := make([]string, len(findings))
		for i, f := range findings {
			findings[i].Position = file.filled.Position(f.Position)
			texts[i] = fmt.Sprintf("%s:%s: %s: %s\n", path, findings[i].Position, f.Rule, f.Found) +
				view.Wrap(f.Instead, view.WidestText, "  ") + view.Wrap("Saves "+f.Saves+".", view.WidestText, "  ")
		}
		if len(findings) == 0 {
			texts = []string{path + ": nothing to advise\n"}
		}
		report := adviceReport{path, append([]advise.Finding{}, findings...)}
		return view.Result{Form: "advise", JSON: report, Text: strings.Join(texts, "\n")}, nil
	})
	flags.register(cmd.Flags())
	registerConfig(cmd.Flags())
	return cmd
}

// adviceReport is the JSON of advise; schema/advise.json describes it.
type adviceReport struct {
	File     string           `json:"file"`
	Findings []advise.Finding `json:"findings"`
}
