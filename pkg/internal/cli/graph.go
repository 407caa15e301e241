package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/console"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/language"
)

// The formats of a drawing.
const (
	formatSVG     = "svg"
	formatMermaid = "mermaid"
)

var graphFormats = []string{formatText, formatSVG, formatMermaid}

// graphOptions are the flags of graph.
type graphOptions struct {
	placeFlags
	templateFlags
	execution, format string
}

func graphCommand(c Command) *cobra.Command {
	var o graphOptions
	cmd := helpOf("graph", arguments(1, 1))
	flags := cmd.Flags()
	o.placeFlags.register(flags)
	o.templateFlags.register(flags)
	flags.StringVar(&o.execution, "execution", "", "the name of an execution of the flow, whose steps have their states")
	flags.StringVar(&o.format, "format", formatText, "how to draw: "+strings.Join(graphFormats, ", "))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !slices.Contains(graphFormats, o.format):
			return view.Usage(fmt.Sprintf("--format is %q%s (allowed: %s)", o.format,
				similar.DidYouMean(o.format, graphFormats), strings.Join(graphFormats, ", ")), "waitless graph --format svg FLOW")
		case o.execution == "":
			if _, missing := os.Stat(args[0]); missing != nil {
				if flow, execution, err := names(args[0]); err == nil {
					return view.Usage(view.Reason(missing), "waitless graph "+flow+" --execution "+execution)
				}
			}
			file, err := c.readRunnable(cmd.Context(), args[0], o.templateFlags)
			if err != nil {
				return err
			}
			return c.draw(diagram.Of(file.flow, file.name(), nil), o.format)
		}
		remote := remoteOptions{placeFlags: o.placeFlags}
		return c.onTarget(&remote, func(ctx context.Context, a *target.Client, args []string) error {
			if err := checkFlow(args[0]); err != nil {
				return err
			}
			picture, err := c.graphOfExecution(ctx, a, args[0]+"/"+o.execution)
			return cmp.Or(err, c.draw(picture, o.format))
		})(cmd, args)
	}
	return cmd
}

// graphOfExecution draws the definition that an execution runs, with the states of its steps.
func (c Command) graphOfExecution(ctx context.Context, a *target.Client, title string) (p diagram.Picture, err error) {
	flow, name, err := names(title)
	if err != nil {
		return p, err
	}
	e, err := a.Execution(ctx, flow, name, false)
	if err != nil {
		return p, executionError(ctx, a, title, err)
	}
	definition, err := a.Flow(ctx, flow, e.Hash)
	if err != nil {
		return p, err
	}
	parsed, problems := language.Parse([]byte(definition.Definition))
	if parsed == nil {
		return p, view.Internal(fmt.Sprintf("the definition of %s is not valid: %v", title, problems), "use the version of waitless that stored it")
	}
	history, _, err := a.History(ctx, flow, name, "", false, 0)
	if err != nil {
		return p, err
	}
	events, err := parsedEvents(parsed, history)
	return diagram.Of(parsed, title, console.StatesOf(ctx, a, parsed, e, events)), err
}

// draw prints a picture.
func (c Command) draw(p diagram.Picture, format string) error {
	switch format {
	case formatSVG:
		return c.out().Exactly(p.File())
	case formatMermaid:
		return c.out().Exactly(p.Mermaid())
	}
	return c.out().Exactly(c.drawn(p))
}

// drawn is a picture for the terminal, in color where it is one.
func (c Command) drawn(p diagram.Picture) string {
	file, _ := c.Stdout.(*os.File)
	if file == nil || !view.IsTerminal(file) || c.setting("NO_COLOR") != "" || c.Getenv("TERM") == "dumb" {
		return p.Terminal(nil)
	}
	return p.Terminal(func(status diagram.Status, text string) string { return statusColors[status] + text + "\x1b[0m" })
}

// statusColors are the colors of the live view.
var statusColors = map[diagram.Status]string{
	diagram.Pending: "\x1b[2m", diagram.Running: "\x1b[36m", diagram.Waiting: "\x1b[33m", diagram.Succeeded: "\x1b[32m", diagram.Failed: "\x1b[31m",
	diagram.Before: "\x1b[2m",
}
