package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// runOptions are the flags of run and of start, which has no tasks and no virtual time.
type runOptions struct {
	remoteOptions
	source   flowSource
	input    string
	name     string
	tasks    []string
	subflows []string
	flags    *pflag.FlagSet // for the limits of concurrency
	notify   machine.Notify // of start
	skipTime bool
}

// command makes a command of the flags that run and start share.
func (o *runOptions) command(cmd *cobra.Command, run func(context.Context) error) *cobra.Command {
	o.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.source.stored, "flow", "",
		"a stored flow instead of a file: NAME for its latest definition, or NAME@HASH, where a part of the hash will do")
	o.source.template.register(flags)
	flags.StringArrayVar(&o.subflows, "subflow", nil, subflowUsage)
	flags.StringVar(&o.input, "input", "{}", "the input: JSON, in FDL an object; @FILE or - for standard input")
	flags.StringVar(&o.name, "name", "", "the name of the execution; one that exists is not started again (default: a new name)")
	cmd.Args = o.source.arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.source.path = strings.Join(args, "")
		o.flags = cmd.Flags()
		return run(cmd.Context())
	}
	return cmd
}

func runCommand(c Command) *cobra.Command {
	var o runOptions
	cmd := o.command(helpOf("run", nil), func(ctx context.Context) error { return c.run(ctx, o) })
	flags := cmd.Flags()
	flags.StringArrayVar(&o.tasks, "task", nil, taskUsage)
	registerConcurrency(flags)
	flags.BoolVar(&o.skipTime, "skip-time", false,
		"skip waits: run in memory and in virtual time from WAITLESS_NOW or now; script.yaml beside the flow reports outcomes")
	return cmd
}

// startCommand starts an execution that another process runs.
func startCommand(c Command) *cobra.Command {
	var o runOptions
	var follow bool
	cmd := o.command(helpOf("start", nil), func(ctx context.Context) (err error) {
		where, err := c.locate(o.Place)
		if err != nil {
			return err
		}
		if err := c.readTarget(ctx, &o.notify); err != nil {
			return err
		}
		e, err := c.execution(ctx, o, where)
		if err != nil {
			return err
		}
		if e.api, err = c.opener().OpenOrCreate(ctx, where); err != nil {
			return err
		}
		defer e.api.Close(&err)
		switch {
		case follow && e.api.Idle:
			return view.Usage("--follow needs a worker, and none runs on this store", "waitless dev in another terminal, or waitless run "+e.file.path)
		case follow:
			return e.follow(ctx)
		}
		begun, isNew, err := e.start(ctx)
		if err != nil {
			return err
		}
		if !begun.Status.Final() {
			c.noteOfNoWorker(e.api)
		}
		text := view.Line("%s  %s", e.title(), begun.Status)
		if !isNew {
			text = view.Line("%s  exists already: %s", e.title(), begun.Status)
		}
		return c.out().Result(view.Result{Form: "execution", JSON: begun, Text: text}, o.json)
	})
	cmd.Flags().BoolVar(&follow, "follow", false, "show the execution until it ends")
	registerNotify(cmd.Flags(), &o.notify, notifyUsage)
	return cmd
}

func (c Command) run(ctx context.Context, o runOptions) (err error) {
	// Functions of one's own and virtual time are for this process, whatever the environment says.
	here, where := o.skipTime || len(o.tasks) > 0, target.Place{Store: c.storeDir("")}
	switch {
	case here && o.OnStack():
		return view.Usage("--skip-time and --task are for a run in this process, and not on a stack", "waitless run FLOW"+o.Flags())
	case o.skipTime && o.Store != "" && o.source.stored == "":
		return view.Usage("--skip-time keeps the execution in memory, so --store has no effect", "leave out --skip-time or --store")
	case !here || o.Store != "":
		if where, err = c.locate(o.Place); err != nil {
			return err
		}
	}
	e, err := c.execution(ctx, o, where)
	if err != nil {
		return err
	}
	switch {
	case where.OnStack():
		e.api, err = c.opener().Open(ctx, where)
	case !o.skipTime:
		e.api, err = c.opener().Dev(ctx, where.Store)
		if e.api != nil && len(o.tasks) > 0 {
			return view.Usage("`waitless dev` holds the store "+where.Store+" and runs the tasks, so --task has no effect here",
				"give --task to waitless dev, or --store ANOTHER-DIR")
		}
	}
	if err != nil {
		return err
	}
	if e.api == nil {
		return e.runHere(ctx)
	}
	defer e.api.Close(&err)
	return e.follow(ctx)
}

// execution reads the command line of an execution.
func (c Command) execution(ctx context.Context, o runOptions, where target.Place) (e *execution, err error) {
	e = &execution{command: c, options: o, place: where, name: o.name}
	if e.file, err = c.readSource(ctx, o.source, where); err != nil {
		return nil, err
	}
	if err := c.warn(e.file); err != nil {
		return nil, err
	}
	if e.subflows, err = c.readSubflows(ctx, e.file, o.subflows, o.source.template); err != nil {
		return nil, err
	}
	if o.skipTime {
		if err := c.addStored(ctx, &e.subflows, where); err != nil {
			return nil, err
		}
	}
	if e.input, err = c.readInput(ctx, "--input", o.input, e.file.flow.Values.Any); err != nil {
		return nil, err
	}
	if e.name == "" {
		e.name = engine.NewName() // and not the API: a request that is sent twice then starts one execution
	}
	if err := engine.CheckName(e.name); err != nil {
		return nil, view.Usage(err.Error(), "--name my-run")
	}
	if e.clock = local.NewClock(c.Now); !o.skipTime {
		return e, nil
	}
	now := time.Now()
	if text := c.Getenv("WAITLESS_NOW"); text != "" {
		if now, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, view.Usage(fmt.Sprintf("WAITLESS_NOW is %q; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339)", text), "unset WAITLESS_NOW")
		}
	}
	e.clock = local.NewVirtualClock(now)
	return e, nil
}

// readInput reads a flag with JSON as its value, @FILE, or - for standard input. Unless any value
// is allowed, it is an object.
func (c Command) readInput(ctx context.Context, flag, text string, isAny bool) (value.Value, error) {
	try := flag + ` '{"delay":20}', ` + flag + " @input.json, or " + flag + " - to read standard input"
	data, err := c.readText(ctx, flag, text, try)
	if err != nil {
		return value.Value{}, err
	}
	v, err := value.ParseJSON(data)
	_, missing := os.Stat(text)
	isFile := (missing == nil || strings.HasSuffix(text, ".json")) && text != "-" && !strings.HasPrefix(text, "@") // the @ was forgotten
	switch {
	case err != nil && isFile:
		return v, view.Usage(flag+" is "+err.Error(), flag+" @"+text)
	case err != nil:
		return v, view.Usage(flag+" is "+err.Error(), try)
	case v.Kind() != value.KindObject && !isAny:
		return v, view.Usage(flag+" is "+v.Kind().String()+"; allowed: an object", try)
	}
	return v, nil
}

// readText reads the value of a flag: @FILE, - for standard input, or the text itself.
func (c Command) readText(ctx context.Context, flag, text, try string) (data []byte, err error) {
	file, isFile := strings.CutPrefix(text, "@")
	data = []byte(text)
	if isFile || file == "-" {
		data, err = c.readFile(ctx, flag+" "+text, file, try)
	}
	return bytes.TrimPrefix(data, []byte("\uFEFF")), err // with which some editors begin a file
}

// readFile reads a file, or standard input for "-". What names it in errors.
func (c Command) readFile(ctx context.Context, what, file, try string) (data []byte, err error) {
	if file == "-" {
		data, err = bounded.ReadAll(ctx, c.Stdin)
	} else {
		data, err = bounded.ReadFile(ctx, file)
	}
	return data, unread(ctx, what+": ", err, try)
}

// unread returns the error of a text that could not be read, nil for none.
func unread(ctx context.Context, what string, err error, try string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return view.Interrupted("nothing was done")
	}
	return view.Usage(what+view.Reason(err), try)
}
