package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
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

// remote makes a command that works on a store or a stack: it opens the target, runs, and prints
// its result as text or JSON.
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
	return func(cmd *cobra.Command, args []string) error { return c.openedBy(c.opener().Open, o, body)(cmd, args) }
}

// openedBy is [Command.onTarget] with another way to open the target.
func (c Command) openedBy(
	open func(context.Context, target.Place) (*target.Client, error), o *remoteOptions,
	body func(ctx context.Context, a *target.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		place, err := c.locate(o.Place)
		if err != nil {
			return err
		}
		a, err := open(cmd.Context(), place)
		if err != nil {
			return err
		}
		defer a.Close(&err)
		return body(cmd.Context(), a, args)
	}
}

// placeFlags are the flags that name a place.
type placeFlags struct {
	target.Place
}

func (p *placeFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.Store, "store", "", "the folder of the store (default: WAITLESS_STORE or .waitless)")
	flags.StringVar(&p.Endpoint, "endpoint", "", "the URL of a deployed stack's API, instead of a store (default: WAITLESS_ENDPOINT)")
	flags.StringVar(&p.Stack, "stack", "", "the name of a deployed stack, instead of a store (default: WAITLESS_STACK)")
	registerConfig(flags)
}

// opener opens the targets of the command.
func (c Command) opener() target.Opener {
	return target.Opener{
		Stores: c.Stores, AWS: c.openAWS, Key: c.apiKey, Local: c.localConfig, HolderPatience: c.patience, Pause: c.pause,
	}
}

// localConfig returns the configuration of a system on a store of this machine, without tasks.
func (c Command) localConfig() (config local.Config, err error) {
	config.Clock, config.Roles, config.Check, config.CheckStart = local.NewClock(c.Now), c.Roles, c.checkFlow, c.CheckStart
	config.Kinds = c.kinds
	config.CheckTarget = func(url string) error { return engine.CheckURL(url, true) }
	if config.Limits, err = c.limits(); err == nil {
		config.CallbackBase, err = c.localBase()
	}
	return config, err
}

// openAWS opens AWS as the file says, unless the environment says it to the SDK itself: credentials
// in the environment take precedence over a profile in the file.
func (c Command) openAWS(ctx context.Context, noInstance bool) (target.AWS, error) {
	if c.AWS == nil {
		return nil, view.Usage("this program was built without AWS", tryComplete)
	}
	o := target.AWSOptions{NoInstance: noInstance}
	if c.Getenv("AWS_REGION")+c.Getenv("AWS_DEFAULT_REGION") == "" {
		o.Region = c.ofFile("AWS_REGION")
	}
	if c.Getenv("AWS_PROFILE")+c.Getenv("AWS_ACCESS_KEY_ID") == "" {
		o.Profile = c.ofFile("AWS_PROFILE")
	}
	if o.Profile != "" {
		if err := c.namedByUser("profile "+o.Profile, "AWS_PROFILE="+o.Profile); err != nil {
			return nil, err
		}
	}
	return c.AWS(ctx, o)
}

// tryComplete is the advice if this program lacks AWS or the durable store.
const tryComplete = "go install github.com/waitless/waitless/pkg/cmd/waitless, which has it"

// noStores stands for the durable store in a program that was built without it.
type noStores struct{}

// Open implements [target.Stores].
func (noStores) Open(dir string) (target.Store, error) { return nil, noStores{}.Check(dir) }

// Check implements [target.Stores].
func (noStores) Check(string) error {
	return view.Usage("this program was built without the durable store", "--skip-time, or "+tryComplete)
}

// Inspect implements [target.Stores].
func (noStores) Inspect(string) (int, error) { return 0, noStores{}.Check("") }

// Holder implements [target.Stores].
func (noStores) Holder(string) int { return 0 }
