package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/internal/advise"
)

// prices are AWS's list, for a poll and a wait as they were measured.
var prices = advise.Prices{Polls: "$1.3 to $2.3 (us-east-1, 2026-01)", Jobs: "$8"}

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
	findings := advise.Flow(file.flow, file.text, prices)
	for i, f := range findings {
		findings[i].Position = file.filled.Position(f.Position)
	}
	return view.Result{Form: "advise", JSON: adviceReport{path, append([]advise.Finding{}, findings...)}, Text: adviceTexts(path, findings)}, nil
}

func adviceTexts(path string, findings []advise.Finding) string {
	if len(findings) == 0 {
		return path + ": nothing to advise\n"
	}
	var text strings.Builder
	for i, f := range findings {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(adviceText(path, f))
	}
	return text.String()
}

// adviceText is one finding as people read it.
func adviceText(path string, f advise.Finding) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:%s: %s: %s\n", path, f.Position, f.Rule, f.Found)
	switch n := len(f.Replaces); n {
	case 0:
		text.WriteString("write in the flow:\n")
	case 1:
		fmt.Fprintf(&text, "write instead of %s:\n", f.Replaces[0])
	default:
		fmt.Fprintf(&text, "write instead of %s and %s:\n", strings.Join(f.Replaces[:n-1], ", "), f.Replaces[n-1])
	}
	for line := range strings.Lines(f.Instead) {
		text.WriteString("  " + line)
	}
	text.WriteString(view.Wrap("saves: "+f.Saves, view.WidestText, "  "))
	return text.String()
}

// adviceReport is the JSON of advise; schema/advise.json describes it.
type adviceReport struct {
	File     string           `json:"file"`
	Findings []advise.Finding `json:"findings"`
}
