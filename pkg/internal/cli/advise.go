package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func adviseCommand(c Command) *cobra.Command {
	var flags templateFlags
	var config string
	cmd := c.plain(helpOf("advise", arguments(1, 1)), func(_ context.Context, args []string) (view.Result, error) { return c.advise(args[0], flags) })
	flags.register(cmd.Flags())
	registerConfig(cmd.Flags(), &config)
	return cmd
}

func (c Command) advise(path string, flags templateFlags) (view.Result, error) {
	t, err := c.template(flags)
	if err != nil {
		return view.Result{}, err
	}
	file, err := readFlow(path, t)
	if err == nil && file.flow == nil {
		err = file.invalid()
	}
	if err = cmp.Or(err, t.checkUsed()); err != nil {
		return view.Result{}, err
	}
	if err := c.warn(file); err != nil {
		return view.Result{}, err
	}
	findings := advise.Flow(file.flow)
	for i, f := range findings {
		findings[i].Position = file.filled.Position(f.Position)
	}
	return view.Result{Form: "advise", JSON: adviceReport{path, append([]advise.Finding{}, findings...)}, Text: adviceTexts(path, findings)}, nil
}

// adviceTexts are the findings as people read them.
func adviceTexts(path string, findings []advise.Finding) string {
	if len(findings) == 0 {
		return path + ": nothing to advise\n"
	}
	texts := make([]string, len(findings))
	for i, f := range findings {
		texts[i] = fmt.Sprintf("%s:%s: %s: %s\n", path, f.Position, f.Rule, f.Found) +
			view.Wrap(f.Instead, view.WidestText, "  ") + view.Wrap("Saves "+f.Saves+".", view.WidestText, "  ")
	}
	return strings.Join(texts, "\n")
}

// adviceReport is the JSON of advise; schema/advise.json describes it.
type adviceReport struct {
	File     string           `json:"file"`
	Findings []advise.Finding `json:"findings"`
}
