package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
)

func flowsCommand(c Command) *cobra.Command {
	return group(helpOf("flows", nil), flowsPutCommand(c), flowsListCommand(c), flowsShowCommand(c), flowsDeleteCommand(c))
}

// shortHash is as much of a hash as people need to tell definitions apart.
func shortHash(hash string) string { return hash[:min(12, len(hash))] }

func flowsPutCommand(c Command) *cobra.Command {
	var o remoteOptions
	cmd := helpOf("flows put", arguments(1, 1))
	o.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := readRunnable(args[0])
		if err != nil {
			return err
		}
		return c.putFlow(cmd.Context(), o, file)
	}
	return cmd
}

func (c Command) putFlow(ctx context.Context, o remoteOptions, file flowFile) (err error) {
	place, err := c.locate(o.Place)
	if err != nil {
		return err
	}
	a, err := c.opener().OpenOrCreate(ctx, place)
	if err != nil {
		return err
	}
	defer a.Close(&err)
	flow, err := a.PutFlow(ctx, file.name(), file.text, "")
	if err != nil {
		return err
	}
	return c.out().Result(view.Result{Form: "flow", JSON: flow, Text: view.Line("%s  %s", flow.Name, shortHash(flow.Hash))}, o.json)
}

// flowsOf is the result with the definitions.
func flowsOf(flows []rest.Flow, text string) view.Result {
	return view.Result{Form: "flows", JSON: map[string]any{"flows": append([]rest.Flow{}, flows...)}, Text: text}
}

func flowsListCommand(c Command) *cobra.Command {
	return c.remote(helpOf("flows list", arguments(0, 0)), func(ctx context.Context, a *target.Client, _ []string) (view.Result, error) {
		flows, err := a.Flows(ctx, "")
		var rows [][]string
		for _, f := range flows {
			rows = append(rows, []string{f.Name, shortHash(f.Hash), view.LocalTime(f.CreatedTime)})
		}
		return flowsOf(flows, view.Columns(rows)), err
	})
}

func flowsShowCommand(c Command) *cobra.Command {
	var o remoteOptions
	var hash string
	cmd := helpOf("flows show", arguments(1, 1))
	o.register(cmd)
	cmd.Flags().StringVar(&hash, "hash", "", "the definition whose hash begins so (default: the latest)")
	cmd.RunE = c.onTarget(&o, func(ctx context.Context, a *target.Client, args []string) error {
		if err := checkFlow(args[0]); err != nil {
			return err
		}
		flow, err := a.Flow(ctx, args[0], hash)
		switch {
		case err != nil:
			return flowError(err)
		case !o.json && !view.IsTerminal(c.Stdout):
			return c.out().Exactly(flow.Definition) // whose hash is that of the flow
		}
		return c.out().Result(view.Result{Form: "flow", JSON: flow, Text: flow.Definition}, o.json)
	})
	return cmd
}

func flowsDeleteCommand(c Command) *cobra.Command {
	return c.remote(helpOf("flows delete", arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		if err := checkFlow(args[0]); err != nil {
			return view.Result{}, err
		}
		deleted, err := a.DeleteFlow(ctx, args[0])
		if err != nil {
			return view.Result{}, flowError(err)
		}
		return flowsOf(deleted, view.Line("%s is deleted, %s", args[0], view.Count(len(deleted), "definition"))), nil
	})
}

// flowError is an error of the API about a flow.
func flowError(err error) error {
	var refused *rest.Error
	if !errors.As(err, &refused) {
		return err
	}
	f := failureOf(err)
	switch refused.Code { //nolint:exhaustive // the others are not about the flow
	case engine.CodeNotFound:
		f.Try = "waitless flows list"
	case engine.CodeConflict:
		f.Try = "waitless list --flow NAME"
	}
	return f
}
