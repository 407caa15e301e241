package cli

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/value"
)

// startOptions are the flags of start.
type startOptions struct {
	remoteOptions
	source   flowSource
	input    string
	hasInput bool // --input was given
	name     string
	follow   bool
}

func (c Command) startCommand() *cobra.Command {
	var o startOptions
	cmd := helpOf("start", o.source.arguments)
	o.register(cmd)
	o.source.register(cmd.Flags())
	cmd.Flags().StringVar(&o.input, "input", "{}", "the input: a JSON object, @FILE or - for standard input")
	cmd.Flags().StringVar(&o.name, "name", "", "the name of the execution (default: a new one)")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "show the execution until it ends")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.source.take(args)
		o.hasInput = cmd.Flags().Changed("input")
		return c.start(cmd.Context(), o)
	}
	return cmd
}

func (c Command) start(ctx context.Context, o startOptions) (err error) {
	where, err := c.locate(o.Place)
	if err != nil {
		return err
	}
	file, err := c.readSource(ctx, o.source, where)
	if err != nil {
		return err
	}
	input, err := c.input(ctx, o.input)
	if err != nil {
		return err
	}
	name, err := nameOrNew(o.name)
	if err != nil {
		return err
	}
	a, err := c.opener().OpenOrCreate(ctx, where)
	if err != nil {
		return err
	}
	defer a.Close(&err)
	e := &execution{
		command: c, file: file, clock: local.NewClock(c.Now), place: where, name: name,
		options: runOptions{name: o.name, hasInput: o.hasInput, placeFlags: o.placeFlags, json: o.json},
	}
	if !o.follow {
		return e.startOver(ctx, a, input)
	}
	if a.Idle {
		return view.Usage("--follow needs a worker, and none runs on this store", "waitless dev in another terminal, or waitless run "+file.path)
	}
	return e.runOver(ctx, a, input)
}

// startOver puts the flow and starts the execution over the API.
func (e *execution) startOver(ctx context.Context, a *target.Client, input value.Value) error {
	c := e.command
	flow, err := e.file.put(ctx, a, e.name)
	if err != nil {
		return err
	}
	execution, isNew, err := a.Start(ctx, flow.Name, rest.Start{Name: e.name, Hash: flow.Hash, Input: input})
	if err != nil {
		return err
	}
	if !execution.Status.Final() {
		c.noteOfNoWorker(a)
	}
	text := view.Line("%s/%s  %s", execution.Flow, execution.Name, execution.Status)
	if !isNew {
		text = view.Line("%s/%s  exists already: %s", execution.Flow, execution.Name, execution.Status)
	}
	return c.out().Result(view.Result{Form: "execution", JSON: execution, Text: text}, e.options.json)
}

// nameOrNew returns the name of an execution, or draws one.
func nameOrNew(name string) (string, error) {
	if name == "" {
		return newName(), nil
	}
	if err := engine.CheckName(name); err != nil {
		return "", view.Usage(err.Error(), "--name my-run")
	}
	return name, nil
}

// nameLength is how many characters of a name are drawn: 80 bits.
const nameLength = 16

// newName draws a name that no other execution has. The command draws it, and not the API: a
// request that is sent twice then starts one execution.
func newName() string { return "run-" + strings.ToLower(rand.Text()[:nameLength]) }
