package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
)

// jsonFlag adds the flag --json.
func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print one JSON object (see: waitless help json)")
}

// plain makes a command of this machine: it runs, and prints its result as text or JSON.
func (c Command) plain(cmd *cobra.Command, run func(ctx context.Context, args []string) (view.Result, error)) *cobra.Command {
	var asJSON bool
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		result, err := run(cmd.Context(), args)
		if err != nil {
			return err
		}
		return c.out().Result(result, asJSON)
	}
	return cmd
}

// remoteOptions are the flags of every command that works on a store or a stack.
type remoteOptions struct {
	placeFlags
	json bool
}

func (o *remoteOptions) register(cmd *cobra.Command) {
	o.placeFlags.register(cmd.Flags())
	jsonFlag(cmd, &o.json)
}

// remote makes a command that works on a store or a stack: it opens the target, runs, and prints its result as text or JSON.
func (c Command) remote(cmd *cobra.Command, run func(ctx context.Context, a *target.Client, args []string) (view.Result, error)) *cobra.Command {
	var o remoteOptions
	o.register(cmd)
	cmd.RunE = c.onTarget(&o, func(ctx context.Context, a *target.Client, args []string) error {
		result, err := run(ctx, a, args)
		if err != nil {
			return err
		}
		return c.out().Result(result, o.json)
	})
	return cmd
}

// onTarget returns the body of a command that works on a store or a stack.
func (c Command) onTarget(o *remoteOptions, body func(ctx context.Context, a *target.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		place, err := c.locate(o.Place)
		if err != nil {
			return err
		}
		a, err := c.opener().Open(cmd.Context(), place)
		if err != nil {
			return err
		}
		defer a.Close(&err)
		return body(cmd.Context(), a, args)
	}
}
