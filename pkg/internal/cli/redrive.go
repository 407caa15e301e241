package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// repeat makes a command that starts an execution like another one, with newName unless the user
// names it.
func (c Command) repeat(
	name, newName string, send func(*rest.Client, context.Context, string, string, rest.Redrive) (rest.Execution, bool, error),
) *cobra.Command {
	var o rest.Redrive
	cmd := helpOf(name, arguments(1, 1))
	if name == "redrive" {
		cmd.Flags().StringVar(&o.From, "from", "", "the step to go on from (default: the one that failed)")
	}
	cmd.Flags().StringVar(&o.Name, "name", "", "the name of the new execution (default: "+newName+")")
	cmd.Flags().BoolVar(&o.Newest, "newest", false, "with the newest definition of the flow, not with that of the execution")
	return c.onExecution(cmd, func(ctx context.Context, a *target.Client, flow, name string) (rest.Execution, string, error) {
		e, isNew, err := send(a.Client, ctx, flow, name, o)
		started := e.Flow + "/" + e.Name
		switch {
		case err == nil && !isNew:
			if cmd.Name() == "redrive" && e.Status.Final() && e.Status != machine.StatusSucceeded {
				c.out().Note("redrive %s goes on from there; --name starts another redrive of %s/%s", started, flow, name)
			}
			return e, view.Line("%s  exists already: %s", started, e.Status), nil
		case e.RedrivenStep != "":
			return e, view.Line("%s  %s, from step %s of %s/%s", started, e.Status, e.RedrivenStep, flow, name), err
		}
		return e, view.Line("%s  %s", started, e.Status), err
	})
}
