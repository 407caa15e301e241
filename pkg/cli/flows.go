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

func (c Command) flowsCommand() *cobra.Command {
	return group(helpOf("flows", nil), c.flowsPutCommand(), c.flowsListCommand(), c.flowsShowCommand(), c.flowsDeleteCommand())
}

// flowReport is the JSON of flows put and flows show; schema/flow.json
// describes it.
type flowReport struct {
	Schema string `json:"schema"` // "waitless.flow/1"
	rest.Flow
}

// flowsReport is the JSON of flows list and flows delete; schema/flows.json
// describes it.
type flowsReport struct {
	Schema string      `json:"schema"` // "waitless.flows/1"
	Flows  []rest.Flow `json:"flows"`
}

// shortHash is as much of a hash as people need to tell definitions apart.
func shortHash(hash string) string { return hash[:min(12, len(hash))] }

func (c Command) flowsPutCommand() *cobra.Command {
	var o storeOptions
	cmd := helpOf("flows put", arguments(1, 1))
	o.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := c.readRunnable(args[0])
		if err != nil {
			return err
		}
		return c.putFlow(cmd.Context(), o, file)
	}
	return cmd
}

func (c Command) putFlow(ctx context.Context, o storeOptions, file flowFile) (err error) {
	place, err := c.locate(o.Place)
	if err != nil {
		return err
	}
	a, err := c.opener().OpenOrCreate(ctx, place)
	if err != nil {
		return err
	}
	defer a.Close(&err)
	flow, err := a.PutFlow(ctx, file.name(), file.text)
	if err != nil {
		return err
	}
	if o.json {
		return c.out().JSON(flowReport{"waitless.flow/1", flow})
	}
	return c.out().Line("%s  %s", flow.Name, shortHash(flow.Hash))
}

func (c Command) flowsListCommand() *cobra.Command {
	var o storeOptions
	cmd := helpOf("flows list", arguments(0, 0))
	o.register(cmd)
	cmd.RunE = c.onStore(&o, func(ctx context.Context, a *target.Client, _ []string) error {
		flows, err := a.Flows(ctx, "")
		if err != nil {
			return err
		}
		if o.json {
			return c.out().JSON(flowsReport{"waitless.flows/1", append([]rest.Flow{}, flows...)})
		}
		var rows [][]string
		for _, f := range flows {
			rows = append(rows, []string{f.Name, shortHash(f.Hash), view.LocalTime(f.CreatedTime)})
		}
		return c.out().Text(view.Columns(rows))
	})
	return cmd
}

func (c Command) flowsShowCommand() *cobra.Command {
	var o storeOptions
	var hash string
	cmd := helpOf("flows show", arguments(1, 1))
	o.register(cmd)
	cmd.Flags().StringVar(&hash, "hash", "", "the definition whose hash begins so (default: the latest)")
	cmd.RunE = c.onStore(&o, func(ctx context.Context, a *target.Client, args []string) error {
		if err := checkFlow(args[0]); err != nil {
			return err
		}
		flow, err := a.Flow(ctx, args[0], hash)
		if err != nil {
			return flowError(err)
		}
		if o.json {
			return c.out().JSON(flowReport{"waitless.flow/1", flow})
		}
		if view.IsTerminal(c.Stdout) {
			return c.out().Text(flow.Definition)
		}
		return c.out().Exactly(flow.Definition) // whose hash is that of the flow
	})
	return cmd
}

func (c Command) flowsDeleteCommand() *cobra.Command {
	var o storeOptions
	cmd := helpOf("flows delete", arguments(1, 1))
	o.register(cmd)
	cmd.RunE = c.onStore(&o, func(ctx context.Context, a *target.Client, args []string) error {
		if err := checkFlow(args[0]); err != nil {
			return err
		}
		deleted, err := a.DeleteFlow(ctx, args[0])
		if err != nil {
			return flowError(err)
		}
		if o.json {
			return c.out().JSON(flowsReport{"waitless.flows/1", deleted})
		}
		return c.out().Line("%s is deleted, %s", args[0], view.Count(len(deleted), "definition"))
	})
	return cmd
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
