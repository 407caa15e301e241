package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/local"
)

// placeFlags are the flags that name a place.
type placeFlags struct {
	target.Place
	config string // the file with settings
}

func (p *placeFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.Store, "store", "", "the folder of the store (default: WAITLESS_STORE or .waitless)")
	flags.StringVar(&p.Endpoint, "endpoint", "", "the URL of a deployed stack's API, instead of a store (default: WAITLESS_ENDPOINT)")
	flags.StringVar(&p.Stack, "stack", "", "the name of a deployed stack, instead of a store (default: WAITLESS_STACK)")
	registerConfig(flags, &p.config)
}

// opener opens the targets of the command.
func (c Command) opener() target.Opener {
	return target.Opener{
		Stores: c.Stores, AWS: c.openAWS, Key: c.apiKey, Local: c.localConfig, HolderPatience: c.patience, Pause: c.pause,
	}
}

// localConfig is what a system on a store of this machine is made of, without tasks.
func (c Command) localConfig() (config local.Config, err error) {
	config.Clock, config.Roles = local.NewClock(c.Now), c.Roles
	if config.Limits, err = c.limits(); err == nil {
		config.CallbackBase, err = c.localBase()
	}
	return config, err
}

// storeDir is the folder of the store: flag, environment, file, default.
func (c Command) storeDir(flag string) string {
	return cmp.Or(flag, c.setting("WAITLESS_STORE"), target.DefaultStore)
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

// tryComplete is what to try if this program lacks AWS or the durable store.
const tryComplete = "go install github.com/waitless/waitless/pkg/cmd/waitless, which has it"

// noStores stands for the durable store in a program that was built without it.
type noStores struct{}

// Open implements [target.Stores].
func (noStores) Open(dir string) (target.Store, error) { return nil, noStores{}.Check(dir) }

// Check implements [target.Stores].
func (noStores) Check(string) error {
	return view.Usage("this program was built without the durable store", "--skip-time, or "+tryComplete)
}

// Holder implements [target.Stores].
func (noStores) Holder(string) int { return 0 }

// locate is the place that the flags name, else the environment, else the file
// with settings. Each may name one place. A file that the user did not name
// decides on no endpoint and no stack.
func (c Command) locate(flags target.Place) (target.Place, error) {
	at, err := one(flags, [...]string{"--store", "--endpoint", "--stack"}, "%s alone")
	if err != nil || at != (target.Place{}) {
		return at, err
	}
	variables := [...]string{"WAITLESS_STORE", "WAITLESS_ENDPOINT", "WAITLESS_STACK"}
	at, err = one(placeFrom(c.Getenv), variables, "unset all of them but %s, or name the place by a flag")
	if err != nil || at != (target.Place{}) {
		return at, err
	}
	switch p := placeFrom(c.ofFile); { // which names one place
	case p.Endpoint != "":
		return p, c.namedByUser("endpoint "+local.Hidden(p.Endpoint), "--endpoint "+local.Hidden(p.Endpoint))
	case p.Stack != "":
		return p, c.namedByUser("stack "+p.Stack, "--stack "+p.Stack)
	case p.Store != "":
		return p, nil
	}
	return target.Place{Store: target.DefaultStore}, nil
}

// placeFrom is the place that a source of settings names, the zero place for none.
func placeFrom(value func(variable string) string) target.Place {
	return target.Place{Store: value("WAITLESS_STORE"), Endpoint: value("WAITLESS_ENDPOINT"), Stack: value("WAITLESS_STACK")}
}

// one refuses a place that is several, whose parts have these names.
func one(p target.Place, names [3]string, try string) (target.Place, error) {
	var given []string
	for i, value := range []string{p.Store, p.Endpoint, p.Stack} {
		if value != "" {
			given = append(given, names[i])
		}
	}
	if len(given) > 1 {
		return target.Place{}, view.Usage(fmt.Sprintf("%s and %s exclude each other", given[0], given[1]), fmt.Sprintf(try, given[len(given)-1]))
	}
	return p, nil
}

// namedByUser returns an error if the settings were found in the working directory: the author of a
// checked-out folder does not decide where credentials and tokens are sent.
func (c Command) namedByUser(setting, try string) error {
	if c.settings.named {
		return nil
	}
	why := c.settings.path + " names " + setting + "; a file that was only found in the working directory does not decide where credentials and tokens are sent"
	return view.Usage(why, try+", or --config "+c.settings.path)
}
